package row

import "testing"

// FuzzParseType reads anything, and what is a type again as it is written.
func FuzzParseType(f *testing.F) {
	for name := range samples {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, s string) {
		typ, err := ParseType(s)
		if err != nil {
			return
		}
		again, err := ParseType(typ.String())
		if err != nil {
			t.Fatalf("%q is written as %q: %v", s, typ, err)
		}
		if again.String() != typ.String() {
			t.Fatalf("%q is written as %q, and that as %q", s, typ, again)
		}
	})
}

// FuzzParseRow reads anything as a row, and what is one again as it is written.
func FuzzParseRow(f *testing.F) {
	for name, vs := range samples {
		for _, v := range vs {
			f.Add(name, v)
		}
	}
	f.Fuzz(func(t *testing.T, name, s string) {
		typ, err := ParseType(name)
		if err != nil {
			return
		}
		l := NewLayout(typ)
		var h Heap
		r, again := make([]uint64, l.Words), make([]uint64, l.Words)
		if l.ParseRow(r, s, &h) != nil {
			return
		}
		text := l.Format(r, &h)
		if err := l.ParseRow(again, text, &h); err != nil {
			t.Fatalf("%s %q is written as %q: %v", typ, s, text, err)
		}
		if got := l.Format(again, &h); got != text {
			t.Fatalf("%s %q is written as %q, and that as %q", typ, s, text, got)
		}
	})
}
