"""Rows of noise in floats beside the exact ones that are drawn from, one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.certify.noise import noise_row
from sfumato.design.boxes.noise_rows import clamped_points, clamped_rows
from sfumato.mechanisms.box_noise import laplace_noise


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
