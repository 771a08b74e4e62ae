package flightsql

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/fault"
)

// A client's threads share its session. What one of them runs for many rows of parameters is a transaction of that call: what others send
// while it is under way is neither part of it nor in its way.
func TestManyRowsOfParametersAmongOtherStatements(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE SCHEMA s")
	c.must("USE s")
	c.must("CREATE TABLE s.a (i BIGINT)")
	c.must("CREATE TABLE s.b (i BIGINT)")
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}}, nil)
	p := c.prepare("INSERT INTO a VALUES (CASE WHEN ? = 99 THEN 'no number' ELSE '1' END::BIGINT)")
	rows := &paused{schema: schema, asked: make(chan struct{}), next: make(chan arrow.RecordBatch)}
	p.SetRecordReader(rows)
	ended := make(chan error, 1)
	go func() {
		_, err := p.ExecuteUpdate(c.ctx())
		ended <- err
	}()
	<-rows.asked
	rows.next <- table(t, schema, `[{"i": 1}]`)
	<-rows.asked // the first row is on its way
	c.must("INSERT INTO b VALUES (1)")
	equal(t, "rows of another statement", c.value("SELECT count(*) FROM b"), "1")
	equal(t, "rows that are not committed", c.value("SELECT count(*) FROM a"), "0")
	rows.next <- table(t, schema, `[{"i": 99}]`)
	<-rows.asked
	close(rows.next)
	wants(t, <-ended, fault.SQLError)
	equal(t, "rows of what failed", c.value("SELECT count(*) FROM a"), "0")
	equal(t, "rows of another statement afterwards", c.value("SELECT count(*) FROM b"), "1")
}

func TestThreadsShareASession(t *testing.T) {
	h := open(t)
	c := h.client("ann")
	c.must("CREATE TABLE t (i BIGINT)")
	schema := arrow.NewSchema([]arrow.Field{{Name: "i", Type: arrow.PrimitiveTypes.Int64}}, nil)
	const threads, each = 6, 4
	errs := make([]error, threads)
	var group sync.WaitGroup
	for n := range threads {
		batch := table(t, schema, fmt.Sprintf(`[{"i": %d}, {"i": %d}]`, n, n))
		group.Go(func() {
			for range each {
				_, err := c.executemany("INSERT INTO t VALUES (?)", batch)
				_, read := c.try("SELECT count(*) FROM t")
				errs[n] = errors.Join(errs[n], err, read)
			}
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Fatal(err)
	}
	equal(t, "rows", c.value("SELECT count(*) FROM t"), fmt.Sprint(2*threads*each))
}

// paused gives rows when it is told to, and says when it is asked for them.
type paused struct {
	array.RecordReader
	schema *arrow.Schema
	asked  chan struct{}
	next   chan arrow.RecordBatch
	batch  arrow.RecordBatch
}

func (p *paused) Retain()                        {}
func (p *paused) Release()                       {}
func (p *paused) Err() error                     { return nil }
func (p *paused) Schema() *arrow.Schema          { return p.schema }
func (p *paused) RecordBatch() arrow.RecordBatch { return p.batch }

func (p *paused) Next() (ok bool) {
	p.asked <- struct{}{}
	p.batch, ok = <-p.next
	return ok
}
