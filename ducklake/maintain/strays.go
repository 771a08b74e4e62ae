package maintain

import (
	"context"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// strays removes the data files of statements that were cut off: files that no catalog entry names. A file's name says when it was
// begun; one that was begun before everything that runs on any living server, and before [Config.StrayAge], is nobody's who may still
// commit it. Looking through the folders is slow, so it is done now and then.
func (m *Maintainer) strays(ctx context.Context, r *Report) error {
	if m.Strays == nil || time.Since(m.looked) < m.StrayEvery {
		return nil
	}
	var before time.Time
	err := m.Store.View(ctx, func(tx metadata.Tx) error {
		n, now, err := m.readNeeds(ctx, tx)
		before = now.Add(-m.StrayAge)
		if !n.filesSince.IsZero() {
			before = earlier(before, n.filesSince.Add(-clockRoom))
		}
		return err
	})
	if err != nil {
		return err
	}
	removed, err := m.Strays(ctx, before)
	r.Removed += removed
	if err == nil {
		m.looked = time.Now()
	}
	return err
}
