package lake

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ducklake/publish"
)

// Holds keep history for this server's clients, as long as the server lives.
type Holds struct {
	Store metadata.Store
	Fence func() publish.Fence
}

// Hold keeps what is needed to follow a table from a snapshot on.
func (h *Holds) Hold(ctx context.Context, name string, table, snapshot int64) error {
	holder := maintain.ServerHolder(h.Fence(), name)
	return h.Store.Update(ctx, func(tx metadata.Tx) error {
		return maintain.SetHold(ctx, tx, maintain.Hold{Holder: holder, TableID: table, Snapshot: snapshot})
	})
}

// Release lets go of what is held under the name.
func (h *Holds) Release(ctx context.Context, name string) error {
	return h.Store.Update(ctx, func(tx metadata.Tx) error {
		return maintain.ReleaseHolds(ctx, tx, maintain.ServerHolder(h.Fence(), name))
	})
}
