"""A connection to a lake: its tables, its views, its jobs, and SQL."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from .address import TLS, Address, Credentials, parse
from .calls import apart, current_scope, interruptible
from .data import Data, counted, reader
from .errors import InvalidInputError, ReadOnlyViewError, ServerUnavailableError, TableExistsError, UnsupportedError, VegaError
from .explain import Explanation
from .fork import check_fork
from .fragment import one_statement
from .job import Job, RefreshMaterializedViewResult
from .names import Name, listed, options, text
from .page import Page, paged
from .progress import Bar
from .result import Result
from .select import SelectArg
from .session import Parameters, Session
from .streaming import StreamingMaterializedView
from .table import Table, exists, missing
from .version import check_server
from .view import Declaration, Interval, MaterializedView, explained, waited

if TYPE_CHECKING:
    from .local import Seat

T = TypeVar("T")

_ATTEMPTS = 3
_MODES = {"create": "create", "overwrite": "replace"}


def connect(
    target: str | os.PathLike[str],
    *,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    api_key: str | None = None,
    tls: TLS | None = None,
    timeout: float | None = None,
    schema: str | None = None,
    progress: bool | None = None,
    server_binary: str | None = None,
    server_args: list[str] | None = None,
    start_timeout: float = 60,
    driver_options: dict[str, str] | None = None,
) -> Connection:
    """Connects to a server, or to a folder.

    `target` is `grpc://host:port`, `grpc+tls://host:port`, `grpc+unix:///path`, `flightsql://host:port` (TLS, unless it ends
    with `?transport=tcp`), or a folder. For a folder a private server is started, on a socket that only the user can open;
    all processes of the user that connect to the folder share it, and it ends when the last one leaves.

    Who asks is a `user` with a `password`, a `token`, or an `api_key`. `timeout` is how many seconds each call to the server
    may take; subscriptions are calls too. `schema` is where names without one are looked up. `progress` shows bars, by
    default when a terminal or a notebook looks on and tqdm is installed.

    For folders, `server_binary` is the server to start (else `VEGA_FLIGHT_BINARY`, the one that came with the package, or the
    one in PATH), `server_args` are more of its options, and `start_timeout` is how many seconds it may take to be ready,
    beside the time in which a first start fetches DuckDB's extensions (ten minutes at most).
    """
    check_fork()
    credentials = Credentials(user, password, token, api_key)
    address = parse(target, credentials, tls or TLS(), timeout=timeout, schema=schema, driver_options=driver_options)
    if address.folder is None:
        return Connection(address, None, progress)
    try:
        from .local import LocalServer
    except ModuleNotFoundError as e:  # fcntl
        raise UnsupportedError("a folder needs Linux or macOS", hint="connect to a server by its URI") from e
    for attempt in range(_ATTEMPTS):
        seat = LocalServer.join(address.folder, binary=server_binary, args=server_args, timeout=start_timeout)
        try:
            return Connection(address, seat, progress)
        except BaseException as e:
            seat.leave()
            if not isinstance(e, ServerUnavailableError) or attempt == _ATTEMPTS - 1:  # it was about to end
                raise
    raise AssertionError


class Connection:
    """What `connect` gives. Threads may share it."""

    def __init__(self, address: Address, seat: Seat | None, progress: bool | None) -> None:
        self._seat = seat
        self._progress = progress
        self._session = Session(seat.uri if seat else address.uri or "", address.database, address.connection)
        # Tables, views, jobs and results have the session: while there is one of them the server is needed.
        self._session.needs = seat
        try:
            self.server_version = check_server(*self._session.server())
        except BaseException:
            self._session.close()
            raise

    @property
    def uri(self) -> str:
        """Where the server is."""
        return self._session.uri

    def __repr__(self) -> str:
        return f"Connection({self.uri!r})"

    def close(self) -> None:
        """Ends the connection; jobs go on. A folder's server ends with its last connection."""
        self._session.close()
        if self._seat is not None:
            self._seat.leave()

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def sql(self, query: str, params: Parameters | None = None) -> Result:
        """Runs SQL; its rows are streamed. `params` are the values of its `?`."""
        return self._session.query(query, params)

    # Tables.

    def create_table(
        self,
        name: str,
        data: Data = None,
        schema: pa.Schema | None = None,
        *,
        mode: str = "create",
        exist_ok: bool = False,
    ) -> Table:
        """Makes a table of rows, or an empty one of a schema; `mode="overwrite"` replaces what has the name.

        Data is an Arrow table, batch or reader, a pandas or polars frame, a list of dicts, or an iterator of batches, which is
        sent as it comes.
        """
        if mode not in _MODES:
            raise InvalidInputError(f"mode is create or overwrite, not {mode!r}")
        parsed = Name.parse(name)
        if exist_ok and mode == "create" and exists(self._session, parsed):
            return self.open_table(name)
        stream = reader(data, schema)
        try:
            with Bar(f"create {parsed}", self._progress, rows=True) as bar:
                source = counted(stream, bar.at) if bar.on else stream
                self._session.ingest(parsed.table, parsed.schema, source, _MODES[mode])
        except TableExistsError as e:
            raise TableExistsError(f"Table '{parsed}' already exists", code=e.code, hint=e.hint) from e
        except ReadOnlyViewError as e:
            if mode == "create":
                raise TableExistsError(f"Table '{parsed}' already exists", hint=e.hint) from e
            raise ReadOnlyViewError(f"Table '{parsed}' is a materialized view; drop it first", code=e.code) from e
        return Table(self._session, parsed, self._progress)

    def open_table(self, name: str) -> Table:
        """A handle on a table, or on a view as one."""
        parsed = Name.parse(name)
        if not exists(self._session, parsed):
            raise missing(str(parsed))
        return Table(self._session, parsed, self._progress)

    def list_tables(self, page_token: str | None = None, page_limit: int | None = None) -> Page:
        """The names of all tables and materialized views; those outside of `main` with their schema."""
        rows = self._session.rows(
            "SELECT table_schema, table_name FROM information_schema.tables "
            "WHERE table_catalog = 'lake' AND table_type = 'BASE TABLE'"
        )
        return paged([listed(r["table_schema"], r["table_name"]) for r in rows], page_token, page_limit)

    def table_names(self, page_token: str | None = None, limit: int | None = None) -> list[str]:
        """The same, under LanceDB's name."""
        return list(self.list_tables(page_token, limit))

    def drop_table(self, name: str, ignore_missing: bool = False) -> None:
        """Drops a table, or a view."""
        parsed = Name.parse(name)
        try:
            self._session.table(f"DROP TABLE {parsed.sql}")
        except ReadOnlyViewError:
            self._drop_any_view(parsed)
        except VegaError as e:
            if e.code != "OBJECT_NOT_FOUND" or exists(self._session, parsed):
                raise
            if not ignore_missing:
                raise missing(str(parsed), e) from e

    def _drop_any_view(self, name: Name) -> None:
        try:
            self._session.table(f"DROP MATERIALIZED VIEW {name.sql}")
        except VegaError as e:
            if e.code != "NOT_A_MATERIALIZED_VIEW":
                raise
            self._session.table(f"DROP STREAMING MATERIALIZED VIEW {name.sql}")

    # Materialized views.

    def create_materialized_view(
        self,
        name: str,
        source: str | None = None,
        *,
        select: SelectArg = None,
        where: str | None = None,
        limit: int | None = None,
        with_no_data: bool = False,
        query: str | None = None,
        refresh_interval: Interval | None = None,
        refresh_cron: str | None = None,
        refresh_timezone: str | None = None,
        max_staleness: Interval | None = None,
    ) -> MaterializedView:
        """Makes a view of a table, or of a `query`, and waits until its content is there.

        `select` is column names, `(alias, SQL expression)` pairs, or a dict of them; names are quoted, expressions are taken
        as they are. `where` is an SQL condition. With `with_no_data` the first refresh computes the content.
        """
        waited(
            self.create_materialized_view_async(
                name,
                source,
                select=select,
                where=where,
                limit=limit,
                with_no_data=with_no_data,
                query=query,
                refresh_interval=refresh_interval,
                refresh_cron=refresh_cron,
                refresh_timezone=refresh_timezone,
                max_staleness=max_staleness,
            )
        )
        return MaterializedView(self, Name.parse(name))

    def create_materialized_view_async(
        self,
        name: str,
        source: str | None = None,
        *,
        select: SelectArg = None,
        where: str | None = None,
        limit: int | None = None,
        with_no_data: bool = False,
        query: str | None = None,
        refresh_interval: Interval | None = None,
        refresh_cron: str | None = None,
        refresh_timezone: str | None = None,
        max_staleness: Interval | None = None,
    ) -> Job[None]:
        """Makes a view, and returns the job that computes its content."""
        parsed = Name.parse(name)
        view = Declaration(source, select, where, limit, query)
        view.check(self._session)
        given = options(
            {
                "refresh_interval": refresh_interval,
                "refresh_cron": refresh_cron,
                "refresh_timezone": refresh_timezone,
                "max_staleness": max_staleness,
            }
        )
        statement = f"CREATE MATERIALIZED VIEW {parsed.sql}{' WITH ' + given if given else ''} AS {view.query}\n"
        if with_no_data:
            statement += " WITH NO DATA"
        try:
            return self._submit(statement, lambda _: None)
        except VegaError as e:
            raise view.blame(e, self._session, parsed) from e

    def open_materialized_view(self, name: str) -> MaterializedView:
        """A handle on a view that is there."""
        view = MaterializedView(self, Name.parse(name))
        view.status()
        return view

    def list_materialized_views(self, page_token: str | None = None, page_limit: int | None = None) -> Page:
        """The names of all views, in order, or a page of them."""
        return self._views("SHOW MATERIALIZED VIEWS", page_token, page_limit)

    def drop_materialized_view(self, name: str, namespace_path: list[str] | None = None, *, cascade: bool = False) -> None:
        """Drops a view; with `cascade`, the views that read it too."""
        waited(self.drop_materialized_view_async(name, namespace_path, cascade=cascade))

    def drop_materialized_view_async(
        self, name: str, namespace_path: list[str] | None = None, *, cascade: bool = False
    ) -> Job[None]:
        """Drops a view, and returns the job that does it."""
        parsed = Name.parse(name, namespace_path)
        MaterializedView(self, parsed).status()
        return self._submit(f"DROP MATERIALIZED VIEW {parsed.sql}{' CASCADE' if cascade else ''}", lambda _: None)

    # Streaming materialized views.

    def create_streaming_materialized_view(
        self, name: str, query: str, *, wait_for_ready: bool = False, **stream_options: object
    ) -> StreamingMaterializedView:
        """Makes a view that follows its sources; options are those of CREATE STREAMING MATERIALIZED VIEW."""
        parsed = Name.parse(name)
        given = options({"wait_for_ready": wait_for_ready or None, **stream_options})
        try:
            self._session.table(
                f"CREATE STREAMING MATERIALIZED VIEW {parsed.sql}{' WITH ' + given if given else ''} AS {one_statement(query)}\n"
            )
        except TableExistsError as e:
            raise TableExistsError(f"Table '{parsed}' already exists", code=e.code, hint=e.hint) from e
        return StreamingMaterializedView(self, parsed)

    def open_streaming_materialized_view(self, name: str) -> StreamingMaterializedView:
        """A handle on a streaming view that is there."""
        view = StreamingMaterializedView(self, Name.parse(name))
        view.status()
        return view

    def list_streaming_materialized_views(self, page_token: str | None = None, page_limit: int | None = None) -> Page:
        """The names of all streaming views, in order, or a page of them."""
        return self._views("SHOW STREAMING MATERIALIZED VIEWS", page_token, page_limit)

    def drop_streaming_materialized_view(self, name: str, *, cascade: bool = False) -> None:
        """Drops a streaming view; with `cascade`, the views that read it too."""
        parsed = Name.parse(name)
        try:
            self._session.table(f"DROP STREAMING MATERIALIZED VIEW {parsed.sql}{' CASCADE' if cascade else ''}")
        except VegaError as e:
            raise explained(e, self._session, parsed) from e

    def explain_streaming(self, query: str) -> Explanation:
        """How a query would be kept up to date, or why it would not; notebooks show it as a table."""
        return Explanation(self._session.table(f"EXPLAIN STREAMING {one_statement(query)}"))

    # Jobs.

    def job(self, id: str) -> Job[Any]:
        """Finds a job by its id, also one that another process submitted."""
        row = self._session.rows(f"SHOW JOB {text(id)}")[0]

        def result(row: dict[str, Any] | None) -> RefreshMaterializedViewResult | None:
            return RefreshMaterializedViewResult.of(row) if row and "mode" in row and refresh else None

        refresh = row["kind"] == "REFRESH"
        return Job(self._session, row["job_id"], None, result, self._progress)

    def list_jobs(self, view: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
        """The newest jobs, as rows of SHOW JOBS."""
        of = f" FOR MATERIALIZED VIEW {Name.parse(view).sql}" if view is not None else ""
        return self._session.rows(f"SHOW JOBS{of} LIMIT {int(limit)}")

    def _submit(self, statement: str, result: Callable[[dict[str, Any] | None], T]) -> Job[T]:
        jobs: list[Job[T]] = []

        def submit() -> None:
            retained = self._session.submit(statement)
            jobs.append(Job(self._session, str(retained.info.get("job", "")), retained, result, self._progress))

        try:
            interruptible(submit, lambda: None)  # once it is the server's, giving it up means to cancel it there
        except KeyboardInterrupt:
            for job in jobs:
                job.cancel()
            raise
        scope = current_scope()
        if scope is not None and scope.cancelled:
            with apart():
                jobs[0].cancel()
        return jobs[0]

    def _views(self, statement: str, page_token: str | None, page_limit: int | None) -> Page:
        rows = [r for r in self._session.rows(statement) if r["state"] != "UNADOPTED"]
        return paged([listed(r["schema_name"], r["view_name"]) for r in rows], page_token, page_limit)
