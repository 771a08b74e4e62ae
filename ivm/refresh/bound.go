package refresh

import (
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/job"
)

// Bound is a view's query, independent of the session that wrote it.
type Bound struct {
	Query      string // canonical
	TimeZone   string
	Columns    []catalog.Column // names as the query gives them, types as the lake keeps them; no ids
	Sources    []catalog.Source
	Pinned     []catalog.Pinned
	Consistent bool
}

// Making is a view to be made.
type Making struct {
	Name    catalog.Name
	Columns []catalog.Column
	Row     catalog.Row // its UUID becomes known with the table
	Begin   string      // of a streaming view: how its first generation begins
	Own     bool        // of a streaming view: this server takes it up
	Job     *job.Job    // inserted with the row, its Subject the table's uuid; nil for none
}
