package types

import "strings"

// Verdict is what the lake does with a type.
type Verdict int

// The verdicts.
const (
	Keep   Verdict = iota // values come back unchanged
	Map                   // another type keeps the values; a cast to it is exact or fails
	Refuse                // no type of the lake keeps the values as what they are
)

func (v Verdict) String() string { return [...]string{"keep", "map", "refuse"}[v] }

// decision is the verdict on one type by name, for itself and inside of others.
type decision struct {
	verdict Verdict
	as      string // of Map: the type that keeps the values
	why     string // of Map and Refuse: what the lake would do
	instead string // of Refuse: what to write
}

var keep = decision{verdict: Keep}

// decisions by DuckDB's name of the type. What is not here is refused.
var decisions = map[string]decision{
	"BOOLEAN": keep, "TINYINT": keep, "SMALLINT": keep, "INTEGER": keep, "BIGINT": keep,
	"UTINYINT": keep, "USMALLINT": keep, "UINTEGER": keep, "UBIGINT": keep,
	"FLOAT": keep, "DOUBLE": keep, "DECIMAL": keep,
	"VARCHAR": keep, "BLOB": keep, "UUID": keep, "JSON": keep, "GEOMETRY": keep,
	"DATE": keep, "TIME": keep,
	"TIMESTAMP": keep, "TIMESTAMP WITH TIME ZONE": keep, "TIMESTAMP_MS": keep, "TIMESTAMP_NS": keep,

	"HUGEINT":     {Map, "DECIMAL(38,0)", "files hold it as DOUBLE, so integers above 2^53 change; a value of 39 digits is an error of the cast", ""},
	"UHUGEINT":    {Map, "DECIMAL(38,0)", "files hold it as DOUBLE, so integers above 2^53 change; a value of 39 digits is an error of the cast", ""},
	"TIMESTAMP_S": {Map, "TIMESTAMP", "its infinities cannot be flushed to files", ""},
	"ENUM":        {Map, "VARCHAR", "the lake has no such type; the labels are kept", ""},
	`"NULL"`:      {Map, "INTEGER", "DuckDB's own choice for a column that has NULLs only", ""},

	"INTERVAL":            {Refuse, "", "files hold milliseconds, so microseconds are lost, and no negative ones, so such rows can never be flushed", "cast it to VARCHAR, or keep a number with epoch_us"},
	"TIME WITH TIME ZONE": {Refuse, "", "files hold the time in UTC, so the offset is lost", "cast it to VARCHAR, or use TIMESTAMPTZ"},
	"TIME_NS":             {Refuse, "", "it cannot be written to files: flushing it ends the whole DuckDB instance", "cast it to TIME, or keep nanoseconds as BIGINT"},
	"BIT":                 {Refuse, "", "the lake has no such type", "cast it to VARCHAR"},
	"BIGNUM":              {Refuse, "", "the lake has no such type", "cast it to VARCHAR or DECIMAL"},
	"UNION":               {Refuse, "", "the lake has no such type", "use a STRUCT with a field for each member"},
	"VARIANT":             {Refuse, "", "values of several types can be inserted but never flushed to files", "cast it to JSON"},
}

// aliases are other names that DuckDB uses for the same types.
var aliases = map[string]string{
	"TIMETZ": "TIME WITH TIME ZONE", "TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE", "TIMESTAMP_US": "TIMESTAMP", "NULL": `"NULL"`, "SQLNULL": `"NULL"`,
}

// Lake gives the type in which a lake keeps values of a SQL type, spelled as
// DuckDB's DESCRIBE does. Of Keep it is the type itself; of Map the one to cast to,
// nested types having their parts mapped; of Refuse it is "".
func Lake(sqlType string) (mapped string, verdict Verdict) {
	t, err := parse(sqlType)
	if err != nil {
		return "", Refuse
	}
	verdict = t.lake()
	switch verdict {
	case Keep:
		return sqlType, Keep
	case Map:
		return t.String(), Map
	}
	return "", Refuse
}

// Why says what the lake would do to a type that is mapped or refused, and
// what to write instead; "" and "" for one that is kept.
func Why(sqlType string) (why, instead string) {
	t, err := parse(sqlType)
	if err != nil {
		return "the lake has no such type", "cast it, for example to VARCHAR"
	}
	worst := keep
	t.walk(func(n *node) {
		if d := n.decision(); d.verdict > worst.verdict {
			worst = d
		}
	})
	if worst.verdict == Map {
		mapped, _ := Lake(sqlType)
		return worst.why, "use " + mapped
	}
	return worst.why, worst.instead
}

// Inlined says whether DuckLake may keep rows with a column of the type in the
// catalog. A DuckDB catalog gets FLOAT and DOUBLE as decimal literals, which rounds one
// value in ten between -1 and 1 to a neighbour. A PostgreSQL catalog holds nested values as
// text, which DuckLake does not always read back: quotes get lost, and some values
// end the whole DuckDB instance.
func Inlined(sqlType string, postgres bool) bool {
	t, err := parse(sqlType)
	if err != nil {
		return false
	}
	if postgres {
		return len(t.children) == 0
	}
	return !t.has("FLOAT") && !t.has("DOUBLE")
}

// SkipsFiles says whether DuckLake's statistics of a column make it skip files
// that have matching rows, so that a filter on it gives a wrong answer. The column's least and
// greatest values must not be in the catalog then.
func SkipsFiles(sqlType string) bool {
	t, err := parse(sqlType)
	return err == nil && (t.has("FLOAT") || t.has("DOUBLE"))
}

// lake maps the node in place and gives the verdict on the whole.
func (n *node) lake() Verdict {
	verdict := n.decision().verdict
	switch {
	case verdict == Refuse:
		return Refuse
	case n.size > 0: // an ARRAY's elements are kept as a list
		n.size = 0
	case verdict == Map:
		n.name, n.args = n.decision().as, ""
	}
	for _, c := range n.children {
		verdict = max(verdict, c.lake())
	}
	return verdict
}

// decision is the verdict on the node without its parts.
func (n *node) decision() decision {
	switch {
	case n.size > 0:
		return decision{Map, "", "the lake has no arrays of a fixed size; a list keeps the elements", ""}
	case n.name == "[]" || n.name == "MAP":
		return keep
	case n.name == "STRUCT":
		for _, name := range n.names {
			if name == "" {
				return decision{Refuse, "", "fields without names are not kept", "use a STRUCT with named fields"}
			}
		}
		return keep
	}
	name := strings.ToUpper(n.name)
	if a, ok := aliases[name]; ok {
		name = a
	}
	if d, ok := decisions[name]; ok {
		return d
	}
	return decision{Refuse, "", "the lake has no such type", "cast it, for example to VARCHAR"}
}
