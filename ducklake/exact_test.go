package ducklake_test

import (
	"fmt"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/laketest"
)

// Floating-point numbers are kept to the last bit and found by it, however they came into the lake.
func TestFloatsAreExactAndFound(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		c := connect(t, laketest.New(t, k))
		const odd = "'-0.11049315628702099'::DOUBLE"
		check := func(table, want string) {
			t.Helper()
			for _, where := range []string{"x = " + odd, "x >= " + odd + " AND x <= " + odd} {
				c.want(fmt.Sprintf("SELECT count(*) FROM %s WHERE %s", table, where), want)
			}
		}
		c.exec(`CREATE TABLE direct (x DOUBLE, f FLOAT)`)
		c.exec(`INSERT INTO direct VALUES (` + odd + `, '7.337741e-05')`)
		check("direct", "1")
		c.want(`SELECT count(*) FROM direct WHERE f = '7.337741e-05'::FLOAT`, "1")
		c.exec(`CREATE TABLE made AS SELECT ` + odd + ` AS x`)
		check("made", "1")
		c.exec(`INSERT INTO made FROM made`)
		c.exec(`UPDATE made SET x = x`)
		check("made", "2")
		c.exec(`CREATE TABLE grown (k INTEGER)`)
		c.exec(`INSERT INTO grown VALUES (1)`)
		c.exec(`ALTER TABLE grown ADD COLUMN x DOUBLE`)
		c.exec(`INSERT INTO grown VALUES (2, ` + odd + `)`)
		check("grown", "1")
	})
}

// Nested values are not kept as text in a PostgreSQL catalog, which would lose quotes or end the instance.
func TestNestedValuesAreExact(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		c := connect(t, laketest.New(t, k))
		c.exec(`CREATE TABLE n (s STRUCT(a VARCHAR, "b c" JSON), j JSON[])`)
		c.exec(`INSERT INTO n VALUES ({'a': 'it''s, "x"', 'b c': '{"k": 1}'}, ['{"a": [1,  2]}'])`)
		c.want(`SELECT s.a, s."b c", j[1] FROM n`, `it's, "x"|{"k": 1}|{"a": [1,  2]}`)
	})
}
