"""Processes that are forked from one with connections.

The driver works with threads of its own, which a forked child has not: its first call there would wait for ever, and so would
giving up what the driver made, which Python does when nobody needs it any more. That holds for the memory of rows, too.
"""

from __future__ import annotations

import ctypes
import gc
import os
import weakref
from typing import Any, Protocol

from .errors import ServerUnavailableError


class Holder(Protocol):
    """Who has objects of the driver."""

    def _driver_objects(self) -> list[Any]:
        """What is not to be given up in a forked child."""
        ...


_holders: weakref.WeakSet[Any] = weakref.WeakSet()
_loaded = False
_lost = False


def load() -> None:
    """Notes that the driver is used from here on."""
    global _loaded
    check_fork()
    _loaded = True


def hold(holder: Holder) -> None:
    """Notes who has objects of the driver."""
    _holders.add(holder)


def forked() -> bool:
    """Whether the driver was left behind in another process."""
    return _lost


def check_fork() -> None:
    """Refuses what would wait for ever."""
    if _lost:
        raise ServerUnavailableError(
            "connections do not come along into a forked process, and none can be made in it",
            code="CONNECTION_FORKED",
            hint="connect after the fork only, or start processes anew: multiprocessing.get_context('spawn')",
        )


def _after_in_child() -> None:
    global _lost
    _lost = _loaded
    if _lost:
        gc.freeze()  # cycles that nobody needs may have rows in them
    for holder in list(_holders):
        for thing in holder._driver_objects():
            ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))  # so that it is never given up here


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_in_child)
