"""The real server, for tests."""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import ClassVar

ROOT = Path(__file__).resolve().parents[3]
BINARY = os.environ.get("VEGA_FLIGHT_BINARY") or str(ROOT / ".build" / "bin" / "vega-flight")
EXTENSIONS = os.environ.get("VEGA_EXTENSION_DIR") or str(ROOT / ".build" / "extensions")


class Server:
    """One run of the binary."""

    running: ClassVar[set[Server]] = set()

    def __init__(self, folder: Path, *args: str, listen: str = "127.0.0.1:0", binary: str = BINARY) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._ready = folder / "ready.json"
        self._ready.unlink(missing_ok=True)
        self._log = (folder / "log").open("ab")
        self.lake = folder / "lake"
        command = [binary, "serve", "--lake", str(self.lake), "--extension-dir", EXTENSIONS, "--listen", listen]
        command += ["--http", "", "--ready-file", str(self._ready), *args]
        self.process = subprocess.Popen(command, stdout=self._log, stderr=self._log)
        while True:
            try:
                ready = json.loads(self._ready.read_text())
                if ready["pid"] == self.process.pid:
                    break
            except (OSError, ValueError):
                pass
            if self.process.poll() is not None:
                raise RuntimeError((folder / "log").read_text())
            time.sleep(0.01)
        self.uri: str = ready["flight"]
        self.running.add(self)

    def cpu(self) -> float:
        """Seconds of processor time that it has used."""
        fields = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def kill(self) -> None:
        """Ends it as a power cut would."""
        self.running.discard(self)
        self.process.kill()
        self.process.wait()
        self._log.close()

    def stop(self) -> None:
        """Ends it in order."""
        self.running.discard(self)
        if self.process.poll() is None:
            self.process.terminate()
            assert self.process.wait(600) == 0, (self.folder / "log").read_text()
        self._log.close()
