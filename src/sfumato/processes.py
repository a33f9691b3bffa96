"""Pieces of work that do not depend on each other, in processes of their own.

Compiled code lets go of Python's lock, but programs of a few hundred rows are many short calls: threads that solve them
wait for each other, and processes do not. They are started when they are first needed, with the same interpreter and
the same places to import from, serve one piece of work after the other, and end with the process that asked. Nothing of
the script that was started is run again in them, as ``multiprocessing`` would.
"""

from __future__ import annotations

import os
import pickle
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from queue import SimpleQueue
from subprocess import PIPE, Popen
from typing import Any, TypeVar

from sfumato.threads import at_once, cores

Item = TypeVar("Item")
Task = TypeVar("Task")
Result = TypeVar("Result")

FEWEST = 24
"""Pieces of work from which on processes are worth their start."""

_ALONE = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")


class Child:
    """A process that does what it is asked, one thing after the other."""

    def __init__(self) -> None:
        places = os.pathsep.join(place for place in sys.path if place)
        environment = {**os.environ, **_ALONE, "PYTHONPATH": places}
        command = [sys.executable, "-m", "sfumato.processes"]
        # Ctrl-C is for who asked, who then decides what becomes of this one
        self.process = Popen(command, stdin=PIPE, stdout=PIPE, env=environment, start_new_session=True)

    def asked(self, work: Callable[[Task], Result], task: Task) -> Result:
        """What ``work`` gives for a task; an error there is one here."""
        assert self.process.stdin is not None and self.process.stdout is not None
        pickle.dump((work, task), self.process.stdin, pickle.HIGHEST_PROTOCOL)
        self.process.stdin.flush()
        done, result = pickle.load(self.process.stdout)
        if not done:
            raise result
        found: Result = result
        return found

    def ended(self) -> None:
        """Stop at once, whatever is being done."""
        self.process.kill()
        for stream in (self.process.stdin, self.process.stdout):
            with suppress(OSError):
                stream.close()  # type: ignore[union-attr]  # both are pipes
        self.process.wait()


class Children:
    """As many processes as there are cores; they end when nobody holds them any more."""

    def __init__(self, many: int | None = None) -> None:
        self.children: list[Child] = []
        for _ in range(many or cores()):
            self.children.append(Child())

    def each(
        self, work: Callable[[Task], Result], items: Sequence[Item], task: Callable[[Item], Task]
    ) -> Iterator[Result]:
        """What ``work`` gives for the task of each item, in order, as soon as it is there."""
        free: SimpleQueue[Child] = SimpleQueue()
        for child in self.children:
            free.put(child)

        def asked(item: Item) -> Result:
            child, due = free.get(), task(item)
            try:
                return child.asked(work, due)
            except (EOFError, OSError, pickle.UnpicklingError):
                if not self.children:  # nobody waits for it any more
                    raise
            finally:
                free.put(child)
            return work(due)  # that process has been killed, by who needed its memory perhaps

        with ThreadPoolExecutor(len(self.children)) as pool:
            try:
                yield from pool.map(asked, items)
            except BaseException:
                pool.shutdown(wait=False, cancel_futures=True)
                self.close()
                raise

    def close(self) -> None:
        """End all processes."""
        ending, self.children = self.children, []
        for child in ending:
            child.ended()

    def __del__(self) -> None:
        self.close()


class SideBySide:
    """Does what does not depend on each other: in processes where there is much of it, else in threads.

    The processes are kept for what comes next, and end with this object, or when somebody has had enough. Where none
    can be started, threads do it.
    """

    def __init__(self) -> None:
        self.children: Children | None = None

    def each(
        self, work: Callable[[Task], Result], items: Sequence[Item], task: Callable[[Item], Task]
    ) -> Iterator[Result]:
        """What ``work`` gives for the task of each item, in order, as soon as it is there.

        ``work`` is a function of a module. Tasks travel to processes; they are put together here, when they are due.
        """
        if self.children is None and len(items) >= FEWEST and cores() > 1 and sys.executable:
            with suppress(OSError):
                self.children = Children()
        if self.children is None:
            yield from at_once(lambda item: work(task(item)), items)
            return
        try:
            yield from self.children.each(work, items, task)
        except BaseException:
            self.children = None
            raise


def _serve() -> None:
    """Do what comes in, until nothing comes any more. What work prints goes to where errors go."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    while True:
        try:
            work, task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answer: tuple[bool, Any]
        try:
            answer = True, work(task)
        except Exception as error:  # whatever it is, it is raised where the work was asked for
            answer = False, error
        pickle.dump(answer, answers, pickle.HIGHEST_PROTOCOL)
        answers.flush()


if __name__ == "__main__":
    _serve()
