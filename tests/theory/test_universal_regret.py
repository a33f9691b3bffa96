from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import losses
from sfumato.errors import InvalidInput, InvalidLoss, Mismatch, NotSupported, PrivacyViolation
from sfumato.theory.universal import PriorSet, ball, hull, worst_case_regret
from sfumato.theory.universal.prior_sets import all_priors
from strategies import exact_private_channels, priors
from strategies import losses as random_losses


def line(n: int, alpha: str = "1/2") -> sf.PrivacyType:
    return sf.PrivacyType(sf.line(n), alpha=alpha)


def least_loss(prior: sf.Prior, loss: sf.Loss, privacy: sf.PrivacyType) -> Fraction:
    """By the whole linear program in rationals, which knows nothing of rays."""
    return Fraction(sf.design(prior, loss, privacy, solver="exact").loss)


@given(exact_private_channels(), st.data())
@settings(max_examples=60)
def test_no_prior_is_worse_and_one_is_as_bad(given_: tuple[sf.Channel, sf.PrivacyType], data: st.DataObject) -> None:
    channel, privacy = given_
    if len(privacy.space) > 5:
        return
    loss = data.draw(random_losses(privacy.space.labels))
    found = worst_case_regret(channel, loss, privacy)
    assert found.exact and found.lower is not None
    prior = data.draw(priors(privacy.space.labels))
    assert sf.posterior_loss(prior, channel, loss) - least_loss(prior, loss, privacy) <= found.lower
    if found.prior is not None and found.better is not None:
        own = sf.posterior_loss(found.prior, channel, loss)
        assert own - sf.posterior_loss(found.prior, found.better, loss) == found.lower
        assert own - least_loss(found.prior, loss, privacy) == found.lower
        assert sf.satisfies(found.better, privacy)
    else:
        assert found.lower == 0


@given(exact_private_channels(), st.data())
@settings(max_examples=40)
def test_relative_regret(given_: tuple[sf.Channel, sf.PrivacyType], data: st.DataObject) -> None:
    channel, privacy = given_
    if len(privacy.space) > 4:
        return
    loss = data.draw(random_losses(privacy.space.labels, smallest=0))
    found = worst_case_regret(channel, loss, privacy, relative=True)
    prior = data.draw(priors(privacy.space.labels))
    own, least = sf.posterior_loss(prior, channel, loss), least_loss(prior, loss, privacy)
    if found.lower is None:
        assert found.prior is not None
        assert least_loss(found.prior, loss, privacy) == 0 < sf.posterior_loss(found.prior, channel, loss)
    else:
        assert own <= (1 + found.lower) * least


@given(exact_private_channels(), st.data())
@settings(max_examples=30)
def test_hulls_and_balls_contain_what_they_judge(
    given_: tuple[sf.Channel, sf.PrivacyType], data: st.DataObject
) -> None:
    channel, privacy = given_
    labels = privacy.space.labels
    if not 2 <= len(labels) <= 4:
        return
    loss = data.draw(random_losses(labels))
    everywhere = worst_case_regret(channel, loss, privacy).lower
    corners = [data.draw(priors(labels)) for _ in range(3)]
    on_hull = worst_case_regret(channel, loss, privacy, priors=corners)
    near = worst_case_regret(channel, loss, privacy, priors=ball(corners[0], "1/5", privacy.space))
    assert everywhere is not None and on_hull.lower is not None and near.lower is not None
    assert on_hull.lower <= everywhere and near.lower <= everywhere
    mixed = sum((p.weights for p in corners[1:]), corners[0].weights) / 3
    for prior, bound in ((sf.Prior(labels, mixed), on_hull.lower), (corners[0], near.lower)):
        assert sf.posterior_loss(prior, channel, loss) - least_loss(prior, loss, privacy) <= bound


def test_a_ball_is_where_transport_is_cheap() -> None:
    """The priors at which the inequalities are tight are at Wasserstein distance exactly the radius."""
    space = sf.line(3)
    centre = sf.Prior.uniform(space)
    near = ball(centre, "1/6", space)
    point = sf.Prior(space, ["1/6", "1/3", "1/2"])
    assert sf.orders.kantorovich(centre, point, space).cost == Fraction(1, 3)
    assert (near.limits @ (6 * point.weights)).min() < 0
    point = sf.Prior(space, ["1/4", "1/3", "5/12"])
    assert sf.orders.kantorovich(centre, point, space).cost == Fraction(1, 6)
    assert (near.limits @ (12 * point.weights)).min() == 0


def test_regular_priors_of_a_line() -> None:
    """On them the tight-constraints mechanism is best for guessing (paper C); on a cycle it is not elsewhere."""
    privacy = sf.PrivacyType(sf.cycle(4), alpha="1/3")
    mechanism = sf.tight_constraints(privacy)
    loss = losses.bin(privacy.space)
    assert worst_case_regret(mechanism, loss, priors="regular").lower == 0
    everywhere = worst_case_regret(mechanism, loss).lower
    assert everywhere is not None and everywhere > 0


def test_irrational_types_get_two_bounds() -> None:
    privacy = sf.PrivacyType(sf.line(4), epsilon="0.7")
    mechanism = sf.geometric(privacy)
    found = worst_case_regret(mechanism, losses.member(privacy.space, [0, 2]))
    assert found.lower is not None and found.upper is not None and found.prior is not None
    assert 0.11 < found.lower <= found.upper < found.lower + Fraction(1, 10**8)
    small = worst_case_regret(mechanism, losses.bin(privacy.space))
    assert small.lower is not None and small.upper is not None
    assert 0 <= small.lower <= small.upper < 1e-10
    share = worst_case_regret(mechanism, losses.member(privacy.space, [0, 2]), relative=True)
    assert share.lower is not None and share.upper is not None and 0.3 < share.lower <= share.upper < 0.4


def test_float_channels_count_as_what_they_store() -> None:
    privacy = line(3)
    found = worst_case_regret(sf.geometric(privacy).channel.to_floats(), losses.bin(privacy.space), privacy)
    assert found.lower is not None and abs(found.lower) < 1e-15


@pytest.mark.parametrize("subset", [[0, 2], [1]])
def test_bounds_without_cells_hold_the_exact_value(subset: list[int]) -> None:
    privacy = line(4)
    mechanism, loss = sf.geometric(privacy), losses.member(privacy.space, subset)
    exact = worst_case_regret(mechanism, loss).lower
    loose = worst_case_regret(mechanism, loss, most=4)
    assert "simplices" in loose.method
    assert exact is not None and loose.lower is not None and loose.upper is not None
    assert 0 < loose.lower <= exact <= loose.upper <= exact * Fraction(11, 10)


def test_what_an_action_costs_anyway_does_not_matter() -> None:
    privacy = line(4)
    loss = losses.member(privacy.space, [1])
    shifted = sf.Loss(loss.actions, loss.secrets, loss.matrix * 3 + np.array([5, -2, 7, 0])[None, :])
    mechanism = sf.geometric(privacy)
    one, three = (worst_case_regret(mechanism, each).lower for each in (loss, shifted))
    assert one is not None and three == 3 * one


def test_trivial_losses_leave_nothing_to_regret() -> None:
    privacy = line(3)
    loss = losses.matrix(privacy.space, [[1, 2, 3], [1, 3, 3]])
    assert worst_case_regret(sf.Channel.constant(privacy.space), loss, privacy).upper == 0


def test_a_constant_channel_and_a_single_prior() -> None:
    space = sf.discrete(3)
    loss, privacy = sf.Loss(["a", "b"], space, [[2, 2, 4], [0, 3, 2]]), sf.PrivacyType(space, alpha="1/3")
    prior = sf.Prior(space, ["4/15", "8/15", "1/5"])
    found = worst_case_regret(sf.Channel.constant(space), loss, privacy, priors=[prior])
    assert found.lower == found.upper == Fraction(sf.prior_loss(prior, loss)) - least_loss(prior, loss, privacy)
    verdict = sf.universal.is_universally_optimal(sf.Channel.constant(space), loss, privacy, priors=prior)
    assert str(verdict.outcome) == "fails" and verdict.witness.gap == found.lower
    irrational = worst_case_regret(sf.Channel.constant(space), loss, sf.PrivacyType(space, epsilon=1), priors=[prior])
    assert 0 < irrational.lower <= irrational.upper


small = st.integers(1, 3)


@given(st.data(), small, small, small, st.booleans())
@settings(max_examples=60, deadline=None)
def test_degenerate_questions_have_answers(
    data: st.DataObject, secrets: int, actions: int, outputs: int, relative: bool
) -> None:
    """One secret, action or output, equal rows, columns of zeros, repeated columns, priors with zeros."""
    space = data.draw(st.sampled_from([sf.line, sf.discrete]))(secrets)
    privacy = sf.PrivacyType(space, alpha="1/3")
    table = data.draw(st.lists(st.lists(st.integers(0, 4), min_size=secrets, max_size=secrets),
                               min_size=actions, max_size=actions))  # fmt: skip
    loss = sf.Loss(range(actions), space, table)
    weights = st.lists(st.integers(0, 3), min_size=outputs, max_size=outputs).filter(any)
    row = sf.Prior.from_counts(data.draw(weights)).weights / 2
    channel = sf.Channel(space, np.tile(np.concatenate([row, row, 0 * row]), (secrets, 1)))
    counts = st.lists(st.integers(0, 3), min_size=secrets, max_size=secrets).filter(any)
    among = [sf.Prior.from_counts(data.draw(counts), space) for _ in range(data.draw(small))]
    found = worst_case_regret(channel, loss, privacy, priors=among, relative=relative)
    for prior in among:
        own, least = Fraction(sf.prior_loss(prior, loss)), least_loss(prior, loss, privacy)
        if not relative:
            assert found.upper is not None and found.upper >= own - least
        elif found.upper is not None:  # None is infinite: nothing is lost by the best, and something by this one
            assert own <= (1 + found.upper) * least
    verdict = sf.universal.is_universally_optimal(channel, loss, privacy, priors=among, starts=2)
    if not relative:
        assert str(verdict.outcome) == ("fails" if found.lower > 0 else "holds")


def test_priors_of_other_secrets_are_refused() -> None:
    privacy = sf.PrivacyType(sf.discrete(["a", "b"]), alpha="1/2")
    other = sf.Prior(["b", "a"], ["1/3", "2/3"])
    with pytest.raises(Mismatch, match="another order"):
        worst_case_regret(sf.random_response(privacy), losses.bin(privacy.space), priors=[other])


def test_complaints() -> None:
    privacy = line(3)
    loss = losses.bin(privacy.space)
    with pytest.raises(PrivacyViolation, match="not of the type"):
        worst_case_regret(sf.Channel.identity(privacy.space), loss, privacy)
    with pytest.raises(InvalidInput, match="carries no promise"):
        worst_case_regret(sf.geometric(privacy).channel, loss)
    with pytest.raises(InvalidLoss, match="nowhere negative"):
        worst_case_regret(sf.geometric(privacy), losses.matrix(privacy.space, [[-1, 0, 0]]), relative=True)
    with pytest.raises(NotSupported, match="regular"):
        worst_case_regret(sf.geometric(privacy), loss, priors="nice")
    with pytest.raises(InvalidInput, match="no priors"):
        hull([])
    with pytest.raises(InvalidInput, match="radius"):
        ball(sf.Prior.uniform(privacy.space), -1)
    with pytest.raises(NotSupported, match="so many cells"):
        worst_case_regret(sf.geometric(privacy), losses.member(privacy.space, [1]), relative=True, most=2)
    assert isinstance(all_priors(privacy.space), PriorSet)
