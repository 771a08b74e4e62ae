package catalog

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/fault"
)

// world builds facts: tables by name, views with what they read.
type world struct {
	f     Facts
	rows  map[string]int
	tabID int64
}

func newWorld() *world {
	return &world{f: Facts{Published: map[string]Published{}}, rows: map[string]int{}}
}

func name(s string) Name {
	schema, n, _ := strings.Cut(s, ".")
	return Name{Schema: schema, Name: n}
}

func (w *world) table(n, comment string) Table {
	w.tabID++
	t := Table{ID: w.tabID, UUID: "uuid-" + n, Name: name(n), Comment: comment}
	w.f.Tables = append(w.f.Tables, t)
	return t
}

func definition(query string) string { return Definition{Kind: Traditional, Query: query}.Encode() }

func (w *world) view(n string, reads ...string) *world {
	text := definition("SELECT * FROM " + strings.Join(reads, ", "))
	t := w.table(n, text)
	row := Row{UUID: t.UUID, Kind: Traditional, Owner: "alice", Definition: text, Hash: HashDefinition(text), Name: t.Name, Revision: 1}
	for _, r := range reads {
		row.Sources = append(row.Sources, Source{UUID: "uuid-" + r, Name: name(r)})
	}
	w.rows[n] = len(w.f.Rows)
	w.f.Rows = append(w.f.Rows, row)
	return w
}

func (w *world) row(n string) *Row { return &w.f.Rows[w.rows[n]] }

func (w *world) comment(n, text string) {
	for i := range w.f.Tables {
		if w.f.Tables[i].Name == name(n) {
			w.f.Tables[i].Comment = text
		}
	}
}

func list(vs []*View) string {
	var out []string
	for _, v := range vs {
		out = append(out, v.Table.Name.String())
	}
	return strings.Join(out, " ")
}

func TestResolve(t *testing.T) {
	w := newWorld()
	w.table("s.t", "orders of the shop")
	w.table("s.forged", definition("SELECT 1"))
	w.table("s.newer", `{"kind":"query","format":9,"query":"?"}`)
	w.view("s.good", "s.t").view("s.lost", "s.t").view("s.forgedover", "s.t").view("s.future", "s.t").view("s.damaged", "s.t").view("s.gone", "s.t")
	w.f.Tables = w.f.Tables[:len(w.f.Tables)-1] // s.gone's table
	w.comment("s.lost", "")
	w.comment("s.forgedover", definition("SELECT secret FROM vault"))
	w.row("s.future").Definition = `{"kind":"query","format":2,"query":"SELECT 1"}`
	w.row("s.future").Hash = HashDefinition(w.row("s.future").Definition)
	w.row("s.damaged").Definition += " "
	w.f.PlainViews = []Name{name("s.plain")}
	w.f.Published["uuid-s.good"] = Published{Generation: 3, Epoch: 5}

	s := Resolve(w.f)
	var got []string
	for _, v := range append(append([]*View{}, s.Views...), s.Unadopted...) {
		got = append(got, fmt.Sprintf("%s %s", v.Table.Name, v.State()))
	}
	want := "s.damaged DEFINITION_UNREADABLE, s.forgedover NOT_POPULATED, s.future DEFINITION_TOO_NEW, s.good READY, s.lost NOT_POPULATED, " +
		"s.forged UNADOPTED, s.newer UNADOPTED"
	if strings.Join(got, ", ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, ", "), want)
	}
	if r := s.Repairs; strings.Join(r.Forget, " ") != "uuid-s.gone" || list(r.Restore) != "s.forgedover s.lost" {
		t.Errorf("repairs: forget %v, restore %s", r.Forget, list(r.Restore))
	}
	if v := s.Find(name("S.FORGEDOVER")); v == nil || v.Def.Query != "SELECT * FROM s.t" {
		t.Errorf("the forged comment is believed: %+v", v)
	}

	for n, want := range map[string]*fault.Code{
		"s.good": nil, "S.Good": nil, "s.future": nil, "s.t": fault.NotAView, "s.plain": fault.NotAView, "s.forged": fault.ViewUnadopted,
		"s.none": fault.ViewNotFound, "x.good": fault.ViewNotFound,
	} {
		if v, err := s.Lookup(name(n)); fault.CodeOf(err) != want || (err == nil) != (v != nil) {
			t.Errorf("Lookup(%s) = %v, %v", n, v, err)
		}
	}
	for n, want := range map[string]*fault.Code{
		"s.good": fault.ViewExists, "s.GOOD": fault.ViewExists, "s.t": fault.ObjectExists, "s.Plain": fault.ObjectExists, "s.forged": fault.ObjectExists, "s.none": nil,
	} {
		if err := s.Free(name(n)); fault.CodeOf(err) != want {
			t.Errorf("Free(%s) = %v", n, err)
		}
	}
}

func TestGraph(t *testing.T) {
	w := newWorld()
	w.table("s.t", "")
	w.view("s.a", "s.t").view("s.b", "s.a").view("s.c", "s.a", "s.b").view("s.d", "s.c", "s.t").view("s.alone", "s.t")
	s := Resolve(w.f)
	if got := list(s.Dependents(s.Find(name("s.a")))); got != "s.b s.c" {
		t.Errorf("dependents of a: %s", got)
	}
	if got := list(s.DropOrder(s.Find(name("s.a")))); got != "s.d s.c s.b s.a" {
		t.Errorf("drop order of a: %s", got)
	}
	position := map[string]int{}
	for i, v := range s.RefreshOrder() {
		position[v.Table.Name.Name] = i
	}
	if len(position) != 5 || position["a"] > position["b"] || position["b"] > position["c"] || position["c"] > position["d"] {
		t.Errorf("refresh order: %v", position)
	}
	if order, err := s.CheckDrop(s.Find(name("s.d")), false); err != nil || list(order) != "s.d" {
		t.Errorf("drop of d: %s, %v", list(order), err)
	}
	_, err := s.CheckDrop(s.Find(name("s.b")), false)
	if fault.CodeOf(err) != fault.DependentViews || !strings.Contains(err.Error(), "s.b is read by s.d, s.c") {
		t.Errorf("drop of b: %v", err)
	}
	if order, err := s.CheckDrop(s.Find(name("s.b")), true); err != nil || list(order) != "s.d s.c s.b" {
		t.Errorf("drop of b, cascade: %s, %v", list(order), err)
	}

	reads := func(n string) []Source { return []Source{{UUID: "uuid-" + n, Name: name(n)}} }
	if err := s.CheckCycle("uuid-s.a", name("s.a"), reads("s.d")); fault.CodeOf(err) != fault.ViewCycle || !strings.Contains(err.Error(), "s.a reads s.d reads s.c reads s.a") {
		t.Errorf("a reads d: %v", err)
	}
	if err := s.CheckCycle("uuid-s.a", name("s.a"), reads("s.a")); fault.CodeOf(err) != fault.ViewCycle || !strings.Contains(err.Error(), "s.a reads s.a") {
		t.Errorf("a reads a: %v", err)
	}
	for _, n := range []string{"s.d", "s.t", "s.alone"} {
		if err := s.CheckCycle("", name("s.new"), reads(n)); err != nil {
			t.Errorf("a new view reads %s: %v", n, err)
		}
	}

	// A view that was dropped and made again is still read, by its name.
	w.row("s.b").Sources[0].UUID = "uuid-of-the-old-a"
	s = Resolve(w.f)
	if got := list(s.Dependents(s.Find(name("s.a")))); got != "s.b s.c" {
		t.Errorf("dependents of the remade a: %s", got)
	}
}

func TestFrontier(t *testing.T) {
	published := map[string]Published{
		"v": {Snapshot: 7, Frontier: Frontier{SourceVersion: 6, Tables: map[string]int64{"t": 6, "u": 4}, Read: map[string]ReadView{"below": {3, "b"}}}},
		"w": {Snapshot: 9, Frontier: Frontier{SourceVersion: 8, Tables: map[string]int64{"t": 8}}},
	}
	f := At(12, []Source{{UUID: "v"}, {UUID: "w"}, {UUID: "u"}, {UUID: "x"}}, func(uuid string) (Upstream, bool) {
		p, ok := published[uuid]
		return Upstream{p, "m" + uuid}, ok
	})
	if got := string(f.Encode()); got != `{"source_version":12,"tables":{"t":6,"u":4,"x":12},"views":{"v":7,"w":9},`+
		`"read":{"below":{"snapshot":3,"meaning":"b"},"v":{"snapshot":7,"meaning":"mv"},"w":{"snapshot":9,"meaning":"mw"}}}` {
		t.Errorf("got %s", got)
	}
	// An older source version reads an older generation of a view.
	old := At(8, []Source{{UUID: "w"}, {UUID: "x"}}, func(uuid string) (Upstream, bool) {
		p, ok := published[uuid]
		return Upstream{p, "m" + uuid}, ok
	})
	if got := string(old.Encode()); got != `{"source_version":8,"tables":{"t":0,"x":8},"views":{"w":9},"read":{"w":{"snapshot":8,"meaning":""}}}` {
		t.Errorf("got %s", got)
	}
	again, err := DecodeFrontier(f.Encode())
	if err != nil || string(again.Encode()) != string(f.Encode()) {
		t.Errorf("%v, %v", again, err)
	}
	if _, err := DecodeFrontier([]byte("?")); err == nil {
		t.Error("garbage decodes")
	}
	if f, err := DecodeFrontier(nil); err != nil || string(f.Encode()) != `{"source_version":0,"tables":{}}` {
		t.Errorf("nothing decodes to %s, %v", f.Encode(), err)
	}
}

type commits map[string][]int64 // by table: the snapshots that changed it; snapshot n is n minutes after epoch

func (c commits) FirstChange(_ context.Context, table string, after int64) (time.Time, bool, error) {
	for _, n := range c[table] {
		if n > after {
			return time.Unix(60*n, 0), true, nil
		}
	}
	return time.Time{}, false, nil
}

func TestStaleness(t *testing.T) {
	v := &View{Published: Published{Frontier: Frontier{SourceVersion: 10, Tables: map[string]int64{"t": 10, "u": 6}}}}
	now := time.Unix(60*20, 0)
	for _, c := range []struct {
		name    string
		commits commits
		behind  time.Duration
	}{
		{"nothing ever changed", commits{}, 0},
		{"all reflected", commits{"t": {3, 10}, "u": {6}}, 0},
		{"one behind", commits{"t": {3, 12, 15}}, 8 * time.Minute},
		{"a table reflected through a view at an older state", commits{"t": {10}, "u": {6, 8}}, 12 * time.Minute},
		{"the oldest counts", commits{"t": {11}, "u": {18}}, 9 * time.Minute},
		{"clocks differ", commits{"t": {25}}, 0},
	} {
		lag, err := Resolve(Facts{}).Staleness(context.Background(), c.commits, v, now)
		if err != nil || lag.By != c.behind {
			t.Errorf("%s: %v, %v", c.name, lag, err)
		}
	}
}

// What a streaming view follows it reflects, also when that becomes known without a change of its content.
func TestStreamingViewsReflectWhatTheyFollow(t *testing.T) {
	w := newWorld()
	w.table("s.t", "")
	w.view("s.m", "s.t").view("s.a", "s.t").view("s.b", "s.a", "s.m").view("s.over", "s.b")
	for _, n := range []string{"s.a", "s.b"} {
		w.row(n).Kind = Streaming
	}
	at := func(n, version int64) Frontier {
		return Frontier{SourceVersion: version, Tables: map[string]int64{"uuid-s.t": n}}
	}
	w.f.Published = map[string]Published{
		"uuid-s.m": {Generation: 1, Snapshot: 5, Frontier: at(9, 9)}, "uuid-s.a": {Generation: 1, Snapshot: 8, Frontier: at(7, 7)},
		"uuid-s.b": {Generation: 1, Snapshot: 8, Frontier: at(3, 7)}, "uuid-s.over": {Generation: 1, Snapshot: 9, Frontier: at(3, 8)},
	}
	reflected := func(n string) int64 { s := Resolve(w.f); return s.Reflected(s.Find(name(n))).Tables["uuid-s.t"] }
	for n, want := range map[string]int64{"s.m": 9, "s.a": 7, "s.b": 7, "s.over": 3} {
		if got := reflected(n); got != want {
			t.Errorf("%s reflects %d, want %d", n, got, want)
		}
	}
	// A refresh that it has not followed yet, and a view that went on without it: what was recorded counts.
	for _, ahead := range []struct {
		name string
		p    Published
	}{{"uuid-s.m", Published{Generation: 2, Snapshot: 9, Frontier: at(9, 9)}}, {"uuid-s.a", Published{Generation: 1, Snapshot: 12, Frontier: at(11, 11)}}} {
		was := w.f.Published[ahead.name]
		w.f.Published[ahead.name] = ahead.p
		if got := reflected("s.b"); got != 3 {
			t.Errorf("with %s ahead it reflects %d, want 3", ahead.name, got)
		}
		w.f.Published[ahead.name] = was
	}
}
