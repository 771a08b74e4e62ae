package row

import (
	"math"
	"unsafe"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/decimal128"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/fault"
)

// ToArrow makes a record batch of rows; schema is the layout's ([Layout.Schema]).
// The batch shares nothing with the rows; the caller releases it.
func (l *Layout) ToArrow(schema *arrow.Schema, words []uint64, n int, h *Heap) (arrow.RecordBatch, error) {
	cols := make([]arrow.Array, len(l.Types))
	defer func() {
		for _, c := range cols {
			if c != nil {
				c.Release()
			}
		}
	}()
	for i := range l.Types {
		var err error
		if cols[i], err = l.ToColumn(schema.Field(i).Type, words, n, i, h); err != nil {
			return nil, err
		}
	}
	return array.NewRecordBatch(schema, cols, int64(n)), nil
}

// ToColumn makes an Arrow array of field i of n rows.
func (l *Layout) ToColumn(at arrow.DataType, words []uint64, n, i int, h *Heap) (arrow.Array, error) {
	t := l.Types[i]
	valid, nulls := l.validity(words, n, i)
	v := view{words: words, n: n, step: l.Words, off: l.Off[i]}
	var buffers []*memory.Buffer
	var err error
	switch {
	case t.Kind == Null:
		return array.NewNull(n), nil
	case t.Nested():
		return l.nestedColumn(at, words, n, i, h)
	case t.Var():
		buffers, err = v.bytes(h)
	default:
		buffers, err = v.fixed(t)
	}
	if err != nil {
		return nil, err
	}
	d := array.NewData(at, n, append([]*memory.Buffer{valid}, buffers...), nil, nulls, 0)
	defer d.Release()
	return array.MakeFromData(d), nil
}

func (l *Layout) validity(words []uint64, n, i int) (*memory.Buffer, int) {
	word, shift := i>>6, uint(i)&63
	var any uint64
	for k := range n {
		any |= words[k*l.Words+word]
	}
	if any>>shift&1 == 0 {
		return nil, 0
	}
	bits := make([]byte, (n+7)/8)
	nulls := 0
	for k := range n {
		null := words[k*l.Words+word] >> shift & 1
		bits[k>>3] |= byte(null^1) << (k & 7)
		nulls += int(null)
	}
	return memory.NewBufferBytes(bits), nulls
}

// view is one field of n rows.
type view struct {
	words        []uint64
	n, step, off int
}

func buffer[T any](vs []T) *memory.Buffer {
	var t T
	return memory.NewBufferBytes(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(vs))), len(vs)*int(unsafe.Sizeof(t))))
}

func gather[T uint8 | uint16 | uint32 | uint64](v view) []*memory.Buffer {
	out := make([]T, v.n)
	at := v.off
	for i := range out {
		out[i] = T(v.words[at])
		at += v.step
	}
	return []*memory.Buffer{buffer(out)}
}

func (v view) fixed(t Type) ([]*memory.Buffer, error) {
	switch t.Kind {
	case Bool:
		bits := make([]byte, (v.n+7)/8)
		for i := range v.n {
			bits[i>>3] |= byte(v.words[v.off+i*v.step]&1) << (i & 7)
		}
		return []*memory.Buffer{memory.NewBufferBytes(bits)}, nil
	case Int8, Uint8:
		return gather[uint8](v), nil
	case Int16, Uint16:
		return gather[uint16](v), nil
	case Int32, Uint32, Float, Date:
		return gather[uint32](v), nil
	case Int128, Uint128, Decimal:
		return v.decimal(t)
	case Interval:
		return v.interval()
	case UUID, TimeTZ:
		out := texts{offsets: make([]int32, 1, v.n+1)}
		for i := range v.n {
			o := v.off + i*v.step
			if t.Kind == UUID {
				out.data = appendUUID(out.data, v.words[o], v.words[o+1])
			} else {
				out.data = appendTimeTZ(out.data, v.words[o])
			}
			out.offsets = append(out.offsets, int32(len(out.data)))
		}
		return out.buffers()
	}
	return gather[uint64](v), nil
}

func (v view) decimal(t Type) ([]*memory.Buffer, error) {
	out := make([]decimal128.Num, v.n)
	for i := range out {
		o := v.off + i*v.step
		if t.Words() == 1 {
			out[i] = decimal128.FromI64(int64(v.words[o]))
			continue
		}
		out[i] = decimal128.New(int64(v.words[o+1]), v.words[o])
		if t.Kind != Decimal {
			if err := fits38(t, out[i]); err != nil {
				return nil, err
			}
		}
	}
	return []*memory.Buffer{buffer(out)}, nil
}

var tooBig = decimal128.New(0x4b3b4ca85a86c47a, 0x098a224000000000) // 10^38

// fits38 refuses a number of 39 digits, which DECIMAL(38,0), and so Arrow, does not have.
func fits38(t Type, n decimal128.Num) error {
	if t.Kind == Uint128 && n.Sign() < 0 || !n.Less(tooBig) || !tooBig.Negate().Less(n) {
		return fault.SQLError.Newf("a value of %s has 39 digits; results carry 38", t)
	}
	return nil
}

func (v view) interval() ([]*memory.Buffer, error) {
	out := make([]arrow.MonthDayNanoInterval, v.n)
	for i := range out {
		o := v.off + i*v.step
		var err error
		if out[i], err = arrowInterval(v.words[o], v.words[o+1]); err != nil {
			return nil, err
		}
	}
	return []*memory.Buffer{buffer(out)}, nil
}

func arrowInterval(w0, w1 uint64) (arrow.MonthDayNanoInterval, error) {
	micros := int64(w1)
	if micros > math.MaxInt64/1000 || micros < math.MinInt64/1000 {
		return arrow.MonthDayNanoInterval{}, fault.SQLError.Newf("an INTERVAL of %d microseconds does not fit 64 bits of nanoseconds", micros)
	}
	return arrow.MonthDayNanoInterval{Months: int32(w0 >> 32), Days: int32(w0), Nanoseconds: micros * 1000}, nil
}

type texts struct {
	offsets []int32
	data    []byte
}

func (x *texts) buffers() ([]*memory.Buffer, error) {
	if len(x.data) > math.MaxInt32 {
		return nil, fault.SQLError.Newf("the values of a column of a batch are %d bytes together; Arrow has 2 GiB", len(x.data))
	}
	return []*memory.Buffer{buffer(x.offsets), memory.NewBufferBytes(x.data)}, nil
}

func (v view) bytes(h *Heap) ([]*memory.Buffer, error) {
	total, at := 0, v.off
	for range v.n {
		total += int(uint32(v.words[at]))
		at += v.step
	}
	out := texts{offsets: make([]int32, v.n+1), data: make([]byte, 0, total+Inline)}
	at = v.off
	for i := range v.n {
		out.data = AppendVar(out.data, v.words[at], v.words[at+1], h)
		out.offsets[i+1] = int32(len(out.data))
		at += v.step
	}
	return out.buffers()
}
