package lake

import (
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// noting puts the places of rows where they are remembered while the next rows are read and named. Until end, it has the table.
type noting struct {
	rows *state.Table
	in   chan *namedRows // full ones
	free chan *namedRows
	done chan struct{}
	now  *namedRows // is being filled
	refs []state.Ref
}

// namedRows are rows' names, and where they lie.
type namedRows struct{ names, places *zset.Batch }

// notedRows are handed over at once.
const notedRows = 1 << 17

// noted runs what finds rows, and returns when their places are noted.
func noted(rows *state.Table, find func(add func(rowName, place)) error) error {
	n := startNoting(rows)
	defer n.end()
	return find(n.add)
}

func startNoting(rows *state.Table) *noting {
	n := &noting{rows: rows, in: make(chan *namedRows), free: make(chan *namedRows, 2), done: make(chan struct{})}
	for range cap(n.free) {
		n.free <- &namedRows{zset.New(nameLayout), zset.New(placeLayout)}
	}
	go n.run()
	return n
}

func (n *noting) run() {
	defer close(n.done)
	for b := range n.in {
		n.refs = n.rows.Load(b.names, b.places, n.refs[:0])
		b.names.Reset()
		b.places.Reset()
		n.free <- b
	}
}

func (n *noting) add(name rowName, at place) {
	if n.now == nil {
		n.now = <-n.free
	}
	k := nameLayout.Off[0]
	key := n.now.names.AppendRow(1)
	key[k], key[k+1] = name[0], name[1]
	n.now.places.AppendRow(1)[placeLayout.Off[0]] = uint64(at)
	if n.now.names.Len() == notedRows {
		n.in <- n.now
		n.now = nil
	}
}

// end returns when all are noted.
func (n *noting) end() {
	if n.now != nil {
		n.in <- n.now
	}
	close(n.in)
	<-n.done
}
