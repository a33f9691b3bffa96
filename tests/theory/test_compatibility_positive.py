from __future__ import annotations

from fractions import Fraction
from math import inf

import pytest
from scipy import stats

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.theory.compatibility import is_uniformly_positive, net_measure


def test_example_3_3() -> None:
    """The uniform measure on [0, 1] is uniformly positive, with least mass at the ends; a Gaussian one is not."""
    verdict = is_uniformly_positive(stats.uniform(), scales=["3/4", "1/2", "1/10"])
    assert verdict
    for ball in verdict.witness:
        assert ball.least <= float(ball.radius) <= ball.mass + 1e-12
        assert ball.mass == pytest.approx(min(1.0, float(ball.radius)))
        assert ball.least > 0.97 * ball.mass and ball.centre in (0.0, 1.0)
    verdict = is_uniformly_positive(stats.norm(), scales=["1/2"])
    assert not verdict and verdict.witness.mass < 1e-6 and verdict.witness.centre > 4
    assert stats.norm.cdf(verdict.witness.centre + 0.5) - stats.norm.cdf(verdict.witness.centre - 0.5) < 1e-6


@pytest.mark.parametrize(
    ("law", "answers", "expected"),
    [
        (stats.beta(3, 7), None, True),  # no density at the ends, and mass around them
        (stats.truncnorm(-1, 2), None, True),
        (stats.expon(), None, False),
        (stats.gumbel_l(), None, False),
        (stats.cauchy(), None, False),
        (stats.norm(), (-3, 3), True),
        (stats.norm(), (None, 3), False),
        (stats.expon(), (0, 5), True),
        (stats.expon(), (-1, 5), False),
        (stats.uniform(), (0, 2), False),
        (stats.uniform(), ("1/4", "3/4"), True),
        (stats.uniform(), (0, None), False),
    ],
)
def test_bounded_supports_and_no_others(law: object, answers: object, expected: bool) -> None:
    verdict = is_uniformly_positive(law, answers)  # type: ignore[arg-type]
    assert bool(verdict) == expected
    if expected:
        assert all(0 < ball.least <= ball.mass for ball in verdict.witness)
        masses = [ball.mass for ball in verdict.witness]
        assert masses == sorted(masses, reverse=True)
    else:
        ball = verdict.witness
        r, x = float(ball.radius), float(ball.centre)
        assert law.cdf(x + r) - law.cdf(x - r) < 1e-6  # type: ignore[attr-defined]
        assert ball.mass < 1e-6 and abs(x) < inf


def test_a_measure_is_conditioned_to_the_answers() -> None:
    """Of a Gaussian on [−1, 1] balls around the ends have the inner half only, of 0.6827 in all."""
    (ball,) = is_uniformly_positive(stats.norm(), (-1, 1), scales=["1/2"]).witness
    inner = stats.norm.cdf(1) - stats.norm.cdf(0.5)
    assert ball.mass == pytest.approx(inner / (stats.norm.cdf(1) - stats.norm.cdf(-1)))
    assert abs(ball.centre) == 1.0 and 0 < ball.least <= ball.mass


def test_finite_measures() -> None:
    space = sf.line(4)
    verdict = is_uniformly_positive([1, 2, 3, 4], space, scales=[1, "1/2"])
    assert verdict
    assert [(ball.mass, ball.centre) for ball in verdict.witness] == [(Fraction(3, 10), 0), (Fraction(1, 10), 0)]
    empty = is_uniformly_positive({0: 1, 1: 0, 2: 0, 3: 1}, space)
    assert not empty and empty.witness.centre == 1 and empty.witness.radius == Fraction(1, 2)
    assert is_uniformly_positive(net_measure(sf.hamming(3)), sf.hamming(3))


def test_bad_measures() -> None:
    with pytest.raises(InvalidInput, match="lives on"):
        is_uniformly_positive([1, 2])
    with pytest.raises(InvalidInput, match="numbers ≥ 0"):
        is_uniformly_positive([1, -1, 1], sf.line(3))
    with pytest.raises(InvalidInput, match="scales"):
        is_uniformly_positive(stats.uniform(), scales=[0])
    with pytest.raises(InvalidInput, match="interval"):
        is_uniformly_positive(stats.uniform(), (1, 0))
    with pytest.raises(InvalidInput, match="interval"):
        is_uniformly_positive(stats.uniform(), 3)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no mass"):
        is_uniformly_positive(stats.uniform(), (None, -5))
    with pytest.raises(InvalidInput, match="density"):
        is_uniformly_positive(stats.poisson(3))
