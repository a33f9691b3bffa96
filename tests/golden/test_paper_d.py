"""Numbers of paper D (Kifer and Lin 2012)."""

from __future__ import annotations

from fractions import Fraction
from math import e, erfc, sqrt
from typing import Any

import pytest

from sfumato.papers.paper_d import ITEMS


def cells(value: Any) -> list[dict[str, Any]]:
    return [v for row in value.rows for v in row.values() if isinstance(v, dict)]


@pytest.mark.parametrize("key", ITEMS)
def test_every_item(key: str) -> None:
    item = ITEMS[key]()
    assert item.key == key and item.rows and item.notes
    assert all(cell["agree"] is True for cell in cells(item) if cell["printed"] != "—")
    if key in ("D.fig2", "D.fig3", "D.fig9", "D.fig10"):
        assert item.figure is not None and item.figure().data
    elif key.startswith("D.fig") and key != "D.fig8":
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


def test_tails() -> None:
    """Figures 2 and 3: p is the area of the tail, and the area after the move is the curve of Figure 4."""
    for row in ITEMS["D.fig2"]().rows:
        assert row["G(G⁻¹(p))"] == pytest.approx(row["p"]) and erfc(row["G⁻¹(p)"] / sqrt(2)) / 2 == pytest.approx(
            row["p"]
        )
    for row in ITEMS["D.fig3"]().rows:
        assert row["G(G⁻¹(p) − t)"] == pytest.approx(row["M(p)"])
        assert erfc(row["G⁻¹(p) − t"] / sqrt(2)) / 2 == pytest.approx(row["M(p)"])
        assert row["M(p)"] > row["p"] > row["the left tail"]
        assert row["M(p)"] > row["an interval in the middle"] > row["the left tail"]


def test_matrices_and_row_graphs() -> None:
    """Figure 9: columns sum to 1; Figure 10: the three equations that are printed for o1, and connected graphs."""
    *rows, sums = ITEMS["D.fig9"]().rows
    assert [row["i1"] for row in rows] == ["2/3", "1/6", "1/6"] and set(sums.values()) == {"sum", "1"}
    assert "equal" in ITEMS["D.fig9"]().notes[1] and "not equal" not in ITEMS["D.fig9"]().notes[1]
    first, *others = ITEMS["D.fig10"]().rows
    assert first["tight pairs"]["agree"] is True
    assert [first[f"P(o|{x})"] for x in ("i1", "i3", "i4", "i2")] == ["2/3", "1/3", "1/6", "1/12"]
    assert all(row["tight pairs"]["ours"].count("→") == 3 for row in others)
    assert "holds" in ITEMS["D.fig10"]().notes[1]


def test_printed_numbers() -> None:
    first, second = cells(ITEMS["D.example322"]())
    assert first["ours"] == pytest.approx(0.62514, abs=5e-6) and second["ours"] == pytest.approx(0.8)
    assert [cell["ours"] for cell in cells(ITEMS["D.fig8"]())] == [Fraction(1, 3), Fraction(1, 4)]
    assert "the same lines" in " ".join(ITEMS["D.fig7"]().notes)
    before, after = ITEMS["D.section22"]().rows
    assert before["kept"] and not after["kept"]
    assert before["least δ of (ln 2, δ)"] == after["least δ of (ln 2, δ)"] == "1/100"
