"""Programs of blocks as values: what they refuse, and what any duals prove."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from block_programs import random_duals, random_program
from sfumato.errors import InvalidInput
from sfumato.lp.cone.blocks import BlockProgram, blocks_bound, of_columns
from sfumato.lp.cone.program import ColumnProgram, Limit, column_bound

COST = np.array([[0.0, 1.0], [1.0, 0.0]])
CONE = ([[0.5, 0.5]], [[1.0, -1.0]])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"cost": [[0, np.nan], [1, 0]]}, "NaN"),
        ({"cost": [[0, np.inf], [1, 0]]}, "cost"),
        ({"cost": [[0, 1e300], [1, 0]]}, "scale them down"),
        ({"blocks": "abc"}, "list of tuples"),
        ({"blocks": [()]}, "block 0 is a tuple"),
        ({"blocks": [([[1, 0, 0]],)]}, "has 3 columns"),
        ({"blocks": [([[1, 1]], [[1, -1], [0, 1]])]}, "different numbers of rows"),
        ({"blocks": [([[1, np.inf]],)]}, "not finite"),
        ({"blocks": [([[1, -1]],)]}, "row 0 of block 0"),
        ({"sums": [[1, 1], [0, 1]]}, "exactly one entry in each column"),
        ({"sums": [[-1, 0], [0, 1]]}, "positive"),
        ({"totals": [1, 1, 1]}, "2 sums need as many totals"),
        ({"totals": [1, 0]}, "positive"),
        ({"inside": [1, -1]}, "the column inside"),
        ({"inside": [1, 9]}, "strictly inside"),
    ],
)
def test_bad_programs_are_refused(arguments: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        BlockProgram(**{"cost": COST, "blocks": [CONE], **arguments})


@pytest.mark.parametrize(
    ("duals", "words"),
    [
        ([], "as many arrays"),
        ([np.zeros((1, 1, 2))], "shape"),
        ([[[[1.0, 1.0]], [[0.0, 2.0]]]], "leave their cones by 1"),
        ([[[[np.nan, 1.0]], [[0.0, 2.0]]]], "NaN"),
    ],
)
def test_duals_outside_the_cones_are_refused(duals: Any, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        blocks_bound(BlockProgram(COST, [CONE]), duals)


def test_limits_are_refused() -> None:
    limit = Limit(COST, np.array([0, 1]), np.zeros(2))
    with pytest.raises(InvalidInput, match="limits"):
        of_columns(ColumnProgram(COST, [0], [1], [1.0], limits=(limit,)))


@given(st.integers(0, 2**32 - 1))
def test_multipliers_of_pairs_prove_the_same_as_ever(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m = rng.integers(2, 7, 2)
    first, second = np.nonzero(~np.eye(n, dtype=bool) & (rng.random((n, n)) < 0.6))
    classes = np.unique(rng.integers(rng.integers(1, n + 1), size=n), return_inverse=True)[1]
    program = ColumnProgram(rng.normal(size=(n, m)), first, second, 0.1 + rng.random(len(first)), classes)
    duals = rng.random((len(first), m))
    found = blocks_bound(of_columns(program), [duals[None]] if len(first) else [])
    assert found == pytest.approx(column_bound(program, duals), abs=1e-12)


@given(st.integers(0, 2**32 - 1))
def test_no_point_is_better_than_what_duals_prove(seed: int) -> None:
    rng = np.random.default_rng(seed)
    program = random_program(rng)
    parts = rng.dirichlet(np.ones(program.shape[1]))
    value = float((program.cost @ parts).sum())  # multiples of the constant column
    assert blocks_bound(program, random_duals(program, rng)) <= value + 1e-9
