package publish_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// ruleLake is a table k that is replaced and changed by numbers.
type ruleLake struct {
	*lake
	p     *publish.Publisher
	table metadata.TableInfo
	epoch int64
	seen  int64
}

func newRuleLake(t *testing.T, kind laketest.Kind, broken publish.Rule) *ruleLake {
	r := &ruleLake{lake: newPlainLake(t, kind)}
	r.exec("CALL lake.set_option('data_inlining_row_limit', 1000)")
	r.p = r.publisher(func(c *publish.Config) { c.Faults.Break = broken })
	r.table = r.published(r.p, "v", "k BIGINT")
	r.seen = r.snapshot()
	return r
}

func (r *ruleLake) publish(pub publish.Publication) error {
	r.t.Helper()
	pub.CommitID, pub.Table, pub.Seen = commitID(), r.table, r.seen
	pub.Swap = publish.Swap{UUID: "v", Epoch: r.epoch}
	results, err := r.p.Publish(ctx, pub)
	must(r.t, err)
	if results[0].Err == nil {
		r.epoch, r.seen = results[0].Epoch, results[0].Snapshot
	}
	return results[0].Err
}

func (r *ruleLake) replace(from, n int) {
	r.t.Helper()
	staged, err := r.p.Stage(ctx, r.conn, publish.StageSpec{Table: r.table, Query: fmt.Sprintf("SELECT %d + range FROM range(%d)", from, n), JobID: "j"}, nil)
	must(r.t, err)
	must(r.t, r.publish(publish.Publication{Replace: staged}))
}

func (r *ruleLake) rowsOf(from, n int) []arrow.RecordBatch {
	r.t.Helper()
	reader, err := r.conn.Query(ctx, fmt.Sprintf("SELECT CAST(%d + range AS BIGINT) AS k FROM range(%d)", from, n))
	must(r.t, err)
	defer reader.Close()
	var out []arrow.RecordBatch
	for reader.Next() {
		b := reader.RecordBatch()
		b.Retain()
		r.t.(*testing.T).Cleanup(b.Release)
		out = append(out, b)
	}
	return out
}

func (r *ruleLake) insert(from, n int) error {
	r.t.Helper()
	return r.publish(publish.Publication{Delta: &publish.Delta{Insert: r.rowsOf(from, n)}})
}

func (r *ruleLake) remove(where string) error {
	r.t.Helper()
	var gone []publish.Location
	_, err := r.p.Locate(ctx, r.conn, r.table, nil, where, func(_ arrow.RecordBatch, l []publish.Location) error {
		gone = append(gone, l...)
		return nil
	})
	must(r.t, err)
	return r.publish(publish.Publication{Delta: &publish.Delta{Delete: gone}})
}

// Each rule of native commits, kept and broken: what breaks shows that a test here would notice.
func TestRules(t *testing.T) {
	for _, c := range []struct {
		name string
		rule publish.Rule
		// run gives what a client reads, and what it should.
		run func(r *ruleLake) (got, want any)
	}{
		{"next_file_id grows", publish.RuleFileID, func(r *ruleLake) (any, any) {
			must(r.t, r.insert(0, 10))
			r.number("SELECT count(*) FROM lake.main.v WHERE k >= 1000") // statistics are cached now
			must(r.t, r.insert(1000, 10))
			return r.number("SELECT count(*) FROM lake.main.v WHERE k >= 1000"), int64(10)
		}},
		{"record_count is cumulative", publish.RuleRecordCount, func(r *ruleLake) (any, any) {
			r.replace(100, 20)
			r.replace(1000, 20)
			return r.number("SELECT min(k) FROM lake.main.v"), int64(1000)
		}},
		{"statistics only widen", publish.RuleWiden, func(r *ruleLake) (any, any) {
			r.replace(0, 10)
			first := r.seen
			r.replace(1000, 10)
			return r.number(fmt.Sprintf("SELECT count(*) FROM lake.main.v AT (VERSION => %d) WHERE k < 10", first)), int64(10)
		}},
		{"the changes of others are looked at", publish.RuleGuard, func(r *ruleLake) (any, any) {
			must(r.t, r.insert(0, 10))
			r.exec("INSERT INTO lake.main.v VALUES (77)")
			return r.insert(100, 1) == nil, false
		}},
		{"inlined deletes are flushed before a replacement", publish.RuleFlush, func(r *ruleLake) (any, any) {
			r.replace(0, 20)
			must(r.t, r.remove("k < 5"))
			r.replace(100, 10)
			return r.number(fmt.Sprintf("SELECT count(*) FROM ducklake_table_deletions('lake', 'main', 'v', %d, %[1]d)", r.seen)), int64(15)
		}},
		{"the table for inlined deletes exists before the first reader", publish.RuleInlinedDeletes, func(r *ruleLake) (any, any) {
			// The table was filled by somebody else: no commit of ours has come by yet.
			r.exec("INSERT INTO lake.main.v FROM range(2000)")
			r.seen = r.snapshot()
			reader, other := r.connect(), r.connect()
			defer reader.Close()
			defer other.Close()
			read := func(c interface {
				Rows(ctx context.Context, sql string, args ...any) ([][]any, error)
			}) error {
				_, err := c.Rows(ctx, "SELECT sum(k) FROM lake.main.v")
				return err
			}
			_, err := reader.Exec(ctx, "BEGIN")
			must(r.t, err)
			_, err = reader.Rows(ctx, "FROM lake.current_snapshot()")
			must(r.t, err)
			must(r.t, r.remove("k < 5"))
			must(r.t, read(other)) // the process knows now that the table exists
			return fmt.Sprint(read(reader)), "<nil>"
		}},
	} {
		laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
			t.Run(c.name, func(t *testing.T) {
				if got, want := c.run(newRuleLake(t, kind, 0)); got != want {
					t.Errorf("kept: %v, want %v", got, want)
				}
			})
			t.Run("broken: "+c.name, func(t *testing.T) {
				if c.rule == publish.RuleInlinedDeletes && kind == laketest.PostgreSQL {
					t.Skip("PostgreSQL shows a new table to older transactions")
				}
				if got, want := c.run(newRuleLake(t, kind, c.rule)); got == want {
					t.Errorf("nothing shows that the rule is broken")
				}
			})
		})
	}
}
