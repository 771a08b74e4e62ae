"""Where a server is, and who asks: the arguments of `connect` as the driver's options."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from adbc_driver_flightsql import ConnectionOptions, DatabaseOptions

from .errors import InvalidInputError

SCHEMES = ("grpc", "grpc+tcp", "grpc+tls", "grpc+unix", "flightsql")
_LARGEST_MESSAGE = 256 << 20  # one row can be as large


@dataclass(frozen=True)
class Address:
    """A server's URI, or a folder, with the driver's options."""

    uri: str | None
    folder: Path | None
    database: dict[str, str] = field(default_factory=dict)
    connection: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Credentials:
    """Who asks: a user and password, a token, or an API key."""

    user: str | None = None
    password: str | None = None
    token: str | None = None
    api_key: str | None = None

    def options(self) -> dict[str, str]:
        """The driver's options for them."""
        if sum(x is not None for x in (self.user, self.token, self.api_key)) > 1:
            raise InvalidInputError("a user, a token and an API key exclude each other")
        if (self.user is None) != (self.password is None):
            raise InvalidInputError("a user needs a password, and a password a user")
        if self.user is not None and self.password is not None:
            return {"username": self.user, "password": self.password}
        if self.token is not None:
            return {DatabaseOptions.AUTHORIZATION_HEADER.value: "Bearer " + self.token}
        if self.api_key is not None:
            return {DatabaseOptions.RPC_CALL_HEADER_PREFIX.value + "x-api-key": self.api_key}
        return {}


@dataclass(frozen=True)
class TLS:
    """How the server proves what it is, and this client too: PEM texts or files of them."""

    root_certs: str | bytes | os.PathLike[str] | None = None
    client_cert: str | bytes | os.PathLike[str] | None = None
    client_key: str | bytes | os.PathLike[str] | None = None
    hostname: str | None = None
    skip_verify: bool = False

    def options(self) -> dict[str, str]:
        """The driver's options for it."""
        if (self.client_cert is None) != (self.client_key is None):
            raise InvalidInputError("a client certificate needs its key, and a key its certificate")
        given = {
            DatabaseOptions.TLS_ROOT_CERTS: _pem(self.root_certs),
            DatabaseOptions.MTLS_CERT_CHAIN: _pem(self.client_cert),
            DatabaseOptions.MTLS_PRIVATE_KEY: _pem(self.client_key),
            DatabaseOptions.TLS_OVERRIDE_HOSTNAME: self.hostname,
            DatabaseOptions.TLS_SKIP_VERIFY: "true" if self.skip_verify else None,
        }
        return {k.value: v for k, v in given.items() if v is not None}


def _pem(given: str | bytes | os.PathLike[str] | None) -> str | None:
    if given is None:
        return None
    if isinstance(given, bytes):
        return given.decode()
    if isinstance(given, str) and "-----BEGIN" in given:
        return given
    return Path(given).read_text()


def parse(
    target: str | os.PathLike[str],
    credentials: Credentials,
    tls: TLS,
    *,
    timeout: float | None = None,
    catalog: str | None = None,
    schema: str | None = None,
    driver_options: dict[str, str] | None = None,
) -> Address:
    """Reads what `connect` was given."""
    text = os.fsdecode(target)
    if not text:
        raise InvalidInputError("the target is a URI such as grpc://localhost:8815, or a folder")
    database = {
        DatabaseOptions.WITH_MAX_MSG_SIZE.value: str(_LARGEST_MESSAGE),
        DatabaseOptions.WITH_COOKIE_MIDDLEWARE.value: "true",
        **credentials.options(),
        **tls.options(),
    }
    if timeout is not None:
        if timeout <= 0:
            raise InvalidInputError("the timeout is a number of seconds above 0")
        for name in (DatabaseOptions.TIMEOUT_FETCH, DatabaseOptions.TIMEOUT_QUERY, DatabaseOptions.TIMEOUT_UPDATE):
            database[name.value] = str(float(timeout))
    connection = {}
    prefix = ConnectionOptions.OPTION_SESSION_OPTION_PREFIX.value
    if catalog is not None:
        connection[prefix + "catalog"] = catalog
    if schema is not None:
        connection[prefix + "schema"] = schema
    database.update(driver_options or {})
    if "://" not in text:
        return Address(None, Path(text), database, connection)
    return Address(_uri(text), None, database, connection)


def _uri(text: str) -> str:
    parts = urlsplit(text)
    if parts.scheme not in SCHEMES:
        raise InvalidInputError(f"the target starts with {'://, '.join(SCHEMES)}:// or is a folder, not {text!r}")
    if parts.username or parts.password:
        raise InvalidInputError("credentials belong into the arguments user and password, not into the URI")
    if parts.scheme == "grpc+unix":
        if not parts.path:
            raise InvalidInputError("grpc+unix:// needs the path of a socket")
        return text
    if parts.scheme == "flightsql":
        transport = parse_qs(parts.query).get("transport", ["tls"])[0]
        if transport == "unix":
            return "grpc+unix://" + parts.path
        scheme = {"tls": "grpc+tls", "tcp": "grpc+tcp"}.get(transport)
        if scheme is None:
            raise InvalidInputError(f"transport is tls, tcp or unix, not {transport!r}")
        text = f"{scheme}://{parts.netloc}"
        parts = urlsplit(text)
    try:
        port = parts.port
    except ValueError as e:
        raise InvalidInputError(f"{text!r} has no right port") from e
    if not parts.hostname:
        raise InvalidInputError(f"{text!r} names no host")
    return text if port is not None else f"{parts.scheme}://{parts.netloc}:8815"
