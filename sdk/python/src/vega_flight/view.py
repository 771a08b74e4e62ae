"""Traditional materialized views: made from a query, brought up to date by refreshing."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from .calls import in_thread
from .errors import InvalidInputError, JobFailedError, NotAViewError, VegaError
from .fragment import enclosed, one_statement
from .job import AsyncJob, Job, RefreshMaterializedViewResult
from .names import Name, options, quoted
from .select import SelectArg, blamed, condition, pairs, query
from .session import Session
from .subscription import AsyncSubscription, Subscription
from .table import AsyncTable, Table, exists, missing

if TYPE_CHECKING:
    from .connection import Connection

T = TypeVar("T")
Interval: TypeAlias = str | timedelta


@dataclass(frozen=True)
class MaterializedViewDefinition:
    """The query that defines a view, in the server's canonical form."""

    query: str


class MaterializedView:
    """A handle on a view; `Connection.open_materialized_view` gives it."""

    def __init__(self, connection: Connection, name: Name) -> None:
        self._connection = connection
        self._session = connection._session
        self._name = name

    @property
    def name(self) -> str:
        """The view's name."""
        return str(self._name)

    def __repr__(self) -> str:
        return f"MaterializedView(name={self.name!r})"

    @property
    def table(self) -> Table:
        """The view, as the table that it is for readers."""
        return Table(self._session, self._name, self._connection._progress)

    @property
    def definition(self) -> MaterializedViewDefinition:
        """The query that defines it."""
        return MaterializedViewDefinition(self.status()["query"])

    def status(self) -> dict[str, Any]:
        """The view's row of SHOW MATERIALIZED VIEW: state, versions, staleness, schedule, and more."""
        try:
            return self._session.rows(f"SHOW MATERIALIZED VIEW {self._name.sql}")[0]
        except VegaError as e:
            raise explained(e, self._session, self._name) from e

    def refresh(self, *, full: bool = False, source_version: int | None = None) -> RefreshMaterializedViewResult:
        """Brings it up to date, from the newest snapshot of the lake or from an older one; waits for the end."""
        return waited(self.refresh_async(full=full, source_version=source_version))

    def refresh_async(self, *, full: bool = False, source_version: int | None = None) -> Job[RefreshMaterializedViewResult]:
        """Starts a refresh."""
        given = options({"full": full or None, "source_version": _version(source_version)})
        try:
            return self._connection._submit(
                f"REFRESH MATERIALIZED VIEW {self._name.sql}{' WITH ' + given if given else ''}",
                lambda row: RefreshMaterializedViewResult.of(row or {}),
            )
        except VegaError as e:
            raise explained(e, self._session, self._name) from e

    def set(
        self,
        *,
        refresh_interval: Interval | None = None,
        refresh_cron: str | None = None,
        refresh_timezone: str | None = None,
        max_staleness: Interval | None = None,
    ) -> None:
        """Changes options."""
        given = {
            "refresh_interval": refresh_interval,
            "refresh_cron": refresh_cron,
            "refresh_timezone": refresh_timezone,
            "max_staleness": max_staleness,
        }
        self._alter(f"SET {options(given)}")

    def reset(self, *names: str) -> None:
        """Takes options back to their defaults."""
        self._alter(f"RESET ({', '.join(quoted(n) for n in names)})")

    def rename(self, new_name: str) -> None:
        """Gives it another name in its schema; it stays the same view."""
        new = Name.parse(new_name)
        self._alter(f"RENAME TO {quoted(new.table)}")
        self._name = Name(new.table, self._name.schema)

    def subscribe(
        self, snapshot: bool | None = None, as_of: int | None = None, mode: str = "retract", *, up_to: int | None = None
    ) -> Subscription:
        """Follows it: the content, and each refresh."""
        return Subscription(self._session, self._name, snapshot=snapshot, as_of=as_of, mode=mode, up_to=up_to)

    def drop(self, *, cascade: bool = False) -> None:
        """Drops it."""
        self._connection.drop_materialized_view(self.name, cascade=cascade)

    def _alter(self, change: str) -> None:
        try:
            self._session.table(f"ALTER MATERIALIZED VIEW {self._name.sql} {change}")
        except VegaError as e:
            raise explained(e, self._session, self._name) from e


def _version(version: int | None) -> int | None:
    if version is None:
        return None
    if isinstance(version, bool) or not isinstance(version, int):
        raise TypeError(f"source_version is a whole number, not {version!r}")
    if version < 0:
        raise InvalidInputError(f"source_version is 0 or more, not {version}", code="INVALID_OPTION")
    return version


def waited(job: Job[T]) -> T:
    """Waits for a job whose maker does not know of it: its failure is the statement's."""
    try:
        return job.wait()
    except JobFailedError as e:
        if isinstance(e.__cause__, VegaError):
            raise e.__cause__ from None
        raise


def explained(error: VegaError, session: Session, name: Name) -> VegaError:
    """Says of a view's name what LanceDB says."""
    if error.code == "NOT_A_MATERIALIZED_VIEW":
        return NotAViewError(f"Table '{name}' is not a materialized view", code=error.code, hint=error.hint)
    if error.code in ("MATERIALIZED_VIEW_NOT_FOUND", "OBJECT_NOT_FOUND"):
        if exists(session, name):
            return NotAViewError(f"Table '{name}' is not a materialized view", hint=error.hint)
        return missing(str(name), error)
    return error


class Declaration:
    """A view that is to be made, from parts or from a whole query."""

    def __init__(self, source: str | None, select: SelectArg, where: str | None, limit: int | None, whole: str | None) -> None:
        if whole is not None:
            if source is not None or select is not None or where is not None or limit is not None:
                raise InvalidInputError("query cannot be combined with source, select, where or limit")
            if not whole.strip():
                raise InvalidInputError("query is empty")
            self.source, self.query = None, one_statement(whole)
            return
        if source is None:
            raise InvalidInputError("a view needs a source, or a query")
        self.source = Name.parse(source)
        self._pairs = pairs(select)
        self._where = where
        if where is not None:
            condition(where, "view filter")
        self.query = query(self.source.sql, select, where, limit)

    def check(self, session: Session) -> None:
        """Refuses a condition that is none: DuckDB takes numbers for one."""
        if self.source is None or self._where is None:
            return
        try:
            kind = session.schema(f"SELECT {enclosed(self._where)} AS w FROM {self.source.sql}").field(0).type
        except VegaError:
            return  # creating it says what is wrong
        if str(kind) not in ("bool", "null"):
            raise InvalidInputError(f"Invalid input, view filter must be a boolean predicate, not {kind}")

    def blame(self, error: VegaError, session: Session, name: Name) -> VegaError:
        """Says which of the parts an error is about."""
        if error.code in ("MATERIALIZED_VIEW_EXISTS", "OBJECT_ALREADY_EXISTS"):
            from .errors import TableExistsError

            return TableExistsError(f"Table '{name}' already exists", code=error.code, hint=error.hint)
        if self.source is None or error.code not in (
            "OBJECT_NOT_FOUND",
            "SQL_ERROR",
            "SYNTAX_ERROR",
            "STATEMENT_NOT_ALLOWED",
        ):
            return error
        if not exists(session, self.source):
            return missing(str(self.source), error)
        return blamed(error, session, self.source.sql, self._pairs, {"view filter": self._where})


class AsyncMaterializedView:
    """The asynchronous twin of `MaterializedView`."""

    def __init__(self, view: MaterializedView) -> None:
        self._view = view

    @property
    def name(self) -> str:
        """The view's name."""
        return self._view.name

    def __repr__(self) -> str:
        return f"AsyncMaterializedView(name={self.name!r})"

    @property
    def table(self) -> AsyncTable:
        """The view, as a table."""
        return AsyncTable(self._view.table)

    async def definition(self) -> MaterializedViewDefinition:
        """The query that defines it."""
        return await in_thread(lambda: self._view.definition)

    async def status(self) -> dict[str, Any]:
        """The view's row of SHOW MATERIALIZED VIEW."""
        return await in_thread(self._view.status)

    async def refresh(self, *, full: bool = False, source_version: int | None = None) -> RefreshMaterializedViewResult:
        """Brings it up to date."""
        return await in_thread(self._view.refresh, full=full, source_version=source_version)

    async def refresh_async(
        self, *, full: bool = False, source_version: int | None = None
    ) -> AsyncJob[RefreshMaterializedViewResult]:
        """Starts a refresh."""
        return AsyncJob(await in_thread(self._view.refresh_async, full=full, source_version=source_version))

    async def set(
        self,
        *,
        refresh_interval: Interval | None = None,
        refresh_cron: str | None = None,
        refresh_timezone: str | None = None,
        max_staleness: Interval | None = None,
    ) -> None:
        """Changes options."""
        await in_thread(
            self._view.set,
            refresh_interval=refresh_interval,
            refresh_cron=refresh_cron,
            refresh_timezone=refresh_timezone,
            max_staleness=max_staleness,
        )

    async def reset(self, *names: str) -> None:
        """Takes options back to their defaults."""
        await in_thread(self._view.reset, *names)

    async def rename(self, new_name: str) -> None:
        """Gives it another name."""
        await in_thread(self._view.rename, new_name)

    async def subscribe(
        self, snapshot: bool | None = None, as_of: int | None = None, mode: str = "retract", *, up_to: int | None = None
    ) -> AsyncSubscription:
        """Follows it."""
        return AsyncSubscription(await in_thread(self._view.subscribe, snapshot, as_of, mode, up_to=up_to))

    async def drop(self, *, cascade: bool = False) -> None:
        """Drops it."""
        await in_thread(self._view.drop, cascade=cascade)
