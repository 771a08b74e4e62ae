package stream

import (
	"maps"
	"slices"
	"testing"
)

func at(snapshot int64, touches ...Touch) Commit {
	c := Commit{Snapshot: snapshot, Tables: map[int64]Touch{}}
	for i, t := range touches {
		if t != (Touch{}) {
			c.Tables[int64(i+1)] = t
		}
	}
	return c
}

func TestWindows(t *testing.T) {
	rows := func(n int64) Touch { return Touch{Rows: true, Estimate: n} }
	schema, gone := Touch{Schema: true}, Touch{Gone: true}
	none := Touch{}
	commits := []Commit{at(11, rows(5)), at(12, none, rows(1)), at(14, rows(3), rows(2)), at(15, schema), at(16, none, none, gone), at(18, rows(100))}
	for _, c := range []struct {
		name           string
		from, head     int64
		tables         []int64
		most           int64
		atMost         int
		to             int64
		commits        int
		touched, other []int64
	}{
		{name: "up to columns that may have changed", from: 10, head: 20, tables: []int64{1}, to: 14, commits: 2, touched: []int64{1}},
		{name: "a change of columns by itself", from: 14, head: 20, tables: []int64{1}, to: 15, commits: 1, other: []int64{1}},
		{name: "behind it", from: 15, head: 20, tables: []int64{1}, to: 20, commits: 1, touched: []int64{1}},
		{name: "other tables' changes of columns cost nothing", from: 10, head: 20, tables: []int64{2}, to: 20, commits: 2, touched: []int64{2}},
		{name: "nothing of them", from: 12, head: 13, tables: []int64{1, 2}, to: 13},
		{name: "a table that goes", from: 10, head: 20, tables: []int64{3}, to: 16, commits: 1, other: []int64{3}},
		{name: "no more rows than may be", from: 10, head: 20, tables: []int64{1, 2}, most: 7, to: 13, commits: 2, touched: []int64{1, 2}},
		{name: "one snapshot whole, however many", from: 15, head: 20, tables: []int64{1}, most: 7, to: 20, commits: 1, touched: []int64{1}},
		{name: "no more commits than may be", from: 10, head: 20, tables: []int64{1, 2}, atMost: 2, to: 13, commits: 2, touched: []int64{1, 2}},
		{name: "not beyond the head", from: 10, head: 12, tables: []int64{1, 2}, to: 12, commits: 2, touched: []int64{1, 2}},
	} {
		t.Run(c.name, func(t *testing.T) {
			tables := map[int64]bool{}
			for _, id := range c.tables {
				tables[id] = true
			}
			w := choose(commits, c.from, c.head, tables, c.most, c.atMost)
			if w.to != c.to || w.commits != c.commits {
				t.Errorf("the window ends at %d after %d commits, not at %d after %d", w.to, w.commits, c.to, c.commits)
			}
			if got := slices.Sorted(maps.Keys(w.touched)); !slices.Equal(got, c.touched) {
				t.Errorf("rows of %v, not of %v", got, c.touched)
			}
			if got := slices.Sorted(maps.Keys(w.schema)); !slices.Equal(got, c.other) {
				t.Errorf("columns of %v, not of %v", got, c.other)
			}
		})
	}
}
