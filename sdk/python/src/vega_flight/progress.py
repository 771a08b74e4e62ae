"""Progress bars, by tqdm when it is there and somebody looks."""

from __future__ import annotations

import sys
from types import TracebackType
from typing import Any


def watched(wanted: bool | None) -> bool:
    """Whether a bar is to be shown: as wanted, or when this is a terminal or a notebook."""
    if wanted is False:
        return False
    try:
        import tqdm  # noqa: F401
    except ImportError:
        return False
    return bool(wanted) or _notebook() or (sys.stderr is not None and sys.stderr.isatty())


def _notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


class Bar:
    """A bar that appears when there is something to tell, and is nothing when nobody looks."""

    def __init__(self, what: str, wanted: bool | None, *, rows: bool = False) -> None:
        self._what = what
        self._rows = rows
        self._bar: Any = None
        self.on = watched(wanted)

    def at(self, value: float | None, phase: str | None = None) -> None:
        """Moves the bar: to a fraction of 1, or to a number of rows."""
        if not self.on:
            return
        if self._bar is None:
            import tqdm.auto

            if self._rows:
                self._bar = tqdm.auto.tqdm(desc=self._what, unit=" rows", unit_scale=True)
            else:
                self._bar = tqdm.auto.tqdm(desc=self._what, total=1.0, bar_format="{l_bar}{bar}| {elapsed}{postfix}")
        if phase is not None:
            self._bar.set_postfix_str(phase, refresh=False)
        if value is not None:
            self._bar.n = value
        self._bar.refresh()

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is None:
            return
        if kind is None and not self._rows:
            self._bar.n = 1.0
        self._bar.close()
