"""Packages that users may have, and what installs them."""

from __future__ import annotations

import importlib
from typing import Any


def extra(name: str) -> Any:
    """The module, which the package's extra of the same name installs."""
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as e:
        raise ModuleNotFoundError(f'{name} is not installed: pip install "vega-flight[{name}]"', name=name) from e
