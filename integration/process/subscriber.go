package process

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow/flight"
)

// Subscriber is a copy of a view that subscriptions keep up to date, through as many connections and servers as it takes. It applies a
// publication when all of it is there.
type Subscriber struct {
	View string
	Key  []int // columns by which rows are replaced; nil: rows come with weights
	At   int64 // the lake snapshot of the copy; -1 before the first

	Publications int

	rows    map[string]int
	waiting [][]string // rows of a publication that is not complete
	framed  bool       // they are the whole content
	reader  *flight.Reader
}

// NewSubscriber makes a copy that has nothing yet.
func NewSubscriber(view string, key ...int) *Subscriber {
	return &Subscriber{View: view, Key: key, At: -1, rows: map[string]int{}}
}

// Subscribe begins where the copy is. What was not complete is forgotten.
func (s *Subscriber) Subscribe(ctx context.Context, c *Client, with ...string) error {
	s.waiting, s.framed = nil, false
	if s.At >= 0 {
		with = append(with, fmt.Sprintf("as_of = %d", s.At))
	}
	if s.Key != nil {
		with = append(with, "mode = 'upsert'")
	}
	sql := "SUBSCRIBE TO " + s.View
	if len(with) > 0 {
		sql += " WITH (" + strings.Join(with, ", ") + ")"
	}
	info, err := c.Execute(ctx, sql)
	if err != nil {
		return err
	}
	s.reader, err = c.DoGet(ctx, info.Endpoint[0].Ticket)
	return err
}

// Next takes one batch; io.EOF is the end of the subscription.
func (s *Subscriber) Next() error {
	if !s.reader.Next() {
		err := s.reader.Err()
		s.reader.Release()
		if err == nil {
			err = io.EOF
		}
		return err
	}
	var note struct {
		Time     int64  `json:"time"`
		Progress string `json:"progress"`
		AsOf     *int64 `json:"as_of"`
		Last     bool   `json:"last"`
	}
	if err := json.Unmarshal(s.reader.LatestAppMetadata(), &note); err != nil {
		return err
	}
	for _, row := range Rows(s.reader.RecordBatch()) {
		switch row[2] {
		case "begin":
			s.waiting, s.framed = nil, true
		case "end", "at":
		default:
			s.waiting = append(s.waiting, row)
		}
	}
	if note.Last {
		s.apply()
		s.Publications++
	}
	if note.AsOf != nil {
		s.At = *note.AsOf
	}
	return nil
}

func (s *Subscriber) apply() {
	if s.framed {
		clear(s.rows)
	}
	for _, row := range s.waiting {
		cells := strings.Join(row[3:], "|")
		if s.Key == nil {
			weight, err := strconv.Atoi(row[1])
			if err != nil {
				panic(err)
			}
			if s.rows[cells] += weight; s.rows[cells] == 0 {
				delete(s.rows, cells)
			}
			continue
		}
		key := s.key(row[3:])
		maps.DeleteFunc(s.rows, func(have string, _ int) bool { return s.key(strings.Split(have, "|")) == key })
		if row[1] == "upsert" {
			s.rows[cells] = 1
		}
	}
	s.waiting, s.framed = nil, false
}

func (s *Subscriber) key(cells []string) (key string) {
	for _, k := range s.Key {
		key += cells[k] + "|"
	}
	return key
}

// Until takes batches until the copy is at a snapshot.
func (s *Subscriber) Until(at int64) error {
	for s.At < at {
		if err := s.Next(); err != nil {
			return fmt.Errorf("at %d, waiting for %d: %w", s.At, at, err)
		}
	}
	return nil
}

// Differs says in what the copy is not the view as it was at the copy's snapshot; "" in nothing.
func (s *Subscriber) Differs(ctx context.Context, c *Client) (string, error) {
	rows, err := c.Query(ctx, fmt.Sprintf("SELECT * FROM %s AT (VERSION => %d)", s.View, s.At))
	if err != nil {
		return "", err
	}
	want := map[string]int{}
	for _, row := range rows {
		want[strings.Join(row, "|")]++
	}
	if maps.Equal(s.rows, want) {
		return "", nil
	}
	return fmt.Sprintf("at %d the copy of %s has %.2000s, and the view %.2000s", s.At, s.View, fmt.Sprint(s.rows), fmt.Sprint(want)), nil
}

// Compare is Differs for who expects nothing.
func (s *Subscriber) Compare(t testing.TB, c *Client) {
	t.Helper()
	if d, err := s.Differs(t.Context(), c); err != nil || d != "" {
		t.Errorf("%v %s", err, d)
	}
}
