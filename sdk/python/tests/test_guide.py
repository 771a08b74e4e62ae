"""The programs of the guide and of the package's front page, as they stand."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from needed import needed
from server import ROOT

PAGES = [ROOT / "docs" / "python.md", Path(__file__).parents[1] / "README.md"]


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), re.M | re.S)


LONG_ENOUGH = """
import time
rows, took = 50_000_000, 0
while took < 1:  # then it was long enough for a bar
    began = time.monotonic()
    db.create_materialized_view(f"of_{rows}", query=f"SELECT count(*) AS n FROM range({rows}) r(i) WHERE sqrt(i) % 7 < 1")
    rows, took = rows * 4, time.monotonic() - began
"""


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.stem)
def test_the_programs_of_a_page(page, tmp_path):
    program = "\n".join(blocks(page))
    done = subprocess.run(
        [sys.executable, "-W", "error::SyntaxWarning", "-c", program], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "ADA" in done.stdout


def test_a_notebook(tmp_path):
    """The guide in a notebook: everything runs, explanations are tables, jobs have bars."""
    nbformat = needed("nbformat")
    nbclient = needed("nbclient")
    needed("ipykernel")
    cells = [b for b in blocks(PAGES[0]) if "asyncio.run" not in b]
    cells += [
        'db.explain_streaming("SELECT store FROM orders")',
        'await (await (await vega_flight.connect_async("./lake")).sql("SELECT 42")).scalar()',
        LONG_ENOUGH,
        "db.close()",
    ]
    book = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbclient.NotebookClient(
        book, timeout=600, startup_timeout=600, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    ).execute()
    outputs = [json.dumps(cell["outputs"]) for cell in book.cells]
    assert "text/html" in outputs[-4]
    assert "<table>" in outputs[-4]
    assert "42" in outputs[-3]
    assert "CREATE MATERIALIZED VIEW" in outputs[-2]
