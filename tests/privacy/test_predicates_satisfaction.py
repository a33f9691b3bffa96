from __future__ import annotations

from fractions import Fraction
from time import process_time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.privacy import predicates as q
from sfumato.privacy.predicates_satisfaction import all_events, satisfies_predicate
from sfumato.verdict import Outcome
from strategies import channels, distributions

MIRONOV = sf.Channel([0, 1], [["89/100", "1/10", "1/100", 0], ["79/100", "1/5", 0, "1/100"]], list("ABCD"))
PREDICATES = [
    q.pure(alpha="1/2"),
    q.pure(epsilon="0.7"),
    q.epsilon_delta(alpha="1/2", delta="1/5"),
    q.epsilon_delta(epsilon="0.3", delta="1/5", one_sided=True),
    q.gaussian("1/2"),
    q.laplace(alpha="1/2"),
    q.gumbel(epsilon=1),
    q.from_points([(0, "1/20"), ("1/3", "3/5"), (1, 1)]),
    q.from_points([(0, "1/20"), ("1/3", "1/3"), ("1/2", 1), (1, 1)]),
]


def brute(channel: sf.Channel, predicate: q.Predicate, pairs: list[tuple[int, int]]) -> bool:
    return all(predicate(a, b) for x, z in pairs for _, a, b in all_events(channel, x, z))


@pytest.mark.parametrize("predicate", PREDICATES, ids=repr)
@given(channel=channels(secrets=range(2), outputs=5))
def test_against_all_events(predicate: q.Predicate, channel: sf.Channel) -> None:
    for pairs in ([(0, 1)], [(0, 1), (1, 0)]):
        verdict = satisfies_predicate(channel, predicate, pairs)
        assert bool(verdict) == brute(channel, predicate, pairs)
        if not verdict:
            found = verdict.witness
            x, z = (channel.secrets.index(s) for s in found.pair)
            columns = [channel.outputs.index(y) for y in found.event]
            assert (found.a, found.b) == (channel.matrix[x, columns].sum(), channel.matrix[z, columns].sum())
            assert not predicate(found.a, found.b)


@settings(max_examples=25)
@given(st.integers(0, 3), distributions(12), distributions(12))
def test_against_all_events_of_twelve_outputs(which: int, p: list[Fraction], r: list[Fraction]) -> None:
    even = Fraction(1, 12)
    rows = [[(even + v) / 2 for v in row] for row in (p, r)]
    channel = sf.Channel(range(2), rows)
    predicate = [PREDICATES[2], PREDICATES[4], PREDICATES[5], PREDICATES[7]][which]
    _, a, b = zip(*all_events(channel, 0, 1), strict=True)
    slack = predicate.upper(np.array(a, dtype=float)) - np.array(b, dtype=float)
    close = [predicate.allows(a[k], b[k]) for k in np.flatnonzero(np.abs(slack) < 1e-9)]
    truth = bool((slack > -1e-9).all()) and all(close)
    assert bool(satisfies_predicate(channel, predicate, [(0, 1)])) == truth


def test_the_example() -> None:
    assert satisfies_predicate(MIRONOV, q.epsilon_delta(alpha="1/2", delta="1/100"))
    verdict = satisfies_predicate(MIRONOV, q.epsilon_delta(alpha="1/2", delta="99/10000"))
    assert verdict.outcome is Outcome.FAILS
    assert verdict.witness.event in (("C",), ("D",)) and verdict.witness.b == Fraction(1, 100)
    assert satisfies_predicate(MIRONOV, q.trivial())


def test_agrees_with_privacy_types() -> None:
    space = sf.discrete(4)
    for alpha in ("1/2", "1/3", "2/5"):
        mechanism = sf.random_response(sf.PrivacyType(space, alpha="2/5"))
        expected = sf.satisfies(mechanism.channel, sf.PrivacyType(space, alpha=alpha))
        assert satisfies_predicate(mechanism.channel, q.pure(alpha=alpha), space).outcome is expected.outcome


def test_on_the_border() -> None:
    tight = sf.Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    assert satisfies_predicate(tight, q.pure(alpha="1/2"))
    above = q.pure(alpha=Fraction(1, 2) + Fraction(1, 10**40))
    assert satisfies_predicate(tight, above).outcome is Outcome.FAILS
    low, high = q.gaussian(1).bounds("1/2", 300)
    for b, outcome in ((low, Outcome.HOLDS), (high, Outcome.FAILS)):
        channel = sf.Channel([0, 1], [["1/2", "1/2"], [b, 1 - b]])
        assert satisfies_predicate(channel, q.gaussian(1), [(0, 1)]).outcome is outcome


def test_floats_on_the_border_are_undecided() -> None:
    table = np.array([[2 / 3, 1 / 3], [1 / 3, 2 / 3]])
    outcomes = {
        satisfies_predicate(
            sf.Channel([0, 1], np.nextafter(table, table + s * np.eye(2)[::d])), q.pure(alpha="1/2")
        ).outcome
        for s in (-1, 1)
        for d in (-1, 1)
    }
    assert Outcome.UNDECIDED in outcomes and Outcome.FAILS not in outcomes
    worse = table + 1e-9 * np.array([[1, -1], [-1, 1]])
    assert satisfies_predicate(sf.Channel([0, 1], worse), q.pure(alpha="1/2")).outcome is Outcome.FAILS
    better = table - 1e-9 * np.array([[1, -1], [-1, 1]])
    assert satisfies_predicate(sf.Channel([0, 1], better), q.pure(alpha="1/2")).outcome is Outcome.HOLDS


def test_what_cannot_be_proved() -> None:
    numeric = q.from_density(abs, 1)
    channel = sf.Channel([0, 1], [["1/2", "1/2"], ["2/5", "3/5"]])
    assert satisfies_predicate(channel, numeric).outcome is Outcome.UNDECIDED
    assert satisfies_predicate(sf.Channel.identity([0, 1]), numeric).outcome is Outcome.FAILS
    box = q.from_function(lambda a, b: b <= 2 * a + Fraction(1, 5))
    wide = sf.Channel([0, 1], [[Fraction(1, 20)] * 20, [Fraction(k, 210) for k in range(1, 21)]])
    assert satisfies_predicate(wide, box).outcome is Outcome.UNDECIDED
    strict = q.from_function(lambda a, b: b <= 2 * a - a * a / 1000 or a == 1)
    assert satisfies_predicate(wide, q.from_function(lambda a, b: a == b)).outcome is Outcome.FAILS
    assert satisfies_predicate(channel, box).outcome is Outcome.HOLDS
    assert satisfies_predicate(sf.Channel.identity([0, 1]), strict).outcome is Outcome.FAILS


def test_no_neighbours() -> None:
    assert satisfies_predicate(sf.Channel.identity([0]), q.pure(alpha="1/2"))
    with pytest.raises(InvalidInput, match="Predicate"):
        satisfies_predicate(MIRONOV, 1)  # type: ignore[arg-type]


@pytest.mark.parametrize("predicate", [q.epsilon_delta(epsilon="0.3", delta="1/8"), q.gaussian("1/2")], ids=repr)
def test_a_thousand_outputs(predicate: q.Predicate) -> None:
    rng = np.random.default_rng(0)
    weights = rng.integers(50, 101, (2, 1000))
    channel = sf.Channel([0, 1], [[Fraction(int(v), int(row.sum())) for v in row] for row in weights])
    assert satisfies_predicate(channel, predicate)
    start = process_time()
    satisfies_predicate(channel, predicate)
    assert process_time() - start < 1  # 2^1000 events; measured in milliseconds, on a busy machine not much more


def test_many_pairs() -> None:
    space = sf.line(40)
    mechanism = sf.geometric(sf.PrivacyType(space, alpha="1/2"))
    assert satisfies_predicate(mechanism.channel, q.pure(alpha="1/2"), space)
    assert satisfies_predicate(mechanism.channel, q.laplace(alpha="1/2"), space).outcome is Outcome.FAILS
    assert not satisfies_predicate(mechanism.channel, q.pure(alpha="1/2"))
