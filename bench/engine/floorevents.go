package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/ivm/row"
	"github.com/vegadb/vega-flight/ivm/zset"
)

// The floor of Nexmark. Events only come, so each query's code keeps what can still matter and nothing else: the best bid, not all of them.

type personEvent struct {
	id                int64
	name, city, state []byte
}

type auctionEvent struct {
	id, initial, reserve, at, expires, seller, category int64
	item, about, extra                                  []byte
}

type bidEvent struct {
	auction, bidder, price, at int64
	channel, url, extra        []byte
}

// eventStep is a batch of events.
type eventStep struct {
	persons  []personEvent
	auctions []auctionEvent
	bids     []bidEvent
}

// eventFloor maintains one query.
type eventFloor interface {
	apply(s *eventStep, out *eventDeltas)
}

// eventDeltas is rows of numbers and texts; a text is two words of its row, its bytes lie apart.
type eventDeltas struct {
	*deltas
	bytes row.Heap
	text  []bool // by column
}

// put writes a text to words of a row.
func (d *eventDeltas) put(words []int64, b []byte) {
	words[0], words[1] = int64(d.bytes.Put(b)), int64(len(b))
}

// texts are a state's long values.
type texts struct{ row.Heap }

type text struct {
	ref uint64
	n   int
}

func (t *texts) keep(b []byte) text  { return text{t.Put(b), len(b)} }
func (t *texts) bytes(x text) []byte { return t.Get(x.ref, x.n) }
func (t *texts) leave(x text)        { t.Free(x.ref, x.n) }

// eventFloors are the floors and which streams they read.
var eventFloors = map[string]struct {
	create  func() eventFloor
	streams string
}{
	"q3":  {func() eventFloor { return newSellers() }, "person auction"},
	"q4":  {func() eventFloor { return newClosings() }, "auction bid"},
	"q5":  {func() eventFloor { return newHotItems() }, "bid"},
	"q7":  {func() eventFloor { return newHighest() }, "bid"},
	"q9":  {func() eventFloor { return newWinners() }, "auction bid"},
	"q18": {func() eventFloor { return newLastBids() }, "bid"},
	"q20": {func() eventFloor { return newLots() }, "auction bid"},
}

// eventSide runs a floor of Nexmark, on one core.
type eventSide struct {
	floor eventFloor
	steps []eventStep
	n     int
	out   *eventDeltas
}

func newEventSide(ctx context.Context, o sideOptions) (_ side, err error) {
	f, ok := eventFloors[o.workload.name]
	if !ok {
		return nil, fmt.Errorf("there is no floor for %s", o.workload.name)
	}
	e, err := openEvents(ctx, o.data)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	s := &eventSide{floor: f.create(), steps: make([]eventStep, (e.n+eventBatch-1)/eventBatch), n: e.n, out: &eventDeltas{}}
	for _, t := range nexmarkTables {
		if strings.Contains(f.streams, t.name) {
			if err := s.read(ctx, e, t); err != nil {
				return nil, err
			}
		}
	}
	width := 0
	for _, c := range strings.Split(o.workload.result, ",") {
		is := strings.Contains(c, "VARCHAR")
		s.out.text = append(s.out.text, is)
		if width++; is {
			width++
		}
	}
	s.out.deltas = newDeltas(width)
	return s, nil
}

// read makes a stream's events of all steps.
func (s *eventSide) read(ctx context.Context, e *eventTables, t table) error {
	var names, types []string
	for _, c := range t.columns {
		names, types = append(names, c.name), append(types, c.typ)
	}
	l := row.NewLayout(row.MustTypes(types...)...)
	b, err := e.read(ctx, t.name, names, l)
	if err != nil {
		return err
	}
	counts, err := e.counts(ctx, t.name)
	if err != nil {
		return err
	}
	at := 0
	for i, n := range counts {
		for range n {
			s.steps[i].add(t.name, b, b.Row(at))
			at++
		}
	}
	return nil
}

// add adds an event whose columns are as nexmarkTables has them.
func (s *eventStep) add(stream string, b *zset.Batch, r []uint64) {
	number := func(i int) int64 { return int64(r[b.Layout.Off[i]]) }
	bytes := func(i int) []byte { return b.Layout.Bytes(r, i, b.Heap, make([]byte, 0, row.Inline)) }
	switch stream {
	case "person":
		s.persons = append(s.persons, personEvent{number(0), bytes(1), bytes(2), bytes(3)})
	case "auction":
		s.auctions = append(s.auctions, auctionEvent{
			id: number(0), item: bytes(1), about: bytes(2), initial: number(3), reserve: number(4), at: number(5), expires: number(6),
			seller: number(7), category: number(8), extra: bytes(9),
		})
	default:
		s.bids = append(s.bids, bidEvent{auction: number(0), bidder: number(1), price: number(2), channel: bytes(3), url: bytes(4), at: number(5), extra: bytes(6)})
	}
}

func (s *eventSide) sizes() []int {
	out := make([]int, len(s.steps))
	for i := range out {
		out[i] = eventBatch
	}
	return out
}

func (s *eventSide) rows() int { return s.n }

func (s *eventSide) step(_ context.Context, i int) error {
	s.floor.apply(&s.steps[i], s.out)
	return nil
}

func (s *eventSide) memory() float64 {
	return liveMB() - float64(s.out.held()+s.out.bytes.Held())/(1<<20)
}

func (s *eventSide) write(w *bufio.Writer) error {
	var line []byte
	for _, words := range s.out.pieces() {
		for ; len(words) > 0; words = words[s.out.width:] {
			line = strconv.AppendInt(line[:0], words[0], 10)
			cells := words[1:]
			for _, is := range s.out.text {
				line = append(line, ',')
				if !is {
					line = strconv.AppendInt(line, cells[0], 10)
					cells = cells[1:]
					continue
				}
				line = append(line, '"')
				line = append(line, strings.ReplaceAll(string(s.out.bytes.Get(uint64(cells[0]), int(cells[1]))), `"`, `""`)...)
				line = append(line, '"')
				cells = cells[2:]
			}
			if _, err := w.Write(append(line, '\n')); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *eventSide) close() error { return nil }
