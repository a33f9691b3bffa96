"""How long a search may take, on a clock that stands still while functions are compiled.

Whatever may take long is given a :class:`Watch` and asks it: a call has one, from the door to the innermost loop, so
that every stage knows what the stages before it have left. Compiling happens once on a machine and depends on nothing
that was asked for, so it is announced (:func:`announcing`) and not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from numbers import Real
from time import perf_counter
from typing import Any

from numba.core import event

from sfumato.errors import InvalidInput, shown

_ENDLESS = 1e12  # seconds: thirty thousand years are no limit, and larger numbers may be no floats


class TimeIsUp(Exception):
    """The time is up in the midst of a step; who has something from the step before returns that."""


class Watch:
    """When a search began and how long it may take.

    Parameters
    ----------
    limit
        Seconds; None where there is no limit.
    clock
        What the seconds are read from; a test gives one of its own.
    within
        A watch with which this one is over too.

    Examples
    --------
    >>> ticks = iter([0.0, 2.0, 5.0, 5.0])
    >>> watch = Watch(3.0, lambda: next(ticks))
    >>> watch.left, watch.over, watch.left
    (1.0, True, 0.0)
    """

    def __init__(
        self, limit: float | None = None, clock: Callable[[], float] | None = None, within: Watch | None = None
    ) -> None:
        self.clock, self.limit = clock or working_time, _seconds(limit)
        self.within, self.stopped = within, False
        self.started = self.clock()

    @property
    def spent(self) -> float:
        """Seconds since the start."""
        return self.clock() - self.started

    @property
    def ended(self) -> bool:
        """Whether somebody has asked for what there is: of this stage, or of one that it is a part of."""
        return self.stopped or (self.within is not None and self.within.ended)

    @property
    def left(self) -> float | None:
        """Seconds that remain; None without a limit."""
        if self.ended:
            return 0.0
        return None if self.limit is None else max(self.limit - self.spent, 0.0)

    @property
    def over(self) -> bool:
        """Whether the time is up."""
        left = self.left
        return left is not None and left <= 0.0

    def allows(self, seconds: float) -> bool:
        """Whether something that takes so long would be through in time."""
        left = self.left
        return left is None or seconds < left

    def check(self) -> None:
        """Raise :class:`TimeIsUp` if it is."""
        if self.over:
            raise TimeIsUp

    def stop(self) -> None:
        """Let the time be up now: someone has asked for what there is, and means the whole."""
        self.stopped = True
        if self.within is not None:
            self.within.stop()

    def share(self, fraction: float) -> Watch:
        """A watch for one stage, that may take a share of what is left; without a limit there is none."""
        left = self.left
        return Watch(None if left is None else fraction * left, self.clock, self)

    def before(self, seconds: float) -> Watch:
        """A watch for what has to leave so many seconds for stages that follow; without a limit there is none."""
        left = self.left
        return Watch(None if left is None else max(left - seconds, 0.0), self.clock, self)


def _seconds(limit: Any) -> float | None:
    """What a caller takes for a number of seconds."""
    if limit is None:
        return None
    is_number = isinstance(limit, Real) and not isinstance(limit, bool)
    if not is_number or not limit >= 0:
        raise InvalidInput(f"the time limit is a number of seconds, 0 or more, found {shown(limit)}")
    return None if limit > _ENDLESS else float(limit)


def watch_of(time_limit: float | Watch | None) -> Watch:
    """The watch of a call: the one of the caller, or a new one that starts now."""
    return time_limit if isinstance(time_limit, Watch) else Watch(time_limit)


def working_time() -> float:
    """Seconds of a clock that stands still while functions are compiled."""
    return _compiling.working_time()


def compiling_time() -> float:
    """Seconds that this process has spent compiling functions since it was asked first."""
    return _compiling.compiling_time()


@contextmanager
def announcing(tell: Callable[[], object]) -> Iterator[None]:
    """Call ``tell`` whenever a function begins to be compiled."""
    _compiling.listen()
    _compiling.tellers.append(tell)
    try:
        yield
    finally:
        _compiling.tellers.remove(tell)


class _Compiling(event.Listener):
    """Seconds spent on compiling, as numba's events tell; one function may need others, so these are nested.

    numba compiles one function at a time, so its events come one after the other.
    """

    def __init__(self) -> None:
        self.depth, self.since, self.total = 0, 0.0, 0.0
        self.tellers: list[Callable[[], object]] = []
        self.listening = False

    def listen(self) -> None:
        """Hear of what is compiled from now on."""
        if not self.listening:
            event.register("numba:compile", self)
        self.listening = True

    def on_start(self, event: Any) -> None:
        self.depth += 1
        if self.depth > 1:
            return
        self.since = perf_counter()
        for tell in list(self.tellers):
            try:
                tell()
            except BaseException:  # who asks for an end here is asked again after the next step, outside of numba
                continue

    def on_end(self, event: Any) -> None:
        self.depth -= 1
        if not self.depth:
            self.total += perf_counter() - self.since

    def working_time(self) -> float:
        self.listen()
        now, since = perf_counter(), self.since
        return (since if self.depth else now) - self.total

    def compiling_time(self) -> float:
        self.listen()
        return self.total


_compiling = _Compiling()
