package row

import (
	"fmt"
	"testing"
)

// BenchmarkArrow is batches of 8192 rows in and out, per row.
func BenchmarkArrow(b *testing.B) {
	for _, types := range [][]string{{"BIGINT"}, {"BIGINT", "BIGINT", "BIGINT"}, {"VARCHAR"}, {"DECIMAL(18,2)", "DATE", "DOUBLE", "VARCHAR"}} {
		l := ParseLayout(types...)
		var h Heap
		const n = 8192
		words, _ := l.Grow(nil, n)
		for k := range n {
			r := words[k*l.Words:]
			for i, t := range l.Types {
				if t.Var() {
					l.SetBytes(r, i, fmt.Appendf(nil, "value %0*d", k%17, k), &h)
				} else {
					l.Set(r, i, uint64(k))
				}
			}
		}
		schema, err := l.Schema(nil, "")
		if err != nil {
			b.Fatal(err)
		}
		rec, err := l.ToArrow(schema, words, n, &h)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprint("from/", l), func(b *testing.B) {
			var dst []uint64
			var to Heap
			for b.Loop() {
				to.Reset()
				if dst, err = l.FromArrow(dst[:0], &to, rec); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
		b.Run(fmt.Sprint("to/", l), func(b *testing.B) {
			for b.Loop() {
				out, err := l.ToArrow(schema, words, n, &h)
				if err != nil {
					b.Fatal(err)
				}
				out.Release()
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
		rec.Release()
	}
}

// BenchmarkHash is hashing and comparing keys.
func BenchmarkHash(b *testing.B) {
	for _, types := range [][]string{{"BIGINT"}, {"BIGINT", "BIGINT"}, {"VARCHAR"}} {
		l := ParseLayout(types...)
		var h Heap
		const n = 8192
		words, _ := l.Grow(nil, n)
		for k := range n {
			if l.Fixed() {
				l.Set(words[k*l.Words:], 0, uint64(k))
			} else {
				l.SetBytes(words[k*l.Words:], 0, fmt.Appendf(nil, "customer number %d", k), &h)
			}
		}
		b.Run(l.String(), func(b *testing.B) {
			var dst []uint64
			for b.Loop() {
				dst = l.HashAll(dst, words, n, &h)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/row")
		})
	}
}
