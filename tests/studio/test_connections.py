"""Half a request shuts nobody out: heads have deadlines, and who has the key finds a place."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from uvicorn.server import ServerState

from sfumato.studio import connections
from sfumato.studio.connections import settings
from sfumato.studio.guard import Guard

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Connect = Callable[[], Awaitable[Streams]]


async def _inner(scope: Any, receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"2")]})
    await send({"type": "http.response.body", "body": b"in"})


def served(question: Callable[[Connect], Awaitable[None]], inner: Any = _inner) -> None:
    """Ask something of a studio with the key ``k``."""

    async def serving() -> None:
        config, state = settings(Guard(inner, frozenset({"here"}), "k")), ServerState()
        config.lifespan = "off"
        config.load()
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: config.http_protocol_class(config, state, {}), "127.0.0.1", 0)
        port, opened = server.sockets[0].getsockname()[1], []

        async def connect() -> Streams:
            opened.append(await asyncio.open_connection("127.0.0.1", port))
            return opened[-1]

        try:
            await asyncio.wait_for(question(connect), 20)
        finally:
            for _, writer in opened:
                writer.close()
            server.close()

    asyncio.run(serving())


async def answer(streams: Streams, key: str = "k") -> bytes:
    reader, writer = streams
    writer.write(
        b"POST /api/x HTTP/1.1\r\nhost: here\r\ncontent-type: application/json\r\ncontent-length: 2\r\n"
        b"x-sfumato-key: %s\r\n\r\n{}" % key.encode()
    )
    head = await reader.readuntil(b"\r\n\r\n")
    if head.startswith(b"HTTP/1.1 200"):
        await reader.readexactly(2)
    return head.split()[1]


async def ended(reader: asyncio.StreamReader) -> bool:
    """Whether the other side ends a connection within two seconds."""
    try:
        async with asyncio.timeout(2):
            while await reader.read(1000):
                pass
    except ConnectionError:
        return True
    except TimeoutError:
        return False
    return True


def test_half_open_requests_shut_nobody_out() -> None:
    async def question(connect: Connect) -> None:
        mine = await connect()
        assert await answer(mine) == b"200"
        for _ in range(80):
            _, writer = await connect()
            writer.write(b"GET / HTTP/1.1\r\nhost:")
        await asyncio.sleep(0.05)
        assert await answer(await connect()) == b"200"  # somebody who comes later
        assert await answer(mine) == b"200"  # and somebody who was there before all of them
        assert await answer(await connect(), "another") == b"403"

    served(question)


@pytest.mark.parametrize(
    "start", [b"", b"GET / HTTP/1.1\r\n", b"GET / HTTP/1.1\r\nhost: here\r\ncontent-length: 9\r\n\r\n"]
)
def test_a_request_that_does_not_arrive_is_given_up_however_slowly_it_comes(
    start: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 0.2)

    async def question(connect: Connect) -> None:
        reader, writer = await connect()
        writer.write(start)

        async def trickle() -> None:
            while start:
                await asyncio.sleep(0.05)
                writer.write(b"a")

        slow = asyncio.ensure_future(trickle())
        try:
            assert await ended(reader)
        finally:
            slow.cancel()

    served(question)


def test_an_answer_that_takes_longer_than_a_head_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "_HEAD_SECONDS", 0.05)

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.2)
        await _inner(scope, receive, send)

    async def question(connect: Connect) -> None:
        assert await answer(await connect()) == b"200"

    served(question, slow)
