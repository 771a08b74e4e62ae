package duck

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unsafe"
)

// counting is a slot of numbers that are given out when asked for; when none are there it repeats the last.
type counting struct {
	have, reads int
	next, last  int64
}

func (g *counting) fill(w *Sheet) error {
	g.reads++
	n := min(g.have, SheetRows)
	a := unsafe.Slice((*int64)(w.Column(0).Data()), SheetRows)
	if n == 0 {
		a[0] = g.last
		w.Column(1).SetBytes(0, []byte("again"))
		w.Rows = 1
		return nil
	}
	for i := range n {
		a[i] = g.next
		g.next++
		if i%3 == 0 {
			w.Column(1).SetNull(i)
		} else {
			w.Column(1).SetBytes(i, fmt.Appendf(nil, "the text of number %d", a[i]))
		}
	}
	g.last = a[n-1]
	g.have -= n
	w.Rows = n
	return nil
}

func slotConn(t testing.TB) *Conn {
	db, err := Open("", Options{Config: map[string]string{"threads": "1"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	c, err := db.Connect()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if _, err := c.Exec(context.Background(), "SET streaming_buffer_size = '1B'"); err != nil {
		t.Fatal(err)
	}
	return c
}

var slotColumns = []Column{{"a", "BIGINT"}, {"s", "VARCHAR"}}

func TestSlotIsReadByAStatementThatStaysOpen(t *testing.T) {
	ctx := context.Background()
	c := slotConn(t)
	g := new(counting)
	s, err := c.RegisterSlot(ctx, "slot", slotColumns, g.fill)
	if err != nil {
		t.Fatal(err)
	}
	p, err := c.Prepare(ctx, "SELECT a + 1, s || '!' FROM slot")
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	g.have = 1
	ch, err := p.Chunks(ctx)
	if err != nil {
		t.Fatal(err)
	}
	var want, rows int64
	for _, n := range []int{1, 3, 2048, 1, 5000} {
		g.have = n
		if rows == 0 {
			g.have = 0 // the first was given already
		}
		for end := rows + int64(n); rows < end; {
			ok, err := ch.Next(ctx)
			if !ok {
				t.Fatal(err)
			}
			a := unsafe.Slice((*int64)(ch.Column(0).Data()), ch.Rows)
			if a[0] == want { // the number that was repeated
				continue
			}
			for i, x := range a {
				want++
				if x != want {
					t.Fatalf("%d, not %d", x, want)
				}
				if null := !ch.Column(1).Valid(i); null != (i%3 == 0) {
					t.Fatalf("row %d is NULL: %v", i, null)
				} else if text := fmt.Sprintf("the text of number %d!", x-1); !null && string(ch.Column(1).Bytes(i)) != text {
					t.Fatalf("%s, not %s", ch.Column(1).Bytes(i), text)
				}
			}
			rows += int64(ch.Rows)
		}
	}
	if g.reads > 30 {
		t.Errorf("%d chunks were asked for, far ahead of what was read", g.reads)
	}
	ch.Close()
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if _, err := c.Rows(ctx, "SELECT 1"); err != nil {
		t.Error(err)
	}
}

func TestSlotsOfOneInstance(t *testing.T) {
	ctx := context.Background()
	c := slotConn(t)
	other, err := c.db.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	for i, conn := range []*Conn{c, other, c} {
		name := fmt.Sprint("slot ", i)
		rows := 5
		s, err := conn.RegisterSlot(ctx, name, []Column{{"a", "INTEGER"}}, func(w *Sheet) error {
			for j := range rows {
				unsafe.Slice((*int32)(w.Column(0).Data()), rows)[j] = int32(i + j)
			}
			w.Rows, rows = rows, 0
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		got, err := conn.Rows(ctx, `SELECT sum(a) FROM "`+name+`"`)
		if err != nil || fmt.Sprint(got) != fmt.Sprintf("[[%d]]", 10+5*i) {
			t.Fatal(got, err)
		}
	}
}

func TestSlotWhoseFunctionFails(t *testing.T) {
	ctx := context.Background()
	c := slotConn(t)
	for _, f := range []func(*Sheet) error{
		func(*Sheet) error { return fmt.Errorf("no rows today") },
		func(*Sheet) error { panic("no rows today") },
	} {
		s, err := c.RegisterSlot(ctx, "slot", slotColumns, f)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Rows(ctx, "SELECT * FROM slot"); err == nil || !strings.Contains(err.Error(), "no rows today") {
			t.Error(err)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := c.RegisterSlot(ctx, "slot", []Column{{"a", "NO_TYPE"}}, nil); err == nil {
		t.Error("a column of no type")
	}
}

func BenchmarkSlot(b *testing.B) {
	ctx := context.Background()
	for _, n := range []int{1, 100, 2048, 100000} {
		b.Run(fmt.Sprintf("rows=%d", n), func(b *testing.B) {
			c := slotConn(b)
			have := n
			s, err := c.RegisterSlot(ctx, "slot", []Column{{"a", "BIGINT"}, {"b", "BIGINT"}}, func(w *Sheet) error {
				rows := max(1, min(have, SheetRows))
				have -= min(have, rows)
				x, y := unsafe.Slice((*int64)(w.Column(0).Data()), rows), unsafe.Slice((*int64)(w.Column(1).Data()), rows)
				for i := range rows {
					x[i], y[i] = int64(i), 2
				}
				w.Rows = rows
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			defer s.Close()
			p, err := c.Prepare(ctx, "SELECT a + b, a * b FROM slot")
			if err != nil {
				b.Fatal(err)
			}
			defer p.Close()
			ch, err := p.Chunks(ctx)
			if err != nil {
				b.Fatal(err)
			}
			defer ch.Close()
			b.ReportAllocs()
			for b.Loop() {
				have = n
				for out := 0; out < n; out += ch.Rows {
					if ok, err := ch.Next(ctx); !ok {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "rows/s")
		})
	}
}
