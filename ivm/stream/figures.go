package stream

import (
	"sync/atomic"
	"time"
)

// Figures count what a member has done since it was made. They may be read while it works.
type Figures struct {
	Epochs       atomic.Int64
	RowsIn       atomic.Int64 // changes of sources
	RowsOut      atomic.Int64 // changes of the result
	Busy         atomic.Int64 // nanoseconds in the operators
	Publications atomic.Int64
	Publishing   atomic.Int64 // nanoseconds
	Checkpoints  atomic.Int64
	Checkpointed atomic.Int64 // nanoseconds of the last one
	SavedAt      atomic.Int64 // of the last one, Unix µs
	Healed       atomic.Int64 // times that somebody else's writes were taken back
	StateBytes   atomic.Int64
	Frontier     atomic.Int64 // all of which is published
	Clock        atomic.Int64 // that now() is in what is published, Unix µs; 0: the query has none
	Seen         atomic.Int64 // lake snapshot up to which what others wrote into the result is taken back
	Rows         atomic.Int64 // of the result
	Late         atomic.Int64 // changes of sources that were dropped behind their watermarks

	analyses analyses
}

func (f *Figures) read(n int) { f.RowsIn.Add(int64(n)) }

func (f *Figures) stepped(n int, took time.Duration) {
	f.Epochs.Add(1)
	f.RowsOut.Add(int64(n))
	f.Busy.Add(int64(took))
}

// published notes that what a member had at a point is published.
func (f *Figures) published(m *member, at point, took time.Duration) {
	f.Publications.Add(1)
	f.Publishing.Store(int64(took))
	f.Rows.Store(m.result.Rows())
	f.Frontier.Store(at.Frontier)
	f.Seen.Store(m.result.Mark().Snapshot)
	if m.graph.Timed() {
		f.Clock.Store(at.Clock)
	}
}
