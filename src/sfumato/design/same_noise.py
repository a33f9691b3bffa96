"""Noise that is the same everywhere, told as the best action: what anybody would compare a list of places with.

Secrets with one, two or three coordinates are laid out in space, places on the Earth as on a map of their region. Noise
around a secret has the density e^(−ε′‖x − z‖), where ε′ is so small that no pair of secrets is closer on the map than
it is by the metric, times ε: so it is private for straight lines, for steps along streets, and where ways are longer
than either. Space is cut into cells, finer ones where people are, and each cell is told as the action that loses least
given it. Where secrets are a grid whose steps are large beside 1/ε, the points of the grid take the place of cells:
that is geometric noise.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.spatial import cKDTree

from sfumato.design.problem import Problem
from sfumato.numbers import Floats, Integers, floats

_NORMS: dict[str, float] = {"euclidean": 2.0, "manhattan": 1.0, "chebyshev": np.inf}
_STEP = 0.3  # ε′ times the side of a cell
_BESIDE = 2.0  # times 1/ε′: so far beyond the secrets cells are as small; from there on they grow
_GROWTH = 1.2
_REACH = 16.0  # ε′ times how far cells go: 2e-6 of the noise lies behind
_LARGEST_STEP = 1.0  # Nothing is tried where cells would be larger than that.
# Of cells; of secrets times cells; of products with losses; and of pairs of secrets: some ten seconds on two cores.
_MOST_CELLS, _MOST_ENTRIES, _MOST_PRODUCTS, _MOST_PAIRS = 60_000, 4 * 10**7, 2 * 10**10, 10**8
_NEAREST = 16  # secrets next to where most people are, whose best actions are tried where there are many
_CHUNK = 2**22  # numbers that are held at a time
_FLATTEST = 0.4  # of ε, that ε′ is at least: a map of a larger part of the Earth is none
_NODE = 0.5 / np.sqrt(3)  # from the middle of a cell to Gauss' two nodes on each axis, in sides
_SAME = 1e-9  # Coordinates of a grid differ by no more than their roundings, in steps.
_SPARE = 1.05  # What sums of cells differ by is taken off ε′ with so much to spare, since it depends on ε′.


def same_noise(problem: Problem) -> Floats | None:
    """A matrix of actions, or None where secrets have no places on a map or the noise would need too many cells."""
    where = _on_a_map(problem)
    if where is None:
        return None
    found = []
    for noise in _noises(where, _rates(problem, where)):
        slower = noise.slowed(problem)
        matrix = slower.told(problem)
        found.append(matrix / matrix.sum(axis=1, keepdims=True))
    return min(found, key=lambda matrix: float((problem.float_cost * matrix).sum()), default=None)


@dataclass(frozen=True, eq=False)
class _SameNoise:
    """Noise around places, of a norm and a rate; cells by their edges along each axis, or by their points alone."""

    where: Floats
    norm: str
    rate: float
    axes: tuple[Floats, ...]
    points: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells there are along each axis."""
        return tuple(len(axis) - (not self.points) for axis in self.axes)

    def chunks(self) -> Iterator[Floats]:
        """The chance of each cell for each place, a part of the cells at a time; sums are nearly the same."""
        cells = int(np.prod(self.shape))
        many = max(1, _CHUNK // len(self.where))
        exact = None if self.points or not self._splits else [self._masses(axis) for axis in range(len(self.axes))]
        for first in range(0, cells, many):
            at = np.unravel_index(np.arange(first, min(first + many, cells)), self.shape)
            if exact is not None:
                yield np.prod([masses[:, k] for masses, k in zip(exact, at, strict=True)], axis=0)
            else:
                yield self._summed(at)

    @property
    def _splits(self) -> bool:
        """Whether noise is a product over axes, so that cells have closed forms."""
        return self.norm == "manhattan" or len(self.axes) == 1

    def _masses(self, axis: int) -> Floats:
        """∫ e^{−ε′|x − t|} dt over the intervals of an axis, times ε′, for each place."""
        low, high = self.axes[axis][:-1], self.axes[axis][1:]
        before, behind = (
            self.rate * side for side in (self.where[:, axis, None] - low, high - self.where[:, axis, None])
        )
        apart = np.maximum(-np.minimum(before, behind), 0.0)
        outside = -np.exp(-apart) * np.expm1(-self.rate * (high - low))
        inside = -np.expm1(-np.maximum(before, 0.0)) - np.expm1(-np.maximum(behind, 0.0))
        return np.asarray(np.where(apart > 0, outside, inside))

    def _summed(self, at: tuple[Integers, ...]) -> Floats:
        """The same by nodes: mixtures of e^{−ε′‖x − z‖} keep the promise, whatever the nodes z are."""
        offsets = (0.0,) if self.points else (-_NODE, _NODE)
        middle, sides = np.empty((len(at[0]), len(at))), np.ones((len(at[0]), len(at)))
        for axis, (edges, k) in enumerate(zip(self.axes, at, strict=True)):
            middle[:, axis] = edges[k] if self.points else (edges[k] + edges[k + 1]) / 2
            sides[:, axis] = 1.0 if self.points else edges[k + 1] - edges[k]
        total = np.zeros((len(self.where), len(middle)))
        for node in product(offsets, repeat=len(at)):
            total += np.exp(-self.rate * _apart(self.where, middle + sides * np.array(node), self.norm))
        return np.asarray(total * sides.prod(axis=1))

    def slowed(self, problem: Problem) -> _SameNoise:
        """With so much less of a rate that chances can be divided by their sums, which differ from place to place."""
        sums = np.log(np.sum([chunk.sum(axis=1) for chunk in self.chunks()], axis=0))
        worst = 0.0
        for block in _blocks(len(sums)):
            logs = problem.privacy.log_bounds[block]
            with np.errstate(divide="ignore", invalid="ignore"):
                worst = max(worst, float(np.max((sums[None] - sums[block, None]) / logs, where=logs > 0, initial=0.0)))
        return _SameNoise(self.where, self.norm, self.rate * (1 - min(_SPARE * worst, 0.5)), self.axes, self.points)

    def told(self, problem: Problem) -> Floats:
        """What is told of each cell, summed up for each action."""
        matrix, cost, (n, m) = np.zeros(problem.shape), problem.float_cost, problem.shape
        every = n * m * int(np.prod(self.shape)) <= _MOST_PRODUCTS
        tree, best = cKDTree(self.where), floats(problem.loss.matrix).argmin(axis=0)
        for chunk in self.chunks():
            if every:
                actions = (chunk.T @ cost).argmin(axis=1)
            else:
                actions = _told(chunk, cost, problem.prior.float_weights, self.where, tree, best)
            np.add.at(matrix.T, actions, chunk.T)
        return matrix


def _noises(where: Floats, rates: dict[str, float]) -> Iterator[_SameNoise]:
    """Noise of each norm that is worth a try: cells, and points where secrets are a grid of large steps."""
    for norm, rate in rates.items():
        edges = _edges(where, rate)
        if edges is not None:
            yield _SameNoise(where, norm, rate, edges, points=False)
        points = _points(where, rate)
        if points is not None:
            yield _SameNoise(where, norm, rate, points, points=True)


def _points(where: Floats, rate: float) -> tuple[Floats, ...] | None:
    """The points of a grid of large steps along each axis, and those beyond it on all sides."""
    steps = [_step(along) for along in where.T]
    if min(steps) * rate < _STEP:
        return None
    beyond = [np.ceil(_REACH / (rate * step)) for step in steps]
    inside = [np.rint(np.ptp(along) / step) for along, step in zip(where.T, steps, strict=True)]
    if np.prod([many + 2 * more + 1 for many, more in zip(inside, beyond, strict=True)]) > _most_cells(len(where)):
        return None
    return tuple(
        along.min() + (step * np.arange(-more, many + more + 1) if np.isfinite(step) else np.zeros(1))
        for along, step, many, more in zip(where.T, steps, inside, beyond, strict=True)
    )


def _most_cells(n: int) -> int:
    return min(_MOST_CELLS, _MOST_ENTRIES // n)


def _edges(where: Floats, rate: float) -> tuple[Floats, ...] | None:
    """Where cells end along each axis, small next to secrets and larger away from all of them."""
    low, high = where.min(axis=0) - _BESIDE / rate, where.max(axis=0) + _BESIDE / rate
    step = _STEP / rate
    while step * rate <= _LARGEST_STEP:
        growing = np.cumsum(step * _GROWTH ** np.arange(1, 100))
        outer = growing[: int(np.searchsorted(growing, (_REACH - _BESIDE) / rate)) + 1]
        inner = np.ceil((high - low) / step)
        if np.prod(inner + 2 * len(outer)) <= _most_cells(len(where)):
            return tuple(
                np.concatenate([start - outer[::-1], np.linspace(start, end, int(many) + 1), end + outer])
                for start, end, many in zip(low, high, inner, strict=True)
            )
        step *= _GROWTH
    return None


def _step(along: Floats) -> float:
    """The step of a grid along an axis; infinite where all have one coordinate, 0 where there is no grid."""
    gaps = np.diff(np.unique(along))
    gaps = gaps[gaps > _SAME * max(np.ptp(along), 1e-300)]
    if not len(gaps):
        return np.inf
    least = float(gaps.min())
    return least if (np.abs(gaps / least - np.rint(gaps / least)) <= _SAME * len(along)).all() else 0.0


def _on_a_map(problem: Problem) -> Floats | None:
    """Where secrets are: as they stand, or on a map of their region whose unit is a degree of latitude.

    Not all spaces say that their coordinates are degrees, so that the map is taken on which distances differ least.
    """
    where = problem.privacy.space.coordinates
    if where is None or where.shape[1] > 3 or len(where) < 2 or len(where) ** 2 > _MOST_PAIRS:
        return None
    plain = np.asarray(where, dtype=np.float64)
    if where.shape[1] != 2 or np.abs(where[:, 1]).max() > 90:
        return plain
    around = np.angle(np.exp(1j * np.radians(where[:, 0])).mean(), deg=True)
    east = (where[:, 0] - around + 180) % 360 - 180  # whatever lies across the antimeridian
    mapped = np.stack([east * np.cos(np.radians(where[:, 1].mean())), where[:, 1]], axis=1)

    def flat(places: Floats) -> float:
        least, usual = _ratios(problem, places, "euclidean")
        return least / usual

    return max(plain, mapped, key=flat)


def _rates(problem: Problem, where: Floats) -> dict[str, float]:
    """ε′ of the norms for a unit of the map, without those whose noise is never more private than that of another."""
    rates, k = {}, where.shape[1]
    for norm in _NORMS if k > 1 else ("manhattan",):
        least, usual = _ratios(problem, where, norm)
        if np.isfinite(usual) and least > 0 and least >= _FLATTEST * usual:
            rates[norm] = least * (1 - _SAME)
    return {norm: rate for norm, rate in rates.items() if not any(_steeper(rates, o, norm, k) for o in rates)}


def _ratios(problem: Problem, where: Floats, norm: str) -> tuple[float, float]:
    """The least and the usual ε·d for a unit of the map."""
    found = []
    for block in _blocks(len(where)):
        apart = _apart(where[block], where, norm)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratio = np.where(apart > 0, problem.privacy.log_bounds[block] / apart, np.inf)
        finite = ratio[np.isfinite(ratio)]
        found.append((float(ratio.min()), float(np.median(finite)) if len(finite) else np.inf))
    return min(least for least, _ in found), float(np.median([usual for _, usual in found]))


def _steeper(rates: dict[str, float], one: str, other: str, dimension: int) -> bool:
    """Whether noise of one norm falls off more quickly in all directions than that of another."""
    powers = 1 / _NORMS[one], 1 / _NORMS[other]
    least = dimension ** min(0.0, powers[0] - powers[1])  # of one norm, where the other is 1
    return one != other and rates[one] * least >= rates[other] * (1 - 2 * _SAME)


def _apart(first: Floats, second: Floats, norm: str) -> Floats:
    """Distances between points."""
    total = np.zeros((len(first), len(second)))
    for x, z in zip(first.T, second.T, strict=True):
        gaps = np.abs(x[:, None] - z[None])
        if norm == "chebyshev":
            np.maximum(total, gaps, out=total)
        else:
            total += gaps**2 if norm == "euclidean" else gaps
    return np.sqrt(total) if norm == "euclidean" else total


def _blocks(n: int) -> Iterator[slice]:
    """Rows of a table of n × n, so many at a time."""
    rows = max(1, _CHUNK // n)
    return (slice(first, first + rows) for first in range(0, n, rows))


def _told(noise: Floats, stakes: Floats, weights: Floats, where: Floats, tree: cKDTree, best: Integers) -> Integers:
    """For each cell the action that loses least, among the best ones around where most people are."""
    joint = noise * weights[:, None]
    middle = (where.T @ joint) / np.maximum(joint.sum(axis=0), 1e-300)
    near = np.atleast_2d(tree.query(middle.T, k=min(_NEAREST, len(where)))[1].reshape(middle.shape[1], -1))
    actions = best[near]
    lost = np.empty(actions.shape)
    for i in range(actions.shape[1]):
        lost[:, i] = (noise * stakes[:, actions[:, i]]).sum(axis=0)
    return np.asarray(actions[np.arange(len(actions)), lost.argmin(axis=1)])
