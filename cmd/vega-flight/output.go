package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
)

// printer writes the result of one statement.
type printer interface {
	print(r array.RecordReader) error
	end() error
}

var printers = map[string]func(io.Writer) printer{
	"table": func(w io.Writer) printer { return &tablePrinter{w: w} },
	"csv":   func(w io.Writer) printer { return &csvPrinter{w: w} },
	"json":  func(w io.Writer) printer { return &jsonPrinter{w: w} },
	"arrow": func(w io.Writer) printer { return &arrowPrinter{w: w} },
}

// tablePrinter buffers up to tableRows rows to find the widths of columns;
// longer results go on with those widths. A single row with a text of several
// lines, such as EXPLAIN's, is written a column a line, its lines as they are.
type tablePrinter struct {
	w      io.Writer
	header []string
	right  []bool
	widths []int
	rows   [][]string
	raw    []string // the first row, its lines not escaped
	total  int64
}

const tableRows = 1000

func (p *tablePrinter) print(r array.RecordReader) error {
	if p.header == nil {
		for _, f := range r.Schema().Fields() {
			p.header = append(p.header, f.Name)
			p.right = append(p.right, arrow.IsInteger(f.Type.ID()) || arrow.IsFloating(f.Type.ID()) || arrow.IsDecimal(f.Type.ID()))
		}
	}
	for r.Next() {
		rec := r.RecordBatch()
		for i := range int(rec.NumRows()) {
			row := make([]string, rec.NumCols())
			for j, col := range rec.Columns() {
				row[j] = cell(col, i, "NULL")
			}
			if p.total == 0 {
				p.raw = make([]string, len(row))
				for j, col := range rec.Columns() {
					p.raw[j] = raw(col, i, "NULL")
				}
			}
			p.total++
			p.rows = append(p.rows, row)
			if len(p.rows) == tableRows {
				p.flush()
			}
		}
	}
	return r.Err()
}

func (p *tablePrinter) flush() {
	first := p.widths == nil
	if first {
		p.widths = make([]int, len(p.header))
		for _, row := range append([][]string{p.header}, p.rows...) {
			for j, s := range row {
				p.widths[j] = max(p.widths[j], utf8.RuneCountInString(s))
			}
		}
		p.line(p.header)
		rule := make([]string, len(p.header))
		for j, w := range p.widths {
			rule[j] = strings.Repeat("-", w)
		}
		p.line(rule)
	}
	for _, row := range p.rows {
		p.line(row)
	}
	p.rows = p.rows[:0]
}

func (p *tablePrinter) line(row []string) {
	var b strings.Builder
	for j, s := range row {
		if j > 0 {
			b.WriteString("  ")
		}
		pad := strings.Repeat(" ", max(0, p.widths[j]-utf8.RuneCountInString(s)))
		switch {
		case p.right[j]:
			b.WriteString(pad + s)
		case j == len(row)-1:
			b.WriteString(s)
		default:
			b.WriteString(s + pad)
		}
	}
	fmt.Fprintln(p.w, b.String())
}

func (p *tablePrinter) end() error {
	if len(p.header) == 0 {
		return nil
	}
	if p.total == 1 && strings.Contains(strings.Join(p.raw, ""), "\n") {
		p.upright()
	} else {
		p.flush()
	}
	plural := "s"
	if p.total == 1 {
		plural = ""
	}
	_, err := fmt.Fprintf(p.w, "(%d row%s)\n", p.total, plural)
	return err
}

// upright writes the only row a column a line.
func (p *tablePrinter) upright() {
	width := 0
	for _, name := range p.header {
		width = max(width, utf8.RuneCountInString(name))
	}
	for j, s := range p.raw {
		if strings.Contains(s, "\n") {
			fmt.Fprintf(p.w, "%s:\n%s\n", p.header[j], strings.TrimRight(s, "\n"))
			continue
		}
		fmt.Fprintf(p.w, "%s: %s%s\n", p.header[j], strings.Repeat(" ", width-utf8.RuneCountInString(p.header[j])), s)
	}
}

// raw is the text of one value, which may have several lines.
func raw(col arrow.Array, i int, null string) string {
	if col.IsNull(i) {
		return null
	}
	return text(col, i)
}

// cell is the text of one value on one line.
func cell(col arrow.Array, i int, null string) string {
	s := raw(col, i, null)
	if strings.ContainsAny(s, "\n\r\t") {
		s = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s)
	}
	return s
}

// text is a value as DuckDB would print it: a decimal keeps its scale, and infinity has its name.
func text(col arrow.Array, i int) string {
	switch col := col.(type) {
	case *array.Decimal128:
		return col.Value(i).ToString(col.DataType().(*arrow.Decimal128Type).Scale)
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

// jsonPrinter writes one object a line.
type jsonPrinter struct{ w io.Writer }

func (p *jsonPrinter) print(r array.RecordReader) error {
	for r.Next() {
		if err := array.RecordToJSON(r.RecordBatch(), p.w); err != nil {
			return err
		}
	}
	return r.Err()
}

func (p *jsonPrinter) end() error { return nil }

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

// jobState is what the server says about a running statement in app_metadata.
type jobState struct {
	Job   string `json:"job"`
	State string `json:"state"`
	Phase string `json:"phase"`
	Rows  int64  `json:"rows"`
}

// progressBar draws one line on a terminal; a nil one draws nothing.
type progressBar struct {
	w     io.Writer
	drawn bool
}

func (b *progressBar) show(progress float64, meta []byte) {
	if b == nil {
		return
	}
	var s jobState
	_ = json.Unmarshal(meta, &s) // absent or foreign metadata: the bar alone
	const width = 30
	part := min(max(progress, 0), 1)
	done := int(part * width)
	doing := strings.ToLower(s.State)
	if s.Phase != "" && !strings.EqualFold(s.Phase, s.State) {
		doing += ": " + s.Phase
	}
	b.drawn = true
	fmt.Fprintf(b.w, "\r\x1b[K[%s%s] %3.0f %% %s", strings.Repeat("#", done), strings.Repeat(".", width-done), 100*part, doing)
}

func (b *progressBar) clear() {
	if b != nil && b.drawn {
		fmt.Fprint(b.w, "\r\x1b[K")
		b.drawn = false
	}
}
