"""Reading a part of a table: which columns, which rows, in which order, how many."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .calls import in_thread
from .errors import VegaError
from .fragment import enclosed, expression
from .result import AsyncResult, Result
from .select import SelectArg, blamed, checked_limit, pairs, query
from .select import condition as checked

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl

    from .session import Session


@dataclass(frozen=True)
class Selection:
    """A query of one table that is put together by its methods and run by one of `to_…`."""

    session: Session
    source: str
    columns: SelectArg = None
    filter: str | None = None
    order: str | None = None
    rows: int | None = None
    skipped: int | None = None

    def select(self, columns: SelectArg) -> Selection:
        """Only these columns: names and (alias, expression) pairs."""
        return replace(self, columns=columns)

    def where(self, condition: str) -> Selection:
        """Only rows for which this SQL condition holds."""
        checked(condition)
        both = condition if self.filter is None else f"{enclosed(self.filter)} AND {enclosed(condition)}"
        return replace(self, filter=both)

    def order_by(self, order: str) -> Selection:
        """In this order, as in ORDER BY."""
        return replace(self, order=expression(order))

    def limit(self, rows: int | None) -> Selection:
        """At most so many rows."""
        return replace(self, rows=checked_limit(rows))

    def offset(self, rows: int) -> Selection:
        """Without the first rows."""
        return replace(self, skipped=checked_limit(rows))

    @property
    def sql(self) -> str:
        """The statement."""
        text = query(self.source, self.columns, self.filter)
        if self.order is not None:
            text += f" ORDER BY {self.order}\n"
        if self.rows is not None:
            text += f" LIMIT {self.rows}"
        if self.skipped is not None:
            text += f" OFFSET {self.skipped}"
        return text

    def run(self) -> Result:
        """Runs it; the rows come as they are read."""
        text = self.sql
        try:
            return self.session.query(text)
        except VegaError as e:
            told = blamed(e, self.session, self.source, pairs(self.columns), {"filter": self.filter})
            if told is e:
                raise
            raise told from e

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Reads batch by batch."""
        return iter(self.run())

    def to_arrow(self) -> pa.Table:
        """Reads an Arrow table."""
        with self.run() as result:
            return result.to_arrow()

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Reads a pandas frame."""
        return self.to_arrow().to_pandas(**options)

    def to_polars(self) -> pl.DataFrame:
        """Reads a polars frame."""
        with self.run() as result:
            return result.to_polars()

    def to_list(self) -> list[dict[str, Any]]:
        """Reads the rows as dicts."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows


class AsyncSelection:
    """The asynchronous twin of `Selection`."""

    def __init__(self, selection: Selection) -> None:
        self._selection = selection

    @property
    def sql(self) -> str:
        """The statement."""
        return self._selection.sql

    def select(self, columns: SelectArg) -> AsyncSelection:
        """Only these columns."""
        return AsyncSelection(self._selection.select(columns))

    def where(self, condition: str) -> AsyncSelection:
        """Only rows for which this SQL condition holds."""
        return AsyncSelection(self._selection.where(condition))

    def order_by(self, order: str) -> AsyncSelection:
        """In this order."""
        return AsyncSelection(self._selection.order_by(order))

    def limit(self, rows: int | None) -> AsyncSelection:
        """At most so many rows."""
        return AsyncSelection(self._selection.limit(rows))

    def offset(self, rows: int) -> AsyncSelection:
        """Without the first rows."""
        return AsyncSelection(self._selection.offset(rows))

    async def run(self) -> AsyncResult:
        """Runs it; the rows come as they are read."""
        return AsyncResult(await in_thread(self._selection.run))

    async def to_batches(self) -> AsyncIterator[pa.RecordBatch]:
        """Reads batch by batch."""
        async with await self.run() as result:
            async for batch in result:
                yield batch

    async def to_arrow(self) -> pa.Table:
        """Reads an Arrow table."""
        return await in_thread(self._selection.to_arrow)

    async def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Reads a pandas frame."""
        return await in_thread(self._selection.to_pandas, **options)

    async def to_polars(self) -> pl.DataFrame:
        """Reads a polars frame."""
        return await in_thread(self._selection.to_polars)

    async def to_list(self) -> list[dict[str, Any]]:
        """Reads the rows as dicts."""
        return await in_thread(self._selection.to_list)
