package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/spf13/cobra"
)

// finding is one line of the server's answer to the action vega.check.
type finding struct {
	Subject string `json:"subject"` // the view, job, file or hold
	Problem string `json:"problem"` // stable name: DIFFERENT, NOT_REPRODUCIBLE, …; "" for a view that is right
	Detail  string `json:"detail"`
	Fatal   bool   `json:"fatal"` // false: worth knowing, nothing is wrong
}

func checkCommand() *cobra.Command {
	var o sqlOptions
	cmd := &cobra.Command{
		Use:   "check [URI]",
		Short: "Recompute every view at its recorded snapshot and compare; verify definitions, staging and holds",
		Long: `Ask a running server to verify its lake, as an administrator.

Every view is recomputed at the snapshot that its content names and compared
with EXCEPT ALL both ways; definitions, staged files and holds are verified.
The lake stays in use meanwhile. Exit code 1 when something is wrong.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.uri = "grpc://127.0.0.1:8815"
			if len(args) == 1 {
				o.uri = args[0]
			}
			return runCheck(cmd.Context(), o, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.user, "user", "u", "", "user name")
	f.StringVar(&o.token, "token", os.Getenv("VEGA_FLIGHT_TOKEN"), "bearer token (or VEGA_FLIGHT_TOKEN)")
	f.StringVar(&o.apiKey, "api-key", os.Getenv("VEGA_FLIGHT_API_KEY"), "API key (or VEGA_FLIGHT_API_KEY)")
	f.StringVar(&o.caFile, "ca", "", "PEM file of certificates to trust, such as the server's own")
	f.BoolVar(&o.skipVerify, "tls-skip-verify", false, "do not verify the server's certificate")
	return cmd
}

func runCheck(ctx context.Context, o sqlOptions, out, errOut io.Writer) error {
	conn, err := dial(ctx, o, errOut)
	if err != nil {
		return err
	}
	defer conn.Close()
	answers, err := conn.client.Client.DoAction(conn.outgoing(ctx), &flight.Action{Type: "vega.check"})
	if err != nil {
		return clientError(err)
	}
	wrong := 0
	for {
		r, err := answers.Recv()
		if errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return clientError(err)
		}
		var f finding
		if err := json.Unmarshal(r.GetBody(), &f); err != nil {
			return fmt.Errorf("the server's answer is not understood: %w", err)
		}
		switch {
		case f.Problem == "":
			fmt.Fprintf(out, "ok  %s\n", f.Subject)
		case f.Fatal:
			wrong++
			fmt.Fprintf(out, "BAD %s: %s: %s\n", f.Subject, f.Problem, f.Detail)
		default:
			fmt.Fprintf(out, "  - %s: %s: %s\n", f.Subject, f.Problem, f.Detail)
		}
	}
	if wrong > 0 {
		return fmt.Errorf("%d findings", wrong)
	}
	return nil
}
