package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

const (
	commitColumns = "k BIGINT, v VARCHAR, d DECIMAL(18,2), n BIGINT"
	commitRows    = "SELECT %[1]s AS k, 'value ' || (%[1]s %% 1000) AS v, CAST(%[1]s %% 10000 AS DECIMAL(18,2)) AS d, %[1]s * 7 AS n FROM %[2]s"
)

// commit measures publications into a large table: replacing all of it, and
// changing 1, 100 and 1000 rows; the other side is the extension's own DML in
// one transaction. Staging is outside of the commit window and not counted;
// the plain side's INSERT has no such window, so only its DELETE and COMMIT
// would be comparable: for replacements the bar is on our figure alone.
func commit(ctx context.Context, s *sides) ([]result, error) {
	n := s.scale(10_000_000)
	w, err := openWriter(ctx, s, n)
	if err != nil {
		return nil, err
	}
	defer w.lake.Close()
	theirs, err := s.plain(ctx)
	if err != nil {
		return nil, err
	}
	defer theirs.Close()
	all := fmt.Sprintf(commitRows, "i", fmt.Sprintf("range(%d) t(i)", n))
	for _, sql := range []string{"CREATE TABLE mirror(" + commitColumns + ")", "CALL lake.set_option('data_inlining_row_limit', 1000)", "INSERT INTO mirror " + all} {
		if _, err := theirs.Exec(ctx, sql); err != nil {
			return nil, err
		}
	}
	out, err := w.replacements(ctx, n, all)
	if err != nil {
		return nil, err
	}
	for _, keys := range []int{1, 100, 1000} {
		r, err := w.deltas(ctx, theirs, n, keys)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, nil
}

// writer publishes into one table of a lake of its own.
type writer struct {
	lake        *ducklake.Lake
	publisher   *publish.Publisher
	conn        *duck.Conn
	table       metadata.TableInfo
	epoch, seen int64
	rounds      int
	rnd         *rand.Rand
}

func openWriter(ctx context.Context, s *sides, n int) (*writer, error) {
	w := &writer{rounds: 20, rnd: rand.New(rand.NewPCG(1, 2))}
	var err error
	if w.lake, err = ducklake.Open(ctx, ducklake.Config{Catalog: filepath.Join(s.dir, "published"), ExtensionDir: s.extensions}); err != nil {
		return nil, err
	}
	if w.publisher, err = w.lake.NewPublisher(ctx); err != nil {
		return nil, err
	}
	if w.conn, _, err = w.lake.Acquire(ctx, ducklake.ConnSettings{}); err != nil { // kept until the lake closes
		return nil, err
	}
	if err := w.lake.DDL(ctx, "CREATE TABLE lake.main.v("+commitColumns+")"); err != nil {
		return nil, err
	}
	err = w.lake.Store().View(ctx, func(tx metadata.Tx) error {
		tables, err := metadata.Tables(ctx, tx, metadata.Filter{})
		for _, t := range tables {
			if t.Name == "v" {
				w.table = t
			}
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return w, w.publisher.Prepare(ctx, w.table)
}

// publish times one commit.
func (w *writer) publish(ctx context.Context, p publish.Publication) (time.Duration, error) {
	p.CommitID, p.Table, p.Seen = uuid.NewString(), w.table, w.seen
	p.Swap = publish.Swap{UUID: w.table.UUID, Epoch: w.epoch, Frontier: []byte("bench")}
	return timed(func() error {
		rs, err := w.publisher.Publish(ctx, p)
		if err != nil {
			return err
		}
		w.epoch, w.seen = rs[0].Epoch, rs[0].Snapshot
		return rs[0].Err
	})
}

func (w *writer) replacements(ctx context.Context, n int, all string) ([]result, error) {
	var commits, stages []time.Duration
	for range 5 {
		var staged *publish.Staged
		d, err := timed(func() (err error) {
			staged, err = w.publisher.Stage(ctx, w.conn, publish.StageSpec{Table: w.table, Query: all, JobID: "bench"}, nil)
			return err
		})
		if err != nil {
			return nil, err
		}
		stages = append(stages, d)
		if d, err = w.publish(ctx, publish.Publication{Replace: staged}); err != nil {
			return nil, err
		}
		commits = append(commits, d)
	}
	o := median(commits)
	return []result{{Name: "commit/replace", What: fmt.Sprintf("commit window of a replacement of %d rows", n), Ours: o, Unit: "ms", Figure: o,
		Bar: "<= 25 ms", Meets: o <= 25, Note: fmt.Sprintf("staging outside of it: %.0f ms", median(stages))}}, nil
}

// deltas changes keys random rows, again and again, on both sides in turn.
func (w *writer) deltas(ctx context.Context, theirs *duck.Conn, n, keys int) (result, error) {
	var ours, plain []time.Duration
	for range w.rounds {
		in := w.keys(n, keys)
		where := "k IN (" + in + ")"
		delta, err := w.delta(ctx, in, where)
		if err != nil {
			return result{}, err
		}
		d, err := w.publish(ctx, publish.Publication{Delta: delta})
		for _, b := range delta.Insert {
			b.Release()
		}
		if err != nil {
			return result{}, err
		}
		ours = append(ours, d)
		d, err = timed(func() error {
			var errs []error
			for _, sql := range []string{"BEGIN", "DELETE FROM mirror WHERE " + where, "INSERT INTO mirror " + changed(in), "COMMIT"} {
				_, err := theirs.Exec(ctx, sql)
				errs = append(errs, err)
			}
			return errors.Join(errs...)
		})
		if err != nil {
			return result{}, err
		}
		plain = append(plain, d)
	}
	o, t := median(ours), median(plain)
	return result{Name: fmt.Sprintf("commit/delta-%d", keys), What: fmt.Sprintf("%d of %d rows replaced: native commit | the extension's DELETE, INSERT, COMMIT", keys, n),
		Ours: o, Theirs: t, Unit: "ms", Figure: o / t, Bar: "<= 0.5 x", Meets: o/t <= 0.5}, nil
}

func (w *writer) delta(ctx context.Context, in, where string) (*publish.Delta, error) {
	d := &publish.Delta{}
	_, err := w.publisher.Locate(ctx, w.conn, w.table, nil, where, func(_ arrow.RecordBatch, at []publish.Location) error {
		d.Delete = append(d.Delete, at...)
		return nil
	})
	if err != nil {
		return nil, err
	}
	r, err := w.conn.Query(ctx, changed(in))
	if err != nil {
		return nil, err
	}
	for r.Next() {
		b := r.RecordBatch()
		b.Retain()
		d.Insert = append(d.Insert, b)
	}
	return d, errors.Join(r.Err(), r.Close())
}

// changed is new content of the rows with these keys.
func changed(in string) string {
	return fmt.Sprintf(commitRows, "i", "(SELECT unnest(["+in+"]::BIGINT[]) AS i)")
}

func (w *writer) keys(n, count int) string {
	seen := map[int]bool{}
	texts := make([]string, 0, count)
	for len(texts) < count {
		if k := w.rnd.IntN(n); !seen[k] {
			seen[k] = true
			texts = append(texts, fmt.Sprint(k))
		}
	}
	return strings.Join(texts, ",")
}
