package zset

import (
	"fmt"
	"sort"
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
)

// Print is the batch as text: a line "field | field | +weight" a row, in the order of the lines.
func (b *Batch) Print() string {
	lines := make([]string, b.Len())
	for i, w := range b.Weights {
		lines[i] = b.Layout.Format(b.Row(i), b.Heap)
		if lines[i] != "" {
			lines[i] += " | "
		}
		lines[i] += fmt.Sprintf("%+d\n", w)
	}
	sort.Strings(lines)
	return strings.Join(lines, "")
}

// Parse reads what Print writes; empty lines do not count.
func Parse(l *row.Layout, text string) (*Batch, error) {
	b := New(l)
	for _, line := range strings.Split(text, "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		fields, last := "", line
		if i := strings.LastIndex(line, "|"); i >= 0 {
			fields, last = line[:i], line[i+1:]
		}
		w, err := strconv.ParseInt(strings.TrimSpace(last), 10, 64)
		if err != nil {
			return nil, fault.InvalidParameter.Newf("the line %q does not end with a weight", line)
		}
		if err := l.ParseRow(b.AppendRow(w), fields, b.Heap); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// Equal says that both are the same change.
func (b *Batch) Equal(o *Batch) bool {
	d := b.Clone()
	d.Negate()
	d.AppendBatch(o)
	d.Consolidate()
	return d.Len() == 0
}
