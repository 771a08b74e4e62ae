package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strings"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/spf13/cobra"

	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/check"
)

func checkCommand() *cobra.Command {
	var o sqlOptions
	cmd := &cobra.Command{
		Use:   "check [URI | LAKE]",
		Short: "Recompute every view at its recorded snapshot and compare; verify definitions, staging and holds",
		Long: `Verify a lake: every view is recomputed at the snapshot that its content names
and compared with EXCEPT ALL both ways; definitions, staged files, holds and
interrupted operations are looked at.

With a server's URI (grpc://, grpc+tls://, grpc+unix://) the server does it,
for an administrator, while the lake stays in use. With a lake (as for serve)
this process opens it; an embedded lake must then not be served.

Exit code 1 when something is wrong; notes alone are no failure.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			place := "grpc://127.0.0.1:8815"
			if len(args) == 1 {
				place = args[0]
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
	for _, hidden := range []string{"lake", "listen", "http", "ready-file", "users-file", "insecure"} {
		_ = f.MarkHidden(hidden) // they exist: addFlags made them
	}
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

// checkLake opens the lake itself. It takes no server's name and no lease: it owns nothing.
func checkLake(cmd *cobra.Command, place string) (r check.Report, err error) {
	c, err := loadConfig(cmd.Flags(), "", os.LookupEnv)
	if err != nil {
		return r, err
	}
	c.Lake = place
	if c.ServerID == "" && c.serverID() != "embedded" {
		c.ServerID = fmt.Sprintf("check-%d", os.Getpid())
	}
	ctx := cmd.Context()
	h, err := openHouse(ctx, c, "", newMetrics(), slog.New(slog.DiscardHandler))
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, h.close(context.WithoutCancel(ctx))) }()
	return h.check(ctx, !h.lake.Shared()) // an embedded lake is this process's alone
}

func report(w io.Writer, r check.Report) error {
	failures := 0
	for _, f := range r.Findings {
		if f.Failure {
			failures++
		}
		fmt.Fprintln(w, f)
	}
	fmt.Fprintf(w, "%d views at snapshot %d, %d compared, %d findings\n", r.Views, r.Snapshot, r.Compared, len(r.Findings))
	if failures > 0 {
		return fmt.Errorf("%d failures", failures)
	}
	return nil
}
