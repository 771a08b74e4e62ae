package main

import (
	"reflect"
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/extension"
)

// Names of environment variables begin with vegaPrefix; other programs of the project have some of their own.
const vegaPrefix = "VEGA_"

// knownVariables are the environment variables that some command reads.
func knownVariables() []string {
	names := []string{extension.DirEnv, envPrefix + "CONFIG", envPrefix + "PASSWORD", envPrefix + "TOKEN", envPrefix + "API_KEY"}
	new(Config).fields(func(name string, _ reflect.StructTag, _ reflect.Value) { names = append(names, envName(name)) })
	return names
}

// misspelt is one line about the variables of an environment that look like ours and are none, "" when there is none.
func misspelt(environ []string) string {
	known := knownVariables()
	var found []string
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if !strings.HasPrefix(strings.ToUpper(name), vegaPrefix) || slices.Contains(known, name) {
			continue
		}
		nearest, distance := "", len(name)
		for _, k := range known {
			// Leaving out FLIGHT is a mistake as likely as any other.
			d := min(edits(strings.ToUpper(name), k), edits(strings.ToUpper(name), strings.Replace(k, envPrefix, vegaPrefix, 1)))
			if d < distance {
				nearest, distance = k, d
			}
		}
		if strings.HasPrefix(strings.ToUpper(name), envPrefix) || distance <= 2 {
			found = append(found, name+" (the nearest is "+nearest+")")
		}
	}
	if len(found) == 0 {
		return ""
	}
	slices.Sort(found)
	return "environment variables that nothing reads: " + strings.Join(found, ", ")
}

// edits is how many letters have to be changed, put in or left out to make one word of another.
func edits(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost++
			}
			diagonal = row[j+1]
			row[j+1] = min(cost, row[j+1]+1, row[j]+1)
		}
	}
	return row[len(b)]
}
