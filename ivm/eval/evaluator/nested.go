package evaluator

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ivm/eval"
	"github.com/vegadb/vega-flight/ivm/row"
)

// nested is a value made of values; rows have it as the bytes of package row's codec.
type nested struct {
	typ   row.Type
	buf   []byte
	maps  bool  // there are MAPs in it
	wrong []int // the places of values that are none
}

func newNested(t row.Type) (*nested, error) {
	if err := known(t); err != nil {
		return nil, err
	}
	return &nested{typ: t, maps: strings.Contains(t.String(), "MAP(")}, nil
}

// known says that all types in t can be handed over.
func known(t row.Type) error {
	if !t.Nested() {
		_, err := cellOf(t)
		return err
	}
	for _, c := range t.Children {
		if err := known(c); err != nil {
			return err
		}
	}
	return nil
}

func (x *nested) write(c *duck.CellWriter, in *eval.Rows, starts []int, off int) error {
	var short [row.Inline]byte
	for i, at := range starts {
		w0, w1 := in.Words[at+off], in.Words[at+off+1]
		if w0|w1 == 0 { // NULL: no value has no bytes. The caller says so to DuckDB.
			continue
		}
		rest, err := put(c, x.typ, i, row.VarBytes(w0, w1, in.Heap, short[:]))
		if err != nil {
			return err
		}
		if len(rest) > 0 {
			return fmt.Errorf("evaluator: %d bytes are left behind a value of %s", len(rest), x.typ)
		}
	}
	return nil
}

// put writes the value that p begins with, and gives what is behind it.
func put(c *duck.CellWriter, t row.Type, i int, p []byte) (_ []byte, err error) {
	switch t.Kind {
	case row.List, row.Map:
		n, k := binary.Uvarint(p)
		if k <= 0 || n > uint64(len(p)) {
			return nil, cut(t)
		}
		first, err := c.SetList(i, int(n))
		if err != nil {
			return nil, err
		}
		p = p[k:]
		for j := first; j < first+int(n); j++ {
			if t.Kind == row.List {
				p, err = putOptional(c.Child(0), t.Children[0], j, p)
			} else if p, err = put(c.Child(0), t.Children[0], j, p); err == nil {
				p, err = putOptional(c.Child(1), t.Children[1], j, p)
			}
			if err != nil {
				return nil, err
			}
		}
		return p, nil
	case row.Array:
		for j := i * t.Size; j < (i+1)*t.Size; j++ {
			if p, err = putOptional(c.Child(0), t.Children[0], j, p); err != nil {
				return nil, err
			}
		}
		return p, nil
	case row.Struct:
		for k, field := range t.Children {
			if p, err = putOptional(c.Child(k), field, i, p); err != nil {
				return nil, err
			}
		}
		return p, nil
	case row.Union:
		if len(p) == 0 || int(p[0]) >= len(t.Children) {
			return nil, cut(t)
		}
		member := int(p[0])
		cells[uint8](c.Child(0).Data(), i+1)[i] = p[0]
		for k := range t.Children {
			if k != member {
				c.Child(1 + k).SetNull(i)
			}
		}
		return putOptional(c.Child(1+member), t.Children[member], i, p[1:])
	}
	if t.Var() {
		n, k := binary.Uvarint(p)
		if k <= 0 || uint64(len(p)-k) < n {
			return nil, cut(t)
		}
		c.SetBytes(i, p[k:k+int(n)])
		return p[k+int(n):], nil
	}
	var w [2]uint64
	rest := row.ReadWords(w[:t.Words()], p)
	if len(p) < 8*t.Words() {
		return nil, cut(t)
	}
	putWords(c, t, i, w[0], w[1])
	return rest, nil
}

func putOptional(c *duck.CellWriter, t row.Type, i int, p []byte) ([]byte, error) {
	if len(p) == 0 {
		return nil, cut(t)
	}
	if p[0] == 0 {
		if t.Kind == row.List || t.Kind == row.Map {
			if _, err := c.SetList(i, 0); err != nil {
				return nil, err
			}
		}
		c.SetNull(i)
		return p[1:], nil
	}
	return put(c, t, i, p[1:])
}

func cut(t row.Type) error {
	return fmt.Errorf("evaluator: the bytes of a value of %s are cut short", t)
}

// size is how many bytes DuckDB has of a value of fixed size.
func size(t row.Type) int {
	switch t.Kind {
	case row.Bool, row.Int8, row.Uint8:
		return 1
	case row.Int16, row.Uint16:
		return 2
	case row.Int32, row.Uint32, row.Float, row.Date:
		return 4
	case row.Decimal:
		switch {
		case t.Width <= 4:
			return 2
		case t.Width <= 9:
			return 4
		}
	}
	return 8 * t.Words()
}

func putWords(c *duck.CellWriter, t row.Type, i int, lo, hi uint64) {
	switch size(t) {
	case 1:
		cells[uint8](c.Data(), i+1)[i] = uint8(lo)
	case 2:
		cells[uint16](c.Data(), i+1)[i] = uint16(lo)
	case 4:
		cells[uint32](c.Data(), i+1)[i] = uint32(lo)
	case 8:
		cells[uint64](c.Data(), i+1)[i] = lo
	default:
		switch t.Kind {
		case row.Interval:
			lo = bits.RotateLeft64(lo, 32)
		case row.UUID:
			hi ^= 1 << 63
		}
		cells[[2]uint64](c.Data(), i+1)[i] = [2]uint64{lo, hi}
	}
}

func (x *nested) read(c *duck.Cells, out *eval.Rows, starts []int, field int) {
	off := out.Layout.Off[field]
	word, bit := field>>6, uint64(1)<<(uint(field)&63)
	for i, at := range starts {
		if isNull(c, x.typ, i) {
			out.Words[at+word] |= bit // a UNION whose first member is NULL too
			continue
		}
		x.buf = get(x.buf[:0], c, x.typ, i)
		if x.maps && x.nullKey(c, x.typ, i) {
			x.wrong = append(x.wrong, i)
			continue
		}
		out.Words[at+off], out.Words[at+off+1] = row.PutVar(x.buf, out.Heap)
	}
}

// isNull says that a value is NULL to package row.
func isNull(c *duck.Cells, t row.Type, i int) bool {
	return !c.Valid(i) || t.Kind == row.Union && cells[uint8](c.Child(0).Data(), i+1)[i] == 0 && isNull(c.Child(1), t.Children[0], i)
}

// nullKey says that a key of a MAP is NULL.
func (x *nested) nullKey(c *duck.Cells, t row.Type, i int) bool {
	if !t.Nested() || !c.Valid(i) {
		return false
	}
	switch t.Kind {
	case row.List, row.Map:
		first, n := c.List(i)
		for j := first; j < first+n; j++ {
			if t.Kind == row.Map && !c.Child(0).Valid(j) {
				return true
			}
			for k, u := range t.Children {
				if u.Nested() && x.nullKey(c.Child(k), u, j) {
					return true
				}
			}
		}
	case row.Array:
		for j := i * t.Size; j < (i+1)*t.Size; j++ {
			if x.nullKey(c.Child(0), t.Children[0], j) {
				return true
			}
		}
	case row.Struct, row.Union:
		for k, u := range t.Children {
			if t.Kind == row.Union {
				k++
			}
			if x.nullKey(c.Child(k), u, i) {
				return true
			}
		}
	}
	return false
}

// get appends a value that is not NULL.
func get(dst []byte, c *duck.Cells, t row.Type, i int) []byte {
	switch t.Kind {
	case row.List, row.Map:
		first, n := c.List(i)
		dst = binary.AppendUvarint(dst, uint64(n))
		for j := first; j < first+n; j++ {
			if t.Kind == row.List {
				dst = getOptional(dst, c.Child(0), t.Children[0], j)
			} else {
				dst = get(dst, c.Child(0), t.Children[0], j)
				dst = getOptional(dst, c.Child(1), t.Children[1], j)
			}
		}
		return dst
	case row.Array:
		for j := i * t.Size; j < (i+1)*t.Size; j++ {
			dst = getOptional(dst, c.Child(0), t.Children[0], j)
		}
		return dst
	case row.Struct:
		for k, field := range t.Children {
			dst = getOptional(dst, c.Child(k), field, i)
		}
		return dst
	case row.Union:
		member := int(cells[uint8](c.Child(0).Data(), i+1)[i])
		return getOptional(append(dst, byte(member)), c.Child(1+member), t.Children[member], i)
	}
	if t.Var() {
		b := c.Bytes(i)
		return append(binary.AppendUvarint(dst, uint64(len(b))), b...)
	}
	lo, hi := getWords(c, t, i)
	w := [2]uint64{lo, hi}
	return row.AppendWords(dst, w[:t.Words()])
}

func getOptional(dst []byte, c *duck.Cells, t row.Type, i int) []byte {
	if isNull(c, t, i) {
		return append(dst, 0)
	}
	return get(append(dst, 1), c, t, i)
}

func getWords(c *duck.Cells, t row.Type, i int) (lo, hi uint64) {
	signed := t.Kind >= row.Int8 && t.Kind <= row.Int64 || t.Kind == row.Decimal || t.Kind == row.Date
	switch size(t) {
	case 1:
		lo = uint64(cells[uint8](c.Data(), i+1)[i])
		if signed {
			lo = uint64(int8(lo))
		}
	case 2:
		lo = uint64(cells[uint16](c.Data(), i+1)[i])
		if signed {
			lo = uint64(int16(lo))
		}
	case 4:
		lo = uint64(cells[uint32](c.Data(), i+1)[i])
		if signed {
			lo = uint64(int32(lo))
		}
	case 8:
		lo = cells[uint64](c.Data(), i+1)[i]
	default:
		w := cells[[2]uint64](c.Data(), i+1)[i]
		lo, hi = w[0], w[1]
		switch t.Kind {
		case row.Interval:
			lo = bits.RotateLeft64(lo, 32)
		case row.UUID:
			hi ^= 1 << 63
		}
	}
	return lo, hi
}
