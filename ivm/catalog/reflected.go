package catalog

import "maps"

// Reflected is what a view's content reflects, as far as it can be told now. For a traditional view that is what its refresh has recorded. A
// streaming view follows what it reads: what one of those has been found to reflect since, without a change of its content, it reflects too.
func (s *Set) Reflected(v *View) Frontier {
	was := v.Published.Frontier
	if v.Kind != Streaming {
		return was
	}
	now := Frontier{SourceVersion: was.SourceVersion, Tables: map[string]int64{}, Views: was.Views, Clock: was.Clock}
	for i := range v.Sources {
		up := s.byUUID[v.Sources[i].UUID]
		switch {
		case up == nil || up == v:
			if _, known := was.Tables[v.Sources[i].UUID]; known {
				now.reflect(v.Sources[i].UUID, was.SourceVersion)
			}
		case up.Problem == nil && up.Published.Generation > 0 && up.shownAt() <= was.SourceVersion:
			f := s.Reflected(up)
			for base, n := range f.Tables {
				now.reflect(base, n)
			}
			now.read(up.UUID, ReadView{Snapshot: up.Published.Snapshot, Meaning: up.Def.Meaning()})
			for uuid, r := range f.Read {
				now.read(uuid, r)
			}
		default: // it is ahead: what was recorded when it was read counts
			for base := range up.Published.Frontier.Tables {
				if n, known := was.Tables[base]; known {
					now.reflect(base, n)
				}
			}
			now.read(up.UUID, was.Read[up.UUID])
		}
	}
	for base, n := range was.Tables { // of what is not there any more
		if _, known := now.Tables[base]; !known {
			now.Tables[base] = n
		}
	}
	if now.Read == nil {
		now.Read = maps.Clone(was.Read)
	}
	return now
}

// shownAt is the state of the lake that the view's content is of for those that follow it: the commit of a refresh, and of a streaming view
// its frontier, whatever commit showed it.
func (v *View) shownAt() int64 {
	if v.Kind == Streaming {
		return v.Published.Frontier.SourceVersion
	}
	return v.Published.Snapshot
}
