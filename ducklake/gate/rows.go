package gate

import (
	"slices"
	"strconv"
	"strings"
)

// Rows is an INSERT … VALUES of one row with parameters, cut so that it can be written for many rows at once. Each row by itself is a statement
// that DuckDB plans and the lake looks up anew.
type Rows struct {
	of         *Analysis
	head, tail string
	text       []string // of the row, between its parameters
	params     []int    // the parameters, by their places among the statement's
}

// Rows cuts the statement. It is nil for one that is not such an INSERT, and for one that reads a table: its later rows could see the earlier ones.
func (a *Analysis) Rows() *Rows {
	if a.Kind != Insert || a.returns || len(a.Reads) > 0 || len(a.Params) == 0 {
		return nil
	}
	toks, src, err := scan(a.SQL)
	if err != nil {
		return nil
	}
	from, to := valuesRow(toks)
	if from < 0 || to != len(toks)-1 || slices.ContainsFunc(toks[:from], combines) {
		return nil
	}
	r := &Rows{of: a, head: src[:toks[from].start], tail: src[toks[to].end:]}
	marks, last := 0, toks[from].start
	for i, t := range toks {
		if t.kind != param {
			continue
		}
		if i < from {
			return nil
		}
		if t.text == "?" {
			marks++
		}
		at := a.place(t.text, marks)
		if at < 0 {
			return nil
		}
		text := src[last:t.start]
		if before := toks[i-1]; before.kind == word && before.end == t.start {
			text += " " // names may have a $ in them
		}
		r.text, r.params = append(r.text, text), append(r.params, at)
		last = t.end
	}
	r.text = append(r.text, src[last:toks[to].end])
	return r
}

// combines says that a word makes a VALUES a part of a larger query, or that something before it is computed once for the whole statement.
func combines(t token) bool {
	return t.is("with") || t.is("union") || t.is("intersect") || t.is("except")
}

// valuesRow finds the parentheses after the statement's own VALUES; from is -1 without one.
func valuesRow(toks []token) (from, to int) {
	from, to = -1, -1
	depth := 0
	for i, t := range toks {
		switch {
		case t.op('('):
			if depth++; depth == 1 && i > 0 && toks[i-1].is("values") && from < 0 {
				from = i
			}
		case t.op(')'):
			if depth--; depth == 0 && from >= 0 && to < 0 {
				to = i
			}
		}
	}
	return from, to
}

// place is where the parameter of a token is among the statement's; marks is how many question marks have come.
func (a *Analysis) place(text string, marks int) int {
	name := text[1:]
	if name == "" {
		name = strconv.Itoa(marks)
	}
	for i, p := range a.Params {
		if strings.EqualFold(p.Name, name) {
			return i
		}
	}
	return -1
}

// mostText is how long the text of a statement for many rows is at most, in bytes.
const mostText = 1 << 20

// Most is how many rows one statement may be written for: DuckDB takes 65,535 parameters, and a longer text gains nothing.
func (r *Rows) Most() int {
	size := len(r.params) * len("$65535")
	for _, text := range r.text {
		size += len(text)
	}
	return max(1, min(512, 65535/len(r.of.Params), mostText/size))
}

// For is the statement for n rows. Its arguments are those of the rows, one row after the other.
func (r *Rows) For(n int) *Analysis {
	if n == 1 {
		return r.of
	}
	var b strings.Builder
	b.WriteString(r.head)
	for row := range n {
		if row > 0 {
			b.WriteString(", ")
		}
		for i, text := range r.text {
			b.WriteString(text)
			if i < len(r.params) {
				b.WriteByte('$')
				b.WriteString(strconv.Itoa(row*len(r.of.Params) + r.params[i] + 1))
			}
		}
	}
	b.WriteString(r.tail)
	a := *r.of
	a.SQL, a.Params = b.String(), nil
	for range n {
		a.Params = append(a.Params, r.of.Params...)
	}
	return &a
}
