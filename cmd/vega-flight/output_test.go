package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

func reader(t *testing.T) array.RecordReader {
	t.Helper()
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "n", Type: arrow.PrimitiveTypes.Int64, Nullable: true},
		{Name: "d", Type: &arrow.Decimal128Type{Precision: 10, Scale: 2}, Nullable: true},
		{Name: "s", Type: arrow.BinaryTypes.String, Nullable: true},
	}, nil)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, bytes.NewReader([]byte(
		`[{"n": 1, "d": "9.5", "s": "a,\"b\""}, {"n": null, "d": null, "s": "two\nlines"}, {"n": 22, "d": "0", "s": ""}]`)))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	r, err := array.NewRecordReader(schema, []arrow.RecordBatch{rec})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestEachFormatPrintsValuesUnambiguously(t *testing.T) {
	for format, want := range map[string]string{
		"table": "   n     d  s\n" +
			"----  ----  ----------\n" +
			"   1  9.50  a,\"b\"\n" +
			"NULL  NULL  two\\nlines\n" +
			"  22  0.00  \n" +
			"(3 rows)\n",
		"json": `{"n":1,"d":9.50,"s":"a,\"b\""}` + "\n" + `{"n":null,"d":null,"s":"two\nlines"}` + "\n" + `{"n":22,"d":0.00,"s":""}` + "\n",
		"csv":  "n,d,s\n1,9.50,\"a,\"\"b\"\"\"\n,,\"two\nlines\"\n22,0.00,\"\"\n",
	} {
		var out bytes.Buffer
		p := printers[format](&out, 0)
		r := reader(t)
		if err := p.print(r); err != nil {
			t.Fatal(err)
		}
		if err := p.end(); err != nil {
			t.Fatal(err)
		}
		r.Release()
		if out.String() != want {
			t.Errorf("%s:\n%s\nwant:\n%s", format, out.String(), want)
		}
	}
}

// shown is what a format makes of rows given as JSON, on a terminal of a width.
func shown(t *testing.T, format string, screen int, fields []arrow.Field, rows string) string {
	t.Helper()
	schema := arrow.NewSchema(fields, nil)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
	if err != nil {
		t.Fatal(err)
	}
	defer rec.Release()
	r, err := array.NewRecordReader(schema, []arrow.RecordBatch{rec})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Release()
	var out bytes.Buffer
	p := printers[format](&out, screen)
	if err := p.print(r); err != nil {
		t.Fatal(err)
	}
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestASingleRowWithLinesIsReadable(t *testing.T) {
	fields := []arrow.Field{
		{Name: "key", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "explained", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "part", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}
	got := shown(t, "table", 0, fields, `[{"key": "plan", "explained": "+-+\n| |\n+-+\n", "part": null}]`)
	if want := "key:       plan\nexplained:\n+-+\n| |\n+-+\npart:      NULL\n(1 row)\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestRowsWiderThanTheTerminalStandUpright(t *testing.T) {
	fields := []arrow.Field{{Name: "name", Type: arrow.BinaryTypes.String}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}}
	const rows = `[{"name": "twelve chars", "n": 1}, {"name": "x", "n": 22}]`
	const lying = "name           n\n------------  --\ntwelve chars   1\nx             22\n(2 rows)\n"
	const upright = "--- row 1 ---\nname: twelve chars\nn:    1\n--- row 2 ---\nname: x\nn:    22\n(2 rows)\n"
	for _, c := range []struct {
		format string
		screen int
		want   string
	}{{"table", 0, lying}, {"table", 16, lying}, {"table", 15, upright}, {"vertical", 0, upright}, {"vertical", 200, upright}} {
		if got := shown(t, c.format, c.screen, fields, rows); got != c.want {
			t.Errorf("%s on %d columns:\n%s\nwant:\n%s", c.format, c.screen, got, c.want)
		}
	}
	if got := shown(t, "table", 3, fields, `[]`); got != "name  n\n----  -\n(0 rows)\n" {
		t.Errorf("no rows:\n%s", got)
	}
	if got := shown(t, "vertical", 0, fields, `[]`); got != "(0 rows)\n" {
		t.Errorf("no rows:\n%s", got)
	}
	// Once lines are written they stay what they are, also when there are more rows than are measured.
	many := "[" + strings.Repeat(`{"name": "x", "n": 1},`, 2*tableRows) + `{"name": "wide enough for everybody", "n": 1}]`
	if got := shown(t, "table", 20, fields, many); strings.Contains(got, "row 1") || !strings.Contains(got, "(2001 rows)") {
		t.Errorf("%.200s", got)
	}
}

// jq reads numbers, and keeps their digits; nothing is lost on the way to it.
func TestJSONHasDecimalsAsExactNumbers(t *testing.T) {
	dec := func(p, s int32) arrow.DataType { return &arrow.Decimal128Type{Precision: p, Scale: s} }
	fields := []arrow.Field{
		{Name: "z", Type: dec(38, 10), Nullable: true},
		{Name: "huge", Type: dec(38, 0), Nullable: true},
		{Name: "list", Type: arrow.ListOf(dec(4, 2)), Nullable: true},
		{Name: "pair", Type: arrow.StructOf(arrow.Field{Name: "a<b", Type: dec(4, 1), Nullable: true}, arrow.Field{Name: "t", Type: arrow.BinaryTypes.String, Nullable: true}), Nullable: true},
		{Name: "map", Type: arrow.MapOf(arrow.BinaryTypes.String, dec(4, 1)), Nullable: true},
	}
	got := shown(t, "json", 80, fields, `[{"z": "1234567890123456789012345678.0987654321", "huge": "-99999999999999999999999999999999999999", "list": ["1.5", null, "-0.25"],
		"pair": {"a<b": "0.5", "t": "<&>"}, "map": [{"key": "k", "value": "2.5"}]}, {"z": null, "huge": null, "list": null, "pair": null, "map": null}]`)
	want := `{"z":1234567890123456789012345678.0987654321,"huge":-99999999999999999999999999999999999999,"list":[1.50,null,-0.25],` +
		`"pair":{"a<b":0.5,"t":"<&>"},"map":[{"key":"k","value":2.5}]}` + "\n" + `{"z":null,"huge":null,"list":null,"pair":null,"map":null}` + "\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	dec64 := json.NewDecoder(strings.NewReader(got))
	dec64.UseNumber()
	var row map[string]any
	if err := dec64.Decode(&row); err != nil || row["z"] != json.Number("1234567890123456789012345678.0987654321") {
		t.Errorf("%v %v", row, err)
	}
}

// What ends within the bar's delay draws nothing; what goes on is drawn as it was said last.
func TestProgressIsDrawnAfterAWhile(t *testing.T) {
	var out bytes.Buffer
	var over func()
	stopped := 0
	bar := &progressBar{w: &out, after: func(_ time.Duration, f func()) func() bool {
		over = f
		return func() bool { stopped++; return true }
	}}
	bar.show(0, []byte(`{"state": "QUEUED"}`))
	bar.show(0.5, []byte(`{"state": "RUNNING"}`))
	bar.clear()
	over() // a delay that was over just before the end
	if out.Len() > 0 || stopped != 1 {
		t.Errorf("stopped %d times, drawn %q", stopped, out.String())
	}
	bar.show(0, []byte(`{"state": "QUEUED"}`))
	bar.show(0.5, []byte(`{"state": "RUNNING", "phase": "evaluating"}`))
	over()
	bar.show(0.75, nil)
	bar.clear()
	want := "\r\x1b[K[###############...............]  50 % running: evaluating\r\x1b[K[######################........]  75 % \r\x1b[K"
	if out.String() != want {
		t.Errorf("got %q, want %q", out.String(), want)
	}
	(*progressBar)(nil).show(1, nil)
	(*progressBar)(nil).clear()
}

// A subscription's rows do not wait for its end, and columns grow with what comes.
func TestRowsWithoutAnEndAreWrittenAsTheyCome(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{{Name: "s", Type: arrow.BinaryTypes.String}, {Name: "n", Type: arrow.PrimitiveTypes.Int64}}, nil)
	for format, want := range map[string][]string{
		"table":    {"", "s  n\n-  -\na  1\n", "longer  2\n", "(2 rows)\n"},
		"vertical": {"", "--- row 1 ---\ns: a\nn: 1\n", "--- row 2 ---\ns: longer\nn: 2\n", "(2 rows)\n"},
	} {
		var out bytes.Buffer
		p := printers[format](&out, 0).(*tablePrinter)
		p.live = true
		for i, rows := range []string{`[]`, `[{"s": "a", "n": 1}]`, `[{"s": "longer", "n": 2}]`} {
			rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, strings.NewReader(rows))
			if err != nil {
				t.Fatal(err)
			}
			r, err := array.NewRecordReader(schema, []arrow.RecordBatch{rec})
			if err != nil {
				t.Fatal(err)
			}
			if err := p.print(r); err != nil {
				t.Fatal(err)
			}
			if out.String() != want[i] {
				t.Errorf("%s, batch %d: %q, want %q", format, i, out.String(), want[i])
			}
			out.Reset()
			r.Release()
			rec.Release()
		}
		if err := p.end(); err != nil || out.String() != want[3] {
			t.Errorf("%s: %q, %v", format, out.String(), err)
		}
	}
}
