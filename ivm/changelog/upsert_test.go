package changelog_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/changelog"
)

// keyed changes a table whose keys are unique, in one commit that may touch a key twice.
func keyed(w *world, r *rand.Rand) {
	a, b := r.IntN(12), r.IntN(12)
	switch r.IntN(4) {
	case 0:
		w.exec(fmt.Sprintf("MERGE INTO v USING (SELECT %d AS a, 'k' || %d AS b, %d AS n) s USING (a, b) WHEN MATCHED THEN UPDATE SET n = s.n WHEN NOT MATCHED THEN INSERT (a, b, n) VALUES (s.a, s.b, s.n)", a, b, r.IntN(5)))
	case 1:
		w.exec(fmt.Sprintf("UPDATE v SET n = n + 1, s = 'long enough to lie outside ' || n WHERE a >= %d", a))
	case 2:
		w.exec(fmt.Sprintf("DELETE FROM v WHERE a = %d OR b = 'k%d'", a, b))
	case 3:
		w.exec(fmt.Sprintf("INSERT INTO v SELECT i, 'k%d', 1, NULL FROM range(12) t(i) WHERE (i, 'k%d') NOT IN (SELECT (a, b) FROM v)", b, b))
	}
}

func TestSubscriberByKey(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		w := newWorld(t, kind)
		w.exec("CREATE TABLE v (a BIGINT, b VARCHAR, n INTEGER, s VARCHAR)", "INSERT INTO v SELECT i, 'k1', 0, NULL FROM range(12) t(i)")
		v := w.view("v", 0, 1)
		o := retract
		o.Upsert, o.Progress = true, true
		r := rand.New(rand.NewPCG(7, uint64(kind)))
		live := w.follow(v, o)
		for range 12 {
			keyed(w, r)
		}
		w.exec("UPDATE v SET n = 100")
		live.until(w.head())
		frames := live.frames
		// Another program puts a key twice, and the view undoes it: who has only keys gets the content again, twice.
		foreign := w.head() + 1
		w.source.other(foreign)
		w.exec("INSERT INTO v SELECT a, b, -1, 'foreign' FROM v")
		w.exec("CREATE TABLE other (i INTEGER)")
		w.exec("DELETE FROM v WHERE s = 'foreign'")
		healed := w.head()
		w.exec("UPDATE v SET n = 101")
		live.until(w.head())
		if live.frames != frames+2 {
			t.Errorf("%d frames came for a foreign commit and its healing", live.frames-frames)
		}
		for at := foreign - 3; at <= w.head(); at++ {
			from := w.follow(v, changelog.Options{AsOf: at, UpTo: w.head(), Upsert: true, Progress: true})
			from.at = at
			for row := range w.content(v, at) {
				from.byKey[from.key(row)] = row
			}
			from.rest()
			if from.at != w.head() {
				t.Errorf("from %d the stream ended at %d", at, from.at)
			}
		}
		t.Logf("foreign %d, healed %d; compared %d times", foreign, healed, live.compared)
		_, err := w.log.Request(w.view("v"), o)
		if fault.CodeOf(err) != fault.InvalidOption {
			t.Errorf("without a key: %v", err)
		}
	})
}

// Who begins by key while another program's rows are in the view has keys twice; the commit that undoes that says nothing of the rows that stay.
func TestSubscriberByKeyBeginsBeforeAViewIsHealed(t *testing.T) {
	w := newWorld(t, laketest.DuckDB)
	w.exec("CREATE TABLE v (a BIGINT, n INTEGER)", "INSERT INTO v SELECT i, 0 FROM range(12) t(i)")
	v := w.view("v", 0)
	v.Published = w.head()
	w.source.other(w.head() + 1)
	w.exec("INSERT INTO v SELECT a, -1 FROM v WHERE a < 6")
	o := retract
	o.Upsert, o.Progress = true, true
	live := w.follow(v, o)
	live.until(w.head())
	w.exec("DELETE FROM v WHERE n = -1", "UPDATE v SET n = 1 WHERE a > 8")
	live.until(w.head())
	if live.frames != 2 {
		t.Errorf("%d frames came", live.frames)
	}
}
