package lake

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/maintain"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/refresh"
	"github.com/vegadb/vega-flight/ivm/store"
)

// hide makes a view's table, ready for publications, under a hidden name. It gets its comment with its name.
func (s *Sink) hide(ctx context.Context, schema string, columns []catalog.Column) (*ducklake.HiddenTable, error) {
	var found string
	err := s.db.View(ctx, func(tx metadata.Tx) (err error) {
		found, err = metadata.SchemaName(ctx, tx, schema)
		return err
	})
	if err != nil {
		return nil, err
	}
	if found == "" {
		return nil, fault.ObjectNotFound.Newf("there is no schema %s", metadata.QuoteIdent(schema)).WithHint("CREATE SCHEMA %s", metadata.QuoteIdent(schema))
	}
	h, err := s.Lake.Hide(ctx, found, lakeColumns(columns))
	if err != nil {
		return nil, err
	}
	if err = s.Publisher.Prepare(ctx, h.Info()); err == nil {
		err = fail(s.Faults.Hidden)
	}
	if err != nil {
		return nil, errors.Join(err, h.Drop(ctx))
	}
	return h, nil
}

func lakeColumns(columns []catalog.Column) []gate.Column {
	out := make([]gate.Column, len(columns))
	for i, c := range columns {
		out[i] = gate.Column{Name: c.Name, Type: c.Type, LakeType: c.Type}
	}
	return out
}

// Create makes a view's table and its rows appear in one commit.
func (s *Sink) Create(ctx context.Context, m refresh.Making) (catalog.Table, error) {
	if err := ducklake.CheckName(m.Name.Name); err != nil {
		return catalog.Table{}, err
	}
	info, err := s.Lake.Create(ctx, ducklake.NewTable{
		Schema: m.Name.Schema, Name: m.Name.Name, Comment: m.Row.Definition, Columns: lakeColumns(m.Columns), CommitID: uuid.NewString(),
	}, func(ctx context.Context, tx metadata.Tx, made metadata.TableInfo, at metadata.Snapshot) error {
		if err := s.Publisher.Furnish(ctx, tx, made, at); err != nil {
			return err
		}
		return s.describe(ctx, tx, m, store.Table(made), at)
	})
	if err != nil {
		return catalog.Table{}, err
	}
	s.Publisher.Furnished(ctx, info)
	table := store.Table(info)
	table.Name, table.Comment = m.Name, m.Row.Definition
	return table, nil
}

// describe writes the rows of a view whose table is made in the same transaction.
func (s *Sink) describe(ctx context.Context, tx metadata.Tx, m refresh.Making, table catalog.Table, at metadata.Snapshot) error {
	row := m.Row
	row.UUID, row.Name, row.Columns = table.UUID, m.Name, table.Columns
	if err := s.Store.InsertRow(ctx, tx, row); err != nil {
		return err
	}
	if row.Kind == catalog.Streaming {
		if err := s.Store.InsertStream(ctx, tx, table.UUID, m.Begin, at.ID); err != nil {
			return err
		}
	}
	if f := s.Fence(); m.Own && f.ServerID != "" {
		if err := s.Store.TakeUp(ctx, tx, table.UUID, store.Owner{ServerID: f.ServerID, Fence: f.Epoch}); err != nil {
			return err
		}
	}
	if m.Job != nil {
		j := *m.Job
		j.Subject = table.UUID
		if err := s.Store.InsertJob(ctx, tx, j); err != nil {
			return err
		}
	}
	return fail(s.Faults.Hidden)
}

// Replace puts a view without content into the place of old.
func (s *Sink) Replace(ctx context.Context, old *catalog.View, m refresh.Making) (catalog.Table, error) {
	if sameColumns(old.Table.Columns, m.Columns) {
		return old.Table, s.empty(ctx, old, m.Row)
	}
	h, err := s.hide(ctx, old.Name().Schema, m.Columns)
	if err != nil {
		return catalog.Table{}, err
	}
	table := store.Table(h.Info())
	table.Name, table.Comment = old.Name(), m.Row.Definition
	row := m.Row
	row.UUID, row.Name, row.Columns = table.UUID, table.Name, table.Columns
	_, err = h.Reveal(ctx, old.Name().Name, m.Row.Definition, old.Table.ID, uuid.NewString(), func(ctx context.Context, tx metadata.Tx, _ metadata.Snapshot) error {
		if err := s.Store.ReplaceRow(ctx, tx, old.UUID, row); err != nil {
			return err
		}
		return s.Store.MoveJobs(ctx, tx, old.UUID, row.UUID)
	})
	if err != nil {
		return catalog.Table{}, errors.Join(err, h.Drop(ctx))
	}
	return table, nil
}

// empty gives a view another definition over the same table; it counts as never refreshed until it has content for that.
func (s *Sink) empty(ctx context.Context, old *catalog.View, next catalog.Row) error {
	err := s.db.Update(ctx, func(tx metadata.Tx) error {
		if err := s.redefine(ctx, tx, old.Table, &next); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE {M}vega_published SET generation = 0, epoch = epoch + 1, frontier = NULL WHERE uuid = $1`, old.UUID)
		return err
	})
	if err != nil {
		return err
	}
	v := *old
	v.Row.Definition, v.Row.Hash = next.Definition, next.Hash
	return s.Comment(ctx, &v)
}

func sameColumns(a, b []catalog.Column) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if !strings.EqualFold(a[i].Name, b[i].Name) || !strings.EqualFold(a[i].Type, b[i].Type) {
			return false
		}
	}
	return true
}

// Build makes a hidden table for a job that replaces a view by one with other columns.
func (s *Sink) Build(ctx context.Context, v *catalog.View, columns []catalog.Column, jobID string) (catalog.Table, error) {
	h, err := s.hide(ctx, v.Name().Schema, columns)
	if err != nil {
		return catalog.Table{}, err
	}
	s.mu.Lock()
	s.hidden[jobID] = h
	s.mu.Unlock()
	return store.Table(h.Info()), nil
}

func (s *Sink) forgetHidden(jobID string) *ducklake.HiddenTable {
	s.mu.Lock()
	defer s.mu.Unlock()
	h := s.hidden[jobID]
	delete(s.hidden, jobID)
	return h
}

// Discard removes what the job staged, built and held. Tables that another process built for it go with that server: see Settle.
func (s *Sink) Discard(ctx context.Context, jobID string) error {
	errs := []error{s.Publisher.Discard(ctx, jobID)}
	if h := s.forgetHidden(jobID); h != nil {
		errs = append(errs, h.Drop(ctx))
		errs = append(errs, s.Store.Views().Delete(context.WithoutCancel(ctx), h.Info().UUID)) // its published state
	}
	errs = append(errs, s.db.Update(ctx, func(tx metadata.Tx) error { return maintain.ReleaseHolds(ctx, tx, jobID) }))
	return errors.Join(errs...)
}

// Rename gives a view's table another name.
func (s *Sink) Rename(ctx context.Context, v *catalog.View, to string) error {
	if err := ducklake.CheckName(to); err != nil {
		return err
	}
	name := v.Name()
	_, err := s.Lake.Swap(ctx, metadata.Renaming{Schema: name.Schema, From: name.Name, ID: v.Table.ID, To: to}, func(ctx context.Context, tx metadata.Tx, _ metadata.Snapshot) error {
		row, found, err := s.Store.RowByUUID(ctx, tx, v.UUID)
		if err != nil {
			return err
		}
		if !found {
			return fault.ViewNotFound.Newf("view %s was dropped", name)
		}
		row.Name = catalog.Name{Schema: name.Schema, Name: to}
		_, err = s.Store.UpdateRow(ctx, tx, row)
		return err
	})
	return err
}

// Comment writes the definition into the table's comment. Between reading it and the commit the view may be renamed, and another table may
// take the name, so the table goes by its id.
func (s *Sink) Comment(ctx context.Context, v *catalog.View) error {
	if err := fail(s.Faults.Commenting); err != nil {
		return err
	}
	err := s.Lake.CommentTable(ctx, v.Table.ID, v.Definition)
	if fault.CodeOf(err) == fault.ObjectNotFound {
		return fault.ViewNotFound.Newf("the table of view %s was dropped", v.Table.Name)
	}
	return err
}

// nameOf is where a view's table is now: it may have been renamed since it was read.
func (s *Sink) nameOf(ctx context.Context, t catalog.Table) (catalog.Name, error) {
	var name catalog.Name
	err := s.db.View(ctx, func(tx metadata.Tx) error {
		now, found, err := metadata.TableByID(ctx, tx, t.ID, 0)
		if err == nil && !found {
			err = fault.ViewNotFound.Newf("the table of view %s was dropped", t.Name)
		}
		name = catalog.Name{Schema: now.Schema, Name: now.Name}
		return err
	})
	return name, err
}

// Prepare makes a table that exists already ready to be published into.
func (s *Sink) Prepare(ctx context.Context, v *catalog.View) error {
	var info metadata.TableInfo
	err := s.db.View(ctx, func(tx metadata.Tx) error {
		var found bool
		var err error
		info, found, err = metadata.TableByID(ctx, tx, v.Table.ID, 0)
		if err == nil && !found {
			err = fault.ViewNotFound.Newf("table %s was dropped", v.Name())
		}
		return err
	})
	if err != nil {
		return err
	}
	return s.Publisher.Prepare(ctx, info)
}

func asTime(v any) (time.Time, error) {
	t, ok := v.(time.Time)
	if !ok {
		return t, fmt.Errorf("lake: the catalog's clock is %T", v)
	}
	return t, nil
}
