package dataflow

import (
	"sync"
	"time"

	"github.com/vegadb/vega-flight/ivm/state"
)

// NodeFigures are what an operator has done since the graph was opened, and what it remembers.
type NodeFigures struct {
	Name    string
	Plan    int   // id of the plan's node that it works for, or -1
	RowsIn  int64 // changes of its inputs
	RowsOut int64 // changes of its output
	Busy    time.Duration
	Keys    int   // in its state
	Bytes   int   // of its state in memory
	Shards  []int // keys of each shard
}

type counts struct {
	in, out int64
	busy    time.Duration
}

func (n *node) counted(began time.Time) {
	for _, b := range n.ins {
		n.count.in += int64(b.Len())
	}
	n.count.out += int64(n.out.Len())
	n.count.busy += time.Since(began)
}

// Figures tell of all operators, a node before those that read it. They are taken between steps.
func (g *Graph) Figures() []NodeFigures {
	out := make([]NodeFigures, 0, len(g.nodes))
	for _, n := range g.nodes {
		f := NodeFigures{Name: n.name, Plan: n.plan, RowsIn: n.count.in, RowsOut: n.count.out, Busy: n.count.busy}
		for _, t := range n.tables {
			f.Keys += t.Keys()
			f.Bytes += t.Bytes()
			for len(f.Shards) <= t.shard {
				f.Shards = append(f.Shards, 0)
			}
			f.Shards[t.shard] += t.Keys()
		}
		out = append(out, f)
	}
	return out
}

// shardTable is a table of one shard of an operator.
type shardTable struct {
	*state.Table
	shard int
}

// openedTables notes the tables that are opened while a graph is built.
type openedTables struct {
	mu  sync.Mutex
	new []shardTable
}

// take gives the tables that were opened since it was asked last.
func (o *openedTables) take() []shardTable {
	o.mu.Lock()
	defer o.mu.Unlock()
	t := o.new
	o.new = nil
	return t
}

// watch gives the same tables, and notes what is opened.
func (o *openedTables) watch(t Tables) Tables {
	if p, ok := t.(Parted); ok {
		return watchedParts{watched{t, o, 0}, p}
	}
	return watched{t, o, 0}
}

type watched struct {
	Tables
	o     *openedTables
	shard int
}

func (w watched) Table(name string, spec state.Spec) (*state.Table, error) {
	t, err := w.Tables.Table(name, spec)
	if err == nil {
		w.o.mu.Lock()
		w.o.new = append(w.o.new, shardTable{t, w.shard})
		w.o.mu.Unlock()
	}
	return t, err
}

type watchedParts struct {
	watched
	parted Parted
}

func (w watchedParts) Part(i, n int) Tables {
	return watched{w.parted.Part(i, n), w.o, i}
}
