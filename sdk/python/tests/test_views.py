from __future__ import annotations

from datetime import timedelta

import pytest

import vega_flight
from vega_flight import InvalidInputError, MaterializedViewDefinition, NotAViewError


def test_query_and_options(db, people):
    view = db.create_materialized_view(
        "v",
        query="SELECT count(*) AS n, max(age) AS oldest FROM people",
        refresh_cron="0 6 * * 1-5",
        refresh_timezone="Europe/Oslo",
        max_staleness=timedelta(days=2),
    )
    assert view.table.to_list() == [{"n": 3, "oldest": 85}]
    status = view.status()
    assert status["state"] == "READY"
    assert (status["refresh_cron"], status["refresh_timezone"]) == ("0 6 * * 1-5", "Europe/Oslo")
    assert "2 days" in status["max_staleness"] or "48:00:00" in status["max_staleness"]
    view.reset("refresh_cron", "max_staleness")
    view.set(refresh_interval="1 hour")
    assert view.status()["refresh_cron"] is None
    assert view.status()["refresh_interval"] is not None
    assert isinstance(view.definition, MaterializedViewDefinition)
    assert db.create_materialized_view("w", query=view.definition.query).definition == view.definition
    with pytest.raises(InvalidInputError) as e:
        view.set(refresh_interval="often")
    assert e.value.code == "INVALID_OPTION"


def test_wrong_declarations(db, people):
    for arguments in (
        {"source": "people", "query": "SELECT 1 AS i"},
        {"query": "SELECT 1 AS i", "select": ["i"]},
        {"query": "SELECT 1 AS i", "where": "true"},
        {"query": "SELECT 1 AS i", "limit": 1},
        {"query": "  "},
        {},
        {"source": "people", "select": [1]},
        {"source": "people", "select": [("a", "b", "c")]},
        {"source": "people", "select": [("a", " ")]},
        {"source": "people", "refresh_interval": "1 hour", "refresh_cron": "@daily"},
    ):
        with pytest.raises(ValueError) as e:  # noqa: PT011
            db.create_materialized_view("v", **arguments)
        assert isinstance(e.value, vega_flight.VegaError)
    db.create_materialized_view("v", query="SELECT 1")  # DuckDB names the column
    for limit in (1.5, True, "3"):
        with pytest.raises(TypeError):
            db.create_materialized_view("w", "people", limit=limit)
    for version in (1.5, True):
        with pytest.raises(TypeError):
            db.open_materialized_view("v").refresh(source_version=version)
    with pytest.raises(InvalidInputError):
        db.open_materialized_view("v").refresh(source_version=-1)


def test_pages(db, people):
    for name in ("a", "b", "c"):
        db.create_materialized_view(name, "people", with_no_data=True)
    seen, token = [], None
    while True:
        page = db.list_materialized_views(page_token=token, page_limit=2)
        seen.append(list(page))
        assert page.num_page_results() == len(page)
        token = page.page_token()
        if token is None:
            break
    assert seen == [["a", "b"], ["c"]]


def test_a_failing_create_leaves_a_view_without_content(db, people):
    with pytest.raises(vega_flight.VegaError) as e:
        db.create_materialized_view("v", "people", select=[("n", "name::INTEGER")])
    assert e.value.code == "SQL_ERROR"
    assert "ada" in str(e.value)
    assert db.open_materialized_view("v").status()["state"] == "NOT_POPULATED"
    job = db.open_materialized_view("v").refresh_async()
    with pytest.raises(vega_flight.JobFailedError) as e:
        job.wait()
    assert e.value.code == "SQL_ERROR"
    assert job.status() == "failed"
    assert job.progress is None


def test_rename_and_cascade(db, people):
    view = db.create_materialized_view("v", "people")
    view.rename("w")
    assert view.name == "w"
    assert list(db.list_materialized_views()) == ["w"]
    db.create_materialized_view("over", "w")
    with pytest.raises(vega_flight.VegaError) as e:
        view.drop()
    assert e.value.code == "DEPENDENT_VIEWS_EXIST"
    view.drop(cascade=True)
    assert list(db.list_materialized_views()) == []
    for call in (view.status, view.refresh, view.drop, lambda: view.rename("x"), lambda: view.set(max_staleness="1 h")):
        with pytest.raises(vega_flight.TableNotFoundError, match="Table 'w' was not found"):
            call()


def test_kinds_are_told_apart(db, people):
    view = db.create_streaming_materialized_view("s", "SELECT name FROM people", wait_for_ready=True)
    db.create_materialized_view("t", "people")
    with pytest.raises(NotAViewError, match="Table 's' is not a materialized view"):
        db.open_materialized_view("s")
    with pytest.raises(NotAViewError, match="Table 't' is not a materialized view"):
        db.open_streaming_materialized_view("t")
    assert list(db.list_materialized_views()) == ["t"]
    assert list(db.list_streaming_materialized_views()) == ["s"]
    with pytest.raises(vega_flight.TableExistsError, match="Table 't' already exists"):
        db.create_streaming_materialized_view("t", "SELECT name FROM people")
    db.drop_table("s")
    with pytest.raises(vega_flight.TableNotFoundError, match="Table 's' was not found"):
        view.status()


def test_a_namespace_is_a_schema(db, people):
    db.sql("CREATE SCHEMA other").to_list()
    try:
        db.create_materialized_view("other.v", "people", select="name")
        assert list(db.list_materialized_views()) == ["other.v"]
        assert db.open_materialized_view("other.v").table.count_rows() == 3
        db.drop_materialized_view("v", namespace_path=["other"])
        assert list(db.list_materialized_views()) == []
    finally:
        db.sql("DROP SCHEMA other CASCADE").to_list()


def test_a_stale_view(db, people):
    view = db.create_materialized_view("v", "people", max_staleness=timedelta(0))
    assert view.table.count_rows() == 3
    people.add([{"name": "bob", "age": 50}])
    with pytest.raises(vega_flight.NotReadyError) as e:
        view.table.count_rows()
    assert e.value.code == "MATERIALIZED_VIEW_STALE"
    view.refresh()
    assert view.table.count_rows() == 4
