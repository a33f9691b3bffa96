"""Entries by label, tables for NumPy and pandas."""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, Mismatch, MissingExtra

CITIES = sf.Channel(["Rome", "Paris"], [["2/3", "1/3"], ["1/4", "3/4"]], ["Rome", "Paris"])
GRID = sf.PrivacyType(sf.grid(2, 2), alpha="1/2")


def test_a_pair_is_a_probability_and_a_secret_a_distribution() -> None:
    assert CITIES["Rome", "Paris"] == Fraction(1, 3)
    row = CITIES["Paris"]
    assert isinstance(row, sf.Prior)
    assert (row["Rome"], row["Paris"]) == (Fraction(1, 4), Fraction(3, 4))


def test_cells_of_a_grid_are_labels() -> None:
    mechanism = sf.exponential(GRID)
    assert mechanism[(0, 0), (1, 1)] == mechanism.channel.matrix[0, 3]
    assert mechanism[0, 1][0, 1] == mechanism.channel.matrix[1, 1]
    assert (np.asarray(mechanism, dtype=object) == mechanism.channel.matrix).all()
    assert mechanism.to_pandas(exact=True).loc[[(0, 1)]].to_numpy().tolist() == [mechanism.channel.matrix[1].tolist()]


@pytest.mark.parametrize("key", [-1, 2, slice(0, 1), "Berlin", ("Rome", 0), (0, "Rome"), None, [0], True])
def test_positions_are_no_labels(key: Any) -> None:
    with pytest.raises(Mismatch):
        CITIES[key]


def test_one_is_not_true() -> None:
    channel = sf.Channel([0, 1], [[1, 0], [0, 1]])
    assert channel[1, 1.0] == 1
    with pytest.raises(Mismatch):
        channel[True, 1]


def test_a_label_that_is_also_a_pair_is_refused() -> None:
    channel = sf.Channel([0, (0, 1)], [[1, 0], [0, 1]], [0, 1])
    with pytest.raises(InvalidInput, match="labels must tell these apart"):
        channel[0, 1]
    assert channel[(0, 1), 1] == 1


@pytest.mark.parametrize("value", [CITIES, sf.Prior.uniform([0, 1]), sf.losses.bin([0, 1])])
def test_nothing_goes_through_positions(value: Any) -> None:
    with pytest.raises(TypeError, match="not iterable"):
        list(value)


def test_a_loss_takes_an_action_and_a_secret() -> None:
    loss = sf.Loss(["take", "leave"], ["rain", "sun"], [[1, 1], [5, 0]])
    assert loss["leave", "rain"] == 5
    with pytest.raises(InvalidInput, match="found 'leave' alone"):
        loss["leave"]


def test_numpy_gets_doubles_or_fractions() -> None:
    assert np.asarray(CITIES).dtype == np.float64
    assert np.asarray(CITIES, dtype=object)[0, 0] == Fraction(2, 3)
    assert np.asarray(CITIES, dtype=np.float32).dtype == np.float32
    numbers = CITIES.to_floats()
    assert np.shares_memory(np.asarray(numbers), numbers.matrix) and not np.asarray(numbers).flags.writeable
    assert np.array(numbers).flags.writeable
    with pytest.raises(ValueError, match="copy"):
        np.array(CITIES, copy=False)


def test_a_hyper_and_other_results_as_frames() -> None:
    space = sf.line(3)
    privacy, prior, loss = sf.PrivacyType(space, alpha="1/2"), sf.Prior.uniform(space), sf.losses.absolute(space)
    mechanism = sf.geometric(privacy)
    hyper = sf.hyper(prior, mechanism.channel)
    frame = hyper.to_pandas(exact=True)
    assert frame["weight"].tolist() == hyper.outer.tolist() and frame[2].tolist() == hyper.inners[2].tolist()
    compared = sf.compare_known(prior, loss, privacy)
    assert compared.to_pandas().loc["optimal", "remapped"] == float(compared["optimal"].remapped)
    curve = sf.curve(prior, loss, space, [1, 2])
    assert curve.to_pandas().index.tolist() == [1.0, 2.0]
    shares = sf.frequencies(mechanism.channel, [0, 0, 1, 2, 2])
    assert shares.to_pandas()["share"].tolist() == [float(weight) for weight in shares.weights]
    audit = sf.audit(mechanism.channel, privacy)
    assert audit.to_pandas().loc[0, ["outcome", "epsilon"]].tolist() == ["holds", audit.epsilon]
    posteriors = sf.release.posteriors(prior, mechanism.channel)
    assert posteriors.to_pandas().loc[1].tolist() == [float(p) for p in posteriors.of(1).weights]


def test_without_pandas_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(MissingExtra, match=r"pip install 'sfumato\[pandas\]'"):
        CITIES.to_pandas()
