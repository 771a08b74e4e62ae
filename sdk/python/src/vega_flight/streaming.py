"""Streaming materialized views: they follow what is committed to their sources."""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from .calls import current_scope, in_thread
from .errors import FailedError, JobCancelledError, VegaError, WaitTimeoutError
from .explain import Explanation
from .names import Name, options, quoted
from .subscription import AsyncSubscription, Subscription, key_of
from .table import AsyncTable, Table
from .view import MaterializedViewDefinition, explained

if TYPE_CHECKING:
    from .connection import Connection

_HEARING = 10.0  # seconds that a view which is stopped may take to go on when it is told to
_HEEDING = 1.0  # seconds that one which runs may take to begin with something else
_STARTING = ("STARTING", "BACKFILLING", "RECOVERING")


@dataclass(frozen=True)
class StreamingStatus:
    """What a streaming view is doing; `row` is everything of SHOW STREAMING MATERIALIZED VIEW."""

    state: str
    reason_code: str | None
    reason: str | None
    hint: str | None
    row_count: int | None
    version: int | None
    source_version: int | None
    published_at: datetime | None
    staleness_ms: int | None
    row: dict[str, Any]

    @classmethod
    def of(cls, row: dict[str, Any]) -> StreamingStatus:
        """Reads a row."""
        return cls(row=row, **{f: row[f] for f in cls.__dataclass_fields__ if f != "row"})

    @property
    def ready(self) -> bool:
        """Whether the view has a complete content that can be read."""
        return self.version is not None and self.state not in ("STARTING", "BACKFILLING")


class StreamingMaterializedView:
    """A handle on a streaming view; `Connection.open_streaming_materialized_view` gives it."""

    def __init__(self, connection: Connection, name: Name) -> None:
        self._connection = connection
        self._session = connection._session
        self._name = name
        self._before: tuple[datetime | None, float] = (None, 0.0)

    @property
    def name(self) -> str:
        """The view's name."""
        return str(self._name)

    def __repr__(self) -> str:
        return f"StreamingMaterializedView(name={self.name!r})"

    @property
    def table(self) -> Table:
        """The view, as the table that it is for readers."""
        return Table(self._session, self._name, self._connection._progress)

    @property
    def definition(self) -> MaterializedViewDefinition:
        """The query that defines it."""
        return MaterializedViewDefinition(self.status().row["query"])

    def status(self) -> StreamingStatus:
        """What it is doing."""
        return StreamingStatus.of(self._rows(f"SHOW STREAMING MATERIALIZED VIEW {self._name.sql}")[0])

    def wait_ready(self, timeout: float | timedelta | None = None) -> StreamingStatus:
        """Waits until its content is complete and it follows its sources.

        Raises `FailedError` with the reason when it cannot come to that by itself, `WaitTimeoutError` when the time is over.
        """
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        deadline = None if seconds is None else time.monotonic() + seconds
        scope = current_scope()
        pause = 0.005
        while True:
            status = self.status()
            unheard = self._unheard(status)
            if status.ready and status.state == "RUNNING" and not unheard:
                return status
            if status.state not in (*_STARTING, "RUNNING") and not unheard:
                raise _stuck(self.name, status)
            if scope is not None and scope.cancelled:
                raise JobCancelledError("CANCELLED: waiting was given up")
            if deadline is not None and time.monotonic() >= deadline:
                raise WaitTimeoutError(f"{self.name} is not ready after {seconds} s: {status.state}")
            time.sleep(pause if deadline is None else min(pause, max(0.0, deadline - time.monotonic())))
            pause = min(pause * 1.5, 0.25)

    def _unheard(self, status: StreamingStatus) -> bool:
        """Whether the view is as it was before this handle told it something, and may only not have come to it."""
        since, told = self._before
        patience = _HEEDING if status.state == "RUNNING" else _HEARING
        return status.row["since"] == since and time.monotonic() - told < patience

    def pause(self) -> None:
        """Stops it with its state kept; its content stays readable."""
        self._alter("PAUSE")

    def resume(self) -> None:
        """Lets it go on after a pause."""
        self._go_on("RESUME")

    def restart(self) -> None:
        """Begins again from its last checkpoint, for example when a row that failed is corrected."""
        self._go_on("RESTART")

    def rebuild(self, initial_mode: str | None = None) -> None:
        """Computes the content anew beside the one that is served."""
        given = options({"initial_mode": initial_mode})
        self._go_on("REBUILD" + (f" WITH {given}" if given else ""))

    def set(self, **changes: object) -> None:
        """Changes options, such as `checkpoint_interval="30s"`."""
        self._go_on(f"SET {options(changes)}")

    def reset(self, *names: str) -> None:
        """Takes options back to their defaults."""
        self._go_on(f"RESET ({', '.join(quoted(n) for n in names)})")

    def rename(self, new_name: str) -> None:
        """Gives it another name in its schema; it stays the same view."""
        new = Name.parse(new_name)
        self._alter(f"RENAME TO {quoted(new.table)}")
        self._name = Name(new.table, self._name.schema)

    def explain(self, *, analyze: bool = False) -> Explanation:
        """How it is kept up to date; with `analyze`, what its operators have done and keep."""
        if analyze:
            return Explanation(self._session.table(f"EXPLAIN STREAMING ANALYZE {self._name.sql}"))
        return self._connection.explain_streaming(self.definition.query)

    def subscribe(
        self, snapshot: bool | None = None, as_of: int | None = None, mode: str = "retract", *, up_to: int | None = None
    ) -> Subscription:
        """Follows it: the content, unless `snapshot=False` or it goes on at `as_of`, and each change as it is published."""
        key = key_of(self, self.table.schema) if mode == "upsert" else None
        try:
            return Subscription(self._session, self._name, snapshot=snapshot, as_of=as_of, mode=mode, up_to=up_to, key=key)
        except VegaError as e:
            raise explained(e, self._session, self._name) from e

    def drop(self, *, cascade: bool = False) -> None:
        """Drops it."""
        self._connection.drop_streaming_materialized_view(self.name, cascade=cascade)

    def _go_on(self, change: str) -> None:
        before = self.status().row["since"]
        self._alter(change)
        self._before = (before, time.monotonic())

    def _alter(self, change: str) -> None:
        self._rows(f"ALTER STREAMING MATERIALIZED VIEW {self._name.sql} {change}")

    def _rows(self, sql: str) -> list[dict[str, Any]]:
        try:
            return self._session.rows(sql)
        except VegaError as e:
            raise explained(e, self._session, self._name) from e


def _stuck(name: str, status: StreamingStatus) -> FailedError:
    why = status.reason or "it is stopped"
    return FailedError(f"{name} is {status.state}: {why}", code=status.reason_code or status.state, hint=status.hint)


class AsyncStreamingMaterializedView:
    """The asynchronous twin of `StreamingMaterializedView`."""

    def __init__(self, view: StreamingMaterializedView) -> None:
        self._view = view

    @property
    def name(self) -> str:
        """The view's name."""
        return self._view.name

    def __repr__(self) -> str:
        return f"AsyncStreamingMaterializedView(name={self.name!r})"

    @property
    def table(self) -> AsyncTable:
        """The view, as a table."""
        return AsyncTable(self._view.table)

    async def definition(self) -> MaterializedViewDefinition:
        """The query that defines it."""
        return await in_thread(lambda: self._view.definition)

    async def status(self) -> StreamingStatus:
        """What it is doing."""
        return await in_thread(self._view.status)

    async def wait_ready(self, timeout: float | timedelta | None = None) -> StreamingStatus:
        """Waits until it follows its sources."""
        return await in_thread(self._view.wait_ready, timeout)

    async def pause(self) -> None:
        """Stops it with its state kept."""
        await in_thread(self._view.pause)

    async def resume(self) -> None:
        """Lets it go on after a pause."""
        await in_thread(self._view.resume)

    async def restart(self) -> None:
        """Begins again from its last checkpoint."""
        await in_thread(self._view.restart)

    async def rebuild(self, initial_mode: str | None = None) -> None:
        """Computes the content anew."""
        await in_thread(self._view.rebuild, initial_mode)

    async def set(self, **changes: object) -> None:
        """Changes options."""
        await in_thread(self._view.set, **changes)

    async def reset(self, *names: str) -> None:
        """Takes options back to their defaults."""
        await in_thread(self._view.reset, *names)

    async def rename(self, new_name: str) -> None:
        """Gives it another name."""
        await in_thread(self._view.rename, new_name)

    async def explain(self, *, analyze: bool = False) -> Explanation:
        """How it is kept up to date."""
        return await in_thread(self._view.explain, analyze=analyze)

    async def subscribe(
        self, snapshot: bool | None = None, as_of: int | None = None, mode: str = "retract", *, up_to: int | None = None
    ) -> AsyncSubscription:
        """Follows it."""
        return AsyncSubscription(await in_thread(self._view.subscribe, snapshot, as_of, mode, up_to=up_to))

    async def drop(self, *, cascade: bool = False) -> None:
        """Drops it."""
        await in_thread(self._view.drop, cascade=cascade)
