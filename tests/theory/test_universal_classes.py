"""The class of losses that a line serves best."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import losses
from sfumato.errors import Mismatch
from sfumato.losses.classes import SingleCrossing, is_single_crossing


def test_standard_losses_on_a_line() -> None:
    line = sf.line(4)
    for loss in (losses.absolute(line), losses.squared(line), losses.bin(line), losses.threshold(line, 1)):
        witness = is_single_crossing(loss, line).witness
        assert isinstance(witness, SingleCrossing)
        assert witness.actions == witness.secrets == (0, 1, 2, 3)
    assert is_single_crossing(losses.nib(line), line).witness.actions == (3, 2, 1, 0)
    assert is_single_crossing(losses.member(line, [0, 1]), line).witness.actions == (True, False)
    assert is_single_crossing(losses.member(line, [2, 3]), line).witness.actions == (False, True)


def test_lines_need_not_be_in_order() -> None:
    space = sf.graph([("b", "c", 2), ("a", "b", 1), ("c", "d", 1)])
    witness = is_single_crossing(losses.distance(space), space).witness
    assert witness.secrets in (("a", "b", "c", "d"), ("d", "c", "b", "a"))
    assert witness.actions == witness.secrets


def test_what_crosses_twice_is_named() -> None:
    line = sf.line(3)
    verdict = is_single_crossing(losses.member(line, [1]), line)
    assert not verdict and verdict.witness == (True, False)


@given(st.lists(st.lists(st.integers(0, 2), min_size=4, max_size=4), min_size=1, max_size=4))
def test_what_crosses_in_pairs_has_a_common_order(rows: list[list[int]]) -> None:
    line = sf.line(4)
    verdict = is_single_crossing(losses.matrix(line, rows, actions=range(len(rows))), line)
    pairs = [losses.matrix(line, [rows[w], rows[v]], actions="wv") for w, v in combinations(range(len(rows)), 2)]
    assert bool(verdict) == all(is_single_crossing(pair, line) for pair in pairs)
    if verdict:
        for w, v in combinations(verdict.witness.actions, 2):
            signs = [a > b for a, b in zip(rows[w], rows[v], strict=True) if a != b]
            assert signs == sorted(signs)


def test_equal_actions_come_in_any_order() -> None:
    line = sf.line(2)
    assert is_single_crossing(losses.matrix(line, [[1, 2], [1, 2], [0, 3]], actions="abc"), line)


@pytest.mark.parametrize("space", [sf.spaces.star(3), sf.cycle(4), sf.discrete(3), sf.grid(2, 2)])
def test_other_spaces_are_no_lines(space: sf.FiniteSpace) -> None:
    verdict = is_single_crossing(losses.bin(space), space)
    assert not verdict and "no line" in verdict.reason


def test_one_and_two_secrets_are_lines() -> None:
    for n in (1, 2):
        assert is_single_crossing(losses.bin(sf.line(n)), sf.line(n))


def test_secrets_must_agree() -> None:
    with pytest.raises(Mismatch):
        is_single_crossing(losses.bin([0, 1]), sf.line(3))
