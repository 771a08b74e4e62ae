package stream_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// accounts is money that moves, seen through views of views of which the last is zero at any time.
func accounts(l *lab) {
	l.exec("CREATE TABLE transactions (id BIGINT, from_account BIGINT, to_account BIGINT, amount DECIMAL(18,2), ok BOOLEAN)")
	for _, v := range [][2]string{
		{"accepted", "SELECT * FROM transactions WHERE ok"},
		{"credits", "SELECT to_account AS account, sum(amount) AS credits FROM accepted GROUP BY 1"},
		{"debits", "SELECT from_account AS account, sum(amount) AS debits FROM accepted GROUP BY 1"},
		{"balance", "SELECT coalesce(c.account, d.account) AS account, coalesce(credits, 0) - coalesce(debits, 0) AS balance FROM credits c FULL JOIN debits d ON c.account = d.account"},
		{"outer_join", "SELECT a.id, b.id AS other FROM accepted a LEFT JOIN accepted b ON a.to_account = b.from_account AND a.amount = b.amount"},
		{"total", "SELECT coalesce(sum(balance), 0) AS total FROM balance"},
	} {
		l.view(v[0], v[1])
	}
	l.check()
}

// torn counts what no reader may see: a total that is not zero, or views that are of different times.
const torn = `SELECT count(*) FROM (SELECT (SELECT total FROM total%[1]s) AS total, (SELECT coalesce(sum(balance), 0) FROM balance%[1]s) AS balance,
	(SELECT coalesce(sum(credits), 0) FROM credits%[1]s) - (SELECT coalesce(sum(debits), 0) FROM debits%[1]s) AS moved,
	(SELECT coalesce(sum(amount), 0) FROM accepted%[1]s) - (SELECT coalesce(sum(credits), 0) FROM credits%[1]s) AS unseen,
	(SELECT count(DISTINCT id) FROM outer_join%[1]s) - (SELECT count(DISTINCT id) FROM accepted%[1]s) AS unjoined)
	WHERE total <> 0 OR balance <> 0 OR moved <> 0 OR unseen <> 0 OR unjoined <> 0`

func TestTotalsAreZeroAtEverySnapshot(t *testing.T) {
	laketest.Each(t, func(t *testing.T, kind laketest.Kind) {
		l := newLab(t, kind)
		accounts(l)
		first := l.head()
		ctx, stop := context.WithCancel(t.Context())
		var readers errgroup.Group
		for range 4 {
			readers.Go(func() error { return l.readTotals(ctx) })
		}
		r := rand.New(rand.NewPCG(1, 3))
		for id := range 40 {
			switch r.IntN(6) {
			case 0:
				l.exec(fmt.Sprintf("UPDATE transactions SET ok = NOT ok WHERE id %% 7 = %d", r.IntN(7)))
			case 1:
				l.exec(fmt.Sprintf("UPDATE transactions SET amount = amount + 1, from_account = %d WHERE id %% 5 = %d", r.IntN(10), r.IntN(5)))
			case 2:
				l.exec(fmt.Sprintf("DELETE FROM transactions WHERE id %% 9 = %d", r.IntN(9)))
			default:
				l.exec(fmt.Sprintf("INSERT INTO transactions SELECT %d + i, i * 7 %% 10, i * 3 %% 10, i %% 13 + 0.5, i %% 5 <> 0 FROM range(20) r(i)", id*20))
			}
		}
		l.settle()
		stop()
		if err := readers.Wait(); err != nil {
			t.Error(err)
		}
		l.check()
		last, published := l.head(), 0
		for at := first; at <= last; at++ {
			published++
			if got := l.rowsOf(fmt.Sprintf(torn, fmt.Sprintf(" AT (VERSION => %d)", at))); got[0][0] != int64(0) {
				t.Errorf("at snapshot %d the views are of different times", at)
			}
		}
		t.Logf("%d snapshots", published)
	})
}

// head is the newest snapshot.
func (l *lab) head() int64 {
	l.t.Helper()
	s, err := l.lake.Snapshot(l.ctx)
	l.must(err)
	return s.ID
}

// readTotals is the goroutine of one reader.
func (l *lab) readTotals(ctx context.Context) error {
	conn, release, err := l.acquire(l.ctx)
	if err != nil {
		return err
	}
	defer release()
	reads := 0
	for ctx.Err() == nil {
		rows, err := conn.Rows(l.ctx, fmt.Sprintf(torn, ""))
		if err != nil {
			return err
		}
		if reads++; rows[0][0] != int64(0) {
			return fmt.Errorf("read %d is of views of different times", reads)
		}
	}
	l.t.Logf("%d reads", reads)
	return nil
}
