package evaluator

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/row"
)

// runner is one fragment and its open statement.
type runner struct {
	instance *Instance
	f        eval.Fragment
	columns  []duck.Column
	writers  []writer
	readers  []reader
	sql      string

	mu     sync.Mutex    // held while it runs
	place  *list.Element // guarded by instance.mu
	conn   *duck.Conn
	slot   *duck.Slot
	stmt   *duck.Stmt
	stream *duck.Chunks // nil until the first run, and after an error

	// The run.
	in, out  eval.Rows
	clock    int64
	pos, end int // rows that the slot has not given yet
	step     int // rows that it gives at once
	last     int // the last row that it gave
	read     []span
	repeats  int // chunks of a repeated row since the last rows
	starts   []int
}

// span is a chunk that the slot gave and whose result was not taken yet.
type span struct {
	from, n int
	repeat  bool
}

// plan makes the statement's text and finds how each value is copied.
func (r *runner) plan() error {
	f := &r.f
	for _, i := range f.Fields {
		c := eval.Carrier(f.In.Types[i])
		w, err := newWriter(c)
		if err != nil {
			return err
		}
		r.columns = append(r.columns, duck.Column{Name: eval.ColumnSQL(i), Type: c.String()})
		r.writers = append(r.writers, w)
	}
	if f.Clock {
		r.columns = append(r.columns, duck.Column{Name: eval.ClockSQL, Type: row.Type{Kind: row.TimestampTZ}.String()})
	}
	if len(r.columns) == 0 { // DuckDB has no table without columns
		r.columns = []duck.Column{{Name: "none", Type: "TINYINT"}}
	}
	for _, t := range f.Types {
		rd, err := newReader(eval.Carrier(t))
		if err != nil {
			return err
		}
		r.readers = append(r.readers, rd)
	}
	r.sql = "SELECT " + strings.Join(f.Exprs, ",\n       ") + "\nFROM rows"
	r.starts = make([]int, duck.SheetRows)
	return nil
}

// prepare connects and binds.
func (r *runner) prepare(ctx context.Context) (err error) {
	if r.conn, err = r.instance.connect(ctx); err != nil {
		return err
	}
	zone := r.f.TimeZone
	if zone == "" {
		zone = "UTC"
	}
	// A result of one byte fills the buffer, so DuckDB waits with each chunk until the last one is taken.
	set := "SET streaming_buffer_size = '1B'; SET TimeZone = '" + strings.ReplaceAll(zone, "'", "''") + "'"
	if _, err = r.conn.Exec(ctx, set); err != nil {
		return err
	}
	if r.slot, err = r.conn.RegisterSlot(ctx, "rows", r.columns, r.fill); err != nil {
		return err
	}
	if r.stmt, err = r.conn.Prepare(ctx, r.sql); err != nil {
		return err
	}
	columns := r.stmt.Columns()
	if len(columns) != len(r.f.Types) {
		return fault.InternalError.Newf("DuckDB does not say what the types of %s are", r.f.Exprs)
	}
	for i, c := range columns {
		if want := eval.Carrier(r.f.Types[i]); !eval.Means(c.Type, want) { // its vectors would be read as what they are not
			return fault.InternalError.Newf("%s is %s, not %s", r.f.Exprs[i], c.Type, want)
		}
	}
	return nil
}

// release gives the connection back.
func (r *runner) release() {
	r.stop()
	if r.stmt != nil {
		r.stmt.Close()
	}
	if r.slot != nil {
		r.slot.Close()
	}
	if r.conn != nil {
		r.conn.Close()
	}
	r.stmt, r.slot, r.conn = nil, nil, nil
}

func (r *runner) stop() {
	if r.stream != nil {
		r.stream.Close()
		r.stream = nil
	}
	r.read, r.repeats = r.read[:0], 0
}

// Close ends the fragment.
func (r *runner) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.instance.forget(r)
	r.release()
	return nil
}

// Run evaluates rows.
func (r *runner) Run(ctx context.Context, in, out eval.Rows, clock int64, bad func(i int, err error)) error {
	if in.N == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	told := false
	err := r.attempt(ctx, in, out, clock, func(i int, err error) { told = true; bad(i, err) })
	if fatal(err) { // another fragment, perhaps, has ended the instance: once more with a new one
		r.release()
		if !told {
			err = r.attempt(ctx, in, out, clock, bad)
		}
	}
	return err
}

func (r *runner) attempt(ctx context.Context, in, out eval.Rows, clock int64, bad func(i int, err error)) error {
	if r.conn == nil {
		if err := r.prepare(ctx); err != nil {
			r.release()
			return err
		}
	}
	r.instance.use(r)
	r.slot.Forget()
	r.in, r.out, r.clock = in, out, clock
	err := r.span(ctx, 0, in.N, duck.SheetRows, bad)
	r.in, r.out = eval.Rows{}, eval.Rows{}
	return err
}

// fatal says that DuckDB refuses to go on with the instance.
func fatal(err error) bool {
	var e *duck.Error
	return errors.As(err, &e) && e.Type == "FATAL"
}

// span runs the rows [from, to), step at a time. A step that fails is run again in sixteenths.
func (r *runner) span(ctx context.Context, from, to, step int, bad func(i int, err error)) error {
	for from < to {
		done, failed, wrong, err := r.pump(ctx, from, to, step, bad)
		if err != nil {
			return err
		}
		if wrong == nil {
			return nil
		}
		if done < failed.from { // evaluated before, and lost with the statement
			if err := r.span(ctx, done, failed.from, step, bad); err != nil {
				return err
			}
		}
		if failed.n == 1 {
			bad(failed.from, wrong)
		} else if err := r.span(ctx, failed.from, failed.from+failed.n, max(1, failed.n/16), bad); err != nil {
			return err
		}
		from = failed.from + failed.n
	}
	return nil
}

// pump puts rows in and takes results out. It gives the first row whose result was not taken, and the chunk that is to blame for
// an error that rows make; err is any other error.
func (r *runner) pump(ctx context.Context, from, to, step int, bad func(i int, err error)) (done int, failed span, wrong, err error) {
	r.pos, r.end, r.step = from, to, step
	for done = from; done < to; {
		rows, err := r.next(ctx)
		if err != nil {
			var at span
			if n := len(r.read); n > 0 {
				at = r.read[n-1]
			}
			r.stop()
			if !ofRow(err) || at.n == 0 || at.repeat {
				return done, at, nil, err
			}
			return done, at, rowError(err), nil
		}
		if len(r.read) == 0 || r.read[0].n != rows {
			r.stop()
			return done, failed, nil, fmt.Errorf("evaluator: %d results came for %v rows of: %s", rows, r.read, r.sql)
		}
		s := r.read[0]
		r.read = append(r.read[:0], r.read[1:]...)
		if s.repeat {
			continue
		}
		r.take(s.from, s.n, bad)
		done = s.from + s.n
	}
	return done, failed, nil, nil
}

// next is the next chunk of results.
func (r *runner) next(ctx context.Context) (rows int, err error) {
	r.repeats = 0
	if r.stream == nil {
		if r.stream, err = r.stmt.Chunks(ctx); err != nil {
			r.stream = nil
			return 0, err
		}
	}
	ok, err := r.stream.Next(ctx)
	if err == nil && !ok {
		err = errors.New("evaluator: the statement ended")
	}
	return r.stream.Rows, err
}

// fill gives DuckDB the next rows.
func (r *runner) fill(sheet *duck.Sheet) error {
	s := span{r.pos, min(r.end-r.pos, r.step), false}
	if s.n <= 0 {
		s = span{r.last, 1, true}
		if r.repeats++; r.repeats > 8 {
			return errors.New("evaluator: the statement takes rows and gives none")
		}
	} else {
		r.pos += s.n
		r.last = r.pos - 1
	}
	starts := r.starts[:s.n]
	for i := range starts {
		starts[i] = r.in.At(s.from + i)
	}
	l := r.f.In
	for k, i := range r.f.Fields {
		c := sheet.Column(k)
		if err := r.writers[k].write(c, &r.in, starts, l.Off[i]); err != nil {
			return err
		}
		word, bit := i>>6, uint(i)&63
		for j, at := range starts {
			if r.in.Words[at+word]>>bit&1 != 0 {
				c.SetNull(j)
			}
		}
	}
	switch c := sheet.Column(len(r.columns) - 1); {
	case r.f.Clock:
		clock := cells[int64](c.Data(), s.n)
		for i := range clock {
			clock[i] = r.clock
		}
	case len(r.f.Fields) == 0:
		clear(cells[int8](c.Data(), s.n))
	}
	sheet.Rows = s.n
	r.read = append(r.read, s)
	return nil
}

// take writes the current results to the rows from that place on.
func (r *runner) take(from, n int, bad func(i int, err error)) {
	starts := r.starts[:n]
	for i := range starts {
		starts[i] = r.out.At(from + i)
	}
	for k, rd := range r.readers {
		c, i := r.stream.Column(k), r.out.Fields[k]
		rd.read(c, &r.out, starts, i)
		if x, ok := rd.(*nested); ok {
			for _, j := range x.wrong {
				bad(from+j, errNullKey)
			}
			x.wrong = x.wrong[:0]
		}
		if c.Validity() == nil {
			continue
		}
		word, bit := i>>6, uint64(1)<<(uint(i)&63)
		valid := cells[uint64](c.Validity(), (n+63)/64)
		for j, at := range starts {
			if valid[j>>6]>>(uint(j)&63)&1 == 0 {
				r.out.Words[at+word] |= bit
			}
		}
	}
}

// errNullKey is for what DuckDB makes by some casts, though it says itself that it is none.
var errNullKey = &eval.Error{Text: "Invalid Input Error: Map keys can not be NULL."}

// rowError is DuckDB's error without what it says of our statement.
func rowError(err error) error {
	text, _, _ := strings.Cut(err.Error(), "\n\nLINE ")
	if at := strings.LastIndex(text, " when casting from source column c"); at >= 0 && !strings.Contains(text[at+1:], "\n") {
		text = text[:at]
	}
	return &eval.Error{Text: text, Cause: err}
}

// ofRow says that an error is one that a row's values make, and not the machine or the caller.
func ofRow(err error) bool {
	var e *duck.Error
	if !errors.As(err, &e) || e.Unwrap() != nil {
		return false
	}
	switch e.Type {
	case "Interrupt", "Out of Memory", "FATAL", "INTERNAL", "IO", "TransactionContext", "":
		return false
	}
	return true
}
