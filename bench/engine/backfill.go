package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/eval/evaluator"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// backfill measures how long the state and the first result of a view take, beside DuckDB running the query over the same
// tables in the same process, in turn. Reading the tables is inside for both.
type backfill struct {
	rows     int64
	runs     int
	workers  int
	only     []string
	profiles string
	conn     *duck.Conn
	eval     *evaluator.Instance
}

// filterOnly is a view without state.
var filterOnly = &workload{
	name: "p", what: "filter and project", folder: "w1", tables: groupTables,
	view: "SELECT id, k + 1 AS k, v * 2 AS v FROM t WHERE v % 10 < 7",
}

func backfillCommand(ctx context.Context, args []string, to io.Writer) (err error) {
	f := flag.NewFlagSet("backfill", flag.ExitOnError)
	b := &backfill{}
	f.Int64Var(&b.rows, "rows", 10_000_000, "of the largest table")
	f.IntVar(&b.runs, "runs", 3, "of each side, in turn; the best counts")
	f.IntVar(&b.workers, "workers", 2, "cores of each side")
	f.StringVar(&b.profiles, "profiles", "", "folder for a CPU profile of each workload")
	f.Func("only", "workloads, with commas", func(v string) error { b.only = strings.Split(v, ","); return nil })
	if err := f.Parse(args); err != nil {
		return err
	}
	db, err := duck.Open("", duck.Options{Config: map[string]string{"threads": fmt.Sprint(b.workers)}})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	if b.conn, err = db.Connect(); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.conn.Close()) }()
	if b.eval, err = evaluator.Open(ctx, evaluator.Config{}); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.eval.Close()) }()
	runtime.GOMAXPROCS(b.workers)
	fmt.Fprintf(to, "  %-5s %10s %10s %6s | %10s %10s %6s | %8s %8s  %s\n", "", "DuckDB", "ours", "x", "CPU: its", "ours", "x", "MB", "B/row", "equal")
	for _, w := range append([]*workload{filterOnly}, workloads...) {
		if w.nexmark() || len(b.only) > 0 && !slices.Contains(b.only, w.name) {
			continue
		}
		if err := b.measure(ctx, w, to); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	return nil
}

// tables makes the sources of a folder's workloads, by the laws of generate.go.
func (b *backfill) tables(ctx context.Context, w *workload) error {
	few := min(customers, max(b.rows/50, 1))
	groups := groupsFew
	if w.folder == "w1b" {
		groups = groupsMany
	}
	_, err := b.conn.Exec(ctx, fmt.Sprintf(`
		CREATE OR REPLACE TABLE t AS SELECT i AS id, (hash(i, 1) %% %d)::BIGINT AS k, (hash(i, 2) %% %d)::BIGINT AS v FROM range(%d) r(i);
		CREATE OR REPLACE TABLE o AS SELECT i AS id, (hash(i, 3) %% %d)::BIGINT AS cid, 1 + (hash(i, 4) %% %d)::BIGINT AS amt FROM range(%d) r(i);
		CREATE OR REPLACE TABLE c AS SELECT i AS cid, (hash(i, 5) %% %d)::BIGINT AS region FROM range(%d) r(i)`,
		groups, largestValue, b.rows, few+few/20, largestAmount, b.rows, regions, few))
	return err
}

func (b *backfill) measure(ctx context.Context, w *workload, to io.Writer) error {
	if err := b.tables(ctx, w); err != nil {
		return err
	}
	var theirs, ours, theirsCPU, oursCPU time.Duration
	var state float64
	verdict := ""
	for i := range b.runs {
		start, cpu := time.Now(), cpuTime()
		if _, err := b.conn.Exec(ctx, "CREATE OR REPLACE TEMP TABLE result AS "+w.view); err != nil {
			return err
		}
		if d := time.Since(start); i == 0 || d < theirs {
			theirs = d
		}
		if d := cpuTime() - cpu; i == 0 || d < theirsCPU {
			theirsCPU = d
		}
		took, used, heap, err := b.load(ctx, w, i, &verdict)
		if err != nil {
			return err
		}
		if i == 0 || took < ours {
			ours = took
		}
		if i == 0 || used < oursCPU {
			oursCPU = used
		}
		state = heap
	}
	fmt.Fprintf(to, "  %-5s %8.0fms %8.0fms %6.2f | %8.0fms %8.0fms %6.2f | %8.0f %8.0f  %s\n", w.label(), theirs.Seconds()*1e3, ours.Seconds()*1e3,
		ours.Seconds()/theirs.Seconds(), theirsCPU.Seconds()*1e3, oursCPU.Seconds()*1e3, oursCPU.Seconds()/theirsCPU.Seconds(), state, state*(1<<20)/float64(b.rows), verdict)
	return nil
}

// load makes the view's graph and its state.
func (b *backfill) load(ctx context.Context, w *workload, run int, verdict *string) (took, used time.Duration, heap float64, err error) {
	p, err := planOf(ctx, w)
	if err != nil {
		return 0, 0, 0, err
	}
	graph, inputs, err := dataflow.Build(ctx, p, dataflow.BuildOptions{Evaluator: b.eval, Groups: b.eval, Parallelism: b.workers})
	if err != nil {
		return 0, 0, 0, err
	}
	defer func() { err = errors.Join(err, graph.Close()) }()
	runtime.GC()
	before := heapMB()
	stop := func() {}
	if b.profiles != "" && run == b.runs-1 {
		if err := os.MkdirAll(b.profiles, 0o755); err != nil {
			return 0, 0, 0, err
		}
		file, err := os.Create(filepath.Join(b.profiles, "backfill-"+w.name+".pprof"))
		if err != nil {
			return 0, 0, 0, err
		}
		if err := pprof.StartCPUProfile(file); err != nil {
			return 0, 0, 0, err
		}
		stop = func() {
			pprof.StopCPUProfile()
			_ = file.Close()
		}
	}
	start := time.Now()
	cpu := cpuTime()
	out, err := graph.LoadFrom(ctx, 0, &backfillTables{ctx, b, inputs})
	took, used = time.Since(start), cpuTime()-cpu
	stop()
	if err != nil {
		return 0, 0, 0, err
	}
	if run == 0 {
		if *verdict, err = b.compare(ctx, out); err != nil {
			return 0, 0, 0, err
		}
	}
	out.Reset()
	out.Words, out.Weights = nil, nil
	runtime.GC()
	return took, used, heapMB() - before, nil
}

// backfillTables are the sources as the graph reads them.
type backfillTables struct {
	ctx    context.Context
	b      *backfill
	inputs []dataflow.Input
}

func (t *backfillTables) columns(i int, names bool) string {
	columns := make([]string, len(t.inputs[i].Fields))
	for k, f := range t.inputs[i].Fields {
		if columns[k] = f.Name; names {
			columns[k] += fmt.Sprintf(" AS c%d", k)
		}
	}
	if len(columns) == 0 {
		columns = []string{"NULL"}
	}
	return "SELECT " + strings.Join(columns, ", ") + " FROM " + t.inputs[i].Source.Name
}

func (t *backfillTables) Rows(i int, take func(*zset.Batch) error) error {
	return t.b.read(t.ctx, t.columns(i, false), zset.New(t.inputs[i].Layout()), take)
}

func (*backfillTables) Size(int) int64 { return -1 }

func (t *backfillTables) Summary(s *dataflow.Summary, take func(*zset.Batch) error) error {
	// As the lake's source does.
	if _, err := t.b.conn.Exec(t.ctx, "SET perfect_ht_threshold = 16"); err != nil {
		return err
	}
	defer func() { _, _ = t.b.conn.Exec(t.ctx, "RESET perfect_ht_threshold") }()
	return t.b.read(t.ctx, s.Of("("+t.columns(s.Source, true)+")"), zset.New(s.Layout), take)
}

// read gives the rows of a query.
func (b *backfill) read(ctx context.Context, sql string, rows *zset.Batch, take func(*zset.Batch) error) (err error) {
	r, err := b.conn.Query(ctx, sql)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	for r.Next() {
		rec := r.RecordBatch()
		rows.Reset()
		if len(rows.Layout.Types) == 0 { // only the rows' number counts
		} else if rows.Words, err = rows.Layout.FromArrow(rows.Words, rows.Heap, rec); err != nil {
			return err
		}
		for range rec.NumRows() {
			rows.Weights = append(rows.Weights, 1)
		}
		if err := take(rows); err != nil {
			return err
		}
	}
	return r.Err()
}

// compare says whether the content is the query's result.
func (b *backfill) compare(ctx context.Context, out *zset.Batch) (string, error) {
	names := make([]string, len(out.Layout.Types))
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	schema, err := out.Layout.Schema(names, "UTC")
	if err != nil {
		return "", err
	}
	if slices.ContainsFunc(out.Weights, func(w int64) bool { return w != 1 }) {
		return "", fmt.Errorf("a weight is not 1")
	}
	rec, err := out.Layout.ToArrow(schema, out.Words, out.Len(), out.Heap)
	if err != nil {
		return "", err
	}
	defer rec.Release()
	reader, err := array.NewRecordReader(schema, []arrow.RecordBatch{rec})
	if err != nil {
		return "", err
	}
	defer reader.Release()
	release, err := b.conn.RegisterArrow("loaded", reader)
	if err != nil {
		return "", err
	}
	defer func() { _ = release() }()
	rows, err := b.conn.Rows(ctx, "CREATE OR REPLACE TEMP TABLE kept AS FROM loaded; SELECT (SELECT count(*) FROM (FROM kept EXCEPT ALL FROM result)) + (SELECT count(*) FROM (FROM result EXCEPT ALL FROM kept))")
	if err != nil {
		return "", err
	}
	if n := rows[0][0]; fmt.Sprint(n) != "0" {
		return fmt.Sprintf("NO: %v rows differ", n), nil
	}
	return "yes", nil
}
