package main

import (
	"bytes"
	"testing"

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
		"csv": "n,d,s\n1,9.50,\"a,\"\"b\"\"\"\n,,\"two\nlines\"\n22,0.00,\"\"\n",
	} {
		var out bytes.Buffer
		p := printers[format](&out)
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

func TestASingleRowWithLinesIsReadable(t *testing.T) {
	schema := arrow.NewSchema([]arrow.Field{
		{Name: "key", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "explained", Type: arrow.BinaryTypes.String, Nullable: true},
		{Name: "part", Type: arrow.PrimitiveTypes.Float64, Nullable: true},
	}, nil)
	rec, _, err := array.RecordFromJSON(memory.DefaultAllocator, schema, bytes.NewReader([]byte(`[{"key": "plan", "explained": "+-+\n| |\n+-+\n", "part": null}]`)))
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
	p := printers["table"](&out)
	if err := p.print(r); err != nil {
		t.Fatal(err)
	}
	if err := p.end(); err != nil {
		t.Fatal(err)
	}
	if want := "key:       plan\nexplained:\n+-+\n| |\n+-+\npart:      NULL\n(1 row)\n"; out.String() != want {
		t.Errorf("got\n%s\nwant\n%s", out.String(), want)
	}
}
