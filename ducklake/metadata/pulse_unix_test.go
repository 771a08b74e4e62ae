//go:build unix

package metadata

import (
	"context"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5"
)

// TestAPulseCutsNoPulse: whatever a pulse is about to ask on is not cut by one that cuts all connections meanwhile, its own or another one's. It
// would take that for the server's answer.
func TestAPulseCutsNoPulse(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer c.Close()
				_, _ = io.Copy(c, c)
			}()
		}
	}()
	config, err := pgx.ParseConfig("postgres://u@" + l.Addr().String() + "/d")
	if err != nil {
		t.Fatal(err)
	}
	pulses := []*pulse{watch(config.Copy()), watch(config.Copy())}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			pulses[i%2].sever()
		}
	}()
	defer func() { stop(); <-done }()
	for _, p := range pulses {
		p.mu.Lock()
		p.peers[l.Addr().String()] = true
		p.mu.Unlock()
	}
	for range 300 {
		c, err := pulses[0].config.DialFunc(context.WithValue(ctx, asking{}, true), "tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Fatalf("cut: %v", err)
		}
		_ = c.Close()
	}
}
