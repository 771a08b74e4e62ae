"""What can go wrong, as exceptions.

Every exception of the server and of the connection is a `VegaError` with the stable name that the server gave it in `code`,
and what helps in `hint`. (A misspelt argument is Python's `TypeError`, a package that is not installed its
`ModuleNotFoundError`.) It is a built-in exception too, the one that fits: `ValueError` for what was asked wrongly,
`ConnectionError` for a server that is gone, and so on.
"""

from __future__ import annotations

import re

import adbc_driver_manager


class VegaError(Exception):
    """The base of all exceptions; `code` is stable, the text is for people."""

    default_code = "INTERNAL_ERROR"

    def __init__(self, message: str, *, code: str | None = None, hint: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.code = code or self.default_code
        self.hint = hint
        if hint and hint not in message and hasattr(self, "add_note"):  # Python 3.11
            self.add_note(hint)  # tracebacks show it


class InvalidInputError(VegaError, ValueError):
    """A statement, name, option or value is wrong."""

    default_code = "INVALID_PARAMETER"


class TableNotFoundError(InvalidInputError):
    """No table or view has this name."""

    default_code = "OBJECT_NOT_FOUND"


class TableExistsError(InvalidInputError):
    """The name is taken."""

    default_code = "OBJECT_ALREADY_EXISTS"


class NotAViewError(InvalidInputError):
    """The table is not a materialized view, or is one of the other kind."""

    default_code = "NOT_A_MATERIALIZED_VIEW"


class InvalidExpressionError(InvalidInputError, RuntimeError):
    """An expression of a view's `select` is wrong."""

    default_code = "SQL_ERROR"


class InvalidLimitError(InvalidInputError, OverflowError):
    """A view's limit is negative or too large."""


class NotIncrementalError(InvalidInputError):
    """A query cannot be kept up to date as a streaming view; the text has every reason."""

    default_code = "PLAN_NOT_INCREMENTAL"


class SourceChangedError(InvalidInputError, RuntimeError):
    """A table or column that a view reads was dropped, or has another type."""

    default_code = "SOURCE_CHANGED"


class UnsupportedError(VegaError, NotImplementedError):
    """This is not offered."""

    default_code = "NOT_YET_SUPPORTED"


class ReadOnlyViewError(UnsupportedError):
    """Only refreshes write a materialized view."""

    default_code = "MATERIALIZED_VIEW_READ_ONLY"


class FailedError(VegaError, RuntimeError):
    """The statement was right and could not be done."""


class NotReadyError(FailedError):
    """The view has no content yet, or it is staler than it may be."""

    default_code = "MATERIALIZED_VIEW_NOT_READY"


class ConflictError(FailedError):
    """Something else published or committed first; run it again."""

    default_code = "COMMIT_CONFLICT"


class ResumeTokenExpiredError(FailedError):
    """The changes since the token are gone; subscribe with the content again."""

    default_code = "RESUME_TOKEN_EXPIRED"


class SubscriptionEndedError(FailedError):
    """The server ended a subscription; `resume_token` of the subscription says where to go on."""


class JobNotFoundError(VegaError, LookupError):
    """No job has this id, or it is somebody else's, or its time is over."""

    default_code = "JOB_NOT_FOUND"


class JobFailedError(FailedError):
    """The job ended without a result; `code` says why."""


class JobCancelledError(FailedError):
    """The job or statement was cancelled; nothing of it was published."""

    default_code = "CANCELLED"


class WaitTimeoutError(VegaError, TimeoutError):
    """The time to wait, or the statement's time, is over."""

    default_code = "TIMED_OUT"


class ServerUnavailableError(VegaError, ConnectionError):
    """The server is gone, starting, or shutting down."""

    default_code = "SERVER_UNAVAILABLE"


class SessionLostError(VegaError, ConnectionError):
    """The server was started again, or forgot the session: its settings, temporary objects and transaction are gone."""

    default_code = "SESSION_NOT_FOUND"


class AuthenticationError(VegaError, PermissionError):
    """The credentials are missing, wrong or expired."""

    default_code = "UNAUTHENTICATED"


class PermissionDeniedError(VegaError, PermissionError):
    """The caller may not do this."""

    default_code = "PERMISSION_DENIED"


class LakeError(VegaError, RuntimeError):
    """The private server of a folder does not start: no lake, or one that another process holds."""

    default_code = "LAKE_UNREADABLE"


class ServerMissingError(VegaError, FileNotFoundError):
    """There is no server binary to start for a folder."""

    default_code = "SERVER_BINARY_MISSING"


class IncompatibleServerError(VegaError, RuntimeError):
    """The server is not vega-flight, or of a version that this package does not speak to."""

    default_code = "SERVER_INCOMPATIBLE"


_BY_CODE: dict[str, type[VegaError]] = {
    "OBJECT_NOT_FOUND": TableNotFoundError,
    "MATERIALIZED_VIEW_NOT_FOUND": TableNotFoundError,
    "MATERIALIZED_VIEW_TABLE_GONE": TableNotFoundError,
    "OBJECT_ALREADY_EXISTS": TableExistsError,
    "MATERIALIZED_VIEW_EXISTS": TableExistsError,
    "NOT_A_MATERIALIZED_VIEW": NotAViewError,
    "PLAN_NOT_INCREMENTAL": NotIncrementalError,
    "SOURCE_CHANGED": SourceChangedError,
    "NOT_YET_SUPPORTED": UnsupportedError,
    "MATERIALIZED_VIEW_READ_ONLY": ReadOnlyViewError,
    "DEFINITION_TOO_NEW": UnsupportedError,
    "MATERIALIZED_VIEW_NOT_POPULATED": NotReadyError,
    "MATERIALIZED_VIEW_NOT_READY": NotReadyError,
    "MATERIALIZED_VIEW_STALE": NotReadyError,
    "COMMIT_CONFLICT": ConflictError,
    "REFRESH_CONFLICT": ConflictError,
    "RESULT_CHANGED": ConflictError,
    "RESUME_TOKEN_EXPIRED": ResumeTokenExpiredError,
    "JOB_NOT_FOUND": JobNotFoundError,
    "QUERY_HANDLE_NOT_FOUND": JobNotFoundError,
    "CANCELLED": JobCancelledError,
    "TIMED_OUT": WaitTimeoutError,
    "SERVER_DRAINING": ServerUnavailableError,
    "SERVER_UNAVAILABLE": ServerUnavailableError,
    "SESSION_NOT_FOUND": SessionLostError,
    "UNAUTHENTICATED": AuthenticationError,
    "PERMISSION_DENIED": PermissionDeniedError,
    "STATEMENT_NOT_ALLOWED": PermissionDeniedError,
    "LAKE_LOCKED": LakeError,
    "LAKE_UNREADABLE": LakeError,
    "LAKE_FORMAT_UNSUPPORTED": LakeError,
    "CATALOG_NOT_SUPPORTED": LakeError,
    "EXTENSION_MISSING": LakeError,
    "EXTENSION_INVALID": LakeError,
    "CONFIG_INVALID": LakeError,
}

_BY_STATUS: dict[str, type[VegaError]] = {
    "InvalidArgument": InvalidInputError,
    "NotFound": TableNotFoundError,
    "AlreadyExists": TableExistsError,
    "PermissionDenied": PermissionDeniedError,
    "Unauthenticated": AuthenticationError,
    "Unavailable": ServerUnavailableError,
    "Unimplemented": UnsupportedError,
    "Canceled": JobCancelledError,
    "DeadlineExceeded": WaitTimeoutError,
    "Aborted": ConflictError,
}

_STATUS_CODES = {
    "Unavailable": "SERVER_UNAVAILABLE",
    "Unauthenticated": "UNAUTHENTICATED",
    "PermissionDenied": "PERMISSION_DENIED",
    "Canceled": "CANCELLED",
    "DeadlineExceeded": "TIMED_OUT",
    "Unimplemented": "NOT_YET_SUPPORTED",
}

# "NOT_FOUND: [FlightSQL] OBJECT_NOT_FOUND: no such table (NotFound; ExecuteQuery)"
_ADBC = re.compile(
    r"^(?:[A-Z_]+: )?(?:\[FlightSQL\] )?(?P<text>.*?)"
    r"(?: \((?P<status>[A-Za-z]+); [^()]*(?:\([^()]*\)[^()]*)*\))?(?:\. Vendor code: \d+)?$",
    re.S,
)
_CODED = re.compile(r"^(?P<code>[A-Z][A-Z_]{3,}): (?P<text>.*)$", re.S)
_GONE = (
    "connection refused",
    "error reading from server",
    "no such file or directory",
    "connection reset",
    "EOF",
    "broken pipe",
)


def named(code: str, message: str, hint: str | None = None) -> VegaError:
    """Makes the exception of a server's code."""
    kind = _BY_CODE.get(code, FailedError)
    return kind(f"{code}: {message}", code=code, hint=hint)


def translated(error: BaseException) -> VegaError:
    """Makes the package's exception of one of the driver or of Arrow."""
    if isinstance(error, VegaError):
        return error
    match = _ADBC.match(str(error))
    text, status = (match["text"], match["status"]) if match else (str(error), None)
    coded = _CODED.match(text)
    hint = _hint(error)
    if coded and coded["code"] != status:
        kind = _BY_CODE.get(coded["code"]) or _BY_STATUS.get(status or "", FailedError)
        return kind(text, code=coded["code"], hint=hint)
    if _is_cancel(error) and status is None:
        status = "Canceled"
    if status not in _BY_STATUS and any(word in text for word in _GONE):
        status = "Unavailable"
    if status is None and isinstance(error, adbc_driver_manager.Error):
        status = _OF_ADBC.get(error.status_code)
    code = _STATUS_CODES.get(status or "", "INTERNAL_ERROR")
    kind = _BY_STATUS.get(status or "", FailedError)
    if status == "Unavailable":
        text, hint = f"the server cannot be reached: {text}", hint or _reach(text)
    elif code == "CANCELLED":
        text = "the statement was cancelled"
    return kind(f"{code}: {text}", code=code, hint=hint)


_REASONS = {
    "certificate signed by unknown authority": "give the server's certificate: tls=vega_flight.TLS(root_certs=…)",
    "first record does not look like a TLS handshake": "the server has no TLS: connect to grpc:// instead",
    "certificate is valid for": "connect to a name of the certificate, or say it: tls=vega_flight.TLS(hostname=…)",
    "cannot validate certificate for": "connect to a name of the certificate, or say it: tls=vega_flight.TLS(hostname=…)",
    "certificate required": "the server asks for a certificate: tls=vega_flight.TLS(client_cert=…, client_key=…)",
    "error reading server preface": "see that it runs, and if it has TLS, connect to grpc+tls:// instead",
}


def _reach(text: str) -> str:
    """What helps when a server does not answer."""
    return next((hint for reason, hint in _REASONS.items() if reason in text), "see that it runs, then connect again")


_OF_ADBC = {
    adbc_driver_manager.AdbcStatusCode.UNAUTHENTICATED: "Unauthenticated",
    adbc_driver_manager.AdbcStatusCode.UNAUTHORIZED: "PermissionDenied",
    adbc_driver_manager.AdbcStatusCode.CANCELLED: "Canceled",
    adbc_driver_manager.AdbcStatusCode.TIMEOUT: "DeadlineExceeded",
    adbc_driver_manager.AdbcStatusCode.INVALID_ARGUMENT: "InvalidArgument",
    adbc_driver_manager.AdbcStatusCode.NOT_IMPLEMENTED: "Unimplemented",
}


def _is_cancel(error: BaseException) -> bool:
    code = getattr(error, "status_code", None)
    return code == adbc_driver_manager.AdbcStatusCode.CANCELLED or "context canceled" in str(error)


def _hint(error: BaseException) -> str | None:
    """The hint of a google.rpc.ErrorInfo, which is a map entry in the details of the status."""
    for key, value in getattr(error, "details", None) or []:
        if key in (b"grpc-status-details-bin", "grpc-status-details-bin"):
            return _entry(value, b"hint")
    return None


def _entry(info: bytes, key: bytes) -> str | None:
    mark = b"\x0a" + bytes([len(key)]) + key + b"\x12"
    at = info.find(mark)
    if at < 0:
        return None
    at += len(mark)
    length, shift = 0, 0
    while at < len(info):
        byte = info[at]
        length |= (byte & 0x7F) << shift
        at, shift = at + 1, shift + 7
        if byte < 0x80:
            break
    return info[at : at + length].decode("utf-8", "replace")
