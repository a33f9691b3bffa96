"""Promises in words."""

from __future__ import annotations

import sfumato as sf
from sfumato.specs.words import promised


def test_a_promise_about_nothing_is_no_epsilon() -> None:
    nothing = promised(sf.PrivacyType(sf.graph([], labels=[0, 1, 2]), epsilon=1))
    assert nothing == "nothing is promised: no two secrets have a finite distance"
    some = promised(sf.PrivacyType(sf.graph([(0, 1)], labels=[0, 1, 2]), epsilon=1))
    assert some.startswith("epsilon = 1: at distance 1, no output is more than 2.719 times")
    assert some.endswith("nothing is promised about 2 pairs of secrets, which no path joins")
    assert "nothing" not in promised(sf.PrivacyType(sf.line(3), epsilon=1))
