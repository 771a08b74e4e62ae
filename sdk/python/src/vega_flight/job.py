"""Work that the server does by itself: populating, refreshing, dropping."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Generic, TypeVar

from .calls import LOOK, current_scope, in_thread
from .errors import (
    JobCancelledError,
    JobFailedError,
    JobNotFoundError,
    ServerUnavailableError,
    VegaError,
    WaitTimeoutError,
    named,
)
from .names import text
from .progress import Bar
from .session import Retained, Session

T = TypeVar("T")

_WORDS = {"SUCCEEDED": "finished", "FAILED": "failed", "INTERRUPTED": "failed", "CANCELLED": "cancelled"}
_PATIENCE = 60.0  # seconds for a server to come back


@dataclass(frozen=True)
class RefreshMaterializedViewResult:
    """What a refresh did: `mode` is rebuild, incremental or no_op; versions are snapshots of the lake."""

    mode: str
    rows_written: int
    source_version: int
    version: int

    @classmethod
    def of(cls, row: dict[str, Any]) -> RefreshMaterializedViewResult:
        """Reads the row of REFRESH."""
        return cls(row["mode"], row["rows_written"], row["source_version"], row["version"])


class Job(Generic[T]):
    """A statement at work on the server. It goes on when this process ends; `Connection.job` finds it again by its `id`.

    Ctrl-C in `wait`, and the cancellation of an asyncio task that waits, cancel it.
    """

    def __init__(
        self,
        session: Session,
        id: str,
        retained: Retained | None,
        result: Callable[[dict[str, Any] | None], T],
        progress: bool | None = None,
    ) -> None:
        self._session = session
        self._id = id
        self._retained = retained
        self._durable = not id.startswith("vqh_")
        self._make = result
        self._bar = progress
        self._lock = threading.Lock()
        self._started = False
        self._done = threading.Event()
        self._row: dict[str, Any] | None = None
        self._error: VegaError | None = None

    @property
    def id(self) -> str:
        """The job's id, as SHOW JOBS has it."""
        return self._id

    def __repr__(self) -> str:
        return f"Job({self._id!r})"

    def describe(self) -> dict[str, Any]:
        """The job's row of SHOW JOBS, as it is now; only of jobs that the server remembers."""
        return self._session.rows(f"SHOW JOB {text(self._id)}")[0]

    def status(self) -> str:
        """One of running, finished, failed, cancelled."""
        if self._done.is_set():
            if self._error is None:
                return "finished"
            return "cancelled" if isinstance(self._error, JobCancelledError) else "failed"
        if not self._durable:
            self._follow()
            self._done.wait(0.05)
            return self.status() if self._done.is_set() else "running"
        return _WORDS.get(self.describe()["state"], "running")

    @property
    def progress(self) -> float | None:
        """How much of it is done, from 0 to 1; None while that cannot be told."""
        if self._done.is_set():
            return 1.0 if self._error is None else None
        if not self._durable:
            return None
        row = self.describe()
        return 1.0 if row["state"] == "SUCCEEDED" else row["progress"]

    def wait(self, timeout: float | timedelta | None = None) -> T:
        """Waits for the end and gives the result.

        Raises `JobFailedError`, `JobCancelledError`, or `WaitTimeoutError` when the time is over first; the job then goes on.
        """
        seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
        deadline = None if seconds is None else time.monotonic() + seconds
        scope = current_scope()
        try:
            self._follow()
            with scope.cancelling(self.cancel) if scope else nullcontext(), Bar(self._what(), self._bar) as bar:
                self._await(deadline, bar)
        except KeyboardInterrupt:
            self.cancel()
            raise
        if not self._done.is_set():
            raise WaitTimeoutError(f"job {self._id} is not done after {seconds} s", hint="wait again, or cancel it")
        if self._error is None:
            return self._make(self._row)
        if isinstance(self._error, (JobCancelledError, ServerUnavailableError, JobNotFoundError)):
            raise self._error
        raise JobFailedError(str(self._error), code=self._error.code, hint=self._error.hint) from self._error

    def result(self, timeout: float | timedelta | None = None) -> T:
        """The same as `wait`."""
        return self.wait(timeout)

    def cancel(self) -> str:
        """Stops it; when this returns nothing of it runs any more. Cancelling what has ended does nothing."""
        if not self._done.is_set():
            try:
                state = self._session.rows(f"CANCEL JOB {text(self._id)}")[0]["state"]
                return _WORDS.get(state, "running")
            except VegaError as e:
                if e.code not in ("JOB_NOT_CANCELLABLE", "QUERY_HANDLE_NOT_FOUND", "JOB_NOT_FOUND"):
                    raise
        return self.status()

    def _what(self) -> str:
        info = self._retained.info if self._retained else {}
        return " ".join(str(info[k]) for k in ("kind", "view") if info.get(k)) or f"job {self._id}"

    def _await(self, deadline: float | None, bar: Bar) -> None:
        while True:
            left = LOOK if deadline is None else deadline - time.monotonic()
            if self._done.wait(max(0.0, min(left, 0.3 if bar.on else LOOK))) or left <= 0:
                return
            if bar.on and self._durable:
                row = self.describe()
                bar.at(row["progress"], row["phase"])

    def _follow(self) -> None:
        with self._lock:
            if self._started:
                return
            following = self._session.another()
            self._started = True
            threading.Thread(target=self._watch, args=(following,), name="vega-flight job", daemon=True).start()

    def _watch(self, session: Session) -> None:
        """Waits for the end: at the retained result, which comes then, or by asking for the job."""
        try:
            self._row = self._read(session)
        except VegaError as e:
            self._error = e
            if session.closed:
                self._error = ServerUnavailableError("the connection is closed", code="CONNECTION_CLOSED", hint="connect again")
        except BaseException as e:
            self._error = JobFailedError(f"job {self._id} cannot be followed: {e!r}")
        self._done.set()
        session.close()

    def _read(self, session: Session) -> dict[str, Any] | None:
        if self._retained is not None and self._retained.ticket is not None:
            try:
                rows = session.follow(self._retained.ticket).to_pylist()
                return rows[0] if rows else None
            except (ServerUnavailableError, JobNotFoundError):
                if not self._durable or session.closed:
                    raise
        return self._ask(session)

    def _ask(self, session: Session) -> dict[str, Any] | None:
        """Waits at the server for the job's end; a server that is away may come back."""
        pause, away_since = 0.02, None
        while True:
            try:
                row = session.rows(f"SHOW JOB {text(self._id)} WITH (wait = true)")[0]
            except WaitTimeoutError:  # the time that the connection gives each call
                away_since = None
            except ServerUnavailableError:
                away_since = away_since or time.monotonic()
                if session.closed or time.monotonic() - away_since > _PATIENCE:
                    raise
            else:
                return _ended(row)
            time.sleep(pause)
            pause = min(pause * 1.5, 0.5)


def _ended(row: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a job that has ended."""
    if row["state"] == "SUCCEEDED":
        return json.loads(row["result"]) if row["result"] else None
    code = row["error_code"] or ("CANCELLED" if row["state"] == "CANCELLED" else "JOB_INTERRUPTED")
    raise named(code, row["error_message"] or row["state"].lower(), row["error_hint"])


class AsyncJob(Generic[T]):
    """The asynchronous twin of `Job`."""

    def __init__(self, job: Job[T]) -> None:
        self._job = job

    @property
    def id(self) -> str:
        """The job's id."""
        return self._job.id

    def __repr__(self) -> str:
        return f"AsyncJob({self._job.id!r})"

    async def describe(self) -> dict[str, Any]:
        """The job's row of SHOW JOBS."""
        return await in_thread(self._job.describe)

    async def status(self) -> str:
        """One of running, finished, failed, cancelled."""
        return await in_thread(self._job.status)

    async def progress(self) -> float | None:
        """How much of it is done, from 0 to 1."""
        return await in_thread(lambda: self._job.progress)

    async def wait(self, timeout: float | timedelta | None = None) -> T:
        """Waits for the end and gives the result; cancelling the task that waits cancels the job."""
        return await in_thread(self._job.wait, timeout)

    async def result(self, timeout: float | timedelta | None = None) -> T:
        """The same as `wait`."""
        return await self.wait(timeout)

    async def cancel(self) -> str:
        """Stops it."""
        return await in_thread(self._job.cancel)

    def __await__(self) -> Any:
        """Waits for the end and gives the result."""
        return self.wait().__await__()
