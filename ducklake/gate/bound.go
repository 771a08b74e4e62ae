package gate

// Source is a lake table that a bound query reads, with the columns it uses.
type Source struct {
	TableRef
	Columns []string
}

// PinnedObject is a view or macro whose text was put into the bound query.
type PinnedObject struct {
	Type ObjectType
	TableRef
	SQL string
}

// Bound is a view's query, independent of the session that wrote it.
type Bound struct {
	SQL        string // canonical: names qualified, stars expanded, plain views and macros in place
	Columns    []Column
	Sources    []Source
	Pinned     []PinnedObject
	TimeZone   string
	Consistent bool // two runs over the same rows give the same answer: nothing volatile, no clock

	template Template
}

// At is the query with every lake table read at the given snapshot.
func (b *Bound) At(version int64) string { return b.template.At(version) }
