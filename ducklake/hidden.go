package ducklake

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// HiddenTable is a table that is built by another package: users do not see it before Reveal, and what is left of it after a crash is
// dropped by [Lake.Sweep].
type HiddenTable struct {
	build *build
	info  metadata.TableInfo
}

// Hide makes an empty hidden table in a schema. Of the columns, Name and LakeType count.
func (l *Lake) Hide(ctx context.Context, schema string, columns []gate.Column) (*HiddenTable, error) {
	b, err := l.startBuild(ctx, schema, columns)
	if err != nil {
		return nil, err
	}
	h := &HiddenTable{build: b}
	if err := l.store.View(ctx, func(tx metadata.Tx) (err error) {
		h.info, _, err = metadata.TableByName(ctx, tx, schema, b.table, 0)
		return err
	}); err != nil {
		_ = b.drop(ctx)
		return nil, err
	}
	return h, nil
}

// Info is the table as it was made.
func (h *HiddenTable) Info() metadata.TableInfo { return h.info }

// Name is the table's qualified, quoted name while it is hidden.
func (h *HiddenTable) Name() string { return h.build.name() }

// Reveal gives the table its name and its comment in one commit, in place of the table with the id replaced if that is not 0; when that table has not (any
// more) the name, it is fault.CommitConflict. also runs in the same transaction.
func (h *HiddenTable) Reveal(ctx context.Context, name, comment string, replaced int64, commitID string, also ...func(context.Context, metadata.Tx, metadata.Snapshot) error) (metadata.Snapshot, error) {
	b := h.build
	r := metadata.Renaming{Schema: b.schema, From: b.table, To: name, Comment: comment, Replaced: replaced,
		Commit: metadata.CommitInfo{ID: commitID, Kind: metadata.CommitPublish, Server: b.lake.config.ServerID}}
	also = append(also, func(ctx context.Context, tx metadata.Tx, _ metadata.Snapshot) error {
		return forgetBuild(ctx, tx, b.id)
	})
	return b.lake.Swap(ctx, r, also...)
}

// Drop removes the table; also when ctx is over.
func (h *HiddenTable) Drop(ctx context.Context) error { return h.build.drop(ctx) }
