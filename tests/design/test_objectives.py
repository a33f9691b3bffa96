"""Objectives beside an independent linear program, exact and in floats; limits kept; ties broken."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

import sfumato as sf
from sfumato.design import objectives
from sfumato.design.ties import conditional_entropy
from sfumato.errors import Infeasible, InvalidInput, Mismatch, NotSupported

SPACES = [sf.line(3), sf.discrete(3), sf.cycle(4), sf.spaces.star(3), sf.line(2), sf.line(1)]


@st.composite
def problems(draw: Any) -> tuple[sf.Prior, sf.Loss, sf.PrivacyType]:
    space = draw(st.sampled_from(SPACES))
    n, m = len(space), draw(st.integers(1, 4))
    counts = draw(st.lists(st.integers(0, 5), min_size=n, max_size=n).filter(any))
    table = draw(st.lists(st.lists(st.integers(-3, 6), min_size=n, max_size=n), min_size=m, max_size=m))
    alpha = draw(st.sampled_from(["1/2", "1/5", "9/10", "1/50"]))
    return sf.Prior.from_counts(counts, space), sf.Loss(range(m), space, table), sf.PrivacyType(space, alpha=alpha)


def least(
    loss: sf.Loss, privacy: sf.PrivacyType, priors: list[np.ndarray], caps: list[tuple[np.ndarray, float]]
) -> float | None:
    """The least over M of the largest π_k·v, with other tables kept at or below caps for every secret: one dense LP."""
    n, m = len(privacy.space), len(loss.actions)
    factors = np.exp(privacy.rate * privacy.space.distances.floats)
    table = np.asarray(loss.matrix, dtype=float).T
    rows, rhs = [], []
    for x in range(n):
        for z in range(n):
            for w in range(m) if x != z else ():
                row = np.zeros((n, m))
                row[x, w], row[z, w] = 1.0, -factors[x, z]
                rows.append(np.append(row.ravel(), 0.0))
                rhs.append(0.0)
    for prior in priors:
        rows.append(np.append((prior[:, None] * table).ravel(), -1.0))
        rhs.append(0.0)
    for cap, level in caps:
        for x in range(n):
            row = np.zeros((n, m))
            row[x] = cap[x]
            rows.append(np.append(row.ravel(), 0.0))
            rhs.append(level)
    sums = np.hstack([np.kron(np.eye(n), np.ones(m)), np.zeros((n, 1))])
    found = linprog(
        np.append(np.zeros(n * m), 1.0),
        np.array(rows),
        np.array(rhs),
        sums,
        np.ones(n),
        [(0, None)] * n * m + [(None, None)],
    )
    return float(found.fun) if found.status == 0 else None


def checked(made: sf.Design, value: float, *, exact: bool) -> None:
    if exact:
        assert made.loss == made.bound
    assert float(made.bound) - 1e-6 <= value <= float(made.loss) + 1e-6
    assert float(made.loss - made.bound) <= 2e-4 * max(1.0, abs(value))
    assert sf.verify(made.mechanism, checker="kernel")


@pytest.mark.parametrize("solver", ["exact", "highs", "interior"])
@given(problems())
@settings(max_examples=40)
def test_worst_secret(solver: str, asked: Any) -> None:
    _, loss, privacy = asked
    made = sf.design(None, loss, privacy, objective="worst secret", solver=solver)
    value = least(loss, privacy, list(np.eye(len(privacy.space))), [])
    assert value is not None
    checked(made, value, exact=solver == "exact")
    table = np.array([[loss.at(made.remap[y], x) for y in made.mechanism.outputs] for x in privacy.space.labels])
    assert max((made.mechanism.channel.matrix * table).sum(axis=1)) == made.loss


@pytest.mark.parametrize("solver", ["exact", "highs", "interior"])
@given(problems(), st.data())
@settings(max_examples=40)
def test_worst_of_several_priors(solver: str, asked: Any, data: Any) -> None:
    prior, loss, privacy = asked
    n = len(privacy.space)
    counts = data.draw(
        st.lists(st.lists(st.integers(0, 4), min_size=n, max_size=n).filter(any), min_size=1, max_size=3)
    )
    priors = [prior, *(sf.Prior.from_counts(row, privacy.space) for row in counts)]
    made = sf.design(None, loss, privacy, objective=objectives.worst_prior(priors), solver=solver)
    value = least(loss, privacy, [p.float_weights for p in priors], [])
    assert value is not None
    checked(made, value, exact=solver == "exact")


@pytest.mark.parametrize("solver", ["exact", "highs", "interior"])
@given(problems(), st.fractions(0, 1, max_denominator=8))
@settings(max_examples=40)
def test_expected_loss_under_a_limit_on_every_secret(solver: str, asked: Any, share: Fraction) -> None:
    """Levels from the least that can be kept to the one where the limit says nothing."""
    prior, loss, privacy = asked
    lowest = sf.design(None, loss, privacy, objective="worst secret", solver="exact").loss
    level = lowest + share * (int(loss.matrix.max()) - lowest) + Fraction(1, 100)
    wanted = objectives.expected(limits=objectives.loss_at_most(level))
    made = sf.design(prior, loss, privacy, objective=wanted, solver=solver)
    caps = [(np.asarray(loss.matrix, dtype=float).T, float(level))]
    value = least(loss, privacy, [prior.float_weights], caps)
    assert value is not None
    checked(made, value, exact=solver == "exact")
    assert made.mechanism.claim is not None
    assert [c.level for c in made.mechanism.claim.ceilings] == [level]


@pytest.mark.parametrize("solver", ["exact", "highs", "interior"])
def test_a_limit_below_what_can_be_kept_is_refused(solver: str) -> None:
    space = sf.line(4)
    wanted = objectives.expected(limits=objectives.loss_at_most("1/10"))
    with pytest.raises(Infeasible, match="no mechanism with this promise keeps the limits"):
        sf.design(sf.Prior.uniform(space), sf.losses.absolute(space), sf.PrivacyType(space, alpha="1/2"),
                  objective=wanted, solver=solver)  # fmt: skip


@pytest.mark.parametrize("solver", ["exact", "highs", "interior"])
def test_displacement(solver: str) -> None:
    space = sf.line(5)
    prior, loss, privacy = sf.Prior.uniform(space), sf.losses.absolute(space), sf.PrivacyType(space, alpha="1/4")
    plain = sf.design(prior, loss, privacy, solver=solver)
    wanted = objectives.expected(limits=objectives.displacement_at_most(1, "6/100"))
    made = sf.design(prior, loss, privacy, objective=wanted, solver=solver)
    far = np.abs(np.subtract.outer(range(5), range(5))) > 1
    value = least(loss, privacy, [prior.float_weights], [(far.astype(float), 0.06)])
    assert value is not None
    checked(made, value, exact=solver == "exact")
    assert made.loss > plain.loss
    columns = [space.labels.index(made.remap[y]) for y in made.mechanism.outputs]
    chances = (made.mechanism.channel.matrix * far[:, columns]).sum(axis=1)
    assert max(chances) <= Fraction(6, 100)


@pytest.mark.parametrize("solver", ["exact", "interior"])
def test_ties_go_to_the_better_worst_secret(solver: str) -> None:
    """A secret of prior 0 costs nothing in the mean, so plain designs neglect it."""
    space = sf.line(3)
    prior, loss = sf.Prior(space, ["1/2", "1/2", 0]), sf.losses.squared(space)
    privacy = sf.PrivacyType(space, alpha="1/3")
    plain = sf.design(prior, loss, privacy, solver=solver)
    made = sf.design(prior, loss, privacy, objective=objectives.expected(then="worst secret"), solver=solver)
    assert made.second is not None
    assert made.gap <= 1e-4
    assert float(made.loss - plain.bound) <= 1e-4 * float(plain.loss)
    worst = (plain.mechanism.channel.matrix * loss.matrix[[loss.actions.index(w) for w in plain.remap.values()]].T).sum(
        1
    )
    assert made.second <= float(max(worst)) + 1e-9
    if solver == "exact":
        assert made.loss == plain.loss == made.bound


def test_ties_go_to_the_larger_entropy() -> None:
    space = sf.discrete(4)
    prior, privacy = sf.Prior.uniform(space), sf.PrivacyType(space, alpha="1/2")
    loss = sf.losses.member(space, [0, 1])
    wanted = objectives.expected(then="entropy")
    plain, made = sf.design(prior, loss, privacy), sf.design(prior, loss, privacy, objective=wanted)
    assert made.second is not None
    assert made.gap <= 1e-4
    assert (
        made.second >= conditional_entropy(prior.float_weights, plain.mechanism.weights / plain.mechanism.total) - 1e-4
    )


def test_weighted_priors_are_their_mixture() -> None:
    space = sf.line(2)
    mixed = objectives.weighted([sf.Prior(space, [1, 0]), sf.Prior.uniform(space)], [1, 2])
    assert mixed.weights.tolist() == [Fraction(2, 3), Fraction(1, 3)]
    for weights in ([1], [0, 0], [-1, 2]):
        with pytest.raises(InvalidInput, match="weights ≥ 0"):
            objectives.weighted([sf.Prior.uniform(space)] * 2, weights)


def test_bad_objectives() -> None:
    space = sf.line(3)
    prior, loss, privacy = sf.Prior.uniform(space), sf.losses.absolute(space), sf.PrivacyType(space, alpha="1/2")
    with pytest.raises(InvalidInput, match="needs a prior"):
        sf.design(None, loss, privacy)
    with pytest.raises(NotSupported, match="minimax"):
        sf.design(prior, loss, privacy, objective="minimax")
    with pytest.raises(NotSupported, match="then="):
        objectives.expected(then="luck")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="at least one prior"):
        objectives.worst_prior([])
    with pytest.raises(InvalidInput, match="probability from 0 to 1"):
        objectives.displacement_at_most(1, 2)
    with pytest.raises(Mismatch):
        objectives.worst_prior([prior, sf.Prior.uniform(sf.line(2))])
    with pytest.raises(NotSupported, match="column-generation"):
        sf.design(prior, loss, privacy, objective="worst secret", solver="column-generation")
    with pytest.raises(NotSupported, match="no secret"):
        sf.design(prior, sf.Loss(["low", "high"], space, [[0, 1, 1], [1, 1, 0]]), privacy,
                  objective=objectives.expected(limits=objectives.displacement_at_most(1, "1/2")))  # fmt: skip
    other = sf.Loss(["a"], space, [[0, 0, 0]])
    with pytest.raises(Mismatch):
        sf.design(prior, loss, privacy, objective=objectives.expected(limits=objectives.at_most(other, 1)))
