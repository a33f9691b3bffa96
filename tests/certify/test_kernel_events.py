"""Promises about events in certificates: accepted where they hold, refused where they are forged."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato import errors, predicates
from sfumato.certify import kernel
from sfumato.certify.certificate import Certificate, certificate_of
from sfumato.privacy.events import EventPromise, event_promises
from sfumato.privacy.predicates_curves import Growth
from sfumato.spaces import graph

APART = sf.PrivacyType(graph([], labels=["a", "b"]), alpha="1/2")


@settings(max_examples=60)
@given(
    rows=st.lists(st.lists(st.integers(0, 9), min_size=4, max_size=4).filter(any), min_size=2, max_size=2),
    factor=st.sampled_from([Fraction(1), Fraction(3, 2), Fraction(4)]),
    delta=st.integers(0, 10).map(lambda k: Fraction(k, 10)),
)
def test_the_kernel_says_what_all_events_say(rows: list[list[int]], factor: Fraction, delta: Fraction) -> None:
    sums = [sum(row) for row in rows]
    weights = np.array([[w * sums[1 - x] for w in row] for x, row in enumerate(rows)])
    total = sums[0] * sums[1]
    worst = max(
        sum(int(weights[x, y]) - factor * int(weights[1 - x, y]) for y in range(4) if event >> y & 1)
        for x in (0, 1)
        for event in range(16)
    )
    promise = EventPromise(np.array([0, 1]), np.array([1, 0]), Growth(factor), delta)
    if worst <= delta * total:
        proved = sf.prove(weights, APART, events=(promise,))
        assert proved.proof.events == 2 and "all events of 2 ordered pairs" in str(proved.proof)
    else:
        with pytest.raises(errors.InvalidChannel, match="an event exceeds"):
            sf.prove(weights, APART, events=(promise,))


@pytest.fixture(scope="module")
def made() -> sf.Design:
    space = sf.line(3)
    asked = predicates.epsilon_delta(alpha="1/2", delta="1/10")
    return sf.design(sf.Prior.uniform(space), sf.losses.absolute(space), None, under=(asked, space))


def with_header(written: Certificate, **changes: Any) -> Certificate:
    return replace(written, header={**written.header, **changes})


def test_claims_about_other_promises_are_refuted(made: sf.Design) -> None:
    written = made.certificate
    assert sf.verify(written)
    (event,) = written.header["events"]
    tighter = with_header(written, events=[{**event, "delta": "1/11"}])
    assert "an event exceeds" in sf.verify(tighter).reason
    # a weaker promise is kept, but the bound was not proved for it
    weaker = with_header(written, events=[{**event, "delta": "1/9"}])
    assert "less than the claimed" in sf.verify(weaker).reason
    better = with_header(written, claims={**written.header["claims"], "bound": str(made.bound + Fraction(1, 10**9))})
    assert "less than the claimed" in sf.verify(better).reason


def test_the_same_number_twice_counts_twice_in_what_it_costs(made: sf.Design) -> None:
    claim = made.mechanism.claim
    assert claim is not None and claim.dual is not None
    dual = claim.dual
    halves = replace(
        dual, unit=dual.unit / 2, values=dual.values * 2,
        event_pair=np.tile(dual.event_pair, 2), event_action=np.tile(dual.event_action, 2),
        event_values=np.tile(dual.event_values, 2),
    )  # fmt: skip
    again = replace(made.mechanism, claim=replace(claim, dual=halves))
    verdict = sf.verify(certificate_of(again))
    assert verdict and verdict.witness.bound == made.bound


@pytest.mark.parametrize(
    "event",
    [
        {"factor": "2"},
        {"factor": "2", "epsilon": "1", "delta": "1/10"},
        {"factor": "0", "delta": "1/10"},
        {"factor": "2", "delta": "-1/10"},
        {"factor": "2", "delta": "11/10"},
        {"epsilon": "0", "delta": "1/10"},
        {"factor": "2", "delta": "1/10", "pairs": 0},
        {"factor": "2", "delta": "1/10", "pairs": -1},
        {"factor": "2", "delta": "1/10", "pairs": "4"},
        {"factor": 2, "delta": "1/10"},
    ],
)
def test_malformed_promises_are_unreadable(made: sf.Design, event: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidInput, match="cannot be certified"):
        with_header(made.certificate, events=[{"pairs": 4, **event}]).interpreted()


@pytest.mark.parametrize(
    ("name", "values"),
    [("event_upper", [0, 0, 0, 0]), ("event_lower", [9, 9, 9, 9]), ("event_dual_pair", None),
     ("event_dual_action", None)],
)  # fmt: skip
def test_indices_beyond_the_secrets_are_unreadable(made: sf.Design, name: str, values: list[int] | None) -> None:
    written = made.certificate
    section = written.sections[name]
    if values is None:
        values = [2**31] * (len(section.data) // 4)
    sections = {**written.sections, name: replace(section, data=np.array(values, dtype="<u4").tobytes())}
    with pytest.raises(errors.InvalidFile):
        sf.verify(replace(written, sections=sections))


def test_sections_that_the_header_does_not_call_for_are_unreadable(made: sf.Design, tmp_path: Any) -> None:
    from sfumato.certify.file import to_bytes

    silent = with_header(made.certificate, events=[], promise=made.certificate.header["promise"] | {"kind": "rows"})
    with pytest.raises(kernel.Unreadable, match="not those that the header calls for"):
        kernel.parse(to_bytes(silent))


def test_one_promise_for_each_line_and_direction() -> None:
    pairs = [("a", "b")]
    both = event_promises(("a", "b", "c"), predicates.epsilon_delta(alpha="1/3", delta="1/10"), pairs)
    assert [(p.upper.tolist(), p.lower.tolist()) for p in both] == [([0, 1], [1, 0])]
    one = event_promises(("a", "b", "c"), predicates.epsilon_delta(alpha="1/3", one_sided=True), pairs)
    assert [(p.upper.tolist(), p.lower.tolist(), p.factor) for p in one] == [([1], [0], Growth(Fraction(3)))]
    everything = event_promises(("a", "b", "c"), predicates.pure(epsilon=1))
    assert [len(p) for p in everything] == [6]
