package ddl

var byteUnits = []struct {
	name   string
	size   int64
	binary bool
}{
	{"B", 1, true},
	{"kB", 1e3, false}, {"KiB", 1 << 10, true},
	{"MB", 1e6, false}, {"MiB", 1 << 20, true},
	{"GB", 1e9, false}, {"GiB", 1 << 30, true},
	{"TB", 1e12, false}, {"TiB", 1 << 40, true},
}
