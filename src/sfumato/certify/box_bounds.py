"""The finite problem whose optimum no mechanism on a box goes below: secrets, outputs and lowered losses.

Secrets are the lower corners of the cells of a box, each cell cut into ``parts`` along the axes. Cubes between
neighbouring secrets, halved where ``splits`` says so, cover all of them; their corners are the outputs. A bound for
lower corners is one for all points: shifted by the same vector within their cells they are points with the same masses,
and what a mechanism on the box loses is the mean, over these vectors, of what it loses on the shifted ones. An output
anywhere is first moved to the bounding box of the secrets, then rounded at random to the corners of the cube Q that
contains it, multilinearly: on average that is at most e_x(Q) farther from a secret x. So the loss

    ℓ′(c, x) = ‖c − x‖ − max over cubes Q with corner c of e_x(Q)

asks of no mechanism more than what it loses. Numbers here are the integers of
:class:`sfumato.certify.kernel.box_bounds.LoweredLosses`, computed for all corners and secrets at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import gcd, lcm, prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InvalidInput
from sfumato.numbers import Floats, Integers
from sfumato.spaces.box import Box

BITS = 24
"""Binary digits of the largest distance, in units of lowered losses: their squares and some more fit 64 bits."""

_RATIO = 12  # binary digits after the point of a ratio of squares
_BLOCK = 1 << 22  # losses that are computed at a time
_DEEPEST = 6  # halvings of a cube


@dataclass(frozen=True, eq=False)
class Covering:
    """The corners of the cubes that cover the secrets of a finite problem, and the lowered loss at each of them.

    Parameters
    ----------
    shape
        Secrets along each axis.
    grid
        The length, along each axis, that coordinates of corners are multiples of.
    depth
        Neighbouring secrets are 2^depth lengths of the grid apart.
    corners
        One row a corner, in lengths of the grid counted from the first secret; in the order of their coordinates.
    losses
        One row a corner, one column a secret (the last axis first): integers, in units of ``unit``.
    """

    box: Box
    shape: tuple[int, ...]
    grid: tuple[Fraction, ...]
    depth: int
    corners: Integers
    losses: NDArray[np.int32]
    unit: Fraction

    @property
    def points(self) -> tuple[Any, ...]:
        """The corners as exact points; numbers on an interval."""
        start = self.box.origin
        found = [
            tuple(o + g * c for o, g, c in zip(start, self.grid, row, strict=True)) for row in self.corners.tolist()
        ]
        return tuple(point[0] for point in found) if len(start) == 1 else tuple(found)

    @property
    def secrets(self) -> Floats:
        """The secrets of the finite problem as floats, one row each."""
        along = [
            float(o) + float(g * 2**self.depth) * np.arange(n)
            for o, g, n in zip(self.box.origin, self.grid, self.shape, strict=True)
        ]
        return np.stack([axis.ravel() for axis in np.meshgrid(*along, indexing="ij")], axis=1)


def finite_shape(box: Box, parts: tuple[int, ...]) -> tuple[int, ...]:
    """Secrets of the finite problem along each axis."""
    shape = tuple(cells * many for cells, many in zip(box.shape, parts, strict=True))
    if min(parts) < 1 or min(shape) < 2:
        raise InvalidInput("a bound needs two secrets or more along each axis: cut the cells into more parts")
    return shape


def finite_prior(counts: NDArray[Any], parts: tuple[int, ...]) -> NDArray[Any]:
    """Counts of cells, an array with one axis for each of the box, as counts of the secrets of the finite problem."""
    for axis, many in enumerate(parts):
        counts = np.repeat(counts, many, axis=axis)
    return counts.ravel()


def splits_from_depths(depths: Integers) -> bytes:
    """Which cubes are halved if each one between neighbouring secrets is cut alike, so often as its number says.

    Examples
    --------
    >>> list(splits_from_depths(np.array([0, 2])))
    [0, 1, 1, 0, 0, 1, 0, 0]
    """
    patterns = [b"\0"]
    for _ in range(int(depths.max(initial=0))):
        patterns.append(b"\1" + patterns[-1] * 2**depths.ndim)
    return b"".join(patterns[d] for d in depths.ravel().tolist())


def cubes_of(splits: bytes, shape: tuple[int, ...]) -> tuple[Integers, Integers, int]:
    """The cubes that are used: their lower corners and widths on a grid, and how often the smallest is halved."""
    ups = list(product((0, 1), repeat=len(shape)))
    found: list[tuple[int, tuple[int, ...]]] = []
    place = 0
    for start in product(*(range(n - 1) for n in shape)):
        pending = [(0, start)]
        while pending:
            depth, corner = pending.pop()
            if place == len(splits) or splits[place] > 1 or depth + splits[place] > _DEEPEST:
                raise InvalidInput("the splits of cubes do not describe a covering")
            if splits[place]:
                halves = [tuple(2 * c + b for c, b in zip(corner, up, strict=True)) for up in ups]
                pending += [(depth + 1, half) for half in reversed(halves)]
            else:
                found.append((depth, corner))
            place += 1
    if place < len(splits):
        raise InvalidInput("the splits of cubes do not describe a covering")
    deepest = max(depth for depth, _ in found)
    widths = np.array([1 << (deepest - depth) for depth, _ in found], dtype=np.int64)
    return np.array([corner for _, corner in found], dtype=np.int64) * widths[:, None], widths, deepest


def box_covering(box: Box, parts: tuple[int, ...], splits: bytes) -> Covering:
    """Corners and lowered losses for secrets at the lower corners of cells, and cubes halved as ``splits`` says.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> interval = box_covering(box((1,), step="1/4"), (1,), splits_from_depths(np.array([1, 0, 0])))
    >>> [str(point) for point in interval.points]
    ['0', '1/8', '1/4', '1/2', '3/4']
    >>> [float(loss * interval.unit) for loss in interval.losses[1].tolist()]
    [0.125, 0.125, 0.375, 0.625]
    """
    shape = finite_shape(box, parts)
    lower, widths, depth = cubes_of(splits, shape)
    grid = tuple(step / (many << depth) for step, many in zip(box.step, parts, strict=True))
    ends = tuple(((n - 1) << depth) + 1 for n in shape)
    unit, below, above = _rulers(grid, ends)
    ups = np.array(list(product((0, 1), repeat=len(shape))))
    codes = np.stack([np.ravel_multi_index(tuple((lower + widths[:, None] * up).T), ends) for up in ups])
    used, numbers = np.unique(codes, return_inverse=True)
    numbers = numbers.reshape(codes.shape)
    corners = np.stack(np.unravel_index(used, ends), axis=1)
    losses, bent = np.zeros((2, len(corners), prod(shape)), dtype=np.int32)
    rows = max(1, _BLOCK // prod(shape))
    for block in _blocks(np.arange(len(corners)), rows):
        lengths = [low[np.abs(z)] for low, z in zip(below, _from_secrets(corners[block], shape, depth), strict=True)]
        losses[block] = _norm(box.metric, lengths, up=False).reshape(len(block), -1)
    for width in np.unique(widths).tolist() if box.metric != "manhattan" else []:
        table = _bends(box.metric, below, above, width, ends)
        for block in _blocks(np.flatnonzero(widths == width), rows):
            # the cube lies on one side of a secret along each axis: its near and far face change places
            places = [np.where(z < 0, -z - width, z) // width for z in _from_secrets(lower[block], shape, depth)]
            bend = table[tuple(places)].reshape(len(block), -1)
            for number in numbers[:, block]:
                bent[number] = np.maximum(bent[number], bend)
    return Covering(box, shape, grid, depth, corners, losses - bent, unit)


def _blocks(numbers: Integers, rows: int) -> list[Integers]:
    return [numbers[start : start + rows] for start in range(0, len(numbers), rows)]


def _from_secrets(points: Integers, shape: tuple[int, ...], depth: int) -> list[Integers]:
    """Where points lie, seen from every secret: an array for each axis; together they are spread over all secrets."""
    axes = len(shape)
    return [
        points[:, axis].reshape(-1, *[1] * axes)
        - (np.arange(n) << depth).reshape(1, *[n if other == axis else 1 for other in range(axes)])
        for axis, n in enumerate(shape)
    ]


def _rulers(grid: tuple[Fraction, ...], ends: tuple[int, ...]) -> tuple[Fraction, list[Integers], list[Integers]]:
    """The unit of losses, and multiples of the lengths of a grid in it, rounded down and up.

    The sum of the largest along all axes stays below 2^BITS. Nothing is rounded where that can be had.
    """
    denominator = lcm(*(length.denominator for length in grid))
    common = Fraction(gcd(*(int(length * denominator) for length in grid)), denominator)
    extent = sum((length * (end - 1) for length, end in zip(grid, ends, strict=True)), Fraction(0))
    spare = BITS - int(extent / common).bit_length()
    unit = common / (1 << spare) if spare >= 0 else extent / ((1 << BITS) - 4)
    below, above = [], []
    for length, end in zip(grid, ends, strict=True):
        p, q = (length / unit).as_integer_ratio()
        below.append(np.array([k * p // q for k in range(end)]))
        above.append(np.array([-(-k * p // q) for k in range(end)]))
    return unit, below, above


def _norm(metric: str, lengths: list[Integers], up: bool) -> Integers:
    """The norm of offsets, given by their lengths along the axes, rounded down or up."""
    if metric == "manhattan":
        return np.asarray(sum(lengths))
    if metric == "chebyshev":
        return np.asarray(np.maximum.reduce(np.broadcast_arrays(*lengths)))
    return _root(np.asarray(sum(length * length for length in lengths)), up)


def _root(squares: Integers, up: bool) -> Integers:
    # below 2^48 a root that is no integer is farther from one than floats round
    root = np.sqrt(squares.astype(np.float64)).astype(np.int64)
    return root + (root * root != squares) if up else root


def _bends(metric: str, below: list[Integers], above: list[Integers], width: int, ends: tuple[int, ...]) -> Integers:
    """How far the norm may lie below what is interpolated between the corners of a cube, by the place of the cube.

    For u in the dual ball ‖z‖ ≥ u·z, and a multilinear function less a linear one is largest at a corner. Directions:
    that of the centre; for the maximum norm the mean of any of the axes. The Euclidean norm has second derivatives
    Σ_{j≠i} z_j² / ‖z‖³, and interpolation along an axis of length g errs by at most g²/8 of the largest.
    """
    axes = len(ends)
    places = [
        np.arange(0, end - width, width).reshape([-1 if other == axis else 1 for other in range(axes)])
        for axis, end in enumerate(ends)
    ]
    low = [[ruler[p], ruler[p + width]] for ruler, p in zip(below, places, strict=True)]
    high = [[ruler[p], ruler[p + width]] for ruler, p in zip(above, places, strict=True)]
    corners = list(product((0, 1), repeat=axes))
    norms = [_norm(metric, [z[b] for z, b in zip(high, corner, strict=True)], up=True) for corner in corners]

    def tangent(weights: list[Any], size: Any) -> Integers:
        products = [sum(t * z[b] for t, z, b in zip(weights, low, corner, strict=True)) // size for corner in corners]
        return np.asarray(np.maximum.reduce([norm - along for norm, along in zip(norms, products, strict=True)]))

    if metric == "chebyshev":
        chosen = [axes_of for axes_of in corners if any(axes_of)]
        return np.asarray(np.minimum.reduce([tangent(list(axes_of), sum(axes_of)) for axes_of in chosen]))
    centre = [near + far for near, far in low]
    result = tangent(centre, np.maximum(_norm(metric, centre, up=True), 1))
    nearest = np.asarray(sum(near * near for near, _ in low))
    sides = [int(ruler[width]) for ruler in above]
    squares = [far * far for _, far in high]
    beyond = nearest >= max(1, sum(side * side for side in sides))
    safe = np.where(beyond, nearest, 1 << 47)
    bend = np.zeros_like(result)
    for axis, side in enumerate(sides):
        others = np.asarray(sum(square for other, square in enumerate(squares) if other != axis))
        ratio = -(-(others << _RATIO) // safe)
        eighth = -(-side * side * ratio >> (_RATIO + 3))
        bend += -(-eighth // _root(safe, up=False))
    return np.where(beyond, np.minimum(result, bend), result)
