"""Lets one test speak to the synchronous API and to its asynchronous twin."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any

import vega_flight

_PROPERTIES = {
    vega_flight.AsyncMaterializedView: {"definition"},
    vega_flight.AsyncStreamingMaterializedView: {"definition"},
    vega_flight.AsyncTable: {"schema"},
    vega_flight.AsyncJob: {"progress"},
}


class Loop:
    """An event loop in a thread of its own."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def run(self, awaitable: Any) -> Any:
        async def wait() -> Any:
            return await awaitable

        return asyncio.run_coroutine_threadsafe(wait(), self.loop).result(600)

    def close(self) -> None:
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join()
        self.loop.close()


class Twin:
    """An asynchronous object that is used as its synchronous twin is."""

    def __init__(self, loop: Loop, inner: Any) -> None:
        self._loop, self._inner = loop, inner

    def __repr__(self) -> str:
        return repr(self._inner).replace("Async", "")

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        if name in _PROPERTIES.get(type(self._inner), ()):
            return self._loop.run(found())
        return self._call(found) if callable(found) else self._made(found)

    def _call(self, method: Any) -> Any:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._made(method(*args, **kwargs))

        return call

    def _made(self, value: Any) -> Any:
        if inspect.isawaitable(value) and not isinstance(value, vega_flight.AsyncJob):
            value = self._loop.run(value)
        if type(value).__name__.startswith("Async"):
            return Twin(self._loop, value)
        if inspect.isasyncgen(value):
            return self._each(value)
        return value

    def _each(self, items: Any) -> Any:
        while True:
            try:
                yield self._loop.run(anext(items))
            except StopAsyncIteration:
                return

    def __iter__(self) -> Any:
        return self._each(aiter(self._inner))

    def __next__(self) -> Any:
        try:
            return self._loop.run(anext(self._inner))
        except StopAsyncIteration:
            raise StopIteration from None

    def __len__(self) -> int:
        if isinstance(self._inner, vega_flight.AsyncTable):
            return int(self.count_rows())
        raise TypeError  # list() asks, and then goes on without

    def __enter__(self) -> Twin:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
