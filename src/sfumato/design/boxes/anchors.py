"""Interpolation between anchors, as published for fine-grained domains: for comparison, in floats.

The best mechanism of a coarse grid of anchors is found, the logarithms of its rows are interpolated between the corners
of a cell of anchors, and rows are divided by their sums. What that promises between anchors is known by trying: the
largest slope of a logarithm on a raster, and ε of the anchors is lowered until that is within the promise.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil

import numpy as np

from sfumato.arguments import one_of
from sfumato.channels.prior import Prior
from sfumato.design.boxes.table import best_places
from sfumato.design.objectives import as_objective
from sfumato.design.optimal import Effort, best_of
from sfumato.design.problem import problem
from sfumato.errors import NotConverged, NotSupported
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.losses.standard import distance
from sfumato.numbers import Floats
from sfumato.privacy.rates import box_rate
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import METRICS, Box
from sfumato.spaces.constructors import points as points_space
from sfumato.spaces.finite import FiniteSpace
from sfumato.watch import Watch

ANCHORS = {1: 21, 2: 7}
"""Anchors along the longest axis where nobody asks for another number, by the dimension of a box."""

_RASTER = {1: 240, 2: 40}  # points along an axis, at least, for losses in floats, by the dimension of a box
_NEAR = 1e-4  # steps of difference quotients, in parts of the distance of anchors
_INSIDE = (0.001, 0.25, 0.5, 0.75, 0.998)  # where slopes are looked at, in a cell of anchors
_TOLERANCE = 5e-3  # of the designs between anchors
_TRIES = 4  # rates of anchors until their interpolation keeps the promise
_ENOUGH = 0.98  # of the promise


@dataclass(frozen=True, eq=False)
class Interpolation:
    """What interpolation loses with outputs as they are and remapped, and its largest slope found, in parts of ε."""

    loss: float
    remapped: float
    slope: float
    anchors: int


def interpolated(
    prior: Prior, loss: CoordinateLoss, privacy: PrivacyType, box: Box, watch: Watch, along: int | None = None
) -> Interpolation:
    """The best mechanism of anchors, interpolated, with as little noise as the slopes found allow.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> unit = box((1,), step="1/10")
    >>> promise = PrivacyType(unit, epsilon=4)
    >>> found = interpolated(Prior.uniform(unit), CoordinateLoss(unit), promise, unit, Watch(), along=5)
    >>> found.anchors, 0.9 < found.slope <= 1.001, 0.15 < found.remapped <= found.loss < 0.25
    (5, True, True)
    """
    if box.dimension not in ANCHORS:
        raise NotSupported(f"interpolation between anchors in {box.dimension} dimensions", ["one and two"])
    anchors = _anchors(box, prior, along or ANCHORS[box.dimension])
    rate = float(box_rate(privacy))
    nominal, best = rate, None
    for _ in range(_TRIES):
        watch.check()
        table = anchors.best(nominal, watch)
        slope = anchors.steepest(table)
        if slope <= rate * 1.001:
            best = table, slope
            if slope > _ENOUGH * rate:
                break
        nominal *= 0.995 * rate / slope
    if best is None:
        raise NotConverged("no interpolation between anchors was found whose slopes keep the promise")
    (logarithms, places), slope = best
    points, masses = _raster(box, prior)
    joint = masses[:, None] * np.exp(anchors.at(logarithms, points))
    told = best_places(places, joint, points, loss)
    plain, better = (float((joint * loss.at(points, where)).sum()) for where in (places, told))
    return Interpolation(plain, better, slope / rate, len(anchors.space))


@dataclass(frozen=True, eq=False)
class _Anchors:
    """A grid of anchors over a box, with how much of a prior each of them stands for."""

    box: Box
    counts: tuple[int, ...]
    space: FiniteSpace
    prior: Prior

    def best(self, rate: float, watch: Watch) -> tuple[Floats, Floats]:
        """The logarithms of the best mechanism between anchors, and where its outputs are."""
        promise = PrivacyType(self.space, epsilon=round(rate, 9))
        question = problem(self.prior, distance(self.space), promise, None, as_objective("expected"))
        found = best_of(question, Effort(_TOLERANCE, watch.share(0.5))).mechanism
        number = {label: i for i, label in enumerate(self.space.labels)}
        assert self.space.coordinates is not None
        places = np.asarray(self.space.coordinates)[[number[y] for y in found.outputs]]
        return np.log((found.weights / float(found.total)).astype(np.float64)), places

    def at(self, logarithms: Floats, points: Floats) -> Floats:
        """Logarithms of the chances at points."""
        found = _hats(points, self.box, self.counts) @ logarithms
        return np.asarray(found - np.log(np.exp(found).sum(axis=1, keepdims=True)))

    def steepest(self, table: tuple[Floats, Floats]) -> float:
        """The largest slope of a logarithm on a raster, borders of cells included, from differences along the axes."""
        steps = [float(side) / (n - 1) for side, n in zip(self.box.sides, self.counts, strict=True)]
        along = [
            (np.arange(n - 1)[:, None] + np.array(_INSIDE)).ravel() * step
            for n, step in zip(self.counts, steps, strict=True)
        ]
        points, gap = _product(along), _NEAR * min(steps)
        here = self.at(table[0], points)
        slopes = np.stack([(self.at(table[0], points + gap * axis) - here) / gap for axis in np.eye(len(along))])
        dual = {"euclidean": 2.0, "manhattan": np.inf, "chebyshev": 1.0}[self.box.metric]
        return float(np.linalg.norm(slopes, ord=dual, axis=0).max())


def _anchors(box: Box, prior: Prior, along: int) -> _Anchors:
    longest = max(box.sides)
    counts = tuple(max(2, round(float(side / longest) * (along - 1)) + 1) for side in box.sides)
    exactly = [[side * Fraction(k, n - 1) for k in range(n)] for side, n in zip(box.sides, counts, strict=True)]
    places = list(product(*exactly))
    space = points_space(places, metric=one_of(box.metric, METRICS, "metric"), unit=box.unit)
    points, masses = _raster(box, prior)
    shares = masses @ _hats(points, box, counts)
    return _Anchors(box, counts, space, Prior(space, (shares / shares.sum()).tolist()))


def _raster(box: Box, prior: Prior) -> tuple[Floats, Floats]:
    """Centres of parts of cells, counted from the origin of the box, and their masses."""
    parts = [ceil(_RASTER[box.dimension] / n) for n in box.shape]
    many = [n * part for n, part in zip(box.shape, parts, strict=True)]
    points = _product([(np.arange(n) + 0.5) * float(side) / n for n, side in zip(many, box.sides, strict=True)])
    masses = prior.float_weights.reshape(box.shape)
    for axis, part in enumerate(parts):
        masses = np.repeat(masses, part, axis=axis) / part
    return points, masses.ravel()


def _hats(points: Floats, box: Box, counts: tuple[int, ...]) -> Floats:
    """What each anchor counts for at points: products of hats, one axis after the other."""
    found = np.ones((len(points), 1))
    for axis, (n, side) in enumerate(zip(counts, box.sides, strict=True)):
        steps = points[:, axis, None] / (float(side) / (n - 1)) - np.arange(n)[None]
        hats = np.maximum(0.0, 1 - np.abs(steps))
        found = (found[:, :, None] * hats[:, None, :]).reshape(len(points), -1)
    return found


def _product(along: list[Floats]) -> Floats:
    return np.stack([part.ravel() for part in np.meshgrid(*along, indexing="ij")], axis=1)
