"""The application, and how it is started: on this machine only, with a key of its own.

No connection waits for ever, and those without the key leave room for those that have it. Everybody on this machine may
connect. A request whose head does not arrive in bounded time is given up, however slowly it comes. Where many are
connected that have not shown the key, the one that has been there longest makes room for the next, so that half a
request, or an answer that nobody reads, shuts nobody out.
"""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager, suppress
from html import escape
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import HTTPException
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles
from plotly.offline import get_plotlyjs
from uvicorn.protocols.http.h11_impl import H11Protocol

from sfumato.errors import InvalidInput
from sfumato.studio.api import KeptDesigns, routes
from sfumato.studio.guard import Guard, own_hosts
from sfumato.studio.jobs import Work, Workers
from sfumato.studio.tasks import do

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


_STATIC = Path(__file__).parent / "static"


def app(port: int, key: str, *, work: Work = do, warm: bool = True) -> Guard:
    """The whole studio as an ASGI application.

    Parameters
    ----------
    port
        Where it is served: requests must name this machine with it.
    key
        What every request for work must carry.
    work
        What workers do with a task.
    warm
        Whether a worker is started before somebody asks.
    """
    workers = Workers(work)

    @asynccontextmanager
    async def lifespan(inner: FastAPI) -> AsyncIterator[None]:
        ready = asyncio.create_task(workers.warm()) if warm else None
        yield
        if ready is not None:
            with suppress(Exception):
                await ready
        await workers.close()

    inner = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    inner.state.workers = workers
    inner.include_router(routes(workers, KeptDesigns()))

    @inner.get("/")
    async def page() -> Response:
        return FileResponse(_STATIC / "index.html")

    @inner.get("/plotly.js")
    async def plotly() -> Response:
        return Response(get_plotlyjs(), media_type="text/javascript")

    inner.mount("/static", StaticFiles(directory=_STATIC))
    inner.add_exception_handler(HTTPException, _missing)
    inner.add_exception_handler(404, _missing)
    inner.add_exception_handler(Exception, _broken)
    return Guard(inner, own_hosts(port), key)


async def _missing(request: Any, error: Exception) -> Response:
    return JSONResponse({"error": "there is nothing here"}, getattr(error, "status_code", 404))


async def _broken(request: Any, error: Exception) -> Response:
    """A bug: the terminal gets its traceback, the page a sentence."""
    return JSONResponse({"error": "something went wrong inside; the terminal says what"}, 500)


def serve(port: int = 0, *, opens: bool = True, say: Callable[[str], Any] = print) -> None:
    """Serve the studio on this machine until Ctrl-C.

    Parameters
    ----------
    port
        0 for any that is free.
    opens
        Whether to open a browser.
    say
        Told the address.
    """
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(("127.0.0.1", port))
        listener.listen()  # before anybody is told the address: who comes early waits and is not refused
    except (OSError, OverflowError) as error:
        listener.close()
        raise InvalidInput(f"port {port} cannot be used: {getattr(error, 'strerror', None) or error}") from error
    port = int(listener.getsockname()[1])
    key = token_urlsafe(24)
    address = f"http://127.0.0.1:{port}/?key={key}"
    say(address)
    with ExitStack() as until_the_end:
        if opens:
            threading.Timer(0.4, webbrowser.open, [until_the_end.enter_context(_leading_to(address))]).start()
        _Server(settings(app(port, key)), until_the_end).run(sockets=[listener])


@contextmanager
def _leading_to(address: str) -> Iterator[str]:
    """The address of a page that leads to another address, a file that nobody else on this machine can read.

    Everybody may list the command lines of all processes, that of the browser too: the key must not stand there.
    """
    with tempfile.TemporaryDirectory(prefix="sfumato-studio-", ignore_cleanup_errors=True) as folder:
        page, where = Path(folder) / "open.html", escape(address)
        with os.fdopen(os.open(page, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
            file.write(
                "<!doctype html><meta charset=utf-8><title>sfumato studio</title><meta name=referrer "
                f'content=no-referrer><meta http-equiv=refresh content="0; url={where}"><a href="{where}">Studio</a>\n'
            )
        yield page.as_uri()


class _Server(uvicorn.Server):
    """Ends what is being computed before it waits for answers to end: Ctrl-C is quick and leaves no traceback."""

    def __init__(self, config: uvicorn.Config, until_the_end: ExitStack) -> None:
        super().__init__(config)
        self.until_the_end = until_the_end

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Workers first, then connections, which have nothing to wait for any more."""
        self.until_the_end.close()  # here and not later: the signal that ended the server is raised again after it
        guard = self.config.app
        assert isinstance(guard, Guard)
        await guard.inner.state.workers.close()
        await super().shutdown(sockets)
