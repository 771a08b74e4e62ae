package crash

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

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

// operation is one thing that a client does, with the refusals it may meet because another client works on the same view.
type operation struct {
	name string
	run  func(ctx context.Context, c *process.Client) error
	may  []string
}

// viewOperation is one random thing done with views.
func viewOperation(l *ledger, rnd *rand.Rand) operation {
	exec := func(sql string, may ...string) operation {
		return operation{sql, func(ctx context.Context, c *process.Client) error { _, err := c.Query(ctx, sql); return err }, may}
	}
	short := fmt.Sprintf("short_%d", rnd.IntN(3))
	switch rnd.IntN(7) {
	case 0:
		return exec("REFRESH MATERIALIZED VIEW per_batch WITH (full = true)")
	case 1:
		return exec("CREATE OR REPLACE MATERIALIZED VIEW replaced AS " + perBatch)
	case 2: // the other client may drop it while its first content is made
		return exec("CREATE MATERIALIZED VIEW IF NOT EXISTS "+short+" AS "+perBatch, "CANCELLED", "MATERIALIZED_VIEW_NOT_FOUND")
	case 3:
		return exec("DROP MATERIALIZED VIEW IF EXISTS " + short)
	case 4:
		return exec("CREATE MATERIALIZED VIEW IF NOT EXISTS on_view AS SELECT n, count(*) AS batches FROM per_batch GROUP BY n")
	case 5: // until it is made
		return exec("REFRESH MATERIALIZED VIEW on_view", "MATERIALIZED_VIEW_NOT_FOUND")
	default:
		const sql = "REFRESH MATERIALIZED VIEW per_batch WITH (full = true)"
		return operation{"submit " + sql, func(ctx context.Context, c *process.Client) error { return pollOnce(ctx, c, l, sql) }, nil}
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

// allowed says whether a server that lives may answer so.
func allowed(err error, names ...string) bool {
	return err == nil || slices.Contains(names, process.Code(err))
}

// severed says whether an error is what a client sees of a server that is gone: no name of ours, and the transport's word for it.
func severed(err error) bool {
	code := status.Code(err)
	return process.Code(err) == "" && (code == codes.Unavailable || code == codes.Canceled || errors.Is(err, io.EOF) || errors.Is(err, context.Canceled))
}
