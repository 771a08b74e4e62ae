"""Behaviours of LanceDB's view API that this package shares, tested on both.

Where the two differ a test says so with `differs`, and docs/python.md says why.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from needed import needed

import vega_flight

lancedb = needed("lancedb")

PEOPLE = [{"name": "ada", "age": 36}, {"name": "kid", "age": 7}, {"name": "grace", "age": 85}]


@pytest.fixture(params=["vega", "lance"])
def db(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Any]:
    if request.param == "lance":
        yield lancedb.connect(tmp_path / "lance", storage_options={"new_table_enable_stable_row_ids": "true"})
        return
    yield request.getfixturevalue("sync_db")


@pytest.fixture
def people(db: Any) -> Any:
    return db.create_table("people", PEOPLE)


def vega(db: Any) -> bool:
    return isinstance(db, vega_flight.Connection)


def rows(view: Any, *columns: str) -> list[tuple[Any, ...]]:
    return sorted(tuple(row[c] for c in columns) for row in view.table.search().to_list())


def test_create_refresh_and_query(db, people):
    view = db.create_materialized_view("adults", "people", select=["name", ("shout", "upper(name)")], where="age >= 18")
    assert view.name == "adults"
    assert repr(view) == "MaterializedView(name='adults')"
    assert rows(view, "name", "shout") == [("ada", "ADA"), ("grace", "GRACE")]
    result = view.refresh()
    assert (result.mode, result.rows_written) == ("no_op", 0)
    people.add([{"name": "bob", "age": 50}, {"name": "tot", "age": 2}])
    result = view.refresh()
    differs = ("rebuild", 3) if vega(db) else ("incremental", 1)
    assert (result.mode, result.rows_written) == differs or (result.mode, result.rows_written) == ("incremental", 1)
    assert result.version >= result.source_version or not vega(db)
    assert rows(view, "name") == [("ada",), ("bob",), ("grace",)]
    again = view.refresh(full=True)
    assert (again.mode, again.rows_written) == ("rebuild", 3)


def test_update_and_delete_of_the_source(db, people):
    view = db.create_materialized_view("v", "people", where="age >= 18")
    people.update(where="name = 'kid'", values={"age": 18})
    view.refresh()
    assert rows(view, "name", "age") == [("ada", 36), ("grace", 85), ("kid", 18)]
    people.delete("name = 'ada'")
    view.refresh()
    assert rows(view, "name") == [("grace",), ("kid",)]


def test_with_no_data(db, people):
    view = db.create_materialized_view("v", "people", with_no_data=True)
    if vega(db):  # differs: a view without content is refused, not empty
        with pytest.raises(vega_flight.NotReadyError):
            view.table.count_rows()
    else:
        assert view.table.count_rows() == 0
    assert view.refresh().rows_written == 3
    assert view.table.count_rows() == 3


def test_select_forms(db, people):
    def names(select: Any) -> list[str]:
        view = db.create_materialized_view("v", "people", select=select)
        found = [n for n in view.table.schema.names if n != "__source_row_id"]
        db.drop_materialized_view("v")
        return found

    assert names(None) == ["name", "age"]
    assert names("name") == ["name"]
    assert names(["age", "name"]) == ["age", "name"]
    assert names([("a", "age + 1"), "name"]) == ["a", "name"]
    assert names({"b": "age * 2"}) == ["b"]


def test_bare_names_are_quoted(db):
    db.create_table("odd", [{"select": 1, "a column": 2, "Big": 3}])
    view = db.create_materialized_view("v", "odd", select=["select", "a column", "Big"])
    assert rows(view, "select", "a column", "Big") == [(1, 2, 3)]


def test_definition_round_trip(db, people):
    view = db.create_materialized_view("v", "people", select=["name"], where="age >= 18", limit=2)
    definition = db.open_materialized_view("v").definition
    assert definition == view.definition
    for word in ("name", "people", "age >= 18", "LIMIT 2"):
        assert word in definition.query
    if vega(db):  # differs: a definition can be created again from its text
        again = db.create_materialized_view("w", query=definition.query)
        assert again.definition == definition


def test_limit(db, people):
    assert db.create_materialized_view("two", "people", limit=2).table.count_rows() == 2
    assert db.create_materialized_view("none", "people", limit=0).table.count_rows() == 0
    assert db.create_materialized_view("most", "people", limit=2**63 - 1).table.count_rows() == 3
    with pytest.raises((ValueError, OverflowError)):
        db.create_materialized_view("bad", "people", limit=2**63)
    with pytest.raises(OverflowError):
        db.create_materialized_view("bad", "people", limit=-1)
    assert sorted(db.list_materialized_views()) == ["most", "none", "two"]


def test_view_over_a_view(db, people):
    db.create_materialized_view("adults", "people", where="age >= 18")
    view = db.create_materialized_view("old", "adults", select=["name"], where="age > 80")
    assert rows(view, "name") == [("grace",)]


def test_names_that_are_taken_or_missing(db, people):
    db.create_materialized_view("v", "people")
    for name in ("v", "people"):
        with pytest.raises(ValueError, match=f"^Table '{name}' already exists$"):
            db.create_materialized_view(name, "people")
    for call in (db.open_materialized_view, db.drop_materialized_view):
        with pytest.raises(ValueError, match="^Table 'people' is not a materialized view$"):
            call("people")
        with pytest.raises(ValueError, match="^Table 'nope' was not found$"):
            call("nope")
    with pytest.raises(ValueError, match="^Table 'nope' was not found$"):
        db.create_materialized_view("w", "nope")
    with pytest.raises(ValueError, match=r'^Invalid table name \(""\): it must not be empty$'):
        db.create_materialized_view("", "people")
    assert list(db.list_materialized_views()) == ["v"]
    assert people.count_rows() == 3


@pytest.mark.parametrize(
    ("select", "words"),
    [
        ([("x", "nocol")], "Invalid expression for column 'x'"),
        ([("x", "age +")], "Invalid expression for column 'x'"),
        ([("x", "frobnicate(age)")], "Invalid expression for column 'x'"),
        ([("a", "age"), ("a", "name")], "Column 'a' already exists"),
    ],
)
def test_invalid_expressions_fail_at_create(db, people, select, words):
    with pytest.raises(RuntimeError, match=words):
        db.create_materialized_view("v", "people", select=select)
    assert db.table_names() == ["people"]


@pytest.mark.parametrize(
    ("where", "words"),
    [("age >", "Invalid input, invalid view filter"), ("age", "Invalid input, view filter must be a boolean predicate, not")],
)
def test_invalid_filters_fail_at_create(db, people, where, words):
    with pytest.raises(ValueError, match=words):
        db.create_materialized_view("v", "people", where=where)
    assert db.table_names() == ["people"]


def test_list_and_drop(db, people):
    for name in ("b", "a", "c"):
        db.create_materialized_view(name, "people")
    assert sorted(db.list_materialized_views()) == ["a", "b", "c"]
    assert sorted(db.table_names()) == ["a", "b", "c", "people"]
    assert db.drop_materialized_view("a") is None
    db.drop_table("b")
    assert list(db.list_materialized_views()) == ["c"]
    assert sorted(db.table_names()) == ["c", "people"]


def test_jobs(db, people):
    assert db.create_materialized_view_async("v", "people").wait() is None
    view = db.open_materialized_view("v")
    people.add([{"name": "bob", "age": 50}])
    job = view.refresh_async(full=True)
    assert job.wait().rows_written == 4
    assert job.wait().rows_written == 4  # again, the same
    assert job.status() == "finished"
    assert db.drop_materialized_view_async("v").wait() is None
    assert list(db.list_materialized_views()) == []


def test_source_version(db, people):
    view = db.create_materialized_view("v", "people", select=["name"])
    first = view.refresh().source_version
    people.delete("name = 'kid'")
    second = view.refresh()
    assert rows(view, "name") == [("ada",), ("grace",)]
    back = view.refresh(source_version=first)
    assert back.source_version == first
    assert rows(view, "name") == [("ada",), ("grace",), ("kid",)]
    assert view.refresh().source_version >= second.source_version
    assert rows(view, "name") == [("ada",), ("grace",)]
    with pytest.raises((RuntimeError, ValueError)):
        view.refresh(source_version=second.source_version + 100_000)


def test_rows_that_the_view_does_not_have(db, people):
    view = db.create_materialized_view("v", "people", where="age >= 18")
    before = view.refresh().source_version
    people.add([{"name": "tot", "age": 2}])
    result = view.refresh()
    assert result.rows_written == 0
    assert result.source_version > before
    assert rows(view, "name") == [("ada",), ("grace",)]
    people.delete("age >= 18")
    view.refresh()
    assert rows(view, "name") == []
    again = view.refresh(full=True)  # of nothing
    assert (again.mode, again.rows_written) == ("rebuild", 0)
    assert view.table.count_rows() == 0


def test_an_update_replaces_the_rows_that_it_changes(db, people):
    view = db.create_materialized_view("v", "people", select=["name", ("twice", "age * 2")])
    people.update(where="name <> 'ada'", values={"age": 1})
    view.refresh()
    assert rows(view, "name", "twice") == [("ada", 72), ("grace", 2), ("kid", 2)]


def test_a_source_that_is_made_again(db, people):
    view = db.create_materialized_view("v", "people", select=["name"])
    db.drop_table("people")
    db.create_table("people", [{"name": "eve", "age": 1}, {"name": "adam", "age": 2}])
    assert view.refresh().mode == "rebuild"
    assert rows(view, "name") == [("adam",), ("eve",)]


def test_a_column_that_the_view_does_not_read(db, people):
    view = db.create_materialized_view("v", "people", select=["name"])
    if vega(db):
        db.sql("ALTER TABLE people ADD COLUMN more INTEGER").close()
    else:
        people.add_columns({"more": "cast(NULL as int)"})
    assert view.refresh().mode != "rebuild"
    assert view.table.count_rows() == 3
    assert "more" not in view.table.schema.names


def test_output_names_that_need_quotes(db, people):
    view = db.create_materialized_view("v", "people", select=[("Select", "age"), ("a name", "name")])
    assert rows(view, "a name", "Select") == [("ada", 36), ("grace", 85), ("kid", 7)]
    people.delete("name = 'kid'")
    view.refresh()
    assert rows(view, "a name") == [("ada",), ("grace",)]


def test_random_histories(db):
    """Whatever happens to the source, each refresh leaves what the view's query says of it."""
    seed = random.Random(17)
    model = [{"id": i, "score": i * 7 % 100} for i in range(20)]
    source = db.create_table("src", model)
    views = {
        "same": db.create_materialized_view("same", "src"),
        "some": db.create_materialized_view("some", "src", where="score >= 40"),
        "made": db.create_materialized_view("made", "src", select=["id", ("score", "score + 1")]),
    }
    want = {
        "same": lambda r: (r["id"], r["score"]),
        "some": lambda r: (r["id"], r["score"]) if r["score"] >= 40 else None,
        "made": lambda r: (r["id"], r["score"] + 1),
    }
    for step in range(16):
        n = seed.randrange(5)
        match seed.choice(["add", "add", "delete", "update", "nothing"]):
            case "add":
                more = [{"id": 100 * (step + 1) + i, "score": i * 37 % 100} for i in range(3)]
                source.add(more)
                model = model + more
            case "delete":
                source.delete(f"id % 5 = {n}")
                model = [r for r in model if r["id"] % 5 != n]
            case "update":
                source.update(where=f"id % 5 = {n}", values={"score": 39 + n})
                model = [r | {"score": 39 + n} if r["id"] % 5 == n else r for r in model]
        for name, view in views.items():
            if seed.random() < 0.3 and step < 15:
                continue  # it takes several steps at once
            view.refresh()
            made = [want[name](r) for r in model]
            assert rows(view, "id", "score") == sorted(r for r in made if r is not None), (step, name)


def test_the_source_loses_a_column(db, people):
    view = db.create_materialized_view("v", "people", select=["name", "age"])
    if vega(db):
        db.sql("ALTER TABLE people DROP COLUMN age").close()
    else:
        people.drop_columns(["age"])
    with pytest.raises(ValueError, match="age"):
        view.refresh()
    assert view.table.count_rows() == 3  # the last content


def test_the_source_is_dropped(db, people):
    view = db.create_materialized_view("v", "people", select=["name"])
    definition = view.definition
    db.drop_table("people")
    with pytest.raises(ValueError, match="people"):
        view.refresh()
    assert view.definition == definition
    assert view.table.count_rows() == 3


def test_refreshes_at_the_same_time(db, people):
    view = db.create_materialized_view("v", "people", select=["name"])
    people.add([{"name": f"p{i}", "age": i} for i in range(1000)])
    outcomes: list[Any] = []

    def refresh() -> None:
        try:
            outcomes.append(db.open_materialized_view("v").refresh().mode)
        except RuntimeError as e:  # a conflict is allowed, duplicates are not
            outcomes.append(str(e))

    threads = [threading.Thread(target=refresh) for _ in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len(outcomes) == 6
    view = db.open_materialized_view("v")
    assert len(set(rows(view, "name"))) == view.table.count_rows() == 1003


def test_writes_to_a_view(db, people):
    view = db.create_materialized_view("v", "people", select=["name"])
    if vega(db):  # differs: all writes are refused, as LanceDB's later versions do
        for write in (
            lambda: view.table.add([{"name": "x"}]),
            lambda: view.table.update(values={"name": "x"}),
            lambda: view.table.delete("true"),
            lambda: db.create_table("v", PEOPLE, mode="overwrite"),
        ):
            with pytest.raises(NotImplementedError, match="is a materialized view"):
                write()
    else:
        with pytest.raises(RuntimeError):
            view.table.add([{"name": "x"}])
    assert view.table.count_rows() == 3
    view.refresh(full=True)
    assert view.table.count_rows() == 3


def test_the_documentation_of_lancedb(db):
    """The page of LanceDB's documentation, with another connect line."""
    db.create_table("people", PEOPLE)
    view = db.create_materialized_view("adults", "people", select=["name", ("shout", "upper(name)")], where="age >= 18")
    assert view.refresh(full=True).mode == "rebuild"
    assert sorted(row["shout"] for row in view.table.search().to_list()) == ["ADA", "GRACE"]
    view = db.open_materialized_view("adults")
    assert "upper(name)" in view.definition.query
    assert list(db.list_materialized_views()) == ["adults"]
