"""The application, and how it is started: on this machine only, with a key of its own."""

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

from sfumato.errors import InvalidInput
from sfumato.studio.api import KeptDesigns, routes
from sfumato.studio.connections import settings
from sfumato.studio.guard import Guard, own_hosts
from sfumato.studio.jobs import Work, Workers
from sfumato.studio.tasks import do

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
