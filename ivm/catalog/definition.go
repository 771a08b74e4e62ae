package catalog

// Format is the envelope format this server writes, and the newest it reads.
const Format = 1

// Definition is what a view computes, independent of any session.
type Definition struct {
	Kind     Kind
	Query    string // canonical SQL
	TimeZone string // the time zone the query was bound in; part of its meaning
	Options  Options
	Pinned   []Pinned
}

// Pinned is a plain view or macro whose text is part of the query.
type Pinned struct {
	Type string `json:"type"` // view, macro, table macro
	Name string `json:"name"` // qualified
	SQL  string `json:"sql"`
}
