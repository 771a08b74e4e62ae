package dataflow

import (
	"context"
	"encoding/binary"
	"slices"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// UNNEST is linear and keeps nothing: each row gives a row for each element of its lists.
//
//	d(μ(A)) = μ(dA)
//
// Of several lists the elements stand side by side, and shorter lists are padded with NULL; NULL is a list without elements,
// and a row whose lists all have none gives nothing. A list that is written out, [a, b, c], is never made: its elements are
// fields of the prepared row.

// UnnestSpec is an UNNEST.
type UnnestSpec struct {
	Input      *row.Layout // of prepared rows
	Prepare    Program     // makes them; nil: the input has them
	Row        []int       // fields that the output begins with
	Lists      []int       // LIST or ARRAY fields, whose elements follow
	Elements   [][]int     // of list i: the fields that are its elements, instead of Lists[i]; nil, or of no fields: it is a field
	Ordinality bool        // the output ends with the element's place, from 1
}

type unnest struct {
	spec   UnnestSpec
	layout *row.Layout
	prep   preparation
	lists  []elements
	buf    [][row.Inline]byte
	turns  []*projection // of a single list given by its elements: the row that each gives, if nothing in it is long
}

// NewUnnest makes an UNNEST.
func NewUnnest(spec UnnestSpec) (Operator, error) {
	u := &unnest{spec: spec, prep: newPreparation(spec.Prepare, spec.Input)}
	var types []row.Type
	for _, f := range spec.Row {
		types = append(types, spec.Input.Types[f])
	}
	for i, f := range spec.Lists {
		if fields := spec.elements(i); fields != nil {
			types = append(types, spec.Input.Types[fields[0]])
			continue
		}
		t := spec.Input.Types[f]
		if t.Kind != row.List && t.Kind != row.Array {
			return nil, fault.InternalError.Newf("a value of type %s has no elements", t)
		}
		types = append(types, t.Children[0])
	}
	if spec.Ordinality {
		types = append(types, row.Type{Kind: row.Int64})
	}
	u.layout = row.NewLayout(types...)
	u.lists, u.buf = make([]elements, len(spec.Lists)), make([][row.Inline]byte, len(spec.Lists))
	if len(spec.Lists) == 1 && !spec.Ordinality && u.layout.Fixed() {
		for _, f := range spec.elements(0) {
			u.turns = append(u.turns, project(spec.Input, append(slices.Clone(spec.Row), f)...))
		}
	}
	return u, nil
}

// elements are the fields that list i is made of, or nil.
func (s *UnnestSpec) elements(i int) []int {
	if i < len(s.Elements) && len(s.Elements[i]) > 0 {
		return s.Elements[i]
	}
	return nil
}

func (u *unnest) Layout() *row.Layout { return u.layout }

func (u *unnest) Cancels() bool { return false }

func (u *unnest) Step(ctx context.Context, e *Epoch, in []*zset.Batch, out *zset.Batch) error {
	b, err := u.prep.run(ctx, e, in[0])
	if err != nil {
		return err
	}
	if u.turns != nil {
		for i, w := range b.Weights {
			r := b.Row(i)
			for _, p := range u.turns {
				p.onto(out.AppendRow(w), r)
			}
		}
		return nil
	}
	for i, w := range b.Weights {
		if err := u.row(b, b.Row(i), w, out); err != nil {
			return err
		}
	}
	return nil
}

// row gives the rows of one.
func (u *unnest) row(b *zset.Batch, r []uint64, w int64, out *zset.Batch) error {
	most := 0
	for j, f := range u.spec.Lists {
		if fields := u.spec.elements(j); fields != nil {
			most = max(most, len(fields))
			continue
		}
		x := &u.lists[j]
		if err := x.open(b.Layout, r, f, b.Heap, u.buf[j][:]); err != nil {
			return err
		}
		most = max(most, x.left)
	}
	for k := range most {
		dst := out.AppendRow(w)
		for j, f := range u.spec.Row {
			u.layout.CopyField(dst, j, out.Heap, b.Layout, r, f, b.Heap)
		}
		at := len(u.spec.Row)
		for j := range u.lists {
			switch fields := u.spec.elements(j); {
			case k < len(fields):
				u.layout.CopyField(dst, at+j, out.Heap, b.Layout, r, fields[k], b.Heap)
			case fields != nil:
				u.layout.SetNull(dst, at+j)
			default:
				if err := u.lists[j].next(u.layout, dst, at+j, out.Heap); err != nil {
					return err
				}
			}
		}
		if u.spec.Ordinality {
			u.layout.Set(dst, at+len(u.lists), uint64(k)+1)
		}
	}
	return nil
}

// elements walks the bytes of a LIST or ARRAY (row's codec of nested values).
type elements struct {
	of   row.Type
	left int
	p    []byte
}

func (x *elements) open(l *row.Layout, r []uint64, f int, h *row.Heap, buf []byte) error {
	t := l.Types[f]
	x.of, x.left, x.p = t.Children[0], 0, nil
	if l.IsNull(r, f) {
		return nil
	}
	x.p = l.Bytes(r, f, h, buf)
	if t.Kind == row.Array {
		x.left = t.Size
		return nil
	}
	n, k := binary.Uvarint(x.p)
	if k <= 0 {
		return x.broken()
	}
	x.left, x.p = int(n), x.p[k:]
	return nil
}

func (x *elements) broken() error {
	return fault.InternalError.Newf("the bytes of a list of %s are cut short", x.of)
}

// next makes the next element, or NULL behind the last, field i of dst.
func (x *elements) next(l *row.Layout, dst []uint64, i int, h *row.Heap) error {
	if x.left == 0 {
		l.SetNull(dst, i)
		return nil
	}
	x.left--
	end := elementEnd(x.of, x.p)
	if end < 0 {
		return x.broken()
	}
	v := x.p[:end]
	x.p = x.p[end:]
	if v[0] == 0 {
		l.SetNull(dst, i)
		return nil
	}
	v = v[1:]
	switch {
	case x.of.Nested():
		l.SetBytes(dst, i, v, h)
	case x.of.Var():
		_, k := binary.Uvarint(v)
		l.SetBytes(dst, i, v[k:], h)
	case x.of.Words() == 2:
		l.Set2(dst, i, binary.LittleEndian.Uint64(v), binary.LittleEndian.Uint64(v[8:]))
	default:
		l.Set(dst, i, binary.LittleEndian.Uint64(v))
	}
	return nil
}

// elementEnd is how many bytes an optional value takes; negative if there are not so many.
func elementEnd(t row.Type, p []byte) int {
	if len(p) == 0 {
		return -1
	}
	if p[0] == 0 {
		return 1
	}
	if n := valueEnd(t, p[1:]); n >= 0 {
		return 1 + n
	}
	return -1
}

func valueEnd(t row.Type, p []byte) int {
	at := 0
	optional := func(t row.Type) bool {
		n := elementEnd(t, p[at:])
		at += max(n, 0)
		return n >= 0
	}
	switch t.Kind {
	case row.List, row.Map:
		n, k := binary.Uvarint(p)
		if k <= 0 {
			return -1
		}
		at = k
		for range n {
			if t.Kind == row.Map {
				m := valueEnd(t.Children[0], p[at:])
				if m < 0 {
					return -1
				}
				at += m
			}
			if !optional(t.Children[len(t.Children)-1]) {
				return -1
			}
		}
		return at
	case row.Array:
		for range t.Size {
			if !optional(t.Children[0]) {
				return -1
			}
		}
		return at
	case row.Struct:
		for _, c := range t.Children {
			if !optional(c) {
				return -1
			}
		}
		return at
	case row.Union:
		if len(p) == 0 || int(p[0]) >= len(t.Children) {
			return -1
		}
		at = 1
		if !optional(t.Children[p[0]]) {
			return -1
		}
		return at
	}
	if t.Var() {
		n, k := binary.Uvarint(p)
		if k <= 0 || uint64(len(p)-k) < n {
			return -1
		}
		return k + int(n)
	}
	if n := 8 * t.Words(); len(p) >= n {
		return n
	}
	return -1
}
