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


class FileLock:
    """A file that only this process may have locked, within a `with`; or one that it has locked beside others."""

    def __init__(self, path: Path, deadline: float) -> None:
        self._path = path
        self._deadline = deadline
        self._file = -1
        self._owner = os.getpid()

    def __enter__(self) -> FileLock:
        self._take(fcntl.LOCK_EX)
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def share(self) -> None:
        """Locks the file beside others, until `release`."""
        self._take(fcntl.LOCK_SH)

    def alone(self) -> bool:
        """Locks the file if nobody else has, until `release`, and says so."""
        try:
            self._take(fcntl.LOCK_EX | fcntl.LOCK_NB)
        except WaitTimeoutError:
            return False
        return True

    def release(self) -> None:
        """Gives the lock up; again is fine."""
        file, self._file = self._file, -1
        if self._owner == os.getpid():  # a forked child has closed it
            release(file)

    def __del__(self) -> None:
        self.release()

    def _take(self, kind: int) -> None:
        self._file = _open(self._path)
        try:
            while True:
                try:
                    fcntl.flock(self._file, kind | fcntl.LOCK_NB)
                    return
                except BlockingIOError:
                    if kind & fcntl.LOCK_NB or time.monotonic() > self._deadline:
                        hint = "see what it is waiting for"
                        raise WaitTimeoutError(f"another process keeps {self._path} locked", hint=hint) from None
                time.sleep(0.01)
        except BaseException:
            self.release()
            raise
