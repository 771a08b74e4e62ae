package ddl

import (
	"strings"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// Watermark is one entry of the option watermark_column.
type Watermark struct {
	Table  string // "" is any source that has the column
	Column string
	Delay  time.Duration
}

// Watermarks are those that options ask for: entries divided by commas, each a column or table.column, quoted as in SQL where that is needed,
// and perhaps a colon with its own delay: 'orders.ts, payments.paid_at: 1 minute'. Entries without one have that of watermark_delay.
func (o Options) Watermarks() ([]Watermark, error) {
	given, ok := o.Get("watermark_column")
	if !ok {
		return nil, nil
	}
	common := time.Duration(0)
	if d, ok := o.Get("watermark_delay"); ok {
		common = d.Duration
	}
	var out []Watermark
	for _, entry := range outside(given.Text, ',') {
		w := Watermark{Delay: common}
		parts := outside(entry, ':')
		if len(parts) > 2 {
			return nil, badWatermark(entry, "it has more than one colon")
		}
		if len(parts) == 2 {
			d, reason := parseDuration(strings.TrimSpace(parts[1]))
			if reason != "" {
				return nil, badWatermark(entry, "its delay "+reason)
			}
			w.Delay = d
		}
		names := outside(parts[0], '.')
		if len(names) > 2 {
			return nil, badWatermark(entry, "it has more than a table and a column")
		}
		for i, n := range names {
			n = strings.TrimSpace(n)
			if len(n) > 1 && n[0] == '"' && n[len(n)-1] == '"' {
				n = strings.ReplaceAll(n[1:len(n)-1], `""`, `"`)
			}
			if n == "" {
				return nil, badWatermark(entry, "a name is empty")
			}
			names[i] = n
		}
		w.Column = names[len(names)-1]
		if len(names) == 2 {
			w.Table = names[0]
		}
		out = append(out, w)
	}
	return out, nil
}

func badWatermark(entry, why string) error {
	return fault.InvalidOption.Newf("option watermark_column: %q: %s", strings.TrimSpace(entry), why).
		WithHint("write a source's column or table.column, several divided by commas, each with its own delay if need be: 'orders.ts, payments.paid_at: 1 minute'")
}

// outside splits a text at a character that is not within double quotes.
func outside(text string, at byte) []string {
	var out []string
	quoted, from := false, 0
	for i := range len(text) {
		switch {
		case text[i] == '"':
			quoted = !quoted
		case text[i] == at && !quoted:
			out, from = append(out, text[from:i]), i+1
		}
	}
	return append(out, text[from:])
}
