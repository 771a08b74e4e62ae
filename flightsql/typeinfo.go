package flightsql

import (
	"context"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/schema_ref"
)

// ODBC's numbers for types; those of dates and times have a verbose type and a subcode too.
const (
	xdbcBit           = -7
	xdbcTinyInt       = -6
	xdbcBigInt        = -5
	xdbcVarBinary     = -3
	xdbcGUID          = -11
	xdbcDecimal       = 3
	xdbcInteger       = 4
	xdbcSmallInt      = 5
	xdbcReal          = 7
	xdbcDouble        = 8
	xdbcDateTime      = 9
	xdbcInterval      = 10
	xdbcVarchar       = 12
	xdbcDate          = 91
	xdbcTime          = 92
	xdbcTimestamp     = 93
	xdbcTimestampZone = 2014
	xdbcOther         = 1111

	searchableFully  = 3
	searchableExcept = 2 // anything but LIKE
)

// sqlType is one row of XdbcTypeInfo. A negative number stands for NULL.
type sqlType struct {
	name        string
	code        int32
	size        int32 // digits, characters or bytes
	quoted      bool
	params      []string
	unsigned    int32 // 0 signed, 1 unsigned, -1 not a number
	exact       bool
	maxScale    int32
	verbose     int32 // sql_data_type
	subcode     int32
	radix       int32
	caseMatters bool
}

// sqlTypes are the types of DuckDB that have a counterpart in ODBC, by number and then nearness.
var sqlTypes = []sqlType{
	{name: "UUID", code: xdbcGUID, size: 36, quoted: true, unsigned: -1, maxScale: -1, verbose: xdbcGUID, subcode: -1, radix: -1},
	{name: "BOOLEAN", code: xdbcBit, size: 1, unsigned: -1, maxScale: -1, verbose: xdbcBit, subcode: -1, radix: -1},
	{name: "TINYINT", code: xdbcTinyInt, size: 3, exact: true, maxScale: 0, verbose: xdbcTinyInt, subcode: -1, radix: 10},
	{name: "UTINYINT", code: xdbcTinyInt, size: 3, unsigned: 1, exact: true, maxScale: 0, verbose: xdbcTinyInt, subcode: -1, radix: 10},
	{name: "BIGINT", code: xdbcBigInt, size: 19, exact: true, maxScale: 0, verbose: xdbcBigInt, subcode: -1, radix: 10},
	{name: "UBIGINT", code: xdbcBigInt, size: 20, unsigned: 1, exact: true, maxScale: 0, verbose: xdbcBigInt, subcode: -1, radix: 10},
	{name: "BLOB", code: xdbcVarBinary, size: -1, quoted: true, unsigned: -1, maxScale: -1, verbose: xdbcVarBinary, subcode: -1, radix: -1},
	{name: "DECIMAL", code: xdbcDecimal, size: 38, params: []string{"precision", "scale"}, exact: true, maxScale: 38, verbose: xdbcDecimal, subcode: -1, radix: 10},
	{name: "INTEGER", code: xdbcInteger, size: 10, exact: true, maxScale: 0, verbose: xdbcInteger, subcode: -1, radix: 10},
	{name: "UINTEGER", code: xdbcInteger, size: 10, unsigned: 1, exact: true, maxScale: 0, verbose: xdbcInteger, subcode: -1, radix: 10},
	{name: "SMALLINT", code: xdbcSmallInt, size: 5, exact: true, maxScale: 0, verbose: xdbcSmallInt, subcode: -1, radix: 10},
	{name: "USMALLINT", code: xdbcSmallInt, size: 5, unsigned: 1, exact: true, maxScale: 0, verbose: xdbcSmallInt, subcode: -1, radix: 10},
	{name: "FLOAT", code: xdbcReal, size: 24, maxScale: -1, verbose: xdbcReal, subcode: -1, radix: 2},
	{name: "DOUBLE", code: xdbcDouble, size: 53, maxScale: -1, verbose: xdbcDouble, subcode: -1, radix: 2},
	{name: "INTERVAL", code: xdbcInterval, size: -1, quoted: true, unsigned: -1, maxScale: -1, verbose: xdbcInterval, subcode: -1, radix: -1},
	{name: "VARCHAR", code: xdbcVarchar, size: -1, quoted: true, unsigned: -1, maxScale: -1, verbose: xdbcVarchar, subcode: -1, radix: -1, caseMatters: true},
	{name: "JSON", code: xdbcVarchar, size: -1, quoted: true, unsigned: -1, maxScale: -1, verbose: xdbcVarchar, subcode: -1, radix: -1, caseMatters: true},
	{name: "DATE", code: xdbcDate, size: 10, quoted: true, unsigned: -1, maxScale: -1, verbose: xdbcDateTime, subcode: 1, radix: -1},
	{name: "TIME", code: xdbcTime, size: 15, quoted: true, unsigned: -1, maxScale: 6, verbose: xdbcDateTime, subcode: 2, radix: -1},
	{name: "TIMESTAMP", code: xdbcTimestamp, size: 26, quoted: true, unsigned: -1, maxScale: 6, verbose: xdbcDateTime, subcode: 3, radix: -1},
	{name: "TIMESTAMP_S", code: xdbcTimestamp, size: 19, quoted: true, unsigned: -1, maxScale: 0, verbose: xdbcDateTime, subcode: 3, radix: -1},
	{name: "TIMESTAMP_MS", code: xdbcTimestamp, size: 23, quoted: true, unsigned: -1, maxScale: 3, verbose: xdbcDateTime, subcode: 3, radix: -1},
	{name: "TIMESTAMP_NS", code: xdbcTimestamp, size: 29, quoted: true, unsigned: -1, maxScale: 9, verbose: xdbcDateTime, subcode: 3, radix: -1},
	{name: "LIST", code: xdbcOther, size: -1, quoted: true, unsigned: -1, maxScale: -1, verbose: xdbcOther, subcode: -1, radix: -1},
	{name: "MAP", code: xdbcOther, size: -1, quoted: true, unsigned: -1, maxScale: -1, verbose: xdbcOther, subcode: -1, radix: -1},
	{name: "STRUCT", code: xdbcOther, size: -1, quoted: true, unsigned: -1, maxScale: -1, verbose: xdbcOther, subcode: -1, radix: -1},
	{name: "TIMESTAMP WITH TIME ZONE", code: xdbcTimestampZone, size: 32, quoted: true, unsigned: -1, maxScale: 6, verbose: xdbcDateTime, subcode: 5, radix: -1},
}

// GetFlightInfoXdbcTypeInfo describes the list of SQL types.
func (s *Service) GetFlightInfoXdbcTypeInfo(_ context.Context, _ flightsql.GetXdbcTypeInfo, desc *flight.FlightDescriptor) (*flight.FlightInfo, error) {
	return s.listing(desc, schema_ref.XdbcTypeInfo), nil
}

// DoGetXdbcTypeInfo lists the SQL types, or those of one number.
func (s *Service) DoGetXdbcTypeInfo(ctx context.Context, cmd flightsql.GetXdbcTypeInfo) (*arrow.Schema, <-chan flight.StreamChunk, error) {
	b := array.NewRecordBuilder(s.Alloc, schema_ref.XdbcTypeInfo)
	defer b.Release()
	for _, t := range sqlTypes {
		if only := cmd.GetDataType(); only == nil || *only == t.code {
			t.append(b)
		}
	}
	return s.list(ctx, b.NewRecordBatch())
}

func (t sqlType) append(b *array.RecordBuilder) {
	text := func(column int, v string) { b.Field(column).(*array.StringBuilder).Append(v) }
	number := func(column int, v int32) { b.Field(column).(*array.Int32Builder).Append(v) }
	maybe := func(column int, v int32) {
		if v < 0 {
			b.Field(column).AppendNull()
			return
		}
		number(column, v)
	}
	flag := func(column int, v bool) { b.Field(column).(*array.BooleanBuilder).Append(v) }

	text(0, t.name)
	number(1, t.code)
	maybe(2, t.size)
	if t.quoted {
		text(3, "'")
		text(4, "'")
	} else {
		b.Field(3).AppendNull()
		b.Field(4).AppendNull()
	}
	params := b.Field(5).(*array.ListBuilder)
	params.Append(true)
	for _, p := range t.params {
		params.ValueBuilder().(*array.StringBuilder).Append(p)
	}
	number(6, 1) // nullable
	flag(7, t.caseMatters)
	if t.caseMatters {
		number(8, searchableFully)
	} else {
		number(8, searchableExcept)
	}
	if t.unsigned < 0 {
		b.Field(9).AppendNull()
	} else {
		flag(9, t.unsigned == 1)
	}
	flag(10, t.exact)
	flag(11, false) // nothing counts up by itself
	text(12, t.name)
	if t.maxScale < 0 {
		b.Field(13).AppendNull()
	} else {
		number(13, 0)
	}
	maybe(14, t.maxScale)
	number(15, t.verbose)
	maybe(16, t.subcode)
	maybe(17, t.radix)
	b.Field(18).AppendNull() // interval_precision
}
