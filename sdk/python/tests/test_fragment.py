"""Expressions and conditions stay where they are put."""

from __future__ import annotations

import pytest

import vega_flight
from vega_flight import InvalidInputError
from vega_flight.fragment import expression, one_statement

RIGHT = [
    "a",
    "(a) + [1, 2][1] + {'k': ')'}['k']",
    "')' || '''(' || \")\"\"(\"",
    "E'\\')' || e'(' || name",
    "$$)$$ || $x$($$;$x$ || $1",
    "a -- (;'",
    "a /* ( ; /* ) */ ' */ + 1",
    "a$b$c || x",
    "list_transform(l, x -> x + 1)",
    "größe -- é;\r+ 'é$' || name_é1",
]
WRONG = {
    "1) , (2": "closes",
    "a]": "closes",
    "(a]": "closes",
    "a; DROP TABLE t": "semicolon",
    "(a; b)": "semicolon",
    "(a": "lacks",
    "{'a': 1": "lacks",
    "'a": "no end",
    'a"': "no end",
    "$$a": "no end",
    "$x$ a $y$": "no end",
    "a /* b": "no end",
    "1 -- \n) , (2": "closes",
    "1 -- \r) , (2": "closes",
    "a$e'\\') , ('": "closes",
    "{\U0001f600$x$: 1}) , ({'k': '$x$'}": "ambiguous",
    "\u00a0E'\\') , ('": "ambiguous",
}


@pytest.mark.parametrize("sql", RIGHT)
def test_what_is_an_expression(sql):
    assert expression(sql) == sql
    assert one_statement(sql) == sql


@pytest.mark.parametrize("sql", WRONG)
def test_what_is_none(sql):
    with pytest.raises(InvalidInputError, match=WRONG[sql]) as e:
        expression(sql)
    assert e.value.code == "SYNTAX_ERROR"


def test_one_statement():
    assert one_statement("SELECT ';' ; ") == "SELECT ';' "
    assert one_statement("SELECT 1 -- ;") == "SELECT 1 -- ;"
    for end in (";", ";;\n", "; -- ; and", "; -- a\r /* ; /* b */ */ ;\r\n-- c"):
        assert one_statement("SELECT ';' -- ;\n" + end) == "SELECT ';' -- ;\n"
    for sql in (
        "SELECT 1; DROP TABLE t",
        ";SELECT 1",
        "SELECT 1; -- a\nDROP TABLE t",
        "SELECT 1 -- a\r; DROP TABLE t",
        "SELECT 1; /* a",
    ):
        with pytest.raises(InvalidInputError):
            one_statement(sql)


def test_nothing_else_happens(db, people):
    """Whatever a part of a call says, it is no statement of its own, and none of the call's other parts."""
    db.create_table("secret", [{"s": 42}])
    bad = "1=1); DROP TABLE secret; --"
    for call in (
        lambda: people.select([("x", "1) , (SELECT s FROM secret")]).to_list(),
        lambda: people.select([("x", "'a"), ("y", "b'")]).to_list(),
        lambda: people.select([("x", "1 FROM secret; DROP TABLE secret; --")]).to_list(),
        lambda: people.select(where=bad).to_list(),
        lambda: people.select(where="age > 99) OR (true").to_list(),
        lambda: people.select().where("age > 1").where(bad).to_list(),
        lambda: people.select().order_by("age; DROP TABLE secret").to_list(),
        lambda: people.count_rows(bad),
        lambda: people.delete(bad),
        lambda: people.delete("false) OR (true"),
        lambda: people.update(bad, {"age": 1}),
        lambda: people.update(values_sql={"age": "1; DROP TABLE secret"}),
        lambda: db.create_materialized_view("v", "people", where=bad),
        lambda: db.create_materialized_view("v", "people", select={"x": "1; DROP TABLE secret"}),
        lambda: db.create_materialized_view("v", query="SELECT 1 AS i; DROP TABLE secret"),
        lambda: db.create_streaming_materialized_view("v", "SELECT age FROM people; DROP TABLE secret"),
        lambda: db.explain_streaming("SELECT age FROM people; DROP TABLE secret"),
    ):
        with pytest.raises(InvalidInputError) as e:
            call()
        assert e.value.code == "SYNTAX_ERROR"
    assert people.count_rows("age > 5") == 3
    assert db.open_table("secret").to_list() == [{"s": 42}]
    view = db.create_materialized_view("v", query="SELECT 1 AS i; ", with_no_data=True)
    view.drop()
    with pytest.raises(vega_flight.InvalidExpressionError, match="column 'x'"):
        people.select([("x", "1)")]).to_list()


def test_names_of_any_case(db, people):
    for name in ("PEOPLE", "Main.People", "LAKE.main.people"):
        assert db.open_table(name).count_rows() == 3
