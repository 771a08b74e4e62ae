package ivmtest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// allowance is what two results may differ in.
type allowance struct {
	inexact   []bool  // columns that may differ a little, where they are numbers
	arbitrary []bool  // columns that may differ
	scale     float64 // the largest number that was added up in an inexact column, when the result may be far below it
}

// minus is a - b, each row once.
func minus(a, b *zset.Batch) *zset.Batch {
	d := b.Clone()
	d.Negate()
	d.AppendBatch(a)
	d.Consolidate()
	return d
}

// differ says how got is not want; "" when it is.
func (o *oracle) differ(ctx context.Context, got, want *zset.Batch, a allowance) (string, error) {
	if !got.Layout.Same(want.Layout) && !sameTypes(got.Layout, want.Layout) {
		return fmt.Sprintf("the columns are %s, want %s", got.Layout, want.Layout), nil
	}
	d := minus(got, want)
	if d.Len() == 0 {
		return "", nil
	}
	if left := pair(d, a); left.Len() == 0 {
		return "", nil
	} else if d = left; !slices.Contains(a.inexact, true) && !slices.Contains(a.arbitrary, true) {
		equal, err := o.equal(ctx, d)
		if err != nil || equal {
			return "", err
		}
	}
	return fmt.Sprintf("rows too many (+) and missing (-):\n%s", cut(d.Print(), 40)), nil
}

func sameTypes(a, b *row.Layout) bool {
	if len(a.Types) != len(b.Types) {
		return false
	}
	for i := range a.Types {
		if s, t := a.Types[i], b.Types[i]; s.String() != t.String() {
			return false
		}
	}
	return true
}

// cut keeps the first lines of a text.
func cut(s string, n int) string {
	lines := strings.SplitAfterN(s, "\n", n+1)
	if len(lines) <= n || lines[n] == "" {
		return s
	}
	return strings.Join(lines[:n], "") + fmt.Sprintf("… %d more\n", strings.Count(lines[n], "\n"))
}

// copyOf is a row of the difference that has no partner yet.
type copyOf struct {
	at  int
	num []float64 // its inexact fields
}

// pair takes rows that are equal within the allowance out of a difference.
func pair(d *zset.Batch, a allowance) *zset.Batch {
	groups := map[string][2][]copyOf{}
	for i, w := range d.Weights {
		key, num := fingerprint(d, i, a)
		g := groups[key]
		side := 0
		if w < 0 {
			side = 1
		}
		for range max(w, -w) {
			g[side] = append(g[side], copyOf{i, num})
		}
		groups[key] = g
	}
	out := zset.New(d.Layout)
	order := func(x, y copyOf) int { return slices.CompareFunc(x.num, y.num, cmp.Compare[float64]) }
	for _, g := range groups {
		slices.SortFunc(g[0], order)
		slices.SortFunc(g[1], order)
		n := 0
		for len(g[0]) == len(g[1]) && n < len(g[0]) && near(d.Layout, g[0][n].num, g[1][n].num, a) {
			n++
		}
		if n < len(g[0]) || n < len(g[1]) {
			for side, weight := range []int64{1, -1} {
				for _, c := range g[side] {
					out.Append(d.Row(c.at), d.Heap, weight)
				}
			}
		}
	}
	out.Consolidate()
	return out
}

// fingerprint is what a row must agree in with its partner, and its inexact fields. Values that DuckDB calls equal have one
// form: zeros, NaNs, intervals, instants of the day.
func fingerprint(d *zset.Batch, i int, a allowance) (string, []float64) {
	l, r := d.Layout, d.Row(i)
	var key []byte
	var num []float64
	for f, t := range l.Types {
		if a.arbitrary != nil && a.arbitrary[f] {
			continue
		}
		key = append(key, '|')
		if l.IsNull(r, f) {
			key = append(key, "NULL"...)
			continue
		}
		w := r[l.Off[f]]
		switch t.Kind {
		case row.Double, row.Float:
			v := math.Float64frombits(w)
			if t.Kind == row.Float {
				v = float64(math.Float32frombits(uint32(w)))
			}
			switch {
			case a.inexact != nil && a.inexact[f] && !math.IsNaN(v) && !math.IsInf(v, 0):
				num = append(num, v)
			case v == 0:
				key = append(key, '0')
			default:
				key = fmt.Append(key, v)
			}
		case row.Interval:
			months, days, micros := int64(int32(w>>32)), int64(int32(w)), int64(r[l.Off[f]+1])
			days += micros / 86400e6
			micros %= 86400e6
			key = fmt.Append(key, months+days/30, days%30, micros)
		default:
			if a.inexact != nil && a.inexact[f] {
				continue // a number that became something else
			}
			key = l.FormatField(key, r, f, d.Heap)
		}
	}
	return string(key), num
}

func near(l *row.Layout, x, y []float64, a allowance) bool {
	relative := 1e-9
	if slices.ContainsFunc(l.Types, func(t row.Type) bool { return t.Kind == row.Float }) {
		relative = 1e-5
	}
	for i := range x {
		if d := math.Abs(x[i] - y[i]); d > relative*max(math.Abs(x[i]), math.Abs(y[i]), 1, a.scale*1e-6) {
			return false
		}
	}
	return true
}

// equal asks DuckDB whether the rows that are too many equal those that are missing: EXCEPT ALL, both ways.
func (o *oracle) equal(ctx context.Context, d *zset.Batch) (bool, error) {
	for _, t := range d.Layout.Types {
		if t.Kind == row.Null {
			return false, nil
		}
	}
	names := make([]string, len(d.Layout.Types))
	for i := range names {
		names[i] = fmt.Sprintf("c%d", i)
	}
	schema, err := d.Layout.Schema(names, "UTC")
	if err != nil {
		return false, err
	}
	for side, table := range []string{"ivm_more", "ivm_less"} {
		rows := zset.New(d.Layout)
		for i, w := range d.Weights {
			if side == 1 {
				w = -w
			}
			for range w {
				rows.Append(d.Row(i), d.Heap, 1)
			}
		}
		if err := o.keep(ctx, table, schema, rows); err != nil {
			return false, err
		}
	}
	rows, err := o.conn.Rows(ctx, `SELECT (SELECT count(*) FROM (FROM temp.ivm_more EXCEPT ALL FROM temp.ivm_less)) + (SELECT count(*) FROM (FROM temp.ivm_less EXCEPT ALL FROM temp.ivm_more))`)
	if err != nil {
		return false, err
	}
	return rows[0][0] == int64(0), nil
}

// keep makes a temporary table of rows.
func (o *oracle) keep(ctx context.Context, name string, schema *arrow.Schema, rows *zset.Batch) error {
	rec, err := rows.Layout.ToArrow(schema, rows.Words, rows.Len(), rows.Heap)
	if err != nil {
		return err
	}
	defer rec.Release()
	r, err := array.NewRecordReader(schema, []arrow.RecordBatch{rec})
	if err != nil {
		return err
	}
	defer r.Release()
	release, err := o.conn.RegisterArrow("ivm_rows", r)
	if err != nil {
		return err
	}
	return errors.Join(o.exec(ctx, "CREATE OR REPLACE TEMP TABLE "+name+" AS FROM ivm_rows"), release())
}
