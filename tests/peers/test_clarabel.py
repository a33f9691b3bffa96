"""Clarabel, a conic solver, on programs of linear rows and second-order cones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from block_programs import by_clarabel, lumpy_prior, random_program, spline_program
from sfumato.lp.cone.arrays_backend import arrays_on
from sfumato.lp.cone.general import ArraysBlockIterate, solve_blocks, solve_with
from sfumato.lp.cone.run import Run
from sfumato.watch import Watch

pytestmark = pytest.mark.peers

# Clarabel stops at errors of 1e-10 in its own scale, which leaves some 1e-8 of the value; ours stops at a gap of 1e-8.
AGREEMENT = 1e-6


@pytest.mark.parametrize("seed", range(20))
def test_random_programs(seed: int) -> None:
    program = random_program(np.random.default_rng(seed))
    solution, peer = solve_blocks(program, tolerance=1e-8), by_clarabel(program)
    assert "Solved" in str(peer.status)
    size = np.abs(program.cost).sum() / program.shape[1]
    assert solution.value == pytest.approx(peer.obj_val, rel=AGREEMENT, abs=AGREEMENT * size)
    assert solution.bound == pytest.approx(peer.obj_val, rel=AGREEMENT, abs=AGREEMENT * size)


@pytest.mark.parametrize("device", [None, "cpu"])
@pytest.mark.parametrize("seed", range(6))
def test_random_programs_over_arrays(seed: int, device: str | None) -> None:
    if device is not None:
        pytest.importorskip("torch")
    program = random_program(np.random.default_rng(seed))
    method = ArraysBlockIterate(program, Watch(), arrays_on(device))
    solution, peer = solve_with(method, program, Run(Watch(), 400), 1e-8), by_clarabel(program)
    size = np.abs(program.cost).sum() / program.shape[1]
    assert solution.value == pytest.approx(peer.obj_val, rel=AGREEMENT, abs=AGREEMENT * size)
    assert solution.bound == pytest.approx(peer.obj_val, rel=AGREEMENT, abs=AGREEMENT * size)


@pytest.mark.parametrize(
    "arguments",
    [
        {"cells": 10, "axes": 1, "rate": 4.0, "outputs": 10},
        {"cells": 20, "axes": 1, "rate": 8.0, "outputs": 15, "prior": np.arange(1, 21) / 210},
        {"cells": 4, "axes": 2, "rate": 3.0, "outputs": 3, "prior": lumpy_prior(4)},
        {"cells": 8, "axes": 2, "rate": 8.0, "outputs": 8, "symmetric": True},
        {"cells": 8, "axes": 2, "rate": 4.0, "outputs": 8, "symmetric": True},
        {"cells": 12, "axes": 2, "rate": 8.0, "outputs": 9, "symmetric": True},
        {"cells": 3, "axes": 3, "rate": 2.0, "outputs": 2},
    ],
    ids=lambda arguments: "-".join(str(arguments[key]) for key in ("axes", "cells", "outputs", "rate")),
)
def test_splines_on_intervals_squares_and_cubes(arguments: Any) -> None:
    program = spline_program(**arguments)
    solution, peer = solve_blocks(program, tolerance=1e-8), by_clarabel(program)
    assert "Solved" in str(peer.status)
    assert solution.value == pytest.approx(peer.obj_val, rel=AGREEMENT)
    assert solution.bound == pytest.approx(peer.obj_val, rel=AGREEMENT)
