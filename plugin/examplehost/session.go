package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"

	"github.com/vegadb/vega-flight/plugin"
)

// session is a client of the sidecar that there is now.
type session struct {
	*flightsql.Client
	of *plugin.Sidecar
}

// session waits for a sidecar.
func (h *host) session(ctx context.Context) (*session, error) {
	of, err := h.sidecar.Sidecar(ctx)
	if err != nil {
		return nil, err
	}
	return &session{of.Session(), of}, nil
}

// rows runs a statement and gives each batch of its result to see.
func (s *session) rows(ctx context.Context, sql string, see func(array.RecordReader) error) error {
	info, err := s.Execute(ctx, sql)
	if err != nil {
		return err
	}
	for _, end := range info.GetEndpoint() {
		r, err := s.DoGet(ctx, end.GetTicket())
		if err != nil {
			return err
		}
		err = see(r)
		r.Release()
		if err != nil {
			return err
		}
	}
	return nil
}

// text is a result's rows as text.
func (s *session) text(ctx context.Context, sql string) (string, error) {
	var out strings.Builder
	err := s.rows(ctx, sql, func(r array.RecordReader) error {
		for r.Next() {
			b := r.RecordBatch()
			for i := range int(b.NumRows()) {
				for _, c := range b.Columns() {
					out.WriteString(c.ValueStr(i) + " ")
				}
			}
		}
		return r.Err()
	})
	return strings.TrimSpace(out.String()), err
}

func (s *session) show(ctx context.Context, sql string) error {
	got, err := s.text(ctx, sql)
	if err == nil {
		fmt.Printf("  %s: %s\n", sql, got)
	}
	return err
}

// agree waits until the streaming view, which follows its table some milliseconds behind, is what its query gives.
func (s *session) agree(ctx context.Context) error {
	for ; ; time.Sleep(10 * time.Millisecond) {
		view, err := s.text(ctx, "SELECT sum(total) FROM spent")
		if err != nil {
			return err
		}
		table, err := s.text(ctx, "SELECT sum(amount) FROM orders")
		if err != nil {
			return err
		}
		if view == table {
			fmt.Println("  the view has", view, "and so has the table")
			return nil
		}
	}
}

// kill ends the sidecar's process at once and waits until it is gone.
func (s *session) kill(ctx context.Context) error {
	info, err := s.of.Info(ctx)
	if err != nil {
		return err
	}
	p, err := os.FindProcess(int(info.GetPid()))
	if err == nil {
		err = p.Kill()
	}
	if err != nil {
		return err
	}
	select {
	case <-s.of.Ended():
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
