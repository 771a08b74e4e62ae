package ducklake_test

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/laketest"
)

func benchSession(b *testing.B, k laketest.Kind) *ducklake.Session {
	l := laketest.New(b, k)
	if err := l.DDL(ctx, `CREATE TABLE t (i BIGINT, v VARCHAR)`); err != nil {
		b.Fatal(err)
	}
	s, err := l.NewSession(ctx, ducklake.SessionConfig{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { s.Close() })
	return s
}

// Every statement pays for asking whether the schema changed.
func BenchmarkAnalyze(b *testing.B) {
	for _, k := range laketest.Kinds {
		b.Run(k.String(), func(b *testing.B) {
			s := benchSession(b, k)
			for b.Loop() {
				if _, err := s.Analyze(ctx, `SELECT i + 1 FROM t`); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkSelect(b *testing.B) {
	for _, k := range laketest.Kinds {
		b.Run(k.String(), func(b *testing.B) {
			s := benchSession(b, k)
			for b.Loop() {
				a, err := s.Analyze(ctx, `SELECT i + 1 FROM t`)
				if err != nil {
					b.Fatal(err)
				}
				st, err := s.Query(ctx, a)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := read(st); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(k.String()+"/in process", func(b *testing.B) {
			s := benchSession(b, k)
			c, release, err := s.Lake().Acquire(ctx, ducklake.ConnSettings{})
			if err != nil {
				b.Fatal(err)
			}
			defer release()
			for b.Loop() {
				if _, err := c.Rows(ctx, `SELECT i + 1 FROM t`); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkInsert(b *testing.B) {
	for _, k := range laketest.Kinds {
		b.Run(k.String(), func(b *testing.B) {
			s := benchSession(b, k)
			for b.Loop() {
				a, err := s.Analyze(ctx, `INSERT INTO t VALUES (1, 'x')`)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := s.Exec(ctx, a); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(k.String()+"/in process", func(b *testing.B) {
			s := benchSession(b, k)
			if err := s.WithConn(ctx, func(c *duck.Conn) error {
				for b.Loop() {
					if _, err := c.Exec(ctx, `INSERT INTO t VALUES (1, 'x')`); err != nil {
						return err
					}
				}
				return nil
			}); err != nil {
				b.Fatal(err)
			}
		})
	}
}

func BenchmarkCreateOrReplace(b *testing.B) {
	s := benchSession(b, laketest.DuckDB)
	for b.Loop() {
		a, err := s.Analyze(ctx, `CREATE OR REPLACE TABLE c AS SELECT 1 AS i`)
		if err != nil {
			b.Fatal(err)
		}
		if _, err := s.Exec(ctx, a); err != nil {
			b.Fatal(err)
		}
	}
}
