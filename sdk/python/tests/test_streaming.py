from __future__ import annotations

import pytest

import vega_flight
from vega_flight import FailedError, InvalidInputError, NotIncrementalError, WaitTimeoutError


def test_life(db, people):
    view = db.create_streaming_materialized_view(
        "s", "SELECT age, count(*) AS n FROM people GROUP BY age", checkpoint_interval="1s"
    )
    assert repr(view) == "StreamingMaterializedView(name='s')"
    status = view.wait_ready(60)
    assert status.state == "RUNNING"
    assert status.ready
    assert status.row_count == 3
    assert status.row["initial_mode"] == "backfill"
    assert "people" in view.definition.query
    assert view.table.count_rows() == 3
    view.pause()
    paused = view.status()
    assert paused.state == "PAUSED"
    assert paused.hint
    with pytest.raises(FailedError) as e:
        view.wait_ready(60)
    assert e.value.code == "PAUSED"
    view.resume()
    assert view.wait_ready(60).state == "RUNNING"
    view.set(checkpoint_interval="2s", max_staleness="1 hour")
    assert "2" in view.wait_ready(60).row["options"]
    view.reset("max_staleness")
    view.restart()
    view.wait_ready(60)
    view.rebuild()
    view.rebuild(initial_mode="backfill")
    view.wait_ready(60)
    view.rename("t")
    assert db.open_streaming_materialized_view("t").wait_ready(60).state == "RUNNING"
    assert list(db.list_streaming_materialized_views(page_limit=5)) == ["t"]
    view.drop()
    with pytest.raises(vega_flight.TableNotFoundError, match="Table 't' was not found"):
        view.status()
    with pytest.raises(vega_flight.TableNotFoundError, match="Table 't' was not found"):
        db.drop_streaming_materialized_view("t")


def test_explain(db, people):
    found = db.explain_streaming("SELECT age, count(*) AS n FROM people GROUP BY age")
    assert found.admitted
    assert found.reasons == []
    assert [row["operator"] for row in found][-1] == "scan"
    assert len(found) == found.to_arrow().num_rows == len(found.to_pandas())
    assert "aggregate" in str(found)
    page = found._repr_html_()
    assert page.startswith("<table>")
    assert page.count("<tr>") == len(found) + 1
    refused = db.explain_streaming("SELECT random() AS r FROM people WHERE name < '<b>'")
    assert not refused.admitted
    assert "VOLATILE_FUNCTION" in refused.reasons[0]
    assert "<b>" not in refused._repr_html_()
    view = db.create_streaming_materialized_view("s", "SELECT name, count(*) AS n FROM people GROUP BY name", wait_for_ready=True)
    assert view.explain().admitted
    analyzed = view.explain(analyze=True)
    assert "rows_in" in analyzed.to_arrow().column_names
    assert "rows_in=" in str(analyzed)
    assert analyzed.admitted
    assert analyzed.reasons == []
    assert "<table>" in analyzed._repr_html_()


def test_refusals(db, people):
    with pytest.raises(NotIncrementalError, match="random") as e:
        db.create_streaming_materialized_view("s", "SELECT random() AS r FROM people")
    assert e.value.code == "PLAN_NOT_INCREMENTAL"
    assert isinstance(e.value, ValueError)
    with pytest.raises(InvalidInputError) as e:
        db.create_streaming_materialized_view("s", "SELECT name FROM people", speed="high")
    assert e.value.code == "UNKNOWN_OPTION"
    with pytest.raises(InvalidInputError, match="option"):
        db.create_streaming_materialized_view("s", "SELECT name FROM people", **{"a b": 1})
    with pytest.raises(InvalidInputError, match="value"):
        db.create_streaming_materialized_view("s", "SELECT name FROM people", parallelism=1.5)
    assert list(db.list_streaming_materialized_views()) == []


def test_a_row_that_fails(db):
    table = db.create_table("t", [{"s": "1"}])
    view = db.create_streaming_materialized_view("v", "SELECT s::INTEGER AS i FROM t", wait_for_ready=True)
    table.add([{"s": "no number"}])
    with view.subscribe(snapshot=False):
        pass
    while view.status().state == "RUNNING":
        view.table.count_rows()
    with pytest.raises(FailedError, match="no number") as e:
        view.wait_ready(60)
    assert e.value.code == "ROW_FAILED"
    assert view.table.to_list() == [{"i": 1}]
    table.delete("s = 'no number'")
    view.restart()
    assert view.wait_ready(60).state == "RUNNING"


def test_waiting_has_an_end(sync_db):
    def late(rows: int) -> bool:
        sync_db.create_table("t", sync_db.sql(f"SELECT i FROM range({rows}) r(i)").to_arrow(), mode="overwrite")
        view = sync_db.create_streaming_materialized_view("v", "SELECT i, count(*) AS n FROM t GROUP BY i")
        try:
            view.wait_ready(0)
            return False
        except WaitTimeoutError:
            view.wait_ready(600)
            assert view.table.count_rows() == rows
            return True
        finally:
            view.drop()

    # Whoever is held up for as long as a view needs to be ready has seen nothing: the next one needs longer.
    assert any(late(rows) for rows in (2_000_000, 4_000_000, 8_000_000, 16_000_000))
