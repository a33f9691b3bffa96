from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.mechanisms.continuous import (
    lattice_geometric,
    lattice_space,
    line_hyper_distance,
    on_lattice,
    pixelate,
    truncated_laplace,
)
from strategies import distributions


@given(st.data())
@settings(max_examples=15)
def test_it_is_the_linear_program_with_plan_and_potentials(data: st.DataObject) -> None:
    steps, pixels = data.draw(st.integers(1, 3)), data.draw(st.integers(1, 4))
    space = lattice_space(steps)
    source = truncated_laplace(alpha=data.draw(st.fractions("1/5", "4/5", max_denominator=7)) ** (steps * pixels))
    prior = sf.Prior(space, data.draw(distributions(steps + 1, positive=True)))
    first = sf.hyper(prior, lattice_geometric(source, steps))
    second = sf.hyper(prior, on_lattice(pixelate(source, pixels), steps))
    found = line_hyper_distance(first, second)
    assert found.cost == sf.orders.hyper_distance(first, second, space).cost
    assert (found.plan.sum(axis=1) == first.outer).all() and (found.plan.sum(axis=0) == second.outer).all()
    assert (found.plan >= 0).all()
    here, there = found.potentials
    assert here @ first.outer + there @ second.outer == found.cost
    sums = [np.cumsum(h.inners, axis=0) for h in (first, second)]
    apart = np.abs(sums[0][:, :, None] - sums[1][:, None, :]).sum(axis=0) / steps
    assert (here[:, None] + there[None, :] <= apart).all()
    assert (found.plan * apart).sum() == found.cost


def test_floats() -> None:
    source = truncated_laplace(1)
    prior = sf.Prior.uniform(lattice_space(6))
    first = sf.hyper(prior, lattice_geometric(source, 6))
    second = sf.hyper(prior, on_lattice(pixelate(source, 12), 6))
    expected = sf.orders.hyper_distance(first, second, lattice_space(6)).cost
    found = line_hyper_distance(first, second)
    assert found.cost == pytest.approx(float(expected), abs=1e-9)
    assert found.plan.sum() == pytest.approx(1)


def test_labels_in_any_order() -> None:
    space = sf.FiniteSpace([1, 2, 0], [[0, 1, 1], [1, 0, 2], [1, 2, 0]])
    table = [["1/2", "1/2"], ["1/3", "2/3"], ["2/3", "1/3"]]
    first = sf.hyper(sf.Prior.uniform([1, 2, 0]), sf.Channel([1, 2, 0], table))
    nothing = sf.hyper(sf.Prior.uniform([1, 2, 0]), sf.Channel.constant([1, 2, 0]))
    assert line_hyper_distance(first, nothing).cost == sf.orders.hyper_distance(first, nothing, space).cost


def test_inners_that_are_no_chain_take_a_program() -> None:
    secrets = [0, 1, 2]
    prior = sf.Prior.uniform(secrets)
    middle = sf.hyper(prior, sf.Channel(secrets, [["2/3", "1/3"], ["1/3", "2/3"], ["2/3", "1/3"]]))
    ends = sf.hyper(prior, sf.Channel(secrets, [["2/3", "1/3"], ["1/2", "1/2"], ["1/3", "2/3"]]))
    found = line_hyper_distance(middle, ends)
    assert found.cost == sf.orders.hyper_distance(middle, ends, sf.line(3)).cost
    assert (found.plan.sum(axis=1) == middle.outer).all()
    rough = line_hyper_distance(sf.hyper(prior.to_floats(), sf.Channel(secrets, [[1.0]] * 3)), ends)
    exact = line_hyper_distance(sf.hyper(prior, sf.Channel.constant(secrets)), ends)
    assert rough.cost == pytest.approx(float(exact.cost))


def test_secrets_must_be_numbers() -> None:
    words = sf.hyper(sf.Prior.uniform(["a", "b"]), sf.Channel.constant(["a", "b"]))
    with pytest.raises(InvalidInput, match="numbers"):
        line_hyper_distance(words, words)
