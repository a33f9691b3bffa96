"""Many secrets in a metric space: the interior-point method at peaks, with outputs brought in as they are needed.

The method (:mod:`sfumato.lp.cone.near`) gives a matrix and a price for every secret. Prices are all that a bound needs:
for every action, whether it was looked at or not, multipliers are found that prove as much of them as can be proved
(:mod:`sfumato.lp.proof.covering`). Where actions are many, a few of them are solved for at first, spread as well as
outputs that tell the truth would be; an action that leaves part of the prices unproved is one that is missing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfumato.design.problem import Problem
from sfumato.design.solvers.answer import Answer, Multipliers
from sfumato.design.solvers.routes import along_edges
from sfumato.errors import NotSupported
from sfumato.lp.cone.near import PeakSolution, first_losses, solve_peaks
from sfumato.lp.cone.program import ColumnProgress, Ending
from sfumato.lp.proof.covering import Cover, covered
from sfumato.watch import TimeIsUp, Watch, watch_of

__all__ = ["solve_by_peaks"]

Floats = NDArray[np.float64]

_FEW = 64  # actions: up to these all are solved for at once
_SPREAD = 0.08  # way of a secret to the nearest of the first outputs, in terms of what an exponential mechanism loses
_MOST_ROUNDS = 12
_GROWTH = 0.5  # share of outputs that may be added in a round
_MOST = 0.98  # of what is missing, for which outputs are added
_NOTHING = 1e-7  # of the loss: prices that are proved but for so little need no further output
_ROUGH, _LOOSEST = 30.0, (3e-3, 1e-2)  # gap of the prices by which outputs are chosen: in tolerances, and its bounds
_RISE = 1.5  # gaps by which prices are taken to rise after a rough run
_LOOSE = 2e-2  # of the loss: if less than that is missing, the next round is to be the last
_TO_PROVE = 0.3  # of the time: what is kept for the multipliers of all actions
_ACCEPTED = 2.8  # tolerances: gap and what is missing, with which the last round is good enough


def solve_by_peaks(
    problem: Problem,
    tolerance: float,
    progress: Callable[..., object] | None = None,
    time_limit: float | Watch | None = None,
) -> Answer:
    """Near-optimal to a relative gap, for thousands of secrets if each has a price for few actions.

    Raises
    ------
    NotSupported
        For objectives with limits or a worst case, and for promises about events.
    """
    if problem.limits or problem.events:
        raise NotSupported("limits, worst cases and promises about events at peaks", ["blocks", "highs", "exact"])
    return _Search(problem, tolerance, progress, watch_of(time_limit)).answer()


def _multipliers(problem: Problem, cover: Cover) -> Multipliers:
    return along_edges(problem.privacy, Multipliers(cover.first, cover.second, cover.column, cover.values))


@dataclass(frozen=True, eq=False)
class _Found:
    """What one round has found: a matrix for some outputs."""

    solution: PeakSolution
    outputs: NDArray[np.int64]


@dataclass(eq=False)
class _Search:
    """Outputs that are solved for, more and more of them; the best of both sides, of all rounds that may be the last.

    Prices of some outputs bound no mechanism that has others, so of such a round nothing is shown but how far it is.
    """

    problem: Problem
    tolerance: float
    progress: Callable[..., object] | None
    watch: Watch
    best: _Found | None = None
    cover: Cover | None = None
    value: float = np.inf
    bound: float = -np.inf
    iterations: int = 0

    def answer(self) -> Answer:
        """Solve, look for actions that are missing, and solve again."""
        cost, logs = self.problem.float_cost, self.problem.privacy.log_bounds
        m = cost.shape[1]
        searching = self.watch.before(_TO_PROVE * (self.watch.left or 0.0))
        chosen = np.arange(m) if m <= _FEW else first_outputs(cost, logs)
        last, rough = len(chosen) == m, _LOOSEST[1]
        rounds: list[_Found] = []  # the last two
        for left in reversed(range(_MOST_ROUNDS)):
            found = solve_peaks(
                cost[:, chosen], logs, tolerance=self.tolerance if last else rough, time_limit=searching,
                progress=self._teller(len(chosen)), reach=rounds[-1].solution.reach if rounds else None, settle=last,
            )  # fmt: skip
            rounds, self.iterations = [*rounds[-1:], _Found(found, chosen)], self.iterations + found.iterations
            finished = found.ended in (Ending.REACHED, Ending.STALLED) and not searching.over
            if not finished:
                break
            # a rough run leaves prices lower than they will be
            likely = found.prices if last else found.prices + _RISE * max(found.gap, 0.0) * np.abs(found.prices)
            others = np.arange(m) if last else np.setdiff1d(np.arange(m), chosen)
            allowed = (self.tolerance if last else rough / 3) / 10
            cover = covered(cost[:, others], likely, logs, allowed, self.watch if last else searching)
            lost = float(cover.missing.sum()) / max(abs(found.value), 1e-300)
            if last:
                self._keep(rounds[-1], cover, float(found.prices.sum() - cover.missing.sum()))
            if last and (found.gap + lost <= _ACCEPTED * self.tolerance or len(chosen) == m or searching.over):
                break
            if searching.over:
                finished = False
                break
            if lost > _NOTHING:
                chosen = np.union1d(chosen, others[_missing(cover, len(chosen))])
            if last and len(chosen) == len(rounds[-1].outputs):
                break
            last = lost <= max(_LOOSE, _RISE * found.gap) or left <= 2 or len(chosen) == m
            rough = float(np.clip(_ROUGH * self.tolerance, *_LOOSEST))
        if not finished:
            self._take_unfinished(rounds)
        assert self.best is not None and self.cover is not None
        solved = self.best.outputs
        matrix = np.zeros(cost.shape)
        matrix[:, solved] = self.best.solution.matrix
        name = "interior point at peaks" + (f", {len(solved)} of {m} outputs" if len(solved) < m else "")
        return Answer(matrix, _multipliers(self.problem, self.cover), name, self.iterations, self.watch.spent, finished)

    def _keep(self, found: _Found, cover: Cover, bound: float) -> None:
        """Keep what is better on either side, and show it."""
        if found.solution.cost < self.value:
            self.best, self.value = found, found.solution.cost
        if bound > self.bound:
            self.cover, self.bound = cover, bound
        self._tell("")

    def _take_unfinished(self, rounds: list[_Found]) -> None:
        """The round before has often come further than one that is cut short."""
        if not any(one.solution.iterations for one in rounds) and self.best is None:
            raise TimeIsUp
        cheapest = min(rounds, key=lambda one: one.solution.cost)
        priced = max((one.solution for one in rounds), key=lambda one: one.bound)
        gap = (cheapest.solution.cost - priced.bound) / max(abs(cheapest.solution.cost), 1e-300)
        # a proof need not be much closer
        cover = covered(self.problem.float_cost, priced.prices, self.problem.privacy.log_bounds,
                        max(self.tolerance, gap) / 10, self.watch)  # fmt: skip
        self._keep(cheapest, cover, float(priced.prices.sum() - cover.missing.sum()))

    def _teller(self, outputs: int) -> Callable[[ColumnProgress], None]:
        """What is called after each iteration of a round."""
        done, m = self.iterations, self.problem.shape[1]

        def tell(state: ColumnProgress) -> None:
            some = f"{outputs} of {m} outputs, " if outputs < m else ""
            self._tell(f"{some}gap {state.gap:.1e} among pairs at peaks", done + state.iteration)

        return tell

    def _tell(self, stage: str, iteration: int | None = None) -> None:
        if self.progress is None:
            return
        gap = (self.value - self.bound) / max(abs(self.value), 1e-300) if np.isfinite(self.value) else np.inf
        number = self.iterations if iteration is None else iteration
        self.progress(ColumnProgress(number, self.value, self.bound, gap, self.watch.spent, stage))


def first_outputs(cost: Floats, logs: Floats) -> NDArray[np.int64]:
    """Greedy medians: one action after the other, each where it saves most to secrets that tell the truth."""
    floor, columns = cost.min(axis=1), np.ascontiguousarray(cost.T)
    allowed = floor.sum() + _SPREAD * float((first_losses(cost, logs) - floor).sum())
    chosen = [int(columns.sum(axis=1).argmin())]
    nearest = columns[chosen[0]]
    saved = np.maximum(nearest - columns, 0.0).sum(axis=1)
    while len(chosen) < _FEW or nearest.sum() > allowed:
        best = int(saved.argmax())
        # what an action saves can only fall, so the others need no look until it falls below theirs
        saved[best] = np.maximum(nearest - columns[best], 0.0).sum()
        if saved[best] < saved.max():
            continue
        if not saved[best] > 0.0:  # nothing is left to save
            break
        chosen.append(best)
        nearest = np.minimum(nearest, columns[best])
        saved[best] = 0.0
    return np.unique(chosen)


def _missing(cover: Cover, number: int) -> NDArray[np.int64]:
    """Columns in which rows are worst off, for the sake of those that miss most first."""
    ranked = np.argsort(-cover.missing, kind="stable")
    enough = np.searchsorted(np.cumsum(cover.missing[ranked]), _MOST * cover.missing.sum()) + 1
    columns, place = np.unique(cover.worst[ranked[:enough]], return_index=True)
    return np.asarray(columns[np.argsort(place)][: max(_FEW // 4, int(_GROWTH * number))])
