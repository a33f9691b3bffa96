"""Reports on noise that is the same everywhere: numbers are those of exact densities, and pages say what they mean."""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.certify.noise import BoxNoise
from sfumato.errors import InvalidInput
from sfumato.mechanisms import laplace_noise, noise_on_box
from sfumato.report.box_noise import cloud_at, far_share, noise_chances, noise_facts, noise_on_cells
from sfumato.report.box_noise_sections import noise_figures
from sfumato.report.page import report
from sfumato.spaces.box import NORMS

BOXES: list[tuple[tuple[int, ...], str, str, int]] = [
    ((9,), "1/2", "euclidean", 2), ((6,), "3", "euclidean", 3), ((4, 2), "1", "euclidean", 1),
    ((3, 2), "1", "manhattan", 2), ((2, 2), "1", "chebyshev", 1), ((3, 2, 1), "1", "euclidean", 1),
]  # fmt: skip


@cache
def noise(which: int) -> BoxNoise:
    sides, step, metric, parts = BOXES[which]
    where = sf.box(sides, step=step, unit="km", metric=metric)
    return laplace_noise(sf.PrivacyType(where, epsilon=3), parts=parts)


@cache
def claimed(axes: int) -> BoxNoise:
    where = sf.box((30, 8)[:axes], step=2, unit="km")
    return noise_on_box(sf.Prior.uniform(where), sf.losses.distance(where), sf.PrivacyType(where, epsilon=1))


def told(mechanism: BoxNoise, point: Any) -> tuple[np.ndarray, np.ndarray]:
    """Outputs as points, one row each, and their exact probabilities."""
    found = mechanism.density(point)
    places = [[float(part) for part in (y if isinstance(y, tuple) else (y,))] for y in found.secrets]
    return np.array(places), np.array([float(share) for share in found.weights])


@given(st.integers(0, len(BOXES) - 1), st.lists(st.fractions(0, 1, max_denominator=24), min_size=3, max_size=3))
@settings(max_examples=15, deadline=None)
def test_what_is_told_at_a_point_is_the_exact_density(which: int, at: list[Fraction]) -> None:
    mechanism = noise(which)
    box = mechanism.box
    point = tuple(share * side for share, side in zip(at, box.sides, strict=False))
    cloud = cloud_at(mechanism, noise_chances(mechanism), point)
    places, shares = told(mechanism, point if len(point) > 1 else point[0])
    sides = np.array([float(side) for side in box.sides])
    border = ((places == 0) | (places == sides)).any(axis=1)
    assert cloud.border == pytest.approx(shares[border].sum(), abs=1e-9)
    lengths = np.linalg.norm(places - np.array([float(x) for x in point]), ord=NORMS[box.metric], axis=1)
    assert cloud.away == pytest.approx(shares @ lengths, rel=1e-6)
    low, step = (np.array([float(x) for x in values]) for values in (cloud.part.origin, cloud.part.step))
    cells = np.floor((places - low) / step + 1e-9).astype(np.int64)
    end = low + step * np.array(cloud.part.shape)
    cells = np.where((places == sides) & np.isclose(end, sides), np.array(cloud.part.shape) - 1, cells)
    inside = ((cells >= 0) & (cells < np.array(cloud.part.shape))).all(axis=1)
    expected = np.zeros(cloud.part.shape)
    np.add.at(expected, tuple(cells[inside].T), shares[inside])
    # what the floor draws is left out of a drawing
    assert np.allclose(cloud.shares, expected, atol=1e-9 + far_share(mechanism)) and expected.sum() > 0.995


@pytest.mark.parametrize("which", range(len(BOXES)))
def test_rows_on_cells_sum_up_exact_densities(which: int) -> None:
    mechanism = noise(which)
    box, table = mechanism.box, noise_on_cells(noise(which))
    assert np.allclose(table.sum(axis=1), 1)
    for row, centre in list(zip(table, box.centres, strict=True))[:: max(1, len(box) // 5)]:
        places, shares = told(mechanism, tuple(centre.tolist()))
        cells = np.minimum(places // np.array([float(step) for step in box.step]), np.array(box.shape) - 1)
        numbers = np.ravel_multi_index(cells.astype(np.int64).T, box.shape)
        assert np.allclose(row, np.bincount(numbers, weights=shares, minlength=len(box)), atol=1e-9)


@pytest.mark.parametrize("which", [0, 2, 3, 5])
def test_privacy_used_is_the_slope_of_one_output(which: int) -> None:
    """A difference of exact logarithms along the steepest axis, beside what the report says of that place."""
    mechanism = noise(which)
    used = noise_facts(mechanism).used
    assert 0.7 < used.largest <= 1
    output, near = mechanism.outputs[used.output], Fraction(1, 10**6)
    slopes = []
    for axis in range(mechanism.box.dimension):
        ends = []
        for sign in (-1, 1):
            place = [Fraction(x) for x in used.place]
            place[axis] += sign * near
            ends.append(log(mechanism.probability(place if len(place) > 1 else place[0], output)))
        slopes.append((ends[1] - ends[0]) / float(2 * near))
    dual = {"euclidean": 2, "manhattan": np.inf, "chebyshev": 1}[mechanism.box.metric]
    assert np.linalg.norm(slopes, ord=dual) / float(mechanism.rate) == pytest.approx(used.largest, rel=1e-3)


@pytest.mark.parametrize("axes", [1, 2, 3])
def test_the_page_of_noise(axes: int, tmp_path: Path) -> None:
    mechanism = claimed(axes) if axes < 3 else noise(5)  # in space the best noise takes its time
    prior = sf.Prior.uniform(mechanism.box)
    done = report(mechanism, tmp_path / "noise.html", prior=prior, file="large.sfm")
    text = done.page.read_text().replace("\xa0", " ")
    assert "the same noise at every point of a box" in text and "Take any two points of the box" in text
    assert "The promise is about points, not about cells." in text
    assert ("no mechanism on the box" in text) == (axes < 3)
    assert ("The loss holds for every prior that is constant on the cells" in text) == (axes < 3)
    assert "What is told at the point" in text and "Privacy actually used" in text
    assert "What would leave the box is told as the nearest point of its border" in text
    assert "One column stands for all outputs" in text and "sfumato verify large.sfm" in text
    assert ("Outputs above each other, along the third axis, are summed up." in text) == (axes == 3)
    assert ("A slice at the third coordinate" in text) == (axes == 3)
    assert ("in a corner" in text) == (axes > 1)
    assert [figure.name for figure in noise_figures(done.facts)] == ["prior", "cloud", "used", "border"]


def test_towards_the_border_less_is_lost_and_more_told_there() -> None:
    places = [cloud for _, cloud in noise_facts(claimed(2)).near_border]
    assert [cloud.border for cloud in places] == sorted(cloud.border for cloud in places)
    assert [cloud.away for cloud in places] == sorted((cloud.away for cloud in places), reverse=True)


def test_loss_and_bound_for_other_priors() -> None:
    """The loss holds for every prior on the cells, the bound for the one that it was made for."""
    mechanism = claimed(1)
    assert mechanism.claim is not None and mechanism.claim.bound is not None
    own = noise_facts(mechanism)
    assert (own.value, own.bound) == (mechanism.claim.value, mechanism.claim.bound.value)
    uneven = sf.Prior.on_cells(list(range(1, 16)), mechanism.box)
    other = noise_facts(mechanism, prior=uneven)
    assert (other.value, other.bound, other.gap) == (own.value, None, None)
    nobody = noise_facts(noise(0))
    assert nobody.value is nobody.measured is nobody.blind is None
    assert noise_facts(noise(0), prior=sf.Prior.uniform(noise(0).box)).measured == pytest.approx(1 / 3, rel=0.1)


def test_what_was_released_is_drawn(tmp_path: Path) -> None:
    mechanism = noise(2)
    outputs = [mechanism.outputs[k] for k in (0, 3, 3, 5)]
    done = report(mechanism, tmp_path / "noise.html", released=outputs)
    assert "What 4 releases told." in done.page.read_text()
    assert sorted(done.facts.released[1].tolist()) == [1, 1, 2]
    with pytest.raises(InvalidInput, match="is no output of the mechanism"):
        report(mechanism, tmp_path / "other.html", released=[(0.123, 0)])
    with pytest.raises(InvalidInput, match="one output or more"):
        report(mechanism, tmp_path / "other.html", released=[])


def test_noise_on_the_earth_says_where_lengths_are_measured(tmp_path: Path) -> None:
    town = sf.spaces.earth_box("48 N", "2 E", sides=(4, 4), step=2)
    made = laplace_noise(sf.PrivacyType(town, epsilon=2), parts=2)
    text = report(made, tmp_path / "noise.html", secret=("1/2", 1)).page.read_text()
    assert "distance on the ground, along a great circle," in text and "What is told at the point (0.5, 1)" in text
