"""What predicates made of lines promise about events."""

from __future__ import annotations

from fractions import Fraction
from itertools import chain, combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import predicates
from sfumato.errors import InvalidInput, NotSupported
from sfumato.privacy.events import EventPromise, event_promises
from strategies import channels


def kept(channel: sf.Channel, promise: EventPromise) -> bool:
    """Whether M(upper)(E) ≤ factor · M(lower)(E) + delta for every event, by trying all of them."""
    outputs = range(channel.shape[1])
    events = list(chain.from_iterable(combinations(outputs, size) for size in range(len(outputs) + 1)))
    assert promise.factor.rational is not None
    return all(
        sum(channel.matrix[x, list(event)])
        <= promise.factor.rational * sum(channel.matrix[z, list(event)]) + promise.delta
        for x, z in zip(promise.upper, promise.lower, strict=True)
        for event in events
    )


@given(channels(), st.sampled_from(["1/2", "2/3"]), st.sampled_from(["0", "1/10", "1/3"]))
def test_keeping_the_promises_is_keeping_the_predicate(channel: sf.Channel, alpha: str, delta: str) -> None:
    predicate = predicates.epsilon_delta(delta=delta, alpha=alpha)
    promises = event_promises(channel.secrets, predicate)
    assert all(kept(channel, promise) for promise in promises) == bool(sf.satisfies(channel, predicate))


def test_flat_lines_speak_of_the_exchanged_secrets() -> None:
    (one_way,) = event_promises((0, 1), predicates.exponential(alpha="1/2"), [(0, 1)])
    (other_way,) = event_promises((0, 1), predicates.exponential(alpha="1/2", tail="left"), [(0, 1)])
    assert (one_way.upper.tolist(), one_way.lower.tolist()) == ([1], [0])
    assert (other_way.upper.tolist(), other_way.lower.tolist()) == ([0], [1])
    assert one_way.factor == other_way.factor and one_way.factor.rational == 2


def test_promises_that_say_nothing_are_left_out() -> None:
    predicate = predicates.from_profile([("2", "1/10"), ("3", "1")])
    promises = event_promises((0, 1), predicate)
    assert [(promise.factor.rational, promise.delta) for promise in promises] == [(2, Fraction(1, 10))]


def test_curves_without_lines_and_secrets_that_are_one_are_refused() -> None:
    with pytest.raises(NotSupported, match="polygon"):
        event_promises((0, 1), predicates.gaussian(1))
    with pytest.raises(InvalidInput, match="one secret"):
        event_promises((0, 1), predicates.pure(epsilon=0))
