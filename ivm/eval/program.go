package eval

import (
	"context"
	"math/bits"
	"slices"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Options are what a program is compiled with.
type Options struct {
	Evaluator Evaluator // nil where no expression needs it
	TimeZone  string    // of the view; "" is UTC
	OnlyDuck  bool      // no paths in Go, for tests
}

// Program computes expressions for the rows of batches. It belongs to one goroutine at a time; [Program.Fork] makes another.
type Program struct {
	In, Out *row.Layout

	exprs  []plan.Expr
	filter plan.Expr
	o      Options

	same  bool // the rows are the input's
	moves []move
	paths []path
	hard  *fragment // what has no path
	whole *fragment // everything but the moves, for rows that a path leaves alone
	when  *condition

	forms bool // there are normal forms
	easy  bool // no path can leave a row alone
	tired int  // batches for which the paths rest, because they left too many rows alone

	// The run.
	pick    []int32 // rows that passed; nil when all did
	bad     func(row int, err error)
	first   error // where nobody is told of rows
	note    func(row int, err error)
	fail    func(i int, err error)
	leave   func(i int, err error)
	m       machine
	act     mask
	escaped []int32
	mapped  []int32
	failed  []int32
}

// move copies a field.
type move struct {
	src, dst         int // words
	wide, long       bool
	from, to         int // words of the null bits
	fromBit, toShift uint
}

// path computes a field in Go.
type path struct {
	node  node
	field int
	off   int
	typ   row.Type
	form  bool // a normal form
}

// Compile makes the program that gives, for each row of in for which filter is true (nil: each), a row of exprs.
func Compile(in *row.Layout, exprs []plan.Expr, filter plan.Expr, o Options) (*Program, error) {
	types := make([]row.Type, len(exprs))
	for i, e := range exprs {
		types[i] = e.Result()
	}
	if err := meant(in, append(exprs[:len(exprs):len(exprs)], filter)); err != nil {
		return nil, err
	}
	p := &Program{In: in, Out: row.NewLayout(types...), exprs: exprs, filter: filter, o: o}
	if err := p.compile(); err != nil {
		p.Close()
		return nil, err
	}
	return p, nil
}

// meant says that expressions read fields as what they are, since words of one type are taken for another's nowhere else.
func meant(in *row.Layout, exprs []plan.Expr) (err error) {
	for _, e := range exprs {
		if e == nil {
			continue
		}
		plan.Walk(e, func(x plan.Expr) bool {
			c, ok := x.(*plan.ColumnRef)
			if !ok || c.Type.Kind == row.Null || c.Index >= 0 && c.Index < len(in.Types) && (alike(c.Type, in.Types[c.Index]) || in.Types[c.Index].Kind == row.Null) {
				return true
			}
			err = fault.InternalError.Newf("an expression reads field %d of (%s) as %s", c.Index, in, c.Type)
			return false
		})
	}
	return err
}

func (p *Program) compile() error {
	c := &compiler{in: p.In, columns: map[int]*column{}}
	p.m.in = p.In
	p.functions()
	var hard, whole []int
	p.same = p.filter == nil && p.In.Same(p.Out)
	for i, e := range p.exprs {
		ref, ok := e.(*plan.ColumnRef)
		if ok && ref.Index >= 0 && ref.Index < len(p.In.Types) && p.In.Types[ref.Index].Words() == p.Out.Types[i].Words() {
			p.same = p.same && ref.Index == i
			p.moves = append(p.moves, p.move(ref.Index, i))
			continue
		}
		p.same = false
		if n, ok := e.(*Normal); ok { // which decides every row
			k := c.normal(n)
			if k == nil {
				return fault.InternalError.Newf("a normal form of column %d, of %d", n.Column.Index, len(p.In.Types))
			}
			p.paths = append(p.paths, path{k, i, p.Out.Off[i], p.Out.Types[i], true})
			p.forms = true
			continue
		}
		whole = append(whole, i)
		if !p.o.OnlyDuck {
			if n := c.node(e); n != nil {
				p.paths = append(p.paths, path{n, i, p.Out.Off[i], p.Out.Types[i], false})
				continue
			}
		}
		hard = append(hard, i)
	}
	var err error
	p.easy = len(p.paths) == len(p.exprs)-len(p.moves)-len(whole) // only normal forms
	if len(hard) > 0 {
		if p.hard, err = p.fragment(hard); err != nil {
			return err
		}
		if err = p.hard.open(); err != nil {
			return err
		}
	}
	p.whole = p.hard
	if len(hard) != len(whole) {
		if p.whole, err = p.fragment(whole); err != nil {
			return err
		}
	}
	if p.filter != nil {
		p.when, err = p.condition(c)
	}
	return err
}

func (p *Program) move(i, o int) move {
	t := p.In.Types[i]
	return move{src: p.In.Off[i], dst: p.Out.Off[o], wide: t.Words() == 2, long: t.Var(),
		from: i >> 6, fromBit: uint(i) & 63, to: o >> 6, toShift: uint(o) & 63}
}

// InGo says that expression i is a column or has a path in Go.
func (p *Program) InGo(i int) bool { return p.hard == nil || !slices.Contains(p.hard.fields, i) }

// FilterInGo says that the filter, if any, has a path in Go.
func (p *Program) FilterInGo() bool { return p.when == nil || p.when.node != nil }

// Fork is the same program for another goroutine.
func (p *Program) Fork() (*Program, error) {
	q := &Program{In: p.In, Out: p.Out, exprs: p.exprs, filter: p.filter, o: p.o}
	if err := q.compile(); err != nil {
		q.Close()
		return nil, err
	}
	return q, nil
}

// SetClock sets the logical clock, in microseconds since 1970.
func (p *Program) SetClock(micros int64) {
	p.m.clock = uint64(micros)
	p.m.turn++
}

// Close ends what the program has open in its evaluator.
func (p *Program) Close() error {
	for _, f := range []*fragment{p.hard, p.whole} {
		f.close()
	}
	if p.when != nil {
		p.when.sql.close()
	}
	return nil
}

// Run appends to out a row for each row of in that passes, with its weight. A row that cannot be evaluated is left out and
// told to bad by its number in in; without bad its error is Run's. An error of Run leaves out as it was.
//
// out may share its heap with in; then long values that are only copied are not copied.
func (p *Program) Run(ctx context.Context, in, out *zset.Batch, bad func(row int, err error)) error {
	if p.bad = bad; bad == nil {
		p.bad, p.first = p.note, nil
	}
	rows, weights := len(out.Words), len(out.Weights)
	err := p.run(ctx, in, out)
	if err == nil && bad == nil {
		err = p.first
	}
	p.pick, p.bad, p.first, p.m.words, p.m.heap = nil, nil, nil, nil, nil
	if err != nil {
		out.Words, out.Weights = out.Words[:rows], out.Weights[:weights]
	}
	return err
}

func (p *Program) run(ctx context.Context, in, out *zset.Batch) error {
	n := in.Len()
	if n == 0 {
		return nil
	}
	p.m.words, p.m.heap = in.Words, in.Heap
	var pick []int32
	if p.when != nil {
		var err error
		if pick, err = p.when.rows(ctx, p, in, p.bad); err != nil {
			return err
		}
		if n = len(pick); n == 0 {
			return nil
		}
		if n == in.Len() {
			pick = nil
		}
	}
	p.pick = pick
	width, base := p.Out.Words, len(out.Words)
	if pick == nil {
		out.Weights = append(out.Weights, in.Weights...)
	} else {
		for _, i := range pick {
			out.Weights = append(out.Weights, in.Weights[i])
		}
	}
	if p.same && (p.Out.Fixed() || in.Heap == out.Heap) {
		out.Words = append(out.Words, in.Words...)
		return nil
	}
	out.Words = slices.Grow(out.Words, n*width)[:base+n*width]
	dst := out.Words[base:]
	clear(dst)
	p.copy(in, dst, out.Heap, pick, n)
	p.escaped, p.failed = p.escaped[:0], p.failed[:0]
	if err := p.values(ctx, in, dst, out.Heap, pick, n); err != nil {
		return err
	}
	if len(p.failed) > 0 {
		p.drop(out, base, len(out.Weights)-n)
	}
	return nil
}

// many is how many rows make a batch of which a large part may tire the paths.
const many = 256

// values computes what is not copied.
func (p *Program) values(ctx context.Context, in *zset.Batch, dst []uint64, heap *row.Heap, pick []int32, n int) error {
	fail := p.fail
	rest := !p.easy && p.o.Evaluator != nil && n >= many && p.tired > 0
	if len(p.paths) > 0 {
		p.compute(dst, heap, pick, n, rest)
	}
	hard := p.hard
	switch {
	case rest:
		hard, p.tired = p.whole, max(0, p.tired-1)
	case !p.easy && len(p.paths) > 0:
		fail = p.leave // the whole row shall say what is wrong with it
	}
	if hard != nil {
		if err := hard.run(ctx, p, in, dst, heap, pick, nil, n, fail); err != nil {
			return err
		}
	}
	if len(p.escaped) == 0 {
		return nil
	}
	if 4*len(p.escaped) > n && n >= many {
		p.tired = 64
	}
	return p.decide(ctx, in, dst, heap, pick)
}

// copy moves the fields that are only copied.
func (p *Program) copy(in *zset.Batch, dst []uint64, heap *row.Heap, pick []int32, n int) {
	if len(p.moves) == 0 {
		return
	}
	width, stride, nulls := p.Out.Words, p.In.Words, p.In.Nulls
	for i := range n {
		at := i
		if pick != nil {
			at = int(pick[i])
		}
		s, d := in.Words[at*stride:at*stride+stride], dst[i*width:i*width+width]
		for k := range p.moves {
			m := &p.moves[k]
			d[m.dst] = s[m.src]
			if m.wide {
				d[m.dst+1] = s[m.src+1]
			}
		}
		any := s[0]
		for _, w := range s[1:nulls] {
			any |= w
		}
		if any == 0 {
			continue
		}
		for k := range p.moves {
			m := &p.moves[k]
			d[m.to] |= s[m.from] >> m.fromBit & 1 << m.toShift
		}
	}
	if in.Heap == heap {
		return
	}
	for k := range p.moves {
		m := &p.moves[k]
		if !m.long {
			continue
		}
		for i := range n {
			if l := uint32(dst[i*width+m.dst]); l > row.Inline {
				ref := &dst[i*width+m.dst+1]
				*ref = heap.Put(in.Heap.Get(*ref, int(l)))
			}
		}
	}
}

// compute runs the paths, or only the normal forms, and notes the rows that they leave alone.
func (p *Program) compute(dst []uint64, heap *row.Heap, pick []int32, n int, normalOnly bool) {
	if normalOnly && !p.forms {
		return
	}
	width, m := p.Out.Words, &p.m
	for base := 0; base < n; base += chunk {
		k := min(chunk, n-base)
		var rows []int32
		if pick != nil {
			rows = pick[base : base+k]
		}
		m.begin(base, k, rows)
		p.act.first(k)
		for i := range p.paths {
			x := &p.paths[i]
			if normalOnly && !x.form {
				continue
			}
			x.scatter(m, x.node.eval(m, &p.act), dst[base*width:], width, heap)
		}
		for w := range m.w {
			for set := m.escape[w]; set != 0; set &= set - 1 {
				p.escaped = append(p.escaped, int32(base+w<<6+bits.TrailingZeros64(set)))
			}
		}
	}
}

// scatter writes a vector to its field.
func (x *path) scatter(m *machine, v *vec, dst []uint64, width int, heap *row.Heap) {
	at := x.off
	switch {
	case v.lo == nil:
		for i := range m.n {
			dst[at] = v.bits[i>>6] >> (uint(i) & 63) & 1
			at += width
		}
	case v.hi == nil:
		for _, w := range v.lo[:m.n] {
			dst[at] = w
			at += width
		}
	case x.typ.Var() && v.heap != heap:
		for i := range m.n {
			lo, hi := v.lo[i], v.hi[i]
			if n := uint32(lo); n > row.Inline && !v.isNullAt(i) {
				hi = heap.Put(v.heap.Get(hi, int(n)))
			}
			dst[at], dst[at+1] = lo, hi
			at += width
		}
	default:
		for i := range m.n {
			dst[at], dst[at+1] = v.lo[i], v.hi[i]
			at += width
		}
	}
	if !v.nulls {
		return
	}
	word, bit := x.field>>6, uint64(1)<<(uint(x.field)&63)
	for w := range m.w {
		for set := v.null[w] & m.rows(w); set != 0; set &= set - 1 {
			r := dst[(w<<6+bits.TrailingZeros64(set))*width:]
			r[word] |= bit
			r[x.off] = 0
			if v.hi != nil {
				r[x.off+1] = 0
			}
		}
	}
}

// decide gives the rows that the paths left alone to the evaluator.
func (p *Program) decide(ctx context.Context, in *zset.Batch, dst []uint64, heap *row.Heap, pick []int32) error {
	slices.Sort(p.escaped)
	p.escaped = slices.Compact(p.escaped)
	if p.o.Evaluator == nil {
		for _, i := range p.escaped {
			p.fail(int(i), fault.SQLError.Newf("no evaluator is here to say what is wrong with a row of %s", p.whole.Exprs))
		}
		return nil
	}
	width := p.Out.Words
	from := p.escaped
	if pick != nil {
		p.mapped = p.mapped[:0]
		for _, i := range p.escaped {
			p.mapped = append(p.mapped, pick[i])
		}
		from = p.mapped
	}
	for _, i := range p.escaped {
		r := dst[int(i)*width : int(i)*width+width]
		for _, f := range p.whole.fields {
			p.Out.SetNull(r, f)
			r[f>>6] &^= 1 << (uint(f) & 63)
		}
	}
	escaped := p.escaped
	return p.whole.run(ctx, p, in, dst, heap, from, escaped, len(escaped), func(k int, err error) {
		p.fail(int(escaped[k]), err)
	})
}

// functions makes the functions that a run hands on, once.
func (p *Program) functions() {
	p.note = func(_ int, err error) {
		if p.first == nil {
			p.first = err
		}
	}
	p.fail = func(i int, err error) {
		p.failed = append(p.failed, int32(i))
		if p.pick != nil {
			i = int(p.pick[i])
		}
		p.bad(i, err)
	}
	p.leave = func(i int, _ error) { p.escaped = append(p.escaped, int32(i)) }
}

// drop takes the failed rows out of the batch, in which this run's begin at a word and a weight.
func (p *Program) drop(out *zset.Batch, word, weight int) {
	slices.Sort(p.failed)
	width, kept, next := p.Out.Words, 0, 0
	dst, weights := out.Words[word:], out.Weights[weight:]
	for i := range weights {
		if next < len(p.failed) && int(p.failed[next]) == i {
			next++
			continue
		}
		if kept != i {
			copy(dst[kept*width:kept*width+width], dst[i*width:i*width+width])
			weights[kept] = weights[i]
		}
		kept++
	}
	out.Words, out.Weights = out.Words[:word+kept*width], out.Weights[:weight+kept]
}

// rows are the bits of a mask word that stand for rows of the chunk.
func (m *machine) rows(w int) uint64 {
	if left := m.n - w<<6; left < 64 {
		return 1<<uint(left) - 1
	}
	return ^uint64(0)
}
