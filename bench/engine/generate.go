package main

import (
	"os"
	"path/filepath"
)

// random is a stream of numbers that is the same on every machine.
type random uint64

func (r *random) next() uint64 {
	*r += 0x9e3779b97f4a7c15
	x := uint64(*r)
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below is a number of [0, n).
func (r *random) below(n int64) int64 { return int64(r.next() % uint64(n)) }

// scale is how much of the input is made.
type scale struct {
	Seed   uint64 `json:"seed"`
	Rows   int64  `json:"rows"`
	Rounds int    `json:"rounds"`
	Events int64  `json:"events"`
}

// A round is 5 batches of 10,000 changes, 30 of 100 and 50 of one.
var round = []struct{ size, batches int }{{10_000, 5}, {100, 30}, {1, 50}}

const (
	groupsFew     = 1_000
	groupsMany    = 100_000
	customers     = 20_000
	regions       = 100
	largestValue  = 1_000_000
	largestAmount = 10_000
)

// generate writes all inputs.
func generate(dir string, s scale) error {
	for i, in := range []struct {
		folder string
		make   func(r *random, s scale) *history
	}{
		{"w1", func(r *random, s scale) *history { return groupHistory(r, s.Rows, groupsFew) }},
		{"w1b", func(r *random, s scale) *history { return groupHistory(r, s.Rows, groupsMany) }},
		{"w2", func(r *random, s scale) *history { return joinHistory(r, s.Rows) }},
	} {
		r := random(s.Seed*1_000_003 + uint64(i))
		h := in.make(&r, s)
		if err := h.write(filepath.Join(dir, in.folder), &r, s.Rounds); err != nil {
			return err
		}
	}
	return generateEvents(filepath.Join(dir, "nexmark"), random(s.Seed*1_000_003+17), s.Events)
}

// relation is the content of a table, and the laws by which it changes. A row's id is its field a.
type relation struct {
	tag    int32
	rows   []record
	last   []int // of each row: the batch that touched it
	nextID int64
	fresh  func(id int64) record // a new row
	other  func(record) record   // what an update makes of a row

	inserts, deletes int64 // in percent of the changes; the others are updates
}

func (t *relation) fill(n int64) {
	for range n {
		t.insert(0)
	}
}

func (t *relation) insert(batch int) record {
	row := t.fresh(t.nextID)
	t.nextID++
	row.tag, row.w = t.tag, 1
	t.rows, t.last = append(t.rows, row), append(t.last, batch)
	return row
}

// tries is how often a row is looked for that a batch has not touched yet.
const tries = 100

// change makes one change. A row is touched at most once in a batch.
func (t *relation) change(r *random, batch int, put func(record)) {
	kind := r.below(100)
	i := -1
	for range tries {
		if kind < t.inserts {
			break
		}
		if i = int(r.below(int64(len(t.rows)))); t.last[i] != batch {
			break
		}
		i = -1
	}
	if i < 0 { // a small table may have no row left that the batch has not touched
		put(t.insert(batch))
		return
	}
	old := t.rows[i]
	old.w = -1
	put(old)
	if kind < t.inserts+t.deletes {
		end := len(t.rows) - 1
		t.rows[i], t.last[i] = t.rows[end], t.last[end]
		t.rows, t.last = t.rows[:end], t.last[:end]
		return
	}
	row := t.other(t.rows[i])
	t.rows[i], t.last[i] = row, batch
	put(row)
}

// history is tables that change together.
type history struct {
	tables []*relation
	pick   func(r *random) *relation // which changes next
}

// groupHistory is rows (id, k, v) of groups k: 60 % insertions, 20 % deletions, 20 % updates of v, half of which move the row to another group.
func groupHistory(r *random, rows, groups int64) *history {
	t := &relation{inserts: 60, deletes: 20}
	t.fresh = func(id int64) record { return record{a: id, b: r.below(groups), c: r.below(largestValue)} }
	t.other = func(row record) record {
		if r.below(2) == 0 {
			row.b = r.below(groups)
		}
		row.c = r.below(largestValue)
		return row
	}
	t.fill(rows)
	return &history{tables: []*relation{t}, pick: func(*random) *relation { return t }}
}

// joinHistory is customers (cid, region) and orders (id, cid, amt), of which one in 21 has no customer. One change in a hundred is a customer's.
func joinHistory(r *random, rows int64) *history {
	few := min(customers, max(rows/50, 1))
	c := &relation{tag: 1, inserts: 20, deletes: 20}
	c.fresh = func(id int64) record { return record{a: id, b: r.below(regions)} }
	c.other = func(row record) record {
		row.b = (row.b + 1 + r.below(regions-1)) % regions
		return row
	}
	customer := func() int64 { return r.below(few + few/20) }
	o := &relation{inserts: 60, deletes: 20}
	o.fresh = func(id int64) record { return record{a: id, b: customer(), c: 1 + r.below(largestAmount)} }
	o.other = func(row record) record {
		if r.below(2) == 0 {
			row.b = customer()
		}
		row.c = 1 + r.below(largestAmount)
		return row
	}
	c.fill(few)
	o.fill(rows)
	return &history{tables: []*relation{c, o}, pick: func(r *random) *relation {
		if r.below(100) == 0 {
			return c
		}
		return o
	}}
}

func (h *history) write(dir string, r *random, rounds int) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	content, err := newRecordFile(filepath.Join(dir, "backfill.bin"))
	if err != nil {
		return err
	}
	for _, t := range h.tables {
		for _, row := range t.rows {
			content.put(row)
		}
	}
	if err := content.close(); err != nil {
		return err
	}
	changes, err := newRecordFile(filepath.Join(dir, "changes.bin"))
	if err != nil {
		return err
	}
	heads, err := newRecordFile(filepath.Join(dir, "batches.bin"))
	if err != nil {
		return err
	}
	number := 0
	for i := range rounds {
		for _, part := range round {
			for range part.batches {
				number++
				before := changes.n
				for range part.size {
					h.pick(r).change(r, number, changes.put)
				}
				heads.head(i+1, part.size, changes.n-before)
			}
		}
	}
	if err := changes.close(); err != nil {
		return err
	}
	return heads.close()
}
