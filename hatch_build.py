"""Wheels contain the kernel as one file, which is made of its modules; a checkout makes it where it is asked for."""

import runpy
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface):
    """Make the file, and put it where an installed package looks for it."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Called before files are collected; version is "editable" for what stays in its checkout."""
        made = Path(self.root) / "build" / "kernel.py"
        script = Path(self.root) / "src" / "sfumato" / "certify" / "bundle.py"
        runpy.run_path(str(script))["write"](made)
        if version != "editable":
            build_data["force_include"][str(made)] = "sfumato/certify/alone/kernel.py"
