"""Who may speak to the studio: this machine, this page, with its key.

A page from anywhere can make a browser send requests to this machine. So a request must name a host that only this
machine has (which defeats DNS rebinding), come from the studio's own page (``Origin``, ``Sec-Fetch-Site``), carry the
key that ``sfumato studio`` printed where it asks for work, and be JSON of bounded size that arrives in bounded time.
Every answer forbids its page to load anything from elsewhere.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass, field
from secrets import compare_digest
from typing import Any

from fastapi import Request
from fastapi.responses import JSONResponse
from starlette.datastructures import MutableHeaders
from starlette.requests import ClientDisconnect
from starlette.types import Message, Receive, Scope, Send

LARGEST_BODY = 4 * 2**20
"""Bytes of a request: a matrix of 400 × 400 numbers as text, or a spec of a thousand places."""

_UPLOAD_SECONDS = 10.0  # for a body to arrive: it comes from the same machine
_KEY_HEADER = "x-sfumato-key"

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data: blob:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)  # inline styles: Plotly sets them on what it draws, and a style cannot fetch anything under this policy

HEADERS = {
    "content-security-policy": _POLICY,
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "geolocation=(), camera=(), microphone=()",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
}
"""Sent with every answer."""


def own_hosts(port: int) -> frozenset[str]:
    """What this machine is called by a page that was loaded from it."""
    return frozenset(f"{name}:{port}" for name in ("127.0.0.1", "localhost", "[::1]"))


@dataclass(frozen=True, eq=False)
class Guard:
    """Stands before an application and lets through what may pass."""

    inner: Any
    hosts: frozenset[str]
    key: str = field(repr=False)
    largest: int = LARGEST_BODY
    seconds: float = _UPLOAD_SECONDS

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer, or hand on."""
        if scope["type"] != "http":
            if scope["type"] == "lifespan":
                await self.inner(scope, receive, send)
            return
        heads = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        refused = self._refused(scope["method"], scope["path"], heads, self.opened_by(scope["headers"]))
        if refused is None and scope["method"] == "POST":
            body = await self._body(heads, Request(scope, receive))
            if isinstance(body, bytes):
                receive = _replayed(body, receive)
            else:
                refused = body
        if refused is not None:
            status, sentence = refused
            answer = JSONResponse({"error": sentence}, status, {"connection": "close", **HEADERS})
            await answer(scope, receive, send)
            return

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        await self.inner(scope, receive, sending)

    def opened_by(self, heads: Iterable[tuple[bytes, bytes]]) -> bool:
        """Whether a request carries the key."""
        shown = dict(heads).get(_KEY_HEADER.encode(), b"")
        return compare_digest(shown, self.key.encode())

    def _refused(self, method: str, path: str, heads: dict[str, str], opened: bool) -> tuple[int, str] | None:
        """Status and sentence, if the request may not pass."""
        host = heads.get("host", "")
        if host not in self.hosts:
            return 421, "this address does not belong to the studio: open the one that `sfumato studio` printed"
        site, mode = heads.get("sec-fetch-site", ""), heads.get("sec-fetch-mode", "")
        if method not in ("GET", "HEAD", "POST"):
            return 405, "the studio knows GET and POST"
        own = heads.get("origin", f"http://{host}") == f"http://{host}"
        if method != "POST" and not path.startswith("/api"):
            visits = site in ("cross-site", "same-site") and mode == "navigate"  # somebody follows a link to the page
            if not visits and (not own or site in ("cross-site", "same-site")):
                return 403, "another page may not load parts of the studio"
            return None
        wanted = ("", "same-origin") if method == "POST" else ("", "same-origin", "none")  # none: typed by somebody
        if not own or site not in wanted:
            return 403, "another page may not ask the studio for anything"
        if method != "POST":
            return None
        if not opened:
            return 403, "the key of this studio is missing: open the address that `sfumato studio` printed"
        if heads.get("content-type", "").partition(";")[0].strip() != "application/json":
            return 415, "a request to the studio is JSON"
        return None

    async def _body(self, heads: dict[str, str], request: Request) -> bytes | tuple[int, str]:
        """The whole body, or why not."""
        large = 413, f"this is larger than {self.largest >> 20} MiB, the most that the studio takes"
        length = heads.get("content-length", "0")
        if not length.isdecimal() or int(length) > self.largest:
            return large
        body = bytearray()
        try:
            async with asyncio.timeout(self.seconds):
                async for part in request.stream():
                    body += part
                    if len(body) > self.largest:
                        return large
        except ClientDisconnect:
            return 400, "the request ended before it was complete"
        except TimeoutError:
            return 408, f"the request took longer than {self.seconds:.0f} s to arrive"
        return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A body that was read, once more; then whatever comes after it."""
    given = False

    async def again() -> Message:
        nonlocal given
        if given:
            return await receive()
        given = True
        return {"type": "http.request", "body": body, "more_body": False}

    return again
