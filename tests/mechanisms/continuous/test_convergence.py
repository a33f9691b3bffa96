from __future__ import annotations

from fractions import Fraction
from math import exp

import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, UndecidedError
from sfumato.mechanisms.continuous import (
    Density,
    IntervalLoss,
    absolute_error,
    climb,
    laplace_gap,
    lattice_loss,
    lattice_space,
    squared_error,
    theorem_14_constant,
    truncated_laplace,
)


def test_the_constant_of_theorem_14() -> None:
    assert theorem_14_constant(truncated_laplace(alpha="1/4", interval=(0, "1/2"))) == 6
    found = theorem_14_constant(truncated_laplace(1))
    assert found == pytest.approx(3 / (1 - exp(-1)) ** 2, rel=1e-14)
    # rounded down, so that a gap below it is below the true bound
    assert found <= 3 / (1 - Fraction("0.36787944117144232159552377016146086744581113103177")) ** 2


def test_gaps_by_enclosure_and_by_quadrature_agree() -> None:
    prior, source = sf.Prior.uniform(lattice_space(4)), truncated_laplace(alpha="1/16")
    exact = laplace_gap(prior, source, lattice_loss(absolute_error(), 4))
    rough = laplace_gap(prior, source, absolute_error())
    assert exact.within and exact.error < 1e-18
    assert abs(rough.gap - exact.gap) <= rough.error < 1e-9
    assert not rough.within.decided
    with pytest.raises(UndecidedError):
        bool(rough.within)
    assert exact.gap <= exact.earth_move <= exact.bound
    assert exact.ratio == exact.gap / exact.bound


def test_the_gap_falls_like_the_square() -> None:
    source = truncated_laplace(1)
    scaled = [laplace_gap(sf.Prior.uniform(lattice_space(n)), source, squared_error()).scaled for n in (16, 32, 64)]
    assert max(scaled) < 1.2 * min(scaled)


def test_climbs_end_at_the_laplace_mechanism() -> None:
    found = climb(Density.uniform(), truncated_laplace(2), absolute_error(), [1, 2, 4, 8, 16, 32, 64])
    losses = [rung.geometric for rung in found.rungs]
    assert losses == sorted(losses) and losses[0] == 0
    assert all(rung.floor <= found.limit.value for rung in found.rungs)
    assert found.limit.value - losses[-1] < 2e-4
    assert found.rungs[-1].floor > 0.8 * found.limit.value


def test_without_a_lipschitz_constant_nothing_is_bounded() -> None:
    rough = IntervalLoss(lambda w, x: abs(w - x) ** 0.5)
    with pytest.raises(InvalidInput, match="lipschitz"):
        climb(Density.uniform(), truncated_laplace(1), rough, [2])
    with pytest.raises(InvalidInput, match="lipschitz"):
        laplace_gap(sf.Prior.uniform(lattice_space(2)), truncated_laplace(1), rough)
