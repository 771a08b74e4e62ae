"""The parts of a query that are given apart: `select`, `where` and `limit`, as LanceDB's view API has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from .errors import InvalidExpressionError, InvalidInputError, InvalidLimitError, VegaError
from .fragment import enclosed
from .names import quoted

if TYPE_CHECKING:
    from .session import Session

SelectArg: TypeAlias = str | Sequence[str | tuple[str, str]] | dict[str, str] | None
"""A column name, names and `(alias, SQL expression)` pairs, or a dict of such pairs; None is all columns."""

_LARGEST_LIMIT = 2**63 - 1


class ColumnExistsError(InvalidInputError, RuntimeError):
    """Two columns of a view have the same name."""


def pairs(select: SelectArg) -> list[tuple[str, str]] | None:
    """The columns as (name, SQL expression); a bare name is quoted, expressions are as they are."""
    if select is None:
        return None
    if isinstance(select, str):
        select = [select]
    items = list(select.items()) if isinstance(select, dict) else list(select)
    found: list[tuple[str, str]] = []
    for item in items:
        if isinstance(item, str):
            pair = (item, quoted(item))
        elif isinstance(item, (tuple, list)) and len(item) == 2 and all(isinstance(part, str) for part in item):
            pair = (item[0], item[1])
        else:
            raise InvalidInputError(f"select takes names and (alias, expression) pairs of strings, not {item!r}")
        if not pair[0] or not pair[1].strip():
            raise InvalidInputError(f"a column of select has no name or no expression: {item!r}")
        if any(pair[0].lower() == name.lower() for name, _ in found):
            raise ColumnExistsError(f"Column '{pair[0]}' already exists")
        found.append(pair)
    return found or None


def columns(select: SelectArg) -> str:
    """The list between SELECT and FROM."""
    found = pairs(select)
    if found is None:
        return "*"
    return ", ".join(e if e == quoted(name) else _column(name, e) for name, e in found)


def _column(name: str, sql: str) -> str:
    try:
        return f"{enclosed(sql)} AS {quoted(name)}"
    except InvalidInputError as e:
        raise InvalidExpressionError(f"Invalid expression for column '{name}': {e}", code=e.code) from None


def condition(where: str, what: str = "filter") -> str:
    """The condition, in parentheses."""
    try:
        return enclosed(where)
    except InvalidInputError as e:
        raise InvalidInputError(f"Invalid input, invalid {what}: {e}", code=e.code) from None


def checked_limit(limit: int | None) -> int | None:
    """The limit, if it is one."""
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, int):
        raise TypeError(f"limit is a whole number, not {limit!r}")
    if limit < 0:
        raise InvalidLimitError(f"limit is 0 or more, not {limit}")
    if limit > _LARGEST_LIMIT:
        raise InvalidLimitError(f"limit {limit} exceeds the maximum of {_LARGEST_LIMIT}")
    return limit


def query(source: str, select: SelectArg = None, where: str | None = None, limit: int | None = None) -> str:
    """The SELECT; `source` is SQL."""
    parts = [f"SELECT {columns(select)}", f"FROM {source}"]
    if where is not None:
        parts.append(f"WHERE {condition(where)}")
    if checked_limit(limit) is not None:
        parts.append(f"LIMIT {limit}")
    return " ".join(parts)


_BLAMED = ("SQL_ERROR", "SYNTAX_ERROR", "STATEMENT_NOT_ALLOWED", "OBJECT_NOT_FOUND")


def blamed(
    error: VegaError, session: Session, source: str, columns: list[tuple[str, str]] | None, conditions: dict[str, str | None]
) -> VegaError:
    """Says which expression an error of the server is about, of those that were put together."""
    if error.code not in _BLAMED:
        return error
    for column, expression in columns or []:
        wrong = _refusal(session, f"SELECT {enclosed(expression)} FROM {source}")
        if wrong is not None:
            return InvalidExpressionError(f"Invalid expression for column '{column}': {wrong}", code=wrong.code, hint=wrong.hint)
    for what, condition in conditions.items():
        if condition is None:
            continue
        wrong = _refusal(session, f"SELECT 1 FROM {source} WHERE {enclosed(condition)}")
        if wrong is not None:
            return InvalidInputError(f"Invalid input, invalid {what}: {wrong}", code=wrong.code, hint=wrong.hint)
    return error


def _refusal(session: Session, sql: str) -> VegaError | None:
    try:
        session.schema(sql)
    except VegaError as e:
        return e if e.code in _BLAMED else None
    return None
