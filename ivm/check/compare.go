package check

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/vegadb/vega-flight/ducklake"
	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/ivm/catalog"
)

// comparison is one view against its query, both read in one transaction and
// as of the snapshot at which the view's row was read: a refresh that publishes
// meanwhile changes neither.
type comparison struct {
	lake *ducklake.Lake
	view *catalog.View
	sql  string // at the recorded version
	// doubt is why another answer would be as right; "" for none.
	doubt string
	at    int64 // the snapshot of the content
	conn  *duck.Conn
}

// The temporary tables hold answers, so that each is computed once.
const (
	first  = `temp.main.vega_check_1`
	second = `temp.main.vega_check_2`
)

func (c *comparison) run(ctx context.Context, r *Report) (err error) {
	conn, release, err := c.lake.Acquire(ctx, ducklake.Aside(c.view.Def.TimeZone))
	if err != nil {
		return err
	}
	defer release()
	c.conn = conn
	if _, err = conn.Exec(ctx, `BEGIN TRANSACTION`); err != nil {
		return err
	}
	defer func() {
		// Takes the temporary tables with it.
		_, rerr := conn.Exec(context.WithoutCancel(ctx), `ROLLBACK`)
		err = errors.Join(err, rerr)
	}()
	name := c.view.Name().String()
	table := metadata.QuoteIdent(c.lake.Name()) + "." + metadata.QuoteIdent(c.view.Name().Schema) + "." + metadata.QuoteIdent(c.view.Name().Name) +
		fmt.Sprintf(" AT (VERSION => %d)", c.at)

	rows, err := c.count(ctx, `SELECT count(*) FROM `+table)
	if err != nil {
		return err
	}
	if rows != c.view.Published.Rows {
		r.add(true, Rows, name, "it has %d rows, and %d were published", rows, c.view.Published.Rows)
	}
	if failed, err := c.answer(ctx, first); err != nil {
		return err
	} else if failed != nil {
		r.add(c.doubt == "", NotReproducible, name, "its query fails at the recorded version: %v", failed)
		return nil
	}
	missing, extra, err := c.differ(ctx, table, first, plain)
	if err != nil || missing+extra == 0 {
		return err
	}
	why := fmt.Sprintf("%d rows of the query's answer at snapshot %d are missing, %d rows are too many", missing, c.view.Published.Frontier.SourceVersion, extra)
	if c.doubt != "" {
		r.add(false, NotReproducible, name, "%s: %s", c.doubt, why)
		return nil
	}
	if failed, err := c.answer(ctx, second); err != nil {
		return err
	} else if failed == nil {
		a, b, err := c.differ(ctx, first, second, plain)
		if err != nil {
			return err
		}
		if a+b > 0 {
			r.add(false, NotReproducible, name, "two answers to its query differ in %d rows: %s", max(a, b), why)
			return nil
		}
	}
	if c.hasFloats() {
		a, b, err := c.differ(ctx, table, first, rounded)
		if err != nil {
			return err
		}
		if a+b == 0 {
			r.add(false, NotReproducible, name, "sums of floating-point numbers depend on their order: %s", why)
			return nil
		}
	}
	r.add(true, Differs, name, "%s", why)
	return nil
}

// answer computes the query into a temporary table. failed is the query's own error.
func (c *comparison) answer(ctx context.Context, into string) (failed, err error) {
	cols, names := make([]string, len(c.view.Table.Columns)), make([]string, len(c.view.Table.Columns))
	for i, col := range c.view.Table.Columns {
		names[i] = "c" + strconv.Itoa(i)
		cols[i] = "CAST(" + names[i] + " AS " + col.Type + ") AS " + names[i]
	}
	_, err = c.conn.Exec(ctx, `CREATE TEMPORARY TABLE `+strings.TrimPrefix(into, "temp.main.")+` AS SELECT `+strings.Join(cols, ", ")+
		` FROM (`+c.sql+"\n) AS q("+strings.Join(names, ", ")+`)`)
	var d *duck.Error
	if errors.As(err, &d) && ctx.Err() == nil && d.Type != "FATAL" && d.Type != "INTERNAL" {
		return err, nil
	}
	return nil, err
}

// how rows are compared.
type how int

const (
	plain   how = iota
	rounded     // floats to nine digits
)

// differ counts the rows of b that a lacks, and those of a that b lacks, as multisets.
func (c *comparison) differ(ctx context.Context, a, b string, h how) (missing, extra int64, err error) {
	names := make([]string, len(c.view.Table.Columns))
	cols := make([]string, len(names))
	for i, col := range c.view.Table.Columns {
		names[i] = "c" + strconv.Itoa(i)
		cols[i] = names[i]
		if h == rounded && isFloat(col.Type) {
			cols[i] = `printf('%.9e', ` + names[i] + `)`
		}
	}
	side := func(t string) string {
		return `SELECT ` + strings.Join(cols, ", ") + ` FROM (FROM ` + t + `) AS x(` + strings.Join(names, ", ") + `)`
	}
	if missing, err = c.count(ctx, `SELECT count(*) FROM (`+side(b)+` EXCEPT ALL `+side(a)+`)`); err != nil {
		return 0, 0, err
	}
	extra, err = c.count(ctx, `SELECT count(*) FROM (`+side(a)+` EXCEPT ALL `+side(b)+`)`)
	return missing, extra, err
}

func (c *comparison) count(ctx context.Context, sql string) (int64, error) {
	rows, err := c.conn.Rows(ctx, sql)
	if err != nil {
		return 0, err
	}
	n, ok := rows[0][0].(int64)
	if !ok {
		return 0, fmt.Errorf("check: a count is %T", rows[0][0])
	}
	return n, nil
}

func (c *comparison) hasFloats() bool {
	for _, col := range c.view.Table.Columns {
		if isFloat(col.Type) {
			return true
		}
	}
	return false
}

func isFloat(typ string) bool { return typ == "DOUBLE" || typ == "FLOAT" }
