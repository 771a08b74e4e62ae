from __future__ import annotations

import asyncio
import gc
import itertools
import os
import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from contextlib import suppress
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from interruption import Interruption, untraced

import vega_flight
from vega_flight import FailedError, InvalidInputError, JobCancelledError, SubscriptionEndedError
from vega_flight.subscription import AsyncSubscription, Subscription


def multiset(table: pa.Table) -> Counter[Any]:
    return Counter(repr(row) for row in table.to_pylist())


def equal(copy: Any, table: pa.Table) -> bool:
    """Whether both have the same rows, in what the copy's kind can tell apart."""
    if isinstance(copy, pd.DataFrame):
        frames = copy.to_dict("records"), table.to_pandas().to_dict("records")
        return Counter(map(repr, frames[0])) == Counter(map(repr, frames[1]))
    if isinstance(copy, pl.DataFrame):
        copy, table = copy.to_arrow(), pl.from_arrow(table).to_arrow()
    return multiset(copy) == multiset(table)


def at(db: Any, name: str, version: int) -> pa.Table:
    """The view as it was published."""
    return db.sql(f"SELECT * FROM {name} AT (VERSION => {version})").to_arrow()


def reflected(view: Any) -> int:
    """The publication that has everything that was committed."""
    while True:
        row = view.status().row
        if row["stale_since"] is None:
            return int(row["version"])


QUERIES = {
    "sums": "SELECT k, count(*) AS n, sum(x) AS s, max(tag) AS top FROM src GROUP BY k",
    "rows": "SELECT k, x, tag, [k, NULL] AS l, {'a': tag} AS r FROM src WHERE x IS NULL OR x > 10",
    "join": "SELECT a.k, b.tag FROM src a JOIN src b ON a.k = b.k AND a.x < b.x",
    "total": "SELECT count(*) AS n FROM src",
}


def changed(db: Any, seed: random.Random, step: int) -> None:
    """One random change of the source."""
    match seed.randrange(5):
        case 0 | 1:
            texts, numbers = ["NULL", f"'{'abcde'[step % 5]}'"], ["NULL", str(seed.randrange(30))]
            rows = [f"({seed.randrange(6)}, {seed.choice(numbers)}, {seed.choice(texts)})" for _ in range(seed.randrange(1, 8))]
            db.sql(f"INSERT INTO src VALUES {', '.join(rows)}").close()
        case 2:
            db.sql(f"DELETE FROM src WHERE k = {seed.randrange(6)}").close()
        case 3:
            db.sql(f"UPDATE src SET x = x + 1, tag = 'u' WHERE k < {seed.randrange(6)}").close()
        case _:
            db.sql("INSERT INTO src SELECT * FROM src LIMIT 3").close()


@pytest.mark.parametrize("start", [None, pd.DataFrame(), pl.DataFrame()], ids=["arrow", "pandas", "polars"])
@pytest.mark.parametrize("name", QUERIES)
def test_a_copy_is_equal_at_every_step(db, name, start):
    """Through random changes: each copy is the view as it was published at the copy's token."""
    seed = random.Random(f"{name}")
    db.sql("CREATE TABLE src (k INTEGER, x DOUBLE, tag VARCHAR)").close()
    view = db.create_streaming_materialized_view("v", QUERIES[name], wait_for_ready=True)
    with view.subscribe() as sub:
        assert sub.schema == view.table.schema
        copy = sub.apply(start)
        assert equal(copy, at(db, "v", sub.resume_token))
        for step in range(12):
            changed(db, seed, step)
            version = reflected(view)
            copy = sub.apply(copy, until=version)
            assert sub.resume_token >= version
            assert equal(copy, at(db, "v", sub.resume_token)), step
        assert equal(copy, view.table.to_arrow())
        assert type(copy) is (pa.Table if start is None else type(start))


@pytest.mark.parametrize("query", [QUERIES["sums"], 'SELECT DISTINCT k AS "k, 2", tag FROM src'], ids=["groups", "distinct"])
def test_a_copy_by_key(db, query):
    seed = random.Random(3)
    db.sql("CREATE TABLE src (k INTEGER, x DOUBLE, tag VARCHAR)").close()
    view = db.create_streaming_materialized_view("v", query, wait_for_ready=True)
    with view.subscribe(mode="upsert") as sub:
        copy = sub.apply()
        for step in range(12):
            changed(db, seed, step)
            version = reflected(view)
            copy = sub.apply(copy, until=version)
            assert sub.resume_token >= version
            assert equal(copy, at(db, "v", sub.resume_token)), step
        assert equal(copy, view.table.to_arrow())


@pytest.mark.parametrize("start", [None, pd.DataFrame(), pl.DataFrame()], ids=["arrow", "pandas", "polars"])
def test_each_change_is_waited_for(db, start):
    """A mark that brings nothing is no publication: after each change, one call has it."""
    src = db.create_table("src", [{"k": 0}])
    view = db.create_streaming_materialized_view("v", "SELECT k, count(*) AS n FROM src GROUP BY k", wait_for_ready=True)
    with view.subscribe() as sub:
        copy = sub.apply(start)
        for k in range(1, 21):
            src.add([{"k": k}])
            copy = sub.apply(copy)
            assert len(copy) == k + 1
            assert equal(copy, at(db, "v", sub.resume_token))
        states = iter(sub.states(copy))
        for k in range(21, 31):
            src.add([{"k": k}])
            assert len(next(states)) == k + 1


def test_several_publications_at_once(db):
    db.sql("CREATE TABLE src AS SELECT i AS k FROM range(5) t(i)").close()
    view = db.create_streaming_materialized_view("v", "SELECT k, count(*) AS n FROM src GROUP BY k", wait_for_ready=True)
    for mode in ("retract", "upsert"):
        with view.subscribe(mode=mode) as sub:
            copy = sub.apply()
            for k in (1, 2, 1, 9):
                db.sql(f"INSERT INTO src VALUES ({k})").close()
                version = reflected(view)
            db.sql("DELETE FROM src WHERE k = 9").close()
            version = reflected(view)
            copy = sub.apply(copy, until=version)
            assert sub.resume_token >= version
            assert equal(copy, view.table.to_arrow())
            assert sub.apply(copy, until=version) is copy
    token = sub.resume_token
    db.sql("INSERT INTO src VALUES (3)").close()
    up_to = reflected(view)
    with view.subscribe(as_of=token, up_to=up_to) as sub:
        with pytest.raises(SubscriptionEndedError):
            sub.apply(copy, until=up_to + 1)
        assert sub.resume_token == token  # what was read is not in any copy


def test_going_on_with_a_token(db):
    db.sql("CREATE TABLE src AS SELECT i AS k FROM range(5) t(i)").close()
    view = db.create_streaming_materialized_view("v", "SELECT k, count(*) AS n FROM src GROUP BY k", wait_for_ready=True)
    with view.subscribe() as sub:
        copy = sub.apply()
        token = sub.resume_token
    db.sql("INSERT INTO src VALUES (1), (7)").close()
    db.sql("DELETE FROM src WHERE k = 0").close()
    for state in (copy, copy.to_pandas(), pl.from_arrow(copy)):
        with view.subscribe(as_of=token) as sub:
            assert sub.resume_token == token
            while {"k": 7, "n": 1} not in list_of(state) or {"k": 0, "n": 1} in list_of(state):
                state = sub.apply(state)
            assert equal(state, at(db, "v", sub.resume_token))
    with pytest.raises(InvalidInputError):
        view.subscribe(snapshot=True, as_of=token)
    with pytest.raises(InvalidInputError):
        view.subscribe(mode="other")
    with pytest.raises(vega_flight.ResumeTokenExpiredError) as e:
        next(view.subscribe(as_of=1))
    assert e.value.code == "RESUME_TOKEN_EXPIRED"


def list_of(state: Any) -> list[dict[str, Any]]:
    if isinstance(state, pd.DataFrame):
        return state.to_dict("records")
    return state.to_dicts() if isinstance(state, pl.DataFrame) else state.to_pylist()


def test_changes_and_marks(db, people):
    view = db.create_streaming_materialized_view("v", "SELECT name, age FROM people", wait_for_ready=True)
    with view.subscribe() as sub:
        first = next(sub)
        assert (first.progress, len(first), first.complete, first.resume_token) == ("begin", 0, False, None)
        rows = []
        for changes in sub:
            if changes.complete:
                break
            assert changes.progress is None
            assert changes.weights.to_pylist() == [1] * len(changes)
            assert changes.ops is None
            rows += changes.rows.to_pylist()
        assert (changes.progress, changes.time, changes.resume_token) == ("end", changes.time, sub.resume_token)
        assert sorted(r["name"] for r in rows) == ["ada", "grace", "kid"]
        people.delete("name = 'kid'")
        gone = next(c for c in sub if len(c))
        assert gone.rows.to_pylist() == [{"name": "kid", "age": 7}]
        assert gone.weights.to_pylist() == [-1]
    with view.subscribe(snapshot=False) as sub:
        people.add([{"name": "new", "age": 1}])
        came = next(c for c in sub if len(c))
        assert came.rows.to_pylist() == [{"name": "new", "age": 1}]


def test_a_traditional_view(db, people):
    view = db.create_materialized_view("v", "people", select=["name"])
    with view.subscribe() as sub:
        copy = sub.apply()
        assert copy.num_rows == 3
        people.add([{"name": "bob", "age": 50}])
        copy = sub.apply(copy, until=view.refresh().version)
        assert sorted(copy.column("name").to_pylist()) == ["ada", "bob", "grace", "kid"]
        with pytest.raises(InvalidInputError):
            view.subscribe(mode="upsert")


def test_states_until_an_end(db, people):
    view = db.create_streaming_materialized_view("v", "SELECT name FROM people", wait_for_ready=True)
    with view.subscribe(up_to=view.status().version) as sub:
        (only,) = sub.states()
        assert only.num_rows == 3
        with pytest.raises(SubscriptionEndedError):
            sub.apply(only)
        assert list(sub) == []


def test_the_view_is_dropped(db, people):
    view = db.create_streaming_materialized_view("v", "SELECT name FROM people", wait_for_ready=True)
    with view.subscribe() as sub:
        copy = sub.apply()
        view.drop()
        with pytest.raises(vega_flight.TableNotFoundError) as e:
            while True:
                copy = sub.apply(copy)
        assert e.value.code == "MATERIALIZED_VIEW_NOT_FOUND"


def test_a_copy_that_is_not_the_views(db, people):
    view = db.create_streaming_materialized_view("v", "SELECT name FROM people", wait_for_ready=True)
    with view.subscribe() as sub:
        sub.apply()
        token = sub.resume_token
    people.delete("name = 'kid'")
    with view.subscribe(as_of=token) as sub, pytest.raises(FailedError) as e:
        copy = pa.table({"name": ["ada"]})
        while True:
            copy = sub.apply(copy)
    assert e.value.code == "COPY_DIFFERS"
    with view.subscribe() as sub, pytest.raises(InvalidInputError, match="copy"):
        sub.apply([1])


def test_closed_from_another_thread(sync_db, people_table):
    view = sync_db.create_streaming_materialized_view("v", "SELECT name FROM people", wait_for_ready=True)
    sub = view.subscribe()
    seen = []
    reader = threading.Thread(target=lambda: seen.extend(sub))
    reader.start()
    while not any(c.complete for c in seen):
        pass
    sub.close()
    reader.join(600)
    assert not reader.is_alive()
    sub.close()


@pytest.fixture
def people_table(sync_db):
    return sync_db.create_table("people", [{"name": "ada", "age": 36}])


class Batches:
    """A subscription's batches as the server sends them."""

    def __init__(self, *rows: tuple[int, int | None, str | None, str | None]) -> None:
        names = ["_time", "_weight", "_progress", "name"]
        self.schema = pa.schema(zip(names, [pa.int64(), pa.int64(), pa.string(), pa.string()], strict=True))
        self._rows = iter(rows)

    def query(self, _: str) -> Batches:
        return self

    def __next__(self) -> pa.RecordBatch:
        row = next(self._rows)
        return pa.RecordBatch.from_arrays(
            [pa.array([v], t) for v, t in zip(row, self.schema.types, strict=True)], schema=self.schema
        )

    def cancel(self) -> None:
        pass


PUBLICATION = ((7, 1, None, "ada"), (7, None, "at", None), (8, 1, None, "bob"), (8, None, "at", None))


def subscription(*rows: Any) -> Any:
    return Subscription(Batches(*rows), vega_flight.names.Name.parse("v"), as_of=5)  # type: ignore[arg-type]


@pytest.mark.parametrize("how", ["__anext__", "apply"])
def test_what_a_cancelled_task_has_read_comes_again(how):
    sub = subscription(*PUBLICATION)
    read = threading.Event()
    inner = sub.__next__ if how == "__anext__" else sub.apply

    class Slow:
        """Says when all is read."""

        _take_back = sub._take_back

        def _read(self, *args: Any, **kwargs: Any) -> Any:
            got = inner(*args, **kwargs)
            read.set()
            return got

        __next__ = apply = _read

    slow = AsyncSubscription(Slow())  # type: ignore[arg-type]

    async def main() -> Any:
        task: asyncio.Task[Any] = asyncio.ensure_future(getattr(slow, how)())
        await asyncio.sleep(0)  # it begins
        read.wait()  # and has its changes, which this loop does not hand over meanwhile
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert sub.resume_token == 5
        return await getattr(slow, how)()

    again = asyncio.run(main())
    assert (again if how == "apply" else again.rows).to_pylist() == [{"name": "ada"}]
    assert sub.resume_token == (7 if how == "apply" else 5)


def test_a_cancelled_call_that_had_nothing_to_wait_for_takes_nothing_back():
    sub = subscription(*PUBLICATION)
    state = sub.apply()
    assert sub.apply(state, until=7) is state
    sub._take_back()  # as for a task that is cancelled
    assert sub.resume_token == 7
    assert sub.apply(state).to_pylist() == [{"name": "ada"}, {"name": "bob"}]


def test_a_child_does_not_wait_for_what_its_parent_reads():
    sub = subscription(*PUBLICATION)
    sub._inflow._reading.begun.acquire()  # a read under way, whose thread a fork does not bring along
    vega_flight.fork._lost, before = True, vega_flight.fork._lost
    try:
        with pytest.raises(vega_flight.ServerUnavailableError):
            next(sub)
    finally:
        vega_flight.fork._lost = before


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # what Python tidies up is interrupted too
@pytest.mark.parametrize("how", ["next", "apply"])
def test_ctrl_c_at_every_point_loses_nothing(how):
    if untraced(f"{__file__}::test_ctrl_c_at_every_point_loses_nothing[{how}]"):
        return
    for n in itertools.count():
        sub, interruption = subscription(*PUBLICATION), Interruption(n)
        got: list[Any] = []
        copy = pa.table({"name": pa.array([], pa.string())})
        interrupted = False
        while True:
            token = sub.resume_token
            try:
                if how == "next":
                    got.append(interruption.during(sub.__next__))
                else:
                    copy = interruption.during(lambda: sub.apply(copy))  # noqa: B023
            except KeyboardInterrupt:
                assert not interrupted
                interrupted = True
                assert sub.resume_token == token, n
            except (StopIteration, SubscriptionEndedError):
                break
        if how == "next":
            assert [(c.time, c.progress, c.rows.to_pylist()) for c in got] == [
                (7, None, [{"name": "ada"}]),
                (7, "at", []),
                (8, None, [{"name": "bob"}]),
                (8, "at", []),
            ], n
        else:
            assert copy.to_pylist() == [{"name": "ada"}, {"name": "bob"}], n
        assert sub.resume_token == 8
        if not interrupted:
            assert n > 20
            return


INTERRUPTED = """
import os, signal, sys, vega_flight
db = vega_flight.connect(sys.argv[1], progress=False)
sub = db.open_streaming_materialized_view("v").subscribe()

def handle(_, frame):
    while frame is not None:
        if frame.f_code.co_filename.endswith("subscription.py"):
            os.write(1, b"interrupted\\n")
            raise KeyboardInterrupt
        frame = frame.f_back
    os.write(1, b"elsewhere\\n")

signal.signal(signal.SIGINT, handle)
print("ready", flush=True)
while True:
    try:
        for changes in sub:
            for row in changes.rows.to_pylist():
                print("row", row["k"], flush=True)
    except KeyboardInterrupt:
        pass
"""


def test_ctrl_c_while_changes_come(server, sync_db):
    """By real signals, at the moments when changes arrive."""
    src = sync_db.create_table("src", pa.table({"k": pa.array([], pa.int64())}))
    sync_db.create_streaming_materialized_view("v", "SELECT k FROM src", wait_for_ready=True)
    text = INTERRUPTED
    process = subprocess.Popen([sys.executable, "-c", text, server.uri], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    rows, interruptions, added = [], 0, 0
    while interruptions < 30 or len(rows) < added:
        if interruptions < 30:
            src.add([{"k": added}])
            added += 1
            os.kill(process.pid, signal.SIGINT)
            said = False
        while True:
            word, _, k = process.stdout.readline().strip().partition(" ")
            if word == "row":
                rows.append(int(k))
                if said and len(rows) == added:
                    break
            else:
                assert word in ("interrupted", "elsewhere")
                interruptions += word == "interrupted"
                said = True
                break
    process.kill()
    process.communicate()
    assert rows == list(range(added))


def test_a_subscription_that_nobody_has_any_more_ends(sync_db, people_table):
    view = sync_db.create_streaming_materialized_view("v", "SELECT name FROM people", wait_for_ready=True)
    sub = view.subscribe()
    for changes in sub:
        if changes.complete:
            break
    reader = threading.Thread(target=lambda s: pytest.raises(JobCancelledError, s.get, 100), args=(sub._inflow,))
    reader.start()
    statements = sync_db._session._statements
    assert len(statements) == 1
    del sub, changes
    reader.join(60)
    assert not reader.is_alive()
    while statements:
        gc.collect()


def test_a_copy_that_cannot_be_made_stays_where_it_was():
    sub = subscription(*PUBLICATION)
    with pytest.raises(pa.ArrowInvalid):
        sub.apply(pa.table({"other": [1]}))
    assert sub.resume_token == 5
    assert sub.apply(pa.table({"name": ["eve"]})).to_pylist() == [{"name": "eve"}, {"name": "ada"}]
    assert sub.resume_token == 7


async def until_marked(sub: Any) -> Any:
    """What comes until there were rows and the mark after them."""
    rows = 0
    async for changes in sub:
        rows += len(changes)
        yield changes
        if rows and changes.complete:
            return


def test_async_iteration(server, sync_db, people_table):
    sync_db.create_streaming_materialized_view("v", "SELECT name FROM people", wait_for_ready=True)

    async def main() -> None:
        async with await vega_flight.connect_async(server.uri) as db:
            view = await db.open_streaming_materialized_view("v")
            async with await view.subscribe() as sub:
                async for changes in sub:
                    if changes.complete:
                        break
                task = asyncio.create_task(sub.apply(pa.table({"name": ["ada"]})))
                await asyncio.sleep(0.05)
                assert await (await db.sql("SELECT 1")).scalar() == 1  # the loop goes on meanwhile
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await (await db.open_table("people")).add([{"name": "bob", "age": 50}])
                assert (await sub.apply(pa.table({"name": ["ada"]}))).num_rows == 2  # it goes on
                with suppress(asyncio.TimeoutError):  # a mark may come
                    await asyncio.wait_for(anext(sub), 0.001)
                await (await db.open_table("people")).delete("name = 'bob'")
                gone = [c.rows.to_pylist() async for c in until_marked(sub)]
                assert [{"name": "bob"}] in gone
            async with await view.subscribe(up_to=(await view.status()).version) as sub:
                states = [state async for state in sub.states()]
                assert states[-1].to_pylist() == [{"name": "ada"}]

    asyncio.run(main())
