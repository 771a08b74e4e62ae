package clients

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/apache/arrow-adbc/go/adbc/driver/flightsql"
	"github.com/apache/arrow-adbc/go/adbc/sqldriver"
	"github.com/apache/arrow-go/v18/arrow/flight/flightsql/driver"
	"github.com/apache/arrow-go/v18/arrow/memory"
)

// database is Go's database/sql over either driver.
type database struct {
	t *testing.T
	*sql.DB
}

func (d *database) exec(text string, args ...any) {
	d.t.Helper()
	if _, err := d.ExecContext(d.t.Context(), text, args...); err != nil {
		d.t.Fatalf("%s: %v", text, err)
	}
}

func (d *database) is(want any, text string, args ...any) {
	d.t.Helper()
	var got any
	if err := d.QueryRowContext(d.t.Context(), text, args...).Scan(&got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		d.t.Errorf("%s %v: got %v, %v; want %v", text, args, got, err, want)
	}
}

func (d *database) prepared(want any, text string, args ...any) {
	d.t.Helper()
	st, err := d.PrepareContext(d.t.Context(), text)
	if err != nil {
		d.t.Fatalf("%s: %v", text, err)
	}
	var got any
	if err := st.QueryRowContext(d.t.Context(), args...).Scan(&got); err != nil || fmt.Sprint(got) != fmt.Sprint(want) {
		d.t.Errorf("%s %v: got %v, %v; want %v", text, args, got, err, want)
	}
	if err := st.Close(); err != nil {
		d.t.Error(err)
	}
}

func (d *database) fails(word, text string, args ...any) {
	d.t.Helper()
	var got any
	if err := d.QueryRowContext(d.t.Context(), text, args...).Scan(&got); err == nil || !strings.Contains(err.Error(), word) {
		d.t.Errorf("%s: %v, %v; want %s", text, got, err, word)
	}
}

func openSQL(t *testing.T, db *sql.DB, err error) *database {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	return &database{t, db}
}

// databaseSQLByADBC is ADBC's adapter. Its connection string has no place for the certificate's lines, but a driver may be given options.
func (s *servers) databaseSQLByADBC(t *testing.T) {
	options := s.adbcOptions(t)
	connector, err := (sqldriver.Driver{Driver: flightsql.NewDriver(memory.DefaultAllocator)}).OpenConnector(connectionString(options))
	if err != nil {
		t.Fatal(err)
	}
	d := openSQL(t, sql.OpenDB(connector), nil)
	d.exec("CREATE TABLE sql_adbc (id INTEGER, amount DECIMAL(10,2), sold_at TIMESTAMPTZ, tags VARCHAR[])")
	d.exec("INSERT INTO sql_adbc VALUES (1, 9.50, '2026-01-02 03:04:05+00', ['a', NULL]), (2, NULL, NULL, NULL)")
	d.fails("IngestTargetTable", "SELECT id FROM sql_adbc WHERE id < ?", 2) // parameters take a prepared statement,
	d.prepared(1, "SELECT id FROM sql_adbc WHERE id < ?", int32(2))         // and are of its very types
	d.prepared("{950 0}", "SELECT amount FROM sql_adbc WHERE id = ?", int32(1))
	d.prepared("<nil>", "SELECT amount FROM sql_adbc WHERE id = ?", int32(2))
	d.prepared("2026-01-02 03:04:05 +0000 UTC", "SELECT sold_at FROM sql_adbc WHERE id = ?", int32(1))
	d.prepared("x", "SELECT ?", "x")
	tx, err := d.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "DELETE FROM sql_adbc"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	d.is(2, "SELECT count(*) FROM sql_adbc")
	d.viewsAndErrors("sql_adbc")
}

// connectionString is what the adapter takes apart again.
func connectionString(options map[string]string) string {
	var out []string
	for k, v := range options {
		out = append(out, k+"="+v)
	}
	return strings.Join(out, ";")
}

// databaseSQLByArrow is the driver of arrow-go.
func (s *servers) databaseSQLByArrow(t *testing.T) {
	pem, err := os.ReadFile(s.certificate)
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	if err := driver.RegisterTLSConfig("lake", &tls.Config{RootCAs: roots}); err != nil {
		t.Fatal(err)
	}
	key, err := sql.Open("flightsql", "flightsql://"+s.plainHost()+"?token=k1")
	openSQL(t, key, err).is(1, "SELECT 1")
	db, err := sql.Open("flightsql", "flightsql://ann:secret@"+s.secureHost()+"?tls=lake")
	d := openSQL(t, db, err)
	d.exec("CREATE TABLE sql_arrow (id BIGINT, amount DECIMAL(10,2), sold_at TIMESTAMPTZ, note VARCHAR)")
	d.exec("INSERT INTO sql_arrow VALUES (1, 9.50, '2026-01-02 03:04:05+00', 'a'), (2, 1.25, NULL, 'b')")
	d.is(1, "SELECT id FROM sql_arrow WHERE id < ? AND note = ?", 2, "a")
	d.is("9.5", "SELECT amount FROM sql_arrow WHERE id = ?", 1)
	d.is("2026-01-02 03:04:05 +0000 UTC", "SELECT sold_at FROM sql_arrow WHERE id = ?", 1)
	d.fails("invalid value", "SELECT 1 WHERE ?::INTEGER = 1", 1)
	d.fails("unknown builder", "SELECT id FROM sql_arrow WHERE sold_at > ?", time.Now())
	d.is("<nil>", "SELECT sold_at FROM sql_arrow WHERE id = ?", 2)
	tx, err := d.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.ExecContext(t.Context(), "DELETE FROM sql_arrow"); err != nil {
		t.Fatal(err)
	}
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	d.is(2, "SELECT count(*) FROM sql_arrow")
	d.viewsAndErrors("sql_arrow")
}

// viewsAndErrors is what both drivers do alike.
func (d *database) viewsAndErrors(table string) {
	d.t.Helper()
	d.is("CREATE MATERIALIZED VIEW", "CREATE MATERIALIZED VIEW "+table+"_total AS SELECT count(*) AS n FROM "+table)
	d.is(2, "SELECT n FROM "+table+"_total")
	d.fails("OBJECT_NOT_FOUND", "SELECT * FROM nobody_knows")
	ctx, cancel := context.WithCancel(d.t.Context())
	defer cancel()
	rows, err := d.QueryContext(ctx, "SUBSCRIBE TO "+table+"_total")
	if err != nil {
		d.t.Fatal(err)
	}
	var seen []string
	for len(seen) < 3 && rows.Next() {
		var at int64
		var weight, progress, n any
		if err := rows.Scan(&at, &weight, &progress, &n); err != nil {
			d.t.Fatal(err)
		}
		seen = append(seen, fmt.Sprint(weight, progress, n))
	}
	cancel()
	_ = rows.Close() // it was cancelled
	if got := strings.Join(seen, ","); got != "<nil>begin<nil>,1 <nil> 2,<nil>end<nil>" {
		d.t.Errorf("%s, %v", got, rows.Err())
	}
}
