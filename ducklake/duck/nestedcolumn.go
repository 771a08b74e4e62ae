package duck

import (
	"math"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	ddb "github.com/duckdb/duckdb-go-bindings"
)

// listColumn collects lists, and maps, whose entries are a struct of two columns.
type listColumn struct {
	typ     arrow.DataType
	bits    bitmap
	offsets []int32
	rows    int            // elements so far
	parts   []column       // the elements; or keys and values
	entry   arrow.DataType // of a map: the struct of its entries
}

func newListColumn(t *sqlType, at arrow.DataType) *listColumn {
	if t.id == ddb.TypeMap {
		m := at.(*arrow.MapType)
		return &listColumn{typ: at, entry: m.Elem(),
			parts: []column{newColumn(t.children[0], m.KeyType()), newColumn(t.children[1], m.ItemType())}}
	}
	return &listColumn{typ: at, parts: []column{newColumn(t.children[0], at.(*arrow.ListType).Elem())}}
}

// add copies the elements of each list. Lists lie in any order in DuckDB's
// child vector, most often one behind the other: neighbours are copied at once.
func (c *listColumn) add(v *vector, from, n int) error {
	if c.offsets == nil {
		c.offsets = append(make([]int32, 0, n+1), 0)
	}
	first, end := 0, 0
	for i, e := range slice[listEntry](v, from, n) {
		if v.valid(from+i) && e.length > 0 {
			if int(e.offset) != end {
				if err := c.addElements(v, first, end); err != nil {
					return err
				}
				first = int(e.offset)
			}
			end = int(e.offset + e.length)
			c.rows += int(e.length)
			if c.rows > math.MaxInt32 {
				return newError("Out of Range Error: a batch of lists has more than 2^31 elements", "")
			}
		}
		c.offsets = append(c.offsets, int32(c.rows))
	}
	c.bits.add(v, from, n)
	return c.addElements(v, first, end)
}

func (c *listColumn) addElements(v *vector, first, end int) error {
	if first == end {
		return nil
	}
	if c.entry != nil {
		for i := first; i < end; i++ {
			if !v.children[0].valid(i) { // what some casts make, though DuckDB says itself that it is none; Arrow has no such map
				return newError("Invalid Input Error: Map keys can not be NULL.", "")
			}
		}
	}
	for j, p := range c.parts {
		if err := p.add(&v.children[j], first, end-first); err != nil {
			return err
		}
	}
	return nil
}

func (c *listColumn) size() int { return 4*len(c.offsets) + sizes(c.parts) }

func (c *listColumn) take() arrow.ArrayData {
	if c.offsets == nil {
		c.offsets = []int32{0}
	}
	n := len(c.offsets) - 1
	valid, nulls := c.bits.take(n)
	children := takeAll(c.parts)
	if c.entry != nil {
		children = []arrow.ArrayData{array.NewData(c.entry, c.rows, []*memory.Buffer{nil}, children, 0, 0)}
	}
	d := array.NewData(c.typ, n, []*memory.Buffer{valid, buffer(c.offsets)}, children, nulls, 0)
	c.offsets, c.rows = nil, 0
	return d
}

// arrayColumn collects arrays of a fixed width.
type arrayColumn struct {
	typ      arrow.DataType
	bits     bitmap
	elements column
	width    int
}

func (c *arrayColumn) add(v *vector, from, n int) error {
	c.bits.add(v, from, n)
	return c.elements.add(&v.children[0], from*c.width, n*c.width)
}

func (c *arrayColumn) size() int { return c.elements.size() }

func (c *arrayColumn) take() arrow.ArrayData {
	n := c.bits.rows
	valid, nulls := c.bits.take(n)
	return array.NewData(c.typ, n, []*memory.Buffer{valid}, []arrow.ArrayData{c.elements.take()}, nulls, 0)
}

type structColumn struct {
	typ    arrow.DataType
	bits   bitmap
	fields []column
}

func (c *structColumn) add(v *vector, from, n int) error {
	c.bits.add(v, from, n)
	return addAll(c.fields, v.children, from, n)
}

func (c *structColumn) size() int { return sizes(c.fields) }

func (c *structColumn) take() arrow.ArrayData {
	n := c.bits.rows
	valid, nulls := c.bits.take(n)
	return array.NewData(c.typ, n, []*memory.Buffer{valid}, takeAll(c.fields), nulls, 0)
}

// unionColumn collects a sparse union: every member has every row. Arrow's
// unions have no validity of their own; a NULL is the first member's NULL.
type unionColumn struct {
	typ     arrow.DataType
	tags    []uint8
	members []column
}

func (c *unionColumn) add(v *vector, from, n int) error {
	tags := &v.children[0]
	for i := from; i < from+n; i++ {
		tag := uint8(0)
		if v.valid(i) && tags.valid(i) {
			tag = at[uint8](tags, i)
		}
		c.tags = append(c.tags, tag)
	}
	return addAll(c.members, v.children[1:], from, n)
}

func (c *unionColumn) size() int { return len(c.tags) + sizes(c.members) }

func (c *unionColumn) take() arrow.ArrayData {
	n := len(c.tags)
	d := array.NewData(c.typ, n, []*memory.Buffer{nil, memory.NewBufferBytes(c.tags)}, takeAll(c.members), 0, 0)
	c.tags = nil
	return d
}

func addAll(cs []column, vs []vector, from, n int) error {
	for j, c := range cs {
		if err := c.add(&vs[j], from, n); err != nil {
			return err
		}
	}
	return nil
}

func takeAll(cs []column) []arrow.ArrayData {
	ds := make([]arrow.ArrayData, len(cs))
	for j, c := range cs {
		ds[j] = c.take()
	}
	return ds
}

func sizes(cs []column) int {
	n := 0
	for _, c := range cs {
		n += c.size()
	}
	return n
}

// weight is about how many bytes n rows take, without looking at fixed-width values.
func (v *vector) weight(from, n int) int {
	switch v.typ.id {
	case ddb.TypeVarchar, ddb.TypeBlob, ddb.TypeGeometry, ddb.TypeBit, ddb.TypeBigNum:
		w := 4 * n
		for i, rows := 0, slice[stringT](v, from, n); i < len(rows); i++ {
			if v.valid(from + i) {
				w += int(rows[i].length)
			}
		}
		return w
	case ddb.TypeList, ddb.TypeMap:
		w := 4 * n
		for i, e := range slice[listEntry](v, from, n) {
			if v.valid(from+i) && e.length > 0 {
				for j := range v.children {
					w += v.children[j].weight(int(e.offset), int(e.length))
				}
			}
		}
		return w
	case ddb.TypeArray:
		return v.children[0].weight(from*v.typ.size, n*v.typ.size)
	case ddb.TypeStruct, ddb.TypeUnion:
		w := 0
		for j := range v.children {
			w += v.children[j].weight(from, n)
		}
		return w
	case ddb.TypeUUID:
		return 40 * n
	}
	return 8 * n
}
