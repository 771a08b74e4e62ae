package feed

import (
	"strings"
	"time"

	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// Kind is what a lake snapshot did to a table. A snapshot may have done several things.
type Kind uint8

// The kinds.
const (
	Rows      Kind = 1 << iota // rows may have come or gone
	Moved                      // rows went to other places: a flush, a merge, a rewrite of deletes
	Altered                    // columns, or a comment only: see Change.Columns
	Renamed                    // the table has another name
	Dropped                    // the table is gone, from this snapshot on
	Recreated                  // with Dropped: another table has its name at the window's end, see Change.Successor
)

// Has says that all of k2 are among k.
func (k Kind) Has(k2 Kind) bool { return k&k2 == k2 }

func (k Kind) String() string {
	var out []string
	for i, name := range []string{"rows", "moved", "altered", "renamed", "dropped", "recreated"} {
		if k&(1<<i) != 0 {
			out = append(out, name)
		}
	}
	return strings.Join(out, "+")
}

// Change is one table's part in one lake snapshot.
type Change struct {
	Snapshot int64
	Time     time.Time
	Table    int64 // its id
	Kind     Kind
	// Commit is the commit id that one of our servers put into the snapshot, with its kind; zero for others' commits.
	Commit metadata.CommitInfo
	Author string

	Columns   []ColumnChange      // with Altered
	Name      string              // with Renamed: the new name, within its schema
	Successor *metadata.TableInfo // with Recreated
}

// ColumnChange is what became of one top-level column. Before is zero for one that was added, After for one that was dropped.
type ColumnChange struct {
	Before, After metadata.ColumnInfo
}

// Added, DroppedColumn and so on tell the changes apart.
func (c ColumnChange) Added() bool { return c.Before.ID == 0 }

// Gone says that the column was dropped.
func (c ColumnChange) Gone() bool { return c.After.ID == 0 }

// Renamed says that the column has another name.
func (c ColumnChange) Renamed() bool {
	return !c.Added() && !c.Gone() && c.Before.Name != c.After.Name
}

// Retyped says that the column has another type, such as one it was promoted to, or other fields within it.
func (c ColumnChange) Retyped() bool {
	return !c.Added() && !c.Gone() && !sameType(c.Before, c.After)
}

// Plan is what a window has.
type Plan struct {
	From, To int64
	Changes  []Change // by snapshot, then in the order of the tables
}

// Written are the snapshots in which rows of the tables may have come or gone, in order.
func (p Plan) Written() []int64 {
	var out []int64
	for _, c := range p.Changes {
		if c.Kind.Has(Rows) && (len(out) == 0 || out[len(out)-1] != c.Snapshot) {
			out = append(out, c.Snapshot)
		}
	}
	return out
}
