package dataflow

import (
	"slices"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// partitions are rows kept by partition, in order: the state of top-k and of windows. An entry is the order row, then all
// fields that the output needs, so that rows with equal order rows have a fixed order too.
type partitions struct {
	key   *projection
	all   bool // one partition of all rows
	entry *projection
	order int // words of an entry up to which rows are peers
	table *state.Table
	says  []int // the fields that are a row's own

	// of the current step
	keys    zset.Batch
	refs    []state.Ref
	touched []state.Ref
	slots   []uint32
	index   []uint64
	stamp   uint32
	starts  []int32 // rows by partition: sorted[starts[s]:starts[s+1]]
	sorted  []int32
	rows    zset.Batch  // the entries of the batch's rows
	run     []uint64    // the same by partition, as they are added
	owners  []state.Ref // whose they are
	added   int         // how many of them are
}

func newPartitions(input *row.Layout, partition, order, kept []int) *partitions {
	p := &partitions{all: len(partition) == 0, key: project(input, partition...),
		entry: project(input, append(slices.Clone(order), kept...)...)}
	if p.all {
		p.key = &projection{layout: row.ParseLayout("BIGINT"), from: input}
	}
	return p
}

func (p *partitions) spec(order int, repeats bool) state.Spec {
	return state.Spec{Key: p.key.layout, Entry: p.entry.layout, Order: order, Share: repeats}
}

// open finds the partitions of a batch's rows, and sorts the rows by partition, so that each is visited once.
func (p *partitions) open(b *zset.Batch) {
	n := b.Len()
	p.entry.all(&p.rows, b)
	p.slots = slices.Grow(p.slots[:0], n)[:n]
	p.touched = p.touched[:0]
	if p.all {
		if n > 0 {
			ref, _ := p.table.Upsert([]uint64{0, 0}, nil)
			p.touched = append(p.touched, ref)
		}
		clear(p.slots)
	} else {
		p.key.all(&p.keys, b)
		p.refs = p.table.UpsertAll(&p.keys, p.refs)
		p.number()
	}
	k := len(p.touched)
	p.starts = slices.Grow(p.starts[:0], k+1)[:k+1]
	clear(p.starts)
	for _, s := range p.slots {
		p.starts[s]++
	}
	at := int32(0)
	for s, c := range p.starts {
		p.starts[s] = at
		at += c
	}
	p.sorted = slices.Grow(p.sorted[:0], n)[:n]
	for i, s := range p.slots {
		p.sorted[p.starts[s]] = int32(i)
		p.starts[s]++
	}
	copy(p.starts[1:], p.starts[:k])
	p.starts[0] = 0
	p.line()
}

// line puts the entries in the order in which they are going to be added.
func (p *partitions) line() {
	n, w := len(p.sorted), p.entry.layout.Words
	p.run = slices.Grow(p.run[:0], n*w)[:n*w]
	p.owners = slices.Grow(p.owners[:0], n)[:n]
	words, run := p.rows.Words, p.run
	for k, i := range p.sorted {
		copy(run[k*w:k*w+w], words[int(i)*w:int(i)*w+w])
		p.owners[k] = p.touched[p.slots[i]]
	}
	p.added = 0
}

// next is the entry that add is going to take in.
func (p *partitions) next() []uint64 {
	w := p.entry.layout.Words
	return p.run[p.added*w : p.added*w+w]
}

func (p *partitions) number() {
	if p.stamp++; p.stamp == 0 {
		clear(p.index)
		p.stamp = 1
	}
	stamp := uint64(p.stamp) << 32
	for i, ref := range p.refs {
		if int(ref) >= len(p.index) {
			p.index = append(p.index, make([]uint64, int(ref)+1-len(p.index)+len(p.index)/2)...)
		}
		x := p.index[ref]
		if x>>32 != stamp>>32 {
			x = stamp | uint64(len(p.touched))
			p.index[ref] = x
			p.touched = append(p.touched, ref)
		}
		p.slots[i] = uint32(x)
	}
}

// of are the batch's rows of a touched partition.
func (p *partitions) of(s int) []int32 { return p.sorted[p.starts[s]:p.starts[s+1]] }

// add takes the next row in: those of the first touched partition come first. What is read for the ones behind it is read with it.
func (p *partitions) add(ref state.Ref, w int64) (below int) {
	if k, n := p.added, len(p.owners); k%state.Window == 0 && n > 1 {
		to := min(k+state.Window, n)
		ew := p.entry.layout.Words
		p.table.Warm(p.owners[k:to], p.run[k*ew:to*ew])
	}
	before, after := p.table.Add(ref, p.next(), p.rows.Heap, w)
	p.added++
	if after < 0 {
		below++
	}
	if before < 0 {
		below--
	}
	return below
}

// check says which of a partition's changed rows was taken back more often than it had come.
func (p *partitions) check(ref state.Ref, changed []int32, b *zset.Batch) error {
	if err := p.table.Err(); err != nil { // what cannot be read looks as if it were not there
		return err
	}
	for _, i := range changed {
		if n := p.table.Weight(ref, p.rows.Row(int(i)), p.rows.Heap); n < 0 {
			return excessOf(p.says, b.Layout, b.Row(int(i)), b.Heap, n)
		}
	}
	return nil
}

// drop removes a partition that is empty.
func (p *partitions) drop(ref state.Ref) {
	if p.table.Len(ref) == 0 {
		p.table.Remove(ref)
	}
}

// load takes rows in without output; the table is to be packed before it is read.
func (p *partitions) load(b *zset.Batch) {
	p.entry.all(&p.rows, b)
	if p.all {
		n := 2 * b.Len()
		p.keys.Layout, p.keys.Heap, p.keys.Weights = p.key.layout, b.Heap, b.Weights
		p.keys.Words = slices.Grow(p.keys.Words[:0], n)[:n]
		clear(p.keys.Words)
	} else {
		p.key.all(&p.keys, b)
	}
	p.refs = p.table.Fill(&p.keys, &p.rows, p.refs)
}

// peers says that two entries have the same order row.
func (p *partitions) peers(a, b []uint64) bool {
	n := p.entry.layout.Nulls
	if p.vars() == 0 {
		return row.EqualWords(a[n:p.order], b[n:p.order])
	}
	h := p.table.Heap()
	at := n
	for _, i := range p.entry.layout.Vars[:p.vars()] {
		o := p.entry.layout.Off[i]
		if !row.EqualWords(a[at:o], b[at:o]) || !row.EqualVar(a[o], a[o+1], h, b[o], b[o+1], h) {
			return false
		}
		at = o + 2
	}
	return row.EqualWords(a[at:p.order], b[at:p.order])
}

// vars is how many fields of an order row are Var.
func (p *partitions) vars() int {
	n := 0
	for _, i := range p.entry.layout.Vars {
		if p.entry.layout.Off[i] >= p.order {
			break
		}
		n++
	}
	return n
}
