"""One connection to a server: statements, ingest, retained handles. The only module that calls the driver."""

from __future__ import annotations

import json
import re
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import adbc_driver_flightsql
import adbc_driver_manager
import pyarrow as pa

from .calls import interruptible
from .errors import IncompatibleServerError, InvalidInputError, ServerUnavailableError, SessionLostError, VegaError, translated
from .fork import check_fork, forked, hold, load
from .result import Result

T = TypeVar("T")

_INCREMENTAL = "adbc.statement.exec.incremental"
_LAST_INFO = adbc_driver_flightsql.StatementOptions.LAST_FLIGHT_INFO.value
_RETURN = 3.0  # seconds for a server to come back
_STATE = re.compile(r"(?:^|;)\s*(?:SET|USE|BEGIN|START)\b|\bTEMP(?:ORARY)?\b", re.I)
_PATIENCE = 30.0  # seconds for statements that are given up to come back
Parameters: TypeAlias = Sequence[object] | pa.RecordBatch | pa.Table
"""Values of a statement's `?`: one for each, or Arrow rows of them."""


@dataclass(frozen=True)
class Retained:
    """A statement that the server runs by itself, with where its result is read and what was known of it at first."""

    ticket: bytes | None
    info: Mapping[str, Any]


class Session:
    """A connection of the driver. Any thread may use it at any time."""

    def __init__(self, uri: str, database: dict[str, str], connection: dict[str, str]) -> None:
        self.uri = uri
        self._connection_options = connection
        self._begin()
        self._owns = True
        load()
        self._database = _driver(lambda: adbc_driver_flightsql.connect(uri, database))
        try:
            self._connection = _driver(lambda: adbc_driver_manager.AdbcConnection(self._database, **connection))
        except BaseException:
            with suppress(RuntimeError):  # Ctrl-C came when there was a connection already: both go when they are garbage
                self._database.close()
            raise
        hold(self)

    def _driver_objects(self) -> list[Any]:
        """What the driver made for this session."""
        return [self._database, self._connection, *self._statements]

    def _begin(self) -> None:
        self.needs: object = None  # what is there for as long as the session is
        self._remembered = False  # whether statements have left something in the session
        self._closing = threading.Lock()
        self._closed = False
        self._idle = threading.Condition()
        self._statements: set[adbc_driver_manager.AdbcStatement] = set()
        self._results: weakref.WeakSet[Result] = weakref.WeakSet()
        self._others: weakref.WeakSet[Session] = weakref.WeakSet()

    def close(self) -> None:
        """Ends the session and what runs in it; closing again is fine."""
        if forked():
            self._closed = True
            return
        with self._closing:
            if self._closed:
                return
            self._closed = True
            for other in list(self._others):
                other.close()
            for result in list(self._results):
                result.close()
            with self._idle:
                for statement in self._statements:
                    _give_up(statement)
                self._idle.wait_for(lambda: not self._statements, _PATIENCE)
            # The server may be gone. A RuntimeError is about a statement that Ctrl-C has taken from who was making it: the driver
            # counts it for ever, and lets go of the connection with this session.
            with suppress(adbc_driver_manager.Error, RuntimeError):
                self._connection.close()
            if self._owns:
                with suppress(adbc_driver_manager.Error, RuntimeError):
                    self._database.close()

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._closed

    def another(self) -> Session:
        """Makes a session of its own beside this one, with the same address and credentials."""
        with self._closing:
            self._alive()
            session = Session.__new__(Session)
            session.uri, session._connection_options = self.uri, self._connection_options
            session._begin()
            session._database, session._owns = self._database, False
            session._connection = _driver(lambda: adbc_driver_manager.AdbcConnection(self._database, **self._connection_options))
            self._others.add(session)
        hold(session)
        return session

    def server(self) -> tuple[str, str]:
        """The server's product name and version."""
        self._alive()
        codes = [adbc_driver_manager.AdbcInfoCode.VENDOR_NAME, adbc_driver_manager.AdbcInfoCode.VENDOR_VERSION]

        def ask() -> dict[int, str]:
            handle = self._connection.get_info(list(codes))
            return {r["info_name"]: r["info_value"] for r in pa.RecordBatchReader.from_stream(handle).read_all().to_pylist()}

        found = _driver(lambda: interruptible(ask, self._connection.cancel))
        if codes[0] not in found:
            raise IncompatibleServerError(f"{self.uri} does not say what it is", hint="connect to a vega-flight server")
        return found[codes[0]], found.get(codes[1], "")

    def query(self, sql: str, parameters: Parameters | None = None) -> Result:
        """Runs a statement; its effect is there when this returns, its rows are read from the result."""
        if _STATE.search(sql):
            self._remembered = True
        if not sql:
            raise InvalidInputError("the text holds no statement", code="SYNTAX_ERROR")
        return self._sent(lambda: self._query(sql, parameters))

    def _query(self, sql: str, parameters: Parameters | None) -> Result:
        statement = self._statement()
        try:
            statement.set_sql_query(sql)
            if parameters is not None:
                _driver(lambda: interruptible(statement.prepare, statement.cancel))
                _bind(statement, parameters)
            handle, count = _driver(lambda: interruptible(statement.execute_query, statement.cancel))
            result = Result(statement, pa.RecordBatchReader.from_stream(handle), count, self._release)
        except BaseException:
            self._release(statement)
            raise
        self._results.add(result)
        return result

    def table(self, sql: str, parameters: Parameters | None = None) -> pa.Table:
        """Runs a statement and reads all its rows."""
        with self.query(sql, parameters) as result:
            return result.to_arrow()

    def rows(self, sql: str, parameters: Parameters | None = None) -> list[dict[str, Any]]:
        """Runs a statement and reads its rows as dicts."""
        rows: list[dict[str, Any]] = self.table(sql, parameters).to_pylist()
        return rows

    def schema(self, sql: str) -> pa.Schema:
        """What a query would give. It is not run."""
        return self._sent(lambda: self._describe(sql))

    def _describe(self, sql: str) -> pa.Schema:
        statement = self._statement()
        try:
            statement.set_sql_query(sql)
            handle = _driver(lambda: interruptible(statement.execute_schema, statement.cancel))
            return pa.schema(handle)
        finally:
            self._release(statement)

    def ingest(self, table: str, schema: str | None, reader: pa.RecordBatchReader, mode: str) -> int:
        """Streams rows into a table."""
        self.table("SELECT 1")  # rows cannot be sent again when the server turns out to have come back
        target = {
            adbc_driver_manager.INGEST_OPTION_TARGET_TABLE: table,
            adbc_driver_manager.INGEST_OPTION_MODE: f"adbc.ingest.mode.{mode}",
        }
        if schema is not None:
            target[adbc_driver_manager.StatementOptions.INGEST_TARGET_DB_SCHEMA.value] = schema
        statement = self._statement()
        try:
            statement.set_options(**target)
            statement.bind_stream(reader)
            count = _driver(lambda: interruptible(statement.execute_update, statement.cancel))
            return int(count)
        finally:
            self._release(statement)

    def submit(self, sql: str) -> Retained:
        """Hands a statement to the server, which runs it whether this process lives or not."""
        return self._sent(lambda: self._submit(sql))

    def _submit(self, sql: str) -> Retained:
        statement = self._statement()
        try:
            statement.set_sql_query(sql)
            statement.set_options(**{_INCREMENTAL: "true"})
            # Given up before the answer came, the statement is the server's all the same: whoever submits must not be interrupted.
            tickets, _, _ = _driver(statement.execute_partitions)
            info = statement.get_option_bytes(_LAST_INFO)
            return Retained(tickets[0] if tickets else None, _metadata(info))
        finally:
            self._release(statement)

    def _sent(self, call: Callable[[], T]) -> T:
        """Sends a statement, again when the server cannot have begun it: it is coming back, or has forgotten the session.

        A session with a memory is not replaced by one without it.
        """
        patience = time.monotonic() + _RETURN
        while True:
            try:
                return call()
            except SessionLostError:
                if self._remembered or time.monotonic() > patience:
                    raise
                if self._connection_options:
                    _driver(lambda: self._connection.set_options(**self._connection_options))
            except ServerUnavailableError as e:
                if "while dialing" not in str(e) or time.monotonic() > patience:
                    raise
                time.sleep(0.1)

    def follow(self, ticket: bytes) -> pa.Table:
        """Reads a retained statement's rows, which come when it has ended."""
        return _driver(
            lambda: pa.RecordBatchReader.from_stream(self._connection.read_partition(ticket)).read_all(),
        )

    def _statement(self) -> adbc_driver_manager.AdbcStatement:
        check_fork()
        with self._idle:
            self._alive()
            statement = _driver(lambda: adbc_driver_manager.AdbcStatement(self._connection))
            self._statements.add(statement)
        return statement

    def _release(self, statement: adbc_driver_manager.AdbcStatement) -> None:
        statement.close()
        with self._idle:
            self._statements.discard(statement)
            self._idle.notify_all()

    def _alive(self) -> None:
        if self._closed:
            raise ServerUnavailableError("the connection is closed", code="CONNECTION_CLOSED", hint="connect again")


def _give_up(statement: adbc_driver_manager.AdbcStatement) -> None:
    with suppress(adbc_driver_manager.Error):  # it may have ended
        statement.cancel()


def _driver(call: Callable[[], T]) -> T:
    """Runs a call of the driver; what it raises is translated."""
    check_fork()
    try:
        return call()
    except (adbc_driver_manager.Error, pa.ArrowException, OSError) as e:
        if isinstance(e, VegaError):
            raise
        raise translated(e) from e


def _bind(statement: adbc_driver_manager.AdbcStatement, parameters: Parameters) -> None:
    if isinstance(parameters, pa.Table):
        statement.bind_stream(parameters)
        return
    if not isinstance(parameters, pa.RecordBatch):
        if isinstance(parameters, (str, bytes)):
            raise TypeError("parameters are a list or tuple of values, one for each ?")
        arrays = [pa.array([value]) for value in parameters]
        parameters = pa.RecordBatch.from_arrays(arrays, names=[str(i) for i in range(len(arrays))])
    statement.bind(parameters)


def _metadata(info: bytes) -> Mapping[str, Any]:
    """The JSON at the end of a serialized FlightInfo, which is its app_metadata."""
    at = info.rfind(b'{"handle":')
    if at < 0:
        return {}
    found, _ = json.JSONDecoder().raw_decode(info[at:].decode("utf-8", "replace"))
    return dict(found)
