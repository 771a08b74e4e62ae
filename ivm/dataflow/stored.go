package dataflow

import (
	"slices"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
)

// Parted is tables of which shards have their parts.
type Parted interface {
	Tables
	// Part gives the tables of shard i of n.
	Part(i, n int) Tables
}

// Part of memory is memory.
func (m Memory) Part(int, int) Tables { return m }

// Stored is state over a store, as its newest checkpoint has it.
type Stored struct {
	Store  *state.Store
	Budget int // bytes of a table that are read into memory at first; 0 is all

	part state.Part
}

// Table opens a table, or the shard's part of one.
func (s Stored) Table(name string, spec state.Spec) (*state.Table, error) {
	p := s.part
	p.Budget = s.Budget
	return state.Open(s.Store, name, spec, p)
}

// Part is the part that [state.Shard] gives to shard i of n.
func (s Stored) Part(i, n int) Tables {
	s.part = state.PartOf(i, n)
	return s
}

// routed is the tables of an operator that may be in shards. What spreads its rows has to be what decides the key groups of all
// its tables: in another number of shards, a part of a table would not have the keys of the rows that come to it.
type routed struct {
	Tables
	by []*row.Layout // of each input, what its rows are spread by
}

// Table opens a table whose key begins with what rows are spread by.
func (r routed) Table(name string, spec state.Spec) (*state.Table, error) {
	decides := spec.Key.Types
	if spec.Group > 0 {
		decides = decides[:spec.Group]
	}
	for _, by := range r.by {
		if !slices.EqualFunc(decides, by.Types, row.Type.Alike) {
			return nil, fault.InternalError.Newf("the key groups of table %s are those of %v, and rows are spread by %v", name, decides, by.Types)
		}
	}
	return r.Tables.Table(name, spec)
}
