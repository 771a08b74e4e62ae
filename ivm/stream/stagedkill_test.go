package stream_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// killPoints are where a server is killed while the first content of a view is made by a query, in their order.
var killPoints = []string{"stage", "staged", "made", "open", "prepare", "prepared", "writing", "written", "committed", "finished", "hold"}

// killing is a sink that stops for ever at one of these.
type killing struct {
	stream.Sink
	at string
}

// reach is told of a point. At the one that is looked for, the process says so and does nothing any more.
func (k *killing) reach(point string) {
	if point == k.at {
		fmt.Println("reached " + point)
		select {}
	}
}

func (k *killing) Stage(ctx context.Context, r stream.ResultSpec, query, timeZone string) (stream.Staged, error) {
	k.reach("stage")
	s, err := k.Sink.(stream.Stager).Stage(ctx, r, query, timeZone)
	k.reach("made")
	return s, err
}

func (k *killing) Open(ctx context.Context, r stream.ResultSpec, tables dataflow.Tables, at stream.Mark) (stream.Result, error) {
	k.reach("open")
	return k.Sink.Open(ctx, r, tables, at)
}

func (k *killing) Prepare(ctx context.Context, c stream.Commitment) (stream.Bundle, error) {
	k.reach("prepare")
	b, err := k.Sink.Prepare(ctx, c)
	k.reach("prepared")
	return &killingBundle{b, k}, err
}

func (k *killing) Hold(ctx context.Context, uuid string, tables map[int64]int64) error {
	err := k.Sink.Hold(ctx, uuid, tables)
	k.reach("hold")
	return err
}

type killingBundle struct {
	stream.Bundle
	k *killing
}

func (b *killingBundle) Commit(ctx context.Context) ([]stream.Published, error) {
	done, err := b.Bundle.Commit(ctx)
	b.k.reach("committed")
	return done, err
}

func (b *killingBundle) Finish(ctx context.Context, done []stream.Published) ([]stream.Published, error) {
	done, err := b.Bundle.Finish(ctx, done)
	b.k.reach("finished")
	return done, err
}

// killed is what the process that is killed has to know.
type killed struct {
	Config struct{ Catalog, MetadataSchema, DataPath, TempDir, ExtensionDir string }
	State  string
	At     string
	Query  string
}

const (
	killedEnv    = "VEGA_STAGED_CHILD"
	killedServer = "killed" // both lives are the same server's
)

// TestStagedChild is not a test: it is what the killed process runs.
func TestStagedChild(t *testing.T) {
	text := os.Getenv(killedEnv)
	if text == "" {
		t.Skip("the child process of TestKilledInAStagedContent")
	}
	var k killed
	if err := json.Unmarshal([]byte(text), &k); err != nil {
		t.Fatal(err)
	}
	place := laketest.Place{Config: ducklake.Config{
		Catalog: k.Config.Catalog, MetadataSchema: k.Config.MetadataSchema, DataPath: k.Config.DataPath, TempDir: k.Config.TempDir, ExtensionDir: k.Config.ExtensionDir, ServerID: killedServer, Threads: 2,
	}}
	sink := &killing{at: k.At}
	l := openLab(t, place, k.State, func(l *lab) {
		l.configure = append(l.configure, func(c *stream.Config) { sink.Sink, c.Sink = c.Sink, sink })
		l.publisher.Faults.Staged = func() { sink.reach("staged") }
		l.publisher.Faults.BeforeCommit = func() error { sink.reach("writing"); return nil }
		l.publisher.Faults.AfterCommit = func() error { sink.reach("written"); return nil }
	})
	l.exec("CREATE TABLE t AS SELECT i AS k, i % 1000 AS v FROM range(140000) r(i)", "DELETE FROM t WHERE k % 50 = 0")
	l.view("w", k.Query)
	l.check()
	t.Fatal("the point was not reached")
}

// Killed at every point of a first content that a query makes: the next server shows the view's answer, once, and nothing is left of the attempt.
func TestKilledInAStagedContent(t *testing.T) {
	queries := []string{"SELECT k, v + 1 AS v FROM t WHERE v < 500", "SELECT v, count(*) AS n FROM t GROUP BY v"}
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		for i, point := range killPoints {
			if testing.Short() && i%3 != 0 || kind == laketest.PostgreSQL && i%2 == 0 { // the way to the catalog makes little difference
				continue
			}
			t.Run(point, func(t *testing.T) {
				place, query := laketest.NewPlace(t, kind), queries[i%len(queries)]
				k := killed{State: filepath.Join(t.TempDir(), "state"), At: point, Query: query}
				place.Config.ServerID = killedServer
				c := place.Config
				k.Config.Catalog, k.Config.MetadataSchema, k.Config.DataPath, k.Config.TempDir, k.Config.ExtensionDir = c.Catalog, c.MetadataSchema, c.DataPath, c.TempDir, c.ExtensionDir
				k.run(t)

				l := openLab(t, place, k.State)
				set, _, err := l.rows.Streams(func() store.Owner { return store.Owner{} }, nil).Views(l.ctx)
				l.must(err)
				for _, v := range set.RefreshOrder() {
					v.Def.Query = query
					l.views["w"] = v
				}
				l.changed()
				l.check()
				l.exec("INSERT INTO t SELECT i, i % 7 FROM range(1000) r(i)", "DELETE FROM t WHERE k BETWEEN 100 AND 300")
				l.check()
				l.stop()
				l.must(l.sink.Settle(l.ctx))
				if n := l.left(); n != 0 {
					t.Errorf("%d folders are left", n)
				}
				l.noStrays()
			})
		}
	})
}

// run runs the process until it is at its point, and kills it.
func (k killed) run(t *testing.T) {
	t.Helper()
	text, err := json.Marshal(k)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestStagedChild$", "-test.v")
	cmd.Env = append(os.Environ(), killedEnv+"="+string(text))
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said, reached := "", false
	for lines := bufio.NewScanner(out); !reached && lines.Scan(); {
		said += lines.Text() + "\n"
		reached = lines.Text() == "reached "+k.At
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if !reached {
		t.Fatalf("the process did not come to %s:\n%s", k.At, said)
	}
}

// noStrays compares the files on disk with those that the catalog knows.
func (l *lab) noStrays() {
	l.t.Helper()
	known := map[string]bool{}
	l.must(l.lake.Store().View(l.ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(l.ctx, `SELECT path FROM {M}ducklake_data_file UNION ALL SELECT path FROM {M}ducklake_delete_file
			UNION ALL SELECT path FROM {M}ducklake_files_scheduled_for_deletion`)
		for _, r := range rows {
			known[filepath.Base(r[0].(string))] = true
		}
		return err
	}))
	l.must(filepath.WalkDir(l.publisher.DataPath, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".parquet") && !known[filepath.Base(path)] {
			l.t.Errorf("%s is of no commit", path)
		}
		return err
	}))
}
