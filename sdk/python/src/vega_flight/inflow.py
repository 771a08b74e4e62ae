"""A subscription's changes on their way from the server.

Who waits for them may be interrupted at any point, by Ctrl-C or the cancellation of a task, and must find them all the same
when it asks again. So a thread reads them, a batch at a time and only when one is wanted, and gives each a number; nothing is
forgotten before its reader asks for a later one.
"""

from __future__ import annotations

import threading
from collections import deque
from contextlib import nullcontext
from contextvars import Context
from functools import partial

from .calls import LOOK, current_scope
from .changes import Changes, divided
from .errors import JobCancelledError
from .fork import check_fork
from .result import Result


class Inflow:
    """The changes that have come and are not forgotten yet, by their numbers, which begin with 1. One thread at a time asks."""

    def __init__(self, result: Result) -> None:
        self._result = result
        self._come: deque[tuple[int, Changes]] = deque()
        self._last = 0  # the number of the last one that came
        self._reading = _Reading()
        self._end: BaseException | None = None

    def get(self, number: int) -> Changes:
        """Waits for the changes with this number, and keeps them and what came later."""
        check_fork()  # a thread that reads has not come along
        scope = current_scope()
        with scope.cancelling(self._look) if scope else nullcontext():
            while self._last < number:
                if self._end is not None:
                    raise self._end.with_traceback(None)
                if scope is not None and scope.cancelled:
                    raise JobCancelledError("CANCELLED: waiting for changes was given up", hint="ask again, nothing is lost")
                if self._reading.over:
                    self._reading = _Reading()
                reading = self._reading
                if not reading.begun.locked():
                    work = partial(Context().run, self._read, reading)
                    threading.Thread(target=work, name="vega-flight changes", daemon=True).start()
                reading.news.acquire(timeout=LOOK)
        return self._come[number - self._come[0][0]][1]

    def forget(self, number: int) -> None:
        """Lets go of the changes up to this number."""
        while self._come and self._come[0][0] <= number:
            self._come.popleft()

    def stop(self) -> None:
        """Ends what the server sends; what has come stays."""
        self._result.cancel()

    def _look(self) -> None:
        self._reading.tell()

    def _read(self, reading: _Reading) -> None:
        """Reads until there is something, or the end."""
        if not reading.begun.acquire(blocking=False):
            return  # whoever was interrupted starting a thread has started it all the same
        try:
            batch = next(self._result)
            while not batch.num_rows:
                batch = next(self._result)
            for changes in divided(batch):
                self._come.append((self._last + 1, changes))
                self._last += 1
        except BaseException as e:
            self._end = e.with_traceback(None)
        reading.over = True
        reading.tell()


class _Reading:
    """One read: locks are all that an interruption leaves as they are."""

    def __init__(self) -> None:
        self.begun = threading.Lock()
        self.over = False
        self.news = threading.Lock()
        self.news.acquire()

    def tell(self) -> None:
        """Wakes who waits."""
        if self.news.locked():
            try:
                self.news.release()
            except RuntimeError:  # somebody else has
                return
