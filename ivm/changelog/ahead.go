package changelog

import (
	"context"
	"errors"
	"sort"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// aheadCommits is how many commits a subscriber that is behind has read at once: each reading of the feed costs about the same, however few
// rows a commit changed.
const (
	aheadCommits = 64
	firstAhead   = 8 // until it is known how much they change
)

// ahead are the commits that a view's subscriber comes to next, as they were read with one before them. It is guarded by the changelog's mu.
type ahead struct {
	changes map[int64]*zset.Batch // consolidated; by snapshot
	most    int                   // commits to read at once, after what was read last
}

// errMuch says that commits change more than is kept of those that come next.
var errMuch = errors.New("changelog: more rows than are read ahead")

// upcoming are the snapshots of commits behind one that can be read with it: they change rows, and nothing else.
func (s *Subscription) upcoming(first commit) (out []int64) {
	s.c.mu.Lock()
	commits, most := s.followed.commits, s.followed.ahead.most
	if s.position < s.followed.from {
		commits = s.own
	}
	for i := sort.Search(len(commits), func(i int) bool { return commits[i].snapshot >= first.snapshot }); i < len(commits) && len(out) < max(most, 1); i++ {
		c := commits[i]
		if !c.rows || c.schema || c.gone || c.foreign || s.opt.UpTo >= 0 && c.snapshot > s.opt.UpTo {
			break
		}
		out = append(out, c.snapshot)
	}
	s.c.mu.Unlock()
	return out
}

// readAhead reads the changes of commits that follow each other, keeps those of the later ones, and gives the first's; nil: that is to be
// read by itself.
func (c *Changelog) readAhead(ctx context.Context, r *Request, commits []int64) (*zset.Batch, error) {
	types := append(append([]row.Type(nil), r.layout.Types...), row.MustTypes("BIGINT")[0])
	reading := r.reading()
	reading.Layout, reading.Position = row.NewLayout(types...), len(r.layout.Types)
	by := make(map[int64]*zset.Batch, len(commits))
	for _, at := range commits {
		by[at] = zset.New(r.layout)
	}
	size := int64(0)
	err := c.Source.Changes(ctx, reading, commits[0]-1, commits[len(commits)-1], func(b *zset.Batch) error {
		for i, w := range b.Weights {
			from := b.Row(i)
			out := by[int64(from[b.Layout.Off[reading.Position]])]
			if out == nil {
				return errMuch // of a commit that is not known
			}
			to := out.AppendRow(w)
			for f := range r.layout.Types {
				r.layout.CopyField(to, f, out.Heap, b.Layout, from, f, b.Heap)
			}
		}
		size += int64(8*len(b.Words) + b.Heap.Size())
		if size > c.GivenBytes {
			return errMuch
		}
		return nil
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.views[r.view.UUID]
	if err != nil { // also if one of them cannot be read any more: the others may
		if f != nil {
			f.ahead.most = max(1, len(commits)/4)
		}
		return nil, nil
	}
	for _, b := range by {
		b.Consolidate()
	}
	if f != nil {
		f.ahead = ahead{changes: by, most: min(2*len(commits), aheadCommits)}
	}
	first := by[commits[0]]
	delete(by, commits[0])
	return first, nil
}

// takeAhead is what was read of a commit with those before it; once: who comes after has its tape, or reads it again.
func (c *Changelog) takeAhead(uuid string, snapshot int64) *zset.Batch {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.views[uuid]
	if f == nil {
		return nil
	}
	b := f.ahead.changes[snapshot]
	delete(f.ahead.changes, snapshot)
	return b
}
