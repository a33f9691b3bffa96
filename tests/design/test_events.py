"""Designs under predicates: promises about events, alone and beside bounds on ratios."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import errors, objectives, predicates
from sfumato.certify import kernel
from sfumato.design.problem import problem
from sfumato.design.solvers.linear import linear_program
from sfumato.lp import solve
from sfumato.privacy.events import event_promises

thirds = st.integers(1, 12).map(lambda k: Fraction(k, 12))


@settings(max_examples=25)
@given(alpha=thirds, delta=st.integers(0, 11).map(lambda k: Fraction(k, 12)))
def test_two_secrets_have_the_total_variation_that_kairouz_oh_and_viswanath_found(
    alpha: Fraction, delta: Fraction
) -> None:
    if alpha == 1 and delta == 0:
        return
    space = sf.discrete(2)
    found = sf.design(
        sf.Prior.uniform(space), sf.losses.bin(space), None, under=predicates.epsilon_delta(alpha=alpha, delta=delta)
    )
    apart = delta + (1 - delta) * (1 / alpha - 1) / (1 / alpha + 1)
    assert found.loss == found.bound == (1 - apart) / 2


@settings(max_examples=25)
@given(
    n=st.integers(2, 4),
    alpha=st.integers(1, 9).map(lambda k: Fraction(k, 10)),
    counts=st.lists(st.integers(0, 5), min_size=4, max_size=4).filter(lambda c: c[0] + c[1] > 0),
)
def test_pure_privacy_of_neighbours_is_the_privacy_type_of_their_graph(
    n: int, alpha: Fraction, counts: list[int]
) -> None:
    space = sf.line(n)
    prior = sf.Prior.from_counts(counts[:n], space.labels)
    loss = sf.losses.absolute(space)
    by_type = sf.design(prior, loss, sf.PrivacyType(space, alpha=alpha), solver="exact")
    by_events = sf.design(prior, loss, None, under=(predicates.pure(alpha=alpha), space), solver="exact")
    assert by_type.loss == by_events.loss == by_events.bound


def brute_force(prior: sf.Prior, loss: sf.Loss, factor: Fraction, delta: Fraction) -> Fraction:
    """One row for each event and ordered pair: the definition, written down."""
    n, m = len(prior.weights), len(loss.actions)
    rows: list[list[Fraction]] = []
    events = [event for size in range(1, m + 1) for event in combinations(range(m), size)]
    for x in range(n):
        for z in range(n):
            if x != z:
                for event in events:
                    row = [Fraction(0)] * (n * m)
                    for w in event:
                        row[x * m + w] += 1
                        row[z * m + w] -= factor
                    rows.append(row)
    sums = [[Fraction(int(k // m == x)) for k in range(n * m)] for x in range(n)]
    table = np.array(rows + sums, dtype=object)
    cost = [Fraction(prior.weights[x]) * int(loss.matrix[w, x]) for x in range(n) for w in range(m)]
    place = np.nonzero(table)
    program = sf.lp.LinearProgram(
        np.array(cost, dtype=object), *place, table[place], "<" * len(rows) + "=" * n,
        np.array([delta] * len(rows) + [Fraction(1)] * n, dtype=object),
    )  # fmt: skip
    solution = solve(program, exact=True)
    assert solution.value is not None
    return Fraction(solution.value)


@settings(max_examples=25)
@given(
    counts=st.tuples(st.integers(1, 5), st.integers(0, 5), st.integers(0, 5)),
    table=st.lists(st.integers(0, 4), min_size=9, max_size=9),
    alpha=st.sampled_from(["1/2", "2/3", "1/5"]),
    delta=st.sampled_from(["0", "1/20", "1/3"]),
)
def test_the_optimum_is_that_of_the_program_over_all_events(
    counts: tuple[int, int, int], table: list[int], alpha: str, delta: str
) -> None:
    secrets = ["a", "b", "c"]
    prior = sf.Prior.from_counts(list(counts), secrets)
    loss = sf.Loss(["u", "v", "w"], secrets, [table[:3], table[3:6], table[6:]])
    asked = predicates.epsilon_delta(alpha=alpha, delta=delta)
    found = sf.design(prior, loss, None, under=asked)
    assert found.loss == found.bound == brute_force(prior, loss, 1 / Fraction(alpha), Fraction(delta))
    assert sf.satisfies(found.mechanism.channel, asked)


@pytest.mark.parametrize("solver", ["highs", "exact"])
def test_solvers_agree_and_what_they_make_keeps_the_predicate(solver: str) -> None:
    space = sf.line(4)
    asked = predicates.epsilon_delta(alpha="1/2", delta="1/50")
    found = sf.design(sf.Prior.uniform(space), sf.losses.squared(space), None, under=(asked, space), solver=solver)
    exact = sf.design(sf.Prior.uniform(space), sf.losses.squared(space), None, under=(asked, space), solver="exact")
    assert found.bound <= exact.loss <= found.loss and found.gap < 1e-9
    assert sf.satisfies(found.mechanism.channel, asked, space)
    assert not sf.satisfies(found.mechanism.channel, predicates.pure(alpha="1/2"), space)


def test_transcendental_factors_are_rounded_to_the_safe_side(tmp_path: Path) -> None:
    space = sf.line(12)
    asked = predicates.epsilon_delta(epsilon=1, delta="1/1000")
    found = sf.design(sf.Prior.uniform(space), sf.losses.absolute(space), None, under=(asked, space))
    assert found.gap < 1e-8 and found.mechanism.proof.events == 22
    assert sf.satisfies(found.mechanism.channel, asked, space)
    sf.save(found.mechanism, tmp_path / "m.sfm")
    again = sf.load(tmp_path / "m.sfm")
    assert repr(again.events) == repr(found.mechanism.events)
    assert again.proof.bound == found.bound
    proved = kernel.check(*kernel.read(tmp_path / "m.sfm")[:2])
    assert proved["events"] == 22 and proved["bound"] == found.bound


def test_a_polygon_below_a_gaussian_curve_gives_gaussian_privacy() -> None:
    space, curve = sf.line(6), predicates.gaussian(1)
    coarse, fine = (
        sf.design(
            sf.Prior.uniform(space),
            sf.losses.absolute(space),
            None,
            under=(predicates.inscribed(curve, corners=corners), space),
            solver="highs",
        )
        for corners in (5, 33)
    )
    assert fine.loss < coarse.bound  # a closer polygon promises less
    for found in (coarse, fine):
        assert sf.satisfies(found.mechanism.channel, curve, space)


def test_events_and_ratios_together_are_at_least_as_dear_as_either() -> None:
    space = sf.line(4)
    prior, loss = sf.Prior.uniform(space), sf.losses.absolute(space)
    ratios, weak = sf.PrivacyType(space, alpha="1/4"), predicates.epsilon_delta(alpha="2/3", delta="1/10")
    both = sf.design(prior, loss, ratios, under=(weak, space))
    alone = [sf.design(prior, loss, ratios), sf.design(prior, loss, None, under=(weak, space))]
    assert both.gap == 0 and both.loss >= max(made.loss for made in alone)
    assert sf.satisfies(both.mechanism.channel, ratios) and sf.satisfies(both.mechanism.channel, weak, space)
    several = sf.design(prior, loss, None, under=[(weak, space), predicates.epsilon_delta(alpha="1/9", delta=0)])
    assert len(several.mechanism.events) == 2 and several.loss >= alone[1].loss


@pytest.mark.parametrize("solver", ["exact", "highs"])
def test_worst_secrets_limits_and_ties_go_with_events(solver: str) -> None:
    space = sf.line(4)
    asked = (predicates.epsilon_delta(alpha="1/2", delta="1/20"), space)
    prior, loss = sf.Prior.uniform(space), sf.losses.absolute(space)
    worst = sf.design(None, loss, None, under=asked, objective="worst secret", solver=solver)
    mean = sf.design(prior, loss, None, under=asked, solver=solver)
    assert worst.loss >= mean.bound and worst.gap < 1e-6
    limited = sf.design(
        prior, loss, None, under=asked, solver=solver,
        objective=objectives.expected(limits=objectives.loss_at_most(worst.loss * Fraction(101, 100))),
    )  # fmt: skip
    assert mean.bound <= limited.loss <= worst.loss * Fraction(101, 100) and limited.gap < 1e-6
    tied = sf.design(prior, loss, None, under=asked, solver=solver, objective=objectives.expected(then="worst secret"))
    assert tied.second is not None and tied.second >= float(worst.bound) - 1e-9
    for made in (worst, limited, tied):
        assert sf.satisfies(made.mechanism.channel, *asked)
    with pytest.raises(errors.Infeasible, match="no mechanism with this promise keeps the limits"):
        sf.design(
            prior, loss, None, under=asked, solver=solver,
            objective=objectives.expected(limits=objectives.loss_at_most(worst.bound / 2)),
        )  # fmt: skip


def test_one_sided_promises_hold_one_way_only() -> None:
    secrets = ["absent", "present"]
    one_way = predicates.epsilon_delta(alpha="1/2", one_sided=True)
    found = sf.design(sf.Prior.uniform(secrets), sf.losses.bin(secrets), None, under=(one_way, [("absent", "present")]))
    assert sf.satisfies(found.mechanism.channel, one_way, [("absent", "present")])
    assert not sf.satisfies(found.mechanism.channel, one_way, [("present", "absent")])
    assert found.loss == Fraction(1, 4)  # "present" is said never falsely, and by half of those who are


def test_bad_promises_are_refused() -> None:
    space = sf.line(3)
    prior, loss = sf.Prior.uniform(space), sf.losses.absolute(space)
    good = predicates.epsilon_delta(alpha="1/2", delta="1/10")
    with pytest.raises(errors.InvalidInput, match="privacy type, or a predicate"):
        sf.design(prior, loss, None)
    with pytest.raises(errors.NotSupported, match="inscribed"):
        sf.design(prior, loss, None, under=predicates.gaussian(1))
    with pytest.raises(errors.NotSupported, match="no polygon"):
        sf.design(prior, loss, None, under=predicates.from_function(lambda a, b: True))
    with pytest.raises(errors.NotSupported, match="for promises about events"):
        sf.design(prior, loss, None, under=good, solver="interior")
    with pytest.raises(errors.InvalidInput, match="make them one secret"):
        sf.design(prior, loss, None, under=predicates.pure(epsilon=0))
    with pytest.raises(errors.Mismatch):
        sf.design(prior, loss, None, under=(good, [(0, 7)]))
    with pytest.raises(errors.InvalidInput, match="under= takes"):
        sf.design(prior, loss, None, under=3)  # type: ignore[arg-type]
    with pytest.raises(errors.NotSupported, match="not proved"):
        predicates.inscribed(predicates.from_density(lambda x: x * x, 1))


def test_a_predicate_that_allows_everything_asks_for_nothing() -> None:
    space = sf.line(3)
    free = problem(sf.Prior.uniform(space), sf.losses.absolute(space), None, under=predicates.trivial())
    assert free.events == () and linear_program(free, exact=True).rhs.tolist() == [1, 1, 1]
    assert event_promises((0, 1), predicates.epsilon_delta(alpha="1/2", delta=1)) == ()
    found = sf.design(sf.Prior.uniform(space), sf.losses.absolute(space), None, under=predicates.trivial())
    assert found.loss == 0
