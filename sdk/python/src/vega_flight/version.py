"""Which versions of package and server go together."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, version

from .errors import IncompatibleServerError

try:
    __version__ = version("vega-flight")
except PackageNotFoundError:  # run from a checkout
    __version__ = "0.1.0"

_NUMBERS = re.compile(r"^v?(\d+)\.(\d+)\.\d+")


def check_server(product: str, server: str, package: str = __version__) -> str:
    """Refuses a server that is another product, or too far from this package; gives its version.

    Versions go together when their first number is the same, and before 1.0 the second one too. Servers built between
    releases have no number, and are believed.
    """
    if product != "vega-flight":
        raise IncompatibleServerError(f"the server is {product}, not vega-flight", hint="connect to a vega-flight server")
    ours, theirs = _NUMBERS.match(package), _NUMBERS.match(server)
    if ours and theirs:
        count = 2 if ours[1] == theirs[1] == "0" else 1
        if ours.groups()[:count] != theirs.groups()[:count]:
            older = "server" if tuple(map(int, theirs.groups())) < tuple(map(int, ours.groups())) else "package"
            raise IncompatibleServerError(
                f"the server is version {server}, the package vega-flight {package}", hint=f"upgrade the {older}"
            )
    return server
