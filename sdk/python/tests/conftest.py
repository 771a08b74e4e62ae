from __future__ import annotations

import asyncio
import faulthandler
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from server import BINARY, EXTENSIONS, Server
from twin import Loop, Twin

import vega_flight

os.environ["VEGA_FLIGHT_BINARY"] = BINARY
os.environ["VEGA_FLIGHT_EXTENSION_DIR"] = EXTENSIONS


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    # All tests are one user's, whose statements' handles stay for minutes.
    server = Server(tmp_path_factory.mktemp("server"), "--max-user-handles", "100000", "--max-handles", "100000")
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def _every_test_ends() -> Iterator[None]:
    """What waits for ever shows where, and fails."""
    faulthandler.dump_traceback_later(1200, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(autouse=True)
def _no_server_is_left() -> Iterator[None]:
    """Servers that a failing test has not ended end with it."""
    before = set(Server.running)
    yield
    for server in Server.running - before:
        if server.folder.name != "server0":
            server.kill()


@pytest.fixture(scope="session")
def loop() -> Iterator[Loop]:
    loop = Loop()
    yield loop
    loop.close()


@pytest.fixture(params=["sync", "async"])
def db(request: pytest.FixtureRequest, server: Server) -> Iterator[Any]:
    """A connection to an empty lake, by either API."""
    connection = vega_flight.connect(server.uri, progress=False)
    if request.param == "sync":
        yield connection
    else:
        loop = request.getfixturevalue("loop")
        other = loop.run(vega_flight.connect_async(server.uri, progress=False))
        yield Twin(loop, other)
        loop.run(other.close())
    empty(connection)
    connection.close()


@pytest.fixture
def sync_db(server: Server) -> Iterator[vega_flight.Connection]:
    with vega_flight.connect(server.uri, progress=False) as connection:
        yield connection
        empty(connection)


def empty(db: vega_flight.Connection) -> None:
    """Drops everything."""
    for name in db.list_streaming_materialized_views():
        if name in db.list_streaming_materialized_views():
            db.drop_streaming_materialized_view(name, cascade=True)
    for name in db.list_materialized_views():
        if name in db.list_materialized_views():
            db.drop_materialized_view(name, cascade=True)
    for name in db.list_tables():
        db.drop_table(name)


@pytest.fixture
def people(db: Any) -> Any:
    return db.create_table("people", [{"name": "ada", "age": 36}, {"name": "kid", "age": 7}, {"name": "grace", "age": 85}])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "lake"


def run(awaitable: Any) -> Any:
    return asyncio.run(awaitable)
