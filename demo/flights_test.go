package main

import (
	"strings"
	"testing"
)

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

func TestADayIsTakenOutByHour(t *testing.T) {
	line := func(day, hour string) string {
		return "2013," + day + ",1,1,1,1,1,1,AA,1,N1,JFK,LAX,1,1," + hour + ",0,2013-03-08T10:00:00Z\n"
	}
	head := strings.ReplaceAll(datasets[4].columns, " int", "") + "\n"
	rest, hours := split([]byte(head+line("3,7", "5")+line("3,8", "11")+line("3,8", "5")+line("3,8", "11")), "2013,3,8,")
	if string(rest) != head+line("3,7", "5") {
		t.Errorf("the rest is %s", rest)
	}
	if len(hours) != 2 || hours[0].name != "05:00" || hours[0].flights != 1 || hours[1].name != "11:00" || hours[1].flights != 2 {
		t.Fatalf("%+v", hours)
	}
	if string(hours[0].text) != head+line("3,8", "5") {
		t.Errorf("the first hour is %s", hours[0].text)
	}
}
