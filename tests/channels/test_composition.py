from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, Mismatch
from strategies import channels

half = Fraction(1, 2)
noisy = sf.Channel([0, 1], [["3/4", "1/4"], ["1/4", "3/4"]], outputs=["zero", "one"])


def test_cascade_multiplies_and_checks_labels() -> None:
    merged = sf.cascade(noisy, sf.Channel(["zero", "one"], [[1], [1]], outputs=["all"]))
    assert merged.outputs == ("all",)
    assert merged.secrets == (0, 1)
    with pytest.raises(Mismatch, match="outputs of the first channel"):
        sf.cascade(noisy, noisy)
    with pytest.raises(Mismatch, match="order"):
        sf.cascade(noisy, sf.Channel(["one", "zero"], [[1], [1]]))


def test_remap_adds_columns_with_one_image() -> None:
    assert sf.remap(noisy, {"zero": "?", "one": "?"}).matrix.tolist() == [[1], [1]]
    assert sf.remap(noisy, str.upper).outputs == ("ZERO", "ONE")


def test_parallel_outputs_are_pairs() -> None:
    both = sf.parallel(noisy, noisy)
    assert both.outputs[1] == ("zero", "one")
    assert both.matrix[0].tolist() == [Fraction(9, 16), Fraction(3, 16), Fraction(3, 16), Fraction(1, 16)]
    with pytest.raises(Mismatch):
        sf.parallel(noisy, sf.Channel.identity(["a", "b"]))


def test_external_choice_tells_which() -> None:
    chosen = sf.channels.choice("1/4", noisy, sf.Channel.constant([0, 1]))
    assert chosen.outputs == (("first", "zero"), ("first", "one"), ("second", 0))
    assert chosen.matrix[:, 2].tolist() == [Fraction(3, 4)] * 2
    assert (
        sf.channels.choice(0.3, noisy, noisy).matrix.tolist()
        == sf.channels.choice("3/10", noisy, noisy).matrix.tolist()
    )  # a float that is typed is a decimal
    for bad in (2, -1, "5/4"):
        with pytest.raises(InvalidInput):
            sf.channels.choice(bad, noisy, noisy)


def test_restriction_and_oblivious_mechanisms() -> None:
    assert sf.channels.restrict(noisy, [1]).matrix.tolist() == [[Fraction(1, 4), Fraction(3, 4)]]
    with pytest.raises(Mismatch, match="7"):
        sf.channels.restrict(noisy, [0, 7])
    words = sf.hamming(2)
    made = sf.channels.oblivious(noisy, lambda w: w.count("1") % 2, words)
    assert made.secrets == words.labels
    assert made.row("11").tolist() == noisy.row(0).tolist()
    with pytest.raises(Mismatch):
        sf.channels.oblivious(noisy, lambda w: w.count("1"), words)


@given(st.data())
def test_floats_follow_rationals(data: st.DataObject) -> None:
    first = data.draw(channels())
    second = data.draw(channels(first.outputs))
    exact = sf.cascade(first, second)
    floating = sf.cascade(first.to_floats(), second)
    assert not floating.exact
    assert np.allclose(floating.matrix, exact.matrix.astype(float), atol=1e-15)
    assert np.allclose(
        sf.parallel(first.to_floats(), first).matrix, sf.parallel(first, first).matrix.astype(float), atol=1e-15
    )
