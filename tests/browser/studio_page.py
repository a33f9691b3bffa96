"""The studio's page in a browser: links to states, and what is shown."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

LONG = 300_000  # milliseconds: for a machine that has much else to do
Open = Callable[..., Page]


def link(served: Any, state: dict[str, Any]) -> str:
    """The address of a state, as the page writes it, with the key."""
    packed = zlib.compressobj(wbits=-15)
    data = packed.compress(json.dumps(state).encode()) + packed.flush()
    return f"{served.address}#{base64.urlsafe_b64encode(data).decode().rstrip('=')}"


def settled(page: Page) -> None:
    """What is shown is the design of the state."""
    expect(page.locator("#stage.stale")).to_have_count(0)
    expect(page.locator("#doing")).to_be_hidden()


def colours(page: Page, selector: str) -> int:
    """How many different colours a canvas has: something is drawn on it."""
    return int(page.locator(selector).first.evaluate(
        "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    ))  # fmt: skip
