"""The compiled twin gives the kernel's answer, also when one entry is off by one unit."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.certify import kernel, twin
from sfumato.certify.certificate import certificate
from sfumato.errors import InvalidChannel
from strategies import privacy_types
from vectors.parts import rows
from vectors.true_rows import HALF


def answers(privacy: sf.PrivacyType, weights: Any) -> tuple[Any, Any]:
    """What kernel and twin say: the counts of a proof, or the words of a refutation."""
    total = int(weights[0].sum())
    header, sections = certificate(privacy, tuple(range(weights.shape[1])), weights, total).interpreted()
    said = []
    for checker in (kernel.check, twin.check_arrays):
        try:
            said.append(("proved", checker(header, sections)))
        except kernel.Refuted as error:
            said.append(("refuted", error.pair is None))
    return said[0], said[1]


@st.composite
def repaired(draw: Any) -> tuple[np.ndarray[Any, Any], sf.PrivacyType]:
    privacy = draw(privacy_types(smallest=-2, largest=1))
    n = len(privacy.space)
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = np.exp(-privacy.rate * np.minimum(privacy.space.distances.floats, 1e3)) @ rng.random((n, n + 1))
    matrix = scores / scores.sum(axis=1, keepdims=True)
    made = sf.quantise(matrix, privacy, bits=draw(st.sampled_from([16, 30, 52, 60])))
    return np.array(made.mechanism.weights), privacy


@given(repaired())
@settings(max_examples=60)
def test_both_prove_what_repair_makes(case: tuple[Any, sf.PrivacyType]) -> None:
    weights, privacy = case
    by_kernel, by_twin = answers(privacy, weights)
    assert by_kernel == by_twin
    assert by_kernel[0] == "proved"


@given(repaired(), st.data())
@settings(max_examples=200)
def test_both_agree_after_one_unit_moves(case: tuple[Any, sf.PrivacyType], data: st.DataObject) -> None:
    weights, privacy = case
    changed = weights.copy()
    for _ in range(data.draw(st.integers(1, 3))):
        x = data.draw(st.integers(0, len(weights) - 1))
        give = data.draw(st.integers(0, weights.shape[1] - 1))
        take = data.draw(st.integers(0, weights.shape[1] - 1))
        unit = data.draw(st.sampled_from([1, 1, 1, 7]))
        if changed[x, take] >= unit:
            changed[x, take] -= unit
            changed[x, give] += unit
    by_kernel, by_twin = answers(privacy, changed)
    assert by_kernel[0] == by_twin[0]
    if by_kernel[0] == "proved":
        assert by_kernel == by_twin


def test_a_tight_entry_tolerates_no_unit() -> None:
    space = sf.line(2)
    privacy = sf.PrivacyType(space, epsilon="0.7")
    total = 2**60
    promise = kernel.Promise("rows", privacy.epsilon, None)
    p, q = kernel.factor_below(promise, kernel.Metric("rational", Fraction(1)), 1, total)
    # the largest first entry with (total - b) ≤ p/q · b for the symmetric mechanism
    small = -(-total * q // (p + q))
    fine = np.array([[total - small, small], [small, total - small]])
    assert answers(privacy, fine)[0][0] == answers(privacy, fine)[1][0] == "proved"
    off = np.array([[total - small + 1, small - 1], [small, total - small]])
    assert answers(privacy, off)[0][0] == answers(privacy, off)[1][0] == "refuted"


def test_row_sums_are_checked_by_both() -> None:
    privacy = sf.PrivacyType(sf.line(2), epsilon=1)
    assert answers(privacy, np.array([[1, 1], [1, 2]])) == (("refuted", True), ("refuted", True))


def test_totals_that_do_not_fit_go_to_the_kernel() -> None:
    privacy = sf.PrivacyType(sf.line(2), alpha="1/2")
    huge = np.array([[2 * 3**50, 3**50], [3**50, 2 * 3**50]], dtype=object)
    assert sf.prove(huge, privacy, checker="twin").proof.checker == "kernel"


def test_chains_are_checked_by_the_twin_too() -> None:
    space = sf.points([[0, 0], [1, 1], [2, 2]])  # squares of distances are kept
    header, sections = certificate(
        sf.PrivacyType(space, epsilon=1), (0, 1), np.array([[2, 1], [2, 1], [2, 1]]), 3
    ).interpreted()
    assert twin.check_arrays(header, sections)["implied"] == 1
    for via, error in (
        ([2, 1, kernel.NOWHERE], kernel.Refuted),
        ([kernel.NOWHERE, 9, kernel.NOWHERE], kernel.Unreadable),
    ):
        with pytest.raises(error):
            twin.check_arrays(header, sections | {"via": np.array(via, dtype="<u4").tobytes()})
    for distances in ([2, 7, 2], [0, 8, 8], [kernel.UNBOUNDED, 8, 2], [2, 2**40, 2]):
        with pytest.raises((kernel.Refuted, kernel.Unreadable)):
            twin.check_arrays(header, sections | {"distances": np.array(distances, dtype="<u8").tobytes()})


def test_a_few_hundred_secrets_with_all_pairs() -> None:
    rng = np.random.default_rng(0)
    space = sf.points(rng.random((300, 2)))
    privacy = sf.PrivacyType(space, epsilon=4)
    scores = np.exp(-2 * space.distances.floats)
    mechanism = sf.quantise(scores / scores.sum(axis=1, keepdims=True), privacy).mechanism
    verdict = sf.verify(mechanism, checker="twin")
    assert verdict
    assert verdict.witness.pairs == 300 * 299 // 2
    assert verdict.witness.checker == "compiled twin"


@pytest.mark.parametrize("space", [sf.grid(3, 3), sf.line(5), sf.discrete(4)], ids=lambda s: s.name)
@pytest.mark.parametrize("given", [{"alpha": "1/2"}, {"epsilon": "0.37"}, {"epsilon": 3}, {"epsilon": 9}], ids=str)
def test_both_prove_the_same_bound(space: sf.FiniteSpace, given: dict[str, Any]) -> None:
    """The twin rounds factors to 2^-60, so its bound may be that much lower, never higher."""
    made = sf.design(
        sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, **given), solver="interior"
    )
    claim = made.mechanism.claim
    assert claim is not None and claim.dual is not None and len(claim.dual.values)
    assert sf.verify(made.mechanism, checker="twin")
    too_high = replace(claim, bound=made.bound + abs(made.bound) / 1000 + Fraction(1, 1000))
    with pytest.raises(InvalidChannel, match="dual numbers prove"):
        sf.prove(made.mechanism.weights, made.mechanism.privacy, outputs=made.mechanism.outputs, claim=too_high,
                 checker="twin")  # fmt: skip


def test_an_exact_bound_stands_before_the_twin_too() -> None:
    """α = 1/3 has factors that are no binary fractions: rounded, they would prove a little less than the optimum."""
    space = sf.line(3)
    made = sf.design(sf.Prior.uniform(space), sf.losses.absolute(space), sf.PrivacyType(space, alpha="2/3"))
    assert made.loss == made.bound
    assert sf.verify(made.mechanism, checker="twin")


def test_pairs_are_compared_in_a_few_times_the_room_of_their_distances() -> None:
    n = 2500
    ones = (8, (1).to_bytes(8, "little") * (n * (n - 1) // 2))
    file = rows([[1], [1]], [1], HALF).saying(secrets=list(range(n)), total="1")
    header, sections, _ = kernel.parse(file.holding(weights=(1, b"\1" * n), distances=ones).written())
    tracemalloc.start()
    try:
        assert twin.check_arrays(header, sections)["pairs"] == n * (n - 1) // 2
        assert tracemalloc.get_traced_memory()[1] < 10 * len(ones[1])
    finally:
        tracemalloc.stop()
