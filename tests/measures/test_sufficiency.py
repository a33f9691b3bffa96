from __future__ import annotations

import pytest

import sfumato as sf
from sfumato import losses as L
from sfumato.errors import InvalidInput
from sfumato.measures.sufficiency import UtilityMeasure, respects_sufficiency
from sfumato.measures.utility import bayes_utility, expected_utility, gram_determinant


def test_the_survey_is_found_as_it_was_published() -> None:
    """Kifer and Lin 2012, Fig. 8: answers that are true with probability 2/3, and "yes" whatever is true."""
    prior = sf.Prior(["yes", "no"], ["3/4", "1/4"])
    measure = expected_utility(prior, L.bin(prior))
    verdict = respects_sufficiency(measure)
    assert not verdict
    channel, processing = verdict.witness
    assert [[str(v) for v in row] for row in channel.matrix] == [["2/3", "1/3"], ["1/3", "2/3"]]
    assert sf.cascade(channel, processing).matrix.tolist() == [[1, 0], [1, 0]]
    assert "from -1/3 to -1/4" in verdict.reason
    assert respects_sufficiency(bayes_utility(prior, L.bin(prior)))


def test_the_volume_of_rows_is_refuted_exactly() -> None:
    """Example 3.2.2: √|det C·Cᵀ| is compared by its square, a rational."""
    verdict = respects_sufficiency(gram_determinant)
    assert not verdict
    channel, processing = verdict.witness
    after = sf.cascade(channel, processing)
    assert gram_determinant.compared(after) > gram_determinant.compared(channel)
    assert len(after.outputs) < len(channel.outputs)


@pytest.mark.parametrize("n", [2, 3, 6])
def test_expected_loss_is_refuted_for_any_number_of_secrets(n: int) -> None:
    space = sf.line(n)
    measure = expected_utility(sf.Prior.uniform(space), L.absolute(space))
    verdict = respects_sufficiency(measure)
    assert not verdict
    channel, processing = verdict.witness
    assert measure(sf.cascade(channel, processing)) > measure(channel)


def test_splitting_is_tried() -> None:
    """The number of outputs grows when an output is split by the toss of a coin, which tells nothing."""
    verdict = respects_sufficiency(lambda channel: len(channel.outputs))
    assert not verdict
    channel, processing = verdict.witness
    assert len(processing.outputs) > len(channel.outputs)
    assert sf.refines(channel, sf.cascade(channel, processing))


def test_a_measure_that_may_be_good_is_left_open() -> None:
    def information(channel: sf.Channel) -> float:
        return sf.measures.mutual_information(sf.Prior.uniform(channel.secrets), channel)

    verdict = respects_sufficiency(information, tries=60, secrets=3)
    assert not verdict.decided
    structured, tries = verdict.witness
    assert structured > 400 and tries == 60
    assert "60 random pairs with up to 3 secrets" in verdict.reason


def test_square_measures_meet_square_channels_only() -> None:
    shapes = set()

    def watched(channel: sf.Channel) -> int:
        shapes.add(channel.shape)
        return 0

    assert not respects_sufficiency(UtilityMeasure("nothing", watched, square=True), tries=30, secrets=3).decided
    assert {(2, 2), (3, 3)} <= shapes and all(m <= n for n, m in shapes)


def test_bad_measures() -> None:
    with pytest.raises(InvalidInput, match="a function of channels"):
        respects_sufficiency(3)  # type: ignore[arg-type]
    for value in (None, float("nan"), True):
        with pytest.raises(InvalidInput, match="the measure must give a number"):
            respects_sufficiency(lambda channel, value=value: value)  # type: ignore[misc]
    for arguments in ({"secrets": 1}, {"tries": -1}):
        with pytest.raises(InvalidInput, match="must be an integer of at least"):
            respects_sufficiency(len, **arguments)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="Channel"):
        gram_determinant(3)  # type: ignore[arg-type]
