package gate

import (
	"context"
	"os"
	"strings"
	"testing"
)

func TestTPCH(t *testing.T) {
	file, err := os.ReadFile("testdata/tpch.sql")
	if err != nil {
		t.Fatal(err)
	}
	var tables, queries, reads []string
	for line := range strings.Lines(string(file)) {
		switch line = strings.TrimSuffix(strings.TrimSpace(line), ";"); {
		case strings.HasPrefix(line, "create table"):
			tables = append(tables, line)
		case strings.HasPrefix(line, "-- reads "):
			reads = append(reads, "lake.main."+strings.ReplaceAll(strings.TrimPrefix(line, "-- reads "), " ", " lake.main."))
		case !strings.HasPrefix(line, "--"):
			queries = append(queries, line)
		}
	}
	if len(queries) != 22 || len(reads) != 22 {
		t.Fatal(len(queries), len(reads))
	}
	lake := newRealLake(t, tables...)
	_, s := newGate(t, lake)
	for i, sql := range queries {
		a, err := s.Analyze(context.Background(), sql, Env{})
		if err != nil {
			t.Errorf("query %d: %v", i+1, err)
			continue
		}
		if got := names(a.Reads); got != reads[i] {
			t.Errorf("query %d reads %s, want %s", i+1, got, reads[i])
		}
		b, err := s.Bind(context.Background(), sql, Env{})
		if err != nil {
			t.Errorf("query %d: %v", i+1, err)
			continue
		}
		if got, want := lake.result("main", b.SQL), lake.result("main", sql); got != want || len(b.Sources) != len(a.Reads) || !b.Consistent {
			t.Errorf("query %d:\n%s\n%s\n%s", i+1, b.SQL, got, want)
		}
	}
}
