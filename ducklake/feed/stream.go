package feed

import (
	"context"
	"errors"
	"strings"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// Stream gives rows batch by batch. It is for one goroutine.
type Stream struct {
	reader  *Reader
	ctx     context.Context
	unpin   func()
	tx      metadata.Reading
	pinned  bool // the connection has a transaction that is not tx
	span    *span
	history *history
	begins  map[int64]int64 // of the data files with deletes

	parts   []part
	open    *duck.Reader
	release func() // after open is closed
	last    func() error
	err     error
	closed  bool
}

// part is a statement of a stream; its reader is nil when it has no rows.
type part func(context.Context) (*duck.Reader, error)

func (s *Stream) conn() *duck.Conn { return s.reader.feed.conn }

// plan finds out where the window's rows are.
func (s *Stream) plan(from, to int64) (err error) {
	ctx, r := s.ctx, s.reader
	if s.tx, err = metadata.OpenReading(ctx, r.feed.Store, r.feed.conn); err != nil {
		return err
	}
	if s.span, err = readSpan(ctx, s.tx, from, to); err != nil {
		return err
	}
	if err := r.check(ctx, s.tx, s.span.head); err != nil {
		return err
	}
	if s.history, err = r.historyAt(ctx, s.tx, s.span.head); err != nil {
		return err
	}
	var all deeds
	for _, c := range s.span.changes {
		d := deedsOf(c, r.table.ID)
		if d.dropped {
			return noTable(r.table, c.ID)
		}
		all.inlinedInsert, all.inlinedDelete = all.inlinedInsert || d.inlinedInsert, all.inlinedDelete || d.inlinedDelete
		all.inserted, all.deleted = all.inserted || d.inserted, all.deleted || d.deleted
		all.flushed, all.merged = all.flushed || d.flushed || d.rewritten, all.merged || d.merged
	}
	if all.inlinedInsert || all.inlinedDelete {
		if s.parts, err = s.inlined(ctx, s.tx); err != nil {
			return err
		}
	}
	// What was inlined then may lie in files by now.
	files := s.span.head.ID > to && (all.inlinedInsert || all.inlinedDelete)
	var parts []part
	if files || all.inserted || all.deleted || all.flushed || all.merged {
		if parts, err = s.filed(ctx, s.tx, all.inlinedDelete); err != nil {
			return err
		}
	} else if all.inlinedDelete {
		if parts, err = s.unfiled(ctx, s.tx); err != nil {
			return err
		}
	}
	if s.tx.Dialect() == metadata.PostgreSQL {
		// The rest is in files, whose names are known.
		s.parts = append(s.parts, func(context.Context) (*duck.Reader, error) { return nil, s.tx.Close() })
	}
	s.parts = append(s.parts, parts...)
	return nil
}

// filed are the parts with rows of files.
func (s *Stream) filed(ctx context.Context, tx metadata.Tx, inlined bool) (parts []part, err error) {
	came, retired, err := s.windowFiles(ctx, tx)
	if err != nil {
		return nil, err
	}
	chunks, err := s.chunks(ctx, tx, came)
	if err != nil {
		return nil, err
	}
	for _, c := range chunks {
		parts = append(parts, s.came(c))
	}
	g, err := s.readDeletes(ctx, tx, retired, inlined, true)
	if err != nil {
		return nil, err
	}
	went, err := s.went(ctx, tx, g)
	s.last = func() error { return s.missed(g) }
	return append(parts, went...), err
}

// unfiled are the parts when nothing was written to files: inlined deletes of rows in files.
func (s *Stream) unfiled(ctx context.Context, tx metadata.Tx) ([]part, error) {
	g, err := s.readDeletes(ctx, tx, nil, true, false)
	if err != nil || len(g.files) == 0 {
		return nil, err
	}
	return s.went(ctx, tx, g)
}

// Schema is the reader's.
func (s *Stream) Schema() *arrow.Schema { return s.reader.schema }

// Next reads the next batch. After false, Err must be asked.
func (s *Stream) Next() bool {
	if s.err != nil || s.closed {
		return false
	}
	for {
		if s.open == nil {
			if len(s.parts) == 0 {
				if s.last != nil {
					s.err, s.last = s.last(), nil
				}
				return false
			}
			p := s.parts[0]
			s.parts = s.parts[1:]
			if s.open, s.err = p(s.ctx); s.err != nil {
				s.err = lost(s.err)
				return false
			}
			if s.open == nil {
				continue
			}
		}
		if s.open.Next() {
			return true
		}
		if s.err = errors.Join(s.open.Err(), s.shut()); s.err != nil {
			s.err = lost(s.err)
			return false
		}
	}
}

// shut ends the open part.
func (s *Stream) shut() (err error) {
	if s.open != nil {
		err = s.open.Close()
		s.open = nil
	}
	if s.release != nil {
		s.release()
		s.release = nil
	}
	return err
}

// lost says of a file that is not there that its history is gone.
func lost(err error) error {
	var e *duck.Error
	if errors.As(err, &e) && e.Type == "IO" && (strings.Contains(e.Message, "No files found") || strings.Contains(e.Message, "No such file")) {
		return fault.HistoryRewritten.Wrap(err, "a data file that the changes are read from is gone")
	}
	return err
}

// RecordBatch is the current batch, valid until the next call of Next.
func (s *Stream) RecordBatch() arrow.RecordBatch { return s.open.RecordBatch() }

// Err is why the stream ended early; nil when it was read to its end.
func (s *Stream) Err() error { return s.err }

// Close ends the stream and lets the feed go on.
func (s *Stream) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	err := s.shut()
	if s.tx != nil {
		err = errors.Join(err, s.tx.Close())
	}
	err = errors.Join(err, s.unpinLake())
	s.unpin()
	s.reader.feed.give()
	return err
}
