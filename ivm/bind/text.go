package bind

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/refresh"
)

// Text rewrites canonical queries of one lake.
type Text struct {
	Lake  string // the lake's catalog name
	Parse func(ctx context.Context, sql string) (tree string, err error)
}

// Read gives the query with its sources under their present names, read at a snapshot; version 0 leaves that to the transaction.
func (t *Text) Read(ctx context.Context, query string, reads []refresh.Reading, version int64) (string, error) {
	if version == 0 && !slices.ContainsFunc(reads, refresh.Reading.Moved) {
		return query, nil
	}
	text, err := t.Parse(ctx, query)
	if err != nil {
		return "", err
	}
	tr, err := parseTree(text)
	if err != nil {
		return "", err
	}
	return rewrite(query, tr, t.Lake, reads, version)
}

// edit replaces a piece of a text.
type edit struct {
	from, to int
	text     string
}

func rewrite(query string, tr *tree, lake string, reads []refresh.Reading, version int64) (string, error) {
	find := func(u tableUse) *refresh.Reading {
		if !strings.EqualFold(u.catalog, lake) {
			return nil
		}
		for i, r := range reads {
			if strings.EqualFold(r.Source.Name.Schema, u.schema) && strings.EqualFold(r.Source.Name.Name, u.name) {
				return &reads[i]
			}
		}
		return nil
	}
	var edits []edit
	moved := map[catalog.Name]bool{} // tables that are a subquery now: what names them must not name their schema
	for _, u := range tr.tables {
		r := find(u)
		if r == nil {
			if strings.EqualFold(u.catalog, lake) {
				return "", fmt.Errorf("bind: the stored query reads %s.%s, which is not among its sources", u.schema, u.name)
			}
			continue // a CTE, or a table function's name
		}
		at := ""
		if n := cmp.Or(r.At, version); n != 0 {
			at = " AT (VERSION => " + strconv.FormatInt(n, 10) + ")"
		}
		s := scanner{text: query, pos: u.at}
		if n := len(s.names(3)); n != 3 {
			return "", fmt.Errorf("bind: no qualified table name at byte %d of the stored query", u.at)
		}
		if !r.Moved() {
			if at == "" {
				continue
			}
			if !s.alias(u) {
				return "", fmt.Errorf("bind: no alias %q at byte %d of the stored query", u.alias, s.pos)
			}
			edits = append(edits, edit{s.pos, s.pos, at})
			continue
		}
		sub := "(SELECT " + selectList(r, u.columns) + " FROM " + qualified(lake, r.Now) + at + ")"
		if u.alias == "" {
			sub += " AS " + metadata.QuoteIdent(u.name)
			moved[catalog.Name{Schema: strings.ToLower(u.schema), Name: strings.ToLower(u.name)}] = true
		}
		edits = append(edits, edit{u.at, s.pos, sub})
	}
	for _, c := range tr.columns {
		names, skip := c.names, 0
		if strings.EqualFold(names[0], lake) && len(names) > 3 {
			names, skip = names[1:], 1
		}
		if !moved[catalog.Name{Schema: strings.ToLower(names[0]), Name: strings.ToLower(names[1])}] {
			continue
		}
		s := scanner{text: query, pos: c.at}
		if n := len(s.names(skip + 1)); n != skip+1 {
			return "", fmt.Errorf("bind: no qualified column at byte %d of the stored query", c.at)
		}
		s.space()
		edits = append(edits, edit{c.at, s.pos + 1, ""}) // the dot too
	}
	return apply(query, edits), nil
}

func apply(text string, edits []edit) string {
	slices.SortFunc(edits, func(a, b edit) int { return a.from - b.from })
	var out strings.Builder
	pos := 0
	for _, e := range edits {
		out.WriteString(text[pos:e.from])
		out.WriteString(e.text)
		pos = e.to
	}
	out.WriteString(text[pos:])
	return out.String()
}

// selectList gives a moved table's columns the names that the query's text uses. A list of column aliases counts positions, so then all
// columns have to be there.
func selectList(r *refresh.Reading, all bool) string {
	if all {
		var renames []string
		for _, c := range r.Source.Columns {
			if now, ok := r.Renamed[c.Name]; ok {
				renames = append(renames, metadata.QuoteIdent(now)+" AS "+metadata.QuoteIdent(c.Name))
			}
		}
		if len(renames) == 0 {
			return "*"
		}
		return "* RENAME (" + strings.Join(renames, ", ") + ")"
	}
	if len(r.Source.Columns) == 0 {
		return "NULL AS vega_no_column" // count(*) and the like
	}
	cols := make([]string, len(r.Source.Columns))
	for i, c := range r.Source.Columns {
		now, ok := r.Renamed[c.Name]
		if !ok {
			now = c.Name
		}
		cols[i] = metadata.QuoteIdent(now) + " AS " + metadata.QuoteIdent(c.Name)
	}
	return strings.Join(cols, ", ")
}

func qualified(lake string, n catalog.Name) string {
	return metadata.QuoteIdent(lake) + "." + metadata.QuoteIdent(n.Schema) + "." + metadata.QuoteIdent(n.Name)
}
