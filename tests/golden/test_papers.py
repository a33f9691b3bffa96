"""Numbers printed in the papers, and exact values confirmed by independent programs."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations

import numpy as np
import pytest
from scipy.linalg import solve

import sfumato as sf
from examples import random_response, truncated_geometric
from sfumato import losses
from sfumato.measures import gram_determinant
from sfumato.papers import PAPERS, Agreement, compared


def test_paper_a_figure_1() -> None:
    channel = sf.Channel(range(3), [["2/3", "1/6", "1/6"], ["1/3", "1/3", "1/3"], ["1/6", "1/6", "2/3"]])
    hyper = sf.hyper(sf.Prior.uniform(range(3)), channel)
    assert hyper.outer.tolist() == [Fraction(7, 18), Fraction(2, 9), Fraction(7, 18)]
    assert hyper.inners.tolist() == [
        [Fraction(4, 7), Fraction(1, 4), Fraction(1, 7)],
        [Fraction(2, 7), Fraction(1, 2), Fraction(2, 7)],
        [Fraction(1, 7), Fraction(1, 4), Fraction(4, 7)],
    ]


def test_paper_a_figure_1_is_all_that_is_printed() -> None:
    table = PAPERS["A.fig1"]()
    assert compared(table) == Agreement(same=12, different=0)
    assert table.figure is not None
    channel, posteriors = table.figure().data
    assert list(channel.text[0]) == ["2/3", "1/6", "1/6"]
    assert list(posteriors.text[0]) == ["4/7", "1/4", "1/7"]


def test_paper_a_figure_6b_pairs_of_the_grid() -> None:
    """Counted by hand: 12 steps along the sides, 8 diagonals, 8 moves of a knight; two steps in a line add nothing."""
    table = PAPERS["A.fig6b"]()
    assert [(row["distance"], row["pairs"], row["implied by shorter steps"]) for row in table.rows] == [
        ("1", 12, "no"), ("√2", 8, "no"), ("2", 6, "yes"), ("√5", 8, "no"), ("√8", 2, "yes"),
    ]  # fmt: skip
    assert [row["bound e^{εd}"] for row in table.rows] == pytest.approx([2**d**0.5 for d in (1, 2, 4, 5, 8)])
    assert table.figure is not None
    *families, points = table.figure().data
    assert [len(family.x) // 3 for family in families] == [12, 8, 8]
    assert len(points.x) == 9


def test_paper_a_figure_7b_a_path_on_which_the_distance_is_linear() -> None:
    table = PAPERS["A.fig7b"]()
    words = ("000", "100", "110", "111")
    assert [(row["from"], row["to"]) for row in table.rows] == list(combinations(words, 2))
    for row in table.rows:
        bits = sum(a != b for a, b in zip(row["from"], row["to"], strict=True))
        assert row["Hamming distance"] == row["steps along the path"] == bits
    assert table.figure is not None
    edges, path, points = table.figure().data
    assert (len(edges.x), len(path.x), len(points.x)) == (36, 9, 8)


@pytest.mark.parametrize(
    ("n", "multiplicative", "additive"),
    [(2, "4/3", "1/3"), (3, "5/3", "1/2"), (4, "2", "2/3"), (5, "7/3", "3/4"), (6, "8/3", "5/6")],
)
def test_paper_a_table_4a_multiplicative_capacity_of_the_line(n: int, multiplicative: str, additive: str) -> None:
    """The truncated geometric attains the multiplicative capacity of its type; the additive one from below."""
    capacity = sf.capacity(truncated_geometric(n, Fraction(1, 2)))
    assert capacity.multiplicative == Fraction(multiplicative)
    assert capacity.additive <= Fraction(additive)


@pytest.mark.parametrize(
    ("n", "multiplicative", "additive"), [(2, "4/3", "1/3"), (3, "3/2", "1/4"), (4, "8/5", "1/5"), (5, "5/3", "1/6")]
)
def test_paper_a_table_5a_random_response(n: int, multiplicative: str, additive: str) -> None:
    """Random response attains the multiplicative capacity of the discrete type."""
    capacity = sf.capacity(random_response(n, Fraction(1, 2)))
    assert capacity.multiplicative == Fraction(multiplicative)
    assert capacity.additive == Fraction(additive)


def test_paper_a_corollary_13_pair_of_priors() -> None:
    space = sf.discrete(3)
    response = random_response(3, Fraction(1, 2))
    privacy = sf.PrivacyType(space, alpha="1/2")
    assert sf.satisfies(response, privacy)
    half = sf.Prior(range(3), ["1/2", "1/2", 0])
    assert sf.bayes_vulnerability(half, response) == Fraction(5, 8)
    assert sf.bayes_vulnerability(sf.Prior.uniform(range(3)), response) == Fraction(1, 2)
    better = sf.Channel(range(3), [["2/3", "1/3"], ["1/3", "2/3"], ["1/3", "2/3"]])
    assert sf.satisfies(better, privacy)
    assert sf.bayes_vulnerability(half, better) == Fraction(2, 3)


def test_the_middle_of_a_line() -> None:
    """A kernel that tells the middle from the ends beats the geometric at that question."""
    space = sf.line(3)
    prior, question = sf.Prior(space, ["1/4", "1/2", "1/4"]), losses.member(space, [1])
    kernel = sf.Channel(space, [["2/3", "1/3"], ["1/3", "2/3"], ["2/3", "1/3"]])
    assert sf.satisfies(kernel, sf.PrivacyType(space, alpha="1/2"))
    assert sf.posterior_loss(prior, kernel, question) == Fraction(1, 3)
    assert sf.posterior_loss(prior, truncated_geometric(3, Fraction(1, 2)), question) == Fraction(5, 12)


def test_paper_d_example_322() -> None:
    """√|det| rises from 0.6251 to 0.8 when two outputs are merged."""
    first = sf.Channel([0, 1], [[0, "7/10", "3/10"], ["8/10", 0, "2/10"]])
    merged = sf.remap(first, {0: "a", 1: "b", 2: "b"})
    assert gram_determinant(first) == pytest.approx(0.6251, abs=5e-5)
    assert gram_determinant(merged) == pytest.approx(0.8)


@pytest.mark.parametrize(
    ("space", "threshold"),
    [(sf.sum_query(150, 5), 0.968133484697), (sf.spaces.k_count_query(30, 2), 1.136080275246)],
    ids=["sum", "2-count"],
)
def test_paper_c_query_metrics_give_the_right_thresholds(space: sf.FiniteSpace, threshold: float) -> None:
    """The metrics of C 7.1: Φz = 1 turns non-negative at 0.968 and 1.136 (printed: 0.8 and 0.9)."""

    def smallest(epsilon: float) -> float:
        phi = np.exp(-epsilon * space.distances.floats)
        return float(solve(phi, np.ones(len(space)), assume_a="sym").min())

    assert smallest(threshold + 1e-6) > 0 > smallest(threshold - 1e-6)


def test_corner_priors_of_the_three_point_line() -> None:
    weights = np.exp(-0.7 * sf.line(3).distances.floats)
    corners = weights / weights.sum(axis=1, keepdims=True)
    assert corners[0] == pytest.approx([0.573663, 0.284873, 0.141464], abs=1e-6)
    assert corners[1] == pytest.approx([0.249143, 0.501713, 0.249143], abs=1e-6)
