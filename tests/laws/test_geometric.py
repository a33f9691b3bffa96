"""For whom the geometric mechanism is best: the theorem on single crossing, in exact arithmetic."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from strategies import alphas, priors


@st.composite
def uneven_lines(draw: Any) -> sf.FiniteSpace:
    """Points on a line with steps of 1 to 3."""
    steps = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    return sf.graph([(i, i + 1, step) for i, step in enumerate(steps)])


@st.composite
def single_crossing_losses(draw: Any, n: int) -> sf.Loss:
    """ℓ(w, x) − ℓ(w′, x) grows with x for w < w′, then every secret gets a weight of its own."""
    actions = draw(st.integers(1, 4))
    small = st.integers(0, 5)
    mass = [[draw(small) for _ in range(n)] for _ in range(actions)]
    table = [[-sum(mass[i][j] for i in range(w + 1) for j in range(x + 1)) for x in range(n)] for w in range(actions)]
    shift = [draw(st.integers(-9, 9)) for _ in range(actions)]
    weight = [draw(st.integers(0, 4)) for _ in range(n)]
    order = draw(st.permutations(range(actions)))  # the order need not be that of the list
    rows = [[(table[w][x] + shift[w]) * weight[x] for x in range(n)] for w in order]
    return sf.Loss(order, range(n), rows)


@given(uneven_lines(), alphas(), st.data())
@settings(max_examples=120, deadline=None)
def test_single_crossing_losses_are_served_best_by_the_geometric(
    space: sf.FiniteSpace, alpha: Fraction, data: st.DataObject
) -> None:
    privacy = sf.PrivacyType(space, alpha=alpha)
    loss, prior = data.draw(single_crossing_losses(len(space))), data.draw(priors(space.labels))
    made = sf.geometric(privacy).channel
    assert sf.posterior_loss(prior, made, loss) == sf.design(prior, loss, privacy, solver="exact").loss


@given(uneven_lines(), alphas())
@settings(max_examples=30)
def test_it_is_a_kernel_on_lines_of_any_spacing(space: sf.FiniteSpace, alpha: Fraction) -> None:
    privacy = sf.PrivacyType(space, alpha=alpha)
    assert sf.types.is_kernel(sf.geometric(privacy).channel, privacy)


def test_other_losses_may_do_better_elsewhere() -> None:
    privacy = sf.PrivacyType(sf.line(3), alpha="1/2")
    prior, middle = sf.Prior(range(3), ["1/4", "1/2", "1/4"]), sf.losses.member(privacy.space, [1])
    assert sf.posterior_loss(prior, sf.geometric(privacy).channel, middle) == Fraction(5, 12)
    assert sf.design(prior, middle, privacy).loss == Fraction(1, 3)


@given(st.integers(2, 5), st.integers(-3, 0), st.integers(0, 3), st.sampled_from(["1/2", "1/3", "9/10"]))
def test_more_answers_than_secrets_tell_nothing_more(n: int, low: int, beyond: int, alpha: str) -> None:
    privacy = sf.PrivacyType(sf.line(n), alpha=alpha)
    wider, truncated = sf.mechanisms.truncated_geometric(privacy, low, n - 1 + beyond), sf.geometric(privacy)
    assert sf.refines(wider, truncated) and sf.refines(truncated, wider)
    if n > 2:
        narrower = sf.mechanisms.truncated_geometric(privacy, 0, n - 2)
        assert sf.refines(narrower, truncated) and not sf.refines(truncated, narrower)
