package lake

import (
	"context"
	"errors"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/refresh"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// Changes are taken one by one as long as they are few, or at most half as many as the view has rows; they are in memory meanwhile, so many are
// never.
const (
	fewChanges  = 1 << 16
	manyChanges = 1 << 20
)

// Increment computes how the content changes, and finds the rows that go: new rows cost what they are, old ones a scan of the view.
func (p *pinned) Increment(ctx context.Context, spec refresh.IncrementSpec) (refresh.Staged, bool, error) {
	if p.s.Change == nil {
		return nil, false, nil
	}
	v := spec.View
	now, err := p.s.current(ctx, v.UUID)
	if err != nil {
		return nil, false, err
	}
	ctx, why, leave := p.s.Lake.Bounded(ctx)
	defer leave()
	delta, ok, err := p.s.Change(ctx, v, spec.Tables, v.Published.Frontier.SourceVersion, p.version, min(max(fewChanges, now.Rows/2), manyChanges))
	if err != nil || !ok {
		return nil, false, why(err)
	}
	st, err := p.target(ctx, v.Table)
	if err != nil {
		return nil, false, err
	}
	in := &increment{s: p.s, delta: delta, st: st, uuid: v.UUID, job: spec.Job.ID}
	if err := in.stage(ctx, now.Rows); err != nil {
		st.release()
		if errors.Is(err, errOtherRows) {
			err = nil // somebody else wrote into the view: its whole content is made again
		}
		return nil, false, why(err)
	}
	return st, true, fail(p.s.Faults.Staged)
}

// errOtherRows says that a row to be taken away is not there.
var errOtherRows = errors.New("lake: the view has other rows than it was given")

// increment is a change of a view's content on its way to be staged.
type increment struct {
	s     *Sink
	delta *zset.Batch
	st    *staged
	uuid  string
	job   string
}

func (in *increment) stage(ctx context.Context, rows int64) error {
	comes, goes := int64(0), int64(0)
	for _, w := range in.delta.Weights {
		if w > 0 {
			comes += w
		} else {
			goes -= w
		}
	}
	total := rows + comes - goes
	in.st.rows, in.st.total, in.st.delta = comes, &total, &publish.Delta{}
	if err := in.arrive(ctx, comes); err != nil {
		return err
	}
	if goes == 0 {
		return nil
	}
	var err error
	if in.st.delta.Delete, in.st.seen, err = in.find(ctx, goes); err != nil {
		return err
	}
	in.st.delta.Relocate = func(ctx context.Context, why *publish.MovedError) ([]publish.Location, int64, error) {
		if why.Class != metadata.Relocated {
			return nil, 0, why
		}
		return in.find(ctx, goes)
	}
	return nil
}

// arrive makes the rows that come ready: a few for the catalog, more as files.
func (in *increment) arrive(ctx context.Context, comes int64) error {
	if comes == 0 {
		return nil
	}
	schema, err := arrowSchema(in.delta.Layout)
	if err != nil {
		return err
	}
	if comes > int64(in.s.Publisher.InlineRows) {
		rows := copiesOf(in.delta, schema, stageBatch)
		defer rows.Release()
		in.st.delta.Files, err = in.s.stageRows(ctx, rows, in.st.table, in.job, in.s.Fence())
		return err
	}
	rows := copiesOf(in.delta, schema, int(comes))
	defer rows.Release()
	if !rows.Next() {
		return errors.Join(rows.Err(), fault.InternalError.Newf("no rows came of %d", comes))
	}
	rows.RecordBatch().Retain()
	in.st.delta.Insert = []arrow.RecordBatch{rows.RecordBatch()}
	return nil
}

// find is where the rows lie that go.
func (in *increment) find(ctx context.Context, goes int64) (at []publish.Location, seen int64, err error) {
	names := newNamer(in.delta.Layout, in.uuid)
	gone := make(map[rowName]int64, len(in.delta.Weights))
	for i, w := range in.delta.Weights {
		if w < 0 {
			gone[names.name(in.delta.Row(i), in.delta.Heap)] -= w
		}
	}
	columns := make([]string, len(in.st.table.Columns))
	for i, c := range in.st.table.Columns {
		columns[i] = metadata.QuoteIdent(c.Name)
	}
	layout := in.delta.Layout
	var words []uint64
	var heap row.Heap
	err = in.s.reading(ctx, func(c *duck.Conn) (err error) {
		seen, err = in.s.Publisher.Locate(ctx, c, in.st.table, columns, "", func(b arrow.RecordBatch, lies []publish.Location) error {
			heap.Reset()
			if words, err = layout.FromArrow(words[:0], &heap, b); err != nil {
				return err
			}
			for i, l := range lies {
				name := names.name(words[i*layout.Words:(i+1)*layout.Words], &heap)
				if n := gone[name]; n > 0 {
					gone[name] = n - 1
					at = append(at, l)
				}
			}
			return nil
		})
		return err
	})
	if err == nil && int64(len(at)) != goes {
		err = errOtherRows
	}
	return at, seen, err
}
