package eval

import (
	"math/bits"

	"github.com/vegadb/vega-flight/ivm/row"
)

// logic is AND and OR of three values: as a value all arguments are evaluated, as a condition only those that still matter.
type logic struct {
	vec
	or   bool
	args []node
	rest [2]mask
}

func (l *logic) eval(m *machine, act *mask) *vec {
	var yes, no mask // rows known to be true and false; the others are NULL
	for k, a := range l.args {
		v := a.eval(m, act)
		for i := range m.w {
			t, f := v.bits[i], ^v.bits[i]
			if v.nulls {
				t &^= v.null[i]
				f &^= v.null[i]
			}
			switch {
			case k == 0:
				yes[i], no[i] = t, f
			case l.or:
				yes[i], no[i] = yes[i]|t, no[i]&f
			default:
				yes[i], no[i] = yes[i]&t, no[i]|f
			}
		}
	}
	var any uint64
	for i := range m.w {
		l.bits[i] = yes[i]
		l.null[i] = ^(yes[i] | no[i])
		any |= l.null[i]
	}
	l.nulls = any != 0
	return &l.vec
}

func (l *logic) pick(m *machine, act, out *mask) {
	if !l.or {
		left := &l.rest[0]
		*left = *act
		for _, a := range l.args {
			pickTrue(a, m, left, left)
		}
		*out = *left
		return
	}
	left, found := &l.rest[0], &l.rest[1]
	*left = *act
	var all mask
	for _, a := range l.args {
		pickTrue(a, m, left, found)
		for i := range m.w {
			all[i] |= found[i]
			left[i] &^= found[i]
		}
	}
	*out = all
}

// not is NOT.
type not struct {
	vec
	child node
}

func (n *not) eval(m *machine, act *mask) *vec {
	v := n.child.eval(m, act)
	for i := range m.w {
		n.bits[i] = ^v.bits[i]
	}
	n.nullFrom(m.w, v)
	return &n.vec
}

// isNull is IS NULL, or IS NOT NULL.
type isNull struct {
	vec
	not   bool
	child node
}

func (n *isNull) eval(m *machine, act *mask) *vec {
	v := n.child.eval(m, act)
	for i := range m.w {
		var b uint64
		if v.nulls {
			b = v.null[i]
		}
		if n.not {
			b = ^b
		}
		n.bits[i] = b
	}
	return &n.vec
}

// choice is CASE: each branch is evaluated for the rows that take it.
type choice struct {
	vec
	typ   row.Type
	conds []node
	thens []node // one more than conds: the last is ELSE

	left, taken mask
}

func (c *choice) eval(m *machine, act *mask) *vec {
	c.start(m)
	left, taken := &c.left, &c.taken
	*left = *act
	for k, cond := range c.conds {
		pickTrue(cond, m, left, taken)
		if !taken.any(m.w) {
			continue
		}
		c.merge(m, c.thens[k].eval(m, taken), taken)
		for i := range m.w {
			left[i] &^= taken[i]
		}
	}
	if left.any(m.w) {
		c.merge(m, c.thens[len(c.conds)].eval(m, left), left)
	}
	return &c.vec
}

// start empties the vector that merge fills.
func (c *choice) start(m *machine) {
	c.nulls = false
	clear(c.null[:m.w])
	if c.typ.Var() {
		c.heap = &m.texts
	}
}

// merge copies the values of some rows.
func (c *choice) merge(m *machine, v *vec, rows *mask) {
	for i := range m.w {
		set := rows[i]
		if v.nulls {
			null := v.null[i] & set
			c.null[i] |= null
			c.nulls = c.nulls || null != 0
		}
		if c.lo == nil {
			c.bits[i] = c.bits[i]&^set | v.bits[i]&set
			continue
		}
		for ; set != 0; set &= set - 1 {
			j := i<<6 + bits.TrailingZeros64(set)
			c.lo[j] = v.lo[j]
			if c.hi != nil {
				c.hi[j] = v.hi[j]
			}
		}
	}
	if c.typ.Var() && v.heap != &m.texts {
		c.adopt(m, v, rows)
	}
}

// adopt copies the long texts among them to the program's heap.
func (c *choice) adopt(m *machine, v *vec, rows *mask) {
	for i := range m.w {
		set := rows[i]
		if v.nulls {
			set &^= v.null[i]
		}
		for ; set != 0; set &= set - 1 {
			j := i<<6 + bits.TrailingZeros64(set)
			if n := uint32(v.lo[j]); n > row.Inline {
				c.hi[j] = m.texts.Put(v.heap.Get(v.hi[j], int(n)))
			}
		}
	}
}

// coalesce is the first value that is not NULL.
type coalesce struct {
	choice
	args []node
}

func (c *coalesce) eval(m *machine, act *mask) *vec {
	c.start(m)
	left, taken := &c.left, &c.taken
	*left = *act
	for k, a := range c.args {
		v := a.eval(m, left)
		*taken = *left
		if k < len(c.args)-1 && v.nulls {
			for i := range m.w {
				taken[i] &^= v.null[i]
			}
		}
		c.merge(m, v, taken)
		for i := range m.w {
			left[i] &^= taken[i]
		}
		if !left.any(m.w) {
			break
		}
	}
	return &c.vec
}
