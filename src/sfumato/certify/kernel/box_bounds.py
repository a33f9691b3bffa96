"""Proves a bound for all mechanisms on a box, by a finite problem that none of them does better than."""

import itertools
import math
import operator
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from sfumato.certify.kernel.arithmetic import divided, remembered, root, shifted
from sfumato.certify.kernel.bounds import check_bound
from sfumato.certify.kernel.errors import Unreadable
from sfumato.certify.kernel.promise import map_promise
from sfumato.certify.kernel.sections import Sections, place_of
from sfumato.certify.kernel.values import (
    CoordinatesHeader,
    Grid,
    Header,
    LossClaim,
    Metric,
    WrittenBox,
    bound_of,
    distance_claim,
)

NORMS = {"euclidean": "root", "manhattan": "rational", "chebyshev": "rational"}  # the form of distances between places
DEEPEST = 6  # halvings of a cube
BITS = 24  # binary digits of the longest distance in units of a lowered loss: compiled twins have 64 bits
RATIO = 12  # binary digits after the point of a ratio of squares


class LoweredLosses:
    """Secrets, outputs and losses of a finite problem that no mechanism on a box does better than.

    Let secrets be the lower corners of cells, each cell of the box cut into parts. Shifted by any one vector of a cell
    they are points of the box with the same masses, and a mechanism on the box is one on them; the mean of these over
    all shifts, with outputs shifted back, is a mechanism with the same loss. An output may be moved to the bounding box
    of the secrets, which brings it closer to all of them, and then be rounded at random, multilinearly, to the corners
    of a cube Q that contains it. That costs at most e_x(Q), the most by which the interpolated norm of y − x exceeds
    the norm in Q. So ‖c − x‖, less the largest e_x(Q) of the cubes Q with corner c, is a loss of corners that asks no
    more of any mechanism than what it loses. Cubes lie between neighbouring secrets and may be halved along all axes.

    Secrets whose places differ by multiples of ``strides`` are a class with a finite problem of its own: the same one,
    shifted, with other masses. A mechanism loses the sum of what it loses on the classes.
    """

    def __init__(self, box: WrittenBox, parts: Sequence[int], splits: Any, strides: Sequence[int] = ()) -> None:
        self.metric, self.fine = box.metric, list(map(operator.mul, box.cells, parts))
        self.strides = strides or [1] * len(parts)
        self.shape = list(map(operator.floordiv, self.fine, self.strides))
        cubes, self.depth = cubes_of(splits, self.shape)
        self.steps = [side / n for side, n in zip(box.sides, self.shape, strict=True)]
        ends = [(n - 1) << self.depth for n in self.shape]
        self.unit, self.below, self.above = rulers([step / (1 << self.depth) for step in self.steps], ends)
        ups = list(itertools.product((0, 1), repeat=len(ends)))
        touched = [(w, low, [tuple(map(operator.add, low, (w * u for u in up))) for up in ups]) for w, low in cubes]
        self.corners = sorted({corner for _, _, around in touched for corner in around})
        numbers = {corner: k for k, corner in enumerate(self.corners)}
        self.cubes = [(width, low, [numbers[corner] for corner in around]) for width, low, around in touched]
        self.norm, self.bend = remembered(self.norm_of), remembered(self.bend_of)

    def column(self, x: int) -> list[int]:
        """What a secret loses at every corner, in units."""
        places = map(operator.floordiv, place_of(x, self.fine), self.strides)
        secret = [place << self.depth for place in places]
        lost = [self.norm(tuple(abs(c - s) for c, s in zip(corner, secret, strict=True))) for corner in self.corners]
        bent = [0] * len(lost)
        for width, low, numbers in self.cubes if self.metric != "manhattan" else []:
            # a cube lies on one side of a secret along each axis; its near end is what counts
            near = tuple(c - s if c >= s else s - c - width for c, s in zip(low, secret, strict=True))
            bend = self.bend((width, near))
            for number in numbers:
                bent[number] = max(bent[number], bend)
        return list(map(operator.sub, lost, bent))

    def norm_of(self, offset: tuple[int, ...]) -> int:
        """The norm of an offset, rounded down."""
        return self.size([ruler[k] for ruler, k in zip(self.below, offset, strict=True)], False)

    def size(self, lengths: list[int], up: bool) -> int:
        """The norm of lengths along the axes, rounded down or up."""
        if self.metric == "euclidean":
            return root(sum(length * length for length in lengths), up)
        return int(sum(lengths) if self.metric == "manhattan" else max(lengths))

    def bend_of(self, cube: tuple[int, tuple[int, ...]]) -> int:
        """e_x(Q), or more, for a cube of some width whose near ends are so far from x along the axes.

        For u in the dual ball ‖z‖ ≥ u·z, and a multilinear function less a linear one is largest at a corner; u is the
        direction of the centre, or for the maximum norm the mean of some axes. Also, interpolation along an axis of
        length g errs by at most g²/8 of the second derivative, Σ_{j≠i} z_j² / ‖z‖³ for the Euclidean norm.
        """
        width, near = cube
        low = [(ruler[k], ruler[k + width]) for ruler, k in zip(self.below, near, strict=True)]
        high = [(ruler[k], ruler[k + width]) for ruler, k in zip(self.above, near, strict=True)]
        corners = list(zip(itertools.product(*low), itertools.product(*high), strict=True))

        def tangent(u: Any, length: int) -> int:
            return max(self.size(list(c), True) - int(sum(map(operator.mul, u, z))) // length for z, c in corners)

        if self.metric == "chebyshev":
            return min(tangent(u, sum(u)) for u in itertools.product((0, 1), repeat=len(low)) if any(u))
        centre = [a + b for a, b in low]
        result = tangent(centre, max(1, self.size(centre, True)))
        nearest, sides = sum(a * a for a, _ in low), [ruler[width] for ruler in self.above]
        if nearest < max(1, sum(side * side for side in sides)):
            return result
        squares, curved = [b * b for _, b in high], 0
        for side, square in zip(sides, squares, strict=True):
            ratio = divided((sum(squares) - square) << RATIO, nearest, True)
            curved += divided(shifted(side * side * ratio, RATIO + 3, True), math.isqrt(nearest), True)
        return min(result, curved)


def cubes_of(splits: Any, shape: list[int]) -> tuple[list[tuple[int, tuple[int, ...]]], int]:
    """(width, lower corner) of every cube that is used, in units of the smallest, and how often that one is halved.

    Cubes between neighbouring secrets come in the order of their places, the last axis first; each has a 0, or a 1
    that its halves follow, depth first.
    """
    ups = list(itertools.product((0, 1), repeat=len(shape)))
    used: list[tuple[int, tuple[int, ...]]] = []
    read = iter(splits)
    for start in itertools.product(*(range(n - 1) for n in shape)):
        pending = [(0, start)]
        while pending:
            depth, low = pending.pop()
            split = next(read, 2)
            if split > 1 or depth + split > DEEPEST:
                raise Unreadable("the splits of cubes describe no covering")
            if split:
                pending += [(depth + 1, tuple(2 * c + u for c, u in zip(low, up, strict=True))) for up in reversed(ups)]
            else:
                used.append((depth, low))
    if next(read, None) is not None:
        raise Unreadable("the splits of cubes describe no covering")
    deepest = max(depth for depth, _ in used)
    widths = [1 << (deepest - depth) for depth in range(deepest + 1)]
    return [(widths[depth], tuple(c * widths[depth] for c in low)) for depth, low in used], deepest


def rulers(grid: list[Fraction], ends: list[int]) -> tuple[Fraction, list[list[int]], list[list[int]]]:
    """A unit, and the multiples of a length along each axis in it, rounded down and up; nothing is rounded where the
    sum of the longest stays below 2^BITS so.
    """
    denominator = math.lcm(*(length.denominator for length in grid))
    common = Fraction(math.gcd(*(int(length * denominator) for length in grid)), denominator)
    extent = sum((length * end for length, end in zip(grid, ends, strict=True)), Fraction(0))
    spare = BITS - int(extent / common).bit_length()
    unit = common / (1 << spare) if spare >= 0 else extent / ((1 << BITS) - 4)
    ratios = [(length / unit).as_integer_ratio() for length in grid]
    multiples = [[(k * p, q) for k in range(end + 1)] for (p, q), end in zip(ratios, ends, strict=True)]
    below, above = ([[divided(*both, up) for both in along] for along in multiples] for up in (False, True))
    return unit, below, above


def check_box_bound(header: CoordinatesHeader, sections: Sections) -> Fraction:
    """No mechanism on the box has less: the dual numbers prove it for the finite problem."""
    claims = distance_claim(header)
    losses = LoweredLosses(header.box, claims.bound_parts, sections["splits"], claims.bound_strides)
    finite, found = finite_problem(header, sections, losses.fine, len(losses.corners))
    return check_bound(finite, found, losses)


def finite_problem(
    header: CoordinatesHeader, sections: Sections, shape: Sequence[int], corners: int
) -> tuple[Header, Sections]:
    """The finite problem as a file of its own: its dual numbers, the counts of cells in equal parts, its distances."""
    box, claims, width = header.box, distance_claim(header), header.widths["prior"]
    counts = memoryview(bytes(sections["prior"]))
    cells = [0]
    for n, part in zip(box.cells, claims.bound_parts, strict=True):
        cells = [cell * n + k for cell in cells for k in range(n) for _ in range(part)]
    steps = [side / n for side, n in zip(box.sides, shape, strict=True)]
    denominator = math.lcm(*(step.denominator for step in steps))
    whole = [int(step * denominator) for step in steps]
    common = math.gcd(*whole)
    unit, strides = Fraction(common, denominator), claims.bound_strides
    grid = Grid(box.metric, tuple(step // common for step in whole), tuple(shape), strides)
    metric = Metric(NORMS[box.metric], unit, "box", grid=grid)
    proposed = LossClaim(
        "loss", Fraction(0), Fraction(1), "", range(corners), "expected", (), bound_of(claims), claims.dual_unit
    )
    finite = Header(
        range(math.prod(shape)), range(1), header.total, header.space, metric, map_promise(header), (), proposed, None,
        header.widths,
    )  # fmt: skip
    split = b"".join(counts[cell * width : (cell + 1) * width] for cell in cells)
    return finite, {**sections, "prior": split, "loss": b""}
