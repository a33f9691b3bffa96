"""ε from a target on a box: what is proved on both sides, and what is kept when the search ends early."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import sfumato as sf
from effort import a_few
from sfumato.certify.noise import BoxNoise
from sfumato.design.boxes.calibration import BoxCalibration
from sfumato.errors import InvalidInput, NotConverged, NotSupported
from sfumato.spaces.earth import earth_box, ground_stretch
from sfumato.watch import Watch

ROAD = sf.box((4,), step=1, unit="km")
PEOPLE = sf.Prior.on_cells([1, 3, 3, 1], ROAD)
LOSS = sf.losses.distance(ROAD)


def test_both_ends_are_proved_and_about_as_close_as_was_asked_for() -> None:
    found = sf.calibrate(PEOPLE, LOSS, ROAD, target="400 m")
    assert found.epsilon == found.high and 0 < found.low < found.high <= found.low * Fraction(10, 9)
    assert found.design.mechanism.privacy.epsilon == found.high
    assert sf.verify(found.design.mechanism) and found.design.mechanism.proof.loss == found.design.loss
    assert Fraction(9, 10) * Fraction(2, 5) < found.design.loss <= Fraction(2, 5)
    below = sf.design(PEOPLE, LOSS, sf.PrivacyType(ROAD, epsilon=found.low), tolerance=0.02)
    assert below.bound > Fraction(2, 5)


def test_an_adversary_is_kept_from_the_target() -> None:
    found = sf.calibrate(PEOPLE, LOSS, ROAD, target="0.4", goal="keep")
    assert found.epsilon == found.low < found.high
    assert found.design.bound > Fraction(2, 5) and found.design.gap < 0.1
    assert found.design.mechanism.privacy.epsilon == found.low


def test_in_a_large_box_noise_answers() -> None:
    wide = sf.box((2000,), step=100)
    found = sf.calibrate(sf.Prior.uniform(wide), sf.losses.distance(wide), wide, target=1)
    assert isinstance(found.design.mechanism, BoxNoise)
    assert found.design.loss <= 1 and 0.9 < found.low < found.high < 1.1


def test_on_the_earth_the_target_is_on_the_ground() -> None:
    town = earth_box("40.70 N", "74.02 W", sides=(20, 20), step=10)
    least, most = ground_stretch(town)
    found = sf.calibrate(sf.Prior.uniform(town), sf.losses.distance(town), town, target="50 m")
    assert found.design.loss / least <= Fraction(1, 20) and found.high < found.low * Fraction(10, 9)
    assert least < most and found.design.mechanism.privacy.epsilon == found.high


def test_who_stops_it_gets_what_is_proved() -> None:
    seen: list[str] = []

    def impatient(state: Any) -> None:
        seen.append(state.stage)
        if "lattice" in state.stage:
            raise KeyboardInterrupt

    found = sf.calibrate(PEOPLE, LOSS, ROAD, target="0.4", progress=impatient)
    assert isinstance(found.design.mechanism, BoxNoise) and found.low == 0
    assert found.design.loss <= Fraction(2, 5) and sf.verify(found.design.mechanism)
    assert any(stage.startswith("at ε = ") for stage in seen)


def test_no_time_at_all() -> None:
    with pytest.raises(NotConverged, match="within 0 s: give it more time"):
        sf.calibrate(PEOPLE, LOSS, ROAD, target="0.4", time_limit=0)


def test_given_outputs() -> None:
    found = sf.calibrate(PEOPLE, LOSS, ROAD, target="0.5", outputs=[1, 2, 3], precision=0.3)
    assert {*found.design.mechanism.outputs} <= {1, 2, 3} and found.design.loss <= Fraction(1, 2)


@pytest.mark.parametrize("target", ["0", "-1", "0.76", "2 km"])
def test_targets_out_of_reach(target: str) -> None:
    with pytest.raises(InvalidInput, match="must lie between 0, the loss when the truth is told, and about"):
        sf.calibrate(PEOPLE, LOSS, ROAD, target=target)


def test_refusals() -> None:
    with pytest.raises(InvalidInput, match="the target is 3 minutes, but distances are in km"):
        sf.calibrate(PEOPLE, LOSS, ROAD, target="3 minutes")
    with pytest.raises(NotSupported, match="an objective on a box"):
        sf.calibrate(PEOPLE, LOSS, ROAD, target="0.4", objective="worst secret")
    with pytest.raises(InvalidInput, match="the loss on a box"):
        sf.calibrate(PEOPLE, sf.losses.bin(sf.line(2)), ROAD, target="0.4")


def test_who_asks_for_no_lower_end_gets_none() -> None:
    wide = sf.box((2000,), step=100)
    seen: list[str] = []
    found = sf.calibrate(
        sf.Prior.uniform(wide), sf.losses.distance(wide), wide, target=1, precision=1,
        progress=lambda state: seen.append(state.stage),
    )  # fmt: skip
    assert found.low == 0 and 0.95 < found.design.loss <= 1 and len(seen) <= 2


_INTERVAL = sf.box((6,), step=2)
_WHOLE = Fraction(3, 2)  # what is lost there by who tells nothing


@pytest.mark.parametrize(
    ("target", "goal", "widest"),
    a_few(
        [
            pytest.param(Fraction(56, 97), "reach", 0.11, id="steep"),
            pytest.param(_WHOLE * Fraction(19, 20), "keep", 0.11, id="flat and kept"),
            pytest.param(_WHOLE * Fraction(199, 200), "reach", 0.9, id="nearly blind"),
        ],
        2,
    ),
)
def test_the_search_stays_where_the_answer_is(target: Fraction, goal: Any, widest: float) -> None:
    """Near the loss when nothing is told the curve is flat, and slopes point anywhere."""
    seen: list[str] = []
    found = sf.calibrate(
        sf.Prior.uniform(_INTERVAL), sf.losses.distance(_INTERVAL), _INTERVAL, target=target, goal=goal, time_limit=60,
        progress=lambda state: seen.append(state.stage),
    )  # fmt: skip
    assert 0 < found.low < found.high and found.high - found.low <= Fraction(widest) * found.high
    assert found.design.bound > target if goal == "keep" else found.design.loss <= target
    looked_at = [float(stage.split()[3].rstrip(":")) for stage in seen if stage.startswith("at ε = ")]
    assert looked_at and max(looked_at) < 20 * found.high and min(looked_at) > found.low / 20


def test_what_is_missing_has_its_true_reason() -> None:
    def search(limit: float | None) -> BoxCalibration:
        return BoxCalibration(PEOPLE, LOSS, ROAD, None, Fraction(2, 5), "keep", 0.1, Watch(limit), None)

    rested, hurried = search(60), search(60)
    hurried.hurried = True
    rested.tried = [Fraction(1), Fraction(2)]
    assert "within 60 s: give it more time" in hurried.missing()
    assert rested.missing().endswith("by 2 designs for epsilon between 1 and 2: they leave it open")
