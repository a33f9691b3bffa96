"""Is some matrix that rounds to the numbers of a file private? Compared with a program over all pairs, in rationals."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.lp import LinearProgram, Status, solve
from sfumato.numbers import Array, array, object_array
from sfumato.report import audit_rounding
from sfumato.report.audit_rounding import Margins, private_within


def around(rows: Any, unit: Any) -> Margins:
    written = array(rows, "a matrix", 2)
    return Margins.around(written, written * 0 + Fraction(unit) / 2)


def channel(box: Margins, privacy: sf.PrivacyType) -> sf.Channel:
    return sf.Channel(privacy.space, box.written / box.written.sum(axis=1)[:, None])


def exists(box: Margins, privacy: sf.PrivacyType) -> bool:
    """Every pair, every entry, no search: one exact program."""
    n, m = box.low.shape
    place = np.arange(n * m).reshape(n, m)
    rows: list[Array] = []
    rhs: list[Fraction] = []
    senses = ""

    def add(terms: dict[int, Fraction], sense: str, side: Fraction) -> None:
        nonlocal senses
        row = np.full(n * m, Fraction(0), dtype=object)
        for i, value in terms.items():
            row[i] = value
        rows.append(row)
        rhs.append(side)
        senses += sense

    for x in range(n):
        add({int(i): Fraction(1) for i in place[x]}, "=", Fraction(1))
        for y in range(m):
            add({int(place[x, y]): Fraction(1)}, "<", box.high[x, y])
            add({int(place[x, y]): Fraction(1)}, ">", box.low[x, y])
            for z in set(range(n)) - {x}:
                factor = privacy.factor(privacy.secrets[x], privacy.secrets[z])[0]
                add({int(place[x, y]): Fraction(1), int(place[z, y]): -factor}, "<", Fraction(0))
    program = LinearProgram.dense(object_array([Fraction(0)] * (n * m)), np.stack(rows), senses, object_array(rhs))
    return solve(program).status is Status.OPTIMAL


def is_witness(verdict: sf.Verdict, box: Margins, privacy: sf.PrivacyType) -> None:
    made = verdict.witness.channel
    assert sf.satisfies(made, privacy)
    assert (box.low <= made.matrix).all() and (made.matrix <= box.high).all()
    assert verdict.witness.distance >= abs(made.matrix - box.written).max()


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_the_answer_is_that_of_an_exact_program(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(2, 3)), data.draw(st.integers(2, 3))
    space = data.draw(st.sampled_from([sf.line, sf.discrete]))(n)
    privacy = sf.PrivacyType(space, alpha=data.draw(st.sampled_from(["1/2", "2/3", "1/3"])))
    digits = data.draw(st.sampled_from([1, 2, 17]))
    weights = data.draw(st.lists(st.integers(1, 20), min_size=n * m, max_size=n * m))
    table = np.array(weights, dtype=float).reshape(n, m)
    near = sf.quantise(table / table.sum(axis=1, keepdims=True), privacy).mechanism.channel.matrix
    moves = data.draw(st.lists(st.integers(-1, 1), min_size=n * m, max_size=n * m))
    off = [Fraction(round(v * 10**digits) + k, 10**digits) for v, k in zip(near.ravel(), moves, strict=True)]
    box = around(np.maximum(object_array(off, (n, m)), Fraction(0)), Fraction(1, 10**digits))
    if not box.written.any(axis=1).all():
        return
    verdict = private_within(box, channel(box, privacy), privacy)
    assert bool(verdict) == exists(box, privacy)
    if verdict:
        is_witness(verdict, box, privacy)


@pytest.mark.parametrize("digits", [2, 3, 6, 17, 40])
def test_fractions_come_back_from_any_number_of_digits(digits: int) -> None:
    privacy = sf.PrivacyType(sf.line(4), alpha="1/2")
    exact = sf.geometric(privacy).channel.matrix
    written = object_array((Fraction(round(v * 10**digits), 10**digits) for v in exact.ravel()), exact.shape)
    box = around(written, Fraction(1, 10**digits))
    assert (private_within(box, channel(box, privacy), privacy).witness.channel.matrix == exact).all()


@pytest.mark.parametrize("digits", [3, 9, 17, 30])
def test_irrational_mechanisms_are_found_near_their_digits(digits: int) -> None:
    privacy = sf.PrivacyType(sf.line(5), epsilon="1/3")
    alpha = 1 / privacy.factor(0, 1, 200)[0]
    shares = [1 / (1 + alpha) if y in (0, 4) else (1 - alpha) / (1 + alpha) for y in range(5)]
    ideal = object_array((shares[y] * alpha ** abs(x - y) for x in range(5) for y in range(5)), (5, 5))
    written = object_array((Fraction(round(v * 10**digits), 10**digits) for v in ideal.ravel()), ideal.shape)
    box = around(written, Fraction(1, 10**digits))
    verdict = private_within(box, channel(box, privacy), privacy)
    is_witness(verdict, box, privacy)
    assert verdict.witness.distance <= Fraction(1, 10**digits) / 2
    stricter = sf.PrivacyType(sf.line(5), epsilon=Fraction(1, 3) - Fraction(20, 10**digits))
    assert private_within(box, channel(box, privacy), stricter).outcome == "fails"


def test_sums_of_rows_may_be_what_is_in_the_way() -> None:
    """Each column has room for a private one; the two rows together have not."""
    privacy = sf.PrivacyType(sf.line(2), alpha="1/2")
    box = around([["0.68", "0.33"], ["0.34", "0.66"]], "1/100")
    for y in range(2):
        assert (box.low[:, y] <= 2 * box.high[::-1, y]).all()
    verdict = private_within(box, channel(box, privacy), privacy)
    assert verdict.outcome == "fails" and not exists(box, privacy)


def test_rows_that_reach_one_at_a_corner_only() -> None:
    privacy = sf.PrivacyType(sf.line(2), alpha="1/2")
    box = around([["0.67", "0.34"], ["0.34", "0.67"]], "1/100")
    verdict = private_within(box, channel(box, privacy), privacy)
    large, small = Fraction("0.665"), Fraction("0.335")
    assert verdict.witness.channel.matrix.tolist() == [[large, small], [small, large]]


def test_zeros() -> None:
    privacy = sf.PrivacyType(sf.line(3), epsilon=1)
    small = around([["0.98", "0.02", "0.00"], ["0.97", "0.02", "0.01"], ["0.96", "0.02", "0.02"]], "1/100")
    verdict = private_within(small, channel(small, privacy), privacy)
    is_witness(verdict, small, privacy)
    low, high = small.low.copy(), small.high.copy()
    low[0, 2] = high[0, 2] = Fraction(0)  # an exact zero forces the others, which 0.02 cannot follow
    forced = Margins(small.written, low, high)
    assert private_within(forced, channel(small, privacy), privacy).outcome == "fails"


def test_what_is_too_large_is_undecided_or_repaired(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_rounding, "_LARGEST_PROGRAM", 3)
    privacy = sf.PrivacyType(sf.line(2), alpha="1/2")
    coarse = around([["0.67", "0.33"], ["0.33", "0.67"]], "1/100")
    is_witness(private_within(coarse, channel(coarse, privacy), privacy), coarse, privacy)
    corner = around([["0.67", "0.34"], ["0.34", "0.67"]], "1/100")
    verdict = private_within(corner, channel(corner, privacy), privacy)
    assert verdict.outcome == "undecided" and "too large" in verdict.reason
    wrong = around([["0.9", "0.1"], ["0.1", "0.9"]], "1/10")
    assert private_within(wrong, channel(wrong, privacy), privacy).outcome == "fails"
