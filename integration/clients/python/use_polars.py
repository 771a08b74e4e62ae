"""polars over an ADBC connection, and by a URI of its own."""

from decimal import Decimal

import polars as pl
from harness import raises, run
from server import HOST, connect, rows, snapshot

FRAME = pl.DataFrame(
    {"id": [1, 2, 3], "tags": [["a"], [], None], "amount": [Decimal("1.50"), None, Decimal("2.00")]},
    schema_overrides={"amount": pl.Decimal(10, 2)},
)


def case_there_and_back():
    with connect() as con:
        assert FRAME.write_database("polars_orders", con, engine="adbc") == 3
        assert FRAME.write_database("main.polars_orders", con, engine="adbc", if_table_exists="append") == 3
        assert FRAME.write_database("polars_orders", con, engine="adbc", if_table_exists="replace") == 3
        back = pl.read_database("SELECT * FROM polars_orders ORDER BY id", con)
        assert back.equals(FRAME) and back.schema == FRAME.schema, back


def case_parameters_and_batches():
    with connect() as con:
        some = pl.read_database("SELECT id FROM polars_orders WHERE amount > ?", con, execute_options={"parameters": (Decimal("1.75"),)})
        assert some.rows() == [(3,)]
        batches = pl.read_database("SELECT i FROM range(300000) t(i)", con, iter_batches=True, batch_size=100_000)
        assert sum(b.height for b in batches) == 300_000


def case_uri_has_no_place_for_credentials():
    raises("UNAUTHENTICATED", pl.read_database_uri, "SELECT 1", f"flightsql://ann:secret@{HOST}?transport=tcp", engine="adbc")


def case_views():
    with connect() as con, con.cursor() as cur:
        cur.execute("CREATE STREAMING MATERIALIZED VIEW polars_live WITH (wait_for_ready = true) AS SELECT id FROM polars_orders WHERE id < 3")
        cur.fetchall()
        assert sorted(pl.read_database("SELECT * FROM polars_live", con).rows()) == [(1,), (2,)]
        changes = pl.read_database(f"SUBSCRIBE TO polars_live WITH (up_to = {snapshot(cur)})", con)
        assert sorted(changes.filter(pl.col("_progress").is_null())["id"]) == [1, 2], changes


def case_errors_and_after():
    with connect() as con, con.cursor() as cur:
        raises("OBJECT_NOT_FOUND", pl.read_database, "SELECT * FROM polars_nothing", con)
        assert rows(cur, "SELECT 1 AS one") == [(1,)]


run(globals())
