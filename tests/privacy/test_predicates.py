from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from itertools import pairwise
from math import e, exp, expm1, log, sqrt

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
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
    assert np.abs(made.upper(a) - peer.upper(a)).max() <= 4 * slack  # no curve here is steeper than 3 from 0.01 on
    assert slack <= 1e-11
    assert not made.proved


def _cut(low: float, high: float, c: Callable[[float], float]) -> Callable[[float], float]:
    return lambda x: c(x) if low <= x <= high else float("inf")


# densities that jump at an end of their support, or have a kink off every grid, with their tails G in closed form
_JUMPS: dict[str, tuple[Callable[[float], float], object, float]] = {
    "exponential": (_cut(0, float("inf"), lambda x: x), stats.expon(), 1.0),
    "far exponential": (_cut(1000 / 3, float("inf"), lambda x: 3 * x), stats.expon(1000 / 3, 1 / 3), 0.5),
    "open end": (lambda x: x if x > 0 else float("inf"), stats.expon(), 0.01),
    "mirrored": (_cut(-float("inf"), 0.1, lambda x: -x), stats.gumbel_r(), 1.0),
    "uniform": (_cut(-1 / 3, 2 / 3, lambda x: 0.0), stats.uniform(-1 / 3), 0.3),
    "narrow": (_cut(-1e-4, 1e-4, lambda x: 7.0), stats.uniform(-1e-4, 2e-4), 1e-4),
    "cut Gaussian": (_cut(-0.3, 1.9, lambda x: x * x / 2), stats.truncnorm(-0.3, 1.9), 0.7),
    "cut exponential": (_cut(0, 2.2, lambda x: x), stats.truncexpon(2.2), 0.7),
    "off the grid": (lambda x: 2 * abs(x - 1 / 3), stats.laplace(1 / 3, 1 / 2), 1.0),
    "half normal": (_cut(0, float("inf"), lambda x: x * x / 2), stats.halfnorm(), 1.0),
    "smooth edge": (lambda x: x - 2 * log(x) if x > 0 else float("inf"), stats.gamma(3), 1.0),
}


@pytest.mark.parametrize("name", _JUMPS)
@pytest.mark.parametrize("tail", ["right", "left"])
def test_densities_that_jump(name: str, tail: str) -> None:
    """The stated tolerance is kept at every place, ends included: e^{−x}, x ≥ 0, was off by 9e-4 once."""
    c, law, shift = _JUMPS[name]
    made = q.from_density(c, str(shift), tail=tail)
    slack = made.parts[0].tolerance  # type: ignore[attr-defined]
    assert 1e-12 <= slack <= 1e-10
    a = np.concatenate([np.linspace(1e-6, 1 - 1e-6, 61), [1e-9, 1 - 1e-9]])

    def truth(a: np.ndarray) -> np.ndarray:
        if name == "mirrored":  # scipy has no such law: x ↦ 0.1 − x is exponential
            return np.minimum(1, np.exp(shift) * a) if tail == "left" else 1 - np.exp(-shift) * (1 - a)
        if tail == "right":
            return np.asarray(law.sf(law.isf(a) - shift))  # type: ignore[attr-defined]
        return np.asarray(law.cdf(law.ppf(a) + shift))  # type: ignore[attr-defined]

    room = truth(np.clip(a + slack, 0, 1)) - truth(np.clip(a - slack, 0, 1)) + slack
    assert (np.abs(made.upper(a) - truth(a)) <= room + 1e-13).all()
    for at in (Fraction(1, 10**9), Fraction(1, 7), Fraction(6, 7)):
        low, high = made.bounds(at)
        value = exact(float(truth(np.array([float(at)]))[0]))
        assert low - Fraction(1, 10**13) <= value <= high + Fraction(1, 10**13)


@given(st.lists(st.tuples(st.fractions(-3, 3), st.fractions(-4, 4)), min_size=2, max_size=5), st.fractions(0, 1))
@settings(max_examples=25, deadline=None)
def test_densities_with_kinks(lines: list[tuple[Fraction, Fraction]], share: Fraction) -> None:
    """c a maximum of lines between −2 and 3: tails are sums of exponentials, found piece by piece in closed form."""
    pairs = [(float(slope), float(start)) for slope, start in lines]

    def c(x: float) -> float:
        return max(slope * x + start for slope, start in pairs) if -2 <= x <= 3 else float("inf")

    crossings = [(v - w) / (t - s) for s, v in pairs for t, w in pairs if s != t]
    ends = sorted({-2.0, 3.0, *(x for x in crossings if -2 < x < 3)})

    def mass(low: float, high: float) -> float:
        if high <= low:
            return 0.0
        slope, start = max(pairs, key=lambda line: line[0] * (low + high) / 2 + line[1])
        width = high - low
        return exp(-(slope * low + start)) * (width if slope == 0 else -expm1(-slope * width) / slope)

    def above(x: float) -> float:
        return sum(mass(max(a, x), b) for a, b in pairwise(ends))

    made = q.from_density(c, "1/2")
    place = -2 + 5 * float(share)
    tail, moved = above(place) / above(-2), above(place - 0.5) / above(-2)
    slack = 2e-12 + made.parts[0].tolerance  # type: ignore[attr-defined]
    low, high = (float(made.upper(min(max(tail + d, 0.0), 1.0))) for d in (-slack, slack))
    assert low - slack <= moved <= high + slack


def test_a_density_that_is_none() -> None:
    for c, words in (
        (lambda x: -x * x, "not convex"),
        (lambda x: 0.0, "no finite mass"),
        (lambda x: float("nan"), "a number or inf"),
        (lambda x: min((x - 3) ** 2, (x + 3) ** 2), "not convex"),
        (lambda x: x * x if abs(x) > 1 else float("inf"), "not convex"),
        (lambda x: 0.0 if 0.501 < x < 0.502 else float("inf"), "too narrow"),
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
