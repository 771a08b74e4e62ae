package stream

// window is the part of the lake's history that an epoch takes.
type window struct {
	to      int64
	touched map[int64]bool // tables whose rows may have changed
	schema  map[int64]bool // tables whose columns may have changed, or that are gone: in the snapshot `to`, which is the only one
	commits int
	rows    int64 // that changed, about
	full    bool  // it ends before the head
}

// choose makes the window behind from, up to head at most, from the commits after from. Snapshots that do not touch the tables cost
// nothing. A snapshot that may have changed columns is a window of its own. most bounds the rows that changed, about, and atMost the commits;
// 0 is no bound, and one snapshot is always taken whole.
func choose(commits []Commit, from, head int64, tables map[int64]bool, most int64, atMost int) window {
	w := window{to: head, touched: map[int64]bool{}, schema: map[int64]bool{}}
	for _, c := range commits {
		if c.Snapshot <= from {
			continue
		}
		if c.Snapshot > head {
			break
		}
		touches, schema, estimate := false, false, int64(0)
		for id, t := range c.Tables {
			if !tables[id] {
				continue
			}
			touches = touches || t.Rows || t.Schema || t.Gone
			schema = schema || t.Schema || t.Gone
			estimate += max(t.Estimate, 1)
		}
		if !touches {
			continue
		}
		if w.commits > 0 && (schema || most > 0 && w.rows+estimate > most || atMost > 0 && w.commits == atMost) {
			w.to, w.full = c.Snapshot-1, true
			return w
		}
		for id, t := range c.Tables {
			if tables[id] && t.Rows {
				w.touched[id] = true
			}
			if tables[id] && (t.Schema || t.Gone) {
				w.schema[id] = true
			}
		}
		w.commits++
		w.rows += estimate
		if schema {
			w.to, w.full = c.Snapshot, true
			return w
		}
	}
	return w
}
