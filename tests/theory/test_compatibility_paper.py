"""Theorem 3.4 of paper E as a table."""

from __future__ import annotations

from math import log

import pytest

from sfumato.papers.paper_e import ITEMS


def test_theorem_3_4() -> None:
    table = ITEMS["E.theorem34"]()
    assert table.key == "E.theorem34"
    assert len(table.notes) == 4
    verdicts = {row["family"]: row["compatible"] for row in table.rows}
    assert [cell["agree"] for cell in verdicts.values() if cell["printed"] != "—"] == [True, True]
    assert {name for name, cell in verdicts.items() if cell["ours"] == "fails"} == {
        "countable discrete space", "real line, distances capped at 1", "unit ball of ℓ∞", "thresholds over [0, 1]",
        "range queries over [0, 1]",
    }  # fmt: skip
    spread = next(row for row in table.rows if row["family"] == "unit ball of ℓ∞")
    for n in (5, 9, 17):
        assert float(spread[f"ε* of {n} of its points"]) == pytest.approx(log(9 * (n - 1)), rel=2e-3)


def test_example_3_3() -> None:
    even, normal = ITEMS["E.example33"]().rows
    assert even["uniformly positive"]["agree"] is True and normal["uniformly positive"]["agree"] is True
    assert [even[f"least mass, r = 1/{2**i}"] for i in range(1, 5)] == [0.5, 0.25, 0.125, 0.0625]
    assert float(normal["least mass, r = 1/2"].split()[0]) < 1e-6
