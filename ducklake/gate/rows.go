package gate

import (
	"slices"
	"strconv"
	"strings"
)

// Rows is a change with parameters, cut so that it can be written for many rows of them at once, with the outcome of running it for one after the
// other. Each by itself is a statement that DuckDB plans, and that reads all that the transaction has written before.
type Rows struct {
	of         *Analysis
	head, tail string
	text       []string // of a row, between its parameters
	params     []int    // the parameters, by their places among the statement's
	most       int
	values     bool   // the rows are a table beside the statement's own: they have the types that the parameters have in the statement
	untyped    []bool // of those, the parameters that may not be texts: their places give each text a type that is known only with it
	compared   []bool // and those that must be: a condition compares them with texts, which would have to become what else they are
	clash      *clash // nil: rows do not meet
}

// clash is a query for the first row, from 0 on, that meets what an earlier one has changed.
type clash struct{ head, tail string }

// Rows cuts the statement; nil for one that must run for row after row: its later rows could see what the earlier ones do.
func (a *Analysis) Rows() *Rows {
	if !slices.Contains([]Kind{Insert, Update, Delete}, a.Kind) || a.returns || len(a.Params) == 0 || len(a.Writes) != 1 {
		return nil
	}
	toks, src, err := scan(a.SQL)
	if err != nil || len(toks) == 0 {
		return nil
	}
	if a.Kind == Insert {
		return a.inserted(toks, src)
	}
	return a.matched(toks, src)
}

// inserted cuts an INSERT … VALUES of one row.
func (a *Analysis) inserted(toks []token, src string) *Rows {
	from, to := valuesRow(toks)
	if len(a.Reads) > 0 || from < 0 || to != len(toks)-1 || slices.ContainsFunc(toks[:from], combines) {
		return nil
	}
	r := &Rows{of: a, head: src[:toks[from].start], tail: src[toks[to].end:], most: 512}
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
	return max(1, min(r.most, 65535/len(r.of.Params), mostText/size))
}

// Takes says that several rows with such arguments can be run at once; texts says which of a row's are texts.
func (r *Rows) Takes(texts []bool) bool {
	for i, untyped := range r.untyped {
		if untyped && texts[i] || r.compared[i] && !texts[i] {
			return false
		}
	}
	return true
}

// For is the statement for n rows. Its arguments are those of the rows, one row after the other; texts says which of a row's are texts.
func (r *Rows) For(n int, texts []bool) *Analysis {
	if n == 1 {
		return r.of
	}
	typed := r.typed(texts)
	return r.with(n, typed.Replace(r.head)+r.rows(n, false)+typed.Replace(r.tail))
}

// Clash is the query for the first of n rows that meets what an earlier one changes, which gives NULL without one; nil when rows do not meet.
func (r *Rows) Clash(n int, texts []bool) *Analysis {
	if r.clash == nil || n == 1 {
		return nil
	}
	return r.with(n, r.clash.head+r.rows(n, true)+r.typed(texts).Replace(r.clash.tail))
}

// typed gives texts the types that their places in the statement ask for. It does so there, so that one that fails does where it would by itself:
// for a row that is changed.
func (r *Rows) typed(texts []bool) *strings.Replacer {
	var pairs []string
	for _, at := range r.params {
		if t := r.of.Params[at].Type; r.values && at < len(texts) && texts[at] && t != "VARCHAR" && t != "" {
			pairs = append(pairs, rowName+"."+rowColumn(at), rowName+"."+rowColumn(at)+"::"+t)
		}
	}
	return strings.NewReplacer(pairs...)
}

func (r *Rows) with(n int, sql string) *Analysis {
	a := *r.of
	a.SQL, a.Params = sql, nil
	for range n {
		a.Params = append(a.Params, r.of.Params...)
	}
	return &a
}

func (r *Rows) rows(n int, numbered bool) string {
	var b strings.Builder
	for row := range n {
		if row > 0 {
			b.WriteString(", ")
		}
		for i, text := range r.text {
			b.WriteString(text)
			if i == 0 && numbered {
				b.WriteString(strconv.Itoa(row))
				b.WriteString(", ")
			}
			if i == len(r.params) {
				break
			}
			b.WriteByte('$')
			b.WriteString(strconv.Itoa(row*len(r.of.Params) + r.params[i] + 1))
		}
	}
	return b.String()
}
