package plan

import "github.com/vegadb/vega-flight/ivm/row"

// Node is a relational operator. Its output columns are what its doc says. Nodes form a tree but for [Shared], which
// may be the input of several.
type Node interface {
	Columns() []Column
	Inputs() []Node
	Position() int // a byte offset in the planned text, or NoPosition
	with(inputs []Node) Node
	exprs() []Expr
	withExprs(exprs []Expr) Node
}

// Column is one of a node's output.
type Column struct {
	Name string // for people, not unique
	Type row.Type
}

// TableColumn is a column of a source.
type TableColumn struct {
	ID   int64 // the lake's field id, 0 when there is none
	Name string
	Type row.Type
}

// Scan is the changes of a source. Output: Fields, in the table's order.
type Scan struct {
	Source *Source
	Fields []TableColumn
	Pos    int
}

// Values are constant rows. Output: Cols.
type Values struct {
	Cols []Column
	Rows [][]Expr
	Pos  int
}

// Filter keeps rows whose predicate is true. Output: the input's.
type Filter struct {
	Input Node
	Pred  Expr
}

// Temporal keeps the rows whose bounds hold at the view's logical clock. Output: the input's.
type Temporal struct {
	Input  Node
	Bounds []ClockBound
	Pos    int
}

// ClockBound holds when Row Op At; At has the clock and constants only, Row the input's columns only. Both have one type. A
// NULL row never holds.
type ClockBound struct {
	Row      Expr
	Op       CompareOp // one of Less … GreaterEqual
	At       Expr
	Monotone bool // At never goes back as the clock advances, so rows that fell out never come in again
}

// Project computes. Output: Names, with the types of Exprs.
type Project struct {
	Input Node
	Exprs []Expr
	Names []string
}

// JoinKind is which rows a join gives.
type JoinKind uint8

// The kinds. Cross is an inner join without conditions; right joins are turned into left ones.
const (
	Inner    JoinKind = iota
	Left              // and left rows without partner, padded with NULLs
	Full              // and those of both sides
	Semi              // left rows that have a partner
	Anti              // left rows that have none
	Mark              // left rows with a BOOLEAN behind: has a partner; see Join
	Single            // Left, and an error when a left row has two partners
	AsOf              // Inner, but only with the nearest partner by the last condition
	AsOfLeft          // Left, likewise
)

var joinNames = [...]string{"inner", "left", "full", "semi", "anti", "mark", "single", "asof", "asof_left"}

func (k JoinKind) String() string { return joinNames[k] }

// padsRight says that the right side's columns may be NULL where the input's are not.
func (k JoinKind) padsRight() bool { return k == Left || k == Full || k == Single || k == AsOfLeft }

// Condition compares an expression of the left input's row with one of the right input's row.
type Condition struct {
	Left, Right Expr
	Op          CompareOp
}

// Join joins. Output: the left's columns, then the right's; only the left's for Semi and Anti; the left's and a
// BOOLEAN for Mark. Equal and NotDistinct come first among the conditions. Residual sees both rows and is a part of the
// join's condition.
//
// A Mark join that is not NullAware is EXISTS: true or false. When it is (IN, ANY, ALL as a value), the NotDistinct
// conditions choose the right rows that are asked about, and the others together are asked of each: the mark is true when
// they are true for a chosen row, else NULL when they are NULL for one, else false. It has no Residual then.
//
// AsOf has one inequality, last; NULLs of it have no partner. Among right rows that are equally near DuckDB takes any; here
// it is the one that comes first by the whole row's order.
type Join struct {
	Kind        JoinKind
	Left, Right Node
	Conditions  []Condition
	Residual    Expr
	NullAware   bool
	Pos         int
}

// OrderItem is one key of an order.
type OrderItem struct {
	Expr       Expr
	Desc       bool
	NullsFirst bool
}

// Agg is one aggregate function.
type Agg struct {
	Name     string
	Schema   string
	Args     []Expr
	ArgTypes []row.Type
	Distinct bool
	Filter   Expr // nil is none
	Order    []OrderItem
	Type     row.Type
	Params   []*Constant // arguments that come behind Args and are the same for all rows: a separator, quantiles
	Data     string      // whatever else DuckDB bound, as JSON
	Column   string      // its column's name
	Internal bool        // DuckDB added it: one value of the group, whichever
	Pos      int
}

// Aggregate groups. Output: the groups, the aggregates, one BIGINT for each of Groupings.
type Aggregate struct {
	Input     Node
	Groups    []Expr
	Names     []string // of the groups
	Sets      [][]int  // grouping sets as positions in Groups; nil is one set of all groups
	Aggs      []Agg
	Groupings [][]int // grouping(…) calls: the positions of their groups
	Pos       int
}

// DistinctRows keeps one of equal rows. Output: the input's.
type DistinctRows struct {
	Input Node
	Pos   int
}

// SetKind is a set operation.
type SetKind uint8

// The set operations; UNION without ALL is Distinct over UnionAll.
const (
	UnionAll SetKind = iota
	Except
	ExceptAll
	Intersect
	IntersectAll
)

var setNames = [...]string{"union_all", "except", "except_all", "intersect", "intersect_all"}

func (k SetKind) String() string { return setNames[k] }

// SetOp combines inputs of equal types; two of them unless it is UnionAll. Output: the first input's columns.
type SetOp struct {
	Kind SetKind
	In   []Node
	Pos  int
}

// TopK keeps, of each partition, the rows from Offset to Offset+Limit in the order, ties broken by the whole row. Output:
// the input's, and with Number the BIGINT place in the partition, from 1.
type TopK struct {
	Input     Node
	Partition []Expr
	Order     []OrderItem
	Limit     int64 // -1: all
	Offset    int64
	WithTies  bool // rank() <= Limit: also rows equal to the last one by Order
	Number    bool
	Pos       int
}

// BoundKind is where a window frame begins or ends.
type BoundKind uint8

// The ends of frames.
const (
	UnboundedPreceding BoundKind = iota
	Preceding
	CurrentRow
	Following
	UnboundedFollowing
)

// FrameUnit is what a frame counts.
type FrameUnit uint8

// The units.
const (
	Rows FrameUnit = iota
	Range
	Groups
)

// FrameBound is one end. Expr of Preceding and Following: the number of rows or groups; for Range, the order key's value at
// that end, which DuckDB computes from the row (key - offset).
type FrameBound struct {
	Kind BoundKind
	Expr Expr
}

// Frame is a window frame.
type Frame struct {
	Unit       FrameUnit
	Start, End FrameBound
	Exclude    string // "", "CURRENT ROW", "GROUP", "TIES"
}

// WindowFunc is one window function.
type WindowFunc struct {
	Name        string // "row_number", "rank", "lag", …, or an aggregate's
	Schema      string
	Aggregate   bool
	Args        []Expr
	ArgTypes    []row.Type
	Distinct    bool
	IgnoreNulls bool
	Filter      Expr
	ArgOrder    []OrderItem // ORDER BY inside the parentheses
	Offset      Expr        // of lag and lead
	Default     Expr
	Frame       Frame
	Type        row.Type
	Params      []*Constant // as in Agg
	Data        string
	Column      string
	Pos         int
}

// Window computes functions that share a partition and an order. Output: the input's, then the functions'.
type Window struct {
	Input     Node
	Partition []Expr
	Order     []OrderItem
	Funcs     []WindowFunc
	Pos       int
}

// Unnest repeats each row for the elements of its lists, side by side, shorter ones padded with NULL. Output: the
// input's, then an element for each list. A row whose lists are all empty or NULL vanishes.
type Unnest struct {
	Input Node
	Lists []Expr
	Names []string
	Pos   int
}

// Shared is a subplan that is used more than once: a CTE, or the outer side of a correlated subquery. Output: the
// input's. It is the same pointer wherever it is used.
type Shared struct {
	Name  string
	Input Node

	columns []Column // the input's; asking for them through many uses of uses would take for ever
}

func newShared(name string, in Node) *Shared { return &Shared{name, in, in.Columns()} }

// Unsupported stands where something cannot be maintained; its reasons say what. Output: Cols.
type Unsupported struct {
	Type    string // DuckDB's name of the operator
	In      []Node
	Cols    []Column
	Reasons []Reason
	Pos     int
}

// Columns of a scan are its fields.
func (n *Scan) Columns() []Column {
	out := make([]Column, len(n.Fields))
	for i, f := range n.Fields {
		out[i] = Column{f.Name, f.Type}
	}
	return out
}

// Columns are those of the rows.
func (n *Values) Columns() []Column { return n.Cols }

// Columns are the input's.
func (n *Filter) Columns() []Column { return n.Input.Columns() }

// Columns are the input's.
func (n *Temporal) Columns() []Column { return n.Input.Columns() }

// Columns are one for each expression.
func (n *Project) Columns() []Column {
	out := make([]Column, len(n.Exprs))
	for i, e := range n.Exprs {
		out[i] = Column{n.Names[i], e.Result()}
	}
	return out
}

// Columns are of both sides, or of the left one.
func (n *Join) Columns() []Column {
	left := n.Left.Columns()
	switch n.Kind {
	case Semi, Anti:
		return left
	case Mark:
		return append(left[:len(left):len(left)], Column{"mark", boolean})
	}
	return append(left[:len(left):len(left)], n.Right.Columns()...)
}

// Columns are the groups, the aggregates and grouping().
func (n *Aggregate) Columns() []Column {
	var out []Column
	for i, g := range n.Groups {
		out = append(out, Column{n.Names[i], g.Result()})
	}
	for _, a := range n.Aggs {
		out = append(out, Column{a.Column, a.Type})
	}
	for range n.Groupings {
		out = append(out, Column{"grouping", bigint})
	}
	return out
}

// Columns are the input's.
func (n *DistinctRows) Columns() []Column { return n.Input.Columns() }

// Columns are the first input's.
func (n *SetOp) Columns() []Column { return n.In[0].Columns() }

// Columns are the input's, and the place.
func (n *TopK) Columns() []Column {
	in := n.Input.Columns()
	if n.Number {
		return append(in[:len(in):len(in)], Column{"place", bigint})
	}
	return in
}

// Columns are the input's and the functions'.
func (n *Window) Columns() []Column {
	in := n.Input.Columns()
	out := in[:len(in):len(in)]
	for _, f := range n.Funcs {
		out = append(out, Column{f.Column, f.Type})
	}
	return out
}

// Columns are the input's and the elements.
func (n *Unnest) Columns() []Column {
	in := n.Input.Columns()
	out := in[:len(in):len(in)]
	for i, l := range n.Lists {
		t := row.Type{Kind: row.Null}
		if c := l.Result().Children; len(c) > 0 {
			t = c[0]
		}
		out = append(out, Column{n.Names[i], t})
	}
	return out
}

// Columns are the input's.
func (n *Shared) Columns() []Column {
	if n.columns != nil {
		return n.columns
	}
	return n.Input.Columns()
}

// Columns are what DuckDB says, as far as it is known.
func (n *Unsupported) Columns() []Column { return n.Cols }
