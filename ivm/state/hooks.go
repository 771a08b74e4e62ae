package state

import "github.com/vegadb/vega-flight/ivm/row"

type backing struct{}

func (t *Table) dirty(Ref, []uint64)                                     {}
func (t *Table) buried(Ref, []uint64)                                    {}
func (t *Table) buryLeaves([]uint64)                                     {}
func (t *Table) buryLeaf(_, _ []uint64)                                  {}
func (t *Table) touch([]uint64)                                          {}
func (t *Table) newLeafID() uint64                                       { return 0 }
func (t *Table) resident(_, s []uint64) uint64                           { return s[slotRef] }
func (t *Table) fetch(uint64, []uint64, *row.Heap, []uint64, uint64) Ref { return None }

// Err is the first error of the store.
func (t *Table) Err() error { return nil }
