from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidPrior, NotSupported
from sfumato.privacy import threshold as module
from sfumato.privacy.regular import has_tight_constraints, is_regular
from sfumato.privacy.similarity import quotient
from sfumato.privacy.threshold import regular_threshold, tight_threshold


@pytest.mark.parametrize(
    "space", [sf.sum_query(6, 3), sf.grid(4, 4, metric="chebyshev"), sf.spaces.k_count_query(6, 2)], ids=str
)
def test_enclosures_find_what_polynomials_find(space: sf.FiniteSpace) -> None:
    exactly = tight_threshold(space, digits=12)
    system = quotient(space)
    numerically = module._numerical_threshold(system, [Fraction(1)] * len(system), 12)
    assert exactly.complete and numerically.settled and not numerically.complete
    assert exactly.value.low <= numerically.value.high and numerically.value.low <= exactly.value.high
    assert str(exactly) == str(numerically)


def test_many_digits() -> None:
    found = tight_threshold(sf.grid(2, 3), digits=40)
    assert 0 < found.value.high - found.value.low <= Fraction(1, 10**40)
    at = [has_tight_constraints(sf.PrivacyType(sf.grid(2, 3), epsilon=e)) for e in (found.value.low, found.value.high)]
    assert [bool(v) for v in at] == [False, True]


@pytest.mark.parametrize(
    ("space", "base"),
    [(sf.spaces.star(3), 2), (sf.spaces.star(6), 5), (sf.graph([(0, 1), (1, 2), (1, 3), (3, 4), (3, 5), (3, 6)]), 3)],
    ids=str,
)
def test_trees(space: sf.FiniteSpace, base: int) -> None:
    found = tight_threshold(space)
    assert found.value.alpha == Fraction(1, base) and found.complete
    assert found.value.low <= Fraction(np.log(base)) * (1 + Fraction(1, 10**12))
    assert float(found) == pytest.approx(np.log(base), abs=1e-10)


def test_trees_with_unequal_edges() -> None:
    space = sf.graph([(0, 1, 1), (0, 2, 2), (0, 3, "1/2")])
    found = tight_threshold(space, digits=15)
    system = quotient(space)
    assert str(found) == str(module._threshold(system, None, 15))
    assert not has_tight_constraints(sf.PrivacyType(space, epsilon=found.value.low))
    assert has_tight_constraints(sf.PrivacyType(space, epsilon=found.value.high))


@pytest.mark.parametrize(
    "space", [sf.line(1), sf.line(40), sf.hamming(4), sf.cycle(9), sf.grid(5, 4, metric="manhattan")], ids=str
)
def test_where_it_always_exists(space: sf.FiniteSpace) -> None:
    found = tight_threshold(space)
    assert float(found) == 0 and found.complete and len(found.exists) == 1 and str(found) == "0.000000000"


def test_two_stretches() -> None:
    edges = [(i, j) for i in range(3) for j in range(3, 6)] + [(0, 1)]
    first, second = tight_threshold(sf.graph(edges), digits=30).exists
    assert float(first.low) == 0 and first.high is not None and second.high is None
    assert first.high.decimal(20) == "0.34657359027997265471" and first.high.alpha is None  # e^{−ε} = 1/√2
    assert second.low.alpha == Fraction(1, 2)


def test_steps_scale_the_threshold() -> None:
    one, three = (tight_threshold(sf.grid(3, 3, metric="chebyshev", step=s), digits=12) for s in (1, 3))
    assert float(one) == pytest.approx(3 * float(three), rel=1e-11)
    root = tight_threshold(sf.points([[0, 0], [1, 1], [2, 2], [3, 3]]), digits=9)  # multiples of √2: a line
    assert float(root) == 0


def test_priors() -> None:
    prior = sf.Prior(range(4), ["0.3", "0.27", "0.23", "0.2"])
    found = regular_threshold(prior, sf.discrete(4), digits=12)
    assert found.value.alpha == Fraction(1, 2) and str(found) == "0.693147180560 (ln 2)"
    line = regular_threshold(sf.Prior(range(3), ["1/2", "1/6", "1/3"]), sf.line(3), digits=10)
    for end, regular in ((line.value.low, False), (line.value.high, True)):
        assert (
            bool(is_regular(sf.Prior(range(3), ["1/2", "1/6", "1/3"]), sf.PrivacyType(sf.line(3), epsilon=end)))
            is regular
        )
    with pytest.raises(InvalidPrior, match="support"):
        regular_threshold(sf.Prior.point(range(4), 0), sf.discrete(4))


def test_float_spaces() -> None:
    rng = np.random.default_rng(5)
    space = sf.points(rng.random((12, 2)))
    found = tight_threshold(space, digits=6)
    assert found.settled
    assert not has_tight_constraints(sf.PrivacyType(space, epsilon=found.value.low))
    for factor in (1, 1.3, 3):
        assert has_tight_constraints(sf.PrivacyType(space, epsilon=float(found.value.high) * factor))


def test_boxes_enclose_what_they_say() -> None:
    space = sf.sum_query(6, 3)
    system = quotient(space)
    rhs = np.ones(len(system))
    box = module._Taylor(system, rhs, Fraction(1), 0.01)
    assert box.usable
    for rate in (0.99, 0.9931, 1.0, 1.0077, 1.01):
        found = module._solved(system, rhs, rate)
        assert (found >= box.low - 1e-12).all()
        assert (np.abs(found - box.values - (rate - 1) * box.slopes) <= box.error + 1e-12).all()
        step = 1e-5
        slope = (module._solved(system, rhs, rate + step) - module._solved(system, rhs, rate - step)) / (2 * step)
        assert (np.abs(slope - box.slopes) <= box.slope_error + 1e-7).all()
    assert not module._Taylor(system, rhs, Fraction(1), 1.0).usable


def test_disconnected_spaces() -> None:
    space = sf.graph([(0, i) for i in range(1, 5)] + [(5, 6)], labels=range(7))
    assert tight_threshold(space).value.alpha == Fraction(1, 3)


def test_too_many_digits() -> None:
    with pytest.raises(NotSupported, match="digits"):
        tight_threshold(sf.spaces.star(3), digits=10**6)


def test_what_was_not_settled_says_so() -> None:
    """Floats are not taken for commensurable, and nothing fails here: what holds near ε = 0 stays open."""
    far = float("inf")
    found = tight_threshold(sf.FiniteSpace(range(3), [[0, far, far], [far, 0, 1.5], [far, 1.5, 0]]))
    assert not found.settled and not found.complete and str(found).startswith("at most 0.00")
    assert has_tight_constraints(sf.PrivacyType(sf.line(2, step="3/2"), epsilon=found.value.high))
