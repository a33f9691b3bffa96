"""Laplace noise for coordinates, drawn on a lattice and proved: the same everywhere in a box, however large.

Of all densities with |∇f| ≤ εf the one that stays nearest is e^{−ε‖z‖}, with expected distance k/ε in k dimensions. On
a lattice of step h, behind smooth rounding, an exponential column e^{−p·o} keeps the conditions of
:mod:`sfumato.certify.noise` where ‖(q(p₁)/h₁, …)‖* ≤ ε; q is the steepest logarithmic slope of a cell, sinh for cells
that are not halved. So far from the tip the column is e^{−ψ(o)}, with ψ(o) the largest p·o among these p. Near to the
tip, where rounding blurs, a small conic program finds the rest: :func:`~sfumato.lp.cone.general.solve_blocks` with one
column. Far away, where chances are so small that nobody needs them, the column ends in a constant.

For εh = 1/4 in the plane the expected distance is 0.5 % above 2/ε, for εh = 1/2 it is 1.7 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, reduce
from itertools import permutations, product
from math import ceil, gamma, log, pi, prod
from operator import add
from time import perf_counter

import numpy as np
from scipy.sparse import csr_array, vstack

from sfumato.arguments import integer, items
from sfumato.certify import kernel
from sfumato.certify.coordinates import BoxMechanism, check_prior, prove_on_box
from sfumato.certify.noise import (
    BoxNoise,
    NoiseClaim,
    claimed,
    noise_certificate,
    noise_row,
    noise_total,
    prove_noise,
)
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidInput, NotConverged, NotSupported, PrivacyViolation, SolverError, expect
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.lp.cone.blocks import Block, BlockProgram
from sfumato.lp.cone.general import solve_blocks
from sfumato.mechanisms.layers import layers_of
from sfumato.mechanisms.smoothing import dual_norm
from sfumato.numbers import Array, Floats, Integers, object_array, text_below, told_apart
from sfumato.privacy.rates import bound_rate, box_rate
from sfumato.privacy.type import PrivacyType, as_box_type
from sfumato.spaces.box import Box
from sfumato.spaces.splines import Axis, Rounding, bernstein_rows, dense, rounding_of
from sfumato.watch import Watch, watch_of

# ε times the step of the lattice, by dimension: half of it costs a quarter, and a table that is 2^k times as large.
_FINE = {1: 1 / 16, 2: 1 / 4, 3: 2 / 3}
_COARSEST = 4.0  # ε times a step from which on rounding costs more than noise
_COARSE = (
    2.0  # ε times a step that costs a quarter of the loss or more: in little time steps grow so far, and no farther
)
_WIDER = 1.25  # times as wide are steps made, again and again, until a table is small enough for the time
_TIP = {1: 12, 2: 8, 3: 3}  # Offsets, in steps along an axis, that the conic program decides.
_HALVINGS = 1
_SPENT_ON_FLOOR = {1: 1e-5, 2: 1e-4, 3: 1e-3}  # the part of the loss that outputs beyond the reach may cost
_MARGINS = (1e-6, 1e-5, 1e-3)  # of ε, given away for the rounding to integers; one after the other until it is enough
_DIGITS = 28  # binary digits of the floor
_LARGEST_TABLE = 1 << 21  # Offsets with coordinates ≥ 0.
# Offsets however short the time is: fewer save a third of a second, and a table that ends too early loses many times as
# much.
_SMALLEST_TABLE = 1 << 14
_MOST_IN_NO_TIME = 1 << 17  # The same where cells are so fine that steps are no wider: some four seconds.
_FOR_THE_KERNEL = 0.4  # of the time that is left: it sums a loss for the claim and proves it, layers take the rest
_LARGEST_REACH = kernel.MOST_ALONG >> kernel.MOST_HALVINGS  # Offsets along an axis.
# Offsets along an axis of the table that tells how fast the kernel is here; it is one that the kernel takes.
_SAMPLE = {1: _LARGEST_REACH, 2: 48, 3: 12}
_MOST_CELLS = 1_000_000  # Of the lattice along an axis, where nobody asks for more: finer noise is hardly better.
_LARGEST_ROWS = 1 << 20  # Entries of a table.
_SHALLOWEST = 1.0  # −ln of the highest floor, relative to the tip
_FOR_THE_TIP = 0.3  # of the time that is left
_CURVE = 4001  # points of the curve q that are interpolated between
_TURNS = 40  # iterations for the direction in which a column falls fastest; each gains a digit or two
_LEAST_STRETCH = 0.97  # a column is made so much flatter, at most, for the sake of cells that several waves meet in
_RIDGE = 2.6  # where columns for the maximum norm are ridges: sharper ones have to be flatter, rounder ones lose more


def laplace_noise(privacy: PrivacyType, *, parts: int | Sequence[int] | None = None) -> BoxNoise:
    """Laplace noise on the coordinates of a box, proved: rounding to a lattice, an offset, moved into the box.

    In the plane this is planar Laplace noise (Andrés et al. 2013) in a form that can be drawn exactly: its promise is
    about all coordinates, and its expected distance a little above 2/ε (1/ε on a line, 3/ε in space).

    Parameters
    ----------
    parts
        Steps of the lattice in a cell of the box, or one number for each axis; by default as many as make the noise
        as good as can be in a second or two.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> laplace_noise(PrivacyType(box((1000,), step=1), epsilon="1/2"))
    BoxNoise(8002 lattice points, 887 offsets, PrivacyType(box(1000, euclidean), epsilon=0.5), proved)
    """
    privacy, box = as_box_type(privacy)
    many = _parts(privacy, box) if parts is None else _given_parts(box, parts)
    return _made(privacy, box, rounding_of(box, many), None)


def noise_on_box(
    prior: Prior, loss: CoordinateLoss, privacy: PrivacyType, time_limit: Watch | float | None = None
) -> BoxNoise:
    """:func:`laplace_noise` with what it loses at most and what no mechanism goes below, both proved.

    The loss does not depend on the prior, since noise does not, and is stated without what is gained where outputs are
    moved into the box. The bound is that of :func:`~sfumato.mechanisms.layers.layers_of`. Both are close for boxes that
    are large beside 1/ε and priors that vary slowly.

    Examples
    --------
    >>> from sfumato.losses import distance
    >>> from sfumato.spaces.box import box
    >>> square = box((400, 400), step=4)
    >>> found = noise_on_box(Prior.uniform(square), distance(square), PrivacyType(square, epsilon=1))
    >>> round(float(found.claim.value), 3), round(float(found.claim.bound.value), 3)
    (2.011, 1.98)
    """
    prior, (privacy, box) = as_prior(prior), as_box_type(privacy)
    loss = expect(loss, CoordinateLoss, "a loss between points", "losses.distance(box) makes one")
    check_prior(prior, loss, box)
    watch = watch_of(time_limit)
    affordable = _affordable(box, watch)
    parts = _parts(privacy, box, None if watch.limit is None else affordable)
    affordable = max(affordable, min(_offsets(privacy, box, parts), _MOST_IN_NO_TIME))
    rounding = rounding_of(box, parts)
    return _made(privacy, box, rounding, (prior, loss), watch, affordable)


def _parts(privacy: PrivacyType, box: Box, most: int | None = None) -> list[int]:
    """Steps of the lattice in a cell along each axis: fine ones, or wider ones where offsets would be more than that.

    A wider step costs a part of the loss, a table that ends too early multiplies it.
    """
    epsilon = privacy.rate * np.array([float(step) for step in box.step])
    fine, shape = epsilon / _FINE[box.dimension], np.array(box.shape)
    parts = np.minimum(np.maximum(1, np.ceil(fine - 1e-9)), np.maximum(1, _MOST_CELLS // shape))
    if (epsilon > _COARSEST * parts).any():
        across = privacy.rate * float(max(box.sides))
        raise NotSupported(
            f"noise on a box of {across:.3g} times 1/epsilon",
            [f"at most {text_below(_COARSEST * _MOST_CELLS, 3)} times: a smaller box, or a smaller epsilon"],
        )
    while most is not None:
        if _offsets(privacy, box, parts) <= most:
            break
        wider = np.maximum(1, np.minimum(np.ceil(parts / _WIDER - 1e-9), parts - 1))
        wider = np.where(epsilon > _COARSE * wider, parts, wider)
        if (wider == parts).all():
            break
        parts = wider
    return [int(part) for part in parts]


def _offsets(privacy: PrivacyType, box: Box, parts: Sequence[int] | Integers) -> int:
    """How many a table has that ends where next to nothing is lost by its end, with so many steps in a cell."""
    each = np.asarray(parts)
    form = _Form(box.metric, privacy.rate * np.array([float(step) for step in box.step]) / each, _halvings(box))
    lattice = tuple((np.array(box.shape) * each).astype(int).tolist())
    return prod(r + 1 for r in _reach(form, _depth(form, lattice, _across(privacy.rate, box))))


def _across(rate: float, box: Box) -> float:
    """ε times how far apart two points of a box may be."""
    return rate * float(np.linalg.norm([float(side) for side in box.sides]))


def _given_parts(box: Box, parts: int | Sequence[int]) -> list[int]:
    """What somebody asks for, looked at."""
    listed = items(parts, "the parts of a cell") if hasattr(parts, "__iter__") else [parts] * box.dimension
    many = [integer(part, "the parts of a cell", 1) for part in listed]
    if len(many) != box.dimension:
        raise InvalidInput(f"{box.name} has {box.dimension} axes, found parts for {len(many)}")
    return many


def _made(
    privacy: PrivacyType,
    box: Box,
    rounding: Rounding,
    claim: tuple[Prior, CoordinateLoss] | None,
    watch: Watch | None = None,
    affordable: int = _LARGEST_TABLE,
) -> BoxNoise:
    rate = box_rate(privacy)
    steps = np.array([float(axis.widths[0]) for axis in rounding.axes]) * float(rate)
    if steps.max() > _COARSEST:
        found, coarsest = told_apart(float(steps.max()), _COARSEST)
        raise InvalidInput(
            f"epsilon times the step of the lattice is {found}, and {coarsest} is the most: cut cells into more parts"
        )
    across = _across(float(rate), box)
    watch = Watch() if watch is None else watch
    for margin in _MARGINS:
        form = _Form(box.metric, steps * (1 - margin), _halvings(box))
        table, floor = _rounded(*_column(form, rounding.shape, across, watch, affordable), form.alike)
        stated = None
        if claim is not None:
            layers = layers_of(claim[0], box, float(bound_rate(privacy)), watch)
            stated = claimed(table, floor, privacy, rounding, *claim, layers)
        with suppress(PrivacyViolation):
            return prove_noise(
                table, floor, privacy, rounding, rate=rate, halvings=form.halvings, claim=stated,
                provenance={"made by": "laplace_noise"},
            )  # fmt: skip
    raise SolverError("noise on this lattice could not be rounded to integers that keep the promise")


def _affordable(box: Box, watch: Watch) -> int:
    """How many offsets the kernel can check, twice, in a part of the time that is left: a small table says how fast."""
    left = watch.left
    if left is None:
        return _LARGEST_TABLE
    few, one = _SAMPLE[box.dimension], (Fraction(1),) * box.dimension
    cell = Box(one, one, box.metric)
    privacy, rounding = PrivacyType(cell, epsilon=1), rounding_of(cell)
    table = np.zeros((few,) * box.dimension, dtype=object)
    claim = NoiseClaim(Prior.uniform(cell), CoordinateLoss(cell), Fraction(1), 2)
    parts = noise_certificate(
        privacy, Fraction(1), rounding, _halvings(box), table, 1, noise_total(table, 1, rounding), claim
    ).interpreted()
    began = perf_counter()
    with suppress(kernel.Refuted):  # a loss of 1 may be too little, which is not the question
        kernel.check(*parts)
    each = (perf_counter() - began) / few**box.dimension
    return min(_LARGEST_TABLE, max(int(_FOR_THE_KERNEL * left / each), _SMALLEST_TABLE))


def _halvings(box: Box) -> int:
    return _HALVINGS if box.dimension < 3 else 0


def _rounded(column: Floats, floor: float, alike: bool) -> tuple[Array, int]:
    """Integers g and floor, the latter with so many digits that rounding is far below the margin."""
    low = 1 << _DIGITS
    if alike:  # exactly, as the program is
        column = column[tuple(-np.sort(-np.indices(column.shape), axis=0))]
    weights = (column * (low / floor)).ravel().tolist()
    return object_array([max(int(weight) - low, 0) for weight in weights], column.shape), low


# ----------------------------------------------------------------- the column, in floats


@dataclass(frozen=True, eq=False)
class _Form:
    """The conditions on a column in a lattice whose steps, times ε, are given."""

    metric: str
    steps: Floats
    halvings: int

    @property
    def dimension(self) -> int:
        return len(self.steps)

    @property
    def alike(self) -> bool:
        """Whether axes can be exchanged."""
        return len({*self.steps.tolist()}) == 1

    def turned(self, place: tuple[int, ...]) -> set[tuple[int, ...]]:
        """The place and those that exchanging axes makes of it."""
        return set(permutations(place)) if self.alike else {place}

    def places(self, side: int) -> list[tuple[int, ...]]:
        """The places of a cube, one of those that are turned into each other."""
        return [p for p in product(range(side), repeat=self.dimension) if p == max(self.turned(p))]

    @cached_property
    def rows(self) -> tuple[Floats, Floats]:
        """Coefficients of values and slopes on a cell."""
        values, slopes = bernstein_rows(Axis((Fraction(0), Fraction(1))), self.halvings)
        return dense(values[:-1], 3), dense(slopes[:-1], 3)  # the last one is the first of the next cell

    @cached_property
    def curve(self) -> tuple[Floats, Floats]:
        """q(p) for exponents p of a step: the steepest logarithmic slope of an exponential column."""
        p = np.linspace(0.0, 1.5 * float(self.steps.max()) + 0.5, _CURVE)
        wave = np.exp(-np.multiply.outer(np.array([-1.0, 0.0, 1.0]), p))
        values, slopes = self.rows
        return p, np.asarray(np.abs((slopes @ wave) / (values @ wave)).max(axis=0))

    def exponents(self, slopes: Floats) -> Floats:
        """p with q(p) = the given slopes, of a step."""
        p, q = self.curve
        return np.interp(slopes, q, p)

    def falls(self, shape: tuple[int, ...]) -> Floats:
        """ψ(o) = max p·o over the exponents p of exponential columns that keep the conditions."""
        offsets = np.stack([grid.ravel() for grid in np.meshgrid(*map(np.arange, shape), indexing="ij")]).astype(float)
        steps = self.steps[:, None]
        if self.metric == "manhattan" or self.dimension == 1:
            return np.asarray((self.exponents(steps) * offsets).sum(axis=0)).reshape(shape)
        if self.metric == "chebyshev":
            # a ridge where two waves meet is too steep between lattice points, so it is rounded off
            sharp = _RIDGE / float(np.sqrt(self.steps.max()))
            waves = sharp * self.exponents(steps) * offsets
            high = waves.max(axis=0)
            rest = np.log((np.exp(waves - high) + np.exp(-waves - high)).mean(axis=0) / 2)
            return np.asarray((high + rest) / sharp).reshape(shape)
        (p, q), share = self.curve, np.ones_like(offsets) / np.sqrt(self.dimension)
        derivative = np.gradient(p, q)
        for _ in range(_TURNS):  # at the maximum, shares are as offsets times the derivative of exponents
            turned = offsets * steps * np.interp(steps * share, q, derivative)
            share = turned / np.maximum(np.sqrt((turned**2).sum(axis=0)), 1e-300)
        return np.asarray((self.exponents(steps * share) * offsets).sum(axis=0)).reshape(shape)

    def steepest(self, column: Floats, floor: float) -> Floats:
        """For each cell with coordinates ≥ 0 the largest ‖G‖*/F, in terms of ε."""
        padded = column
        for axis in range(column.ndim):
            front = np.take(padded, [1], axis=axis)
            back = np.full_like(np.concatenate([front, front], axis=axis), floor)
            padded = np.concatenate([front, padded, back], axis=axis)
        values, slopes = self.rows
        worst = np.zeros(tuple(n + 1 for n in column.shape))
        pending: list[tuple[int, list[Floats]]] = [(0, [padded])]
        while pending:  # along one axis after the other: what coefficients have in common is computed once
            axis, (value, *parts) = pending.pop()
            if axis == column.ndim:
                sizes = np.stack([g / step for g, step in zip(parts, self.steps, strict=True)])
                worst = np.maximum(worst, dual_norm(sizes, self.metric) / value)
                continue
            for flat, steep in zip(values, slopes, strict=True):
                kept = [_contracted_along(table, flat, axis) for table in (value, *parts)]
                pending.append((axis + 1, [*kept, _contracted_along(value, steep, axis)]))
        return worst

    def blocks(self, value: csr_array, gradient: list[csr_array]) -> tuple[Block, ...]:
        """‖gradient‖* ≤ value, as blocks of a conic program."""
        if self.metric == "euclidean" and self.dimension > 1:
            return ((value, *gradient),)
        if self.metric == "chebyshev":
            signs = product((1.0, -1.0), repeat=self.dimension)
            rows = [value + reduce(add, (s * g for s, g in zip(sign, gradient, strict=True))) for sign in signs]
        else:
            rows = [value + sign * slope for slope in gradient for sign in (1.0, -1.0)]
        return ((csr_array(vstack(rows)),),)


def _contracted(table: Floats, rows: list[Floats]) -> Floats:
    for axis, row in enumerate(rows):
        table = _contracted_along(table, row, axis)
    return table


def _contracted_along(table: Floats, row: Floats, axis: int) -> Floats:
    """A form of three neighbours along an axis, at all places."""
    n = table.shape[axis] - 2
    before = (slice(None),) * axis
    return np.asarray(sum(w * table[(*before, slice(i, i + n))] for i, w in enumerate(row) if w))


def _column(form: _Form, lattice: tuple[int, ...], across: float, watch: Watch, most: int) -> tuple[Floats, float]:
    """f at offsets ≥ 0 and its floor; ``across`` is ε times how far apart two points of the box may be.

    Where it would have more than ``most`` offsets, the floor is higher than is best.
    """
    wanted = _depth(form, lattice, across)
    for depth in wanted * 0.93 ** np.arange(200):
        reach = _reach(form, depth)
        size = prod(r + 1 for r in reach)
        if size <= most or watch.limit is None or depth < _SHALLOWEST:
            break
    end, floor = _end(form, depth), float(np.exp(-depth))
    if size > _LARGEST_TABLE or max(reach) > _LARGEST_REACH:
        raise NotSupported(
            f"noise with {size} offsets: epsilon times a cell is as little as {form.steps.min():.3g}",
            ["a box of larger cells, on which the prior is constant"],
        )
    falls = form.falls(tuple(r + 1 for r in reach))
    tip = min(_TIP[form.dimension], *(r - 1 for r in reach)) if min(reach) > 1 else 0
    inner = tuple([slice(0, tip)] * form.dimension)
    stretch = 1.0
    for _ in range(20):  # cells that waves of several directions meet in are a little steeper than each wave
        column = np.where(stretch * falls <= end, np.exp(-stretch * falls), 0.0) + floor
        steep = form.steepest(column, floor)
        steep[inner] = 0.0
        if steep.max() <= 1.0:
            break
        stretch /= 1.0 + 1.5 * (float(steep.max()) - 1.0)
    if tip and not watch.over:
        improved = _sharpened(form, column, floor, tip, lattice, across, watch)
        if improved is not None:
            return improved, floor
    return _blunt(form, falls, stretch, end, floor), floor


def _end(form: _Form, depth: float) -> float:
    """How far a column falls until it ends.

    Sums of columns that keep the conditions keep them; where waves end, the floor makes up for what is missing.
    """
    return depth + float(np.log(form.dimension * (1 + 2 / form.steps.min())))


def _reach(form: _Form, depth: float) -> list[int]:
    """The offset along each axis at which a column ends."""
    return [ceil(_end(form, depth) / (_LEAST_STRETCH * a)) for a in form.exponents(form.steps)]


def _depth(form: _Form, lattice: tuple[int, ...], across: float) -> float:
    """−ln of the floor, relative to the tip: all outputs that have nothing but the floor cost little together."""
    along = form.exponents(form.steps)
    k = form.dimension
    ball = {"euclidean": pi ** (k / 2) / gamma(k / 2 + 1), "manhattan": 2**k / gamma(k + 1), "chebyshev": 2.0**k}
    volume = gamma(k + 1) * ball[form.metric] / float(np.prod(form.steps))
    depth = 10.0
    for _ in range(5):
        outputs = prod(n + 2 * ceil(depth / a) for n, a in zip(lattice, along, strict=True))
        depth = max(4.0, log(outputs / volume * across / k / _SPENT_ON_FLOOR[k]))
    return depth


def _blunt(form: _Form, falls: Floats, stretch: float, end: float, floor: float) -> Floats:
    """The column with a tip that is round enough, and made flatter until the conditions hold."""
    best = None
    for round_off in (0.1, 0.3, 0.6, 1.0):
        flat = stretch
        for _ in range(40):
            rounder = np.sqrt(falls**2 + (round_off * form.steps.max()) ** 2)
            column = np.where(flat * rounder <= end, np.exp(-flat * rounder), 0.0) + floor
            steep = float(form.steepest(column, floor).max())
            if steep <= 1.0:
                break
            flat /= 1.0 + 1.2 * (steep - 1.0)
        best = column if steep <= 1.0 and (best is None or column.sum() < best.sum()) else best
    if best is None:
        raise SolverError("no exponential column keeps the promise on this lattice: cut cells into more parts")
    return np.asarray(best)


# ----------------------------------------------------------------- the tip


def _sharpened(
    form: _Form, column: Floats, floor: float, tip: int, lattice: tuple[int, ...], across: float, watch: Watch
) -> Floats | None:
    """The column with the best tip: a conic program for its first offsets, the others as they are up to one factor."""
    places = form.places(tip + 1)
    index = {place: i for i, place in enumerate(places)}
    n = len(places) + 1  # the last variable is the factor of all others
    base = np.array([*(column[place] for place in places), 1.0])
    forms = _tip_forms(form, column, floor, tip, index, base)
    mass, cost = _tip_costs(form, column, floor, index, lattice, across)
    start = _strictly_inside(form, forms, column, floor, places, base)
    if start is None:
        return None
    value, *gradient = (csr_array(table * start) for table in forms)
    program = BlockProgram(
        (cost * base * start)[:, None], form.blocks(value, gradient), csr_array((mass * base * start)[None])
    )
    try:
        solved = solve_blocks(program, tolerance=1e-6, time_limit=watch.share(_FOR_THE_TIP))
    except NotConverged:  # in the time that there is
        return None
    solution = solved.matrix[:, 0] * start * base
    result = column.copy()
    for place, i in index.items():
        for same in form.turned(place):
            result[same] = solution[i] / solution[n - 1]
    return result if form.steepest(result, floor).max() <= 1.0 + 1e-9 else None


def _tip_forms(
    form: _Form, column: Floats, floor: float, tip: int, index: dict[tuple[int, ...], int], base: Floats
) -> list[Floats]:
    """Values and slopes of the cells that the tip has a part in, as forms of its offsets and of the common factor."""
    values, slopes = form.rows
    k, n = form.dimension, len(base)
    found: list[list[Floats]] = [[] for _ in range(k + 1)]
    for cell in form.places(tip + 2):
        table = np.zeros((3,) * k + (n,))
        for near in product(range(3), repeat=k):
            place = tuple(abs(c + i - 1) for c, i in zip(cell, near, strict=True))
            i = index.get(max(form.turned(place)))
            if i is not None:
                table[(*near, i)] = base[i]
            else:
                inside = all(p < side for p, side in zip(place, column.shape, strict=True))
                table[(*near, n - 1)] = column[place] if inside else floor
        for chosen in product(range(len(values)), repeat=k):
            rows = [
                np.ravel(_contracted(table, [(slopes if i == j else values)[c] for j, c in enumerate(chosen)]))
                for i in range(-1, k)
            ]
            scale = np.abs(rows[0]).max()
            for i, row in enumerate(rows):
                found[i].append(row / (scale * (1.0 if i == 0 else form.steps[i - 1])))
    return [np.array(rows) for rows in found]


def _tip_costs(
    form: _Form,
    column: Floats,
    floor: float,
    index: dict[tuple[int, ...], int],
    lattice: tuple[int, ...],
    across: float,
) -> tuple[Floats, Floats]:
    """Mass and expected distance of each offset of the tip, and of all others together, with both signs."""
    grids = np.meshgrid(*map(np.arange, column.shape), indexing="ij")
    signs = np.prod([np.where(grid > 0, 2.0, 1.0) for grid in grids], axis=0)
    lengths = _lengths(form, [grid.astype(np.float64) for grid in grids])
    outputs = prod(n + 2 * (side - 1) for n, side in zip(lattice, column.shape, strict=True))
    rest = floor * (outputs - prod(2 * side - 1 for side in column.shape))
    mass, cost = np.zeros(len(index) + 1), np.zeros(len(index) + 1)
    outer = np.ones(column.shape, dtype=bool)
    for place, i in index.items():
        for same in form.turned(place):
            outer[same] = False
            mass[i] += signs[same]
            cost[i] += signs[same] * lengths[same]
    mass[-1] = float((signs * column)[outer].sum()) + rest
    cost[-1] = float((signs * column * lengths)[outer].sum()) + rest * across
    return mass, cost


def _lengths(form: _Form, grids: Sequence[Floats]) -> Floats:
    """ε times the expected distance of a point that was rounded and moved by each offset."""
    nodes, weights = np.polynomial.legendre.leggauss(4 if form.dimension < 3 else 2)
    places = np.concatenate([nodes / 2 - 1, nodes / 2, nodes / 2 + 1])
    spline = np.where(np.abs(places) <= 0.5, 0.75 - places**2, 0.5 * (1.5 - np.abs(places)) ** 2)
    chances = np.tile(weights / 2, 3) * spline
    total = np.zeros(grids[0].shape)
    orders = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf}
    for chosen in product(range(len(places)), repeat=form.dimension):
        vector = [step * (grid + places[c]) for step, grid, c in zip(form.steps, grids, chosen, strict=True)]
        total += prod(chances[list(chosen)]) * np.linalg.norm(np.stack(vector), ord=orders[form.metric], axis=0)
    return total


def _strictly_inside(
    form: _Form, forms: list[Floats], column: Floats, floor: float, places: list[tuple[int, ...]], base: Floats
) -> Floats | None:
    """Factors of the tip's offsets with which all conditions hold strictly: rounder, and a little flatter."""
    falls = -np.log(base[:-1])
    rim = float(falls[[max(place) == max(places[-1]) for place in places]].min())
    for round_off in (0.3, 0.2, 0.5, 0.8, 0.1, 1.2):
        for flat in (1e-4, 1e-3, 1e-2, 3e-2, 1e-1):
            rounder = np.sqrt(falls**2 + (round_off * form.steps.max()) ** 2)
            start = np.append(np.exp(-rounder + falls + flat * (falls - rim)), 1.0)
            value, *gradient = (table @ start for table in forms)
            if (dual_norm(np.stack(gradient), form.metric) < value * (1 - 1e-9)).all():
                return start
    return None


# ----------------------------------------------------------------- as a table


def noise_table(noise: BoxNoise) -> BoxMechanism:
    """The same mechanism as a table with a row for each lattice point, where that fits.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> noise_table(laplace_noise(PrivacyType(box((2, 2), step="1/2"), epsilon=2), parts=1))
    BoxMechanism(6 × 6 lattice points → 36 outputs, PrivacyType(box(2 × 2, euclidean), epsilon=2), proved)
    """
    noise = expect(noise, BoxNoise, "noise on a box", "laplace_noise(privacy) makes it")
    count, outputs = len(noise.rounding), len(noise.outputs)
    if count * outputs > _LARGEST_ROWS:
        raise NotSupported(f"{count} rows of {outputs} outputs as a table", [f"at most {_LARGEST_ROWS} entries"])
    rows = [noise_row(noise.table, noise.floor, noise.rounding.shape, v).ravel() for v in range(count)]
    return prove_on_box(
        np.stack(rows), noise.privacy, noise.rounding, noise.outputs, rate=noise.rate, halvings=noise.halvings,
        provenance=noise.provenance,
    )  # fmt: skip
