"""What needs no server."""

from __future__ import annotations

import asyncio
import inspect
import os
import signal
import subprocess
import sys
import threading
import traceback
from datetime import timedelta

import adbc_driver_manager
import pytest

import vega_flight
from vega_flight import InvalidInputError, LakeError, errors
from vega_flight.address import TLS, Credentials, parse
from vega_flight.calls import in_thread, interruptible
from vega_flight.names import Name, options
from vega_flight.version import check_server


def uri(text):
    return parse(text, Credentials(), TLS()).uri


def test_targets(tmp_path):
    assert uri("grpc://host:1") == "grpc://host:1"
    assert uri("grpc://host") == "grpc://host:8815"
    assert uri("grpc+tls://host:2") == "grpc+tls://host:2"
    assert uri("grpc+tcp://host:2") == "grpc+tcp://host:2"
    assert uri("grpc+unix:///run/s.sock") == "grpc+unix:///run/s.sock"
    assert uri("flightsql://host:3") == "grpc+tls://host:3"
    assert uri("flightsql://host?transport=tcp") == "grpc+tcp://host:8815"
    assert uri("flightsql:///run/s.sock?transport=unix") == "grpc+unix:///run/s.sock"
    assert uri("grpc://[::1]:5") == "grpc://[::1]:5"
    for folder in ("./lake", "lake", tmp_path):
        address = parse(folder, Credentials(), TLS())
        assert address.uri is None
        assert address.folder is not None
    for wrong in ("", "http://x", "grpc://", "grpc+unix://", "flightsql://h?transport=udp", "grpc://u:p@h:1", "grpc://h:x"):
        with pytest.raises(InvalidInputError):
            parse(wrong, Credentials(), TLS())


def test_options_of_a_connection(tmp_path):
    pem = tmp_path / "ca.pem"
    pem.write_text("-----BEGIN CERTIFICATE-----")
    given = parse(
        "grpc://h:1",
        Credentials(user="u", password="p"),
        TLS(root_certs=pem, client_cert="-----BEGIN X", client_key=b"-----BEGIN Y", hostname="n", skip_verify=True),
        timeout=2.5,
        catalog="lake",
        schema="s",
        driver_options={"x": "y"},
    )
    assert given.database["username"] == "u"
    assert given.database["adbc.flight.sql.client_option.tls_root_certs"] == "-----BEGIN CERTIFICATE-----"
    assert given.database["adbc.flight.sql.rpc.timeout_seconds.query"] == "2.5"
    assert given.database["x"] == "y"
    assert given.connection["adbc.flight.sql.session.option.schema"] == "s"
    assert Credentials(token="t").options() == {"adbc.flight.sql.authorization_header": "Bearer t"}
    assert Credentials(api_key="k").options() == {"adbc.flight.sql.rpc.call_header.x-api-key": "k"}
    for wrong in (Credentials(user="u"), Credentials(password="p"), Credentials(token="t", api_key="k")):
        with pytest.raises(InvalidInputError):
            wrong.options()
    with pytest.raises(InvalidInputError):
        TLS(client_cert="-----BEGIN X").options()
    with pytest.raises(InvalidInputError):
        parse("grpc://h:1", Credentials(), TLS(), timeout=0)


def test_names():
    assert Name.parse("t") == Name("t")
    assert Name.parse("s.t") == Name("t", "s")
    assert Name.parse("lake.s.t") == Name("t", "s")
    assert Name.parse('"a.b"."c""d"') == Name('c"d', "a.b")
    assert Name.parse("t", ["s"]) == Name("t", "s")
    for text in ("t", "s.t", '"a.b"', '"a""b".c'):
        assert str(Name.parse(text)) == text
    assert Name('a"b', "s").sql == '"s"."a""b"'
    with pytest.raises(TypeError):
        Name.parse(3)


def test_options_as_sql():
    assert options({}) == options({"a": None}) == ""
    given = {"a": True, "b": 3, "c": "it's", "d": timedelta(seconds=1.5)}
    assert options(given) == "(a = true, b = 3, c = 'it''s', d = INTERVAL '1500000 microseconds')"


def test_versions():
    assert check_server("vega-flight", "0.1.7", "0.1.0") == "0.1.7"
    assert check_server("vega-flight", "v1.9.0", "1.0.0") == "v1.9.0"
    assert check_server("vega-flight", "25079f4-dirty", "1.0.0") == "25079f4-dirty"
    for server, hint in (("0.2.0", "package"), ("0.0.9", "server"), ("1.0.0", "package")):
        with pytest.raises(errors.IncompatibleServerError) as e:
            check_server("vega-flight", server, "0.1.0")
        assert e.value.hint == f"upgrade the {hint}"
    with pytest.raises(errors.IncompatibleServerError):
        check_server("another", "0.1.0", "0.1.0")


def adbc(text, status=adbc_driver_manager.AdbcStatusCode.UNKNOWN, details=None):
    return adbc_driver_manager.OperationalError(text, status_code=status, details=details)


def test_translation_of_errors():
    found = errors.translated(adbc("UNKNOWN: [FlightSQL] REFRESH_CONFLICT: lost (again) (Aborted; ExecuteQuery)"))
    assert isinstance(found, errors.ConflictError)
    assert (found.code, str(found)) == ("REFRESH_CONFLICT", "REFRESH_CONFLICT: lost (again)")
    new = errors.translated(adbc("IO: [FlightSQL] BRAND_NEW: a later server's (NotFound; DoGet: endpoint 0: [])"))
    assert isinstance(new, errors.TableNotFoundError)
    assert new.code == "BRAND_NEW"
    gone = errors.translated(adbc("IO: [FlightSQL] connection error: desc = refused (Unavailable; Prepare)"))
    assert isinstance(gone, ConnectionError)
    assert gone.hint
    hint = b"\n\x04hint\x12\x05do so"
    assert (
        errors.translated(adbc("X: [FlightSQL] A_B_C: d (Internal; Q)", details=[(b"grpc-status-details-bin", hint)])).hint
        == "do so"
    )
    assert isinstance(errors.translated(OSError("error reading from server: EOF")), errors.ServerUnavailableError)
    assert isinstance(errors.translated(ValueError("context canceled")), errors.JobCancelledError)
    late = adbc("slow", adbc_driver_manager.AdbcStatusCode.TIMEOUT)
    assert isinstance(errors.translated(late), TimeoutError)
    assert isinstance(errors.translated(ValueError("what")), errors.FailedError)
    again = errors.named("LAKE_LOCKED", "held")
    assert errors.translated(again) is again
    for kind in vars(errors).values():
        if inspect.isclass(kind) and issubclass(kind, errors.VegaError):
            made = kind("text")
            assert made.code == kind.default_code
            assert str(made) == made.message == "text"


TWINS = [
    (vega_flight.Connection, vega_flight.AsyncConnection),
    (vega_flight.Table, vega_flight.AsyncTable),
    (vega_flight.Selection, vega_flight.AsyncSelection),
    (vega_flight.Result, vega_flight.AsyncResult),
    (vega_flight.MaterializedView, vega_flight.AsyncMaterializedView),
    (vega_flight.StreamingMaterializedView, vega_flight.AsyncStreamingMaterializedView),
    (vega_flight.Subscription, vega_flight.AsyncSubscription),
    (vega_flight.Job, vega_flight.AsyncJob),
]


@pytest.mark.parametrize(("plain", "twin"), TWINS)
def test_twins_offer_the_same(plain, twin):
    fields = {"session", "source", "columns", "filter", "order", "rows", "skipped"}
    names = {n for n in dir(plain) if not n.startswith("_")} - fields
    missing = {n for n in names if not hasattr(twin, n)}
    assert not missing
    for name in names:
        here, there = getattr(plain, name), getattr(twin, name)
        if inspect.isfunction(here) and inspect.isfunction(there):
            ours, theirs = inspect.signature(here), inspect.signature(there)
            assert list(ours.parameters) == list(theirs.parameters), name
            assert [p.default for p in ours.parameters.values()] == [p.default for p in theirs.parameters.values()], name


def test_everything_public_is_said():
    for name in vega_flight.__all__:
        thing = getattr(vega_flight, name)
        if inspect.isclass(thing) or inspect.isfunction(thing):
            assert thing.__doc__, name


def test_in_thread():
    async def main():
        assert await in_thread(lambda: 3) == 3
        with pytest.raises(KeyError):
            await in_thread(lambda: {}["x"])

    asyncio.run(main())


class Forgetful:
    """A call as the driver makes it: a cancellation that comes before it begins is forgotten."""

    def __init__(self, early):
        self.early = early
        self.over = threading.Event()

    def call(self, begin):
        begin()
        self.over.wait()

    def cancel(self):
        self.early -= 1
        if self.early == 0:
            raise RuntimeError("nothing to cancel")
        if self.early < 0:
            self.over.set()


def test_what_does_not_come_back_is_cancelled_again():
    driver = Forgetful(early=2)
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda: driver.call(lambda: os.kill(os.getpid(), signal.SIGINT)), driver.cancel)
    assert driver.over.is_set()

    async def main():
        driver = Forgetful(early=2)
        loop, begun = asyncio.get_running_loop(), asyncio.Event()
        begin = lambda: loop.call_soon_threadsafe(begun.set)  # noqa: E731
        task = asyncio.create_task(in_thread(lambda: interruptible(lambda: driver.call(begin), driver.cancel)))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert driver.over.is_set()

    asyncio.run(main())


def test_a_signal_that_wakes_nobody_is_seen():
    """As one that comes just before the main thread begins to wait; here it comes to another thread."""
    driver = Forgetful(early=0)
    send = lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT)  # noqa: E731
    with pytest.raises(KeyboardInterrupt):
        interruptible(lambda: driver.call(send), driver.cancel)
    assert driver.over.is_set()


def test_files_are_read_first(tmp_path):
    for name in ("sales.parquet", tmp_path / "sales.csv"):
        with pytest.raises(InvalidInputError) as e:
            vega_flight.data.reader(name)
        assert "read_csv" in e.value.hint


def test_a_package_that_is_not_installed_is_named_by_its_extra():
    with pytest.raises(ModuleNotFoundError, match=r"vega-flight\[no_such_frames\]"):
        vega_flight.extras.extra("no_such_frames")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="exceptions have no notes")
def test_a_traceback_has_the_hint_once():
    for error in (LakeError("it is wrong", hint="do better"), LakeError("it is wrong: do better", hint="do better")):
        assert "".join(traceback.format_exception(error)).count("do better") == 1
        assert str(error) == error.message


def test_where_there_are_no_locks_of_files():
    """As on Windows: servers are reached by their URI."""
    program = """
import sys
sys.modules.update(dict.fromkeys(["fcntl", "resource", "pwd", "termios"]))
import vega_flight
try:
    vega_flight.connect("folder")
except vega_flight.UnsupportedError as e:
    print(e.hint)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("connect to a server by its URI\n", "")
