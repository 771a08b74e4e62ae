package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/duck"
)

// recompute is DuckDB running the whole query again for each batch: what users have without maintenance.
type recompute struct {
	w     *workload
	db    *duck.DB
	conn  *duck.Conn
	steps []batch
}

// Each batch costs the whole query, so few of a size are timed; what the others change comes in one step at the end.
const (
	recomputed = 5
	untimed    = -1 // size of a step that does not count
)

func newRecompute(ctx context.Context, o sideOptions) (_ side, err error) {
	s := &recompute{w: o.workload}
	if s.w.nexmark() {
		return nil, fmt.Errorf("the recomputation of Nexmark is not measured")
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	f, err := readFeed(o.data, o.workload.folder, o.rounds)
	if err != nil {
		return nil, err
	}
	s.steps = append(s.steps, batch{records: f.content})
	rest := batch{size: untimed}
	seen := map[int]int{}
	for _, b := range f.batches {
		if seen[b.size]++; seen[b.size] > recomputed {
			rest.records = append(rest.records, b.records...)
			continue
		}
		if len(rest.records) > 0 {
			s.steps = append(s.steps, rest)
			rest.records = nil
		}
		s.steps = append(s.steps, b)
	}
	if len(rest.records) > 0 {
		s.steps = append(s.steps, rest)
	}
	if s.db, err = duck.Open("", duck.Options{Config: map[string]string{"threads": fmt.Sprint(o.workers)}}); err != nil {
		return nil, err
	}
	if s.conn, err = s.db.Connect(); err != nil {
		return nil, err
	}
	for _, t := range s.w.tables {
		var fields []string
		for _, c := range t.columns {
			fields = append(fields, c.name+" "+c.typ)
		}
		if _, err = s.conn.Exec(ctx, "CREATE TABLE "+t.name+" ("+strings.Join(fields, ", ")+")"); err != nil {
			return nil, err
		}
	}
	return s, nil
}

func (s *recompute) sizes() []int {
	out := make([]int, len(s.steps))
	for i, b := range s.steps {
		out[i] = b.size
	}
	return out
}

func (s *recompute) memory() float64 { return statusMB("VmRSS:") }

func (s *recompute) rows() int { return len(s.steps[0].records) }

func (s *recompute) step(ctx context.Context, i int) error {
	if err := insertRecords(ctx, s.conn, "CREATE OR REPLACE TEMP TABLE change AS SELECT a, b, c, tag, sum(w) AS w FROM given GROUP BY ALL HAVING sum(w) <> 0", s.steps[i].records); err != nil {
		return err
	}
	for _, t := range s.w.tables {
		if i > 0 {
			if _, err := s.conn.Exec(ctx, fmt.Sprintf("DELETE FROM %s WHERE %s IN (SELECT a FROM change WHERE tag = %d AND w < 0)", t.name, t.columns[0].name, t.tag)); err != nil {
				return err
			}
		}
		if _, err := s.conn.Exec(ctx, fmt.Sprintf("INSERT INTO %s SELECT %s FROM change WHERE tag = %d AND w > 0", t.name, t.fields(), t.tag)); err != nil {
			return err
		}
	}
	_, err := s.conn.Exec(ctx, "CREATE OR REPLACE TABLE result AS "+s.w.view)
	return err
}

func (s *recompute) write(w *bufio.Writer) error {
	rows, err := s.conn.Rows(context.Background(), "FROM result")
	if err != nil {
		return err
	}
	for _, r := range rows {
		fmt.Fprint(w, 1)
		for _, v := range r {
			if v == nil {
				v = ""
			}
			fmt.Fprintf(w, ",%v", v)
		}
		fmt.Fprintln(w)
	}
	return nil
}

func (s *recompute) close() error {
	var errs []error
	if s.conn != nil {
		errs = append(errs, s.conn.Close())
	}
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	return errors.Join(errs...)
}
