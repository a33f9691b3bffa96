"""The bridge to OpenDP without OpenDP: roundings, ratios, and what is said when the package is not there."""

from __future__ import annotations

import sys
from fractions import Fraction
from math import inf
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.certify.amounts import amount
from sfumato.errors import InvalidInput, MissingExtra
from sfumato.release.opendp import exponent_above, local_factor, opendp_measurement, opendp_rows

MECHANISM = sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/3"))


@given(st.fractions(0, 10**6, max_denominator=10**4) | st.floats(0, 1e300), st.booleans())
def test_the_exponent_is_never_below_the_product(distance: Any, logarithm: bool) -> None:
    rate = amount(alpha="2/7") if logarithm else amount(epsilon="7/10")
    found = exponent_above(rate, distance)
    if found < inf:
        low, high = rate.bounds(400)
        assert Fraction(found) >= high * Fraction(distance)
        assert Fraction(found) <= low * Fraction(distance) * (1 + Fraction(1, 2**51)) + Fraction(5e-324)
    else:
        assert rate.bounds(64)[1] * Fraction(distance) > Fraction(sys.float_info.max)


@pytest.mark.parametrize("wrong", [-1, -0.5, float("nan"), "far", None, "-1/3"])
def test_distances_that_make_no_sense(wrong: Any) -> None:
    with pytest.raises(InvalidInput):
        exponent_above(amount(epsilon=1), wrong)


def test_infinite_distances_promise_nothing() -> None:
    assert exponent_above(amount(epsilon=1), inf) == inf


def test_the_local_factor_is_the_largest_ratio() -> None:
    assert local_factor(MECHANISM) == 27
    assert local_factor(sf.random_response(sf.PrivacyType(sf.discrete(5), alpha="1/4"))) == 4
    apart = sf.FiniteSpace(["a", "b"], [[0, inf], [inf, 0]])
    assert local_factor(sf.prove([[1, 0], [0, 1]], sf.PrivacyType(apart, epsilon=1))) is None
    unused = sf.prove([[2, 1, 0], [1, 2, 0]], sf.PrivacyType(sf.line(2), alpha="1/2"))
    assert local_factor(unused) == 2


@pytest.mark.parametrize("build", [opendp_measurement, lambda mechanism: opendp_rows(mechanism, 10)])
def test_without_opendp_the_extra_is_named(build: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.split(".")[0] == "opendp"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opendp", None)
    with pytest.raises(MissingExtra, match=r"opendp is not installed: pip install 'sfumato\[opendp\]'") as caught:
        build(MECHANISM)
    assert caught.value.extra == "opendp"
