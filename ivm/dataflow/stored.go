package dataflow

import (
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
