package publish

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// leaf is a column that holds values itself: a top-level one, or one inside lists, structs and maps. Statistics are kept
// for leaves only.
type leaf struct {
	id   int64
	typ  string   // DuckLake's name of the type
	path []string // names from the top-level column down
	// expr gives, from a relation of one column v, the relation of the values one level further down.
	steps []step
}

// step goes one level down into a nested value.
type step struct {
	kind string // "struct", "list", "key", "value"
	name string // of a struct's field
}

// leavesOf lists the leaves of a table's columns, in order.
func leavesOf(columns []metadata.ColumnInfo) []leaf {
	var out []leaf
	var walk func(c metadata.ColumnInfo, l leaf)
	walk = func(c metadata.ColumnInfo, l leaf) {
		l.id, l.typ = c.ID, c.Type
		l.path = append(slices.Clip(l.path), c.Name)
		if len(c.Children) == 0 {
			out = append(out, l)
			return
		}
		for i, child := range c.Children {
			s := step{kind: "struct", name: child.Name}
			switch {
			case c.Type == "list":
				s = step{kind: "list"}
			case c.Type == "map" && i == 0:
				s = step{kind: "key"}
			case c.Type == "map":
				s = step{kind: "value"}
			}
			below := l
			below.steps = append(slices.Clip(l.steps), s)
			walk(child, below)
		}
	}
	for _, c := range columns {
		walk(c, leaf{})
	}
	return out
}

// key is how COPY's statistics name a leaf: its path, quoted, with dots.
func (l leaf) key() string {
	parts := make([]string, len(l.path))
	for i, name := range l.path {
		parts[i] = metadata.QuoteIdent(name)
	}
	return strings.Join(parts, ".")
}

// fieldIDs is the value of COPY's FIELD_IDS for the columns: what ties a Parquet file to the table's column ids.
func fieldIDs(columns []metadata.ColumnInfo) string {
	var one func(c metadata.ColumnInfo) string
	one = func(c metadata.ColumnInfo) string {
		if len(c.Children) == 0 {
			return fmt.Sprint(c.ID)
		}
		parts := []string{fmt.Sprintf("__duckdb_field_id: %d", c.ID)}
		for _, child := range c.Children {
			parts = append(parts, metadata.QuoteIdent(child.Name)+": "+one(child))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	}
	parts := make([]string, len(columns))
	for i, c := range columns {
		parts[i] = metadata.QuoteIdent(c.Name) + ": " + one(c)
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// kept are the types whose values the lake keeps unchanged, in files and inlined. Among those it does not: HUGEINT
// becomes DOUBLE in files, TIMETZ loses its offset, INTERVAL its microseconds, and infinite TIMESTAMP_S cannot be flushed.
var kept = map[string]bool{
	"boolean": true, "int8": true, "int16": true, "int32": true, "int64": true, "uint8": true, "uint16": true, "uint32": true,
	"uint64": true, "float32": true, "float64": true, "time": true, "date": true, "timestamp": true,
	"timestamp_us": true, "timestamptz": true, "timestamp_ms": true, "timestamp_ns": true,
	"varchar": true, "blob": true, "uuid": true, "json": true,
}

// checkTypes refuses a table with a column that native commits cannot write.
func checkTypes(t metadata.TableInfo) error {
	for _, l := range leavesOf(t.Columns) {
		if !kept[l.typ] && !strings.HasPrefix(l.typ, "decimal(") {
			return fault.UnstableType.Newf("column %s of table %s.%s has the type %s, which the lake does not keep unchanged",
				strings.Join(l.path, "."), t.Schema, t.Name, l.typ)
		}
	}
	return nil
}

// sameColumns reports whether files and rows made for the columns a are right for the columns b: equal ids and types.
// Names may differ, since files are read by id and rows are inserted by position.
func sameColumns(a, b []metadata.ColumnInfo) bool {
	return slices.EqualFunc(a, b, func(x, y metadata.ColumnInfo) bool {
		return x.ID == y.ID && x.Type == y.Type && sameColumns(x.Children, y.Children)
	})
}
