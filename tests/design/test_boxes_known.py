"""Known mechanisms on boxes beside each other."""

from __future__ import annotations

import pickle

import pytest

import sfumato as sf
from sfumato.design.boxes.known import remapped, with_loss
from sfumato.errors import InvalidInput, NotSupported
from sfumato.mechanisms.box_noise import laplace_noise, noise_table
from sfumato.spaces.box import box

STRIP = box((6,), step=1)


def test_each_is_there_and_the_remapped_ones_lose_less() -> None:
    prior = sf.Prior.on_cells([1, 5, 1, 1, 3, 1], STRIP)
    found = sf.compare_known(prior, sf.losses.distance(STRIP), sf.PrivacyType(STRIP, epsilon=1))
    assert not found.left_out
    for name in ("laplace noise", "smooth exponential"):
        inside, told = found[f"{name}, in the box"], found[f"{name}, remapped"]
        assert told.loss < inside.loss
        assert told.rate is not None and told.rate <= 1 and told.mechanism is not None
    assert found["laplace noise in floats"].rate is None and found["laplace noise in floats"].loss == 1
    assert found["laplace noise, in the box"].loss < found["laplace noise"].loss < 1.001
    assert str(found).splitlines()[1].split() == ["mechanism", "loss", "proved"]
    with pytest.raises(InvalidInput, match="is not compared"):
        _ = found["nothing"]


def test_one_function_compares_coordinates_too() -> None:
    prior, loss = sf.Prior.uniform(STRIP), sf.losses.distance(STRIP)
    found = sf.compare_known(prior, loss, sf.PrivacyType(STRIP, epsilon=1), time_limit=0)
    assert [row.name for row in found] == ["laplace noise in floats"] and found.left_out
    assert found.rows[0].proved.outcome == "undecided" and found.rows[0].value == 1
    assert found.records() == [
        {"mechanism": "laplace noise in floats", "loss": 1.0, "epsilon": None, "proved": "undecided",
         "note": "no, by rounding", "bound": None}
    ]  # fmt: skip
    assert str(pickle.loads(pickle.dumps(found))) == str(found)
    with pytest.raises(AttributeError, match="Compared has no remapped"):
        _ = found.rows[0].remapped
    with pytest.raises(NotSupported, match="an objective in a comparison on a box"):
        sf.compare_known(prior, loss, sf.PrivacyType(STRIP, epsilon=1), objective="worst secret")


def test_mechanisms_of_the_list_are_compared_by_name() -> None:
    prior, loss = sf.Prior.uniform(STRIP), sf.losses.distance(STRIP)
    wanted = ["geometric", "membership", "planar_laplace_within"]
    found = sf.compare_known(prior, loss, sf.PrivacyType(STRIP, epsilon=1), mechanisms=wanted)
    assert {row.name for row in found} == {
        "laplace noise in floats", "laplace noise", "laplace noise, in the box", "laplace noise, remapped",
        "smooth geometric, in the box", "smooth geometric, remapped",
    }  # fmt: skip
    assert "no points of the box" in found.left_out["smooth membership"]
    with pytest.raises(NotSupported, match="known mechanism 'oracle'"):
        sf.compare_known(prior, loss, sf.PrivacyType(STRIP, epsilon=1), mechanisms="oracle")


def test_large_boxes_have_noise_alone() -> None:
    wide = box((100, 100), step=2)
    found = sf.compare_known(sf.Prior.uniform(wide), sf.losses.distance(wide), sf.PrivacyType(wide, epsilon=1))
    assert [row.name for row in found] == ["planar Laplace in floats", "planar Laplace"]
    assert "tables" in found.left_out


def test_remapping_changes_outputs_only() -> None:
    privacy, prior = sf.PrivacyType(STRIP, epsilon=1), sf.Prior.on_cells([0, 1, 0, 0, 1, 0], STRIP)
    table = noise_table(laplace_noise(privacy, parts=2))
    told = remapped(table, prior, sf.losses.distance(STRIP))
    assert told.total == table.total and told.weights.sum() == table.weights.sum()
    plain = with_loss(table, prior, sf.losses.distance(STRIP))
    assert told.claim is not None and plain.claim is not None and told.claim.value < plain.claim.value
    assert told.proof.loss == told.claim.value


def test_a_prior_of_another_box() -> None:
    other = box((8,), step=1)
    with pytest.raises(InvalidInput, match="not about the cells"):
        sf.compare_known(sf.Prior.uniform(other), sf.losses.distance(STRIP), sf.PrivacyType(STRIP, epsilon=1))
