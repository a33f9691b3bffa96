"""The command: an address on this machine only, an end by Ctrl-C, and workers that do not outlive it.

Half a request shuts nobody out: heads have deadlines, and who has the key finds a place.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from typer.testing import CliRunner
from uvicorn.server import ServerState

from sfumato.cli.main import app
from sfumato.errors import InvalidInput
from sfumato.studio import server
from sfumato.studio.guard import Guard
from sfumato.studio.server import serve, settings

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
    monkeypatch.setattr(server, "_HEAD_SECONDS", 0.2)

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
    monkeypatch.setattr(server, "_HEAD_SECONDS", 0.05)

    async def slow(scope: Any, receive: Any, send: Any) -> None:
        await asyncio.sleep(0.2)
        await _inner(scope, receive, send)

    async def question(connect: Connect) -> None:
        assert await answer(await connect()) == b"200"

    served(question, slow)


IDLE_END = 130  # the exit code after Ctrl-C


@pytest.fixture
def started() -> Iterator[tuple[subprocess.Popen[str], str]]:
    command = [sys.executable, "-m", "sfumato", "studio", "--no-open", "--json"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None and process.stderr is not None
    yield process, json.loads(process.stdout.readline())["address"]
    process.kill()
    process.wait()
    process.stdout.close()
    process.stderr.close()


def children(pid: int) -> set[int]:
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(status.read_text().rpartition(")")[2].split()[1]) == pid:
                found.add(int(status.parent.name))
        except OSError:
            continue
    return found


def alive(pids: set[int]) -> set[int]:
    """Those that still run; who waits for nothing but its burial does not."""
    running = set()
    for pid in pids:
        try:
            if (Path("/proc") / str(pid) / "stat").read_text().rpartition(")")[2].split()[0] != "Z":
                running.add(pid)
        except OSError:
            continue
    return running


def gone(pids: set[int]) -> bool:
    """Whether all of them end, as soon as the machine lets them: multiprocessing's tracker ends after its parent."""
    for _ in range(600):
        if not alive(pids):
            return True
        time.sleep(0.1)
    return False


def opened(address: str) -> str:
    for _ in range(100):
        try:
            with urllib.request.urlopen(address, timeout=5) as answer:
                return str(answer.read().decode())
        except urllib.error.URLError:
            time.sleep(0.1)
    raise AssertionError("the studio does not answer")


def workers_of(process: subprocess.Popen[str]) -> set[int]:
    """Who works for a studio, as soon as there is somebody."""
    for _ in range(600):
        found = children(process.pid)
        if found:
            return found
        time.sleep(0.05)
    raise AssertionError("nobody works for the studio")


@pytest.mark.parametrize("end", [signal.SIGTERM, signal.SIGKILL])
def test_it_serves_this_machine_and_leaves_nothing_behind(
    started: tuple[subprocess.Popen[str], str], end: signal.Signals
) -> None:
    process, address = started
    parts = urlsplit(address)
    assert parts.hostname == "127.0.0.1" and len(parse_qs(parts.query)["key"][0]) >= 32
    assert "sfumato" in opened(address)
    port = f"{parts.port:04X}"
    listening = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    assert [one[1] for one in listening if one[1].endswith(f":{port}") and one[3] == "0A"] == [f"0100007F:{port}"]
    workers = workers_of(process)
    process.send_signal(end)
    process.wait(120)
    assert gone(workers)


def test_ctrl_c_during_work_is_quiet(started: tuple[subprocess.Popen[str], str]) -> None:
    process, address = started
    opened(address)
    space = {"kind": "grid", "shape": [20, 20]}
    asked = urllib.request.Request(
        f"http://{urlsplit(address).netloc}/api/design",
        json.dumps({"spec": {"space": space, "privacy": {"epsilon": "1"}}, "quick": False}).encode(),
        {"content-type": "application/json", "x-sfumato-key": parse_qs(urlsplit(address).query)["key"][0]},
    )
    with urllib.request.urlopen(asked, timeout=60) as answer:
        while b"event: progress" not in answer.readline():
            pass
        workers = workers_of(process)
        process.send_signal(signal.SIGINT)
        rest = answer.read().decode()
    code = process.wait(120)
    assert process.stderr is not None and process.stderr.read() == ""
    assert code == IDLE_END and "the studio was ended" in rest and gone(workers)


def test_the_key_is_on_no_command_line(tmp_path: Path) -> None:
    """All accounts of a machine can list what a browser was started with: it is a page that this one alone can read."""
    script, shown = tmp_path / "browser", tmp_path / "shown"
    script.write_text(f'#!/bin/sh\nprintf %s "$*" > "{shown}.part" && mv "{shown}.part" "{shown}"\n')
    script.chmod(0o700)
    command = [sys.executable, "-m", "sfumato", "studio", "--json"]
    environment = os.environ | {"BROWSER": str(script)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout is not None
            address = json.loads(process.stdout.readline())["address"]
            while not shown.exists():
                assert process.poll() is None  # one that dies must not leave us waiting
                time.sleep(0.02)
            words, key = shown.read_text(), parse_qs(urlsplit(address).query)["key"][0]
            page = Path(urlsplit(words).path)
            assert words.startswith("file://") and key not in words
            assert [stat.S_IMODE(place.stat().st_mode) for place in (page, page.parent)] == [0o600, 0o700]
            assert f'content="0; url={address}"' in page.read_text()
            opened(address)
            process.terminate()
            process.wait(120)
            assert not page.parent.exists()
        finally:
            process.kill()


def test_the_key_is_not_in_a_repr() -> None:
    assert "secret key" not in repr(Guard(None, frozenset(), "secret key"))


def test_a_port_in_use_is_one_line() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(InvalidInput, match=f"port {port} cannot be used"):
            serve(port, opens=False)
        answer = CliRunner().invoke(app, ["studio", "--no-open", "--port", str(port)])
        assert isinstance(answer.exception, InvalidInput)
