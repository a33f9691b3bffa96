from __future__ import annotations

from fractions import Fraction
from math import exp, log

import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported

SPACE = sf.line(2)
UNIFORM, GUESS = sf.Prior.uniform(SPACE), sf.losses.bin(SPACE)


@pytest.mark.parametrize("target", ["0.49", "1/4", "0.01"])
def test_two_secrets_have_a_closed_form(target: str) -> None:
    """The optimum is 1/(1 + e^ε)."""
    wanted = float(sf.calibrate(UNIFORM, GUESS, SPACE, target=target).epsilon)
    low, high = (sf.calibrate(UNIFORM, GUESS, SPACE, target=target, goal=goal) for goal in ("keep", "reach"))
    value = float(Fraction(target))
    truth = log((1 - value) / value)
    assert low.epsilon < truth < high.epsilon
    assert wanted == pytest.approx(truth, rel=2e-3)
    assert high.design.loss <= value <= low.design.bound + 1e-12


def test_both_ends_carry_a_proof() -> None:
    space = sf.grid(3, 3, step="1/2", unit="km")
    prior, loss = sf.Prior.from_counts(range(1, 10), space), sf.losses.distance(space)
    reach = sf.calibrate(prior, loss, space, target="0.3", precision=0.01)
    keep = sf.calibrate(prior, loss, space, target="0.3", goal="keep", precision=0.01)
    assert reach.design.loss <= 0.3 < keep.design.bound
    assert keep.epsilon < reach.epsilon < 1.02 * keep.epsilon
    assert sf.verify(reach.design.mechanism)
    assert repr(reach).startswith("Calibration(epsilon=")


def test_the_curve_falls() -> None:
    space = sf.cycle(5)
    found = sf.curve(sf.Prior.uniform(space), sf.losses.distance(space), space, ["0.1", "0.5", 1, 3])
    losses = [made.loss for made in found.designs]
    assert losses == sorted(losses, reverse=True)
    assert all(made.gap <= 1e-3 for made in found.designs)
    assert len(found.epsilons) == 4


def test_bad_targets() -> None:
    for target in ("1/2", "0", "-1", "0.7"):
        with pytest.raises(InvalidInput, match="must lie between"):
            sf.calibrate(UNIFORM, GUESS, SPACE, target=target)
    with pytest.raises(InvalidInput, match="precision"):
        sf.calibrate(UNIFORM, GUESS, SPACE, target="1/4", precision=0)
    with pytest.raises(InvalidInput, match="goal"):
        sf.calibrate(UNIFORM, GUESS, SPACE, target="1/4", goal="hope")  # type: ignore[arg-type]


def test_the_band_encloses_what_lies_between() -> None:
    space = sf.cycle(5)
    prior, loss = sf.Prior.uniform(space), sf.losses.distance(space)
    found = sf.curve(prior, loss, space, [2, "0.5", 1])
    assert found.epsilons == (Fraction(1, 2), 1, 2)
    between = sf.design(prior, loss, sf.PrivacyType(space, epsilon="0.8"))
    low, high = found.band("0.8")
    assert low is not None and high is not None
    assert low <= between.bound <= between.loss <= high
    assert found.band("0.1") == (found.designs[0].bound, None)
    assert found.band(3) == (None, found.designs[2].loss)


def test_the_worst_secret_can_be_aimed_at_too() -> None:
    space = sf.line(3)
    loss = sf.losses.absolute(space)
    found = sf.calibrate(None, loss, space, target="1/2", objective="worst secret", precision=0.01)
    assert found.design.loss <= Fraction(1, 2)
    before = sf.design(None, loss, sf.PrivacyType(space, epsilon=found.low), objective="worst secret")
    assert before.bound > Fraction(1, 2) * Fraction(999, 1000)
    falling = sf.curve(None, loss, space, [1, 2], objective="worst secret")
    assert falling.designs[0].loss > falling.designs[1].loss


def test_a_curve_needs_a_point() -> None:
    with pytest.raises(InvalidInput, match="at least one"):
        sf.curve(UNIFORM, GUESS, SPACE, [])
    with pytest.raises(InvalidInput, match="tolerance"):
        sf.curve(UNIFORM, GUESS, SPACE, [1], tolerance=0)


def test_shares_need_as_much_privacy_less_as_they_have_respondents_less() -> None:
    """For two answers the best mechanism is known: the variance of a share p is p(1 − p) + e^ε/(e^ε − 1)²."""
    two, wanted = sf.discrete(2), sf.objectives.shares()
    found = sf.calibrate(sf.Prior.uniform(two), None, two, target=2, objective=wanted)
    assert found.low < found.high <= found.low * (1 + 2e-3)
    for epsilon, enough in ((found.low, False), (found.high, True)):
        rate = exp(epsilon)
        assert (2 * (1 / 4 + rate / (rate - 1) ** 2) <= 2) is enough
    assert found.design.loss <= 2


def test_shares_along_a_curve_take_less_variance_with_less_privacy() -> None:
    three, wanted = sf.discrete(3), sf.objectives.shares("cumulative")
    points = sf.curve(sf.Prior.uniform(three), None, three, ["0.5", 1, 2], objective=wanted)
    losses = [design.loss for design in points.designs]
    assert losses == sorted(losses, reverse=True)
    assert points.designs[1].loss == sf.design(
        sf.Prior.uniform(three), None, sf.PrivacyType(three, epsilon=1), objective=wanted, tolerance=1e-3
    ).loss  # fmt: skip


def test_what_shares_do_not_have_is_refused() -> None:
    two, wanted = sf.discrete(2), sf.objectives.shares()
    uniform = sf.Prior.uniform(two)
    with pytest.raises(NotSupported, match="adversary"):
        sf.calibrate(uniform, None, two, target=2, objective=wanted, goal="keep")
    with pytest.raises(NotSupported, match="a loss beside"):
        sf.calibrate(uniform, sf.losses.bin(two), two, target=2, objective=wanted)
    with pytest.raises(InvalidInput, match=r"must lie above 0\.5, the variance when all tell the truth"):
        sf.calibrate(uniform, None, two, target="0.4", objective=wanted)
