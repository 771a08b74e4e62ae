package lake

import (
	"context"
	"errors"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/state"
	"github.com/vegadb/vega-flight/ivm/stream"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// catching is why what is known is brought up to the newest snapshot.
type catching int

const (
	moved     catching = iota // rows may have moved; the content must be what it was
	astray                    // the same, and what is known of single places is in doubt
	arrived                   // rows of a publication that is known came as files
	following                 // publications of ours were made that are not known here
	accepting                 // whatever anybody wrote is taken as it is
)

// tries is how often a table is read again that others change meanwhile.
const tries = 10

// foundRow is a row that was met at a new place.
type foundRow struct {
	name rowName
	at   place
	id   int64
}

// catchUp brings what is known from seen to the newest snapshot.
func (r *result) catchUp(ctx context.Context, how catching) error {
	if r.behind && how < following {
		how = following
	}
	for range tries {
		p, err := r.look(ctx, r.seen)
		if err != nil {
			return err
		}
		if err = r.follow(ctx, p, how); err == nil {
			r.behind = false
			return r.places.err()
		}
		if !errors.Is(err, errAgain) {
			return err
		}
	}
	return busyTable(r.table)
}

// follow makes what is known be the picture. All is read before anything is changed.
func (r *result) follow(ctx context.Context, p *picture, how catching) error {
	unread := r.places.rows.Keys() == 0 && p.total > 0
	if p.known && p.class == metadata.Untouched && how != astray && how != arrived && !unread {
		r.stand(p, how, false)
		return nil
	}
	r.sum = nil
	w := &wanted{inlined: p.came()}
	var gone map[int64]bool
	var doubtful []int64
	known := 0
	for id, f := range p.files {
		deletes, ok := r.places.fact(id, fileDeletes)
		switch {
		case !ok:
			w.files = append(w.files, id)
		case deletes != f.deleteFile && how != moved && how != arrived:
			doubtful = append(doubtful, id)
		}
		if ok {
			known++
		}
	}
	if _, counted := r.places.fact(meta, metaCount); counted {
		known++
	}
	if known < r.places.files.Keys() {
		gone = r.goneFiles(p)
	}
	if r.places.rows.Keys() == 0 {
		return r.readAll(ctx, p, how, false)
	}
	for id := range w.inlined {
		if id < r.next {
			// An UPDATE of somebody else's keeps the row's id; what it was can then not be told from what it is.
			return r.readAll(ctx, p, how, true)
		}
	}
	var found []foundRow
	if len(w.files)+len(w.inlined) > 0 {
		err := r.read(ctx, p, w, false, func(words []uint64, h *row.Heap, places []place, ids []int64) error {
			for i, at := range places {
				found = append(found, foundRow{r.names.name(words[i*r.layout.Words:(i+1)*r.layout.Words], h), at, ids[i]})
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	living, err := r.livingPositions(ctx, p, doubtful)
	if err != nil {
		return err
	}

	var before map[rowName]int64
	if harmless := p.known && p.class <= metadata.Relocated; how != accepting && (!harmless || how == astray || how == following) {
		before = make(map[rowName]int64, len(found))
		for _, f := range found {
			if _, ok := before[f.name]; !ok {
				before[f.name] = r.places.count(f.name)
			}
		}
	}
	r.places.forgetFiles(gone)
	r.places.setFiles(p)
	for file, bits := range living {
		r.places.setLiving(file, p.files[file].rows, bits)
	}
	for _, at := range p.deaths {
		r.places.kill(at)
	}
	r.places.setInlined(p.inlined, p.nextRowID)
	for _, f := range found {
		r.places.moved(f.name, f.at, f.id)
	}
	changed := p.total != r.count
	for name, n := range before {
		if changed {
			break
		}
		changed = r.places.count(name) != n
	}
	r.stand(p, how, changed)
	return nil
}

// goneFiles are the files that are known and not in the picture.
func (r *result) goneFiles(p *picture) map[int64]bool {
	out := map[int64]bool{}
	at := idLayout.Off[0]
	r.places.files.Each(func(ref state.Ref) bool {
		id := int64(r.places.files.Key(ref)[at])
		if _, ok := p.files[id]; !ok && id != meta {
			out[id] = true
		}
		return true
	})
	return out
}

// livingPositions reads which rows of files live.
func (r *result) livingPositions(ctx context.Context, p *picture, files []int64) (map[int64][]uint64, error) {
	if len(files) == 0 {
		return nil, nil
	}
	out := map[int64][]uint64{}
	for _, id := range files {
		out[id] = make([]uint64, (p.files[id].rows+63)/64)
	}
	err := r.read(ctx, p, &wanted{files: files}, true, func(_ []uint64, _ *row.Heap, places []place, _ []int64) error {
		for _, at := range places {
			i := int64(at & maxPosition)
			if bits := out[at.file()]; i>>6 < int64(len(bits)) {
				bits[i>>6] |= 1 << (i & 63)
			}
		}
		return nil
	})
	return out, err
}

// stand notes where the result stands after it was brought to the picture.
func (r *result) stand(p *picture, how catching, changed bool) {
	r.table, r.seen, r.next = p.table, p.at, p.nextRowID
	r.setCount(p.total)
	mark := stream.Mark{Snapshot: p.at, NextRowID: p.nextRowID}
	switch {
	case how == accepting:
		r.mark, r.theirs = mark, nil
	case r.theirs != nil: // until somebody has asked what it was
	case (how == following || how == arrived) && p.foreign != 0: // behind our own
		r.mark.Snapshot = max(r.mark.Snapshot, p.foreign-1)
		r.noteTheirs(r.mark.Snapshot)
	case changed && (how != following || !p.known):
		r.noteTheirs(r.mark.Snapshot)
	default:
		r.mark = mark
	}
}

func (r *result) noteTheirs(since int64) {
	r.theirs = fault.ResultChanged.Newf("somebody else wrote to the table of view %s.%s after snapshot %d", r.table.Schema, r.table.Name, since)
}

func (r *result) setCount(n int64) {
	r.count = n
	r.places.setFact(meta, metaCount, n)
}

// all reads the whole table.
func (r *result) all(ctx context.Context) error {
	for range tries {
		p, err := r.look(ctx, -1)
		if err != nil {
			return err
		}
		if err = r.readAll(ctx, p, accepting, false); !errors.Is(err, errAgain) {
			return err
		}
	}
	return busyTable(r.table)
}

// readAll forgets everything and reads the whole picture.
func (r *result) readAll(ctx context.Context, p *picture, how catching, changed bool) error {
	was := r.count
	r.places.reset()
	r.setCount(was)
	n, sum := int64(0), &rowSum{names: r.names}
	var err error
	if len(p.files)+len(p.inlined) > 0 {
		err = noted(r.places.rows, func(add func(rowName, place)) error {
			return r.read(ctx, p, nil, false, func(words []uint64, h *row.Heap, places []place, _ []int64) error {
				sum.add(&zset.Batch{Layout: r.layout, Words: words, Heap: h}, nil)
				for i, at := range places {
					add(r.names.name(words[i*r.layout.Words:(i+1)*r.layout.Words], h), at)
				}
				n += int64(len(places))
				return nil
			})
		})
	}
	if err != nil {
		r.places.reset() // with nothing known, all is read the next time
		r.setCount(was)
		return err
	}
	r.places.setFiles(p)
	if n != p.total {
		return fault.LakeUnreadable.Newf("the catalog counts %d rows of table %s.%s, which has %d", p.total, p.table.Schema, p.table.Name, n)
	}
	r.stand(p, how, changed || n != was)
	r.sum = sum
	return r.places.err()
}
