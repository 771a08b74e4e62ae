package state

import (
	"context"
	"errors"
	"sync/atomic"

	"github.com/cockroachdb/pebble/v2"

	"github.com/vegadb/vega-flight/fault"
)

// Checkpoint is the state of all tables of a store as it was when it was captured.
//
// Capture, Drain and Settle are called while nobody changes the tables, which
// may then go on, also several at a time; Commit or Abort, once, by anyone.
// Until the store has settled it no other can be captured and nothing is dropped.
type Checkpoint struct {
	s        *Store
	frontier []byte
	parts    []*part
	at       int         // the part that Drain is at
	w        *fileWriter // of a large checkpoint
	outcome  atomic.Int32
	records  int
}

const (
	pending = iota
	committed
	failed
)

// part is what a checkpoint has to do with one table.
type part struct {
	t       *Table
	list    []Ref // captured
	next    int
	ghosts  []Ref // written as removed
	tombs   []byte
	bytes   int
	ops     []byte       // of a small checkpoint
	buckets *[256][]byte // of a large checkpoint: operations by group
	order   []Ref        // of a large checkpoint: 1 + list, by group
	groups  []uint8
	starts  [257]uint32
	stage   int
	group   int // groups before it are sent
	ahead   uint64
}

// bulkAt is the number of changed records from which on a checkpoint is written
// as sorted files that the database takes over, instead of through its log.
var bulkAt = 100_000

// Capture begins a checkpoint of what the tables are now; frontier is kept with
// it. It takes the lists of changed records and no more, so it takes no time. It
// gives nil while another checkpoint is in flight.
func (s *Store) Capture(frontier []byte) *Checkpoint {
	if !s.Settle() {
		return nil
	}
	c := &Checkpoint{s: s, frontier: append([]byte{}, frontier...)}
	for _, t := range s.tables {
		b := t.store
		p := &part{t: t, list: b.list, tombs: b.tombs}
		b.list, b.tombs = nil, nil
		b.dirty, b.captured = b.captured, b.dirty
		b.leafDirty, b.leafCaptured = b.leafCaptured, b.leafDirty
		b.part = p
		c.parts = append(c.parts, p)
		c.records += len(p.list)
	}
	if c.records >= bulkAt {
		c.w = newFileWriter(s)
		for _, p := range c.parts {
			p.begin()
		}
	} else {
		for _, p := range c.parts {
			p.ops = append(p.ops, p.tombs...)
		}
	}
	s.flight = c
	return c
}

// Records is how many changed records were captured.
func (c *Checkpoint) Records() int { return c.records }

// Bytes is how many bytes they are, as far as it was drained.
func (c *Checkpoint) Bytes() int {
	n := 0
	for _, p := range c.parts {
		n += p.bytes
	}
	return n
}

// Drain writes up to n captured records that are not written yet, and says
// whether there are more. With n < 1 it writes all; otherwise it never waits: a
// large checkpoint goes on only as far as the files do.
func (c *Checkpoint) Drain(n int) (more bool) {
	for all := n < 1; c.at < len(c.parts); {
		if !all && n < 1 {
			return true
		}
		p := c.parts[c.at]
		switch {
		case c.w == nil:
			n -= p.drain(c, max(n, 1))
		case all || c.w.ready():
			n -= p.drainBulk(c, max(n, 1))
		default:
			return true
		}
		if p.done(c) {
			c.at++
		}
	}
	if c.w != nil {
		c.w.end()
	}
	return false
}

// Waits says that Drain cannot go on until the files do; [StoreOptions.Ready] tells when.
func (c *Checkpoint) Waits() bool { return c.w != nil && c.at < len(c.parts) && !c.w.ready() }

func (p *part) done(c *Checkpoint) bool {
	if c.w == nil {
		return p.next == len(p.list)
	}
	return p.group == 256
}

// drain writes records one after the other.
func (p *part) drain(c *Checkpoint, n int) (done int) {
	b := p.t.store
	for ; p.next < len(p.list) && done < n; p.next++ {
		ref := p.list[p.next]
		if r := p.t.rec(ref); r[p.t.meta]&b.captured != 0 {
			p.t.write(c, ref, r)
			done++
		}
	}
	return max(done, 1)
}

// begin sorts the removed leaves by group.
func (p *part) begin() {
	p.buckets = new([256][]byte)
	for ops := p.tombs; len(ops) > 0; {
		key, _, rest := nextOp(ops)
		g := key[groupAt]
		p.buckets[g] = append(p.buckets[g], ops[:len(ops)-len(rest)]...)
		ops = rest
	}
	p.groups = make([]uint8, len(p.list))
}

// drainBulk goes through the list three times: to count the groups, to order
// the records by them, and to write them; groups that are complete go to the writer.
func (p *part) drainBulk(c *Checkpoint, n int) (done int) {
	t := p.t
	b := t.store
	switch p.stage {
	case 0:
		for ; p.next < len(p.list) && done < n; p.next, done = p.next+1, done+1 {
			if r := t.rec(p.list[p.next]); r[t.meta]&b.captured != 0 {
				p.groups[p.next] = uint8(t.groupOf(r))
				p.starts[int(p.groups[p.next])+1]++
			}
		}
		if p.next == len(p.list) {
			for g := range 256 {
				p.starts[g+1] += p.starts[g]
			}
			p.stage, p.next = 1, 0
			p.order = make([]Ref, p.starts[256])
		}
	case 1:
		for ; p.next < len(p.list) && done < n; p.next, done = p.next+1, done+1 {
			// What was written or removed meanwhile may have made room, never taken more.
			if ref := p.list[p.next]; t.rec(ref)[t.meta]&b.captured != 0 {
				g := p.groups[p.next]
				p.order[p.starts[g]] = ref + 1
				p.starts[g]++
			}
		}
		if p.next == len(p.list) {
			p.stage, p.next = 2, 0
		}
	default:
		for ; p.next < len(p.order) && done < n; p.next, done = p.next+1, done+1 {
			if p.next&63 == 0 { // they lie far from each other: so their cache misses overlap
				for _, o := range p.order[p.next:min(p.next+64, len(p.order))] {
					if o != 0 {
						p.ahead += t.rec(o - 1)[t.meta]
					}
				}
			}
			if p.order[p.next] == 0 {
				continue
			}
			ref := p.order[p.next] - 1
			r := t.rec(ref)
			if r[t.meta]&b.captured == 0 {
				continue
			}
			t.write(c, ref, r)
			if g := int(b.key[groupAt]); g != p.group && c.sendUpTo(p, g) {
				p.next++
				return done + 1
			}
		}
		if p.next == len(p.order) {
			c.sendUpTo(p, 256)
		}
	}
	return max(done, 1)
}

// sendUpTo gives the groups before g to the writer, and says whether there were any.
func (c *Checkpoint) sendUpTo(p *part, g int) (sent bool) {
	for ; p.group < g; p.group++ {
		if ops := p.buckets[p.group]; len(ops) > 0 {
			c.w.send(ops)
			p.buckets[p.group] = nil
			sent = true
		}
	}
	return sent
}

// write writes a captured record and its captured leaves.
func (t *Table) write(c *Checkpoint, ref Ref, r []uint64) {
	b := t.store
	f := r[t.meta]
	r[t.meta] = f&^b.captured | flagStored
	b.key = t.appendKey(b.key[:0], r)
	to := &b.part.ops
	if c.w != nil {
		to = &b.part.buckets[b.key[groupAt]]
	}
	before := len(*to)
	if f&flagLive == 0 {
		*to = appendDelete(*to, b.key)
		b.part.ghosts = append(b.part.ghosts, ref)
	} else {
		b.val = t.appendRecord(b.val[:0], r)
		*to = appendSet(*to, b.key, b.val)
		if t.ew > 0 {
			if m := r[t.meta:]; m[metaCount]>>heightShift > 1 {
				t.writeLeaves(to, uint32(m[metaArea]), int(m[metaCount]>>heightShift))
			}
		}
	}
	b.part.bytes += len(*to) - before
}

func (t *Table) writeLeaves(to *[]byte, id uint32, height int) {
	b := t.store
	in := t.node(id)
	for i := range int(in[0]) {
		s := slotOf(in, i)
		if s[slotRef]&b.leafCaptured == 0 {
			continue
		}
		s[slotRef] &^= b.leafCaptured
		if height > 2 {
			t.writeLeaves(to, uint32(s[slotRef]), height-1)
			continue
		}
		s[slotRef] |= leafStored
		n := len(b.key)
		b.key = t.appendLeafKey(b.key, s)
		b.val = t.appendEntries(b.val[:0], t.block(s[slotRef]), t.weights(s[slotRef]), int(uint32(s[slotCount])))
		*to = appendSet(*to, b.key, b.val)
		b.key = b.key[:n]
	}
}

// Commit makes a drained checkpoint durable, at once and whole. After an error the
// store has the checkpoint before, and what was captured is part of the next.
func (c *Checkpoint) Commit(ctx context.Context) error {
	err := c.commit(ctx)
	if err != nil {
		c.Abort()
		return err
	}
	c.s.mu.Lock()
	c.s.frontier, c.s.named = c.frontier, nil
	c.s.mu.Unlock()
	c.outcome.Store(committed)
	return nil
}

func (c *Checkpoint) commit(ctx context.Context) (err error) {
	defer func() { c.s.caught(recover(), &err) }()
	if err := errors.Join(c.s.Err(), c.s.room(2*c.Bytes())); err != nil {
		return err
	}
	if c.at < len(c.parts) {
		return fault.InternalError.Newf("a checkpoint is committed that is not drained")
	}
	for _, p := range c.parts {
		if err := p.t.Err(); err != nil {
			return err
		}
	}
	if err := ctx.Err(); err != nil {
		return fault.Cancelled.Wrap(err, "a checkpoint")
	}
	if c.w != nil {
		if err := c.w.commit(ctx, c.frontier); err != nil {
			return err
		}
		return c.s.Err()
	}
	if err := c.commitBatch(); err != nil {
		return fault.StateUnreadable.Wrap(err, "writing a checkpoint to %s", c.s.dir)
	}
	return c.s.Err()
}

// commitBatch commits a small checkpoint.
func (c *Checkpoint) commitBatch() error {
	b := c.s.db.NewBatchWithSize(c.Bytes() + 1024)
	defer b.Close()
	for _, p := range c.parts {
		for ops := p.ops; len(ops) > 0; {
			var key, val []byte
			var err error
			key, val, ops = nextOp(ops)
			if val == nil {
				err = b.Delete(key, nil)
			} else {
				err = b.Set(key, val, nil)
			}
			if err != nil {
				return err
			}
		}
	}
	for _, f := range c.s.facts(c.frontier) {
		if err := b.Set([]byte(f.key), f.value, nil); err != nil {
			return err
		}
	}
	return b.Commit(pebble.Sync)
}

// Abort gives a checkpoint up; what was captured is part of the next.
func (c *Checkpoint) Abort() {
	if c.w != nil {
		c.w.abort()
	}
	c.outcome.CompareAndSwap(pending, failed)
}

// Settle draws the consequences of a checkpoint that has ended, as Capture does
// by itself, and says whether none is in flight. Tables can be trimmed then.
func (s *Store) Settle() bool {
	c := s.flight
	if c == nil {
		return true
	}
	if c.outcome.Load() == pending {
		return false
	}
	s.flight = nil
	for _, p := range c.parts {
		p.t.store.part = nil
		if c.outcome.Load() == committed {
			p.t.dropGhosts(p.ghosts)
		} else {
			p.t.takeBack(p)
		}
	}
	return true
}

// dropGhosts frees the records of keys that the store does not have any more.
func (t *Table) dropGhosts(refs []Ref) {
	b := t.store
	for _, ref := range refs {
		r := t.rec(ref)
		if r[t.meta]&(flagLive|b.dirty) == 0 && r[t.meta]&flagStored != 0 {
			t.index.remove(r[t.meta]>>32, uint32(ref)+1)
			t.freeRecord(ref, r)
			b.ghosts--
		} // else it came again, and the next checkpoint writes it anyway
	}
}

// takeBack makes all that a failed checkpoint captured changed again.
func (t *Table) takeBack(p *part) {
	b := t.store
	b.tombs = append(p.tombs, b.tombs...)
	for _, ref := range p.list {
		r := t.rec(ref)
		f := r[t.meta]
		if f&(flagLive|flagStored) == 0 {
			continue // freed
		}
		if t.ew > 0 && f&flagLive != 0 && r[t.meta+metaCount]>>heightShift > 1 {
			t.dirtyBelow(uint32(r[t.meta+metaArea]), int(r[t.meta+metaCount]>>heightShift))
		}
		if f &^= b.captured; f&b.dirty == 0 {
			f |= b.dirty
			b.list = append(b.list, ref)
		}
		r[t.meta] = f
	}
}

func (t *Table) dirtyBelow(id uint32, height int) {
	b := t.store
	in := t.node(id)
	for i := range int(in[0]) {
		s := slotOf(in, i)
		if s[slotRef] = s[slotRef]&^b.leafCaptured | b.leafDirty; height > 2 {
			t.dirtyBelow(uint32(s[slotRef]), height-1)
		} else if s[slotRef]>>classShift&0xff == classDisk {
			s[slotRef] &^= b.leafDirty // what is in the store only has not changed
		}
	}
}
