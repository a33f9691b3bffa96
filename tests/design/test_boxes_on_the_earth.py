"""Designs on boxes on the Earth: the promise on the ground, and a bound for what every mechanism keeps there."""

from __future__ import annotations

import copy
from fractions import Fraction
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.certify import kernel
from sfumato.certify.certificate import Certificate
from sfumato.privacy.rates import bound_rate, box_rate
from sfumato.spaces import earth_box, ground_stretch

TALL = earth_box(60, 10, sides=(300, 600), step=300, margin=0)  # so tall that rates differ by some percent


@pytest.fixture(scope="module")
def best() -> sf.design.Design:
    privacy = sf.PrivacyType(TALL, epsilon="1/200")
    return sf.design(sf.Prior.uniform(TALL), sf.losses.distance(TALL), privacy, tolerance=0.3)


def test_a_design_is_proved_on_the_ground(best: sf.design.Design, tmp_path: Path) -> None:
    mechanism = best.mechanism
    least, most = ground_stretch(TALL)
    assert most == 1 and least < Fraction("0.9")
    assert mechanism.rate == box_rate(mechanism.privacy) == Fraction(1, 200)
    assert bound_rate(mechanism.privacy) == Fraction(1, 200) / least
    assert 0 < best.bound < best.loss
    sf.save(mechanism, tmp_path / "tall.sfm")
    again = sf.load(tmp_path / "tall.sfm")
    assert again.box == TALL and again.proof.bound == best.bound and sf.verify(again)


def test_a_bound_for_the_rate_of_the_map_does_not_bind_the_ground(best: sf.design.Design) -> None:
    """With degrees that shrink the map more, mechanisms on the ground may do more on it, and the bound is refuted."""
    written = best.mechanism.as_certificate()
    assert kernel.check(*written.interpreted())["bound"] == best.bound
    header = copy.deepcopy(written.header)
    header["box"]["frame"]["degrees"] = [str(2 * Fraction(scale)) for scale in header["box"]["frame"]["degrees"]]
    header["box"]["frame"]["margin"] = "0"
    with pytest.raises(kernel.Refuted, match="the dual numbers prove"):
        kernel.check(*Certificate(header, written.sections).interpreted())
