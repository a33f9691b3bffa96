"""Cross tables of answers that were hidden one by one: unbiased, marginals agree, intervals cover."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.certify.amounts import amount
from sfumato.errors import InvalidInput, Mismatch, NotSupported
from sfumato.release.estimation.cross import cross_table, spent_on_answers
from sfumato.release.estimation.estimates import frequencies

SCALE = sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2"))
RESPONSE = sf.random_response(sf.PrivacyType(sf.discrete(["no", "yes"]), epsilon=1))
WIDE = sf.Channel(["no", "yes"], [["1/2", "1/4", "1/4"], ["1/8", "1/4", "5/8"]])
TRUTH = np.array([[0.5, 0.1], [0.19, 0.1], [0.1, 0.01]])


def joint_channel(first: sf.Channel, second: sf.Channel) -> sf.Channel:
    """The Kronecker product, as one channel on pairs."""
    return sf.Channel(
        list(product(first.secrets, second.secrets)),
        np.kron(first.to_floats().matrix, second.to_floats().matrix),
        list(product(first.outputs, second.outputs)),
    )


@pytest.mark.parametrize("second", [RESPONSE.channel, WIDE])
def test_it_is_the_estimate_of_the_product_channel(second: sf.Channel) -> None:
    counts = np.random.default_rng(1).integers(20, 200, size=(3, len(second.outputs)))
    both = cross_table([SCALE, second], counts)
    whole = frequencies(joint_channel(SCALE.channel, second), counts.ravel())
    np.testing.assert_allclose(both.weights.ravel(), whole.weights, atol=1e-12)
    np.testing.assert_allclose(both.standard_errors.ravel(), whole.standard_errors)
    np.testing.assert_allclose(both.intervals("0.9").reshape(-1, 2), whole.intervals("0.9"), atol=1e-12)
    assert both.noise_share == pytest.approx(whole.noise_share)
    for axis in (0, 1):
        marginal = both.marginal(axis)
        np.testing.assert_allclose(both.weights.sum(axis=1 - axis), marginal.weights.astype(float))


def test_its_intervals_cover() -> None:
    channels = [SCALE.channel.to_floats(), RESPONSE.channel.to_floats()]
    chances = channels[0].matrix.T @ TRUTH @ channels[1].matrix
    samples = np.random.default_rng(21).multinomial(2000, chances.ravel(), size=1000)
    ends = np.array([cross_table(channels, sample.reshape(3, 2)).intervals() for sample in samples])
    inside = ((ends[..., 0] <= TRUTH) & (ends[..., 1] >= TRUTH)).mean(axis=0)
    assert ((inside >= 0.93) & (inside <= 0.97)).all(), inside


def test_rows_weights_and_tables_for_people() -> None:
    rows = [[0, 1, 2, 2, 0], ["no", "yes", "yes", "no", "no"]]
    plain, weighted = (
        cross_table([SCALE, RESPONSE], rows),
        cross_table([SCALE, RESPONSE], rows, weights=[1, 2, 1, 1, 3]),
    )
    assert plain.counted.counts.tolist() == [[2, 0], [0, 1], [1, 1]] and plain.total == 5
    assert weighted.counted.totals.tolist() == [[4, 0], [0, 2], [1, 1]] and weighted.weights.sum() == pytest.approx(1)
    frame = cross_table([SCALE, RESPONSE], rows, names=["q1", "q2"]).to_pandas()
    assert frame.columns.tolist() == ["q1", "q2", "share", "standard error", "low", "high"] and len(frame) == 6
    assert str(plain).splitlines()[0].split()[:2] == ["question", "1"] and repr(plain) in str(plain)
    assert len(plain.plot().data) == 2 and plain.inflation > 1


@pytest.mark.parametrize(("channels", "released", "words"), [
    ([SCALE], [[0]], "two questions or more"), ([SCALE, SCALE], [[0], [0, 1]], "rows: all need as many"),
    ([SCALE, SCALE], [[0]], "as many columns"), ([SCALE, RESPONSE], [[0, 7], ["no", "no"]], "row 2: 7"),
    ([SCALE, RESPONSE], np.zeros((3, 2), dtype=int), "at least one row"),
    ([SCALE, RESPONSE], np.ones((2, 2), dtype=int), "cells"),
])  # fmt: skip
def test_what_is_refused(channels: Any, released: Any, words: str) -> None:
    with pytest.raises((InvalidInput, Mismatch), match=words):
        cross_table(channels, released)


def test_too_many_cells_and_wrong_names() -> None:
    long = sf.Channel.identity(range(101)).to_floats()
    with pytest.raises(NotSupported, match="fewer questions"):
        cross_table([long] * 3, [[0]] * 3)
    with pytest.raises(InvalidInput, match="as many names"):
        cross_table([SCALE, SCALE], [[0], [0]], names=["q", "q"])
    with pytest.raises(InvalidInput, match="as many references"):
        cross_table([SCALE, SCALE], [[0], [0]], references=[None])


def test_what_a_respondent_spends_is_the_sum() -> None:
    spent = spent_on_answers([SCALE, RESPONSE], ["q1", "q2"])
    assert spent.total == amount(alpha="1/2") + amount(epsilon=Fraction(1)) and spent.delta == 0
    with pytest.raises(InvalidInput, match="as many names"):
        spent_on_answers([SCALE], [])
