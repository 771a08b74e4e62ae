package row

// Format is x.
func (l *Layout) Format(r []uint64, h *Heap) string { return "" }
