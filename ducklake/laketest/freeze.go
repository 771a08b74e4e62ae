package laketest

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Freeze stops all processes of this process's PostgreSQL server in their tracks: connections stay, and nothing is answered on them, until thaw
// is called or the test ends. The test is skipped where processes are not seen.
func Freeze(t testing.TB) (thaw func()) {
	t.Helper()
	if running == nil {
		t.Fatal("no PostgreSQL server runs")
	}
	text, err := os.ReadFile(filepath.Join(running.dir, "data", "postmaster.pid"))
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(text), "\n")
	postmaster, err := strconv.Atoi(first)
	if err != nil {
		t.Fatal(err)
	}
	var frozen []int
	var once sync.Once
	thaw = func() {
		once.Do(func() {
			for _, pid := range frozen {
				_ = syscall.Kill(pid, syscall.SIGCONT) // it may have been killed
			}
		})
	}
	t.Cleanup(thaw)
	stop := func(pid int) {
		if err := syscall.Kill(pid, syscall.SIGSTOP); err == nil {
			frozen = append(frozen, pid)
		} else if !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	stop(postmaster) // it makes no more children
	if err := stopped(postmaster); err != nil {
		t.Skipf("processes are not seen here: %v", err)
	}
	entries, err := os.ReadDir("/proc")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		pid, err := strconv.Atoi(e.Name())
		if err != nil {
			continue
		}
		if _, parent, err := stateOf(pid); err == nil && parent == postmaster {
			stop(pid)
		}
	}
	for _, pid := range frozen {
		if err := stopped(pid); err != nil {
			t.Fatal(err)
		}
	}
	return thaw
}

// stopped waits until a process has stopped, or has ended.
func stopped(pid int) error {
	for {
		state, _, err := stateOf(pid)
		if errors.Is(err, os.ErrNotExist) && pid != os.Getpid() {
			if _, there := os.Stat("/proc/self/stat"); there == nil {
				return nil
			}
		}
		if err != nil {
			return err
		}
		if strings.ContainsAny(state, "TtZ") {
			return nil
		}
	}
}

// stateOf reads a process's state and its parent.
func stateOf(pid int) (state string, parent int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return "", 0, err
	}
	_, rest, _ := strings.Cut(string(text), ") ") // the name before it may have blanks
	_, err = fmt.Sscan(rest, &state, &parent)
	return state, parent, err
}
