package catalog

import "context"

// Store is the durable list of views.
type Store interface {
	// Revision is cheap and differs from an earlier one whenever anything Load gives may differ.
	Revision(ctx context.Context) (Revision, error)
	// Load reads everything about all views in one transaction.
	Load(ctx context.Context) (Facts, error)
	// Insert adds a row; fault.ViewExists when the uuid has one. Its revision becomes 1.
	Insert(ctx context.Context, r Row) error
	// Update writes every field of the row that still has r.Revision, and sets the revision to r.Revision+1;
	// otherwise it changes nothing and returns false.
	Update(ctx context.Context, r Row) (bool, error)
	// Replace puts a row with another uuid into the place of old, in one transaction.
	Replace(ctx context.Context, old string, r Row) error
	// Delete removes rows with all that belongs to them; rows that are not there are no error.
	Delete(ctx context.Context, uuids ...string) error
}

// Revision tells whether something moved: compare with ==.
type Revision struct {
	Snapshot      int64 // the lake's newest snapshot: published content
	SchemaVersion int64 // the lake's schema version: tables, names, comments
	Rows          int64 // grows with every change of the rows
}

// Facts is one consistent reading of the catalog database.
type Facts struct {
	Revision   Revision
	Tables     []Table
	PlainViews []Name // the lake's plain views
	Schemas    []string
	Rows       []Row
	Published  map[string]Published // by table uuid
}
