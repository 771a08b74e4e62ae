package maintain

import (
	"context"
	"sync"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// judge says whether a server may call others dead. When the catalog was away all leases run out, and of those that come back the first would
// fence the others. So who could not renew its own lease in time lets the others have theirs for as long again.
type judge struct {
	mu   sync.Mutex
	me   publish.Fence // who renews; none: whoever asks was not away
	from time.Time     // others are called dead from then on
}

// renewed notes a renewal.
func (j *judge) renewed(me publish.Fence, late bool, lease time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.me = me
	if late {
		j.from = time.Now().Add(lease)
	}
}

func (j *judge) waits() (me publish.Fence, waits bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.me, time.Now().Before(j.from)
}

// late says that a lease was not renewed in time: half of it is over, and it is renewed each third.
func (s *Servers) late(ctx context.Context, tx metadata.Tx, f publish.Fence) (bool, error) {
	rows, err := tx.Query(ctx, `SELECT lease_until < `+until(tx.Dialect(), "$3")+` FROM {M}vega_servers WHERE id = $1 AND epoch = $2`,
		f.ServerID, f.Epoch, (s.lease() / 2).Milliseconds())
	if err != nil || len(rows) == 0 {
		return true, err
	}
	late, _ := rows[0][0].(bool)
	return late, nil
}

// barred says that this server may not call others dead now.
func (s *Servers) barred(ctx context.Context, tx metadata.Tx) (bool, error) {
	me, waits := s.judge.waits()
	if waits || me == (publish.Fence{}) {
		return waits, nil
	}
	return s.late(ctx, tx, me)
}

// list is listServers in which nobody is dead whom this server may not call so.
func (s *Servers) list(ctx context.Context, tx metadata.Tx) ([]Server, error) {
	out, err := listServers(ctx, tx)
	if err != nil {
		return nil, err
	}
	barred, err := s.barred(ctx, tx)
	for i := range out {
		out[i].Expired = out[i].Expired && !barred
	}
	return out, err
}
