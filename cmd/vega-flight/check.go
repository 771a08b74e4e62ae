package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"reflect"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/spf13/cobra"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/check"
)

// ofLake are the options of serve that say where a lake is and how it is opened.
var ofLake = map[string]bool{"data-path": true, "metadata-schema": true, "extension-dir": true, "temp-dir": true, "memory-limit": true, "threads": true}

func checkCommand() *cobra.Command {
	var o sqlOptions
	cmd := &cobra.Command{
		Use:   "check [URI | LAKE]",
		Short: "Recompute every view at its recorded snapshot and compare; verify definitions, staging and holds",
		Long: `Verify a lake: every view is recomputed at the snapshot that its content names
and compared with EXCEPT ALL both ways; definitions, staged files, holds and
interrupted operations are looked at.

With a server's URI (grpc://, grpc+tls://, grpc+unix://; by default
grpc://127.0.0.1:8815) the server does it, for an administrator, while the lake
stays in use. With a lake (as for serve) this process opens it; an embedded
lake must then not be served.

Exit code 1 when something is wrong; notes alone are no failure.`,
		Args: wants(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			place := "grpc://127.0.0.1:8815"
			switch lake := cmd.Flags().Lookup("lake"); {
			case len(args) == 1 && lake.Changed:
				return fmt.Errorf("%w: the lake is named twice, %s and --lake %s", errUsage, args[0], lake.Value)
			case len(args) == 1:
				place = args[0]
			case lake.Changed: // as for serve; another lake must not be checked in its place
				place = lake.Value.String()
			}
			var r check.Report
			var err error
			if strings.HasPrefix(place, "grpc") {
				o.uri = place
				r, err = checkServer(cmd.Context(), o, cmd.ErrOrStderr())
			} else {
				r, err = checkLake(cmd, place)
			}
			if err != nil {
				return err
			}
			return report(cmd.OutOrStdout(), r)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.user, "user", "u", "", "user name")
	f.StringVar(&o.token, "token", os.Getenv("VEGA_FLIGHT_TOKEN"), "bearer token (or VEGA_FLIGHT_TOKEN)")
	f.StringVar(&o.apiKey, "api-key", os.Getenv("VEGA_FLIGHT_API_KEY"), "API key (or VEGA_FLIGHT_API_KEY)")
	f.StringVar(&o.caFile, "ca", "", "PEM file of certificates to trust, such as the server's own")
	f.BoolVar(&o.skipVerify, "tls-skip-verify", false, "do not verify the server's certificate")
	addFlags(f)
	new(Config).fields(func(name string, _ reflect.StructTag, _ reflect.Value) {
		if !ofLake[name] {
			_ = f.MarkHidden(name) // it exists: addFlags made it
		}
	})
	return cmd
}

func checkServer(ctx context.Context, o sqlOptions, errOut io.Writer) (check.Report, error) {
	var r check.Report
	conn, err := dial(ctx, o, errOut)
	if err != nil {
		return r, err
	}
	defer conn.Close()
	answers, err := conn.client.Client.DoAction(conn.outgoing(ctx), &flight.Action{Type: "vega.check"})
	if err != nil {
		return r, clientError(err)
	}
	answer, err := answers.Recv()
	if err != nil {
		return r, clientError(err)
	}
	if err := json.Unmarshal(answer.GetBody(), &r); err != nil {
		return r, fault.InternalError.Wrap(err, "the server's answer is not understood")
	}
	if _, err := answers.Recv(); !errors.Is(err, io.EOF) {
		return r, clientError(err)
	}
	return r, nil
}

// checkLake opens the lake itself. It takes no server's name; on a lake with servers it is registered beside them while it works.
func checkLake(cmd *cobra.Command, place string) (r check.Report, err error) {
	c, err := loadConfig(cmd.Flags(), "", os.LookupEnv)
	if err != nil {
		return r, err
	}
	c.Lake = place
	if c.ServerID == "" && c.serverID() != "embedded" {
		c.ServerID = fmt.Sprintf("check-%d", os.Getpid())
	}
	if err := exists(place); err != nil {
		return r, err
	}
	ctx := cmd.Context()
	h, err := openHouse(ctx, c, "", newMetrics(), slog.New(slog.DiscardHandler))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, h.close(context.WithoutCancel(ctx))) }()
	if !h.lake.Shared() {
		return h.check(ctx, true) // the lake is this process's alone
	}
	return check.Run(ctx, check.Config{Lake: h.lake, Store: h.rows, Text: h.text, Servers: h.servers, Hold: h.hold, Plans: h.binder})
}

// hold keeps a snapshot, by a registration that is renewed until release: the other servers' maintenance spares what a living one reads.
func (h *house) hold(ctx context.Context, snapshot int64) (release func(), err error) {
	unpin := h.pins.Pin(snapshot)
	if err := h.servers.Renew(ctx, h.fence(), h.pins); err != nil {
		unpin()
		return nil, err
	}
	ctx, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go h.keepLease(ctx, done)
	return func() {
		stop()
		<-done
		unpin()
	}, nil
}

// keepLease renews the registration until ctx ends. Whoever took it over meanwhile had reason to; what is missing then, the check says.
func (h *house) keepLease(ctx context.Context, done chan<- struct{}) {
	defer close(done)
	_ = h.servers.Keep(ctx, h.fence(), h.pins)
}

// exists refuses an embedded lake that is not there: opening it would make a new one.
func exists(place string) error {
	if strings.HasPrefix(place, "postgres") || strings.Contains(place, "://") {
		return nil
	}
	file := strings.TrimPrefix(place, "ducklake:")
	info, err := os.Stat(file)
	if err == nil && info.IsDir() {
		_, err = os.Stat(filepath.Join(file, "catalog.ducklake"))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return fault.LakeUnreadable.Newf("there is no lake at %s", place).WithHint("name its folder, its .ducklake file, or a server such as grpc://127.0.0.1:8815")
	}
	return nil
}

func report(w io.Writer, r check.Report) error {
	failures := 0
	for _, f := range r.Findings {
		if f.Failure {
			failures++
		}
		fmt.Fprintln(w, f)
	}
	fmt.Fprintf(w, "%s at snapshot %d, %d compared, %s\n", count(r.Views, "view"), r.Snapshot, r.Compared, count(len(r.Findings), "finding"))
	if failures > 0 {
		return errors.New(count(failures, "failure"))
	}
	return nil
}

// count is a number and its noun.
func count(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}
