"""Planar Laplace noise between places that form no grid."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import NotSupported
from sfumato.mechanisms.exponential import needed_epsilon
from sfumato.mechanisms.places import places_of, planar_laplace_on_places
from sfumato.mechanisms.planar import planar_laplace_masses, plane_of

TOWNS = sf.geo([(48.85, 2.35), (48.80, 2.13), (48.95, 2.50), (48.89, 2.21)], labels=list("abcd"))


def test_on_a_grid_it_is_what_integrals_say() -> None:
    grid = sf.grid(4, 3, step=2)
    exactly = planar_laplace_masses(plane_of(grid), 0.7)
    assert grid.coordinates is not None
    about = planar_laplace_on_places(np.asarray(grid.coordinates, dtype=float), 0.7)
    assert np.abs(exactly - about).max() < 0.003
    assert needed_epsilon(about, grid) == pytest.approx(needed_epsilon(exactly, grid), rel=1e-3)


def test_places_on_the_earth_are_laid_out_on_a_map() -> None:
    where, stretch = places_of(TOWNS)
    first, second = TOWNS.pairs
    ratios = np.hypot(*(where[first] - where[second]).T) / TOWNS.pair_distances.floats
    assert ratios.max() == pytest.approx(stretch) and 0.99 < ratios.min() <= stretch < 1.01
    privacy = sf.PrivacyType(TOWNS, epsilon="1/5")
    plain, within = (sf.mechanisms.planar_laplace(privacy, within=within) for within in (False, True))
    assert plain.privacy.rate <= within.privacy.rate == pytest.approx(0.2) and sf.verify(plain) and sf.verify(within)
    assert plain.outputs == TOWNS.labels


def test_across_the_antimeridian() -> None:
    islands = sf.geo([(-17.0, 179.5), (-17.5, -179.5), (-18.0, 178.0)])
    where, stretch = places_of(islands)
    assert np.ptp(where[:, 0]) < 300 and stretch < 1.02


@pytest.mark.parametrize("space", [
    sf.geo([(60, 10), (-60, 10), (0, 170), (80, -100)]), sf.line(4), sf.discrete(3), sf.hamming(2),
    sf.points([[0, 0], [1, 1], [3, 1]], metric="manhattan"),
], ids=["the world", "a line", "discrete", "a cube", "manhattan"])  # fmt: skip
def test_what_is_no_plane_is_refused(space: sf.FiniteSpace) -> None:
    with pytest.raises(NotSupported, match="planar noise on"):
        places_of(space)


@pytest.mark.parametrize("unit", ["km", "m"])
def test_cells_of_maps_are_places_though_not_all_pairs_are_stored(unit: str) -> None:
    alpha = {"km": "1/2", "m": "999/1000"}[unit]
    hexagons = sf.spaces.h3_cells((40.70, -74.02, 40.72, -74.00), 8, unit=unit)
    squares = sf.spaces.square_cells(40.70, -74.02, sides=(2, 2) if unit == "km" else (2000, 2000),
                                     step=0.5 if unit == "km" else 500, unit=unit)  # fmt: skip
    for space in (hexagons, squares):
        assert len(space.pairs[0]) < len(space) * (len(space) - 1) // 2
        privacy = sf.PrivacyType(space, alpha=alpha)
        noisy = sf.mechanisms.planar_laplace(privacy)
        assert noisy.privacy.rate <= privacy.rate * 1.001 and noisy.proof.checker
