package main

import "strings"

// workload is a view whose maintenance is measured.
type workload struct {
	name   string // in file names; the table's is in capitals
	what   string
	folder string // of the input
	tables []table
	view   string
	result string // columns of the result and their types, as read_csv wants them
	keys   string // what finds the keys that the view's state is kept by

	bar, aim map[int]float64 // changes a second on one core, by batch size
}

// table is a source. Each column is a field of the records with its tag.
type table struct {
	name    string
	tag     int32
	columns []column
}

type column struct {
	name string
	typ  string
	of   byte // which field: 'a', 'b' or 'c'
}

func rates(large, small float64) map[int]float64 { return map[int]float64{10_000: large, 100: small} }

var (
	groupTables = []table{{"t", 0, []column{{"id", "BIGINT", 'a'}, {"k", "BIGINT", 'b'}, {"v", "BIGINT", 'c'}}}}
	joinTables  = []table{
		{"o", 0, []column{{"id", "BIGINT", 'a'}, {"cid", "BIGINT", 'b'}, {"amt", "BIGINT", 'c'}}},
		{"c", 1, []column{{"cid", "BIGINT", 'a'}, {"region", "BIGINT", 'b'}}},
	}
)

const joinKeys = "SELECT cid FROM o UNION SELECT cid FROM c"

var workloads = []*workload{
	{
		name: "w1", what: "GROUP BY, 1000 groups; count, sum", folder: "w1", tables: groupTables,
		view:   "SELECT k, count(*) AS n, sum(v) AS s FROM t GROUP BY k",
		result: "{k: 'BIGINT', n: 'BIGINT', s: 'HUGEINT'}",
		keys:   "SELECT DISTINCT k FROM t",
		bar:    rates(3e6, 0.5e6), aim: rates(11e6, 2.6e6),
	},
	{
		name: "w1b", what: "100 k groups; count, sum, min, max, count distinct", folder: "w1b", tables: groupTables,
		view:   "SELECT k, count(*) AS n, sum(v) AS s, min(v) AS least, max(v) AS most, count(DISTINCT v % 100) AS d FROM t GROUP BY k",
		result: "{k: 'BIGINT', n: 'BIGINT', s: 'HUGEINT', least: 'BIGINT', most: 'BIGINT', d: 'BIGINT'}",
		keys:   "SELECT DISTINCT k FROM t",
		bar:    rates(200e3, 100e3), aim: rates(360e3, 200e3),
	},
	{
		name: "w2", what: "join, 1 M x 20 k", folder: "w2", tables: joinTables,
		view:   "SELECT c.region, o.id, o.amt FROM o JOIN c USING (cid)",
		result: "{region: 'BIGINT', id: 'BIGINT', amt: 'BIGINT'}",
		keys:   joinKeys,
		bar:    rates(900e3, 270e3), aim: rates(1.7e6, 1e6),
	},
	{
		name: "w2b", what: "join, then GROUP BY", folder: "w2", tables: joinTables,
		view:   "SELECT c.region, sum(o.amt) AS s FROM o JOIN c USING (cid) GROUP BY c.region",
		result: "{region: 'BIGINT', s: 'HUGEINT'}",
		keys:   joinKeys,
		bar:    rates(900e3, 140e3), aim: rates(1.5e6, 780e3),
	},
	{
		name: "w3", what: "left join", folder: "w2", tables: joinTables,
		view:   "SELECT o.id, o.cid, o.amt, c.region FROM o LEFT JOIN c USING (cid)",
		result: "{id: 'BIGINT', cid: 'BIGINT', amt: 'BIGINT', region: 'BIGINT'}",
		keys:   joinKeys,
		bar:    rates(700e3, 170e3), aim: rates(870e3, 490e3),
	},
	{
		name: "w4", what: "top 3 per group, 1000 groups", folder: "w1", tables: groupTables,
		view:   "SELECT k, id, v FROM t QUALIFY row_number() OVER (PARTITION BY k ORDER BY v DESC, id) <= 3",
		result: "{k: 'BIGINT', id: 'BIGINT', v: 'BIGINT'}",
		keys:   "SELECT DISTINCT k FROM t",
		bar:    rates(700e3, 90e3), aim: rates(1.7e6, 175e3),
	},
}

// The tables of Nexmark, with what any query reads of them.
var nexmarkTables = []table{
	{name: "person", columns: []column{{"id", "BIGINT", 0}, {"name", "VARCHAR", 0}, {"city", "VARCHAR", 0}, {"state", "VARCHAR", 0}, {"dateTime", "BIGINT", 0}}},
	{name: "auction", columns: []column{
		{"id", "BIGINT", 0}, {"itemName", "VARCHAR", 0}, {"description", "VARCHAR", 0}, {"initialBid", "BIGINT", 0}, {"reserve", "BIGINT", 0},
		{"dateTime", "BIGINT", 0}, {"expires", "BIGINT", 0}, {"seller", "BIGINT", 0}, {"category", "BIGINT", 0}, {"extra", "VARCHAR", 0},
	}},
	{name: "bid", columns: []column{
		{"auction", "BIGINT", 0}, {"bidder", "BIGINT", 0}, {"price", "BIGINT", 0}, {"channel", "VARCHAR", 0}, {"url", "VARCHAR", 0},
		{"dateTime", "BIGINT", 0}, {"extra", "VARCHAR", 0},
	}},
}

const (
	lotType   = "itemName: 'VARCHAR', description: 'VARCHAR', initialBid: 'BIGINT', reserve: 'BIGINT', opened: 'BIGINT', expires: 'BIGINT', seller: 'BIGINT', category: 'BIGINT', extra: 'VARCHAR'"
	lotKeys   = "SELECT id FROM auction UNION SELECT auction FROM bid"
	lotFields = "a.itemName, a.description, a.initialBid, a.reserve, a.dateTime AS opened, a.expires, a.seller, a.category, a.extra"
)

func nexmark(name, what, view, result, keys string, bar, aim float64) *workload {
	return &workload{
		name: name, what: what, folder: "nexmark", tables: nexmarkTables, view: view, result: result, keys: keys,
		bar: map[int]float64{10_000: bar}, aim: map[int]float64{10_000: aim},
	}
}

func init() {
	workloads = append(workloads,
		nexmark("q3", "Nexmark: local sellers",
			"SELECT p.name, p.city, p.state, a.id FROM auction a JOIN person p ON a.seller = p.id WHERE a.category = 10 AND p.state IN ('OR', 'ID', 'CA')",
			"{name: 'VARCHAR', city: 'VARCHAR', state: 'VARCHAR', id: 'BIGINT'}",
			"SELECT seller FROM auction WHERE category = 10 UNION SELECT id FROM person WHERE state IN ('OR', 'ID', 'CA')", 5e6, 40e6),
		nexmark("q4", "Nexmark: average closing price",
			`SELECT category, sum(final) // count(*) AS price FROM (
				SELECT a.id, a.category, max(b.price) AS final FROM auction a JOIN bid b ON a.id = b.auction
				WHERE b.dateTime BETWEEN a.dateTime AND a.expires GROUP BY a.id, a.category) GROUP BY category`,
			"{category: 'BIGINT', price: 'HUGEINT'}", lotKeys, 330e3, 1.9e6),
		nexmark("q5", "Nexmark: hot items",
			`WITH counts AS (SELECT auction, start, count(*) AS n FROM (
				SELECT auction, unnest([dateTime // 2000 * 2000, dateTime // 2000 * 2000 - 2000, dateTime // 2000 * 2000 - 4000,
					dateTime // 2000 * 2000 - 6000, dateTime // 2000 * 2000 - 8000]) AS start FROM bid) GROUP BY auction, start)
			 SELECT c.auction, c.n, c.start FROM counts c JOIN (SELECT start, max(n) AS most FROM counts GROUP BY start) m ON c.start = m.start AND c.n = m.most`,
			"{auction: 'BIGINT', n: 'BIGINT', start: 'BIGINT'}",
			"SELECT DISTINCT auction, dateTime // 2000 * 2000 - slide FROM bid, unnest([0, 2000, 4000, 6000, 8000]) s(slide)", 623e3, 2.1e6),
		nexmark("q7", "Nexmark: highest bid",
			`SELECT b.auction, b.price, b.bidder, b.dateTime, b.extra FROM bid b JOIN (
				SELECT dateTime // 10000 AS w, max(price) AS most FROM bid GROUP BY 1) m ON b.price = m.most AND b.dateTime // 10000 = m.w`,
			"{auction: 'BIGINT', price: 'BIGINT', bidder: 'BIGINT', dateTime: 'BIGINT', extra: 'VARCHAR'}", "SELECT DISTINCT dateTime // 10000, price FROM bid", 309e3, 1.04e6),
		nexmark("q9", "Nexmark: winning bids",
			"SELECT a.id, "+lotFields+`, b.auction, b.bidder, b.price, b.dateTime AS bid_at, b.extra AS bid_extra FROM auction a JOIN bid b ON a.id = b.auction
			 WHERE b.dateTime BETWEEN a.dateTime AND a.expires QUALIFY row_number() OVER (PARTITION BY a.id ORDER BY b.price DESC, b.dateTime) <= 1`,
			"{id: 'BIGINT', "+lotType+", auction: 'BIGINT', bidder: 'BIGINT', price: 'BIGINT', bid_at: 'BIGINT', bid_extra: 'VARCHAR'}", lotKeys, 118e3, 599e3),
		nexmark("q18", "Nexmark: last bid of a bidder",
			"SELECT auction, bidder, price, channel, url, dateTime, extra FROM bid QUALIFY row_number() OVER (PARTITION BY bidder, auction ORDER BY dateTime DESC) <= 1",
			"{auction: 'BIGINT', bidder: 'BIGINT', price: 'BIGINT', channel: 'VARCHAR', url: 'VARCHAR', dateTime: 'BIGINT', extra: 'VARCHAR'}", "SELECT DISTINCT auction, bidder FROM bid", 495e3, 496e3),
		nexmark("q20", "Nexmark: bids with their auctions",
			"SELECT b.auction, b.bidder, b.price, b.channel, b.url, b.dateTime, b.extra AS bid_extra, "+lotFields+" FROM bid b JOIN auction a ON b.auction = a.id WHERE a.category = 10",
			"{auction: 'BIGINT', bidder: 'BIGINT', price: 'BIGINT', channel: 'VARCHAR', url: 'VARCHAR', dateTime: 'BIGINT', bid_extra: 'VARCHAR', "+lotType+"}", lotKeys, 416e3, 544e3),
	)
}

func (w *workload) nexmark() bool { return w.folder == "nexmark" }

// label is the workload's name in the table.
func (w *workload) label() string { return strings.ToUpper(w.name[:1]) + w.name[1:] }

func workloadNamed(name string) *workload {
	for _, w := range workloads {
		if strings.EqualFold(w.name, name) {
			return w
		}
	}
	return nil
}
