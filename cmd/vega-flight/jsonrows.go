package main

import (
	"bytes"
	"encoding/json"
	"io"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
)

// jsonPrinter writes one object a line, its members in the columns' order.
// Every number is a JSON number: a decimal has all of its digits, which
// readers that keep literals, such as jq, pass on as they are.
type jsonPrinter struct{ w io.Writer }

func (p *jsonPrinter) print(r array.RecordReader) error {
	for r.Next() {
		rec := r.RecordBatch()
		var b bytes.Buffer
		for i := range int(rec.NumRows()) {
			if err := object(&b, rec.Columns(), rec.Schema().Fields(), i); err != nil {
				return err
			}
			b.WriteByte('\n')
		}
		if _, err := p.w.Write(b.Bytes()); err != nil {
			return err
		}
	}
	return r.Err()
}

func (p *jsonPrinter) end() error { return nil }

func object(b *bytes.Buffer, columns []arrow.Array, fields []arrow.Field, i int) error {
	b.WriteByte('{')
	for j, f := range fields {
		if j > 0 {
			b.WriteByte(',')
		}
		if err := plain(b, f.Name); err != nil {
			return err
		}
		b.WriteByte(':')
		if err := value(b, columns[j], i); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}

// value writes one value; decimals may be anywhere in a nested one.
func value(b *bytes.Buffer, col arrow.Array, i int) error {
	if col.IsNull(i) {
		b.WriteString("null")
		return nil
	}
	switch col := col.(type) {
	case array.ExtensionArray:
		if nested, ok := col.Storage().DataType().(arrow.NestedType); ok && nested != nil {
			return value(b, col.Storage(), i)
		}
	case *array.Decimal32, *array.Decimal64, *array.Decimal128, *array.Decimal256:
		b.WriteString(text(col, i))
		return nil
	case *array.Dictionary:
		return value(b, col.Dictionary(), col.GetValueIndex(i))
	case *array.Struct:
		columns := make([]arrow.Array, col.NumField())
		for j := range columns {
			columns[j] = col.Field(j)
		}
		return object(b, columns, col.DataType().(*arrow.StructType).Fields(), i)
	case array.ListLike: // a map is a list of its entries
		from, to := col.ValueOffsets(i)
		b.WriteByte('[')
		for k := from; k < to; k++ {
			if k > from {
				b.WriteByte(',')
			}
			if err := value(b, col.ListValues(), int(k)); err != nil {
				return err
			}
		}
		b.WriteByte(']')
		return nil
	case *array.SparseUnion:
		return value(b, col.Field(col.ChildID(i)), i)
	case *array.DenseUnion:
		return value(b, col.Field(col.ChildID(i)), int(col.ValueOffset(i)))
	}
	return plain(b, col.GetOneForMarshal(i))
}

// plain writes a value as encoding/json has it, without escapes for HTML.
func plain(b *bytes.Buffer, v any) error {
	enc := json.NewEncoder(b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return err
	}
	b.Truncate(b.Len() - 1) // the encoder ends with a line break
	return nil
}
