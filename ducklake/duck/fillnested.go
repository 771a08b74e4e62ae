package duck

import (
	"fmt"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// listFiller fills lists of all layouts, and maps, whose elements are keys and values.
type listFiller struct{ parts []filler }

func (f listFiller) fill(dst *target, at int, arr arrow.Array, from, n int) error {
	lists := arr.(array.ListLike)
	size := lists.ListValues().Len()
	for i := 0; i < n; i++ {
		if arr.IsNull(from + i) {
			dst.setNull(at + i)
			continue
		}
		// Neighbours that lie one behind the other are filled at once.
		start, end := lists.ValueOffsets(from + i)
		last := i
		for last+1 < n && arr.IsValid(from+last+1) {
			s, e := lists.ValueOffsets(from + last + 1)
			if s != end {
				break
			}
			last, end = last+1, e
		}
		if start < 0 || end < start || end > int64(size) {
			return fmt.Errorf("the elements %d to %d of a list are not among the %d there are", start, end, size)
		}
		first, err := dst.extend(int(end - start))
		if err != nil {
			return err
		}
		for j := i; j <= last; j++ {
			s, e := lists.ValueOffsets(from + j)
			if s < start || e < s || e > end {
				return fmt.Errorf("the list offsets %d and %d do not ascend", s, e)
			}
			*cell[listEntry](dst, at+j) = listEntry{uint64(first) + uint64(s-start), uint64(e - s)}
		}
		if err := f.elements(dst, first, arr, int(start), int(end-start)); err != nil {
			return err
		}
		if m, ok := arr.(*array.Map); ok {
			keys := fieldsOf(m)[0]
			for j := i; j <= last; j++ {
				s, e := m.ValueOffsets(from + j)
				if err := distinctKeys(keys, int(s), int(e)); err != nil {
					return err
				}
			}
		}
		i = last
	}
	return nil
}

func (f listFiller) elements(dst *target, first int, arr arrow.Array, from, n int) error {
	values := []arrow.Array{nil}
	if m, ok := arr.(*array.Map); ok {
		values = fieldsOf(m)
	} else {
		values[0] = arr.(array.ListLike).ListValues()
	}
	for j, v := range values {
		if from < 0 || from+n > v.Len() {
			return fmt.Errorf("a list ends at %d of %d elements", from+n, v.Len())
		}
		if err := f.parts[j].fill(dst.children[j], first, v, from, n); err != nil {
			return err
		}
	}
	if _, ok := arr.(*array.Map); ok && values[0].NullN() > 0 {
		for i := range n {
			if values[0].IsNull(from + i) {
				return fmt.Errorf("a map has a NULL key")
			}
		}
	}
	return nil
}

// fieldsOf are the keys and the values of a map's entries; those that m.Keys and m.Items give may begin before the entries do.
func fieldsOf(m *array.Map) []arrow.Array {
	entries := m.ListValues().(*array.Struct)
	return []arrow.Array{entries.Field(0), entries.Field(1)}
}

// distinctKeys checks the keys of one map: DuckDB's maps have each key once, Arrow's as often as they say.
func distinctKeys(keys arrow.Array, from, to int) error {
	if keys, ok := keys.(*array.String); ok && to-from < 8 {
		for i := from + 1; i < to; i++ {
			for j := from; j < i; j++ {
				if keys.Value(i) == keys.Value(j) {
					return fmt.Errorf("a map has the key %s twice", keys.ValueStr(i))
				}
			}
		}
		return nil
	}
	seen := make(map[string]struct{}, to-from)
	for i := from; i < to; i++ {
		key := keys.ValueStr(i)
		if _, twice := seen[key]; twice {
			return fmt.Errorf("a map has the key %s twice", key)
		}
		seen[key] = struct{}{}
	}
	return nil
}

type arrayFiller struct {
	element filler
	width   int
}

func (f arrayFiller) fill(dst *target, at int, arr arrow.Array, from, n int) error {
	a := arr.(*array.FixedSizeList)
	start, _ := a.ValueOffsets(from)
	if err := f.element.fill(dst.children[0], at*f.width, a.ListValues(), int(start), n*f.width); err != nil {
		return err
	}
	dst.setNulls(at, arr, from, n)
	return nil
}

type structFiller struct{ fields []filler }

func (f structFiller) fill(dst *target, at int, arr arrow.Array, from, n int) error {
	a := arr.(*array.Struct)
	for j, field := range f.fields {
		if err := field.fill(dst.children[j], at, a.Field(j), from, n); err != nil {
			return err
		}
	}
	dst.setNulls(at, arr, from, n)
	return nil
}

type unionFiller struct{ members []filler }

func (f unionFiller) fill(dst *target, at int, arr arrow.Array, from, n int) error {
	a := arr.(array.Union)
	tags := cells[uint8](dst.children[0], at, n)
	for i := range n {
		member, row := a.ChildID(from+i), from+i
		if d, ok := arr.(*array.DenseUnion); ok {
			row = int(d.ValueOffset(from + i))
		}
		if member < 0 || member >= len(f.members) {
			return fmt.Errorf("a union of %d members has no member %d", len(f.members), member)
		}
		tags[i] = uint8(member)
		for j := range f.members {
			if j != member {
				dst.children[1+j].setNull(at + i)
			}
		}
		if err := f.members[member].fill(dst.children[1+member], at+i, a.Field(member), row, 1); err != nil {
			return err
		}
	}
	return nil
}
