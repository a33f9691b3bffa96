from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import losses


def test_classes_of_the_standard_losses() -> None:
    line, discrete = sf.line(4), sf.discrete(4)
    assert sf.losses.is_monotone(losses.bin(line), line)
    assert not sf.losses.is_strictly_monotone(losses.bin(line), line)
    assert sf.losses.is_strictly_monotone(losses.bin(discrete), discrete)
    assert not sf.losses.is_monotone(losses.nib(line), line)
    assert sf.losses.is_strictly_monotone(losses.squared(line), line)
    assert not sf.losses.is_monotone(losses.absolute(discrete), discrete)
    assert sf.losses.is_monotone(losses.threshold(line, 1), line)


@given(st.permutations(range(5)))
def test_the_remap_of_a_shuffled_loss_is_found(order: list[int]) -> None:
    line = sf.line(5)
    shuffled = losses.function(line, lambda w, x: abs(order[w] - x))
    verdict = sf.losses.is_strictly_monotone(shuffled, line)
    assert verdict
    # the line has a mirror image: both it and the permutation itself are right
    remap, function = verdict.witness.remap, verdict.witness.function
    assert all(shuffled.at(w, x) == function[line.distance(x, remap[w])] for w in range(5) for x in range(5))
    assert len(set(remap.values())) == 5


def test_actions_must_map_injectively_with_one_function() -> None:
    line = sf.line(3)
    twice = losses.matrix(line, [[0, 1, 2], [0, 1, 2]])
    assert not sf.losses.is_monotone(twice, line)
    different = losses.matrix(line, [[0, 1, 2], [3, 0, 3]])
    assert not sf.losses.is_monotone(different, line)
    assert not sf.losses.is_monotone(losses.matrix(line, [[0, 1, 2]] * 4), line)


def test_trivial_losses() -> None:
    assert sf.losses.is_trivial(losses.matrix([0, 1], [[1, 5], [1, 5]]))
    verdict = sf.losses.is_trivial(losses.matrix([0, 1], [[1, 5], [1, 4]]))
    assert not verdict
    assert verdict.witness == (0, 1, 1)


def test_a_dominating_action() -> None:
    table = losses.matrix(["rain", "sun"], [[1, 1], [5, 0], [0, 0]], actions=["take", "leave", "wait"])
    assert losses.has_dominating_action(table).witness == "wait"
    umbrella = losses.matrix(["rain", "sun"], [[1, 1], [5, 0]], actions=["take", "leave"])
    assert losses.has_dominating_action(umbrella).witness == {"take": ("sun", "leave"), "leave": ("rain", "take")}
    assert losses.has_dominating_action(losses.matrix([0, 1], [[0.5, 0.25]])).witness == 0
    with pytest.raises(ValueError, match="loss"):
        losses.has_dominating_action("bin")  # type: ignore[arg-type]


def test_monotone_in_exact_distances() -> None:
    grid = sf.grid(3, 3)
    assert sf.losses.is_strictly_monotone(losses.distance(grid), grid)
    with pytest.raises(ValueError, match="secrets"):
        sf.losses.is_monotone(losses.bin([0, 1]), grid)
