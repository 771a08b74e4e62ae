package changelog_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ivm/changelog"
)

// history writes random commits; the last one is to table v.
func history(w *world, r *rand.Rand, commits int) {
	for range commits {
		k := r.IntN(20)
		switch r.IntN(6) {
		case 0, 1:
			w.exec(fmt.Sprintf("INSERT INTO v SELECT i %% 20, %d + i, CASE WHEN i %% 3 = 0 THEN NULL ELSE 'a long value of row ' || i END FROM range(%d) t(i)", k, 1+r.IntN(30)))
		case 2:
			w.exec(fmt.Sprintf("UPDATE v SET n = n + 1 WHERE k = %d", k))
		case 3:
			w.exec(fmt.Sprintf("DELETE FROM v WHERE k < %d", k/3))
		case 4:
			w.exec(fmt.Sprintf("INSERT INTO v VALUES (%d, 1, 'twice'), (%d, 1, 'twice')", k, k))
		case 5:
			w.exec(fmt.Sprintf("INSERT INTO other VALUES (%d)", k))
		}
	}
	w.exec("INSERT INTO v VALUES (-1, 1, 'the last')")
}

func TestSubscriberFollowsEveryCommit(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		w.exec("CREATE TABLE v (k INTEGER, n BIGINT, s VARCHAR)", "CREATE TABLE other (i INTEGER)")
		r := rand.New(rand.NewPCG(1, uint64(kind)))
		history(w, r, 10)
		v := w.view("v")
		o := retract
		o.Progress = true
		live := w.follow(v, o)
		plain := w.follow(v, retract)
		for range 5 {
			history(w, r, 6)
			live.until(w.head())
		}
		plain.until(w.head())
		late := w.follow(v, retract)
		late.until(w.head())
		// Whoever has any earlier state comes to the same.
		for at := w.head() - 20; at <= w.head(); at += 3 {
			from := w.follow(v, changelog.Options{AsOf: at, UpTo: w.head(), Progress: true})
			from.rows, from.at = w.content(v, at), at
			from.rest()
			if from.at != w.head() {
				t.Errorf("from %d the stream ended at %d", at, from.at)
			}
		}
		if live.compared < 20 || plain.compared < 10 {
			t.Errorf("compared only %d and %d times", live.compared, plain.compared)
		}
	})
}
