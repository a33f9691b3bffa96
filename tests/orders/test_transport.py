from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import losses as L
from sfumato.errors import InvalidInput, NotSupported
from strategies import channels, losses, priors


@given(st.data())
def test_on_a_line_the_distance_is_that_of_cumulative_sums(data: st.DataObject) -> None:
    space = sf.line(data.draw(st.integers(1, 6)))
    first, second = data.draw(priors(space.labels)), data.draw(priors(space.labels))
    moved = sf.orders.kantorovich(first, second, space)
    assert moved.cost == np.abs(np.cumsum(first.weights - second.weights)).sum()
    assert (moved.plan.sum(axis=1) == first.weights).all()
    assert (moved.plan.sum(axis=0) == second.weights).all()
    rows, columns = moved.potentials
    assert (rows @ first.weights) + (columns @ second.weights) == moved.cost


def test_floats_and_irrational_distances() -> None:
    space = sf.grid(2, 2)
    corner, opposite = sf.Prior.point(space, (0, 0)), sf.Prior.point(space, (1, 1))
    assert sf.orders.kantorovich(corner, opposite, space).cost == pytest.approx(2**0.5)
    split = sf.graph([(0, 1)], labels=[0, 1, 2])
    with pytest.raises(NotSupported):
        sf.orders.kantorovich(sf.Prior.point(split, 0), sf.Prior.point(split, 2), split)


@given(st.data())
@settings(max_examples=40)
def test_losses_move_no_faster_than_hypers(data: st.DataObject) -> None:
    """Paper B, section IV-D: a κ-Lipschitz loss changes by at most κ times the distance of hypers."""
    space = sf.line(3)
    prior = data.draw(priors(space.labels))
    one, other = data.draw(channels(space.labels, 3)), data.draw(channels(space.labels, 2))
    loss = data.draw(losses(space.labels))
    moved = sf.orders.hyper_distance(sf.hyper(prior, one), sf.hyper(prior, other), space).cost
    kappa = sf.orders.loss_lipschitz(loss, space)
    gap = abs(sf.posterior_loss(prior, one, loss) - sf.posterior_loss(prior, other, loss))
    assert gap <= kappa * moved


def test_lipschitz_constants() -> None:
    assert sf.orders.loss_lipschitz(L.absolute(range(4)), sf.line(4)) == 1
    assert sf.orders.loss_lipschitz(L.squared(range(4)), sf.line(4)) == 5
    assert sf.orders.loss_lipschitz(L.distance(sf.grid(2, 2)), sf.grid(2, 2)) == pytest.approx(1)
    assert sf.orders.loss_lipschitz(L.bin(["x"]), sf.discrete(["x"])) == 0


@given(st.data())
@settings(max_examples=60)
def test_hypers_refine_as_their_channels_do(data: st.DataObject) -> None:
    """Paper A, Eq. 7, for a prior of full support."""
    one = data.draw(channels())
    other = data.draw(channels(one.secrets))
    prior = data.draw(priors(one.secrets, positive=True))
    assert bool(sf.orders.hyper_refines(sf.hyper(prior, other), sf.hyper(prior, one))) == bool(sf.refines(other, one))


def test_hypers_of_different_priors_do_not_compare() -> None:
    channel = sf.Channel.identity([0, 1])
    one = sf.hyper(sf.Prior.uniform([0, 1]), channel)
    other = sf.hyper(sf.Prior([0, 1], ["1/3", "2/3"]), channel)
    with pytest.raises(InvalidInput, match="averages"):
        sf.orders.hyper_refines(one, other)
    assert one.average().tolist() == [Fraction(1, 2)] * 2
