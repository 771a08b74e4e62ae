package flightsql

import (
	"sort"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/util"
)

// cut says how many rows of batch, starting at from, weigh at most limit: at least one.
func cut(batch arrow.RecordBatch, from, limit int64) int64 {
	left := int(batch.NumRows() - from)
	n := sort.Search(left, func(i int) bool { return span(batch, from, from+int64(i)+1) > limit })
	return int64(max(n, 1))
}

// span is the weight of the rows [from, to) of a batch, about.
func span(batch arrow.RecordBatch, from, to int64) int64 {
	var size int64
	for _, column := range batch.Columns() {
		size += spanOf(column, from, to)
	}
	return size
}

// spanOf is the weight of the values [from, to) of an array, about.
func spanOf(a arrow.Array, from, to int64) int64 {
	rows := to - from
	validity := rows / 8
	switch a := a.(type) {
	case array.BinaryLike: // strings too
		if rows == 0 {
			return 0
		}
		last := int(to - 1)
		return validity + 4*rows + a.ValueOffset64(last) + int64(a.ValueLen(last)) - a.ValueOffset64(int(from))
	case array.ExtensionArray:
		return spanOf(a.Storage(), from, to)
	case *array.Struct:
		size := validity
		for i := range a.NumField() {
			size += spanOf(a.Field(i), from, to)
		}
		return size
	case array.ListLike: // lists, maps and fixed-size lists
		if rows == 0 {
			return 0
		}
		first, _ := a.ValueOffsets(int(from))
		_, last := a.ValueOffsets(int(to - 1))
		return validity + 4*rows + spanOf(a.ListValues(), first, last)
	}
	if fixed, ok := a.DataType().(arrow.FixedWidthDataType); ok {
		return validity + rows*int64(fixed.BitWidth())/8
	}
	if a.Len() == 0 {
		return 0
	}
	return util.TotalArraySize(a) * rows / int64(a.Len())
}

// batchSize is the weight of a batch's rows, about.
func batchSize(batch arrow.RecordBatch) int64 { return span(batch, 0, batch.NumRows()) }
