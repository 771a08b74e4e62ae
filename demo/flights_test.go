package main

import "testing"

func TestEveryDatasetHasTypedColumns(t *testing.T) {
	for _, d := range datasets {
		for _, f := range d.schema().Fields() {
			if f.Type == nil {
				t.Errorf("%s.%s has no type", d.table, f.Name)
			}
		}
	}
}

func TestMissingValuesAreNull(t *testing.T) {
	r := datasets[0].read([]byte("carrier,name\nAA,NA\nNA,x\n"))
	defer r.Release()
	if !r.Next() || r.Err() != nil {
		t.Fatal(r.Err())
	}
	rec := r.RecordBatch()
	if rec.NumRows() != 2 || !rec.Column(1).IsNull(0) || !rec.Column(0).IsNull(1) || rec.Column(0).ValueStr(0) != "AA" {
		t.Fatal(rec)
	}
}
