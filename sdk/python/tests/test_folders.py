"""Folders and files that cannot be a lake, and what is left of servers in those that can."""

from __future__ import annotations

import json
import os
from pathlib import Path

import adbc_driver_manager
import pytest

import vega_flight
from vega_flight import LakeError


def test_what_cannot_be_a_lake(tmp_path):
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    (tmp_path / "text").write_text("hello")
    (tmp_path / "empty").touch()
    before = sorted(tmp_path.iterdir())
    for name in ("x" * 300, "loop/x", "a\0b", "text", "empty", "text/lake"):
        with pytest.raises(LakeError, match="lake") as e:
            vega_flight.connect(tmp_path / name)
        assert e.value.code == "LAKE_UNREADABLE"
        assert e.value.hint
    assert sorted(tmp_path.iterdir()) == before
    for name in ("what?", "a\\b"):
        with pytest.raises(LakeError, match="path with a") as e:
            vega_flight.connect(tmp_path / name)
        assert e.value.code == "CONFIG_INVALID"
    with pytest.raises(vega_flight.VegaError):
        vega_flight.connect("~nobody-has-this-name/lake")


def test_a_folder_may_be_bytes(folder):
    with vega_flight.connect(os.fsencode(folder)) as db:
        assert db.sql("SELECT 42").scalar() == 42


def test_a_statement_that_was_taken_from_its_maker(folder: Path):
    """Ctrl-C may come when the driver has made a statement and nobody has it yet: the connection ends all the same."""
    db = vega_flight.connect(folder)
    adbc_driver_manager.AdbcStatement(db._session._connection)
    pid = json.loads((folder / ".vega-flight" / "ready.json").read_text())["pid"]
    db.close()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


@pytest.mark.parametrize(
    "ready", ["[1]", "{}", '{"flight": 5, "pid": "x"}', '{"flight": "grpc+unix:///nowhere/s", "pid": 1}', "half a"]
)
def test_what_a_server_has_left_may_be_anything(folder: Path, ready: str):
    place = folder / ".vega-flight"
    place.mkdir(parents=True)
    (place / "ready.json").write_text(ready)
    with vega_flight.connect(folder) as db:
        assert db.sql("SELECT 42").scalar() == 42
