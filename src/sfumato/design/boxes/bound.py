"""A bound for all mechanisms on a box, with whatever outputs: one finite problem, its prices, a cover of the outputs.

Secrets are the lower corners of cells: shifted by any one vector they have the same masses, so that the loss of every
mechanism on the box is at least the best of one finite problem with outputs anywhere. Outputs are rounded at random to
the corners of cubes, which costs at most what the loss bends in a cube (:mod:`sfumato.certify.box_bounds`). Prices
come from the program with outputs at the secrets, or halfway between them, and with short pairs only, which is less
than is promised and so a bound too. Cubes are halved where prices need it; multipliers between any two secrets then
prove that no corner does better than the prices say.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from math import gcd

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from sfumato.certify.box_bounds import Covering, covering
from sfumato.certify.coordinates import BoxBound
from sfumato.certify.mechanism import Dual
from sfumato.design.answer import NO_MULTIPLIERS, Multipliers
from sfumato.design.bounds import dual_unit
from sfumato.design.boxes.symmetry import PointOrbits, Turn, orbits_of_cells, orbits_of_points, turns
from sfumato.errors import NotConverged
from sfumato.lp.cone.blocks import BlockProgram
from sfumato.lp.cone.general import solve_blocks
from sfumato.lp.cone.program import Ending
from sfumato.lp.proof.covering import covered
from sfumato.numbers import Floats, Integers
from sfumato.spaces.box import NORMS, Box
from sfumato.watch import Watch

# Euclidean pairs of secrets up to so many steps apart along an axis enter the program, by the dimension of the box. In
# the plane all others follow from those of 3 steps up to a factor of 1.013 of their distance, of 5 steps up to 1.005.
_REACH = {1: (1, 1), 2: (3, 5), 3: (1, 2)}
# What is taken off the prices, as a part of the loss, where nobody says otherwise.
_SLACK = 1e-3
# What rounding multipliers down may take off the bound, as a part of it.
_ROUNDED_OFF = 2e-4
# The smallest prices are forgone up to this part of their sum.
_FORGONE = 3e-4
# Outputs that bring less than this part of an even share are left out: where people live unevenly, most of them. If a
# price should have needed one, covering all corners finds out.
_VANISHING = 0.5
# A loss of less than this part of a step is none.
_SMALLEST = 1e-3


def bends(low: Floats, sides: Floats, metric: str) -> Floats:
    """How much ‖·‖ bends at most in boxes: what is interpolated between their corners exceeds it by no more.

    Parameters
    ----------
    low
        The lowest corner of each box, coordinates last; no coordinate changes its sign within one.
    sides
        Their sides along the axes.

    Examples
    --------
    >>> bends(np.array([[3.0, 0.0], [0.0, 0.0]]), np.array([1.0, 1.0]), "euclidean").round(3).tolist()
    [0.051, 0.293]
    >>> bends(np.array([[3.0, 0.0], [0.0, 0.0]]), np.array([1.0, 1.0]), "manhattan").tolist()
    [0.0, 0.0]
    """
    corners = np.stack([low + sides * np.array(c) for c in product((0.0, 1.0), repeat=len(sides))], axis=-2)
    lengths = np.linalg.norm(corners, ord=NORMS[metric], axis=-1)
    centre = low + sides / 2
    if metric == "euclidean":
        support = centre / np.linalg.norm(centre, axis=-1, keepdims=True)
    elif metric == "manhattan":
        support = np.sign(centre)
    else:
        size = np.abs(centre)
        largest = size >= size.max(axis=-1, keepdims=True) * (1 - 1e-12)
        support = np.sign(centre) * largest / largest.sum(axis=-1, keepdims=True)
    found = (lengths - (corners * support[..., None, :]).sum(axis=-1)).max(axis=-1)
    if metric == "euclidean" and len(sides) > 1:
        ends = np.stack([np.abs(low), np.abs(low + sides)])
        nearest, farthest = np.where(low * (low + sides) <= 0, 0.0, ends.min(axis=0)), ends.max(axis=0) ** 2
        others = farthest.sum(axis=-1, keepdims=True) - farthest
        with np.errstate(divide="ignore"):
            curved = (sides**2 * others).sum(axis=-1) / (8 * np.linalg.norm(nearest, axis=-1) ** 3)
        found = np.minimum(found, curved)
    return np.asarray(np.maximum(found, 0.0))


@dataclass(frozen=True, eq=False)
class FiniteProblem:
    """Secrets at the lower corners of cells, their masses, and ε: what every mechanism on the box is restricted to."""

    box: Box
    parts: tuple[int, ...]
    density: Floats
    rate: float
    group: list[Turn]

    @property
    def shape(self) -> tuple[int, ...]:
        """Secrets along each axis."""
        return tuple(cells * part for cells, part in zip(self.box.shape, self.parts, strict=True))

    @cached_property
    def step(self) -> Floats:
        """The distance of neighbouring secrets along each axis."""
        return np.array([float(step / part) for step, part in zip(self.box.step, self.parts, strict=True)])

    @property
    def extent(self) -> Floats:
        """How many steps the last secret is from the first, along each axis."""
        return np.array(self.shape, dtype=np.float64) - 1

    @cached_property
    def places(self) -> Integers:
        """The place of each secret, in steps."""
        return np.stack(np.meshgrid(*map(np.arange, self.shape), indexing="ij"), axis=-1).reshape(-1, len(self.shape))

    @cached_property
    def masses(self) -> Floats:
        """The prior of the secrets: that of their cells in equal parts."""
        table = self.density.reshape(self.box.shape)
        for axis, part in enumerate(self.parts):
            table = np.repeat(table, part, axis=axis) / part
        return np.asarray(table.ravel())

    @cached_property
    def logs(self) -> Floats:
        """ε‖x − x′‖ for all pairs."""
        where = self.places * self.step
        return np.asarray(self.rate * np.linalg.norm(where[:, None] - where[None], ord=NORMS[self.box.metric], axis=2))

    @cached_property
    def secrets(self) -> PointOrbits:
        """PointOrbits of the secrets."""
        return orbits_of_cells(self.group, self.shape)

    def lowered(self, corners: Integers, level: int) -> Floats:
        """What corners lose at each secret, less what the loss bends in the cubes around them, all of one level.

        Corners are given in units of the sides of these cubes, which are steps halved ``level`` times.
        """
        scale = 1 << level
        offsets = corners[None, :, :] - scale * self.places[:, None, :]
        reach = np.array(self.shape) * scale + 1
        table = self._bends_around(level)
        lengths = np.linalg.norm(offsets * (self.step / scale), ord=NORMS[self.box.metric], axis=2)
        return np.asarray(lengths - table[tuple(np.moveaxis(offsets + reach, -1, 0))])

    def _bends_around(self, level: int) -> Floats:
        """For each offset of a corner from a secret the most that the loss bends in a cube with that corner."""
        scale = 1 << level
        reach = np.array(self.shape) * scale + 1
        axes = [np.arange(-r - 1, r + 1) for r in reach]
        low = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1) * (self.step / scale)
        cubes = bends(low, self.step / scale, self.box.metric)
        # cube number t along an axis lies between offsets t and t + 1, the first one below the least offset
        for axis in range(cubes.ndim):
            first, last = (np.take(cubes, range(k, cubes.shape[axis] - 1 + k), axis=axis) for k in (0, 1))
            cubes = np.maximum(first, last)
        return cubes


def _pairs(problem: FiniteProblem, thorough: bool) -> tuple[Integers, Integers, Floats]:
    """Ordered pairs of secrets by short offsets that go in no common multiple, and their ε‖x − x′‖."""
    k, metric = len(problem.shape), problem.box.metric
    reach = _REACH[k][thorough] if metric == "euclidean" else 1
    numbers = np.arange(len(problem.places)).reshape(problem.shape)
    first, second, logs = [], [], []
    for offset in product(range(-reach, reach + 1), repeat=k):
        if gcd(*offset) != 1 or (metric == "manhattan" and sum(map(abs, offset)) > 1):
            continue
        here = tuple(slice(max(0, -o), side - max(0, o)) for o, side in zip(offset, problem.shape, strict=True))
        there = tuple(slice(max(0, o), side - max(0, -o)) for o, side in zip(offset, problem.shape, strict=True))
        if any(part.start >= part.stop for part in here):
            continue
        first.append(numbers[here].ravel())
        second.append(numbers[there].ravel())
        length = float(np.linalg.norm(np.array(offset) * problem.step, ord=NORMS[metric]))
        logs.append(np.full(first[-1].size, problem.rate * length))
    if not first:
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64), np.zeros(0)
    return np.concatenate(first), np.concatenate(second), np.concatenate(logs)


def prices(
    problem: FiniteProblem, level: int, fine: int, tolerance: float, watch: Watch, thorough: bool = False
) -> Floats:
    """A price for every secret, whose sum is nearly the best of the program with outputs on a grid.

    Outputs lie at the secrets and, halved ``fine`` times, between them; losses are lowered for cubes of ``level``.
    More pairs of secrets are looked at where it is to be ``thorough``.
    """
    sides = tuple((side - 1 << fine) + 1 for side in problem.shape)
    chosen = orbits_of_cells(problem.group, sides).representatives
    where = np.stack(np.unravel_index(chosen, sides), axis=-1)
    cost = problem.masses[:, None] * problem.lowered(where << (level - fine), level)
    n = len(problem.places)
    first, second, logs = _pairs(problem, thorough)
    pairs = np.arange(len(first))
    entries = np.concatenate([-np.exp(-logs), np.ones(len(pairs))])
    rows = csr_array((entries, (np.tile(pairs, 2), np.concatenate([first, second]))), shape=(len(pairs), n))
    program = BlockProgram(cost, ((rows,),) if len(pairs) else (), *problem.secrets.sums)
    solution = solve_blocks(program, tolerance=tolerance, time_limit=watch, vanishing=_VANISHING)
    if solution.ended is Ending.INTERRUPTED:  # covering these prices takes longer than to solve for them
        raise KeyboardInterrupt
    reduced = cost[:, solution.columns]
    for block, dual in zip(program.blocks, solution.duals, strict=True):
        for matrix, part in zip(block, dual, strict=True):
            reduced -= matrix.T @ part
    return _without_small(np.asarray(program.least(reduced)[problem.secrets.classes]))


def _without_small(price: Floats) -> Floats:
    """The same prices without the smallest: where nearly nobody lives, they are next to nothing, and take long to
    cover.
    """
    order = np.argsort(price)
    small = order[np.cumsum(np.maximum(price[order], 0.0)) <= _FORGONE * price.sum()]
    price[small] = np.minimum(price[small], 0.0)
    return price


def splits_of(
    problem: FiniteProblem, price: Floats, deepest: int, watch: Watch, part: float = _SLACK
) -> tuple[bytes, float]:
    """Which cubes are halved, depth first, so that prices less a part of the loss are covered at all corners.

    Cubes are not halved where prices lowered by ``part`` of the loss can be covered. Where they cannot be covered at
    the deepest level, what is missing is taken off the prices of the secrets that lack it, which is less than what all
    would have to give. Also what is taken off all prices, in units of the loss.
    """
    # where one secret has all the mass nothing is lost, and no part of it would be a slack
    slack = part * max(float(price.sum()), _SMALLEST * float(problem.step.max()))
    active = _cubes(problem.shape)
    halved: list[Integers] = []
    for level in range(deepest):
        failing = ~_covered_cubes(problem, level, price, active, slack, watch)
        halved.append(active[failing])
        active = _halves(active[failing])
    keys = [{tuple(cube) for cube in level.tolist()} for level in halved]
    bits: list[int] = []

    def visit(cube: tuple[int, ...], level: int) -> None:
        split = level < len(keys) and cube in keys[level]
        bits.append(int(split))
        if split:
            for part in product(*((2 * c, 2 * c + 1) for c in cube)):
                visit(part, level + 1)

    for cube in _cubes(problem.shape).tolist():
        visit(tuple(cube), 0)
    return bytes(bits), slack


def _covered_cubes(
    problem: FiniteProblem, level: int, price: Floats, cubes: Integers, slack: float, watch: Watch
) -> NDArray[np.bool_]:
    """Of which cubes of a level all corners can be covered with prices lowered by a slack; each orbit is tried once."""
    if not len(cubes) or watch.over:
        return np.zeros(len(cubes), dtype=bool)
    sides = tuple((side - 1 << level) + 1 for side in problem.shape)
    least = orbits_of_cells(problem.group, sides).least
    ends = [np.minimum(cubes + np.array(c), np.array(sides) - 1) for c in product((0, 1), repeat=cubes.shape[1])]
    numbers = np.stack([least[np.ravel_multi_index(tuple(end.T), sides)] for end in ends], axis=1)
    corners, which = np.unique(numbers, return_inverse=True)
    cost = problem.masses[:, None] * problem.lowered(np.stack(np.unravel_index(corners, sides), axis=-1), level)
    short = covered(cost, price - slack * problem.masses, problem.logs, 1e-5, watch).short
    return np.asarray((short <= 0.01 * slack)[which.reshape(numbers.shape)].all(axis=1))


def _cubes(shape: tuple[int, ...]) -> Integers:
    """The cubes between neighbouring secrets; along an axis with one secret there is one, without extent."""
    sides = [np.arange(max(1, side - 1)) for side in shape]
    return np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, len(shape))


def _halves(cubes: Integers) -> Integers:
    k = cubes.shape[1] if cubes.ndim == 2 else 1
    return np.concatenate([2 * cubes + np.array(part) for part in product((0, 1), repeat=k)]) if len(cubes) else cubes


# ----------------------------------------------------------------- what goes into a file


def box_bound(problem: FiniteProblem, price: Floats, splits: bytes, slack: float, watch: Watch) -> BoxBound:
    """Multipliers for all corners of the cover, as integers, and the bound that they prove, a little rounded down."""
    cover, given = _multipliers(problem, price, splits, slack, watch)
    dual = _in_integers(given, coarse_unit([given], float(price.sum())))
    return BoxBound(Fraction(_proved_value(problem, cover, dual)), problem.parts, splits, dual)


def _multipliers(
    problem: FiniteProblem, price: Floats, splits: bytes, slack: float, watch: Watch
) -> tuple[Covering, Multipliers]:
    """The corners of a cover, and multipliers for each of them: of one corner of each orbit, turned to all corners."""
    cover = covering(problem.box, problem.parts, splits)
    orbits = orbits_of_points(
        problem.group, cover.corners * np.array([float(length) for length in cover.grid]), problem.step * problem.extent
    )
    assert orbits is not None
    chosen = orbits.representatives
    cost = problem.masses[:, None] * (cover.losses.T[:, chosen] * float(cover.unit))
    found = covered(cost, price - slack * problem.masses, problem.logs, 1e-5, watch)
    one = Multipliers(found.first, found.second, chosen[found.column], found.values)
    parts = []
    done = np.zeros(len(cover.corners), dtype=bool)
    for where, to in zip(problem.secrets.images, orbits.images, strict=True):
        fresh = one[~done[to[one.action]]]
        done[to[chosen]] = True
        parts.append(Multipliers(where[fresh.first], where[fresh.second], to[fresh.action], fresh.values))
    return cover, Multipliers.joined(*parts)


def coarse_unit(every: list[Multipliers], value: float) -> Fraction:
    """The largest power of two of which multipliers may be multiples without lowering a bound by more than a little.

    Rounded down, each takes less than a unit from the column where a secret is worst off. Multipliers are most of what
    a file with a bound has to carry, and of the digits of floats nearly all would be noise.

    Examples
    --------
    >>> ones = np.ones(3, dtype=np.int64)
    >>> given = Multipliers(0 * ones, ones, np.array([0, 1, 1]), np.array([0.1, 0.2, 0.3]))
    >>> coarse_unit([given], 1.0)                                     # two of them bring something to secret 0 at once
    Fraction(1, 16384)
    """
    spent = 0
    for given in every:
        if len(given):
            columns = int(given.action.max()) + 1
            times = np.unique(given.first * columns + given.action, return_counts=True)
            most = np.zeros(int(given.first.max()) + 1, dtype=np.int64)
            np.maximum.at(most, times[0] // columns, times[1])
            spent += int(most.sum())
    if not spent or not value > 0:
        return dual_unit(max((float(given.values.max(initial=0.0)) for given in every), default=0.0))
    return Fraction(2) ** int(np.floor(np.log2(_ROUNDED_OFF * value / spent)))


def _in_integers(given: Multipliers, unit: Fraction) -> Dual:
    whole = np.floor(given.values / float(unit)).astype(np.int64)
    kept = given[whole > 0]
    return Dual(kept.first, kept.second, kept.action, whole[whole > 0], unit)


def classes_bound(
    problem: FiniteProblem, strides: tuple[int, ...], level: int, fine: int, accuracy: float, watch: Watch
) -> BoxBound:
    """A bound where a finite problem of all secrets would be too large: one for each class of secrets, added up.

    Secrets whose places differ by multiples of ``strides`` are a class. All classes have one cover, that of their mean;
    classes with the same masses, as of a uniform prior, have the same multipliers. Those that the time is not enough
    for add nothing.
    """
    shape, box = problem.shape, problem.box
    coarse = replace(box, step=tuple(s * m / n for s, m, n in zip(box.sides, strides, shape, strict=True)))
    once, breaks = (1,) * len(shape), [coarse.breaks(axis) for axis in range(len(shape))]
    starts = list(product(*map(range, strides)))
    masses = problem.masses.reshape(shape)
    tables = [masses[tuple(slice(r, None, m) for r, m in zip(start, strides, strict=True))] for start in starts]
    mean = np.asarray(sum(tables))
    group = turns(coarse, breaks, mean)
    whole = FiniteProblem(coarse, once, mean.ravel(), problem.rate, group)
    price = prices(whole, level, fine, accuracy, watch.share(0.3))
    splits, slack = splits_of(whole, price, level, watch.share(0.3))
    numbers = np.arange(masses.size).reshape(shape)
    done: dict[bytes, tuple[FiniteProblem, Multipliers]] = {}
    cover, classes = covering(coarse, once, splits), []
    for start, table in zip(starts, tables, strict=True):
        key = table.tobytes()
        if key not in done:
            alike = [turn for turn in group if np.array_equal(turn.of_table(table), table)]
            part = FiniteProblem(coarse, once, table.ravel(), problem.rate, alike)
            done[key] = part, _class_multipliers(part, splits, slack, (level, fine, accuracy), watch)
        own = numbers[tuple(slice(r, None, m) for r, m in zip(start, strides, strict=True))].ravel()
        classes.append((*done[key], own))
    unit = coarse_unit([given for _, given, _ in classes], float(price.sum()))
    value = sum(_proved_value(part, cover, _in_integers(given, unit)) for part, given, _ in classes)
    every = (replace(given, first=own[given.first], second=own[given.second]) for _, given, own in classes)
    dual = _in_integers(Multipliers.joined(*every), unit)
    return BoxBound(Fraction(value - abs(value) * 2.0**-40), problem.parts, splits, dual, strides)


def _class_multipliers(
    part: FiniteProblem, splits: bytes, slack: float, how: tuple[int, int, float], watch: Watch
) -> Multipliers:
    """The multipliers of one class, none where the time is up or nobody is there."""
    if not part.masses.any() or watch.over:
        return NO_MULTIPLIERS
    try:
        price = prices(part, *how, watch.share(0.5))
    except NotConverged:
        return NO_MULTIPLIERS
    return _multipliers(part, price, splits, slack, watch)[1]


def _proved_value(problem: FiniteProblem, cover: Covering, dual: Dual) -> float:
    """Σ_x min_c S_xc in floats, lowered by what their rounding and that of the kernel's factors may have added."""
    cost = np.multiply(problem.masses[:, None], cover.losses.T * float(cover.unit), order="C")
    values = np.asarray(dual.values, dtype=np.float64) * float(dual.unit)
    factors = np.exp(problem.logs[dual.first, dual.second])
    size = float(np.abs(cost).sum()) + float((values * (1 + factors)).sum())
    reduced = Multipliers(dual.first, dual.second, dual.action, values).added(cost, factors)
    rounding = (len(problem.places) + 64) * 2.0**-50 * size
    return float(reduced.min(axis=1).sum()) - rounding
