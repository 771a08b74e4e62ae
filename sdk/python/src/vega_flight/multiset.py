"""Rows of an Arrow table as a multiset: taking out rows by their values, or by a key."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from .errors import FailedError


def repeated(rows: pa.Table, weights: pa.Array) -> pa.Table:
    """Each row as often as its weight says."""
    counts = weights.to_pylist()
    if all(n == 1 for n in counts):
        return rows
    return rows.take(pa.array([i for i, n in enumerate(counts) for _ in range(n)], pa.int64()))


def without(rows: pa.Table, gone: pa.Table) -> pa.Table:
    """The rows but one for each of `gone` that is equal in all columns; each of them has to be there."""
    if gone.num_rows == 0:
        return rows
    codes = _codes(pa.concat_tables([rows, gone]))
    wanted = Counter(codes.slice(rows.num_rows).to_pylist())
    here = codes.slice(0, rows.num_rows)
    drop: list[int] = []
    for index in _indices(here, wanted):
        code = here[index].as_py()
        if wanted[code] > 0:
            wanted[code] -= 1
            drop.append(index)
    if sum(wanted.values()):
        raise FailedError(
            f"{sum(wanted.values())} rows went that the copy does not have",
            code="COPY_DIFFERS",
            hint="begin with the content: apply(None) on a new subscription",
        )
    return _but(rows, drop)


def without_keys(rows: pa.Table, keys: pa.Table) -> pa.Table:
    """The rows that have none of these keys; `keys` has the key's columns only."""
    if keys.num_rows == 0 or rows.num_rows == 0:
        return rows
    if keys.num_columns == 0:  # at most one row, which any change is about
        return rows.slice(0, 0)
    codes = _codes(pa.concat_tables([rows.select(keys.column_names), keys]))
    wanted = set(codes.slice(rows.num_rows).to_pylist())
    return _but(rows, _indices(codes.slice(0, rows.num_rows), wanted))


def _but(rows: pa.Table, drop: list[int]) -> pa.Table:
    if not drop:
        return rows
    gone = pc.is_in(pa.array(range(rows.num_rows), pa.int64()), value_set=pa.array(drop, pa.int64()))
    return rows.filter(pc.invert(gone))


def _indices(codes: pa.Array, wanted: Any) -> list[int]:
    found: list[int] = pc.indices_nonzero(pc.is_in(codes, value_set=pa.array(list(wanted), pa.int64()))).to_pylist()
    return found


def _codes(table: pa.Table) -> pa.Array:
    """A number for each row; rows have the same when all their values are the same. NULL is a value."""
    codes = pa.array([0] * table.num_rows, pa.int64())
    for column in table.columns:
        coded = _plain(pa.chunked_array(column.chunks, column.type)).combine_chunks()
        coded = coded.dictionary_encode(null_encoding="encode") if not pa.types.is_dictionary(coded.type) else coded
        width = max(len(coded.dictionary), 1)
        both = pc.add(pc.multiply(codes, pa.scalar(width, pa.int64())), coded.indices.cast(pa.int64()))
        codes = both.dictionary_encode().indices.cast(pa.int64())
    return codes


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in a form whose equal values are equal bytes, and that can be numbered."""
    kind = column.type
    if isinstance(kind, pa.ExtensionType):
        return _plain(pa.chunked_array([c.storage for c in column.chunks], kind.storage_type))
    if pa.types.is_floating(kind):
        zero = pc.equal(column, pa.scalar(0, kind))
        return pc.if_else(zero, pa.scalar(0, kind), column)
    nested = pa.types.is_nested(kind) or pa.types.is_interval(kind) or pa.types.is_null(kind)
    if nested or pa.types.is_decimal(kind) or pa.types.is_union(kind):
        column = column.cast(_counted(kind))
        return pa.chunked_array([pa.array([repr(value.as_py()) for value in column], pa.string())], pa.string())
    return column


def _counted(kind: pa.DataType) -> pa.DataType:
    """The type with numbers for times: Python has no infinite ones, none of the year 10000, and no nanoseconds."""
    if pa.types.is_map(kind):
        return pa.map_(_counted(kind.key_type), kind.item_field.with_type(_counted(kind.item_type)))
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_counted(field.type)) for field in kind])
    for is_list, like in (
        (pa.types.is_fixed_size_list, lambda field: pa.list_(field, kind.list_size)),
        (pa.types.is_large_list, pa.large_list),
        (pa.types.is_list, pa.list_),
    ):
        if is_list(kind):
            return like(kind.value_field.with_type(_counted(kind.value_type)))
    if pa.types.is_date32(kind) or pa.types.is_time32(kind):
        return pa.int32()
    if pa.types.is_timestamp(kind) or pa.types.is_date64(kind) or pa.types.is_time64(kind) or pa.types.is_duration(kind):
        return pa.int64()
    return kind
