package duck

import (
	"context"
	"os"
	"strconv"
	"strings"
	"testing"

	ddb "github.com/duckdb/duckdb-go-bindings"
)

const benchRows = 20_000_000

func benchTable(b *testing.B) *Conn {
	c := open(b)
	exec(b, c, "CREATE TABLE t AS SELECT i AS a, 'value ' || (i % 100000) AS b, (i * 7)::DECIMAL(38,2) AS c, i % 1000 AS d FROM range("+strconv.Itoa(benchRows)+") r(i)")
	return c
}

// resident is the process's memory in MiB.
func resident() float64 {
	data, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	kb, _ := strconv.Atoi(strings.Fields(rest)[0])
	return float64(kb) / 1024
}

func BenchmarkStream(b *testing.B) {
	c := benchTable(b)
	before := resident()
	for b.Loop() {
		r, err := c.Query(context.Background(), "FROM t")
		if err != nil {
			b.Fatal(err)
		}
		n := int64(0)
		for r.Next() {
			n += r.RecordBatch().NumRows()
		}
		if r.Err() != nil || n != benchRows {
			b.Fatal(n, r.Err())
		}
		r.Close()
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	b.ReportMetric(resident()-before, "MiB-grown")
}

// BenchmarkDuckDBExport is DuckDB's own way: a materialised result, converted
// chunk by chunk.
func BenchmarkDuckDBExport(b *testing.B) {
	c := benchTable(b)
	before := resident()
	for b.Loop() {
		exportAll(b, c, "FROM t", func(s *Stmt, res *ddb.Result) ddb.State { return ddb.ExecutePrepared(s.raw, res) })
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
	b.ReportMetric(resident()-before, "MiB-grown")
}

// BenchmarkDuckDBStream is DuckDB's stream, converted chunk by chunk.
func BenchmarkDuckDBStream(b *testing.B) {
	c := benchTable(b)
	for b.Loop() {
		exportAll(b, c, "FROM t", func(s *Stmt, res *ddb.Result) ddb.State {
			var pending ddb.PendingResult
			ddb.PendingPreparedStreaming(s.raw, &pending)
			defer ddb.DestroyPending(&pending)
			return ddb.ExecutePending(pending, res)
		})
	}
	b.ReportMetric(float64(benchRows)*float64(b.N)/b.Elapsed().Seconds()/1e6, "Mrows/s")
}

func exportAll(b *testing.B, c *Conn, sql string, run func(*Stmt, *ddb.Result) ddb.State) {
	s, err := c.Prepare(context.Background(), sql)
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var res ddb.Result
	if run(s, &res) == ddb.StateError {
		b.Fatal(ddb.ResultError(&res))
	}
	defer ddb.DestroyResult(&res)
	options := ddb.ResultGetArrowOptions(&res)
	defer ddb.DestroyArrowOptions(&options)
	var types []ddb.LogicalType
	var names []string
	for i := range ddb.ColumnCount(&res) {
		types, names = append(types, ddb.ColumnLogicalType(&res, i)), append(names, ddb.ColumnName(&res, i))
	}
	schema, ed := ddb.NewArrowSchema(options, types, names)
	ddb.DestroyErrorData(&ed)
	for i := range types {
		ddb.DestroyLogicalType(&types[i])
	}
	n := int64(0)
	for {
		chunk := ddb.FetchChunk(res)
		if chunk.Ptr == nil {
			break
		}
		rec, ed := ddb.DataChunkToArrowArray(options, schema, chunk)
		ddb.DestroyErrorData(&ed)
		n += rec.NumRows()
		rec.Release()
		ddb.DestroyDataChunk(&chunk)
	}
	if n != benchRows {
		b.Fatal(n)
	}
}

func BenchmarkSmallRows(b *testing.B) {
	c := open(b)
	for b.Loop() {
		rows(b, c, "SELECT 42, 'x'")
	}
}

func BenchmarkSmallRowsWithContext(b *testing.B) {
	c := open(b)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	for b.Loop() {
		if _, err := c.Rows(ctx, "SELECT 42, 'x'"); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkSmallPrepared(b *testing.B) {
	c := open(b)
	s, err := c.Prepare(context.Background(), "SELECT $1::BIGINT + 1")
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	for b.Loop() {
		r, err := s.Query(context.Background(), 1)
		if err != nil {
			b.Fatal(err)
		}
		for r.Next() {
		}
		r.Close()
	}
}

func BenchmarkIngest(b *testing.B) {
	c := open(b)
	for b.Loop() {
		src := newSource(b, 100, 50000)
		release, err := c.RegisterArrow("s", src)
		if err != nil {
			b.Fatal(err)
		}
		exec(b, c, "CREATE OR REPLACE TABLE t AS FROM s")
		release()
	}
	b.ReportMetric(5*float64(b.N)/b.Elapsed().Seconds(), "Mrows/s")
}
