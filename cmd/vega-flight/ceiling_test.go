package main

import (
	"os"
	"path/filepath"
	"testing"
)

func TestAvailableMemory(t *testing.T) {
	const meminfo = "MemTotal:       1000 kB\nMemFree:          10 kB\n"
	for name, tc := range map[string]struct {
		files map[string]string
		want  int64
	}{
		"nothing": {nil, 0},
		"machine": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "max\n"}, 1000 << 10},
		"group":   {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/b/memory.max": "5000\n"}, 5000},
		"above":   {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a/b\n", "sys/fs/cgroup/a/memory.max": "4000\n", "sys/fs/cgroup/a/b/memory.max": "max\n"}, 4000},
		"old": {map[string]string{"proc/meminfo": meminfo, "proc/self/cgroup": "3:cpu:/x\n2:memory:/x\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "3000\n", "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n"}, 3000},
	} {
		root := t.TempDir()
		for file, text := range tc.files {
			path := filepath.Join(root, file)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		if got := available(root); got != tc.want {
			t.Errorf("%s: %d, not %d", name, got, tc.want)
		}
	}
	for text, want := range map[string]int64{"0": 0, "2 GiB": 2 << 30} {
		if got := (&Config{MemoryCeiling: text}).ceilingBytes(); got != want {
			t.Errorf("%s: %d", text, got)
		}
	}
}
