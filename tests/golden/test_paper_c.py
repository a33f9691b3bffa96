"""Numbers of paper C: thresholds, corner priors, utilities, Example 3."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.mechanisms.lattice import Lattice, lattice_kernel, lattice_solution
from sfumato.mechanisms.tight import has_lattice_tight_constraints, lattice_threshold, tight_constraints
from sfumato.papers.paper_c import ITEMS
from sfumato.privacy.regular import corner_priors, is_regular, leakage_bound, regular_region
from sfumato.privacy.similarity import quotient, solve_signs
from sfumato.privacy.threshold import regular_threshold, tight_threshold


def test_threshold_of_two_counts() -> None:
    """The paper prints 0.9, which a test with a tolerance gives."""
    assert str(tight_threshold(sf.spaces.k_count_query(30, 2), digits=12)) == "1.136080275246"
    item = ITEMS["C.fig6b"]()
    assert "is 0.90, as printed" in item.notes[1] and item.rows[0]["tight constraints"] == "none"


def test_threshold_of_the_sum_query() -> None:
    """The paper prints 0.8; from here on the mechanism exists for every ε, just below it does not."""
    item = ITEMS["C.fig6a"]()
    assert "0.968133485" in item.notes[0] and "is 0.80, as printed" in item.notes[1]
    assert [row["tight constraints"] for row in item.rows][:2] == ["none", "none"]


def test_threshold_of_the_sum_query_to_ten_digits() -> None:
    system = quotient(sf.sum_query(150, 5))
    for epsilon, exists in (("0.9681334846", False), ("0.9681334848", True)):
        found = solve_signs(system, sf.PrivacyType(system.space, epsilon=epsilon), [Fraction(1)] * len(system))
        assert found is not None and found.decided
        assert (-1 not in found.signs) is exists


def test_threshold_of_the_grid() -> None:
    """The paper draws a curve from 0.4 on."""
    found = lattice_threshold(Lattice((100, 100)), digits=8)
    assert found.low < found.high and f"{float(found):.8f}" == "0.66535158"
    assert not any(has_lattice_tight_constraints(Lattice((100, 100)), epsilon=e) for e in ("0.4", "0.5", "0.6"))


def test_threshold_of_example_3() -> None:
    """The paper prints 0.48."""
    letters = sf.Prior(range(4), ["0.3", "0.27", "0.23", "0.2"])
    assert str(regular_threshold(letters, sf.discrete(4), digits=6)) == "0.693147 (ln 2)"
    words = sf.hamming(5, symbols=4)
    weights = [1] * 1024
    for place in range(5):
        weights = [w * letters.weights[int(word[place])] for w, word in zip(weights, words.labels, strict=True)]
    prior = sf.Prior(words, weights)
    assert is_regular(prior, sf.PrivacyType(words, alpha="1/2"))
    assert not is_regular(prior, sf.PrivacyType(words, alpha="51/100"))


def test_example_3_leaks_more_than_printed() -> None:
    """A mechanism that is proved private at ε = 0.5 leaks 1.34497 bits; the paper's bound is 1.2."""
    privacy = sf.PrivacyType(sf.discrete(4), epsilon="0.5")
    letters = sf.Prior(range(4), ["0.3", "0.27", "0.23", "0.2"])
    alpha = np.exp(-0.5)
    rows = np.full((4, 3), 1 / 3)
    rows[:3] = (alpha + (1 - alpha) * np.eye(3)) / (1 + 2 * alpha)
    mechanism = sf.repair(rows, privacy).mechanism
    assert sf.verify(mechanism)
    leaked = 5 * sf.measures.min_mutual_information(letters, mechanism.channel)
    assert leaked == pytest.approx(1.34497, abs=5e-6)
    assert leaked <= 5 * leakage_bound(letters, privacy) < leaked + 1e-9


def test_corner_priors_of_the_line() -> None:
    corners = corner_priors(sf.PrivacyType(sf.line(3), epsilon="0.7"))
    assert [np.round(c.weights, 6).tolist() for c in corners[:2]] == [
        [0.573663, 0.284873, 0.141464],
        [0.249143, 0.501713, 0.249143],
    ]


@pytest.mark.parametrize(("epsilon", "tight", "geometric"), [("1.0", 0.148323, 0.100867), ("1.2", 0.190035, 0.1206)])
def test_utility_of_the_sum_query(epsilon: str, tight: float, geometric: float) -> None:
    mechanism = tight_constraints(sf.PrivacyType(sf.sum_query(150, 5), epsilon=epsilon))
    assert np.trace(mechanism.weights / mechanism.total) / 751 == pytest.approx(tight, abs=5e-7)
    alpha = np.exp(-float(epsilon) / 5)
    assert (751 * (1 - alpha) + 2 * alpha) / ((1 + alpha) * 751) == pytest.approx(geometric, abs=5e-7)


@pytest.mark.parametrize("key", ["C.fig1", "C.fig2", "C.fig3", "C.fig4", "C.fig5", "C.fig7", "C.example3", "C.fig6b"])
def test_items(key: str) -> None:
    item = ITEMS[key]()
    assert item.key == key and item.rows and item.notes
    assert all(row.keys() == item.rows[0].keys() for row in item.rows)
    if item.figure is not None:
        assert item.figure().data


def test_example_1_on_three_secrets_the_region_grows_with_epsilon() -> None:
    """Larger at 1.6 than at 0.7, corner by corner; nearly all priors at 12."""
    for space in (sf.line(3), sf.cycle(3)):
        small, large = (sf.PrivacyType(space, epsilon=epsilon) for epsilon in ("0.7", "1.6"))
        assert all(is_regular(corner, large) for corner in corner_priors(small))
        shares = [regular_region(sf.PrivacyType(space, epsilon=epsilon)).share for epsilon in ("0.7", "1.6", "12")]
        assert shares == sorted(shares) and shares[-1] > 0.9999


def test_example_2_the_share_of_the_region_in_closed_form() -> None:
    rows = ITEMS["C.fig3"]().rows
    for row in rows:
        t = np.exp(-float(row["D"]))
        assert row["share of all priors"] == pytest.approx(((1 - t) / (1 + 3 * t)) ** 3, abs=1e-6)


def test_figure_1_graphs_of_queries() -> None:
    """Edges by hand: a line of 6, a circle of 5, and 2m(m − 1) + 2(m − 1)² on a square of side m with diagonals."""
    rows = ITEMS["C.fig1"]().rows
    assert [row["edges"] for row in rows] == [5, 5, 2 * 4 * 3 + 2 * 3**2]
    assert [row["databases"] for row in rows] == [2**5, 2**5, 4**3]
    assert [row["same as"] for row in rows] == ["count_query(5)", "cycle(5)", "k_count_query(3, 2)"]
    assert {row["uniformly 1-sensitive"] for row in rows} == {"holds"}


def test_figure_5_graphs_of_the_case_studies() -> None:
    """With v = 3 sums at most 3 apart are adjacent: 9 + 8 + 7 pairs among 0, …, 9; a square of side 5 has 72 edges."""
    total, counts = ITEMS["C.fig5"]().rows
    assert (total["edges"], total["same as"], total["neighbours"]) == (24, "sum_query(3, 3)", "3 to 6")
    assert (counts["edges"], counts["same as"], counts["neighbours"]) == (72, "k_count_query(4, 2)", "3 to 8")
    assert {total["uniformly 1-sensitive"], counts["uniformly 1-sensitive"]} == {"holds"}


def test_the_tolerance_that_explains_figure_6_does_not_explain_figure_7() -> None:
    """On 100 × 100 points μ = z/n ≥ −1e-4 holds far below 0.4, where the printed curve begins."""
    lattice = Lattice((100, 100))
    for epsilon, least in (("0.1", -8.56e-6), ("0.4", -5.80e-6)):
        values = lattice_solution(lattice_kernel(lattice, epsilon), accuracy=1e-9).values
        assert values.min() / 1e4 == pytest.approx(least, abs=1e-8)


def test_items_show_where_no_mechanism_is_behind_the_curve() -> None:
    rows = {row["ε"]: row for row in ITEMS["C.fig7"]().rows}
    assert [rows[e]["tight constraints"] for e in ("0.4", "0.5", "0.6")] == ["none"] * 3
    assert rows["0.7"]["tight constraints"] == pytest.approx(0.081849, abs=1e-6)
    assert all(row["no mechanism exceeds"] >= row["planar Laplace"] for row in rows.values())


def test_items_agree_where_the_paper_is_right() -> None:
    agree = [row["value"]["agree"] for row in ITEMS["C.example3"]().rows]
    assert agree == [False, False, True, True]
    leaked = ITEMS["C.fig4"]().rows
    assert all(row["our bound"] == row["leaked by a mechanism"] for row in leaked)
    assert {row["prior is"] for row in leaked if float(row["ε"]) < 0.69} == {"not regular"}
