package main

import (
	"bufio"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// ceilingBytes is the checked MemoryCeiling, by default nine tenths of what there is; 0 is none.
func (c *Config) ceilingBytes() int64 {
	if c.MemoryCeiling == "" {
		return available("/") / 10 * 9
	}
	n, _ := parseBytes(c.MemoryCeiling) // check() has parsed it
	return n
}

// available is the memory that the process may have: the machine's, or less if a cgroup says so; 0 when nothing tells. root is
// where the system's files are.
func available(root string) int64 {
	most := int64(math.MaxInt64)
	if f, err := os.Open(filepath.Join(root, "proc/meminfo")); err == nil {
		defer f.Close()
		for lines := bufio.NewScanner(f); lines.Scan(); {
			if f := strings.Fields(lines.Text()); len(f) == 3 && f[0] == "MemTotal:" {
				if n, err := strconv.ParseInt(f[1], 10, 64); err == nil {
					most = n << 10
				}
			}
		}
	}
	groups, _ := os.ReadFile(filepath.Join(root, "proc/self/cgroup")) // no groups, no limits
	for _, line := range strings.Split(strings.TrimSpace(string(groups)), "\n") {
		parts := strings.SplitN(line, ":", 3)
		if len(parts) != 3 {
			continue
		}
		dir, name := "sys/fs/cgroup", "memory.max"
		if parts[1] != "" { // version 1: a tree for each controller
			dir, name = "sys/fs/cgroup/memory", "memory.limit_in_bytes"
		}
		for at := parts[2]; ; at = filepath.Dir(at) { // the groups above limit too
			text, err := os.ReadFile(filepath.Join(root, dir, at, name))
			if n, bad := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && bad == nil && n > 0 {
				most = min(most, n)
			}
			if at == "/" || at == "." {
				break
			}
		}
	}
	if most == math.MaxInt64 {
		return 0
	}
	return most
}
