"""Bounds of 0: secrets that have one row, solved as one and proved as many."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.certify import kernel
from sfumato.design.merged import merged
from sfumato.design.problem import problem

Case = tuple[sf.PrivacyType, sf.Prior, sf.Loss, np.ndarray]


@st.composite
def cases(draw: Any) -> Case:
    """Secrets of a few groups, bounds between groups, any prior and any loss."""
    n = draw(st.integers(2, 7))
    group = np.array(draw(st.lists(st.integers(0, n - 2), min_size=n, max_size=n)))
    between = {
        pair: draw(st.fractions(Fraction(1, 4), 3, max_denominator=4))
        for pair in sorted({(min(a, b), max(a, b)) for a in group.tolist() for b in group.tolist() if a != b})
    }
    table = [[0 if a == b else between[min(a, b), max(a, b)] for b in group.tolist()] for a in group.tolist()]
    privacy = sf.privacy.ratio_bounds(table)
    counts = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n).filter(any))
    losses = draw(st.lists(st.lists(st.integers(0, 9), min_size=n, max_size=n), min_size=2, max_size=4))
    loss = sf.Loss(range(len(losses)), privacy.space, losses)
    return privacy, sf.Prior.from_counts(counts, privacy.space), loss, group


@given(cases())
@settings(max_examples=40)
def test_as_good_as_the_quotient(case: Case) -> None:
    """The optimum is that of one secret for each group, with priors added and losses averaged."""
    privacy, prior, loss, group = case
    kept = np.unique(group)
    weights = [prior.float_weights[group == g].sum() for g in kept]
    table = [[float((row[group == g] * prior.float_weights[group == g]).sum()) / (w or 1.0)
              for g, w in zip(kept, weights, strict=True)] for row in loss.matrix.astype(float)]  # fmt: skip
    first = [int(np.flatnonzero(group == g)[0]) for g in kept]
    apart = privacy.space.distances.floats[np.ix_(first, first)]
    quotient = sf.privacy.ratio_bounds(apart.tolist())
    small = sf.design(sf.Prior(quotient.space, np.array(weights) / sum(weights)),
                      sf.Loss(loss.actions, quotient.space, table), quotient, solver="highs")  # fmt: skip
    for solver in ("highs", "interior"):
        made = sf.design(prior, loss, privacy, solver=solver)
        # losses in floats are off by some 2^-52 of the largest
        assert float(made.bound) <= float(small.loss) + 1e-12
        assert float(small.bound) <= float(made.loss) + 1e-12
        assert made.gap <= 1e-4 or float(made.loss - made.bound) <= 1e-4
        assert sf.verify(made.mechanism, checker="kernel")
        rows = made.mechanism.weights
        assert all((rows[group == g] == rows[group == g][0]).all() for g in kept)


def test_a_table_of_zeros_tells_nothing() -> None:
    privacy = sf.privacy.ratio_bounds(np.zeros((4, 4), dtype=int).tolist())
    prior, loss = sf.Prior.from_counts([1, 2, 3, 4], privacy.space), sf.losses.bin(privacy.space)
    for solver in ("auto", "highs", "interior"):
        assert sf.design(prior, loss, privacy, solver=solver).loss == sf.prior_loss(prior, loss)


def test_limits_are_kept_under_bounds_of_zero() -> None:
    privacy = sf.privacy.ratio_bounds([[0, 0, 2, 2], [0, 0, 2, 2], [2, 2, 0, 1], [2, 2, 1, 0]])
    loss = sf.losses.absolute(sf.line(4))
    worst = sf.design(None, sf.Loss(range(4), privacy.space, loss.matrix), privacy, objective="worst secret")
    assert worst.gap <= 1e-4
    assert worst.mechanism.weights[0].tolist() == worst.mechanism.weights[1].tolist()


def test_a_large_table_takes_no_longer_than_its_quotient() -> None:
    """Half the cells of a grid have the row of a neighbour; the block method solves for the others."""
    cells = sf.grid(6, 6)
    same = np.arange(36) // 2 * 2
    privacy = sf.privacy.ratio_bounds((cells.distances.floats[np.ix_(same, same)] * np.log(2)).tolist())
    loss = sf.Loss(range(36), privacy.space, cells.distances.floats)
    asked = problem(sf.Prior.uniform(privacy.space), loss, privacy)
    fewer = merged(asked)
    assert fewer is not None
    assert fewer.problem.shape == (18, 36)
    made = sf.design(sf.Prior.uniform(privacy.space), loss, privacy)
    assert made.gap <= 1e-4
    assert "block" in made.method


def test_nothing_to_merge() -> None:
    privacy = sf.privacy.ratio_bounds([[0, 1], [1, 0]])
    assert merged(problem(sf.Prior.uniform(range(2)), sf.losses.bin(range(2)), privacy)) is None


@pytest.mark.parametrize("source", ["edges", "table"])
def test_only_edges_may_have_length_zero(source: str) -> None:
    """In a table an implied pair could rest on chains that never end."""
    metric = kernel.Metric("float", Fraction(1), source)
    sections = {"distances": np.array([0.0, 1.0]).tobytes()}
    if source == "edges":
        assert kernel.distance_reader(metric, sections)(0) == 0.0
    else:
        with pytest.raises(kernel.Unreadable, match="positive"):
            kernel.distance_reader(metric, sections)
