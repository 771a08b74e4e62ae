package catalog

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// Frontier says which state of its sources a view's content is the answer for.
type Frontier struct {
	// SourceVersion is the lake snapshot the refresh read at.
	SourceVersion int64 `json:"source_version"`
	// Tables has, for each base table the content depends on, through views too, the newest lake
	// snapshot all of whose changes are in the content. Keys are table uuids.
	Tables map[string]int64 `json:"tables"`
	// Views has, for each view read directly, the snapshot that published the content that was read.
	Views map[string]int64 `json:"views,omitempty"`
	// Clock is what now() is in the content of a streaming view, in µs since 1970 UTC.
	Clock int64 `json:"clock,omitempty"`
	// Read has what was known of each view the content comes from, those that these read too.
	Read map[string]ReadView `json:"read,omitempty"`
	// Marks has, by its uuid, how far the watermark of each source is that has one.
	Marks map[string]Mark `json:"marks,omitempty"`
	// Since is the lake snapshot whose rows the content began with, all of which count: what was dropped as late came later.
	Since int64 `json:"since,omitempty"`
}

// Mark is how far the watermark of a source is.
type Mark struct {
	Column int64  `json:"column"` // id of the watermark column
	Type   string `json:"type"`
	Newest int64  `json:"newest"` // time that has come, in the type's unit
	Known  bool   `json:"known"`  // a row has come
	Late   int64  `json:"late"`   // changes that were dropped
}

// ReadView is the state of a view in which it was read.
type ReadView struct {
	Snapshot int64  `json:"snapshot"` // all of its publications up to this one are in
	Meaning  string `json:"meaning"`  // Definition.Meaning of what was published; "" when it is not known
}

// Upstream is a view that is read.
type Upstream struct {
	Published
	Meaning string
}

// At makes the frontier of a refresh that read the given sources at a lake snapshot. upstream returns
// what was published for a source that is a view, as of that snapshot, or false for a plain table.
func At(version int64, sources []Source, upstream func(uuid string) (Upstream, bool)) Frontier {
	f := Frontier{SourceVersion: version, Tables: map[string]int64{}}
	for _, s := range sources {
		p, isView := upstream(s.UUID)
		if !isView {
			f.reflect(s.UUID, version)
			continue
		}
		if f.Views == nil {
			f.Views = map[string]int64{}
		}
		f.Views[s.UUID] = p.Snapshot
		if p.Snapshot > version {
			// An older generation was read, perhaps under another definition.
			f.read(s.UUID, ReadView{Snapshot: version})
		} else {
			f.read(s.UUID, ReadView{Snapshot: p.Snapshot, Meaning: p.Meaning})
			for uuid, r := range p.Frontier.Read {
				f.read(uuid, r)
			}
		}
		for base, v := range p.Frontier.Tables {
			if p.Snapshot > version {
				// An older generation was read, and what that reflected is not known any more: count on nothing.
				v = 0
			}
			f.reflect(base, v)
		}
	}
	return f
}

// reflect lowers a base table's position: by two ways to the same table, the older reading counts.
func (f *Frontier) reflect(base string, version int64) {
	if v, ok := f.Tables[base]; !ok || version < v {
		f.Tables[base] = version
	}
}

// read notes a view; by two ways to the same one, the older reading counts.
func (f *Frontier) read(uuid string, r ReadView) {
	if f.Read == nil {
		f.Read = map[string]ReadView{}
	}
	if old, ok := f.Read[uuid]; !ok || r.Snapshot < old.Snapshot {
		f.Read[uuid] = r
	}
}

// Encode is the durable form; equal frontiers encode equally.
func (f Frontier) Encode() []byte {
	if f.Tables == nil {
		f.Tables = map[string]int64{}
	}
	b, err := json.Marshal(f) // maps are written in key order
	if err != nil {
		panic(fmt.Sprintf("catalog: a frontier of integers must encode: %v", err))
	}
	return b
}

// DecodeFrontier reads what Encode wrote.
func DecodeFrontier(b []byte) (Frontier, error) {
	var f Frontier
	if len(b) == 0 {
		return f, nil
	}
	if err := json.Unmarshal(b, &f); err != nil {
		return Frontier{}, fmt.Errorf("catalog: frontier %q: %w", b, err)
	}
	return f, nil
}

// Bases lists the base tables, sorted.
func (f Frontier) Bases() []string { return slices.Sorted(maps.Keys(f.Tables)) }
