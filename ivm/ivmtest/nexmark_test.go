package ivmtest

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// auctionHouse is a Nexmark event stream: of 50 events one is a person, three are auctions, 46 are bids. Equal seeds give equal streams.
type auctionHouse struct {
	r    *rand.Rand
	next int64 // number of the next event
}

const (
	firstID       = 1000
	firstCategory = 10
)

func newAuctionHouse(seed uint64) *auctionHouse {
	return &auctionHouse{r: rand.New(rand.NewPCG(seed, 0))}
}

func (h *auctionHouse) price() int64 { return int64(math.Round(math.Pow(10, h.r.Float64()*6) * 100)) }

// at is the time of an event: ten in a second.
func (h *auctionHouse) at(n int64) string {
	return fmt.Sprintf("(TIMESTAMP '2024-05-01 23:59:30' + INTERVAL (%d) MILLISECOND)", n*100)
}

// lastPerson and lastAuction are the newest numbers before event n.
func lastPerson(n int64) int64  { return firstID + n/50 }
func lastAuction(n int64) int64 { return firstID + n/50*3 + min(max(n%50-1, 0), 2) }

// some is one of the newest, often the hot one.
func (h *auctionHouse) some(last, active, hot int64) int64 {
	if h.r.Int64N(hot) > 0 {
		return max(firstID, last/100*100)
	}
	return max(firstID, last-h.r.Int64N(active))
}

// events writes the next n events as INSERTs.
func (h *auctionHouse) events(n int) string {
	var people, auctions, bids []string
	states := []string{"AZ", "CA", "ID", "OR", "WA", "WY"}
	channels := []string{"Google", "Facebook", "Baidu", "Apple"}
	for range n {
		e := h.next
		h.next++
		switch {
		case e%50 == 0:
			people = append(people, fmt.Sprintf("(%d, 'person %d', '%s', %s)", lastPerson(e), e%17, states[h.r.IntN(len(states))], h.at(e)))
		case e%50 <= 3:
			initial := h.price()
			auctions = append(auctions, fmt.Sprintf("(%d, 'item %d', %d, %d, %s, %s, %d, %d)", lastAuction(e), e%23, initial, initial+h.price(), h.at(e),
				h.at(e+20+h.r.Int64N(200)), h.some(lastPerson(e), 10, 4), firstCategory+h.r.Int64N(5)))
		default:
			channel := fmt.Sprintf("channel-%d", h.r.IntN(100))
			if h.r.IntN(2) > 0 {
				channel = channels[h.r.IntN(len(channels))]
			}
			bids = append(bids, fmt.Sprintf("(%d, %d, %d, '%s', 'https://www.nexmark.com/%s/item.htm?query=1&channel_id=%d', %s)", h.some(lastAuction(e), 20, 2), h.some(lastPerson(e), 30, 4),
				h.price(), channel, strings.ToLower(channel), h.r.IntN(1000), h.at(e)))
		}
	}
	var out []string
	for table, rows := range map[string][]string{"person": people, "auction": auctions, "bid": bids} {
		if len(rows) > 0 {
			out = append(out, "INSERT INTO "+table+" VALUES "+strings.Join(rows, ", "))
		}
	}
	return strings.Join(out, ";\n")
}

// nexmarkQueries are Nexmark's, as DuckDB says them, and with orders made total.
var nexmarkQueries = []struct{ name, sql string }{
	{"q0", `SELECT auction, bidder, price, ts FROM bid`},
	{"q1", `SELECT auction, bidder, 0.908 * price AS price, ts FROM bid`},
	{"q2", `SELECT auction, price FROM bid WHERE auction % 123 = 0`},
	{"q3", `SELECT p.name, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')`},
	{"q4", `SELECT category, avg(final) AS average FROM (SELECT max(b.price) AS final, a.category FROM auction a JOIN bid b ON a.id = b.auction
		WHERE b.ts BETWEEN a.ts AND a.expires GROUP BY a.id, a.category) GROUP BY category`},
	{"q5", `WITH counts AS (SELECT auction, w, count(*) AS num FROM (SELECT auction, unnest(generate_series(time_bucket(INTERVAL 2 SECOND, ts) - INTERVAL 8 SECOND,
			time_bucket(INTERVAL 2 SECOND, ts), INTERVAL 2 SECOND)) AS w FROM bid) GROUP BY auction, w)
		SELECT c.auction, c.num, c.w FROM counts c JOIN (SELECT w, max(num) AS maxn FROM counts GROUP BY w) m ON c.w = m.w AND c.num >= m.maxn`},
	{"q6", `SELECT seller, id, avg(final) OVER (PARTITION BY seller ORDER BY closed, id ROWS BETWEEN 9 PRECEDING AND CURRENT ROW) AS average
		FROM (SELECT a.seller, a.id, max(b.price) AS final, max(b.ts) AS closed FROM auction a JOIN bid b ON a.id = b.auction WHERE b.ts BETWEEN a.ts AND a.expires GROUP BY a.id, a.seller)`},
	{"q7", `SELECT b.auction, b.price, b.bidder, b.ts FROM bid b JOIN (SELECT time_bucket(INTERVAL 10 SECOND, ts) AS w, max(price) AS maxprice FROM bid GROUP BY w) m
		ON b.price = m.maxprice AND time_bucket(INTERVAL 10 SECOND, b.ts) = m.w`},
	{"q8", `SELECT p.id, p.name, p.w FROM (SELECT DISTINCT id, name, time_bucket(INTERVAL 10 SECOND, ts) AS w FROM person) p
		JOIN (SELECT DISTINCT seller, time_bucket(INTERVAL 10 SECOND, ts) AS w FROM auction) a ON p.id = a.seller AND p.w = a.w`},
	{"q9", `SELECT * FROM (SELECT a.id, a.item, a.seller, b.auction, b.bidder, b.price, b.ts AS bid_ts FROM auction a JOIN bid b ON a.id = b.auction WHERE b.ts BETWEEN a.ts AND a.expires)
		QUALIFY row_number() OVER (PARTITION BY id ORDER BY price DESC, bid_ts, bidder, auction, item, seller) <= 1`},
	{"q11", `SELECT bidder, session, count(*) AS n, min(ts) AS starts, max(ts) AS ends FROM (SELECT bidder, ts, sum(fresh) OVER (PARTITION BY bidder ORDER BY ts RANGE UNBOUNDED PRECEDING) AS session
		FROM (SELECT bidder, ts, CASE WHEN ts - lag(ts) OVER (PARTITION BY bidder ORDER BY ts, auction, price, channel, url) <= INTERVAL 10 SECOND THEN 0 ELSE 1 END AS fresh FROM bid)) GROUP BY bidder, session`},
	{"q15", `SELECT strftime(ts, '%Y-%m-%d') AS day, count(*) AS total, count(*) FILTER (WHERE price < 10000) AS rank1, count(*) FILTER (WHERE price >= 10000 AND price < 1000000) AS rank2,
		count(*) FILTER (WHERE price >= 1000000) AS rank3, count(DISTINCT bidder) AS bidders, count(DISTINCT bidder) FILTER (WHERE price < 10000) AS b1,
		count(DISTINCT bidder) FILTER (WHERE price >= 10000 AND price < 1000000) AS b2, count(DISTINCT auction) AS auctions, count(DISTINCT auction) FILTER (WHERE price >= 1000000) AS a3 FROM bid GROUP BY day`},
	{"q16", `SELECT channel, strftime(ts, '%Y-%m-%d') AS day, max(strftime(ts, '%H:%M')) AS minute, count(*) AS total, count(*) FILTER (WHERE price < 10000) AS rank1,
		count(DISTINCT bidder) AS bidders, count(DISTINCT auction) FILTER (WHERE price >= 10000) AS a2 FROM bid GROUP BY channel, day`},
	{"q17", `SELECT auction, strftime(ts, '%Y-%m-%d') AS day, count(*) AS total, count(*) FILTER (WHERE price < 10000) AS rank1, min(price) AS low, max(price) AS high, avg(price) AS average, sum(price) AS sum
		FROM bid GROUP BY auction, day`},
	{"q18", `SELECT * FROM bid QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY ts DESC, price, channel, url) <= 1`},
	{"q19", `SELECT *, row_number() OVER (PARTITION BY auction ORDER BY price DESC, ts, bidder, channel, url) AS place FROM bid QUALIFY place <= 10`},
	{"q20", `SELECT b.auction, b.bidder, b.price, b.channel, b.ts, a.item, a.initial, a.seller, a.category FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10`},
	{"q22", `SELECT auction, bidder, price, channel, split_part(url, '/', 4) AS dir1, split_part(url, '/', 5) AS dir2, split_part(url, '/', 6) AS dir3 FROM bid`},
}

func TestNexmark(t *testing.T) {
	l := newLab(t, nil)
	ctx := t.Context()
	w, err := l.World(ctx)
	if err != nil {
		t.Fatal(err)
	}
	w.Split = 3
	if err := w.Table(ctx, `CREATE TABLE person (id BIGINT, name VARCHAR, state VARCHAR, ts TIMESTAMP);
		CREATE TABLE auction (id BIGINT, item VARCHAR, initial BIGINT, reserve BIGINT, ts TIMESTAMP, expires TIMESTAMP, seller BIGINT, category BIGINT);
		CREATE TABLE bid (auction BIGINT, bidder BIGINT, price BIGINT, channel VARCHAR, url VARCHAR, ts TIMESTAMP)`, false); err != nil {
		t.Fatal(err)
	}
	house := newAuctionHouse(1)
	if err := w.Step(ctx, house.events(250)); err != nil {
		t.Fatal(err)
	}
	views := 0
	var refused []string
	for _, q := range nexmarkQueries {
		_, err := w.View(ctx, q.name, q.sql, Options{Exact: true})
		var why *Refused
		if err == nil {
			views++
			continue
		}
		if v := w.Named(q.name); v != nil {
			err = errors.Join(err, w.forget(v))
		}
		if errors.As(err, &why) {
			refused = append(refused, q.name+": "+why.Reasons[0].String())
			continue
		}
		t.Errorf("%s: %v", q.name, err)
	}
	steps := []string{house.events(1), house.events(50), house.events(500)}
	for i := range 6 { // streams only add; a lake also corrects
		steps = append(steps, house.events(100),
			fmt.Sprintf("DELETE FROM bid WHERE price %% 13 = %d", i), fmt.Sprintf("UPDATE auction SET category = 10 + (category + 1) %% 5, expires = expires + INTERVAL 5 SECOND WHERE id %% 7 = %d", i),
			fmt.Sprintf("UPDATE bid SET ts = ts + INTERVAL 3 SECOND, price = price + 1 WHERE auction %% 11 = %d; DELETE FROM person WHERE id %% 9 = %d", i, i))
	}
	for i, dml := range steps {
		if err := w.Exec(ctx, dml); err != nil {
			t.Fatal(err)
		}
		deltas, err := w.deltas(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range append([]*View{}, w.views...) {
			if err := v.step(ctx, deltas); err != nil {
				t.Errorf("step %d: %v", i+1, err)
				if err := w.forget(v); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	golden(t, refused)
	t.Logf("%d of %d queries, %d steps", views, len(nexmarkQueries), len(steps))
	if err := w.Close(ctx); err != nil {
		t.Error(err)
	}
}
