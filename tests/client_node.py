"""Node, as the tests of the client start it."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from types import TracebackType
from typing import Any, Self

JS = Path(__file__).resolve().parents[1] / "js"
NODE = os.path.abspath(shutil.which(os.environ.get("NODE") or "node") or "node")
NPM = shutil.which("npm") or shutil.which("npm", path=str(Path(sys.executable).parent))


class Answers:
    """A process that answers one request a line."""

    def __init__(self, script: str, *arguments: str) -> None:
        command = [NODE, str(JS / "test" / script), *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def of(self, data: bytes) -> dict[str, Any]:
        """What the client answers about the bytes of a file."""
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.write(base64.b64encode(data).decode() + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.communicate(timeout=240)
