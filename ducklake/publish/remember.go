package publish

import (
	"errors"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// remembered is what the catalog says about a table and its publication, as this publisher's last commit to it has left them. It
// spares a small commit most of what it would read.
//
// It holds as long as no snapshot since has touched the table, which every commit finds out anyway: all that changes
// what is remembered makes a snapshot that names the table, or another schema version of the lake.
type remembered struct {
	at            int64
	schemaVersion int64
	inlined       []string
	stats         tableStats
	files         map[int64]int64 // rows of the live data files; nil when they were not needed

	uuid              string // whose publication it was
	epoch, generation int64
}

// errForgotten says that the publication's state is not as remembered: another server has published.
var errForgotten = errors.New("publish: the published state is not as it was remembered")

// recall is what is known of a publication's table at the snapshot that the window ends with; nil when it must be read.
func (p *Publisher) recall(w *work, batch []*work, schemaVersion int64, win window) *remembered {
	if p.Faults.Break != 0 {
		return nil
	}
	id := w.pub.Table.ID
	for _, o := range batch {
		if o != w && o.pub.Table.ID == id {
			return nil // what the one writes the other has to read
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	r := p.known[id]
	if r == nil || r.schemaVersion != schemaVersion {
		return nil
	}
	if class, known := win.class(id, r.at); !known || class != metadata.Untouched {
		return nil
	}
	return r
}

// published says that the swap of a publication starts from what is remembered.
func (r *remembered) published(s Swap) bool {
	return r != nil && r.uuid == s.UUID && r.epoch == s.Epoch && r.generation == s.Generation
}

// remember notes what committed publications have left behind.
func (p *Publisher) remember(batch []*work) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, w := range batch {
		if !w.done {
			continue
		}
		delete(p.known, w.pub.Table.ID)
		if w.leaves == nil || p.Faults.Break != 0 {
			continue
		}
		if len(p.known) >= maxTargets { // most are of tables that are gone
			clear(p.known)
		}
		p.known[w.pub.Table.ID] = w.leaves
	}
}

func (p *Publisher) forget(table int64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.known, table)
}

// left is what the publication leaves behind, once its swap is made; nil when that is not known.
func (x *writer) left(generation int64) *remembered {
	var r remembered
	switch {
	case x.inlined != nil:
		r = remembered{inlined: x.inlined, stats: x.stats, files: x.files}
	case x.recalled != nil: // only the frontier moves
		r = *x.recalled
	default:
		return nil
	}
	r.at, r.schemaVersion = x.snap.ID, x.snap.SchemaVersion
	r.uuid, r.epoch, r.generation = x.w.pub.Swap.UUID, x.w.pub.Swap.Epoch+1, generation
	return &r
}
