"""pandas over an ADBC connection."""

import pandas as pd
from harness import raises, run
from server import connect, rows, snapshot

FRAME = pd.DataFrame({"id": [1, 2], "sold_at": pd.to_datetime(["2026-01-01", None], utc=True), "note": ["a", None], "amount": [9.5, 3.0]})


def case_there_and_back():
    with connect() as con, con.cursor() as cur:
        cur.execute("CREATE SCHEMA pandas_sales")
        assert FRAME.to_sql("orders", con, schema="pandas_sales", index=False) == 2
        assert FRAME.to_sql("orders", con, schema="pandas_sales", index=False, if_exists="append") == 2
        assert FRAME.to_sql("orders", con, schema="pandas_sales", index=False, if_exists="replace") == 2
        raises("already exists", FRAME.to_sql, "orders", con, schema="pandas_sales", index=False)
        back = pd.read_sql("SELECT * FROM pandas_sales.orders", con)
        assert back["id"].tolist() == [1, 2]
        assert back["sold_at"].isna().tolist() == [False, True] and back["sold_at"][0] == FRAME["sold_at"][0]
        assert back["note"].isna().tolist() == [False, True] and back["amount"].tolist() == [9.5, 3.0]
        raises("OBJECT_NOT_FOUND", pd.read_sql_table, "orders", con, schema="pandas_sales")  # it forgets the schema
        cur.execute("USE pandas_sales")
        assert len(pd.read_sql_table("orders", con)) == 2


def case_exact_types():
    with connect() as con:
        sql = "SELECT 1.50::DECIMAL(10,2) AS d, [1, NULL] AS l, {'a': 1} AS s, NULL::TIMESTAMPTZ AS z"
        frame = pd.read_sql(sql, con, dtype_backend="pyarrow")
        assert [str(t) for t in frame.dtypes] == [
            "decimal128(10, 2)[pyarrow]",
            "list<item: int32>[pyarrow]",
            "struct<a: int32>[pyarrow]",
            "timestamp[us, tz=UTC][pyarrow]",
        ], frame.dtypes


def case_parameters():
    with connect() as con, con.cursor() as cur:
        raises("params", pd.read_sql, "SELECT * FROM pandas_sales.orders WHERE id > ?", con, params=(1,))
        cur.execute("SELECT * FROM pandas_sales.orders WHERE id > ?", (1,))  # so the cursor has them
        assert cur.fetch_df()["id"].tolist() == [2]


def case_views():
    with connect() as con, con.cursor() as cur:
        cur.execute("CREATE MATERIALIZED VIEW pandas_total AS SELECT sum(amount) AS amount FROM pandas_sales.orders")
        cur.fetchall()
        assert pd.read_sql("REFRESH MATERIALIZED VIEW pandas_total", con)["mode"].tolist() == ["no_op"]
        assert pd.read_sql("SELECT * FROM pandas_total", con)["amount"].tolist() == [12.5]
        changes = pd.read_sql(f"SUBSCRIBE TO pandas_total WITH (up_to = {snapshot(cur)})", con)
        assert changes[changes["_progress"].isna()]["amount"].tolist() == [12.5], changes


def case_errors_and_after():
    with connect() as con, con.cursor() as cur:
        raises("OBJECT_NOT_FOUND", pd.read_sql, "SELECT * FROM pandas_sales.nothing", con)
        refused = raises("Failed to insert", FRAME.to_sql, "pandas_total", con, index=False, if_exists="append")
        assert "MATERIALIZED_VIEW_READ_ONLY" in str(refused.__cause__)
        assert rows(cur, "SELECT count(*) FROM pandas_total") == [(1,)]


run(globals())
