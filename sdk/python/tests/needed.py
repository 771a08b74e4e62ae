"""Packages that tests compare with."""

from __future__ import annotations

import importlib
import os
from typing import Any

import pytest


def needed(name: str) -> Any:
    """The package. Without it what needs it is skipped, but not where everything has to run."""
    return importlib.import_module(name) if os.environ.get("CI") else pytest.importorskip(name)
