"""Drawings of spaces: nothing on top of each other, cycles round, cubes with parallel edges."""

from __future__ import annotations

import numpy as np
import pytest

import sfumato as sf
from sfumato.report.layout import drawn_places


@pytest.mark.parametrize(
    "space",
    [sf.line(5), sf.grid(3, 4), sf.grid(3, 3, 3), sf.cycle(7), sf.spaces.star(6), sf.discrete(5), sf.hamming(4),
     sf.line(1), sf.hamming(3, symbols=3), sf.graph([("a", "b"), ("b", "c", "1/2")]),
     sf.spaces.complete_bipartite(3, 4), sf.line(2),
     sf.FiniteSpace(list("xyz"), [[0, 1, np.inf], [1, 0, np.inf], [np.inf, np.inf, 0]])],
    ids=lambda space: space.name,
)  # fmt: skip
def test_every_secret_has_a_place_of_its_own(space: sf.FiniteSpace) -> None:
    where = drawn_places(space)
    assert where.shape == (len(space), 2) and np.isfinite(where).all()
    assert len(np.unique(np.round(where, 6), axis=0)) == len(space)


def test_a_cycle_is_round_and_keeps_its_order() -> None:
    where = drawn_places(sf.cycle(8))
    radii = np.linalg.norm(where - where.mean(axis=0), axis=1)
    assert np.ptp(radii) < 1e-9
    steps = np.linalg.norm(where - np.roll(where, 1, axis=0), axis=1)
    assert np.ptp(steps) < 1e-9


def test_letters_move_a_word_in_one_direction() -> None:
    space = sf.hamming(3)
    where = dict(zip(space.labels, drawn_places(space), strict=True))
    for rest in ("00", "01", "10", "11"):
        assert np.allclose(where["1" + rest] - where["0" + rest], where["100"] - where["000"])


def test_coordinates_are_kept() -> None:
    assert np.array_equal(drawn_places(sf.grid(2, 2)), sf.grid(2, 2).coordinates)
