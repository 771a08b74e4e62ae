package ddl

import (
	"slices"
	"testing"
	"time"
)

func TestWatermarks(t *testing.T) {
	for _, c := range []struct {
		text string
		want []Watermark
	}{
		{"ts", []Watermark{{"", "ts", time.Second}}},
		{" orders.ts , payments.paid_at: 1 minute", []Watermark{{"orders", "ts", time.Second}, {"payments", "paid_at", time.Minute}}},
		{`"a.b"."c,d:""e"`, []Watermark{{"a.b", `c,d:"e`, time.Second}}},
		{"a.b.c", nil}, {"", nil}, {"a,,b", nil}, {"a: b", nil}, {"a: 1s: 2s", nil}, {".a", nil},
	} {
		o := Options{{Name: "watermark_column", Value: Value{Kind: Text, Text: c.text}}, {Name: "watermark_delay", Value: Value{Kind: Duration, Duration: time.Second}}}
		got, err := o.Watermarks()
		if (err != nil) != (c.want == nil) || !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, %v", c.text, got, err)
		}
	}
}
