package lake

import (
	"errors"

	"github.com/vegadb/vega-flight/ivm/dataflow"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
)

// places is where the rows of a result lie, in the view's own store, so that it is checkpointed with the operators.
//
// A place may be stale: its row was deleted or moved by somebody while nobody could say which row that was. What tells is the
// files that there are, the positions in them that are dead, and which of the older inlined rows live. A stale place is dropped when it is met.
type places struct {
	rows    *state.Table // by name: the places
	files   *state.Table // by file id: its rows and its delete file; under meta: the floor and how many rows there are
	dead    *state.Table // by place of 64 positions: a bit for each that is dead
	inlined *state.Table // ids below the floor of inlined rows that live; at and above it all do

	key, entry, id []uint64 // scratch
}

const (
	meta = -1 // in files

	fileRows, fileDeletes = 0, 1
	metaFloor, metaCount  = 0, 1
)

var (
	nameLayout  = row.ParseLayout("UUID")
	placeLayout = row.ParseLayout("UBIGINT")
	idLayout    = row.ParseLayout("BIGINT")
)

func openPlaces(t dataflow.Tables) (*places, error) {
	p := &places{key: make([]uint64, nameLayout.Words), entry: make([]uint64, placeLayout.Words), id: make([]uint64, idLayout.Words)}
	var errs [4]error
	p.rows, errs[0] = t.Table("result", state.Spec{Key: nameLayout, Entry: placeLayout})
	p.files, errs[1] = t.Table("result files", state.Spec{Key: idLayout, Payload: 2})
	p.dead, errs[2] = t.Table("result dead", state.Spec{Key: placeLayout, Payload: 1})
	p.inlined, errs[3] = t.Table("result inlined", state.Spec{Key: idLayout, Payload: 1})
	return p, errors.Join(errs[:]...)
}

func (p *places) err() error {
	return errors.Join(p.rows.Err(), p.files.Err(), p.dead.Err(), p.inlined.Err())
}

func (p *places) reset() {
	for _, t := range []*state.Table{p.rows, p.files, p.dead, p.inlined} {
		t.Reset()
	}
}

func (p *places) nameKey(n rowName) []uint64 {
	at := nameLayout.Off[0]
	p.key[at], p.key[at+1] = n[0], n[1]
	return p.key
}

func (p *places) placeKey(at place) []uint64 {
	p.entry[placeLayout.Off[0]] = uint64(at)
	return p.entry
}

func (p *places) idKey(id int64) []uint64 {
	p.id[idLayout.Off[0]] = uint64(id)
	return p.id
}

// fact reads a word that is kept of a file, or under meta.
func (p *places) fact(id int64, i int) (int64, bool) {
	ref, ok := p.files.Find(p.idKey(id), nil)
	if !ok {
		return 0, false
	}
	return int64(p.files.Peek(ref)[i]), true
}

func (p *places) setFact(id int64, i int, v int64) {
	ref, _ := p.files.Upsert(p.idKey(id), nil)
	if p.files.Peek(ref)[i] != uint64(v) {
		p.files.Payload(ref)[i] = uint64(v)
	}
}

// live says that the row at a place is there.
func (p *places) live(at place) bool {
	if at.inlined() {
		if floor, _ := p.fact(meta, metaFloor); at.rowID() >= floor {
			return true
		}
		_, ok := p.inlined.Find(p.idKey(at.rowID()), nil)
		return ok
	}
	if _, ok := p.files.Find(p.idKey(at.file()), nil); !ok {
		return false
	}
	if p.dead.Keys() == 0 {
		return true
	}
	ref, ok := p.dead.Find(p.placeKey(at&^63), nil)
	return !ok || p.dead.Peek(ref)[0]>>(at&63)&1 == 0
}

// kill marks a row of a file dead.
func (p *places) kill(at place) {
	ref, _ := p.dead.Upsert(p.placeKey(at&^63), nil)
	if bit := uint64(1) << (at & 63); p.dead.Peek(ref)[0]&bit == 0 {
		p.dead.Payload(ref)[0] |= bit
	}
}

// pick gives up to n places of rows with the name, appended to out, those of inlined rows first.
func (p *places) pick(out []place, name rowName, n int64) []place {
	ref, ok := p.rows.Find(p.nameKey(name), nil)
	if !ok {
		return out
	}
	var c state.Cursor
	var stale []place
	p.rows.SeekAt(&c, ref, max(p.rows.Len(ref)-1, 0))
	for there := c.Next(); n > 0 && there; there = c.Prev() {
		if at := place(c.Row()[placeLayout.Off[0]]); p.live(at) {
			out = append(out, at)
			n--
		} else {
			stale = append(stale, at)
		}
	}
	for _, at := range stale {
		p.rows.Add(ref, p.placeKey(at), nil, -1)
	}
	p.dropEmpty(ref)
	return out
}

// count is how many rows have the name.
func (p *places) count(name rowName) int64 {
	ref, ok := p.rows.Find(p.nameKey(name), nil)
	if !ok {
		return 0
	}
	return p.countOf(ref)
}

func (p *places) countOf(ref state.Ref) int64 {
	var c state.Cursor
	n := int64(0)
	p.rows.Scan(&c, ref)
	for c.Next() {
		if p.live(place(c.Row()[placeLayout.Off[0]])) {
			n++
		}
	}
	return n
}

func (p *places) dropEmpty(ref state.Ref) {
	if p.rows.Len(ref) == 0 {
		p.rows.Remove(ref)
	}
}

// remove forgets a row that is deleted.
func (p *places) remove(name rowName, at place) {
	if ref, ok := p.rows.Find(p.nameKey(name), nil); ok {
		if p.rows.Weight(ref, p.placeKey(at), nil) != 0 {
			p.rows.Add(ref, p.placeKey(at), nil, -1)
		}
		p.dropEmpty(ref)
	}
	if at.inlined() {
		if ref, ok := p.inlined.Find(p.idKey(at.rowID()), nil); ok {
			p.inlined.Remove(ref)
		}
	}
}

// add notes a row.
func (p *places) add(name rowName, at place) {
	ref, created := p.rows.Upsert(p.nameKey(name), nil)
	if created || p.rows.Weight(ref, p.placeKey(at), nil) == 0 {
		p.rows.Add(ref, p.placeKey(at), nil, 1)
	}
}

// fewPlaces is how many places of a name are looked through when one of its rows turns up elsewhere. Stale ones among more are dropped when they
// are met.
const fewPlaces = 64

// moved notes a row that was met, which an inlined row with the id from may have become.
func (p *places) moved(name rowName, at place, from int64) {
	ref, created := p.rows.Upsert(p.nameKey(name), nil)
	if !created {
		var stale []place
		if was := inlinedBit | place(from); was != at && p.rows.Weight(ref, p.placeKey(was), nil) != 0 && !p.live(was) {
			stale = append(stale, was)
		} else if p.rows.Len(ref) <= fewPlaces {
			var c state.Cursor
			p.rows.Scan(&c, ref)
			for c.Next() {
				if old := place(c.Row()[placeLayout.Off[0]]); !p.live(old) {
					stale = append(stale, old)
				}
			}
		}
		for _, old := range stale {
			p.rows.Add(ref, p.placeKey(old), nil, -1)
		}
	}
	if p.rows.Weight(ref, p.placeKey(at), nil) == 0 {
		p.rows.Add(ref, p.placeKey(at), nil, 1)
	}
}

// forgetFiles drops what is known of files that are gone; their rows' places are stale now.
func (p *places) forgetFiles(gone map[int64]bool) {
	for id := range gone {
		if ref, ok := p.files.Find(p.idKey(id), nil); ok {
			p.files.Remove(ref)
		}
	}
	if len(gone) == 0 || p.dead.Keys() == 0 {
		return
	}
	at := placeLayout.Off[0]
	p.dead.Each(func(ref state.Ref) bool {
		if gone[place(p.dead.Key(ref)[at]).file()] {
			p.dead.Remove(ref)
		}
		return true
	})
}

// setInlined says which inlined rows live; those with an id of at least floor are not known yet.
func (p *places) setInlined(ids map[int64]bool, floor int64) {
	at := idLayout.Off[0]
	p.inlined.Each(func(ref state.Ref) bool {
		if !ids[int64(p.inlined.Key(ref)[at])] {
			p.inlined.Remove(ref)
		}
		return true
	})
	for id := range ids {
		if ref, created := p.inlined.Upsert(p.idKey(id), nil); created {
			p.inlined.Payload(ref)[0] = 1
		}
	}
	p.setFact(meta, metaFloor, floor)
}

// setFiles notes the files that there are.
func (p *places) setFiles(now *picture) {
	for id, f := range now.files {
		p.setFact(id, fileRows, f.rows)
		p.setFact(id, fileDeletes, f.deleteFile)
	}
}

// setLiving notes which of a file's rows live.
func (p *places) setLiving(file, rows int64, living []uint64) {
	for i, bits := range living {
		dead := ^bits
		if left := rows - int64(i)*64; left < 64 {
			dead &= 1<<left - 1
		}
		if dead == 0 {
			continue
		}
		ref, _ := p.dead.Upsert(p.placeKey(place(file)<<positionBits|place(i*64)), nil)
		if p.dead.Peek(ref)[0] != dead {
			p.dead.Payload(ref)[0] = dead
		}
	}
}
