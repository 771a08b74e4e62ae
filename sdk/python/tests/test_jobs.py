from __future__ import annotations

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
from datetime import timedelta

import pytest
from server import Server

import vega_flight
from vega_flight import Job, JobCancelledError, JobNotFoundError, WaitTimeoutError

SLOW = "SELECT count(*) AS n FROM range(300000) a(i), range(3000000) b(j) WHERE (i * j) % 7 = 1"


def test_wait_cancel_status(db):
    job = db.create_materialized_view_async("v", query=SLOW)
    assert repr(job) == f"Job({job.id!r})"
    assert job.status() == "running"
    with pytest.raises(WaitTimeoutError) as e:
        job.wait(0.05)
    assert isinstance(e.value, TimeoutError)
    with pytest.raises(TimeoutError):
        job.result(timedelta(milliseconds=50))
    assert job.progress is None or 0 <= job.progress < 1
    while job.describe()["state"] == "QUEUED":
        pass
    assert job.describe()["state"] == "RUNNING"
    assert job.cancel() == "cancelled"
    with pytest.raises(JobCancelledError) as e:
        job.wait()
    assert e.value.code == "CANCELLED"
    assert job.status() == "cancelled"
    assert job.cancel() == "cancelled"
    (row,) = db.list_jobs("v", 5)
    assert row["state"] == "CANCELLED"


def test_a_job_is_found_again(db, people):
    view = db.create_materialized_view("v", "people")
    job = view.refresh_async(full=True)
    result = job.wait(60)
    assert job.progress == 1.0
    again = db.job(job.id)
    assert again.status() == "finished"
    assert again.wait(60) == result
    assert again.progress == 1.0
    created = db.list_jobs("v", 10)[-1]
    assert created["kind"] == "CREATE"
    assert db.job(created["job_id"]).result() is None
    with pytest.raises(JobNotFoundError) as e:
        db.job("nothing")
    assert isinstance(e.value, LookupError)


def test_a_job_of_another_process(server, db):
    text = f"""
import vega_flight
db = vega_flight.connect({server.uri!r}, progress=False)
print(db.create_materialized_view_async("v", query={SLOW!r}).id)
"""
    id = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True).stdout.strip()
    job = db.job(id)
    assert job.status() == "running"
    with pytest.raises(WaitTimeoutError):
        job.wait(0.05)
    assert job.cancel() == "cancelled"
    with pytest.raises(JobCancelledError):
        job.wait()


def test_a_statement_without_a_durable_job(db, people):
    db.create_materialized_view("v", "people")
    job = db.drop_materialized_view_async("v")
    assert job.wait(60) is None
    assert job.status() == "finished"
    assert job.progress == 1.0
    assert list(db.list_materialized_views()) == []


def state_of(db: vega_flight.Connection, view: str) -> str:
    return str(db.list_jobs(view, 1)[0]["state"])


def test_cancelling_a_task_cancels_its_job(server, sync_db):
    """At random moments, from before the submission to well into the run."""
    moments = random.Random(7)

    async def cancelled(n: int) -> None:
        async with await vega_flight.connect_async(server.uri, progress=False) as db:
            task = asyncio.create_task(db.create_materialized_view(f"v{n}", query=SLOW))
            await asyncio.sleep(moments.choice([0, 0.001, 0.005, 0.02, 0.1, 0.4]) * moments.random())
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    for n in range(12):
        asyncio.run(cancelled(n))
    # When the tasks were over nothing of their work was left.
    stopped(server, sync_db, [f"v{n}" for n in range(12)])


def stopped(server: Server, db: vega_flight.Connection, views: list[str]) -> None:
    """Every job of these views is CANCELLED, and nothing of them runs in the server any more."""
    jobs = [job for job in db.list_jobs() if job["view"] in [f"main.{view}" for view in views]]
    assert {job["state"] for job in jobs} <= {"CANCELLED"}
    while True:  # for ever when a query runs: each of them would keep a processor busy for hours
        began, used = time.monotonic(), server.cpu()
        time.sleep(0.3)
        if server.cpu() - used < (time.monotonic() - began) / 3:
            return


def test_a_job_is_cancelled_at_random_moments(server, sync_db):
    """By job.cancel(), from the moment it is submitted to well into the run; also from another connection."""
    moments = random.Random(11)
    for n in range(8):
        job = sync_db.create_materialized_view_async(f"v{n}", query=SLOW)
        time.sleep(moments.choice([0, 0.005, 0.05, 0.3]) * moments.random())
        if n % 2:
            assert job.cancel() == "cancelled"
        else:
            with vega_flight.connect(server.uri) as other:
                assert other.job(job.id).cancel() == "cancelled"
        with pytest.raises(JobCancelledError):
            job.wait(60)
    stopped(server, sync_db, [f"v{n}" for n in range(8)])


KEYS = """
import sys, vega_flight
db = vega_flight.connect(sys.argv[1], progress=False)
for n in range(int(sys.argv[2])):
    try:
        print("begins", flush=True)
        db.create_materialized_view(f"v{n}", query=sys.argv[3])
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def test_ctrl_c_at_random_moments(server, sync_db):
    moments = random.Random(13)
    command = [sys.executable, "-c", KEYS, server.uri, "8", SLOW]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(8):
        assert process.stdout.readline() == "begins\n"
        time.sleep(0.002 + moments.choice([0, 0.005, 0.05, 0.3]) * moments.random())
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline() == "interrupted\n"
    assert process.communicate(timeout=120)[1] == ""
    stopped(server, sync_db, [f"v{n}" for n in range(8)])


def test_a_handle_that_has_expired(tmp_path):
    """Its job is forgotten: whoever asks for it is told, and does not wait."""
    server = Server(tmp_path, "--handle-expiry", "1s")
    with vega_flight.connect(server.uri, progress=False) as db:
        db.create_materialized_view("v", query="SELECT 1 AS i")
        job = db.drop_materialized_view_async("v")
        with pytest.raises(JobNotFoundError) as e:
            while True:
                Job(db._session, job.id, job._retained, lambda _: None).wait(60)
        assert e.value.code == "QUERY_HANDLE_NOT_FOUND"
    server.stop()


def test_cancelling_a_task_cancels_its_query(server):
    async def main() -> None:
        async with await vega_flight.connect_async(server.uri) as db:
            result = await db.sql(SLOW)
            task = asyncio.create_task(result.to_arrow())
            await asyncio.sleep(0.1)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for((await db.sql(SLOW)).to_list(), 0.2)
            assert await (await db.sql("SELECT 1")).scalar() == 1

    asyncio.run(main())


def test_awaiting_a_job(server, sync_db):
    async def main() -> None:
        async with await vega_flight.connect_async(server.uri) as db:
            assert await (await db.create_materialized_view_async("v", query="SELECT 1 AS i")) is None

    asyncio.run(main())


def test_a_query_is_cancelled_from_another_thread(sync_db):
    result = sync_db.sql(SLOW)
    timer = threading.Timer(0.1, result.cancel)
    timer.start()
    with pytest.raises(JobCancelledError):
        result.to_arrow()
    timer.join()


INTERRUPTED = """
import vega_flight
db = vega_flight.connect({uri!r}, progress=False)
try:
    print("ready", flush=True)
    {call}
except KeyboardInterrupt:
    print("interrupted", db.sql("SELECT 1").scalar())
"""


@pytest.mark.parametrize(
    "call",
    [
        f"db.create_materialized_view('v', query={SLOW!r})",
        f"db.create_materialized_view_async('v', query={SLOW!r}).wait()",
        f"db.sql({SLOW!r}).to_arrow()",
    ],
)
def test_ctrl_c(server, sync_db, call):
    text = INTERRUPTED.format(uri=server.uri, call=call)
    process = subprocess.Popen([sys.executable, "-c", text], stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "ready\n"
    while "view" in call and not any(job["state"] == "RUNNING" for job in sync_db.list_jobs(limit=3)):
        time.sleep(0.02)
    os.kill(process.pid, signal.SIGINT)
    out, _ = process.communicate(timeout=600)
    assert "interrupted 1" in out
    if "view" in call:
        assert state_of(sync_db, "v") == "CANCELLED"


def test_a_closed_connection(server):
    db = vega_flight.connect(server.uri)
    job = db.create_materialized_view_async("v", query=SLOW)
    waiting = threading.Thread(target=lambda: pytest.raises(vega_flight.ServerUnavailableError, job.wait))
    waiting.start()
    db.close()
    db.close()
    waiting.join(600)
    assert not waiting.is_alive()
    with pytest.raises(vega_flight.ServerUnavailableError) as e:
        db.sql("SELECT 1")
    assert e.value.code == "CONNECTION_CLOSED"
    with vega_flight.connect(server.uri) as other:
        assert other.job(job.id).status() == "running"  # it is the server's
        other.job(job.id).cancel()
        other.drop_materialized_view("v")


def test_many_threads_share_a_connection(sync_db):
    sync_db.create_table("t", [{"i": i} for i in range(100)])
    wrong: list[object] = []

    def work(n: int) -> None:
        for i in range(10):
            if sync_db.sql("SELECT sum(i) + ? AS s FROM t", [n * i]).scalar() != 4950 + n * i:
                wrong.append((n, i))

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert wrong == []


def test_closing_ends_what_runs(server):
    db = vega_flight.connect(server.uri)
    open_result = db.sql("SELECT i FROM range(1000000000) t(i)")
    next(open_result)
    errors: list[BaseException] = []

    def wait() -> None:
        try:
            db.sql(SLOW).to_arrow()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=wait) for _ in range(3)]
    for t in threads:
        t.start()
    time.sleep(0.2)
    db.close()
    for t in threads:
        t.join(600)
    assert len(errors) == 3
    assert all(isinstance(e, vega_flight.VegaError) for e in errors), errors
    assert list(open_result) == []
