package gate

import (
	"strings"
	"testing"
)

// Every function of the build and of the extensions that a server loads is decided. When this fails after an
// upgrade, read what the new function does and put its name into functions.go.
func TestEveryFunctionIsDecided(t *testing.T) {
	lake := newRealLake(t)
	operators := "!__postfix !~~ !~~* % & && * ** + - ->> / // <-> << <=> <@ >> @ @> ^ ^@ | || ~ ~~ ~~* ~~~"
	decidedOperators := set(operators)
	for _, row := range lake.rows(`SELECT DISTINCT lower(function_name), function_type FROM duckdb_functions() WHERE function_type <> 'pragma' ORDER BY ALL`) {
		name, kind := row[0].(string), row[1].(string)
		c := name[0]
		if !identStart(c) {
			if !decidedOperators[name] {
				t.Errorf("operator %s is not decided", name)
			}
			continue
		}
		allowed := allowedFunction[name] || catalogFunction[name] || strings.HasPrefix(name, "icu_collate_")
		refused := deniedFunction[name] != "" || strings.HasPrefix(name, "__internal_")
		if allowed == refused {
			t.Errorf("%s %s: allowed %v, denied %v", kind, name, allowed, refused)
		}
		if kind == "table" && allowed && !catalogFunction[name] && !allowedScan[name] {
			t.Errorf("table function %s is allowed by the name of another function only", name)
		}
	}
	// The functions of every lake, which no list shows.
	for _, name := range strings.Fields("snapshots current_snapshot last_committed_snapshot table_info table_changes table_insertions table_deletions " +
		"options set_option settings set_commit_message") {
		if !reservedName[name] {
			t.Errorf("%s can be taken by a user's macro", name)
		}
	}
}

func TestNoFunctionIsDecidedTwice(t *testing.T) {
	seen := map[string]bool{}
	for _, list := range []string{allowedScalar, allowedAggregate, allowedMacro, allowedTable, lakeFunctions, catalogFunctions} {
		for _, n := range strings.Fields(list) {
			if deniedFunction[n] != "" {
				t.Errorf("%s is allowed and denied", n)
			}
		}
	}
	for _, d := range denied {
		for _, n := range strings.Fields(d.names) {
			if seen[n] {
				t.Errorf("%s is denied twice", n)
			}
			seen[n] = true
		}
	}
}
