"""Ctrl-C at every point of a call."""

from __future__ import annotations

import dis
import subprocess
import sys
from typing import Any


def untraced(name: str) -> bool:
    """Runs a test in a process of its own if coverage traces this one: CPython 3.12 crashes when both trace."""
    if sys.gettrace() is None:
        return False
    command = [sys.executable, "-m", "pytest", "-p", "no:cov", "-p", "no:cacheprovider", name]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    return True


class Interruption:
    """Raises KeyboardInterrupt once, at the n-th step of this thread in the package. Returning is one with the step before.

    So is what comes after the beginning of a `with`: Python looks for no signal there.
    """

    def __init__(self, n: int) -> None:
        self.left = n

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        if "vega_flight" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        code, at = frame.f_code.co_code, frame.f_lasti
        begun = at >= 2 and code[at - 2] == dis.opmap.get("BEFORE_WITH")
        if event == "opcode" and self.left >= 0 and code[at] != dis.opmap["RETURN_VALUE"] and not begun:
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
        return self

    def during(self, call: Any) -> Any:
        others = sys.gettrace()  # coverage's
        sys.settrace(self)
        try:
            return call()
        finally:
            sys.settrace(others)
