"""Puts the server into a wheel of its platform when VEGA_WHEEL_SERVER names its binary."""

import os
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class ServerHook(BuildHookInterface):  # type: ignore[type-arg]
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        binary = os.environ.get("VEGA_WHEEL_SERVER")
        if not binary or self.target_name != "wheel":
            return
        include = {binary: "vega_flight/server/vega-flight"}
        extensions = os.environ.get("VEGA_WHEEL_EXTENSIONS")
        for path in sorted(Path(extensions).glob("v*/*/ducklake.duckdb_extension")) if extensions else []:
            include[str(path)] = f"vega_flight/server/extensions/{path.relative_to(extensions).as_posix()}"
        build_data["force_include"].update(include)
        build_data["pure_python"] = False
        platform = os.environ.get("VEGA_WHEEL_PLATFORM") or sysconfig.get_platform()
        build_data["tag"] = "py3-none-" + platform.replace("-", "_").replace(".", "_")
