"""Proves that an expected distance on a box is at most what is claimed: integrals of B-splines times hat functions."""

import bisect
import functools
import itertools
import math
import operator
from array import array
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from typing import Any

from sfumato.certify.kernel.arithmetic import over_one_grain, remembered, root, with_denominator
from sfumato.certify.kernel.errors import Refuted, Unreadable, apart
from sfumato.certify.kernel.sections import Sections, integers
from sfumato.certify.kernel.splines import Form, cell_forms, column_of, combined, cut, on_part, some_at_a_time, turned
from sfumato.certify.kernel.values import CoordinatesHeader, distance_claim

HATS = {  # integrals over a piece of Bernstein's polynomials times the two hat functions, as parts of its length
    1: ((Fraction(1, 3), Fraction(1, 6)), (Fraction(1, 6), Fraction(1, 3))),
    2: ((Fraction(1, 4), Fraction(1, 6), Fraction(1, 12)), (Fraction(1, 12), Fraction(1, 6), Fraction(1, 4))),
}
ROOT = 48  # binary digits after the point of a root


def axis_moments(
    breaks: Sequence[Fraction], degree: int, cells: int, parts: int
) -> tuple[list[Form], int, Any, list[int]]:
    """Integrals of B-splines times hat functions along an axis, on pieces between breaks and borders of cells, each cut
    into parts: two forms a part, for its lower and its upper end, in units of a cell / grain, rounded up if that is too
    coarse; the grain; where the ends lie; in which cell each part lies.
    """
    step = breaks[-1] / cells
    borders, ends = sorted({*breaks, *(k * step for k in range(cells))}), []
    exact: dict[tuple[int, int], Fraction] = {}
    places: list[int] = []
    for low, high in itertools.pairwise(borders):
        j = bisect.bisect(breaks, low) - 1
        width, values = breaks[j + 1] - breaks[j], cell_forms(breaks, degree, j)[0]
        for k in range(parts):
            start, stop = (low + (high - low) * Fraction(i, parts) for i in (k, k + 1))
            along = on_part(values, (start - breaks[j]) / width, (stop - breaks[j]) / width)
            for up, hat in enumerate(HATS[degree]):
                for share, form in zip(hat, along, strict=True):
                    for v, c in form.items():
                        where = 2 * len(places) + up, v
                        exact[where] = exact.get(where, Fraction(0)) + share * c * (stop - start) / step
            ends.append(start)
            places.append(int(low / step))
    rounded, grain = over_one_grain(exact)
    forms: list[Form] = [{} for _ in range(2 * len(places))]
    for (number, v), value in rounded.items():
        forms[number][v] = value
    return forms, grain, [*ends, breaks[-1]], places


def check_box_loss(header: CoordinatesHeader, sections: Sections) -> Fraction:
    """An upper bound of ∫ Σ_y M(x)(y)·‖y − x‖ π(x) dx, for a density π that is constant on cells. On a box a convex
    function lies below what is interpolated between its corners: a sum of hat functions, whose products with B-splines
    are integrated axis by axis, exactly. Only roots are rounded, and lengths with more than 1024 digits.
    """
    return claimed_loss(header, box_loss(header, sections))


def claimed_loss(header: CoordinatesHeader, value: Fraction) -> Fraction:
    """The loss that is claimed, which is not below what was proved."""
    claimed = distance_claim(header).loss
    if value > claimed:
        raise Refuted("the loss is proved to be at most {}, not {} as claimed".format(*apart(value, claimed)))
    return claimed


def box_loss(header: CoordinatesHeader, sections: Sections) -> Fraction:
    """The upper bound that ``check_box_loss`` compares with the claim."""
    box, shape = header.box, header.lattice.shape
    axes, counts = loss_axes(header), box_counts(header, sections)
    lengths_of, scale = rods(header, axes)
    weigh, total = spread(axes, box.cells, counts), 0
    for y, point in enumerate(header.points):
        lengths = lengths_of(point)
        around = reaches(box.metric, lengths)
        for first, start, table in moments(column_of(header, sections, y), axes, shape):
            reach = around((first[0] + 1) // 2 if first else None)
            shares, spots = weigh(first, start, len(table))
            total += sum(map(operator.mul, map(operator.mul, table, shares), map(reach.__getitem__, spots)))
    return Fraction(total, scale * math.prod(grain for _, grain, _, _ in axes) * header.total * sum(counts))


def loss_axes(header: CoordinatesHeader) -> list[Any]:
    """``axis_moments`` of all axes."""
    lattice, cells, pieces = header.lattice, header.box.cells, distance_claim(header).parts
    return [
        axis_moments(breaks, lattice.degree, count, pieces) for breaks, count in zip(lattice.breaks, cells, strict=True)
    ]


def box_counts(header: CoordinatesHeader, sections: Sections) -> list[int]:
    """The count of each cell of a box."""
    counts = integers(sections["prior"], header.widths["prior"], 0, math.prod(header.box.cells))
    if not any(counts):
        raise Unreadable("a prior has no weight")
    return counts


def rods(header: CoordinatesHeader, axes: list[Any]) -> tuple[Callable[[tuple[Fraction, ...]], list[list[int]]], int]:
    """A function from an output to its distances from the nodes along each axis, in whole parts, rounded up where these
    are too coarse; and how many of the units of ``norms`` make 1.
    """
    box = header.box
    nodes = [[start + end for end in ends] for start, (_, _, ends, _) in zip(box.origin, axes, strict=True)]
    fine = functools.reduce(with_denominator, itertools.chain(*nodes, *header.points), 1)

    @remembered
    def along(axis: int, x: Fraction) -> list[int]:
        return [math.ceil(abs(x - node) * fine) for node in nodes[axis]]

    scale = fine << (ROOT if box.metric == "euclidean" else 0)
    return lambda point: list(itertools.starmap(along, enumerate(point))), scale


def moments(column: list[int], axes: Any, shape: Sequence[int]) -> Iterator[tuple[tuple[int, ...], int, list[int]]]:
    """The forms of all axes applied to an output's weights, block by block, as in ``gradients``."""
    starts: Any = [((), column)]
    if len(axes) == 3:
        blocks = cut(column, shape[0])
        starts = (((k,), combined(form, blocks)) for k, form in enumerate(axes[0][0]))
    (leading, *others), counts = [forms for forms, *_ in axes[-2:]], shape[-2:]
    for first, plain in starts:
        for start, some in some_at_a_time(leading, math.prod(map(len, others))):
            table = plain
            for forms, count in zip((some, *others), counts, strict=True):
                table = turned(forms, table, count)
            yield first, start, table


def spread(axes: Any, cells: Sequence[int], counts: list[int]) -> Callable[..., tuple[Iterator[int], Iterator[int]]]:
    """For a block of ``moments``: the count of the cell that each number belongs to, and its node."""
    last = [(places, len(ends), count) for (_, _, ends, places), count in zip(axes[-2:], cells[-2:], strict=True)]
    spots, inside = array("Q", [0]), array("Q", [0])
    for places, ends, count in last:
        twice = range(2 * len(places))
        spots = array("Q", (spot * ends + (k + 1) // 2 for spot in spots for k in twice))
        inside = array("Q", (cell * count + places[k // 2] for cell in inside for k in twice))

    def block(first: tuple[int, ...], start: int, size: int) -> tuple[Iterator[int], Iterator[int]]:
        skipped = (axes[0][3][first[0] // 2] if first else 0) * math.prod(cells[-2:])
        return (counts[skipped + cell] for cell in inside[start : start + size]), iter(spots[start : start + size])

    return block


def reaches(metric: str, lengths: list[list[int]]) -> Callable[[int | None], list[int]]:
    """A function from a node along the first of three axes to the ``norms`` over the others; the latest is kept."""

    @functools.lru_cache(maxsize=1)
    def around(node: int | None) -> list[int]:
        return norms(metric, [0 if node is None else lengths[0][node]], lengths[-2:])

    return around


def norms(metric: str, start: list[int], lengths: list[list[int]]) -> list[int]:
    """The norms of all offsets with these lengths along the axes; Euclidean ones in units of 2^-ROOT, rounded up."""
    if metric == "euclidean":
        squares = [a * a for a in start]
        for along in lengths:
            squares = [a + b for a in squares for b in [length * length for length in along]]
        return [root(square << (2 * ROOT), True) for square in squares]
    result, join = start, max if metric == "chebyshev" else operator.add
    for along in lengths:
        result = [join(a, b) for a in result for b in along]
    return result
