"""Utility sets (Theorem 6 of paper A), kernels and the criterion of rays, against the enumeration of cells."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import losses
from sfumato.channels.channel import Channel
from sfumato.theory.universal import universal_design, worst_case_regret
from sfumato.theory.universal.prior_sets import all_priors
from sfumato.theory.universal.question import pose
from sfumato.theory.universal.regret import _passes_rays, loss_cells
from strategies import alphas, exact_private_channels, trees
from strategies import losses as random_losses


def regret(mechanism: Any, loss: sf.Loss, privacy: sf.PrivacyType) -> Fraction:
    found = worst_case_regret(mechanism, loss, privacy)
    assert found.exact and found.lower is not None
    return found.lower


@given(exact_private_channels(), st.data())
@settings(max_examples=45)
def test_theorem_6(given_: tuple[Channel, sf.PrivacyType], data: st.DataObject) -> None:
    """Parts 1 to 4: trivial losses; post-processing; the mechanism that tells nothing; choices."""
    channel, privacy = given_
    n = len(privacy.space)
    assume(2 <= n <= 4)
    loss = data.draw(random_losses(privacy.space.labels))
    own = regret(channel, loss, privacy)
    post = Channel(
        channel.outputs, [data.draw(st.sampled_from([[1, 0], [0, 1], ["1/2", "1/2"]])) for _ in channel.outputs]
    )
    assert regret(sf.cascade(channel, post), loss, privacy) >= own
    nothing = Channel.constant(privacy.space)
    dominated = any(all(row <= other) for row in loss.matrix for other in [loss.matrix.min(axis=0)])
    assert (regret(nothing, loss, privacy) == 0) == dominated
    both = sf.channels.choice("1/3", channel, nothing)
    assert (regret(both, loss, privacy) == 0) == (own == 0 and dominated)


@given(exact_private_channels(), st.data())
@settings(max_examples=45)
def test_sums_and_scalings_stay_in_the_utility_set(given_: tuple[Channel, sf.PrivacyType], data: st.DataObject) -> None:
    """Regrets of a sum are at most the sum of regrets, of a scaled loss at most the largest scale times."""
    channel, privacy = given_
    n = len(privacy.space)
    assume(2 <= n <= 4)
    first, second = (data.draw(random_losses(privacy.space.labels)) for _ in range(2))
    one, two = (regret(channel, each, privacy) for each in (first, second))
    assert regret(channel, losses.add(first, second), privacy) <= one + two
    scale = data.draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))
    assert regret(channel, losses.scale(first, scale), privacy) <= max(scale) * one


@given(trees(4), alphas(), st.data())
@settings(max_examples=40)
def test_theorem_6_5_holds_one_way(space: sf.FiniteSpace, alpha: Fraction, data: st.DataObject) -> None:
    """The regret of a lifted loss is at most that of the loss on the subset."""
    privacy = sf.PrivacyType(space, alpha=alpha)
    chosen = data.draw(st.lists(st.sampled_from(space.labels), min_size=1, max_size=len(space), unique=True))
    smaller = sf.PrivacyType(space.restrict(chosen), alpha=alpha)
    loss = data.draw(random_losses(chosen))
    kernel = sf.types.kernels(privacy)[0].channel
    assert regret(kernel, losses.lift(loss, space), privacy) <= regret(
        sf.channels.restrict(kernel, chosen), loss, smaller
    )


@given(st.sampled_from([sf.line(3), sf.line(4), sf.discrete(3), sf.cycle(4), sf.spaces.star(3)]), alphas(), st.data())
@settings(max_examples=40)
def test_corollary_7_and_the_criterion_of_rays(space: sf.FiniteSpace, alpha: Fraction, data: st.DataObject) -> None:
    """If a universally optimal mechanism exists some kernel is one; programs and rays agree on which."""
    privacy = sf.PrivacyType(space, alpha=alpha)
    loss = data.draw(random_losses(space.labels))
    served = []
    for kernel in sf.types.kernels(privacy):
        none = regret(kernel.channel, loss, privacy) == 0
        served.append(none)
        asked = pose(loss, privacy)
        if len(kernel.support) == len(space) and not asked.trivial:
            cells = loss_cells(asked, kernel.channel, all_priors(space))
            assert _passes_rays(asked, cells) == none
    assert any(served) == bool(universal_design(loss, privacy).exists)
