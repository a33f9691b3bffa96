"""Laws of what is found from a target, and of known mechanisms beside the bound."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from effort import a_few

STREET = sf.box((2,), step=1, unit="km")
UNIT = sf.box((2,), step=1)


@settings(max_examples=2, deadline=None)
@given(
    st.lists(st.integers(1, 6), min_size=2, max_size=2),
    st.tuples(st.integers(20, 40), st.integers(1, 20)),
)
def test_a_smaller_error_needs_no_smaller_epsilon(counts: list[int], targets: tuple[int, int]) -> None:
    """L(ε) does not grow: what is proved too small for one target cannot be enough for a smaller one."""
    prior, loss = sf.Prior.on_cells(counts, STREET), sf.losses.distance(STREET)
    wide, narrow = Fraction(targets[0], 100), Fraction(targets[0], 100) * Fraction(20, 20 + targets[1])
    easy, hard = (sf.calibrate(prior, loss, STREET, target=target, precision=0.5) for target in (wide, narrow))
    assert easy.low < hard.high
    assert easy.design.loss <= wide and hard.design.loss <= narrow
    assert easy.design.bound <= wide and hard.design.bound <= narrow


@pytest.mark.parametrize("epsilon", a_few([1, 4], 1))
def test_calibration_finds_the_way_back_from_a_design(epsilon: int) -> None:
    """Loss and bound of a design at ε enclose L(ε): ε is no less than the loss needs, and no more than the bound."""
    interval = sf.box((1,), step="1/4")
    prior, loss = sf.Prior.uniform(interval), sf.losses.distance(interval)
    best = sf.design(prior, loss, sf.PrivacyType(interval, epsilon=epsilon), tolerance=0.01)
    there = sf.calibrate(prior, loss, interval, target=best.loss, precision=0.3)
    back = sf.calibrate(prior, loss, interval, target=best.bound, precision=0.3)
    assert there.low < epsilon <= back.high * Fraction(1001, 1000)


@pytest.mark.parametrize(("counts", "epsilon"), [([1, 1], "1/2"), ([1, 5], 2)])
def test_no_known_mechanism_loses_less_than_the_bound(counts: list[int], epsilon: str | int) -> None:
    """A bound is about all mechanisms, with whatever outputs: those with a name, remapped or not, are among them."""
    prior, loss = sf.Prior.on_cells(counts, UNIT), sf.losses.distance(UNIT)
    found = sf.compare_known(prior, loss, sf.PrivacyType(UNIT, epsilon=epsilon), optimal=True)
    best = found["optimal"]
    assert best.bound is not None
    for row in found:
        assert row.loss >= best.bound * (1 if row.rate is not None else Fraction(999, 1000)), row.name
