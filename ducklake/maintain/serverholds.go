package maintain

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// serverHolder begins the holders' names of what a server needs while it lives, for its clients.
const serverHolder = "server "

// ServerHolder is the holder of something that ends with the server, orderly or not. The name has no spaces.
func ServerHolder(f publish.Fence, name string) string {
	return fmt.Sprintf("%s%d %s %s", serverHolder, f.Epoch, name, f.ServerID)
}

// HolderServer is the server whose end is the holder's end, if it is such a one.
func HolderServer(holder string) (f publish.Fence, ok bool) {
	rest, ok := strings.CutPrefix(holder, serverHolder)
	parts := strings.SplitN(rest, " ", 3)
	if !ok || len(parts) != 3 {
		return publish.Fence{}, false
	}
	epoch, err := strconv.ParseInt(parts[0], 10, 64)
	return publish.Fence{ServerID: parts[2], Epoch: epoch}, err == nil
}

// deadHolds releases what servers held that are gone. One that comes back holds again, or is told that it is too late.
func (m *Maintainer) deadHolds(ctx context.Context, _ *Report) error {
	var dead []string
	err := m.Store.View(ctx, func(tx metadata.Tx) error {
		dead = nil
		holds, err := Holds(ctx, tx)
		if err != nil {
			return err
		}
		servers, err := m.Servers.list(ctx, tx)
		if err != nil {
			return err
		}
		live := map[publish.Fence]bool{m.Owner: true}
		for _, s := range servers {
			live[publish.Fence{ServerID: s.ID, Epoch: s.Epoch}] = live[publish.Fence{ServerID: s.ID, Epoch: s.Epoch}] || !s.Expired
		}
		for _, h := range holds {
			if f, ok := HolderServer(h.Holder); ok && !live[f] {
				dead = append(dead, h.Holder)
			}
		}
		return nil
	})
	errs := []error{err}
	for _, holder := range dead {
		errs = append(errs, m.Store.Update(ctx, func(tx metadata.Tx) error { return ReleaseHolds(ctx, tx, holder) }))
	}
	return errors.Join(errs...)
}
