package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/vegadb/vega-flight/fault"
)

// serveCommand runs the server; release gives signals back to the process's own handling.
func serveCommand(release func()) *cobra.Command {
	var file string
	var printConfig bool
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Serve a lake over Arrow Flight SQL",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return fmt.Errorf("%w: serve takes options only, not %q; the lake is named by --lake", errUsage, args[0])
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := loadConfig(cmd.Flags(), file, os.LookupEnv)
			if err != nil {
				return err
			}
			if printConfig {
				c.print(cmd.OutOrStdout())
				return nil
			}
			return serve(cmd.Context(), c, release)
		},
	}
	addFlags(cmd.Flags())
	cmd.Flags().StringVar(&file, "config", os.Getenv(envPrefix+"CONFIG"), "YAML file with these options")
	cmd.Flags().BoolVar(&printConfig, "print-config", false, "print the configuration that results, and end")
	return cmd
}

// serve runs until ctx ends and the work at hand is drained.
func serve(ctx context.Context, c *Config, release func()) (err error) {
	log := newLog(c)
	slog.SetDefault(log)
	if line := misspelt(os.Environ()); line != "" {
		log.Warn(line)
	}
	ready := false
	defer func() {
		switch {
		case err != nil && ready:
			log.Error("the server ends", "error", err)
			err = errors.Join(errReported, err)
		case err != nil:
			err = oneLine{err} // it never came to serving: what started it gets the reason alone
		}
	}()
	line, err := openLifeline(c.Lifeline)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, line.close()) }()
	door, err := openDoor(ctx, c, log)
	if err != nil {
		return err
	}
	srv, err := openServer(ctx, c, door, line, c.ShutdownGrace, log)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, srv.close(context.WithoutCancel(ctx))) }()
	return srv.run(ctx, func() { ready = true }, release)
}

// withdraw removes the ready file of an earlier run.
func withdraw(c *Config) error {
	if c.ReadyFile == "" {
		return nil
	}
	if err := os.Remove(c.ReadyFile); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fault.ConfigInvalid.Wrap(err, "the ready file of an earlier run cannot be removed")
	}
	return nil
}

// announce says that the server is ready: in the log, and in the ready file, which appears whole.
func announce(c *Config, door *door, op *operator, log *slog.Logger) error {
	ready := struct {
		Flight string `json:"flight"`
		HTTP   string `json:"http,omitempty"`
		PID    int    `json:"pid"`
	}{door.address(), "", os.Getpid()}
	if op != nil {
		ready.HTTP = op.url()
	}
	log.Info("ready", "flight", ready.Flight, "http", ready.HTTP, "lake", hidePassword(c.Lake), "version", version)
	if c.ReadyFile == "" {
		return nil
	}
	text, err := json.Marshal(ready)
	if err != nil {
		return err
	}
	tmp := c.ReadyFile + ".tmp"
	if err := os.WriteFile(tmp, append(text, '\n'), 0o644); err != nil {
		return fault.ConfigInvalid.Wrap(err, "the ready file cannot be written")
	}
	return os.Rename(tmp, c.ReadyFile)
}

func newLog(c *Config) *slog.Logger {
	var level slog.Level
	if err := level.UnmarshalText([]byte(c.LogLevel)); err != nil {
		level = slog.LevelInfo // check() has refused anything else
	}
	opts := &slog.HandlerOptions{Level: level}
	if c.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(os.Stderr, opts))
	}
	return slog.New(slog.NewTextHandler(os.Stderr, opts))
}

// resultsDir keeps polled results where the next process of the server finds them; empty is a private folder among the system's temporary files.
func (c *Config) resultsDir() string {
	if c.TempDir == "" {
		return ""
	}
	return filepath.Join(c.TempDir, "results")
}

// spoolBytes is the checked SpoolQuota.
func (c *Config) spoolBytes() int64 {
	n, _ := parseBytes(c.SpoolQuota) // check() has parsed it
	return n
}
