"""Calls that block, and how they are given up.

The driver's calls hold no lock of Python's and know nothing of signals. In the main thread they run beside it, so that
Ctrl-C reaches the caller, who cancels them; in a task of asyncio they run in a thread with a `Scope`, through which the
task's cancellation reaches them.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, Generic, ParamSpec, TypeVar

T = TypeVar("T")
P = ParamSpec("P")
Cancel = Callable[[], object]

_AGAIN = 0.1  # seconds after which what has not come back is cancelled again: the driver forgets what comes before its call begins
LOOK = 0.5
"""Seconds after which a wait returns to Python for a moment: a signal that came just before it began wakes nobody."""

_current: contextvars.ContextVar[Scope | None] = contextvars.ContextVar("vega_flight_scope", default=None)


class Scope:
    """What a task is waiting for in its thread, as the ways to cancel it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._cancels: list[Cancel] = []
        self._cancelled = False

    @contextmanager
    def cancelling(self, cancel: Cancel) -> Iterator[None]:
        """Within it, the task's cancellation calls `cancel`."""
        with self._lock:
            self._cancels.append(cancel)
            late = self._cancelled
        if late:
            with apart():
                cancel()
        try:
            yield
        finally:
            with self._lock:
                self._cancels.remove(cancel)

    @property
    def cancelled(self) -> bool:
        """Whether the task was cancelled."""
        return self._cancelled

    def cancel(self) -> None:
        """Cancels what runs now, the outermost first, and all that will."""
        with self._lock:
            self._cancelled = True
            cancels = list(self._cancels)
        for cancel in cancels:
            cancel()


def current_scope() -> Scope | None:
    """The scope of the task that this thread works for."""
    return _current.get()


@contextmanager
def apart() -> Iterator[None]:
    """Within it, the task's cancellation reaches nothing: this is what the cancelled task still has to do."""
    token = _current.set(None)
    try:
        yield
    finally:
        _current.reset(token)


class _Outcome(Generic[T]):
    """A call in a thread of its own, which does not keep the process from ending."""

    def __init__(self, call: Callable[[], T]) -> None:
        self.done = threading.Event()
        self._call = call
        self._value: T
        self._error: BaseException | None = None
        self._turn = threading.Lock()
        self._begun = False
        self._given_up = False

    def start(self) -> None:
        context = contextvars.copy_context()
        threading.Thread(target=context.run, args=(self._work,), name="vega-flight call", daemon=True).start()

    def give_up(self, cancel: Cancel) -> None:
        """Returns when nothing of the call runs, nor will."""
        with self._turn:
            self._given_up = True
            begun = self._begun
        if begun:
            _insist(cancel, self.done)

    def _work(self) -> None:
        with self._turn:
            self._begun = not self._given_up
        if not self._begun:
            return
        try:
            self._value = self._call()
        except BaseException as e:
            self._error = e
        finally:
            self.done.set()

    def get(self) -> T:
        if self._error is not None:
            raise self._error
        return self._value


def interruptible(call: Callable[[], T], cancel: Cancel) -> T:
    """Runs a blocking call that `cancel`, called in another thread, makes return."""
    scope = _current.get()
    if scope is not None:
        with scope.cancelling(cancel):
            return call()
    if threading.current_thread() is not threading.main_thread():
        return call()
    outcome = _Outcome(call)
    try:
        outcome.start()
        while not outcome.done.wait(LOOK):
            continue
    except BaseException:
        outcome.give_up(cancel)
        raise
    return outcome.get()


def _insist(cancel: Cancel, done: threading.Event) -> None:
    """Cancels until it is done."""
    while not done.is_set():
        with suppress(Exception):  # it may have ended
            cancel()
        done.wait(_AGAIN)


async def in_thread(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """Runs a blocking function beside the event loop; the task's cancellation reaches what it waits for.

    The cancelled task goes on when the function has come back, so nothing of it runs any more.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()
    scope = Scope()
    back = threading.Event()

    def settle(value: T | None, error: BaseException | None) -> None:
        if result.cancelled():
            return
        if error is not None:
            result.set_exception(error)
        else:
            result.set_result(value)  # type: ignore[arg-type]

    def work() -> None:
        _current.set(scope)
        value: T | None = None
        error: BaseException | None = None
        try:
            value = function(*args, **kwargs)
        except StopIteration:
            error = StopAsyncIteration()
        except BaseException as e:
            error = e
        back.set()
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:  # the loop is closed: nobody waits
            return

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(work,), name="vega-flight task", daemon=True).start()
    try:
        return await asyncio.shield(result)
    except asyncio.CancelledError:
        threading.Thread(target=_insist, args=(scope.cancel, back), name="vega-flight cancel", daemon=True).start()
        await _settled(result)
        raise


async def _settled(result: asyncio.Future[Any]) -> None:
    """Waits until the thread is back, whatever comes out, also when the task is cancelled again."""
    while not result.done():
        try:
            await asyncio.wait([result])
        except asyncio.CancelledError:
            continue
    if not result.cancelled():
        result.exception()  # it is known
