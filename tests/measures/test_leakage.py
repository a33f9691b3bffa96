from __future__ import annotations

from fractions import Fraction

import pytest

import sfumato as sf
from sfumato import losses, measures
from sfumato.errors import InvalidInput, Mismatch, NotSupported

flip = sf.Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
fair = sf.Prior.uniform([0, 1])


def test_leakage_of_gains_and_losses() -> None:
    assert sf.leakage(fair, flip) == Fraction(4, 3)
    assert sf.leakage(fair, flip, kind="additive") == Fraction(1, 6)
    assert sf.leakage(fair, flip, losses.bin([0, 1])) == Fraction(3, 2)
    assert sf.leakage(fair, flip, losses.bin([0, 1]), kind="additive") == Fraction(1, 6)
    with pytest.raises(NotSupported):
        sf.leakage(fair, flip, kind="geometric")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="additive"):
        sf.leakage(fair, sf.Channel.identity([0, 1]), losses.bin([0, 1]))


def test_capacities() -> None:
    assert sf.capacity(sf.Channel.identity(range(5))) == sf.measures.Capacity(5, 1)
    assert sf.capacity(sf.Channel.constant(range(5))) == sf.measures.Capacity(1, 0)
    assert sf.capacity(flip.to_floats()).multiplicative == pytest.approx(4 / 3)


def test_additive_capacity_at_a_prior() -> None:
    sure = sf.Prior.point([0, 1], 0)
    assert measures.additive_capacity(fair, flip) == sf.capacity(flip).additive == Fraction(1, 3)
    assert measures.additive_capacity(sure, flip) == measures.additive_capacity(sure, flip, spanning="gain") == 0
    assert measures.additive_capacity(fair, flip, spanning="gain") == Fraction(1, 6)
    assert measures.additive_capacity(fair, flip.to_floats(), spanning="gain") == pytest.approx(1 / 6)
    assert measures.additive_capacity(fair, flip.to_floats()) == pytest.approx(1 / 3)
    with pytest.raises(NotSupported):
        measures.additive_capacity(fair, flip, spanning="loss")  # type: ignore[arg-type]
    with pytest.raises(Mismatch):
        measures.additive_capacity(sf.Prior.uniform(range(3)), flip)


def test_bayes_risk_capacity() -> None:
    found = measures.bayes_risk_capacity(flip)
    assert found.value == Fraction(3, 2)
    assert found.value == (1 - found.prior.weights.max()) / measures.bayes_risk(found.prior, flip)
    assert measures.bayes_risk_capacity(sf.Channel.constant(range(4))).value == 1
    assert measures.bayes_risk_capacity(sf.Channel.identity(range(4))).value == float("inf")
    assert measures.bayes_risk_capacity(sf.Channel.identity(range(4)).to_floats()).value == float("inf")
    assert measures.bayes_risk_capacity(sf.Channel([0], [["1/3", "2/3"]])).value == 1
