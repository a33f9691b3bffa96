from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import sfumato as sf
from sfumato import losses as L
from sfumato.errors import InvalidInput
from sfumato.measures import (
    BRANCHES,
    bayes_utility,
    branching_measure,
    determinant,
    discrimination,
    dobrushin,
    expected_utility,
    gram_determinant,
    respects_sufficiency,
)
from strategies import channels


@given(st.data())
def test_measures_with_a_theorem_never_rise(data: st.DataObject) -> None:
    channel = data.draw(channels())
    processing = data.draw(channels(channel.outputs))
    after = sf.cascade(channel, processing)
    for measure in (dobrushin, discrimination, *BRANCHES.values()):
        assert measure(after) <= measure(channel) + (0 if measure is not BRANCHES["shannon"] else 1e-12)
        assert respects_sufficiency(measure)
    square = data.draw(channels(channel.secrets, outputs=len(channel.secrets)))
    worse = sf.cascade(square, data.draw(channels(square.outputs, outputs=len(square.outputs))))
    assert determinant(worse) <= determinant(square)


def test_published_counter_examples_are_found() -> None:
    prior = sf.Prior(["yes", "no"], ["3/4", "1/4"])
    for measure in (gram_determinant, expected_utility(prior, L.bin(prior))):
        verdict = respects_sufficiency(measure)
        assert not verdict
        channel, processing = verdict.witness
        assert measure(sf.cascade(channel, processing)) > measure(channel)
    assert respects_sufficiency(bayes_utility(prior, L.bin(prior)))


def test_a_function_that_is_not_convex_is_refuted_and_one_that_is_stays_undecided() -> None:
    concave = branching_measure("concave", lambda column: -max(column))
    assert not respects_sufficiency(concave)
    unknown = branching_measure("unknown", max)
    verdict = respects_sufficiency(unknown, tries=50)
    assert not verdict.decided
    assert "50 small channels" in verdict.reason


def test_values_by_hand() -> None:
    flip = sf.Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    assert determinant(flip) == Fraction(1, 3)
    assert determinant(flip.to_floats()) == pytest.approx(1 / 3)
    assert gram_determinant(flip) == pytest.approx(1 / 3)
    assert gram_determinant(flip.to_floats()) == pytest.approx(1 / 3)
    assert dobrushin(flip) == discrimination(flip) == Fraction(-2, 3)
    assert dobrushin(sf.Channel.constant([0])) == -1
    assert BRANCHES["total_variation"](flip) == Fraction(1, 3)
    assert BRANCHES["chi_squared"](flip) == Fraction(2, 9)
    with pytest.raises(InvalidInput, match="as many outputs"):
        determinant(sf.Channel.constant([0, 1]))
