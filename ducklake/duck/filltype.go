package duck

import (
	"fmt"
	"math"
	"math/big"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/decimal"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/decimal256"
	"github.com/apache/arrow-go/v18/arrow/float16"
)

var fillPlain = map[arrow.Type]filler{
	arrow.NULL: nullFiller{}, arrow.BOOL: boolFiller{},
	arrow.INT8: copied[uint8]{}, arrow.UINT8: copied[uint8]{}, arrow.INT16: copied[uint16]{}, arrow.UINT16: copied[uint16]{},
	arrow.INT32: copied[uint32]{}, arrow.UINT32: copied[uint32]{}, arrow.FLOAT32: copied[uint32]{}, arrow.DATE32: copied[uint32]{},
	arrow.INT64: copied[uint64]{}, arrow.UINT64: copied[uint64]{}, arrow.FLOAT64: copied[uint64]{},
	arrow.FLOAT16: converted[float16.Num, float32]{func(f float16.Num) (float32, error) { return f.Float32(), nil }},
	arrow.STRING:  bytesFiller{text: true}, arrow.LARGE_STRING: bytesFiller{text: true}, arrow.STRING_VIEW: bytesFiller{text: true},
	arrow.BINARY: bytesFiller{}, arrow.LARGE_BINARY: bytesFiller{}, arrow.BINARY_VIEW: bytesFiller{}, arrow.FIXED_SIZE_BINARY: bytesFiller{},
	arrow.DATE64: converted[int64, int32]{func(ms int64) (int32, error) {
		days := floorDiv(ms, 86400e3)
		if days != int64(int32(days)) {
			return 0, fmt.Errorf("the date64 %d is out of range", ms)
		}
		return int32(days), nil
	}},
	arrow.INTERVAL_MONTHS: converted[int32, interval]{func(m int32) (interval, error) { return interval{months: m}, nil }},
	arrow.INTERVAL_DAY_TIME: converted[arrow.DayTimeInterval, interval]{func(x arrow.DayTimeInterval) (interval, error) {
		return interval{days: x.Days, micros: int64(x.Milliseconds) * 1000}, nil
	}},
	arrow.INTERVAL_MONTH_DAY_NANO: converted[arrow.MonthDayNanoInterval, interval]{func(x arrow.MonthDayNanoInterval) (interval, error) {
		return interval{months: x.Months, days: x.Days, micros: x.Nanoseconds / 1000}, nil
	}},
}

// newFiller is the filler from an Arrow type to the DuckDB type that
// [logicalType] gives for it.
func newFiller(t arrow.DataType) (filler, error) {
	if f, ok := fillPlain[t.ID()]; ok {
		return f, nil
	}
	switch t := t.(type) {
	case *arrow.Time32Type:
		by := 1e6 / perSecond(t.Unit)
		return converted[int32, int64]{func(x int32) (int64, error) { return timeOfDay(int64(x)*by, arrow.Microsecond) }}, nil
	case *arrow.Time64Type: // microseconds are TIME, nanoseconds TIME_NS
		return converted[int64, int64]{func(x int64) (int64, error) { return timeOfDay(x, t.Unit) }}, nil
	case *arrow.DurationType:
		by, div := toMicros(t.Unit)
		s := scaled64(by, div)
		return converted[int64, interval]{func(x int64) (interval, error) {
			us, err := s(x)
			return interval{micros: us}, err
		}}, nil
	case *arrow.TimestampType:
		if t.TimeZone == "" {
			return copied[uint64]{}, nil
		}
		by, div := toMicros(t.Unit)
		return converted[int64, int64]{scaled64(by, div)}, nil
	case arrow.DecimalType:
		return decimalFiller(t), nil
	case *arrow.DictionaryType:
		f, err := newFiller(t.ValueType)
		return dictionaryFiller{f}, err
	case *arrow.RunEndEncodedType:
		f, err := newFiller(t.Encoded())
		return runFiller{f}, err
	case *arrow.MapType:
		parts, err := newFillers([]arrow.Field{t.KeyField(), t.ItemField()})
		return listFiller{parts}, err
	case *arrow.FixedSizeListType:
		f, err := newFiller(t.Elem())
		return arrayFiller{f, int(t.Len())}, err
	case arrow.ListLikeType:
		f, err := newFiller(t.Elem())
		return listFiller{[]filler{f}}, err
	case *arrow.StructType:
		fields, err := newFillers(t.Fields())
		return structFiller{fields}, err
	case arrow.UnionType:
		members, err := newFillers(t.Fields())
		return unionFiller{members}, err
	case arrow.ExtensionType:
		if t.ExtensionName() == "arrow.uuid" {
			return uuidFiller{}, nil
		}
		f, err := newFiller(t.StorageType())
		return storageFiller{f}, err
	}
	return nil, fmt.Errorf("duck: DuckDB has no type for the Arrow type %s", t)
}

func newFillers(fields []arrow.Field) ([]filler, error) {
	fs := make([]filler, len(fields))
	for i, f := range fields {
		var err error
		if fs[i], err = newFiller(f.Type); err != nil {
			return nil, err
		}
	}
	return fs, nil
}

func perSecond(u arrow.TimeUnit) int64 { return int64(1e9 / u.Multiplier()) }

// toMicros is what a number of units is multiplied with and divided by.
func toMicros(u arrow.TimeUnit) (by, div int64) {
	if u == arrow.Nanosecond {
		return 1, 1000
	}
	return 1e6 / perSecond(u), 1
}

// timeOfDay refuses times outside of a day, which DuckDB takes for granted: it reads beside its tables of digits
// when it prints them.
func timeOfDay(x int64, u arrow.TimeUnit) (int64, error) {
	if x < 0 || x > 86400*perSecond(u) {
		return 0, fmt.Errorf("the time of day %d%s is not within a day", x, u)
	}
	return x, nil
}

func scaled64(by, div int64) func(int64) (int64, error) {
	return func(x int64) (int64, error) {
		if x > math.MaxInt64/by || x < math.MinInt64/by {
			return 0, fmt.Errorf("the time value %d does not fit 64 bits of microseconds", x)
		}
		return floorDiv(x*by, div), nil
	}
}

// decimalFiller fills a DECIMAL, which DuckDB stores in the smallest integer that has its digits.
func decimalFiller(t arrow.DecimalType) filler {
	switch t.BitWidth() {
	case 32:
		return decimalFrom(t, func(n decimal.Decimal32) *big.Int { return big.NewInt(int64(n)) })
	case 64:
		return decimalFrom(t, func(n decimal.Decimal64) *big.Int { return big.NewInt(int64(n)) })
	case 256:
		return decimalFrom(t, func(n decimal256.Num) *big.Int { return n.BigInt() })
	}
	if t.GetPrecision() > 18 {
		limit := decimal128.GetMaxValue(t.GetPrecision())
		return converted[decimal128.Num, decimal128.Num]{func(n decimal128.Num) (decimal128.Num, error) {
			if limit.Less(n) || n.Less(limit.Negate()) {
				return n, fmt.Errorf("the unscaled value %s has more digits than %s", n.BigInt(), t)
			}
			return n, nil
		}}
	}
	return decimalFrom(t, func(n decimal128.Num) *big.Int { return n.BigInt() })
}

func decimalFrom[S any](t arrow.DecimalType, unscaled func(S) *big.Int) filler {
	limit := powerOfTen(int(t.GetPrecision()))
	digits := func(s S) (*big.Int, error) {
		b := unscaled(s)
		if b.CmpAbs(limit) >= 0 {
			return b, fmt.Errorf("the unscaled value %s has more digits than %s", b, t)
		}
		return b, nil
	}
	switch p := t.GetPrecision(); {
	case p <= 4:
		return converted[S, int16]{func(s S) (int16, error) { b, err := digits(s); return int16(b.Int64()), err }}
	case p <= 9:
		return converted[S, int32]{func(s S) (int32, error) { b, err := digits(s); return int32(b.Int64()), err }}
	case p <= 18:
		return converted[S, int64]{func(s S) (int64, error) { b, err := digits(s); return b.Int64(), err }}
	}
	return converted[S, decimal128.Num]{func(s S) (decimal128.Num, error) {
		b, err := digits(s)
		if err != nil {
			return decimal128.Num{}, err
		}
		return decimal128.FromBigInt(b), nil
	}}
}
