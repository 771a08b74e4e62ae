"""ADBC's DBAPI module, as an application uses it."""

import threading
from datetime import datetime, timezone
from decimal import Decimal

import adbc_driver_flightsql.dbapi as flightsql
import pyarrow as pa
from adbc_driver_flightsql import DatabaseOptions
from harness import raises, run
from server import PLAIN, TLS, connect, login, rows, snapshot


def case_logins():
    def one(uri, **options):
        with flightsql.connect(uri, db_kwargs=options) as con, con.cursor() as cur:
            return rows(cur, "SELECT 1 AS one")

    assert one(TLS, **login()) == [(1,)]
    assert one(PLAIN, username="ann", password="secret") == [(1,)]
    assert one(PLAIN, **{DatabaseOptions.AUTHORIZATION_HEADER.value: "Bearer k1"}) == [(1,)]
    raises("UNAUTHENTICATED", one, PLAIN, username="ann", password="wrong")
    raises("UNAUTHENTICATED", one, PLAIN)


def case_types_there_and_back():
    table = pa.table(
        {
            "id": [1, 2],
            "amount": pa.array([Decimal("9.50"), None], pa.decimal128(10, 2)),
            "sold_at": pa.array([datetime(2026, 1, 1, 12, tzinfo=timezone.utc), None], pa.timestamp("us", "UTC")),
            "tags": pa.array([["a", None], None], pa.list_(pa.string())),
            "place": pa.array([{"city": "Oslo", "zip": 150}, None], pa.struct([("city", pa.string()), ("zip", pa.int32())])),
        }
    )
    with connect() as con, con.cursor() as cur:
        assert cur.adbc_ingest("adbc_orders", table, mode="create") == 2
        empty = pa.RecordBatchReader.from_batches(table.schema, [pa.RecordBatch.from_pylist([], table.schema)])
        assert cur.adbc_ingest("adbc_orders", empty, mode="append") == 0
        raises("no first message", cur.adbc_ingest, "adbc_orders", table.slice(0, 0), mode="append")  # without a batch the driver sends nothing
        cur.execute("SELECT * FROM adbc_orders ORDER BY id")
        back = cur.fetch_arrow_table()
        assert back.to_pylist() == table.to_pylist(), back
        assert [f.type for f in back.schema] == [f.type for f in table.schema], back.schema


def case_prepared_parameters():
    with connect() as con, con.cursor() as cur:
        when = datetime(2026, 1, 1, 12, tzinfo=timezone.utc)
        assert rows(cur, "SELECT id FROM adbc_orders WHERE sold_at >= ? AND amount < ? AND id <> ?", (when, Decimal("9.75"), 7)) == [(1,)]
        cur.executemany("INSERT INTO adbc_orders (id, amount) VALUES (?, ?)", [(i, Decimal(i)) for i in range(10, 20)])
        assert cur.rowcount == 10
        assert rows(cur, "SELECT count(*), sum(amount) FROM adbc_orders WHERE id >= ?", (10,)) == [(10, Decimal("145.00"))]
        assert rows(cur, "SELECT ?::INTEGER", (None,)) == [(None,)]


def case_transactions():
    with connect() as con, flightsql.connect(TLS, db_kwargs=login()) as tx, con.cursor() as cur, tx.cursor() as mine:
        mine.execute("DELETE FROM adbc_orders WHERE id >= 10")
        assert rows(mine, "SELECT count(*) FROM adbc_orders") == [(2,)]
        assert rows(cur, "SELECT count(*) FROM adbc_orders") == [(12,)]
        tx.rollback()
        assert rows(mine, "SELECT count(*) FROM adbc_orders") == [(12,)]
        mine.execute("DELETE FROM adbc_orders WHERE id >= 10")
        tx.commit()
        assert rows(cur, "SELECT count(*) FROM adbc_orders") == [(2,)]


def case_metadata():
    with connect() as con:
        assert con.adbc_get_info()["vendor_name"] == "vega-flight"
        assert con.adbc_get_table_schema("adbc_orders").field("amount").type == pa.decimal128(10, 2)
        objects = con.adbc_get_objects(depth="columns", table_name_filter="adbc_orders").read_all().to_pylist()
        tables = [t for c in objects for s in c["catalog_db_schemas"] or [] for t in s["db_schema_tables"] or []]
        assert [(t["table_name"], t["table_type"], len(t["table_columns"])) for t in tables] == [("adbc_orders", "TABLE", 5)], tables


def case_errors_name_themselves():
    with connect() as con, con.cursor() as cur:
        e = raises("OBJECT_NOT_FOUND", cur.execute, "SELECT * FROM nobody_knows")
        assert isinstance(e, flightsql.ProgrammingError), type(e)
        raises("SYNTAX_ERROR", cur.execute, "SELEC 1")
        assert rows(cur, "SELECT 1 AS one") == [(1,)]


def case_cancel():
    with connect() as con, con.cursor() as cur:
        caught = []

        def work():
            try:
                rows(cur, "SELECT sum(sqrt(i * j)) FROM range(3000000) a(i), range(3000000) b(j)")
            except flightsql.Error as e:
                caught.append(e)

        thread = threading.Thread(target=work)
        thread.start()
        while thread.is_alive():  # until it is there to be cancelled
            cur.adbc_cancel()
            thread.join(0.05)
        assert "ancel" in str(caught[0]), caught
        assert rows(cur, "SELECT 1 AS one") == [(1,)]


def case_views():
    with connect() as con, con.cursor() as cur:
        cur.execute("CREATE MATERIALIZED VIEW adbc_total AS SELECT sum(amount) AS amount FROM adbc_orders")
        cur.fetchall()
        cur.execute("INSERT INTO adbc_orders (id, amount) VALUES (3, 0.50)")
        cur.execute("REFRESH MATERIALIZED VIEW adbc_total")
        refreshed = cur.fetch_arrow_table().to_pylist()[0]
        assert refreshed["mode"] == "rebuild", refreshed
        assert rows(cur, "SELECT amount FROM adbc_total") == [(Decimal("10.00"),)]


def case_subscription():
    with connect() as con, con.cursor() as cur, con.cursor() as writer:
        cur.execute("CREATE STREAMING MATERIALIZED VIEW adbc_live WITH (wait_for_ready = true) AS SELECT id FROM adbc_orders WHERE id < 100")
        cur.fetchall()
        at = snapshot(cur)
        cur.execute(f"SUBSCRIBE TO adbc_live WITH (up_to = {at})")
        content = [r for r in cur.fetch_arrow_table().to_pylist() if r["_progress"] is None]
        assert sorted(r["id"] for r in content) == [1, 2, 3], content
        cur.execute(f"SUBSCRIBE TO adbc_live WITH (as_of = {at})")
        writer.execute("INSERT INTO adbc_orders (id) VALUES (4)")
        for batch in cur.fetch_record_batch():
            if batch.num_rows:
                assert [(r["_weight"], r["id"]) for r in batch.to_pylist()] == [(1, 4)], batch
                break
        cur.adbc_cancel()


run(globals())
