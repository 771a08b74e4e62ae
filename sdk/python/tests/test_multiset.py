from __future__ import annotations

import random
from collections import Counter
from decimal import Decimal

import pyarrow as pa
import pytest

from vega_flight import FailedError
from vega_flight.multiset import repeated, without, without_keys

KINDS = {
    "integers": (pa.int32(), [0, 1, -1, None, 2**31 - 1]),
    "texts": (pa.string(), ["", "a", None, "b c", "\0"]),
    "doubles": (pa.float64(), [0.0, -0.0, None, float("nan"), float("inf"), 1.5]),
    "booleans": (pa.bool_(), [True, False, None]),
    "decimals": (pa.decimal128(10, 2), [Decimal("1.10"), None, Decimal("-3.00")]),
    "lists": (pa.list_(pa.int64()), [[], [1], [None], None, [1, 2]]),
    "structs": (pa.struct([("a", pa.string())]), [{"a": "x"}, {"a": None}, None]),
    "blobs": (pa.binary(), [b"", b"\0", None]),
    "times": (pa.timestamp("us", "UTC"), [0, 1, None]),
}


def key(row):
    return tuple("nan" if v != v else (0.0 if v == 0 and isinstance(v, float) else repr(v)) for v in row.values())


@pytest.mark.parametrize("kind", KINDS)
def test_rows_go_by_their_values(kind):
    type_, values = KINDS[kind]
    seed = random.Random(kind)
    for _ in range(40):
        rows = [{"v": seed.choice(values), "w": seed.choice(values)} for _ in range(seed.randrange(12))]
        gone = seed.sample(rows, seed.randrange(len(rows) + 1))
        schema = pa.schema([("v", type_), ("w", type_)])
        left = without(pa.Table.from_pylist(rows, schema=schema), pa.Table.from_pylist(gone, schema=schema))
        assert left.schema == schema
        want = Counter(key(r) for r in pa.Table.from_pylist(rows, schema=schema).to_pylist())
        want -= Counter(key(r) for r in pa.Table.from_pylist(gone, schema=schema).to_pylist())
        assert Counter(key(r) for r in left.to_pylist()) == want


def test_a_row_that_is_not_there():
    with pytest.raises(FailedError) as e:
        without(pa.table({"i": [1, 1]}), pa.table({"i": [1, 1, 1]}))
    assert e.value.code == "COPY_DIFFERS"


def test_rows_go_by_their_key():
    rows = pa.table({"k": [1, 2, None, 3], "j": ["a", "a", "a", None], "v": [1, 2, 3, 4]})
    left = without_keys(rows, pa.table({"k": [2, None, 3], "j": ["a", "a", "b"]}))
    assert left.column("v").to_pylist() == [1, 4]
    assert without_keys(rows, rows.select([]).slice(0, 1)).num_rows == 0
    assert without_keys(rows.slice(0, 0), pa.table({"k": [1], "j": ["a"]})).num_rows == 0


def test_rows_come_as_often_as_they_weigh():
    assert repeated(pa.table({"i": [1, 2, 3]}), pa.array([2, 0, 1])).column("i").to_pylist() == [1, 1, 3]


@pytest.mark.parametrize("leaf", [pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.date32(), pa.time64("us")], ids=str)
def test_times_that_python_has_not(leaf):
    """Infinite ones, those after the year 9999, and midnight at the end of a day."""
    last = {pa.date32(): 2**31 - 1, pa.time64("us"): 86_400_000_000}.get(leaf, 2**63 - 1)
    times = pa.array([last, 1, None], pa.int32() if leaf == pa.date32() else pa.int64()).view(leaf)
    for column in (
        times,
        pa.ListArray.from_arrays([0, 2, 3, 3], times),
        pa.FixedSizeListArray.from_arrays(times, 1),
        pa.StructArray.from_arrays([times, pa.array([1, 1, 1])], ["a", "b"]),
        pa.MapArray.from_arrays([0, 1, 2, 3], pa.array(["a", "b", "c"]), times),
    ):
        rows = pa.table({"t": column})
        for gone in range(3):
            left = without(rows, rows.slice(gone, 1))
            assert left.equals(pa.concat_tables([rows.slice(0, gone), rows.slice(gone + 1)]))
