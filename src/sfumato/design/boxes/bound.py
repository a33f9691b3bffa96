"""A bound for all mechanisms on a box, with whatever outputs: the prices of a finite problem, and a cover of outputs.

Prices come from the program with outputs at the secrets, or halfway between them, and with short pairs only, which is
less than is promised and so a bound too (:mod:`sfumato.design.boxes.prices`). Cubes are halved where prices need it;
multipliers between any two secrets then prove that no corner does better than the prices say.

A corner concerns the secrets that are short of their prices there, and those near by that can give. A secret x with π_x
ℓ′(c, x) ≥ p_x asks for nothing at the corner c. Where there are thousands of secrets, corners are therefore covered in
groups of neighbours, by the secrets that are short of something at one of them and by those some 1/ε around these: what
is left out could have given next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from itertools import product
from math import ceil

import numpy as np
from numpy.typing import NDArray
from scipy.ndimage import maximum_filter

from sfumato.certify.box_bounds import Covering, box_covering
from sfumato.certify.coordinates import BoxBound
from sfumato.certify.mechanism import Dual
from sfumato.design.answer import NO_MULTIPLIERS, Multipliers
from sfumato.design.bounds import dual_unit
from sfumato.design.boxes.finite import FiniteProblem
from sfumato.design.boxes.prices import prices
from sfumato.design.boxes.symmetry import orbits_of_cells, orbits_of_points, turns
from sfumato.errors import NotConverged
from sfumato.lp.proof.covering import Cover, covered
from sfumato.numbers import Floats, Integers
from sfumato.watch import Watch

# What is taken off the prices, as a part of the loss, where nobody says otherwise.
_SLACK = 1e-3
# What rounding multipliers down may take off the bound, as a part of it.
_ROUNDED_OFF = 2e-4
# A loss of less than this part of a step is none.
_SMALLEST = 1e-3


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
    where = np.stack(np.unravel_index(corners, sides), axis=-1)

    def cost(secrets: Integers, chosen: Integers) -> Floats:
        return np.asarray(problem.masses[secrets, None] * problem.lowered(where[chosen], level, secrets))

    short = covered_near(problem, where / (1 << level), cost, price - slack * problem.masses, watch).short
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
    cover = box_covering(problem.box, problem.parts, splits)
    orbits = orbits_of_points(
        problem.group, cover.corners * np.array([float(length) for length in cover.grid]), problem.step * problem.extent
    )
    assert orbits is not None
    chosen = orbits.representatives
    unit = problem.masses * float(cover.unit)

    def cost(secrets: Integers, some: Integers) -> Floats:
        return np.asarray(unit[secrets, None] * cover.losses[np.ix_(chosen[some], secrets)].T)

    where = cover.corners[chosen] / (1 << cover.depth)
    found = covered_near(problem, where, cost, price - slack * problem.masses, watch)
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
    cover, classes = box_covering(coarse, once, splits), []
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


MOST_AT_ONCE = 700
"""Secrets up to which all corners are covered together."""

_ACCURACY = 1e-5  # What may stay uncovered although it could be covered, as a part of the prices.
_GROUP = 4.0  # ε times the side of a group of corners, about
_GIVING = 4.0  # ε times the distance from which something may be given: e^(−4) of it would arrive


def covered_near(
    problem: FiniteProblem,
    corners: Floats,
    cost: Callable[[Integers, Integers], Floats],
    price: Floats,
    watch: Watch,
) -> Cover:
    """Multipliers for corners, as :func:`~sfumato.lp.proof.covering.covered` finds them.

    Parameters
    ----------
    corners
        One row a corner, in steps from the first secret.
    cost
        What some secrets lose at some corners, times their masses: one row a secret.
    price
        One number a secret.
    """
    secrets, every = np.arange(len(price)), np.arange(len(corners))
    if len(secrets) <= MOST_AT_ONCE:
        return covered(cost(secrets, every), price, problem.logs, _ACCURACY, watch)
    asking = np.flatnonzero(price > 0)
    reach = [2 * ceil(_GIVING / step) + 1 for step in problem.rate * problem.step]
    groups = np.unique(np.floor(corners * (problem.rate * problem.step / _GROUP)), axis=0, return_inverse=True)[1]
    missing, worst, short = np.zeros(len(price)), np.zeros(len(price), dtype=np.int64), np.zeros(len(corners))
    parts: list[tuple[Integers, Integers, Integers, Floats]] = []
    enough = _ACCURACY * float(np.abs(price).sum())
    for group in range(int(groups.max()) + 1):
        here = np.flatnonzero(groups.ravel() == group)
        needy = np.zeros(len(price), dtype=bool)
        needy[asking] = (cost(asking, here) < price[asking, None]).any(axis=1)
        if not needy.any():
            continue
        near = np.flatnonzero(maximum_filter(needy.reshape(problem.shape), size=reach).ravel())
        own = price[near]
        accuracy = enough / max(float(np.abs(own).sum()), enough)
        found = covered(cost(near, here), own, problem.logs_among(near), accuracy, watch)
        parts.append((near[found.first], near[found.second], here[found.column], found.values))
        worse = found.missing > missing[near]
        missing[near[worse]], worst[near[worse]] = found.missing[worse], here[found.worst[worse]]
        short[here] = found.short
    first, second, column = (np.concatenate([np.zeros(0, np.int64), *(p[k] for p in parts)]) for k in range(3))
    return Cover(first, second, column, np.concatenate([np.zeros(0), *(p[3] for p in parts)]), missing, worst, short)
