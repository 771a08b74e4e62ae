package plan

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"testing"
)

// seedSources are the tables of the seeds.
var seedSources = []*Source{
	source("u", "a INTEGER", "b BIGINT", "c VARCHAR", "k INTEGER"),
	source("o", "oid INTEGER", "cid INTEGER", "amt DECIMAL(18,2)", "note VARCHAR", "ts TIMESTAMP"),
	source("cu", "cid INTEGER", "region VARCHAR", "since TIMESTAMP"),
}

// seeds is what DuckDB says of queries; package bind writes them.
func seeds(t testing.TB) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/seeds/*.json")
	if err != nil || len(files) < 20 {
		t.Fatal(files, err)
	}
	var out []string
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, string(b))
	}
	return out
}

// all asks everything of a plan.
func all(text string) {
	p, err := Read(Input{JSON: text, SQL: "SELECT now(), random() FROM u", Sources: seedSources, Volatile: map[string]bool{"random": true}})
	if err != nil {
		return
	}
	p.Text()
	p.ExplainText()
	p.JSON()
	p.Fingerprint()
	for _, i := range p.Nodes {
		for _, e := range i.Node.exprs() {
			Walk(e, func(e Expr) bool {
				if c, ok := e.(*Constant); ok {
					c.SQL()
				}
				return true
			})
		}
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range seeds(f) {
		f.Add(s)
	}
	f.Fuzz(func(_ *testing.T, text string) { all(text) })
}

// TestMangledPlans changes plans where fuzzing bytes would only break the JSON: parts are dropped, exchanged, repeated, and numbers changed.
func TestMangledPlans(t *testing.T) {
	n := 6000
	if v, err := strconv.Atoi(os.Getenv("VEGA_MANGLED")); err == nil {
		n = v
	}
	r := rand.New(rand.NewPCG(3, 4))
	var trees []*tree
	for _, s := range seeds(t) {
		p, err := parseJSON(s)
		if err != nil {
			t.Fatal(err)
		}
		trees = append(trees, p)
	}
	for i := range n {
		p := clone(trees[r.IntN(len(trees))])
		var parts []*tree
		gather(p, &parts)
		for range 1 + r.IntN(3) {
			mangle(r, parts[r.IntN(len(parts))], parts, trees)
		}
		text := p.compact()
		func() {
			defer func() {
				if e := recover(); e != nil {
					t.Fatalf("mangled plan %d: %v\n%s\n%s", i, e, debug.Stack(), text)
				}
			}()
			all(text)
		}()
	}
}

func clone(t *tree) *tree {
	c := *t
	c.keys = append([]string{}, t.keys...)
	c.items = make([]tree, len(t.items))
	for i := range t.items {
		c.items[i] = *clone(&t.items[i])
	}
	return &c
}

func gather(t *tree, out *[]*tree) {
	*out = append(*out, t)
	for i := range t.items {
		gather(&t.items[i], out)
	}
}

func mangle(r *rand.Rand, t *tree, parts []*tree, trees []*tree) {
	switch r.IntN(7) {
	case 0: // drop a member or item
		if len(t.items) > 0 {
			i := r.IntN(len(t.items))
			t.items = append(append([]tree{}, t.items[:i]...), t.items[i+1:]...)
			if len(t.keys) > 0 {
				t.keys = append(append([]string{}, t.keys[:i]...), t.keys[i+1:]...)
			}
		}
	case 1: // another part of the same plan
		*t = *clone(parts[r.IntN(len(parts))])
	case 2: // a part of another plan
		var other []*tree
		gather(trees[r.IntN(len(trees))], &other)
		*t = *clone(other[r.IntN(len(other))])
	case 3:
		if t.kind == jsonArray && len(t.items) > 0 {
			t.items = append(t.items, *clone(&t.items[r.IntN(len(t.items))]))
		}
	case 4:
		*t = tree{kind: jsonNumber, text: []string{"0", "1", "7", "-1", "18446744073709551615", "1e300", "NaN"}[r.IntN(7)]}
	case 5:
		*t = tree{}
	default:
		// A string becomes another one of the plan's, such as another operator's name.
		other := parts[r.IntN(len(parts))]
		if t.kind == jsonString && other.kind == jsonString {
			t.text = other.text
		}
	}
}
