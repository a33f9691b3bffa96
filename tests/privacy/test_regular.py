from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidEpsilon, InvalidInput, Mismatch
from sfumato.privacy.regular import (
    Combination,
    Separation,
    corner_priors,
    database_leakage_bound,
    has_tight_constraints,
    is_ball_size_symmetric,
    is_regular,
    leakage_bound,
    optimal_utility,
    regular_region,
    utility_bound,
)
from sfumato.privacy.similarity import similarity

LETTERS = sf.Prior(range(4), ["0.3", "0.27", "0.23", "0.2"])


def half(space: sf.FiniteSpace) -> sf.PrivacyType:
    return sf.PrivacyType(space, alpha="1/2")


def test_the_border_of_regularity_is_decided_exactly() -> None:
    space = sf.discrete(4)
    assert is_regular(LETTERS, half(space))
    assert not is_regular(LETTERS, sf.PrivacyType(space, alpha="500000001/1000000000"))
    assert not is_regular(LETTERS, sf.PrivacyType(space, epsilon="0.693147180559945309417232121458"))
    assert is_regular(LETTERS, sf.PrivacyType(space, epsilon="0.693147180559945309417232121459"))


def test_float_weights_on_the_border_are_undecided_and_others_are_not() -> None:
    assert is_regular(LETTERS.to_floats(), half(sf.discrete(4))).outcome == "undecided"
    assert is_regular(LETTERS.to_floats(), sf.PrivacyType(sf.discrete(4), alpha="2/5"))
    assert not is_regular(LETTERS.to_floats(), sf.PrivacyType(sf.discrete(4), alpha="3/5"))


def test_a_weight_of_zero_needs_infinite_distances() -> None:
    space = sf.graph([("a", "b"), ("c", "d")], labels=["a", "b", "c", "d"])
    verdict = is_regular(sf.Prior(space, ["1/2", "1/2", 0, 0]), half(space))
    assert verdict and verdict.witness.multipliers.values.tolist() == [Fraction(1, 3), Fraction(1, 3), 0, 0]
    assert not is_regular(sf.Prior(space, ["1/2", 0, "1/2", 0]), half(space))
    steep = is_regular(sf.Prior(space, ["1/5", "4/5", 0, 0]), half(space))
    assert not steep and steep.witness.vector.tolist() == [2, -1, 0, 0]


@pytest.mark.parametrize("promise", [{"epsilon": "0.5"}, {"alpha": "3/5"}])
def test_a_separating_vector_can_be_checked(promise: dict[str, str]) -> None:
    space = sf.sum_query(6, 3)
    privacy = sf.PrivacyType(space, **promise)
    verdict = has_tight_constraints(privacy)
    assert not verdict and isinstance(verdict.witness, Separation)
    w = verdict.witness.vector
    assert -sum(w) == verdict.witness.margin > 0
    assert (similarity(privacy).astype(float) @ w.astype(float) > -1e-15).all()


def test_separation_by_balls_is_strict() -> None:
    privacy = sf.PrivacyType(sf.grid(4, 4), epsilon="0.6")
    witness = has_tight_constraints(privacy).witness
    assert isinstance(witness, Separation) and witness.margin > 0
    assert (similarity(privacy) @ witness.vector.astype(float) > 0).all()
    assert witness.secret == (1, 1)


def test_singular_matrices_are_decided_by_a_program() -> None:
    """On K_{3,3} the vector (1, 1, 1, −1, −1, −1) has eigenvalue 1 + 2α² − 3α, which is 0 at α = 1/2."""
    space = sf.spaces.complete_bipartite(3, 3)
    privacy = half(space)
    region = regular_region(privacy)
    assert region.share == 0 and region.inequalities is None
    inside = sf.Prior.uniform(space)
    assert is_regular(inside, privacy)
    mixed = sf.Prior.from_counts(list(corner_priors(privacy)[0].weights + corner_priors(privacy)[3].weights * 2), space)
    verdict = is_regular(mixed, privacy)
    assert verdict and isinstance(verdict.witness, Combination)
    assert (verdict.witness.multipliers.values @ similarity(privacy) == mixed.weights).all()
    outside = sf.Prior(space, [Fraction(k, 23) for k in (4, 4, 4, 4, 4, 3)])
    refused = is_regular(outside, privacy)
    assert not refused
    assert (similarity(privacy) @ refused.witness.vector >= 0).all()
    assert (outside.weights * refused.witness.vector).sum() < 0


def test_corner_priors_of_the_line() -> None:
    corners = corner_priors(sf.PrivacyType(sf.line(3), epsilon="0.7"))
    assert np.round(corners[0].weights, 6).tolist() == [0.573663, 0.284873, 0.141464]
    assert np.round(corners[1].weights, 6).tolist() == [0.249143, 0.501713, 0.249143]


def test_the_region_is_what_its_inequalities_say() -> None:
    region = regular_region(half(sf.line(4)))
    assert region.contains(sf.Prior.uniform(range(4)))
    for corner in region.corners:
        assert (region.inequalities @ corner.weights >= 0).all()
        assert region.contains(corner)
    outside = sf.Prior(range(4), ["1/2", "1/6", "1/6", "1/6"])
    assert not region.contains(outside)
    assert (region.inequalities @ outside.weights < 0).any()
    assert 0 < region.share < regular_region(sf.PrivacyType(sf.line(4), alpha="1/3")).share < 1


def test_the_region_of_an_irrational_type() -> None:
    region = regular_region(sf.PrivacyType(sf.grid(2, 2), epsilon=1))
    assert np.allclose(region.inequalities @ similarity(region.privacy), np.eye(4))
    assert 0 < region.share < 1


@pytest.mark.parametrize(
    "space", [sf.hamming(4), sf.cycle(7), sf.discrete(5), sf.spaces.complete_bipartite(3, 3)], ids=str
)
def test_symmetric_spaces(space: sf.FiniteSpace) -> None:
    assert is_ball_size_symmetric(space)
    verdict = has_tight_constraints(sf.PrivacyType(space, epsilon="0.01"))
    assert verdict and "every secret sees the same distances" in verdict.reason


def test_spaces_without_symmetry_name_two_secrets() -> None:
    assert is_ball_size_symmetric(sf.spaces.star(3)).witness == (0, 1)


def test_bounds_of_irrational_types_are_on_the_safe_side_and_close() -> None:
    privacy = sf.PrivacyType(sf.discrete(4), epsilon="0.5")
    bound = utility_bound(LETTERS, privacy)
    best, _ = optimal_utility(LETTERS, privacy)
    assert best <= bound.value <= best * (1 + 1e-12)
    assert bound.attained.outcome == "undecided"
    assert (bound.multipliers @ similarity(privacy) >= LETTERS.float_weights).all()
    regular = utility_bound(LETTERS, sf.PrivacyType(sf.discrete(4), epsilon="0.8"))
    assert regular.attained and regular.value == pytest.approx(1 / (1 + 3 * np.exp(-0.8)), rel=1e-14)
    assert Fraction(regular.value) > 1 / (1 + 3 * Fraction(np.exp(-0.8)) * (1 - Fraction(1, 2**52)))


def test_float_priors_get_a_bound_for_what_they_may_stand_for() -> None:
    privacy = half(sf.discrete(4))
    exactly, roughly = utility_bound(LETTERS, privacy).value, utility_bound(LETTERS.to_floats(), privacy).value
    assert exactly == Fraction(2, 5)
    assert exactly <= roughly <= float(exactly) * (1 + 1e-12)


def test_theorem_2_can_be_improved_where_no_tight_mechanism_exists() -> None:
    privacy = half(sf.spaces.star(4))
    prior = corner_priors(privacy)[0]
    bound = utility_bound(prior, privacy)
    assert is_regular(prior, privacy).witness.bound == Fraction(1, 3)
    assert bound.value <= Fraction(1, 3)


def test_leakage_bounds() -> None:
    privacy = sf.PrivacyType(sf.discrete(4), epsilon="0.5")
    assert 5 * leakage_bound(LETTERS, privacy) == pytest.approx(1.34497, abs=5e-6)
    assert 5 * leakage_bound(privacy) == pytest.approx(database_leakage_bound(5, 4, epsilon="0.5"), rel=1e-12)
    assert leakage_bound(sf.Prior.point(range(4), 0), privacy) == 0.0
    assert database_leakage_bound(1, 1, epsilon=1) == 0.0


def test_wrong_arguments() -> None:
    with pytest.raises(Mismatch):
        is_regular(LETTERS, half(sf.discrete(5)))
    with pytest.raises(InvalidInput, match="leakage_bound"):
        leakage_bound(LETTERS)
    with pytest.raises(InvalidEpsilon):
        database_leakage_bound(5, 4)
    with pytest.raises(InvalidInput, match="individuals"):
        database_leakage_bound(0, 4, epsilon=1)
    with pytest.raises(InvalidInput, match="PrivacyType"):
        has_tight_constraints(sf.line(3))  # type: ignore[arg-type]


def test_tiny_and_huge_epsilon() -> None:
    for epsilon in ("1e-20", "1e-300"):
        assert "z = -0.5 < 0" in str(sf.types.has_tight_constraints(sf.PrivacyType(sf.spaces.star(3), epsilon=epsilon)))
    verdict = sf.types.is_regular(sf.Prior(range(3), [1, 0, 0]), sf.PrivacyType(sf.line(3), epsilon=20000))
    assert "more than 10^8" in str(verdict)
