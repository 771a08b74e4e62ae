"""Ctrl-C at every point of a call."""

from __future__ import annotations

import dis
import functools
import subprocess
import sys
from types import CodeType
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


@functools.cache
def looks(code: CodeType) -> frozenset[int]:
    """The steps before which CPython looks for signals: the first, those after a call, and jumps backwards.

    Nowhere else: what lies between the end of a `with` and its giving up a lock must not be interrupted, and is not.
    """
    steps = [s for s in dis.get_instructions(code) if s.opname not in ("CACHE", "EXTENDED_ARG")]
    calls = [s.opname.startswith("CALL") and not s.opname.startswith("CALL_INTRINSIC") for s in steps]
    after = {s.offset for s, called in zip(steps[1:], calls, strict=False) if called}
    return frozenset(after | {s.offset for s in steps if s.opname in ("RESUME", "JUMP_BACKWARD", "JUMP_ABSOLUTE")})


class Interruption:
    """Raises KeyboardInterrupt once, at the n-th place of this thread in the package where Python looks for signals.

    Returning is one with the step before.
    """

    def __init__(self, n: int) -> None:
        self.left = n

    def __call__(self, frame: Any, event: str, _: Any) -> Any:
        if "vega_flight" not in frame.f_code.co_filename:
            return None
        frame.f_trace_opcodes = True
        code, at = frame.f_code.co_code, frame.f_lasti
        if event == "opcode" and self.left >= 0 and at in looks(frame.f_code) and code[at] != dis.opmap["RETURN_VALUE"]:
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
