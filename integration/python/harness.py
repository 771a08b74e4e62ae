"""Runs the case_ functions of a script against the server named on its command line."""

import sys
import time
import traceback

URI = sys.argv[1]


def run(module):
    failed = []
    for name, case in list(module.items()):
        if not name.startswith("case_"):
            continue
        began = time.monotonic()
        try:
            case()
        except Exception:
            failed.append(name)
            print(f"FAIL {name}")
            traceback.print_exc(file=sys.stdout)
        else:
            print(f"ok   {name} {time.monotonic() - began:.2f}s")
    sys.exit(1 if failed else 0)


def raises(code, call, *args, **kwargs):
    """Calls and expects an error that carries a stable name; returns the error."""
    try:
        call(*args, **kwargs)
    except Exception as e:
        assert code in str(e), f"expected {code}, got {e}"
        return e
    raise AssertionError(f"expected {code}, but nothing was raised")
