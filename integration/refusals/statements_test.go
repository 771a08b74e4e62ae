package refusals

import (
	"testing"

	"github.com/vegadb/vega-flight/integration/process"
)

// wrong are statements of ann's that change nothing.
var wrong = []struct{ sql, name string }{
	{"SELEC 1", "SYNTAX_ERROR"},
	{"REFRESH MATERIALIZED v", "SYNTAX_ERROR"},
	{"SELECT absent FROM src", "SQL_ERROR"},
	{"SELECT 'x'::INTEGER", "SQL_ERROR"},
	{"SELECT * FROM absent", "OBJECT_NOT_FOUND"},
	{"INSERT INTO src VALUES (1, 'x', 3, 4)", "SQL_ERROR"},
	{"INSERT INTO src SELECT 1, error('stop')", "SQL_ERROR"},
	{"SELECT * FROM read_csv('/etc/passwd')", "STATEMENT_NOT_ALLOWED"},
	{"ATTACH '/tmp/x.db'", "STATEMENT_NOT_ALLOWED"},

	{"CREATE MATERIALIZED VIEW n WITH (colour = 1) AS SELECT 1 AS one", "UNKNOWN_OPTION"},
	{"REFRESH MATERIALIZED VIEW v WITH (colour = 1)", "UNKNOWN_OPTION"},
	{"ALTER MATERIALIZED VIEW v SET (colour = 1)", "UNKNOWN_OPTION"},
	{"SET vega.colour = 1", "UNKNOWN_OPTION"},
	{"CREATE MATERIALIZED VIEW n WITH (wait = 5) AS SELECT 1 AS one", "INVALID_OPTION"},
	{"CREATE MATERIALIZED VIEW n WITH (refresh_interval = true) AS SELECT 1 AS one", "INVALID_OPTION"},
	{"CREATE MATERIALIZED VIEW n WITH (refresh_interval = '-5s') AS SELECT 1 AS one", "INVALID_OPTION"},
	{"CREATE MATERIALIZED VIEW n WITH (refresh_interval = '5s', refresh_cron = '* * * * *') AS SELECT 1 AS one", "INVALID_OPTION"},
	{"CREATE MATERIALIZED VIEW n WITH (refresh_cron = 'every day') AS SELECT 1 AS one", "INVALID_OPTION"},
	{"CREATE MATERIALIZED VIEW n WITH (refresh_cron = '* * * * *', refresh_timezone = 'Mars/Base') AS SELECT 1 AS one", "INVALID_OPTION"},
	{"REFRESH MATERIALIZED VIEW v WITH (source_version = 'x')", "INVALID_OPTION"},
	{"REFRESH MATERIALIZED VIEW v WITH (source_version = 999999)", "INVALID_OPTION"},
	{"SET vega.isolation = 'none'", "INVALID_OPTION"},

	{"REFRESH MATERIALIZED VIEW absent", "MATERIALIZED_VIEW_NOT_FOUND"},
	{"DROP MATERIALIZED VIEW absent", "MATERIALIZED_VIEW_NOT_FOUND"},
	{"ALTER MATERIALIZED VIEW absent RENAME TO n", "MATERIALIZED_VIEW_NOT_FOUND"},
	{"SHOW CREATE MATERIALIZED VIEW absent", "MATERIALIZED_VIEW_NOT_FOUND"},
	{"CANCEL JOB 'absent'", "JOB_NOT_FOUND"},
	{"SHOW JOB 'absent'", "JOB_NOT_FOUND"},

	{"REFRESH MATERIALIZED VIEW src", "NOT_A_MATERIALIZED_VIEW"},
	{"DROP MATERIALIZED VIEW src", "NOT_A_MATERIALIZED_VIEW"},
	{"DROP STREAMING MATERIALIZED VIEW v", "NOT_A_MATERIALIZED_VIEW"},
	{"DROP TABLE v", "MATERIALIZED_VIEW_READ_ONLY"},
	{"DROP VIEW v", "MATERIALIZED_VIEW_READ_ONLY"},
	{"INSERT INTO v VALUES (1, 1)", "MATERIALIZED_VIEW_READ_ONLY"},
	{"DELETE FROM v", "MATERIALIZED_VIEW_READ_ONLY"},
	{"UPDATE v SET k = 1", "MATERIALIZED_VIEW_READ_ONLY"},
	{"ALTER TABLE v ADD COLUMN x INTEGER", "MATERIALIZED_VIEW_READ_ONLY"},
	{"COMMENT ON TABLE v IS 'mine'", "MATERIALIZED_VIEW_READ_ONLY"},

	{"CREATE MATERIALIZED VIEW v AS SELECT 1 AS one", "MATERIALIZED_VIEW_EXISTS"},
	{"CREATE MATERIALIZED VIEW src AS SELECT 1 AS one", "OBJECT_ALREADY_EXISTS"},
	{"CREATE OR REPLACE MATERIALIZED VIEW src AS SELECT 1 AS one", "OBJECT_ALREADY_EXISTS"},
	{"CREATE TABLE v (i INTEGER)", "OBJECT_ALREADY_EXISTS"},
	{"ALTER MATERIALIZED VIEW v RENAME TO src", "OBJECT_ALREADY_EXISTS"},
	{"ALTER MATERIALIZED VIEW v RENAME TO w", "MATERIALIZED_VIEW_EXISTS"},
	{"ALTER MATERIALIZED VIEW v OWNER TO nobody", "INVALID_PARAMETER"},

	{"CREATE MATERIALIZED VIEW n AS SELECT * FROM absent", "OBJECT_NOT_FOUND"},
	{"CREATE MATERIALIZED VIEW nowhere.n AS SELECT 1 AS one", "OBJECT_NOT_FOUND"},
	{"CREATE MATERIALIZED VIEW n AS SELECT absent FROM src", "SQL_ERROR"},
	{"CREATE MATERIALIZED VIEW n AS SELECT * FROM scratch", "TEMPORARY_SOURCE"},
	{"CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT * FROM w", "VIEW_CYCLE"},
	{"CREATE STREAMING MATERIALIZED VIEW n AS SELECT *, random() AS r FROM src", "PLAN_NOT_INCREMENTAL"},
	{"DROP MATERIALIZED VIEW v", "DEPENDENT_VIEWS_EXIST"},
	{"DROP SCHEMA s", "DEPENDENT_VIEWS_EXIST"},
}

// foreign are statements about ann's view that ben may not run.
var foreign = []string{
	"DROP MATERIALIZED VIEW w", "REFRESH MATERIALIZED VIEW v", "ALTER MATERIALIZED VIEW v SET (refresh_interval = '1h')",
	"ALTER MATERIALIZED VIEW v OWNER TO ben", "ALTER MATERIALIZED VIEW v RENAME TO mine", "CREATE OR REPLACE MATERIALIZED VIEW v AS SELECT 1 AS one",
}

func TestStatements(t *testing.T) {
	s := newHouse(t).start(t)
	ann, ben := s.ConnectAs(t, "ann"), s.ConnectAs(t, "ben")
	for _, sql := range []string{
		"CREATE TABLE src (k BIGINT, n BIGINT)", "INSERT INTO src VALUES (1, 1), (1, 2), (2, 3)", "CREATE TEMP TABLE scratch (i INTEGER)",
		"CREATE MATERIALIZED VIEW v AS SELECT k, sum(n) AS n FROM src GROUP BY k", "CREATE MATERIALIZED VIEW w AS SELECT count(*) AS c FROM v",
		"CREATE SCHEMA s", "CREATE MATERIALIZED VIEW s.z AS SELECT 1 AS one",
	} {
		ann.Must(t, sql)
	}
	before := world(t, ann)
	check := func(c *process.Client, sql string, names ...string) {
		t.Helper()
		t.Run(sql, func(t *testing.T) {
			_, err := c.Query(t.Context(), sql)
			process.Refused(t, err, names...)
			h, err := c.Submit(t.Context(), sql)
			if err == nil {
				_, err = h.End(t.Context())
			}
			process.Refused(t, err, names...)
			if now := world(t, ann); now != before {
				t.Errorf("before: %s\nafter:  %s", before, now)
			}
		})
	}
	for _, w := range wrong {
		check(ann, w.sql, w.name)
	}
	for _, sql := range foreign {
		check(ben, sql, "PERMISSION_DENIED")
	}
	for _, key := range []string{"", "nobody"} {
		_, err := s.ConnectAs(t, key).Query(t.Context(), "SELECT 1")
		process.Refused(t, err, "UNAUTHENTICATED")
	}
}
