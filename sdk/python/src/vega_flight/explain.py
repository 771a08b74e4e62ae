"""How a query would be kept up to date, as EXPLAIN STREAMING says it."""

from __future__ import annotations

import html
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd


_PLACED = ("node_id", "parent_id", "operator", "detail", "admitted", "reason")  # the text has a place for them


class Explanation:
    """A table of operators, an operator before its inputs. Notebooks render it."""

    def __init__(self, table: pa.Table) -> None:
        self.table = table

    @property
    def admitted(self) -> bool:
        """Whether the query can be kept up to date."""
        return "admitted" not in self.table.column_names or all(self.table.column("admitted").to_pylist())

    @property
    def reasons(self) -> list[str]:
        """Every reason why not."""
        if "reason" not in self.table.column_names:
            return []
        return [line for text in self.table.column("reason").to_pylist() if text for line in text.splitlines()]

    def to_arrow(self) -> pa.Table:
        """The rows of the statement."""
        return self.table

    def to_pandas(self) -> pd.DataFrame:
        """The rows of the statement as a pandas frame."""
        return self.table.to_pandas()

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Gives the operators."""
        return iter(self.table.to_pylist())

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def _lines(self) -> Iterator[tuple[int, dict[str, Any]]]:
        depth: dict[int, int] = {}
        for row in self:
            level = depth.get(row["parent_id"], -1) + 1
            depth[row["node_id"]] = level
            yield level, row

    def __str__(self) -> str:
        lines = []
        names = [n for n in self.table.column_names if n not in _PLACED]
        for level, row in self._lines():
            facts = [f"{n}={row[n]}" for n in names if row[n] not in (None, "")]
            lines.append("  " * level + f"{row['operator']} {row['detail']}  " + " ".join(facts))
        return "\n".join([*lines, *self.reasons])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        names = [n for n in self.table.column_names if n not in ("node_id", "parent_id")]
        head = "".join(f"<th>{html.escape(n)}</th>" for n in names)
        body = []
        for level, row in self._lines():
            cells = []
            for n in names:
                value = "" if row[n] is None else html.escape(str(row[n])).replace("\n", "<br>")
                indent = f' style="padding-left:{level + 0.5}em;text-align:left"' if n == "operator" else ' style="text-align:left"'
                cells.append(f"<td{indent}>{value}</td>")
            body.append(f"<tr>{''.join(cells)}</tr>")
        return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>"
