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

from sfumato.design.answer import Answer, Multipliers, Progress, TimeLimit
from sfumato.design.problem import Problem
from sfumato.design.routes import along_edges
from sfumato.design.solvers.reduced import show_bounds
from sfumato.lp.cone.near import PeakSolution, first_losses, solve_peaks
from sfumato.lp.cone.program import ColumnProgress, Ending
from sfumato.lp.proof.covering import Cover, covered
from sfumato.numbers import Floats, text_above
from sfumato.watch import TimeIsUp, Watch, watch_of

_ALL_ACTIONS = 64  # Up to so many actions all are solved for at once.
_SPREAD = 0.08  # The first outputs lie this near to secrets, in terms of what an exponential mechanism loses.
_MOST_ROUNDS = 12
_GROWTH = 0.5  # Outputs grow by at most this share in a round.
_COVERED = 0.98  # Outputs are added for the sake of this share of what is missing.
_UNPROVED = 1e-7  # Prices that are proved but for this share of the loss need no further output.
# Outputs are chosen by prices of this gap: so many tolerances, and between these bounds.
_ROUGH_TOLERANCES, _ROUGH_GAPS = 30.0, (3e-3, 1e-2)
_PRICE_RISE = 1.5  # Prices are taken to rise by so many gaps after a rough run.
_LAST_ROUND = 2e-2  # If less than this share of the loss is missing, the next round is to be the last.
_PROOF_SHARE = 0.3  # This share of the time is kept for the multipliers of all actions.
_ACCEPTED = 2.8  # The last round is good enough if gap and what is missing are so many tolerances.


def solve_near(problem: Problem, tolerance: float, progress: Progress = None, time_limit: TimeLimit = None) -> Answer:
    """Near-optimal to a relative gap, for thousands of secrets if each has a price for few actions."""
    return _OutputSearch(problem, tolerance, progress, watch_of(time_limit)).answer()


@dataclass(frozen=True, eq=False)
class _RoundResult:
    """What one round has found: a matrix for some outputs."""

    solution: PeakSolution
    outputs: NDArray[np.int64]


@dataclass(eq=False)
class _OutputSearch:
    """Outputs that are solved for, more and more of them; the best of both sides, of all rounds that may be the last.

    Prices of some outputs bound no mechanism that has others, so of such a round nothing is shown but how far it is.
    """

    problem: Problem
    tolerance: float
    progress: Progress
    watch: Watch
    best: _RoundResult | None = None
    cover: Cover | None = None
    value: float = np.inf
    bound: float = -np.inf
    iterations: int = 0

    def answer(self) -> Answer:
        """Solve, look for actions that are missing, and solve again."""
        cost, logs = self.problem.float_cost, self.problem.privacy.log_bounds
        m = cost.shape[1]
        searching = self.watch.before(_PROOF_SHARE * (self.watch.left or 0.0))
        chosen = np.arange(m) if m <= _ALL_ACTIONS else first_outputs(cost, logs)
        last, rough = len(chosen) == m, _ROUGH_GAPS[1]
        rounds: list[_RoundResult] = []  # the last two
        for left in reversed(range(_MOST_ROUNDS)):
            solution = solve_peaks(
                cost[:, chosen], logs, tolerance=self.tolerance if last else rough, time_limit=searching, settle=last,
                progress=self._round_progress(len(chosen)), reach=rounds[-1].solution.reach if rounds else None,
            )  # fmt: skip
            rounds = [*rounds[-1:], _RoundResult(solution, chosen)]
            self.iterations += solution.iterations
            finished = solution.ended in (Ending.REACHED, Ending.STALLED) and not searching.over
            if not finished:
                break
            # a rough run leaves prices lower than they will be
            rise = 0.0 if last else _PRICE_RISE * max(solution.gap, 0.0)
            likely = solution.prices + rise * np.abs(solution.prices)
            others = np.arange(m) if last else np.setdiff1d(np.arange(m), chosen)
            allowed = (self.tolerance if last else rough / 3) / 10
            cover = covered(cost[:, others], likely, logs, allowed, self.watch if last else searching)
            lost = float(cover.missing.sum()) / max(abs(solution.value), 1e-300)
            if last:
                self._keep(rounds[-1], cover, float(solution.prices.sum() - cover.missing.sum()))
            if last and (solution.gap + lost <= _ACCEPTED * self.tolerance or len(chosen) == m or searching.over):
                break
            if searching.over:
                finished = False
                break
            if lost > _UNPROVED:
                chosen = np.union1d(chosen, others[_missing(cover, len(chosen))])
            if last and len(chosen) == len(rounds[-1].outputs):
                break
            last = lost <= max(_LAST_ROUND, _PRICE_RISE * solution.gap) or left <= 2 or len(chosen) == m
            rough = float(np.clip(_ROUGH_TOLERANCES * self.tolerance, *_ROUGH_GAPS))
        if not finished:
            self._take_unfinished(rounds)
        assert self.best is not None and self.cover is not None
        solved = self.best.outputs
        matrix = np.zeros(cost.shape)
        matrix[:, solved] = self.best.solution.matrix
        name = "interior point at peaks" + (f", {len(solved)} of {m} outputs" if len(solved) < m else "")
        proof = Multipliers(self.cover.first, self.cover.second, self.cover.column, self.cover.values)
        multipliers = along_edges(self.problem.privacy, proof)
        return Answer(matrix, multipliers, name, self.iterations, self.watch.spent, finished)

    def _keep(self, result: _RoundResult, cover: Cover, bound: float) -> None:
        """Keep what is better on either side, and show it."""
        if result.solution.cost < self.value:
            self.best, self.value = result, result.solution.cost
        if bound > self.bound:
            self.cover, self.bound = cover, bound
        show_bounds(self.progress, self.iterations, self.value, self.bound, self.watch)

    def _take_unfinished(self, rounds: list[_RoundResult]) -> None:
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

    def _round_progress(self, outputs: int) -> Callable[[ColumnProgress], None]:
        """What is called after each iteration of a round."""
        done, m = self.iterations, self.problem.shape[1]

        def show_round(state: ColumnProgress) -> None:
            some = f"{outputs} of {m} outputs, " if outputs < m else ""
            stage = f"{some}gap {text_above(state.gap)} among pairs at peaks"
            show_bounds(self.progress, done + state.iteration, self.value, self.bound, self.watch, stage)

        return show_round


def first_outputs(cost: Floats, logs: Floats) -> NDArray[np.int64]:
    """Greedy medians: one action after the other, each where it saves most to secrets that tell the truth."""
    floor, columns = cost.min(axis=1), np.ascontiguousarray(cost.T)
    allowed = floor.sum() + _SPREAD * float((first_losses(cost, logs) - floor).sum())
    chosen = [int(columns.sum(axis=1).argmin())]
    nearest = columns[chosen[0]]
    saved = np.maximum(nearest - columns, 0.0).sum(axis=1)
    while len(chosen) < _ALL_ACTIONS or nearest.sum() > allowed:
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
    enough = np.searchsorted(np.cumsum(cover.missing[ranked]), _COVERED * cover.missing.sum()) + 1
    columns, place = np.unique(cover.worst[ranked[:enough]], return_index=True)
    return np.asarray(columns[np.argsort(place)][: max(_ALL_ACTIONS // 4, int(_GROWTH * number))])
