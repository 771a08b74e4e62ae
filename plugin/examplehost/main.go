package main

import (
	"context"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/signal"

	"github.com/hashicorp/go-hclog"

	"github.com/vegadb/vega-flight/plugin"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	h := &host{}
	flag.StringVar(&h.options.Binary, "binary", "vega-flight", "the sidecar's program")
	checksum := flag.String("sha256", "", "the checksum that it must have, in hexadecimal; empty is any")
	lake := flag.String("lake", "./lake", "the lake")
	flag.StringVar(&h.next, "upgrade", "", "another binary to change to; empty is the same again")
	level := flag.String("log", "warn", "the least level of log lines to show")
	flag.Parse()
	h.options.Lake = map[string]string{"lake": *lake}
	h.options.Log = hclog.New(&hclog.LoggerOptions{Name: "host", Level: hclog.LevelFromString(*level)})
	if err := h.run(ctx, *checksum); err != nil {
		fmt.Fprintln(os.Stderr, "examplehost:", err)
		os.Exit(1)
	}
}

// host is the program around a sidecar.
type host struct {
	options plugin.Options
	next    string
	sidecar *plugin.Supervisor
}

func (h *host) run(ctx context.Context, checksum string) (err error) {
	if checksum != "" {
		if h.options.SHA256, err = hex.DecodeString(checksum); err != nil {
			return fmt.Errorf("--sha256: %w", err)
		}
	}
	h.sidecar = plugin.Supervise(h.options)
	for _, step := range []struct {
		what string
		do   func(context.Context) error
	}{
		{"a table and two views of it", h.views},
		{"100 MB to the lake and back", h.bulk},
		{"the sidecar is killed; the next one goes on", h.crash},
		{"the binary is exchanged", h.upgrade},
	} {
		fmt.Println(step.what)
		if err = step.do(ctx); err != nil {
			err = fmt.Errorf("%s: %w", step.what, err)
			break
		}
	}
	if ended := h.sidecar.Close(context.WithoutCancel(ctx)); err == nil {
		err = ended
	}
	return err
}

// views makes a table, a view that follows it and one that is refreshed.
func (h *host) views(ctx context.Context) error {
	s, err := h.session(ctx)
	if err != nil {
		return err
	}
	for _, sql := range []string{
		"CREATE TABLE IF NOT EXISTS orders (customer BIGINT, amount BIGINT)",
		"INSERT INTO orders SELECT i % 10, i FROM range(1000) t(i)",
		"CREATE STREAMING MATERIALIZED VIEW IF NOT EXISTS spent WITH (wait_for_ready = true) AS SELECT customer, sum(amount) AS total FROM orders GROUP BY customer",
		"CREATE MATERIALIZED VIEW IF NOT EXISTS largest AS SELECT max(amount) AS amount FROM orders",
		"REFRESH MATERIALIZED VIEW largest",
	} {
		if _, err := s.text(ctx, sql); err != nil {
			return err
		}
	}
	return s.show(ctx, "SELECT sum(total) FROM spent")
}

// crash kills the sidecar, as a power cut would, and looks whether the view still follows its table.
func (h *host) crash(ctx context.Context) error {
	s, err := h.session(ctx)
	if err != nil {
		return err
	}
	if err := s.kill(ctx); err != nil {
		return err
	}
	if s, err = h.session(ctx); err != nil { // waits for the next one
		return err
	}
	if _, err := s.text(ctx, "INSERT INTO orders VALUES (1, 1)"); err != nil {
		return err
	}
	return s.agree(ctx)
}

// upgrade goes over to another binary.
func (h *host) upgrade(ctx context.Context) error {
	to := h.options
	if h.next != "" {
		to.Binary = h.next
	}
	if err := h.sidecar.Upgrade(ctx, to); err != nil {
		return err
	}
	s, err := h.session(ctx)
	if err != nil {
		return err
	}
	return s.agree(ctx)
}
