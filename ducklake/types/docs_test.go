package types_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/types"
)

var update = flag.Bool("update", false, "write docs/types.md")

// documented are the rows of the table, in its order.
var documented = []string{
	"BOOLEAN", "TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "USMALLINT", "UINTEGER", "UBIGINT", "HUGEINT", "UHUGEINT", "BIGNUM",
	"DECIMAL(18,3)", "FLOAT", "DOUBLE", "VARCHAR", "BLOB", "UUID", "JSON", "BIT", "ENUM('a', 'b')",
	"DATE", "TIME", "TIME_NS", "TIME WITH TIME ZONE", "TIMESTAMP", "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS", "INTERVAL",
	"INTEGER[]", "INTEGER[3]", "STRUCT(a INTEGER)", "MAP(VARCHAR, INTEGER)", "UNION(a INTEGER, b VARCHAR)", "GEOMETRY", "VARIANT", `"NULL"`,
}

const docsHead = `# Types

What the lake does with each SQL type, and as what a result's column arrives. The table is made by a test that
writes edge values of every type into lakes of both catalogs, inlined and as files, and reads them back
after a flush, an update, a merge, and at older versions. Nested types follow their parts.

- **keep**: values come back unchanged.
- **map**: the lake would change some values; the type in the third column keeps them all. CREATE TABLE AS, bulk
  ingest and materialized views cast to it, and a value that does not fit is an error. CREATE TABLE with
  the type itself is refused with ` + "`UNSTABLE_TYPE`" + ` and the type to use.
- **refuse**: no type of the lake keeps the values as what they are; ` + "`UNSTABLE_TYPE`" + ` says what to write instead.

Inlined rows live in the catalog until they are flushed. "embedded" is the DuckDB-file catalog. Where the
table says no, rows go to files at once.

| SQL type | lake | kept as | inlined embedded | inlined PostgreSQL | Arrow type of results |
|---|---|---|---|---|---|
`

const docsTail = `
## Results

- Fields are nullable, and carry the SQL type as ` + "`ARROW:FLIGHT:SQL:TYPE_NAME`" + ` in their metadata.
- HUGEINT and UHUGEINT have up to 39 digits and arrive as decimal(38, 0): a value of 39 digits ends the result with
  a Conversion error. The sum of integers is a HUGEINT. So are the results of ` + "`//`, `<<` and `&`" + ` on it; in a
  materialized view, whose columns are DECIMAL(38,0), later operators are DECIMAL's: ` + "`//`, `<<` and `&`" + ` then need a cast.
- UUID, ENUM, BIT, BIGNUM and TIME WITH TIME ZONE arrive as text, since Arrow's types lose something or are not
  understood by clients. An INTERVAL of more than 292 years of microseconds is an error.
- A materialized view has no column of type GEOMETRY (` + "`" + `UNSTABLE_TYPE` + "`" + `): cast it to VARCHAR, or compute from it what is needed.
- On PostgreSQL catalogs inlined rows keep TIMESTAMP WITH TIME ZONE as text, which DuckDB writes with whole milliseconds only up to the
  years ±285,000, and cannot read for the last millisecond before infinity: do not store such values there.
- Text with U+0000 cannot be compared in a filter or a join key of a lake table: the lake's own query fails with ` + "`" + `SYNTAX_ERROR` + "`" + `.
- A NULL of a UNION arrives as the NULL of its first member. VARIANT must be cast.
- Infinite dates and timestamps are the ends of Arrow's range, as DuckDB stores them.

## Filters on FLOAT and DOUBLE

DuckLake 1.0 compares a filter's value as a decimal number with the least and greatest value of each file as
text, and can skip a file that has the rows. The server therefore keeps these bounds out of the catalog: it writes
none, and removes those of its users' and other clients' commits. A client that reads the lake without the server
between may meet them for a moment after a commit.

## −0.0 and NaN

Data files keep one zero where they have both, and PostgreSQL catalogs one NaN. Rows of a streaming view that differ only in the sign of a
zero or of a NaN, also inside a nested value, are therefore one row to the server when it finds the row that goes; as many of them are there as the query has,
and which sign each shows is not fixed. To SQL they are equal anyway: ` + "`0.0 = -0.0` and NaN = NaN" + `.
`

// docs/types.md is what the package decides.
func TestDocs(t *testing.T) {
	db, err := duck.Open("", duck.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	conn, err := db.Connect()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var b strings.Builder
	b.WriteString(docsHead)
	yes := map[bool]string{true: "yes", false: "no"}
	for _, typ := range documented {
		mapped, verdict := types.Lake(typ)
		stored, embedded, postgres := mapped, yes[types.Inlined(mapped, false)], yes[types.Inlined(mapped, true)]
		why, instead := types.Why(typ)
		switch verdict {
		case types.Keep:
			stored = "itself"
		case types.Map:
			stored += ": " + why
		case types.Refuse:
			stored, embedded, postgres = why+"; "+instead, "", ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s | %s | %s |\n", typ, verdict, stored, embedded, postgres, arrowType(t, conn, typ))
	}
	b.WriteString(docsTail)
	path := filepath.Join(laketest.Root(t), "docs", "types.md")
	if *update {
		if err := os.WriteFile(path, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != b.String() {
		t.Errorf("docs/types.md is not what the decisions say (run the test with -update): %v", err)
	}
}

func arrowType(t *testing.T, conn *duck.Conn, typ string) string {
	t.Helper()
	value := "NULL::" + typ
	if typ == `"NULL"` {
		value = "NULL"
	}
	s, err := conn.Prepare(context.Background(), "SELECT "+value+" AS x")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	schema, err := s.Schema()
	if err != nil {
		return "none: cast it"
	}
	return strings.ReplaceAll(schema.Field(0).Type.String(), "|", `\|`)
}
