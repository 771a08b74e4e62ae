package plugin

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"sync"
	"syscall"
)

// tieVariable tells a sidecar the descriptor of its end of the tie.
const tieVariable = "VEGA_FLIGHT_TIE"

// tie is a pipe from a host to its sidecar that nothing is sent through. It ends when the host does, however and whenever that is, also when the
// sidecar has not come to look yet.
type tie struct{ host, sidecar *os.File }

// ties are those that hold. A host may keep no more of a sidecar than a connection: the garbage collector must not end it.
var ties sync.Map

// tied gives a command its end.
func tied(c *exec.Cmd) (*tie, error) {
	sidecar, host, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	c.ExtraFiles = append(c.ExtraFiles, sidecar)
	c.Env = append(c.Env, tieVariable+"="+strconv.Itoa(2+len(c.ExtraFiles)))
	t := &tie{host, sidecar}
	ties.Store(t, nil)
	return t, nil
}

// started says that the sidecar has its end.
func (t *tie) started() {
	if t != nil {
		_ = t.sidecar.Close()
	}
}

// cut ends the tie; again does nothing.
func (t *tie) cut() {
	if t != nil {
		ties.Delete(t)
		_, _ = t.sidecar.Close(), t.host.Close()
	}
}

// tieOfHost is a sidecar's end; nil when its host has given it none.
func tieOfHost() *os.File {
	fd, err := strconv.Atoi(os.Getenv(tieVariable))
	if err != nil || fd < 3 {
		return nil
	}
	var is syscall.Stat_t
	if syscall.Fstat(fd, &is) != nil || is.Mode&syscall.S_IFMT != syscall.S_IFIFO || syscall.SetNonblock(fd, true) != nil {
		return nil
	}
	syscall.CloseOnExec(fd)
	return os.NewFile(uintptr(fd), "host")
}

// watchTie closes gone when the other end is.
func watchTie(ctx context.Context, end *os.File, gone chan<- struct{}) {
	defer context.AfterFunc(ctx, func() { _ = end.Close() })()
	for {
		if _, err := end.Read(make([]byte, 1)); err != nil {
			break
		}
	}
	if ctx.Err() == nil {
		close(gone)
	}
}
