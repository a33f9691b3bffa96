"""Laws of coordinates (``docs/theory/coordinates.md``): smooth rounding, its promise about all points, and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product
from math import inf, isqrt, prod
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.design.boxes.finite import bends
from sfumato.mechanisms import continuous
from sfumato.numbers import exp_bounds
from sfumato.spaces.box import Box, box
from sfumato.spaces.splines import Axis, Rounding, Row, bernstein_rows, rounding_of

NORMS = ("euclidean", "manhattan", "chebyshev")
ORDERS = {"euclidean": 2, "manhattan": 1, "chebyshev": inf}
BITS = 96  # Square roots and powers of e are enclosed so closely; a promise is never kept by less than that.
SHARES = st.fractions(0, 1, max_denominator=64)

Point = tuple[Fraction, ...]


# ------------------------------------------------------------------------------------------------- norms in rationals


def root_bounds(square: Fraction) -> tuple[Fraction, Fraction]:
    """Rationals around a square root."""
    scaled = (square.numerator << 2 * BITS) // square.denominator
    low = isqrt(scaled)
    exact = low * low == scaled and (square.numerator << 2 * BITS) % square.denominator == 0
    return Fraction(low, 1 << BITS), Fraction(low + (not exact), 1 << BITS)


def norm_bounds(vector: Sequence[Fraction], metric: str) -> tuple[Fraction, Fraction]:
    """Rationals around a norm: equal but for the Euclidean one of more than one coordinate."""
    sizes = [abs(part) for part in vector]
    if metric == "euclidean" and len(sizes) > 1:
        return root_bounds(sum((part * part for part in sizes), Fraction(0)))
    exact = max(sizes) if metric == "chebyshev" else sum(sizes, Fraction(0))
    return exact, exact


def dual_of(metric: str) -> str:
    return {"euclidean": "euclidean", "manhattan": "chebyshev", "chebyshev": "manhattan"}[metric]


# ------------------------------------------------------------------------------------------------------ lattice tables


def tensor(rows: Sequence[Row], shape: Sequence[int]) -> Row:
    """The form of all lattice points that is a product of one for each axis."""
    form: Row = {}
    for chosen in product(*(row.items() for row in rows)):
        number = 0
        for (v, _), side in zip(chosen, shape, strict=True):
            number = number * side + v
        form[number] = prod((weight for _, weight in chosen), start=Fraction(1))
    return form


def conditions(rounding: Rounding, halvings: int) -> list[tuple[Row, list[Row]]]:
    """The forms F and G₁, …, G_k of the theorem, for every control point of every cell."""
    along = [list(zip(*bernstein_rows(axis, halvings), strict=True)) for axis in rounding.axes]
    found = []
    for chosen in product(*along):
        values = [value for value, _ in chosen]
        slopes = [[*values[:i], slope, *values[i + 1 :]] for i, (_, slope) in enumerate(chosen)]
        found.append((tensor(values, rounding.shape), [tensor(rows, rounding.shape) for rows in slopes]))
    return found


def at(form: Row, column: Sequence[Fraction]) -> Fraction:
    return sum((weight * column[v] for v, weight in form.items()), Fraction(0))


def rate_of(column: Sequence[Fraction], rounding: Rounding, halvings: int) -> Fraction:
    """The least rational ε (up to the last bit of a root) for which a positive column satisfies the conditions."""
    dual = dual_of(rounding.box.metric)
    return max(
        norm_bounds([at(form, column) for form in slopes], dual)[1] / at(value, column)
        for value, slopes in conditions(rounding, halvings)
    )


def smooth_value(column: Sequence[Fraction], rounding: Rounding, point: Sequence[Fraction]) -> Fraction:
    return at(rounding.weights(point), column)


def keeps(column: Sequence[Fraction], rounding: Rounding, rate: Fraction, first: Point, second: Point) -> bool:
    """Whether f̃(first) ≤ e^{ε‖first − second‖} f̃(second), proved."""
    apart = norm_bounds([a - b for a, b in zip(first, second, strict=True)], rounding.box.metric)[0]
    one, other = (smooth_value(column, rounding, point) for point in (first, second))
    return one <= exp_bounds(rate * apart, BITS)[0] * other


@st.composite
def roundings(draw: st.DrawFn, degrees: Sequence[int] = (1, 2), most_axes: int = 3) -> Rounding:
    """Lattices with equal and unequal cells, in one to three dimensions."""
    axes = draw(st.integers(1, most_axes))
    cells = [draw(st.integers(1, (4, 3, 2)[axes - 1])) for _ in range(axes)]
    space = box(cells, step=1, metric=draw(st.sampled_from(NORMS)))
    degree = draw(st.sampled_from(list(degrees)))
    if draw(st.booleans()):
        return rounding_of(space, degree=degree)
    breaks = []
    for count in cells:
        widths = draw(st.lists(st.integers(1, 6), min_size=count, max_size=count))
        ends = np.cumsum([0, *widths]).tolist()
        breaks.append([Fraction(end * count, ends[-1]) for end in ends])
    return rounding_of(space, degree=degree, breaks=breaks)


def columns_for(rounding: Rounding) -> st.SearchStrategy[list[Fraction]]:
    """Positive columns: of any numbers, or steep, as those of designs are."""
    n = len(rounding)
    anything = st.lists(st.fractions("1/20", 1, max_denominator=40), min_size=n, max_size=n)
    places = list(product(*map(range, rounding.shape)))
    steep = st.tuples(st.sampled_from(places), st.fractions("1/4", "9/10", max_denominator=10)).map(
        lambda tip: [tip[1] ** sum(abs(a - b) for a, b in zip(tip[0], place, strict=True)) for place in places]
    )
    return st.one_of(anything, steep)


def points_of(space: Box) -> st.SearchStrategy[Point]:
    return st.tuples(*(SHARES.map(lambda share, side=side: share * side) for side in space.sides))


# --------------------------------------------------------------------------------------------------------- the theorem


@given(st.data())
@settings(max_examples=120, deadline=None)
def test_conditions_at_control_points_are_a_promise_about_all_points(data: st.DataObject) -> None:
    """A column keeps the ε that its coefficients ask for, for points far apart, close together and across borders."""
    rounding = data.draw(roundings())
    column = data.draw(columns_for(rounding))
    halvings = data.draw(st.integers(0, 2 if rounding.box.dimension < 3 else 1))
    rate = rate_of(column, rounding, halvings)
    first = data.draw(points_of(rounding.box))
    near = tuple(x + data.draw(st.fractions("-1/100", "1/100", max_denominator=10**4)) for x in first)
    for second in (data.draw(points_of(rounding.box)), rounding.clamped(near)):
        assert keeps(column, rounding, rate, first, second)
        assert keeps(column, rounding, rate, second, first)


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_halving_asks_for_less_and_never_for_less_than_the_promise(data: st.DataObject) -> None:
    """ε falls with halvings, and stays above the slope of ln f̃ at every point."""
    rounding = data.draw(roundings(most_axes=2))
    column = data.draw(columns_for(rounding))
    rates = [rate_of(column, rounding, halvings) for halvings in range(3)]
    rounded = Fraction(2, 1 << BITS) * len(rounding) / min(column)  # roots are rounded up, and divided by values
    assert all(later <= sooner + rounded for sooner, later in pairwise(rates))
    point = data.draw(points_of(rounding.box))
    value, gradient = smooth_value(column, rounding, point), gradient_at(column, rounding, point)
    assert norm_bounds(gradient, dual_of(rounding.box.metric))[0] <= rates[-1] * value


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_after_many_halvings_nothing_but_the_promise_is_asked(data: st.DataObject) -> None:
    """On a line, ε after five halvings is the largest slope of ln f̃ on a fine raster, up to what the raster misses."""
    rounding = data.draw(roundings(most_axes=1, degrees=[2]))
    column = data.draw(columns_for(rounding))
    raster = [(low + (high - low) * k / 32,) for low, high in pairwise(rounding.axes[0].breaks) for k in range(33)]
    slopes = [abs(gradient_at(column, rounding, x)[0]) / smooth_value(column, rounding, x) for x in raster]
    needed = rate_of(column, rounding, 5)
    assert max(slopes) <= needed
    assert needed <= max(slopes) * Fraction(21, 20)


def gradient_at(column: Sequence[Fraction], rounding: Rounding, point: Point) -> list[Fraction]:
    """Partial derivatives inside of a point's cell: central differences, which are exact for quadratic polynomials."""
    found = []
    for i, axis in enumerate(rounding.axes):
        cell = axis.cell_of(point[i])
        low, high = axis.breaks[cell], axis.breaks[cell + 1]
        # the derivative is linear along the axis: its values in the middle and between the ends give it everywhere
        middle = (low + high) / 2

        def along(place: Fraction, i: int = i) -> Fraction:
            return smooth_value(column, rounding, (*point[:i], place, *point[i + 1 :]))

        slope = (along(high) - along(low)) / (high - low)
        bend = (along(high) - 2 * along(middle) + along(low)) * 4 / (high - low) ** 2
        found.append(slope + bend * (point[i] - middle))
    return found


@given(st.data())
@settings(max_examples=80, deadline=None)
def test_for_degree_one_nothing_less_would_do(data: st.DataObject) -> None:
    """Where a column breaks a condition by little, two points close to the corner break the promise."""
    rounding = data.draw(roundings(degrees=[1]))
    column, metric = data.draw(columns_for(rounding)), rounding.box.metric
    needed = rate_of(column, rounding, 0)
    assume(needed > 0)
    rate = needed * Fraction(99, 100)
    broken = []
    for corners in product(*(range(axis.cells) for axis in rounding.axes)):
        ends = [axis.breaks[cell : cell + 2] for axis, cell in zip(rounding.axes, corners, strict=True)]
        for side in product((0, 1), repeat=len(ends)):
            inside = [pair[s] + (pair[1 - s] - pair[s]) / 10**6 for pair, s in zip(ends, side, strict=True)]
            gradient = gradient_at(column, rounding, tuple(inside))
            steepest = norm_bounds(gradient, dual_of(metric))[0] / smooth_value(column, rounding, inside)
            broken.append((steepest, inside, gradient))
    _, inside, gradient = max(broken, key=lambda found: found[0])
    steepest_way = {
        "euclidean": gradient,
        "chebyshev": [Fraction((g > 0) - (g < 0)) for g in gradient],
        "manhattan": [g if abs(g) == max(map(abs, gradient)) else Fraction(0) for g in gradient],
    }[metric]
    longest = max(map(abs, steepest_way))
    shortest = min(min(axis.widths) for axis in rounding.axes)
    moved = [x + way / longest * shortest / 10**7 for x, way in zip(inside, steepest_way, strict=True)]
    apart = norm_bounds([a - b for a, b in zip(moved, inside, strict=True)], metric)[1]
    one, other = (smooth_value(column, rounding, point) for point in (moved, inside))
    assert one > exp_bounds(rate * apart, BITS)[1] * other


@given(st.fractions("1/50", 3, max_denominator=50), st.integers(1, 6), st.sampled_from([1, 2]), st.data())
@settings(max_examples=60, deadline=None)
def test_neighbouring_rows_that_differ_little_are_enough_on_a_line(
    ratio: Fraction, cells: int, degree: int, data: st.DataObject
) -> None:
    """Factors of at most r = 1 + ratio a step: ε = r − 1 for degree 1, (r − 1/r)/2 for degree 2; attained by powers."""
    rounding, most = rounding_of(box((cells,), step=1), degree=degree), 1 + ratio
    allowed = ratio if degree == 1 else (most - 1 / most) / 2
    column = [Fraction(1)]
    while len(column) < len(rounding):
        column.append(column[-1] * most ** data.draw(st.integers(-1, 1)))
    assert rate_of(column, rounding, 0) <= allowed
    assert rate_of([most**k for k in range(len(rounding))], rounding, 0) == allowed


def test_what_degrees_cost_at_half_a_unit_a_cell() -> None:
    """The table of the page: at εh = 1/2 the factor e^a a step with a = .4055, .4812, .4931, .4942."""

    def largest(degree: int, halvings: int) -> float:
        rounding, low, high = rounding_of(box((1,), step=1), degree=degree), Fraction(1), Fraction(2)
        for _ in range(30):
            middle = (low + high) / 2
            fits = rate_of([middle**k for k in range(degree + 1)], rounding, halvings) <= Fraction(1, 2)
            low, high = (middle, high) if fits else (low, middle)
        return float(np.log(float(low)))

    found = [largest(*of) for of in ((1, 0), (2, 0), (2, 1), (2, 2), (2, 7))]
    assert np.allclose(found, [0.4055, 0.4812, 0.4931, 0.4942, 0.4949], atol=6e-5)
    assert np.allclose([found[0], found[1], found[-1]], [np.log(1.5), np.arcsinh(0.5), 2 * np.arcsinh(0.25)], atol=3e-5)


# ---------------------------------------------------------------------------------------- rounding and its polynomials


@given(roundings(), st.data())
@settings(max_examples=60, deadline=None)
def test_rounding_is_a_distribution_without_a_bias(rounding: Rounding, data: st.DataObject) -> None:
    """Probabilities are not negative, add up to one, and keep the mean of every coordinate."""
    point = data.draw(points_of(rounding.box))
    weights = rounding.weights(point)
    assert all(weight > 0 for weight in weights.values())
    assert sum(weights.values()) == 1
    assert len(weights) <= (rounding.degree + 1) ** rounding.box.dimension
    places = list(product(*(axis.points for axis in rounding.axes)))
    for i, x in enumerate(point):
        assert sum(weight * places[v][i] for v, weight in weights.items()) == x


@given(roundings(most_axes=1), st.integers(0, 2))
@settings(max_examples=60, deadline=None)
def test_bernstein_rows_have_the_values_and_slopes_at_the_ends_of_cells(rounding: Rounding, halvings: int) -> None:
    """At the ends of (halved) cells a row is the rounding there, and its slope a difference quotient."""
    axis = rounding.axes[0]
    values, slopes = bernstein_rows(axis, halvings)
    listed = list(zip(values, slopes, strict=True))
    for cell, (low, high) in enumerate(pairwise(axis.breaks)):
        for part in range(2**halvings):
            left = low + (high - low) * part / 2**halvings
            right = left + (high - low) / 2**halvings
            for v in range(len(axis)):
                column = [Fraction(k == v) for k in range(len(axis))]
                ends = [smooth_value(column, rounding, (place,)) for place in (left, (left + right) / 2, right)]
                slope, bend = (
                    (ends[2] - ends[0]) / (right - left),
                    2 * (ends[2] - 2 * ends[1] + ends[0]) / (right - left),
                )
                assert any(at(row, column) == ends[0] and at(g, column) == slope - bend for row, g in listed), cell
                assert any(at(row, column) == ends[2] and at(g, column) == slope + bend for row, g in listed), cell
                assert min(ends) >= min(at(row, column) for row in values)


def test_a_lattice_is_finer_where_breaks_are() -> None:
    """Unequal cells, by hand: widths 1 and 3, the border of the first cell mixes its neighbours 3 : 1."""
    axis = Axis((Fraction(0), Fraction(1), Fraction(4)))
    assert axis.points == (Fraction(-1, 2), Fraction(1, 2), Fraction(5, 2), Fraction(11, 2))
    assert {v: w for v, w in axis.rounding(Fraction(1)).items() if w} == {1: Fraction(3, 4), 2: Fraction(1, 4)}


# ------------------------------------------------------------------------------------------------------------ clamping


@given(roundings(), st.data())
@settings(max_examples=80, deadline=None)
def test_clamping_moves_no_two_points_further_apart(rounding: Rounding, data: st.DataObject) -> None:
    anywhere = st.tuples(*[st.fractions(-10, 10, max_denominator=20)] * rounding.box.dimension)
    first, second = data.draw(anywhere), data.draw(anywhere)
    before = [a - b for a, b in zip(first, second, strict=True)]
    after = [a - b for a, b in zip(rounding.clamped(first), rounding.clamped(second), strict=True)]
    assert all(abs(shrunk) <= abs(full) for shrunk, full in zip(after, before, strict=True))
    for metric in NORMS:
        assert norm_bounds(after, metric)[0] <= norm_bounds(before, metric)[1]
    assert all(0 <= place <= side for place, side in zip(rounding.clamped(first), rounding.box.sides, strict=True))


# ------------------------------------------------------------------------------------------------- loss and lower bound


def multilinear(corner_values: dict[tuple[int, ...], float], share: Sequence[float]) -> float:
    """What is interpolated between the corners of a cube."""
    return sum(
        value * prod(s if side else 1 - s for side, s in zip(corner, share, strict=True))
        for corner, value in corner_values.items()
    )


def size(vector: Any, metric: str) -> float:
    return float(np.linalg.norm(np.asarray(vector, dtype=float), ord=ORDERS[metric]))


def bent_by_support(low: Any, sides: Any, metric: str) -> float:
    """(a) of the page: the largest ‖c‖ − u·c over corners, with u in the direction of the centre; the secret is 0."""
    centre = np.asarray(low) + np.asarray(sides) / 2
    if metric == "euclidean":
        towards = centre / max(size(centre, metric), 1e-300)
    elif metric == "manhattan":
        towards = np.sign(centre)
    else:
        towards = np.sign(centre) * (np.arange(len(centre)) == np.argmax(np.abs(centre)))
    corners = [np.asarray(low) + np.asarray(sides) * np.array(side) for side in product((0, 1), repeat=len(sides))]
    return max(size(corner, metric) - float(towards @ corner) for corner in corners)


def bent_by_curvature(low: Any, sides: Any) -> float:
    """(b) of the page, for the Euclidean norm; the secret is 0."""
    low, sides = np.asarray(low, dtype=float), np.asarray(sides, dtype=float)
    nearest = np.maximum(np.maximum(low, -(low + sides)), 0)
    farthest = np.maximum(np.abs(low), np.abs(low + sides)) ** 2
    if not nearest.any():
        return inf
    return float((sides**2 * (farthest.sum() - farthest)).sum() / (8 * size(nearest, "euclidean") ** 3))


CUBES = st.integers(1, 3).flatmap(
    lambda k: st.tuples(
        st.lists(st.integers(-6, 5), min_size=k, max_size=k),
        st.lists(st.integers(1, 3), min_size=k, max_size=k),
        st.lists(st.lists(st.floats(0, 1), min_size=k, max_size=k), min_size=1, max_size=4),
    )
)


@given(CUBES, st.sampled_from(NORMS))
@example(([5, 5], [1, 1], [[0.5, 0.5]]), "euclidean")
@settings(max_examples=300, deadline=None)
def test_what_rounding_an_output_costs_is_bounded(cube: tuple[Any, Any, Any], metric: str) -> None:
    """The interpolant lies above the norm, by no more than (a) and (b) say."""
    low, sides, shares = cube
    corners = {
        corner: size([a + g * s for a, g, s in zip(low, sides, corner, strict=True)], metric)
        for corner in product((0, 1), repeat=len(low))
    }
    most = bent_by_support(low, sides, metric)
    if metric == "euclidean":
        most = min(most, bent_by_curvature(low, sides))
    if all(a >= 0 or a + g <= 0 for a, g in zip(low, sides, strict=True)):  # as cubes of a bound are
        found = float(bends(np.array([low], dtype=float), np.array(sides, dtype=float), metric)[0])
        assert metric == "chebyshev" or found == pytest.approx(max(most, 0), abs=1e-9)
        most = found
    for share in shares:
        bent = multilinear(corners, share) - size(
            [a + g * s for a, g, s in zip(low, sides, share, strict=True)], metric
        )
        assert -1e-9 <= bent <= most + 1e-9  # floats of size 20 have an error of some 1e-14


@given(CUBES, st.sampled_from(NORMS))
@settings(max_examples=200, deadline=None)
def test_rounding_outputs_costs_nothing_where_the_norm_is_linear(cube: tuple[Any, Any, Any], metric: str) -> None:
    """No secret inside of a side: nothing with the Manhattan norm, in one dimension, or for Chebyshev off diagonals."""
    low, sides = (np.array(part) for part in cube[:2])
    assume(((low >= 0) | (low + sides <= 0)).all())
    near, far = np.minimum(np.abs(low), np.abs(low + sides)), np.maximum(np.abs(low), np.abs(low + sides))
    largest = int(np.argmax(near))
    off_diagonal = metric == "chebyshev" and (near[largest] >= np.delete(far, largest)).all()
    assume(metric == "manhattan" or len(low) == 1 or off_diagonal)
    assert abs(bent_by_support(low, sides, metric)) < 1e-12


def test_the_cubes_of_the_page_by_hand() -> None:
    assert bent_by_support([1, 0], [1, 1], "euclidean") == pytest.approx(0.149, abs=5e-4)
    assert bent_by_curvature([1, 0], [1, 1]) == 0.625
    assert bent_by_support([5, 5], [1, 1], "euclidean") == pytest.approx(0.032, abs=5e-4)
    assert bent_by_curvature([5, 5], [1, 1]) == pytest.approx(0.025, abs=5e-4)


@given(CUBES, st.sampled_from(NORMS))
@settings(max_examples=100, deadline=None)
def test_a_norm_lies_below_what_corners_interpolate(cube: tuple[Any, Any, Any], metric: str) -> None:
    """Loss by convexity: the mean of a norm over a box is at most the mean of its corner values."""
    low, sides, _ = cube
    grid = np.stack(np.meshgrid(*[(np.arange(6) + 0.5) / 6] * len(low), indexing="ij"), -1).reshape(-1, len(low))
    inside = np.linalg.norm(np.array(low) + grid * np.array(sides), ord=ORDERS[metric], axis=1).mean()
    corners = [size(np.array(low) + np.array(sides) * np.array(c), metric) for c in product((0, 1), repeat=len(low))]
    assert inside <= np.mean(corners) + 1e-9


# -------------------------------------------------------------------------------------- intervals, where paper B knows


DENSITIES = st.lists(st.integers(0, 5), min_size=1, max_size=4).filter(any)


def laplace_loss(counts: Sequence[int], epsilon: float) -> continuous.Estimate:
    """What truncated Laplace noise loses on [0, 1] with the best remap: no private mechanism loses less (paper B)."""
    total = sum(counts)
    density = continuous.Density.steps([Fraction(count, total) for count in counts])
    return continuous.posterior_loss(density, continuous.truncated_laplace(epsilon), continuous.absolute_error())


def bracketed(counts: Sequence[int], epsilon: float, loss: float, bound: float) -> bool:
    """Whether loss and bound enclose the best there is on [0, 1]."""
    best = laplace_loss(counts, epsilon)
    return bound <= best.value + best.error and best.value - best.error <= loss


@given(DENSITIES, st.sampled_from([0.5, 2, 6]))
@settings(max_examples=12, deadline=None)
def test_on_an_interval_the_finite_problem_is_that_of_the_geometric_mechanism(
    counts: list[int], epsilon: float
) -> None:
    """Lower corners of parts, and the best mechanism there: below Laplace noise, and closer with more parts."""
    best = laplace_loss(counts, epsilon)
    density = continuous.Density.steps([Fraction(count, sum(counts)) for count in counts])
    parts = [len(counts) * many for many in (1, 4, 16)]
    climbed = continuous.climb(density, continuous.truncated_laplace(epsilon), continuous.absolute_error(), parts)
    below = [rung.geometric for rung in climbed.rungs]
    assert all(value <= best.value + best.error + 1e-9 for value in below)  # sums of floats have some 1e-15
    assert best.value - below[-1] <= 0.1 * (best.value - below[0]) + 1e-9


@pytest.mark.parametrize(
    ("counts", "epsilon"),
    [([1], "4"), ([1, 3], "2"), ([5, 0, 1], "6"), ([0, 0, 1], "1/2"), ([1, 2, 3, 4], "1/2")],
)
def test_designs_on_an_interval_enclose_truncated_laplace_noise(counts: list[int], epsilon: str) -> None:
    """Loss and bound are on both sides of what paper B proves to be the best, and close in on it."""
    rate = float(Fraction(epsilon))
    where = box((1,), step=Fraction(1, len(counts)))
    prior, loss = sf.Prior.on_cells(counts, where), sf.losses.distance(where)
    best, found = laplace_loss(counts, rate), []
    for tolerance in (0.1, 0.005):
        design = sf.design(prior, loss, sf.PrivacyType(where, epsilon=epsilon), tolerance=tolerance)
        assert bracketed(counts, rate, float(design.loss), float(design.bound))
        assert design.gap <= tolerance
        found.append(design)
    coarse, fine = found
    assert abs(float(fine.loss) - best.value) <= 0.005 * best.value
    assert fine.loss - fine.bound < (coarse.loss - coarse.bound) / 5
