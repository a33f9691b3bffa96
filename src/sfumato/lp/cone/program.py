"""Columns in one cone whose entries sum to given totals: the program, as a value, and what any multipliers prove of it.

n rows, m columns: minimise Σ_xy C_xy R_xy over R ≥ 0 whose columns satisfy R_xy ≤ e^{l_k} R_zy for a list of ordered
pairs k = (x, z), and whose rows sum to 1. Two things may be added. Rows may be put into classes: then only the sum
over a class is given, its number of rows; that is what is left of a symmetric program after its columns have been
taken one for each orbit. And there may be limits: weighted sums of entries that must not exceed a level, or whose
excess over the level is, at its largest, what is minimised.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from sfumato.errors import InvalidInput, expect, shown
from sfumato.numbers import Array, Floats, Integers, array, floats, told_apart
from sfumato.watch import Watch, watch_of

# Slacks are differences of entries whose ratio may be e^l: below this nothing but rounding errors is left of them.
_SMALLEST_LOG = 1e-9
_LARGEST_COST = 1e250  # Sums of all costs have to stay floats.
SMALLER_PROBLEMS = ("fewer outputs", "the first-order solver, which needs no factors", "a coarser space")
"""What fits where factors of all columns do not."""

SMALLEST_SCALE = 1e-6
"""Relative gaps are not measured against values below this part of the costs."""


class Ending(StrEnum):
    """Why the iteration stopped."""

    REACHED = "the gap is small enough"
    STALLED = "rounding errors stopped it"
    TIME = "the time limit was reached"
    INTERRUPTED = "it was interrupted"


@dataclass(frozen=True, eq=False)
class Limit:
    """For each group a of rows: Σ_{x in a} Σ_y table_xy R_xy ≤ level_a, or ≤ level_a + τ if ``relative``.

    Parameters
    ----------
    table
        One row a row of the program, one column a column.
    group
        The group of each row, 0 … len(level) − 1, or −1 for rows that are in none.
    level
        One number for each group.
    relative
        Whether the program minimises, on top of its cost, the largest excess τ over the levels of all relative limits.
    """

    table: Array
    group: Integers
    level: Array
    relative: bool = False

    def weighted(self, prices: Array) -> Array:
        """Σ_a prices_a · (what group a sums), as a table of costs."""
        return np.asarray(np.append(prices, 0)[self.group][:, None] * self.table)


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
    classes
        The class of each row, 0 … c − 1: the entries of the rows of a class sum, over all columns, to the number of
        these rows. By default every row is a class of its own.
    limits
        Bounds on weighted sums.

    Examples
    --------
    >>> program = ColumnProgram([[0, 1], [1, 0]], [0, 1], [1, 0], [1.0, 1.0])
    >>> program.shape
    (2, 2)
    """

    cost: Floats
    first: Integers
    second: Integers
    logs: Floats
    classes: Integers | None = None
    limits: tuple[Limit, ...] = field(default=())

    def __post_init__(self) -> None:
        cost = checked_cost(self.cost)
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
        if self.classes is not None:
            object.__setattr__(self, "classes", _classes(self.classes, len(cost)))
        for limit in self.limits:
            _check_limit(limit, cost.shape)
        for name, value in (("cost", cost), ("first", first), ("second", second), ("logs", logs)):
            value.flags.writeable = False
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.cost.shape[0], self.cost.shape[1]

    @property
    def sizes(self) -> Integers:
        """Number of rows in each class."""
        return np.bincount(self.row_classes)

    @property
    def row_classes(self) -> Integers:
        """The class of each row."""
        return np.arange(len(self.cost)) if self.classes is None else self.classes


def checked_cost(given: Any) -> Floats:
    """Costs as floats, one row a secret, one column an output: finite, and small enough to be summed."""
    cost = floats(array(given, "the cost of columns", 2))
    if not np.isfinite(cost).all():
        x, y = np.argwhere(~np.isfinite(cost))[0]
        raise InvalidInput(f"the cost of row {x} in column {y} is {cost[x, y]}: give finite costs")
    if np.abs(cost).max() > _LARGEST_COST:
        most, largest = told_apart(np.abs(cost).max(), _LARGEST_COST)
        raise InvalidInput(f"costs reach {most}: scale them down to at most {largest}")
    return cost


def _indices(ends: Any, what: str, n: int) -> Integers:
    given = np.asarray(ends)
    if given.size == 0:
        return np.empty(0, dtype=np.int64)
    if given.dtype.kind not in "iu" or given.ndim != 1:
        raise InvalidInput(f"the {what} ends of pairs must be a list of row numbers, found {shown(ends)}")
    if given.min() < 0 or given.max() >= n:
        raise InvalidInput(
            f"the {what} ends of pairs must lie between 0 and {n - 1}, found {given.min()} … {given.max()}"
        )
    return given.astype(np.int64)


def _classes(given: Any, n: int) -> Integers:
    classes = np.asarray(given)
    if classes.shape != (n,) or classes.dtype.kind not in "iu" or classes.min() < 0 or not np.bincount(classes).all():
        raise InvalidInput(f"classes must give each of the {n} rows a number, 0 … c − 1, none left out")
    return classes.astype(np.int64)


def _check_limit(limit: Limit, shape: tuple[int, ...]) -> None:
    if limit.table.shape != shape or limit.group.shape != shape[:1]:
        raise InvalidInput(f"a limit on a program of shape {shape} has a table of shape {limit.table.shape}")
    if limit.group.max(initial=-1) >= len(limit.level) or limit.group.min(initial=0) < -1:
        raise InvalidInput(f"a limit with {len(limit.level)} levels names group {limit.group.max()}")
    if not (np.isfinite(limit.table).all() and np.isfinite(limit.level).all()):
        raise InvalidInput("a limit has an entry or a level that is not finite")


@dataclass(frozen=True)
class ColumnProgress:
    """Where a run stands after an iteration: the least value and the largest bound so far, which is what it returns.

    ``stage`` says in words what is being done where that is more than iterating.
    """

    iteration: int
    value: float
    bound: float
    gap: float
    seconds: float
    stage: str = ""

    @classmethod
    def beginning(cls, stage: str, seconds: float) -> ColumnProgress:
        """Before the first iteration of a stage there are no numbers yet."""
        return cls(0, np.inf, -np.inf, np.inf, seconds, stage)


@dataclass(frozen=True, eq=False)
class Start:
    """A point to begin with: columns strictly inside their cones and multipliers, from a similar program.

    It should be well inside, not nearly optimal: a run keeps the point it passes halfway for the next one.
    """

    matrix: Floats
    multipliers: Floats


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
    prices
        For each limit the prices u ≥ 0 of its groups; those of relative limits sum to 1, all together.
    midway
        Where the run was when its gap first fell below a hundredth: a start for a similar program, if asked for.
    """

    matrix: Floats
    multipliers: Floats
    value: float
    bound: float
    gap: float
    iterations: int
    seconds: float
    ended: Ending
    prices: tuple[Floats, ...] = ()
    midway: Start | None = None


def constant_columns(program: ColumnProgram, seconds: float, ended: Ending = Ending.REACHED) -> ColumnSolution:
    """Constant columns and no multipliers, for a program without limits.

    That is the answer where every class has one cost only, and what there is where the time was up before a run began.
    """
    n, m = program.shape
    least = least_of_classes(program.cost.min(axis=1), program.row_classes)
    value, bound = float(program.cost.sum()) / m, float(program.sizes @ least)
    if ended is Ending.REACHED:
        value = bound
    nothing = np.zeros((len(program.first), m))
    gap = relative_gap(value, bound, 1e-300)
    return ColumnSolution(np.full((n, m), 1.0 / m), nothing, value, bound, gap, 0, seconds, ended)


def least_of_classes(values: Floats, classes: Integers) -> Floats:
    """The least of the numbers of each class, given one for every row."""
    least = np.full(int(classes.max()) + 1, np.inf)
    np.minimum.at(least, classes, values)
    return least


def pairs_of_rows(ends: Integers, n: int, nothing: int) -> Integers:
    """For each row the pairs that end there, filled up with ``nothing`` where a row has fewer than others."""
    counts, order = np.bincount(ends, minlength=n), np.argsort(ends, kind="stable")
    table = np.full((n, int(counts.max(initial=0))), nothing, dtype=np.int64)
    table[ends[order], np.arange(len(ends)) - np.repeat(np.cumsum(counts) - counts, counts)] = order
    return table


def relative_gap(value: float, bound: float, smallest: float) -> float:
    """The difference relative to the value, or to ``smallest`` if that is larger."""
    return (value - bound) / max(abs(value), smallest)


def smallest_value(cost: Floats) -> float:
    """A millionth of the costs: relative gaps are not measured against values smaller than that."""
    return SMALLEST_SCALE * float(np.abs(cost).max(axis=1).sum())


def checked_program(program: Any, tolerance: float, time_limit: float | Watch | None) -> ColumnProgram:
    """What every solver of these programs asks of its arguments."""
    given = expect(program, ColumnProgram, "a program over columns", "ColumnProgram(cost, first, second, logs)")
    check_tolerance(tolerance)
    watch_of(time_limit)
    return given


def check_tolerance(tolerance: float) -> None:
    """Refuse a tolerance that no gap can reach."""
    if not tolerance > 0:
        raise InvalidInput(f"the tolerance is a positive relative gap, found {tolerance}")


def column_bound(program: ColumnProgram, multipliers: Any, prices: tuple[Floats, ...] = ()) -> float:
    """The lower bound Σ_c |c| min_{x in c, y} (C + Σ u E + AᵀZ)_xy − Σ u·level that any Z, u ≥ 0 give, in floats.

    A has the rows e^{−l_k} R_xy − R_zy ≤ 0, and E are the tables of the limits with prices u. Since the entries of a
    class c sum to |c| and Z·AR ≤ 0, Σ C∘R ≥ Σ (C + AᵀZ)∘R ≥ Σ_c |c| min (C + AᵀZ); limits add u·(ER − level) ≤ 0, and
    where their excess is minimised, u must sum to 1.

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
    if len(prices) != len(program.limits) or any((u < 0).any() for u in prices):
        raise InvalidInput(f"{len(program.limits)} limits need as many lists of prices ≥ 0, found {len(prices)}")
    reduced = program.cost.copy()
    paid = 0.0
    for limit, price in zip(program.limits, prices, strict=True):
        reduced += limit.weighted(price)
        paid += float(price @ limit.level)
    pairs = np.arange(len(program.first))
    entries = np.concatenate([np.exp(-program.logs), -np.ones(len(pairs))])
    ends = np.concatenate([program.first, program.second]), np.tile(pairs, 2)
    reduced += csr_array((entries, ends), shape=(len(reduced), len(pairs))) @ given
    least = least_of_classes(reduced.min(axis=1), program.row_classes)
    return float(program.sizes @ least) - paid
