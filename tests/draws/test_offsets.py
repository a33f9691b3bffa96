"""Draws of noise that is the same everywhere: chances are those of the density."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import chisquare

import sfumato as sf
from sfumato.draws.alias import alias_tables
from sfumato.draws.offsets import OffsetPlan
from sfumato.draws.plans import join
from sfumato.draws.randomness import FreshStream, InsecureSeed, SeededBits, SystemBits
from sfumato.mechanisms.box_noise import laplace_noise
from sfumato.release import Position
from sfumato.spaces.box import box

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
