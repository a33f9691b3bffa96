"""The finite problem below a box: outputs rounded to corners of cubes lose no less by the lowered loss."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.certify.box_bounds import box_covering, cubes_of, finite_prior, finite_shape, splits_from_depths
from sfumato.errors import InvalidInput
from sfumato.spaces.box import box

ORDERS = {"euclidean": 2, "manhattan": 1, "chebyshev": np.inf}
BOXES = [((1,), "1/4", (2,)), ((3, 2), 1, (1, 2)), ((2, "9/7"), ("1/2", "3/7"), (1, 1)), ((2, 2, 1), 1, (1, 1, 2))]


@given(
    metric=st.sampled_from(sorted(ORDERS)),
    sides=st.sampled_from(BOXES),
    seed=st.integers(0, 2**32 - 1),
)
def test_rounding_an_output_to_corners_loses_no_less_by_the_lowered_loss(metric, sides, seed):
    lengths, step, parts = sides
    where = box(lengths, step=step, metric=metric)
    shape = finite_shape(where, parts)
    random = np.random.default_rng(seed)
    splits = splits_from_depths(random.integers(0, 3, size=[n - 1 for n in shape]))
    found = box_covering(where, parts, splits)
    lower, widths, _ = cubes_of(splits, shape)
    numbers = {tuple(corner): k for k, corner in enumerate(found.corners.tolist())}
    grid, losses = np.array(found.grid, dtype=float), found.losses * float(found.unit)
    for _ in range(20):
        cube, inside = random.integers(len(lower)), random.random(where.dimension)
        rounded = np.zeros(len(found.secrets))
        for up in product((0, 1), repeat=where.dimension):
            share = np.prod(np.where(up, inside, 1 - inside))
            rounded += share * losses[numbers[tuple((lower[cube] + widths[cube] * np.array(up)).tolist())]]
        output = (lower[cube] + widths[cube] * inside) * grid
        lost = np.linalg.norm(output - found.secrets, ord=ORDERS[metric], axis=1)
        assert (rounded <= lost + 1e-12).all()  # floats of this test round to some 1e-15


def test_the_loss_is_lowered_by_what_the_norm_bends():
    """Far from a secret by a square of the side over eight distances."""
    found = box_covering(box((64, 64), step=1), (1, 1), splits_from_depths(np.zeros((63, 63), dtype=int)))
    exact = np.hypot(*found.corners.T)
    lowered = exact - found.losses[:, 0] * float(found.unit)
    far = exact > 20
    assert (lowered[far] < 1.2 / (8 * (exact[far] - 2))).all()
    assert lowered.max() < 0.3


def test_finite_priors_share_the_counts_of_cells():
    assert finite_prior(np.array([[1, 2]]), (2, 1)).tolist() == [1, 2, 1, 2]


@pytest.mark.parametrize("splits", [b"", b"\0", b"\0\0\0", b"\2\0", b"\1\0\0", b"\1" * 7 + b"\0" * 9])
def test_splits_that_describe_no_covering_are_refused(splits):
    with pytest.raises(InvalidInput):
        box_covering(box((3,), step=1), (1,), splits)


def test_a_bound_needs_two_secrets_along_each_axis():
    with pytest.raises(InvalidInput, match="more parts"):
        box_covering(box((1, 2), step=1), (1, 1), b"\0")
