"""How a run over columns goes on, and why it ends: what the methods of this room share around their steps.

A step is the business of :mod:`sfumato.lp.cone.loop`. Here it is repeated until the method says that it has come far
enough, the next step would not be through in time, or nothing has become better for a while.
"""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

from sfumato.lp.cone.program import ColumnProgress, Ending
from sfumato.threads import plain_interrupts
from sfumato.watch import TimeIsUp, Watch

Progress = Callable[[ColumnProgress], object]

_BETTER = 0.9  # The part to which the best gap has to fall while patience lasts.


class Run:
    """Iterations, how long they take, and gaps so far.

    Parameters
    ----------
    watch
        An iteration that would not be through in time is not begun.
    most
        The most iterations that follow each other.
    patience
        Iterations in which the least gap must fall by a tenth, or rounding errors have the upper hand.
    progress
        Told where the run stands after each iteration.
    """

    def __init__(self, watch: Watch, most: int, patience: int = 12, progress: Progress | None = None) -> None:
        self.watch, self.most, self.patience, self.progress = watch, most, patience, progress
        self.begun, self.iterations, self.slowest = perf_counter(), 0, 0.0
        self.gaps = [np.inf]

    @property
    def seconds(self) -> float:
        """How long it has taken so far."""
        return perf_counter() - self.begun

    @property
    def has_time(self) -> bool:
        """Whether another iteration would be through in time."""
        return self.watch.allows(self.slowest)

    @property
    def stalls(self) -> bool:
        """Whether nothing has become better for a while."""
        late = min(self.gaps[-self.patience :])
        return not late < _BETTER * min(self.gaps[: -self.patience], default=np.inf)

    def stands(self, value: float, bound: float, gap: float) -> None:
        """Tell who wants to know."""
        if self.progress is not None:
            self.progress(ColumnProgress(self.iterations, value, bound, gap, self.seconds))

    def until(self, iterate: Callable[[], bool], judged: Callable[[], tuple[float, Ending | None]]) -> Ending:
        """Iterate; why it stopped.

        ``iterate`` takes a step and says whether there was one. Then ``judged`` says how far the iterate is from the
        optimum, and how the run ends if it does.
        """
        self.gaps, before = [np.inf], self.watch.spent
        for _ in range(self.most):
            if not iterate():
                break
            self.iterations += 1
            self.slowest, before = max(self.slowest, self.watch.spent - before), self.watch.spent
            gap, ended = judged()
            self.gaps.append(gap)
            if ended is not None:
                return ended
            if not self.has_time:
                return Ending.TIME
            if self.stalls:
                break
        return Ending.STALLED


def guarded(work: Callable[[], Ending]) -> Ending:
    """Do what a run does; time that is up in the midst of a step, and Ctrl-C, are ends of it as any other."""
    try:
        with plain_interrupts():
            return work()
    except TimeIsUp:
        return Ending.TIME
    except KeyboardInterrupt:
        return Ending.INTERRUPTED
