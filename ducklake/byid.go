package ducklake

import (
	"context"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// Also is what a change of the schema writes in its own transaction.
type Also = func(context.Context, metadata.Tx, metadata.Snapshot) error

// Swap gives a table another name in one lake commit, in place of another table if r.Replaced is set. also runs in the same transaction.
func (l *Lake) Swap(ctx context.Context, r metadata.Renaming, also ...Also) (metadata.Snapshot, error) {
	return l.alter(ctx, r.Commit, func(tx metadata.Tx, c metadata.CommitInfo) (metadata.Snapshot, error) {
		r := r
		r.Commit = c
		made, _, err := metadata.Rename(ctx, tx, r)
		return made, err
	}, also...)
}

// DropTable drops the table with that id, whatever it is called now; fault.ObjectNotFound when it is not there.
func (l *Lake) DropTable(ctx context.Context, id int64, also ...Also) error {
	_, err := l.alter(ctx, metadata.CommitInfo{}, func(tx metadata.Tx, c metadata.CommitInfo) (metadata.Snapshot, error) {
		return metadata.Drop(ctx, tx, id, c)
	}, also...)
	return err
}

// CommentTable gives the table with that id a comment, whatever it is called now; fault.ObjectNotFound when it is not there.
func (l *Lake) CommentTable(ctx context.Context, id int64, text string, also ...Also) error {
	_, err := l.alter(ctx, metadata.CommitInfo{}, func(tx metadata.Tx, c metadata.CommitInfo) (metadata.Snapshot, error) {
		return metadata.Comment(ctx, tx, id, text, c)
	}, also...)
	return err
}

// alter commits a change of the schema that is written without the extension.
func (l *Lake) alter(ctx context.Context, c metadata.CommitInfo, write func(metadata.Tx, metadata.CommitInfo) (metadata.Snapshot, error), also ...Also) (metadata.Snapshot, error) {
	if c.ID == "" {
		c = metadata.CommitInfo{ID: commitID(ctx), Kind: metadata.CommitWrite, Server: l.config.ServerID}
		if c.ID == "" {
			c.ID = uuid.NewString()
		}
	}
	before := l.notice.seen()
	unlock, err := l.lock.Lock(ctx)
	if err != nil {
		return metadata.Snapshot{}, err
	}
	defer unlock()
	var made metadata.Snapshot
	err = l.store.Update(ctx, func(tx metadata.Tx) (err error) {
		if made, err = write(tx, c); err != nil {
			return err
		}
		for _, f := range also {
			if err := f(ctx, tx, made); err != nil {
				return err
			}
		}
		return nil
	})
	if unknownOutcome(err) {
		id, committed, lookup := metadata.Resolve(context.WithoutCancel(ctx), l.store, c.ID, before)
		switch {
		case lookup != nil:
			return metadata.Snapshot{}, lookup
		case committed:
			made.ID, err = id, nil
		}
	}
	if err != nil {
		return metadata.Snapshot{}, l.check(err)
	}
	l.Notify()
	return made, nil
}
