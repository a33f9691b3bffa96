"""One line on the terminal that says how far a long computation is."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any

__all__ = ["line"]

_PATIENCE = 2.0  # seconds before the first word
_EVERY = 0.2  # seconds between two


@contextmanager
def line() -> Iterator[Callable[[Any], None] | None]:
    """A function that shows its argument and the elapsed time on stderr, on one line; None where nobody looks.

    Ctrl-C leaves the last state on a line of its own.
    """
    if not sys.stderr.isatty():
        yield None
        return
    started = said = perf_counter()
    last = ""

    def say(state: Any) -> None:
        nonlocal said, last
        now = perf_counter()
        last = f"{now - started:6.1f} s  {state}"
        if now - started > _PATIENCE and now - said > _EVERY:
            said = now
            sys.stderr.write(f"\r\x1b[K{last}")
            sys.stderr.flush()

    try:
        yield say
    except KeyboardInterrupt:
        sys.stderr.write(f"\r\x1b[K{last}\n")
        raise
    else:
        sys.stderr.write("\r\x1b[K")
    finally:
        sys.stderr.flush()
