"""Subset selection, unary encoding and Hadamard response: their tables, their sizes, their limits."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, permutations
from math import comb, exp

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.measures.shares import share_variance
from sfumato.mechanisms.local import (
    MOST_OUTPUTS,
    check_bits,
    check_rows,
    check_subsets,
    hadamard_response,
    subset_selection,
    subset_size,
    unary_encoding,
)
from strategies import alphas, privacy_types

ALL = (subset_selection, unary_encoding, hadamard_response)


def discrete(n: int, alpha: object) -> sf.PrivacyType:
    return sf.PrivacyType(sf.discrete(n), alpha=alpha)  # type: ignore[arg-type]


def kept_at_most(channel: sf.Channel) -> Fraction:
    """The largest ratio of two entries of a column, by looking at all."""
    return max(Fraction(a, b) for column in channel.matrix.T for a, b in permutations(column, 2))


@given(st.integers(2, 6), alphas(), st.data())
@settings(max_examples=40)
def test_subsets_are_those_of_the_formula(n: int, alpha: Fraction, data: st.DataObject) -> None:
    size = data.draw(st.integers(1, n - 1))
    made = subset_selection(discrete(n, alpha), size)
    sets = list(combinations(range(n), size))
    factor = 1 / alpha
    most = factor / (factor * comb(n - 1, size - 1) + comb(n - 1, size))
    assert made.outputs == tuple(" or ".join(map(str, chosen)) for chosen in sets)
    assert made.channel.matrix.tolist() == [[most if x in s else most / factor for s in sets] for x in range(n)]
    assert kept_at_most(made.channel) == factor
    assert made.provenance["size"] == size


@given(st.integers(2, 9), alphas())
@settings(max_examples=40)
def test_no_other_size_has_less_variance(n: int, alpha: Fraction) -> None:
    privacy = discrete(n, alpha)
    prior, best = sf.Prior.uniform(privacy.space), subset_size(privacy)
    values = {k: share_variance(prior, subset_selection(privacy, k).channel) for k in range(1, n)}
    assert values[best] == min(values.values())
    a = 1 / alpha
    assert values == {
        k: (n - 1) ** 2 * (n + (a - 1) * k) ** 2 / (n * (a - 1) ** 2 * k * (n - k)) for k in range(1, n)
    }  # fmt: skip


@given(st.integers(1, 5), alphas())
@settings(max_examples=30)
def test_bits_are_those_of_the_formula(n: int, alpha: Fraction) -> None:
    made = unary_encoding(discrete(n, alpha))
    assert len(made.outputs) == 2**n and made.outputs[:2] == ("none", "0")
    flipped = alpha / (1 + alpha)
    for x, row in enumerate(made.channel.matrix):
        for code, chance in enumerate(row):
            expected = Fraction(1, 2)
            for z in set(range(n)) - {x}:
                expected *= flipped if code >> z & 1 else 1 - flipped
            assert chance == expected
    if n > 1:
        assert kept_at_most(made.channel) == 1 / alpha


@pytest.mark.parametrize(
    ("n", "factor", "blocks", "rows"),
    [(3, 2, 1, 4), (4, 2, 1, 8), (4, 3, 2, 4), (7, 2, 1, 8), (8, 4, 2, 8), (9, 5, 3, 4), (3, 16, 3, 2),
     (100, 2, 1, 128)],
)  # fmt: skip
def test_blocks_of_a_hadamard_matrix(n: int, factor: int, blocks: int, rows: int) -> None:
    """Counted by hand from B = 2^{⌈log₂ min(e^ε, 2n)⌉ − 1} and b = 2^{⌈log₂(n/B + 1)⌉}."""
    made = hadamard_response(discrete(n, Fraction(1, factor)))
    assert made.provenance["blocks"] == blocks and len(made.outputs) == blocks * rows
    assert kept_at_most(made.channel) == factor
    high = made.weights == made.weights.max()
    assert set(high.sum(axis=1)) == {rows // 2}
    for one, other in combinations(high, 2):  # rows of a Hadamard matrix agree in half of their places, or never meet
        assert (one & other).sum() in (0, rows // 4)


def test_shares_can_be_recovered_from_all_of_them_and_none_goes_below_the_subsets() -> None:
    for n in (2, 3, 5, 8):
        for alpha in ("1/9", "1/2", "9/10"):
            privacy = discrete(n, alpha)
            prior = sf.Prior.uniform(privacy.space)
            least, *others = [share_variance(prior, build(privacy).channel) for build in ALL]
            assert all(least <= other < float("inf") for other in others)


def test_two_answers_are_warners() -> None:
    privacy = discrete(2, "1/3")
    assert (subset_selection(privacy).channel.matrix == sf.random_response(privacy).channel.matrix).all()


@given(privacy_types())
@settings(max_examples=30)
def test_they_keep_any_promise_by_its_smallest_distance(privacy: sf.PrivacyType) -> None:
    for build in ALL:
        assert sf.verify(build(privacy))


def test_rates_that_are_no_fractions_are_rounded_and_proved() -> None:
    privacy = sf.PrivacyType(sf.discrete(5), epsilon=1)
    assert subset_size(privacy) == 1
    for build in ALL:
        made = build(privacy)
        ratios = [a / b for column in made.weights.T for a, b in permutations(map(float, column), 2)]
        assert exp(1) * (1 - 1e-9) < max(ratios) <= exp(1) * (1 + 1e-12)


def test_names_of_sets_are_told_apart() -> None:
    privacy = sf.PrivacyType(sf.discrete(["a", "b", "a or b"]), alpha="1/2")
    assert unary_encoding(privacy).outputs == (
        "none", "a", "b", "a or b", "a or b (2)", "a or a or b", "b or a or b", "a or b or a or b",
    )  # fmt: skip
    cells = sf.PrivacyType(sf.grid(1, 3), alpha="1/2")
    assert subset_selection(cells, 2).outputs == ("0,0 or 0,1", "0,0 or 0,2", "0,1 or 0,2")


def test_where_nothing_is_promised_and_where_there_is_nothing_to_hide() -> None:
    free = sf.PrivacyType(sf.graph([], labels=["a", "b", "c"]), alpha="1/2")
    assert subset_selection(free).channel.matrix.tolist() == [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
    one = sf.PrivacyType(sf.line(1), alpha="1/2")
    for build in ALL:
        assert sf.verify(build(free)) and sf.verify(build(one))


def test_too_many_outputs_are_refused_with_what_to_ask_for_instead() -> None:
    many = discrete(40, "1/2")
    with pytest.raises(NotSupported, match=r"sets of 13 out of 40 secrets.*at most 5,000 outputs, a smaller size"):
        subset_selection(many)
    assert len(subset_selection(many, 2).outputs) == comb(40, 2)
    assert len(hadamard_response(many).outputs) == 64
    with pytest.raises(NotSupported, match=r"all sets of 40 secrets.*hadamard_response"):
        unary_encoding(many)
    with pytest.raises(NotSupported, match=r"1 Hadamard matrix of 8192 rows"):
        check_rows(discrete(5000, "1/2"))
    for n in range(2, 17):
        for check in (check_subsets, check_rows):
            check(discrete(n, "1/3"))
    check_bits(discrete(12, "1/2"))
    assert 2**12 <= MOST_OUTPUTS < 2**13


def test_bad_input() -> None:
    privacy = discrete(3, "1/2")
    for size in (0, 3, 1.5, True, "1"):
        with pytest.raises(InvalidInput, match="size of a set"):
            subset_selection(privacy, size)  # type: ignore[arg-type]
    for build in ALL:
        with pytest.raises(InvalidInput, match="promise"):
            build("line")  # type: ignore[arg-type]
