"""Parts of a statement that are SQL, and must not end the part they are put into."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .errors import InvalidInputError

_PIECE = re.compile(
    r"""
    (?<!\w)[eE]'(?:\\.|''|[^'\\])*' | '(?:''|[^'])*' | "(?:""|[^"])*"
    | (?<![\w$])\$((?:[^\W\d]\w*)?)\$.*?\$\1\$
    | --[^\n]* | /\* | [][(){};'"] | (?<![\w$])\$(?:[^\W\d]\w*)?\$
    """,
    re.S | re.X,
)
_COMMENT = re.compile(r"/\*|\*/")


def _outside(sql: str) -> Iterator[str]:
    """Brackets and semicolons outside of strings, names and comments, and what begins one of these that does not end."""
    at = 0
    while found := _PIECE.search(sql, at):
        at, piece = found.end(), found.group()
        if piece == "/*":
            depth = 1
            while depth and (mark := _COMMENT.search(sql, at)):
                depth += 1 if mark.group() == "/*" else -1
                at = mark.end()
            if depth:
                yield piece
        elif len(piece) == 1 or re.fullmatch(r"\$\w*\$", piece):
            yield piece


def expression(sql: str) -> str:
    """The text, if it is one expression or a list of them as far as brackets tell."""
    opened: list[str] = []
    for piece in _outside(sql):
        if piece in "([{":
            opened.append({"(": ")", "[": "]", "{": "}"}[piece])
        elif piece not in ")]}":
            what = "a semicolon ends it" if piece == ";" else f"what begins with {piece} has no end"
            raise InvalidInputError(f"SYNTAX_ERROR: {sql!r} is no expression: {what}", code="SYNTAX_ERROR")
        elif not opened or opened.pop() != piece:
            raise InvalidInputError(f"SYNTAX_ERROR: {sql!r} is no expression: it closes a {piece} too many", code="SYNTAX_ERROR")
    if opened:
        raise InvalidInputError(f"SYNTAX_ERROR: {sql!r} is no expression: it lacks a {opened[-1]}", code="SYNTAX_ERROR")
    return sql


def enclosed(sql: str) -> str:
    """The expression in parentheses, which a comment at its end does not swallow."""
    return f"({expression(sql)}\n)" if "--" in sql else f"({expression(sql)})"


def one_statement(sql: str) -> str:
    """The text, if it is one statement; without a semicolon at its end."""
    rest = sql.rstrip()
    ends = [piece for piece in _outside(rest) if piece == ";"]
    if ends == [";"] and rest.endswith(";"):
        return rest[:-1]
    if ends:
        raise InvalidInputError("SYNTAX_ERROR: the query is more than one statement", code="SYNTAX_ERROR")
    return sql
