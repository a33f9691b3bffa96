"""Nothing that is written beside a release tells anything about the true points, but through what was paid for."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from hide_files import QUICK, csv_file, table
from sfumato.hide import hiding
from sfumato.hide.extents import FEWEST, MOST_CELLS, WIDEST, cell_side
from sfumato.hide.paid import quantile_weights
from sfumato.numbers import exp_bounds, log_bounds

RELEASES: dict[str, dict[str, Any]] = {
    "a table": QUICK,
    "noise": {"box": (40.60, -74.20, 40.90, -73.80), "hide": "100 m"},
    "cells of H3": {"box": QUICK["box"], "h3": 8},
    "rows of a person": {**QUICK, "person": "id", "most_rows": 4, "beyond": "drop"},
    "points outside that are moved": {**QUICK, "box": (40.702, -74.02, 40.72, -74.00), "most_moved": 1},
    "a prior that is paid for": {**QUICK, "prior": "data", "prior_epsilon": 1},
    "a box that is paid for": {"box": "data", "box_epsilon": 300, "cell": "2 km", "tolerance": 0.5},
}


@pytest.mark.parametrize("what", RELEASES)
def test_what_is_written_beside_a_release_does_not_depend_on_the_points(
    what: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wishes = {"hide": "1 km"} | RELEASES[what]
    # What is paid for is drawn once, and held: all that the files tell of the points goes through it.
    drawn: dict[str, Any] = {}
    for name in ("noisy_counts", "noisy_box"):
        draw = getattr(hiding, name)
        monkeypatch.setattr(hiding, name, lambda *given, draw=draw, name=name: drawn.setdefault(name, draw(*given)))
    files = []
    for seed in (1, 2):
        folder = tmp_path / str(seed)
        folder.mkdir()
        source = csv_file(folder / "trips.csv", seed=seed)
        files.append(sf.hide(source, output=folder / "hidden.csv", **wishes).files)
    for one, other in zip(*(found[1:] for found in files), strict=True):
        assert one.name == other.name and one.read_bytes() == other.read_bytes()
    assert files[0][0].read_bytes() != files[1][0].read_bytes()


@pytest.mark.parametrize("rows", [2, 3])
def test_rows_of_a_person_together_have_odds_at_most_those_of_the_promise_that_was_asked_for(rows: int) -> None:
    whose = {"person": "id", "most_rows": rows, "beyond": "drop", "per_person": True}
    mechanism = sf.hide(table(), "500 m", box=QUICK["box"], h3=8, **whose).mechanism
    space, matrix = mechanism.privacy.space, mechanism.channel.matrix
    for here, there in permutations(range(len(space)), 2):
        # the odds of so many rows, each of them here or there, multiply: the worst are those of the worst output
        worst = max(Fraction(one) / Fraction(other) for one, other in zip(matrix[here], matrix[there], strict=True))
        apart = space.distances.bounds(space.distances.values[here, there], 128)[0]
        assert rows * log_bounds(worst, 256)[1] <= 2 * apart * log_bounds(Fraction(2), 256)[0]


@settings(max_examples=15)
@given(
    st.lists(st.integers(0, 30), min_size=1, max_size=40),
    st.lists(st.integers(0, 30), min_size=2, max_size=2),
    st.fractions("1/10", 3, max_denominator=100),
    st.sampled_from([Fraction(1, 20), Fraction(19, 20), Fraction(1, 2)]),
)
def test_with_a_row_replaced_no_quantile_is_much_likelier(
    others: list[int], replaced: list[int], epsilon: Fraction, share: Fraction
) -> None:
    tables = [np.array(sorted([*others, row])) for row in replaced]
    drawn = [quantile_weights(np.searchsorted(table, np.arange(32)), share, len(table), epsilon) for table in tables]
    weights = [[ladder[rung] for rung in rungs.tolist()] for ladder, rungs in drawn]
    sums = [sum(part) for part in weights]
    most = exp_bounds(epsilon)[0]  # a rational below e^ε
    for here, there in zip(*weights, strict=True):
        assert Fraction(here, sums[0]) <= most * Fraction(there, sums[1])
        assert Fraction(there, sums[1]) <= most * Fraction(here, sums[0])


@given(st.floats(1e-4, 50), st.floats(0.05, 500), st.floats(0.2, 5), st.sampled_from(["km", "m", "mi", "steps"]))
def test_cells_are_round_fine_and_few(rate: float, side: float, ratio: float, unit: str) -> None:
    sides = [Fraction(side), Fraction(side * ratio)]
    cell = cell_side(rate, sides, unit)
    cells = [-(-length // cell) for length in sides]
    assert cells[0] * cells[1] <= MOST_CELLS
    metres = cell * {"km": 1000, "m": 1, "mi": Fraction("1609.344"), "steps": 1}[unit]
    digits = str(float(metres)).replace(".", "").strip("0").split("e")[0]
    assert len(digits) <= 2
    if float(cell) > min(WIDEST / rate, float(min(sides)) / FEWEST) * 1.0001:  # then a finer one has too many
        assert (side / (float(cell) * 0.9) + 1) * (side * ratio / (float(cell) * 0.9) + 1) > MOST_CELLS
