from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import Mismatch, NotSupported
from sfumato.mechanisms.continuous import (
    IntervalLoss,
    absolute_error,
    enclosed_loss,
    lattice_loss,
    lattice_space,
    posterior_loss,
    truncated_laplace,
)
from strategies import alphas, distributions


@given(st.data())
@settings(max_examples=15)
def test_quadrature_falls_into_the_enclosure(data: st.DataObject) -> None:
    steps = data.draw(st.integers(1, 4))
    space = lattice_space(steps)
    source = truncated_laplace(alpha=data.draw(alphas()) ** steps)
    prior = sf.Prior(space, data.draw(distributions(steps + 1)))
    actions = sorted(data.draw(st.sets(st.fractions(0, 1, max_denominator=6), min_size=1, max_size=5)))
    bounded = enclosed_loss(prior, source, lattice_loss(absolute_error(), steps, actions))
    loss = IntervalLoss(absolute_error().value, actions=actions)
    found = posterior_loss(prior, source, loss)
    assert float(bounded.low) - found.error - 1e-12 <= found.value <= float(bounded.high) + found.error + 1e-12
    assert bounded.low <= bounded.high <= bounded.low + Fraction(1, 2**60)


def test_more_bits_stay_inside() -> None:
    prior, loss = sf.Prior.uniform(lattice_space(3)), lattice_loss(absolute_error(), 3)
    rough, fine = (enclosed_loss(prior, truncated_laplace(alpha="1/8"), loss, bits=b) for b in (40, 200))
    assert rough.low <= fine.low <= fine.high <= rough.high
    assert fine.high - fine.low < Fraction(1, 2**195)


def test_what_cannot_be_enclosed() -> None:
    prior, loss = sf.Prior.uniform(lattice_space(2)), lattice_loss(absolute_error(), 2)
    with pytest.raises(NotSupported, match="rational"):
        enclosed_loss(prior, truncated_laplace(1), loss)
    with pytest.raises(NotSupported, match="rational"):
        enclosed_loss(prior.to_floats(), truncated_laplace(alpha="1/4"), loss)
    with pytest.raises(Mismatch):
        enclosed_loss(sf.Prior.uniform(range(3)), truncated_laplace(alpha="1/4"), sf.losses.absolute(range(3)))
