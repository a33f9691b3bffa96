"""Proves the promise about all points of a box: no output becomes likelier faster than the rate allows."""

import math
from fractions import Fraction
from typing import Any

from sfumato.certify.kernel.box_bounds import check_box_bound
from sfumato.certify.kernel.box_losses import check_box_loss
from sfumato.certify.kernel.errors import Refuted, apart, brief, named
from sfumato.certify.kernel.pairs import check_sums
from sfumato.certify.kernel.promise import check_frame
from sfumato.certify.kernel.sections import Sections, place_of
from sfumato.certify.kernel.splines import column_of, gradients, lattice_forms, too_steep
from sfumato.certify.kernel.values import CoordinatesHeader, Proved


def check_coordinates(header: CoordinatesHeader, sections: Sections) -> Proved:
    """Rounding makes Σ_v B_v(x)·N[v][y] / T of the rows of the lattice, B-splines B_v. On a part of a cell, value and
    gradient at x are the same mixture of Bernstein's coefficients (F, G). ‖G‖* ≤ rate·F is a convex condition: if all
    coefficients satisfy it, ‖gradient‖* ≤ rate·value holds at all points, and along any segment in the box the
    logarithm of the value changes by at most rate times its length.
    """
    check_frame(header)
    count, m, metric = len(header.secrets), len(header.outputs), header.box.metric
    check_sums(header, sections)
    axes, shape = lattice_forms(header.lattice), header.lattice.shape
    for y in range(m):
        for first, start, tables in gradients(column_of(header, sections, y), axes, shape):
            place = too_steep(metric, tables, header.promise.rate)
            if place is not None:
                found = [table[place] for table in tables]
                raise steepness(header, axes, y, first, start + place, found)
    cells = math.prod(len(breaks) - 1 for breaks in header.lattice.breaks)
    proved: Proved = {"secrets": count, "outputs": m, "total": header.total, "pairs": 0, "implied": 0, "open": 0}
    proved |= {"cells": cells, "comparisons": m * math.prod(map(len, axes))}
    if header.claims is not None:
        proved["loss"] = check_box_loss(header, sections)
    if header.claims is not None and header.claims.bound is not None:
        proved["bound"] = check_box_bound(header, sections)
    return proved


def steepness(
    header: CoordinatesHeader, axes: Any, y: int, first: tuple[int, ...], place: int, found: list[int]
) -> Refuted:
    """The output and the cell in which its probability grows too fast: value and slopes of a coefficient."""
    value, *slopes = found
    numbers = place_of(place, list(map(len, axes[len(first) :])))
    cell = [coefficients[k][0] for coefficients, k in zip(axes, (*first, *numbers), strict=True)]
    origin, breaks, rate = header.box.origin, header.lattice.breaks, header.promise.rate
    corners = [[o + b[j + up] for o, b, j in zip(origin, breaks, cell, strict=True)] for up in (0, 1)]
    if header.box.metric == "euclidean":
        size = Fraction(math.isqrt(sum(slope * slope for slope in slopes) << 128), 1 << 64)
    else:
        size = Fraction((max if header.box.metric == "manhattan" else sum)(map(abs, slopes)))
    fast = f"at a rate of {apart(size / value, rate)[0]}" if value else "from zero"
    where = " to ".join("({})".format(", ".join(map(brief, corner))) for corner in corners)
    return Refuted(
        f"output {named(header.outputs[y])} becomes likelier {fast} in the cell from {where}, at most "
        f"{brief(rate)} is allowed",
        [[{"fraction": str(x)} for x in corner] for corner in corners], header.outputs[y],
        size / value if value else math.inf, rate,
    )  # fmt: skip
