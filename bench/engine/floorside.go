package main

import (
	"bufio"
	"context"
	"strconv"
)

// floorSide runs a workload's floor, with several workers by parts of the keys.
type floorSide struct {
	w      *workload
	steps  []batch
	parts  []floor
	out    []*deltas
	orders []chan []record // to the workers behind the first
	done   chan struct{}
	sum    *totals // of W2b with several workers
}

const worthSharing = 2_000 // records; a smaller batch is not handed over

func newFloorSide(ctx context.Context, o sideOptions) (side, error) {
	if o.workload.nexmark() {
		return newEventSide(ctx, o)
	}
	f, err := readFeed(o.data, o.workload.folder, o.rounds)
	if err != nil {
		return nil, err
	}
	create, columns, err := newFloor(o.workload)
	if err != nil {
		return nil, err
	}
	s := &floorSide{w: o.workload, steps: append([]batch{{records: f.content}}, f.batches...), done: make(chan struct{})}
	for range o.workers {
		s.parts, s.out = append(s.parts, create()), append(s.out, newDeltas(columns))
	}
	if o.workers > 1 && s.w.name == "w2b" {
		s.sum = newTotals()
	}
	for i := 1; i < o.workers; i++ {
		s.orders = append(s.orders, make(chan []record))
		go s.work(i)
	}
	return s, nil
}

func (s *floorSide) sizes() []int {
	out := make([]int, len(s.steps))
	for i, b := range s.steps {
		out[i] = b.size
	}
	return out
}

func (s *floorSide) memory() float64 {
	n := 0
	for _, d := range s.out {
		n += d.held()
	}
	return liveMB() - float64(n)/(1<<20)
}

func (s *floorSide) rows() int { return len(s.steps[0].records) }

// work is a worker's life.
func (s *floorSide) work(part int) {
	for batch := range s.orders[part-1] {
		s.run(part, batch)
		s.done <- struct{}{}
	}
}

func (s *floorSide) step(_ context.Context, i int) error {
	batch := s.steps[i].records
	if len(s.parts) == 1 {
		s.parts[0].apply(batch, s.out[0])
		return nil
	}
	if len(batch) < worthSharing {
		for part := range s.parts {
			s.run(part, batch)
		}
	} else {
		for _, o := range s.orders {
			o <- batch
		}
		s.run(0, batch)
		for range s.orders {
			<-s.done
		}
	}
	if s.sum != nil {
		s.sum.begin()
		for _, p := range s.parts {
			s.sum.take(p.(*pairs).totals)
		}
		s.sum.emit(s.out[0])
	}
	return nil
}

// run takes a part's records out of a batch and applies them.
func (s *floorSide) run(part int, batch []record) {
	mine := make([]record, 0, len(batch)/len(s.parts)+len(batch)/8+8)
	for i := range batch {
		r := &batch[i]
		key := r.b
		if r.tag != 0 {
			key = r.a
		}
		if int(spread(key)>>7)%len(s.parts) == part {
			mine = append(mine, *r)
		}
	}
	out := s.out[part]
	if s.sum != nil {
		out = nil
	}
	s.parts[part].apply(mine, out)
}

func (s *floorSide) write(w *bufio.Writer) error {
	var line []byte
	for _, d := range s.out {
		for _, words := range d.pieces() {
			for ; len(words) > 0; words = words[d.width:] {
				line = line[:0]
				row := words[:d.width]
				null := s.w.name == "w3" && row[5] != 0
				if s.w.name == "w3" {
					row = row[:5]
				}
				for i, v := range row {
					if i > 0 {
						line = append(line, ',')
					}
					if i < 4 || !null {
						line = strconv.AppendInt(line, v, 10)
					}
				}
				if _, err := w.Write(append(line, '\n')); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (s *floorSide) close() error {
	for _, o := range s.orders {
		close(o)
	}
	return nil
}
