"""Laws of channels and consumers: paper A, section II."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import losses as L
from strategies import channels, distributions, losses, priors


@given(st.data())
def test_lemma_1_posteriors_average_to_the_prior(data: st.DataObject) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets))
    hyper = sf.hyper(prior, channel)
    assert (hyper.average() == prior.weights).all()
    assert hyper.outer.sum() == 1
    assert (hyper.inners.sum(axis=0) == 1).all()


@given(st.data())
def test_uncertainty_is_the_average_over_the_hyper(data: st.DataObject) -> None:
    """Eq. 3–5: the hyper determines every posterior loss."""
    channel = data.draw(channels())
    prior, loss = data.draw(priors(channel.secrets)), data.draw(losses(channel.secrets))
    hyper = sf.hyper(prior, channel)
    average = sum(
        weight * sf.prior_loss(sf.Prior(prior.secrets, inner), loss)
        for weight, inner in zip(hyper.outer, hyper.inners.T, strict=True)
    )
    assert sf.posterior_loss(prior, channel, loss) == average


@given(st.data())
def test_entropy_is_concave_so_observing_never_hurts(data: st.DataObject) -> None:
    channel = data.draw(channels())
    prior, loss = data.draw(priors(channel.secrets)), data.draw(losses(channel.secrets))
    assert sf.posterior_loss(prior, channel, loss) <= sf.prior_loss(prior, loss)
    assert sf.posterior_loss(prior, sf.Channel.constant(prior), loss) == sf.prior_loss(prior, loss)


@given(st.data())
def test_data_processing(data: st.DataObject) -> None:
    """Eq. 6, the easy half: post-processing helps no consumer."""
    channel = data.draw(channels())
    after = sf.cascade(channel, data.draw(channels(channel.outputs)))
    prior, loss = data.draw(priors(channel.secrets)), data.draw(losses(channel.secrets))
    assert sf.posterior_loss(prior, after, loss) >= sf.posterior_loss(prior, channel, loss)


@given(st.data())
def test_theorem_4_multiplicative_miracle(data: st.DataObject) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets))
    table = data.draw(losses(channel.secrets, smallest=0))
    gain = sf.Gain(table.actions, table.secrets, table.matrix)
    before = sf.measures.prior_vulnerability(prior, gain)
    if before > 0:
        bound = sf.capacity(channel).multiplicative
        assert sf.measures.posterior_vulnerability(prior, channel, gain) / before <= bound
    uniform = sf.Prior.uniform(channel.secrets)
    assert sf.leakage(uniform, channel) == sf.capacity(channel).multiplicative


@given(st.data())
def test_theorem_5_additive_miracle(data: st.DataObject) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets))
    rows = [data.draw(distributions(len(channel.secrets))) for _ in range(3)]
    gain = sf.Gain(range(3), channel.secrets, rows)  # entries in [0, 1], so vulnerabilities too
    bound = sf.capacity(channel).additive
    assert sf.leakage(prior, channel, gain, kind="additive") <= bound
    uniform, n = sf.Prior.uniform(channel.secrets), len(channel.secrets)
    assert bound == 1 - n * sf.posterior_loss(uniform, channel, L.nib(channel.secrets))


@given(st.data())
def test_composition_laws(data: st.DataObject) -> None:
    channel = data.draw(channels())
    middle = data.draw(channels(channel.outputs))
    last = data.draw(channels(middle.outputs))
    one = sf.cascade(sf.cascade(channel, middle), last)
    assert (one.matrix == sf.cascade(channel, sf.cascade(middle, last)).matrix).all()
    other = data.draw(channels(channel.secrets))
    prior, loss = data.draw(priors(channel.secrets)), data.draw(losses(channel.secrets))
    p = data.draw(st.fractions(0, 1, max_denominator=6))
    mixed = sf.posterior_loss(prior, sf.channels.choice(p, channel, other), loss)
    parts = sf.posterior_loss(prior, channel, loss), sf.posterior_loss(prior, other, loss)
    assert mixed == p * parts[0] + (1 - p) * parts[1]
    assert sf.posterior_loss(prior, sf.parallel(channel, other), loss) <= min(parts)


@given(st.data())
def test_loss_algebra(data: st.DataObject) -> None:
    """Eq. 13 and 14: sums add uncertainties, scaling by v moves the prior, lifting adds nothing."""
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets))
    one, other = data.draw(losses(channel.secrets)), data.draw(losses(channel.secrets))
    both = sf.posterior_loss(prior, channel, L.add(one, other))
    assert both == sf.posterior_loss(prior, channel, one) + sf.posterior_loss(prior, channel, other)
    factor = data.draw(st.fractions(0, 5, max_denominator=3))
    assert sf.posterior_loss(prior, channel, L.scale(one, factor)) == factor * sf.posterior_loss(prior, channel, one)
    part = channel.secrets[: max(1, len(channel.secrets) - 1)]
    lifted = L.lift(L.restrict_loss(one, part), channel.secrets)
    weight = sum(prior.weights[: len(part)], Fraction(0))
    if weight:
        inside = sf.Prior(part, prior.weights[: len(part)] / weight)
        expected = weight * sf.posterior_loss(inside, sf.channels.restrict(channel, part), L.restrict_loss(one, part))
        assert sf.posterior_loss(prior, channel, lifted) == expected


@given(st.data())
def test_a_trivial_loss_learns_nothing(data: st.DataObject) -> None:
    channel = data.draw(channels())
    prior = data.draw(priors(channel.secrets))
    row = data.draw(st.lists(st.integers(-3, 3), min_size=len(channel.secrets), max_size=len(channel.secrets)))
    loss = sf.Loss([0, 1], channel.secrets, [row, row])
    assert sf.losses.is_trivial(loss)
    assert sf.posterior_loss(prior, channel, loss) == sf.prior_loss(prior, loss)
