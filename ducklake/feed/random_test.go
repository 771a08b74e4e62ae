package feed_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/feed"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
)

// check compares what the feed says with the oracle: each snapshot by itself, random windows, and the whole. It says how many windows it
// compared, and how many were refused because their history was rewritten.
func (h *history) check(windows int) (compared, refused int) {
	h.t.Helper()
	head := h.head()
	for _, s := range h.tables {
		r := h.open(h.table(s.name))
		one := func(from, to int64) {
			h.t.Helper()
			ok := h.window(s, r, from, to)
			if h.t.Failed() {
				h.t.FailNow()
			}
			if ok {
				compared++
			} else {
				refused++
			}
		}
		for at := h.begin; at < head; at++ {
			one(at, at+1)
		}
		for range windows {
			from := h.begin + h.r.Int64N(head-h.begin+1)
			one(from, from+h.r.Int64N(head-from+1))
		}
		one(h.begin, head)
		for _, at := range []int64{h.begin, h.begin + h.r.Int64N(head-h.begin+1), head} {
			stream, err := r.Content(ctx, at)
			_, err = h.read(stream, err, "content")
			if fault.CodeOf(err) == fault.HistoryRewritten {
				refused++
				continue
			}
			h.must(err)
			if d := h.differ(h.content(s, r, at), `SELECT * EXCLUDE ("snapshot", "weight") FROM content`); len(d) > 0 {
				h.t.Fatalf("%s at %d: %v", s.key, at, d)
			}
		}
	}
	return compared, refused
}

// window compares one window, snapshot by snapshot.
func (h *history) window(s *subject, r *feed.Reader, from, to int64) bool {
	h.t.Helper()
	plan, err := h.feed.Plan(ctx, from, to, r)
	h.must(err)
	stream, err := r.Read(ctx, from, to)
	n, err := h.read(stream, err, "feed")
	if fault.CodeOf(err) == fault.HistoryRewritten {
		if to == from+1 {
			h.t.Log(err)
		}
		return false
	}
	if err != nil {
		h.t.Fatalf("%s (%d, %d]: %v", s.key, from, to, err)
	}
	for _, v := range h.ask(`SELECT DISTINCT "snapshot" FROM feed`) {
		if at := v[0].(int64); !slices.Contains(plan.Written(), at) {
			h.t.Fatalf("%s (%d, %d]: rows of snapshot %d, the plan has %v", s.key, from, to, at, plan.Changes)
		}
	}
	if n == 0 && s.version(from) == s.version(to) {
		return true
	}
	for at := from; at <= to; at++ {
		if at == from || at > from+1 && at < to && s.version(at) == s.version(at-1) {
			continue
		}
		// The rows as they were, with the changes up to here, are the rows as they are.
		d := h.ask(fmt.Sprintf(`SELECT * EXCLUDE ("the weight"), sum("the weight") FROM (SELECT COLUMNS(*), 1 AS "the weight" FROM (%s) UNION ALL
			SELECT * EXCLUDE ("snapshot", "weight"), "weight" FROM feed WHERE "snapshot" <= %d UNION ALL
			SELECT COLUMNS(*), -1 FROM (%s)) GROUP BY ALL HAVING sum("the weight") <> 0 ORDER BY ALL LIMIT 6`, h.content(s, r, from), at, h.content(s, r, at)))
		if len(d) > 0 {
			h.t.Errorf("%s (%d, %d] to %d: %v\n%v", s.key, from, to, at, d, h.ask(`SELECT "snapshot", "weight", count(*) FROM feed GROUP BY ALL ORDER BY ALL`))
			for _, c := range plan.Changes {
				h.t.Log(c.Snapshot, c.Kind)
			}
			return true
		}
	}
	return true
}

// number is an environment variable, or def.
func number(name string, def int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return def
}

func TestRandom(t *testing.T) {
	seeds, steps := number("VEGA_TEST_SEEDS", 1), number("VEGA_TEST_STEPS", 30)
	first := uint64(number("VEGA_TEST_SEED", 1))
	for _, kind := range laketest.Kinds {
		for _, c := range []struct {
			name           string
			inlining       []int
			alter, rewrite bool
		}{
			{"files", []int{0, 0, 0}, false, false},
			{"inlined", []int{10, 10, 1000}, false, false},
			{"altered", []int{10, 0, 10}, true, false},
			{"rewritten", []int{0, 10, 1000}, true, true},
		} {
			t.Run(kind.String()+"/"+c.name, func(t *testing.T) {
				for seed := first; seed < first+uint64(seeds); seed++ {
					t.Run(fmt.Sprint(seed), func(t *testing.T) {
						h := newHistory(newLab(t, kind), seed, c.inlining)
						h.alter, h.rewrite = c.alter, c.rewrite
						for i := range steps {
							h.step()
							if i == steps/2 {
								h.check(5)
							}
						}
						compared, refused := h.check(10)
						t.Log(compared, "windows compared,", refused, "refused", sorted(h.did))
					})
				}
			})
		}
	}
}

func sorted(m map[string]int) (out []string) {
	for _, k := range slices.Sorted(maps.Keys(m)) {
		out = append(out, fmt.Sprint(k, " ", m[k]))
	}
	return out
}
