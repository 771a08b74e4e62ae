"""Parts of a statement that are SQL, and must not end the part they are put into."""

from __future__ import annotations

import re
from collections.abc import Iterator

from .errors import InvalidInputError

_PIECE = re.compile(
    r"""
    (?P<odd>[^\x00-\x7f])(?=\$|[eE]')
    | (?<![\w$])[eE]'(?:\\.|''|[^'\\])*' | '(?:''|[^'])*' | "(?:""|[^"])*"
    | (?<![\w$])\$(?P<tag>(?:[^\W\d]\w*)?)\$.*?\$(?P=tag)\$
    | --[^\r\n]* | /\* | [][(){};'"] | (?<![\w$])\$(?:[^\W\d]\w*)?\$
    """,
    re.S | re.X,
)
_COMMENT = re.compile(r"/\*|\*/")


def _outside(sql: str) -> Iterator[tuple[int, str]]:
    """Brackets and semicolons outside of strings, names and comments, and what begins one of these without an end, with places."""
    at = 0
    while found := _PIECE.search(sql, at):
        at, piece = found.end(), found.group()
        if found["odd"]:  # whether it is a part of a name or a space decides what follows
            raise InvalidInputError(f"SYNTAX_ERROR: what follows {piece!r} is ambiguous: quote the name", code="SYNTAX_ERROR")
        if piece == "/*":
            end = _end_of_comment(sql, at)
            if end is None:
                yield found.start(), piece
            at = end or len(sql)
        elif len(piece) == 1 or re.fullmatch(r"\$\w*\$", piece):
            yield found.start(), piece


def _end_of_comment(sql: str, at: int) -> int | None:
    depth = 1
    while depth and (mark := _COMMENT.search(sql, at)):
        depth += 1 if mark.group() == "/*" else -1
        at = mark.end()
    return None if depth else at


def _says_nothing(sql: str) -> bool:
    while sql := sql.lstrip(" \t\r\n;"):
        if sql.startswith("--"):
            _, _, sql = sql.replace("\r", "\n").partition("\n")
        elif sql.startswith("/*") and (end := _end_of_comment(sql, 2)):
            sql = sql[end:]
        else:
            return False
    return True


def expression(sql: str) -> str:
    """The text, if it is one expression or a list of them as far as brackets tell."""
    opened: list[str] = []
    for _, piece in _outside(sql):
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
    """The text, if it is one statement; without a semicolon at its end, and what comments come after it."""
    for at, piece in _outside(sql):
        if piece == ";":
            if not sql[:at].strip() or not _says_nothing(sql[at:]):
                raise InvalidInputError("SYNTAX_ERROR: the query is more than one statement", code="SYNTAX_ERROR")
            return sql[:at]
    return sql
