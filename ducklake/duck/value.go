package duck

import (
	"math/big"
	"time"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// value is the i-th value as the Go value that [Conn.Rows] promises.
func (v *vector) value(i int) any {
	if !v.valid(i) {
		return nil
	}
	switch v.typ.id {
	case ddb.TypeBoolean:
		return at[bool](v, i)
	case ddb.TypeTinyInt:
		return int64(at[int8](v, i))
	case ddb.TypeSmallInt:
		return int64(at[int16](v, i))
	case ddb.TypeInteger:
		return int64(at[int32](v, i))
	case ddb.TypeBigInt:
		return at[int64](v, i)
	case ddb.TypeUTinyInt:
		return int64(at[uint8](v, i))
	case ddb.TypeUSmallInt:
		return int64(at[uint16](v, i))
	case ddb.TypeUInteger:
		return int64(at[uint32](v, i))
	case ddb.TypeUBigInt:
		u := at[uint64](v, i)
		if u>>63 == 0 {
			return int64(u)
		}
		return new(big.Int).SetUint64(u)
	case ddb.TypeHugeInt:
		return at[int128](v, i).big()
	case ddb.TypeUHugeInt:
		return at[int128](v, i).unsigned()
	case ddb.TypeFloat:
		return float64(at[float32](v, i))
	case ddb.TypeDouble:
		return at[float64](v, i)
	case ddb.TypeVarchar:
		return v.stringAt(i)
	case ddb.TypeBlob, ddb.TypeGeometry:
		return append([]byte{}, v.bytesAt(i)...)
	case ddb.TypeTimestamp, ddb.TypeTimestampTZ:
		if us := at[int64](v, i); finite(us) {
			return time.UnixMicro(us).UTC()
		}
	case ddb.TypeTimestampS:
		if s := at[int64](v, i); finite(s) {
			return time.Unix(s, 0).UTC()
		}
	case ddb.TypeTimestampMS:
		if ms := at[int64](v, i); finite(ms) {
			return time.UnixMilli(ms).UTC()
		}
	case ddb.TypeTimestampNS:
		if ns := at[int64](v, i); finite(ns) {
			return time.Unix(0, ns).UTC()
		}
	case ddb.TypeDate:
		if days := at[int32](v, i); days > -1<<31+1 && days < 1<<31-1 {
			return time.Unix(int64(days)*86400, 0).UTC()
		}
	}
	return v.text(i)
}

// DuckDB's infinities are the ends of the number range.
func finite(t int64) bool { return t > -1<<63+1 && t < 1<<63-1 }

func infinity(positive bool) string {
	if positive {
		return "infinity"
	}
	return "-infinity"
}

// int128 is DuckDB's hugeint, uhugeint, uuid and wide decimal.
type int128 struct {
	lower uint64
	upper uint64
}

func (h int128) unsigned() *big.Int {
	b := new(big.Int).SetUint64(h.upper)
	return b.Lsh(b, 64).Or(b, new(big.Int).SetUint64(h.lower))
}

func (h int128) big() *big.Int {
	b := new(big.Int).SetInt64(int64(h.upper))
	return b.Lsh(b, 64).Add(b, new(big.Int).SetUint64(h.lower))
}
