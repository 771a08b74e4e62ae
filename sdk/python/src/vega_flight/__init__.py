"""Tables and materialized views of a DuckLake, served by vega-flight.

`connect` gives a `Connection` to a server or to a folder, `connect_async` its asynchronous twin.
"""

from .address import TLS
from .async_connection import AsyncConnection, connect_async
from .changes import Changes
from .connection import Connection, connect
from .errors import (
    AuthenticationError,
    ConflictError,
    FailedError,
    IncompatibleServerError,
    InvalidExpressionError,
    InvalidInputError,
    InvalidLimitError,
    JobCancelledError,
    JobFailedError,
    JobNotFoundError,
    LakeError,
    NotAViewError,
    NotIncrementalError,
    NotReadyError,
    PermissionDeniedError,
    ReadOnlyViewError,
    ResumeTokenExpiredError,
    ServerMissingError,
    ServerUnavailableError,
    SessionLostError,
    SourceChangedError,
    SubscriptionEndedError,
    TableExistsError,
    TableNotFoundError,
    UnsupportedError,
    VegaError,
    WaitTimeoutError,
)
from .explain import Explanation
from .job import AsyncJob, Job, RefreshMaterializedViewResult
from .page import Page
from .result import AsyncResult, Result
from .select import ColumnExistsError
from .selection import AsyncSelection, Selection
from .streaming import AsyncStreamingMaterializedView, StreamingMaterializedView, StreamingStatus
from .subscription import AsyncSubscription, Subscription
from .table import AsyncTable, Table
from .version import __version__
from .view import AsyncMaterializedView, MaterializedView, MaterializedViewDefinition

__all__ = [
    "AsyncConnection",
    "AsyncJob",
    "AsyncMaterializedView",
    "AsyncResult",
    "AsyncSelection",
    "AsyncStreamingMaterializedView",
    "AsyncSubscription",
    "AsyncTable",
    "AuthenticationError",
    "Changes",
    "ColumnExistsError",
    "ConflictError",
    "Connection",
    "Explanation",
    "FailedError",
    "IncompatibleServerError",
    "InvalidExpressionError",
    "InvalidInputError",
    "InvalidLimitError",
    "Job",
    "JobCancelledError",
    "JobFailedError",
    "JobNotFoundError",
    "LakeError",
    "MaterializedView",
    "MaterializedViewDefinition",
    "NotAViewError",
    "NotIncrementalError",
    "NotReadyError",
    "Page",
    "PermissionDeniedError",
    "ReadOnlyViewError",
    "RefreshMaterializedViewResult",
    "Result",
    "ResumeTokenExpiredError",
    "Selection",
    "ServerMissingError",
    "ServerUnavailableError",
    "SessionLostError",
    "SourceChangedError",
    "StreamingMaterializedView",
    "StreamingStatus",
    "Subscription",
    "SubscriptionEndedError",
    "TLS",
    "Table",
    "TableExistsError",
    "TableNotFoundError",
    "UnsupportedError",
    "VegaError",
    "WaitTimeoutError",
    "__version__",
    "connect",
    "connect_async",
]
