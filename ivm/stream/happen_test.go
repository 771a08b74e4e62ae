package stream_test

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/ddl"
	"github.com/vegadb/vega-flight/ivm/store"
)

// A happening is something that may happen beside a step's statements: before them, and what it gives after them.
type happening struct {
	what string
	rare int // it happens to one of so many for whom it is drawn; 0 is all
	// timeless ones make content anew, and what a watermark has dropped is not known then.
	timeless bool
	do       func(m *mirror) (after func() error, err error)
}

// happen draws what happens.
func (m *mirror) happen() (after func() error) {
	var afters []func() error
	end := func() error {
		var errs []error
		for _, f := range afters {
			if f != nil {
				errs = append(errs, f())
			}
		}
		return errors.Join(errs...)
	}
	if m.calm {
		return end
	}
	for range m.random.IntN(3) {
		h := happenings[m.random.IntN(len(happenings))]
		if h.rare > 0 && m.random.IntN(h.rare) > 0 || h.timeless && m.timed {
			continue
		}
		f, err := h.do(m)
		if err != nil {
			afters = append(afters, func() error { return fmt.Errorf("%s: %w", h.what, err) })
			continue
		}
		m.note(h.what)
		m.t.Logf("%s", h.what)
		afters = append(afters, f)
	}
	return end
}

// table draws one.
func (m *mirror) table() string { return m.tables[m.random.IntN(len(m.tables))] }

// follower draws one, or gives nil when there is none.
func (m *mirror) follower() *follower {
	if len(m.made) == 0 {
		return nil
	}
	return m.made[m.random.IntN(len(m.made))]
}

// around makes a happening that is undone after the step's statements or before them.
func around(do, undo func(m *mirror) error) func(m *mirror) (func() error, error) {
	return func(m *mirror) (func() error, error) {
		if err := do(m); err != nil {
			return nil, err
		}
		return func() error { return undo(m) }, nil
	}
}

func now(do func(m *mirror) error) func(m *mirror) (func() error, error) {
	return func(m *mirror) (func() error, error) { return nil, do(m) }
}

var happenings = []happening{
	{what: "restart", do: around(
		func(m *mirror) error { m.stop(); return nil },
		func(m *mirror) error { m.start(); return nil },
	)},
	{what: "restart without the statements", do: now(func(m *mirror) error { m.stop(); m.start(); return nil })},
	{what: "restart from an older checkpoint", do: now(func(m *mirror) error {
		m.stop()
		kept := m.keep()
		m.start()
		m.older = append(m.older, kept)
		m.stop()
		m.back(m.older[m.random.IntN(len(m.older))])
		m.start()
		return nil
	})},
	{what: "an older checkpoint, replayed", do: func(m *mirror) (func() error, error) {
		m.stop()
		kept := m.keep()
		m.start()
		return func() error {
			m.stop()
			m.back(kept)
			m.start()
			return nil
		}, nil
	}},
	{what: "restart without a checkpoint", rare: 2, do: now(func(m *mirror) error {
		m.stop()
		m.back("")
		m.start()
		return nil
	})},
	{what: "maintenance", do: now(func(m *mirror) error { return m.maintain() })},
	{what: "maintenance behind the statements", do: around(func(*mirror) error { return nil }, func(m *mirror) error { return m.maintain() })},
	{what: "flush by somebody", do: now(func(m *mirror) error { return m.upkeep("CALL ducklake_flush_inlined_data('lake')") })},
	{what: "flush by somebody behind the statements", do: around(func(*mirror) error { return nil }, func(m *mirror) error {
		return m.upkeep("CALL ducklake_flush_inlined_data('lake')")
	})},
	{what: "merge by somebody", do: now(func(m *mirror) error { return m.upkeep("CALL ducklake_merge_adjacent_files('lake')") })},
	{what: "rename a table and back", do: now(func(m *mirror) error {
		t := m.table()
		return errors.Join(m.try("ALTER TABLE "+t+" RENAME TO renamed_table"), m.wait(), m.try("ALTER TABLE renamed_table RENAME TO "+t))
	})},
	{what: "rename a column and back", do: now(func(m *mirror) error {
		t := m.table()
		c, err := m.column(t)
		if err != nil {
			return err
		}
		return errors.Join(m.try("ALTER TABLE "+t+" RENAME COLUMN "+c+" TO renamed_column"), m.wait(), m.try("ALTER TABLE "+t+" RENAME COLUMN renamed_column TO "+c))
	})},
	{what: "a column comes and goes", do: now(func(m *mirror) error {
		t := m.table()
		return errors.Join(m.try("ALTER TABLE "+t+" ADD COLUMN passing INTEGER DEFAULT 7"), m.wait(), m.try("ALTER TABLE "+t+" DROP COLUMN passing"))
	})},
	{what: "a table is made again", timeless: true, rare: 2, do: now(func(m *mirror) error {
		t := m.table()
		return m.try("CREATE OR REPLACE TABLE " + t + " AS FROM " + t)
	})},
	{what: "pause", do: func(m *mirror) (func() error, error) {
		f := m.follower()
		if f == nil {
			return nil, nil
		}
		err := f.control(func(c *store.Control, uuid string) error { return c.Pause(m.ctx, uuid, true) })
		return func() error {
			return f.control(func(c *store.Control, uuid string) error { return c.Pause(m.ctx, uuid, false) })
		}, err
	}},
	{what: "rebuild", timeless: true, do: now(func(m *mirror) error {
		f := m.follower()
		if f == nil {
			return nil
		}
		return f.control(func(c *store.Control, uuid string) error { return c.Rebuild(m.ctx, uuid, "") })
	})},
	{what: "restart by statement", do: now(func(m *mirror) error {
		f := m.follower()
		if f == nil {
			return nil
		}
		return f.control(func(c *store.Control, uuid string) error { return c.Restart(m.ctx, uuid) })
	})},
	{what: "other options", do: now(func(m *mirror) error { return m.reset() })},
	{what: "somebody writes into a view", do: now(func(m *mirror) error { return m.scribble() })},
	{what: "somebody writes into a view behind the statements", do: around(
		func(*mirror) error { return nil }, func(m *mirror) error { return m.scribble() },
	)},
	{what: "lost answers of commits", do: now(func(m *mirror) error { m.fate.lost.fail(1+m.random.Int64N(3), errStopped); return nil })},
	{what: "commits that fail", do: now(func(m *mirror) error {
		m.fate.refused.fail(1+m.random.Int64N(3), commitTroubles[m.random.IntN(len(commitTroubles))])
		return nil
	})},
	{what: "reads of the lake that fail", do: now(func(m *mirror) error {
		n := len(sourceTroubles)
		if m.timed {
			n-- // history that is gone is content made anew
		}
		m.fate.source.fail(1+m.random.Int64N(3), sourceTroubles[m.random.IntN(n)])
		return nil
	})},
	{what: "a disk that fails", rare: 2, do: now(func(m *mirror) error {
		m.fate.disk.fail(1+m.random.Int64N(6), diskTroubles[m.random.IntN(len(diskTroubles))])
		return nil
	})},
}

// wait waits for nothing, or until the views have seen what there is.
func (m *mirror) wait() error {
	if f := m.follower(); f != nil && m.random.IntN(2) == 0 && m.run != nil {
		_, err := f.settle(m.ctx)
		return err
	}
	return nil
}

// upkeep runs maintenance that may meet writers.
func (m *mirror) upkeep(sql string) error {
	if err := m.raw(sql); err != nil && !strings.Contains(err.Error(), "onflict") && !strings.Contains(err.Error(), "could not serialize access") {
		return err
	}
	return nil
}

// maintain is a run of the server's maintenance, with no patience.
func (m *mirror) maintain() error {
	servers := &maintain.Servers{Store: m.lake.Store(), Lease: time.Hour}
	c := maintain.Config{
		Store: m.lake.Store(), Lock: m.lake.CommitLock(), Lake: m.lake.Name(), Publisher: m.publisher, Servers: servers, Owner: m.owner,
		Acquire: m.acquire, PublicationRetention: 1, CleanupDelay: 1, OrphanAge: 1, Flushable: m.lake.Flushable,
		FlushRows: 1 + m.random.Int64N(30), MergeFiles: 2 + m.random.Int64N(3),
	}
	if m.random.IntN(2) == 0 {
		c.UserRetention = 1
	}
	_, err := maintain.New(c).RunOnce(m.ctx)
	if quiet(err) {
		return nil
	}
	return err
}

// column draws a column of a table.
func (m *mirror) column(table string) (string, error) {
	conn, release, err := m.acquire(m.ctx)
	if err != nil {
		return "", err
	}
	defer release()
	rows, err := conn.Rows(m.ctx, "SELECT column_name FROM (DESCRIBE lake.main."+table+") ORDER BY column_name")
	if err != nil {
		return "", err
	}
	return metadata.QuoteIdent(rows[m.random.IntN(len(rows))][0].(string)), nil
}

// scribble writes into a view's table.
func (m *mirror) scribble() error {
	f := m.follower()
	if f == nil {
		return nil
	}
	name := metadata.QuoteIdent(f.view.Row.Name.Name)
	column := metadata.QuoteIdent(f.view.Table.Columns[0].Name)
	sql := []string{
		"INSERT INTO " + name + " FROM " + name + " LIMIT 2",
		"DELETE FROM " + name,
		"DELETE FROM " + name + " WHERE rowid % 2 = 0",
		"UPDATE " + name + " SET " + column + " = NULL",
	}[m.random.IntN(4)]
	if err := m.try(sql); err != nil && !quiet(err) {
		return err
	}
	return nil
}

// reset changes a view's options.
func (m *mirror) reset() error {
	f := m.follower()
	if f == nil {
		return nil
	}
	for range 20 {
		var row catalog.Row
		err := m.lake.Store().View(m.ctx, func(tx metadata.Tx) (err error) {
			row, _, err = m.lab.rows.RowByUUID(m.ctx, tx, f.view.UUID)
			return err
		})
		if err != nil {
			return err
		}
		def, err := catalog.Decode(row.Definition)
		if err != nil {
			return err
		}
		def.Options, err = def.Options.Set(ddl.Options{
			{Name: "parallelism", Value: ddl.Value{Kind: ddl.Int, Int: 1 + m.random.Int64N(5)}},
			{Name: "source_batch_rows", Value: ddl.Value{Kind: ddl.Int, Int: 1 + m.random.Int64N(20)}},
		})
		if err != nil {
			return err
		}
		if ok, err := m.lab.rows.Views().Update(m.ctx, row.WithDefinition(def)); ok || err != nil {
			m.changed()
			return err
		}
	}
	return errors.New("the view's row cannot be changed")
}
