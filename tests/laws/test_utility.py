"""Utility measures of Kifer and Lin 2012, section 3.2: data processing, and Theorem 3.2.8 step by step.

The theorem: a measure is Σ_y F(column y), with F continuous, convex and homogeneous, if and only if it respects
sufficiency (Axiom 3.1.4), is continuous (3.2.5), and merging two outputs costs what depends on these two only (3.2.6).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.measures.branching import GENERATORS, Branch, branching, divergence, largest_gain, polygon
from sfumato.measures.utility import (
    BRANCHES,
    UtilityMeasure,
    bayes_utility,
    branching_measure,
    determinant,
    discrimination,
    divergence_utility,
    dobrushin,
    respects_sufficiency,
)
from strategies import channels, distributions, losses, priors

ROUNDING = 1e-9  # of sums of logarithms; everything else is rational
PROVED = {"dobrushin": dobrushin, "discrimination": discrimination, **BRANCHES}
SHARES = st.fractions(0, 1, max_denominator=6)


@st.composite
def generators(draw: Any) -> Any:
    """φ by name, or a random convex polygon."""
    if draw(st.booleans()):
        return GENERATORS[draw(st.sampled_from(sorted(GENERATORS)))]
    slopes = sorted(draw(st.lists(st.fractions(-3, 3, max_denominator=3), min_size=1, max_size=4)))
    corners = [(Fraction(0), draw(st.fractions(-2, 2, max_denominator=2)))]
    for slope in slopes:
        width = draw(st.fractions("1/4", 2, max_denominator=4))
        corners.append((corners[-1][0] + width, corners[-1][1] + slope * width))
    return polygon(corners)


@st.composite
def branches(draw: Any, secrets: tuple[Any, ...]) -> Branch:
    """F of either form, under a random prior."""
    prior = draw(priors(secrets))
    if draw(st.booleans()):
        return largest_gain(prior, draw(losses(secrets)))
    return divergence(draw(generators()), prior)


@st.composite
def branches_and_channels(draw: Any, outputs: int | None = None) -> tuple[Branch, sf.Channel]:
    channel = draw(channels(outputs=outputs))
    return draw(branches(channel.secrets)), channel


def close(one: Any, other: Any) -> bool:
    return bool(abs(one - other) <= (ROUNDING if isinstance(one, float) or isinstance(other, float) else 0))


def least(one: Any, other: Any) -> bool:
    """one ≤ other."""
    return bool(one <= other) or close(one, other)


def merged(channel: sf.Channel) -> sf.Channel:
    """The first two outputs become one."""
    return sf.cascade(channel, sf.Channel.deterministic(channel.outputs, lambda y: max(y, 1)))


# ----------------------------------------------------------------- data processing, measure by measure


@pytest.mark.parametrize("name", PROVED)
def test_data_processing(name: str) -> None:
    measure = PROVED[name]

    @settings(max_examples=40)
    @given(st.data())
    def law(data: st.DataObject) -> None:
        channel = data.draw(channels())
        after = sf.cascade(channel, data.draw(channels(channel.outputs)))
        assert least(measure(after), measure(channel))

    law()
    assert respects_sufficiency(measure)


@settings(max_examples=60)
@given(channels(), st.data())
def test_example_3_2_3_dobrushin_is_the_contraction(channel: sf.Channel, data: st.DataObject) -> None:
    """1 + μ_Dob is the most by which the L1 distance of two priors can shrink least, and two secrets attain it."""
    x, y = (np.array(data.draw(distributions(len(channel.secrets)))) for _ in range(2))
    most = 1 + dobrushin(channel)
    assert abs(x @ channel.matrix - y @ channel.matrix).sum() <= most * abs(x - y).sum()
    rows = channel.matrix
    gaps = [abs(a - b).sum() for k, a in enumerate(rows) for b in rows[:k]]
    if gaps:
        assert max(gaps) == 2 * most  # the L1 distance of two certainties is 2


@settings(max_examples=40)
@given(st.data())
def test_data_processing_of_the_determinant(data: st.DataObject) -> None:
    """As many outputs as secrets, or fewer."""
    channel = data.draw(channels())
    square = data.draw(channels(channel.secrets, outputs=len(channel.secrets)))
    fewer = data.draw(st.integers(1, len(square.outputs)))
    assert determinant(sf.cascade(square, data.draw(channels(square.outputs, outputs=fewer)))) <= determinant(square)


@settings(max_examples=40)
@given(st.data())
def test_data_processing_of_a_consumer_who_remaps(data: st.DataObject) -> None:
    channel = data.draw(channels())
    measure = bayes_utility(data.draw(priors(channel.secrets)), data.draw(losses(channel.secrets)))
    assert measure(sf.cascade(channel, data.draw(channels(channel.outputs)))) <= measure(channel)


@settings(max_examples=40)
@given(st.data())
def test_data_processing_of_divergences(data: st.DataObject) -> None:
    channel = data.draw(channels())
    measure = divergence_utility(data.draw(priors(channel.secrets)), data.draw(generators()))
    assert least(measure(sf.cascade(channel, data.draw(channels(channel.outputs)))), measure(channel))


@settings(max_examples=40)
@given(st.data())
def test_every_measure_follows_the_sufficiency_order(data: st.DataObject) -> None:
    """Channels that simulate each other have the same utility, whatever the measure."""
    channel = data.draw(channels())
    share = data.draw(SHARES)
    others = channel.outputs[1:]
    halves = [[share, 1 - share] + [0] * len(others)]
    rest = [[0, 0] + [int(k == j) for j in range(len(others))] for k in range(len(others))]
    split = sf.cascade(channel, sf.Channel(channel.outputs, halves + rest))
    assert sf.refines(split, channel) and sf.refines(channel, split)
    shuffled = sf.remap(channel, dict(zip(channel.outputs, data.draw(st.permutations(channel.outputs)), strict=True)))
    for measure in PROVED.values():
        assert close(measure(split), measure(channel))
        assert close(measure(shuffled), measure(channel))


# ----------------------------------------------------------------- Theorem 3.2.8, from branching measures to the axioms


@settings(max_examples=40)
@given(branches_and_channels(), st.data())
def test_theorem_3_2_8_branching_measures_respect_sufficiency(
    pair: tuple[Branch, sf.Channel], data: st.DataObject
) -> None:
    branch, channel = pair
    measure = branching_measure("branching", branch)
    assert respects_sufficiency(measure)
    assert least(measure(sf.cascade(channel, data.draw(channels(channel.outputs)))), measure(channel))


@settings(max_examples=40)
@given(branches_and_channels(), st.data())
def test_theorem_3_2_8_branching_measures_are_continuous(pair: tuple[Branch, sf.Channel], data: st.DataObject) -> None:
    """Towards any other channel, the measure changes less and less."""
    branch, channel = pair
    other = data.draw(channels(channel.secrets, outputs=len(channel.outputs)))
    value = float(branching(channel, branch))
    for share in (Fraction(1, 10**6), Fraction(1, 10**9)):
        near = sf.Channel(channel.secrets, (1 - share) * channel.matrix + share * other.matrix)
        assert abs(float(branching(near, branch)) - value) <= 1e4 * float(share)


@settings(max_examples=40)
@given(st.data())
def test_theorem_3_2_8_merging_costs_what_depends_on_the_merged_outputs_only(data: st.DataObject) -> None:
    """Two channels that share two columns lose the same when these are merged (Axiom 3.2.6)."""
    channel = data.draw(channels(outputs=4))
    branch = data.draw(branches(channel.secrets))
    share = data.draw(SHARES)
    # the other two columns are mixed, so that rows keep their sums
    mixed = channel.matrix.copy()
    mixed[:, 2], mixed[:, 3] = channel.matrix[:, 2] * share, channel.matrix[:, 3] + channel.matrix[:, 2] * (1 - share)
    other = sf.Channel(channel.secrets, mixed)
    costs = [branching(c, branch) - branching(merged(c), branch) for c in (channel, other)]
    v, w = channel.matrix[:, 0], channel.matrix[:, 1]
    assert close(costs[0], costs[1])
    assert close(costs[0], branch(v) + branch(w) - branch(v + w))


@settings(max_examples=40)
@given(st.data())
def test_theorem_2_3_1_of_the_source_costs_of_merging_add_up_to_a_sum(data: st.DataObject) -> None:
    """In whatever order outputs are merged into one, the costs G add up to Σ F(column) − F(all): the same each time."""
    channel = data.draw(channels(outputs=4))
    branch = data.draw(branches(channel.secrets))
    columns = list(channel.matrix.T)
    sums = []
    for _ in range(2):
        left, cost = [columns[k] for k in data.draw(st.permutations(range(len(columns))))], Fraction(0)
        while len(left) > 1:
            v, w = left.pop(), left.pop()
            cost = cost + branch(v) + branch(w) - branch(v + w)
            left.insert(data.draw(st.integers(0, len(left))), v + w)
        sums.append(cost)
    assert close(sums[0], sums[1])
    assert close(sums[0], branching(channel, branch) - branch(sum(columns)))


# ----------------------------------------------------------------- and from the axioms to branching measures


@settings(max_examples=40)
@given(channels(), st.data())
def test_theorem_3_2_8_post_processing_splits_and_merges(channel: sf.Channel, data: st.DataObject) -> None:
    """The proof takes C·A apart: every output y is split into parts A_yz of it, then parts with one z are merged."""
    processing = data.draw(channels(channel.outputs))
    parts = [(y, z) for y in range(len(channel.outputs)) for z in range(len(processing.outputs))]
    columns = [channel.matrix[:, y] * processing.matrix[y, z] for y, z in parts]
    split = sf.Channel(channel.secrets, np.stack(columns, axis=1), parts)
    found = sf.remap(split, lambda part: part[1])
    after = sf.cascade(channel, processing)
    assert (found.matrix == after.matrix[:, list(found.outputs)]).all()


@st.composite
def crooked(draw: Any) -> tuple[Any, tuple[Any, ...]]:
    """F = Σ_k ± |linear function| + c |v|² over three secrets: convex and homogeneous, or not."""
    rows = draw(st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1, max_size=4))
    signs = draw(st.lists(st.sampled_from([-1, 1]), min_size=len(rows), max_size=len(rows)))
    square = draw(st.sampled_from([0, 0, 0, -1, 1]))

    def function(column: Any) -> Any:
        linear = [sum(a * v for a, v in zip(row, column, strict=True)) for row in rows]
        return sum(s * abs(value) for s, value in zip(signs, linear, strict=True)) + square * sum(v * v for v in column)

    return function, tuple(rows)


@settings(max_examples=40)
@given(crooked(), channels(range(3), outputs=3), SHARES)
def test_theorem_3_2_8_sufficiency_forces_convexity_and_homogeneity(
    given_function: tuple[Any, Any], channel: sf.Channel, share: Fraction
) -> None:
    """If merging or splitting never raises Σ F here, then F(v + w) ≤ F(v) + F(w) and F(v) = F(pv) + F((1 − p)v) here;
    and the other way round: a pair of columns that breaks one of them is a channel whose utility is raised."""
    function, _ = given_function
    v, w = channel.matrix[:, 0], channel.matrix[:, 1]
    raised = branching(merged(channel), function) > branching(channel, function)
    assert raised == (function(v + w) > function(v) + function(w))
    halves = sf.Channel(channel.outputs, [[share, 1 - share, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]])
    split = sf.cascade(channel, halves)
    parts = function(share * v) + function((1 - share) * v)
    assert (branching(split, function) == branching(channel, function)) == (parts == function(v))


@settings(max_examples=40)
@given(st.data())
def test_theorem_3_2_8_what_is_sublinear_is_convex_and_homogeneous(data: st.DataObject) -> None:
    """F(pv) = pF(v) and F(pv + (1 − p)w) ≤ pF(v) + (1 − p)F(w), for both forms."""
    secrets = tuple(range(data.draw(st.integers(1, 4))))
    branch = data.draw(branches(secrets))
    v, w = (np.array(data.draw(distributions(len(secrets)))) for _ in range(2))
    share = data.draw(SHARES)
    assert close(branch(share * v), share * branch(v))
    assert least(branch(share * v + (1 - share) * w), share * branch(v) + (1 - share) * branch(w))


# ----------------------------------------------------------------- no axiom follows from the other two


def test_without_branching() -> None:
    """Dobrushin's coefficient respects sufficiency and is continuous; what merging costs depends on other outputs."""
    half = Fraction(1, 2)
    shared: list[list[Any]] = [[half, 0], [0, half], [0, 0]]  # the two outputs that are merged
    one: list[list[Any]] = [[half, 0], [half, 0], [1, 0]]
    other: list[list[Any]] = [[half, 0], [0, half], [half, half]]
    costs = []
    for beside in (one, other):
        channel = sf.Channel(range(3), [left + right for left, right in zip(shared, beside, strict=True)])
        costs.append(dobrushin(channel) - dobrushin(merged(channel)))
    assert costs == [0, half]


def test_without_sufficiency() -> None:
    """Σ_y Σ_x v_x² is continuous and branching, and splitting an output lowers it."""
    verdict = respects_sufficiency(lambda channel: branching(channel, lambda column: sum(v * v for v in column)))
    assert not verdict


@settings(max_examples=40)
@given(channels(), st.data())
def test_without_continuity(channel: sf.Channel, data: st.DataObject) -> None:
    """What outputs tell that rule the first secret out: F is sublinear, and jumps where its entry becomes 0."""
    assume(len(channel.secrets) > 1)

    def function(column: Any) -> Any:
        return sum(column[1:]) if column[0] == 0 else Fraction(0)

    measure = UtilityMeasure("ruled out", lambda c: branching(c, function))
    assert measure(sf.cascade(channel, data.draw(channels(channel.outputs)))) <= measure(channel)
    identity = sf.Channel.identity(range(2))
    tiny = Fraction(1, 10**9)
    near = sf.Channel(range(2), [[1 - tiny, tiny], [0, 1]])
    assert measure(identity) == 1 and measure(near) == 0
