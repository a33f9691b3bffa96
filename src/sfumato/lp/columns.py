"""Columns in one cone that sum to one: a block interior-point method.

The program: n rows, m columns, minimise Σ_xy C_xy R_xy over R ≥ 0 whose rows sum to 1 and whose columns satisfy
R_xy ≤ e^{l_k} R_zy for a list of ordered pairs k = (x, z). The columns are m independent cones, linked only by the
n row sums, and Newton's equations fall apart the same way: one n × n system H_y for each column, one n × n system
Σ_y H_y⁻¹ for the prices of the rows. An iteration costs m Cholesky factorisations and a few passes over pairs and
columns, all compiled (:mod:`sfumato.lp.columns_method`, :mod:`sfumato.lp.columns_newton`).

The iterates are feasible on both sides: R is always strictly inside the cones, and any Z ≥ 0 gives a lower bound
(:func:`column_bound`), so a run may be stopped at any time. Steps are those of Mehrotra (1992) with the
second-order term kept within bounds, then centrality correctors of Gondzio (1996). Floats throughout: the answer
is a proposal, and who needs a proof rounds the two matrices to a safe side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InvalidInput, expect
from sfumato.lp.columns_method import BlockNewton
from sfumato.numbers import array, floats
from sfumato.threads import plain_interrupts

__all__ = ["ColumnProgram", "ColumnProgress", "ColumnSolution", "Ending", "column_bound", "solve_columns"]

Floats = NDArray[np.float64]

_SMALLEST_LOG = 1e-9
# Slacks are differences of entries whose ratio may be e^l: below this nothing but rounding errors is left of them.

_LARGEST_COST = 1e250  # so that sums of all of them stay floats
_MOST_ITERATIONS = 400
_LATE = 1e-2  # a gap at which the method does not recover from rounding errors any more
_PATIENCE = 12  # iterations in which the gap must fall by a tenth, or rounding has the upper hand


class Ending(StrEnum):
    """Why the iteration stopped."""

    REACHED = "the gap is small enough"
    STALLED = "rounding errors stopped it"
    TIME = "the time limit was reached"
    INTERRUPTED = "it was interrupted"


@dataclass(frozen=True, eq=False)
class ColumnProgram:
    """Minimise Σ C∘R over R ≥ 0 with row sums 1 and R_xy ≤ e^{l_k} R_zy for k = (x, z), in every column y.

    Parameters
    ----------
    cost
        C, one row a secret, one column an output; floats.
    first, second
        The ordered pairs x = first[k], z = second[k]; list both directions where both are meant.
    logs
        l_k > 0, at least 1e-9.

    Examples
    --------
    >>> program = ColumnProgram([[0, 1], [1, 0]], [0, 1], [1, 0], [1.0, 1.0])
    >>> program.shape
    (2, 2)
    """

    cost: Floats
    first: NDArray[np.int64]
    second: NDArray[np.int64]
    logs: Floats

    def __post_init__(self) -> None:
        cost = floats(array(self.cost, "the cost of columns", 2))
        if not np.isfinite(cost).all():
            x, y = np.argwhere(~np.isfinite(cost))[0]
            raise InvalidInput(f"the cost of row {x} in column {y} is {cost[x, y]}: give finite costs")
        if np.abs(cost).max() > _LARGEST_COST:
            raise InvalidInput(f"costs reach {np.abs(cost).max():g}: scale them down to at most {_LARGEST_COST:g}")
        first, second = _indices(self.first, "first", len(cost)), _indices(self.second, "second", len(cost))
        logs = floats(array(self.logs, "the log bounds of pairs", 1)) if np.size(self.logs) else np.empty(0)
        if not len(first) == len(second) == len(logs):
            raise InvalidInput(
                f"pairs need lists of one length, found {len(first)} first ends, {len(second)} second ends "
                f"and {len(logs)} log bounds"
            )
        loops = np.flatnonzero(first == second)
        if loops.size:
            raise InvalidInput(f"pair {loops[0]} joins row {first[loops[0]]} to itself: leave it out")
        bad = np.flatnonzero(~((logs >= _SMALLEST_LOG) & np.isfinite(logs)))
        if bad.size:
            raise InvalidInput(
                f"the log bound of pair {bad[0]} is {logs[bad[0]]}, it must be finite and at least "
                f"{_SMALLEST_LOG:g}: merge rows that must be equal, leave out pairs without bound"
            )
        for name, value in (("cost", cost), ("first", first), ("second", second), ("logs", logs)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.cost.shape[0], self.cost.shape[1]


def _indices(ends: Any, what: str, n: int) -> NDArray[np.int64]:
    given = np.asarray(ends)
    if given.size == 0:
        return np.empty(0, dtype=np.int64)
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise InvalidInput(f"the {what} ends of pairs must be a list of row numbers, found {ends!r}")
    if given.min() < 0 or given.max() >= n:
        raise InvalidInput(
            f"the {what} ends of pairs must lie between 0 and {n - 1}, found {given.min()} … {given.max()}"
        )
    return given.astype(np.int64)


@dataclass(frozen=True)
class ColumnProgress:
    """Where a run stands after an iteration."""

    iteration: int
    value: float
    bound: float
    gap: float
    seconds: float


@dataclass(frozen=True, eq=False)
class ColumnSolution:
    """What :func:`solve_columns` found.

    Parameters
    ----------
    matrix
        R, strictly inside the cones; rows sum to 1 up to rounding.
    multipliers
        Z ≥ 0, one row a pair, one column a column of R: what :func:`column_bound` takes.
    value, bound
        Σ C∘R and the lower bound that Z gives, in floats.
    gap
        (value − bound) / |value|, or relative to a millionth of the costs if the value is smaller.
    iterations, seconds, ended
        How long it took and why it stopped.
    """

    matrix: Floats
    multipliers: Floats
    value: float
    bound: float
    gap: float
    iterations: int
    seconds: float
    ended: Ending


def column_bound(program: ColumnProgram, multipliers: Any) -> float:
    """The lower bound Σ_x min_y (C + AᵀZ)_xy that any Z ≥ 0 gives, in floats.

    A has the rows e^{−l_k} R_xy − R_zy ≤ 0. Since every row of R is a distribution and Z·AR ≤ 0,
    Σ C∘R ≥ Σ (C + AᵀZ)∘R ≥ Σ_x min_y (C + AᵀZ)_xy.

    Examples
    --------
    >>> program = ColumnProgram([[0, 1], [1, 0]], [0, 1], [1, 0], [1.0, 1.0])
    >>> column_bound(program, [[0, 0], [0, 0]])
    0.0
    >>> round(column_bound(program, [[0.7, 0], [0, 0.7]]), 4)
    0.515
    """
    given = floats(array(multipliers, "the multipliers", 2)) if len(program.first) else np.zeros((0, program.shape[1]))
    if given.shape != (len(program.first), program.shape[1]):
        raise InvalidInput(
            f"{len(program.first)} pairs and {program.shape[1]} columns, but multipliers of shape {given.shape}"
        )
    if (given < 0).any():
        raise InvalidInput(f"multipliers must not be negative, found {given.min()}")
    reduced = program.cost.copy()
    np.add.at(reduced, program.first, np.exp(-program.logs)[:, None] * given)
    np.subtract.at(reduced, program.second, given)
    return float(reduced.min(axis=1).sum())


def solve_columns(
    program: ColumnProgram,
    *,
    tolerance: float = 1e-4,
    time_limit: float | None = None,
    progress: Callable[[ColumnProgress], object] | None = None,
) -> ColumnSolution:
    """Minimise over columns in one cone that sum to one, with a lower bound from the multipliers.

    Parameters
    ----------
    tolerance
        Relative gap at which to stop. 1e-9 is within reach of most programs.
    time_limit
        Seconds after which to stop, checked after each iteration.
    progress
        Called after each iteration. Raising ``KeyboardInterrupt`` in it (or pressing Ctrl-C) ends the
        run with the best point so far; ``ended`` says so.

    Examples
    --------
    Two secrets, e^l = 3: the best R tells the truth three times out of four.

    >>> import numpy as np
    >>> program = ColumnProgram([[0, 1], [1, 0]], [0, 1], [1, 0], np.log([3.0, 3.0]))
    >>> found = solve_columns(program, tolerance=1e-8)
    >>> found.matrix.round(6).tolist(), round(found.value, 6), round(found.bound, 6)
    ([[0.75, 0.25], [0.25, 0.75]], 0.5, 0.5)
    """
    program = expect(program, ColumnProgram, "a program over columns", "ColumnProgram(cost, first, second, logs)")
    if not tolerance > 0:
        raise InvalidInput(f"the tolerance is a positive relative gap, found {tolerance}")
    if time_limit is not None and not time_limit > 0:
        raise InvalidInput(f"the time limit is a positive number of seconds, found {time_limit}")
    start = perf_counter()
    n, m = program.shape
    spread = float((program.cost - program.cost.min(axis=1, keepdims=True)).sum()) / m
    if spread == 0 or m == 1:
        value = float(program.cost.min(axis=1).sum())
        return ColumnSolution(np.full((n, m), 1.0 / m), np.zeros((len(program.first), m)), value, value, 0.0, 0,
                              perf_counter() - start, Ending.REACHED)  # fmt: skip
    method = BlockNewton(program.cost, program.first, program.second, program.logs, spread)
    best, matrix = np.inf, method.matrix()
    ended, iterations, gaps = Ending.STALLED, 0, [np.inf]
    try:
        with plain_interrupts():
            while iterations < _MOST_ITERATIONS and method.iterate():
                iterations += 1
                current, value, bound = method.matrix(), *method.standing()
                if value < best:
                    best, matrix = value, current
                gaps.append(method.relative(value, bound))
                seconds = perf_counter() - start
                if progress is not None:
                    progress(ColumnProgress(iterations, value, bound, gaps[-1], seconds))
                if _LATE > gaps[-1] > gaps[-2] and method.is_spoilt(value, bound):
                    method.go_back()
                elif gaps[-1] <= tolerance:
                    ended = Ending.REACHED
                elif time_limit is not None and seconds >= time_limit:
                    ended = Ending.TIME
                elif min(gaps[-_PATIENCE:]) < 0.9 * min(gaps[:-_PATIENCE], default=np.inf):
                    continue
                break
    except KeyboardInterrupt:
        ended = Ending.INTERRUPTED
    finally:
        method.close()
    value, bound, multipliers = float((program.cost * matrix).sum()), method.standing()[1], method.multipliers()
    if ended is Ending.INTERRUPTED:  # which may have been anywhere
        bound = column_bound(program, multipliers)
    if ended is Ending.STALLED and method.relative(value, bound) <= tolerance:
        ended = Ending.REACHED
    return ColumnSolution(matrix, multipliers, value, bound, method.relative(value, bound), iterations,
                          perf_counter() - start, ended)  # fmt: skip
