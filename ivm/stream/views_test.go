package stream_test

import (
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

func TestViewsFollow(t *testing.T) {
	l := newLab(t, laketest.DuckDB)
	l.exec("CREATE TABLE o (id BIGINT, k BIGINT, v BIGINT)", "INSERT INTO o SELECT i, i % 5, i FROM range(100) r(i)", "CREATE TABLE c (k BIGINT, name VARCHAR)",
		"INSERT INTO c SELECT i, 'c' || i FROM range(4) r(i)")
	l.view("sums", "SELECT k, count(*) AS n, sum(v) AS s FROM o GROUP BY k")
	l.view("names", "SELECT o.id, c.name FROM o LEFT JOIN c ON o.k = c.k")
	l.check()
	for _, sql := range []string{
		"INSERT INTO o VALUES (100, 7, 3)", "DELETE FROM o WHERE id = 5", "UPDATE o SET k = 2 WHERE id < 10", "INSERT INTO c VALUES (4, 'four')",
		"DELETE FROM c WHERE k = 0", "DELETE FROM o WHERE k = 7",
	} {
		l.exec(sql)
		l.check()
	}
	l.view("total", "SELECT sum(n) AS n, sum(s) AS s FROM sums")
	l.check()
	for _, sql := range []string{"INSERT INTO o SELECT i, i % 9, i FROM range(1000, 3000) r(i)", "DELETE FROM o WHERE id % 3 = 0", "UPDATE c SET name = 'x'"} {
		l.exec(sql)
		l.check()
	}
	l.stop()
	l.exec("INSERT INTO o VALUES (-1, 1, 1)")
	l.start()
	l.check()
}
