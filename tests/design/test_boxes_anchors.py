"""Interpolation between anchors, for comparison."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.design.boxes.anchors import interpolated
from sfumato.errors import NotSupported
from sfumato.watch import TimeIsUp, Watch


def test_in_a_rectangle_slopes_are_within_the_promise_and_a_remap_gains() -> None:
    town = sf.box((4, 2), step=1)
    prior = sf.Prior.on_cells([[1, 5], [3, 3], [1, 1], [1, 1]], town)
    privacy = sf.PrivacyType(town, epsilon=1)
    found = interpolated(prior, sf.losses.distance(town), privacy, town, Watch(), along=3)
    assert found.anchors == 6 and 0.9 < found.slope <= 1.001
    assert 0.5 < found.remapped < found.loss


def test_refusals() -> None:
    cube = sf.box((1, 1, 1), step="1/2")
    terms = sf.Prior.uniform(cube), sf.losses.distance(cube), sf.PrivacyType(cube, epsilon=1), cube
    with pytest.raises(NotSupported, match="anchors in 3 dimensions"):
        interpolated(*terms, Watch())
    way = sf.box((1,), step="1/2")
    with pytest.raises(TimeIsUp):
        interpolated(
            sf.Prior.uniform(way), sf.losses.distance(way), sf.PrivacyType(way, epsilon=1), way, Watch(0)
        )  # fmt: skip
