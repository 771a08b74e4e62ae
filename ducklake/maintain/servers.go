package maintain

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
	"github.com/vegadb/vega-flight/fault"
)

// DefaultLease is how long a server may be silent before others take its work.
const DefaultLease = 15 * time.Second

// Servers are the registrations of a lake's servers. All times are the catalog's.
type Servers struct {
	Store metadata.Store
	Lease time.Duration // 0 is DefaultLease

	judge judge
}

// Server is one registration.
type Server struct {
	ID         string
	Epoch      int64
	Address    string
	StartedAt  time.Time
	LeaseUntil time.Time
	Expired    bool
	// PinnedSnapshot is the oldest snapshot its readers had at its last renewal, 0 if none; PinnedSince is when the oldest of them began.
	PinnedSnapshot int64
	PinnedSince    time.Time
}

func (s *Servers) lease() time.Duration {
	if s.Lease == 0 {
		return DefaultLease
	}
	return s.Lease
}

// until is now() + lease in both dialects; the parameter is a number of milliseconds.
func until(d metadata.Dialect, param string) string {
	if d == metadata.PostgreSQL {
		return `clock_timestamp() + ` + param + `::bigint * interval '1 millisecond'`
	}
	return `now() + to_milliseconds(CAST(` + param + ` AS BIGINT))`
}

// Register makes this the newest incarnation of the server id: whatever an older one still wants to publish is fenced.
func (s *Servers) Register(ctx context.Context, id, address string) (publish.Fence, error) {
	if id == "" {
		return publish.Fence{}, fault.ConfigInvalid.Newf("a server needs an id")
	}
	var epoch int64
	err := s.Store.Update(ctx, func(tx metadata.Tx) error {
		rows, err := tx.Query(ctx, `SELECT epoch FROM {M}vega_servers WHERE id = $1`, id)
		if err != nil {
			return err
		}
		now, err := clock(ctx, tx)
		if err != nil {
			return err
		}
		// Epochs go with the clock, so that they grow even when an old row was forgotten.
		epoch = now.UnixMicro()
		if len(rows) == 0 {
			_, err = tx.Exec(ctx, `INSERT INTO {M}vega_servers (id, epoch, address, started_at, lease_until) VALUES ($1, $2, $3, now(), `+until(tx.Dialect(), "$4")+`)`,
				id, epoch, address, s.lease().Milliseconds())
			return err
		}
		old, _ := rows[0][0].(int64)
		epoch = max(epoch, old+1)
		_, err = tx.Exec(ctx, `UPDATE {M}vega_servers SET epoch = $2, address = $3, started_at = now(), lease_until = `+until(tx.Dialect(), "$4")+`,
			pinned_snapshot = NULL, pinned_since = NULL WHERE id = $1`, id, epoch, address, s.lease().Milliseconds())
		return err
	})
	return publish.Fence{ServerID: id, Epoch: epoch}, err
}

// clock is the catalog's clock within a transaction.
func clock(ctx context.Context, tx metadata.Tx) (time.Time, error) {
	sql := `SELECT now()`
	if tx.Dialect() == metadata.PostgreSQL {
		sql = `SELECT clock_timestamp()`
	}
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return time.Time{}, err
	}
	now, ok := rows[0][0].(time.Time)
	if !ok {
		return time.Time{}, fault.LakeUnreadable.Newf("the catalog's clock is %v", rows[0][0])
	}
	return now, nil
}

// Renew extends the lease and tells the others what this server's readers need. fault.Fenced means that another
// server has taken over: this one must stop its jobs and register again.
func (s *Servers) Renew(ctx context.Context, f publish.Fence, pins *Pins) error {
	late := false
	err := s.Store.Update(ctx, func(tx metadata.Tx) error {
		now, err := clock(ctx, tx)
		if err != nil {
			return err
		}
		if late, err = s.late(ctx, tx, f); err != nil {
			return err
		}
		var snapshot, since any
		if pins != nil {
			if n := pins.Needs(); n.Readers > 0 {
				snapshot, since = n.Snapshot, now.Add(-n.Any)
			}
		}
		n, err := tx.Exec(ctx, `UPDATE {M}vega_servers SET lease_until = `+until(tx.Dialect(), "$3")+`, pinned_snapshot = $4, pinned_since = $5
			WHERE id = $1 AND epoch = $2`, f.ServerID, f.Epoch, s.lease().Milliseconds(), snapshot, since)
		if err == nil && n != 1 {
			return fault.Fenced.Newf("server %s was taken over by another one", f.ServerID)
		}
		return err
	})
	if err == nil || late { // who was away was so whatever became of this renewal: it may be there without an answer
		s.judge.renewed(f, late, s.lease())
	}
	return err
}

// Keep renews the lease until ctx ends, which is nil, or the server is fenced. An unreachable catalog is tried again: the
// lease may run out meanwhile, and then others decide.
func (s *Servers) Keep(ctx context.Context, f publish.Fence, pins *Pins) error {
	tick := time.NewTicker(s.lease() / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			if err := s.Renew(ctx, f, pins); fault.CodeOf(err) == fault.Fenced {
				return err
			}
		}
	}
}

// Leave gives the lease up, when everything of this server is finished or discarded.
func (s *Servers) Leave(ctx context.Context, f publish.Fence) error {
	return s.Store.Update(ctx, func(tx metadata.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM {M}vega_servers WHERE id = $1 AND epoch = $2`, f.ServerID, f.Epoch)
		return err
	})
}

// List reads all registrations, by id.
func (s *Servers) List(ctx context.Context) ([]Server, error) {
	var out []Server
	err := s.Store.View(ctx, func(tx metadata.Tx) error {
		var err error
		out, err = s.list(ctx, tx)
		return err
	})
	return out, err
}

func listServers(ctx context.Context, tx metadata.Tx) ([]Server, error) {
	rows, err := tx.Query(ctx, `SELECT id, epoch, address, started_at, lease_until, lease_until < `+until(tx.Dialect(), "0")+`, pinned_snapshot, pinned_since
		FROM {M}vega_servers ORDER BY id`)
	if err != nil {
		return nil, err
	}
	out := make([]Server, len(rows))
	for i, r := range rows {
		s := &out[i]
		s.ID, _ = r[0].(string)
		s.Epoch, _ = r[1].(int64)
		s.Address, _ = r[2].(string)
		s.StartedAt, _ = r[3].(time.Time)
		s.LeaseUntil, _ = r[4].(time.Time)
		s.Expired, _ = r[5].(bool)
		s.PinnedSnapshot, _ = r[6].(int64)
		s.PinnedSince, _ = r[7].(time.Time)
	}
	return out, nil
}

// TakeOver fences a server whose lease has run out, by raising its epoch. Of several that try, one wins. What the server
// has left behind is then the winner's to finish or remove.
func (s *Servers) TakeOver(ctx context.Context, dead Server) (won bool, err error) {
	err = s.Store.Update(ctx, func(tx metadata.Tx) error {
		won = false
		if barred, err := s.barred(ctx, tx); err != nil || barred {
			return err
		}
		n, err := tx.Exec(ctx, `UPDATE {M}vega_servers SET epoch = epoch + 1 WHERE id = $1 AND epoch = $2 AND lease_until < `+until(tx.Dialect(), "0"), dead.ID, dead.Epoch)
		won = n == 1
		return err
	})
	return won, err
}

// forget removes a registration that was taken over and whose remains are cleared away.
func (s *Servers) forget(ctx context.Context, id string, epoch int64) error {
	return s.Store.Update(ctx, func(tx metadata.Tx) error {
		_, err := tx.Exec(ctx, `DELETE FROM {M}vega_servers WHERE id = $1 AND epoch = $2`, id, epoch)
		return err
	})
}
