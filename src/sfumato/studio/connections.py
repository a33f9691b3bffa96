"""Connections to the studio: none waits for ever, and those without the key leave room for those that have it.

Everybody on this machine may connect. A request whose head does not arrive in bounded time is given up, however slowly
it comes. Where many are connected that have not shown the key, the one that has been there longest makes room for the
next, so that half a request, or an answer that nobody reads, shuts nobody out.
"""

from __future__ import annotations

import asyncio
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from sfumato.studio.guard import Guard

_HEAD_SECONDS = 10.0  # for the head of a request to arrive: it comes from the same machine
_MOST_CONNECTIONS = 64  # beyond, requests are answered with 503
_MOST_STRANGERS = 48  # of these, connections that have not shown the key


class BoundedConnection(H11Protocol):
    """A connection that is given up where no request arrives on it, and that others may push out before it has shown
    the key.
    """

    def __init__(self, *given: Any, **more: Any) -> None:
        super().__init__(*given, **more)
        self.known = False
        self.since = self.loop.time()
        self.deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Somebody is there: the oldest stranger goes where there are too many."""
        super().connection_made(transport)
        strangers = [one for one in self.connections if isinstance(one, BoundedConnection) and not one.known]
        if len(strangers) > _MOST_STRANGERS:
            oldest = min(strangers, key=lambda one: one.since)
            self.connections.discard(oldest)  # at once, since they are counted
            oldest.transport.abort()
        self._wait()

    def data_received(self, data: bytes) -> None:
        """More of a request."""
        super().data_received(data)
        guard = self.config.app
        self.known = self.known or (isinstance(guard, Guard) and guard.opened_by(self.headers or []))
        self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody is there any more."""
        self._no_deadline()
        super().connection_lost(exc)

    def _wait(self) -> None:
        """Begin to count the time to the next request; bytes that are none yet do not begin it anew."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._no_deadline()
        elif self.deadline is None:
            self.deadline = self.loop.call_later(_HEAD_SECONDS, self.transport.abort)

    def _no_deadline(self) -> None:
        if self.deadline is not None:
            self.deadline.cancel()
            self.deadline = None


def settings(guard: Guard) -> uvicorn.Config:
    """How the studio is served."""
    return uvicorn.Config(
        guard, http=BoundedConnection, log_level="warning", access_log=False, server_header=False,
        timeout_keep_alive=20, timeout_graceful_shutdown=2, limit_concurrency=_MOST_CONNECTIONS,
        h11_max_incomplete_event_size=1 << 16, ws="none",
    )  # fmt: skip
