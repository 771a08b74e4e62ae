package lake

import (
	"context"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/stream"
)

var _ stream.Stager = Results{}

// content is the whole of a result in files that no commit has yet.
type content struct {
	s     *Sink
	files *publish.Staged
	job   string
}

// Stage evaluates a query into files of a view's table.
func (o Results) Stage(ctx context.Context, spec stream.ResultSpec, query, timeZone string) (stream.Staged, error) {
	var table metadata.TableInfo
	if err := o.s.db.View(ctx, func(tx metadata.Tx) (err error) {
		table, err = tableOf(ctx, tx, spec.Table.ID, spec.Table.Name.String())
		return err
	}); err != nil {
		return nil, err
	}
	out := &content{s: o.s, job: uuid.NewString()}
	conn, release, err := o.s.Lake.Acquire(ctx, ducklake.Aside(timeZone))
	if err != nil {
		return nil, err
	}
	defer release()
	ctx, why, leave := o.s.Lake.Bounded(ctx)
	defer leave()
	if out.files, err = o.s.Publisher.Stage(ctx, conn, publish.StageSpec{Table: table, Query: query, JobID: out.job, Owner: o.s.Fence()}, nil); err != nil {
		return nil, evaluation(why(err))
	}
	return out, nil
}

// Rows is how many there are.
func (c *content) Rows() int64 { return c.files.Rows }

// Discard removes the files, unless they were committed.
func (c *content) Discard(ctx context.Context) error { return c.s.Publisher.Discard(ctx, c.job) }

// all makes a step the whole content: what the table has goes with its files.
func (st *step) all(of stream.Staged) error {
	c, ok := of.(*content)
	if !ok {
		return fault.InternalError.Newf("a content of view %s that was staged by somebody else: %T", st.pub.Swap.UUID, of)
	}
	st.whole = c
	return nil
}
