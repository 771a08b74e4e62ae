"""The rows of a statement, as they come."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import adbc_driver_manager
import pyarrow as pa

from .calls import in_thread, interruptible
from .errors import VegaError, translated
from .extras import extra
from .fork import check_fork, forked, hold

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl


class Result:
    """A statement's rows. They are read once: batch by batch, or all together.

    `rowcount` is how many rows a statement changed, or -1.
    """

    def __init__(
        self,
        statement: adbc_driver_manager.AdbcStatement,
        reader: pa.RecordBatchReader,
        rowcount: int,
        release: Callable[[adbc_driver_manager.AdbcStatement], object],
    ) -> None:
        self._statement = statement
        self._reader = reader
        self._schema = reader.schema
        self._release = release
        self._reading = threading.Lock()  # the stream is one thread's at a time, also to be closed
        self._open = True
        self.rowcount = rowcount
        hold(self)

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._schema

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        """Gives the batches as they come."""
        return self

    def __next__(self) -> pa.RecordBatch:
        """Gives the next batch."""
        check_fork()
        try:
            return interruptible(self._read, self.cancel)
        except StopIteration:
            self.close()
            raise
        except (adbc_driver_manager.Error, pa.ArrowException, OSError) as e:
            self.close()
            if isinstance(e, VegaError):
                raise
            raise translated(e) from e

    def _read(self) -> pa.RecordBatch:
        with self._reading:
            if not self._open:
                raise StopIteration
            return self._reader.read_next_batch()

    def __repr__(self) -> str:
        return f"Result({', '.join(f'{f.name}: {f.type}' for f in self._schema)})"

    def to_batches(self) -> Iterator[pa.RecordBatch]:
        """Gives the batches as they come."""
        return iter(self)

    def to_arrow(self) -> pa.Table:
        """Reads the rows that are left as an Arrow table."""
        schema = self.schema
        return pa.Table.from_batches(list(self), schema=schema)

    def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Reads the rows that are left as a pandas frame; options are those of `pyarrow.Table.to_pandas`."""
        extra("pandas")
        return self.to_arrow().to_pandas(**options)

    def to_polars(self) -> pl.DataFrame:
        """Reads the rows that are left as a polars frame."""
        frame: pl.DataFrame = extra("polars").from_arrow(self.to_arrow())
        return frame

    def to_list(self) -> list[dict[str, Any]]:
        """Reads the rows that are left as dicts."""
        rows: list[dict[str, Any]] = self.to_arrow().to_pylist()
        return rows

    def scalar(self) -> Any:
        """Reads a result of one row and one column as that value."""
        table = self.to_arrow()
        if table.num_rows != 1 or table.num_columns != 1:
            raise ValueError(f"the result has {table.num_rows} rows and {table.num_columns} columns, not one of each")
        return table.column(0)[0].as_py()

    def cancel(self) -> None:
        """Gives the statement up, from any thread; who reads gets `JobCancelledError`."""
        if self._open and not forked():
            with suppress(adbc_driver_manager.Error):  # it may have ended
                self._statement.cancel()

    def close(self) -> None:
        """Gives up the rows that are left; closing again is fine, from any thread."""
        if forked():
            self._open = False
            return
        self.cancel()
        with self._reading:
            if not self._open:
                return
            self._open = False
            self._reader.close()
            self._release(self._statement)

    def __enter__(self) -> Result:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _driver_objects(self) -> list[Any]:
        """What the driver made for this result."""
        return [self._reader, self._statement]

    def __del__(self) -> None:
        if getattr(self, "_open", False):
            self.close()


class AsyncResult:
    """The asynchronous twin of `Result`."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self.rowcount = result.rowcount

    @property
    def schema(self) -> pa.Schema:
        """The columns."""
        return self._result.schema

    def __aiter__(self) -> AsyncResult:
        """Gives the batches as they come."""
        return self

    async def __anext__(self) -> pa.RecordBatch:
        """Gives the next batch."""
        return await in_thread(self._result.__next__)

    def to_batches(self) -> AsyncResult:
        """Gives the batches as they come."""
        return self

    async def to_arrow(self) -> pa.Table:
        """Reads the rows that are left as an Arrow table."""
        return await in_thread(self._result.to_arrow)

    async def to_pandas(self, **options: Any) -> pd.DataFrame:
        """Reads the rows that are left as a pandas frame."""
        return await in_thread(self._result.to_pandas, **options)

    async def to_polars(self) -> pl.DataFrame:
        """Reads the rows that are left as a polars frame."""
        return await in_thread(self._result.to_polars)

    async def to_list(self) -> list[dict[str, Any]]:
        """Reads the rows that are left as dicts."""
        return await in_thread(self._result.to_list)

    async def scalar(self) -> Any:
        """Reads a result of one row and one column as that value."""
        return await in_thread(self._result.scalar)

    def cancel(self) -> None:
        """Gives the statement up."""
        self._result.cancel()

    async def close(self) -> None:
        """Gives up the rows that are left."""
        await in_thread(self._result.close)

    async def __aenter__(self) -> AsyncResult:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
