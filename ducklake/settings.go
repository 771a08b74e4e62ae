package ducklake

import (
	"context"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
)

// ConnSettings are the settings of a connection that decide what a statement means.
type ConnSettings struct {
	Catalog  string // "" is the lake
	Schema   string // "" is main
	TimeZone string // "" is UTC
}

// Aside are settings with which no schema of the lake is searched: for the server's own statements, and for stored queries, whose
// functions must not be taken by a macro that somebody made since.
func Aside(timeZone string) ConnSettings {
	return ConnSettings{Catalog: "memory", Schema: "main", TimeZone: timeZone}
}

func (l *Lake) complete(s ConnSettings) ConnSettings {
	if s.Catalog == "" {
		s.Catalog = l.config.Name
	}
	if s.Schema == "" {
		s.Schema = "main"
	}
	if s.TimeZone == "" {
		s.TimeZone = "UTC"
	}
	return s
}

// connection is a connection with what is set on it.
type connection struct {
	*duck.Conn
	have  ConnSettings
	hides bool // tables that are being built are not listed
}

// apply makes the connection's settings want. After an error they are unknown, and the next apply sets all.
func (c *connection) apply(ctx context.Context, want ConnSettings) error {
	if c.have == want {
		return nil
	}
	if err := c.hideBuilds(ctx); err != nil {
		return err
	}
	had := c.have
	c.have = ConnSettings{}
	if had.Catalog != want.Catalog || had.Schema != want.Schema {
		if _, err := c.Exec(ctx, `USE `+metadata.QuoteIdent(want.Catalog)+`.`+metadata.QuoteIdent(want.Schema)); err != nil {
			return err
		}
	}
	if had.TimeZone != want.TimeZone {
		if _, err := c.Exec(ctx, `SET SESSION TimeZone = `+metadata.QuoteLiteral(want.TimeZone)); err != nil {
			return err
		}
	}
	c.have = want
	return nil
}
