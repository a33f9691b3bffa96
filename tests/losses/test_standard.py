from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato import losses
from sfumato.errors import InvalidLoss, Mismatch, TooLarge
from sfumato.losses import LOSSES


def test_every_loss_by_hand() -> None:
    space = sf.line(3)
    expected = {
        "bin": [[0, 1, 1], [1, 0, 1], [1, 1, 0]],
        "nib": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
        "distance": [[0, 1, 2], [1, 0, 1], [2, 1, 0]],
        "absolute": [[0, 1, 2], [1, 0, 1], [2, 1, 0]],
        "squared": [[0, 1, 4], [1, 0, 1], [4, 1, 0]],
        "threshold": [[0, 0, 1], [0, 0, 0], [1, 0, 0]],
        "member": [[1, 0, 1], [0, 1, 0]],
        "matrix": [[5, 6, 7]],
        "function": [[0, 1, 2], [0, 2, 4]],
    }
    arguments = {
        "threshold": (1,),
        "member": ([1],),
        "matrix": ([[5, 6, 7]],),
        "function": (lambda w, x: w * x, [1, 2]),
    }
    assert expected.keys() == LOSSES.keys()
    for name, table in expected.items():
        loss = LOSSES[name](space, *arguments.get(name, ()))
        assert loss.matrix.tolist() == table, name
        assert loss.exact, name


def test_distances_that_are_not_rational_become_floats() -> None:
    assert not losses.distance(sf.grid(2, 2)).exact
    assert losses.distance(sf.grid(1, 3)).exact
    with pytest.raises(InvalidLoss, match="infinite"):
        losses.distance(sf.graph([(0, 1)], labels=[0, 1, 2]))


def test_thresholds_are_decided_exactly() -> None:
    space = sf.grid(3, 3)
    near = losses.threshold(space, "141421356237/100000000000")  # just below √2
    assert near.at((0, 0), (1, 1)) == 1
    assert losses.threshold(space, "141421356238/100000000000").at((0, 0), (1, 1)) == 0
    assert losses.threshold(sf.graph([(0, 1)], labels=[0, 1, 2]), 5).at(0, 2) == 1
    with pytest.raises(InvalidLoss):
        losses.threshold(space, -1)


def test_labels_that_are_no_numbers_have_no_difference() -> None:
    with pytest.raises(InvalidLoss, match="numbers"):
        losses.absolute(["a", "b"])
    with pytest.raises(Mismatch):
        losses.member([0, 1], [5])


def test_actions_of_a_matrix() -> None:
    assert losses.matrix(["a", "b"], [[0, 1], [1, 0]]).actions == ("a", "b")
    assert losses.matrix(["a", "b"], [[0, 1]]).actions == (0,)
    assert losses.guess([0, 1]).matrix.tolist() == np.eye(2).tolist()


def test_the_default_is_the_error_of_a_numeric_query_and_the_distance_elsewhere(tmp_path: Path) -> None:
    total = sf.sum_query(10, 3)
    assert losses.default(total).name == "absolute" and losses.default(total).at(0, 30) == 30
    assert losses.default(sf.count_query(5)).name == "absolute"
    both = losses.default(sf.spaces.k_count_query(2, 2))
    assert both.at((0, 0), (1, 2)) == 3 and losses.squared(sf.spaces.k_count_query(2, 2)).at((0, 0), (1, 2)) == 5
    salary = sf.query(sum, values=[0, 10, 100], individuals=2)
    assert losses.default(salary).at(0, 200) == 200 and losses.distance(salary).at(0, 200) == 2
    pairs = sf.query(lambda db: (sum(db), max(db)), values=[0, 5], individuals=2)
    assert losses.default(pairs).at((0, 0), (10, 5)) == 15
    for space in (
        sf.line(5, step="1/10"), sf.line(4), sf.grid(3, 3), sf.grid(3, 3, metric="chebyshev"), sf.cycle(5),
        sf.discrete(3), sf.points([(0.0,), (7.0,)]), sf.query(str, values=[0, 1], individuals=2),
        sf.query(lambda db: sum(db) > 1, values=[0, 1], individuals=2),
    ):  # fmt: skip
        assert losses.default(space).name == "distance", space
    sf.save(sf.exponential(sf.PrivacyType(total, epsilon=1)), tmp_path / "m.sfm")
    for again in (sf.load(tmp_path / "m.sfm").privacy.space, pickle.loads(pickle.dumps(total))):
        assert losses.default(again).at(0, 30) == 30 and losses.distance(again).at(0, 30) == 10


def test_tuples_are_numbers_only_where_they_are_answers() -> None:
    with pytest.raises(InvalidLoss, match="numbers"):
        losses.absolute(sf.grid(2, 2))


@pytest.mark.parametrize("loss", [losses.absolute, losses.squared, losses.bin, losses.nib, losses.guess])
def test_a_table_that_no_memory_holds_is_refused_before_it_is_built(loss: Any) -> None:
    with pytest.raises(TooLarge, match="a loss for 300,000 actions and 300,000 secrets needs about"):
        loss(range(300_000))


def test_a_function_of_too_many_actions_is_never_called() -> None:
    with pytest.raises(TooLarge, match="300,000 secrets"):
        losses.function(range(300_000), lambda w, x: pytest.fail("it was called"))
