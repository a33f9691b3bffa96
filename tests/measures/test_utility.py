from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import sfumato as sf
from sfumato import losses as L
from sfumato.errors import InvalidInput, Mismatch
from sfumato.measures.branching import Branch, Unbranched, branching
from sfumato.measures.sufficiency import SufficiencyGround
from sfumato.measures.utility import (
    BRANCHES,
    bayes_utility,
    branching_measure,
    chi_squared,
    determinant,
    discrimination,
    divergence_utility,
    dobrushin,
    expected_utility,
    gram_determinant,
    respects_sufficiency,
    shannon,
    total_variation,
)

FLIP = sf.Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])


def test_values_by_hand() -> None:
    assert determinant(FLIP) == Fraction(1, 3)
    assert determinant(FLIP.to_floats()) == pytest.approx(1 / 3)
    assert gram_determinant(FLIP) == pytest.approx(1 / 3)
    assert gram_determinant(FLIP.to_floats()) == pytest.approx(1 / 3)
    assert dobrushin(FLIP) == discrimination(FLIP) == Fraction(-2, 3)
    assert dobrushin(sf.Channel.constant([0])) == -1
    three = sf.Channel(range(3), [[1, 0, 0], ["1/2", "1/2", 0], [0, "1/2", "1/2"]])
    assert (dobrushin(three), discrimination(three)) == (0, Fraction(-1, 2))
    assert BRANCHES["total_variation"](FLIP) == Fraction(1, 3)
    assert BRANCHES["chi_squared"](FLIP) == Fraction(2, 9)
    assert BRANCHES["bayes"](FLIP) == sf.capacity(FLIP).multiplicative
    assert [branch(np.zeros(2)) for branch in (shannon, chi_squared, total_variation)] == [0, 0, 0]


def test_the_determinant_counts_outputs_that_occur() -> None:
    assert determinant(sf.Channel([0, 1], [["2/3", "1/3", 0], ["1/3", "2/3", 0]])) == Fraction(1, 3)
    assert determinant(sf.Channel.constant([0, 1])) == 0
    assert determinant(sf.Channel.constant([0, 1]).to_floats()) == 0
    with pytest.raises(InvalidInput, match="gram_determinant takes any"):
        determinant(sf.Channel([0, 1], [["1/3", "1/3", "1/3"], ["1/2", "1/4", "1/4"]]))


def test_named_measures_are_the_old_acquaintances() -> None:
    prior = sf.Prior([0, 1, 2], ["1/2", "1/3", "1/6"])
    channel = sf.Channel(range(3), [["1/2", "1/2", 0], ["1/4", "1/2", "1/4"], [0, "1/3", "2/3"]])
    for exact in (channel, channel.to_floats()):
        assert divergence_utility(prior, "entropy")(exact) == pytest.approx(
            sf.measures.mutual_information(prior, exact)
        )
        loss, gain = L.absolute(sf.line(3)), L.guess(prior)
        assert bayes_utility(prior, loss)(exact) == pytest.approx(-sf.posterior_loss(prior, exact, loss))
        assert bayes_utility(prior, gain)(exact) == pytest.approx(
            sf.measures.posterior_vulnerability(prior, exact, gain)
        )
        assert expected_utility(prior, loss)(exact) == pytest.approx(-sf.expected_loss(prior, exact, loss))
    assert bayes_utility(prior, L.bin(prior))(channel) == -sf.measures.bayes_risk(prior, channel)


def test_overlaps_of_many_rows_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    matrix = np.random.default_rng(0).dirichlet(np.ones(5), size=40)
    channel = sf.Channel(range(40), matrix)
    whole = dobrushin(channel), discrimination(channel)
    monkeypatch.setattr("sfumato.measures.utility._CHUNK", 12)
    assert (dobrushin(channel), discrimination(channel)) == whole
    pairs = [np.minimum(a, b).sum() for i, a in enumerate(channel.matrix) for b in channel.matrix[:i]]
    assert whole == pytest.approx((-min(pairs), -max(pairs)))


@pytest.mark.parametrize("measure", [determinant, dobrushin, discrimination, *BRANCHES.values()], ids=lambda m: m.name)
def test_what_is_proved_names_its_theorem_and_hypotheses(measure: object) -> None:
    verdict = respects_sufficiency(measure)  # type: ignore[arg-type]
    assert verdict
    assert isinstance(verdict.witness, SufficiencyGround)
    assert "Kifer and Lin 2012" in verdict.reason and all(text in verdict.reason for text in verdict.witness.hypotheses)
    assert verdict.witness.hypotheses


def test_a_black_box_is_searched_before_it_is_taken() -> None:
    with pytest.raises(InvalidInput, match="no branching measure: F is not convex") as caught:
        branching_measure("concave", lambda column: -max(column))
    found = caught.value.witness  # type: ignore[attr-defined]
    assert isinstance(found, Unbranched)
    after = sf.cascade(found.channel, found.processing)
    assert branching(after, lambda column: -max(column)) > branching(found.channel, lambda column: -max(column))
    measure = branching_measure("largest", max, tries=20)
    verdict = respects_sufficiency(measure, tries=20)
    assert not verdict.decided
    assert "black box" in verdict.reason and "20 random pairs" in verdict.reason


def test_a_measure_of_given_secrets_keeps_to_them() -> None:
    prior = sf.Prior(["a", "b", "c"], ["1/2", "1/4", "1/4"])
    assert bayes_utility(prior, L.bin(prior)).secrets == ("a", "b", "c")
    weights = {"a": 1, "b": 2, "c": 3}
    measure = branching_measure(
        "weighted", lambda column: max(w * v for w, v in zip(weights.values(), column, strict=True)),
        secrets=("a", "b", "c"), tries=20,
    )  # fmt: skip
    assert measure.secrets == ("a", "b", "c")
    assert not respects_sufficiency(measure, tries=5).decided
    with pytest.raises(Mismatch):
        bayes_utility(prior, L.bin([0, 1]))
    with pytest.raises(InvalidInput, match="Gain or a Loss"):
        bayes_utility(prior, 3)  # type: ignore[arg-type]
    assert isinstance(shannon, Branch)
