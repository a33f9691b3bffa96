"""What a file about coordinates says, and whether it is so, by a judge that shares no line with what it judges.

B-splines come from the recursion of Cox and de Boor. The promise is tried at points: where a gradient is longer than ε
times the value, points nearby break it. The expected distance is bounded from below by Jensen's inequality on pieces,
and from above by interpolation, with integrals by Simpson's rule, which is exact for cubics. A bound is false if some
mechanism that keeps the promise loses less: the one in the file, or one that always says the same.
"""

# ruff: noqa: B905

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint

Point = tuple[Fraction, ...]


@dataclass(frozen=True)
class BoxClaim:
    """An expected distance, and perhaps a bound with the numbers that prove it."""

    counts: tuple[int, ...]
    loss: Fraction
    parts: int
    bound: Fraction | None = None
    bound_parts: tuple[int, ...] = ()
    bound_strides: tuple[int, ...] = ()
    splits: bytes = b""
    dual_unit: Fraction = Fraction(1)
    duals: tuple[tuple[int, int, int, int], ...] = ()


@dataclass(frozen=True)
class BoxCase:
    """What a file says. Weights have one row for each lattice point, the last axis first."""

    sides: Point
    cells: tuple[int, ...]
    origin: Point
    metric: str
    degree: int
    halvings: int
    breaks: tuple[Point, ...]
    weights: tuple[tuple[int, ...], ...]
    outputs: tuple[Point, ...]
    promise: dict[str, Fraction]
    rate: Fraction
    claim: BoxClaim | None = None
    owed: bool = True

    @property
    def total(self) -> int:
        return sum(self.weights[0])

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(len(along) - 1 + self.degree for along in self.breaks)


def splines(breaks: Point, degree: int, cell: int, x: Fraction) -> tuple[list[Fraction], list[Fraction]]:
    """Values and slopes at x of all B-splines of an axis, of the polynomials that they are on one cell."""
    first, last = breaks[1] - breaks[0], breaks[-1] - breaks[-2]
    knots = [breaks[0] - 2 * first, breaks[0] - first, *breaks, breaks[-1] + last, breaks[-1] + 2 * last]
    levels = [[Fraction(int(k == cell + 2)) for k in range(len(knots) - 1)]]
    for d in range(1, degree + 1):
        low = levels[-1]
        levels.append([
            (x - knots[k]) / (knots[k + d] - knots[k]) * low[k]
            + (knots[k + d + 1] - x) / (knots[k + d + 1] - knots[k + 1]) * low[k + 1]
            for k in range(len(low) - 1)
        ])  # fmt: skip
    low = levels[-2]
    slopes = [
        degree * (low[k] / (knots[k + degree] - knots[k]) - low[k + 1] / (knots[k + degree + 1] - knots[k + 1]))
        for k in range(len(levels[-1]))
    ]
    start, count = 2 - degree, len(breaks) - 1 + degree
    return levels[-1][start : start + count], slopes[start : start + count]


def mixed(rows: list[list[Fraction]], column: list[int]) -> Fraction:
    """Σ over lattice points of the product of coefficients along the axes, times the column."""
    if not rows:
        return Fraction(column[0])
    size = len(column) // len(rows[0])
    blocks = (mixed(rows[1:], column[k * size : (k + 1) * size]) if c else Fraction(0) for k, c in enumerate(rows[0]))
    return sum((c * part for c, part in zip(rows[0], blocks)), Fraction(0))


def value_and_gradient(case: BoxCase, y: int, cell: tuple[int, ...], place: Point) -> tuple[Fraction, list[Fraction]]:
    """The weight of an output at a place, counted from the origin, and how it changes along each axis."""
    column = [row[y] for row in case.weights]
    along = [splines(b, case.degree, j, x) for b, j, x in zip(case.breaks, cell, place)]
    value = mixed([v for v, _ in along], column)
    slopes = [mixed([s if k == i else v for k, (v, s) in enumerate(along)], column) for i in range(len(along))]
    return value, slopes


def rate_ball(case: BoxCase) -> flint.arb:
    """ε as a ball."""
    if "alpha" in case.promise:
        return -ball(case.promise["alpha"]).log()
    return ball(case.promise["epsilon"])


def ball(value: Fraction) -> flint.arb:
    return flint.arb(value.numerator) / flint.arb(value.denominator)


def too_steep(case: BoxCase, value: Fraction, slopes: list[Fraction]) -> bool:
    """Whether the gradient is longer than ε times the value, in the dual norm, beyond doubt."""
    with flint.ctx.workprec(300):
        if case.metric == "euclidean":
            return bool(ball(sum((s * s for s in slopes), Fraction(0))) > (rate_ball(case) * ball(value)) ** 2)
        size = max(map(abs, slopes)) if case.metric == "manhattan" else sum(map(abs, slopes))
        return bool(ball(Fraction(size)) > rate_ball(case) * ball(value))


def distance(case: BoxCase, first: Point, second: Point, up: bool) -> Fraction:
    """The distance of two points, exactly or rounded by 2^-80."""
    lengths = [abs(a - b) for a, b in zip(first, second)]
    if case.metric != "euclidean":
        return (sum if case.metric == "manhattan" else max)(lengths)  # type: ignore[operator, return-value]
    square = sum((z * z for z in lengths), Fraction(0)) * 2**160
    root = math.isqrt(math.floor(square))
    return Fraction(root + (up and root * root != square), 2**80)


def truth(case: BoxCase) -> bool | None:
    """False where something that the file says is not so; None where nothing has been found."""
    if any(sum(row) != case.total for row in case.weights) or case.total <= 0:
        return False
    with flint.ctx.workprec(300):
        if ball(case.rate) > rate_ball(case):
            return False
    for cell in itertools.product(*(range(len(along) - 1) for along in case.breaks)):
        for shares in itertools.product((Fraction(0), Fraction(1, 2), Fraction(1)), repeat=len(cell)):
            place = tuple(b[j] + s * (b[j + 1] - b[j]) for b, j, s in zip(case.breaks, cell, shares))
            for y in range(len(case.outputs)):
                if too_steep(case, *value_and_gradient(case, y, cell, place)):
                    return False
    if case.claim is not None:
        if case.claim.loss < lost(case, case.claim, up=False):
            return False
        if case.claim.bound is not None and case.claim.bound > least_known(case, case.claim):
            return False
    return None


def pieces(case: BoxCase, axis: int, parts: int) -> list[tuple[int, int, Fraction, Fraction]]:
    """(cell of the lattice, cell of the box, start, stop) along an axis."""
    breaks, step = case.breaks[axis], case.sides[axis] / case.cells[axis]
    ends = sorted({*breaks, *(k * step for k in range(case.cells[axis] + 1))})
    found = []
    for low, high in itertools.pairwise(ends):
        inside = max(j for j, b in enumerate(breaks[:-1]) if b <= low), int(low / step)
        cuts = [low + (high - low) * k / parts for k in range(parts + 1)]
        found += [(*inside, a, b) for a, b in itertools.pairwise(cuts)]
    return found


def simpson(case: BoxCase, axis: int, piece: tuple[int, int, Fraction, Fraction], weigh: Any) -> list[Fraction]:
    """∫ B_v(x)·weigh(x) dx over a piece for all v, per length of a cell of the box; weigh is linear."""
    cell, _, a, b = piece
    width = (b - a) * case.cells[axis] / case.sides[axis]
    sums = [Fraction(0)] * case.shape[axis]
    for x, share in ((a, 1), ((a + b) / 2, 4), (b, 1)):
        values = splines(case.breaks[axis], case.degree, cell, x)[0]
        sums = [s + share * weigh(x) * v for s, v in zip(sums, values)]
    return [s * width / 6 for s in sums]


def lost(case: BoxCase, claim: BoxClaim, up: bool) -> Fraction:
    """The expected distance from above, by interpolation between corners, or from below, by Jensen's inequality."""
    total = Fraction(0)
    axes = [pieces(case, axis, claim.parts) for axis in range(len(case.sides))]
    for box in itertools.product(*axes):
        number = 0
        for (_, cell, _, _), cells in zip(box, case.cells):
            number = number * cells + cell
        if not claim.counts[number]:
            continue
        for y, output in enumerate(case.outputs):
            column = [row[y] for row in case.weights]
            total += claim.counts[number] * _over_piece(case, box, column, output, up)
    return total / case.total / sum(claim.counts)


def _over_piece(case: BoxCase, box: Any, column: list[int], output: Point, up: bool) -> Fraction:
    target = tuple(y - o for y, o in zip(output, case.origin))
    plain = [simpson(case, i, piece, lambda x: 1) for i, piece in enumerate(box)]
    mass = mixed(plain, column)
    if not up:
        if not mass:
            return mass
        first = [simpson(case, i, piece, lambda x: x) for i, piece in enumerate(box)]
        mean = tuple(mixed([*plain[:i], first[i], *plain[i + 1 :]], column) / mass for i in range(len(box)))
        return mass * distance(case, mean, target, False)
    total = Fraction(0)
    for ends in itertools.product((0, 1), repeat=len(box)):
        hats = [
            simpson(case, i, piece, lambda x, a=piece[2], b=piece[3], e=e: ((x - a) if e else (b - x)) / (b - a))
            for i, (piece, e) in enumerate(zip(box, ends))
        ]
        corner = tuple(piece[2 + e] for piece, e in zip(box, ends))
        total += mixed(hats, column) * distance(case, corner, target, True)
    return total


def least_known(case: BoxCase, claim: BoxClaim) -> Fraction:
    """An upper bound of the least loss on the box: of the file's mechanism, and of saying the middle to everybody."""
    middle = tuple(o + s / 2 for o, s in zip(case.origin, case.sides))
    rows = (case.total,) * len(case.weights)
    constant = BoxCase(**{**vars(case), "weights": tuple((w,) for w in rows), "outputs": (middle,)})
    return min(lost(case, claim, up=True), lost(constant, claim, up=True))
