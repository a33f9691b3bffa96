"""The demonstration: from a city grid to a mechanism file that the bare kernel accepts."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import numpy as np

import sfumato as sf
from sfumato.certify import kernel
from sfumato.errors import PrivacyViolation

__all__ = ["city"]

# Residents (thousands) of an invented town, cells of 500 m, river through the middle.
_RESIDENTS = [
    [2, 3, 4, 3, 1, 0, 2, 3],
    [3, 6, 8, 5, 0, 1, 4, 5],
    [4, 9, 14, 9, 0, 3, 8, 6],
    [3, 8, 12, 7, 0, 5, 11, 7],
    [1, 3, 5, 2, 0, 6, 13, 8],
    [0, 0, 0, 0, 2, 7, 9, 5],
    [2, 3, 4, 4, 3, 5, 6, 3],
    [1, 2, 3, 3, 2, 2, 3, 1],
]
_EPSILON = "2"  # per km


def city(directory: Path, as_json: bool = False) -> Iterator[str]:
    """Run the demonstration, yielding what to print."""
    space = sf.grid(8, 8, step="1/2", unit="km")
    prior = sf.Prior.from_counts([count for row in _RESIDENTS for count in row], space)
    loss = sf.losses.distance(space)
    privacy = sf.PrivacyType(space, epsilon=_EPSILON)

    # The exponential mechanism by hand: half the rate is what its normalisation may cost.
    scores = np.exp(-privacy.rate / 2 * space.distances.floats)
    by_hand = sf.Channel(space, scores / scores.sum(axis=1, keepdims=True), space.labels)
    least = sf.smallest_epsilon(by_hand, space)
    repaired = sf.repair(by_hand, privacy, prior=prior, loss=loss)
    mechanism = sf.claim(prior, repaired.mechanism, loss)
    assert mechanism.claim is not None and mechanism.proof.loss is not None

    directory.mkdir(parents=True, exist_ok=True)
    file = directory / "city.sfm"
    digest = sf.save(mechanism, file)
    bare = subprocess.run(
        [sys.executable, "-I", "-S", kernel.__file__, str(file)], capture_output=True, text=True, check=False
    )
    channel = mechanism.channel
    leaks = sf.leakage(prior, channel)
    capacities = sf.capacity(channel)
    blind = sf.prior_loss(prior, loss)
    record = {
        "secrets": len(space), "epsilon_per_km": float(Fraction(_EPSILON)), "smallest_epsilon": least,
        "expected_loss_km": float(mechanism.proof.loss), "loss_without_disclosure_km": float(blind),
        "bayes_leakage": float(leaks), "multiplicative_capacity": float(capacities.multiplicative),
        "additive_capacity": float(capacities.additive), "file": str(file), "sha256": digest,
        "kernel_exit_status": bare.returncode,
    }  # fmt: skip
    if as_json:
        yield json.dumps(record)
        return
    yield f"A town of {len(space)} cells, 500 m wide, with a population prior; promise: epsilon = {_EPSILON} per km."
    yield f"Exponential mechanism by hand: its floats need epsilon = {least:.6f} per km."
    yield f"Repaired to integer weights: {repaired}."
    yield f"Proved: {mechanism.proof}"
    yield ""
    yield "What an adversary can tell: an output is at most"
    yield f"{np.exp(privacy.rate / 2):.2f} times as likely for one place as for another 500 m away, and at most"
    yield f"{np.exp(privacy.rate):.2f} times for 1 km."
    yield f"Expected distance after the best remap: {record['expected_loss_km']:.4f} km"
    yield f"(without any disclosure: {record['loss_without_disclosure_km']:.4f} km)."
    yield f"Chance to guess the cell: {float(sf.bayes_vulnerability(prior, channel)):.4f},"
    yield f"which is {record['bayes_leakage']:.3f} times the chance beforehand."
    yield f"Whatever the prior and the gain, no more than a factor {record['multiplicative_capacity']:.3f} leaks"
    yield f"(and no vulnerability between 0 and 1 grows by more than {record['additive_capacity']:.3f})."
    yield ""
    yield f"Wrote {file}; a bare Python without packages says:"
    yield bare.stdout.strip() or bare.stderr.strip()
    if bare.returncode:
        raise PrivacyViolation(f"the bare kernel ended with status {bare.returncode}")
