"""Long work on the terminal: one line that says how far it is, and a Ctrl-C that keeps what has been found."""

from __future__ import annotations

import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from math import isfinite
from time import perf_counter
from types import FrameType
from typing import Any

from sfumato.numbers import text_above, text_below
from sfumato.threads import StopAtOnce, plain_interrupts
from sfumato.watch import Watch, compiling_time

_PATIENCE = 2.0  # seconds before the line is shown first
_EVERY = 0.2  # seconds between two states of the line
_EVERY_LINE = 10.0  # seconds between two lines where no terminal can replace one: in logs, and under other programs
_WORTH_A_WORD = 1.0  # seconds of compiling: nobody wonders where less has gone


@contextmanager
def progress_line(first: str = "starting") -> Iterator[Callable[[Any], None]]:
    """A function whose argument is shown with the elapsed time on stderr: on one line, off a terminal now and then one.

    What is done first is shown until the function is called. The seconds go on while nothing new is said. Ctrl-C
    leaves the last state on a line of its own.
    """
    replaced = sys.stderr.isatty()
    patience, every = (_PATIENCE, _EVERY) if replaced else (0.0, _EVERY_LINE)
    started, last, over = perf_counter(), first, threading.Event()

    def shown() -> str:
        return f"{perf_counter() - started:6.1f} s  {last}"

    def write(text: str) -> None:
        with suppress(BrokenPipeError):  # nobody looks any more, and the work goes on
            sys.stderr.write(text)
            sys.stderr.flush()

    def say(state: Any) -> None:
        nonlocal last
        last = str(state)

    def tell() -> None:
        if over.wait(patience):
            return
        while not over.wait(every):
            write(f"\r\x1b[K{shown()}" if replaced else f"sfumato: {shown().lstrip()}\n")

    teller = threading.Thread(target=tell, daemon=True)
    teller.start()
    left = ""
    try:
        yield say
    except (KeyboardInterrupt, StopAtOnce):
        left = f"{shown()}\n"
        raise
    finally:
        over.set()
        teller.join()
        if replaced:
            write(f"\r\x1b[K{left}")


@contextmanager
def around_command(*, quiet: bool) -> Iterator[None]:
    """Ctrl-C stops compiled code as it stops any other, and the end says how long functions were compiled.

    That is why a first call takes longer than those after it. It is for people: nothing is said where nobody looks, or
    where an answer is for a program.
    """
    before = compiling_time()
    try:
        with plain_interrupts():
            yield
    finally:
        seconds = compiling_time() - before
        if seconds >= _WORTH_A_WORD and not quiet and sys.stderr.isatty():
            sys.stderr.write(f"Compiling for this machine took {seconds:.0f} s, the first time only.\n")


def standing(state: Any) -> str:
    """Iteration, loss, bound and gap of a solver and what it does, or whatever else a state says of itself."""
    if not all(hasattr(state, name) for name in ("iteration", "value", "bound", "gap")):
        return str(state)
    words = [] if not state.iteration else [f"iteration {state.iteration}"]
    ends = (("loss", state.value, text_above), ("bound", state.bound, text_below))
    words += [f"{name} {rounded(value, 6)}" for name, value, rounded in ends if isfinite(value)]
    words += [f"gap {text_above(state.gap)}"] if isfinite(state.gap) else []
    stage = getattr(state, "stage", "")
    return "  ".join([*words, stage] if stage else words)


class Interruption:
    """Whether work was asked to end before it was through."""

    def __init__(self) -> None:
        self.interrupted = False
        self.heard = False  # whether there was a Ctrl-C, whatever came of it
        self.working = False  # whether there is something to keep
        self.watch: Watch | None = None  # that of the work, where it looks at one between two words about progress

    @property
    def asked(self) -> bool:
        """Whether somebody has asked for what there is, here or in the midst of the work."""
        return self.interrupted or (self.watch is not None and self.watch.stopped)

    def progress(
        self, say: Callable[[Any], None] | None, before: str = "", end: type[BaseException] = KeyboardInterrupt
    ) -> Callable[[Any], None]:
        """What a solver calls when something begins and after each iteration. Asked to end, it raises ``end`` there.

        A solver takes a KeyboardInterrupt as a wish to return what it has; another exception ends a search over
        several designs.
        """

        def report(state: Any) -> None:
            self.working = self.working or bool(getattr(state, "iteration", True))
            if say is not None:
                say(before + standing(state))
            if self.interrupted:
                raise end

        return report


@contextmanager
def until_asked(keeping: str = "what has been found") -> Iterator[Interruption]:
    """The first Ctrl-C asks the work to end with what it has, between two iterations; a second one stops it.

    Before the first iteration there is nothing to keep, so that the first one stops it too.
    """
    ending = Interruption()

    def hear(number: int, frame: FrameType | None) -> None:
        if ending.heard:
            raise StopAtOnce
        ending.heard = True
        if not ending.working:
            raise KeyboardInterrupt
        ending.interrupted = True
        if ending.watch is not None:
            ending.watch.stop()
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
    except StopAtOnce:
        raise KeyboardInterrupt from None
    finally:
        signal.signal(signal.SIGINT, before)
