"""Locks of files between processes, which the kernel frees when their process ends."""

from __future__ import annotations

import fcntl
import os
import time
from pathlib import Path

from .errors import WaitTimeoutError


def _open(path: Path) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)


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
        os.close(file)
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
        os.close(self._file)

    @staticmethod
    def shared(path: Path, deadline: float) -> int:
        """Locks the file beside others; closing the descriptor that is returned gives it up."""
        return _take(path, fcntl.LOCK_SH, deadline)

    @staticmethod
    def alone(path: Path) -> int | None:
        """Locks the file if nobody else has."""
        try:
            return _take(path, fcntl.LOCK_EX, 0)
        except WaitTimeoutError:
            return None
