package plan

import "strings"

// place finds where in the user's text a reason stands. DuckDB's own positions are lost on the way of most operators, and are
// those of another text when views were put in their place; so the words are looked for.
func (r *Reason) place(sql string) {
	if sql == "" {
		return
	}
	r.Position = NoPosition
	var words [][]string
	switch r.Code {
	case Sample:
		words = [][]string{{"tablesample"}, {"using", "sample"}}
	case PositionalJoin:
		words = [][]string{{"positional"}}
	case RecursiveQuery:
		words = [][]string{{"recursive"}}
	case ComputedLimit:
		words = [][]string{{"limit"}, {"offset"}}
	case RowIdentifier:
		words = [][]string{{"rowid"}}
	case ClockOutsideFilter:
		for _, w := range clockWords {
			words = append(words, []string{w})
		}
	case VolatileFunction, NoTotalOrder, ApproximateResult:
		name, _, _ := strings.Cut(r.Message, " ")
		words = [][]string{{name}}
		for alias, of := range sameFunctions {
			if of == name {
				words = append(words, []string{alias})
			}
		}
	case TableFunction:
		name, _, _ := strings.Cut(strings.TrimPrefix(r.Message, "rows of the function "), " ")
		words = [][]string{{name}}
	}
	if r.Position = find(sql, words); r.Position == NoPosition && r.Code == NoTotalOrder && strings.HasPrefix(r.Message, "row_number ") {
		r.Position = find(sql, [][]string{{"limit"}, {"offset"}}) // DuckDB numbers the rows of a subquery to take the first ones for each outer row
		r.Message, r.Hint = "LIMIT in a subquery depends on the order of rows", "write ORDER BY beside it"
	}
}

var clockWords = []string{"now", "current_timestamp", "current_date", "today", "get_current_timestamp", "transaction_timestamp", "localtimestamp",
	"current_time", "localtime", "get_current_time", "age"}

// sameFunctions are other names under which DuckDB's functions are written.
var sameFunctions = map[string]string{"array_agg": "list", "group_concat": "string_agg", "listagg": "string_agg", "arbitrary": "first", "uuid": "gen_random_uuid",
	"first_value": "first", "last_value": "last"}

// find is the place of the first of the sequences of words, outside of strings, comments and quoted names.
func find(sql string, sequences [][]string) int {
	var words []string
	var places []int
	for i := 0; i < len(sql); {
		c := sql[i]
		switch {
		case c == '\'' || c == '"':
			for i++; i < len(sql) && sql[i] != c; i++ {
			}
			i++
		case c == '-' && strings.HasPrefix(sql[i:], "--"):
			for i < len(sql) && sql[i] != '\n' {
				i++
			}
		case c == '/' && strings.HasPrefix(sql[i:], "/*"):
			depth := 1
			for i += 2; i < len(sql) && depth > 0; i++ {
				if strings.HasPrefix(sql[i:], "/*") {
					depth++
					i++
				} else if strings.HasPrefix(sql[i:], "*/") {
					depth--
					i++
				}
			}
		case letter(c):
			start := i
			for i < len(sql) && (letter(sql[i]) || sql[i] >= '0' && sql[i] <= '9') {
				i++
			}
			words, places = append(words, strings.ToLower(sql[start:i])), append(places, start)
		default:
			i++
		}
	}
	best := NoPosition
	for _, seq := range sequences {
		for i := 0; i+len(seq) <= len(words); i++ {
			match := true
			for k := range seq {
				match = match && words[i+k] == seq[k]
			}
			if match && (best == NoPosition || places[i] < best) {
				best = places[i]
			}
		}
	}
	return best
}

func letter(c byte) bool { return c == '_' || c|32 >= 'a' && c|32 <= 'z' || c >= 0x80 }
