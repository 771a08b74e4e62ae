package stream

import (
	"time"

	"github.com/vegadb/vega-flight/ivm/dataflow"
)

// auditEvery is how often a view's late rows are told of; those between are counted.
const auditEvery = 10 * time.Second

// audit tells of late rows, now and then.
type audit struct {
	told    time.Time
	changes int64 // since then
}

// late hears of changes that are dropped because they come behind a source's watermark.
func (m *member) late(l dataflow.Lateness) {
	m.audit.changes += l.Changes
	now := time.Now()
	if now.Sub(m.audit.told) < auditEvery {
		return
	}
	m.c.Log.Warn("late rows of a source are dropped", "audit", true, "view", m.name(), "source", l.Source, "snapshot", l.Position, "changes", m.audit.changes,
		"row", l.Row, "behind", time.Duration(l.Behind)*time.Microsecond)
	m.audit = audit{told: now}
}

// countLate makes the number of all late changes known.
func (m *member) countLate() {
	n := int64(0)
	for _, w := range m.graph.Watermarks() {
		n += w.Late
	}
	m.figures.Late.Store(n)
}
