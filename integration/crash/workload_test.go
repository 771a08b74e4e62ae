package crash

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"

	"github.com/vegadb/vega-flight/integration/process"
)

// batchRows is how many rows one ingest brings: a batch is there whole or not at all.
const batchRows = 100

// ledger is what clients know for sure, over all runs of the server.
type ledger struct {
	mu      sync.Mutex
	acked   map[int64]bool // ingested batches whose success was seen
	next    int64
	handles []*flight.FlightDescriptor // polls that were still running when last seen
	ops     int                        // operations that ended, well or not
}

func (l *ledger) nextBatch() int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	return l.next
}

func (l *ledger) ack(b int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.acked[b] = true
}

func (l *ledger) keep(d *flight.FlightDescriptor) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.handles = append(l.handles, d)
}

func (l *ledger) takeHandles() []*flight.FlightDescriptor {
	l.mu.Lock()
	defer l.mu.Unlock()
	h := l.handles
	l.handles = nil
	return h
}

func (l *ledger) done() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.ops++
}

// ingest appends one batch.
func ingest(ctx context.Context, c *process.Client, l *ledger) error {
	b := l.nextBatch()
	schema := arrow.NewSchema([]arrow.Field{{Name: "batch", Type: arrow.PrimitiveTypes.Int64, Nullable: true}, {Name: "i", Type: arrow.PrimitiveTypes.Int64, Nullable: true}}, nil)
	bld := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	defer bld.Release()
	for i := range batchRows {
		bld.Field(0).(*array.Int64Builder).Append(b)
		bld.Field(1).(*array.Int64Builder).Append(int64(i))
	}
	rec := bld.NewRecordBatch()
	defer rec.Release()
	r, err := array.NewRecordReader(schema, []arrow.RecordBatch{rec})
	if err != nil {
		return err
	}
	defer r.Release()
	if _, err := c.Ingest(ctx, "events", r); err != nil {
		return err
	}
	l.ack(b)
	return nil
}

const perBatch = "SELECT batch, count(*) AS n, sum(i) AS s FROM events GROUP BY batch"

// viewOperation does one random thing with views.
func viewOperation(ctx context.Context, c *process.Client, l *ledger, rnd *rand.Rand) error {
	exec := func(sql string) error { _, err := c.Query(ctx, sql); return err }
	switch rnd.IntN(6) {
	case 0:
		return exec("REFRESH MATERIALIZED VIEW per_batch WITH (full = true)")
	case 1:
		return exec("CREATE OR REPLACE MATERIALIZED VIEW replaced AS " + perBatch)
	case 2:
		name := fmt.Sprintf("short_%d", rnd.IntN(3))
		if err := exec("CREATE MATERIALIZED VIEW IF NOT EXISTS " + name + " AS " + perBatch); err != nil {
			return err
		}
		return exec("DROP MATERIALIZED VIEW IF EXISTS " + name)
	case 3:
		return exec("CREATE MATERIALIZED VIEW IF NOT EXISTS on_view AS SELECT n, count(*) AS batches FROM per_batch GROUP BY n")
	case 4:
		return exec("REFRESH MATERIALIZED VIEW on_view")
	default:
		return pollOnce(ctx, c, l, "REFRESH MATERIALIZED VIEW per_batch WITH (full = true)")
	}
}

// pollOnce submits a statement and remembers its handle, to ask for it in a later life of the server.
func pollOnce(ctx context.Context, c *process.Client, l *ledger, sql string) error {
	info, err := c.ExecutePoll(ctx, sql, nil)
	if err != nil {
		return err
	}
	if d := info.GetFlightDescriptor(); d != nil {
		l.keep(d)
	}
	return nil
}

// expected says which errors an operation may meet while others work on the same views or the server dies.
func expected(err error) bool {
	for _, s := range []string{"MATERIALIZED_VIEW_NOT_POPULATED", "MATERIALIZED_VIEW_NOT_FOUND", "REFRESH_CONFLICT", "COMMIT_CONFLICT", "CANCELLED",
		"MATERIALIZED_VIEW_EXISTS", "OBJECT_NOT_FOUND", "SOURCE_CHANGED", "DEPENDENT_VIEWS_EXIST", "JOB_INTERRUPTED",
		"Unavailable", "connection refused", "error reading from server", "EOF", "transport is closing", "Canceled"} {
		if strings.Contains(err.Error(), s) {
			return true
		}
	}
	return false
}
