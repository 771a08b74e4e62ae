package catalog

import (
	"slices"
	"strings"

	"github.com/vegadb/vega-flight/fault"
)

// reads tells whether v reads the view that is now other. A source whose
// uuid no table has any more is followed by its name, as the next refresh will.
func (s *Set) reads(v, other *View) bool {
	for i := range v.Sources {
		src := &v.Sources[i]
		if src.UUID == other.UUID || src.Name.fold() == other.Table.Name.fold() && s.gone(src.UUID) {
			return true
		}
	}
	return false
}

func (s *Set) gone(uuid string) bool {
	return !slices.ContainsFunc(s.Tables, func(t Table) bool { return t.UUID == uuid })
}

// FollowsStreams tells whether the view is a streaming one or reads one, however far.
func (s *Set) FollowsStreams(v *View) bool {
	if v.Kind == Streaming {
		return true
	}
	for i := range v.Sources {
		if up := s.byUUID[v.Sources[i].UUID]; up != nil && up != v && s.FollowsStreams(up) {
			return true
		}
	}
	return false
}

// Dependents are the views that read v directly, sorted by name.
func (s *Set) Dependents(v *View) []*View {
	var out []*View
	for _, d := range s.Views {
		if d != v && s.reads(d, v) {
			out = append(out, d)
		}
	}
	return out
}

// DropOrder is v with all views that depend on it, however far, in an order in
// which none is dropped before what reads it.
func (s *Set) DropOrder(vs ...*View) []*View {
	var out []*View
	seen := map[*View]bool{}
	var visit func(v *View)
	visit = func(v *View) {
		if seen[v] {
			return
		}
		seen[v] = true
		for _, d := range s.Dependents(v) {
			visit(d)
		}
		out = append(out, v)
	}
	for _, v := range vs {
		visit(v)
	}
	return out
}

// RefreshOrder is all views, sources before what reads them.
func (s *Set) RefreshOrder() []*View {
	out := s.DropOrder(s.Views...)
	slices.Reverse(out)
	return out
}

// CheckCycle refuses sources that read, however indirectly, the view that is to
// read them. The uuid is the view's; it is empty for a new view, which nothing can read yet.
func (s *Set) CheckCycle(uuid string, name Name, sources []Source) error {
	var path []string
	seen := map[string]bool{}
	var reaches func(src Source) bool
	reaches = func(src Source) bool {
		if src.UUID == uuid && uuid != "" || src.Name.fold() == name.fold() {
			path = append(path, name.String())
			return true
		}
		v := s.ByUUID(src.UUID)
		if v == nil || seen[src.UUID] {
			return false
		}
		seen[src.UUID] = true
		for _, up := range v.Sources {
			if reaches(up) {
				path = append(path, v.Table.Name.String())
				return true
			}
		}
		return false
	}
	for _, src := range sources {
		if reaches(src) {
			path = append(path, name.String())
			slices.Reverse(path)
			return fault.ViewCycle.Newf("view %s would read itself: %s", name, strings.Join(path, " reads "))
		}
	}
	return nil
}

// CheckDrop refuses to drop a view that others read, unless cascade is said; then it gives what is to be dropped, in order.
func (s *Set) CheckDrop(v *View, cascade bool) ([]*View, error) {
	order := s.DropOrder(v)
	if len(order) > 1 && !cascade {
		return nil, fault.DependentViews.Newf("view %s is read by %s", v.Table.Name, Names(order[:len(order)-1])).
			WithHint("DROP … CASCADE drops them too")
	}
	return order, nil
}

// Names lists views for a message.
func Names(vs []*View) string {
	names := make([]string, len(vs))
	for i, v := range vs {
		names[i] = v.Table.Name.String()
	}
	return strings.Join(names, ", ")
}
