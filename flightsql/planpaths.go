package flightsql

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// fileLabel is what a profile's list of files is called.
const fileLabel = "Filename(s):"

// fileList is that list in the formats that do not wrap it: JSON, HTML, Graphviz and Mermaid.
var fileList = regexp.MustCompile("(Filename\\(s\\)(?:\": \"|</div>\\s*<div class=\"value\">|:\\\\n|: ))([^\"<`\\n\\\\]*)")

// plan names the files of an EXPLAIN's text relative to the lake.
func (r redactor) plan(text string) string {
	lines := strings.Split(text, "\n")
	if !slices.ContainsFunc(lines, drawn) {
		text = fileList.ReplaceAllStringFunc(text, func(s string) string {
			m := fileList.FindStringSubmatch(s)
			return m[1] + strings.Join(r.relative(m[2], false), ", ")
		})
		return r.clean(text, false)
	}
	for i, line := range lines {
		if !drawn(line) {
			lines[i] = r.clean(line, false)
		}
	}
	r.boxes(lines)
	return strings.Join(lines, "\n")
}

// drawn says that a line is part of a drawn tree.
func drawn(line string) bool {
	line = strings.TrimLeft(line, " ")
	return strings.HasPrefix(line, "│") || strings.HasPrefix(line, "┌") || strings.HasPrefix(line, "└")
}

// relative are the names of a list of files, without where the lake is. Of files elsewhere the last part of the name
// is left. A list that was wrapped has lost its spaces.
func (r redactor) relative(list string, wrapped bool) []string {
	var out []string
	roots := r.roots
	if wrapped {
		roots = nil
		for _, root := range r.roots {
			roots = append(roots, spaceless(root))
		}
	}
	for _, root := range roots {
		list = strings.ReplaceAll(list, root+"/", "\x00")
	}
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		cut := func(root string) bool { return item != "" && strings.HasPrefix(root, item) }
		switch {
		case strings.HasPrefix(item, "\x00"):
			item = item[1:]
		case slices.ContainsFunc(roots, cut):
			item = "…"
		default:
			item = item[strings.LastIndexAny(item, "/\x00")+1:]
		}
		if item != "" {
			out = append(out, item)
		}
	}
	return out
}

func spaceless(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// withoutPaths is a plan's rows as an ordinary caller may read them.
type withoutPaths struct {
	source
	hidden redactor
	now    arrow.RecordBatch
}

func (w *withoutPaths) RecordBatch() arrow.RecordBatch { return w.now }

func (w *withoutPaths) Next() bool {
	w.drop()
	if !w.source.Next() {
		return false
	}
	batch := w.source.RecordBatch()
	columns := slices.Clone(batch.Columns())
	var made []arrow.Array
	for i, c := range columns {
		texts, ok := c.(*array.String)
		if !ok {
			continue
		}
		b := array.NewStringBuilder(memory.DefaultAllocator)
		for row := range texts.Len() {
			if texts.IsNull(row) {
				b.AppendNull()
				continue
			}
			b.Append(w.hidden.plan(texts.Value(row)))
		}
		columns[i] = b.NewArray()
		made = append(made, columns[i])
		b.Release()
	}
	w.now = array.NewRecordBatch(batch.Schema(), columns, batch.NumRows())
	for _, c := range made {
		c.Release()
	}
	return true
}

func (w *withoutPaths) drop() {
	if w.now != nil {
		w.now.Release()
		w.now = nil
	}
}

func (w *withoutPaths) Close() error {
	w.drop()
	return w.source.Close()
}
