"""Optimal designs: values that several independent programs agree on, exact where they are rational."""

from __future__ import annotations

from fractions import Fraction

import pytest

import sfumato as sf

HALF = "1/2"  # α, that is ε = ln 2


def optimum(
    space: sf.FiniteSpace, loss: sf.Loss, prior: sf.Prior | None = None, tolerance: float = 1e-7, solver: str = "auto"
) -> sf.Design:
    made = sf.design(
        prior or sf.Prior.uniform(space), loss, sf.PrivacyType(space, alpha=HALF), tolerance=tolerance, solver=solver
    )
    assert made.gap <= tolerance
    assert sf.verify(made.mechanism)
    return made


@pytest.mark.parametrize(("side", "value"), [(3, 1.021871), (4, 1.256999), (5, 1.453532), (6, 1.62487)])
def test_distance_on_euclidean_grids(side: int, value: float) -> None:
    space = sf.grid(side, side)
    made = optimum(space, sf.losses.distance(space))
    assert float(made.loss) == pytest.approx(value, abs=6e-7)
    assert float(made.bound) == pytest.approx(value, abs=6e-7)


# what the best mechanism makes of a uniform prior is the multiplicative capacity of the type, n times the chance to
# guess the secret
CAPACITIES = {
    "line": (sf.line, {2: "4/3", 3: "5/3", 4: "2", 5: "7/3", 6: "8/3"}),
    "discrete": (sf.discrete, {2: "4/3", 3: "3/2", 4: "8/5", 5: "5/3"}),
    "hamming": (sf.hamming, {2: "16/9", 3: "64/27"}),
}


@pytest.mark.parametrize(
    ("name", "size", "value"),
    [(name, size, v) for name, (_, values) in CAPACITIES.items() for size, v in values.items()],
)
def test_guessing_under_a_uniform_prior_is_the_capacity(name: str, size: int, value: str) -> None:
    space = CAPACITIES[name][0](size)
    made = optimum(space, sf.losses.bin(space), solver="exact")
    assert len(space) * (1 - made.loss) == Fraction(value)
    assert made.loss == made.bound


@pytest.mark.parametrize(
    ("space", "value", "digits"),
    [
        (sf.hamming(4), 256 / 81, 1e-6),
        (sf.grid(2, 2), 1.6840586, 6e-7),
        (sf.grid(3, 3), 2.5023666, 2e-6),
        (sf.grid(4, 4), 3.534015, 2e-6),
    ],
    ids=lambda value: getattr(value, "name", None),
)
def test_the_same_where_factors_are_no_rationals_or_there_are_many(
    space: sf.FiniteSpace, value: float, digits: float
) -> None:
    made = optimum(space, sf.losses.bin(space))
    assert len(space) * (1 - float(made.loss)) == pytest.approx(value, abs=digits)
    assert len(space) * (1 - float(made.bound)) == pytest.approx(value, abs=digits)


@pytest.mark.parametrize(
    ("weights", "best", "by_response"), [(["1/2", "1/2", 0], "2/3", "5/8"), (["1/3"] * 3, "1/2", "1/2")]
)
def test_guessing_on_three_secrets_that_are_equally_far(weights: list[str], best: str, by_response: str) -> None:
    """Random response is the best for the uniform prior, not for one with a zero."""
    space = sf.discrete(3)
    prior, loss = sf.Prior(space, weights), sf.losses.bin(space)
    for solver in ("auto", "exact"):
        assert 1 - optimum(space, loss, prior, solver=solver).loss == Fraction(best)
    response = sf.random_response(sf.PrivacyType(space, alpha=HALF))
    assert 1 - sf.posterior_loss(prior, response.channel, loss) == Fraction(by_response)


def test_is_it_the_middle_of_three() -> None:
    """The kernel 010|101 has 1/3 where the geometric mechanism has 5/12: no single crossing."""
    space = sf.line(3)
    prior, loss = sf.Prior(space, ["1/4", "1/2", "1/4"]), sf.losses.member(space, [1])
    made = optimum(space, loss, prior)
    assert made.loss == made.bound == Fraction(1, 3)
    table = made.mechanism.channel.matrix
    assert sorted(tuple(column) for column in (3 * table).T.tolist()) == [(1, 2, 1), (2, 1, 2)]
    assert sf.posterior_loss(prior, sf.geometric(sf.PrivacyType(space, alpha=HALF)).channel, loss) == Fraction(5, 12)
