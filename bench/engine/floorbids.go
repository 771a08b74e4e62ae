package main

// hotItems is q5: the count of each auction and window, and of each window the auctions with the greatest one.
type hotItems struct {
	keys    *numbers // of auction and window
	counts  []int64
	starts  *numbers
	windows []hotWindow
	touched []int32
	now     int32
}

type hotWindow struct {
	start, most, was int64 // was: most before the batch
	at               []int64
	before           int // auctions before the batch, while most is was
	gone             []int64
	stamp            int32
}

const (
	slide    = 2_000 // ms
	windows5 = 5
)

func newHotItems() *hotItems { return &hotItems{keys: newNumbers(), starts: newNumbers()} }

func (f *hotItems) apply(s *eventStep, out *eventDeltas) {
	f.now++
	f.touched = f.touched[:0]
	for i := range s.bids {
		b := &s.bids[i]
		last := b.at / slide
		for start := last; start > last-windows5; start-- {
			f.count(b.auction, start)
		}
	}
	for _, at := range f.touched {
		w := &f.windows[at]
		same := 0
		if w.most == w.was {
			same = w.before
		}
		for _, auction := range w.gone {
			put3(out, -1, auction, w.was, w.start)
		}
		for _, auction := range w.at[same:] {
			put3(out, 1, auction, w.most, w.start)
		}
	}
}

func put3(out *eventDeltas, w, a, b, c int64) {
	row := out.row()
	_ = row[3]
	row[0], row[1], row[2], row[3] = w, a, b, c
}

func (f *hotItems) count(auction, start int64) {
	key := f.keys.of(auction<<32 | start&(1<<32-1))
	if int(key) == len(f.counts) {
		f.counts = append(f.counts, 0)
	}
	f.counts[key]++
	n := f.counts[key]
	at := f.starts.of(start)
	if int(at) == len(f.windows) {
		f.windows = append(f.windows, hotWindow{start: start * slide})
	}
	w := &f.windows[at]
	if w.stamp != f.now {
		w.stamp, w.was, w.before, w.gone = f.now, w.most, len(w.at), w.gone[:0]
		f.touched = append(f.touched, at)
	}
	if n < w.most {
		return
	}
	if n > w.most {
		if w.most == w.was {
			w.gone = append(w.gone, w.at[:w.before]...)
		}
		w.most, w.at = n, w.at[:0]
	}
	w.at = append(w.at, auction)
}

// highest is q7: the bids of each window that have its greatest price.
type highest struct {
	texts
	wins    *numbers
	windows []highWindow
	touched []int32
	now     int32
}

type highWindow struct {
	was, bids []keptBid
	stamp     int32
}

type keptBid struct {
	auction, bidder, price, at int64
	channel, url, extra        text
}

const tumble = 10_000 // ms

func newHighest() *highest { return &highest{wins: newNumbers()} }

func (f *highest) apply(s *eventStep, out *eventDeltas) {
	f.now++
	f.touched = f.touched[:0]
	for i := range s.bids {
		b := &s.bids[i]
		at := f.wins.of(b.at / tumble)
		if int(at) == len(f.windows) {
			f.windows = append(f.windows, highWindow{})
		}
		w := &f.windows[at]
		if w.stamp != f.now {
			w.stamp, w.was = f.now, append(w.was[:0], w.bids...)
			f.touched = append(f.touched, at)
		}
		if len(w.bids) > 0 && b.price < w.bids[0].price {
			continue
		}
		if len(w.bids) > 0 && b.price > w.bids[0].price {
			w.bids = w.bids[:0]
		}
		w.bids = append(w.bids, keptBid{auction: b.auction, bidder: b.bidder, price: b.price, at: b.at, extra: f.keep(b.extra)})
	}
	for _, at := range f.touched {
		w := &f.windows[at]
		same := 0
		if len(w.was) > 0 && w.was[0].price == w.bids[0].price {
			same = len(w.was)
		} else {
			for i := range w.was {
				f.emit(out, -1, &w.was[i])
			}
		}
		for i := range w.bids[same:] {
			f.emit(out, 1, &w.bids[same+i])
		}
	}
}

func (f *highest) emit(out *eventDeltas, w int64, b *keptBid) {
	row := out.row()
	_ = row[6]
	row[0], row[1], row[2], row[3], row[4] = w, b.auction, b.price, b.bidder, b.at
	out.put(row[5:], f.bytes(b.extra))
}

// lastBids is q18: the newest bid of each bidder for each auction.
type lastBids struct {
	texts
	keys    *numbers
	bids    []lastBid
	touched []int32
	was     []keptBid
	now     int32
}

type lastBid struct {
	keptBid
	stamp int32
}

func newLastBids() *lastBids { return &lastBids{keys: newNumbers()} }

func (f *lastBids) apply(s *eventStep, out *eventDeltas) {
	f.now++
	f.touched, f.was = f.touched[:0], f.was[:0]
	for i := range s.bids {
		b := &s.bids[i]
		at := f.keys.of(b.auction<<32 | b.bidder)
		if int(at) == len(f.bids) {
			f.bids = append(f.bids, lastBid{})
		}
		x := &f.bids[at]
		first := x.stamp != f.now
		if first {
			x.stamp = f.now
			f.touched, f.was = append(f.touched, at), append(f.was, x.keptBid)
		}
		if b.at < x.at {
			continue
		}
		if !first { // it came in this batch and nobody has seen it
			f.drop(&x.keptBid)
		}
		x.keptBid = keptBid{b.auction, b.bidder, b.price, b.at, f.keep(b.channel), f.keep(b.url), f.keep(b.extra)}
	}
	for i, at := range f.touched {
		is, was := &f.bids[at].keptBid, &f.was[i]
		if was.at != 0 {
			f.emit(out, -1, was)
			f.drop(was)
		}
		f.emit(out, 1, is)
	}
}

func (f *lastBids) drop(b *keptBid) {
	f.leave(b.channel)
	f.leave(b.url)
	f.leave(b.extra)
}

func (f *lastBids) emit(out *eventDeltas, w int64, b *keptBid) {
	row := out.row()
	_ = row[10]
	row[0], row[1], row[2], row[3], row[8] = w, b.auction, b.bidder, b.price, b.at
	out.put(row[4:], f.bytes(b.channel))
	out.put(row[6:], f.bytes(b.url))
	out.put(row[9:], f.bytes(b.extra))
}
