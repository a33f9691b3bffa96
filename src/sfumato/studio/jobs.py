"""Workers: processes that do what may take long, can be stopped softly, and are ended when nobody listens any more.

A job goes to an idle worker, the one that worked last, because what it knows of a space is still warm. It sends
messages while it works and one when it is through. Who leaves before that ends the worker; another takes its place
when it is needed.
"""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
import threading
import traceback
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import suppress
from dataclasses import dataclass, field
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

from sfumato.errors import SfumatoError, Wording, speaking

_WORKERS = 2  # processes at most: one for what is looked at, one for what is being dragged meanwhile
_MOST_WAITING = 8  # requests that may wait for a worker; more are refused at once
_GRACE = 2.0  # seconds for a worker to end by itself
_LONGEST_ERROR = 600  # letters of a sentence

Work = Callable[[str, dict[str, Any], bytes | None, Callable[[dict[str, Any]], None], Callable[[], bool]],
                tuple[dict[str, Any], bytes | None]]  # fmt: skip
"""What a worker does with a task: its values, what an earlier job has left, whom to tell, whether to stop."""

_ON_THE_PAGE = ("alpha", "epsilon", "loss", "outputs", "prior", "solver", "time_limit", "tolerance", "unit")


def _page_keyword(name: str, value: Any) -> str:
    """Keys of a spec, which is what a state of the page is; the page has no other arguments."""
    if name not in _ON_THE_PAGE:
        return ""
    return name if value is None else f"{name} {value}"


PAGE = Wording(_page_keyword, lambda name: {"repair": "the repaired matrix below"}.get(name, ""))
"""How messages are worded for the page."""


class Busy(Exception):
    """More requests wait than can be worked on soon."""


@dataclass(frozen=True)
class Message:
    """What a worker says: ``progress``, ``result`` or ``failure``; ``kept`` is what it leaves for later jobs."""

    kind: str
    content: dict[str, Any]
    kept: bytes | None = None


@dataclass(eq=False)
class _Worker:
    """A process and both lines to it: one for jobs and messages, one to ask it to stop.

    ``leaving`` is set, on the loop only, by whoever ends it first; nobody ends it a second time.
    """

    process: Any
    line: Connection
    control: Connection
    leaving: bool = False


@dataclass(eq=False)
class Workers:
    """A few processes, started when they are needed."""

    work: Work
    most: int = _WORKERS
    idle: list[_Worker] = field(default_factory=list)
    busy: dict[str, _Worker] = field(default_factory=dict)
    starting: int = 0
    waiting: list[asyncio.Future[None]] = field(default_factory=list)
    closed: bool = False
    aside: set[asyncio.Task[Any]] = field(default_factory=set)

    async def run(self, name: str, task: str, values: dict[str, Any], kept: bytes | None, seconds: float,
                  every: float = 0.5) -> AsyncIterator[Message]:  # fmt: skip
        """Do a job; yields its messages, and an empty progress now and then while there are none.

        When the iteration is left early, or after ``seconds``, the worker is ended.
        """
        worker = await self._taken(name)
        loop = asyncio.get_running_loop()
        box: asyncio.Queue[Message | None] = asyncio.Queue()
        through = False
        try:
            try:
                await asyncio.to_thread(worker.line.send, (task, values, kept))
            except OSError:
                box.put_nowait(None)
            listener = threading.Thread(target=_listen, args=(worker.line, loop, box), daemon=True)
            listener.start()
            until = loop.time() + seconds
            while not through:
                left = until - loop.time()
                if left <= 0:
                    yield Message("failure", {"error": f"this took longer than {seconds:.0f} s and was ended"})
                    return
                try:
                    # not wait_for, which in Python 3.11 forgets a cancellation that comes together with a message
                    async with asyncio.timeout(min(every, left)):
                        message = await box.get()
                except TimeoutError:
                    message = Message("progress", {})
                if message is None:
                    why = "the worker ended: it may have needed more memory than there is"
                    yield Message("failure", {"error": "the studio was ended" if self.closed else why})
                    return
                through = message.kind in ("result", "failure")
                if through:
                    self.busy.pop(name, None)
                    if not worker.leaving:
                        self.idle.append(worker)
                    self._wake()
                yield message
        finally:
            if not through:
                self._ended(name, worker)

    def leave(self, name: str) -> None:
        """Nobody waits for a job any more: end its worker at once, if it is still at work. May be called again.

        Nothing is awaited, so that a request that is being cancelled can call it, wherever it was interrupted.
        """
        worker = self.busy.get(name)
        if worker is not None:
            self._ended(name, worker)

    def stop(self, name: str) -> bool:
        """Ask a job to end with what it has; False if there is none of that name."""
        worker = self.busy.get(name)
        if worker is None:
            return False
        with suppress(OSError):
            worker.control.send("stop")
        return True

    async def warm(self) -> None:
        """Have one worker ready before somebody asks."""
        if not self.idle and not self.busy and not self.starting:
            self.starting += 1
            await self._laid_by(asyncio.create_task(self._born()))

    async def close(self) -> None:
        """End all workers, also those at work: who waits for them is told. May be called again."""
        self.closed = True
        self._wake()
        for name, worker in list(self.busy.items()):
            self._ended(name, worker)
        while self.aside:  # what is being ended or born now, and what follows from it
            await asyncio.gather(*self.aside, return_exceptions=True)
            self.aside.difference_update([task for task in self.aside if task.done()])
        everyone = [worker for worker in [*self.idle, *self.busy.values()] if not worker.leaving]
        self.idle.clear()
        self.busy.clear()
        for worker in everyone:
            worker.leaving = True
        await asyncio.gather(*(asyncio.to_thread(_end, worker) for worker in everyone))

    async def _taken(self, name: str) -> _Worker:
        """An idle worker, a new one where there may be more, or the next that becomes free.

        Between the look at who is idle and the taking nothing is awaited, so that nobody comes in between.
        """
        while self.closed or (not self.idle and len(self.busy) + self.starting >= self.most):
            if self.closed or len(self.waiting) >= _MOST_WAITING:
                raise Busy
            turn = asyncio.get_running_loop().create_future()
            self.waiting.append(turn)
            try:
                await turn
            finally:
                self.waiting.remove(turn)
        if self.idle:
            self.busy[name] = self.idle.pop()
            return self.busy[name]
        self.starting += 1
        birth = asyncio.create_task(self._born())
        try:
            self.busy[name] = await asyncio.shield(birth)
        except asyncio.CancelledError:  # who asked is gone, the worker comes nevertheless: for the next one
            self._aside(self._laid_by(birth))
            raise
        return self.busy[name]

    async def _born(self) -> _Worker:
        try:
            return await asyncio.to_thread(self._started)
        finally:
            self.starting -= 1

    async def _laid_by(self, birth: asyncio.Task[_Worker]) -> None:
        try:
            self.idle.append(await birth)
        finally:
            self._wake()

    def _ended(self, name: str, worker: _Worker) -> None:
        """Nothing is awaited here: not even a cancelled request keeps its worker."""
        self.busy.pop(name, None)
        if worker.leaving:
            return
        worker.leaving = True
        worker.process.kill()
        self._aside(asyncio.to_thread(_end, worker))
        if not self.closed:
            self._aside(self.warm())
        self._wake()

    def _aside(self, work: Coroutine[Any, Any, Any]) -> None:
        task = asyncio.create_task(work)
        self.aside.add(task)
        task.add_done_callback(self.aside.discard)

    def _wake(self) -> None:
        for turn in self.waiting:
            if not turn.done():
                turn.set_result(None)

    def _started(self) -> _Worker:
        context = get_context("spawn")  # a fork would copy the locks of threads that do not exist in it
        line, theirs = context.Pipe()
        control, their_control = context.Pipe()
        # pickled here, since a process reads its arguments before it does anything: it should hear of our end first
        work = pickle.dumps(self.work)
        process = context.Process(target=_main, args=(work, theirs, their_control), daemon=True, name="sfumato")
        process.start()
        theirs.close()
        their_control.close()
        return _Worker(process, line, control)


def _listen(line: Connection, loop: asyncio.AbstractEventLoop, box: asyncio.Queue[Message | None]) -> None:
    """Carry messages from a worker to the loop, until the last one of the job."""
    message: Message | None = Message("progress", {})
    with suppress(RuntimeError):  # the loop may be closed before the last message
        while message is not None and message.kind == "progress":
            try:
                message = line.recv()
            except (EOFError, OSError, TypeError, pickle.UnpicklingError):  # TypeError: closed while it was read
                message = None
            loop.call_soon_threadsafe(box.put_nowait, message)


def _end(worker: _Worker) -> None:
    worker.process.kill()
    worker.process.join(_GRACE)
    worker.control.close()
    with suppress(OSError):
        worker.line.close()
    if worker.process.exitcode is not None:
        worker.process.close()


# ----------------------------------------------------------------- in the worker


def _main(pickled: bytes, line: Connection, control: Connection) -> None:
    """Take jobs until the other side is gone."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the server, which ends its workers
    stop = threading.Event()
    threading.Thread(target=_hear, args=(control, stop), daemon=True).start()
    work: Work = pickle.loads(pickled)  # which loads all rooms that it needs
    with speaking(PAGE):
        _done(work, "warm", {}, None, line, stop)  # compiled code is loaded before somebody waits for it
        while True:
            try:
                task, values, kept = line.recv()
            except (EOFError, OSError):
                return
            stop.clear()
            line.send(_done(work, task, values, kept, line, stop))


def _done(work: Work, task: str, values: Any, kept: bytes | None, line: Connection, stop: threading.Event
          ) -> Message:  # fmt: skip
    def say(content: dict[str, Any]) -> None:
        line.send(Message("progress", content))

    try:
        return Message("result", *work(task, values, kept, say, stop.is_set))
    except SfumatoError as error:
        return Message("failure", {"error": sentence(error)})
    except MemoryError:
        return Message("failure", {"error": "there is not enough memory for this"})
    except Exception:  # a bug: its traceback is for the terminal, not for the page
        traceback.print_exc()
        return Message("failure", {"error": "something went wrong inside; the terminal says what"})


def sentence(error: Exception) -> str:
    """What is wrong, in one line that is not too long."""
    text = " ".join(str(error).split()).removeprefix("spec: ")
    return text if len(text) <= _LONGEST_ERROR else f"{text[:_LONGEST_ERROR]}…"


def _hear(control: Connection, stop: threading.Event) -> None:
    """Note a wish to stop; end at once when the server is gone, whatever is being computed."""
    while True:
        try:
            control.recv()
        except (EOFError, OSError):
            os._exit(1)
        stop.set()
