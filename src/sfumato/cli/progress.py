"""Long work on the terminal: one line that says how far it is, and a Ctrl-C that keeps what has been found."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import inf
from time import perf_counter
from types import FrameType
from typing import Any

__all__ = ["PROVING", "Ending", "Last", "line", "standing", "until_asked"]

PROVING = "repairing and proving"
"""What a design does after its solver is through."""

_PATIENCE = 2.0  # seconds before the first word
_EVERY = 0.2  # seconds between two
_QUIET = 1.0  # seconds without a word after which a solver that may be through is taken to be


@dataclass(frozen=True)
class Last:
    """A state that may be the last of its kind: what is said of it, and what is being done if nothing follows."""

    said: str
    then: str


@contextmanager
def line() -> Iterator[Callable[[Any], None] | None]:
    """A function that shows its argument and the elapsed time on stderr, on one line; None where nobody looks.

    The seconds go on while nothing new is said. Ctrl-C leaves the last state on a line of its own.
    """
    if not sys.stderr.isatty():
        yield None
        return
    started = since = perf_counter()
    last: Any = "starting"
    over = threading.Event()

    def shown() -> str:
        now, words = perf_counter(), last
        if isinstance(words, Last):
            words = words.then if now - since > _QUIET else words.said
        return f"{now - started:6.1f} s  {words}"

    def say(state: Any) -> None:
        nonlocal last, since
        last, since = state if isinstance(state, Last) else str(state), perf_counter()

    def tell() -> None:
        if over.wait(_PATIENCE):
            return
        while not over.wait(_EVERY):
            sys.stderr.write(f"\r\x1b[K{shown()}")
            sys.stderr.flush()

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    try:
        yield say
    except KeyboardInterrupt:
        _finish(over, teller, f"{shown()}\n")
        raise
    finally:
        _finish(over, teller, "")


def _finish(over: threading.Event, teller: threading.Thread, last: str) -> None:
    if over.is_set():
        return
    over.set()
    teller.join()
    sys.stderr.write(f"\r\x1b[K{last}")
    sys.stderr.flush()


def standing(state: Any) -> str:
    """Iteration, loss, bound and gap of a solver, or whatever else a state says of itself."""
    if not all(hasattr(state, name) for name in ("iteration", "value", "bound", "gap")):
        return str(state)
    return f"iteration {state.iteration}  loss {state.value:.6g}  bound {state.bound:.6g}  gap {state.gap:.1e}"


class Ending:
    """Whether work was asked to end before it was through: by Ctrl-C, or because its time is up."""

    def __init__(self, time_limit: float | None = None) -> None:
        self.time_limit = time_limit
        self.started = perf_counter()
        self.interrupted = False
        self.working = False  # whether there is something to keep

    @property
    def late(self) -> bool:
        """Whether the time is up."""
        return self.time_limit is not None and perf_counter() - self.started > self.time_limit

    @property
    def asked(self) -> bool:
        """Whether the work should end."""
        return self.interrupted or self.late

    def progress(
        self,
        say: Callable[[Any], None] | None,
        before: str = "",
        end: type[BaseException] = KeyboardInterrupt,
        *,
        enough: float | None = None,
    ) -> Callable[[Any], None]:
        """What a solver calls after each iteration. Asked to end, it raises ``end`` there.

        A solver takes a KeyboardInterrupt as a wish to return what it has; another exception ends a search over
        several designs. With a gap of ``enough`` a solver of one design is through, and the proof follows.
        """

        def told(state: Any) -> None:
            self.working = True
            if say is not None:
                words = before + standing(state)
                through = enough is not None and (self.asked or getattr(state, "gap", inf) <= enough)
                say(Last(words, PROVING) if through else words)
            if self.asked:
                raise end

        return told


@contextmanager
def until_asked(time_limit: float | None = None, keeping: str = "what has been found") -> Iterator[Ending]:
    """The first Ctrl-C asks the work to end with what it has, between two iterations; a second one stops it.

    Before the first iteration there is nothing to keep, so that the first one stops it too.
    """
    from sfumato.threads import plain_interrupts

    ending = Ending(time_limit)

    def hear(number: int, frame: FrameType | None) -> None:
        if ending.interrupted or not ending.working:
            raise KeyboardInterrupt
        ending.interrupted = True
        sys.stderr.write(f"\nsfumato: ending with {keeping}; Ctrl-C again stops at once\n")

    before = signal.getsignal(signal.SIGINT)
    # only the main thread hears signals, and who started us deaf to Ctrl-C had a reason
    if threading.current_thread() is not threading.main_thread() or before in (signal.SIG_IGN, None):
        yield ending
        return
    signal.signal(signal.SIGINT, hear)
    try:
        with plain_interrupts():
            yield ending
    finally:
        signal.signal(signal.SIGINT, before)
