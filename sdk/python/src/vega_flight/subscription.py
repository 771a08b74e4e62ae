"""Following a view: its content, and then every change as it is published."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import pyarrow as pa

from .calls import in_thread
from .changes import Changes, Publication
from .errors import InvalidInputError, JobCancelledError, SubscriptionEndedError, VegaError
from .inflow import Inflow
from .names import Name, options
from .result import Result
from .session import Session

if TYPE_CHECKING:
    from .streaming import StreamingMaterializedView

State = TypeVar("State")
T = TypeVar("T")


class Subscription:
    """An iterator of a view's `Changes`, and a keeper of copies of it.

    `resume_token` is where a new subscription goes on without losing or repeating anything: `subscribe(as_of=token)`.
    Who is interrupted while waiting, by Ctrl-C, and asks again gets what would have come.
    """

    def __init__(
        self,
        session: Session,
        name: Name,
        *,
        snapshot: bool | None = None,
        as_of: int | None = None,
        mode: str = "retract",
        up_to: int | None = None,
        key: list[str] | None = None,
    ) -> None:
        if mode not in ("retract", "upsert"):
            raise InvalidInputError(f"mode is retract or upsert, not {mode!r}", code="INVALID_OPTION")
        if as_of is not None and snapshot:
            raise InvalidInputError("as_of goes on where a copy is; it comes without the content", code="INVALID_OPTION")
        if as_of is not None:
            snapshot = None
        given: dict[str, object] = {
            "progress": True,
            "mode": mode,
            "snapshot": snapshot,
            "as_of": as_of,
            "up_to": up_to,
        }
        self._name = name
        self._key = key
        self._mode = mode
        # The number of the last changes that were given, and the token then: one value, so that both change at once.
        self._position: tuple[int, int | None] = (0, as_of)
        self._previous = self._position
        self._closed = False
        self._exact: tuple[Any, pa.Table] | None = None
        self._result: Result = session.query(f"SUBSCRIBE TO {name.sql} WITH {options(given)}")
        self._inflow = Inflow(self._result)
        self._schema = pa.schema([f.remove_metadata() for f in list(self._result.schema)[3:]])

    @property
    def schema(self) -> pa.Schema:
        """The view's columns."""
        return self._schema

    @property
    def resume_token(self) -> int | None:
        """The lake snapshot up to which everything was given, if there is one already."""
        return self._position[1]

    def __iter__(self) -> Iterator[Changes]:
        """Gives the changes as they come."""
        return self

    def __next__(self) -> Changes:
        """Waits for the next changes or mark."""
        before = self._position
        changes = self._numbered(before[0] + 1)
        try:
            token = before[1] if changes.resume_token is None else changes.resume_token
            self._previous, self._position = before, (before[0] + 1, token)
            return changes
        except BaseException:  # Ctrl-C at the last moment: they have not reached the caller
            self._position = before
            raise

    def _numbered(self, number: int) -> Changes:
        """Waits for changes, which stay until the position is at them and more is asked for."""
        self._inflow.forget(self._position[0])
        try:
            return self._inflow.get(number)
        except JobCancelledError:
            if self._closed:
                raise StopIteration from None
            raise

    def apply(self, state: State | None = None, *, until: int | None = None) -> Any:
        """Waits for the next publication and gives a copy of the view with it: equal to the view `AT (VERSION => resume_token)`.

        `state` is what the last call gave, a copy that belongs to the `as_of` of this subscription, or None to begin with
        an empty one. It is an Arrow table, a pandas frame or a polars frame, and so is what is returned. With `until`, a lake
        snapshot such as the `version` of a refresh, it waits until the copy is of that snapshot or a later one, be it for
        several publications or for none. Marks without changes only move the `resume_token` on.
        """
        before = number, token = self._position
        if until is not None and token is not None and token >= until and state is not None:
            self._previous = before  # nothing is given that could be taken back
            return state
        table = self._arrow(state)
        publication = Publication(self._schema, self._key if self._mode == "upsert" else None)
        while True:
            number += 1
            try:
                changes = self._numbered(number)
            except StopIteration:
                raise SubscriptionEndedError(f"the subscription to {self._name} has ended", code="SUBSCRIPTION_ENDED") from None
            publication.take(changes)
            if not changes.complete:
                continue
            if publication.nothing:
                self._position = before = (number, changes.resume_token)
            if publication.nothing if until is None else changes.time < until:
                continue
            copy = state if publication.nothing and state is not None else self._like(state, publication.applied(table))
            try:
                self._previous, self._position = before, (number, changes.resume_token)
                return copy
            except BaseException:
                self._position = before
                raise

    def states(self, state: State | None = None) -> Iterator[Any]:
        """Gives a copy of the view after each publication, as `apply` does, until the subscription ends."""
        while True:
            try:
                state = self.apply(state)
            except SubscriptionEndedError:
                return
            yield state

    def _take_back(self) -> None:
        """Gives what was given last another time: it has not reached its reader."""
        self._position = self._previous

    def _arrow(self, state: Any) -> pa.Table | None:
        if state is None or isinstance(state, pa.Table):
            return state
        if self._exact is not None and self._exact[0] is state:
            return self._exact[1]
        kind = type(state).__module__.partition(".")[0]
        if kind == "pandas":
            if len(state) == 0:
                return self._schema.empty_table()
            return pa.Table.from_pandas(state, schema=self._schema, preserve_index=False).replace_schema_metadata(None)
        if kind == "polars":
            if state.width == 0:
                return self._schema.empty_table()
            return state.to_arrow().cast(self._schema)
        raise InvalidInputError(f"a copy is an Arrow table, a pandas or a polars frame, not a {type(state).__name__}")

    def _like(self, state: Any, table: pa.Table) -> Any:
        """The table in the form that the state has; its exact values are kept beside it."""
        kind = "pyarrow" if state is None else type(state).__module__.partition(".")[0]
        if kind == "pandas":
            frame: Any = table.to_pandas()
        elif kind == "polars":
            import polars as pl

            frame = pl.from_arrow(table)
        else:
            return table
        self._exact = (frame, table)
        return frame

    def close(self) -> None:
        """Ends it, from any thread; closing again is fine."""
        self._closed = True
        self._result.cancel()
        self._result.close()

    def __del__(self) -> None:
        if hasattr(self, "_inflow"):
            self._inflow.stop()  # a thread may be reading

    def __enter__(self) -> Subscription:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncSubscription:
    """The asynchronous twin of `Subscription`. Cancelling a task that waits loses no changes: they come with the next call."""

    def __init__(self, subscription: Subscription) -> None:
        self._subscription = subscription

    @property
    def schema(self) -> pa.Schema:
        """The view's columns."""
        return self._subscription.schema

    @property
    def resume_token(self) -> int | None:
        """The lake snapshot up to which everything was given."""
        return self._subscription.resume_token

    def __aiter__(self) -> AsyncIterator[Changes]:
        """Gives the changes as they come."""
        return self

    async def __anext__(self) -> Changes:
        """Waits for the next changes or mark."""
        return await self._read(self._subscription.__next__)

    async def apply(self, state: State | None = None, *, until: int | None = None) -> Any:
        """Waits for the next publication and gives a copy of the view with it, or with everything `until` a snapshot."""
        return await self._read(partial(self._subscription.apply, state, until=until))

    async def _read(self, call: Callable[[], T]) -> T:
        given: list[T] = []
        try:
            await in_thread(lambda: given.append(call()))
            return given[0]
        except asyncio.CancelledError:
            if given:
                self._subscription._take_back()
            raise

    async def states(self, state: State | None = None) -> AsyncIterator[Any]:
        """Gives a copy of the view after each publication, until the subscription ends."""
        while True:
            try:
                state = await self.apply(state)
            except SubscriptionEndedError:
                return
            yield state

    async def close(self) -> None:
        """Ends it."""
        await in_thread(self._subscription.close)

    async def __aenter__(self) -> AsyncSubscription:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def key_of(view: StreamingMaterializedView, schema: pa.Schema) -> list[str]:
    """The columns that tell a streaming view's rows apart."""
    text = str(view._session.rows(f"EXPLAIN STREAMING {view.definition.query}")[0]["key"])
    rest = text.removeprefix("(").removesuffix(")")
    found: list[str] = []
    while rest:
        name = max((n for n in schema.names if rest == n or rest.startswith(n + ", ")), key=len, default=None)
        if name is None:
            raise VegaError(f"the key {text} of {view.name} is not among its columns")
        found.append(name)
        rest = rest[len(name) + 2 :]
    return found
