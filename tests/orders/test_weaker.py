from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import Mismatch
from sfumato.numbers import product
from sfumato.orders import max_refines, privacy_refines
from sfumato.verdict import Outcome

truth = sf.Channel(range(3), [["2/3", "1/6", "1/6"], ["1/6", "2/3", "1/6"], ["1/6", "1/6", "2/3"]])


def boundary(t: Fraction) -> sf.Channel:
    """A with a little of the identity: its posteriors leave those of A for every t > 0."""
    rows = [[(1 - t) * v + t * (x == y) for y, v in enumerate(row)] for x, row in enumerate(truth.matrix.tolist())]
    return sf.Channel(range(3), rows)


@pytest.mark.parametrize("t", [Fraction(1, 10**k) for k in (1, 3, 6, 9, 12)])
def test_the_boundary(t: Fraction) -> None:
    nearer = boundary(t)
    for question in (max_refines, privacy_refines):
        assert question(nearer, truth).outcome is Outcome.FAILS
        assert question(truth, nearer).outcome is Outcome.HOLDS
        assert question(nearer.to_floats(), truth.to_floats()).outcome is Outcome.FAILS
        assert question(truth.to_floats(), nearer.to_floats()).outcome is Outcome.HOLDS
        assert question(truth.to_floats(), truth.to_floats()).outcome is Outcome.HOLDS
        assert question(nearer.to_floats(), truth.to_floats(), proof=True).outcome is Outcome.FAILS


def test_below_what_floats_can_tell_nothing_is_refuted() -> None:
    for question in (max_refines, privacy_refines):
        assert question(boundary(Fraction(1, 10**17)), truth).outcome is Outcome.FAILS
        assert question(boundary(Fraction(1, 10**17)).to_floats(), truth.to_floats()).outcome is not Outcome.FAILS


def test_witnesses_can_be_checked() -> None:
    mixed = sf.Channel(range(3), [["1/2", "1/2"], ["5/12", "7/12"], ["1/3", "2/3"]])
    witness = max_refines(mixed, truth).witness
    assert (witness.weights >= 0).all() and (product(truth.matrix, witness.weights) == mixed.matrix).all()
    separating = max_refines(boundary(Fraction(1, 10)), truth).witness
    posteriors = sf.hyper(separating.prior, truth).inners
    assert separating.from_a == max(product(separating.gain.matrix, posteriors)[0])
    assert separating.margin > 0
    breach = privacy_refines(boundary(Fraction(1, 10)), truth).witness
    assert breach.allowed == 4 and breach.factor > 4


def test_the_orders_differ() -> None:
    # always telling everything is no more than sometimes telling everything, after the best output
    sometimes = sf.Channel(range(2), [["1/2", 0, "1/2"], [0, "1/2", "1/2"]])
    always = sf.Channel.identity(range(2))
    assert not sf.refines(always, sometimes) and max_refines(always, sometimes)
    # a factor of 4 allows for the posterior (4, 4, 1)/9, which is no mixture of (4, 1, 1)/6 and its permutations
    either = sf.Channel(range(3), [["2/5", "3/5"], ["2/5", "3/5"], ["1/10", "9/10"]])
    assert privacy_refines(either, truth) and not max_refines(either, truth)


def test_zeros() -> None:
    open_channel, closed = sf.Channel(range(2), [[1, 0], ["1/2", "1/2"]]), sf.Channel(range(2), [["1/2"] * 2] * 2)
    assert privacy_refines(closed, open_channel) and max_refines(closed, open_channel)
    verdict = privacy_refines(open_channel, closed)
    assert not verdict and (verdict.witness.x, verdict.witness.factor) == (1, float("inf"))
    assert not max_refines(open_channel, closed)
    unused = sf.Channel(range(2), [["1/2", 0, "1/2"], ["1/2", 0, "1/2"]])
    assert max_refines(unused, closed) and max_refines(closed, unused)
    tiny = Fraction(1, 10**400)  # floats take it for 0
    rare = sf.Channel(range(2), [[1 - tiny, tiny], [1 - 2 * tiny, 2 * tiny]])
    rarer = sf.Channel(range(2), [[1 - tiny, tiny], [1 - 3 * tiny, 3 * tiny]])
    assert privacy_refines(rare, rarer) and not privacy_refines(rarer, rare)


def test_a_mechanism_of_an_irrational_type_is_not_refuted_by_its_rounding() -> None:
    mechanism = sf.geometric(sf.PrivacyType(sf.line(4), epsilon=1))
    channel = mechanism.channel
    shifted = sf.Channel(channel.secrets, channel.matrix[::-1, ::-1])  # the same mechanism, but for its rounding
    for question in (max_refines, privacy_refines):
        assert question(shifted, mechanism).outcome is not Outcome.FAILS
        assert not question(sf.Channel.identity(channel.secrets), mechanism)


def test_a_hundred_secrets() -> None:
    rng = np.random.default_rng(3)
    a = sf.Channel(range(100), rng.dirichlet(np.ones(60), 100))
    b = sf.cascade(a, sf.Channel(range(60), rng.dirichlet(np.ones(60), 60)))
    assert max_refines(b, a) and privacy_refines(b, a)
    assert not max_refines(a, b) and not privacy_refines(a, b)


def test_other_secrets_are_refused() -> None:
    with pytest.raises(Mismatch):
        max_refines(truth, sf.Channel.identity(["a", "b", "c"]))
    with pytest.raises(Mismatch):
        privacy_refines(truth, sf.Channel.identity(["a", "b", "c"]))
