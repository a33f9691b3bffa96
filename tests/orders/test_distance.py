from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import Mismatch
from sfumato.numbers import fractions, product
from sfumato.orders import refinement_distance

flip = sf.Channel([0, 1], [["3/4", "1/4"], ["1/4", "3/4"]])
even = sf.Prior.uniform([0, 1])


def test_by_hand() -> None:
    """Of the identity nothing can be made from outputs that never rule anything out."""
    found = refinement_distance(sf.Channel.identity([0, 1]), flip, even)
    assert found.lower == found.upper == 1
    assert refinement_distance(sf.Channel.constant([0, 1]), flip, even).upper == 0
    b = sf.Channel([0, 1], [["5/8", "3/8"], ["3/8", "5/8"]])
    assert refinement_distance(flip, b, even).upper == Fraction(1, 3)


def test_only_secrets_of_the_prior_count() -> None:
    a = sf.Channel(range(3), [["3/4", "1/4"], ["1/4", "3/4"], [1, 0]])
    b = sf.Channel(range(3), [["5/8", "3/8"], ["3/8", "5/8"], [0, 1]])
    prior = sf.Prior(range(3), ["1/2", "1/2", 0])
    found = refinement_distance(b, a, prior)
    assert found.upper == 0 and not sf.refines(b, a)
    assert refinement_distance(b, a, sf.Prior.uniform(range(3))).lower > 0


@pytest.mark.parametrize("seed", range(6))
def test_floats_are_enclosed_and_witnesses_can_be_checked(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n, m, k = (int(v) for v in rng.integers(2, 8, 3))
    tables = [rng.dirichlet(np.full(width, 0.5), n) for width in (m, k)]
    tables = [np.where(t < 0.05, 0.0, t) for t in tables]
    a, b = (sf.Channel(range(n), t / t.sum(axis=1, keepdims=True)) for t in tables)
    prior = sf.Prior.from_counts(rng.random(n))
    found = refinement_distance(b, a, prior)
    assert found.upper - found.lower <= 1e-12
    assert found.gain.matrix.max() <= 1 and not found.gain.matrix[-1].any()
    gained = (sf.measures.posterior_vulnerability(prior, c, found.gain) for c in (b, a))
    assert float(next(gained)) - float(next(gained)) == pytest.approx(found.lower, abs=1e-9)
    made = fractions(found.post_processing)
    exact_a, exact_b = a.to_rationals(), b.to_rationals()
    assert (made >= 0).all() and (made.sum(axis=1) <= 1).all()
    assert (product(exact_a.matrix, made) <= exact_b.matrix).all()
    weights = fractions(prior.weights) / fractions(prior.weights).sum()
    exactly = refinement_distance(exact_b, exact_a, sf.Prior(range(n), weights))
    assert exactly.lower == exactly.upper
    assert found.lower <= exactly.lower <= found.upper


def test_other_secrets_are_refused() -> None:
    with pytest.raises(Mismatch):
        refinement_distance(flip, flip, sf.Prior.uniform(["a", "b"]))
