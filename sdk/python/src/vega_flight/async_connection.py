"""The asynchronous twin of a connection."""

from __future__ import annotations

import os
from typing import Any

import pyarrow as pa

from .address import TLS
from .calls import in_thread
from .connection import Connection, connect
from .data import Data
from .explain import Explanation
from .job import AsyncJob
from .page import Page
from .result import AsyncResult
from .select import SelectArg
from .session import Parameters
from .streaming import AsyncStreamingMaterializedView
from .table import AsyncTable
from .view import AsyncMaterializedView, Interval


async def connect_async(
    target: str | os.PathLike[str],
    *,
    user: str | None = None,
    password: str | None = None,
    token: str | None = None,
    api_key: str | None = None,
    tls: TLS | None = None,
    timeout: float | None = None,
    schema: str | None = None,
    progress: bool | None = None,
    server_binary: str | None = None,
    server_args: list[str] | None = None,
    start_timeout: float = 60,
    driver_options: dict[str, str] | None = None,
) -> AsyncConnection:
    """Connects as `connect` does; everything that waits is awaited.

    The cancellation of a task reaches the server: the statement or job that the task waits for is cancelled, and nothing of
    it runs any more when the task goes on.
    """
    return AsyncConnection(
        await in_thread(
            connect,
            target,
            user=user,
            password=password,
            token=token,
            api_key=api_key,
            tls=tls,
            timeout=timeout,
            schema=schema,
            progress=progress,
            server_binary=server_binary,
            server_args=server_args,
            start_timeout=start_timeout,
            driver_options=driver_options,
        )
    )


class AsyncConnection:
    """What `connect_async` gives."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self.server_version = connection.server_version

    @property
    def uri(self) -> str:
        """Where the server is."""
        return self._connection.uri

    def __repr__(self) -> str:
        return f"AsyncConnection({self.uri!r})"

    async def close(self) -> None:
        """Ends the connection; jobs go on."""
        await in_thread(self._connection.close)

    async def __aenter__(self) -> AsyncConnection:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def sql(self, query: str, params: Parameters | None = None) -> AsyncResult:
        """Runs SQL; its rows are streamed."""
        return AsyncResult(await in_thread(self._connection.sql, query, params))

    async def create_table(
        self,
        name: str,
        data: Data = None,
        schema: pa.Schema | None = None,
        *,
        mode: str = "create",
        exist_ok: bool = False,
    ) -> AsyncTable:
        """Makes a table of rows, or an empty one of a schema."""
        return AsyncTable(await in_thread(self._connection.create_table, name, data, schema, mode=mode, exist_ok=exist_ok))

    async def open_table(self, name: str) -> AsyncTable:
        """A handle on a table, or on a view as one."""
        return AsyncTable(await in_thread(self._connection.open_table, name))

    async def list_tables(self, page_token: str | None = None, page_limit: int | None = None) -> Page:
        """The names of all tables and materialized views."""
        return await in_thread(self._connection.list_tables, page_token, page_limit)

    async def table_names(self, page_token: str | None = None, limit: int | None = None) -> list[str]:
        """The same, under LanceDB's name."""
        return await in_thread(self._connection.table_names, page_token, limit)

    async def drop_table(self, name: str, ignore_missing: bool = False) -> None:
        """Drops a table, or a view."""
        await in_thread(self._connection.drop_table, name, ignore_missing)

    async def create_materialized_view(
        self,
        name: str,
        source: str | None = None,
        *,
        select: SelectArg = None,
        where: str | None = None,
        limit: int | None = None,
        with_no_data: bool = False,
        query: str | None = None,
        refresh_interval: Interval | None = None,
        refresh_cron: str | None = None,
        refresh_timezone: str | None = None,
        max_staleness: Interval | None = None,
    ) -> AsyncMaterializedView:
        """Makes a view and waits until its content is there."""
        return AsyncMaterializedView(
            await in_thread(
                self._connection.create_materialized_view,
                name,
                source,
                select=select,
                where=where,
                limit=limit,
                with_no_data=with_no_data,
                query=query,
                refresh_interval=refresh_interval,
                refresh_cron=refresh_cron,
                refresh_timezone=refresh_timezone,
                max_staleness=max_staleness,
            )
        )

    async def create_materialized_view_async(
        self,
        name: str,
        source: str | None = None,
        *,
        select: SelectArg = None,
        where: str | None = None,
        limit: int | None = None,
        with_no_data: bool = False,
        query: str | None = None,
        refresh_interval: Interval | None = None,
        refresh_cron: str | None = None,
        refresh_timezone: str | None = None,
        max_staleness: Interval | None = None,
    ) -> AsyncJob[None]:
        """Makes a view, and returns the job that computes its content."""
        return AsyncJob(
            await in_thread(
                self._connection.create_materialized_view_async,
                name,
                source,
                select=select,
                where=where,
                limit=limit,
                with_no_data=with_no_data,
                query=query,
                refresh_interval=refresh_interval,
                refresh_cron=refresh_cron,
                refresh_timezone=refresh_timezone,
                max_staleness=max_staleness,
            )
        )

    async def open_materialized_view(self, name: str) -> AsyncMaterializedView:
        """A handle on a view that is there."""
        return AsyncMaterializedView(await in_thread(self._connection.open_materialized_view, name))

    async def list_materialized_views(self, page_token: str | None = None, page_limit: int | None = None) -> Page:
        """The names of all views, in order, or a page of them."""
        return await in_thread(self._connection.list_materialized_views, page_token, page_limit)

    async def drop_materialized_view(self, name: str, *, namespace_path: list[str] | None = None, cascade: bool = False) -> None:
        """Drops a view."""
        await in_thread(self._connection.drop_materialized_view, name, namespace_path, cascade=cascade)

    async def drop_materialized_view_async(
        self, name: str, *, namespace_path: list[str] | None = None, cascade: bool = False
    ) -> AsyncJob[None]:
        """Drops a view, and returns the job that does it."""
        return AsyncJob(await in_thread(self._connection.drop_materialized_view_async, name, namespace_path, cascade=cascade))

    async def create_streaming_materialized_view(
        self, name: str, query: str, *, wait_for_ready: bool = False, **stream_options: object
    ) -> AsyncStreamingMaterializedView:
        """Makes a view that follows its sources."""
        return AsyncStreamingMaterializedView(
            await in_thread(
                lambda: self._connection.create_streaming_materialized_view(
                    name, query, wait_for_ready=wait_for_ready, **stream_options
                )
            )
        )

    async def open_streaming_materialized_view(self, name: str) -> AsyncStreamingMaterializedView:
        """A handle on a streaming view that is there."""
        return AsyncStreamingMaterializedView(await in_thread(self._connection.open_streaming_materialized_view, name))

    async def list_streaming_materialized_views(self, page_token: str | None = None, page_limit: int | None = None) -> Page:
        """The names of all streaming views, in order, or a page of them."""
        return await in_thread(self._connection.list_streaming_materialized_views, page_token, page_limit)

    async def drop_streaming_materialized_view(self, name: str, *, cascade: bool = False) -> None:
        """Drops a streaming view."""
        await in_thread(self._connection.drop_streaming_materialized_view, name, cascade=cascade)

    async def explain_streaming(self, query: str) -> Explanation:
        """How a query would be kept up to date, or why it would not."""
        return await in_thread(self._connection.explain_streaming, query)

    async def job(self, id: str) -> AsyncJob[Any]:
        """Finds a job by its id."""
        return AsyncJob(await in_thread(self._connection.job, id))

    async def list_jobs(self, view: str | None = None, limit: int = 100) -> list[dict[str, Any]]:
        """The newest jobs, as rows of SHOW JOBS."""
        return await in_thread(self._connection.list_jobs, view, limit)
