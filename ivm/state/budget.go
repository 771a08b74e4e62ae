package state

// Used is how many bytes the store's tables use in memory.
func (s *Store) Used() int {
	n := 0
	for _, t := range s.tables {
		n += t.Used()
	}
	return n
}

// Trim drops from memory what the store has as it is, until the tables use no more than budget bytes together, each in proportion to what it
// uses now; see [Table.Trim].
func (s *Store) Trim(budget int) {
	used := s.Used()
	if used <= budget {
		return
	}
	for _, t := range s.tables {
		t.Trim(int(float64(budget) * float64(t.Used()) / float64(used)))
	}
}
