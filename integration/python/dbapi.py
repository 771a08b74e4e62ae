"""ADBC's DBAPI module, as a notebook uses it."""

import datetime
import decimal
import threading
import time

import adbc_driver_flightsql
import adbc_driver_flightsql.dbapi as dbapi
import pyarrow as pa

from harness import URI, raises, run


def connect(**options):
    return dbapi.connect(URI, **options)


def one(connection, sql, *args):
    with connection.cursor() as cur:
        cur.execute(sql, *args)
        rows = cur.fetchall()
        assert len(rows) == 1, rows
        return rows[0][0]


def autocommit():
    return dbapi.connect(URI, autocommit=True)


def case_statements_take_effect_once():
    # Nobody fetches the result: the effect must be there all the same, and once.
    with autocommit() as c:
        with c.cursor() as cur:
            cur.execute("CREATE TABLE once (i INTEGER)")
            cur.execute("INSERT INTO once VALUES (1), (2), (3)")
            assert cur.rowcount == 3, cur.rowcount
        assert one(c, "SELECT count(*) FROM once") == 3
        with c.cursor() as cur:
            cur.execute("INSERT INTO once VALUES (4)")
            assert cur.rowcount == 1, cur.rowcount
            cur.execute("INSERT INTO once VALUES (4)")  # the same text is not prepared again
        assert one(c, "SELECT count(*) FROM once") == 5
        with c.cursor() as cur:
            cur.execute("UPDATE once SET i = i + 1 WHERE i < 4")
            assert cur.rowcount == 3, cur.rowcount
            cur.execute("DELETE FROM once WHERE i = 4")
            assert cur.rowcount == 3, cur.rowcount
            cur.execute("DROP TABLE once")
        raises("OBJECT_NOT_FOUND", one, c, "SELECT * FROM once")


def case_commit_and_rollback():
    with connect() as c, autocommit() as other:
        with c.cursor() as cur:
            cur.execute("CREATE TABLE tx (i INTEGER)")  # runs by itself: nothing was written yet
        assert one(other, "SELECT count(*) FROM tx") == 0
        with c.cursor() as cur:
            cur.execute("INSERT INTO tx VALUES (1)")
        assert one(c, "SELECT count(*) FROM tx") == 1
        assert one(other, "SELECT count(*) FROM tx") == 0
        raises("DDL_IN_TRANSACTION", c.cursor().execute, "CREATE TABLE tx2 (i INTEGER)")
        c.commit()
        assert one(other, "SELECT count(*) FROM tx") == 1
        with c.cursor() as cur:
            cur.execute("DELETE FROM tx")
            assert one(c, "SELECT count(*) FROM tx") == 0
        c.rollback()
        assert one(c, "SELECT count(*) FROM tx") == 1


def case_open_transaction_sees_new_commits_until_it_writes():
    with connect() as c, autocommit() as other:
        with other.cursor() as cur:
            cur.execute("CREATE TABLE seen (i INTEGER)")
        assert one(c, "SELECT count(*) FROM seen") == 0
        with other.cursor() as cur:
            cur.execute("INSERT INTO seen VALUES (1)")
        assert one(c, "SELECT count(*) FROM seen") == 1


def case_transaction_ends_with_its_connection():
    with autocommit() as other:
        with other.cursor() as cur:
            cur.execute("CREATE TABLE gone (i INTEGER)")
        c = connect()
        c.cursor().execute("INSERT INTO gone VALUES (1)")
        c.close()
        with other.cursor() as cur:
            cur.execute("INSERT INTO gone VALUES (2)")
        assert one(other, "SELECT list(i) FROM gone") == [2]


def case_parameters_of_all_types():
    values = [
        (True, "BOOLEAN"),
        (2**40, "BIGINT"),
        (-1.5, "DOUBLE"),
        ("größe 'x'", "VARCHAR"),
        (b"\x00\xff", "BLOB"),
        (datetime.date(2026, 2, 28), "DATE"),
        (datetime.datetime(2026, 2, 28, 1, 2, 3, 4), "TIMESTAMP"),
        (datetime.time(1, 2, 3, 4), "TIME"),
        (decimal.Decimal("123456789012345.678"), "DECIMAL(18,3)"),
        ([1, 2, None], "BIGINT[]"),
        ({"a": 1, "b": "x"}, "STRUCT(a BIGINT, b VARCHAR)"),
    ]
    with autocommit() as c:
        for value, sql in values:
            assert one(c, "SELECT ?", (value,)) == value, value
            assert one(c, f"SELECT ?::{sql}", (value,)) == value, value
            assert one(c, f"SELECT ?::{sql} IS NULL", (None,)) is True
        assert one(c, "SELECT ? + 1", (41,)) == 42
        assert one(c, "SELECT count(*) FROM range(10) t(i) WHERE i < ?", (4,)) == 4
        instant = datetime.datetime(2026, 2, 28, 1, 2, 3, tzinfo=datetime.timezone.utc)
        assert one(c, "SELECT ?", (instant,)) == instant


def case_same_statement_with_new_parameters():
    with autocommit() as c, c.cursor() as cur:
        for i in range(5):
            cur.execute("SELECT ? * 2", (i,))
            assert cur.fetchone() == (i * 2,)
        raises("INVALID_PARAMETER", cur.execute, "SELECT ?, ?", (1,))


def case_prepared_statement_survives_schema_change():
    with autocommit() as c, c.cursor() as cur:
        cur.execute("CREATE TABLE shape (a INTEGER)")
        cur.execute("INSERT INTO shape VALUES (1)")
        with c.cursor() as again:
            again.execute("SELECT * FROM shape")
            assert again.fetchall() == [(1,)]
            cur.execute("ALTER TABLE shape ADD COLUMN b VARCHAR DEFAULT 'x'")
            again.execute("SELECT * FROM shape")
            assert again.fetchall() == [(1, "x")]


def case_executemany():
    with connect() as c:
        with c.cursor() as cur:
            cur.execute("CREATE TABLE many (i BIGINT, s VARCHAR)")
            cur.executemany("INSERT INTO many VALUES (?, ?)", [(i, str(i)) for i in range(1000)])
            assert cur.rowcount == 1000, cur.rowcount
            c.commit()
            assert one(c, "SELECT sum(i) FROM many") == 499500
            cur.executemany("UPDATE many SET s = ? WHERE i = ?", [("x", 1), ("y", 2), ("z", -1)])
            assert cur.rowcount == 2, cur.rowcount
            c.commit()
            # One bad row of many: nothing stays.
            with autocommit() as a, a.cursor() as bad:
                raises("SQL_ERROR", bad.executemany, "INSERT INTO many SELECT ?::INTEGER, 'n'", [("1",), ("no number",)])
                assert one(a, "SELECT count(*) FROM many") == 1000


def case_executescript():
    with autocommit() as c, c.cursor() as cur:
        cur.executescript("""
            CREATE TABLE script (i INTEGER); -- a comment; with a semicolon
            INSERT INTO script VALUES (1);
            BEGIN;
            INSERT INTO script VALUES (2);
            COMMIT;
            INSERT INTO script VALUES (3);;
        """)
        assert one(c, "SELECT list(i ORDER BY i) FROM script") == [1, 2, 3]
        raises("OBJECT_NOT_FOUND", cur.executescript, "INSERT INTO script VALUES (4); SELECT * FROM missing; INSERT INTO script VALUES (5)")
        assert one(c, "SELECT max(i) FROM script") == 4
        cur.execute("INSERT INTO script VALUES (6); SELECT max(i) FROM script")
        assert cur.fetchall() == [(6,)]


def case_types_of_results():
    with autocommit() as c, c.cursor() as cur:
        cur.execute("""SELECT 1::TINYINT a, 2::UBIGINT b, 1.5::FLOAT c, 1.25::DECIMAL(5,2) d, 'x' e, '\\x01'::BLOB f, DATE '2026-01-02' g,
            TIMESTAMPTZ '2026-01-02 03:04:05+00' h, [1, 2] i, {'a': 1} j, MAP {'k': 1} k, NULL l, uuid() IS NOT NULL m, sum(x) n FROM range(3) t(x)""")
        table = cur.fetch_arrow_table()
        want = [pa.int8(), pa.uint64(), pa.float32(), pa.decimal128(5, 2), pa.string(), pa.binary(), pa.date32(), pa.timestamp("us", "UTC"),
                pa.list_(pa.int32()), pa.struct([("a", pa.int32())]), pa.map_(pa.string(), pa.int32())]
        assert [f.type for f in table.schema][: len(want)] == want, table.schema
        assert table.column("n").to_pylist() == [decimal.Decimal(3)]


def case_large_result_streams():
    with autocommit() as c, c.cursor() as cur:
        cur.execute("SELECT i, i::VARCHAR s FROM range(3000000) t(i)")
        rows, batches = 0, 0
        for batch in cur.fetch_record_batch():
            rows += batch.num_rows
            batches += 1
            assert batch.nbytes < 16 << 20
        assert rows == 3_000_000 and batches > 10, (rows, batches)


def case_wide_rows_fit_messages():
    with autocommit() as c, c.cursor() as cur:
        cur.execute("SELECT repeat('x', 100000) FROM range(1000)")
        assert cur.fetch_arrow_table().num_rows == 1000


def case_result_given_up():
    with autocommit() as c:
        cur = c.cursor()
        cur.execute("SELECT i FROM range(1000000000) t(i)")
        assert cur.fetchone() == (0,)
        cur.close()
        assert one(c, "SELECT 1") == 1


def case_cancel():
    with autocommit() as c:
        cur = c.cursor()
        timer = threading.Timer(0.3, cur.adbc_cancel)
        timer.start()
        try:
            cur.execute("SELECT count(*) FROM range(1000000000000) a(i), range(1000) b(j) WHERE (i * j) % 7 = 3")
            cur.fetchall()
        except Exception as e:
            assert "ancel" in str(e), e
        else:
            raise AssertionError("the statement was not cancelled")
        cur.close()
        assert one(c, "SELECT 1") == 1


def numbers(n, **extra):
    return pa.table({"i": pa.array(range(n), pa.int64()), "s": pa.array([f"row {i}" for i in range(n)]), **extra})


def case_ingest_modes():
    with autocommit() as c, c.cursor() as cur:
        assert cur.adbc_ingest("load", numbers(10), mode="create") == 10
        raises("OBJECT_ALREADY_EXISTS", cur.adbc_ingest, "load", numbers(10), mode="create")
        assert cur.adbc_ingest("load", numbers(5), mode="append") == 5
        assert cur.adbc_ingest("load", numbers(5), mode="create_append") == 5
        assert one(c, "SELECT count(*) FROM load") == 20
        raises("OBJECT_NOT_FOUND", cur.adbc_ingest, "missing", numbers(1), mode="append")
        assert cur.adbc_ingest("load", numbers(3, x=pa.array([1.5, None, 2.5])), mode="replace") == 3
        assert one(c, "SELECT sum(x) FROM load") == 4.0
        for wrong in (pa.table({"nope": [1]}), pa.table({"i": ["no number"], "s": ["x"], "x": [1.0]})):
            try:
                cur.adbc_ingest("load", wrong, mode="append")
            except Exception:
                pass
            else:
                raise AssertionError(f"{wrong.schema} was appended")
        assert one(c, "SELECT count(*) FROM load") == 3
        cur.execute("CREATE SCHEMA other")
        cur.adbc_ingest("load", numbers(2), mode="create", catalog_name="lake", db_schema_name="other")
        assert one(c, "SELECT count(*) FROM lake.other.load") == 2
    with autocommit() as c, c.cursor() as cur:  # a cursor keeps its catalog and schema
        assert cur.adbc_ingest("own", numbers(4), mode="create", temporary=True) == 4
        assert one(c, "SELECT count(*) FROM own") == 4
    with autocommit() as c:
        raises("OBJECT_NOT_FOUND", one, c, "SELECT * FROM own")


def case_ingest_is_part_of_the_transaction():
    with connect() as c, autocommit() as other:
        with c.cursor() as cur:
            cur.adbc_ingest("intx", numbers(1), mode="create")
            c.commit()
            cur.adbc_ingest("intx", numbers(9), mode="append")
            assert one(c, "SELECT count(*) FROM intx") == 10
            assert one(other, "SELECT count(*) FROM intx") == 1
            c.rollback()
            assert one(c, "SELECT count(*) FROM intx") == 1


def case_ingest_a_million_rows():
    table = pa.table({"i": pa.array(range(1_000_000), pa.int64()), "x": pa.array([float(i) for i in range(1_000_000)])})
    with connect() as c, c.cursor() as cur:
        began = time.monotonic()
        assert cur.adbc_ingest("million", table.to_reader(65536), mode="create") == 1_000_000
        c.commit()
        print(f"     1 M rows in {time.monotonic() - began:.2f}s")
        assert one(c, "SELECT sum(i) FROM million") == 499999500000


def case_metadata():
    with autocommit() as c:
        with c.cursor() as cur:
            cur.execute("CREATE TABLE meta_t (id INTEGER NOT NULL, price DECIMAL(9,2), tags VARCHAR[])")
            cur.execute("CREATE VIEW meta_v AS SELECT id FROM meta_t")
            cur.execute("CREATE MATERIALIZED VIEW meta_mv AS SELECT count(*) AS n FROM meta_t")
        schema = c.adbc_get_table_schema("meta_t")
        assert schema.names == ["id", "price", "tags"], schema
        assert not schema.field("id").nullable and schema.field("price").type == pa.decimal128(9, 2)
        assert schema.field("price").metadata[b"ARROW:FLIGHT:SQL:TYPE_NAME"] == b"DECIMAL(9,2)"
        assert set(c.adbc_get_table_types()) == {"TABLE", "VIEW", "MATERIALIZED VIEW", "STREAMING MATERIALIZED VIEW", "LOCAL TEMPORARY"}
        objects = c.adbc_get_objects(depth="all", table_name_filter="meta%").read_all().to_pylist()
        catalogs = {o["catalog_name"]: o for o in objects}
        assert set(catalogs) == {"lake", "vega"}, set(catalogs)
        tables = {t["table_name"]: t for s in catalogs["lake"]["catalog_db_schemas"] if s["db_schema_name"] == "main" for t in s["db_schema_tables"]}
        assert {n: t["table_type"] for n, t in tables.items()} == {"meta_t": "TABLE", "meta_v": "VIEW", "meta_mv": "MATERIALIZED VIEW"}
        columns = {col["column_name"]: col for col in tables["meta_t"]["table_columns"]}
        assert columns["tags"]["xdbc_type_name"] == "VARCHAR[]", columns["tags"]
        info = c.adbc_get_info()
        assert info["vendor_name"] == "vega-flight", info
        assert c.adbc_current_catalog == "lake" and c.adbc_current_db_schema == "main"


def case_session_settings():
    with autocommit() as c, autocommit() as other:
        with c.cursor() as cur:
            cur.execute("CREATE SCHEMA place")
            cur.execute("CREATE TABLE place.here AS SELECT 1 AS i")
            cur.execute("USE place")
        assert one(c, "SELECT i FROM here") == 1
        assert c.adbc_current_db_schema == "place"
        raises("OBJECT_NOT_FOUND", one, other, "SELECT i FROM here")
        other.adbc_current_db_schema = "place"
        assert one(other, "SELECT i FROM here") == 1
        with c.cursor() as cur:
            cur.execute("SET TimeZone = 'Asia/Tokyo'")
            cur.execute("CREATE TEMP TABLE mine AS SELECT 2 AS i")
        assert one(c, "SELECT strftime(TIMESTAMPTZ '2026-01-01 00:00:00+00', '%H')") == "09"
        assert one(other, "SELECT strftime(TIMESTAMPTZ '2026-01-01 00:00:00+00', '%H')") == "00"
        assert one(c, "SELECT i FROM mine") == 2
        raises("OBJECT_NOT_FOUND", one, other, "SELECT i FROM mine")


def case_session_options():
    # One connection, opened where options of a session can be given.
    option = adbc_driver_flightsql.ConnectionOptions.OPTION_SESSION_OPTION_PREFIX.value
    with dbapi.connect(URI, conn_kwargs={option + "TimeZone": "Asia/Tokyo"}, autocommit=True) as c:
        assert one(c, "SELECT current_setting('TimeZone')") == "Asia/Tokyo"
        assert one(c, "SELECT strftime(TIMESTAMPTZ '2026-01-01 00:00:00+00', '%H')") == "09"


def case_cookies_keep_one_session():
    cookies = adbc_driver_flightsql.DatabaseOptions.WITH_COOKIE_MIDDLEWARE.value
    with dbapi.connect(URI, {cookies: "true"}, autocommit=True) as c, dbapi.connect(URI, {cookies: "true"}, autocommit=True) as other:
        with c.cursor() as cur:
            cur.execute("CREATE TEMP TABLE kept AS SELECT 1 AS i")
        assert one(c, "SELECT i FROM kept") == 1
        raises("OBJECT_NOT_FOUND", one, other, "SELECT i FROM kept")


def case_views_and_jobs():
    with autocommit() as c, c.cursor() as cur:
        cur.execute("CREATE TABLE orders (day DATE, amount DECIMAL(18,2))")
        cur.execute("INSERT INTO orders VALUES ('2026-01-01', 10), ('2026-01-01', 5), ('2026-01-02', 1)")
        cur.execute("CREATE MATERIALIZED VIEW totals AS SELECT day, sum(amount) AS amount FROM orders GROUP BY day")
        assert one(c, "SELECT count(*) FROM totals") == 2
        cur.execute("INSERT INTO orders VALUES ('2026-01-03', 7)")
        assert one(c, "SELECT count(*) FROM totals") == 2
        cur.execute("REFRESH MATERIALIZED VIEW totals")
        row = dict(zip([d[0] for d in cur.description], cur.fetchone()))
        assert row["mode"] == "rebuild" and row["rows_written"] == 3, row
        assert one(c, "SELECT count(*) FROM totals") == 3
        cur.execute("REFRESH MATERIALIZED VIEW totals")
        row = dict(zip([d[0] for d in cur.description], cur.fetchone()))
        assert row["mode"] == "no_op", row
        cur.execute("REFRESH MATERIALIZED VIEW totals WITH (wait = false, full = true)")
        job = dict(zip([d[0] for d in cur.description], cur.fetchone()))["job_id"]
        cur.execute(f"SHOW JOB '{job}'")
        assert len(cur.fetchall()) == 1
        cur.execute("SHOW JOBS FOR MATERIALIZED VIEW totals")
        assert len(cur.fetchall()) >= 3
        assert one(c, "SELECT count(*) FROM vega.jobs") >= 3
        assert one(c, "SELECT count(*) FROM vega.materialized_views WHERE view_name = 'totals'") == 1
        raises("MATERIALIZED_VIEW_READ_ONLY", cur.execute, "INSERT INTO totals VALUES ('2026-01-01', 1)")
        raises("MATERIALIZED_VIEW_READ_ONLY", cur.adbc_ingest, "totals", pa.table({"day": [datetime.date(2026, 1, 1)], "amount": [decimal.Decimal(1)]}), mode="append")
        raises("JOB_NOT_FOUND", cur.execute, "CANCEL JOB 'nobody'")
        cur.execute("DROP MATERIALIZED VIEW totals")


def case_errors_have_names():
    with autocommit() as c, c.cursor() as cur:
        raises("SYNTAX_ERROR", cur.execute, "SELECT FROM WHERE")
        error = raises("OBJECT_NOT_FOUND", cur.execute, "SELECT * FROM nothing")
        assert isinstance(error, dbapi.ProgrammingError), type(error)
        raises("STATEMENT_NOT_ALLOWED", cur.execute, "SELECT * FROM read_csv('/etc/passwd')")
        raises("STATEMENT_NOT_ALLOWED", cur.execute, "COPY (SELECT 1) TO '/tmp/x'")
        # An error in the rows, after the first ones were sent.
        try:
            cur.execute("SELECT CASE WHEN i = 900000 THEN error('boom') ELSE i::VARCHAR END FROM range(1000000) t(i)")
            cur.fetchall()
        except Exception as e:
            assert "SQL_ERROR" in str(e), e
        else:
            raise AssertionError("the error was lost")
        assert one(c, "SELECT 1") == 1


def case_incremental_execution():
    with autocommit() as c, c.cursor() as cur:
        cur.adbc_statement.set_options(**{"adbc.statement.exec.incremental": "true"})
        partitions, schema = cur.adbc_execute_partitions("SELECT i FROM range(100000) t(i)")
        total = 0
        while partitions:
            for p in partitions:
                cur.adbc_read_partition(p)
                total += cur.fetch_arrow_table().num_rows
            partitions, _ = cur.adbc_execute_partitions("SELECT i FROM range(100000) t(i)")
        assert total == 100000, total


def case_partition_read_elsewhere():
    with autocommit() as c, autocommit() as other:
        partitions, schema = c.cursor().adbc_execute_partitions("SELECT 42 AS answer")
        assert schema.names == ["answer"]
        with other.cursor() as cur:
            cur.adbc_read_partition(partitions[0])
            assert cur.fetchall() == [(42,)]
            raises("QUERY_HANDLE_NOT_FOUND", cur.adbc_read_partition, partitions[0])


class Copy:
    """A copy of a view, from the rows of a subscription."""

    def __init__(self, key=None):
        self.key, self.rows, self.at, self.said = key, {}, -1, []

    def apply(self, row):
        row = dict(row)
        time, said = row.pop("_time"), row.pop("_progress")
        if said:
            self.said.append(said)
            if said == "begin":
                self.rows.clear()
            else:
                self.at = time
            return said != "begin"
        if self.key:
            op = row.pop("_op")
            key = tuple(row[k] for k in self.key)
            if op == "upsert":
                self.rows[key] = row
            else:
                assert op == "delete" and all(v is None for k, v in row.items() if k not in self.key), row
                del self.rows[key]
            return False
        weight, cells = row.pop("_weight"), tuple(row.values())
        self.rows[cells] = self.rows.get(cells, 0) + weight
        if not self.rows[cells]:
            del self.rows[cells]
        return False

    def compare(self, c, view):
        with c.cursor() as cur:
            cur.execute(f"SELECT * FROM {view} AT (VERSION => {self.at})")
            want = cur.fetch_arrow_table().to_pylist()
        if self.key:
            have = list(self.rows.values())
        else:
            have = [dict(zip(want[0], cells)) for cells, n in self.rows.items() for _ in range(n)] if want else list(self.rows)
        order = lambda r: repr(sorted(r.items()))
        assert sorted(have, key=order) == sorted(want, key=order), (self.at, have, want)


def subscribed(view, mode, changes):
    with autocommit() as c, autocommit() as writer:
        copy = Copy(["k"] if mode == "upsert" else None)
        with c.cursor() as cur:
            cur.execute(f"SUBSCRIBE TO {view} WITH (progress = true, mode = '{mode}')")
            assert cur.description[0][0] == "_time" and cur.description[2][0] == "_progress"
            rows = (row for batch in cur.fetch_record_batch() for row in batch.to_pylist())
            for row in rows:
                if copy.apply(row):
                    copy.compare(writer, view)
                    if changes:
                        with writer.cursor() as w:
                            for sql in changes.pop(0):
                                w.execute(sql)
                    else:
                        break
            cur.adbc_cancel()
        return copy


def case_subscribe_to_a_streaming_view():
    with autocommit() as c, c.cursor() as cur:
        cur.execute("CREATE TABLE moves (k INTEGER, v BIGINT)")
        cur.execute("INSERT INTO moves SELECT i % 5, i FROM range(100) t(i)")
        cur.execute("CREATE STREAMING MATERIALIZED VIEW totals WITH (wait_for_ready = true) AS SELECT k, count(*) AS n, max(v) AS top FROM moves GROUP BY k")
    changes = ["INSERT INTO moves VALUES (1, 1000), (2, 5), (7, 1)", "DELETE FROM moves WHERE k = 2", "UPDATE moves SET v = v + 1 WHERE k = 3"]
    for mode in ("retract", "upsert"):
        copy = subscribed("main.totals", mode, [[sql] for sql in changes * 3])
        assert copy.said[:2] == ["begin", "end"] and "at" in copy.said, copy.said


def case_subscribe_to_a_traditional_view():
    with autocommit() as c, c.cursor() as cur:
        cur.execute("CREATE TABLE stock (k INTEGER)")
        cur.execute("INSERT INTO stock VALUES (1), (2), (2)")
        cur.execute("CREATE MATERIALIZED VIEW held AS SELECT k FROM stock")
        changes = [[f"INSERT INTO stock VALUES ({i}), (NULL)", "REFRESH MATERIALIZED VIEW held"] for i in range(8)]
        copy = subscribed("main.held", "retract", changes)
        assert copy.said.count("begin") > 2, copy.said
        raises("INVALID_OPTION", cur.execute, "SUBSCRIBE TO held WITH (mode = 'upsert')")
        # All of it up to now, and no more: the cursor ends.
        cur.execute("REFRESH MATERIALIZED VIEW held WITH (full = true)")
        version = cur.fetchone()[6]
        cur.execute(f"SUBSCRIBE TO held WITH (up_to = {version})")
        rows = cur.fetchall()
        assert rows[0][2] == "begin" and rows[-1][2] == "end" and len(rows) == 2 + one(c, "SELECT count(*) FROM held"), rows


run(globals())
