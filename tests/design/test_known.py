"""One known mechanism by its name."""

from __future__ import annotations

import pytest

import sfumato as sf
from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.noise import BoxNoise
from sfumato.design import known_mechanism
from sfumato.errors import InvalidInput, NotSupported

LINE = sf.PrivacyType(sf.line(4), alpha="1/2")
STRIP = sf.PrivacyType(sf.box((4,), step=1, unit="km"), epsilon=1)
PEOPLE, FAR = sf.Prior.on_cells([1, 6, 1, 1], STRIP.space), sf.losses.distance(STRIP.space)


@pytest.mark.parametrize("name", ["planar-laplace", "Planar_Laplace", "planar laplace within"])
def test_planar_laplace_on_a_box_is_noise_everywhere(name: str) -> None:
    assert isinstance(known_mechanism(name, STRIP), BoxNoise)


def test_tables_are_made_smooth_and_remapped() -> None:
    plain = known_mechanism("geometric", STRIP, prior=PEOPLE, loss=FAR)
    told = known_mechanism("geometric", STRIP, prior=PEOPLE, loss=FAR, remap=True)
    assert isinstance(plain, BoxMechanism) and isinstance(told, BoxMechanism)
    assert plain.privacy.epsilon == told.privacy.epsilon == 1 and sf.verify(told)
    assert plain.proof.loss is not None and told.proof.loss is not None and told.proof.loss < plain.proof.loss
    moved = known_mechanism("planar-laplace", STRIP, prior=PEOPLE, loss=FAR, remap=True)
    assert isinstance(moved, BoxMechanism) and moved.proof.loss is not None and moved.proof.loss < 1


def test_a_remap_on_a_list_of_secrets_adds_columns_up() -> None:
    prior, loss = sf.Prior.from_counts([9, 1, 1, 1], LINE.space), sf.losses.bin(LINE.space)
    plain = known_mechanism("randomised response", LINE, prior=prior, loss=loss)
    told = known_mechanism("random-response", LINE, prior=prior, loss=loss, remap=True)
    assert isinstance(plain, sf.Mechanism) and isinstance(told, sf.Mechanism)
    assert len(told.outputs) < len(plain.outputs) and {*told.outputs} <= {*LINE.space.labels}
    assert told.proof.loss == plain.proof.loss == sf.expected_loss(prior, told.channel, loss)
    assert known_mechanism("random_response", LINE).outputs == plain.outputs


def test_refusals() -> None:
    with pytest.raises(NotSupported, match="known mechanism 'noise'"):
        known_mechanism("noise", LINE)
    with pytest.raises(NotSupported, match="known mechanism 3"):
        known_mechanism(3, LINE)  # type: ignore[arg-type]
    with pytest.raises(NotSupported, match=r"binary on line\(4\) \(4 secrets"):
        known_mechanism("binary", LINE)
    with pytest.raises(NotSupported, match=r"closest_pair on box.*its outputs are no points"):
        known_mechanism("closest-pair", STRIP)
    with pytest.raises(InvalidInput, match="a remap is for somebody who knows a prior"):
        known_mechanism("geometric", LINE, remap=True)
    uneven = sf.box((4, 4), step=(1, 2))
    with pytest.raises(NotSupported, match="cells whose sides differ"):
        known_mechanism("exponential", sf.PrivacyType(uneven, epsilon=1))
