package duck

import (
	"context"
	"errors"
	"testing"
)

// What no message can carry is an error at once, not copies of it.
func TestValueTooLong(t *testing.T) {
	c := open(t)
	for _, x := range []struct{ sql, class string }{
		{"SELECT repeat('x', 201326593)", "Out of Range"},
		{"SELECT encode(repeat('x', 201326593))", "Out of Range"},
		{"SELECT bitstring('1', 201326700)", "Out of Range"},
		{"SELECT 1::VARIANT", "Not implemented"},
	} {
		r, err := c.Query(context.Background(), x.sql)
		if err == nil {
			if r.Next() {
				t.Errorf("%s: %d rows", x.sql, r.RecordBatch().NumRows())
			}
			err = r.Err()
			r.Close()
		}
		if e := new(Error); !errors.As(err, &e) || e.Type != x.class {
			t.Errorf("%s: %v", x.sql, err)
		}
	}
}

// Long rows that lie together among short ones leave in batches of bounded size.
func TestLongRowsTogether(t *testing.T) {
	c := open(t)
	r, err := c.Query(context.Background(), "SELECT CASE WHEN i BETWEEN 1000 AND 1009 THEN repeat('x', 2000000) ELSE 'y' END FROM range(2048) t(i)")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	rows := int64(0)
	for r.Next() {
		rows += r.RecordBatch().NumRows()
		size := 0
		for _, b := range r.RecordBatch().Column(0).Data().Buffers() {
			if b != nil {
				size += b.Len()
			}
		}
		if size > 4*batchBytes {
			t.Errorf("a batch of %d bytes", size)
		}
	}
	if rows != 2048 || r.Err() != nil {
		t.Fatal(rows, r.Err())
	}
}
