package gate

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkAnalyze: a text that was seen before, and new ones.
func BenchmarkAnalyze(b *testing.B) {
	_, s := newGate(b, newRealLake(b, shop...))
	ctx := context.Background()
	for name, sql := range map[string]string{
		"point": "SELECT id, amount FROM sales.orders WHERE id = %d", "view": "SELECT p, name FROM over WHERE p = %d", "insert": "INSERT INTO t VALUES (%d, 'x')",
		"join": "SELECT c.region, sum(o.amount), count(*) FROM sales.orders o JOIN sales.customer c ON o.customer = c.id WHERE o.id > %d GROUP BY ALL ORDER BY ALL LIMIT 10",
	} {
		b.Run(name+"/seen", func(b *testing.B) {
			for b.Loop() {
				if _, err := s.Analyze(ctx, fmt.Sprintf(sql, 1), Env{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(name+"/new", func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := s.Analyze(ctx, fmt.Sprintf(sql, i+2), Env{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkBind makes a view's query independent of its session.
func BenchmarkBind(b *testing.B) {
	_, s := newGate(b, newRealLake(b, shop...))
	for b.Loop() {
		if _, err := s.Bind(context.Background(), "SELECT name, twice(p) FROM over", Env{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkSync mirrors a lake of 1000 tables and 100 views after a table was added, and after one changed.
func BenchmarkSync(b *testing.B) {
	lake := func(changed int) *Objects {
		o := &Objects{}
		for i := range 1000 {
			t := Table{ID: int64(i), UUID: fmt.Sprint(i), Schema: "main", Name: fmt.Sprintf("t%d", i)}
			for j := range 20 {
				t.Columns = append(t.Columns, TableColumn{Name: fmt.Sprintf("c%d", j), Type: "BIGINT"})
			}
			if i == changed {
				t.Columns[3].Name = "changed"
			}
			o.Tables = append(o.Tables, t)
		}
		for i := range 100 {
			o.Views = append(o.Views, View{Schema: "main", Name: fmt.Sprintf("v%d", i), SQL: fmt.Sprintf("SELECT c1, count(*) AS n FROM t%d GROUP BY c1", i)})
		}
		return o
	}
	ctx := context.Background()
	g, err := New(ctx, Config{})
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := g.Close(); err != nil {
			b.Error(err)
		}
	}()
	o := lake(-1)
	if err := g.Sync(ctx, fixedLake{o}); err != nil {
		b.Fatal(err)
	}
	b.Run("added", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			grown := *o
			grown.Tables = append(append([]Table{}, o.Tables...), Table{Schema: "main", Name: fmt.Sprintf("new%d", i), Columns: []TableColumn{{Name: "a", Type: "BIGINT"}}})
			o = &grown
			if err := g.Sync(ctx, fixedLake{o}); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("changed", func(b *testing.B) {
		for i := 0; b.Loop(); i++ {
			if err := g.Sync(ctx, fixedLake{lake(i % 1000)}); err != nil {
				b.Fatal(err)
			}
		}
	})
}
