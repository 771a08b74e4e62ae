"""Rows that users bring, as a stream of Arrow batches."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from .errors import InvalidInputError

Data = Any
"""An Arrow table, batch or reader, a pandas or polars frame, anything with Arrow's C stream, a list of dicts, or batches."""


def reader(data: Data, schema: pa.Schema | None = None) -> pa.RecordBatchReader:
    """Makes a stream of what `create_table` and `add` are given."""
    made = _reader(data, schema)
    for field in made.schema:
        if pa.types.is_null(field.type):
            raise InvalidInputError(f"column {field.name!r} has only missing values: give a schema that says its type")
    if not made.schema.names:
        raise InvalidInputError("the data has no columns")
    return _begun(made)


def _begun(source: pa.RecordBatchReader) -> pa.RecordBatchReader:
    """The same stream with at least one batch: the driver sends the columns with the first one."""

    def batches() -> Iterator[pa.RecordBatch]:
        some = False
        for batch in source:
            some = True
            yield batch
        if not some:
            yield pa.RecordBatch.from_pylist([], schema=source.schema)

    return pa.RecordBatchReader.from_batches(source.schema, batches())


def _reader(data: Data, schema: pa.Schema | None) -> pa.RecordBatchReader:
    if data is None:
        if schema is None:
            raise InvalidInputError("either data or a schema is needed")
        return schema.empty_table().to_reader()
    if isinstance(data, pa.RecordBatchReader):
        return data.cast(schema) if schema is not None else data
    if isinstance(data, pa.RecordBatch):
        data = pa.Table.from_batches([data])
    if isinstance(data, pa.Table):
        return (data.cast(schema) if schema is not None else data).to_reader(65536)
    kind = type(data).__module__.partition(".")[0]
    if kind == "pandas":
        return (
            pa.Table.from_pandas(_indexed(data), schema=schema, preserve_index=False).replace_schema_metadata(None).to_reader(65536)
        )
    if kind == "polars":
        return _reader(data.to_arrow(), schema)
    if isinstance(data, Mapping):
        return pa.table(dict(data), schema=schema).to_reader(65536)
    if hasattr(data, "__arrow_c_stream__"):
        return _reader(pa.RecordBatchReader.from_stream(data), schema)
    if isinstance(data, Iterable) and not isinstance(data, (str, bytes)):
        return _iterated(iter(data), schema)
    hint = None
    if isinstance(data, (str, os.PathLike)):
        hint = "read the file first: pyarrow.csv.read_csv(file), or pyarrow.parquet.ParquetFile(file).iter_batches()"
    raise InvalidInputError(f"rows cannot be made of a {type(data).__name__}", hint=hint)


def _indexed(frame: Any) -> Any:
    """The frame with the index as columns where it has names; without a name it only numbers the rows."""
    if not any(name is not None for name in getattr(frame, "index", frame).names):
        return frame
    taken = [name for name in frame.index.names if name in frame.columns]
    if taken:
        raise InvalidInputError(f"the frame has an index and a column {taken[0]!r}", hint="reset_index(drop=True), or rename one")
    return frame.reset_index()


def _iterated(items: Iterator[Any], schema: pa.Schema | None) -> pa.RecordBatchReader:
    """Batches that come one by one, or dicts."""
    first = next(items, None)
    if first is None:
        if schema is None:
            raise InvalidInputError("no rows came: give a schema")
        return schema.empty_table().to_reader()
    if isinstance(first, Mapping):
        rows = [dict(first), *(dict(row) for row in items)]
        return pa.Table.from_pylist(rows, schema=schema).to_reader(65536)
    if not isinstance(first, (pa.RecordBatch, pa.Table)):
        raise InvalidInputError(f"rows are dicts or Arrow batches, not {type(first).__name__}")
    schema = schema if schema is not None else first.schema

    def batches() -> Iterator[pa.RecordBatch]:
        item: Any = first
        while item is not None:
            table = pa.Table.from_batches([item]) if isinstance(item, pa.RecordBatch) else item
            yield from table.cast(schema).to_batches()
            item = next(items, None)

    return pa.RecordBatchReader.from_batches(schema, batches())


def counted(source: pa.RecordBatchReader, tell: Callable[[int], None]) -> pa.RecordBatchReader:
    """The same stream; `tell` gets the rows that were sent after each batch."""

    def batches() -> Iterator[pa.RecordBatch]:
        sent = 0
        for batch in source:
            yield batch
            sent += batch.num_rows
            tell(sent)

    return pa.RecordBatchReader.from_batches(source.schema, batches())
