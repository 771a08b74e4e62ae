package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// Owned fails with fault.Fenced when another server has taken over one of the streaming views, and keeps others from doing so until the
// transaction ends. A server that was away does not know of it: its lease may hold again, and what is published of a view may be what it was,
// since nothing is when its result has not changed. A lake in a file has one server, whose registration says enough.
func (s *Store) Owned(ctx context.Context, tx metadata.Tx, me Owner, uuids []string) error {
	if tx.Dialect() == metadata.DuckDB || me.ServerID == "" || len(uuids) == 0 {
		return nil
	}
	places, args := make([]string, len(uuids)), make([]any, len(uuids))
	for i, uuid := range uuids {
		places[i], args[i] = fmt.Sprintf("$%d", i+1), uuid
	}
	rows, err := tx.Query(ctx, `SELECT uuid, server_id, fence FROM {M}vega_streams WHERE uuid IN (`+strings.Join(places, ", ")+`) FOR SHARE`, args...)
	if err != nil {
		return err
	}
	for _, values := range rows {
		var r metadata.Row
		r.Take(values)
		uuid, is := r.Text(), Owner{ServerID: r.Text(), Fence: r.Int()}
		if r.Err() != nil {
			return r.Err()
		}
		if is != me {
			return fault.Fenced.Newf("the streaming view with the uuid %s is server %q's now", uuid, is.ServerID)
		}
	}
	return nil
}
