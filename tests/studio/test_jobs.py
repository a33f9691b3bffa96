"""Workers: progress, a soft stop, a hard end, a time limit, a bounded number; nothing stays behind."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from sfumato.studio import jobs
from sfumato.studio.api import KeptDesigns, _Events
from sfumato.studio.jobs import Busy, Message, Workers
from studio_work import work


async def _all(workers: Workers, task: str, seconds: float = 20.0, name: str = "job") -> list[Message]:
    return [message async for message in workers.run(name, task, {"a": 1}, None, seconds)]


def _gone(pid: int) -> bool:
    for _ in range(100):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)
        time.sleep(0.05)
    return False


@pytest.fixture
def run() -> Callable[..., Any]:
    def running(use: Callable[[Workers], Any], most: int = 1) -> Any:
        async def whole() -> Any:
            workers = Workers(work, most=most)
            try:
                return await use(workers)
            finally:
                await workers.close()

        return asyncio.run(whole())

    return running


def test_a_job_is_answered_and_its_worker_kept(run: Callable[..., Any]) -> None:
    async def use(workers: Workers) -> Any:
        first, second = (await _all(workers, "echo"))[-1], (await _all(workers, "echo"))[-1]
        return first, second, len(workers.idle)

    first, second, idle = run(use)
    assert first.kind == "result" and first.kept == b"kept" and first.content["values"] == {"a": 1}
    assert first.content["pid"] == second.content["pid"] and idle == 1


def test_errors_are_sentences(run: Callable[..., Any], capfd: pytest.CaptureFixture[str]) -> None:
    async def use(workers: Workers) -> Any:
        return [(await _all(workers, task))[-1] for task in ("bad", "bug", "die", "echo")]

    bad, bug, died, after = run(use)
    assert bad.content == {"error": "this is wrong"}
    assert "somebody" not in bug.content["error"] and "somebody" in capfd.readouterr().err
    assert died.kind == "failure" and "worker ended" in died.content["error"]
    assert after.kind == "result"


def test_a_soft_stop_keeps_what_there_is(run: Callable[..., Any]) -> None:
    async def use(workers: Workers) -> Any:
        last = None
        async for message in workers.run("mine", "long", {}, None, 20.0):
            if message.kind == "progress":
                assert workers.stop("mine")
            last = message
        return last, workers.stop("mine")

    last, again = run(use)
    assert last == Message("result", {"stopped": True}) and not again


def test_who_leaves_ends_the_worker(run: Callable[..., Any]) -> None:
    async def use(workers: Workers) -> Any:
        messages = workers.run("mine", "long", {}, None, 20.0)
        pid = 0
        async for message in messages:
            pid = message.content.get("pid", 0)
            if pid:
                break
        await messages.aclose()  # type: ignore[attr-defined]
        return pid, _gone(pid), dict(workers.busy), (await _all(workers, "echo"))[-1].kind

    pid, gone, busy, after = run(use)
    assert pid and gone and not busy and after == "result"


def test_a_cancelled_request_ends_the_worker(run: Callable[..., Any]) -> None:
    async def use(workers: Workers) -> Any:
        seen: list[int] = []

        async def asking() -> None:
            async for message in workers.run("mine", "long", {}, None, 20.0):
                seen.append(message.content.get("pid", 0))

        task = asyncio.create_task(asking())
        while not any(seen):
            await asyncio.sleep(0.05)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        return _gone(max(seen)), dict(workers.busy)

    gone, busy = run(use)
    assert gone and not busy


def test_a_tab_that_is_closed_while_something_is_sent_to_it_ends_the_worker(run: Callable[..., Any]) -> None:
    """The answer is cut off in the middle of sending: nobody asks its iterator for more, and nobody closes it."""

    async def use(workers: Workers) -> Any:
        sent: list[int] = []
        sending = asyncio.Event()

        class Request:
            async def is_disconnected(self) -> bool:
                return False

        async def send(message: Any) -> None:
            if b"pid" in message.get("body", b""):
                sent.append(json.loads(message["body"].split(b"data: ")[1])["pid"])
                sending.set()
                await asyncio.Event().wait()  # the page does not read any more

        async def receive() -> Any:
            await sending.wait()
            return {"type": "http.disconnect"}

        answer = _Events("look", {}, Request(), workers, KeptDesigns())  # type: ignore[arg-type]
        await answer({"type": "http"}, receive, send)
        return answer, dict(workers.busy), sent[0]  # the answer is held, as a traceback or a log may hold it

    _, busy, pid = run(use)
    assert not busy and _gone(pid)


def test_a_job_has_its_time(run: Callable[..., Any]) -> None:
    async def use(workers: Workers) -> Any:
        await _all(workers, "echo")  # started, so that the limit is for the work
        return await _all(workers, "long", seconds=0.4)

    messages = run(use)
    assert messages[-1].kind == "failure" and "longer than" in messages[-1].content["error"]


def test_there_are_only_so_many_workers_and_waiters(run: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jobs, "_MOST_WAITING", 3)

    async def use(workers: Workers) -> Any:
        tasks = [asyncio.create_task(_all(workers, "echo", name=f"job {k}")) for k in range(8)]
        done = await asyncio.gather(*tasks, return_exceptions=True)
        busy = [found for found in done if isinstance(found, Busy)]
        fine = [found[-1].content["pid"] for found in done if isinstance(found, list)]
        return len(busy), len(fine), len(set(fine))

    busy, fine, processes = run(use, most=2)
    assert busy + fine == 8 and busy >= 1 and fine >= 3 and processes <= 2


def test_workers_end_with_the_studio(run: Callable[..., Any]) -> None:
    async def use(workers: Workers) -> Any:
        return (await _all(workers, "echo"))[-1].content["pid"]

    assert _gone(run(use))


def test_the_end_of_the_studio_ends_work_once(run: Callable[..., Any]) -> None:
    """The request that is cut off and the studio that closes both end the worker: the second one finds it done."""
    complaints: list[Any] = []

    async def use(workers: Workers) -> Any:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
        seen: list[Message] = []

        async def asking(name: str) -> None:
            async for message in workers.run(name, "long", {}, None, 20.0):
                seen.append(message)

        tasks = [asyncio.create_task(asking("cut")), asyncio.create_task(asking("told"))]
        while len({message.content.get("pid") for message in seen if message.content}) < 2:
            await asyncio.sleep(0.02)
        closing = asyncio.create_task(workers.close())
        await asyncio.sleep(0)
        tasks[0].cancel()
        ends = await asyncio.gather(closing, workers.close(), *tasks, return_exceptions=True)
        with pytest.raises(Busy):
            await _all(workers, "echo")
        pids = {message.content["pid"] for message in seen if "pid" in message.content}
        return ends, seen[-1], pids, dict(workers.busy), list(workers.idle)

    ends, last, pids, busy, idle = run(use, most=2)
    assert ends[:2] == [None, None] and isinstance(ends[2], asyncio.CancelledError) and ends[3] is None
    assert last == Message("failure", {"error": "the studio was ended"})
    assert all(_gone(pid) for pid in pids) and not busy and not idle and not complaints
