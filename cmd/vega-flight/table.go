package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"golang.org/x/term"
)

// tablePrinter buffers up to tableRows rows to find the widths of columns; longer results go on with those widths.
// Rows that would not fit into a terminal's width, and a single row with a text of several lines, such as EXPLAIN's,
// are written a column a line. A subscription's rows are written with each batch, and columns grow as they have to.
type tablePrinter struct {
	w       io.Writer
	screen  int  // the terminal's width; 0 when there is none
	upright bool // a column a line, always
	live    bool // rows are written as they come: the end of the result is not in sight
	header  []string
	right   []bool
	widths  []int
	rows    [][]string
	total   int64 // rows that came
	written int64
}

const tableRows = 1000

// screenWidth is the width of the terminal that w is, 0 for anything else.
func screenWidth(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	width, _, err := term.GetSize(int(f.Fd()))
	if err != nil {
		return 0
	}
	return width
}

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
				row[j] = "NULL"
				if col.IsValid(i) {
					row[j] = text(col, i)
				}
			}
			p.total++
			p.rows = append(p.rows, row)
			if len(p.rows) == tableRows {
				if err := p.flush(); err != nil {
					return err
				}
			}
		}
		if p.live && len(p.rows) > 0 {
			if err := p.flush(); err != nil {
				return err
			}
		}
	}
	return r.Err()
}

func (p *tablePrinter) end() error {
	if len(p.header) == 0 {
		return nil
	}
	if len(p.rows) == 1 && p.total == 1 && strings.Contains(strings.Join(p.rows[0], ""), "\n") {
		p.upright = true
	}
	if err := p.flush(); err != nil {
		return err
	}
	plural := "s"
	if p.total == 1 {
		plural = ""
	}
	_, err := fmt.Fprintf(p.w, "(%d row%s)\n", p.total, plural)
	return err
}

// flush writes the rows that are buffered.
func (p *tablePrinter) flush() error {
	var b strings.Builder
	switch {
	case p.widths == nil && !p.upright:
		p.measure()
	case p.live && !p.upright:
		p.widen()
	}
	if p.upright {
		for _, row := range p.rows {
			p.written++
			p.stand(&b, row)
		}
	} else {
		if p.written == 0 {
			p.line(&b, p.header)
			rule := make([]string, len(p.header))
			for j, w := range p.widths {
				rule[j] = strings.Repeat("-", w)
			}
			p.line(&b, rule)
		}
		for _, row := range p.rows {
			p.written++
			p.line(&b, row)
		}
	}
	p.rows = p.rows[:0]
	_, err := io.WriteString(p.w, b.String())
	return err
}

// measure finds the widths of the columns, and whether a line fits into the terminal.
func (p *tablePrinter) measure() {
	p.widths = make([]int, len(p.header))
	for j, s := range p.header {
		p.widths[j] = utf8.RuneCountInString(flat(s))
	}
	p.widen()
	total := 2 * (len(p.widths) - 1)
	for _, w := range p.widths {
		total += w
	}
	p.upright = p.screen > 0 && total > p.screen && p.total > 0
}

// widen makes room for the rows that are buffered.
func (p *tablePrinter) widen() {
	for _, row := range p.rows {
		for j, s := range row {
			p.widths[j] = max(p.widths[j], utf8.RuneCountInString(flat(s)))
		}
	}
}

func (p *tablePrinter) line(b *strings.Builder, row []string) {
	for j, s := range row {
		if j > 0 {
			b.WriteString("  ")
		}
		s = flat(s)
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
	b.WriteByte('\n')
}

// stand writes a row a column a line, its texts as they are. Of several rows each has its number above it.
func (p *tablePrinter) stand(b *strings.Builder, row []string) {
	if p.total > 1 || p.live {
		fmt.Fprintf(b, "--- row %d ---\n", p.written)
	}
	width := 0
	for _, name := range p.header {
		width = max(width, utf8.RuneCountInString(name))
	}
	for j, s := range row {
		name := flat(p.header[j])
		if strings.Contains(s, "\n") {
			fmt.Fprintf(b, "%s:\n%s\n", name, strings.TrimRight(s, "\n"))
			continue
		}
		fmt.Fprintf(b, "%s: %s%s\n", name, strings.Repeat(" ", max(0, width-utf8.RuneCountInString(name))), s)
	}
}

// flat is a text without breaks.
func flat(s string) string {
	if strings.ContainsAny(s, "\n\r\t") {
		s = strings.NewReplacer("\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(s)
	}
	return s
}
