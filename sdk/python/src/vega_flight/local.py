"""The private server of a folder: one for all processes of the user, from the first that connects to the last that leaves.

Beside the lake, in `.vega-flight`, are a file that is locked while somebody comes or goes (`door`), one that each user
keeps locked for as long as it needs the server (`lifeline`), the server's address (`ready.json`) and its log. The kernel
takes the locks from processes that crash, and the server ends when nobody holds its lifeline.
"""

from __future__ import annotations

import _thread
import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Any

from .errors import LakeError, ServerMissingError, VegaError, WaitTimeoutError, named
from .lock import FileLock

_LONGEST_SOCKET = 100  # bytes; the kernel takes 107
_BINARY = "vega-flight"
_FETCH = 600.0  # seconds for the extensions to come over the network


class Seat:
    """A connection's part in a folder's server. It is given up by `leave`, or when nobody has it any more."""

    def __init__(self, server: LocalServer) -> None:
        self._server = server
        self._key = object()
        self._unneeded = weakref.finalize(self, server.left_behind, self._key)
        self._unneeded.atexit = False
        server.seats.add(self._key)

    @property
    def uri(self) -> str:
        """Where the server is."""
        return self._server.uri

    def leave(self) -> None:
        """Gives it up; again is fine. If nobody else needs the server, it has ended when this returns."""
        self._server.leave(self._key)
        self._unneeded.detach()


class LocalServer:
    """This process's part in the private server of a folder."""

    _open: dict[Path, LocalServer] = {}
    _guard = threading.Lock()

    def __init__(self, folder: Path, uri: str, lifeline: FileLock, pid: int, child: subprocess.Popen[bytes] | None) -> None:
        self.folder = folder
        self.uri = uri
        self.pid = pid
        self._child = child
        self._owner = os.getpid()
        self.seats: set[object] = set()
        self._lifeline = lifeline

    @classmethod
    def join(cls, folder: Path, *, binary: str | None = None, args: list[str] | None = None, timeout: float = 60) -> Seat:
        """Starts the folder's server, or joins the one that runs."""
        try:
            folder = folder.expanduser().resolve()
            folder.is_file()
        except (OSError, RuntimeError, ValueError) as e:  # too long, links in a circle, no home, a zero byte
            raise _unusable(folder, e) from e
        with cls._guard:
            known = cls._open.get(folder)
            seat = None
            if known is not None and known._owner == os.getpid():
                if known._lives():
                    seat = Seat(known)
                else:
                    known._let()
            if seat is None:
                server = cls._join(folder, binary, args or [], timeout)
                try:
                    cls._open[folder] = server
                    seat = Seat(server)
                except BaseException:
                    if not server.seats:
                        server._gone()
                    raise
        return seat

    @classmethod
    def _join(cls, folder: Path, binary: str | None, args: list[str], timeout: float) -> LocalServer:
        deadline = time.monotonic() + timeout
        place = _place(folder)
        with FileLock(place / "door", deadline):
            lifeline = FileLock(place / "lifeline", deadline)
            try:
                lifeline.share()
                ready = _ready(place)
                child = None
                if ready is None:
                    child, ready = _start(folder, place, _find(binary), args, deadline)
                return cls(folder, ready["flight"], lifeline, ready["pid"], child)
            except BaseException:
                lifeline.release()
                raise

    def leave(self, seat: object, timeout: float = 60) -> None:
        """Gives a seat up. If nobody else needs the server, it has ended when this returns."""
        if self._owner != os.getpid():  # a forked child has nothing to give up but its copy of the file
            return
        with self._guard:
            if seat not in self.seats:
                return
            if len(self.seats) > 1:
                self.seats.discard(seat)
                return
            place = _where(self.folder)
            try:
                if self._open.get(self.folder) is self:
                    del self._open[self.folder]
                with suppress(VegaError, OSError):
                    if place.is_dir():  # else somebody has removed the lake, and it is not to come back
                        with FileLock(place / "door", time.monotonic() + timeout):
                            self._let()
                            self._end(place, time.monotonic() + timeout)
            finally:
                self._let()  # where it could not be ended, the server sees by itself that nobody is left
                self.seats.discard(seat)

    def left_behind(self, seat: object) -> None:
        """Gives the server up for a connection that is garbage and was not closed. It does not wait: Python tidies up."""
        if self._owner == os.getpid():
            with suppress(RuntimeError):  # the interpreter ends, and the kernel takes the lifeline
                _thread.start_new_thread(self.leave, (seat,))

    def _gone(self) -> None:
        if self._open.get(self.folder) is self:
            del self._open[self.folder]
        self._let()

    def _let(self) -> None:
        self._lifeline.release()

    def _lives(self) -> bool:
        return _answers(self.uri)

    def _end(self, place: Path, deadline: float) -> None:
        """Ends the server when nobody else holds its lifeline."""
        with suppress(FileNotFoundError):
            alone = FileLock(place / "lifeline", deadline)
            if not alone.alone():
                return  # others need it, or it ends already
            try:
                if self._lives():
                    with suppress(ProcessLookupError):
                        os.kill(self.pid, signal.SIGTERM)
                    self._await_end(deadline)
            finally:
                alone.release()

    def _await_end(self, deadline: float) -> None:
        if self._child is not None:
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(max(0.1, deadline - time.monotonic()))
            return
        while time.monotonic() < deadline and _running(self.pid):
            time.sleep(0.01)


def _where(folder: Path) -> Path:
    if folder.suffix == ".ducklake" or folder.is_file():
        return folder.parent / f".{folder.name}.vega-flight"
    return folder / ".vega-flight"


def _place(folder: Path) -> Path:
    """The folder of the server's own files, which only the user may enter."""
    place = _where(folder)
    try:
        if folder.is_file() and not _may_be_catalog(folder):
            raise LakeError(f"the file {folder} is no lake", hint="name a folder, which need not be there yet, or a .ducklake file")
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        if place.stat().st_uid != os.getuid():
            raise LakeError(f"{place} belongs to another user", code="LAKE_LOCKED", hint="connect to that user's server by its URI")
        place.chmod(0o700)
    except VegaError:
        raise
    except (OSError, ValueError) as e:
        raise _unusable(folder, e) from e
    return place


def _unusable(folder: Path, why: Exception) -> LakeError:
    words = why.strerror if isinstance(why, OSError) and why.strerror else str(why)
    return LakeError(f"{str(folder)!r} cannot be used as a lake: {words}", hint="name a folder that may be written")


def _may_be_catalog(file: Path) -> bool:
    """Whether the file is a database, of whichever kind: the server says which it takes."""
    with open(file, "rb") as f:
        head = f.read(16)
    return head[8:12] == b"DUCK" or head.startswith(b"SQLite format 3")


def _ready(place: Path) -> dict[str, Any] | None:
    """The address of the server that runs, if one does."""
    try:
        ready: dict[str, Any] = json.loads((place / "ready.json").read_text())
        uri, _ = str(ready["flight"]), int(ready["pid"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return ready if _answers(uri) else None


def _answers(uri: str) -> bool:
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(5)
        try:
            s.connect(uri.removeprefix("grpc+unix://"))
        except OSError as e:
            return e.errno == errno.EAGAIN  # it lives, and is busy
        return True


def _running(pid: int) -> bool:
    """Whether the process runs; one that has ended and that its parent did not look at does not."""
    with suppress(OSError):
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return bool(state) and state[0] not in "ZX"
    if sys.platform == "linux":
        return False
    try:
        os.kill(pid, 0)
    except OSError:
        return False
    return True


def _find(binary: str | None) -> str:
    bundled = Path(__file__).parent / "server" / _BINARY
    for candidate in (binary, os.environ.get("VEGA_FLIGHT_BINARY"), str(bundled) if bundled.exists() else None):
        if candidate:
            found = shutil.which(candidate)
            if found is None:
                raise ServerMissingError(f"there is no server at {candidate}", hint="name the binary of vega-flight")
            return found
    found = shutil.which(_BINARY)
    if found is None:
        raise ServerMissingError(
            "a folder needs the server vega-flight, which is not installed",
            hint="install the wheel of this platform, put vega-flight into PATH, set VEGA_FLIGHT_BINARY, or connect to a URI",
        )
    return found


def _start(
    folder: Path, place: Path, binary: str, args: list[str], deadline: float
) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    try:
        return _start_once(folder, place, binary, args, deadline)
    except LakeError as e:
        if e.code != "EXTENSION_MISSING":
            raise
    fetching = time.monotonic()
    _fetch(binary)
    return _start_once(folder, place, binary, args, deadline + time.monotonic() - fetching)


def _fetch(binary: str) -> None:
    """Fetches DuckDB's extensions, which takes as long as the network does, but not for ever."""
    try:
        command = [binary, "extensions", "install"]
        done = subprocess.run(command, env=_environment(binary), capture_output=True, text=True, timeout=_FETCH)
    except subprocess.TimeoutExpired:
        raise WaitTimeoutError(
            f"DuckDB's extension for lakes has not come within {_FETCH:.0f} s",
            hint=f"see why the network is slow, or run `{binary} extensions install` where it is not",
        ) from None
    if done.returncode != 0:
        raise LakeError(f"DuckDB's extension for lakes cannot be installed: {done.stderr.strip()}", code="EXTENSION_MISSING")


def _start_once(
    folder: Path, place: Path, binary: str, args: list[str], deadline: float
) -> tuple[subprocess.Popen[bytes], dict[str, Any]]:
    with suppress(FileNotFoundError):
        (place / "ready.json").unlink()
    with open(place / "server.log", "wb") as log:
        command = [binary, "serve", "--lake", str(folder), "--listen", f"unix://{_socket(place)}", "--http", ""]
        command += ["--ready-file", str(place / "ready.json"), "--lifeline", str(place / "lifeline"), *args]
        child = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=_environment(binary), start_new_session=True
        )
    # Whoever is the server's parent must take note of its end.
    threading.Thread(target=child.wait, name="vega-flight server", daemon=True).start()
    try:
        while True:
            with suppress(OSError, ValueError):
                ready: dict[str, Any] = json.loads((place / "ready.json").read_text())
                if ready["pid"] == child.pid:
                    return child, ready
            if child.poll() is not None:
                raise _refusal(place)
            if time.monotonic() > deadline:
                raise WaitTimeoutError(f"the server of {folder} is not ready yet", hint=f"see {place / 'server.log'}")
            time.sleep(0.01)
    except BaseException:
        child.terminate()
        raise


def _refusal(place: Path) -> VegaError:
    """Why the server ended before it was ready, in its own words."""
    lines = (place / "server.log").read_text(errors="replace").strip().splitlines()
    last = lines[-1].removeprefix("vega-flight: ") if lines else "the server ended without a word"
    code, colon, message = last.partition(": ")
    if colon and code.isupper() and " " not in code:
        error = named(code, message)
        return error if isinstance(error, LakeError) else LakeError(last, code=code)
    return LakeError(last, code="SERVER_FAILED", hint=f"see {place / 'server.log'}")


def _socket(place: Path) -> Path:
    path = place / "flight.sock"
    # The driver takes the path for a part of a URI, twice.
    plain = str(path).isprintable() and not set("%?#") & set(str(path))
    if plain and len(os.fsencode(path)) <= _LONGEST_SOCKET:
        return path
    for old in _short_folders(place):
        shutil.rmtree(old, ignore_errors=True)
    short = Path(tempfile.mkdtemp(prefix="vega-flight-"))
    (place / "socket.folder").write_text(str(short))
    return short / "flight.sock"


def _short_folders(place: Path) -> list[Path]:
    """The folder of an earlier server's socket, made for a path that is too long for one."""
    with suppress(OSError):
        folder = Path((place / "socket.folder").read_text())
        if folder.name.startswith("vega-flight-") and folder.is_dir() and folder.stat().st_uid == os.getuid():
            return [folder]
    return []


def _environment(binary: str) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if k != "VEGA_FLIGHT_BINARY"}
    extensions = Path(binary).parent / "extensions"
    if Path(__file__).parent in extensions.parents and extensions.is_dir():
        env.setdefault("VEGA_FLIGHT_EXTENSION_DIR", str(extensions))
    return env
