"""From a solved program to integers: outputs moved to where they lose least, rare ones merged, rows rounded.

Each of these is a post-processing, or stays inside the cones: a sum of columns that keep the promise keeps it, and the
constant column is well inside. Nothing here needs to be trusted; the kernel decides.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numba import njit

from sfumato.certify.coordinates import BoxBound, BoxClaim
from sfumato.channels.prior import Prior
from sfumato.design.boxes.moments import Moments
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.numbers import Array, Floats
from sfumato.spaces.splines import Rounding
from sfumato.threads import on_threads

PROOF_SECONDS = 2.2e-6
"""That a number of a table takes until it is proved and written: for 3 to 9 million, on two cores."""

TOTAL = 1 << 48
"""The sum of a row, at most: what is rounded away is far below what a solver has settled."""

MIXED = (2.0**-20, 2.0**-14, 2.0**-8)
"""So much of a row goes to all outputs alike, the room in which integers are rounded: the next where one is not enough.
"""

_BITS = (24, 26, 28, 30, 32, 36, 40, 44)  # of the sum of a row; fewer make a smaller file
_UNITS = 48  # of each output that are the room of integers with few bits: they are rounded by one
_RARE = 1e-7  # An output that is given more seldom than this, on average, is merged with its neighbour.
_MOVES = 30  # Steps of Weiszfeld's iteration, at most.
_STILL = 1e-6  # A step of so small a part of the longest side is the last.
_NOTHING = 1e-9  # Points from which an output comes so much more seldom than from others do not pull at it.
_AT_ONCE = 500  # Outputs whose losses at all points are held at a time.
_ROUNDED = 1e-7  # Sums of costs in floats are closer than this part of them.
_GRID_BITS = 12  # Outputs are put on a grid of this many binary digits of the longest side.


@dataclass(frozen=True, eq=False)
class BoxTable:
    """Rows for lattice points, columns for outputs; what it loses by the moments it was found with."""

    rounding: Rounding
    halvings: int
    outputs: Floats
    matrix: Floats
    value: float
    parts: int

    @property
    def proof_seconds(self) -> float:
        """About how long its proof takes."""
        return PROOF_SECONDS * self.matrix.size


def moved_outputs(table: BoxTable, weighed: Moments, loss: CoordinateLoss) -> BoxTable:
    """The same table with every output at the point where it loses least, as far as a few steps lead there.

    For Euclidean distances that is a geometric median (Weiszfeld's iteration), for sums of distances a median along
    each axis. It is what somebody would guess who knows the prior.
    """
    masses = np.asarray(weighed.weights.T @ table.matrix)  # how often an output comes from near each point
    return _merged(replace(table, outputs=best_places(table.outputs, masses, weighed.points, loss)), weighed, loss)


def best_places(outputs: Floats, masses: Floats, points: Floats, loss: CoordinateLoss) -> Floats:
    """Where outputs lose least, as far as a few steps lead there; ``masses`` says how often each comes from a point."""
    metric, box = loss.box.metric, loss.box
    where = outputs.copy()
    if box.dimension == 1 or metric == "manhattan":
        where = np.stack([_medians(points[:, i], masses) for i in range(box.dimension)], axis=1)
    elif metric == "chebyshev" and box.dimension == 2:  # the larger of |a| and |b| is half of |a + b| + |a − b|
        along, across = _medians(points @ [1.0, 1.0], masses), _medians(points @ [1.0, -1.0], masses)
        where = np.stack([along + across, along - across], axis=1) / 2
    else:  # in space a Euclidean median is not the best for the maximum norm, and mostly better than the middle
        longest = float(max(box.sides))

        def move(first: int, last: int) -> None:
            _to_medians(points, np.ascontiguousarray(masses[:, first:last].T), where[first:last], longest)

        on_threads(move, len(where))
    unit = float(max(box.sides)) * 2.0**-_GRID_BITS
    where = np.clip(np.rint(where / unit) * unit, 0.0, [float(side) for side in box.sides])
    better = _lost(points, masses, where, loss) < _lost(points, masses, outputs, loss)
    return np.where(better[:, None], where, outputs)


def _lost(points: Floats, masses: Floats, where: Floats, loss: CoordinateLoss) -> Floats:
    """What each output loses at its place, some outputs at a time: a town has many points."""
    found = [
        (masses[:, k : k + _AT_ONCE] * loss.at(points, where[k : k + _AT_ONCE])).sum(axis=0)
        for k in range(0, len(where), _AT_ONCE)
    ]
    return np.concatenate(found)


@njit(cache=True, nogil=True)
def _to_medians(points, shares, where, longest):  # type: ignore[no-untyped-def]
    """Move each place towards the point whose mean distance from all points, by its shares, is least.

    Where a place is one of the points, that point holds it back by no more than its share (Vardi and Zhang 2000).
    """
    axes = points.shape[1]
    pulled, force = np.empty(axes), np.empty(axes)
    near = np.empty(len(points), dtype=np.int64)
    for output in range(len(where)):
        most, many = shares[output].max(), 0
        for point in range(len(points)):  # of a large town hardly any point matters to an output
            if shares[output, point] > _NOTHING * most:
                near[many] = point
                many += 1
        for _ in range(_MOVES):
            total, here = 1e-300, 0.0
            pulled[:] = 0.0
            force[:] = 0.0
            for point in near[:many]:
                length = 0.0
                for axis in range(axes):
                    length += (points[point, axis] - where[output, axis]) ** 2
                if length <= (1e-9 * longest) ** 2:
                    here += shares[output, point]
                    continue
                pull = shares[output, point] / np.sqrt(length)
                total += pull
                for axis in range(axes):
                    pulled[axis] += pull * points[point, axis]
                    force[axis] += pull * (points[point, axis] - where[output, axis])
            free = 1.0
            if here > 0.0:
                strength = 0.0
                for axis in range(axes):
                    strength += force[axis] ** 2
                free = max(0.0, 1.0 - here / max(np.sqrt(strength), 1e-300))
            step = 0.0
            for axis in range(axes):
                move = free * (pulled[axis] / total - where[output, axis])
                step = max(step, abs(move))
                where[output, axis] += move
            if step < _STILL * longest:
                break


def _medians(places: Floats, masses: Floats) -> Floats:
    """The median of some places under each column of masses."""
    order = np.argsort(places, kind="stable")
    below = np.cumsum(masses[order], axis=0)
    return np.asarray(places[order][np.argmax(below >= below[-1] / 2, axis=0)])


def _merged(table: BoxTable, weighed: Moments, loss: CoordinateLoss) -> BoxTable:
    """Outputs at one place are one, and rare ones are told by their nearest neighbour."""
    where, which = np.unique(table.outputs, axis=0, return_inverse=True)
    matrix = np.zeros((len(table.matrix), len(where)))
    np.add.at(matrix.T, which.ravel(), table.matrix.T)
    shares = matrix.mean(axis=0)
    kept = np.flatnonzero(shares > min(_RARE, 0.5 * shares.max()))
    nearest = kept[np.argmin(loss.at(where, where[kept]), axis=1)]
    nearest[kept] = kept
    joined = np.zeros_like(matrix)
    np.add.at(joined.T, nearest, matrix.T)
    matrix = joined[:, kept]
    cost = weighed.costs(loss.at(weighed.points, where[kept]))
    return replace(table, outputs=where[kept], matrix=matrix, value=float((cost * matrix).sum()))


def few_bits(outputs: int, most: float) -> list[tuple[float, int]]:
    """Which part of a row is spread, and the sum of a row, for sums with few bits first; at most so much is spread.

    Examples
    --------
    >>> [(round(mixed * 1e6), total.bit_length() - 1) for mixed, total in few_bits(100, 1e-4)][:3]
    [(72, 26), (18, 28), (4, 30)]
    """
    tried = [(_UNITS * outputs / 2.0**bits, 1 << bits) for bits in _BITS]
    return [one for one in tried if one[0] <= most] + [(mixed, TOTAL) for mixed in MIXED]


def integer_weights(matrix: Floats, mixed: float = MIXED[0], total: int = TOTAL) -> Array:
    """Rows as integers with one sum, a little of each row spread over all outputs.

    What rounding leaves of a row goes to the output that is given most often.
    """
    rows = matrix / matrix.sum(axis=1, keepdims=True)
    spread = (1 - mixed) * rows + mixed / rows.shape[1]
    weights = np.floor(spread * total).astype(np.int64)
    weights[:, int(rows.sum(axis=0).argmax())] += total - weights.sum(axis=1)
    return np.asarray(weights)


def exact_points(points: Floats, origin: tuple[Fraction, ...]) -> list[tuple[Fraction, ...]]:
    """Outputs as exact coordinates: sums of the origin and the dyadic numbers that floats are."""
    return [tuple(o + Fraction(x) for o, x in zip(origin, row, strict=True)) for row in points.tolist()]


def table_claim(
    weights: Array, cost: Floats, prior: Prior, loss: CoordinateLoss, parts: int, bound: BoxBound | None = None
) -> BoxClaim:
    """What a table of integers is claimed to lose: the sum of its costs in floats, and what they may have rounded."""
    shares = (weights / float(sum(map(int, weights[0])))).astype(np.float64)
    return BoxClaim(prior, loss, Fraction(float((cost * shares).sum()) * (1 + _ROUNDED)), parts, bound)
