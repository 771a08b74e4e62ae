package main

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
)

// Nexmark's auction site. Of 50 events one is a person, three are auctions, 46 are bids. Half of the bids go to a hot auction, three
// quarters of them come from a hot bidder, three quarters of the auctions from a hot seller; prices are log-uniform. One event a
// millisecond, so that no two have one time and no query has ties.
const (
	eventStart   = int64(1_700_000_000_000) // ms
	epochEvents  = 50
	auctionsEach = 3
	firstID      = 1_000 // of persons and auctions
	firstClass   = 10    // category
	classes      = 5
	hotEvery     = 100
	openAuctions = 100
	livePersons  = 1_000
	ahead        = 10 // ids that may be named before they are there
)

// events writes events as lines of JSON.
type events struct {
	random
	line []byte
}

func generateEvents(dir string, r random, n int64) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	f, err := os.Create(filepath.Join(dir, "events.jsonl"))
	if err != nil {
		return err
	}
	w := bufio.NewWriterSize(f, 1<<20)
	e := &events{random: r}
	for i := range n {
		e.line = e.line[:0]
		switch place := i % epochEvents; {
		case place == 0:
			e.person(i)
		case place <= auctionsEach:
			e.auction(i)
		default:
			e.bid(i)
		}
		e.line = append(e.line, "}}\n"...)
		if _, err := w.Write(e.line); err != nil {
			f.Close()
			return err
		}
	}
	if err := w.Flush(); err != nil {
		f.Close()
		return err
	}
	return f.Close()
}

// newestPerson and newestAuction are the numbers of the last ones at event i.
func newestPerson(i int64) int64 { return i / epochEvents }

func newestAuction(i int64) int64 {
	return i/epochEvents*auctionsEach + min(max(i%epochEvents-1, -1), auctionsEach-1)
}

func (e *events) anyPerson(i int64) int64 {
	n := newestPerson(i) + 1
	live := min(n, livePersons)
	return firstID + n - live + e.below(live+ahead)
}

func (e *events) anyAuction(i int64) int64 {
	newest := newestAuction(i)
	oldest := max(newest-openAuctions, 0)
	return firstID + oldest + e.below(newest-oldest+1+ahead)
}

func (e *events) price() int64 {
	u := float64(e.next()>>11) / (1 << 53)
	return int64(math.Round(100 * math.Pow(10, 6*u)))
}

func (e *events) key(name string) {
	if e.line[len(e.line)-1] != '{' {
		e.line = append(e.line, ',')
	}
	e.line = append(append(append(e.line, '"'), name...), '"', ':')
}

func (e *events) number(name string, v int64) {
	e.key(name)
	e.line = strconv.AppendInt(e.line, v, 10)
}

func (e *events) text(name, v string) {
	e.key(name)
	e.line = append(append(append(e.line, '"'), v...), '"')
}

// letters is a text of lowest to highest letters and blanks.
func (e *events) letters(name string, lowest, highest int64) {
	e.key(name)
	e.line = append(e.line, '"')
	for range lowest + e.below(highest-lowest+1) {
		x := e.below(27 * 2)
		if x >= 52 {
			e.line = append(e.line, ' ')
		} else {
			e.line = append(e.line, 'a'+byte(x/2))
		}
	}
	e.line = append(e.line, '"')
}

var (
	firstNames = []string{"Ada", "Bruno", "Clara", "Dario", "Edith", "Felix", "Greta", "Hugo", "Ines", "Jonas", "Karla"}
	lastNames  = []string{"Abel", "Brandt", "Cohen", "Dietrich", "Ebner", "Fuchs", "Gruber", "Haas", "Iversen"}
	places     = []struct{ city, state string }{
		{"Phoenix", "AZ"}, {"Los Angeles", "CA"}, {"San Francisco", "CA"}, {"Boise", "ID"}, {"Portland", "OR"}, {"Bend", "OR"},
		{"Redmond", "WA"}, {"Seattle", "WA"}, {"Kent", "WA"}, {"Cheyenne", "WY"},
	}
	hotChannels = []string{"Google", "Facebook", "Baidu", "Apple"}
)

func pick[T any](e *events, of []T) T { return of[e.below(int64(len(of)))] }

func (e *events) person(i int64) {
	e.line = append(e.line, `{"event_type":0,"person":{`...)
	e.number("id", firstID+newestPerson(i))
	e.text("name", pick(e, firstNames)+" "+pick(e, lastNames))
	e.text("emailAddress", fmt.Sprintf("p%d@mail%d.example", i, e.below(1000)))
	e.text("creditCard", fmt.Sprintf("%04d %04d %04d %04d", e.below(10000), e.below(10000), e.below(10000), e.below(10000)))
	e.text("city", pick(e, places).city)
	e.text("state", pick(e, places).state)
	e.number("dateTime", eventStart+i)
	e.letters("extra", 92, 138)
}

func (e *events) auction(i int64) {
	e.line = append(e.line, `{"event_type":1,"auction":{`...)
	e.number("id", firstID+newestAuction(i))
	e.letters("itemName", 3, 19)
	e.letters("description", 3, 99)
	initial := e.price()
	e.number("initialBid", initial)
	e.number("reserve", initial+e.price())
	e.number("dateTime", eventStart+i)
	e.number("expires", eventStart+i+1+e.below(2*openAuctions*epochEvents/auctionsEach))
	seller := firstID + newestPerson(i)/hotEvery*hotEvery
	if e.below(4) == 0 {
		seller = e.anyPerson(i)
	}
	e.number("seller", seller)
	e.number("category", firstClass+e.below(classes))
	e.letters("extra", 304, 456)
}

func (e *events) bid(i int64) {
	e.line = append(e.line, `{"event_type":2,"bid":{`...)
	auction := firstID + newestAuction(i)/hotEvery*hotEvery
	if e.below(2) == 0 {
		auction = e.anyAuction(i)
	}
	bidder := firstID + newestPerson(i)/hotEvery*hotEvery + 1
	if e.below(4) == 0 {
		bidder = e.anyPerson(i)
	}
	e.number("auction", auction)
	e.number("bidder", bidder)
	e.number("price", e.price())
	if e.below(2) == 0 {
		channel := e.below(int64(len(hotChannels)))
		e.text("channel", hotChannels[channel])
		e.text("url", "https://www.nexmark.com/"+strconv.FormatInt(channel*7919+1, 36)+"/item.htm?query=1")
	} else {
		channel := e.below(10_000)
		e.text("channel", "channel-"+strconv.FormatInt(channel, 10))
		url := "https://www.nexmark.com/" + strconv.FormatInt(channel*104_729+1, 36) + "/item.htm?query=1"
		if channel%10 != 0 {
			url += "&channel_id=" + strconv.FormatInt(channel*31%(1<<20), 10)
		}
		e.text("url", url)
	}
	e.number("dateTime", eventStart+i)
	e.letters("extra", 48, 72)
}
