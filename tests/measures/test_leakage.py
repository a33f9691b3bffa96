from __future__ import annotations

from fractions import Fraction

import pytest

import sfumato as sf
from sfumato import losses
from sfumato.errors import InvalidInput, NotSupported

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
    assert sf.capacity(sf.Channel.identity(range(5))) == sf.Capacity(5, 1)
    assert sf.capacity(sf.Channel.constant(range(5))) == sf.Capacity(1, 0)
    assert sf.capacity(flip.to_floats()).multiplicative == pytest.approx(4 / 3)
