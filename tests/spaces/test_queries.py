from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported


@pytest.mark.parametrize("individuals", [1, 2, 4])
def test_closed_forms_agree_with_search(individuals: int) -> None:
    pairs = {
        "count": (sf.count_query(individuals), sf.query(sum, values=[0, 1], individuals=individuals)),
        "sum": (sf.sum_query(individuals, 3), sf.query(sum, values=range(4), individuals=individuals)),
        "k-count": (
            sf.spaces.k_count_query(individuals, 2),
            sf.query(
                lambda db: (sum(a for a, _ in db), sum(b for _, b in db)),
                values=list(product((0, 1), repeat=2)),
                individuals=individuals,
            ),
        ),
    }
    for closed, searched in pairs.values():
        assert closed.labels == searched.labels
        assert np.array_equal(closed.distances.values, searched.distances.values)


def test_a_query_on_a_graph_of_databases() -> None:
    space = sf.spaces.induced(lambda word: word.count("1"), sf.hamming(4))
    assert np.array_equal(space.distances.values, sf.line(5).distances.values)


def test_answers_of_mixed_types_keep_their_order() -> None:
    space = sf.query(lambda db: "none" if not sum(db) else sum(db), values=[0, 1], individuals=2)
    assert space.labels == ("none", 1, 2)


def test_sensitivity_of_a_count_and_of_a_scaled_count() -> None:
    words, answers = sf.hamming(3), sf.line(4)
    verdict = sf.spaces.is_uniformly_sensitive(lambda w: w.count("1"), words, answers)
    assert verdict
    assert verdict.witness.chain(0, 2)[0] == 0
    assert verdict.witness.chain(0, 2)[-1] == 2
    doubled = sf.points([0, 2, 4, 6], labels=range(4), metric="manhattan")
    assert sf.spaces.lipschitz_constant(lambda w: w.count("1"), words, doubled) == 2
    assert not sf.spaces.is_uniformly_sensitive(lambda w: w.count("1"), words, doubled)
    assert sf.spaces.is_uniformly_sensitive(lambda w: w.count("1"), words, doubled, delta=2)


def test_a_query_that_is_not_uniformly_sensitive_names_the_answers() -> None:
    # answers 0 and 2 are never one step apart, 1 is skipped
    words = sf.hamming(2)
    answers = sf.line(3)
    verdict = sf.spaces.is_uniformly_sensitive(lambda w: 0 if w == "00" else 1, words, answers)
    assert not verdict
    assert 2 in verdict.witness


def test_a_sum_of_many_answers_lists_its_neighbours_and_has_no_table_of_all_pairs() -> None:
    """500 people with values up to 100: a table of 50,001 answers would take 80 GB."""
    space = sf.sum_query(500, 100)
    first, second = space.pairs
    assert len(first) == 100 * 50_001 - 100 * 101 // 2 and int((second - first).max()) == 100
    for asked in (lambda: space.distances, lambda: space.distance(0, 1), lambda: sf.losses.absolute(space)):
        with pytest.raises(NotSupported):
            asked()


def test_limits_are_stated() -> None:
    with pytest.raises(NotSupported, match="enumerating"):
        sf.query(sum, values=range(10), individuals=9)
    with pytest.raises(NotSupported, match="no graph"):
        sf.spaces.induced(str, sf.grid(2, 2))
    with pytest.raises(NotSupported, match="sensitivity"):
        sf.spaces.lipschitz_constant(lambda x: x, sf.grid(2, 2), sf.grid(2, 2))
    for bad in (lambda: sf.query(sum, values=[], individuals=2), lambda: sf.sum_query(0, 2)):
        with pytest.raises(InvalidInput):
            bad()


@pytest.mark.parametrize("wrong", [2.5, 2.0, True, "2", 0, -1, None])
def test_people_and_values_are_counted_in_whole_numbers(wrong: Any) -> None:
    for make in (
        lambda: sf.count_query(wrong),
        lambda: sf.sum_query(wrong, 2),
        lambda: sf.sum_query(2, wrong),
        lambda: sf.spaces.k_count_query(wrong, 2),
        lambda: sf.spaces.k_count_query(2, wrong),
        lambda: sf.query(sum, values=[0, 1], individuals=wrong),
    ):
        with pytest.raises(InvalidInput, match=r"^the number of .* must be a positive integer, found"):
            make()


def test_a_sum_too_large_to_list_is_refused() -> None:
    with pytest.raises(NotSupported, match="a space of"):
        sf.sum_query(10**9, 10**9)
