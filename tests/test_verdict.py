from __future__ import annotations

import dataclasses

import pytest

from sfumato.errors import UndecidedError
from sfumato.verdict import Outcome, fails, holds, undecided


def test_truth_of_decided_verdicts() -> None:
    assert holds("yes")
    assert not fails("no")
    assert holds("yes").decided
    assert fails("no", witness=3).witness == 3


def test_an_undecided_verdict_has_no_truth_value() -> None:
    verdict = undecided("too close")
    assert not verdict.decided
    assert verdict.outcome is Outcome.UNDECIDED
    with pytest.raises(UndecidedError, match="too close") as caught:
        bool(verdict)
    assert caught.value.verdict is verdict


def test_verdicts_are_frozen_and_print_their_reason() -> None:
    assert str(fails("a reason")) == "fails: a reason"
    with pytest.raises(dataclasses.FrozenInstanceError):
        holds("yes").reason = "no"  # type: ignore[misc]
