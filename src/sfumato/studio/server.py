"""The application, and how it is started: on this machine only, with a key of its own."""

from __future__ import annotations

import asyncio
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from importlib.util import find_spec
from pathlib import Path
from secrets import token_urlsafe
from typing import Any

import uvicorn
from fastapi import FastAPI
from fastapi.exceptions import HTTPException
from fastapi.responses import FileResponse, JSONResponse, Response
from fastapi.staticfiles import StaticFiles

from sfumato.errors import InvalidInput
from sfumato.studio.api import Kept, routes
from sfumato.studio.guard import Guard, own_hosts
from sfumato.studio.jobs import Workers

__all__ = ["app", "serve"]

_STATIC = Path(__file__).parent / "static"
_WORK = "sfumato.studio.tasks:do"


def app(port: int, key: str, *, work: str = _WORK, warm: bool = True) -> Guard:
    """The whole studio as an ASGI application.

    Parameters
    ----------
    port
        Where it is served: requests must name this machine with it.
    key
        What every request for work must carry.
    work
        The function that workers call, as ``module:name``.
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
    inner.include_router(routes(workers, Kept()))

    @inner.get("/")
    async def page() -> Response:
        return FileResponse(_STATIC / "index.html")

    @inner.get("/plotly.js")
    async def plotly() -> Response:
        return FileResponse(_plotly(), media_type="text/javascript")

    inner.mount("/static", StaticFiles(directory=_STATIC))
    inner.add_exception_handler(HTTPException, _missing)
    inner.add_exception_handler(404, _missing)
    inner.add_exception_handler(Exception, _broken)
    return Guard(inner, own_hosts(port), key)


def _plotly() -> Path:
    """Plotly's own script, out of the installed package."""
    found = find_spec("plotly")
    assert found is not None and found.origin is not None
    return Path(found.origin).parent / "package_data" / "plotly.min.js"


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
    except (OSError, OverflowError) as error:
        listener.close()
        raise InvalidInput(f"port {port} cannot be used: {getattr(error, 'strerror', None) or error}") from error
    port = int(listener.getsockname()[1])
    key = token_urlsafe(24)
    address = f"http://127.0.0.1:{port}/?key={key}"
    say(address)
    if opens:
        threading.Timer(0.4, webbrowser.open, [address]).start()
    config = uvicorn.Config(
        app(port, key), log_level="warning", access_log=False, server_header=False, timeout_keep_alive=20,
        timeout_graceful_shutdown=2, limit_concurrency=64, h11_max_incomplete_event_size=1 << 16, ws="none",
    )  # fmt: skip
    _Server(config).run(sockets=[listener])


class _Server(uvicorn.Server):
    """Ends what is being computed before it waits for answers to end: Ctrl-C is quick and leaves no traceback."""

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Workers first, then connections, which have nothing to wait for any more."""
        guard = self.config.app
        assert isinstance(guard, Guard)
        await guard.inner.state.workers.close()
        await super().shutdown(sockets)
