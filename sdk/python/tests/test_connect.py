"""Folders and servers: who starts, shares, loses and ends them."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path

import pytest
from interruption import Interruption, untraced
from server import BINARY, ROOT, Server

import vega_flight
from vega_flight import LakeError, ServerMissingError, ServerUnavailableError
from vega_flight.local import LocalServer


def pid_of(folder: Path) -> int:
    return int(json.loads((folder / ".vega-flight" / "ready.json").read_text())["pid"])


def runs(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


def ended(pid: int) -> None:
    """Waits for the end of a process that is not ours."""
    while runs(pid):
        time.sleep(0.02)


def children() -> set[int]:
    """The processes that this one has started and not taken note of the end of, zombies too."""
    text = Path(f"/proc/{os.getpid()}/task").iterdir()
    return {int(p) for t in text for p in (t / "children").read_text().split()}


def test_a_folder_has_a_server_while_it_is_used(folder):
    before = children()
    with vega_flight.connect(folder) as db:
        db.create_table("t", [{"i": 1}])
        pid = pid_of(folder)
        assert runs(pid)
        place = folder / ".vega-flight"
        assert stat.S_IMODE(place.stat().st_mode) == 0o700
        assert stat.S_IMODE((place / "flight.sock").stat().st_mode) == 0o600
        with vega_flight.connect(str(folder)) as other:
            assert other.open_table("t").count_rows() == 1
            assert pid_of(folder) == pid
        assert runs(pid)
        assert db.open_table("t").count_rows() == 1
    assert not runs(pid)
    assert children() - before == set()
    with vega_flight.connect(folder) as db:
        assert db.open_table("t").count_rows() == 1
        assert pid_of(folder) != pid


OTHER = """
import os, sys, vega_flight
db = vega_flight.connect(sys.argv[1])
print("connected", flush=True)
sys.stdin.readline()
print(db.sql("SELECT 42").scalar(), flush=True)
sys.stdin.readline()
"""


def another(folder: Path) -> subprocess.Popen[str]:
    process = subprocess.Popen([sys.executable, "-c", OTHER, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "connected\n"
    return process


def test_processes_share_a_server_and_the_first_one_may_crash(folder):
    first, second = another(folder), another(folder)
    pid = pid_of(folder)
    first.kill()
    first.communicate()
    second.stdin.write("\n")
    second.stdin.flush()
    assert second.stdout.readline() == "42\n"
    with vega_flight.connect(folder) as db:
        assert pid_of(folder) == pid
        second.kill()
        second.communicate()
        assert db.sql("SELECT 42").scalar() == 42
    assert not runs(pid)


def test_the_server_ends_when_all_crash(folder):
    process = another(folder)
    pid = pid_of(folder)
    process.kill()
    process.communicate()
    ended(pid)
    with vega_flight.connect(folder) as db:
        assert db.sql("SELECT 42").scalar() == 42


UNCLOSED = """
import os, sys, signal, threading, vega_flight
db = vega_flight.connect(sys.argv[1])
slow = "SELECT count(*) AS n FROM range(300000) a(i), range(3000000) b(j) WHERE (i * j) % 7 = 1"
rows, job = db.sql("SELECT i FROM range(100000000) r(i)"), db.create_materialized_view_async("v", query=slow)
threading.Thread(target=lambda: job.wait(), daemon=True).start()
next(rows)
{end}
"""


@pytest.mark.parametrize("end", ["", "os._exit(3)", "os.kill(os.getpid(), signal.SIGKILL)", "1 / 0", "raise KeyboardInterrupt"])
def test_the_server_ends_when_nothing_is_closed(folder, end):
    """The last process ends in the middle of everything; who is next finds the lake in order."""
    text = UNCLOSED.format(end=end)
    subprocess.run([sys.executable, "-c", text, str(folder)], stderr=subprocess.DEVNULL, timeout=120)
    ended(pid_of(folder))
    with vega_flight.connect(folder) as db:
        job = db.job(db.list_jobs()[0]["job_id"])
        job.cancel()
        assert job.status() in ("cancelled", "failed")


def test_the_server_ends_when_nobody_has_a_connection_any_more(folder):
    """Nothing is closed and the process goes on: what is garbage does not keep a server, what is used does."""
    db = vega_flight.connect(folder)
    pid = pid_of(folder)
    other = vega_flight.connect(folder)
    table = db.create_table("t", [{"i": 1}])
    del db, other
    gc.collect()
    assert table.count_rows() == 1
    rows = table.to_batches()
    del table
    gc.collect()
    assert next(rows).num_rows == 1
    assert runs(pid)
    del rows
    gc.collect()
    ended(pid)
    with vega_flight.connect(folder) as db:
        assert db.open_table("t").count_rows() == 1
    with LocalServer._guard:
        assert LocalServer._open == {}


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # what Python tidies up is not closed
def test_ctrl_c_while_connecting_gives_up_once(folder):
    """At points from the first to the last: the server stays for who has it, and nobody else keeps it."""
    if untraced(f"{__file__}::test_ctrl_c_while_connecting_gives_up_once"):
        return
    with vega_flight.connect(folder) as db:
        pid = pid_of(folder)
        (server,) = LocalServer._open.values()
        for _ in range(2):  # CPython 3.12.1 tells steps from the second time on
            whole = Interruption(1_000_000)
            whole.during(lambda: vega_flight.connect(folder)).close()
        points = 1_000_000 - whole.left
        assert points > 50
        for n in range(0, points, points // 30):
            with suppress(KeyboardInterrupt):
                Interruption(n).during(lambda: vega_flight.connect(folder)).close()
            for _ in range(60_000):  # in the background
                if len(server.seats) == 1:
                    break
                gc.collect()
                time.sleep(0.001)
            assert len(server.seats) == 1, n
        assert db.sql("SELECT 42").scalar() == 42
        db._seat.leave()
        db._seat.leave()
        assert not runs(pid)
    with vega_flight.connect(folder) as db:
        assert db.sql("SELECT 42").scalar() == 42
    with LocalServer._guard:
        assert LocalServer._open == {}


SLOW_FETCH = """#!/bin/sh
[ "$1" = serve ] && { echo "vega-flight: EXTENSION_MISSING: it is not there" >&2; exit 1; }
exec sleep 100000
"""


def test_extensions_that_do_not_come(folder, tmp_path, monkeypatch):
    binary = tmp_path / "vega-flight"
    binary.write_text(SLOW_FETCH)
    binary.chmod(0o700)
    before = children()
    monkeypatch.setattr(vega_flight.local, "_FETCH", 0.2)
    with pytest.raises(vega_flight.WaitTimeoutError, match="has not come") as e:
        vega_flight.connect(folder, server_binary=str(binary))
    assert "extensions install" in e.value.hint
    assert children() - before == set()
    binary.write_text(SLOW_FETCH.replace("exec sleep 100000", "echo no network >&2; exit 1"))
    monkeypatch.undo()
    with pytest.raises(LakeError, match="no network") as e:
        vega_flight.connect(folder, server_binary=str(binary))
    assert e.value.code == "EXTENSION_MISSING"


def test_a_removed_lake_does_not_come_back(folder):
    db = vega_flight.connect(folder)
    pid = pid_of(folder)
    os.kill(pid, signal.SIGKILL)
    shutil.rmtree(folder)
    del db
    while LocalServer._open:  # in the background
        gc.collect()
        time.sleep(0.01)
    with LocalServer._guard:
        assert not folder.exists()


FORKED = """
import os, sys, signal, vega_flight
db = vega_flight.connect(sys.argv[1])
if os.fork() == 0:
    os.read(int(sys.argv[2]), 1)
    os._exit(0)
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_forked_child_does_not_keep_the_server(folder):
    """It could not use it."""
    read, write = os.pipe()
    process = subprocess.Popen([sys.executable, "-c", FORKED, str(folder), str(read)], pass_fds=[read])
    process.wait()
    ended(pid_of(folder))  # the child lives until now
    os.write(write, b"x")
    os.close(read)
    os.close(write)


def test_ctrl_c_does_not_reach_the_server(folder):
    process = another(folder)
    os.kill(process.pid, signal.SIGINT)
    process.communicate()
    with vega_flight.connect(folder) as db:
        assert db.sql("SELECT 42").scalar() == 42


def test_many_processes_come_and_go_at_once(folder):
    text = "import sys, vega_flight\nwith vega_flight.connect(sys.argv[1]) as db: print(db.sql('SELECT 42').scalar())"
    crowd = [
        subprocess.Popen([sys.executable, "-c", text, str(folder)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for _ in range(8)
    ]
    for process in crowd:
        out, err = process.communicate(timeout=600)
        assert (process.returncode, out) == (0, "42\n"), err
    with suppress(FileNotFoundError):
        ended(pid_of(folder))


def test_a_killed_server_is_said_and_started_again(folder):
    db = vega_flight.connect(folder)
    db.create_table("t", [{"i": 1}])
    os.kill(pid_of(folder), signal.SIGKILL)
    with pytest.raises(ServerUnavailableError) as e:
        db.sql("SELECT 1").to_list()
    assert e.value.hint
    assert isinstance(e.value, ConnectionError)
    with vega_flight.connect(folder) as again:
        assert again.open_table("t").count_rows() == 1
        db.close()
        assert again.open_table("t").count_rows() == 1
    assert not runs(pid_of(folder))


def test_a_job_whose_server_was_killed(folder):
    with vega_flight.connect(folder) as db:
        slow = "SELECT count(*) AS n FROM range(300000) a(i), range(3000000) b(j) WHERE (i * j) % 7 = 1"
        job = db.create_materialized_view_async("v", query=slow)
        id = job.id
        os.kill(pid_of(folder), signal.SIGKILL)
        with vega_flight.connect(folder) as again:
            found = again.job(id)
            assert found.status() in ("running", "failed")  # resumed, or said to be interrupted
            found.cancel()
            assert found.status() in ("cancelled", "failed")


def test_a_long_path(tmp_path):
    folder = tmp_path / ("long" * 30) / "lake"
    with vega_flight.connect(folder) as db:
        assert db.sql("SELECT 42").scalar() == 42
        assert len(db.uri) < 110
    with vega_flight.connect(folder) as db:
        assert db.sql("SELECT 42").scalar() == 42


@pytest.mark.parametrize("name", ["100%20%", "# 1", "two\nlines", "ünï ☃", "quote's \""])
def test_names_of_folders_that_mean_something_in_a_uri(tmp_path, name):
    with vega_flight.connect(tmp_path / name) as db:
        db.create_table("t", [{"i": 1}])
        with vega_flight.connect(tmp_path / name) as other:
            assert other.open_table("t").count_rows() == 1
    assert (tmp_path / name / "catalog.ducklake").exists()


def test_a_catalog_file(tmp_path):
    with vega_flight.connect(tmp_path / "shop.ducklake") as db:
        db.create_table("t", [{"i": 1}])
    assert (tmp_path / "shop.ducklake").exists()
    with vega_flight.connect(tmp_path / "shop.ducklake") as db:
        assert list(db.list_tables()) == ["t"]


def test_async_connections_share_it_too(folder):
    async def main():
        async with await vega_flight.connect_async(folder) as db, await vega_flight.connect_async(folder) as other:
            await db.create_table("t", [{"i": 1}])
            assert await (await other.open_table("t")).count_rows() == 1
            assert repr(db) == f"AsyncConnection({db.uri!r})"
            return pid_of(folder)

    assert not runs(asyncio.run(main()))


def test_a_forked_child_ends_nothing(folder):
    with vega_flight.connect(folder) as db:
        seat = db._seat
        child = os.fork()
        if child == 0:
            seat.leave()
            os._exit(0)
        os.waitpid(child, 0)
        assert db.sql("SELECT 42").scalar() == 42


def test_a_forked_child_is_told_to_connect_elsewhere(folder):
    with vega_flight.connect(folder) as db, db.sql("SELECT i FROM range(10000000) r(i)") as result:
        job = db.create_materialized_view_async("v", query="SELECT 1 AS i")
        child = os.fork()
        if child == 0:
            signal.alarm(600)  # what should end by itself is ended
            calls = [
                lambda: db.sql("SELECT 1"),
                lambda: next(result),
                db.list_tables,
                job.describe,
                lambda: vega_flight.connect(folder),
            ]
            for call in calls:
                try:
                    call()
                except ServerUnavailableError as e:
                    if e.code != "CONNECTION_FORKED" or "spawn" not in e.hint:
                        os._exit(1)
                else:
                    os._exit(2)
            result.close()
            db.close()
            del result, db, job, calls, call
            gc.collect()
            os._exit(0)
        assert os.waitpid(child, 0)[1] == 0
        assert sum(batch.num_rows for batch in result) == 10000000
        assert db.sql("SELECT 42").scalar() == 42
    text = "import os, sys, vega_flight; db = vega_flight.connect(sys.argv[1]); r = db.sql('FROM range(9)'); child = os.fork()\n"
    text += "if child == 0: sys.exit(3)\nsys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))"
    assert subprocess.run([sys.executable, "-c", text, str(folder)], timeout=600).returncode == 3


def test_a_forked_child_tidies_up_what_its_parent_has_read(folder):
    """Rows' memory is the driver's; here they are in cycles that nobody needs, as exceptions leave them."""

    def read(rows):
        with suppress(vega_flight.JobCancelledError):
            for _ in rows:
                pass

    with vega_flight.connect(folder) as db:
        gc.collect()
        gc.disable()
        try:
            for _ in range(20):
                cycle = [db.sql("SELECT i, i::VARCHAR AS s FROM range(5000) r(i)").to_arrow()]
                cycle.append(cycle)
            del cycle
            streams = [db.sql("SELECT i FROM range(100000000) r(i)") for _ in range(4)]
            readers = [threading.Thread(target=read, args=(stream,)) for stream in streams]
            for reader in readers:
                reader.start()
            for stream in streams:
                next(stream)  # the driver is at work
            child = os.fork()
            if child == 0:
                signal.alarm(600)
                gc.collect()
                os._exit(0)
        finally:
            gc.enable()
        for stream, reader in zip(streams, readers, strict=True):
            stream.close()
            reader.join()
        assert os.waitpid(child, 0)[1] == 0


def test_folders_that_are_no_lake(tmp_path, monkeypatch):
    with pytest.raises(ServerMissingError) as e:
        vega_flight.connect(tmp_path / "x", server_binary="/nowhere/vega-flight")
    assert isinstance(e.value, FileNotFoundError)
    assert e.value.hint
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("VEGA_FLIGHT_BINARY")
    with pytest.raises(ServerMissingError, match="not installed"):
        vega_flight.connect(tmp_path / "x")
    monkeypatch.setenv("VEGA_FLIGHT_BINARY", BINARY)
    bad = tmp_path / "bad"
    bad.mkdir()
    (bad / "catalog.ducklake").write_bytes(b"this is no database" * 1000)
    with pytest.raises(LakeError) as e:
        vega_flight.connect(bad)
    assert e.value.code == "LAKE_UNREADABLE"
    (tmp_path / "file").write_text("x")
    with pytest.raises(LakeError):
        vega_flight.connect(tmp_path / "file" / "lake")
    with pytest.raises(LakeError) as e:
        vega_flight.connect(tmp_path / "y", server_args=["--job-workers", "0"])
    assert e.value.code == "CONFIG_INVALID"
    assert LocalServer._open == {}


def test_a_folder_that_a_server_has(server):
    with pytest.raises(LakeError) as e:
        vega_flight.connect(server.lake)
    assert e.value.code == "LAKE_LOCKED"
    assert e.value.hint or "process" in str(e.value)


def test_a_server_that_is_not_there(tmp_path):
    with pytest.raises(ServerUnavailableError) as e:
        vega_flight.connect("grpc://127.0.0.1:9")
    assert e.value.hint
    with pytest.raises(ServerUnavailableError):
        vega_flight.connect(f"grpc+unix://{tmp_path}/no.sock")


def test_a_server_that_stops_and_comes_back(tmp_path):
    server = Server(tmp_path)
    db = vega_flight.connect(server.uri)
    db.create_table("t", [{"i": 1}])
    server.stop()
    with pytest.raises(ServerUnavailableError):
        db.sql("SELECT 1")
    again = Server(tmp_path, listen=server.uri.removeprefix("grpc://"))
    assert db.open_table("t").count_rows() == 1  # the same connection goes on
    db.sql("SET TimeZone = 'Asia/Tokyo'").close()
    again.stop()
    again = Server(tmp_path, listen=server.uri.removeprefix("grpc://"))
    with pytest.raises(vega_flight.SessionLostError) as e:  # it had a memory
        db.sql("SELECT 1")
    assert e.value.code == "SESSION_NOT_FOUND"
    db.close()
    again.stop()


def test_a_subscription_goes_on_after_a_restart(tmp_path):
    server = Server(tmp_path)
    with vega_flight.connect(server.uri) as db:
        table = db.create_table("t", [{"i": 1}])
        view = db.create_streaming_materialized_view("v", "SELECT i, count(*) AS n FROM t GROUP BY i", wait_for_ready=True)
        sub = view.subscribe()
        copy = sub.apply()
        server.process.terminate()
        with pytest.raises(ServerUnavailableError) as e:
            while True:
                copy = sub.apply(copy)
        assert e.value.code in ("SERVER_DRAINING", "SERVER_UNAVAILABLE")
        server.stop()
        server = Server(tmp_path, listen=server.uri.removeprefix("grpc://"))
        table.add([{"i": 2}])
        with view.subscribe(as_of=sub.resume_token) as sub:
            while copy.num_rows < 2:
                copy = sub.apply(copy)
        assert sorted(copy.column("i").to_pylist()) == [1, 2]
    server.stop()


def test_a_timeout_of_calls(server):
    with vega_flight.connect(server.uri, timeout=5) as db:  # what takes no time has it as well
        with pytest.raises(vega_flight.WaitTimeoutError):
            db.sql("SELECT count(*) FROM range(300000) a(i), range(3000000) b(j) WHERE (i * j) % 7 = 1").to_list()
        assert db.sql("SELECT 1").scalar() == 1


def test_the_schema_of_a_connection(server, sync_db):
    sync_db.sql("CREATE SCHEMA place").close()
    try:
        with vega_flight.connect(server.uri, schema="place") as db:
            db.create_table("t", [{"i": 1}])
            assert db.sql("SELECT count(*) FROM t").scalar() == 1
            assert list(db.list_tables()) == ["place.t"]
            assert db.open_table("t").count_rows() == 1
            db.drop_table("t")
    finally:
        sync_db.sql("DROP SCHEMA place").close()


def test_users_tokens_and_tls(tmp_path):
    env = {k: v for k, v in os.environ.items() if k != "VEGA_FLIGHT_BINARY"}
    made = subprocess.run([BINARY, "users", "hash"], input="a long secret\n", capture_output=True, text=True, env=env, check=True)
    key = subprocess.run([BINARY, "users", "key"], capture_output=True, text=True, env=env, check=True).stdout.split()
    (secret,) = [w for w in key if w.startswith("vk_")]
    (digest,) = [w for w in key if w.strip('"').startswith("sha256:")]
    made_key = {"name": "k", "hash": digest.strip('"')}
    users = {"users": {"ada": {"password": made.stdout.strip(), "api_keys": [made_key]}}}
    (tmp_path / "users.yaml").write_text(json.dumps(users))
    (tmp_path / "users.yaml").chmod(0o600)
    server = Server(tmp_path, "--users-file", str(tmp_path / "users.yaml"), "--tls-generate", str(tmp_path / "tls"))
    assert server.uri.startswith("grpc+tls://")
    (cert,) = [p for p in (tmp_path / "tls").iterdir() if b"BEGIN CERTIFICATE" in p.read_bytes()]
    tls = vega_flight.TLS(root_certs=cert)
    with vega_flight.connect(server.uri, user="ada", password="a long secret", tls=tls) as db:
        assert db.sql("SELECT 42").scalar() == 42
    flightsql = server.uri.replace("grpc+tls", "flightsql")
    skip = vega_flight.TLS(skip_verify=True)
    with vega_flight.connect(flightsql, user="ada", password="a long secret", tls=skip) as db:
        assert db.sql("SELECT 42").scalar() == 42
    with vega_flight.connect(server.uri, api_key=secret, tls=tls) as db:
        assert db.sql("SELECT 42").scalar() == 42
        # The key expires under the connection.
        made_key["expires"] = "2020-01-01T00:00:00Z"
        (tmp_path / "users.new").write_text(json.dumps(users))
        (tmp_path / "users.new").chmod(0o600)
        (tmp_path / "users.new").replace(tmp_path / "users.yaml")
        with pytest.raises(vega_flight.AuthenticationError, match="expired") as e:
            while True:
                db.sql("SELECT 42").close()
        assert e.value.code == "UNAUTHENTICATED"
    for wrong in ({"user": "ada", "password": "guessed"}, {"token": "nothing"}, {"api_key": "nothing"}, {}):
        with pytest.raises(vega_flight.AuthenticationError) as e:
            vega_flight.connect(server.uri, tls=tls, **wrong)
        assert isinstance(e.value, PermissionError)
    with pytest.raises(ServerUnavailableError) as e:
        vega_flight.connect(server.uri, user="ada", password="a long secret")  # nobody vouches for the certificate
    assert "root_certs" in e.value.hint
    with pytest.raises(ServerUnavailableError) as e:
        vega_flight.connect(server.uri.replace("grpc+tls", "grpc"), user="ada", password="a long secret")
    assert "grpc+tls://" in e.value.hint
    server.stop()
    with pytest.raises(ServerUnavailableError) as e:
        vega_flight.connect(server.uri, tls=tls)
    assert e.value.hint == "see that it runs, then connect again"


def test_a_server_of_another_version(tmp_path, monkeypatch):
    """A real server that is too far from the package is refused, wherever it is, and nothing of it stays behind."""
    go = shutil.which("go")
    if go is None and "CI" not in os.environ:
        pytest.skip("without Go there is no other server")
    later = str(tmp_path / "vega-flight")
    build = [str(go), "build", "-tags", "duckdb_arrow", "-ldflags", "-X main.version=9.0.0", "-o", later, "./cmd/vega-flight"]
    subprocess.run(build, cwd=ROOT, check=True)
    server = Server(tmp_path / "later", binary=later)
    monkeypatch.setenv("VEGA_FLIGHT_BINARY", later)
    folder = tmp_path / "folder"
    for place in (server.uri, folder):
        for is_async in (False, True):
            with pytest.raises(vega_flight.IncompatibleServerError, match="version 9.0.0") as e:
                asyncio.run(vega_flight.connect_async(place)) if is_async else vega_flight.connect(place)
            assert (e.value.code, e.value.hint) == ("SERVER_INCOMPATIBLE", "upgrade the package")
    server.stop()
    # The folder is free again: another server has it.
    monkeypatch.setenv("VEGA_FLIGHT_BINARY", BINARY)
    with vega_flight.connect(folder) as db:
        assert db.sql("SELECT 42").scalar() == 42


def test_tls_where_the_server_has_none(server):
    with pytest.raises(ServerUnavailableError) as e:
        vega_flight.connect(server.uri.replace("grpc://", "grpc+tls://"))
    assert "to grpc://" in e.value.hint
