//go:build unix

package main

import (
	"os/signal"
	"syscall"
)

// bearFileLimit makes a write fail that a limit on the size of files forbids (ulimit -f), as one on a full disk does; the process would end else.
func bearFileLimit() { signal.Ignore(syscall.SIGXFSZ) }
