"""Tables made smooth: a mechanism for the cells of a box becomes one for all its points, with the ε it then keeps.

A table that is private for the centres of cells promises nothing about two points on the two sides of a border. With
smooth random rounding in front it promises something for all points: the largest ratio ‖G‖ : F over the coefficients
of all cells and outputs. That is more than the ε of the table, by a part of second order in εh for centres (degree 2)
and of first order for corners (degree 1), and by more where columns fall steeply along one axis and then another.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from fractions import Fraction
from itertools import product
from math import floor, log10
from typing import Any

import numpy as np

from sfumato.arguments import integer, items
from sfumato.certify.coordinates import BoxMechanism, as_point, prove_on_box
from sfumato.certify.mechanism import Mechanism
from sfumato.errors import InvalidInput, Mismatch, NotSupported, PrivacyViolation, SolverError, expect, keyword, shown
from sfumato.numbers import Array, Floats
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import Box, as_box
from sfumato.spaces.splines import Rounding, bernstein_rows, dense, rounding_of

_SAME_PLACE = 1e-9  # Coordinates may miss a lattice by this share of a step.
_DIGITS = 6  # of the rate that is promised
_MOST_TRIES = 4  # rates rounded up once more, where floats were a little too small
# ε times the side of a cell that a smooth table may keep. Odds between two ends of a cell are then e^30, ten million
# million to one: whatever is promised, nothing is hidden inside of cells, and a larger number would promise less still.
_MOST_IN_A_CELL = 30.0
_COLUMNS = 64  # outputs whose coefficients are looked at together


def smooth(mechanism: Mechanism, box: Box, *, outputs: Sequence[Any] | None = None, halvings: int = 1) -> BoxMechanism:
    """A mechanism for all points of a box from a table for its lattice, with the ε that it then keeps.

    The points of the table's space are the centres of the cells of the box, or the corners of cells; a grid or a line
    with the step of the box, wherever it begins. Centres are followed by smooth rounding of degree 2, where points
    beyond the border have the rows of the nearest cells; corners by linear rounding. The promise of the result is about
    all points, at the least rate for which the conditions hold, rounded up to six digits: ``result.privacy.rate``
    beside ``mechanism.privacy.rate`` says what being smooth costs. Both are in the provenance.

    Parameters
    ----------
    outputs
        The points that the columns of the table stand for; by default those of the secrets with the same labels.
    halvings
        How often cells are halved before coefficients are compared; more give a slightly smaller rate.

    Raises
    ------
    Mismatch
        If the points of the table are neither the centres nor the corners of the cells.
    NotSupported
        If neighbours in the table differ so much that the ε that is kept, times the side of a cell, is more than 30: it
        grows as sinh(εh), so that finer tables keep an ε close to their own.

    Examples
    --------
    >>> from sfumato.mechanisms.exponential import exponential
    >>> from sfumato.spaces import grid
    >>> from sfumato.spaces.box import box
    >>> table = exponential(PrivacyType(grid(4, 4, step="1/2"), epsilon=1))
    >>> found = smooth(table, box((2, 2), step="1/2"))
    >>> found
    BoxMechanism(6 × 6 lattice points → 16 outputs, PrivacyType(box(2 × 2, euclidean), epsilon=0.775822), proved)
    """
    mechanism = expect(mechanism, Mechanism, "a mechanism", "prove(channel, privacy) makes one")
    box, halvings = as_box(box), integer(halvings, "the number of halvings", 0, 4)
    units = mechanism.privacy.space.unit, box.unit
    if units[0] != units[1]:
        table, there = (shown(unit) if unit else "no unit" for unit in units)
        raise InvalidInput(f"distances of the table are in {table}, those of the box in {there}: give both one unit")
    places, degree = _places(mechanism, box)
    rounding = rounding_of(box, 1, degree)
    rows = _rows(places, rounding)
    points = _points(mechanism, places, degree, box, outputs)
    weights = mechanism.weights[rows]
    needed = steepest(weights, rounding, halvings)
    _check_kept(needed, mechanism, box)
    merged, labels = merged_columns(weights, points)
    for rate in _rates(needed):
        notes = mechanism.provenance | {
            "made by": "smooth", "epsilon of the table": str(mechanism.privacy.rate), "epsilon": str(float(rate)),
        }  # fmt: skip
        with suppress(PrivacyViolation):
            promise = PrivacyType(box, epsilon=rate)
            return prove_on_box(merged, promise, rounding, labels, halvings=halvings, provenance=notes)
    raise SolverError(f"a rate of {needed:g} per unit of distance was not enough")


def _check_kept(needed: float, mechanism: Mechanism, box: Box) -> None:
    """Refuse a rate with which nothing is hidden inside of a cell; none at all where a chance of 0 meets another."""
    side, rate = float(min(box.step)), mechanism.privacy.rate
    if needed * side <= _MOST_IN_A_CELL:
        return
    raise NotSupported(
        f"a smooth table that keeps an epsilon of {needed:.3g}, {needed * side:.3g} for a cell, made of one with "
        f"{rate:.3g}, {rate * side:.3g} for a cell",
        [f"at most {_MOST_IN_A_CELL:g} for a cell: a table of finer cells, with sides of about {1 / rate:.3g}",
         "or one with a smaller epsilon"],
    )  # fmt: skip


def _rates(needed: float) -> list[Fraction]:
    """Short rationals from what is needed on."""
    unit = Fraction(10) ** (floor(log10(needed)) + 1 - _DIGITS) if needed > 0 else Fraction(1, 10**_DIGITS)
    first = max(1, int(np.ceil(needed / float(unit))))
    return [(first + extra) * unit for extra in range(_MOST_TRIES)]


def steepest(weights: Array, rounding: Rounding, halvings: int) -> float:
    """The largest ratio ‖G‖ : F over all coefficients and outputs, in floats.

    A proved table has no chance of 0 beside another one, so that F is 0 only where G is.
    """
    along = []
    for axis in rounding.axes:
        values, slopes = bernstein_rows(axis, halvings)
        along.append((dense(values, len(axis)), dense(slopes, len(axis))))
    k, worst = len(along), 0.0
    for start in range(0, weights.shape[1], _COLUMNS):
        columns = np.asarray(weights[:, start : start + _COLUMNS], dtype=np.float64)
        columns = columns.reshape(*rounding.shape, -1) / columns.max()
        tables = [_turned(columns, [pair[int(i == j)] for j, pair in enumerate(along)]) for i in range(-1, k)]
        size = dual_norm(np.stack(tables[1:]), rounding.box.metric)
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.where(size > 0, size / tables[0], 0.0)
        worst = max(worst, float(ratios.max()))
    return worst


def _turned(columns: Floats, forms: list[Floats]) -> Floats:
    for axis, form in enumerate(forms):
        columns = np.moveaxis(np.tensordot(form, columns, axes=(1, axis)), 0, axis)
    return columns


def dual_norm(parts: Floats, metric: str) -> Floats:
    """The norm, along the first axis, in which slopes are measured where distances are measured in the given one."""
    if metric == "euclidean":
        return np.asarray(np.sqrt((parts**2).sum(axis=0)))
    sizes = np.abs(parts)
    return np.asarray(sizes.max(axis=0) if metric == "manhattan" else sizes.sum(axis=0))


def _places(mechanism: Mechanism, box: Box) -> tuple[Array, int]:
    """Where each secret is on the lattice, in steps along the axes, and the degree of the rounding."""
    space = mechanism.privacy.space
    where = space.coordinates
    refusal = Mismatch(
        "points of a table and of a box", box.shape, (len(space),),
        f"the {len(space)} points of {space.name} are neither the centres nor the corners of the cells of {box.name}: "
        f"they must be a full grid of {' × '.join(map(str, box.shape))} points (or one more along each axis) with "
        f"steps of {', '.join(map(str, box.step))}",
    )  # fmt: skip
    if where is None or where.shape[1] != box.dimension:
        raise refusal
    steps = (where - where.min(axis=0)) / np.array([float(step) for step in box.step])
    places = np.rint(steps).astype(np.int64)
    found = tuple((places.max(axis=0) + 1).tolist())
    if np.abs(steps - places).max() > _SAME_PLACE or len({*map(tuple, places.tolist())}) != len(space):
        raise refusal
    for degree, shape in ((2, box.shape), (1, tuple(n + 1 for n in box.shape))):
        if found == shape and len(space) == np.prod(shape):
            return places, degree
    raise refusal


def _rows(places: Array, rounding: Rounding) -> Array:
    """The row of the table for each lattice point: its own, or that of the nearest where there is none."""
    number = {tuple(place): i for i, place in enumerate(places.tolist())}
    last = places.max(axis=0).tolist()
    beyond = rounding.degree - 1  # centres have one more ring of lattice points around them
    return np.array([
        number[tuple(min(max(v - beyond, 0), n) for v, n in zip(point, last, strict=True))]
        for point in product(*map(range, rounding.shape))
    ])  # fmt: skip


def _points(
    mechanism: Mechanism, places: Array, degree: int, box: Box, outputs: Sequence[Any] | None
) -> list[tuple[Fraction, ...]]:
    """The point that each column stands for."""
    if outputs is not None:
        given = items(outputs, "the outputs")
        if len(given) != len(mechanism.outputs):
            raise InvalidInput(f"{len(given)} points for the {len(mechanism.outputs)} outputs of the table")
        return [as_point(point, box) for point in given]
    number = {label: i for i, label in enumerate(mechanism.secrets)}
    unknown = [label for label in mechanism.outputs if label not in number]
    if unknown:
        raise InvalidInput(
            f"output {shown(unknown[0])} of the table is no point of its space: {keyword('outputs')} says where"
        )
    found = []
    for y in mechanism.outputs:
        steps = [Fraction(2 * v + degree - 1, 2) for v in places[number[y]].tolist()]
        found.append(tuple(o + step * v for o, step, v in zip(box.origin, box.step, steps, strict=True)))
    return found


def merged_columns(weights: Array, points: list[tuple[Fraction, ...]]) -> tuple[Array, list[Any]]:
    """Columns of one point added up."""
    index: dict[tuple[Fraction, ...], int] = {}
    for point in points:
        index.setdefault(point, len(index))
    if len(index) == len(points):
        table = weights
    else:
        table = np.zeros((len(weights), len(index)), dtype=object)
        for y, point in enumerate(points):
            table[:, index[point]] += weights[:, y]
    return table, [point if len(point) > 1 else point[0] for point in index]
