"""Numbers of paper D (Kifer and Lin 2012)."""

from __future__ import annotations

from fractions import Fraction
from math import e
from typing import Any

import pytest

from sfumato.papers.paper_d import ITEMS


def cells(value: Any) -> list[dict[str, Any]]:
    return [v for row in value.rows for v in row.values() if isinstance(v, dict)]


@pytest.mark.parametrize("key", ITEMS)
def test_every_item(key: str) -> None:
    item = ITEMS[key]()
    assert item.key == key and item.rows and item.notes
    assert all(cell["agree"] is True for cell in cells(item))
    if key.startswith("D.fig") and key != "D.fig8":
        assert item.figure is not None
        figure = item.figure()
        assert [trace.name for trace in figure.data[:2]] == ["m(a)", "M(a)"]
        assert any("conditions (1)–(6)" in note for note in item.notes)
        assert all(row["m(a)"] <= row["a"] <= row["M(a)"] for row in item.rows)


def at(key: str, a: float) -> tuple[float, float]:
    (row,) = [row for row in ITEMS[key]().rows if row["a"] == a]
    return row["M(a)"], row["m(a)"]


def test_values_of_the_curves() -> None:
    assert at("D.fig1", 0.25) == pytest.approx((1 - (0.75 - 0.1) / e, (0.25 - 0.1) / e))
    assert at("D.fig1", 0.05) == pytest.approx((0.05 * e + 0.1, 0))
    assert at("D.fig4", 0.5) == pytest.approx((0.841344746, 0.158655254))
    assert at("D.fig5", 0.25) == pytest.approx((1 - 1 / e, 0.25 / e))
    assert at("D.fig6", 0.25) == pytest.approx((e / 4, 0))
    assert at("D.fig7", 0.75) == pytest.approx((1 - 0.25 / e, 1 - e / 4))


def test_printed_numbers() -> None:
    first, second = cells(ITEMS["D.example322"]())
    assert first["ours"] == pytest.approx(0.62514, abs=5e-6) and second["ours"] == pytest.approx(0.8)
    assert [cell["ours"] for cell in cells(ITEMS["D.fig8"]())] == [Fraction(1, 3), Fraction(1, 4)]
    assert "the same lines" in " ".join(ITEMS["D.fig7"]().notes)
    before, after = ITEMS["D.section22"]().rows
    assert before["kept"] and not after["kept"]
    assert before["least δ of (ln 2, δ)"] == after["least δ of (ln 2, δ)"] == "1/100"
