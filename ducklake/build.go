package ducklake

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/vegadb/vega-flight/ducklake/duck"
	"github.com/vegadb/vega-flight/ducklake/gate"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

// hiddenPrefix starts the names of tables that are being built.
const hiddenPrefix = "__vega_build_"

// Hidden says that a lake table of that name is being built and not for users.
func Hidden(table string) bool { return strings.HasPrefix(strings.ToLower(table), hiddenPrefix) }

// CheckName refuses what users cannot call a table or view: names of tables that are being built, which nobody would see, and those that
// could be taken for a file's.
func CheckName(table string) error {
	if Hidden(table) {
		return fault.ReservedName.Newf("names starting with %s are the server's", hiddenPrefix)
	}
	return gate.CheckTableName(table)
}

// buildMigrations make the journal of tables that are being built.
var buildMigrations = []metadata.Migration{{
	Version: 1,
	DuckDB: []string{`CREATE TABLE {M}vega_builds (id VARCHAR PRIMARY KEY, server VARCHAR NOT NULL, schema_name VARCHAR NOT NULL,
		table_name VARCHAR NOT NULL, created_at TIMESTAMPTZ NOT NULL)`},
	PostgreSQL: []string{`CREATE TABLE {M}vega_builds (id VARCHAR PRIMARY KEY, server VARCHAR NOT NULL, schema_name VARCHAR NOT NULL,
		table_name VARCHAR NOT NULL, created_at TIMESTAMPTZ NOT NULL)`},
}}

// build is a table on its way to being visible: created under a hidden name, filled in transactions of its own, and
// renamed in one commit. The journal has it from before the first step until that commit.
type build struct {
	lake   *Lake
	id     string
	schema string
	table  string
}

// startBuild creates the hidden table.
func (l *Lake) startBuild(ctx context.Context, schema string, columns []gate.Column) (*build, error) {
	b := &build{lake: l, id: uuid.NewString(), schema: schema}
	b.table = hiddenPrefix + strings.ReplaceAll(b.id, "-", "")
	err := l.store.Update(ctx, func(tx metadata.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO {M}vega_builds (id, server, schema_name, table_name, created_at) VALUES ($1, $2, $3, $4, now())`,
			b.id, l.config.ServerID, b.schema, b.table)
		return err
	})
	if err != nil {
		return nil, l.check(err)
	}
	defs := make([]string, len(columns))
	for i, c := range columns {
		defs[i] = metadata.QuoteIdent(c.Name) + " " + c.LakeType
	}
	if err := l.DDL(ctx, `CREATE TABLE `+b.name()+` (`+strings.Join(defs, `, `)+`)`); err != nil {
		return nil, errors.Join(err, b.drop(ctx))
	}
	return b, nil
}

// name is the hidden table's qualified name.
func (b *build) name() string { return b.lake.qualified(b.schema, b.table) }

func (l *Lake) qualified(schema, table string) string {
	return metadata.QuoteIdent(l.config.Name) + `.` + metadata.QuoteIdent(schema) + `.` + metadata.QuoteIdent(table)
}

// fill inserts rows into the hidden table, in one transaction.
func (b *build) fill(ctx context.Context, s ConnSettings, attempts int, run func(*duck.Conn) (int64, error)) (int64, error) {
	return b.lake.write(ctx, s, attempts, run)
}

// publish gives the table its name, in place of the table with the id replaced if that is not 0.
func (b *build) publish(ctx context.Context, name string, replaced int64) error {
	b.lake.beforePublish()
	_, err := b.lake.Swap(ctx, metadata.Renaming{Schema: b.schema, From: b.table, To: name, Replaced: replaced},
		func(ctx context.Context, tx metadata.Tx, _ metadata.Snapshot) error {
			return forgetBuild(ctx, tx, b.id)
		})
	return err
}

// drop removes the hidden table and its journal entry; also when ctx is over.
func (b *build) drop(ctx context.Context) error {
	return b.lake.dropBuild(context.WithoutCancel(ctx), b.id, b.schema, b.table)
}

func (l *Lake) dropBuild(ctx context.Context, id, schema, table string) error {
	// The schema may have been dropped with the table in it.
	found := ""
	var info metadata.TableInfo
	err := l.store.View(ctx, func(tx metadata.Tx) (err error) {
		if found, err = metadata.SchemaName(ctx, tx, schema); err == nil && found != "" {
			info, _, err = metadata.TableByName(ctx, tx, found, table, 0)
		}
		return err
	})
	if err == nil && found != "" {
		err = l.DDL(ctx, `DROP TABLE IF EXISTS `+l.qualified(found, table))
	}
	if err != nil {
		return err
	}
	if info.ID != 0 { // nobody else has written there
		if err := l.clearFolder(ctx, info.Dir(l.data), time.Time{}, time.Now()); err != nil {
			l.log.Warn("files of a failed statement are left", "table", table, "error", err)
		}
	}
	return l.store.Update(ctx, func(tx metadata.Tx) error { return forgetBuild(ctx, tx, id) })
}

func forgetBuild(ctx context.Context, tx metadata.Tx, id string) error {
	_, err := tx.Exec(ctx, `DELETE FROM {M}vega_builds WHERE id = $1`, id)
	return err
}

// Sweep drops what builds of ended servers have left. dead says of a server's id that it will never come back.
func (l *Lake) Sweep(ctx context.Context, dead func(server string) bool) error {
	var left [][]any
	err := l.store.View(ctx, func(tx metadata.Tx) (err error) {
		left, err = tx.Query(ctx, `SELECT id, server, schema_name, table_name FROM {M}vega_builds ORDER BY created_at`)
		return err
	})
	if err != nil {
		return l.check(err)
	}
	var errs []error
	for _, v := range left {
		id, server, schema, table := v[0].(string), v[1].(string), v[2].(string), v[3].(string)
		if !dead(server) {
			continue
		}
		l.log.Info("dropping a table that a server left half built", "server", server, "table", table)
		errs = append(errs, l.dropBuild(ctx, id, schema, table))
	}
	return errors.Join(errs...)
}

// sweepOwn drops what this server left when it ended the last time. An embedded lake has one server at a time, so
// whatever is there is left over.
func (l *Lake) sweepOwn(ctx context.Context) error {
	return l.Sweep(ctx, func(server string) bool { return !l.Shared() || server == l.config.ServerID })
}
