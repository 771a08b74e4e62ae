package publish_test

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// The child process publishes generation after generation until it is killed. Generation g is 3·g rows of the value g.
const (
	childDir  = "VEGA_PUBLISH_CHILD"
	childKind = "VEGA_PUBLISH_CHILD_KIND"
	childDSN  = "VEGA_PUBLISH_CHILD_DSN"
)

// TestChild is not a test: it is what the killed process runs.
func TestChild(t *testing.T) {
	dir := os.Getenv(childDir)
	if dir == "" {
		t.Skip("the child process of TestKilledWhilePublishing")
	}
	kind, err := strconv.Atoi(os.Getenv(childKind))
	must(t, err)
	l := openLakeAt(t, laketest.Kind(kind), dir, os.Getenv(childDSN), "crash", false)
	p := l.publisher(func(c *publish.Config) {
		c.Faults.Staged = func() { fmt.Println("staged") }
		c.Faults.BeforeCommit = func() error { fmt.Println("writing"); return nil }
	})
	servers := &maintain.Servers{Store: l.store}
	owner, err := servers.Register(ctx, "child", "")
	must(t, err)
	must(t, p.DiscardOwner(ctx, publish.Fence{ServerID: "child", Epoch: owner.Epoch - 1}))
	table := l.table("v")
	state := l.state("v")
	for {
		g := state.Epoch + 1
		staged, err := p.Stage(ctx, l.conn, publish.StageSpec{Table: table, Query: fmt.Sprintf("SELECT %d FROM range(%d)", g, 3*g), JobID: fmt.Sprint("job", g), Owner: owner}, nil)
		must(t, err)
		r := one(t, p, publish.Publication{CommitID: fmt.Sprint("g", g), Table: table, Seen: state.Snapshot, Replace: staged, Owner: owner,
			Swap: publish.Swap{UUID: "v", Epoch: state.Epoch, Frontier: []byte(fmt.Sprint(g))}})
		fmt.Println("acked", g)
		state.Epoch, state.Snapshot = r.Epoch, r.Snapshot
	}
}

// Killed at any moment: every snapshot is a whole generation, what was acknowledged is there, and the orphans are known
// by their owner.
func TestKilledWhilePublishing(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		dir, dsn := t.TempDir(), ""
		if kind == laketest.PostgreSQL {
			dsn = laketest.PostgresDSN(t)
		}
		l := openLakeAt(t, kind, dir, dsn, "crash", false)
		p := l.publisher()
		table := l.published(p, "v", "k BIGINT")
		one(t, p, publish.Publication{CommitID: commitID(), Table: table, Swap: publish.Swap{UUID: "v"}})
		l.close()

		kills := 12
		if testing.Short() {
			kills = 4
		}
		acked := int64(0)
		for n := range kills {
			// The moment: after so many lines, each of which is a step of the child.
			acked = max(acked, runAndKill(t, dir, kind, dsn, 1+n*7%11))
			l := openLakeAt(t, kind, dir, dsn, "crash", false)
			checkAfterKill(t, l, acked)
			l.close()
		}
		l = openLakeAt(t, kind, dir, dsn, "crash", false)
		p = l.publisher()
		// The last child's files are removed by its owner's name, and nothing else is.
		must(t, p.DiscardOwner(ctx, publish.Fence{ServerID: "child", Epoch: 1 << 62}))
		var referenced []string
		must(t, l.store.View(ctx, func(tx metadata.Tx) error {
			rows, err := tx.Query(ctx, `SELECT path FROM {M}ducklake_data_file`)
			for _, r := range rows {
				referenced = append(referenced, filepath.Base(r[0].(string)))
			}
			return err
		}))
		if n := len(l.files()); n != len(referenced) || l.registered() != 0 {
			t.Errorf("%d files on disk, %d in the catalog, %d folders registered", n, len(referenced), l.registered())
		}
		t.Logf("%d generations", l.state("v").Epoch)
	})
}

// runAndKill runs the child until it has printed so many lines, kills it, and returns the newest generation it acknowledged.
func runAndKill(t *testing.T, dir string, kind laketest.Kind, dsn string, lines int) (acked int64) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestChild$", "-test.v")
	cmd.Env = append(os.Environ(), childDir+"="+dir, fmt.Sprintf("%s=%d", childKind, kind), childDSN+"="+dsn)
	out, err := cmd.StdoutPipe()
	must(t, err)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	must(t, cmd.Start())
	scan := bufio.NewScanner(out)
	seen, transcript := 0, ""
	for scan.Scan() {
		line := scan.Text()
		transcript += line + "\n"
		if g, ok := strings.CutPrefix(line, "acked "); ok {
			acked, err = strconv.ParseInt(g, 10, 64)
			must(t, err)
		}
		switch strings.Fields(line + " -")[0] {
		case "staged", "writing", "acked":
			seen++
		}
		if seen == lines {
			must(t, cmd.Process.Kill())
			break
		}
	}
	for scan.Scan() { // what it had still written counts
		if g, ok := strings.CutPrefix(scan.Text(), "acked "); ok {
			acked, err = strconv.ParseInt(g, 10, 64)
			must(t, err)
		}
	}
	err = cmd.Wait()
	var exit *exec.ExitError
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the child ended by itself: %v\n%s%s", err, transcript, stderr.String())
	}
	return acked
}

func checkAfterKill(t *testing.T, l *lake, acked int64) {
	t.Helper()
	state := l.state("v")
	generation := state.Epoch
	if state.Frontier == nil {
		generation = 0 // nothing was published by the child yet
	} else if string(state.Frontier) != fmt.Sprint(generation) {
		t.Errorf("epoch %d has the frontier %s", generation, state.Frontier)
	}
	if generation < acked {
		t.Errorf("generation %d was acknowledged, the state says %d", acked, generation)
	}
	// The newest, and every snapshot since the table is there: only whole generations, in order.
	last := int64(0)
	for s := l.table("v").Begin; s <= l.snapshot(); s++ {
		row := l.rows(fmt.Sprintf("SELECT count(*), min(k), max(k) FROM lake.main.v AT (VERSION => %d)", s))[0]
		n := row[0].(int64)
		if n == 0 && last == 0 {
			continue
		}
		low, high := row[1].(int64), row[2].(int64)
		if low != high || n != 3*low || low < last {
			t.Fatalf("snapshot %d has %v after generation %d", s, row, last)
		}
		last = low
	}
	if last != generation {
		t.Errorf("the newest content is generation %d, the state says %d", last, generation)
	}
}

// Readers in a loop see whole generations only, in order, while replacements and deltas are published.
func TestReadersNeverSeeTornContent(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLake(t, kind)
		l.exec("CALL lake.set_option('data_inlining_row_limit', 1000)")
		p := l.publisher()
		table := l.published(p, "v", "k BIGINT")
		generations := 50
		if kind == laketest.PostgreSQL {
			generations = 25
		}
		done := make(chan struct{})
		var wait sync.WaitGroup
		var mu sync.Mutex
		reads, problems := 0, []string{}
		for range 3 {
			conn := l.connect()
			wait.Go(func() {
				defer conn.Close()
				last := int64(0)
				for {
					select {
					case <-done:
						return
					default:
					}
					rows, err := conn.Rows(ctx, "SELECT count(*), min(k), max(k), sum(k) FROM lake.main.v")
					mu.Lock()
					reads++
					if err != nil {
						problems = append(problems, err.Error())
					} else if n := rows[0][0].(int64); n > 0 {
						low, high := rows[0][1].(int64), rows[0][2].(int64)
						if low != high || n != 5 || low < last {
							problems = append(problems, fmt.Sprintf("%v after %d", rows[0], last))
						}
						last = low
					}
					mu.Unlock()
				}
			})
		}
		rl := &ruleLake{lake: l, p: p, table: table, seen: l.snapshot()}
		for g := range generations {
			if g%2 == 0 {
				staged, err := p.Stage(ctx, l.conn, publish.StageSpec{Table: table, Query: fmt.Sprintf("SELECT %d FROM range(5)", g+1), JobID: "j"}, nil)
				must(t, err)
				must(t, rl.publish(publish.Publication{Replace: staged}))
				continue
			}
			var gone []publish.Location
			_, err := p.Locate(ctx, l.conn, table, nil, "", func(_ arrow.RecordBatch, at []publish.Location) error {
				gone = append(gone, at...)
				return nil
			})
			must(t, err)
			reader, err := l.conn.Query(ctx, fmt.Sprintf("SELECT CAST(%d AS BIGINT) AS k FROM range(5)", g+1))
			must(t, err)
			reader.Next()
			batch := reader.RecordBatch()
			batch.Retain()
			must(t, reader.Close())
			must(t, rl.publish(publish.Publication{Delta: &publish.Delta{Delete: gone, Insert: []arrow.RecordBatch{batch}}}))
			batch.Release()
		}
		close(done)
		wait.Wait()
		if len(problems) > 0 {
			t.Errorf("%d of %d reads: %s", len(problems), reads, strings.Join(problems[:min(len(problems), 5)], "; "))
		}
		t.Logf("%d reads over %d generations", reads, generations)
	})
}
