package duck

import (
	"encoding/binary"
	"fmt"
	"math/big"
	"time"

	"github.com/google/uuid"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

// Decimal is an argument of type DECIMAL(Width, Scale); Unscaled is the value times 10^Scale.
type Decimal struct {
	Unscaled     *big.Int
	Width, Scale uint8
}

// Interval is an argument of type INTERVAL.
type Interval struct {
	Months, Days int32
	Micros       int64
}

// bind binds the arguments, in order, to the statement's parameters.
func (s *Stmt) bind(args []any) error {
	if n := s.NumParams(); n != len(args) {
		return s.conn.db.fail(fmt.Sprintf("Invalid Input Error: the statement has %d parameters, %d values were given", n, len(args)), "")
	}
	if len(args) == 0 {
		return nil
	}
	ddb.ClearBindings(s.raw)
	for i, arg := range args {
		n := ddb.IdxT(i + 1)
		v, err := newValue(arg, ddb.ParamType(s.raw, n))
		if err != nil {
			return s.conn.db.fail(fmt.Sprintf("Invalid Input Error: parameter %s: %v", ddb.ParameterName(s.raw, n), err), "")
		}
		state := ddb.BindValue(s.raw, n, v)
		ddb.DestroyValue(&v)
		if state == ddb.StateError {
			return s.conn.db.fail(fmt.Sprintf("Invalid Input Error: DuckDB refuses the value of parameter %s", ddb.ParameterName(s.raw, n)), "")
		}
	}
	return nil
}

// newValue makes a DuckDB value. want is the type that the statement expects,
// if it decides one: an instant is bound as TIMESTAMP only to a parameter that
// is one (or a DATE), else as TIMESTAMP WITH TIME ZONE, which casts by the session's zone.
func newValue(arg any, want ddb.Type) (ddb.Value, error) {
	switch x := arg.(type) {
	case nil:
		return ddb.CreateNullValue(), nil
	case bool:
		return ddb.CreateBool(x), nil
	case int:
		return ddb.CreateInt64(int64(x)), nil
	case int8:
		return ddb.CreateInt8(x), nil
	case int16:
		return ddb.CreateInt16(x), nil
	case int32:
		return ddb.CreateInt32(x), nil
	case int64:
		return ddb.CreateInt64(x), nil
	case uint:
		return ddb.CreateUInt64(uint64(x)), nil
	case uint8:
		return ddb.CreateUInt8(x), nil
	case uint16:
		return ddb.CreateUInt16(x), nil
	case uint32:
		return ddb.CreateUInt32(x), nil
	case uint64:
		return ddb.CreateUInt64(x), nil
	case float32:
		return ddb.CreateFloat(x), nil
	case float64:
		return ddb.CreateDouble(x), nil
	case string:
		return ddb.CreateVarcharLength(x, ddb.IdxT(len(x))), nil
	case []byte:
		if x == nil {
			return ddb.CreateNullValue(), nil
		}
		return ddb.CreateBlob(x), nil
	case time.Time:
		us := x.UnixMicro()
		if want == ddb.TypeTimestamp || want == ddb.TypeDate {
			return ddb.CreateTimestamp(ddb.NewTimestamp(us)), nil
		}
		return ddb.CreateTimestampTZ(ddb.NewTimestamp(us)), nil
	case time.Duration:
		return ddb.CreateInterval(ddb.NewInterval(0, 0, x.Microseconds())), nil
	case Interval:
		return ddb.CreateInterval(ddb.NewInterval(x.Months, x.Days, x.Micros)), nil
	case *big.Int:
		if x == nil {
			return ddb.CreateNullValue(), nil
		}
		h, ok := hugeInt(x)
		if !ok {
			return ddb.Value{}, fmt.Errorf("duck: %s does not fit HUGEINT", x)
		}
		return ddb.CreateHugeInt(h), nil
	case Decimal:
		h, ok := hugeInt(x.Unscaled)
		if !ok || x.Width < 1 || x.Width > 38 || x.Scale > x.Width || x.Unscaled.CmpAbs(powerOfTen(int(x.Width))) >= 0 {
			return ddb.Value{}, fmt.Errorf("duck: %s does not fit DECIMAL(%d,%d)", x.Unscaled, x.Width, x.Scale)
		}
		return ddb.CreateDecimal(ddb.NewDecimal(x.Width, x.Scale, h)), nil
	case uuid.UUID:
		return ddb.CreateUUID(uuidParts(x)), nil
	case []int64:
		return bigints(x), nil
	case arrowCell:
		return x.value()
	}
	return ddb.Value{}, fmt.Errorf("duck: a %T cannot be bound", arg)
}

// bigints is a value of type BIGINT[].
func bigints(x []int64) ddb.Value {
	vs := make(values, len(x))
	defer vs.destroy()
	for i, n := range x {
		vs[i] = ddb.CreateInt64(n)
	}
	t := ddb.CreateLogicalType(ddb.TypeBigInt)
	defer ddb.DestroyLogicalType(&t)
	return ddb.CreateListValue(t, vs)
}

func hugeInt(b *big.Int) (ddb.HugeInt, bool) {
	if b.BitLen() > 127 && !(b.Sign() < 0 && b.BitLen() == 128 && b.TrailingZeroBits() == 127) {
		return ddb.HugeInt{}, false
	}
	lower := new(big.Int).And(b, new(big.Int).SetUint64(1<<64-1)).Uint64()
	upper := new(big.Int).Rsh(b, 64).Int64()
	return ddb.NewHugeInt(lower, upper), true
}

func powerOfTen(n int) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(n)), nil) }

func uuidParts(u uuid.UUID) ddb.UHugeInt {
	return ddb.NewUHugeInt(binary.BigEndian.Uint64(u[8:]), binary.BigEndian.Uint64(u[:8]))
}

// uuidStored is a UUID as vectors hold it: the top bit flipped, so that UUIDs sort as integers.
func uuidStored(u [16]byte) int128 {
	return int128{lower: binary.BigEndian.Uint64(u[8:]), upper: binary.BigEndian.Uint64(u[:8]) ^ 1<<63}
}
