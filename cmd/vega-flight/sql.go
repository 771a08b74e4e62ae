package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"github.com/spf13/cobra"
	"golang.org/x/term"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/vegadb/vega-flight/ivm/ddl"
)

type sqlOptions struct {
	uri, user, token string
	apiKey           string
	command, file    string
	format           string
	caFile           string
	skipVerify       bool
}

// sqlCommand is the client; release gives signals back to the process's own handling.
func sqlCommand(release func()) *cobra.Command {
	var o sqlOptions
	cmd := &cobra.Command{
		Use:   "sql [URI]",
		Short: "Run SQL against a server and print the results",
		Long: `Run SQL against a Flight SQL server and print the results.

The URI is grpc://host:port, grpc+tls://host:port or grpc+unix:///path
(default grpc://127.0.0.1:8815). Statements come from -c, from -f, or from
standard input; a terminal gets a prompt. Rows that are wider than the terminal
are printed a column a line; into a pipe, such as less -S, they always stay
tables. In JSON a decimal is a number with all its digits. A password is read from
VEGA_FLIGHT_PASSWORD, or asked for. Ctrl-C cancels the running statement on the
server. The rows of SUBSCRIBE are printed as they come, until Ctrl-C.`,
		Args: wants(cobra.MaximumNArgs(1)),
		RunE: func(cmd *cobra.Command, args []string) error {
			o.uri = "grpc://127.0.0.1:8815"
			if len(args) == 1 {
				o.uri = args[0]
			}
			return runSQL(cmd.Context(), o, cmd.InOrStdin(), cmd.OutOrStdout(), cmd.ErrOrStderr(), release)
		},
	}
	f := cmd.Flags()
	f.StringVarP(&o.command, "command", "c", "", "statements to run")
	f.StringVarP(&o.file, "file", "f", "", "file of statements to run")
	f.StringVarP(&o.format, "output", "o", "table", "table (a column a line where a terminal is too narrow), vertical, csv, json (one object a line) or arrow (IPC stream)")
	f.StringVarP(&o.user, "user", "u", "", "user name")
	f.StringVar(&o.token, "token", os.Getenv("VEGA_FLIGHT_TOKEN"), "bearer token (or VEGA_FLIGHT_TOKEN)")
	f.StringVar(&o.apiKey, "api-key", os.Getenv("VEGA_FLIGHT_API_KEY"), "API key (or VEGA_FLIGHT_API_KEY)")
	f.StringVar(&o.caFile, "ca", "", "PEM file of certificates to trust, such as the server's own")
	f.BoolVar(&o.skipVerify, "tls-skip-verify", false, "do not verify the server's certificate")
	return cmd
}

func runSQL(ctx context.Context, o sqlOptions, in io.Reader, out, errOut io.Writer, release func()) error {
	format, ok := printers[o.format]
	if !ok {
		return fmt.Errorf("%w: --output is table, vertical, csv, json or arrow, not %q", errUsage, o.format)
	}
	newPrinter := func(item ddl.Item) printer {
		p := format(out, screenWidth(out)) // a terminal's width may change
		if t, ok := p.(*tablePrinter); ok {
			_, t.live = item.Stmt.(*ddl.Subscribe)
		}
		return p
	}
	terminal, ok := in.(*os.File)
	asks := ok && o.command == "" && o.file == "" && term.IsTerminal(int(terminal.Fd()))
	var items []ddl.Item
	if !asks {
		text, err := statements(o, in)
		if err != nil {
			return err
		}
		if items, err = ddl.Parse(text); err != nil {
			return err
		}
	}
	conn, err := dial(ctx, o, errOut)
	if err != nil {
		return err
	}
	defer conn.Close()
	var bar *progressBar
	if f, ok := errOut.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		bar = newProgressBar(f)
	}
	if asks {
		p := &prompt{conn: conn, in: terminal, errOut: errOut, newPrinter: newPrinter, bar: bar, lines: make(chan string)}
		release() // a Ctrl-C is for the statement that runs, not for the whole conversation
		p.converse(context.WithoutCancel(ctx))
		return nil
	}
	for _, item := range items {
		if err := conn.run(ctx, item.Text, newPrinter(item), bar); err != nil {
			return err
		}
	}
	return nil
}

func statements(o sqlOptions, in io.Reader) (string, error) {
	switch {
	case o.command != "" && o.file != "":
		return "", fmt.Errorf("%w: -c and -f exclude each other", errUsage)
	case o.command != "":
		return o.command, nil
	case o.file != "":
		text, err := os.ReadFile(o.file)
		return string(text), err
	default:
		text, err := io.ReadAll(in)
		return string(text), err
	}
}

// run submits one statement, follows it to its end and prints the result. When
// ctx ends first, the statement is cancelled on the server.
func (c *connection) run(ctx context.Context, sql string, p printer, bar *progressBar) error {
	if strings.TrimSpace(sql) == "" {
		return nil
	}
	callCtx := c.outgoing(context.WithoutCancel(ctx)) // a Ctrl-C is sent to the server, not just to the call
	info, err := c.client.ExecutePoll(callCtx, sql, nil)
	if err != nil {
		return clientError(err)
	}
	defer bar.clear()
	cancelled := false
	for info.GetFlightDescriptor() != nil {
		bar.show(info.GetProgress(), info.GetInfo().GetAppMetadata())
		if ctx.Err() != nil && !cancelled {
			cancelled = true
			if _, err := c.client.CancelFlightInfo(callCtx, &flight.CancelFlightInfoRequest{Info: info.GetInfo()}); err != nil {
				return clientError(err)
			}
		}
		next, err := c.poll(ctx, callCtx, info.GetFlightDescriptor())
		if err != nil {
			return clientError(err)
		}
		if next != nil {
			info = next
		}
	}
	bar.clear()
	return c.fetch(ctx, info.GetInfo(), p)
}

// poll waits for news of the statement; nil without an error says that ctx ended first.
func (c *connection) poll(ctx, callCtx context.Context, desc *flight.FlightDescriptor) (*flight.PollInfo, error) {
	pollCtx, stop := context.WithCancel(callCtx)
	defer stop()
	if ctx.Err() == nil {
		defer context.AfterFunc(ctx, stop)()
	}
	info, err := c.client.Client.PollFlightInfo(pollCtx, desc)
	if err != nil && pollCtx.Err() != nil && status.Code(err) == codes.Canceled {
		return nil, nil // our own Ctrl-C ended the wait, not the server
	}
	return info, err
}

func (c *connection) fetch(ctx context.Context, info *flight.FlightInfo, p printer) error {
	callCtx := c.outgoing(ctx)
	for _, ep := range info.GetEndpoint() {
		r, err := c.client.DoGet(callCtx, ep.GetTicket())
		if err != nil {
			return clientError(err)
		}
		err = p.print(r)
		r.Release()
		if err != nil {
			return clientError(err)
		}
	}
	return p.end()
}

// unreachable is gRPC's reason without its wrapping, and what to do about it.
func unreachable(reason string) string {
	if quoted, ok := strings.CutPrefix(reason, "connection error: desc = "); ok {
		if text, err := strconv.Unquote(quoted); err == nil {
			reason = strings.TrimPrefix(text, "transport: ")
		}
	}
	switch {
	case strings.Contains(reason, "certificate signed by unknown authority"):
		reason += "; name the server's certificate with --ca FILE"
	case strings.Contains(reason, "first record does not look like a TLS handshake"):
		reason += "; the server has no TLS: use grpc://"
	case strings.Contains(reason, "error reading server preface"):
		reason += "; if the server has TLS, use grpc+tls://"
	}
	return reason
}

// clientError keeps the server's message, which starts with the error's stable name.
func clientError(err error) error {
	if s, ok := status.FromError(err); ok && s.Code() != codes.OK {
		if s.Code() == codes.Unavailable && !strings.Contains(s.Message(), "SERVER_DRAINING") {
			return fmt.Errorf("the server cannot be reached: %s", unreachable(s.Message()))
		}
		return errors.New(s.Message())
	}
	return err
}

// connection is a Flight SQL client that keeps the session's cookie and credentials.
type connection struct {
	client *flightsql.Client
	header []string // gRPC metadata pairs sent with every call
	close  func()
}

func (c *connection) Close() {
	ctx, stop := context.WithTimeout(c.outgoing(context.Background()), 5*time.Second)
	defer stop()
	_, _ = c.client.CloseSession(ctx, &flight.CloseSessionRequest{}) // best effort: the server ends idle sessions by itself
	c.close()
}
