package ddl

import "testing"

func TestNearest(t *testing.T) {
	for text, want := range map[string]string{
		"CREATE MATERIALISED VIEW v AS SELECT 1": "CREATE MATERIALIZED VIEW", "refrsh materialized view v": "REFRESH MATERIALIZED VIEW",
		"SHOW MATERIALIZED VEIWS": "SHOW MATERIALIZED VIEWS", "SUBSCRBE TO v": "SUBSCRIBE TO", "SELEC 1 FROM t": "SELECT", "INSRT INTO t VALUES (1)": "INSERT INTO",
		"SHOW JOBZ": "SHOW JOBS", "SHOW STREAMING VIEWS": "SHOW STREAMING MATERIALIZED VIEWS", "DROP MATERIALISED VIEW v": "DROP MATERIALIZED VIEW",
		"EXPLAIN STREEMING SELECT 1": "EXPLAIN STREAMING", "CREATE TABEL t (i INTEGER)": "CREATE TABLE", "REFRESH VIEW v": "REFRESH MATERIALIZED VIEW",
		"ROLBACK": "ROLLBACK", "DELTE FROM t": "DELETE FROM",
		"SELECT * FORM t": "", "SHOW TABLES": "", "COPY t TO 'x'": "", "": "", "CREATE VIEW v": "", "ATTACH 'x'": "", "VACUUM": "", "SHOW STREAMS": "",
		"CREATE TABLE t (": "", "CREATE OR REPLACE TABLE t": "", "COMMENT ON TABLE absent IS 'x'": "",
	} {
		if got := Nearest(text); got != want {
			t.Errorf("%q looks like %q, want %q", text, got, want)
		}
	}
}
