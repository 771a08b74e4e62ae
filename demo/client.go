package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/flight"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// client is a Flight SQL connection that prints what it does.
type client struct {
	*flightsql.Client
	out io.Writer
}

func connect(uri string, out io.Writer) (*client, error) {
	c, err := flightsql.NewClient(strings.TrimPrefix(uri, "grpc://"), nil,
		[]flight.ClientMiddleware{flight.NewClientCookieMiddleware()},
		grpc.WithTransportCredentials(insecure.NewCredentials()))
	return &client{c, out}, err
}

// ingest loads rows into a new table through one DoPut.
func (c *client) ingest(ctx context.Context, table string, rows array.RecordReader) error {
	start := time.Now()
	n, err := c.ExecuteIngest(ctx, rows, &flightsql.ExecuteIngestOpts{
		Table: table,
		TableDefinitionOptions: &flightsql.TableDefinitionOptions{
			IfNotExist: flightsql.TableDefinitionOptionsTableNotExistOptionCreate,
			IfExists:   flightsql.TableDefinitionOptionsTableExistsOptionFail,
		},
	})
	if err != nil {
		return fmt.Errorf("ingest %s: %w", table, err)
	}
	fmt.Fprintf(c.out, "  %-9s %7d rows  %s\n", table, n, time.Since(start).Round(time.Millisecond))
	return nil
}

// do submits a statement, shows its progress while it runs, and prints its rows.
func (c *client) do(ctx context.Context, sql string) error {
	fmt.Fprintf(c.out, "\n%s;\n\n", sql)
	info, err := c.ExecutePoll(ctx, sql, nil)
	if err != nil {
		return err
	}
	for info.GetFlightDescriptor() != nil {
		c.progress(info)
		if info, err = c.Client.Client.PollFlightInfo(ctx, info.GetFlightDescriptor()); err != nil {
			return err
		}
	}
	c.progress(nil)
	for _, ep := range info.GetInfo().GetEndpoint() {
		if err := c.print(ctx, ep.GetTicket()); err != nil {
			return err
		}
	}
	return nil
}

// progress rewrites one line on a terminal and is silent elsewhere; nil clears it.
func (c *client) progress(info *flight.PollInfo) {
	if !terminal(c.out) {
		return
	}
	fmt.Fprint(c.out, "\r\x1b[K")
	if info != nil {
		var meta struct{ State, Phase string }
		_ = json.Unmarshal(info.GetInfo().GetAppMetadata(), &meta) // no metadata: the figure alone
		fmt.Fprintf(c.out, "  %3.0f %% %s %s", 100*info.GetProgress(), strings.ToLower(meta.State), meta.Phase)
	}
}

func (c *client) print(ctx context.Context, ticket *flight.Ticket) error {
	r, err := c.DoGet(ctx, ticket)
	if err != nil {
		return err
	}
	defer r.Release()
	var rows [][]string
	var header []string
	for _, f := range r.Schema().Fields() {
		header = append(header, f.Name)
	}
	rows = append(rows, header)
	for r.Next() {
		rows = append(rows, texts(r.RecordBatch())...)
	}
	widths := make([]int, len(header))
	for _, row := range rows {
		for j, s := range row {
			widths[j] = max(widths[j], len(s))
		}
	}
	for _, row := range rows {
		var line strings.Builder
		for j, s := range row {
			fmt.Fprintf(&line, "  %-*s", widths[j], s)
		}
		fmt.Fprintln(c.out, strings.TrimRight(line.String(), " "))
	}
	return r.Err()
}

func texts(rec arrow.RecordBatch) [][]string {
	rows := make([][]string, rec.NumRows())
	for i := range rows {
		for _, col := range rec.Columns() {
			s := col.ValueStr(i)
			if len(s) > 60 {
				s = s[:57] + "..."
			}
			rows[i] = append(rows[i], s)
		}
	}
	return rows
}
