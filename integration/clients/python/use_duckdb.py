"""DuckDB beside the server: results stream into its queries, and its results into the lake, as Arrow batches."""

import duckdb
from harness import raises, run
from server import connect, rows


def case_a_result_is_a_table_of_duckdb():
    with connect() as con, con.cursor() as cur:
        cur.execute("SELECT i, i % 7 AS k FROM range(200000) t(i)")
        remote = cur.fetch_record_batch()
        assert duckdb.sql("SELECT k, count(*) FROM remote GROUP BY k ORDER BY k LIMIT 1").fetchall() == [(0, 28572)]


def case_a_result_of_duckdb_becomes_a_table():
    local = duckdb.connect()
    result = local.sql(
        "SELECT i::INTEGER AS id, i::DECIMAL(10,2) / 4 AS amount, [i, NULL] AS l, {'a': i, 'b': 'x'} AS s, "
        "TIMESTAMPTZ '2026-01-01 00:00:00+00' AS z, NULL::DATE AS d FROM range(10000) t(i)"
    )
    want = result.aggregate("count(*), sum(amount), sum(len(l)), max(s.a), max(epoch_us(z)), count(d)").fetchall()
    with connect() as con, con.cursor() as cur:
        assert cur.adbc_ingest("duckdb_orders", result.to_arrow_reader(), mode="create") == 10000
        assert rows(cur, "SELECT count(*), sum(amount), sum(len(l)), max(s.a), max(epoch_us(z)), count(d) FROM duckdb_orders") == want


def case_views():
    with connect() as con, con.cursor() as cur:
        cur.execute("CREATE MATERIALIZED VIEW duckdb_total AS SELECT count(*) AS n FROM duckdb_orders")
        cur.fetchall()
        cur.execute("SELECT * FROM duckdb_total")
        total = cur.fetch_arrow_table()
        assert duckdb.sql("SELECT n FROM total").fetchall() == [(10000,)]


def case_errors_are_not_ends():
    """A stream that breaks is an error in DuckDB's query, too."""
    with connect() as con, con.cursor() as cur:
        cur.execute("SELECT CASE WHEN i = 1500000 THEN error('broken') ELSE i END AS i FROM range(2000000) t(i)")
        remote = cur.fetch_record_batch()
        local = duckdb.connect()
        local.register("remote", remote)
        raises("broken", lambda: local.sql("SELECT count(*) FROM remote").fetchall())


run(globals())
