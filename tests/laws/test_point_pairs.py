"""No pair of coordinates breaks a promise that was proved; pairs of cells that were snapped to do, at their borders."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from box_tables import box_mechanism
from point_pairs import checked_pairs, keeps, row_ratios, snapped_breaks
from sfumato.spaces.box import box

F = Fraction
CASES: dict[str, dict[str, Any]] = {
    "interval": {"box": box(3, step="1/2"), "outputs": 6},
    "interval, linear": {"box": box(3, step=1, origin="1/3"), "degree": 1},
    "plane": {"box": box((4, 3), step="1/2", unit="km"), "outputs": 9, "spread": 0.2},
    "plane, manhattan, uneven": {
        "box": box((3, 2), step=1, metric="manhattan"), "breaks": [[F(0), F(1, 3), F(1), F(3)], [F(0), F(1, 7), F(2)]],
    },
    "plane, linear, chebyshev": {"box": box((3, 2), step=1, metric="chebyshev", origin=(F(1, 3), 7)), "degree": 1},
    "space": {"box": box((2, 2, 1), step=1)},
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_no_pair_of_points_breaks_the_promise(name: str) -> None:
    """Ten thousand pairs, near and far, across and inside of cells, at their corners and outside of the box."""
    counts = checked_pairs(box_mechanism(**CASES[name]), 2_000, seed=19)
    assert {kind: count.violations for kind, count in counts.items()} == dict.fromkeys(counts, 0)
    assert sum(count.pairs for count in counts.values()) == 10_000


def test_snapping_breaks_it_at_the_borders_of_cells() -> None:
    counts = checked_pairs(box_mechanism(**CASES["plane"]), 2_000, seed=19)
    assert counts["across a border"].snapped > 1_000 and counts["inside a cell"].snapped == 0


def test_a_promise_that_is_a_little_too_large_is_found_out() -> None:
    """A law that cannot fail is none: with four fifths of its ε the same table breaks the promise for many pairs."""
    mechanism = box_mechanism(**CASES["plane"])
    counts = checked_pairs(replace(mechanism, rate=mechanism.rate * F(4, 5)), 300, seed=1)
    assert sum(count.violations for count in counts.values()) > 10
    assert all(count.violations <= count.exact for count in counts.values())


def test_rationals_decide_what_doubles_cannot_tell() -> None:
    mechanism = box_mechanism(**CASES["interval, linear"])
    x = 1.0
    assert keeps(mechanism, [x], [x]) and keeps(mechanism, [x], [1.0000000000000002]) and keeps(mechanism, [x], [9.0])
    flat = replace(mechanism, rate=F(1, 10**9))
    assert not keeps(flat, [x], [1.0000000000000002])


def test_cells_break_a_promise_about_points_exactly_where_rationals_say_so() -> None:
    """On two cells of side 1 with α = 1/4 the rows differ by 4: points less than 1 apart across the border break it."""
    ends, home = sf.line(2), box(2, step=1)
    mechanism = sf.mechanisms.random_response(sf.PrivacyType(ends, alpha="1/4"))
    x = np.array([[0.5], [0.5], [0.25], [0.0], [0.0], [0.999], [0.5]])
    z = np.array([[1.5], [1.4999999999999998], [0.75], [2.0], [1.0], [1.0], [1.5000000000000002]])
    broken, exact = snapped_breaks(mechanism, row_ratios(mechanism), home, x, z)
    assert broken.tolist() == [False, True, False, False, False, True, False]
    assert exact == 4  # a distance of 1, and those that doubles do not tell from it


def test_pairs_of_snapped_points_agree_with_every_output_compared() -> None:
    home = box((2, 1), step="1/2")
    cells = sf.grid(4, 2, step="1/2")
    mechanism = sf.mechanisms.exponential(sf.PrivacyType(cells, epsilon=2))
    rng = np.random.default_rng(3)
    x, z = (rng.random((300, 2)) * [2, 1] for _ in range(2))
    z[::2] = np.clip(x[::2] + rng.normal(0, 0.05, x[::2].shape), 0, [2, 1])
    broken, _ = snapped_breaks(mechanism, row_ratios(mechanism), home, x, z)
    table = np.asarray(mechanism.weights, dtype=float)
    rows = [(np.minimum(p // 0.5, [3, 1]) @ [2, 1]).astype(int) for p in (x, z)]
    ratios = np.max(np.maximum(table[rows[0]] / table[rows[1]], table[rows[1]] / table[rows[0]]), axis=1)
    assert (broken == (ratios > np.exp(2 * np.linalg.norm(x - z, axis=1)))).all()
    assert 0 < broken.sum() < 300
