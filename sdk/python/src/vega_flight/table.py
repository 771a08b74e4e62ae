"""A table, or what a view keeps in one."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from .calls import in_thread
from .data import Data, counted, reader
from .errors import InvalidInputError, ReadOnlyViewError, TableNotFoundError, UnsupportedError, VegaError
from .fragment import enclosed
from .names import Name, quoted, text
from .progress import Bar
from .select import SelectArg, checked_limit, condition
from .selection import AsyncSelection, Selection
from .session import Session

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


_MODES = {"append": "append", "overwrite": "replace"}


class Table:
    """A handle on a table of the lake; `Connection.open_table` gives it."""

    def __init__(self, session: Session, name: Name, progress: bool | None = None) -> None:
        self._session = session
        self._name = name
        self._progress = progress

    @property
    def name(self) -> str:
        """The table's name."""
        return str(self._name)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"

    def __len__(self) -> int:
        return self.count_rows()

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        schema = self._session.schema(f"SELECT * FROM {self._name.sql}")
        return pa.schema([f.remove_metadata() for f in schema])

    def count_rows(self, filter: str | None = None) -> int:
        """How many rows there are, for which the SQL condition holds if there is one."""
        rows = f" WHERE {condition(filter)}" if filter is not None else ""
        return int(self._session.rows(f"SELECT count(*) AS n FROM {self._name.sql}{rows}")[0]["n"])

    def select(self, columns: SelectArg = None, *, where: str | None = None, limit: int | None = None) -> Selection:
        """Reads a part of the table; the selection's methods and `to_…` say more."""
        return Selection(self._session, self._name.sql, columns, where, None, checked_limit(limit))

    def search(self, query: None = None) -> Selection:
        """Reads a part of the table, as LanceDB's `search()` without a vector does."""
        if query is not None:
            raise UnsupportedError("there are no vector or full-text searches; use where() with an SQL condition")
        return self.select()

    def to_arrow(self) -> pa.Table:
        """Reads all rows as an Arrow table."""
        return self.select().to_arrow()

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Reads all rows as a pandas frame."""
        return self.select().to_pandas(**options)

    def to_polars(self) -> pl.DataFrame:
        """Reads all rows as a polars frame."""
        return self.select().to_polars()

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Reads batch by batch."""
        return self.select().to_batches()

    def to_list(self) -> list[dict[str, Any]]:
        """Reads all rows as dicts."""
        return self.select().to_list()

    def head(self, rows: int = 5) -> pa.Table:
        """Reads some rows."""
        return self.select(limit=rows).to_arrow()

    def add(self, data: Data, mode: str = "append") -> int:
        """Appends rows, or replaces all with `mode="overwrite"`; returns how many came."""
        if mode not in _MODES:
            raise InvalidInputError(f"mode is append or overwrite, not {mode!r}")
        stream = reader(data)
        with Bar(f"add to {self.name}", self._progress, rows=True) as bar:
            source = counted(stream, bar.at) if bar.on else stream
            return self._refused(lambda: self._session.ingest(self._name.table, self._name.schema, source, _MODES[mode]))

    def update(
        self,
        where: str | None = None,
        values: dict[str, Any] | None = None,
        *,
        values_sql: dict[str, str] | None = None,
    ) -> int:
        """Sets columns to values, or to SQL expressions, in the rows for which the condition holds; returns how many."""
        if not values and not values_sql:
            raise InvalidInputError("update needs values or values_sql")
        items = [f"{quoted(k)} = ?" for k in values or {}]
        items += [f"{quoted(k)} = {enclosed(e)}" for k, e in (values_sql or {}).items()]
        rows = f" WHERE {condition(where)}" if where is not None else ""
        return self._write(f"UPDATE {self._name.sql} SET {', '.join(items)}{rows}", list((values or {}).values()))

    def delete(self, where: str) -> int:
        """Removes the rows for which the condition holds; returns how many."""
        return self._write(f"DELETE FROM {self._name.sql} WHERE {condition(where)}", [])

    def _write(self, sql: str, parameters: list[Any]) -> int:
        def run() -> int:
            with self._session.query(sql, parameters or None) as result:
                rows = result.to_list()
            return int(next(iter(rows[0].values()))) if rows else result.rowcount  # with parameters there is no row

        return self._refused(run)

    def _refused(self, call: Callable[[], int]) -> int:
        """Says what LanceDB says where it does."""
        try:
            return call()
        except ReadOnlyViewError as e:
            raise ReadOnlyViewError(
                f"Table '{self.name}' is a materialized view; only its refreshes write it", code=e.code, hint=e.hint
            ) from e
        except TableNotFoundError as e:
            if not exists(self._session, self._name):
                raise missing(self.name, e) from e
            raise


def exists(session: Session, name: Name) -> bool:
    """Whether there is a table, or a view of any kind."""
    schema = f"= lower({text(name.schema)})" if name.schema is not None else "IN (lower(current_schema()), 'main')"
    rows = session.rows(
        f"SELECT 1 AS found FROM information_schema.tables WHERE table_catalog = 'lake' "
        f"AND lower(table_schema) {schema} AND lower(table_name) = lower({text(name.table)})"
    )
    return bool(rows)


def missing(name: str, cause: VegaError | None = None) -> TableNotFoundError:
    """What LanceDB says of a name that nothing has."""
    return TableNotFoundError(f"Table '{name}' was not found", code=cause.code if cause else None)


class AsyncTable:
    """The asynchronous twin of `Table`."""

    def __init__(self, table: Table) -> None:
        self._table = table

    @property
    def name(self) -> str:
        """The table's name."""
        return self._table.name

    def __repr__(self) -> str:
        return f"AsyncTable({self.name!r})"

    async def schema(self) -> pa.Schema:
        """The columns."""
        return await in_thread(lambda: self._table.schema)

    async def count_rows(self, filter: str | None = None) -> int:
        """How many rows there are."""
        return await in_thread(self._table.count_rows, filter)

    def select(self, columns: SelectArg = None, *, where: str | None = None, limit: int | None = None) -> AsyncSelection:
        """Reads a part of the table."""
        return AsyncSelection(self._table.select(columns, where=where, limit=limit))

    def search(self, query: None = None) -> AsyncSelection:
        """Reads a part of the table."""
        return AsyncSelection(self._table.search(query))

    async def to_arrow(self) -> pa.Table:
        """Reads all rows as an Arrow table."""
        return await in_thread(self._table.to_arrow)

    async def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Reads all rows as a pandas frame."""
        return await in_thread(self._table.to_pandas, **options)

    async def to_polars(self) -> pl.DataFrame:
        """Reads all rows as a polars frame."""
        return await in_thread(self._table.to_polars)

    def to_batches(self) -> AsyncIterator[pa.RecordBatch]:
        """Reads batch by batch."""
        return self.select().to_batches()

    async def to_list(self) -> list[dict[str, Any]]:
        """Reads all rows as dicts."""
        return await in_thread(self._table.to_list)

    async def head(self, rows: int = 5) -> pa.Table:
        """Reads some rows."""
        return await in_thread(self._table.head, rows)

    async def add(self, data: Data, mode: str = "append") -> int:
        """Appends rows, or replaces all."""
        return await in_thread(self._table.add, data, mode)

    async def update(
        self,
        where: str | None = None,
        values: dict[str, Any] | None = None,
        *,
        values_sql: dict[str, str] | None = None,
    ) -> int:
        """Sets columns in the rows for which the condition holds."""
        return await in_thread(self._table.update, where, values, values_sql=values_sql)

    async def delete(self, where: str) -> int:
        """Removes the rows for which the condition holds."""
        return await in_thread(self._table.delete, where)
