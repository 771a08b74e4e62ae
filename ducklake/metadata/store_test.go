package metadata_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vegadb/vega-flight/ducklake/laketest"
	"github.com/vegadb/vega-flight/ducklake/metadata"
	"github.com/vegadb/vega-flight/fault"
)

var ctx = context.Background()

func exec(t *testing.T, s metadata.Store, sql string, args ...any) {
	t.Helper()
	if err := s.Update(ctx, func(tx metadata.Tx) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	}); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func query(t *testing.T, s metadata.Store, sql string, args ...any) (rows [][]any) {
	t.Helper()
	if err := s.View(ctx, func(tx metadata.Tx) (err error) {
		rows, err = tx.Query(ctx, sql, args...)
		return err
	}); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return rows
}

func store(t *testing.T, k laketest.Kind) metadata.Store { return laketest.New(t, k).Store() }

func TestValues(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := store(t, k)
		exec(t, s, `CREATE TABLE {M}vega_values (id BIGINT PRIMARY KEY, t VARCHAR, b BOOLEAN, d DOUBLE PRECISION, z TIMESTAMPTZ, x `+
			map[laketest.Kind]string{laketest.DuckDB: "BLOB", laketest.PostgreSQL: "BYTEA"}[k]+`)`)
		at := time.Date(2026, 3, 29, 1, 30, 0, 123456000, time.FixedZone("", 2*3600))
		exec(t, s, `INSERT INTO {M}vega_values VALUES ($1, $2, $3, $4, $5, $6), ($7, $8, NULL, NULL, NULL, NULL)`,
			int64(1), `it's "{M}"`, true, 1.5, at, []byte{0, 255}, int64(-1)<<63, nil)
		rows := query(t, s, `SELECT id, t, b, d, z, x FROM {M}vega_values ORDER BY id DESC`)
		r := rows[0]
		if r[0] != int64(1) || r[1] != `it's "{M}"` || r[2] != true || r[3] != 1.5 || string(r[5].([]byte)) != "\x00\xff" {
			t.Errorf("%#v", r)
		}
		if z := r[4].(time.Time); !z.Equal(at) || z.Location() != time.UTC {
			t.Errorf("the time is %v, want %v in UTC", z, at)
		}
		if r := rows[1]; r[0] != int64(-1)<<63 || r[1] != nil || r[5] != nil {
			t.Errorf("%#v", r)
		}
		var many [][]any
		for i := range 5000 {
			many = append(many, []any{int64(i + 10), "row", nil, float64(i), at, nil})
		}
		if err := s.Update(ctx, func(tx metadata.Tx) error {
			n, err := tx.Append(ctx, "vega_values", nil, many)
			if n != 5000 {
				t.Errorf("%d rows appended", n)
			}
			if err == nil {
				_, err = tx.Append(ctx, "vega_values", []string{"t", "id"}, [][]any{{"named", int64(7)}})
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if rows := query(t, s, `SELECT count(*), sum(d) FROM {M}vega_values`); rows[0][0] != int64(5003) || rows[0][1] != 12497501.5 {
			t.Errorf("%v", rows)
		}
		if rows := query(t, s, `SELECT t FROM {M}vega_values WHERE id = 7`); rows[0][0] != "named" {
			t.Errorf("%v", rows)
		}
		now, err := s.Now(ctx)
		if err != nil || now.Location() != time.UTC || time.Since(now).Abs() > time.Hour {
			t.Errorf("now is %v, %v", now, err)
		}
	})
}

func TestTransactions(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		s := store(t, k)
		exec(t, s, `CREATE TABLE {M}vega_n (id BIGINT PRIMARY KEY, n BIGINT)`)
		mine := errors.New("mine")
		ran := 0
		err := s.Update(ctx, func(tx metadata.Tx) error {
			tx.OnCommit(func() { ran++ })
			if _, err := tx.Exec(ctx, `INSERT INTO {M}vega_n VALUES (1, 1)`); err != nil {
				return err
			}
			return mine
		})
		if !errors.Is(err, mine) || ran != 0 {
			t.Errorf("%v, %d hooks", err, ran)
		}
		if rows := query(t, s, `SELECT * FROM {M}vega_n`); len(rows) != 0 {
			t.Errorf("a failed transaction left %v", rows)
		}
		if err := s.Update(ctx, func(tx metadata.Tx) error {
			tx.OnCommit(func() { ran++ })
			_, err := tx.Exec(ctx, `INSERT INTO {M}vega_n VALUES (1, 0)`)
			return err
		}); err != nil || ran != 1 {
			t.Errorf("%v, %d hooks", err, ran)
		}
		if err := s.View(ctx, func(tx metadata.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE {M}vega_n SET n = 99`)
			return err
		}); err == nil {
			t.Error("a read transaction wrote")
		}
		func() {
			defer func() { _ = recover() }()
			_ = s.Update(ctx, func(tx metadata.Tx) error { panic("in a transaction") })
		}()

		// Everybody adds to one row; nothing is lost.
		var work sync.WaitGroup
		for range 8 {
			work.Add(1)
			go func() {
				defer work.Done()
				for range 5 {
					if err := s.Update(ctx, func(tx metadata.Tx) error {
						rows, err := tx.Query(ctx, `SELECT n FROM {M}vega_n WHERE id = 1`)
						if err != nil {
							return err
						}
						_, err = tx.Exec(ctx, `UPDATE {M}vega_n SET n = $1 WHERE id = 1`, rows[0][0].(int64)+1)
						return err
					}); err != nil {
						t.Error(err)
					}
				}
			}()
		}
		work.Wait()
		if rows := query(t, s, `SELECT n FROM {M}vega_n`); rows[0][0] != int64(40) {
			t.Errorf("40 additions gave %v", rows[0][0])
		}

		err = s.Update(ctx, func(tx metadata.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO {M}vega_n VALUES (1, 1)`)
			return err
		})
		if !metadata.IsDuplicate(err) {
			t.Errorf("a duplicate key is %v", err)
		}

		// Two that insert the same key: the second run of the loser sees the winner's row.
		var start sync.WaitGroup
		start.Add(4)
		for i := range 4 {
			work.Add(1)
			go func() {
				defer work.Done()
				first := true
				if err := s.Update(ctx, func(tx metadata.Tx) error {
					rows, err := tx.Query(ctx, `SELECT n FROM {M}vega_n WHERE id = 2`)
					if err != nil || len(rows) > 0 {
						return err
					}
					if first && k == laketest.PostgreSQL { // all have seen that the row is not there
						first = false
						start.Done()
						start.Wait()
					}
					_, err = tx.Exec(ctx, `INSERT INTO {M}vega_n VALUES (2, $1)`, int64(i))
					return err
				}); err != nil {
					t.Error(err)
				}
			}()
		}
		work.Wait()

		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		if err := s.Update(cancelled, func(metadata.Tx) error { return nil }); !errors.Is(err, context.Canceled) {
			t.Errorf("a cancelled transaction: %v", err)
		}
	})
}

func TestMigrate(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		p := laketest.NewPlace(t, k)
		s := p.Open(t).Store()
		both := func(version int, sql ...string) metadata.Migration {
			return metadata.Migration{Version: version, DuckDB: sql, PostgreSQL: sql}
		}
		steps := []metadata.Migration{
			both(1, `CREATE TABLE {M}vega_m (id BIGINT)`, `INSERT INTO {M}vega_m VALUES (1)`),
			both(2, `ALTER TABLE {M}vega_m ADD COLUMN t VARCHAR`, `UPDATE {M}vega_m SET t = 'two'`),
		}
		for _, n := range []int{1, 1, 2, 2} {
			if err := metadata.Migrate(ctx, s, "test", steps[:n]); err != nil {
				t.Fatal(err)
			}
		}
		if rows := query(t, s, `SELECT id, t FROM {M}vega_m`); len(rows) != 1 || rows[0][1] != "two" {
			t.Errorf("%v", rows)
		}
		err := metadata.Migrate(ctx, s, "test", steps[:1])
		if fault.CodeOf(err) != fault.DefinitionTooNew {
			t.Errorf("an older server: %v", err)
		}
		// A step that fails leaves nothing.
		steps = append(steps, both(3, `CREATE TABLE {M}vega_half (id BIGINT)`, `INSERT INTO {M}vega_nowhere VALUES (1)`))
		if err := metadata.Migrate(ctx, s, "test", steps); err == nil {
			t.Error("no error")
		}
		steps[2] = both(3, `CREATE TABLE {M}vega_half (id BIGINT)`)
		// Several servers at once.
		stores := []metadata.Store{s, s, s}
		if k == laketest.PostgreSQL {
			stores[1] = p.Open(t).Store()
		}
		var work sync.WaitGroup
		for _, s := range stores {
			work.Add(1)
			go func() {
				defer work.Done()
				if err := metadata.Migrate(ctx, s, "test", steps); err != nil {
					t.Error(err)
				}
			}()
		}
		work.Wait()
	})
}

func TestLakeRows(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		l := laketest.New(t, k)
		s := l.Store()
		for _, sql := range []string{
			`CREATE SCHEMA "s p"`,
			`CREATE TABLE "s p".t (i INTEGER NOT NULL, d DECIMAL(10,2) DEFAULT 1.5, n STRUCT("a b" BIGINT[], m MAP(VARCHAR, DATE)), z TIMESTAMPTZ, h VARCHAR DEFAULT 'x''y')`,
			`COMMENT ON TABLE "s p".t IS 'it''s a table'`,
			`COMMENT ON COLUMN "s p".t.d IS 'a column'`,
			`CREATE VIEW v(a, "b,c") AS SELECT 1, 2`,
			`CREATE MACRO m(x, y := 7) AS x + y`,
			`CREATE MACRO tm(a) AS TABLE SELECT a`,
			`INSERT INTO "s p".t (i) VALUES (1)`,
			`ALTER TABLE "s p".t ADD COLUMN k UUID`,
			`ALTER TABLE "s p".t RENAME TO u`,
		} {
			if err := l.DDL(ctx, sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		if err := s.View(ctx, func(tx metadata.Tx) error {
			if err := metadata.CheckFormat(ctx, tx); err != nil {
				t.Error(err)
			}
			newest, err := metadata.Latest(ctx, tx)
			if err != nil || newest.ID != 10 || newest.Time.IsZero() {
				t.Errorf("%+v, %v", newest, err)
			}
			u, found, err := metadata.TableByName(ctx, tx, "S P", "U", 0)
			if err != nil || !found {
				t.Fatal(err)
			}
			var types []string
			for _, c := range u.Columns {
				types = append(types, c.SQLType())
			}
			want := `INTEGER DECIMAL(10,2) STRUCT("a b" BIGINT[], "m" MAP(VARCHAR, DATE)) TIMESTAMP WITH TIME ZONE VARCHAR UUID`
			if got := strings.Join(types, " "); got != want {
				t.Errorf("types %s\nwant  %s", got, want)
			}
			if u.Comment != "it's a table" || u.Columns[1].Comment != "a column" || u.Columns[0].Nullable || !u.Columns[1].Nullable || len(u.UUID) != 36 {
				t.Errorf("%+v", u)
			}
			if u.Columns[0].Default != "" || u.Columns[1].Default != `CAST('1.5' AS DECIMAL(10,2))` || u.Columns[4].Default != `CAST('x''y' AS VARCHAR)` {
				t.Errorf("defaults %q %q %q", u.Columns[0].Default, u.Columns[1].Default, u.Columns[4].Default)
			}
			old, found, err := metadata.TableByID(ctx, tx, u.ID, 3)
			if err != nil || !found || old.Name != "t" || len(old.Columns) != 5 || old.Comment != "it's a table" || old.UUID != u.UUID {
				t.Errorf("at 3: %+v, %v", old, err)
			}
			if _, found, _ := metadata.TableByID(ctx, tx, u.ID, 1); found {
				t.Error("the table is there before it was made")
			}
			if all, err := metadata.Tables(ctx, tx, metadata.Filter{}); err != nil || len(all) != 1 {
				t.Errorf("%+v, %v", all, err)
			}
			views, err := metadata.Views(ctx, tx, newest.ID)
			if err != nil || len(views) != 1 || strings.Join(views[0].Aliases, "|") != "a|b,c" || views[0].SQL != "SELECT 1, 2" {
				t.Errorf("%+v, %v", views, err)
			}
			macros, err := metadata.Macros(ctx, tx, newest.ID)
			if err != nil || len(macros) != 2 || macros[0].Overloads[0].Params[1].Default != "7" || !macros[1].Overloads[0].Table {
				t.Errorf("%+v, %v", macros, err)
			}
			changes, err := metadata.Changes(ctx, tx, 7, newest.ID)
			if err != nil || len(changes) != 3 {
				t.Fatalf("%+v, %v", changes, err)
			}
			if changes[0].ID != 8 || changes[0].Class(u.ID) != metadata.Written || changes[0].ChangesSchema() || !changes[2].ChangesSchema() {
				t.Errorf("%+v", changes)
			}
			if changes[2].Changes[0] != (metadata.Change{Kind: metadata.CreatedTable, Schema: "s p", Name: "u"}) {
				t.Errorf("a rename is %+v", changes[2].Changes)
			}
			if name, err := metadata.SchemaName(ctx, tx, "S p"); err != nil || name != "s p" {
				t.Errorf("%q, %v", name, err)
			}
			if _, err := metadata.SnapshotAt(ctx, tx, 99); fault.CodeOf(err) != fault.HistoryExpired {
				t.Errorf("a snapshot that is not there: %v", err)
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
	})
}

func TestCommitLock(t *testing.T) {
	l := metadata.NewCommitLock()
	unlock, err := l.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	waiting, cancel := context.WithCancel(ctx)
	ended := make(chan error)
	go func() {
		_, err := l.Lock(waiting)
		ended <- err
	}()
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	unlock()
	unlock() // harmless
	again, err := l.Lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	again()
}

func TestPostgresOutages(t *testing.T) {
	s := store(t, laketest.PostgreSQL)
	err := s.Update(ctx, func(tx metadata.Tx) error {
		_, err := tx.Exec(ctx, `SELECT pg_terminate_backend(pg_backend_pid())`)
		return err
	})
	if code := fault.CodeOf(err); code != fault.CatalogGone {
		t.Errorf("a backend that was ended: %v", err)
	}
	query(t, s, `SELECT 1`) // the pool has others
}

// A transaction may take longer than its end is waited for.
func TestALongTransaction(t *testing.T) {
	laketest.Each(t, func(t *testing.T, k laketest.Kind) {
		t.Cleanup(metadata.SetEndWait(3 * time.Second)) // before the lake is open, and after it is closed
		s := store(t, k)
		exec(t, s, `CREATE TABLE {M}vega_values (id BIGINT)`)
		over, stop := metadata.Ending()
		defer stop()
		if err := s.Update(ctx, func(tx metadata.Tx) error {
			<-over.Done()
			_, err := tx.Exec(ctx, `INSERT INTO {M}vega_values VALUES (1)`)
			return err
		}); err != nil {
			t.Fatal(err)
		}
		if rows := query(t, s, `SELECT count(*) FROM {M}vega_values`); rows[0][0] != int64(1) {
			t.Errorf("%v", rows)
		}
	})
}
