"""What workers do in the tests of the studio: a spawned process imports it by name."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import Any

from sfumato.errors import InvalidInput


def work(task: str, values: Any, kept: bytes | None, say: Callable[[Any], None], stopping: Callable[[], bool]) -> Any:
    """Echo, fail in several ways, or take long."""
    if task == "warm":
        return {}, None
    if task == "echo":
        return {"values": values, "pid": os.getpid(), "kept": kept is not None}, b"kept"
    if task == "bad":
        raise InvalidInput("this is\n wrong")
    if task == "bug":
        raise RuntimeError("a secret path /home/somebody")
    if task == "die":
        os._exit(3)
    until = time.monotonic() + 30
    while time.monotonic() < until and not stopping():
        say({"pid": os.getpid()})
        time.sleep(0.02)
    return {"stopped": stopping()}, None
