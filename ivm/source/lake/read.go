package lake

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"

	"github.com/vegadb/vega-flight/ducklake/feed"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// keptReaders is how many tables' readers one connection keeps.
const keptReaders = 64

// reading is one feed with the readers it has.
type reading struct {
	feed    *feed.Feed
	readers map[string]*feed.Reader
	order   []string // the one that was used last at the end
}

func (r *reading) close() error {
	var errs []error
	for _, x := range r.readers {
		errs = append(errs, x.Close())
	}
	return errors.Join(append(errs, r.feed.Close())...)
}

// with gives f a feed of its own. A feed that failed is not used again.
func (s *Source) with(ctx context.Context, f func(*reading) error) (err error) {
	var r *reading
	select {
	case r = <-s.feeds:
	case <-ctx.Done():
		return ctx.Err()
	}
	defer func() { s.feeds <- r }()
	if r == nil {
		opened, err := s.Lake.NewFeed(ctx)
		if err != nil {
			return err
		}
		r = &reading{feed: opened, readers: map[string]*feed.Reader{}}
	}
	if err = f(r); err != nil {
		err = errors.Join(err, r.close())
		r = nil
	}
	return err
}

// reader is the one for what is to be read.
func (r *reading) reader(ctx context.Context, s *Source, spec stream.Reading, at int64) (*feed.Reader, error) {
	key := keyOf(spec)
	if x := r.readers[key]; x != nil {
		for i, k := range r.order {
			if k == key {
				r.order = append(append(r.order[:i:i], r.order[i+1:]...), key)
				break
			}
		}
		return x, nil
	}
	table, columns, err := s.find(ctx, spec, at)
	if err != nil {
		return nil, err
	}
	if len(r.order) >= keptReaders {
		old := r.order[0]
		err = r.readers[old].Close()
		delete(r.readers, old)
		r.order = r.order[1:]
		if err != nil {
			return nil, err
		}
	}
	x, err := r.feed.OpenAfter(ctx, table, columns, spec.After)
	if err != nil {
		return nil, err
	}
	r.readers[key] = x
	r.order = append(r.order, key)
	return x, nil
}

func keyOf(spec stream.Reading) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s after %d", spec.TableID, spec.UUID, spec.After)
	for _, c := range spec.Columns {
		fmt.Fprintf(&b, " %d %s", c.ID, c.Type)
	}
	return b.String()
}

// find is the table and the columns to read, as they are at a snapshot.
func (s *Source) find(ctx context.Context, spec stream.Reading, at int64) (metadata.TableInfo, []metadata.ColumnInfo, error) {
	var t metadata.TableInfo
	err := s.Lake.Store().View(ctx, func(tx metadata.Tx) error {
		var found bool
		var err error
		t, found, err = metadata.TableByID(ctx, tx, spec.TableID, at)
		if err == nil && (!found || t.UUID != spec.UUID) {
			err = fault.SourceChanged.Newf("table %s was dropped", spec.Name)
		}
		return err
	})
	columns := make([]metadata.ColumnInfo, 0, len(spec.Columns))
	for _, want := range spec.Columns {
		found := false
		for _, c := range t.Columns {
			if c.ID == want.ID {
				columns, found = append(columns, c), true
			}
		}
		if err == nil && !found {
			err = fault.SourceChanged.Newf("column %s of table %s was dropped", want.Name, spec.Name)
		}
	}
	return t, columns, err
}

// Changes gives the change of a table over (from, to].
func (s *Source) Changes(ctx context.Context, spec stream.Reading, from, to int64, take func(*zset.Batch) error) error {
	return s.with(ctx, func(r *reading) error {
		x, err := r.reader(ctx, s, spec, to)
		if err != nil {
			return err
		}
		rows, err := x.Read(ctx, from, to)
		if err != nil {
			return err
		}
		return drain(rows, spec, take)
	})
}

// Content gives a table's rows at a snapshot. Those that began after one are what has become of them since.
func (s *Source) Content(ctx context.Context, spec stream.Reading, at int64, take func(*zset.Batch) error) error {
	if spec.After > 0 {
		return s.Changes(ctx, spec, spec.After, at, take)
	}
	return s.with(ctx, func(r *reading) error {
		x, err := r.reader(ctx, s, spec, at)
		if err != nil {
			return err
		}
		rows, err := x.Content(ctx, at)
		if err != nil {
			return err
		}
		return drain(rows, spec, take)
	})
}

// drain gives all rows of a stream.
func drain(rows *feed.Stream, spec stream.Reading, take func(*zset.Batch) error) (err error) {
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := zset.New(spec.Layout)
	for rows.Next() {
		out.Reset()
		if err := fill(out, rows.RecordBatch(), spec); err != nil {
			return err
		}
		if err := take(out); err != nil {
			return err
		}
	}
	return rows.Err()
}

// fill puts the rows of a batch, whose first columns are snapshot and weight, into rows of the engine.
func fill(out *zset.Batch, rec arrow.RecordBatch, spec stream.Reading) error {
	snapshots, ok1 := rec.Column(0).(*array.Int64)
	weights, ok2 := rec.Column(1).(*array.Int64)
	if !ok1 || !ok2 {
		return fmt.Errorf("lake: a feed's batch is %v", rec.Schema())
	}
	l := spec.Layout
	words, added := l.Grow(out.Words, int(rec.NumRows()))
	out.Words = words
	out.Weights = append(out.Weights, weights.Int64Values()...)
	fields := len(spec.Columns)
	for i := range fields {
		if err := l.FromColumn(added, i, out.Heap, rec.Column(i+2)); err != nil {
			return fmt.Errorf("column %s of table %s: %w", spec.Columns[i].Name, spec.Name, err)
		}
	}
	if spec.Position >= 0 {
		for i, at := range snapshots.Int64Values() {
			l.Set(added[i*l.Words:(i+1)*l.Words], spec.Position, uint64(at))
		}
	}
	return nil
}
