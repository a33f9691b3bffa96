"""Noise on a box in files: proved again when it is read, and refuted when a number is changed."""

from __future__ import annotations

import subprocess
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.certify import kernel
from sfumato.certify.bundle import kernel_file
from sfumato.certify.certificate import Certificate
from sfumato.certify.file import to_bytes
from sfumato.certify.noise import BoxNoise, LayerBound, NoiseClaim, noise_certificate, prove_noise
from sfumato.certify.noise import claimed as claimed_by_kernel
from sfumato.certify.sections import Section
from sfumato.errors import InvalidInput, PrivacyViolation
from sfumato.mechanisms.box_noise import noise_on_box
from sfumato.spaces.box import box
from sfumato.spaces.splines import rounding_of

STRIP = box((30,), step=2, unit="km")


@cache
def strip_noise() -> BoxNoise:
    """Noise on an interval, with its claim."""
    prior = sf.Prior.on_cells([1] * 5 + [3] * 10, STRIP)
    return noise_on_box(prior, sf.losses.distance(STRIP), sf.PrivacyType(STRIP, epsilon=1))


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    sf.save(strip_noise(), tmp_path / "noise.sfm")
    again, noise = sf.load(tmp_path / "noise.sfm"), strip_noise()
    assert again.density("7/3").weights.tolist() == noise.density("7/3").weights.tolist()
    assert again.claim.value == noise.claim.value and again.claim.bound == noise.claim.bound
    assert again.rounding == noise.rounding and again.privacy.epsilon == 1
    assert again.proof.loss == noise.claim.value and again.proof.bound == noise.claim.bound.value


def test_the_kernel_reads_it_alone(tmp_path: Path) -> None:
    sf.save(strip_noise(), tmp_path / "noise.sfm")
    command = [sys.executable, "-I", "-S", str(kernel_file()), str(tmp_path / "noise.sfm")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "PROVED private for all points of the box, with epsilon = 1 per 'km'" in done.stdout
    assert "noise that is the same everywhere" in done.stdout and "no mechanism on the box" in done.stdout


def test_chances_that_fall_too_fast() -> None:
    noise = strip_noise()
    steep = np.array(noise.table)
    steep[3] = steep[3] * 2
    with pytest.raises(PrivacyViolation, match="faster"):
        prove_noise(steep, noise.floor, noise.privacy, noise.rounding, halvings=noise.halvings)
    with pytest.raises(PrivacyViolation, match="faster"):
        prove_noise(noise.table, 1, noise.privacy, noise.rounding, halvings=noise.halvings)


def claimed(**changed: Any) -> BoxNoise:
    """The noise with another claim."""
    noise = strip_noise()
    assert noise.claim is not None
    terms = {name: getattr(noise.claim, name) for name in ("prior", "loss", "value", "parts", "bound")}
    claim = NoiseClaim(**terms | changed)
    return prove_noise(noise.table, noise.floor, noise.privacy, noise.rounding, halvings=noise.halvings, claim=claim)


def test_claims_that_are_too_good() -> None:
    claim = strip_noise().claim
    assert claim is not None and claim.bound is not None
    assert claimed(value=claim.value + 1).proof.loss == claim.value + 1  # what is less than true is true
    with pytest.raises(PrivacyViolation, match="the loss is proved to be at most"):
        claimed(value=claim.value - Fraction(1, 10**6))
    with pytest.raises(PrivacyViolation, match="the layers prove a bound of"):
        claimed(bound=LayerBound(claim.bound.value + Fraction(1, 10**6), claim.bound.layers))
    with pytest.raises(PrivacyViolation, match="more than the prior"):
        claimed(bound=LayerBound(Fraction(0), (*claim.bound.layers, ((0,), (15,), 1))))
    with pytest.raises(sf.errors.InvalidFile, match="no box of cells"):
        claimed(bound=LayerBound(Fraction(0), (((0,), (16,), 1),)))


def test_finer_parts_prove_a_smaller_loss() -> None:
    square = box((6, 4), step=2)
    prior, loss, privacy = sf.Prior.uniform(square), sf.losses.distance(square), sf.PrivacyType(square, epsilon="1/2")
    noise = noise_on_box(prior, loss, privacy)
    terms = noise.table, noise.floor, privacy, noise.rounding, prior, loss, ()
    values = [claimed_by_kernel(*terms, parts).value for parts in (2, 4, 8)]
    assert values == sorted(values, reverse=True) and values[0] < values[2] * Fraction(1001, 1000)


@pytest.mark.parametrize(
    ("table", "floor", "says"),
    [
        ([[1]], 1, "as many axes"),
        ([], 1, "as many axes"),
        ([1.5], 1, "non-negative integers"),
        ([-1], 1, "non-negative integers"),
        ([1], 0, "floor"),
    ],
)
def test_tables_that_are_none(table: Any, floor: int, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        prove_noise(table, floor, sf.PrivacyType(STRIP, epsilon=1), rounding_of(STRIP))


def test_lattices_that_will_not_do() -> None:
    privacy = sf.PrivacyType(STRIP, epsilon=1)
    with pytest.raises(InvalidInput, match="degree 2"):
        prove_noise([1], 1, privacy, rounding_of(STRIP, degree=1))
    with pytest.raises(InvalidInput, match="equal steps"):
        prove_noise([1], 1, privacy, rounding_of(STRIP, breaks=[[0, 1, 30]]))
    with pytest.raises(InvalidInput, match="the lattice is one of"):
        prove_noise([1], 1, privacy, rounding_of(box((10,), step=1)))


def test_blurring_is_a_distribution_of_variance_one_quarter_and_a_little() -> None:
    for parts in (2, 4, 10):
        chances = kernel.blur(parts)
        half = len(chances) // 2
        assert sum(chances) == 48 * parts**3
        square = Fraction(sum(c * (k - half) ** 2 for k, c in enumerate(chances)), sum(chances) * parts**2)
        assert square == Fraction(1, 4) + Fraction(1, 6 * parts**2)


def test_the_value_of_a_layer_in_closed_form() -> None:
    one = Fraction(1)
    assert float(kernel.layer_value([one], Fraction(10**5))) == pytest.approx(1e-5 * (1 - 2e-5), rel=1e-12)
    # k ∫ e^{−ετ} Π (1 − 2τ/a) dτ by a sum over small steps
    for sides, rate in (([3, 2], 2.0), ([1, 2, 3], 5.0), ([2], 0.1)):
        taus = (np.arange(200_000) + 0.5) / 200_000 * min(sides) / 2
        terms = np.exp(-rate * taus) * np.prod([1 - 2 * taus / side for side in sides], axis=0)
        value = len(sides) * terms.mean() * min(sides) / 2
        assert float(kernel.layer_value([Fraction(s) for s in sides], Fraction(rate))) == pytest.approx(value, rel=1e-9)


def test_a_small_file_does_not_ask_for_more_parts_of_offsets_than_memory_holds() -> None:
    """A table of zeros packs into nothing: 1001 × 1001 offsets in 64 × 64 parts would take hundreds of gigabytes."""
    plane = box((1, 1), step=1)
    reach = 1000
    claim = NoiseClaim(sf.Prior.uniform(plane), sf.losses.distance(plane), Fraction(9), 64)
    table, rounding = np.zeros((reach + 1, reach + 1), dtype=object), rounding_of(plane)
    total = (3 + 2 * reach) ** 2
    written = noise_certificate(sf.PrivacyType(plane, epsilon=1), Fraction(1), rounding, 0, table, 1, total, claim)
    with pytest.raises(kernel.Unreadable, match="parts of offsets"):
        kernel.parse(to_bytes(written))


def test_sections_of_a_claim_about_noise_have_one_reading() -> None:
    """Ends of layers are four bytes each, and a claim is one under a prior that has weight."""
    written = strip_noise().as_certificate()
    ends = np.frombuffer(written.sections["layer_ends"].data, dtype="<u4")
    for wide in ("<u1", "<u2", "<u8"):
        section = Section(np.dtype(wide).itemsize, ends.astype(wide).tobytes())
        with pytest.raises(kernel.Unreadable, match="'layer_ends' has numbers of"):
            kernel.parse(to_bytes(Certificate(written.header, {**written.sections, "layer_ends": section})))
    header = {**written.header, "claims": {k: v for k, v in written.header["claims"].items() if k != "bound"}}
    sections = {"weights": written.sections["weights"], "prior": Section(1, bytes(15))}
    with pytest.raises(kernel.Unreadable, match="no weight"):
        kernel.check(*kernel.parse(to_bytes(Certificate(header, sections)))[:2])
