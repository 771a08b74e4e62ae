package publish

import (
	"context"
	"fmt"
	"time"

	"github.com/apache/arrow-go/v18/arrow"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// Publication is one table's step from one published state to the next. With neither Replace nor Delta the content
// stays and only the frontier moves.
type Publication struct {
	CommitID string // names this publication for ever; unique
	Message  string // the snapshot's commit message

	Table metadata.TableInfo
	// Seen is the snapshot that Table, the staged files' columns and a delta's locations were read at, or the
	// publisher's own last commit to the table if that is newer. 0 means that nothing is known: all is checked.
	Seen int64

	Replace *Staged
	Delta   *Delta
	Total   *int64 // rows of the table afterwards, for vega_published; nil: those that come

	Swap  Swap
	Owner Fence

	// Bundle is what publications have in common that are committed all or none: one that may not be committed takes the others of its
	// bundle with it. "" is no bundle.
	Bundle string

	// Also runs in the same transaction, after the swap: what must happen exactly if this publication does. It may run
	// more than once. An error drops this publication and leaves the others of the group.
	Also []func(ctx context.Context, tx metadata.Tx, s metadata.Snapshot) error
}

// Swap is the compare-and-swap that decides between publishers: the row of vega_published must have exactly this
// generation and epoch. Afterwards it has epoch + 1, the frontier, and NextGeneration if that is not 0.
// An epoch of 0 is the first publication: it makes the row if there is none.
type Swap struct {
	UUID           string
	Generation     int64
	Epoch          int64
	NextGeneration int64
	Frontier       []byte
}

// Fence is the owner of a publication or of staged files: a server and the epoch of its registration. Once another
// server has raised the epoch, nothing of the old one is published. The zero Fence is not checked.
type Fence struct {
	ServerID string
	Epoch    int64
}

// Delta is a change of some rows. Insert has the table's columns in their order.
type Delta struct {
	Insert []arrow.RecordBatch
	// Files are new rows that are staged already, in place of Insert. As with a replacement, they are the caller's until they are committed.
	Files  *Staged
	Delete []Location
	// Relocate is called when rows may have moved since Seen (a flush, a merge, somebody else's write): it returns
	// the locations of the same rows now, and the snapshot they were read at. Nil makes that a [MovedError].
	Relocate func(ctx context.Context, why *MovedError) (locations []Location, seen int64, err error)
}

// Location is where a row lies: at a position in a data file, or, when File is Inlined, under a row id in the
// catalog database.
type Location struct {
	File     int64
	Position int64
}

// Inlined is the File of rows that lie in the catalog database.
const Inlined = -1

// Span is where some rows lie one after the other: from a position of a data file or, when File is Inlined, from a row id on.
type Span struct {
	File, First, Rows int64
}

// MovedError says that a delta's locations cannot be trusted, because of what others did to the table since Seen.
// Class is metadata.Untouched when the snapshots between are gone and nothing is known. It is a fault.CommitConflict.
type MovedError struct {
	TableID int64
	Class   metadata.Class
	Since   int64
	fault   *fault.Error
}

func moved(table metadata.TableInfo, class metadata.Class, since int64, why string) *MovedError {
	return &MovedError{TableID: table.ID, Class: class, Since: since,
		fault: fault.CommitConflict.Newf("rows of table %s.%s %s since snapshot %d", table.Schema, table.Name, why, since)}
}

func (e *MovedError) Error() string { return e.fault.Error() }

// Unwrap gives the fault.
func (e *MovedError) Unwrap() error { return e.fault }

// Result is what became of a publication.
type Result struct {
	Snapshot   int64 // the lake snapshot that has it
	Epoch      int64 // the swap's epoch now
	Generation int64
	Rows       int64     // rows written
	At         time.Time // the commit's, by the catalog's clock
	// Healed says that somebody else had written to the table and this replacement took it away.
	Healed bool
	// Inserted is where the rows are that were inserted, in their order when they are inlined; NextRowID is the table's next row id.
	// They are not known (0) of a commit whose answer was lost, and of one that changed no rows.
	Inserted  []Span
	NextRowID int64
	// Untouched says that nobody else has done anything to the table from Seen to this commit.
	Untouched bool
	Err       error // a fault; nothing of this publication was committed
}

func (p Publication) name() string { return fmt.Sprintf("%s.%s", p.Table.Schema, p.Table.Name) }

func (p Publication) check() error {
	switch {
	case p.CommitID == "":
		return fmt.Errorf("publish: a publication needs a commit id")
	case p.Swap.UUID == "":
		return fmt.Errorf("publish: a publication needs the uuid of its swap")
	case p.Replace != nil && p.Delta != nil:
		return fmt.Errorf("publish: %s: a publication is a replacement or a delta, not both", p.name())
	case p.Delta != nil && p.Delta.Files != nil && len(p.Delta.Insert) > 0:
		return fmt.Errorf("publish: %s: a delta's new rows are staged or given, not both", p.name())
	case p.Delta != nil && p.Delta.Files != nil && p.Delta.Files.TableID != p.Table.ID:
		return fmt.Errorf("publish: %s: the staged files are of another table", p.name())
	case p.Replace != nil && p.Replace.TableID != p.Table.ID:
		return fmt.Errorf("publish: %s: the staged files are of another table", p.name())
	}
	return nil
}
