"""Patches in turns: what stays as it is, what can only become better, and what a town with an uneven prior gains.

Rows of noise in floats beside the exact ones that are drawn from, one by one.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.certify.noise import noise_row
from sfumato.design.boxes import optimal, patches
from sfumato.design.boxes.moments import Moments, density_moments
from sfumato.design.boxes.patches import (
    START,
    SWEEPS,
    Patches,
    clamped_points,
    clamped_rows,
    halved,
    lattices_for,
    noise_start,
    refined,
    sweep_share,
    swept,
)
from sfumato.design.boxes.table import BoxTable
from sfumato.mechanisms.box_noise import laplace_noise
from sfumato.mechanisms.smoothing import steepest
from sfumato.spaces.box import Box
from sfumato.spaces.splines import Rounding
from sfumato.watch import Watch

EPSILON = 1.0


@cache
def town() -> tuple[sf.Prior, Box]:
    """Three places where people live, and few between them."""
    box = sf.box((12, 11), step=1, unit="km")
    x, y = np.meshgrid(np.arange(12) + 0.5, np.arange(11) + 0.5, indexing="ij")
    bumps = ((3, 3, 40), (9, 4, 25), (6, 9, 30))
    counts = 1 + sum(size * np.exp(-((x - a) ** 2 + (y - b) ** 2) / 3) for a, b, size in bumps)
    return sf.Prior.on_cells(np.rint(counts).astype(int).tolist(), box), box


def weigh(rounding: Rounding) -> Moments:
    return density_moments(rounding, town()[0].float_weights, 2)


@cache
def start() -> BoxTable:
    box = town()[1]
    return noise_start(sf.PrivacyType(box, epsilon=EPSILON), (1, 1), weigh, sf.losses.distance(box))


def test_noise_begins_below_the_promise_and_near_to_what_noise_loses() -> None:
    table = start()
    assert steepest(table.matrix, table.rounding, 1) <= START * EPSILON * (1 + 1e-9)
    assert np.abs(table.matrix.sum(axis=1) - 1).max() < 1e-12
    assert 1.2 < table.value * EPSILON < 2 / START


def test_sweeps_keep_sums_and_promises_and_never_lose() -> None:
    table, loss = start(), sf.losses.distance(town()[1])
    for sweep in range(3):
        told: list[float] = []
        better = swept(table, weigh(table.rounding), loss, EPSILON, sweep, Watch(), told.append)
        assert told == sorted(told, reverse=True)
        assert better.value <= told[-1] * (1 + 1e-9) < table.value  # outputs move once more
        assert np.abs(better.matrix.sum(axis=1) - 1).max() < 1e-9 and better.matrix.min() > 0
        assert steepest(better.matrix, better.rounding, 1) <= sweep_share(sweep) * EPSILON * (1 + 1e-9)
        table = better
    assert table.value < 0.96 * start().value


def test_time_that_is_up_leaves_the_table() -> None:
    table, loss = start(), sf.losses.distance(town()[1])
    same = swept(table, weigh(table.rounding), loss, EPSILON, 0, Watch(0.0), lambda _: None)
    assert np.array_equal(same.matrix, table.matrix)


def test_a_finer_lattice_has_the_same_functions() -> None:
    table = start()
    finer = refined(table, weigh, sf.losses.distance(town()[1]))
    assert finer.rounding.shape == tuple(2 * (n - 2) + 2 for n in table.rounding.shape)
    # outputs move a little, and stand in the order of their places
    for point in ((Fraction(1, 3), Fraction(2)), (Fraction(11, 2), Fraction(31, 7)), (Fraction(12), Fraction(11))):
        here, there = (
            np.sort(sum(float(share) * each.matrix[v] for v, share in each.rounding.weights(point).items()))
            for each in (table, finer)
        )
        assert here == pytest.approx(there, rel=1e-12)
    assert steepest(finer.matrix, finer.rounding, 0) <= START * EPSILON * (1 + 1e-9)
    for axis in range(2):
        constant = halved(np.ones((5, 4)), axis)
        assert (constant == 1).all() and constant.shape[axis] == 2 * ((5, 4)[axis] - 1)


def test_lattices_are_finer_one_after_the_other_and_none_has_too_many_rows() -> None:
    box = sf.box((40, 40), step=2)
    assert lattices_for(box, 0.5) == [(2, 2)]
    assert lattices_for(box, 1.0) == [(3, 3)]
    assert lattices_for(sf.box((10, 10), step=1), 0.75) == [(1, 1), (2, 2)]
    assert lattices_for(sf.box((400, 400), step=1), 1.0) == []
    sides = Patches(sf.PrivacyType(box, epsilon=1), sf.losses.distance(box), 1.0, weigh, [(1, 1), (2, 2)]).rounds
    assert len(sides) == SWEEPS and sides == sorted(sides)


def test_a_design_of_a_town_is_found_by_patches_and_proved(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "SWEEPS", 2)
    monkeypatch.setattr(patches, "_COARSE", 1.0)
    monkeypatch.setattr(patches, "_FINE", 1.0)  # one lattice, and a coarse one
    monkeypatch.setattr(optimal, "TOLERANCE", 1.0)  # noise, which two sweeps do not beat, is not asked for
    prior, box = town()
    privacy = sf.PrivacyType(box, epsilon=EPSILON)
    told: list[float] = []
    design = sf.design(prior, sf.losses.distance(box), privacy, tolerance=0.45, progress=lambda s: told.append(s.value))
    assert design.gap <= 0.45
    assert float(design.loss) <= min(value for value in told if value > 0) * (1 + 1e-9)
    assert sf.verify(design.mechanism) and "patch" in design.method


def test_who_interrupts_a_sweep_gets_what_there_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(patches, "_COARSE", 1.0)
    prior, box = town()
    values: list[float] = []

    def told(state: sf.Progress) -> None:
        values.extend([state.value] * (state.value < np.inf))
        if len(values) > 4:
            raise KeyboardInterrupt

    design = sf.design(prior, sf.losses.distance(box), sf.PrivacyType(box, epsilon=EPSILON), progress=told)
    assert design.stopped and sf.verify(design.mechanism)
    assert float(design.loss) <= min(values)


def test_symmetric_boxes_are_solved_as_a_whole() -> None:
    box = sf.box((12, 12), step=1)
    question = optimal.box_question(
        sf.Prior.uniform(box), sf.losses.distance(box), sf.PrivacyType(box, epsilon=1), None
    )
    assert optimal.BoxSearch(*question, 0.05, Watch(), None).patches is None


def test_people_who_live_evenly_have_noise() -> None:
    box = sf.box((40, 30), step=1)
    privacy = sf.PrivacyType(box, epsilon=1)
    counts = np.random.default_rng(2).integers(9, 12, size=(40, 30)).tolist()
    for prior, uneven in ((sf.Prior.on_cells(counts, box), False), (sf.Prior.on_cells(crowded(counts), box), True)):
        question = optimal.box_question(prior, sf.losses.distance(box), privacy, None)
        assert (optimal.BoxSearch(*question, 0.05, Watch(), None).patches is not None) is uneven


def crowded(counts: list[list[int]]) -> list[list[int]]:
    """The same with many people in one cell."""
    return [[100, *counts[0][1:]], *counts[1:]]


@pytest.mark.parametrize(
    ("sides", "epsilon", "norm"),
    [((3,), 2, "euclidean"), ((30,), 2, "euclidean"), ((2, 5), 1, "euclidean"), ((2, 3), 3, "manhattan"),
     ((1, 2, 1), 1, "chebyshev")],
)  # fmt: skip
def test_rows_in_floats_are_those_that_are_drawn_from(sides: tuple[int, ...], epsilon: int, norm: Any) -> None:
    noise = laplace_noise(sf.PrivacyType(sf.box(sides, step=1, metric=norm), epsilon=epsilon), parts=1)
    shape = noise.rounding.shape
    rows = np.array([noise_row(noise.table, noise.floor, shape, v).ravel() for v in range(len(noise.rounding))])
    assert clamped_rows(noise) == pytest.approx((rows / rows.sum(axis=1, keepdims=True)).astype(float), rel=1e-12)
    told = np.array([output if isinstance(output, tuple) else (output,) for output in noise.outputs], dtype=float)
    assert clamped_points(noise.rounding) == pytest.approx(told)
