"""What a report says of a mechanism for coordinates, as numbers: loss and bound, and how much privacy is used where.

Loss and bound are those that were proved. The rest is measured in floats on a raster: what is told at one point, what
is believed after one output, and at every point the steepest slope of the logarithm of any output's probability beside
the ε that is promised. Between points close together that slope is what an adversary gets.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import prod
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from sfumato.arguments import optional_function
from sfumato.certify.coordinates import BoxMechanism, as_point
from sfumato.certify.noise import BoxNoise
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidInput, shown
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.numbers import Floats
from sfumato.spaces.box import NORMS, Box
from sfumato.spaces.splines import Axis

_RASTER = {1: 480, 2: 96, 3: 96}  # Points of the raster along the longest side, by dimension.
_CHUNK = 2**22  # Values at points and outputs that are looked at together.
_MOST_NODES = 2 * 10**7  # So many distances are measured in a second.
_MOST_PARTS = {1: 200, 2: 24, 3: 8}  # More parts of a cell change no digit that is shown.
_DUAL = {"euclidean": 2, "manhattan": np.inf, "chebyshev": 1}  # The orders of the dual norms.


@dataclass(frozen=True, eq=False)
class Used:
    """How much of ε is used at the points of a raster: the largest ‖∇ ln M̃(x)(y)‖* / ε over outputs y.

    ``share`` has an axis for each of the raster's, one or two; in three dimensions the raster is a slice at ``depth``,
    the third coordinate. ``place`` and ``output``, a number, are where it is largest. The raster fills ``part``, which
    is the box or lies in it.
    """

    marks: tuple[Floats, ...]
    share: Floats
    place: tuple[float, ...]
    output: int
    part: Box
    depth: float | None = None

    @property
    def largest(self) -> float:
        """The largest share on the raster."""
        return float(self.share.max())


@dataclass(frozen=True, eq=False)
class CoordinateFacts:
    """What a report says of any mechanism for coordinates.

    Parameters
    ----------
    prior
        How likely each cell is; None where nobody said so.
    value, bound
        The loss that is proved and what no mechanism goes below, None where it is not known; ``measured`` is a loss in
        floats where none is proved.
    blind
        What who is told nothing loses.
    secret
        A point.
    """

    changing: ClassVar[str]
    """What changes fastest where most of ε is used, with a place for the output."""
    averaged: ClassVar[str]
    slopes: ClassVar[str]
    """Over what the used share is averaged, and which slopes were measured on a raster."""

    mechanism: BoxMechanism | BoxNoise
    prior: Prior | None
    value: Fraction | None
    bound: Fraction | None
    measured: float | None
    blind: float | None
    secret: tuple[Fraction, ...]
    used: Used

    @property
    def box(self) -> Box:
        """Where the secrets lie."""
        return self.mechanism.box

    @property
    def gap(self) -> float | None:
        """How far above the bound the loss is, as a share of the loss."""
        if self.value is None or self.bound is None:
            return None
        return float((self.value - self.bound) / self.value) if self.value else 0.0

    @property
    def weights(self) -> Floats:
        """The prior of the cells, even where none was given."""
        n = len(self.box)
        return np.full(n, 1 / n) if self.prior is None else np.asarray(self.prior.float_weights)


@dataclass(frozen=True, eq=False)
class BoxFacts(CoordinateFacts):
    """Everything that a report shows of a table for coordinates.

    Parameters
    ----------
    told
        The probability of every output at the secret.
    rows
        The mean probability of every output in each cell.
    likely
        The probability of the output that is likeliest at the secret, on the raster of ``used``.
    places
        Where the outputs lie, one row each.
    released
        How often each output was released, if somebody did.
    """

    changing = "some output"
    averaged = "all points"
    slopes = ": the largest ‖∇ ln M(x)(y)‖ over all outputs y, beside ε."

    mechanism: BoxMechanism
    told: Floats
    rows: Floats
    places: Floats
    likely: Floats
    released: NDArray[np.int64] | None = None


def box_facts(
    mechanism: BoxMechanism,
    *,
    prior: Prior | None = None,
    loss: CoordinateLoss | None = None,
    secret: Any = None,
    released: Iterable[Any] | Mapping[Any, int] | None = None,
    progress: Callable[[str], Any] | None = None,
) -> BoxFacts:
    """Measure a mechanism for coordinates; arguments as for :func:`sfumato.report.page.report`."""
    say = optional_function(progress, "progress") or (lambda _: None)
    believed, proved = believed_in(mechanism, prior, loss)
    box, claim = mechanism.box, mechanism.claim
    places = output_coordinates(mechanism)
    table = lattice_table(mechanism)
    say("what is told in each cell")
    rows = applied([_means(axis, box.breaks(i)) for i, axis in enumerate(mechanism.rounding.axes)], table)
    rows = rows.reshape(-1, len(mechanism.outputs))
    point = drawn_point(secret, box, believed)
    told = np.array([float(share) for share in mechanism.density(point[0] if len(point) == 1 else point).weights])
    say("how much privacy is used where")
    used, likely = _used(mechanism, table, point, int(told.argmax()))
    measured = None
    if believed is not None and not proved:
        say("the loss")
        measured = _measured(mechanism, table, places, np.asarray(believed.float_weights))
    blind = None if believed is None else blind_loss(box, np.asarray(believed.float_weights))
    return BoxFacts(
        mechanism, believed, claim.value if proved and claim else None,
        claim.bound.value if proved and claim and claim.bound else None, measured, blind, point, used, told, rows,
        places, likely, None if released is None else _counts(mechanism, released),
    )  # fmt: skip


def believed_in(
    mechanism: BoxMechanism | BoxNoise, prior: Prior | None, loss: CoordinateLoss | None
) -> tuple[Prior | None, bool]:
    """The prior of a report, given or claimed, and whether what is claimed is about it."""
    box, claim = mechanism.box, mechanism.claim
    if loss is not None and not (isinstance(loss, CoordinateLoss) and loss.box.metric == box.metric):
        raise InvalidInput(f"the loss of a report on coordinates is the distance on its box, found {shown(loss)}")
    believed = _prior_on(prior, box) if prior is not None else claim.prior if claim is not None else None
    return believed, claim is not None and (prior is None or _same(claim.prior, believed))


def drawn_point(secret: Any, box: Box, believed: Prior | None) -> tuple[Fraction, ...]:
    """The point whose outputs are drawn: by default the middle of the likeliest cell."""
    if secret is not None:
        return as_point(secret, box)
    cell = _likeliest(box, None if believed is None else np.asarray(believed.float_weights))
    return tuple(o + step * (2 * int(c) + 1) / 2 for o, step, c in zip(box.origin, box.step, cell, strict=True))


def _likeliest(box: Box, weights: Floats | None) -> tuple[int, ...]:
    """The likeliest cell; of several the one nearest to the middle of the box."""
    cells = np.stack(np.unravel_index(np.arange(len(box)), box.shape), axis=-1)
    among = np.arange(len(box)) if weights is None else np.flatnonzero(weights == weights.max())
    away = np.abs(cells[among] - (np.array(box.shape) - 1) / 2).sum(axis=1)
    return tuple(cells[among[int(away.argmin())]].tolist())


def _prior_on(prior: Prior, box: Box) -> Prior:
    found = as_prior(prior)
    if len(found.float_weights) != len(box):
        raise InvalidInput(
            f"a prior of {box.name} has a weight for each of its {len(box):,} cells, found "
            f"{len(found.float_weights):,}: Prior.on_cells(counts, box) makes one"
        )
    return found


def _same(first: Prior, second: Prior | None) -> bool:
    return second is not None and np.array_equal(first.float_weights, second.float_weights)


def output_coordinates(mechanism: BoxMechanism) -> Floats:
    """Outputs as points in floats, one row each."""
    listed = [y if isinstance(y, tuple) else (y,) for y in mechanism.outputs]
    return np.array([[float(part) for part in y] for y in listed])


def lattice_table(mechanism: BoxMechanism) -> Floats:
    """The probabilities of the lattice points' rows, with an axis for each of the box."""
    matrix = mechanism.weights.astype(np.float64) / float(mechanism.total)
    return np.asarray(matrix.reshape(*mechanism.rounding.shape, -1))


def _counts(mechanism: BoxMechanism, released: Iterable[Any] | Mapping[Any, int]) -> NDArray[np.int64]:
    """How often each output came."""
    place = {_key(y): k for k, y in enumerate(mechanism.outputs)}
    counts = np.zeros(len(place), dtype=np.int64)
    for key, (output, times) in times_released(released).items():
        if key not in place:
            raise InvalidInput(f"{shown(output)} was released and is no output of the mechanism")
        counts[place[key]] = times
    return counts


def times_released(released: Iterable[Any] | Mapping[Any, int]) -> dict[tuple[float, ...], tuple[Any, int]]:
    """Each output that was released, by its coordinates: as it was given first, and how often it came."""
    found: dict[tuple[float, ...], tuple[Any, int]] = {}
    for output, times in released.items() if isinstance(released, Mapping) else ((y, 1) for y in released):
        key = _key(output)
        first, before = found.get(key, (output, 0))
        found[key] = first, before + times
    if not sum(times for _, times in found.values()):
        raise InvalidInput("a report on what was released needs one output or more")
    return found


def _key(output: Any) -> tuple[float, ...]:
    parts = output if hasattr(output, "__iter__") and not isinstance(output, str) else (output,)
    return tuple(float(Fraction(part)) for part in parts)


# ----------------------------------------------------------------- polynomials on a raster


def smooth_basis(axis: Axis, where: Floats) -> tuple[Floats, Floats]:
    """The probability of each lattice point at places along an axis, and its derivative; one row a place.

    Examples
    --------
    >>> values, slopes = smooth_basis(Axis((Fraction(0), Fraction(1), Fraction(2))), np.array([0.5]))
    >>> values.tolist(), slopes.tolist()
    ([[0.125, 0.75, 0.125, 0.0]], [[-0.5, 0.0, 0.5, 0.0]])
    """
    breaks, widths = np.array([float(t) for t in axis.breaks]), np.array([float(w) for w in axis.widths])
    cell = np.clip(np.searchsorted(breaks, where, side="right") - 1, 0, axis.cells - 1)
    before, here, after = widths[cell], widths[cell + 1], widths[cell + 2]
    s = (where - breaks[cell]) / here
    values, slopes = np.zeros((2, len(where), len(axis)))
    rows = np.arange(len(where))
    if axis.degree == 1:
        values[rows, cell], values[rows, cell + 1] = 1 - s, s
        slopes[rows, cell], slopes[rows, cell + 1] = -1 / here, 1 / here
        return values, slopes
    low, high = before + here, here + after
    values[rows, cell], values[rows, cell + 2] = (1 - s) ** 2 * here / low, s**2 * here / high
    slopes[rows, cell], slopes[rows, cell + 2] = -2 * (1 - s) / low, 2 * s / high
    values[rows, cell + 1] = 1 - values[rows, cell] - values[rows, cell + 2]
    slopes[rows, cell + 1] = -slopes[rows, cell] - slopes[rows, cell + 2]
    return values, slopes


def _means(axis: Axis, borders: Sequence[Fraction]) -> Floats:
    """The mean probability of each lattice point in each cell of the prior: exact for quadratic polynomials."""
    table = np.zeros((len(borders) - 1, len(axis)))
    cuts = sorted({*borders, *axis.breaks})
    middle = np.array([float(low + high) / 2 for low, high in pairwise(cuts)])
    halves = np.array([float(high - low) / 2 for low, high in pairwise(cuts)])
    inside = np.searchsorted(np.array([float(t) for t in borders]), middle) - 1
    for node in (-1, 1):
        np.add.at(table, inside, halves[:, None] * smooth_basis(axis, middle + node * halves / np.sqrt(3))[0])
    sides = np.array([float(high - low) for low, high in pairwise(borders)])
    return np.asarray(table / sides[:, None])


def applied(tables: Sequence[Floats], values: Floats) -> Floats:
    """One matrix along each axis of a table."""
    for axis, matrix in enumerate(tables):
        values = np.moveaxis(np.tensordot(matrix, values, axes=(1, axis)), 0, axis)
    return values


def raster_of(box: Box, at: tuple[Fraction, ...]) -> list[Floats]:
    """Places along each axis, counted from the origin: the middles of equal parts; of a third axis the place given."""
    finest = max(float(side) for side in box.sides[:2]) / _RASTER[box.dimension]
    marks = []
    for axis, side in enumerate(box.sides):
        if axis == 2:
            marks.append(np.array([min(max(float(at[2] - box.origin[2]), 0.0), float(side))]))
            continue
        count = max(2, round(float(side) / finest))
        marks.append((np.arange(count) + 0.5) * float(side) / count)
    return marks


def slopes_of(bases: Sequence[tuple[Floats, Floats]], columns: Floats, metric: str) -> tuple[Floats, Floats]:
    """Probabilities on a raster, and how steep their logarithms are in the dual norm, for some columns of a table.

    ``bases`` has values and slopes of the lattice points along each axis (:func:`smooth_basis`), ``columns`` an axis
    for each of the lattice's and a last one.
    """
    value = applied([values for values, _ in bases], columns)
    slopes = [
        applied([slopes if i == j else values for j, (values, slopes) in enumerate(bases)], columns)
        for i in range(len(bases))
    ]
    steep = np.linalg.norm(np.stack(slopes), ord=_DUAL[metric], axis=0) if len(slopes) > 1 else np.abs(slopes[0])
    return value, np.divide(steep, value, out=np.zeros_like(steep), where=value > 0)


def _used(mechanism: BoxMechanism, table: Floats, at: tuple[Fraction, ...], output: int) -> tuple[Used, Floats]:
    """The share of ε that is used on a raster, and there the probability of one output."""
    box, marks = mechanism.box, raster_of(mechanism.box, at)
    bases = [smooth_basis(axis, where) for axis, where in zip(mechanism.rounding.axes, marks, strict=True)]
    shape = tuple(map(len, marks))
    best, which = np.zeros(shape), np.zeros(shape, dtype=np.int64)
    together = max(1, _CHUNK // prod(shape))
    for start in range(0, len(mechanism.outputs), together):
        ratio = slopes_of(bases, table[..., start : start + together], box.metric)[1]
        most = ratio.max(axis=-1)
        which = np.where(most > best, start + ratio.argmax(axis=-1), which)
        best = np.maximum(best, most)
    used = used_on(box, marks, best / float(mechanism.rate), which)
    return used, applied([values for values, _ in bases], table[..., output]).reshape(used.share.shape)


def used_on(part: Box, marks: Sequence[Floats], share: Floats, output: NDArray[np.int64]) -> Used:
    """Shares and numbers of outputs at marks that are counted from the origin of the part that they fill."""
    top = np.unravel_index(int(share.argmax()), share.shape)
    shifted = tuple(where + float(o) for where, o in zip(marks, part.origin, strict=True))
    place = tuple(float(where[k]) for where, k in zip(shifted, top, strict=True))
    flat = min(len(marks), 2)
    depth = float(shifted[2][0]) if len(marks) > flat else None
    return Used(shifted[:flat], share.reshape(share.shape[:flat]), place, int(output[top]), part, depth)


def on_raster(marks: Sequence[Floats], places: Floats, shares: Floats, metric: str) -> Floats:
    """Chances of outputs on a raster, each in equal parts at the marks that its output is nearest to; they sum to one.

    An output that is nearest to no mark, because others are close by, adds its chance to that of the nearest mark.

    Examples
    --------
    >>> on_raster([np.array([0.5, 1.5, 2.5])], np.array([[0.0], [2.0]]), np.array([0.25, 0.75]), "euclidean").tolist()
    [0.25, 0.375, 0.375]
    """
    points = np.stack(np.meshgrid(*marks, indexing="ij"), axis=-1).reshape(-1, len(marks))
    order = NORMS[metric]
    nearest = np.concatenate([
        np.linalg.norm(part[:, None] - places[None, :, : len(marks)], ord=order, axis=2).argmin(axis=1)
        for part in np.array_split(points, 1 + len(points) * len(places) // _CHUNK)
    ])  # fmt: skip
    held = np.bincount(nearest, minlength=len(places))
    values = (shares / np.maximum(held, 1))[nearest]
    for lost in np.flatnonzero((held == 0) & (shares > 0)):
        values[np.linalg.norm(points - places[lost, : len(marks)], ord=order, axis=1).argmin()] += shares[lost]
    return np.asarray(values.reshape(tuple(map(len, marks))))


# ----------------------------------------------------------------- losses in floats


def _nodes(box: Box, weights: Floats, most: int) -> tuple[Floats, Floats]:
    """Points counted from the origin, and their masses: the middles of equal parts of each cell that has any."""
    k = box.dimension
    many = int(np.clip((most / len(box)) ** (1 / k), 1, _MOST_PARTS[k]))
    offsets = np.stack(np.meshgrid(*[(np.arange(many) + 0.5) / many] * k, indexing="ij"), -1).reshape(-1, k)
    cells = np.stack(np.unravel_index(np.flatnonzero(weights), box.shape), axis=-1)
    step = np.array([float(s) for s in box.step])
    points = (cells[:, None] + offsets[None]) * step
    masses = np.repeat(weights[weights > 0], len(offsets)) / len(offsets)
    return points.reshape(-1, k), masses


def _measured(mechanism: BoxMechanism, table: Floats, places: Floats, weights: Floats) -> float:
    """The mean distance of outputs."""
    box = mechanism.box
    points, masses = _nodes(box, weights, _MOST_NODES // len(places))
    along = [
        smooth_basis(axis, points[:, i])[0] for i, axis in enumerate(mechanism.rounding.axes)
    ]  # one row a point, so that rows of all axes belong together
    total, outputs = 0.0, places - np.array([float(o) for o in box.origin])
    loss, rows = CoordinateLoss(box), max(1, _CHUNK // len(places))
    flat = table.reshape(-1, len(places))
    for start in range(0, len(points), rows):
        part = slice(start, start + rows)
        mixed = along[0][part]
        for other in along[1:]:
            mixed = (mixed[:, :, None] * other[part][:, None, :]).reshape(len(mixed), -1)
        total += float(masses[part] @ ((mixed @ flat) * loss.at(points[part], outputs)).sum(axis=1))
    return total


def blind_loss(box: Box, weights: Floats) -> float:
    """What who is told nothing loses: the least mean distance from one point, in floats."""
    points, masses = _nodes(box, weights, _MOST_NODES // 100)
    loss = CoordinateLoss(box)

    def mean_distance(point: Floats) -> float:
        return float(masses @ loss.at(points, np.asarray(point)[None])[:, 0])

    return float(minimize(mean_distance, masses @ points, method="Nelder-Mead").fun)
