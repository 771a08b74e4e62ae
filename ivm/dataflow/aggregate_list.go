package dataflow

import (
	"encoding/binary"
	"math"

	"github.com/vegadb/vega-flight/ivm/row"
)

// listValue is list(x): the entries in order, each as often as it is there.
type listValue struct {
	m        *multiset
	at       int
	distinct bool
}

func (v *listValue) show(c *group, i int) error {
	t, ref := v.m.table, v.m.refs[c.slot]
	n := v.m.size(ref, v.distinct)
	if n == 0 {
		return c.null(i)
	}
	l := v.m.entry.layout
	buf := binary.AppendUvarint(c.buf[:0], uint64(n))
	t.Scan(&c.cursor, ref)
	for c.cursor.Next() {
		copies := c.cursor.Weight()
		if v.distinct {
			copies = 1
		}
		from := len(buf)
		buf = appendElement(buf, l, c.cursor.Row(), v.at, t.Heap())
		element := buf[from:]
		for range copies - 1 {
			buf = append(buf, element...)
		}
	}
	c.buf = buf
	c.layout.SetBytes(c.dst, i, buf, c.heap)
	return nil
}

// appendElement appends a field as an element of a LIST (row's codec of nested values).
func appendElement(dst []byte, l *row.Layout, r []uint64, i int, h *row.Heap) []byte {
	if l.IsNull(r, i) {
		return append(dst, 0)
	}
	dst = append(dst, 1)
	o, t := l.Off[i], l.Types[i]
	switch {
	case t.Nested():
		return row.AppendVar(dst, r[o], r[o+1], h)
	case t.Var():
		dst = binary.AppendUvarint(dst, uint64(uint32(r[o])))
		return row.AppendVar(dst, r[o], r[o+1], h)
	}
	return row.AppendWords(dst, r[o:o+t.Words()])
}

// textValue is string_agg(x, separator).
type textValue struct {
	m         *multiset
	at        int
	distinct  bool
	separator string
	null      bool
}

func (v *textValue) show(c *group, i int) error {
	t, ref := v.m.table, v.m.refs[c.slot]
	if v.null || v.m.size(ref, true) == 0 {
		return c.null(i)
	}
	l, buf := v.m.entry.layout, c.buf[:0]
	first := true
	t.Scan(&c.cursor, ref)
	for c.cursor.Next() {
		copies := c.cursor.Weight()
		if v.distinct {
			copies = 1
		}
		r, o := c.cursor.Row(), l.Off[v.at]
		for range copies {
			if !first {
				buf = append(buf, v.separator...)
			}
			first = false
			buf = row.AppendVar(buf, r[o], r[o+1], t.Heap())
		}
	}
	c.buf = buf
	c.layout.SetBytes(c.dst, i, buf, c.heap)
	return nil
}

// quantileValue is median, quantile_cont and quantile_disc. A negative quantile counts from the greatest value.
type quantileValue struct {
	m          *multiset
	at         int
	q          Quantile
	continuous bool
	distinct   bool
	from       row.Type
}

func (v *quantileValue) show(c *group, i int) error {
	ref := v.m.refs[c.slot]
	n := v.m.size(ref, v.distinct)
	if n == 0 {
		return c.null(i)
	}
	q, down := v.q.Value, math.Signbit(v.q.Value)
	q = math.Abs(q)
	nth := func(k int64) []uint64 {
		if down {
			k = n - 1 - k
		}
		return v.m.nth(&c.cursor, ref, k, v.distinct)
	}
	if !v.continuous {
		var floored int64
		if v.q.Scaling > 0 {
			integral := max(v.q.Integral, -v.q.Integral)
			floored = (n*v.q.Scaling - n*integral) / v.q.Scaling
		} else {
			floored = int64(math.Floor(float64(n) - float64(n)*q))
		}
		k := max(1, n-floored) - 1
		v.m.entry.field(c.dst, c.layout, i, c.heap, nth(k), v.at, v.m.table.Heap())
		return nil
	}
	at := float64(n-1) * q
	low, high := math.Floor(at), math.Ceil(at)
	x := v.number(nth(int64(low)))
	if low != high {
		x = between(x, at-low, v.number(nth(int64(high))))
	}
	return c.float(i, x)
}

// number is an entry's value as a DOUBLE.
func (v *quantileValue) number(e []uint64) float64 {
	m := &v.m.entry.moves[v.at]
	w := m.op.back(e[v.m.entry.layout.Off[v.at]])
	switch {
	case isFloat(v.from):
		return numberOf(v.from, w)
	case v.from.Kind == row.Uint64:
		return float64(w)
	}
	return float64(int64(w))
}

// between is DuckDB's interpolation of DOUBLE.
func between(lo, d, hi float64) float64 { return lo*(1-d) + hi*d }
