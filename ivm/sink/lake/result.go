package lake

import (
	"context"
	"errors"
	"slices"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// result is one view's table. What places say is the table as of seen; mark is behind it while somebody else's changes are in there that
// nobody was told of.
type result struct {
	s      *Sink
	uuid   string
	table  metadata.TableInfo
	layout *row.Layout
	schema *arrow.Schema
	names  *namer
	places *places

	seen   int64 // snapshot
	next   int64 // row id
	count  int64 // rows
	mark   stream.Mark
	theirs *fault.Error // what somebody else did, until Reload
	behind bool         // a commit was made, and where its rows lie is not known yet
	told   func(int)    // of rows that are read to find their places; nil: nobody
	sum    *rowSum      // of the rows as of seen; nil: not known, since some have come or gone after all were read
}

// Mark is where the result stands.
func (r *result) Mark() stream.Mark { return r.mark }

// Rows is how many rows the table has.
func (r *result) Rows() int64 { return r.count }

// Close ends the use of the result; its tables are the view's.
func (r *result) Close() error { return r.places.err() }

// Reload brings what is known up to the newest snapshot, what others wrote with it.
func (r *result) Reload(ctx context.Context) error {
	if err := r.catchUp(ctx, accepting); err != nil {
		return err
	}
	return r.places.err()
}

// Difference is what makes the content of what the table has. It may consolidate the content.
func (r *result) Difference(ctx context.Context, content *zset.Batch) (*zset.Batch, error) {
	for range tries {
		if err := r.Reload(ctx); err != nil {
			return nil, err
		}
		negative := func(w int64) bool { return w < 0 }
		if r.count == 0 && content.Len() >= manyRows && !slices.ContainsFunc(content.Weights, negative) {
			return content, nil // all rows come, so it does not matter that equal ones come one by one
		}
		if r.sum != nil {
			of := &rowSum{names: r.names}
			if of.Add(content); r.sum.is(of) {
				return zset.New(r.layout), nil // large contents are not put in order to find that they are the same
			}
		}
		content.Consolidate()
		if i := slices.IndexFunc(content.Weights, negative); i >= 0 {
			return nil, fault.InternalError.Newf("the content of a view has a row %d times: %s", content.Weights[i], r.layout.Format(content.Row(i), content.Heap))
		}
		if r.count == 0 {
			return content, nil
		}
		out, err := r.difference(ctx, content)
		if !errors.Is(err, errAgain) {
			return out, err
		}
	}
	return nil, busyTable(r.table)
}

// manyRows are not put in order without need.
const manyRows = 1 << 16

func (r *result) difference(ctx context.Context, content *zset.Batch) (*zset.Batch, error) {
	out := zset.New(r.layout)
	var visited []uint64 // a bit for each ref
	var extra []place
	byName := map[rowName]int64{} // how often rows of a name are wanted, where different rows share names; the first stands for all
	if r.names.shared() {
		for i, w := range content.Weights {
			byName[r.names.name(content.Row(i), content.Heap)] += w
		}
	}
	for i, w := range content.Weights {
		name := r.names.name(content.Row(i), content.Heap)
		if r.names.shared() {
			all, first := byName[name]
			if !first {
				continue
			}
			w = all
			delete(byName, name)
		}
		ref, ok := r.places.rows.Find(r.places.nameKey(name), nil)
		if !ok {
			out.Append(content.Row(i), content.Heap, w)
			continue
		}
		for int(ref>>6) >= len(visited) {
			visited = append(visited, make([]uint64, len(visited)+1024)...)
		}
		visited[ref>>6] |= 1 << (ref & 63)
		if have := r.places.countOf(ref); have != w {
			out.Append(content.Row(i), content.Heap, w-have)
		}
	}
	var c state.Cursor
	r.places.rows.Each(func(ref state.Ref) bool {
		if int(ref>>6) < len(visited) && visited[ref>>6]>>(ref&63)&1 == 1 {
			return true
		}
		r.places.rows.Scan(&c, ref)
		for c.Next() {
			if at := place(c.Row()[placeLayout.Off[0]]); r.places.live(at) {
				extra = append(extra, at)
			}
		}
		return true
	})
	if err := r.places.err(); err != nil || len(extra) == 0 {
		return out, err
	}
	return out, r.retract(ctx, extra, out)
}

// retract adds what lies at the places to out, taken back: what these rows are only the table knows.
func (r *result) retract(ctx context.Context, at []place, out *zset.Batch) error {
	slices.Sort(at)
	w := &wanted{inlined: map[int64]bool{}}
	for i, p := range at {
		if p.inlined() {
			w.inlined[p.rowID()] = true
		} else if i == 0 || at[i-1].file() != p.file() {
			w.files = append(w.files, p.file())
		}
	}
	p, err := r.look(ctx, r.seen)
	if err != nil {
		return err
	}
	if !p.known || p.class != metadata.Untouched {
		return errAgain
	}
	found := 0
	before := out.Len()
	err = r.read(ctx, p, w, false, func(words []uint64, h *row.Heap, places []place, _ []int64) error {
		for i, p := range places {
			if _, ok := slices.BinarySearch(at, p); ok {
				out.Append(words[i*r.layout.Words:(i+1)*r.layout.Words], h, -1)
				found++
			}
		}
		return nil
	})
	if err == nil && found != len(at) {
		err = fault.InternalError.Newf("%d of %d rows of %s.%s are where they were known to be", found, len(at), p.table.Schema, p.table.Name)
	}
	if err != nil {
		return err
	}
	if out.Len() > before {
		out.Consolidate()
	}
	return nil
}

func busyTable(t metadata.TableInfo) error {
	return fault.CommitConflict.Newf("table %s.%s was changed by others each time it was read", t.Schema, t.Name)
}
