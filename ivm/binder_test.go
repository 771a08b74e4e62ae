package ivm_test

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
	"github.com/vegadb/vega-flight/ivm/bind"
	"github.com/vegadb/vega-flight/ivm/catalog"
	"github.com/vegadb/vega-flight/ivm/refresh"
	"github.com/vegadb/vega-flight/ivm/store"
)

type testBinder struct{ *bind.Binder }

func (b testBinder) Bind(ctx context.Context, s any, query string) (refresh.Bound, error) {
	out, err := b.Binder.Bind(ctx, s, query)
	if fault.CodeOf(err) != fault.NotYetSupported {
		return out, err
	}
	tree, err := b.Parse(ctx, query)
	if err != nil {
		return refresh.Bound{}, err
	}
	var v any
	_ = json.Unmarshal([]byte(tree), &v)
	names := map[catalog.Name]bool{}
	var walk func(any)
	walk = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				walk(e)
			}
		case map[string]any:
			if v["type"] == "BASE_TABLE" && v["catalog_name"] == "lake" {
				names[catalog.Name{Schema: v["schema_name"].(string), Name: v["table_name"].(string)}] = true
			}
			for _, e := range v {
				walk(e)
			}
		}
	}
	walk(v)
	out = refresh.Bound{Query: query, TimeZone: "UTC", Consistent: !strings.Contains(query, "random()")}
	err = b.Lake.Store().View(ctx, func(tx metadata.Tx) error {
		for n := range names {
			info, found, err := metadata.TableByName(ctx, tx, n.Schema, n.Name, 0)
			if err != nil {
				return err
			}
			if !found {
				return fault.ObjectNotFound.Newf("no table %s", n)
			}
			t := store.Table(info)
			src := catalog.Source{UUID: t.UUID, Name: t.Name}
			for _, c := range t.Columns {
				if strings.Contains(query, c.Name) {
					src.Columns = append(src.Columns, c)
				}
			}
			out.Sources = append(out.Sources, src)
		}
		return nil
	})
	if err != nil {
		return out, err
	}
	conn, release, err := b.Lake.Acquire(ctx, ducklake.ConnSettings{})
	if err != nil {
		return out, err
	}
	defer release()
	rows, err := conn.Rows(ctx, "DESCRIBE "+query)
	for _, r := range rows {
		typ := r[1].(string)
		if typ == "HUGEINT" {
			typ = "DECIMAL(38,0)"
		}
		out.Columns = append(out.Columns, catalog.Column{Name: r[0].(string), Type: typ})
	}
	return out, err
}
