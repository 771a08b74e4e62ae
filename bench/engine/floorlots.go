package main

// sellers is q3: auctions of a category by people of some states. Auctions wait for their seller, who comes once.
type sellers struct {
	texts
	keys   *numbers
	people []seller
}

type seller struct {
	here              bool
	name, city, state text
	waiting           []int64
}

func newSellers() *sellers { return &sellers{keys: newNumbers()} }

func (f *sellers) seller(id int64) *seller {
	at := f.keys.of(id)
	if int(at) == len(f.people) {
		f.people = append(f.people, seller{})
	}
	return &f.people[at]
}

func (f *sellers) apply(s *eventStep, out *eventDeltas) {
	for i := range s.auctions {
		a := &s.auctions[i]
		if a.category != firstClass {
			continue
		}
		if p := f.seller(a.seller); p.here {
			f.emit(out, p, a.id)
		} else {
			p.waiting = append(p.waiting, a.id)
		}
	}
	for i := range s.persons {
		e := &s.persons[i]
		if x := string(e.state); x != "OR" && x != "ID" && x != "CA" {
			continue
		}
		p := f.seller(e.id)
		p.here, p.name, p.city, p.state = true, f.keep(e.name), f.keep(e.city), f.keep(e.state)
		for _, id := range p.waiting {
			f.emit(out, p, id)
		}
		p.waiting = nil
	}
}

func (f *sellers) emit(out *eventDeltas, p *seller, auction int64) {
	row := out.row()
	_ = row[7]
	row[0], row[7] = 1, auction
	out.put(row[1:], f.bytes(p.name))
	out.put(row[3:], f.bytes(p.city))
	out.put(row[5:], f.bytes(p.state))
}

// closings is q4: the greatest price in time of each auction, and their average by category.
type closings struct {
	keys    *numbers
	lots    []closing
	classes *numbers
	totals  []classTotal
}

type closing struct {
	category, from, until, best int64
	here                        bool
	early                       []bidEvent // before the auction
}

type classTotal struct{ category, n, sum, shown int64 }

func newClosings() *closings { return &closings{keys: newNumbers(), classes: newNumbers()} }

func (f *closings) lot(id int64) *closing {
	at := f.keys.of(id)
	if int(at) == len(f.lots) {
		f.lots = append(f.lots, closing{})
	}
	return &f.lots[at]
}

func (f *closings) apply(s *eventStep, out *eventDeltas) {
	for i := range s.auctions {
		a := &s.auctions[i]
		l := f.lot(a.id)
		l.here, l.category, l.from, l.until = true, a.category, a.at, a.expires
		for j := range l.early {
			f.bid(l, &l.early[j])
		}
		l.early = nil
	}
	for i := range s.bids {
		b := &s.bids[i]
		if l := f.lot(b.auction); l.here {
			f.bid(l, b)
		} else {
			l.early = append(l.early, bidEvent{price: b.price, at: b.at})
		}
	}
	for i := range f.totals {
		t := &f.totals[i]
		now := t.sum / t.n
		if now == t.shown {
			continue
		}
		if t.shown >= 0 {
			put2(out, -1, t.category, t.shown)
		}
		put2(out, 1, t.category, now)
		t.shown = now
	}
}

func put2(out *eventDeltas, w, a, b int64) {
	row := out.row()
	_ = row[2]
	row[0], row[1], row[2] = w, a, b
}

func (f *closings) bid(l *closing, b *bidEvent) {
	if b.at < l.from || b.at > l.until || b.price <= l.best {
		return
	}
	at := f.classes.of(l.category)
	if int(at) == len(f.totals) {
		f.totals = append(f.totals, classTotal{category: l.category, shown: -1})
	}
	t := &f.totals[at]
	if l.best == 0 {
		t.n++
	}
	t.sum += b.price - l.best
	l.best = b.price
}

// lots is q20 for auctions of a category, and winners, which have the best bid alone, q9.
type lots struct {
	texts
	keys *numbers
	lots []lot
}

type lot struct {
	auctionEvent // its texts are in what follows
	words        [3]text
	here, wanted bool
	early        []keptBid
	best, was    keptBid
	stamp        int32
}

func newLots() *lots { return &lots{keys: newNumbers()} }

func (f *lots) lot(id int64) (*lot, int32) {
	at := f.keys.of(id)
	if int(at) == len(f.lots) {
		f.lots = append(f.lots, lot{})
	}
	return &f.lots[at], at
}

// open takes an auction in.
func (f *lots) open(a *auctionEvent, wanted bool) (*lot, int32) {
	l, at := f.lot(a.id)
	l.here, l.wanted = true, wanted
	if !wanted {
		return l, at
	}
	l.auctionEvent = *a
	l.words = [3]text{f.keep(a.item), f.keep(a.about), f.keep(a.extra)}
	l.item, l.about, l.extra = nil, nil, nil
	return l, at
}

func (f *lots) apply(s *eventStep, out *eventDeltas) {
	for i := range s.auctions {
		l, _ := f.open(&s.auctions[i], s.auctions[i].category == firstClass)
		for j := range l.early {
			b := &l.early[j]
			if l.wanted {
				f.emit(out, l, b.auction, b.bidder, b.price, b.at, f.bytes(b.channel), f.bytes(b.url), f.bytes(b.extra))
			}
			f.leave(b.channel)
			f.leave(b.url)
			f.leave(b.extra)
		}
		l.early = nil
	}
	for i := range s.bids {
		b := &s.bids[i]
		switch l, _ := f.lot(b.auction); {
		case !l.here:
			l.early = append(l.early, keptBid{b.auction, b.bidder, b.price, b.at, f.keep(b.channel), f.keep(b.url), f.keep(b.extra)})
		case l.wanted:
			f.emit(out, l, b.auction, b.bidder, b.price, b.at, b.channel, b.url, b.extra)
		}
	}
}

func (f *lots) emit(out *eventDeltas, l *lot, auction, bidder, price, at int64, channel, url, extra []byte) {
	row := out.row()
	_ = row[22]
	row[0], row[1], row[2], row[3], row[8] = 1, auction, bidder, price, at
	out.put(row[4:], channel)
	out.put(row[6:], url)
	out.put(row[9:], extra)
	f.fields(out, row[11:], l)
}

// fields writes an auction's fields behind its id.
func (f *lots) fields(out *eventDeltas, row []int64, l *lot) {
	_ = row[11]
	out.put(row, f.bytes(l.words[0]))
	out.put(row[2:], f.bytes(l.words[1]))
	row[4], row[5], row[6], row[7], row[8], row[9] = l.initial, l.reserve, l.at, l.expires, l.seller, l.category
	out.put(row[10:], f.bytes(l.words[2]))
}

type winners struct {
	lots
	touched []int32
	now     int32
}

func newWinners() *winners { return &winners{lots: lots{keys: newNumbers()}} }

func (f *winners) apply(s *eventStep, out *eventDeltas) {
	f.now++
	f.touched = f.touched[:0]
	for i := range s.auctions {
		l, at := f.open(&s.auctions[i], true)
		for j := range l.early {
			b := l.early[j]
			f.bid(l, at, &b, f.bytes(b.extra))
			f.leave(b.extra)
		}
		l.early = nil
	}
	for i := range s.bids {
		b := &s.bids[i]
		x := keptBid{auction: b.auction, bidder: b.bidder, price: b.price, at: b.at}
		if l, at := f.lot(b.auction); l.here {
			f.bid(l, at, &x, b.extra)
		} else {
			x.extra = f.keep(b.extra)
			l.early = append(l.early, x)
		}
	}
	for _, at := range f.touched {
		l := &f.lots.lots[at]
		if l.was.at != 0 {
			f.winner(out, -1, l, &l.was)
			f.leave(l.was.extra)
		}
		f.winner(out, 1, l, &l.best)
	}
}

func (f *winners) bid(l *lot, at int32, b *keptBid, extra []byte) {
	if b.at < l.at || b.at > l.expires || b.price < l.best.price || b.price == l.best.price && b.at > l.best.at {
		return
	}
	if l.stamp != f.now {
		l.stamp, l.was = f.now, l.best
		f.touched = append(f.touched, at)
	} else {
		f.leave(l.best.extra) // it came in this batch and nobody has seen it
	}
	l.best = *b
	l.best.extra = f.keep(extra)
}

func (f *winners) winner(out *eventDeltas, w int64, l *lot, b *keptBid) {
	row := out.row()
	_ = row[19]
	row[0], row[1] = w, l.id
	f.fields(out, row[2:], l)
	row[14], row[15], row[16], row[17] = l.id, b.bidder, b.price, b.at
	out.put(row[18:], f.bytes(b.extra))
}
