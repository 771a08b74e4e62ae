"""Prints docs/python-api.md: python reference.py > ../../docs/python-api.md. The package's tests check that the page is so."""

from __future__ import annotations

import dataclasses
import inspect
from types import FunctionType

import vega_flight

HEAD = """# Python: reference

Made of the package's signatures and docstrings by `sdk/python/reference.py`. The [guide](python.md) says how they go together.
"""


def signature(name: str, function: object, method: bool = False) -> str:
    """The call as one writes it; more than a line's length is broken after each comma."""
    found = inspect.signature(function)  # type: ignore[arg-type]
    parameters = list(found.parameters.values())[method:]
    shown = [str(p).replace("'", "") if p.default is inspect.Parameter.empty else _with_default(p) for p in parameters]
    for i, p in enumerate(parameters):
        if p.kind is p.KEYWORD_ONLY and not any(q.kind in (q.KEYWORD_ONLY, q.VAR_POSITIONAL) for q in parameters[:i]):
            shown.insert(i, "*")
    result = "" if found.return_annotation in (inspect.Signature.empty, "None") else f" -> {_plain(found.return_annotation)}"
    start = "async " if inspect.iscoroutinefunction(function) else ""
    line = f"{start}{name}({', '.join(shown)}){result}"
    if len(line) <= 100:
        return line
    return f"{start}{name}(\n" + "".join(f"    {s},\n" for s in shown) + f"){result}"


def _with_default(p: inspect.Parameter) -> str:
    annotation = "" if p.annotation is inspect.Parameter.empty else f": {_plain(p.annotation)}"
    return f"{p.name}{annotation} = {p.default!r}"


def _plain(annotation: object) -> str:
    return annotation if isinstance(annotation, str) else getattr(annotation, "__name__", str(annotation))


def text(thing: object) -> str:
    """The docstring."""
    return inspect.cleandoc(getattr(thing, "__doc__", None) or "")


def members(cls: type) -> list[tuple[str, object]]:
    """What the class itself and the package's classes before it define, in the order in which it is written."""
    found: dict[str, object] = {}
    for base in reversed([c for c in cls.__mro__ if c.__module__.startswith("vega_flight")]):
        found |= {n: m for n, m in vars(base).items() if not n.startswith("_")}
    return list(found.items())


def class_section(name: str, cls: type) -> list[str]:
    """A class: what it is, and its members; of asynchronous twins, the calls."""
    out = [f"## {name}", ""]
    if dataclasses.is_dataclass(cls):
        out += [text(cls), ""] + [f"- `{f.name}: {_plain(f.type)}`" for f in dataclasses.fields(cls)] + [""]
    else:
        out += [text(cls), ""]
    calls: list[str] = []
    for member_name, member in members(cls):
        if isinstance(member, property):
            kind = _plain(inspect.signature(member.fget).return_annotation) if member.fget else ""
            calls.append(f"{member_name}: {kind}")
            if not name.startswith("Async"):
                out += [f"**`{member_name}`**: `{kind}`. {text(member)}", ""]
        elif isinstance(member, (FunctionType, classmethod, staticmethod)):
            function = member if isinstance(member, FunctionType) else member.__func__
            call = signature(member_name, function, method=not isinstance(member, staticmethod))
            calls.append(call)
            if not name.startswith("Async"):
                out += ["```text", call, "```", "", text(function), ""]
    if name.startswith("Async") and calls:
        out += ["```text", *calls, "```", ""]
    return out


def page() -> str:
    """The whole page."""
    functions, classes, errors = [], [], []
    for name in vega_flight.__all__:
        thing = getattr(vega_flight, name)
        if isinstance(thing, FunctionType):
            functions.append((name, thing))
        elif isinstance(thing, type) and issubclass(thing, Exception):
            errors.append((name, thing))
        elif isinstance(thing, type):
            classes.append((name, thing))
    out = [HEAD, "## Functions", ""]
    for name, function in functions:
        out += ["```text", signature(name, function), "```", "", text(function), ""]
    for name, cls in sorted(classes, key=lambda c: (c[0].startswith("Async"), not c[0].endswith("Connection"), c[0])):
        out += class_section(name, cls)
    out += ["## Errors", "", "| exception | also a | |", "|---|---|---|"]
    for name, error in errors:
        also = ", ".join(b.__name__ for b in error.__mro__[1:] if b not in (Exception, BaseException, object))
        out.append(f"| `{name}` | {also or 'Exception'} | {' '.join(text(error).split())} |")
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    print(page(), end="")
