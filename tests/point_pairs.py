"""Pairs of coordinates put to a promise: intervals of doubles first, and rationals where these do not separate.

For two points x, x′ and every output, M̃(x)(y) ≤ e^{ε‖x − x′‖} M̃(x′)(y) is asked in both directions. Doubles enclose
both sides: probabilities by a bound of what roundings do to the weights of the splines, times the sum of the rows that
are mixed; distance, ε and e^t from below, by a power series with positive terms. A pair that is not shown to keep the
promise in this way, for one output, is decided in rationals for all. Nothing is shared with what proves a mechanism.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from math import isqrt

import numpy as np
from numba import njit

from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.mechanism import Mechanism
from sfumato.numbers import exp_bounds, float_above, float_below
from sfumato.privacy.promise import rational_power
from sfumato.spaces.box import Box

KINDS = ("far", "near", "across a border", "inside a cell", "at corners of cells")
_NORMS = {"euclidean": 0, "manhattan": 1, "chebyshev": 2}
_U = 2.0**-53
_CHUNK = 1 << 16


@dataclass(frozen=True)
class Counts:
    """Pairs of a kind: how many doubles left to rationals, how many break the promise, and how many if snapped."""

    pairs: int = 0
    exact: int = 0
    violations: int = 0
    snapped: int = 0

    def __add__(self, other: Counts) -> Counts:
        return Counts(
            self.pairs + other.pairs, self.exact + other.exact, self.violations + other.violations,
            self.snapped + other.snapped,
        )  # fmt: skip


def checked_pairs(mechanism: BoxMechanism, pairs: int, seed: int) -> dict[str, Counts]:
    """So many pairs of each kind against the promise."""
    found = dict.fromkeys(KINDS, Counts())
    tables = compiled_tables(mechanism)
    for kind, first, second in random_pairs(mechanism, pairs, seed):
        found[kind] += put_to(mechanism, tables, first, second)
    return found


def put_to(mechanism: BoxMechanism, tables: tuple[object, ...], first: np.ndarray, second: np.ndarray) -> Counts:
    """Pairs of points against the promise; ``tables`` are those of :func:`compiled_tables`."""
    open_pairs, snapped = np.zeros(len(first), dtype=np.bool_), np.zeros(len(first), dtype=np.bool_)
    _check(first, second, *tables, open_pairs, snapped)
    left = np.flatnonzero(open_pairs)
    wrong = sum(not keeps(mechanism, first[k].tolist(), second[k].tolist()) for k in left.tolist())
    return Counts(len(first), len(left), wrong, int(snapped.sum()))


def random_pairs(mechanism: BoxMechanism, pairs: int, seed: int) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Pairs of every kind, chunk by chunk; one in fifty of the far ones has a point outside of the box."""
    box, axes = mechanism.box, mechanism.rounding.axes
    low = np.array([float(o) for o in box.origin])
    sides = np.array([float(s) for s in box.sides])
    borders = [np.array([float(o + t) for t in axis.breaks]) for o, axis in zip(box.origin, axes, strict=True)]
    for number, kind in enumerate(KINDS):
        rng = np.random.default_rng([seed, number])
        for start in range(0, pairs, _CHUNK):
            many = min(_CHUNK, pairs - start)
            x, z = (low + sides * rng.random((many, len(low))) for _ in range(2))
            turns = rng.normal(size=x.shape)
            turns /= np.linalg.norm(turns, axis=1, keepdims=True)
            little = sides.max() * 10.0 ** rng.uniform(-13.25, -1, (many, 1))
            if kind == "far":
                z[::50] += sides * rng.uniform(-1, 1, z[::50].shape)
            elif kind == "near":
                z = x + little * turns
            elif kind == "across a border":
                axis = rng.integers(0, len(low), many)
                here = np.array([rng.choice(borders[a]) for a in axis.tolist()])
                rows = np.arange(many)
                z = x + 0.1 * little * turns
                x[rows, axis] = here - little[:, 0] * rng.random(many)
                z[rows, axis] = here + little[:, 0] * rng.random(many)
            elif kind == "inside a cell":
                for a, along in enumerate(borders):
                    cell = rng.integers(0, len(along) - 1, many)
                    start_of, width = along[cell], np.diff(along)[cell]
                    x[:, a], z[:, a] = (start_of + width * rng.random(many) for _ in range(2))
            else:
                for a, along in enumerate(borders):
                    x[:, a] = rng.choice(along, many)
                z = x + little * turns
            yield kind, x, z


def keeps(mechanism: BoxMechanism, x: list[float], z: list[float]) -> bool:
    """The promise for one pair of points, in rationals."""
    one, other = (_exactly(mechanism, point) for point in (x, z))
    bits = 80
    while True:
        near, far = _distance(_gaps(x, z), mechanism.box.metric, bits)
        low = exp_bounds(mechanism.rate * near, bits)[0]
        high = exp_bounds(mechanism.rate * far, bits)[1]
        ratio = max(max(Fraction(a, b), Fraction(b, a)) if a and b else Fraction(a != b) * high * 2
                    for a, b in zip(one, other, strict=True))  # fmt: skip
        if ratio <= low:
            return True
        if ratio > high:
            return False
        bits *= 2


def _exactly(mechanism: BoxMechanism, point: list[float]) -> list[Fraction]:
    rows = mechanism.rounding.weights([Fraction(part) for part in point])
    whole = np.lcm.reduce([share.denominator for share in rows.values()], dtype=object)
    mixed = sum(mechanism.weights[v].astype(object) * int(share * whole) for v, share in rows.items())
    return [Fraction(int(weight), int(whole)) for weight in mixed]


def _gaps(x: list[float], z: list[float]) -> list[Fraction]:
    return [Fraction(a) - Fraction(b) for a, b in zip(x, z, strict=True)]


def _distance(gaps: list[Fraction], metric: str, bits: int) -> tuple[Fraction, Fraction]:
    if metric == "manhattan":
        total = sum(map(abs, gaps), Fraction(0))
        return total, total
    if metric == "chebyshev":
        return max(map(abs, gaps)), max(map(abs, gaps))
    square = sum((gap**2 for gap in gaps), Fraction(0))
    if not square:
        return square, square
    scale = 1 << 2 * (bits + max(0, square.denominator.bit_length() - square.numerator.bit_length()))
    root = isqrt(square.numerator * scale // square.denominator)
    return Fraction(root, isqrt(scale)), Fraction(root + 1, isqrt(scale))


# ----------------------------------------------------------------- cells


def row_ratios(mechanism: Mechanism) -> np.ndarray:
    """The logarithm of the largest ratio of two rows, for all pairs of rows."""
    logarithms = np.log(mechanism.weights.astype(np.float64))
    return np.array([np.abs(logarithms - row).max(axis=1) for row in logarithms])


def snapped_breaks(
    mechanism: Mechanism, ratios: np.ndarray, box: Box, first: np.ndarray, second: np.ndarray
) -> tuple[np.ndarray, int]:
    """Which pairs of points of a box break the promise of a table of its cells if each is told by the row of its cell.

    The largest ratio of two rows, as :func:`row_ratios` has it, is compared with ε times the Euclidean distance of the
    points; what is closer than roundings can be is decided in rationals. Returns how many these are too.
    """
    rows = [_cells_of(points, box) for points in (first, second)]
    most = ratios[rows[0], rows[1]]
    allowed = mechanism.privacy.rate * np.linalg.norm(first - second, axis=1)
    broken = most > allowed
    left = np.flatnonzero(np.abs(most - allowed) <= 1e-12 * (64 + allowed))  # logarithms are below 64
    left = left[rows[0][left] != rows[1][left]]  # a ratio of 1 is always allowed
    for k in left.tolist():
        broken[k] = _rows_break(mechanism, [int(row[k]) for row in rows], first[k].tolist(), second[k].tolist())
    broken[rows[0] == rows[1]] = False
    return broken, len(left)


def _cells_of(points: np.ndarray, box: Box) -> np.ndarray:
    """The numbers of the cells that points lie in, doubles compared with borders as they are."""
    row = np.zeros(len(points), dtype=np.int64)
    for axis, cells in enumerate(box.shape):
        borders = [float_above(box.origin[axis] + at) for at in box.breaks(axis)]
        place = np.searchsorted(borders, points[:, axis], side="right") - 1
        row = row * cells + np.clip(place, 0, cells - 1)
    return row


def _rows_break(mechanism: Mechanism, rows: list[int], x: list[float], z: list[float]) -> bool:
    """Whether two rows differ by more than is allowed between two points, in rationals."""
    one, other = (mechanism.weights[row].tolist() for row in rows)
    ratio = max(max(Fraction(int(a), int(b)), Fraction(int(b), int(a))) for a, b in zip(one, other, strict=True))
    exactly = _rational_factor(mechanism, _gaps(x, z))
    if exactly is not None:
        return ratio > exactly
    bits = 80
    while True:  # with an irrational factor the two are never equal
        near, far = _distance(_gaps(x, z), "euclidean", bits)
        least, most = mechanism.privacy.rate_bounds(bits)
        if ratio > exp_bounds(most * far, bits)[1]:
            return True
        if ratio <= exp_bounds(least * near, bits)[0]:
            return False
        bits *= 2


def _rational_factor(mechanism: Mechanism, gaps: list[Fraction]) -> Fraction | None:
    """α^−d where distance d and power are rational. Of an irrational root d it is not (Gelfond and Schneider)."""
    square = sum((gap**2 for gap in gaps), Fraction(0))
    root = Fraction(isqrt(square.numerator), isqrt(square.denominator))
    if mechanism.privacy.alpha is None or root**2 != square:
        return None
    return rational_power(1 / mechanism.privacy.alpha, root)


# ----------------------------------------------------------------- doubles


def compiled_tables(mechanism: BoxMechanism) -> tuple[object, ...]:
    """All that compiled code needs: cells in doubles, how far they are off, weights, ε from below, the norm."""
    axes, corner = mechanism.rounding.axes, mechanism.box.origin
    most = max(axis.cells for axis in axes)
    cells, numbers = np.zeros((len(axes), most, 4)), np.array([axis.cells for axis in axes])
    ends, off, sure = np.zeros((len(axes), 2)), np.zeros(len(axes)), np.zeros(len(axes), dtype=np.bool_)
    for a, (axis, origin) in enumerate(zip(axes, corner, strict=True)):
        lower = [origin + t for t in axis.breaks]
        widths = [high - low for low, high in pairwise(lower)]
        for j, width in enumerate(widths):
            before, after = widths[max(j - 1, 0)], widths[min(j + 1, len(widths) - 1)]
            parts = lower[j], 1 / width, width / (before + width), width / (width + after)
            cells[a, j] = [float(part) for part in parts]
        ends[a] = float(lower[0]), float(lower[-1])
        wrong = max(abs(Fraction(float(t)) - t) for t in lower)
        inverse = max(abs(Fraction(float(1 / w)) * w - 1) for w in widths)
        # of the place inside a cell: that of its lower end, and of a difference, a product and a quotient
        off[a] = float_above(wrong / min(widths) + (1 + wrong / min(widths)) * (inverse + 3 * Fraction(_U)))
        sure[a] = wrong == 0
    weights = mechanism.weights.astype(np.float64)
    shape = np.array(mechanism.rounding.shape)
    degree, rate = mechanism.rounding.degree, float_below(mechanism.rate)
    return cells, numbers, ends, off, sure, shape, degree, weights, rate, _NORMS[mechanism.box.metric]


@njit(nogil=True)
def _exponential(t):  # type: ignore[no-untyped-def]
    """e^t in doubles for t ≥ 0, and how far it is off at most, as a part of it."""
    halvings = 0
    while t > 0.5:
        t *= 0.5
        halvings += 1
    total = 1.0
    for k in range(18, 0, -1):  # Horner: all terms are positive, and what is left out is below 2^-70
        total = 1.0 + total * (t / k)
    error = 64 * _U
    for _ in range(halvings):
        total, error = total * total, 2.0 * error + 2.0 * _U
    return total, error


@njit(nogil=True)
def _mixed(point, cells, numbers, ends, off, sure, shape, degree, weights, result):  # type: ignore[no-untyped-def]
    """Row of sums at a point, by how much each may be off; whether its cells are certain, and the nearest row."""
    axes = point.size
    shares, first = np.zeros((3, 3)), np.zeros(3, dtype=np.int64)
    certain, wrong, snapped = True, 0.0, 0
    for a in range(axes):
        x = min(max(point[a], ends[a, 0]), ends[a, 1])
        j = 0
        while j < numbers[a] - 1 and x >= cells[a, j + 1, 0]:
            j += 1
        s = min(max((x - cells[a, j, 0]) * cells[a, j, 1], 0.0), 1.0)
        if not sure[a] and (s <= 4.0 * off[a] or s >= 1.0 - 4.0 * off[a]):
            certain = False
        q = 1.0 - s
        if degree == 1:
            shares[a, 0], shares[a, 1] = q, s
        else:
            shares[a, 0], shares[a, 2] = q * q * cells[a, j, 2], s * s * cells[a, j, 3]
            shares[a, 1] = 1.0 - shares[a, 0] - shares[a, 2]
        wrong += 2.0 * off[a] + 10.0 * _U  # slopes are at most two in s
        first[a] = j
        nearest = j + 1 if degree == 2 else j + (1 if s > 0.5 else 0)
        snapped = snapped * shape[a] + nearest
    outputs = weights.shape[1]
    result[:] = 0.0
    many = (degree + 1) ** axes
    for choice in range(many):
        rest, row, share = choice, 0, 1.0
        for a in range(axes):
            k = rest % (degree + 1)
            rest //= degree + 1
            share *= shares[a, k]
            row = row * shape[a] + first[a] + k
        for y in range(outputs):
            result[0, y] += share * weights[row, y]
            result[1, y] += weights[row, y]
    part = 1.1 * wrong + 4.0 * (many + axes) * _U
    for y in range(outputs):
        result[1, y] = result[1, y] * part
    return certain, snapped


@njit(nogil=True)
def _check(  # type: ignore[no-untyped-def]
    first, second, cells, numbers, ends, off, sure, shape, degree, weights, rate, norm, open_pairs, snapped
):
    """Which pairs doubles leave open, and which would break the promise for certain if points were snapped to rows."""
    outputs = weights.shape[1]
    one, other = np.empty((2, outputs)), np.empty((2, outputs))
    for k in range(first.shape[0]):
        distance = 0.0
        for a in range(first.shape[1]):
            gap = abs(first[k, a] - second[k, a])
            distance = max(distance, gap) if norm == 2 else distance + (gap * gap if norm == 0 else gap)
        distance = np.sqrt(distance) if norm == 0 else distance
        factor, error = _exponential(distance * rate * (1.0 - 16 * _U))
        least = factor * (1.0 - error - 8 * _U)
        most = factor * (1.0 + error + 64 * _U * (1.0 + distance * rate))
        sure_one, row_one = _mixed(
            first[k], cells, numbers, ends, off, sure, shape, degree, weights, one
        )  # fmt: skip
        sure_other, row_other = _mixed(
            second[k], cells, numbers, ends, off, sure, shape, degree, weights, other
        )  # fmt: skip
        bad, broken = 0, 0
        for y in range(outputs):
            bad += one[0, y] + one[1, y] > least * (other[0, y] - other[1, y])
            bad += other[0, y] + other[1, y] > least * (one[0, y] - one[1, y])
            broken += weights[row_one, y] > most * weights[row_other, y]
            broken += weights[row_other, y] > most * weights[row_one, y]
        open_pairs[k] = bad > 0 or not (sure_one and sure_other)
        snapped[k] = broken > 0
