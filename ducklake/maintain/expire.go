package maintain

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// expireBatch bounds how many snapshots expire at once, since it runs under the commit lock.
const expireBatch = 200

// aged is a snapshot that may be old enough.
type aged struct {
	id   int64
	at   time.Time
	ours bool // only publications or maintenance of ours
}

// needs is what must stay.
type needs struct {
	newest int64
	// floor: this snapshot and all later ones are needed; newest if nothing else says so.
	floor int64
	exact map[int64]bool
	// unread: users' snapshots after this one are needed, because somebody has not looked at their changes yet; 0 if that matters to nobody.
	unread int64
	// readersSince is when the oldest reader began of those that read what was the newest then; zero if there is none.
	readersSince time.Time
	// filesSince is when the oldest of all readers began; zero if there is none. It may have any file open that was live then.
	filesSince time.Time
}

// policy says how old a snapshot must be to go.
type policy struct {
	now                time.Time
	publications, user time.Duration // user 0: never
}

// plan picks the snapshots to expire, oldest first. The list must have all snapshots up to the newest that can matter.
func plan(snapshots []aged, n needs, p policy) []int64 {
	floor := min(n.floor, n.newest)
	if !n.readersSince.IsZero() {
		// The newest snapshot that a reader from then may read, with room for a clock that a commit read earlier.
		began := n.readersSince.Add(-clockRoom)
		read := int64(0)
		for _, s := range snapshots {
			if !s.at.After(began) {
				read = max(read, s.id)
			}
		}
		floor = min(floor, read)
	}
	var out []int64
	for _, s := range snapshots {
		age := p.now.Sub(s.at)
		seen := n.unread == 0 || s.id <= n.unread
		old := s.ours && age > p.publications || seen && p.user > 0 && age > max(p.user, p.publications)
		if old && s.id < floor && !n.exact[s.id] {
			out = append(out, s.id)
		}
	}
	slices.Sort(out)
	return out
}

// clockRoom is how much later than its time a snapshot may become visible.
const clockRoom = 10 * time.Second

// readNeeds reads everything that keeps snapshots alive.
func (m *Maintainer) readNeeds(ctx context.Context, tx metadata.Tx) (n needs, now time.Time, err error) {
	if now, err = clock(ctx, tx); err != nil {
		return n, now, err
	}
	newest, err := metadata.Latest(ctx, tx)
	if err != nil {
		return n, now, err
	}
	n = needs{newest: newest.ID, floor: newest.ID, exact: map[int64]bool{newest.ID: true}}
	holds, err := Holds(ctx, tx)
	if err != nil {
		return n, now, err
	}
	for _, h := range holds {
		n.exact[h.Snapshot] = true
		if !h.Exact {
			n.floor = min(n.floor, h.Snapshot)
		}
	}
	// What a table's content is stays readable under its version.
	published, err := publish.AllPublished(ctx, tx)
	if err != nil {
		return n, now, err
	}
	for _, p := range published {
		n.exact[p.Snapshot] = true
	}
	if m.Unread != nil {
		if n.unread, err = m.Unread(ctx, tx); err != nil {
			return n, now, err
		}
	}
	if pins := m.Pins.Needs(); pins.Readers > 0 {
		if pins.Snapshot > 0 {
			n.floor = min(n.floor, pins.Snapshot)
		}
		if pins.Newest > 0 {
			n.readersSince = now.Add(-pins.Newest)
		}
		n.filesSince = now.Add(-pins.Any)
	}
	servers, err := m.Servers.list(ctx, tx)
	if err != nil {
		return n, now, err
	}
	for _, s := range servers {
		if s.ID == m.Owner.ServerID || s.PinnedSince.IsZero() || s.Expired {
			continue
		}
		if s.PinnedSnapshot > 0 {
			n.floor = min(n.floor, s.PinnedSnapshot)
		}
		n.readersSince, n.filesSince = earlier(n.readersSince, s.PinnedSince), earlier(n.filesSince, s.PinnedSince)
	}
	return n, now, nil
}

// earlier is the earlier of two times, of which the first may be zero for none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// expire removes snapshots nobody needs from the catalog. Their files are only marked.
func (m *Maintainer) expire(ctx context.Context, r *Report) error {
	for {
		due, err := m.due(ctx)
		if err != nil || !due {
			return err
		}
		ids, err := m.expireOnce(ctx)
		r.Expired = append(r.Expired, ids...)
		if err != nil || len(ids) == 0 {
			return err
		}
		if err := m.purgeAll(ctx, r); err != nil {
			return err
		}
		if len(ids) < expireBatch {
			return nil
		}
	}
}

// due looks without any lock whether there is something to expire.
func (m *Maintainer) due(ctx context.Context) (bool, error) {
	var ids []int64
	err := m.Store.View(ctx, func(tx metadata.Tx) (err error) {
		ids, err = m.choose(ctx, tx)
		return err
	})
	return len(ids) > 0, err
}

func (m *Maintainer) choose(ctx context.Context, tx metadata.Tx) ([]int64, error) {
	n, now, err := m.readNeeds(ctx, tx)
	if err != nil {
		return nil, err
	}
	rows, err := tx.Query(ctx, `SELECT s.snapshot_id, s.snapshot_time, c.commit_extra_info FROM {M}ducklake_snapshot s
		LEFT JOIN {M}ducklake_snapshot_changes c ON c.snapshot_id = s.snapshot_id
		WHERE s.snapshot_time < $1 ORDER BY s.snapshot_id`, now.Add(-m.PublicationRetention))
	if err != nil {
		return nil, err
	}
	snapshots := make([]aged, len(rows))
	for i, r := range rows {
		s := &snapshots[i]
		s.id, _ = r[0].(int64)
		s.at, _ = r[1].(time.Time)
		extra, _ := r[2].(string)
		if info, ok := metadata.ParseCommitInfo(extra); ok {
			s.ours = info.Kind == metadata.CommitPublish || info.Kind == metadata.CommitMaintain
		}
	}
	ids := plan(snapshots, n, policy{now: now, publications: m.PublicationRetention, user: m.UserRetention})
	return ids[:min(len(ids), expireBatch)], nil
}

// expireOnce chooses and expires. Holds cannot be added in between: on PostgreSQL they wait for the table lock, on a DuckDB
// file for the transaction.
func (m *Maintainer) expireOnce(ctx context.Context) ([]int64, error) {
	unlock, err := m.Lock.Lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var ids []int64
	err = m.Store.Update(ctx, func(tx metadata.Tx) error {
		if tx.Dialect() == metadata.PostgreSQL {
			if _, err := tx.Exec(ctx, `LOCK TABLE {M}vega_holds IN SHARE ROW EXCLUSIVE MODE`); err != nil {
				return err
			}
		}
		var err error
		if ids, err = m.choose(ctx, tx); err != nil || len(ids) == 0 {
			return err
		}
		list := strings.ReplaceAll(strings.Trim(fmt.Sprint(ids), "[]"), " ", ", ")
		return m.withConn(ctx, func(c *duck.Conn) error {
			_, err := c.Rows(ctx, `SELECT snapshot_id FROM ducklake_expire_snapshots(?, versions => [`+list+`]::UBIGINT[])`, m.Lake)
			return err
		})
	})
	return ids, err
}

func (m *Maintainer) purgeAll(ctx context.Context, r *Report) error {
	var tables []metadata.TableInfo
	err := m.Store.View(ctx, func(tx metadata.Tx) (err error) {
		tables, err = managed(ctx, tx)
		return err
	})
	errs := []error{err}
	for _, t := range tables {
		n, err := m.purge(ctx, t.ID)
		r.Purged += n
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

func (m *Maintainer) withConn(ctx context.Context, f func(*duck.Conn) error) error {
	c, release, err := m.Acquire(ctx)
	if err != nil {
		return err
	}
	defer release()
	return f(c)
}

// cleanup removes retired files from disk, if no reader can have begun before they were retired.
func (m *Maintainer) cleanup(ctx context.Context, r *Report) error {
	var before time.Time
	var waiting int64
	err := m.Store.View(ctx, func(tx metadata.Tx) error {
		n, now, err := m.readNeeds(ctx, tx)
		if err != nil {
			return err
		}
		before = now.Add(-m.CleanupDelay)
		if !n.filesSince.IsZero() {
			before = earlier(before, n.filesSince.Add(-clockRoom))
		}
		rows, err := tx.Query(ctx, `SELECT count(*) FROM {M}ducklake_files_scheduled_for_deletion WHERE schedule_start < $1`, before)
		if err == nil {
			waiting, _ = rows[0][0].(int64)
		}
		return err
	})
	if err != nil || waiting == 0 {
		return err
	}
	return m.withConn(ctx, func(c *duck.Conn) error {
		rows, err := c.Rows(ctx, `SELECT path FROM ducklake_cleanup_old_files(?, older_than => ?)`, m.Lake, before)
		r.Removed += int64(len(rows))
		return err
	})
}
