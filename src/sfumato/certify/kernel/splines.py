"""What rounding with B-splines makes of a table on a lattice: Bernstein's coefficients, and gradients beside values."""

import itertools
import math
import operator
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from sfumato.certify.kernel.sections import Sections, reader
from sfumato.certify.kernel.values import CoordinatesHeader, Lattice

AT_ONCE = 1 << 16  # Bernstein coefficients that are held at a time
Form = dict[int, Any]
"""A linear form of the lattice along an axis: its coefficients, those that are not zero, by lattice point."""


def cell_forms(breaks: Sequence[Fraction], degree: int, j: int) -> tuple[list[Form], list[Form]]:
    """What rounding makes of the lattice on cell j of an axis, in Bernstein's basis: values, and slopes of one degree
    more than they have. The cells beyond the ends are as wide as their neighbours.
    """
    before, here, after = (breaks[k + 1] - breaks[k] for k in (max(j - 1, 0), j, min(j + 1, len(breaks) - 2)))
    if degree == 1:
        return [{j: Fraction(1)}, {j + 1: Fraction(1)}], [{j: -1 / here, j + 1: 1 / here}] * 2
    low, high = before + here, here + after
    values = [{j: here / low, j + 1: before / low}, {j + 1: Fraction(1)}, {j + 1: after / high, j + 2: here / high}]
    left, right = {j: -2 / low, j + 1: 2 / low}, {j + 1: -2 / high, j + 2: 2 / high}
    return values, [left, between(left, right, Fraction(1, 2)), right]


def between(first: Form, second: Form, share: Fraction) -> Form:
    """(1 − share) · first + share · second."""
    mixed = {v: (1 - share) * first.get(v, 0) + share * second.get(v, 0) for v in (first | second)}
    return {v: coefficient for v, coefficient in mixed.items() if coefficient}


def on_part(forms: list[Form], start: Fraction, stop: Fraction) -> list[Form]:
    """Bernstein's coefficients on a part of a cell, whose ends lie at 0 and 1: de Casteljau, once for each end."""
    result = []
    for upper in range(len(forms)):
        level = forms
        for place in [start] * (len(forms) - 1 - upper) + [stop] * upper:
            level = [between(a, b, place) for a, b in itertools.pairwise(level)]
        result.append(level[0])
    return result


def axis_forms(breaks: Sequence[Fraction], degree: int, halvings: int) -> list[tuple[int, Form, Form]]:
    """(cell, value, slope) for all coefficients along an axis, in integers: the two forms of a coefficient have one
    denominator, which is left out, since values and gradients are compared with one another alone.
    """
    result: list[tuple[int, Form, Form]] = []
    pieces = 1 << halvings
    for j in range(len(breaks) - 1):
        forms = cell_forms(breaks, degree, j)
        for k in range(pieces):
            ends = Fraction(k, pieces), Fraction(k + 1, pieces)
            for value, slope in zip(*(on_part(of, *ends) for of in forms), strict=True):
                common = math.lcm(*(c.denominator for c in (*value.values(), *slope.values())))
                flat, steep = ({v: int(c * common) for v, c in form.items()} for form in (value, slope))
                if not result or result[-1][1:] != (flat, steep):  # neighbouring pieces share one, in degree 2
                    result.append((j, flat, steep))
    return result


def combined(form: Form, blocks: list[list[int]]) -> list[int]:
    """The form of blocks of numbers, number by number."""
    terms = [(coefficient, blocks[v]) for v, coefficient in form.items()]
    if len(terms) == 3:
        (a, first), (b, second), (c, third) = terms
        return [a * x + b * y + c * z for x, y, z in zip(first, second, third, strict=True)]
    result = [0] * len(blocks[0])
    for coefficient, block in terms:
        result = [r + coefficient * x for r, x in zip(result, block, strict=True)]
    return result


def cut(values: list[int], count: int) -> list[list[int]]:
    """So many blocks of one size."""
    size = len(values) // count
    return [values[k : k + size] for k in range(0, len(values), size)]


def turned(forms: list[Form], values: list[int], count: int) -> list[int]:
    """The forms along the first axis of a table, which has ``count`` numbers; it becomes the last axis."""
    blocks = cut(values, count)
    return list(itertools.chain.from_iterable(zip(*(combined(form, blocks) for form in forms), strict=True)))


def gradients(column: list[int], axes: list[list[tuple[int, Form, Form]]], shape: Sequence[int]) -> Iterator[Any]:
    """Bernstein's coefficients of one output: [values, slopes along the first axis, …], block by block, each a table
    over the last two axes at most. With it come the number of the coefficient along the first of three axes, and where
    the block begins in the table of all coefficients along the others.
    """
    starts: Any = [((), [column])]
    if len(axes) == 3:
        blocks = cut(column, shape[0])
        starts = (((c,), [combined(form, blocks) for form in both]) for c, (_, *both) in enumerate(axes[0]))
    (leading, *others), counts = axes[-2:], shape[-2:]
    across = math.prod(map(len, others))
    for first, plain in starts:
        for start, some in some_at_a_time(leading, across):
            tables = plain
            for coefficients, count in zip((some, *others), counts, strict=True):
                values, slopes = ([both[k] for _, *both in coefficients] for k in (0, 1))
                steeper = turned(slopes, tables[0], count)
                tables = [turned(values, table, count) for table in tables] + [steeper]
            yield first, start, tables


def some_at_a_time(forms: list[Any], across: int) -> Iterator[tuple[int, list[Any]]]:
    """Forms of an axis in blocks that make tables of limited size, and where each block begins in the whole table."""
    step = max(1, AT_ONCE // across)
    return ((k * across, forms[k : k + step]) for k in range(0, len(forms), step))


def too_steep(metric: str, tables: list[list[int]], rate: Fraction) -> int | None:
    """Where a gradient is larger than rate times the value, in the dual norm; the first such coefficient, or None."""
    (values, *slopes), (p, q) = tables, rate.as_integer_ratio()
    if metric == "euclidean":
        squares = map(sum, zip(*(map(operator.mul, slope, slope) for slope in slopes), strict=True))
        p, q, values = p * p, q * q, list(map(operator.mul, values, values))
    else:
        dual: Any = max if metric == "manhattan" else sum
        squares = map(dual, zip(*(map(abs, slope) for slope in slopes), strict=True))
    return next((c for c, (f, g) in enumerate(zip(values, squares, strict=True)) if q * g > p * f), None)


def lattice_forms(lattice: Lattice) -> list[list[tuple[int, Form, Form]]]:
    """The coefficients along each axis."""
    return [axis_forms(breaks, lattice.degree, lattice.halvings) for breaks in lattice.breaks]


def column_of(header: CoordinatesHeader, sections: Sections, y: int) -> list[int]:
    """The weights of one output at all points of the lattice."""
    m, width = len(header.outputs), header.widths["weights"]
    read = reader(sections["weights"], width)
    return [read(k) for k in range(y, len(header.secrets) * m, m)]
