"""Laws of orders weaker than refinement, of how far channels are from it, and of distances lifted to beliefs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.measures import additive_capacity, posterior_vulnerability
from sfumato.numbers import divide, product
from sfumato.orders import max_refines, multiplicative_kantorovich, privacy_refines, refinement_distance
from strategies import channels, distributions, exact_private_channels, losses, priors


def best_output(prior: sf.Prior, channel: sf.Channel, gain: sf.Gain) -> Fraction:
    """max_y V_g of the posterior."""
    return max(product(gain.matrix, sf.hyper(prior, channel).inners).max(axis=0))


@given(st.data())
def test_refinement_implies_max_case_implies_privacy(data: st.DataObject) -> None:
    a = data.draw(channels())
    b = data.draw(channels(a.secrets))
    after = sf.cascade(a, data.draw(channels(a.outputs)))
    assert max_refines(after, a) and privacy_refines(after, a)
    if sf.refines(b, a):
        assert max_refines(b, a)
    if max_refines(b, a):
        assert privacy_refines(b, a)
    else:
        assert not sf.refines(b, a)


@given(st.data())
def test_max_case_refinement_is_about_the_best_output(data: st.DataObject) -> None:
    a = data.draw(channels())
    weights = np.array([data.draw(distributions(len(a.outputs))) for _ in range(2)], dtype=object).T
    mixed = product(a.matrix, weights)  # outputs of a, mixed; the rest goes to one that tells less
    scale = 2 * max(mixed.sum(axis=1))
    rest = 1 - mixed.sum(axis=1) / scale
    b = sf.Channel(a.secrets, np.concatenate([mixed / scale, rest[:, None]], axis=1))
    table = data.draw(losses(a.secrets))
    gain = sf.Gain(table.actions, table.secrets, table.matrix)
    prior = data.draw(priors(a.secrets, positive=True))
    verdict = max_refines(b, a)
    if verdict:
        assert (product(a.matrix, verdict.witness.weights) == b.matrix).all()
        assert best_output(prior, b, gain) <= best_output(prior, a, gain)
    else:
        found = verdict.witness
        assert best_output(found.prior, b, found.gain) >= found.from_b > found.from_a
        assert found.from_a == best_output(found.prior, a, found.gain)


@given(st.data())
def test_privacy_refinement_is_about_all_metrics(data: st.DataObject) -> None:
    a = data.draw(channels())
    b = data.draw(channels(a.secrets))

    def factor(channel: sf.Channel, x: int, z: int) -> Fraction | float:
        found = [(p, q) for p, q in zip(*channel.matrix[[x, z]].tolist(), strict=True) if p or q]
        return max(max(p, q) / min(p, q) if p and q else float("inf") for p, q in found)

    pairs = [(x, z) for x in range(len(a.secrets)) for z in range(x)]
    assert bool(privacy_refines(b, a)) == all(factor(b, x, z) <= factor(a, x, z) for x, z in pairs)


@given(st.data())
def test_the_refinement_distance_is_zero_exactly_for_refinements(data: st.DataObject) -> None:
    a = data.draw(channels())
    b, prior = data.draw(channels(a.secrets)), data.draw(priors(a.secrets, positive=True))
    found = refinement_distance(b, a, prior)
    assert 0 <= found.lower == found.upper <= 1
    assert (found.upper == 0) == bool(sf.refines(b, a))
    assert (product(a.matrix, found.post_processing) <= b.matrix).all()


@given(st.data())
def test_the_refinement_distance_is_the_most_that_anybody_gains(data: st.DataObject) -> None:
    a = data.draw(channels())
    b, prior = data.draw(channels(a.secrets)), data.draw(priors(a.secrets))
    found = refinement_distance(b, a, prior)
    assert found.gain.matrix.max() <= 1
    assert posterior_vulnerability(prior, b, found.gain) - posterior_vulnerability(prior, a, found.gain) == found.lower
    table = divide(data.draw(losses(a.secrets)).matrix, 5)  # entries of at most 1
    gain = sf.Gain(range(len(table) + 1), a.secrets, np.concatenate([table, 0 * table[:1]]))
    assert posterior_vulnerability(prior, b, gain) - posterior_vulnerability(prior, a, gain) <= found.upper


@given(st.data())
@settings(max_examples=60)
def test_the_refinement_distance_is_a_distance(data: st.DataObject) -> None:
    a = data.draw(channels())
    b, c = data.draw(channels(a.secrets)), data.draw(channels(a.secrets))
    prior = data.draw(priors(a.secrets))
    assert refinement_distance(a, a, prior).upper == 0
    whole = refinement_distance(c, a, prior).upper
    assert whole <= refinement_distance(c, b, prior).upper + refinement_distance(b, a, prior).upper
    after = sf.cascade(c, data.draw(channels(c.outputs)))
    assert refinement_distance(after, a, prior).upper <= whole
    constant = sf.Channel.constant(a.secrets)
    assert refinement_distance(c, constant, prior).upper == additive_capacity(prior, c)


@given(st.data())
@settings(max_examples=60)
def test_the_multiplicative_distance_is_a_metric(data: st.DataObject) -> None:
    space = data.draw(st.sampled_from([sf.line(3), sf.line(4), sf.discrete(3), sf.cycle(4), sf.hamming(2)]))
    one, two, three = (data.draw(priors(space.labels)) for _ in range(3))

    def ratio(p: sf.Prior, q: sf.Prior) -> Fraction:
        found = multiplicative_kantorovich(p, q, space, alpha="1/2").ratio
        assert found is not None
        return found

    assert ratio(one, two) == ratio(two, one) and ratio(one, three) <= ratio(one, two) * ratio(two, three)
    assert (ratio(one, two) == 1) == bool((one.weights == two.weights).all())
    x, z = data.draw(st.sampled_from(space.labels)), data.draw(st.sampled_from(space.labels))
    assert ratio(sf.Prior.point(space, x), sf.Prior.point(space, z)) == 2 ** int(space.distance(x, z))
    enclosed = multiplicative_kantorovich(one, two, space)
    assert 0 <= enclosed.upper - enclosed.lower <= 1e-13


@given(st.data())
@settings(max_examples=60)
def test_the_multiplicative_distance_carries_a_promise_to_beliefs(data: st.DataObject) -> None:
    channel, privacy = data.draw(exact_private_channels())
    first, second = data.draw(priors(privacy.secrets)), data.draw(priors(privacy.secrets))
    found = multiplicative_kantorovich(first, second, privacy.space, alpha=privacy.alpha)
    assert found.ratio is not None and found.function is not None
    seen = [product(p.weights[None, :], channel.matrix)[0] for p in (first, second)]
    assert (seen[0] <= found.ratio * seen[1]).all() and (seen[1] <= found.ratio * seen[0]).all()
    # the function is a column that keeps the promise, and its two expectations are as far apart as any
    column = found.function / max(found.function)
    told = sf.Channel(
        privacy.space, np.array([column, 1 - column], dtype=object).T / 2 + np.array([[0, Fraction(1, 2)]])
    )
    assert all(column[x] <= privacy.factor(a, b)[1] * column[z]
               for x, a in enumerate(privacy.secrets) for z, b in enumerate(privacy.secrets))  # fmt: skip
    over, under = (first, second) if found.forwards else (second, first)
    likely = (product(p.weights[None, :], told.matrix)[0, 0] for p in (over, under))
    assert next(likely) == found.ratio * next(likely)
