package publish

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// exactStats computes the statistics of a delta's rows without DuckDB, which takes longer to be asked than the rest of a small commit
// does. ok is false when it cannot: a column is nested, a batch's type is not the column's own, or a bound is of the kind that
// DuckDB writes in a way of its own.
func exactStats(table metadata.TableInfo, batches []arrow.RecordBatch) (out []added, ok bool) {
	out = make([]added, len(table.Columns))
	for i, c := range table.Columns {
		if len(c.Children) > 0 {
			return nil, false
		}
		a := added{leaf: c.ID}
		arrays := make([]arrow.Array, len(batches))
		for j, b := range batches {
			arrays[j] = b.Column(i)
			a.values += b.NumRows()
			a.nulls += int64(b.Column(i).NullN())
			if !arrow.TypeEqual(arrays[j].DataType(), arrays[0].DataType()) {
				return nil, false
			}
		}
		if !a.bound(c.Type, arrays) {
			return nil, false
		}
		out[i] = a
	}
	return out, true
}

// bound finds min, max and nan.
func (a *added) bound(typ string, arrays []arrow.Array) bool {
	switch first := arrays[0].(type) {
	case *array.Boolean:
		return typ == "boolean" && bounded(a, arrays, first, truth, func(v int) (string, bool) { return strconv.FormatBool(v == 1), true })
	case *array.Int8:
		return typ == "int8" && bounded(a, arrays, first, as[int8], signed)
	case *array.Int16:
		return typ == "int16" && bounded(a, arrays, first, as[int16], signed)
	case *array.Int32:
		return typ == "int32" && bounded(a, arrays, first, as[int32], signed)
	case *array.Int64:
		return typ == "int64" && bounded(a, arrays, first, func(v int64) int64 { return v }, signed)
	case *array.Uint8:
		return typ == "uint8" && bounded(a, arrays, first, as[uint8], signed)
	case *array.Uint16:
		return typ == "uint16" && bounded(a, arrays, first, as[uint16], signed)
	case *array.Uint32:
		return typ == "uint32" && bounded(a, arrays, first, as[uint32], signed)
	case *array.Uint64:
		return typ == "uint64" && bounded(a, arrays, first, func(v uint64) uint64 { return v }, func(v uint64) (string, bool) { return strconv.FormatUint(v, 10), true })
	case *array.Float32:
		return typ == "float32" && boundedFloats(a, arrays, first, 32)
	case *array.Float64:
		return typ == "float64" && boundedFloats(a, arrays, first, 64)
	case *array.String:
		return typ == "varchar" && bounded(a, arrays, first, func(v string) string { return v }, cloned)
	case *array.LargeString:
		return typ == "varchar" && bounded(a, arrays, first, func(v string) string { return v }, cloned)
	case *array.Binary, *array.LargeBinary:
		return typ == "blob"
	case *array.Date32:
		return typ == "date" && bounded(a, arrays, first, as[arrow.Date32], func(days int64) (string, bool) {
			return written(days*86400*1e6, "2006-01-02")
		})
	case *array.Time64:
		t := first.DataType().(*arrow.Time64Type)
		return typ == "time" && t.Unit == arrow.Microsecond && bounded(a, arrays, first, as[arrow.Time64], clock)
	case *array.Timestamp:
		return a.boundInstants(typ, arrays, first)
	case *array.Decimal128:
		t := first.DataType().(*arrow.Decimal128Type)
		if typ != fmt.Sprintf("decimal(%d,%d)", t.Precision, t.Scale) {
			return false
		}
		return boundedBy(a, arrays, first, decimal128.Num.Cmp, func(n decimal128.Num) (string, bool) { return decimalText(n, t), true })
	case array.ExtensionArray:
		return typ == "uuid" && first.DataType().(arrow.ExtensionType).ExtensionName() == "arrow.uuid" && a.boundUUIDs(arrays)
	}
	return false
}

func (a *added) boundInstants(typ string, arrays []arrow.Array, first *array.Timestamp) bool {
	t := first.DataType().(*arrow.TimestampType)
	layout := ""
	switch {
	case t.Unit != arrow.Microsecond:
	case (typ == "timestamp" || typ == "timestamp_us") && t.TimeZone == "":
		layout = "2006-01-02 15:04:05.999999"
	case typ == "timestamptz" && t.TimeZone != "":
		layout = "2006-01-02 15:04:05.999999+00"
	}
	return layout != "" && bounded(a, arrays, first, as[arrow.Timestamp], func(us int64) (string, bool) { return written(us, layout) })
}

func (a *added) boundUUIDs(arrays []arrow.Array) bool {
	plain := make([]arrow.Array, len(arrays))
	for i, x := range arrays {
		plain[i] = x.(array.ExtensionArray).Storage()
	}
	first, ok := plain[0].(*array.FixedSizeBinary)
	return ok && boundedBy(a, plain, first, bytes.Compare, func(b []byte) (string, bool) {
		u, err := uuid.FromBytes(b)
		return u.String(), err == nil
	})
}

func as[T ~int8 | ~int16 | ~int32 | ~int64 | ~uint8 | ~uint16 | ~uint32](v T) int64 { return int64(v) }

func truth(v bool) int {
	if v {
		return 1
	}
	return 0
}

func signed(v int64) (string, bool) { return strconv.FormatInt(v, 10), true }

// cloned is a text whose memory is not the batch's.
func cloned(v string) (string, bool) { return strings.Clone(v), true }

// written is an instant, in microseconds since 1970, in the years that are written with four digits.
func written(us int64, layout string) (string, bool) {
	t := time.UnixMicro(us).UTC()
	return t.Format(layout), t.Year() >= 1 && t.Year() <= 9999
}

func clock(us int64) (string, bool) {
	s := fmt.Sprintf("%02d:%02d:%02d", us/3600e6, us/60e6%60, us/1e6%60)
	if us%1e6 != 0 {
		s += strings.TrimRight(fmt.Sprintf(".%06d", us%1e6), "0")
	}
	return s, us >= 0 && us <= 86400e6
}

// decimalText writes no digit before the point of a type that has none.
func decimalText(n decimal128.Num, t *arrow.Decimal128Type) string {
	sign, digits := "", n.BigInt().String()
	if n.Sign() < 0 {
		sign, digits = "-", digits[1:]
	}
	scale := int(t.Scale)
	if scale == 0 {
		return sign + digits
	}
	whole := 1
	if t.Scale == t.Precision {
		whole = 0
	}
	if missing := scale + whole - len(digits); missing > 0 {
		digits = strings.Repeat("0", missing) + digits
	}
	return sign + digits[:len(digits)-scale] + "." + digits[len(digits)-scale:]
}

type valued[T any] interface {
	arrow.Array
	Value(i int) T
}

// bounded finds the least and the greatest value, and writes them; ok is false when one cannot be written.
func bounded[A valued[T], T any, V cmp.Ordered](a *added, arrays []arrow.Array, first A, value func(T) V, text func(V) (string, bool)) bool {
	return boundedBy(a, arrays, first, func(x, y T) int { return cmp.Compare(value(x), value(y)) }, func(v T) (string, bool) { return text(value(v)) })
}

// boundedBy is bounded for values that compare orders. first only says of which type the arrays are.
func boundedBy[A valued[T], T any](a *added, arrays []arrow.Array, _ A, compare func(x, y T) int, text func(T) (string, bool)) bool {
	var low, high T
	some := false
	for _, x := range arrays {
		x := x.(A)
		nulls := x.NullN() > 0
		for i := range x.Len() {
			if nulls && x.IsNull(i) {
				continue
			}
			v := x.Value(i)
			if !some {
				low, high, some = v, v, true
				continue
			}
			if compare(v, low) < 0 {
				low = v
			}
			if compare(v, high) > 0 {
				high = v
			}
		}
	}
	if !some {
		return true
	}
	lowest, ok := text(low)
	highest, ok2 := text(high)
	a.min, a.max = &lowest, &highest
	return ok && ok2
}

func boundedFloats[A valued[T], T float32 | float64](a *added, arrays []arrow.Array, _ A, bits int) bool {
	nan, some := false, false
	var low, high float64
	for _, x := range arrays {
		x := x.(A)
		for i := range x.Len() {
			if x.IsNull(i) {
				continue
			}
			v := float64(x.Value(i))
			if math.IsNaN(v) {
				nan = true
				continue
			}
			if !some {
				low, high, some = v, v, true
			}
			low, high = lesser(low, v), -lesser(-high, -v)
		}
	}
	a.nan = &nan
	if !some {
		return true
	}
	lowest, ok := floatText(low, bits)
	highest, ok2 := floatText(high, bits)
	a.min, a.max = &lowest, &highest
	return ok && ok2
}

func lesser(a, b float64) float64 {
	if b < a {
		return b
	}
	return a
}

// floatText leaves to DuckDB what it writes with an exponent.
func floatText(f float64, bits int) (string, bool) {
	switch {
	case math.IsInf(f, 1):
		return "inf", true
	case math.IsInf(f, -1):
		return "-inf", true
	case f != 0 && (math.Abs(f) < 1e-4 || math.Abs(f) >= 1e15):
		return "", false
	}
	s := strconv.FormatFloat(f, 'f', -1, bits)
	if !strings.Contains(s, ".") {
		s += ".0"
	}
	return s, true
}
