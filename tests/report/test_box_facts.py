from __future__ import annotations

from fractions import Fraction
from math import sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from box_mechanisms import doubling
from sfumato.errors import InvalidInput
from sfumato.report.box_facts import box_facts, on_raster, smooth_basis
from sfumato.spaces.splines import Axis


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4), st.sampled_from([1, 2]), st.fractions(0, 1, max_denominator=40)
)
@settings(deadline=None)
def test_the_basis_in_floats_is_the_exact_one(widths: list[int], degree: int, share: Fraction) -> None:
    breaks = np.cumsum([0, *widths]).tolist()
    axis = Axis(tuple(map(Fraction, breaks)), degree)
    place = share * breaks[-1]
    values, slopes = smooth_basis(axis, np.array([float(place)]))
    exact = axis.rounding(place)
    assert np.allclose(values[0], [float(exact.get(v, Fraction(0))) for v in range(len(axis))], atol=1e-12)
    inside = min(max(float(place), 1e-4), breaks[-1] - 1e-4)
    around = smooth_basis(axis, np.array([inside - 1e-6, inside, inside + 1e-6]))
    if axis.cell_of(Fraction(inside - 1e-6)) == axis.cell_of(Fraction(inside + 1e-6)):
        assert np.allclose(around[1][1], (around[0][2] - around[0][0]) / 2e-6, atol=1e-5)
    assert abs(values.sum() - 1) < 1e-12
    assert abs(slopes.sum()) < 1e-12


def test_a_density_on_a_raster_has_all_of_the_probability_where_its_outputs_are() -> None:
    facts = box_facts(doubling(2), secret=(0.25, 0.25))
    values = on_raster(facts.used.marks, facts.places, facts.told, facts.box.metric)
    assert values.shape == (96, 96) and values.sum() == pytest.approx(1)
    for place, share in zip(facts.places, facts.told, strict=True):  # one in the middle of each quarter of the box
        quarter = tuple(slice(0, 48) if c < 1 else slice(48, 96) for c in place)
        assert values[quarter].sum() == pytest.approx(share)
        assert np.ptp(values[quarter]) < 1e-12


def test_outputs_too_close_for_a_raster_are_not_lost() -> None:
    marks, places = [np.array([0.5, 1.5])], np.array([[0.5], [0.51], [1.5]])
    assert on_raster(marks, places, np.array([0.2, 0.3, 0.5]), "euclidean").tolist() == [0.5, 0.5]


def test_privacy_used_is_the_steepest_slope() -> None:
    """The column that doubles has the slope √(1/2) at the place √2 − 1 of each cell: see the page on coordinates."""
    used = box_facts(doubling()).used
    assert used.largest == pytest.approx(sqrt(0.5) / 0.75, rel=1e-4)
    assert min(abs(used.place[0] - (cell + sqrt(2) - 1)) for cell in (0, 1)) < 0.02
    assert used.output == 0


def test_privacy_used_in_the_plane_and_in_space() -> None:
    """With the Manhattan norm the steepest axis counts, so products use what their factors use."""
    for axes in (2, 3):
        used = box_facts(doubling(axes)).used
        assert used.share.ndim == 2
        assert used.largest == pytest.approx(sqrt(0.5) / 0.75, rel=1e-3)
        assert used.largest <= 1


def test_rows_of_cells_are_means() -> None:
    mechanism = doubling()
    rows = box_facts(mechanism).rows
    fine = [
        [float(mechanism.density(Fraction(2 * k + 1, 400) + cell).weights[0]) for k in range(200)] for cell in (0, 1)
    ]
    assert np.allclose(rows[:, 0], np.mean(fine, axis=1), atol=1e-5)
    assert np.allclose(rows.sum(axis=1), 1)


def test_losses_are_proved_where_they_are_claimed_and_measured_elsewhere() -> None:
    mechanism = doubling()
    assert (box_facts(mechanism).value, box_facts(mechanism).measured) == (Fraction(3, 5), None)
    assert box_facts(mechanism).gap == pytest.approx(1 / 6)
    other = box_facts(mechanism, prior=sf.Prior.on_cells([3, 1], mechanism.box))
    assert (other.value, other.bound, other.gap) == (None, None, None)
    fine = [Fraction(2 * k + 1, 200) for k in range(200)]
    away = [[abs(float(y - x)) for y in mechanism.outputs] for x in fine]
    lost = [np.dot(row, [float(p) for p in mechanism.density(x).weights]) for x, row in zip(fine, away, strict=True)]
    assert other.measured == pytest.approx(0.75 * np.mean(lost[:100]) + 0.25 * np.mean(lost[100:]), rel=2e-3)
    assert box_facts(mechanism).blind == pytest.approx(0.5, rel=2e-2)
    assert box_facts(doubling(claimed=False)).blind is None


def test_the_secret_is_the_likeliest_cell_or_what_was_asked() -> None:
    mechanism = doubling(2)
    assert box_facts(mechanism, prior=sf.Prior.on_cells([1, 2, 7, 1], mechanism.box)).secret == (1.5, 0.5)
    facts = box_facts(mechanism, secret=("0.25", 7))
    assert facts.secret == (Fraction(1, 4), 7)
    assert np.allclose(facts.told, [float(p) for p in mechanism.density((Fraction(1, 4), 2)).weights])


def test_what_was_released_is_counted() -> None:
    mechanism = doubling()
    assert box_facts(mechanism, released=[1.5, 0.5, 0.5]).released.tolist() == [1, 2]
    assert box_facts(mechanism, released={Fraction(1, 2): 5}).released.tolist() == [0, 5]
    assert box_facts(doubling(2), released=[(1.5, 0.5)]).released.sum() == 1
    with pytest.raises(InvalidInput, match="no output"):
        box_facts(mechanism, released=[1.25])
    with pytest.raises(InvalidInput, match="one output or more"):
        box_facts(mechanism, released=[])


def test_priors_and_losses_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InvalidInput, match="each of its 4 cells"):
        box_facts(doubling(2), prior=sf.Prior.uniform(range(3)))
    with pytest.raises(InvalidInput, match="distance on its box"):
        box_facts(doubling(), loss=sf.losses.bin(range(2)))
    with pytest.raises(InvalidInput, match="2 coordinates"):
        box_facts(doubling(2), secret=1)
