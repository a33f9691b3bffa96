from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sfumato.report.html import (
    COLOURS,
    above,
    below,
    escaped,
    how_many,
    html_page,
    in_percent,
    label,
    near,
    share,
    table,
)


def number(text: str) -> Fraction:
    """What a text that people read stands for."""
    factor, _, power = text.replace(",", "").replace("−", "-").partition(" × 10")
    if factor.startswith("10") and any(c in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹" for c in factor):
        factor, power = "1", factor[2:]
    exponent = int(power.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))) if power else 0
    return Fraction(factor) * Fraction(10) ** exponent


@given(st.floats(1e-30, 1e30), st.integers(1, 8))
def test_rounding_goes_to_the_side_that_is_said(value: float, digits: int) -> None:
    assert number(below(value, digits)) <= Fraction(value) <= number(above(value, digits))
    assert abs(number(near(value, digits)) - Fraction(value)) <= Fraction(value) * Fraction(6, 10**digits)


@given(st.fractions(Fraction(1, 10**6), 10**6), st.integers(2, 6))
def test_fractions_are_rounded_exactly(value: Fraction, digits: int) -> None:
    assert number(below(value, digits)) <= value <= number(above(value, digits))


def test_numbers_as_people_write_them() -> None:
    assert (near(0), near(-2.5), near(float("inf")), near(1e-20)) == ("0", "−2.5", "∞", "10⁻²⁰")
    assert (near(123456.0), above(99999.5, 3), near(2.5e40, 2)) == ("123,456", "100,000", "2.5 × 10⁴⁰")
    assert in_percent(Fraction(1, 8)).replace("\xa0", " ") == "12.5 %"
    assert (share(0.5), share(1e-12), share(0.0)) == ("50\xa0%", "<\xa00.01\xa0%", "0\xa0%")
    assert (how_many(1, "pair"), how_many(12_000, "pair"), how_many(2, "vertex", "vertices")) == (
        "1 pair", "12,000 pairs", "2 vertices",
    )  # fmt: skip


@pytest.mark.parametrize("text", ["<script>alert(1)</script>", "\"'&<>", "a\x00b\x1b[31m", "‮rev", "\ud800"])
def test_nothing_is_left_for_a_browser(text: str) -> None:
    shown = escaped(text)
    assert not set("<>\"'") & set(shown)
    assert shown.encode()  # no lone surrogate either
    assert all(c.isprintable() for c in shown)


def test_labels_are_short_and_readable() -> None:
    assert label((1, (2, "x"))) == "(1, (2, x))"
    assert label("a" * 100, 10) == "a" * 9 + "…"
    assert label(True) == "True"


def _luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("name", ["ink", "soft", "blue", "orange"])
@pytest.mark.parametrize("behind", ["paper", "card"])
def test_text_stands_out(name: str, behind: str, dark: bool) -> None:
    one, other = sorted(_luminance(COLOURS[part][dark]) for part in (name, behind))
    assert (other + 0.05) / (one + 0.05) >= 4.5


def test_tables_have_heads_and_pages_a_policy() -> None:
    made = table("Losses", ("mechanism", "loss"), [("best", "1"), ("other", "2")])
    assert made.count("scope=col") == 2
    assert made.count("scope=row") == 2
    assert "<caption>Losses</caption>" in made
    text = html_page("<b>", "", ["<p>one</p>"], [("a", "A")], "end").decode()
    assert "default-src 'none'" in text
    assert "<title>&lt;b&gt;</title>" in text
    assert "http:" not in text and "https:" not in text


def test_on_paper_tables_break_between_rows_and_headings_stay_with_what_follows() -> None:
    """A table that must not be broken moves to the next sheet as a whole, and leaves half a sheet empty."""
    printed = html_page("t", "", [], [], "").decode().rpartition("@media print{")[2]
    rules = dict(re.findall(r"^(.*)\{(break-[^}]*)\}$", printed, re.MULTILINE))
    whole = next(names for names, rule in rules.items() if rule == "break-inside:avoid").split(",")
    assert {"tr", "figure", "p"} <= set(whole) and not {"table", "tbody", ".scroll", "section", ".figures"} & set(whole)
    together = " ".join(names for names, rule in rules.items() if rule == "break-after:avoid")
    assert all(name in together for name in ("h2", "caption", "thead", "p:has(+.figures)", "tr:nth-child(-n+2)"))
