package ivmtest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime/debug"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ivm/bind"
	"github.com/vegadb/vega-flight/ivm/zset"
)

func bindQuery(sql string, o Options) bind.Query {
	return bind.Query{SQL: sql, TimeZone: o.TimeZone, Setup: o.Setup}
}

// View is a maintained query.
type View struct {
	Name string
	Definition
	world  *World
	o      Options
	main   *run
	pieces *run  // the same, with each step's changes cut into several steps
	stored *run  // the same, over a store
	below  *View // whose rows it reads
	random *rand.Rand
	last   *zset.Batch // what the last step emitted
}

// run is an instance of a view and the sum of what it emitted.
type run struct {
	Maintained
	rows *zset.Batch
}

func (v *View) open(ctx context.Context) (*run, error) {
	return v.run(v.world.lab.engine.Open(ctx, v.Definition))
}

func (v *View) run(m Maintained, err error) (*run, error) {
	if err != nil {
		return nil, err
	}
	return &run{m, zset.New(m.Layout())}, nil
}

func (v *View) wrong(format string, args ...any) error {
	return &Wrong{v.Name, v.SQL, fmt.Sprintf(format, args...)}
}

// advance steps an instance. What it emits must be a change that can be: each row once, no row below zero.
func (r *run) advance(ctx context.Context, now int64, deltas map[string]*zset.Batch) (out *zset.Batch, err error) {
	return r.take(func() (*zset.Batch, error) { return r.Step(ctx, now, deltas) })
}

// frames are the engine's functions in a stack.
func frames(stack []byte) string {
	var out strings.Builder
	lines := strings.Split(string(stack), "\n")
	for i, l := range lines {
		if strings.Contains(l, "vega-flight/ivm/") && !strings.Contains(l, "ivmtest") && !strings.HasPrefix(l, "\t") && i+1 < len(lines) {
			call, _, _ := strings.Cut(l[strings.LastIndex(l, "/")+1:], "(0x")
			place, _, _ := strings.Cut(lines[i+1][strings.LastIndex(lines[i+1], "/")+1:], " ")
			fmt.Fprintf(&out, "%s (%s)\n", call, place)
		}
	}
	return cut(out.String(), 8)
}

func (r *run) take(step func() (*zset.Batch, error)) (out *zset.Batch, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("panic: %v\n%s", p, frames(debug.Stack()))
		}
	}()
	given, err := step()
	if err != nil {
		return nil, err
	}
	out = given.Clone()
	sum := out.Clone()
	sum.Consolidate()
	if sum.Len() != out.Len() {
		return nil, fmt.Errorf("emitted rows that cancel or come twice:\n%s", cut(given.Print(), 40))
	}
	r.rows.AppendBatch(out)
	r.rows.Consolidate()
	r.rows = r.rows.Clone() // lets go of the heap
	for i, w := range r.rows.Weights {
		if w < 0 {
			return nil, fmt.Errorf("has a row %d times: %s; emitted:\n%s", w, r.rows.Layout.Format(r.rows.Row(i), r.rows.Heap), cut(out.Print(), 40))
		}
	}
	return out, nil
}

// step follows a step and compares everything.
func (v *View) step(ctx context.Context, deltas map[string]*zset.Batch) (err error) {
	now := v.world.now
	if err := v.expect(ctx); err != nil {
		return err
	}
	if v.last, err = v.main.advance(ctx, now, deltas); err != nil {
		return v.wrong("%v", err)
	}
	if err := v.compare(ctx); err != nil {
		return err
	}
	if v.stored != nil {
		if _, err := v.stored.advance(ctx, now, deltas); err != nil {
			return v.wrong("over a store: %v", err)
		}
		if err := v.same(v.stored, "over a store"); err != nil {
			return err
		}
	}
	if v.pieces == nil {
		return nil
	}
	for _, piece := range v.cut(deltas) {
		if _, err := v.pieces.advance(ctx, now, piece); err != nil {
			return v.wrong("in pieces: %v", err)
		}
	}
	return v.same(v.pieces, "with its changes in pieces")
}

// compare compares the view with its query.
func (v *View) compare(ctx context.Context) error {
	l := v.world.lab
	if v.undefined() {
		return nil
	}
	if err := v.tell(ctx); err != nil {
		return err
	}
	sql := at(v.SQL, v.world.now)
	want, refused := v.world.ask(ctx, sql, v.TimeZone)
	has := v.main.Errors()
	l.Counts.Comparisons.Add(1)
	if err := v.compareLate(); err != nil {
		return err
	}
	switch {
	case refused != nil && len(has) == 0:
		return v.wrong("DuckDB says: %v; the view has no error and the rows\n%s", refused, cut(v.main.rows.Print(), 20))
	case refused == nil && len(has) > 0:
		return v.wrong("DuckDB gives %d rows; the view has errors:\n%s", want.Len(), strings.Join(has, "\n"))
	case refused != nil:
		l.Counts.Failing.Add(1)
		return nil //nolint:nilerr // both refuse
	}
	l.Counts.Rows.Add(int64(want.Len()))
	info := v.Plan.Info(v.Plan.Root)
	a := allowance{inexact: info.Inexact, scale: v.o.Scale}
	difference, err := l.oracle.differ(ctx, v.main.rows, want, a)
	if err != nil || difference == "" {
		return err
	}
	a.arbitrary = info.Arbitrary
	if v.o.Exact || !some(a.arbitrary) {
		return v.wrong("%sit emitted:\n%s", difference, cut(v.last.Print(), 40))
	}
	if difference, err = l.oracle.differ(ctx, v.main.rows, want, a); err != nil || difference != "" {
		return errors.Join(err, v.wrong("beside what a tie decides: %s", difference))
	}
	return v.allowed(ctx, sql)
}

func some(marks []bool) bool {
	for _, m := range marks {
		if m {
			return true
		}
	}
	return false
}

// allowed asks whether the view is one of the right answers.
func (v *View) allowed(ctx context.Context, sql string) error {
	w, o := v.o.Within, v.world.lab.oracle
	if w == nil {
		return v.wrong("the plan says that a tie decides, and the view differs from DuckDB's choice: say WITHIN what")
	}
	var names []string
	for _, c := range v.Plan.Columns() {
		names = append(names, c.Name)
	}
	rows := v.main.rows
	schema, err := rows.Layout.Schema(names, "UTC")
	if err != nil {
		return err
	}
	all := zset.New(rows.Layout)
	for i, n := range rows.Weights {
		for range n {
			all.Append(rows.Row(i), rows.Heap, 1)
		}
	}
	if err := o.keep(ctx, "ivm_view", schema, all); err != nil {
		return err
	}
	for what, query := range map[string]string{
		"rows that no right answer has": "FROM temp.ivm_view EXCEPT ALL (" + at(w.Of, v.world.now) + ")",
		"places that are wrong":         "(SELECT " + w.Keys + " FROM temp.ivm_view) EXCEPT ALL (SELECT " + w.Keys + " FROM (" + sql + "))",
		"places that are missing":       "(SELECT " + w.Keys + " FROM (" + sql + ")) EXCEPT ALL (SELECT " + w.Keys + " FROM temp.ivm_view)",
	} {
		bad, err := v.world.ask(ctx, query, v.TimeZone)
		if err != nil {
			return err
		}
		if bad.Len() > 0 {
			return v.wrong("%s:\n%s", what, cut(bad.Print(), 20))
		}
	}
	return nil
}

// same compares another instance with the view, to the last bit.
func (v *View) same(r *run, how string) error {
	if a, b := len(v.main.Errors()), len(r.Errors()); a != b {
		return v.wrong("%s it has %d errors, not %d:\n%s", how, b, a, strings.Join(append(r.Errors(), v.main.Errors()...), "\n"))
	}
	if d := minus(r.rows, v.main.rows); d.Len() > 0 {
		return v.wrong("%s it has other rows (+ there, - here):\n%s", how, cut(d.Print(), 40))
	}
	return nil
}

// rebuild makes the view anew from the tables as they are: in one step, and as it is backfilled.
func (v *View) rebuild(ctx context.Context) error {
	v.world.lab.Counts.Rebuilt.Add(1)
	for _, load := range []bool{false, true} {
		if err := v.rebuildBy(ctx, load); err != nil {
			return err
		}
	}
	return nil
}

func (v *View) rebuildBy(ctx context.Context, load bool) (err error) {
	how := "made anew by a step"
	if load {
		how = "made anew by loading"
	}
	r, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	now, whole := v.world.now, v.whole()
	if load {
		_, err = r.take(func() (*zset.Batch, error) { return r.Load(ctx, now, whole) })
	} else {
		_, err = r.advance(ctx, now, whole)
	}
	if err != nil {
		return v.wrong("%s: %v", how, err)
	}
	if err := v.same(r, how); err != nil || !load || v.eventful() { // what is behind a watermark is not taken back
		return err
	}
	// A view that was loaded goes on: everything is taken back.
	nothing := map[string]*zset.Batch{}
	for name, rows := range whole {
		nothing[name] = rows.Clone()
		nothing[name].Negate()
	}
	if _, err := r.advance(ctx, now, nothing); err != nil {
		return v.wrong("%s and emptied: %v", how, err)
	}
	empty, err := v.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, empty.Close()) }()
	if _, err := empty.advance(ctx, now, nil); err != nil {
		return v.wrong("empty: %v", err)
	}
	if d := minus(r.rows, empty.rows); d.Len() > 0 || len(r.Errors()) != len(empty.Errors()) {
		return v.wrong("%s and emptied it has rows (+ there, - in an empty view):\n%s%s", how, cut(d.Print(), 40), strings.Join(r.Errors(), "\n"))
	}
	return nil
}

func (v *View) close() error {
	var errs []error
	for _, r := range []*run{v.main, v.pieces, v.stored} {
		if r != nil {
			errs = append(errs, r.Close())
		}
	}
	return errors.Join(errs...)
}

// cut spreads changes over up to four steps, row by row and copy by copy, and puts in some that cancel.
func (v *View) cut(deltas map[string]*zset.Batch) []map[string]*zset.Batch {
	out := make([]map[string]*zset.Batch, 1+v.random.IntN(4))
	for i := range out {
		out[i] = map[string]*zset.Batch{}
	}
	for _, name := range slices.Sorted(maps.Keys(deltas)) {
		d := deltas[name]
		if t := v.world.table(name); t != nil && t.event != nil { // commits stay whole, and in their order
			cutCommits(v.random, d, out, name)
			continue
		}
		put := func(at, row int, w int64) {
			if out[at][name] == nil {
				out[at][name] = zset.New(d.Layout)
			}
			out[at][name].Append(d.Row(row), d.Heap, w)
		}
		for _, i := range v.random.Perm(d.Len()) {
			w := d.Weights[i]
			if v.random.IntN(8) == 0 { // in one step, and back: nothing
				n := v.random.IntN(len(out))
				put(n, i, -1)
				put(n, i, 1)
			}
			if w > 1 || w < -1 {
				part := w / 2
				put(v.random.IntN(len(out)), i, part)
				w -= part
			}
			put(v.random.IntN(len(out)), i, w)
		}
	}
	return out
}
