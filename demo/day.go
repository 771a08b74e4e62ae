package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"golang.org/x/term"
)

// replayed is how the lines of the day begin that the writer replays.
const replayed = "2013,3,8,"

// hourColumn is where a line of flights has the hour that the flight was to leave.
const hourColumn = 16

// hour is the flights that were to leave in one hour, as a CSV text with a header.
type hour struct {
	name    string
	flights int64
	text    []byte
}

// split takes the lines of one day out of the text of flights and gives them by hour.
func split(text []byte, day string) (rest []byte, hours []hour) {
	header, lines, _ := bytes.Cut(text, []byte("\n"))
	by := map[string]int{}
	rest = append(append(rest, header...), '\n')
	for line := range bytes.Lines(lines) {
		if !bytes.HasPrefix(line, []byte(day)) {
			rest = append(rest, line...)
			continue
		}
		at := fmt.Sprintf("%02s:00", strings.Split(string(line), ",")[hourColumn])
		i, ok := by[at]
		if !ok {
			i = len(hours)
			by[at] = i
			hours = append(hours, hour{name: at, text: append(bytes.Clone(header), '\n')})
		}
		hours[i].text = append(hours[i].text, line...)
		hours[i].flights++
	}
	slices.SortFunc(hours, func(a, b hour) int { return strings.Compare(a.name, b.name) })
	return rest, hours
}

// add appends the flights of an hour, in one commit.
func (c *client) add(ctx context.Context, h hour) error {
	r := dataset{"flights", columnsOf("flights")}.read(h.text)
	defer r.Release()
	_, err := c.ExecuteIngest(ctx, r, &flightsql.ExecuteIngestOpts{Table: "flights", TableDefinitionOptions: &flightsql.TableDefinitionOptions{
		IfNotExist: flightsql.TableDefinitionOptionsTableNotExistOptionFail,
		IfExists:   flightsql.TableDefinitionOptionsTableExistsOptionAppend,
	}})
	return err
}

// replay has a writer commit the day hour by hour, while two subscriptions follow the views: one tells when the hour's flights are there,
// the other's changes are printed.
func replay(ctx context.Context, s *server, hours []hour, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	writer, err := connect(s.Flight, out)
	if err != nil {
		return err
	}
	defer writer.Close()
	counts, err := follow(ctx, s, "airline_days")
	if err != nil {
		return err
	}
	defer counts.close()
	worst, err := follow(ctx, s, "worst_delays")
	if err != nil {
		return err
	}
	defer worst.close()
	fmt.Fprintf(out, "\nA writer replays March 8th, one commit an hour. After each, what SUBSCRIBE TO worst_delays brings:\n\n")
	fmt.Fprintf(out, "  %s\n", strings.Join([]string{"hour ", "flights", "committed", "with the subscriber after"}, "  "))
	var all int64
	for _, h := range hours {
		all += h.flights
		start := time.Now()
		if err := writer.add(ctx, h); err != nil {
			return err
		}
		committed := time.Since(start)
		for counts.flights < all {
			if err := counts.next(); err != nil {
				return err
			}
		}
		fmt.Fprintf(out, "  %s  %7d  %6d ms  %6d ms\n", h.name, h.flights, committed.Milliseconds(), time.Since(start).Milliseconds())
		version, err := writer.settled(ctx)
		if err != nil {
			return err
		}
		for worst.at < version {
			if err := worst.next(); err != nil {
				return err
			}
		}
		worst.show(out)
	}
	return nil
}

// settled waits until the views reflect all commits and gives the snapshot of the last publication of worst_delays.
func (c *client) settled(ctx context.Context) (version int64, err error) {
	for behind := int64(1); behind > 0; {
		info, err := c.Execute(ctx, "SELECT max(staleness_ms), max(version) FILTER (view_name = 'worst_delays') FROM vega.streaming_views")
		if err != nil {
			return 0, err
		}
		r, err := c.DoGet(ctx, info.Endpoint[0].Ticket)
		if err != nil {
			return 0, err
		}
		for r.Next() {
			behind, version = r.RecordBatch().Column(0).(*array.Int64).Value(0), r.RecordBatch().Column(1).(*array.Int64).Value(0)
		}
		err = r.Err()
		r.Release()
		if err != nil {
			return 0, err
		}
	}
	return version, nil
}

// tail is an open subscription to one of the views.
type tail struct {
	c       *client
	r       *flight.Reader
	at      int64 // the lake snapshot up to which it has everything
	flights int64 // sum of the column of that name, of the day's changes
	changes []string
}

// follow subscribes to what changes from now on.
func follow(ctx context.Context, s *server, view string) (*tail, error) {
	c, err := connect(s.Flight, io.Discard)
	if err != nil {
		return nil, err
	}
	t := &tail{c: c}
	info, err := c.Execute(ctx, "SUBSCRIBE TO "+view+" WITH (snapshot = false, progress = true)")
	if err == nil {
		t.r, err = c.DoGet(ctx, info.Endpoint[0].Ticket)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	return t, nil
}

func (t *tail) close() {
	t.r.Release()
	t.c.Close()
}

// next takes one batch: rows with weights, and in its metadata how far the subscriber is now.
func (t *tail) next() error {
	if !t.r.Next() {
		if err := t.r.Err(); err != nil {
			return err
		}
		return io.ErrUnexpectedEOF
	}
	var note struct {
		AsOf *int64 `json:"as_of"`
	}
	if err := json.Unmarshal(t.r.LatestAppMetadata(), &note); err != nil {
		return err
	}
	if note.AsOf != nil {
		t.at = *note.AsOf
	}
	rec := t.r.RecordBatch()
	weights, said := column(rec, "_weight"), column(rec, "_progress")
	for i := range int(rec.NumRows()) {
		if !said.IsNull(i) {
			continue // only that there is progress
		}
		weight := weights.(*array.Int64).Value(i)
		if f, ok := column(rec, "flights").(*array.Int64); ok {
			t.flights += weight * f.Value(i)
			continue
		}
		sign := "+"
		if weight < 0 {
			sign = "-"
		}
		cell := func(name string) string { return column(rec, name).ValueStr(i) }
		t.changes = append(t.changes, fmt.Sprintf("%s %4s min late  %s %-5s %s → %s  %4s miles of sight", sign,
			cell("minutes"), cell("carrier"), cell("flight"), cell("origin"), cell("dest"), cell("visibility")))
	}
	return nil
}

// show prints the changes that came and forgets them, what went first.
func (t *tail) show(out io.Writer) {
	for _, sign := range []string{"-", "+"} {
		for _, line := range t.changes {
			if !strings.HasPrefix(line, sign) {
				continue
			}
			if colour := map[string]string{"-": "31", "+": "32"}[sign]; terminal(out) {
				line = "\x1b[" + colour + "m" + line + "\x1b[0m"
			}
			fmt.Fprintln(out, "            "+line)
		}
	}
	t.changes = nil
}

func column(rec arrow.RecordBatch, name string) arrow.Array {
	for _, i := range rec.Schema().FieldIndices(name) {
		return rec.Column(i)
	}
	return nil
}

func terminal(out io.Writer) bool {
	f, ok := out.(interface{ Fd() uintptr })
	return ok && term.IsTerminal(int(f.Fd()))
}
