package plan

import "strings"

// Source is a table, or a stream, that a query may read.
type Source struct {
	Catalog, Schema, Name string
	UUID                  string // survives renames; "" when there is none
	Columns               []TableColumn
	Keys                  [][]string // columns that are unique together
	AppendOnly            bool       // rows are never taken back
	Unbounded             bool       // a stream: its past is not kept anywhere
	Watermark             string     // the column that a watermark follows
	Delay                 string     // how far behind, as SQL writes an interval
	DelayMicros           int64      // the same
}

func (s *Source) String() string {
	name := s.Schema + "." + s.Name
	if s.Schema == "" || s.Schema == "main" {
		name = s.Name
	}
	return name
}

// column finds a column by its name as DuckDB does, regardless of case.
func (s *Source) column(name string) int {
	for i, c := range s.Columns {
		if strings.EqualFold(c.Name, name) {
			return i
		}
	}
	return -1
}
