"""Names of tables and views, and literals, as SQL."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta

from .errors import InvalidInputError

_PART = re.compile(r'"((?:[^"]|"")*)"|([^."]+)')


def quoted(identifier: str) -> str:
    """The identifier as SQL."""
    return '"' + identifier.replace('"', '""') + '"'


def text(value: str) -> str:
    """The string as an SQL literal."""
    return "'" + value.replace("'", "''") + "'"


def option(value: object) -> str:
    """The value of an option in WITH (…) or SET (…)."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, timedelta):
        return f"INTERVAL '{value // timedelta(microseconds=1)} microseconds'"
    if isinstance(value, str):
        return text(value)
    raise InvalidInputError(f"an option's value is a bool, int, str or timedelta, not {value!r}", code="INVALID_OPTION")


def options(values: Mapping[str, object]) -> str:
    """All options that are given, as `(name = value, …)`; empty when there is none."""
    given = {k: v for k, v in values.items() if v is not None}
    for name in given:
        if not re.fullmatch(r"[a-z_][a-z0-9_]*", name):
            raise InvalidInputError(f"there is no option {name!r}", code="UNKNOWN_OPTION")
    return "(" + ", ".join(f"{k} = {option(v)}" for k, v in given.items()) + ")" if given else ""


@dataclass(frozen=True)
class Name:
    """A table's or view's name: `name` or `schema.name`, parts with a period in double quotes."""

    table: str
    schema: str | None = None

    @classmethod
    def parse(cls, name: str, namespace: list[str] | None = None) -> Name:
        """Reads a name as users write it."""
        if not isinstance(name, str):
            raise TypeError(f"a table's name is a str, not {type(name).__name__}")
        if not name:
            raise InvalidInputError('Invalid table name (""): it must not be empty')
        parts, at = [], 0
        while True:
            found = _PART.match(name, at)
            if not found:
                raise InvalidInputError(f'Invalid table name ("{name}"): a part of it is empty, or its quotes are not closed')
            inside, plain = found.groups()
            parts.append(inside.replace('""', '"') if inside is not None else plain)
            at = found.end()
            if at == len(name):
                break
            if name[at] != ".":
                raise InvalidInputError(f'Invalid table name ("{name}"): a period must follow a part in quotes')
            at += 1
        if "\0" in name or not all(parts):
            raise InvalidInputError(f'Invalid table name ("{name}"): a part of it is empty')
        if len(parts) == 3 and parts[0].lower() == "lake":
            parts = parts[1:]
        if namespace and len(parts) == 1:
            parts = [*namespace, *parts]
        if len(parts) > 2:
            raise InvalidInputError(f'Invalid table name ("{name}"): it is a name, or a schema and a name')
        return cls(parts[-1], parts[0] if len(parts) == 2 else None)

    @property
    def sql(self) -> str:
        """The name in a statement."""
        return quoted(self.table) if self.schema is None else f"{quoted(self.schema)}.{quoted(self.table)}"

    def __str__(self) -> str:
        parts = [self.table] if self.schema is None else [self.schema, self.table]
        return ".".join(quoted(p) if "." in p or '"' in p else p for p in parts)


def listed(schema: str, table: str) -> str:
    """A name as lists give it: without the schema that is looked in anyway."""
    return str(Name(table, None if schema == "main" else schema))
