package lake

import (
	"testing"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

const (
	doubleNaN = 0x7ff8000000000000
	floatNaN  = 0x7fc00000
)

// Rows are named by all they have, but for the sign of a zero and what a NaN has.
func TestRowNames(t *testing.T) {
	types := []string{"DOUBLE", "FLOAT", "VARCHAR", "STRUCT(a DOUBLE, b MAP(FLOAT, DOUBLE[]))"}
	l := row.ParseLayout(types...)
	rows, err := zset.Parse(l, `
0 | 0 | a | NULL | +1
nan | nan | a | NULL | +1
0 | 0 | NULL | NULL | +1
0 | 0 | '' | NULL | +1
0 | 0 | a value that is too long to lie in two words | NULL | +1
`)
	if err != nil {
		t.Fatal(err)
	}
	n := newNamer(l, "u")
	seen := map[rowName]int{}
	for i := range rows.Len() {
		name := n.name(rows.Row(i), rows.Heap)
		if j, twice := seen[name]; twice {
			t.Errorf("rows %d and %d have one name", i, j)
		}
		seen[name] = i
		if name != newNamer(l, "u").name(rows.Row(i), rows.Heap) || name == newNamer(l, "other").name(rows.Row(i), rows.Heap) {
			t.Errorf("row %d", i)
		}
	}
	odd := rows.Clone()
	odd.Row(0)[l.Off[0]] = 1 << 63
	odd.Row(0)[l.Off[1]] = 1 << 31
	odd.Row(1)[l.Off[0]] = doubleNaN | 1<<63 | 5
	odd.Row(1)[l.Off[1]] = floatNaN | 1<<31
	for i := range 2 {
		if n.name(odd.Row(i), odd.Heap) != n.name(rows.Row(i), rows.Heap) {
			t.Errorf("two numbers of row %d have two names", i)
		}
	}
	if before := odd.Row(1)[l.Off[0]]; before != doubleNaN|1<<63|5 {
		t.Error("naming changed the row")
	}

	// Inside of nested values: a = NaN, b = {NaN: [NaN, NULL]}.
	nested := func(double, float uint64) []byte {
		b := []byte{1}
		b = row.AppendWords(b, []uint64{double})
		b = append(b, 1, 1)
		b = row.AppendWords(b, []uint64{float})
		b = append(b, 1, 2, 1)
		b = row.AppendWords(b, []uint64{double})
		return append(b, 0)
	}
	one, two := rows.Clone(), rows.Clone()
	l.SetBytes(one.Row(0), 3, nested(doubleNaN, floatNaN), one.Heap)
	l.SetBytes(two.Row(0), 3, nested(doubleNaN|1<<63, floatNaN|7), two.Heap)
	if a, b := n.name(one.Row(0), one.Heap), n.name(two.Row(0), two.Heap); a != b {
		t.Error("two NaNs inside have two names")
	}
}
