//go:build unix

package metadata

import (
	"errors"
	"net"
	"os"
	"strconv"
	"syscall"
)

// sever ends the connections of this process that are chosen by the address of their other end and their socket's number, whoever has them: reading from them gives their end.
func sever(chosen func(peer string, socket uint64) bool) {
	dir, err := os.Open("/dev/fd")
	if err != nil {
		return
	}
	names, _ := dir.Readdirnames(-1)
	_ = dir.Close()
	for _, name := range names {
		fd, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if _, err := syscall.Getpeername(fd); err != nil {
			continue // closing a second descriptor of a file would give up the process's locks on it, DuckDB's or Pebble's
		}
		// A descriptor of our own: the number may be another connection's at any moment.
		own, err := duplicate(fd)
		if err != nil {
			continue
		}
		peer, err := syscall.Getpeername(own)
		if errors.Is(err, syscall.ENOTSOCK) {
			continue // it has become a file's meanwhile, whose locks are worth more than a descriptor
		}
		if err == nil {
			if socket := inode(own); chosen(addressOf(peer), socket) {
				_ = syscall.Shutdown(own, syscall.SHUT_RDWR)
			}
		}
		_ = syscall.Close(own)
	}
}

// duplicate is a second descriptor, which no other program gets.
func duplicate(fd int) (int, error) {
	syscall.ForkLock.RLock()
	defer syscall.ForkLock.RUnlock()
	own, err := syscall.Dup(fd)
	if err == nil {
		syscall.CloseOnExec(own)
	}
	return own, err
}

// addressOf is an address as package net writes it.
func addressOf(a syscall.Sockaddr) string {
	switch a := a.(type) {
	case *syscall.SockaddrInet4:
		return (&net.TCPAddr{IP: a.Addr[:], Port: a.Port}).String()
	case *syscall.SockaddrInet6:
		t := &net.TCPAddr{IP: a.Addr[:], Port: a.Port}
		if ifi, err := net.InterfaceByIndex(int(a.ZoneId)); a.ZoneId != 0 && err == nil {
			t.Zone = ifi.Name
		}
		return t.String()
	case *syscall.SockaddrUnix:
		return a.Name
	}
	return ""
}

// socketOf is the number of a connection's socket, which no other one has while it is open; 0 is not known.
func socketOf(c syscall.RawConn) (socket uint64) {
	_ = c.Control(func(fd uintptr) { socket = inode(int(fd)) })
	return socket
}

func inode(fd int) uint64 {
	var stat syscall.Stat_t
	if syscall.Fstat(fd, &stat) != nil {
		return 0
	}
	return stat.Ino
}
