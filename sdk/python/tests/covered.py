"""Says which public functions no test has called: python covered.py coverage.json."""

from __future__ import annotations

import json
import sys


def main(report: str) -> int:
    with open(report) as file:
        files = json.load(file)["files"]
    uncalled = [
        f"{path}: {name}"
        for path, found in files.items()
        for name, function in found["functions"].items()
        if name and not any(part.startswith("_") for part in name.split(".")) and function["summary"]["num_statements"]
        if not function["summary"]["covered_lines"]
    ]
    print("\n".join(["no test calls", *uncalled]) if uncalled else "every public function is called")
    return bool(uncalled)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
