from __future__ import annotations

import os
import struct
import subprocess
import sys

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import vega_flight
from vega_flight import InvalidInputError, TableExistsError, TableNotFoundError, UnsupportedError

ROWS = [{"i": 1, "s": "one", "x": 1.5}, {"i": 2, "s": None, "x": None}]
SCHEMA = pa.schema([("i", pa.int64()), ("s", pa.string()), ("x", pa.float64())])


def made(rows):
    return pa.Table.from_pylist(rows, schema=SCHEMA)


@pytest.mark.parametrize(
    "data",
    [
        ROWS,
        made(ROWS),
        made(ROWS).to_batches()[0],
        made(ROWS).to_reader(),
        made(ROWS).to_pandas(),
        pl.from_arrow(made(ROWS)),
        made(ROWS).to_pydict(),
        iter(made(ROWS).to_batches()),
        iter([made(ROWS)]),
        (row for row in ROWS),
    ],
    ids=["dicts", "table", "batch", "reader", "pandas", "polars", "columns", "batches", "tables", "generator"],
)
def test_rows_of_every_kind(server, data):
    with vega_flight.connect(server.uri) as db:
        table = db.create_table("t", data)
        assert table.to_arrow().sort_by("i").to_pylist() == ROWS
        assert table.schema.names == SCHEMA.names
        db.drop_table("t")


def test_create_open_list_drop(db):
    table = db.create_table("t", ROWS)
    assert table.name == "t"
    assert repr(table) == "Table('t')"
    assert len(table) == 2
    assert table.schema == SCHEMA
    assert db.open_table("t").count_rows() == 2
    assert db.open_table("t").count_rows("x > 1") == 1
    with pytest.raises(TableExistsError, match=r"^Table 't' already exists$") as e:
        db.create_table("t", ROWS)
    assert e.value.code == "OBJECT_ALREADY_EXISTS"
    assert isinstance(e.value, ValueError)
    assert db.create_table("t", ROWS, exist_ok=True).count_rows() == 2
    assert db.create_table("t", ROWS[:1], mode="overwrite").count_rows() == 1
    db.create_table("empty", schema=SCHEMA)
    assert db.open_table("empty").to_arrow() == SCHEMA.empty_table()
    assert list(db.list_tables()) == ["empty", "t"]
    assert db.table_names() == ["empty", "t"]
    page = db.list_tables(page_limit=1)
    assert (list(page), page.page_token(), page.num_page_results()) == (["empty"], "empty", 1)
    last = db.list_tables(page.page_token(), 1)
    assert (list(last), last.page_token()) == (["t"], None)
    db.drop_table("t")
    with pytest.raises(TableNotFoundError, match=r"^Table 't' was not found$"):
        db.drop_table("t")
    db.drop_table("t", ignore_missing=True)
    with pytest.raises(TableNotFoundError, match=r"^Table 't' was not found$"):
        db.open_table("t")


def test_wrong_data(db):
    for data, schema in ((None, None), ([], None), ("text", None), (7, None), ([1, 2], None), ([{"a": None}], None)):
        with pytest.raises(InvalidInputError):
            db.create_table("t", data, schema)
    with pytest.raises(InvalidInputError, match="mode"):
        db.create_table("t", ROWS, mode="replace")
    with pytest.raises(InvalidInputError, match="page_limit"):
        db.list_tables(page_limit=0)
    assert list(db.list_tables()) == []
    assert db.create_table("t", [], SCHEMA).count_rows() == 0


def test_names_in_schemas_and_quotes(db):
    db.sql("CREATE SCHEMA sales").to_list()
    try:
        db.create_table("sales.orders", ROWS)
        db.create_table('"a.b"', ROWS)
        db.create_table("my table's \N{GREEK SMALL LETTER ALPHA}", ROWS)
        names = ['"a.b"', "my table's \N{GREEK SMALL LETTER ALPHA}", "sales.orders"]
        assert list(db.list_tables()) == sorted(names)
        for name in names:
            assert db.open_table(name).count_rows() == 2
            db.drop_table(name)
    finally:
        db.sql("DROP SCHEMA sales").to_list()
    for name in ("", "a.", ".a", 'a."b', "a.b.c", 'x"y'):
        with pytest.raises(ValueError, match="Invalid table name"):
            db.open_table(name)


def test_add_update_delete(db):
    table = db.create_table("t", ROWS)
    assert table.add([{"i": 3, "s": "three", "x": 3.0}]) == 1
    assert table.update("i = 2", {"s": "two", "x": 2.5}) == 1
    assert table.update(values_sql={"i": "i * 10"}) == 3
    assert table.delete("i = 30") == 1
    assert sorted(table.to_list(), key=lambda r: r["i"]) == [{"i": 10, "s": "one", "x": 1.5}, {"i": 20, "s": "two", "x": 2.5}]
    assert table.add(ROWS, mode="overwrite") == 2
    assert len(table.head(1)) == 1
    with pytest.raises(InvalidInputError):
        table.update("i = 1")
    with pytest.raises(InvalidInputError):
        table.add(ROWS, mode="upsert")
    with pytest.raises(vega_flight.VegaError):
        table.add([{"nope": 1}])
    assert table.count_rows() == 2
    db.drop_table("t")
    with pytest.raises(TableNotFoundError, match="Table 't' was not found"):
        table.delete("true")


def test_reading(db):
    table = db.create_table("t", pa.table({"i": range(10)}))
    assert table.select(["i"], where="i > 6").order_by("i DESC").to_list() == [{"i": 9}, {"i": 8}, {"i": 7}]
    assert table.select([("twice", "i * 2")], limit=1).to_list() == [{"twice": 0}]
    assert table.select({"n": "count(*)"}).to_list() == [{"n": 10}]
    assert table.search().where("i > 2").where("i < 5 -- and no more").order_by("i").to_arrow() == pa.table({"i": [3, 4]})
    assert table.search().select("i").order_by("i").offset(8).limit(1).to_pandas()["i"].tolist() == [8]
    assert table.to_pandas()["i"].sum() == 45
    assert table.to_polars()["i"].sum() == 45
    assert table.select().to_polars()["i"].sum() == 45
    assert sum(b.num_rows for b in table.to_batches()) == 10
    assert sum(b.num_rows for b in table.select().run()) == 10
    assert "LIMIT 3" in table.select(limit=3).sql
    with pytest.raises(UnsupportedError):
        table.search("a vector")
    with pytest.raises(TypeError):
        table.select(limit="3")


def test_sql(db):
    assert db.sql("SELECT ? + 1 AS n, ? AS s", [41, "x"]).to_list() == [{"n": 42, "s": "x"}]
    assert db.sql("SELECT 42").scalar() == 42
    with pytest.raises(ValueError, match="2 rows"):
        db.sql("SELECT * FROM range(2)").scalar()
    db.sql("CREATE TABLE t (i INTEGER, s VARCHAR)").close()
    rows = pa.record_batch({"i": pa.array([1, 2, 3], pa.int32()), "s": ["a", None, "c"]})
    assert db.sql("INSERT INTO t VALUES (?, ?)", rows).rowcount == 3
    assert db.sql("SELECT count(*) FROM t").scalar() == 3
    with pytest.raises(TypeError):
        db.sql("SELECT ?", "text")
    with pytest.raises(InvalidInputError) as e:
        db.sql("SELECT 1 +")
    assert e.value.code == "SYNTAX_ERROR"
    with pytest.raises(TableNotFoundError) as e:
        db.sql("SELECT * FROM nope")
    assert e.value.code == "OBJECT_NOT_FOUND"
    with pytest.raises(vega_flight.PermissionDeniedError) as e:
        db.sql("ATTACH 'x.db'")
    assert e.value.code == "STATEMENT_NOT_ALLOWED"


def test_results_stream_and_are_given_up(db):
    with db.sql("SELECT i FROM range(1000000000) t(i)") as result:
        assert result.schema.names == ["i"]
        assert next(iter(result)).column(0)[0].as_py() == 0
    assert db.sql("SELECT 1").scalar() == 1
    result = db.sql("SELECT 1 AS i")
    assert isinstance(result.to_pandas(), pd.DataFrame)
    assert list(result) == []
    assert isinstance(db.sql("SELECT 1 AS i").to_polars(), pl.DataFrame)


def test_results_by_batches_and_cancelled(db):
    assert sum(batch.num_rows for batch in db.sql("SELECT i FROM range(5) r(i)").to_batches()) == 5
    result = db.sql("SELECT i FROM range(1000000000000) r(i)")
    next(result)
    result.cancel()
    with pytest.raises(vega_flight.JobCancelledError):
        for _ in result:
            pass


def test_error_in_the_middle_of_a_result(db):
    with pytest.raises(vega_flight.VegaError) as e:
        db.sql("SELECT CASE WHEN i > 900000 THEN error('stop here') END FROM range(1000000) t(i)").to_arrow()
    assert e.value.code == "SQL_ERROR"
    assert "stop here" in str(e.value)


def test_ingest_streams(sync_db):
    sent = 0

    def batches():
        nonlocal sent
        for i in range(50):
            sent += 1
            yield pa.record_batch({"i": pa.array(range(i * 10000, (i + 1) * 10000), pa.int64())})

    table = sync_db.create_table("t", batches())
    assert sent == 50
    assert sync_db.sql("SELECT sum(i) FROM t").scalar() == sum(range(500000))
    assert len(table) == 500000


def test_progress_bars(server, capsys):
    with vega_flight.connect(server.uri, progress=True) as db:
        db.create_table("t", pa.table({"i": range(100000)})).add(pa.table({"i": range(5)}))
        assert "create t" in capsys.readouterr().err
        view = db.create_materialized_view(
            "v", query="SELECT count(*) AS n FROM range(40000) a(i), range(30000) b(j) WHERE (i * j) % 7 = 1"
        )
        assert "CREATE MATERIALIZED VIEW main.v" in capsys.readouterr().err
        view.drop()
        db.drop_table("t")


def test_a_bar_is_shown_in_a_terminal_only(server):
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))  # where there are terminals
    program = """
import sys, vega_flight
with vega_flight.connect(sys.argv[1]) as db:
    db.create_table("bars", [{"i": 1}])
    db.drop_table("bars")
"""
    command = [sys.executable, "-c", program, server.uri]
    plain = subprocess.run(command, capture_output=True, check=True)
    assert plain.stderr == b""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    with subprocess.Popen(command, stderr=slave) as process:
        os.close(slave)
        seen = b""
        while True:
            try:
                part = os.read(master, 4096)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            seen += part
        os.close(master)
        assert process.wait() == 0
    assert b"create bars" in seen


def test_an_index_with_a_name_is_a_column(db):
    frame = pd.DataFrame({"a": [1, 2]}, index=pd.Index(["x", "y"], name="id"))
    assert db.create_table("t", frame).to_list() == [{"id": "x", "a": 1}, {"id": "y", "a": 2}]
    assert db.create_table("u", frame.rename_axis(None)).to_list() == [{"a": 1}, {"a": 2}]  # it numbers rows
    levels = pd.MultiIndex.from_tuples([(1, "x"), (2, "y")], names=["n", "id"])
    assert db.create_table("v", pd.DataFrame({"a": [1, 2]}, index=levels)).schema.names == ["n", "id", "a"]
    with pytest.raises(vega_flight.InvalidInputError, match="'id'") as e:
        db.create_table("w", frame.assign(id=3))
    assert "reset_index" in e.value.hint


def test_the_wrong_part_of_a_selection_is_named(db, people):
    for select, where, words in (
        ([("x", "age +")], None, "Invalid expression for column 'x'"),
        (["name", ("y", "nope + 1")], None, "Invalid expression for column 'y'"),
        (["nope"], None, "Invalid expression for column 'nope': .*not found in FROM clause"),
        (None, "age >", "invalid filter"),
        (["name"], "nope = 1", "invalid filter"),
    ):
        with pytest.raises(vega_flight.InvalidInputError, match=words) as e:
            people.select(select, where=where).to_list()
        assert e.value.code in ("SQL_ERROR", "SYNTAX_ERROR")
    with pytest.raises(vega_flight.InvalidInputError, match="nope"):
        people.select().order_by("nope").to_list()


def test_rows_that_do_not_fit(db, people):
    with pytest.raises(vega_flight.InvalidInputError) as e:
        people.add([{"name": "x", "age": "old"}])
    assert "'old'" in str(e.value)
    assert "age" in str(e.value)
    assert "vega" not in str(e.value)
    assert people.count_rows() == 3


def test_many_loads_and_results_that_nobody_reads(sync_db):
    """A session does not run out of room by what was closed before it was read."""
    table = sync_db.create_table("t", ROWS)
    for i in range(100):
        with sync_db.sql("SELECT s FROM t") as result:
            assert repr(result) == "Result(s: string)"
        assert table.add([{"i": i, "s": "more", "x": 0.5}]) == 1
    assert table.count_rows() == len(ROWS) + 100


def test_statements_that_are_none(db):
    for text in ("", " ", ";", "-- nothing"):
        with pytest.raises(InvalidInputError, match="holds no statement") as e:
            db.sql(text)
        assert e.value.code == "SYNTAX_ERROR"
    with pytest.raises(TypeError):
        db.sql(None)
