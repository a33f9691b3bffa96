from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato import losses
from sfumato.errors import InvalidInput, InvalidLoss, Mismatch
from sfumato.privacy.similarity import similarity
from sfumato.theory.universal import Better, OptimalityGround, impossibility, is_universally_optimal, utility_set
from sfumato.theory.universal.least_loss import LeastLoss
from sfumato.theory.universal.prior_sets import all_priors, ball, prior_set
from sfumato.theory.universal.question import pose
from sfumato.theory.universal.refute import refute


def line(n: int, alpha: str = "1/2") -> sf.PrivacyType:
    return sf.PrivacyType(sf.line(n), alpha=alpha)


def ground(verdict: sf.Verdict) -> str:
    assert verdict
    assert isinstance(verdict.witness, OptimalityGround)
    return verdict.witness.name


def check(better: Better, channel: sf.Channel, loss: sf.Loss, privacy: sf.PrivacyType) -> None:
    """A counter-example speaks for itself."""
    assert sf.satisfies(better.channel, privacy)
    assert sf.posterior_loss(better.prior, channel, loss) == better.loss
    assert sf.posterior_loss(better.prior, better.channel, loss) == better.better_loss
    assert better.gap > 0


def test_grounds_on_a_line() -> None:
    privacy = line(6)
    mechanism = sf.geometric(privacy)
    for loss in (losses.bin, losses.nib, losses.absolute, losses.squared, losses.distance):
        assert ground(is_universally_optimal(mechanism, loss(privacy.space))) == "single crossing on a line"
    both = losses.add(losses.bin(privacy.space), losses.nib(privacy.space))
    assert ground(is_universally_optimal(mechanism, both)) == "sum of losses"
    ends = losses.lift(losses.matrix([0, 1, 2], [[0, 3, 5], [4, 0, 1]]), privacy.space)
    assert ground(is_universally_optimal(mechanism, ends)) == "single crossing on a line"


def test_outputs_may_be_split_renamed_or_never_given() -> None:
    privacy = line(3)
    matrix = sf.geometric(privacy).channel.matrix
    split = [[*row[[2, 0, 1]] / 2, *row[[0, 1, 2]] / 2, 0] for row in matrix]
    verdict = is_universally_optimal(sf.Channel(range(3), split), losses.bin(privacy.space), privacy)
    assert ground(verdict) == "single crossing on a line"


def test_grounds_on_trees_and_subsets() -> None:
    star = sf.PrivacyType(sf.spaces.star(3), alpha="1/2")
    mechanism = sf.tight_constraints(star)
    weights = [1, 2, "1/3", 5]
    for loss, name in ((losses.bin, "guessing on a tree"), (losses.nib, "excluding on a tree")):
        assert ground(is_universally_optimal(mechanism, loss(star.space))) == name
        assert ground(is_universally_optimal(mechanism, losses.scale(loss(star.space), weights))) == name
    pair = sf.mechanisms.closest_pair(star)
    x, z = star.secrets[:2]  # the centre and a leaf
    lifted = losses.lift(losses.matrix([x, z], [[0, 7], [2, 1], [9, 0]]), star.space)
    verdict = is_universally_optimal(pair, lifted)
    assert ground(verdict) == "lifted from a subset"
    assert [part.name for part in verdict.witness.parts] == ["two secrets"]


def test_the_hamming_kernel_serves_a_path() -> None:
    cube = sf.PrivacyType(sf.hamming(3), alpha="1/2")
    path = ["000", "100", "110", "111"]
    ones = losses.function(path, lambda w, x: (w.count("1") - x.count("1")) ** 2)
    verdict = is_universally_optimal(sf.mechanisms.hamming_kernel(cube), losses.lift(ones, cube.space))
    assert ground(verdict) == "lifted from a subset"
    assert verdict.witness.parts[0].name == "single crossing on a line"


def test_cells_decide_where_no_theorem_does() -> None:
    """Is it the middle of the line? Two actions, no single crossing, and two distances between the sides."""
    privacy = line(5)
    loss = losses.member(privacy.space, [2])
    best = sf.universal.universal_design(loss, privacy).mechanism
    assert ground(is_universally_optimal(best, loss)) == "cells"


def test_two_sides_at_one_distance() -> None:
    space = sf.discrete(4)
    privacy = sf.PrivacyType(space, alpha="1/3")
    loss = losses.member(space, [0])
    assert (
        ground(is_universally_optimal(sf.mechanisms.one_against_rest(privacy, 0), loss)) == "two sides at one distance"
    )
    verdict = is_universally_optimal(sf.random_response(privacy), loss)
    assert not verdict
    check(verdict.witness, sf.random_response(privacy).channel, loss, privacy)
    parties = sf.PrivacyType(sf.spaces.complete_bipartite(30, 40), alpha="1/3")
    side = parties.space.labels[:30]
    verdict = is_universally_optimal(sf.mechanisms.membership(parties, side), losses.member(parties.space, side))
    assert ground(verdict) == "two sides at one distance"


def test_two_sides_up_to_rounding_and_for_many_secrets() -> None:
    """What a design finds is what the theorem names, and a channel that is not steep is not served by it."""
    for space in (sf.discrete(4), sf.discrete(20), sf.spaces.complete_bipartite(7, 8)):
        privacy = sf.PrivacyType(space, epsilon="0.7")
        side = space.labels[: 7 if len(space) == 15 else 2]
        loss = losses.member(space, side)
        verdict = is_universally_optimal(sf.mechanisms.membership(privacy, side), loss)
        assert ground(verdict) == "two sides at one distance" and 0 < verdict.witness.regret < 1e-12
        best = sf.universal.universal_design(loss, privacy)
        assert best.exists and best.ground is not None and best.ground.name == "two sides at one distance"
    exact = sf.PrivacyType(sf.discrete(40), alpha="1/3")
    loss = losses.scale(losses.member(exact.space, [3, 4]), range(40))
    best = sf.universal.universal_design(loss, exact)
    assert best.upper == 0 and best.exists
    less = sf.channels.choice("1/1000", sf.Channel.constant(exact.space), best.mechanism.channel)
    assert is_universally_optimal(less, loss, exact, starts=3).outcome != "holds"


def test_trivial_losses_are_served_by_nothing() -> None:
    space = sf.line(3)
    nothing = sf.Channel.constant(space)
    loss = losses.matrix(space, [[0, 1, 2], [0, 2, 2]])
    assert ground(is_universally_optimal(nothing, loss, line(3))) == "trivial loss"
    verdict = is_universally_optimal(nothing, losses.bin(space), line(3))
    check(verdict.witness, nothing, losses.bin(space), line(3))


@pytest.mark.parametrize("n", [2, 3, 4, 5, 60])
@pytest.mark.parametrize("make", [sf.geometric, sf.tight_constraints])
def test_a_theorem_about_an_irrational_mechanism_is_not_refuted_by_its_rounding(n: int, make: Any) -> None:
    privacy = sf.PrivacyType(sf.line(n), epsilon=1)
    for loss, largest in ((losses.distance, n - 1), (losses.bin, 1), (losses.squared, (n - 1) ** 2)):
        verdict = is_universally_optimal(make(privacy), loss(privacy.space))
        assert ground(verdict) == ("single crossing on a line" if n > 2 else "two secrets")
        assert 0 < verdict.witness.regret < largest * Fraction(1, 10**11)
        assert "up to the rounding of the table (regret at most " in verdict.reason


@pytest.mark.parametrize("n", [3, 4, 5])
def test_rounding_hides_no_counter_example(n: int) -> None:
    privacy = sf.PrivacyType(sf.line(n), epsilon=1)
    mechanism, middle = sf.geometric(privacy), losses.member(privacy.space, [1])
    refuted = is_universally_optimal(mechanism, middle)
    assert refuted.outcome == "fails"
    check(refuted.witness, mechanism.channel, middle, privacy)
    assert refuted.witness.gap > Fraction(1, 20)


def test_the_bound_on_what_rounding_costs_is_one() -> None:
    """The regret of the table, found by its cells, lies below what total variation proves."""
    privacy = sf.PrivacyType(sf.line(4), epsilon=1)
    mechanism, loss = sf.geometric(privacy), losses.distance(privacy.space)
    proved = is_universally_optimal(mechanism, loss).witness.regret
    found = sf.universal.worst_case_regret(mechanism, loss)
    assert 0 < found.lower <= found.upper == proved < 1e-14
    assert found.method.endswith("single crossing on a line")


def test_other_grounds_up_to_rounding() -> None:
    star = sf.PrivacyType(sf.spaces.star(3), epsilon=2)
    mechanism = sf.tight_constraints(star)
    assert ground(is_universally_optimal(mechanism, losses.bin(star.space))) == "guessing on a tree"
    assert ground(is_universally_optimal(mechanism, losses.nib(star.space))) == "excluding on a tree"
    cube = sf.PrivacyType(sf.hamming(3), epsilon=1)
    ones = losses.function(["000", "100", "110", "111"], lambda w, x: abs(w.count("1") - x.count("1")))
    verdict = is_universally_optimal(sf.mechanisms.hamming_kernel(cube), losses.lift(ones, cube.space))
    assert ground(verdict) == "lifted from a subset" and verdict.witness.regret > 0
    line4 = sf.PrivacyType(sf.line(4), epsilon=1)
    served, bins, nibs = utility_set(sf.geometric(line4)), losses.bin(line4.space), losses.nib(line4.space)
    regrets = [served.contains(loss).witness.regret for loss in (bins, nibs)]
    assert served.sum(bins, nibs).witness.regret == sum(regrets)
    assert served.contains(losses.add(bins, nibs)).witness.regret == sum(regrets)
    assert served.scaled(bins, [1, 5, 2, 0]).witness.regret == 5 * regrets[0]


def test_floats_of_an_exact_mechanism_are_it_up_to_rounding() -> None:
    privacy = line(5, "1/3")
    rounded = sf.geometric(privacy).channel.to_floats()
    verdict = is_universally_optimal(rounded, losses.distance(privacy.space), privacy)
    assert ground(verdict) == "single crossing on a line" and 0 < verdict.witness.regret < 1e-14


def test_who_says_where_a_table_comes_from_is_not_believed() -> None:
    """A table a millionth away from the geometric mechanism is judged as what it is, whatever it calls itself."""
    privacy = sf.PrivacyType(sf.line(3), epsilon=1)
    made = sf.geometric(privacy)
    flat = sf.Channel.constant(privacy.space).matrix / Fraction(3)
    mixed = [[p * Fraction(999_999, 10**6) + flat[0, 0] / 10**6 for p in row] for row in made.channel.matrix]
    liar = sf.prove(sf.Channel(privacy.space, mixed), privacy, provenance=made.provenance)
    verdict = is_universally_optimal(liar, losses.bin(privacy.space))
    assert verdict.outcome == "fails" and verdict.witness.gap > 1e-8


def test_where_no_theorem_is_known_a_gap_of_rounding_refutes_nothing() -> None:
    privacy = sf.PrivacyType(sf.line(4), epsilon=1)
    loss = losses.member(privacy.space, [1])
    best = sf.universal.universal_design(loss, privacy)
    verdict = is_universally_optimal(best.mechanism, loss)
    assert verdict.outcome == "undecided"
    if isinstance(verdict.witness, Better):
        check(verdict.witness, best.mechanism.channel, loss, privacy)
        assert "no more than the rounding of the table may cost" in verdict.reason


def test_large_types_are_refuted_or_left_undecided() -> None:
    privacy = line(14)
    loss = losses.member(privacy.space, [5])
    verdict = is_universally_optimal(sf.geometric(privacy), loss, starts=10)
    check(verdict.witness, sf.geometric(privacy).channel, loss, privacy)
    star = sf.PrivacyType(sf.spaces.star(11), alpha="1/2")
    centre, leaf = star.secrets[:2]
    served = is_universally_optimal(
        sf.mechanisms.one_against_rest(star, centre), losses.member(star.space, [centre]), starts=2
    )
    assert ground(served) == "two sides at one distance"
    near = similarity(star)[star.space.index(leaf)] / (1 + star.alpha)
    told = sf.Channel(star.space, np.stack([near, 1 - near], axis=1))
    verdict = is_universally_optimal(told, losses.member(star.space, [leaf]), star, starts=2)
    assert verdict.outcome == "undecided" and "2 starts" in verdict.reason


def test_only_some_priors() -> None:
    privacy = sf.PrivacyType(sf.cycle(4), alpha="1/3")
    mechanism, loss = sf.tight_constraints(privacy), losses.bin(privacy.space)
    assert not is_universally_optimal(mechanism, loss)
    assert ground(is_universally_optimal(mechanism, loss, priors="regular")) == "cells"


@pytest.mark.parametrize("priors", ["all", "regular", "hull", "ball"])
def test_the_search_stays_in_its_set(priors: str) -> None:
    privacy = line(4)
    loss = losses.member(privacy.space, [0, 2])
    sets = {
        "hull": prior_set([sf.Prior.uniform(range(4)), sf.Prior(range(4), ["1/4", "1/2", "1/4", 0])], privacy),
        "ball": ball(sf.Prior.uniform(range(4)), "1/5", privacy.space),
    }
    among = sets.get(priors) or prior_set(priors, privacy)
    asked = pose(loss, privacy)
    channel = sf.geometric(privacy).channel
    found = refute(asked, channel, among, LeastLoss(asked), starts=10)
    assert found is not None
    check(found, channel, loss, privacy)
    if priors == "regular":
        assert sf.types.is_regular(found.prior, privacy)
    if priors == "ball":
        assert sf.orders.kantorovich(found.prior, sf.Prior.uniform(range(4)), privacy.space).cost <= Fraction(1, 5)


def test_the_search_never_refutes_an_optimal_mechanism() -> None:
    privacy = line(5)
    asked = pose(losses.bin(privacy.space), privacy)
    channel = sf.geometric(privacy).channel
    assert refute(asked, channel, all_priors(privacy.space), LeastLoss(asked), starts=30) is None


def test_utility_sets() -> None:
    privacy = line(3)
    served = utility_set(sf.geometric(privacy))
    square, ends = losses.squared(privacy.space), losses.member(privacy.space, [0, 2])
    assert square in served and ends not in served
    assert served.sum(square, losses.nib(privacy.space)).witness.name == "sum of losses"
    assert not served.sum(square, ends)
    assert served.scaled(square, [0, 2, 1]).witness.name == "scaled loss"
    assert not served.scaled(ends, 2)
    assert served.scaled(ends, [1, 1, 0])  # without one end it is a threshold
    with pytest.raises(InvalidLoss, match="negative"):
        served.scaled(square, -1)
    with pytest.raises(Mismatch):
        served.restricted([0, 7])
    other = utility_set(sf.types.kernels(privacy)[0].channel, privacy)
    both = served & other
    for loss in (square, ends, losses.bin(privacy.space)):
        assert bool(both.contains(loss)) == (loss in served and loss in other)
    with pytest.raises(InvalidInput, match="one type"):
        _ = served & utility_set(sf.geometric(line(3)))
    with pytest.raises(InvalidInput, match="strictly"):
        served.intersection(other, 1)


@pytest.mark.parametrize("alpha", ["1/10", "1/2", "9/10"])
@pytest.mark.parametrize("n", [3, 4])
def test_corollary_13(n: int, alpha: str) -> None:
    """On a discrete space no mechanism serves the even prior and an even prior on two secrets, whatever ε."""
    privacy = sf.PrivacyType(sf.discrete(n), alpha=alpha)
    verdict = impossibility(losses.bin(privacy.space), privacy)
    assert verdict
    shapes = {tuple(sorted(p.weights, reverse=True)) for p in verdict.witness.priors}
    half = Fraction(1, 2)
    assert shapes == {(Fraction(1, n),) * n, (half, half, *[Fraction(0)] * (n - 2))}
    assert verdict.witness.theorem == "Corollary 13" and verdict.witness.regret > 0


def test_impossibility_for_strictly_monotone_losses_on_a_discrete_space() -> None:
    space = sf.discrete(3)
    verdict = impossibility(losses.absolute(space), sf.PrivacyType(space, alpha="1/2"))
    assert verdict and verdict.witness.theorem == "Lemma A6"
    assert [prior.support for prior in verdict.witness.for_every_epsilon] == [(0, 1), (0, 2), (1, 2)]


def test_priors_for_every_epsilon_are_where_the_best_action_changes() -> None:
    """The last action is as good as the first one at (1/3, 2/3), where the second one is far better than both."""
    space = sf.discrete(3)
    loss = losses.matrix(space, [[0, 12, 12], [12, 0, 12], [12, 12, 0], [2, 11, 11]], actions="abcd")
    verdict = impossibility(loss, sf.PrivacyType(space, alpha="1/2"))
    half = Fraction(1, 2)
    assert [prior.weights.tolist() for prior in verdict.witness.for_every_epsilon] == [
        [half, half, 0], [half, 0, half], [0, half, half],
    ]  # fmt: skip


def test_what_is_possible_is_shown() -> None:
    privacy = line(4)
    verdict = impossibility(losses.bin(privacy.space), privacy)
    assert verdict.outcome == "fails"
    assert is_universally_optimal(verdict.witness, losses.bin(privacy.space))
    assert impossibility(losses.matrix(privacy.space, [[0, 0, 0, 0]]), privacy).outcome == "fails"
    cycle = sf.PrivacyType(sf.cycle(5), alpha="1/2")
    found = impossibility(losses.distance(cycle.space), cycle)
    assert found and found.witness.theorem is None and len(found.witness.priors) >= 2


def test_more_secrets_than_vertices_are_listed_for_are_answered() -> None:
    space = sf.grid(8, 8)
    privacy, loss = sf.PrivacyType(space, epsilon=1), sf.losses.distance(space)
    best = sf.design(sf.Prior.from_counts([1 + (k * k) % 7 for k in range(64)], space), loss, privacy, tolerance=1e-2)
    verdict = sf.universal.is_universally_optimal(best.mechanism, loss, privacy, starts=2)
    assert verdict.outcome in (sf.Outcome.FAILS, sf.Outcome.UNDECIDED)


def test_infinite_distances_are_named_as_the_reason() -> None:
    """Three secrets have few cells; what is missing is a list of mechanisms where nothing is promised about some."""
    apart = sf.PrivacyType(sf.graph([("a", "b")], labels=["a", "b", "c"]), alpha="1/2")
    told = sf.Channel(["a", "b", "c"], [["2/3", "1/3", 0], ["1/3", "2/3", 0], [0, 0, 1]])
    verdict = sf.universal.is_universally_optimal(told, sf.losses.bin(apart.space), apart, starts=2)
    assert verdict.outcome == "undecided" and "finite distances" in verdict.reason
