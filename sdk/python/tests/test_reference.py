"""The reference page is made of the package's signatures and docstrings, as they are now."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from server import ROOT

import vega_flight

SCRIPT = Path(__file__).parents[1] / "reference.py"


def test_the_page_is_current():
    made = subprocess.run([sys.executable, SCRIPT], capture_output=True, text=True, check=True).stdout
    assert made == (ROOT / "docs" / "python-api.md").read_text(), "python sdk/python/reference.py > docs/python-api.md"
    for name in vega_flight.__all__:
        assert name.startswith("__") or name in made
