"""Privacy losses on a grid: rounded up, exactly, with and without dp-accounting."""

from __future__ import annotations

import sys
from fractions import Fraction
from math import log

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import MissingExtra
from sfumato.release.accounting import privacy_loss, rounded_losses, worst_privacy_loss

MECHANISM = sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/3"))

masses = st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=1, max_size=6)


@given(masses, st.sampled_from([1e-4, 2.0**-13, 0.1, 3.0]))
def test_losses_are_rounded_up_by_less_than_a_step(pairs: list[tuple[int, int]], interval: float) -> None:
    total = sum(p for p, _ in pairs) or 1
    steps = [(Fraction(p, total), Fraction(q, total)) for p, q in pairs]
    losses, infinite = rounded_losses(steps, interval)
    expected = sum((p for p, q in steps if not q), Fraction(0))
    assert expected <= Fraction(infinite) <= min(Fraction(1), expected * (1 + Fraction(1, 2**39)))
    for place, mass in losses.items():
        here = [p for p, q in steps if p and q and (place - 1) * interval - 1e-9 < log(p / q) < place * interval + 1e-9]
        assert Fraction(mass) >= max(here)
    assert sum(map(Fraction, losses.values())) >= sum((p for p, q in steps if q), Fraction(0))


def test_a_loss_of_zero_stays_on_its_place() -> None:
    assert set(rounded_losses([(Fraction(1), Fraction(1))], 1e-4)[0]) == {0}


def test_a_loss_a_hair_above_a_place_goes_to_the_next() -> None:
    step = Fraction(float(log(2)))  # a double just below ln 2
    assert set(rounded_losses([(Fraction(2, 3), Fraction(1, 3))], float(step))[0]) == {2}
    assert set(rounded_losses([(Fraction(1, 3), Fraction(2, 3))], float(step))[0]) == {-1}


def test_without_dp_accounting_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "dp_accounting"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(MissingExtra, match=r"dp-accounting is not installed: pip install 'sfumato\[opendp\]'"):
        privacy_loss(MECHANISM, 0, 1)
    with pytest.raises(MissingExtra):
        worst_privacy_loss(MECHANISM)
