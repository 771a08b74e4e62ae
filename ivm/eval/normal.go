package eval

import (
	"math"
	"slices"
	"strconv"

	"github.com/vegadb/vega-flight/ivm/plan"
	"github.com/vegadb/vega-flight/ivm/row"
)

// Normal is a column's value in a form for keys or orders: see [KeyExpr] and [OrderExprs].
type Normal struct {
	plan.Typed
	Column *plan.ColumnRef
	form   form
	desc   bool // the order is turned round
	first  bool // NULL comes first; for formTop and formPacked
	ranked bool // a rank stands before it, so it is 0 where the value is NULL
}

type form uint8

const (
	formEqual  form = iota // a FLOAT or DOUBLE: one NaN, no -0.0
	formOrder              // a word that compares as the value does; NULL stays NULL
	formHigh               // the upper half of a 128 bit value, likewise
	formLow                // and the lower half
	formTop                // whether the value is NULL, then the upper 63 bits of its order, so that this word alone decides nearly always
	formPacked             // rank and value of a type of at most 32 bits in one word
)

// Inputs is the column.
func (n *Normal) Inputs() []plan.Expr { return []plan.Expr{n.Column} }

// With takes another column; what is not one has no normal form here.
func (n *Normal) With(in []plan.Expr) plan.Expr {
	c := *n
	c.Column = in[0].(*plan.ColumnRef)
	return &c
}

// Same says that both are the same form of the same column.
func (n *Normal) Same(o *Normal) bool {
	return n.Column.Index == o.Column.Index && n.form == o.form && n.desc == o.desc && n.first == o.first && n.ranked == o.ranked
}

var word = row.Type{Kind: row.Uint64}

// KeyExpr is the normal form of a column: its words or bytes are equal exactly when DuckDB says that the values are, and
// it is NULL when the value is.
func KeyExpr(c *plan.ColumnRef) plan.Expr {
	switch t := c.Type; {
	case t.Kind == row.Float || t.Kind == row.Double:
		return &Normal{Typed: plan.Typed{Type: t, Pos: c.Pos}, Column: c, form: formEqual}
	case t.Kind == row.Interval:
		return call("normalized_interval", t, c)
	case t.Kind == row.TimeTZ:
		return call("timetz_byte_comparable", word, c)
	case t.Nested():
		return orNull(c, createSortKey(carriedOver(c), "ASC NULLS LAST"))
	}
	return c
}

// OrderExprs are fields, none of them NULL, whose order as words or bytes is the order of a column.
func OrderExprs(c *plan.ColumnRef, desc, nullsFirst bool) []plan.Expr {
	n := func(f form) plan.Expr {
		return &Normal{Typed: plan.Typed{Type: word, Pos: c.Pos}, Column: c, form: f, desc: desc, first: nullsFirst, ranked: true}
	}
	switch {
	case packable(c.Type):
		return []plan.Expr{n(formPacked)}
	case halves(c.Type):
		return []plan.Expr{n(formTop), n(formHigh), n(formLow)}
	case ordered(c.Type):
		return []plan.Expr{n(formTop), n(formOrder)}
	}
	how := "ASC"
	if desc {
		how = "DESC"
	}
	if nullsFirst {
		how += " NULLS FIRST"
	} else {
		how += " NULLS LAST"
	}
	return []plan.Expr{createSortKey(sortable(c), how)}
}

// AscendingExprs are fields whose order as words or bytes is the ascending order of a column; all are NULL when it is.
func AscendingExprs(c *plan.ColumnRef) []plan.Expr {
	n := func(f form) plan.Expr {
		return &Normal{Typed: plan.Typed{Type: word, Pos: c.Pos}, Column: c, form: f}
	}
	switch {
	case halves(c.Type):
		return []plan.Expr{n(formHigh), n(formLow)}
	case packable(c.Type) || ordered(c.Type):
		return []plan.Expr{n(formOrder)}
	case bytewise(c.Type):
		return []plan.Expr{c}
	}
	return []plan.Expr{sortKey(c, "ASC NULLS LAST")}
}

// SortExprs are [AscendingExprs] where the value's own number or bytes do not compare as DuckDB compares the values, else nil.
func SortExprs(c *plan.ColumnRef) []plan.Expr {
	if packable(c.Type) || halves(c.Type) || ordered(c.Type) || bytewise(c.Type) {
		return nil
	}
	return []plan.Expr{sortKey(c, "ASC NULLS LAST")}
}

func bytewise(t row.Type) bool {
	return t.Kind == row.Varchar && t.Collation == "" || t.Kind == row.Blob
}

// packable types fill no more than 32 bits.
func packable(t row.Type) bool {
	switch t.Kind {
	case row.Bool, row.Int8, row.Int16, row.Int32, row.Uint8, row.Uint16, row.Uint32, row.Date:
		return true
	}
	return false
}

func halves(t row.Type) bool {
	return t.Kind == row.Int128 || t.Kind == row.Uint128 || t.Kind == row.UUID || t.Kind == row.Decimal && t.Words() == 2
}

// ordered types are one word whose order is easily made that of unsigned words.
func ordered(t row.Type) bool {
	switch t.Kind {
	case row.Int64, row.Uint64, row.Float, row.Double, row.Time, row.TimeNS, row.Timestamp, row.TimestampS, row.TimestampMS, row.TimestampNS, row.TimestampTZ:
		return true
	case row.Decimal:
		return t.Words() == 1
	}
	return packable(t)
}

// sortKey is DuckDB's key of an order, but NULL for NULL.
func sortKey(c *plan.ColumnRef, how string) plan.Expr {
	return orNull(c, createSortKey(sortable(c), how))
}

// orNull is NULL where of is.
func orNull(of, e plan.Expr) plan.Expr {
	return nullAsNull(of, &plan.Constant{Typed: plan.Typed{Type: e.Result(), Pos: plan.NoPosition}}, e)
}

// nullAsNull is null where of is NULL.
func nullAsNull(of plan.Expr, null, other plan.Expr) plan.Expr {
	isNull := &plan.IsNull{Typed: plan.Typed{Type: boolean, Pos: plan.NoPosition}, Child: of}
	return &plan.Case{Typed: plan.Typed{Type: other.Result(), Pos: plan.NoPosition}, Whens: []plan.When{{If: isNull, Then: null}}, Else: other}
}

// createSortKey is DuckDB's key of the value. That of an ENUM is a number, whose order is that of its bytes.
func createSortKey(e plan.Expr, how string) plan.Expr {
	t := row.Type{Kind: row.Blob}
	if e.Result().Kind == row.Enum {
		t = row.Type{Kind: row.Int64}
	}
	return call("create_sort_key", t, e, textConstant(how))
}

// sortable is what ORDER BY makes of a value before it takes its key. Values inside others it leaves as they are.
func sortable(c *plan.ColumnRef) plan.Expr {
	switch c.Type.Kind {
	case row.Interval:
		return call("normalized_interval", c.Type, c)
	case row.TimeTZ:
		return call("timetz_byte_comparable", word, c)
	}
	return c
}

// carriedOver is the value with each INTERVAL in it, whose keys differ where DuckDB says that they are equal, in its normal form.
func carriedOver(e plan.Expr) plan.Expr {
	t := e.Result()
	if !hasInterval(t) {
		return e
	}
	switch t.Kind {
	case row.Interval:
		return call("normalized_interval", t, e)
	case row.List, row.Array:
		p := &plan.ParamRef{Typed: plan.Typed{Type: t.Children[0], Pos: plan.NoPosition}, Name: "element"}
		f := call("list_transform", row.Type{Kind: row.List, Children: t.Children}, e).(*plan.Function)
		f.Lambda = &plan.Lambda{Params: []string{p.Name}, Body: carriedOver(p)}
		return f
	case row.Map:
		entry := row.Type{Kind: row.Struct, Names: []string{"key", "value"}, Children: t.Children}
		return carriedOver(call("map_entries", row.Type{Kind: row.List, Children: []row.Type{entry}}, e))
	case row.Struct:
		names := make([]string, len(t.Children))
		fields := make([]plan.Expr, len(t.Children))
		for i, c := range t.Children {
			at := &plan.Constant{Typed: plan.Typed{Type: row.Type{Kind: row.Int64}, Pos: plan.NoPosition}, Value: int64(i + 1)}
			get := "struct_extract_at"
			var field plan.Expr = at
			if t.Names[i] != "" {
				get, field = "struct_extract", textConstant(t.Names[i])
			}
			names[i], fields[i] = "f"+strconv.Itoa(i), carriedOver(call(get, c, e, field))
		}
		pack := call("struct_pack", row.Type{Kind: row.Struct, Names: names, Children: t.Children}, fields...)
		return orNull(e, pack)
	}
	return e
}

func hasInterval(t row.Type) bool {
	return t.Kind == row.Interval || slices.ContainsFunc(t.Children, hasInterval)
}

func call(name string, t row.Type, args ...plan.Expr) plan.Expr {
	f := &plan.Function{Typed: plan.Typed{Type: t, Pos: plan.NoPosition}, Name: name, Args: args}
	for _, a := range args {
		f.ArgTypes = append(f.ArgTypes, a.Result())
	}
	return f
}

func textConstant(s string) plan.Expr {
	return &plan.Constant{Typed: plan.Typed{Type: row.Type{Kind: row.Varchar}, Pos: plan.NoPosition}, Value: s}
}

// normal is the node of a Normal.
type normal struct {
	vec
	of    *column
	n     *Normal
	kind  row.Kind
	signs uint64 // flips the sign of what is signed
}

func (c *compiler) normal(e *Normal) node {
	of, ok := c.column(e.Column).(*column)
	if !ok {
		return nil
	}
	n := &normal{vec: *newVec(e.Type), of: of, n: e, kind: e.Column.Type.Kind}
	switch n.kind {
	case row.Bool, row.Uint8, row.Uint16, row.Uint32, row.Uint64, row.Uint128, row.UUID, row.Float, row.Double:
	default:
		n.signs = 1 << 63
	}
	return n
}

func (k *normal) eval(m *machine, act *mask) *vec {
	a := k.of.eval(m, act)
	n := m.n
	flip := uint64(0)
	if k.n.desc {
		flip = ^uint64(0)
	}
	k.nulls = false
	form := k.n.form
	if form == formTop {
		form = formOrder
		if a.hi != nil {
			form = formHigh
		}
	}
	switch form {
	case formPacked:
		null, value := uint64(1)<<40, uint64(0)
		if k.n.first {
			null, value = 0, 1<<40
		}
		for i := range n {
			if a.nulls && a.null.has(i) {
				k.lo[i] = null
				continue
			}
			var w uint64
			if k.kind == row.Bool {
				w = a.bits[i>>6] >> (uint(i) & 63) & 1
			} else {
				w = a.lo[i]
			}
			// 33 bits hold every value moved up by 2^31.
			w += 1 << 31
			if k.n.desc {
				w = 1<<33 - 1 - w
			}
			k.lo[i] = value | w
		}
		return &k.vec
	case formEqual:
		if k.kind == row.Float {
			for i := range n {
				k.lo[i] = uint64(math.Float32bits(one32(math.Float32frombits(uint32(a.lo[i])))))
			}
		} else {
			for i := range n {
				k.lo[i] = math.Float64bits(one64(math.Float64frombits(a.lo[i])))
			}
		}
	case formHigh:
		for i := range n {
			k.lo[i] = a.hi[i] ^ k.signs ^ flip
		}
	case formLow:
		for i := range n {
			k.lo[i] = a.lo[i] ^ flip
		}
	case formOrder:
		switch k.kind {
		case row.Bool:
			for i := range n {
				k.lo[i] = a.bits[i>>6]>>(uint(i)&63)&1 ^ flip
			}
		case row.Float:
			for i := range n {
				k.lo[i] = ascending(math.Float64bits(float64(one32(math.Float32frombits(uint32(a.lo[i])))))) ^ flip
			}
		case row.Double:
			for i := range n {
				k.lo[i] = ascending(math.Float64bits(one64(math.Float64frombits(a.lo[i])))) ^ flip
			}
		default:
			for i := range n {
				k.lo[i] = a.lo[i] ^ k.signs ^ flip
			}
		}
	}
	if k.n.form == formTop {
		k.rank(a, n)
		return &k.vec
	}
	switch {
	case !a.nulls:
	case k.n.ranked:
		for i := range n {
			if a.null.has(i) {
				k.lo[i] = 0
			}
		}
	default:
		k.null, k.nulls = a.null, true
	}
	return &k.vec
}

// rank puts before each order word whether the value is NULL.
func (k *normal) rank(a *vec, n int) {
	value, null := uint64(0), uint64(1)<<63
	if k.n.first {
		value, null = null, value
	}
	for i, w := range k.lo[:n] {
		k.lo[i] = value | w>>1
	}
	if !a.nulls {
		return
	}
	for i := range n {
		if a.null.has(i) {
			k.lo[i] = null
		}
	}
}

func one64(f float64) float64 {
	switch {
	case f != f:
		return math.NaN()
	case f == 0:
		return 0
	}
	return f
}

func one32(f float32) float32 {
	switch {
	case f != f:
		return float32(math.NaN())
	case f == 0:
		return 0
	}
	return f
}

// ascending makes the bits of a double, none of them -0.0, compare as the doubles do, NaN being the greatest.
func ascending(w uint64) uint64 {
	if w>>63 != 0 {
		return ^w
	}
	return w | 1<<63
}
