package stream

import (
	"context"
	"encoding/binary"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// What a view with a watermark has dropped as late stays dropped when its state is lost. Which changes that were depends on the order in which
// they came, which the sources do not show any more: a row that was late looks like any other, and one whose deletion was late is gone. So
// the catalog has them, recorded in the transaction that makes the frontier known which they came up to, with how far the watermarks
// were. At that frontier, what counts of a source is
//
//	its rows there  −  all changes of it that were dropped since the content began
//
// which is what state is made from again; from there on the watermark decides as it did before.

// Dropped is changes of one source that were dropped as late, as the catalog keeps them.
type Dropped struct {
	Source string // uuid and columns
	At     int64  // the frontier that they came up to
	Rows   []byte // see eachDropped; pieces of the same source may be put together
}

// droppedBytes is about how large a piece is.
const droppedBytes = 4 << 20

// drops is what was dropped of an input and is not recorded yet.
type drops struct {
	input int
	at    int64
	rows  *zset.Batch
}

// marked says that an input has a watermark.
func (m *member) marked() bool {
	return slices.ContainsFunc(m.inputs, func(in *input) bool { return in.reading.Position >= 0 })
}

// drop takes over what the last step has dropped, and how far the watermarks are now.
func (m *member) drop() {
	m.marks = m.graph.Watermarks()
	m.graph.Dropped(func(i int, b *zset.Batch) {
		// After a boundary all changes are read again, one after the other; and of a content that began before drops were recorded, some are missing.
		if m.after == 0 && m.begun > 0 {
			m.dropped = append(m.dropped, drops{i, m.frontier, b})
		}
	})
}

// unrecorded says that the catalog does not know of all that was dropped.
func (m *member) unrecorded() bool { return len(m.dropped) > 0 }

// record gives what was dropped up to the member's frontier, piece by piece: of a large deletion it may be much. The member may go on meanwhile.
func (m *member) record() iter.Seq[Dropped] {
	var all []drops
	for _, d := range m.dropped {
		if d.at <= m.frontier {
			all = append(all, d)
		}
	}
	if all == nil {
		return nil
	}
	return func(yield func(Dropped) bool) {
		for _, d := range all {
			if !m.inputs[d.input].eachDropped(d, yield) {
				return
			}
		}
	}
}

// recordedUpTo notes that the catalog knows what was dropped up to a frontier.
func (m *member) recordedUpTo(frontier int64) {
	m.dropped = slices.DeleteFunc(m.dropped, func(d drops) bool { return d.at <= frontier })
}

// keptAs names an input's rows in the catalog. Rows that are written in another way, or are of other columns, have another name.
func (in *input) keptAs() string {
	var b strings.Builder
	b.WriteString("1 " + in.reading.UUID) // how rows are written down, and of what
	for _, c := range in.reading.Columns {
		fmt.Fprintf(&b, " %d:%s", c.ID, c.Type)
	}
	return b.String()
}

// plainRows are an input's rows without their position.
type plainRows struct {
	from, layout *row.Layout
	plain        *row.Plain
	words        []uint64
	heap         row.Heap
}

func newPlainRows(from *row.Layout) *plainRows {
	l := row.NewLayout(from.Types[:len(from.Types)-1]...)
	return &plainRows{from: from, layout: l, plain: row.NewPlain(l), words: make([]uint64, l.Words)}
}

// appendRow appends a row's bytes; those of rows that a lake does not keep apart are equal.
func (p *plainRows) appendRow(dst []byte, r []uint64, h *row.Heap) []byte {
	clear(p.words)
	p.heap.Reset()
	for i := range p.layout.Types {
		p.layout.CopyField(p.words, i, &p.heap, p.from, r, i, h)
	}
	words, heap := p.plain.Of(p.words, &p.heap)
	return p.layout.AppendBytes(dst, words, heap)
}

// eachDropped gives pieces with changes: of each its weight, and its row without the position.
func (in *input) eachDropped(d drops, yield func(Dropped) bool) bool {
	p, source := newPlainRows(in.reading.Layout), in.keptAs()
	var piece []byte
	for i, w := range d.rows.Weights {
		piece = p.appendRow(binary.AppendVarint(piece, w), d.rows.Row(i), d.rows.Heap)
		if len(piece) >= droppedBytes || i == d.rows.Len()-1 {
			if !yield(Dropped{source, d.at, piece}) {
				return false
			}
			piece = piece[:0]
		}
	}
	return true
}

// missing is, of one input, what its content must not have of its source, and what more of it.
type missing struct {
	rows    *plainRows
	changes map[string]int64 // weights by the row's bytes
	key     []byte
}

func (x *missing) add(piece []byte, heap *row.Heap, words []uint64) error {
	for len(piece) > 0 {
		w, n := binary.Varint(piece)
		if n <= 0 {
			return fault.StateUnreadable.Newf("what a view has dropped as late is cut short in the catalog")
		}
		heap.Reset()
		rest, err := x.rows.layout.ReadBytes(words, piece[n:], heap)
		if err != nil {
			return err
		}
		key := piece[n : len(piece)-len(rest)]
		if x.changes[string(key)] += w; x.changes[string(key)] == 0 {
			delete(x.changes, string(key))
		}
		piece = rest
	}
	return nil
}

// without takes away from rows of a source what was dropped of it.
func (x *missing) without(b *zset.Batch) *zset.Batch {
	var out *zset.Batch
	for i, w := range b.Weights {
		x.key = x.rows.appendRow(x.key[:0], b.Row(i), b.Heap)
		late := x.changes[string(x.key)]
		less := max(0, min(w, late))
		if less > 0 {
			x.changes[string(x.key)] = late - less
			if out == nil {
				out = zset.New(b.Layout)
				for k := range i {
					out.Append(b.Row(k), b.Heap, b.Weights[k])
				}
			}
		}
		if out != nil && w > less {
			out.Append(b.Row(i), b.Heap, w-less)
		}
	}
	if out == nil {
		return b
	}
	return out
}

// more is the rows whose deletion was dropped.
func (x *missing) more(position int64) (*zset.Batch, error) {
	l := x.rows.from
	out, heap, words := zset.New(l), &row.Heap{}, make([]uint64, x.rows.layout.Words)
	for key, w := range x.changes {
		if w >= 0 {
			continue
		}
		heap.Reset()
		if _, err := x.rows.layout.ReadBytes(words, []byte(key), heap); err != nil {
			return nil, err
		}
		r := out.AppendRow(-w)
		for i := range x.rows.layout.Types {
			l.CopyField(r, i, out.Heap, x.rows.layout, words, i, heap)
		}
		l.Set(r, len(l.Types)-1, uint64(position))
	}
	return out, nil
}

// kept is what the catalog knows of the sources as they count at the frontier that it knows.
type kept struct {
	marks   []dataflow.Mark
	missing map[int]*missing // by input
}

// recall reads what the catalog knows of what was dropped; nil when the content is to begin anew: nothing was, or the sources or the
// watermarks are others now.
func (m *member) recall(ctx context.Context) (*kept, error) {
	f := m.view.Published.Frontier
	if !m.marked() || f.Since == 0 {
		return nil, nil
	}
	k := &kept{missing: map[int]*missing{}}
	byName := map[string]*missing{}
	for i, in := range m.inputs {
		if in.reading.Position < 0 {
			continue
		}
		c := m.markColumn(i)
		was, ok := f.Marks[in.reading.UUID]
		if !ok || was.Column != c.ID || !sameType(was.Type, c.Type) {
			return nil, nil
		}
		k.marks = append(k.marks, dataflow.Mark{Input: i, Newest: was.Newest, Known: was.Known, Late: was.Late})
		k.missing[i] = &missing{rows: newPlainRows(in.reading.Layout), changes: map[string]int64{}}
		byName[in.keptAs()] = k.missing[i]
	}
	all, err := m.c.Sink.Dropped(ctx, m.view.UUID, f.Since)
	if err != nil {
		return nil, err
	}
	for _, d := range all {
		x := byName[d.Source]
		if x == nil {
			return nil, nil // other columns are read now
		}
		if err := x.add(d.Rows, &row.Heap{}, make([]uint64, x.rows.layout.Words)); err != nil {
			return nil, err
		}
	}
	return k, nil
}

// markColumn is the watermark column of an input.
func (m *member) markColumn(i int) catalog.Column {
	return m.inputs[i].reading.Columns[m.inputs[i].mark]
}

// remark takes the watermarks to where they were.
func (m *member) remark(k *kept, position int64) error {
	for _, at := range k.marks {
		if err := m.graph.ResumeWatermark(at, position); err != nil {
			return err
		}
	}
	return nil
}

// marksOf is how far the watermarks are, as the catalog keeps it.
func (m *member) marksOf() map[string]catalog.Mark {
	out := map[string]catalog.Mark{}
	for _, x := range m.marks {
		c := m.markColumn(x.Input)
		out[m.inputs[x.Input].reading.UUID] = catalog.Mark{Column: c.ID, Type: c.Type, Newest: x.Newest, Known: x.Known, Late: x.Late}
	}
	return out
}
