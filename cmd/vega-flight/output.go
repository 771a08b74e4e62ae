package main

import (
	"fmt"
	"io"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// printer writes the result of one statement.
type printer interface {
	print(r array.RecordReader) error
	end() error
}

// printers are the formats; screen is the width of the terminal that w is, or 0.
var printers = map[string]func(w io.Writer, screen int) printer{
	"table":    func(w io.Writer, screen int) printer { return &tablePrinter{w: w, screen: screen} },
	"vertical": func(w io.Writer, _ int) printer { return &tablePrinter{w: w, upright: true} },
	"csv":      func(w io.Writer, _ int) printer { return &csvPrinter{w: w} },
	"json":     func(w io.Writer, _ int) printer { return &jsonPrinter{w: w} },
	"arrow":    func(w io.Writer, _ int) printer { return &arrowPrinter{w: w} },
}

// text is a value as DuckDB would print it: a decimal keeps its scale, and infinity has its name.
func text(col arrow.Array, i int) string {
	switch col := col.(type) {
	case *array.Decimal32:
		return col.Value(i).ToString(col.DataType().(arrow.DecimalType).GetScale())
	case *array.Decimal64:
		return col.Value(i).ToString(col.DataType().(arrow.DecimalType).GetScale())
	case *array.Decimal128:
		return col.Value(i).ToString(col.DataType().(arrow.DecimalType).GetScale())
	case *array.Decimal256:
		return col.Value(i).ToString(col.DataType().(arrow.DecimalType).GetScale())
	case *array.Float64, *array.Float32:
		return strings.ToLower(strings.TrimPrefix(strings.Replace(col.ValueStr(i), "Inf", "inf", 1), "+"))
	}
	return col.ValueStr(i)
}

// csvPrinter writes RFC 4180 with a header; NULL is the empty field.
type csvPrinter struct {
	w      io.Writer
	header bool
}

func (p *csvPrinter) print(r array.RecordReader) error {
	if !p.header {
		p.header = true
		names := make([]string, len(r.Schema().Fields()))
		for i, f := range r.Schema().Fields() {
			names[i] = csvField(f.Name)
		}
		fmt.Fprintln(p.w, strings.Join(names, ","))
	}
	for r.Next() {
		rec := r.RecordBatch()
		fields := make([]string, rec.NumCols())
		for i := range int(rec.NumRows()) {
			for j, col := range rec.Columns() {
				fields[j] = ""
				if col.IsValid(i) {
					fields[j] = csvField(text(col, i))
				}
			}
			if _, err := fmt.Fprintln(p.w, strings.Join(fields, ",")); err != nil {
				return err
			}
		}
	}
	return r.Err()
}

func (p *csvPrinter) end() error { return nil }

// csvField quotes what would be read differently; the empty text is quoted, so that it is not NULL.
func csvField(s string) string {
	if s == "" || strings.ContainsAny(s, "\",\r\n") {
		return `"` + strings.ReplaceAll(s, `"`, `""`) + `"`
	}
	return s
}

// arrowPrinter writes an Arrow IPC stream.
type arrowPrinter struct {
	w   io.Writer
	ipc *ipc.Writer
}

func (p *arrowPrinter) print(r array.RecordReader) error {
	if p.ipc == nil {
		p.ipc = ipc.NewWriter(p.w, ipc.WithSchema(r.Schema()))
	}
	for r.Next() {
		if err := p.ipc.Write(r.RecordBatch()); err != nil {
			return err
		}
	}
	return r.Err()
}

func (p *arrowPrinter) end() error {
	if p.ipc == nil {
		return nil
	}
	return p.ipc.Close()
}
