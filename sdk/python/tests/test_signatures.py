"""A program written for LanceDB's view API can be called as it is: every call takes what LanceDB's takes."""

from __future__ import annotations

import inspect
import re
from typing import Any

import adbc_driver_manager
import pytest
from needed import needed
from server import ROOT

import vega_flight
from vega_flight import errors

lancedb = needed("lancedb")

VIEWS = "create_materialized_view create_materialized_view_async open_materialized_view list_materialized_views"
CONNECTION = f"{VIEWS} drop_materialized_view drop_materialized_view_async".split()
PAIRS = [
    (vega_flight.Connection, lancedb.db.DBConnection, CONNECTION),
    (vega_flight.AsyncConnection, lancedb.db.AsyncConnection, CONNECTION),
    (vega_flight.MaterializedView, lancedb.materialized_view.MaterializedView, ["refresh", "refresh_async"]),
    (
        vega_flight.AsyncMaterializedView,
        lancedb.materialized_view.AsyncMaterializedView,
        ["refresh", "refresh_async", "definition"],
    ),
    (vega_flight.Job, lancedb.job.Job, ["wait", "cancel", "status"]),
    (vega_flight.AsyncJob, lancedb.job.AsyncJob, ["wait", "cancel", "status"]),
]
CALLS = [pytest.param(ours, theirs, name, id=f"{ours.__name__}.{name}") for ours, theirs, names in PAIRS for name in names]

# Where the two differ, as docs/python.md says.
RETURNS = {"List[str]": "Page", "None": "str"}


def plain(annotation: Any) -> str:
    return str(getattr(annotation, "__name__", annotation)).strip("'")


@pytest.mark.parametrize(("ours", "theirs", "name"), CALLS)
def test_calls_take_what_lancedbs_take(ours, theirs, name):
    here, there = inspect.signature(getattr(ours, name)), inspect.signature(getattr(theirs, name))
    assert inspect.iscoroutinefunction(getattr(ours, name)) == inspect.iscoroutinefunction(getattr(theirs, name))
    shared = list(there.parameters.values())
    by_place = [p.name for p in shared if p.kind is p.POSITIONAL_OR_KEYWORD]
    assert [p.name for p in here.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD][: len(by_place)] == by_place
    for p in shared:
        q = here.parameters[p.name]
        assert q.kind is p.kind, p.name
        if p.name != "source":  # which query= stands in for
            assert q.default == p.default, p.name
    for name, q in here.parameters.items():  # what is more need not be given
        assert name in there.parameters or q.default is not q.empty
    returns = plain(there.return_annotation)
    if there.return_annotation is not there.empty and not returns.startswith("~"):
        assert plain(here.return_annotation) in (returns, RETURNS.get(returns))


def test_the_calls_that_the_documentation_names():
    assert str(inspect.signature(vega_flight.Connection.create_materialized_view)) == (
        "(self, name: 'str', source: 'str | None' = None, *, select: 'SelectArg' = None, where: 'str | None' = None, "
        "limit: 'int | None' = None, with_no_data: 'bool' = False, query: 'str | None' = None, "
        "refresh_interval: 'Interval | None' = None, refresh_cron: 'str | None' = None, refresh_timezone: 'str | None' = None, "
        "max_staleness: 'Interval | None' = None) -> 'MaterializedView'"
    )
    view = vega_flight.StreamingMaterializedView
    for name in ["status", "wait_ready", "pause", "resume", "restart", "rebuild", "set", "explain", "subscribe"]:
        assert inspect.isfunction(getattr(view, name))
    assert list(inspect.signature(view.subscribe).parameters)[1:4] == ["snapshot", "as_of", "mode"]
    job = vega_flight.Job
    assert all(isinstance(getattr(job, name), property) for name in ("id", "progress"))
    assert "timeout" in inspect.signature(job.wait).parameters


def test_properties_and_fields():
    for cls in (vega_flight.MaterializedView, vega_flight.AsyncMaterializedView):
        assert isinstance(cls.name, property)
        assert isinstance(cls.table, property)
    assert isinstance(vega_flight.MaterializedView.definition, property)
    theirs = lancedb.materialized_view.MaterializedViewDefinition
    assert list(vega_flight.MaterializedViewDefinition.__dataclass_fields__) == list(theirs.__dataclass_fields__)
    result = vega_flight.RefreshMaterializedViewResult("no_op", 0, 1, 2)
    assert {name: getattr(result, name) for name in ("mode", "rows_written", "source_version", "version")} == {
        "mode": "no_op",
        "rows_written": 0,
        "source_version": 1,
        "version": 2,
    }


BUILTIN = {
    "Invalid": ("InvalidArgument", (ValueError, NotImplementedError)),
    "NotFound": ("NotFound", (ValueError, LookupError, ConnectionError, RuntimeError)),
    "Exists": ("AlreadyExists", ValueError),
    "Denied": ("PermissionDenied", PermissionError),
    "Unauthenticated": ("Unauthenticated", PermissionError),
    "Unavailable": ("Unavailable", (ConnectionError, RuntimeError)),
    "Unimplemented": ("Unimplemented", NotImplementedError),
    "Canceled": ("Canceled", vega_flight.JobCancelledError),
    "Deadline": ("DeadlineExceeded", TimeoutError),
}


def test_every_code_of_the_server_has_its_exception():
    """The name that the server gives is in `code`, what helps in `hint`, and the exception is a built-in one that fits."""
    codes = re.findall(r'^\s+\w+\s+= define\("([A-Z_]+)", (\w+),', (ROOT / "fault" / "codes.go").read_text(), re.M)
    assert len(codes) > 50
    for code, sort in codes:
        status, builtin = BUILTIN.get(sort, ("FailedPrecondition", (RuntimeError, NotImplementedError, ValueError)))
        text = f"X: [FlightSQL] {code}: text ({status}; DoGet)"
        called = errors.translated(
            adbc_driver_manager.OperationalError(text, status_code=adbc_driver_manager.AdbcStatusCode.UNKNOWN)
        )
        for error in (called, errors.named(code, "text", "do so")):
            assert error.code == code
            assert "text" in str(error)
        assert errors.named(code, "text", "do so").hint == "do so"
        if not isinstance(called, vega_flight.LakeError):
            assert isinstance(called, builtin), (code, sort, type(called))
