"""What a subscription tells: rows that came and went, and how far things are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa

from .multiset import repeated, without, without_keys


@dataclass(frozen=True)
class Changes:
    """Changes of one publication, or a mark between them.

    `time` is the lake snapshot that published them. `progress` is None for rows, and for marks `begin` (what was applied
    before is void, the whole content follows), `end` (the content is complete) or `at` (everything up to `time` was sent).
    Rows have a weight each, how many copies came or, negative, went; with `mode="upsert"` they have an op, `upsert` or
    `delete`, instead. `resume_token` is where who has applied everything so far goes on; None where there is no such place.
    """

    time: int
    progress: str | None
    rows: pa.RecordBatch
    weights: pa.Array | None
    ops: pa.Array | None
    resume_token: int | None

    def __len__(self) -> int:
        return int(self.rows.num_rows)

    @property
    def complete(self) -> bool:
        """Whether a copy that has applied everything so far is the view as it was at `time`."""
        return self.progress in ("end", "at")


def divided(batch: pa.RecordBatch) -> Iterator[Changes]:
    """Makes changes of a batch as it comes from the server."""
    schema = batch.schema
    first = 3
    weights = batch.column(1) if schema.names[1] == "_weight" else None
    ops = batch.column(1) if weights is None else None
    rows = pa.RecordBatch.from_arrays(batch.columns[first:], schema=pa.schema([f.remove_metadata() for f in list(schema)[first:]]))
    marks = list(zip(batch.column(0).to_pylist(), batch.column(2).to_pylist(), strict=True))
    start = 0
    for at in range(1, len(marks) + 1):
        if at < len(marks) and marks[at] == marks[start] and marks[at][1] is None:
            continue
        time, progress = marks[start]
        length = at - start
        if progress is not None:
            yield Changes(time, progress, rows.slice(0, 0), None, None, time if progress in ("end", "at") else None)
        else:
            yield Changes(
                time,
                None,
                rows.slice(start, length),
                weights.slice(start, length) if weights is not None else None,
                ops.slice(start, length) if ops is not None else None,
                None,
            )
        start = at


class Publication:
    """The changes up to a mark, collected so that they are applied together or not at all."""

    def __init__(self, schema: pa.Schema, key: list[str] | None) -> None:
        self._schema = schema
        self._key = key
        self._whole = False
        self._parts: list[Changes] = []

    def take(self, changes: Changes) -> None:
        """Adds what came."""
        if changes.progress == "begin":
            self._whole, self._parts = True, []
        elif changes.progress is None:
            self._parts.append(changes)

    @property
    def nothing(self) -> bool:
        """Whether it changes nothing."""
        return not self._whole and not self._parts

    def applied(self, state: pa.Table | None) -> pa.Table:
        """The state after it."""
        if self._whole or state is None:
            state = self._schema.empty_table()
        if self._key is not None:
            for part in self._parts:
                rows = self._table([part.rows])
                ops = part.ops.to_pylist() if part.ops is not None else []
                came = rows.filter(pa.array([op == "upsert" for op in ops], pa.bool_()))
                state = pa.concat_tables([without_keys(state, rows.select(self._key)), came])
            return state
        more = [self._kept(part, 1) for part in self._parts]
        went = [self._kept(part, -1) for part in self._parts]
        state = pa.concat_tables([state, *more])
        return without(state, pa.concat_tables([self._schema.empty_table(), *went]))

    def _kept(self, part: Changes, sign: int) -> pa.Table:
        weights = part.weights.to_pylist() if part.weights is not None else []
        counts = [max(0, n * sign) for n in weights]
        return repeated(self._table([part.rows]), pa.array(counts, pa.int64()))

    def _table(self, batches: list[pa.RecordBatch]) -> pa.Table:
        return pa.Table.from_batches(batches, schema=self._schema)
