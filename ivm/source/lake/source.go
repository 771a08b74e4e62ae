package lake

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/store"
	"github.com/vegadb/vega-flight/ivm/stream"
)

// Config is what a Source works with.
type Config struct {
	Lake *ducklake.Lake
	// Feeds is how many goroutines may read at the same time; 0 is 4.
	Feeds int
}

// Source implements stream.Source. It is safe for concurrent use.
type Source struct {
	Config
	feeds chan *reading // nil: one that is not opened yet
}

var _ stream.Source = (*Source)(nil)

// New makes a source; connections are opened when they are needed.
func New(c Config) *Source {
	if c.Feeds == 0 {
		c.Feeds = 4
	}
	s := &Source{Config: c, feeds: make(chan *reading, c.Feeds)}
	for range c.Feeds {
		s.feeds <- nil
	}
	return s
}

// closeWait bounds how long Close waits for who reads.
const closeWait = 10 * time.Second

// Close ends the connections, when nobody reads any more. One that is being read from for ever, since the catalog does not answer, is left.
func (s *Source) Close() error {
	var errs []error
	timer := time.NewTimer(closeWait)
	defer timer.Stop()
	for range s.Feeds {
		select {
		case r := <-s.feeds:
			if r != nil {
				errs = append(errs, r.close())
			}
		case <-timer.C:
			return errors.Join(append(errs, errReading)...)
		}
	}
	return errors.Join(errs...)
}

var errReading = fault.CatalogGone.Newf("somebody still reads what changes, and the catalog does not answer").
	WithHint("see whether the catalog can be reached")

// Head is the newest lake snapshot.
func (s *Source) Head(ctx context.Context) (int64, error) {
	at, err := s.Lake.Snapshot(ctx)
	return at.ID, err
}

// Watch gives the newest snapshot, now and whenever it grows.
func (s *Source) Watch(ctx context.Context) <-chan int64 { return s.Lake.Watch(ctx) }

// Commits tells what the snapshots in (from, to] did.
func (s *Source) Commits(ctx context.Context, from, to int64) ([]stream.Commit, error) {
	var changes []metadata.SnapshotChanges
	var sizes map[added]int64
	err := s.Lake.Store().View(ctx, func(tx metadata.Tx) (err error) {
		if changes, err = metadata.Changes(ctx, tx, from, to); err == nil && to-from > unsized {
			sizes, err = filed(ctx, tx, from, to)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	next := from + 1
	var out []stream.Commit
	for _, c := range changes {
		if c.ID != next {
			break
		}
		next++
		touched := touches(c)
		for id, t := range touched {
			t.Estimate = sizes[added{c.ID, id}]
			touched[id] = t
		}
		made := slices.ContainsFunc(c.Changes, func(ch metadata.Change) bool { return ch.ID == 0 })
		if len(touched) > 0 || made {
			out = append(out, stream.Commit{Snapshot: c.ID, Time: c.Time, Tables: touched, Made: made})
		}
	}
	if next <= to {
		return nil, fault.HistoryExpired.Newf("lake snapshot %d does not exist any more, and the changes since %d are needed", next, from)
	}
	return out, nil
}

// unsized is how many snapshots may be told of without looking how large they are: who is so near takes them at once.
const unsized = 8

// added names what a snapshot brought to a table.
type added struct{ snapshot, table int64 }

// filed counts the rows that came in files. Those in the catalog are few.
func filed(ctx context.Context, tx metadata.Tx, from, to int64) (map[added]int64, error) {
	rows, err := tx.Query(ctx, `SELECT begin_snapshot, table_id, CAST(sum(record_count) AS BIGINT) FROM {M}ducklake_data_file
		WHERE begin_snapshot > $1 AND begin_snapshot <= $2 GROUP BY begin_snapshot, table_id`, from, to)
	if err != nil {
		return nil, err
	}
	out := make(map[added]int64, len(rows))
	for _, values := range rows {
		var r metadata.Row
		r.Take(values)
		at := added{r.Int(), r.Int()}
		out[at] = r.Int()
		if r.Err() != nil {
			return nil, r.Err()
		}
	}
	return out, nil
}

// touches is what a snapshot did to each table that it names.
func touches(c metadata.SnapshotChanges) map[int64]stream.Touch {
	info, ours := c.Commit()
	ours = ours && info.Kind == metadata.CommitPublish
	out := map[int64]stream.Touch{}
	for _, change := range c.Changes {
		if change.ID == 0 {
			continue
		}
		if _, seen := out[change.ID]; seen {
			continue
		}
		class := c.Class(change.ID)
		t := stream.Touch{
			Rows: store.ChangesRows(c, change.ID), Schema: class == metadata.Altered, Gone: class == metadata.Dropped, Ours: ours,
		}
		if t.Rows || t.Schema || t.Gone {
			out[change.ID] = t
		}
	}
	return out
}

// Tables are the tables of these uuids at a snapshot.
func (s *Source) Tables(ctx context.Context, uuids []string, at int64) (map[string]catalog.Table, error) {
	wanted := map[string]bool{}
	for _, u := range uuids {
		wanted[u] = true
	}
	out := map[string]catalog.Table{}
	err := s.Lake.Store().View(ctx, func(tx metadata.Tx) error {
		infos, err := metadata.Tables(ctx, tx, metadata.Filter{At: at})
		for _, t := range infos {
			if wanted[t.UUID] {
				out[t.UUID] = store.Table(t)
			}
		}
		return err
	})
	return out, err
}
