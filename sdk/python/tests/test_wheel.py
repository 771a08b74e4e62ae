"""What `make wheel` made, in environments that have nothing else."""

from __future__ import annotations

import os
import re
import subprocess
import venv
import zipfile
from pathlib import Path

import pytest
from server import BINARY
from test_guide import PAGES, blocks

WHEELS = os.environ.get("VEGA_WHEELS")
pytestmark = pytest.mark.skipif(not WHEELS, reason="make wheel runs these")


@pytest.mark.parametrize("kind", ["pure", "platform"])
def test_a_wheel_in_a_fresh_environment(kind, tmp_path):
    (wheel,) = Path(WHEELS, kind).glob("*.whl")
    inside = zipfile.ZipFile(wheel).namelist()
    assert "vega_flight/py.typed" in inside
    assert ("vega_flight/server/vega-flight" in inside) == (kind == "platform")
    assert wheel.name.endswith("-none-any.whl") == (kind == "pure")
    home = tmp_path / "env"
    venv.create(home, with_pip=True)
    python = home / "bin" / "python"
    (extras,) = {re.search(r'^    pip install "vega-flight(.*?)"', page.read_text(), re.M)[1] for page in PAGES}
    subprocess.run([python, "-m", "pip", "-q", "install", f"{wheel}{extras}"], check=True)
    # The platform's wheel has all it needs: no variables, nothing in PATH, no cache of the user.
    env = {"PATH": str(home / "bin"), "HOME": str(tmp_path), "LANG": "C.UTF-8"}
    if kind == "pure":
        env |= {"VEGA_FLIGHT_BINARY": BINARY, "VEGA_FLIGHT_EXTENSION_DIR": os.environ["VEGA_FLIGHT_EXTENSION_DIR"]}
    program = blocks(PAGES[0])[0]  # the first page of the guide, word for word
    assert [program] == blocks(PAGES[1])
    done = subprocess.run([python, "-c", program], cwd=tmp_path, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "GRACE" in done.stdout
    if kind == "pure":
        done = subprocess.run([python, "-c", program], cwd=home, env={"PATH": ""}, capture_output=True, text=True)
        assert "which is not installed" in done.stderr
