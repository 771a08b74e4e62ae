"""Locks of files between processes, which the kernel frees when their process ends.

A forked child has its parent's files, and would keep their locks when the parent has ended: it closes them first.
"""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from .errors import WaitTimeoutError

_files: set[int] = set()


def _open(path: Path) -> int:
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    _files.add(file)
    return file


def release(file: int) -> None:
    """Gives up the lock of a file."""
    if file in _files:
        _files.discard(file)
        os.close(file)


def _after_in_child() -> None:
    for file in list(_files):
        release(file)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_in_child)


def _take(path: Path, kind: int, deadline: float) -> int:
    file = _open(path)
    try:
        while True:
            try:
                fcntl.flock(file, kind | fcntl.LOCK_NB)
                return file
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise WaitTimeoutError(f"another process keeps {path} locked", hint="see what it is waiting for") from None
            time.sleep(0.01)
    except BaseException:
        release(file)
        raise


class FileLock:
    """A file that only this process may have locked, within a `with`."""

    def __init__(self, path: Path, deadline: float) -> None:
        self._path = path
        self._deadline = deadline
        self._file = -1

    def __enter__(self) -> FileLock:
        self._file = _take(self._path, fcntl.LOCK_EX, self._deadline)
        return self

    def __exit__(self, *_: object) -> None:
        release(self._file)

    @staticmethod
    def shared(path: Path, deadline: float) -> int:
        """Locks the file beside others; `release` gives it up."""
        return _take(path, fcntl.LOCK_SH, deadline)

    @staticmethod
    def alone(path: Path) -> int | None:
        """Locks the file if nobody else has."""
        try:
            return _take(path, fcntl.LOCK_EX, 0)
        except WaitTimeoutError:
            return None
