"""Numbers printed in paper B, and values confirmed by independent programs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.mechanisms.continuous import (
    Density,
    absolute_error,
    gather,
    lattice_geometric,
    lattice_space,
    on_lattice,
    pixelate,
    posterior_loss,
    truncated_laplace,
)
from sfumato.papers.paper_b import ITEMS

G_2 = [["4/5", "3/20", "1/20"], ["1/5", "3/5", "1/5"], ["1/20", "3/20", "4/5"]]
G_4 = [
    ["2/3", "1/6", "1/12", "1/24", "1/24"],
    ["1/3", "1/3", "1/6", "1/12", "1/12"],
    ["1/6", "1/6", "1/3", "1/6", "1/6"],
    ["1/12", "1/12", "1/6", "1/3", "1/3"],
    ["1/24", "1/24", "1/12", "1/6", "2/3"],
]


@pytest.mark.parametrize(("epsilon", "loss"), [(1, 0.237831), (5, 0.14286)])
def test_laplace_with_a_uniform_prior_and_absolute_error(epsilon: int, loss: float) -> None:
    found = posterior_loss(Density.uniform(), truncated_laplace(epsilon), absolute_error())
    assert found.value == pytest.approx(loss, abs=5e-7)
    assert found.error < 1e-12


@pytest.mark.parametrize(("steps", "printed"), [(2, G_2), (4, G_4)])
def test_section_vii_matrices_of_the_geometric_mechanism(steps: int, printed: list[list[str]]) -> None:
    """ε = 2 ln 4 = 4 ln 2."""
    found = lattice_geometric(truncated_laplace(alpha="1/16"), steps)
    assert found.matrix.tolist() == [[Fraction(entry) for entry in row] for row in printed]


def test_section_ii_truncation() -> None:
    found = lattice_geometric(truncated_laplace(alpha="1/4"), 2)
    assert found.matrix[0].tolist() == [Fraction(2, 3), Fraction(1, 6), Fraction(1, 6)]


def test_section_iv_channel_and_bayes_risk() -> None:
    """M is G_4 on 0, 1/2, 1; rows x₀ and x₁ are ln 4 apart and the Bayes risk is 1/3."""
    secrets = [Fraction(0), Fraction(1, 2), Fraction(1)]
    channel = sf.channels.restrict(lattice_geometric(truncated_laplace(alpha="1/16"), 4), secrets)
    assert sf.smallest_epsilon(channel, lattice_space(2)) == pytest.approx(2 * np.log(4))
    assert sf.measures.bayes_risk(sf.Prior.uniform(secrets), channel) == Fraction(1, 3)


def test_section_ii_what_is_left_beside_zero() -> None:
    """The paper prints 2α/(1 − α), which would be 2 for α = 1/2."""
    for alpha in (Fraction(1, 2), Fraction(1, 5), Fraction(9, 10)):
        assert 1 - sf.mechanisms.InfiniteGeometric(alpha).probability(0, 0) == 2 * alpha / (1 + alpha)


def test_section_iv_after_the_second_output_two_guesses_are_as_good() -> None:
    """The paper prints "w = x₀ or w = x₀"."""
    secrets = [Fraction(0), Fraction(1, 2), Fraction(1)]
    column = sf.channels.restrict(lattice_geometric(truncated_laplace(alpha="1/16"), 4), secrets).matrix[:, 1]
    assert column.tolist() == [Fraction(1, 6), Fraction(1, 6), Fraction(1, 24)]


def test_section_vi_the_uniform_prior_on_two_cells() -> None:
    assert gather(Density.uniform(), 2).weights.tolist() == [Fraction(1, 2), Fraction(1, 2), 0]


def test_equation_12_has_as_many_pixels_as_it_says_and_the_ends_belong_to_the_outer_ones() -> None:
    channel = on_lattice(pixelate(truncated_laplace(alpha="1/16"), 4), 2)
    assert channel.outputs == (0, Fraction(1, 4), Fraction(1, 2), Fraction(3, 4))
    assert channel.matrix[0].tolist() == [Fraction(3, 4), Fraction(1, 8), Fraction(1, 16), Fraction(1, 16)]


def test_definition_4_atoms_as_corrected() -> None:
    rows = {row["output"]: row for row in ITEMS["B.fig1a"]().rows}
    assert rows["0 alone"]["x = 1/2"] == {"printed": "2", "ours": Fraction(1, 8), "agree": False}
    assert rows["0 alone"]["x = 0"]["agree"] and rows["1 alone"]["x = 1"]["agree"]
    pixels = [row for name, row in rows.items() if name.startswith("[")]
    assert len(pixels) == 8
    for column in ("x = 0", "x = 1/2", "x = 1"):
        assert sum(row[column] for row in pixels) == pytest.approx(1)


def test_figure_1b_blue_points_lie_between_orange_ones() -> None:
    table = ITEMS["B.fig1b"]()
    blue = [row for row in table.rows if row["posterior"].startswith("⁸L")]
    orange = [row for row in table.rows if row["posterior"].startswith("G₂")]
    assert (len(blue), len(orange)) == (8, 3)
    corners = np.array([[float(row[f"x = {x}"]) for x in ("0", "1/2", "1")] for row in orange])
    for row in blue:
        shares = np.array([row[f"of G₂: {x}"] for x in ("0", "1/2", "1")])
        assert shares.sum() == pytest.approx(1) and (shares >= 0).all() and (shares == 0).sum() == 1
        assert [row[f"x = {x}"] for x in ("0", "1/2", "1")] == pytest.approx(shares @ corners)
    assert "exactly" in table.notes[-1]


def test_theorem_13_the_gap_falls_like_the_square_and_the_bound_like_the_inverse() -> None:
    rows = ITEMS["B.theorem13"]().rows
    assert [row["N"] for row in rows] == [1, 2, 4, 8, 16, 32, 64]
    assert all(row["0 ≤ gap ≤ bound"] == "holds" for row in rows)
    assert all(row["gap, len"] <= row["κ·distance of hypers"] * (1 + 1e-9) for row in rows)
    assert all(row["gap, len"] < row["our bound"] < row["cκ/N"] / 10 for row in rows)
    assert rows[-1]["our bound"] * 64**2 == pytest.approx(0.51, abs=0.01)  # ε²/2, while cκ/N falls like 1/N
    bounds = [row["cκ/N"] * row["N"] for row in rows]
    assert max(bounds) == pytest.approx(min(bounds))
    scaled = [row["N²·gap, len²"] for row in rows[2:]]
    assert max(scaled) < 2 * min(scaled)
    assert all(row["N²·gap, len"] < 0.007 for row in rows[1:])


def test_theorem_5_as_a_table() -> None:
    rows = ITEMS["B.theorem5"]().rows
    assert rows[-1]["N"] == "Laplace"
    for name in ("len, ε = 1", "len², ε = 1", "len, ε = 5", "len², ε = 5"):
        losses = [row[f"G_N, {name}"] for row in rows]
        assert losses == sorted(losses)
        assert losses[-2] == pytest.approx(losses[-1], rel=1e-3)


@pytest.mark.parametrize("key", ITEMS)
def test_every_item_has_its_key_its_notes_and_a_figure(key: str) -> None:
    table = ITEMS[key]()
    assert table.key == key and table.notes and table.figure is not None
    assert len(table.figure().data) > 0
