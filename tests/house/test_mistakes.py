"""Mistakes people make: each gets an error of ours that says what to do, never an AttributeError."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato import errors

space = sf.line(3)
privacy = sf.PrivacyType(space, alpha="1/2")
mechanism = sf.prove([[4, 1, 1], [2, 2, 2], [1, 1, 4]], privacy)
channel, prior, loss = mechanism.channel, sf.Prior.uniform(space), sf.losses.absolute(space)
table = np.full((3, 3), 1 / 3)

MISTAKES: dict[str, tuple[Any, str]] = {
    "swapped prior and channel": (lambda: sf.hyper(channel, prior), "a prior must be a Prior, found .* Channel"),
    "swapped in a measure": (lambda: sf.posterior_loss(channel, prior, loss), "must be a Prior"),
    "a matrix for a channel": (lambda: sf.satisfies(table, privacy), r"Channel\(space, matrix\) makes one"),
    "a space for a promise": (lambda: sf.satisfies(channel, space), "must be a PrivacyType"),
    "a number for a promise": (lambda: sf.satisfies(channel, 0.5), "must be a PrivacyType"),
    "a list for a prior": (lambda: sf.orders.kantorovich([1, 0, 0], [0, 0, 1], space), r"Prior\(space, weights\)"),
    "a matrix for a loss": (lambda: sf.posterior_loss(prior, channel, table), "must be a Loss"),
    "a number for a space": (lambda: sf.smallest_epsilon(channel, 3), "must be a FiniteSpace"),
    "swapped in a claim": (lambda: sf.certify.claim(mechanism, prior, loss), "must be a Prior"),
    "saving a channel": (lambda: sf.save(channel, "x.sfm"), "must be a Mechanism"),
    "saving a repair": (lambda: sf.save(sf.repair(table, privacy), "x.sfm"), r"\.mechanism"),
    "verifying a number": (lambda: sf.verify(3), "a path, found int"),
    "floats to prove": (lambda: sf.prove(table, privacy), "found float64: repair"),
    "strings to prove": (lambda: sf.prove([["1/2", "1/2"]] * 3, privacy), r"Channel\(space"),
    "a truth value for epsilon": (lambda: sf.PrivacyType(space, epsilon=True), "epsilon must be"),
    "counts after the space": (lambda: sf.Prior.from_counts(space, [1, 2, 3]), "counts first"),
    "a negative count": (lambda: sf.Prior.from_counts([1, -1, 1], space), "the count of 1 is negative"),
    "an unknown secret": (lambda: sf.Prior.point(space, 9), "9 is not among 0, 1, 2"),
    "an unknown row": (lambda: sf.channels.restrict(channel, [0, 9]), "9 is not among 0, 1, 2"),
    "a word among numbers": (lambda: sf.Channel(range(2), [[1, 0], ["x", 1]]), r"at index \(1, 0\)"),
    "labels without a difference": (lambda: sf.losses.absolute(sf.grid(2, 2)), r"distance\(\) takes any space"),
    "a query that fails": (lambda: sf.query(lambda db: 1 // db[0], values=[1, 0], individuals=1), r"database \(0,\)"),
    "an answer that is a list": (lambda: sf.query(list, values=[0, 1], individuals=1), "unhashable"),
    "a very negative entry": (lambda: sf.repair([[1.3, -0.3, 0], [0, 1, 0], [0, 0, 1.0]], privacy), "too negative"),
    "coordinates of another length": (lambda: sf.FiniteSpace([0], [[0]], coordinates=np.eye(2)), "2 coordinates"),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_the_error_helps(name: str) -> None:
    mistake, words = MISTAKES[name]
    with pytest.raises(errors.InvalidInput, match=words):
        mistake()


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(errors.InvalidInput, match=r"there is no folder .*nowhere"):
        sf.save(mechanism, tmp_path / "nowhere" / "x.sfm")


def test_mechanisms_are_taken_for_their_channels() -> None:
    assert sf.capacity(mechanism) == sf.capacity(channel)  # type: ignore[arg-type]
    assert sf.satisfies(mechanism, privacy)  # type: ignore[arg-type]
    assert sf.smallest_epsilon(mechanism, privacy) == sf.smallest_epsilon(channel, space)  # type: ignore[arg-type]
    assert sf.posterior_loss(prior, mechanism, loss) == sf.posterior_loss(prior, channel, loss)  # type: ignore[arg-type]
    assert sf.channels.restrict(mechanism, [0]).secrets == (0,)  # type: ignore[arg-type]
    assert sf.refines(mechanism, channel)  # type: ignore[arg-type]


def test_small_priors_show_their_weights() -> None:
    assert repr(sf.Prior(["a", "b"], ["1/3", "2/3"])) == "Prior('a': 1/3, 'b': 2/3)"
    assert repr(sf.Prior.uniform(range(20))) == "Prior(20 secrets, exact)"
