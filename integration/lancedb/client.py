"""LanceDB's released remote client, unmodified, as a user of retained query handles.

usage: python client.py grpc://HOST:PORT API_KEY
"""

import sys
import time
import uuid

import lancedb

URI, KEY = sys.argv[1:3]
# The REST half of the client is not what is tested: its port answers nobody.
db = lancedb.connect("db://main", api_key=KEY, region="local", host_override="http://127.0.0.1:9", sql_host_override=URI)

SLOW = "SELECT count(*) AS n FROM range(300000) a(i), range(300000) b(j) WHERE (i * j) % 7 = 1"


def run(sql):
    """Submits, streams and returns the rows."""
    return db.execute_query(sql).read_all().to_pylist()


def settle(query, *wanted, patience=60):
    """Describes until the status is one of those wanted."""
    deadline = time.monotonic() + patience
    while True:
        seen = query.describe()
        if seen.status in wanted:
            return seen
        assert time.monotonic() < deadline, f"still {seen}, not one of {wanted}"


def refused(call, *words):
    try:
        call()
    except Exception as e:
        text = str(e).lower()
        assert all(w in text for w in words), e
        return
    raise AssertionError("nothing was refused")


def reads_and_writes(name):
    assert run("SELECT 42 AS answer, 'x' AS s") == [{"answer": 42, "s": "x"}]
    run(f"CREATE TABLE {name}(k INT, v BIGINT)")
    assert run(f"INSERT INTO {name} SELECT i % 5, i FROM range(1000) r(i)") == [{"Count": 1000}]
    rows = run(f"SELECT k, count(*) AS n FROM {name} GROUP BY k ORDER BY k")
    assert rows == [{"k": k, "n": 200} for k in range(5)], rows
    big = db.execute_query(f"SELECT a.v FROM {name} a, {name} b").read_all()
    assert big.num_rows == 1_000_000, big.num_rows
    refused(lambda: run("SELECT 1 +"), "syntax_error")
    refused(lambda: run(f"SELECT * FROM {name}_absent"), "object_not_found")


def views(name):
    create = db.execute_query_async(f"CREATE MATERIALIZED VIEW {name}_v AS SELECT k, sum(v) AS s FROM {name} GROUP BY k")
    done = settle(create, "finished")
    assert done.expires_at is not None, done
    assert db.describe_query(create.id).status == "finished"
    create.reader().read_all()
    assert len(run(f"SELECT * FROM {name}_v")) == 5
    run(f"INSERT INTO {name} VALUES (9, 9)")
    refresh = db.execute_query_async(f"REFRESH MATERIALIZED VIEW {name}_v")
    settle(refresh, "finished")
    (row,) = refresh.reader().read_all().to_pylist()
    assert row["mode"] == "rebuild" and row["rows_written"] == 6, row
    assert len(run(f"SELECT * FROM {name}_v")) == 6
    refused(lambda: run(f"REFRESH MATERIALIZED VIEW {name}"), "not_a_materialized_view")


def cancels(sql):
    query = db.execute_query_async(sql)
    settle(query, "running")
    # Every description gives up after a second; three of them must not end anything.
    for _ in range(3):
        assert query.describe().status == "running", query.describe()
    query.cancel()
    settle(query, "cancelled")
    refused(lambda: query.reader().read_all(), "cancel")
    query.cancel()  # again, when it is over


def main():
    name = "t" + uuid.uuid4().hex
    reads_and_writes(name)
    views(name)
    cancels(SLOW)
    cancels(f"CREATE MATERIALIZED VIEW {name}_w AS {SLOW}")
    # Cancelled before anything was described.
    early = db.execute_query_async(SLOW)
    early.cancel()
    settle(early, "cancelled")
    finished = db.execute_query_async("SELECT 1 AS one")
    settle(finished, "finished")
    refused(finished.cancel, "not cancellable")
    assert finished.reader().read_all().to_pylist() == [{"one": 1}]
    other = lancedb.connect("db://main", api_key="wrong", region="local", host_override="http://127.0.0.1:9", sql_host_override=URI)
    refused(lambda: other.execute_query("SELECT 1").read_all(), "unauthenticated")
    print("ok")


main()
