"""Points are rounded and drawn with exactly the chances of the splines, wherever they lie, whatever decides.

Draws of noise that is the same everywhere: chances are those of the density.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import inf, nan, nextafter
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import chi2, chisquare

import sfumato as sf
from box_tables import box_mechanism
from sfumato.certify.coordinates import BoxMechanism
from sfumato.draws.alias import alias_tables
from sfumato.draws.plans import join
from sfumato.draws.randomness import FreshStream, InsecureSeed, SeededBits, SystemBits
from sfumato.draws.rounding import OffsetPlan, RoundingPlan, rounding_axis
from sfumato.errors import InvalidInput
from sfumato.mechanisms.box_noise import laplace_noise
from sfumato.release import Position
from sfumato.spaces.box import box
from sfumato.spaces.splines import Axis

DRAWS = 20_000
FALSE_ALARM = 1e-7  # a fixed seed: what holds once holds always
F = Fraction
UNEVEN = [F(0), F(1, 3), F(1, 2), F(2), F(11, 5), F(3)]
CASES: dict[str, dict[str, Any]] = {
    "interval": {"box": box(3, step="1/2"), "parts": 2},
    "interval, linear": {"box": box(3, step=1, origin="1/3"), "degree": 1},
    "uneven interval": {"box": box(3, step=1, origin="-7/3"), "breaks": [UNEVEN]},
    "uneven interval, linear": {"box": box(3, step=1), "breaks": [UNEVEN], "degree": 1},
    "plane": {"box": box((3, 2), step=1, unit="km", origin=(F(1, 3), -5))},
    "uneven plane": {"box": box((3, 2), step=1, metric="manhattan"), "breaks": [UNEVEN, [F(0), F(1, 7), F(2)]]},
    "plane, linear": {"box": box((3, 2), step=1, metric="chebyshev"), "degree": 1},
    "space": {"box": box((3, 2, 1), step=1, origin=(100, F(1, 3), -1))},
    "one cell": {"box": box((1, 1), step=1)},
}
MECHANISMS = {name: box_mechanism(**case) for name, case in CASES.items()}


def points_of(mechanism: BoxMechanism) -> list[tuple[float, ...]]:
    """Inside, on borders of cells, on corners of the box, just beside them, and outside."""
    corner, sides = mechanism.box.origin, mechanism.box.sides
    low, high = [float(o) for o in corner], [float(o + s) for o, s in zip(corner, sides, strict=True)]
    first = [float(o + axis.breaks[1]) for o, axis in zip(corner, mechanism.rounding.axes, strict=True)]
    rng = np.random.default_rng(3)
    inside = rng.uniform(low, high, (2, len(low))).tolist()
    beside = [[nextafter(x, -inf) for x in first], [nextafter(x, inf) for x in first]]
    outside = [[x - 1.5 for x in low], [x + 1e300 for x in high], [-1e9, *high[1:]]]
    return [tuple(point) for point in (*inside, low, high, first, *beside, [-0.0] * len(low), *outside)]


def drawn(plan: RoundingPlan, point: tuple[float, ...], count: int, seed: int) -> np.ndarray:
    with pytest.warns(InsecureSeed):
        stream = FreshStream(SeededBits(seed))
    return plan.draw(np.tile(np.array(point)[:, None], (1, count)), stream, np.arange(count))[0]


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("digits", [0, 1])
def test_draws_have_the_density_of_their_point(name: str, digits: int) -> None:
    """One digit leaves nearly every comparison to rationals: the same distribution."""
    mechanism = MECHANISMS[name]
    plan = replace(mechanism.as_plan(), digits=digits)
    count = DRAWS if not digits else 1_500
    for seed, point in enumerate(points_of(mechanism)):
        shares = mechanism.density(point).weights
        expected = np.array([float(share) for share in shares]) * count
        found = np.bincount(drawn(plan, point, count, seed), minlength=len(expected))
        statistic = ((found - expected) ** 2 / expected).sum()
        assert statistic < chi2.isf(FALSE_ALARM, len(expected) - 1), (name, point)


@pytest.mark.parametrize("name", MECHANISMS)
def test_lattice_points_have_the_chances_of_the_splines(name: str) -> None:
    """Without a table behind it: cumulative chances are those that the splines sum up to, exactly."""
    mechanism = MECHANISMS[name]
    for point in points_of(mechanism):
        places = mechanism.rounding.clamped([F(x) for x in point])
        for axis, spline, x, place in zip(
            mechanism.as_plan().axes, mechanism.rounding.axes, point, places, strict=True
        ):
            first, chances = axis.chances(x)
            sums = [F(0), *chances, F(1)]
            found = {first + k: b - a for k, (a, b) in enumerate(pairwise(sums)) if b > a}
            assert found == {v: share for v, share in spline.rounding(place).items() if share}


class Words:
    """Given words, whichever lane asks; later words are all zeros or all ones."""

    def __init__(self, words: np.ndarray, later: int) -> None:
        self.words, self.later = words, later

    def take(self, lanes: np.ndarray, first: int, count: int) -> np.ndarray:
        if first == 0:
            return np.stack([self.words[lanes], np.zeros(len(lanes), np.uint64)])[:count]
        return np.full((count, len(lanes)), self.later, dtype=np.uint64)


@st.composite
def axes(draw: st.DrawFn) -> tuple[Fraction, list[Fraction], int]:
    gaps = draw(st.lists(st.fractions(F(1, 1000), 1000, max_denominator=1000), min_size=1, max_size=6))
    breaks = [sum(gaps[:k], F(0)) for k in range(len(gaps) + 1)]
    return draw(st.fractions(-1000, 1000, max_denominator=999)), breaks, draw(st.sampled_from([1, 2]))


@given(axes(), st.data())
def test_doubles_agree_with_rationals_wherever_they_decide(
    axis: tuple[Fraction, list[Fraction], int], data: st.DataObject
) -> None:
    """The nastiest words: those next to an exact chance, at places next to borders of cells."""
    origin, breaks, degree = axis
    made = rounding_axis(origin, breaks, degree)
    plan = RoundingPlan((made,), alias_tables(np.ones((len(made), 1), dtype=np.int64), 1))
    edge = data.draw(st.sampled_from(breaks))
    near = float(origin + edge)
    steps = data.draw(st.integers(-3, 3))
    for _ in range(abs(steps)):
        near = nextafter(near, inf if steps > 0 else -inf)
    inner = data.draw(st.floats(float(origin), float(origin + breaks[-1])))
    for x in (near, inner):
        first, chances = made.chances(x)
        for chance in chances:
            for digits in range(int(chance * 2**32) - 2, int(chance * 2**32) + 3):
                if not 0 <= digits < 2**32:
                    continue
                words = np.array([digits << 32], dtype=np.uint64)
                for later, least in ((0, True), (2**64 - 1, False)):
                    row = int(plan.rounded(np.array([[x]]), words, Words(words, later), np.zeros(1, np.int64))[0])
                    u = F(digits, 2**32) if least else F(digits + 1, 2**32) - F(1, 2**4000)
                    assert row == first + sum(u >= c for c in chances)


@given(axes(), st.floats(0, 1))
def test_the_margin_bounds_what_doubles_do(axis: tuple[Fraction, list[Fraction], int], share: float) -> None:
    """Doubles put through the formulas by hand are no farther from the truth than is said, also across a border."""
    origin, breaks, degree = axis
    made = rounding_axis(origin, breaks, degree)
    x = min(max(float(origin) + share * float(breaks[-1]), made.ends[0]), made.ends[1])
    cell = int(np.clip(np.searchsorted(made.cells[:, 0], x, side="right") - 1, 0, len(breaks) - 2))
    s = min(max((x - made.cells[cell, 0]) * made.cells[cell, 1], 0.0), 1.0)
    q = 1.0 - s
    found = [q] if degree == 1 else [q * q * made.cells[cell, 2], 1.0 - s * s * made.cells[cell, 3]]
    first, chances = made.chances(x)

    def below(at: int, sums: Any, v: int) -> Fraction:
        """The chance of lattice points below number v."""
        return F(0) if v <= at else F(1) if v > at + degree else F(sums[v - at - 1])

    for v in range(len(made) + 1):
        assert abs(below(cell, found, v) - below(first, chances, v)) <= F(made.margin)
    assert made.margin < 1e-6


def test_cells_too_small_for_doubles_are_decided_by_rationals() -> None:
    tiny = F(1, 10**40)
    made = rounding_axis(F(1), [F(0), tiny, 2 * tiny], 2)
    assert made.margin > 1
    plan = RoundingPlan((made,), alias_tables(np.array([[2, 0], [1, 1], [1, 1], [0, 2]]), 2))
    found = np.bincount(drawn(plan, (1.0,), 4000, 1), minlength=2) / 4000
    assert abs(found[0] - 0.75) < 0.05  # half and half of the first two lattice points
    huge = rounding_axis(F(0), [F(0), F(10) ** 400], 1)
    assert huge.margin == inf and huge.chances(1e308)[0] == 0


@pytest.mark.parametrize("bad", [nan, inf, -inf])
def test_what_is_no_number_is_refused(bad: float) -> None:
    plan = MECHANISMS["plane"].as_plan()
    with pytest.raises(InvalidInput, match="finite numbers: point 1 has"):
        plan.draw(np.array([[1.0, 1.0], [-4.0, bad]]), FreshStream(SeededWords()), np.arange(2))


class SeededWords:
    def words(self, count: int) -> np.ndarray:
        return np.arange(count, dtype=np.uint64)


def test_a_negative_zero_is_zero() -> None:
    plan = MECHANISMS["interval"].as_plan()
    found = [plan.draw(np.full((1, 999), x), FreshStream(SeededWords()), np.arange(999)) for x in (0.0, -0.0)]
    assert (found[0] == found[1]).all()


def test_what_is_drawn_has_a_name_of_its_own() -> None:
    plan = MECHANISMS["plane"].as_plan()
    assert plan.name == "points, rounded to 5 × 4 lattice points → 5 outputs" and plan.dimension == 2
    others = [MECHANISMS[name].as_plan() for name in MECHANISMS]
    assert len({other.identity() for other in others}) == len(others)
    assert plan.identity() == replace(plan, digits=3).identity()
    moved = replace(plan, axes=(plan.axes[0], rounding_axis(F(-4), plan.axes[1].breaks, 2)))
    assert moved.identity() != plan.identity()


def test_tables_and_axes_fit_each_other() -> None:
    plan = MECHANISMS["plane"].as_plan()
    with pytest.raises(InvalidInput, match="a row for each lattice point: there are 5, and 20 rows"):
        RoundingPlan(plan.axes[:1], plan.tables)
    for breaks, degree in (([0], 2), ([0, 1, 1], 2), ([1, 2], 2), ([0, 1], 3)):
        with pytest.raises(InvalidInput, match="go up from 0"):
            rounding_axis(F(0), [F(b) for b in breaks], degree)
    assert len(rounding_axis(F(0), [F(0), F(1)], 2)) == len(Axis((F(0), F(1)), 2))


SMALL = laplace_noise(sf.PrivacyType(box((6, 4), step=2), epsilon="1/2"), parts=1)


@pytest.mark.parametrize("point", [(0.0, 0.0), (2.7, 1.3), (6.0, 4.0), (4.0, 3.999)])
def test_draws_fit_the_density(point: tuple[float, float]) -> None:
    many = 40_000
    with pytest.warns(InsecureSeed):
        stream = FreshStream(SeededBits(7))
    plan = SMALL.as_plan()
    drawn = plan.draw(np.tile(np.array(point)[:, None], (1, many)), stream, np.arange(many))
    draws = join(drawn, plan.output_sides)
    expected = np.array(SMALL.density(point).weights, dtype=float)
    found = np.bincount(draws, minlength=len(expected))
    often = expected * many > 5
    kept = np.append(found[often], found[~often].sum()), np.append(expected[often], expected[~often].sum()) * many
    assert chisquare(*(part[kept[1] > 0] for part in kept)).pvalue > 1e-4


def test_the_floor_is_drawn_too() -> None:
    plan = SMALL.as_plan()
    sides = [n + 2 * r for n, r in zip(SMALL.rounding.shape, SMALL.reach, strict=True)]
    assert plan.tables.weights[0, -1] == SMALL.floor * sides[0] * sides[1]
    assert [len(part.weights[0]) for part in plan.floors] == sides
    # a table that is floor and nothing else
    alone = OffsetPlan(plan.axes, alias_tables(np.array([[0, 0, 0, 1]]), 1), reach=(1, 0))
    drawn = alone.draw(np.ones((2, 5000)), FreshStream(SystemBits()), np.arange(5000))
    shares = np.bincount(drawn[0], minlength=5) / 5000
    assert shares == pytest.approx([2 / 7, 1 / 7, 1 / 7, 1 / 7, 2 / 7], abs=0.05)  # those beyond are moved inside


def test_a_release_of_a_large_box() -> None:
    wide = laplace_noise(sf.PrivacyType(box((300, 300), step=3), epsilon=1))
    table = pa.table({"x": np.full(2000, 100.0), "y": np.full(2000, 299.0)})
    done = wide.release(table, Position("x", "y"))
    x, y = (np.asarray(done[name]) for name in ("x", "y"))
    assert np.hypot(x - 100, y - 299).mean() == pytest.approx(1.75, abs=0.25)  # less than 2: moved into the box
    assert y.max() <= 300
