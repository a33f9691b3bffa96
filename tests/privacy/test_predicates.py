from __future__ import annotations

from fractions import Fraction
from math import e, exp, log, sqrt

import numpy as np
import pytest
from scipy import stats

import sfumato as sf
from sfumato.errors import InvalidEpsilon, InvalidInput, NotSupported, UndecidedError
from sfumato.numbers import exact
from sfumato.privacy import predicates as q
from sfumato.privacy.predicates_curves import DENSITIES, Growth, Line, Tail
from sfumato.privacy.tradeoff import TradeOff, tradeoff

GRID = np.linspace(0, 1, 101)
PROVED = {
    "pure": q.pure(alpha="1/2"),
    "epsilon delta": q.epsilon_delta(epsilon=1, delta="1/10"),
    "gaussian": q.gaussian("3/2"),
    "laplace": q.laplace(epsilon=1),
    "laplace rational": q.laplace(alpha="1/3"),
    "logistic": q.logistic(epsilon=1),
    "logistic rational": q.logistic(alpha="1/3"),
    "gumbel right": q.gumbel(epsilon=1),
    "gumbel left": q.gumbel(alpha="1/3", tail="left"),
    "gumbel both": q.gumbel(epsilon=1, tail="both"),
    "exponential": q.exponential(epsilon=1),
    "exponential left": q.exponential(epsilon=1, tail="left"),
}


@pytest.mark.parametrize("name", PROVED)
def test_enclosures_and_floats_agree(name: str) -> None:
    predicate = PROVED[name]
    assert predicate.proved
    for a in (Fraction(k, 20) for k in range(21)):
        low, high = predicate.bounds(a)
        assert low <= high <= low + Fraction(1, 2**55)
        assert float(low) == pytest.approx(float(predicate.upper(float(a))), abs=1e-13)
        assert 1 - float(predicate.bounds(1 - a)[0]) == pytest.approx(float(predicate.lower(float(a))), abs=1e-13)


@pytest.mark.parametrize(
    ("name", "distribution"),
    [
        ("gaussian", stats.norm()),
        ("laplace", stats.laplace()),
        ("logistic", stats.logistic()),
        ("gumbel", stats.gumbel_r()),
    ],
)
@pytest.mark.parametrize("tail", ["right", "left"])
def test_closed_forms_are_the_definition(name: str, distribution: object, tail: str) -> None:
    part = Tail(DENSITIES[name], Growth(exponent=Fraction(1)), tail)
    a = np.linspace(0.01, 0.99, 99)
    d = distribution
    direct = d.sf(d.isf(a) - 1) if tail == "right" else d.cdf(d.ppf(a) + 1)  # type: ignore[attr-defined]
    assert np.allclose(part.floats(a), direct, atol=1e-12)


def test_the_exponential_density() -> None:
    a = np.linspace(0.01, 0.99, 99)
    d = stats.expon()
    assert np.allclose(q.exponential(epsilon=1).upper(a), d.sf(d.isf(a) - 1))
    assert np.allclose(q.exponential(epsilon=1, tail="left").upper(a), d.cdf(d.ppf(a) + 1))
    assert np.allclose(q.exponential(epsilon=1, tail="both").upper(a), q.pure(epsilon=1).upper(a))


def test_printed_curves() -> None:
    both = q.epsilon_delta(epsilon=1, delta="1/10")
    expected = np.minimum(1, np.minimum(e * GRID + 0.1, 1 - (1 - GRID - 0.1) / e))
    assert np.allclose(both.upper(GRID), expected)
    assert np.allclose(both.lower(GRID), 1 - expected[::-1])
    assert np.allclose(both.tradeoff(GRID), 1 - expected)
    assert np.allclose(q.pure(epsilon=1).upper(GRID), np.minimum(e * GRID, 1 - (1 - GRID) / e))
    assert (q.trivial().upper(GRID) == 1).all() and (q.trivial().lower(GRID) == 0).all()


def test_decided_on_the_curve() -> None:
    rational = q.laplace(alpha="1/2")
    assert rational("1/3", "5/8") and not rational("1/3", Fraction(5, 8) + Fraction(1, 10**30))
    low, high = q.gaussian(1).bounds("1/3", 400)
    assert q.gaussian(1)("1/3", low) and not q.gaussian(1)("1/3", high)
    factor = Growth(exponent=Fraction(1))
    assert Line(factor, Fraction(0), Fraction(0)).allows(Fraction(0), Fraction(0))
    assert factor.sign(Fraction(-3), Fraction(-1)) == -1 and factor.sign(Fraction(-2), Fraction(-1)) == 1
    assert [factor.sign(Fraction(k), Fraction(0)) for k in (-1, 0, 1)] == [-1, 0, 1]
    assert factor.sign(Fraction(0), Fraction(1)) == -1 and factor.sign(Fraction(1), Fraction(-1)) == 1


@pytest.mark.parametrize(
    "name", ["epsilon delta", "exponential", "exponential left", "gumbel right", "laplace", "pure"]
)
def test_symmetrised_asks_both_ways(name: str) -> None:
    one, both = PROVED[name], q.symmetrised(PROVED[name])
    for a in (Fraction(k, 13) for k in range(14)):
        for b in (Fraction(k, 11) for k in range(12)):
            assert both(a, b) == (one(a, b) and one(b, a))
    assert set(q.symmetrised(both).parts) == set(both.parts)


def test_symmetrised_exponential_is_pure() -> None:
    assert set(q.symmetrised(q.exponential(alpha="1/2")).parts) == set(q.pure(alpha="1/2").parts)
    box = q.symmetrised(q.from_function(lambda a, b: b <= 2 * a))
    assert box("1/4", "1/2") and not box("1/2", "1/8")


def test_profiles_with_a_formula() -> None:
    for epsilon in ("1/4", "1", "3/2"):
        at = float(Fraction(epsilon))
        low, high = q.profile(q.gaussian(1), epsilon=epsilon)
        phi = stats.norm.cdf
        assert float(low) == pytest.approx(phi(0.5 - at) - exp(at) * phi(-0.5 - at), abs=1e-10)
        assert 0 <= high - low < Fraction(1, 10**10)
        low, high = q.profile(q.laplace(epsilon=2), epsilon=epsilon)
        assert float(low) == pytest.approx(1 - exp((at - 2) / 2), abs=1e-10)
        low, high = q.profile(q.logistic(epsilon=2), epsilon=epsilon)
        assert float(low) == pytest.approx((sqrt(exp(2)) - sqrt(exp(at))) ** 2 / (exp(2) - 1), abs=1e-10)
        low, high = q.profile(q.pure(epsilon=2), epsilon=epsilon)
        assert float(low) == pytest.approx((exp(2) - exp(at)) / (1 + exp(2)), abs=1e-10)
        assert low <= high < low + Fraction(1, 10**10)
    assert q.profile(q.epsilon_delta(alpha="1/2", delta="1/10"), alpha="1/2") == (Fraction(1, 10), Fraction(1, 10))
    low, high = q.profile(q.epsilon_delta(epsilon=1, delta="1/10"), epsilon=1)
    assert low <= Fraction(1, 10) <= high < low + Fraction(1, 10**10)
    low, high = q.profile(q.gaussian(0), epsilon=0)
    assert low <= 0 <= high < Fraction(1, 10**9)
    assert q.profile(q.trivial(), alpha="1/2") == (1, 1)


def test_points() -> None:
    curve = q.from_points([(0, "1/10"), ("2/5", "9/10"), (1, 1)])
    assert curve.proved and [str(part.slope) for part in curve.parts] == ["2", "1/6"]  # type: ignore[attr-defined]
    assert curve.upper([0, 0.2, 0.4, 1]).tolist() == pytest.approx([0.1, 0.5, 0.9, 1])
    bent = q.from_points([(0, 0), ("1/2", "1/4"), (1, 1)])
    assert not bent.proved and bent.upper(0.25) == 0.125 and bent.bounds("1/4")[0] == Fraction(1, 8)
    assert bent(0, 0) and not bent("1/2", "1/2")
    for wrong in ([(0, 0)], [(0, 0), ("1/2", 1)], [(0, 0), (0, 1), (1, 1)], [(0, 0), (1, 2)]):
        with pytest.raises(InvalidInput):
            q.from_points(wrong)


def test_from_a_distribution() -> None:
    assert q.from_distribution(stats.norm(3, 2), 2).proved
    assert q.from_distribution(stats.norm(3, 2), 2)("1/2", "0.8413")
    assert np.allclose(q.from_distribution(stats.uniform(scale=4), 1).upper([0.1, 0.9]), [0.35, 1])
    gamma = q.from_distribution(stats.gamma(2), 1, tail="both")
    assert not gamma.proved and len(gamma.parts) == 2
    assert gamma("1/2", "1/2") and not gamma("1/2", "9/10")
    beta = q.from_distribution(stats.beta(2, 2), "1/4", tail="left")  # bounded: M(0) is F(1/4)
    low, high = beta.bounds(0)
    assert low < exact(float(stats.beta(2, 2).cdf(0.25))) < high and beta.bounds(1) == (1, 1)
    with pytest.raises(NotSupported, match="tail"):
        q.from_distribution(stats.norm(), 1, tail="top")
    with pytest.raises(InvalidInput, match="frozen"):
        q.from_distribution(stats.norm, 1)
    with pytest.raises(InvalidInput, match="shift"):
        q.from_distribution(stats.norm(), -1)


@pytest.mark.parametrize(
    ("c", "peer"),
    [
        (lambda x: x * x / 2, q.gaussian(1)),
        (abs, q.laplace(epsilon=1)),
        (lambda x: x if x >= 0 else float("inf"), q.exponential(epsilon=1)),
        (lambda x: x + exp(-x) if x > -500 else float("inf"), q.gumbel(epsilon=1)),
    ],
)
def test_from_a_density(c: object, peer: q.Predicate) -> None:
    made = q.from_density(c, 1)  # type: ignore[arg-type]
    a = np.linspace(0.01, 0.99, 41)
    slack = made.parts[0].tolerance  # type: ignore[attr-defined]
    assert np.abs(made.upper(a) - peer.upper(a)).max() <= max(slack, 1e-9)
    assert slack < 1e-4
    assert not made.proved


def test_a_density_that_is_none() -> None:
    for c, words in (
        (lambda x: -x * x, "not convex"),
        (lambda x: 0.0, "no finite mass"),
        (lambda x: float("nan"), "a number or inf"),
        (lambda x: min((x - 3) ** 2, (x + 3) ** 2), "not convex"),
        (lambda x: x * x if abs(x) > 1 else float("inf"), "not convex"),
    ):
        with pytest.raises(InvalidInput, match=words):
            q.from_density(c, 1)


def test_conversions_of_an_exact_curve() -> None:
    curve = tradeoff(sf.Channel([0, 1], [["1/2", "1/4", "1/4"], ["1/8", "1/8", "3/4"]]), 0, 1)
    predicate = q.from_tradeoff(curve)
    assert q.tradeoff_of(predicate).points == curve.points
    told = q.from_tradeoff(
        TradeOff(((Fraction(0), Fraction(0)), (Fraction(0), Fraction(1)), (Fraction(1), Fraction(1))))
    )
    assert told.upper(0) == 1
    with pytest.raises(NotSupported, match="polygon"):
        q.tradeoff_of(q.gaussian(1))


def test_from_a_profile() -> None:
    both = q.from_profile([(2, "1/10")])
    assert set(both.parts) == set(q.epsilon_delta(alpha="1/2", delta="1/10").parts)
    assert len(q.from_profile([(2, "1/10"), (3, 0)], symmetric=False).parts) == 2
    with pytest.raises(InvalidInput, match="promise"):
        q.from_profile([("1/2", "1/10")])


def test_mistakes() -> None:
    for wrong in ({}, {"epsilon": 1, "alpha": "1/2"}, {"epsilon": -1}, {"alpha": 2}, {"epsilon": 10**9}):
        with pytest.raises(InvalidEpsilon):
            q.pure(**wrong)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="delta"):
        q.epsilon_delta(epsilon=1, delta=2)
    with pytest.raises(InvalidInput, match="function"):
        q.from_function(3)  # type: ignore[arg-type]
    with pytest.raises(NotSupported, match="function"):
        q.from_function(lambda a, b: True).upper(0.5)
    with pytest.raises(NotSupported, match="not proved"):
        q.profile(q.from_density(abs, 1), epsilon=1)
    with pytest.raises(InvalidInput, match="Predicate"):
        q.symmetrised(1)  # type: ignore[arg-type]
    numeric = q.from_density(abs, 1)
    with pytest.raises(UndecidedError, match="precision"):
        numeric("1/3", float(numeric.upper(1 / 3)))
    with pytest.raises(InvalidInput, match="TradeOff"):
        q.from_tradeoff([(0, 0)])  # type: ignore[arg-type]
    assert log(float(Growth(exponent=Fraction(1)))) == 1
