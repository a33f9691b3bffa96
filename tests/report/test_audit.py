from __future__ import annotations

from fractions import Fraction
from math import inf, log
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidChannel, InvalidInput, Mismatch
from sfumato.report.audit import audit
from sfumato.report.audit_rounding import Margins

line = sf.line(4)
half = sf.PrivacyType(line, alpha="1/2")
GEOMETRIC = [["2/3", "1/6", "1/12", "1/12"], ["1/3", "1/3", "1/6", "1/6"],
             ["1/6", "1/6", "1/3", "1/3"], ["1/12", "1/12", "1/6", "2/3"]]  # fmt: skip


def test_a_kept_promise_and_how_good_it_is() -> None:
    found = audit(GEOMETRIC, half)
    assert found.private is True
    assert found.own is not None and found.own.alpha == Fraction(1, 2)
    assert found.epsilon == pytest.approx(log(2))
    assert (found.remapped, found.optimum.loss if found.optimum else None) == (Fraction(17, 24), Fraction(17, 24))
    assert found.excess == (0.0, 0.0)
    assert found.repaired().mechanism.privacy is half
    assert found.repaired().moved < 1e-15
    assert str(found).startswith("holds: ")


def test_a_broken_promise_names_the_pair_and_is_repaired() -> None:
    rounded = [[Fraction(round(float(Fraction(v)) * 1000), 1000) for v in row] for row in GEOMETRIC]
    found = audit(rounded, half)
    assert found.private is False
    assert found.verdict.witness.pair == (1, 0)
    assert found.own is not None and found.own.alpha == Fraction(83, 167)
    assert sf.satisfies(found.channel, found.own)
    fixed = found.repaired()
    assert sf.verify(fixed.mechanism)
    assert fixed.mechanism.privacy is half
    assert fixed.moved < 1e-3


def test_without_a_space_it_is_local_differential_privacy() -> None:
    found = audit([["3/4", "1/4"], ["1/4", "3/4"]])
    assert found.promise is None
    assert found.private is True
    assert found.own is not None and found.own.alpha == Fraction(1, 3)
    assert found.space.name == "discrete(2)"
    assert found.repaired().mechanism.privacy is found.own


def test_a_space_alone_asks_for_the_least_epsilon() -> None:
    found = audit(sf.Channel(line, GEOMETRIC), line)
    assert found.promise is None
    assert found.epsilon == pytest.approx(log(2))
    assert found.optimum is not None and found.optimum.mechanism.privacy is found.own


def test_zeros_and_constants() -> None:
    broken = audit([[1, 0], ["1/2", "1/2"]])
    assert broken.private is False
    assert broken.epsilon == inf
    assert "possible for 1 and not for 0" in broken.verdict.reason
    assert broken.optimum is None
    with pytest.raises(InvalidInput, match="say with epsilon= which one"):
        broken.repaired()
    promised = audit([[1, 0], ["1/2", "1/2"]], sf.PrivacyType(sf.discrete(2), epsilon=1))
    assert sf.verify(promised.repaired().mechanism)
    assert promised.excess is not None and promised.excess[1] < 0  # a broken promise pays
    constant = audit([["1/2", "1/2"], ["1/2", "1/2"]])
    assert (constant.private, constant.epsilon, constant.own) == (True, 0.0, None)
    with pytest.raises(InvalidInput, match="private at any epsilon"):
        constant.repaired()


def test_floats_on_the_border_are_undecided() -> None:
    table = np.array([[2 / 3, 1 / 3], [1 / 3, 2 / 3]])
    third = np.nextafter(1 / 3, 0)
    table[0, 1] = table[1, 0] = third
    found = audit(table, sf.PrivacyType(sf.line(2), alpha="1/2"), optimum=False)
    assert found.private is None
    assert found.optimum is None


def test_a_box_says_how_well_numbers_are_known() -> None:
    rounded = sf.Channel(line, [[Fraction(round(float(Fraction(v)) * 1000), 1000) for v in row] for row in GEOMETRIC])
    found = audit(rounded, half, box=Margins.around(rounded.matrix, rounded.matrix * 0 + Fraction(1, 2000)))
    assert found.private is None and found.verdict.reason.startswith("kept up to the rounding of the numbers: ")
    assert found.nearest is not None
    assert (found.nearest.channel.matrix == sf.Channel(line, GEOMETRIC).matrix).all()
    assert found.nearest.distance == Fraction(1, 3000)
    assert found.nearest.epsilon == pytest.approx(log(2))
    assert found.rates == ("0.693147", "0.699153")
    fixed = found.repaired()
    assert fixed.mechanism.total == 12 and fixed.moved == pytest.approx(2 / 3000)
    assert (fixed.loss_before, fixed.loss_after) == (pytest.approx(0.708), pytest.approx(17 / 24))
    exact = audit(rounded, half, box=Margins.around(rounded.matrix, rounded.matrix * 0))
    assert exact.private is False and exact.box is None


def test_other_priors_losses_and_outputs() -> None:
    prior = sf.Prior.from_counts([1, 0, 0, 3], line)
    loss = sf.losses.bin(line)
    channel = sf.Channel(line, GEOMETRIC, outputs=list("wxyz"))
    found = audit(channel, half, prior, loss)
    assert found.as_is is None
    assert found.remapped == sf.posterior_loss(prior, channel, loss)
    assert found.excess is not None and found.excess[0] >= -1e-12
    apart = sf.graph([(0, 1)], labels=[0, 1, 2])
    nothing = audit(sf.Channel(apart, [["1/2", "1/2"]] * 2 + [[1, 0]]), apart)
    assert nothing.loss is None and nothing.remapped is None and nothing.optimum is None


def test_mechanisms_are_taken_for_their_channels() -> None:
    made = sf.geometric(half)
    assert audit(made, half).private is True
    assert audit(sf.design(sf.Prior.uniform(line), sf.losses.absolute(line), half).mechanism, line).private is True


@settings(max_examples=20)
@given(st.lists(st.lists(st.integers(1, 9), min_size=3, max_size=3), min_size=3, max_size=3))
def test_the_own_type_has_the_channel_in_it_and_no_better_one_loses_more(rows: list[list[int]]) -> None:
    table = [[Fraction(v, sum(row)) for v in row] for row in rows]
    found = audit(table, sf.line(3))
    if found.own is None:
        assert found.epsilon == 0
        return
    assert sf.satisfies(found.channel, found.own)
    assert found.optimum is not None
    assert found.optimum.bound <= found.remapped + Fraction(1, 10**9)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: audit(GEOMETRIC, 0.5), InvalidInput, "PrivacyType or a space, found float"),
        (lambda: audit(GEOMETRIC, sf.line(3)), InvalidChannel, "4 rows for 3 secrets"),
        (lambda: audit(sf.Channel(list("abcd"), GEOMETRIC), line), Mismatch, "channel and space"),
        (lambda: audit("file.csv"), InvalidChannel, "must be a sequence"),
        (lambda: audit([[0.5, 0.4]]), InvalidChannel, "sums to 0.9"),
        (lambda: audit(GEOMETRIC, line, loss=3), InvalidInput, "must be a Loss"),
        (lambda: audit(GEOMETRIC, line, box=0.1), InvalidInput, "must be a Margins"),
        (lambda: audit(GEOMETRIC, line, box=Margins.around(np.eye(2), np.eye(2))), InvalidInput, "has that shape"),
    ],
)
def test_mistakes(call: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        call()


def test_the_default_loss_of_a_sum_is_the_error_of_the_sum() -> None:
    privacy = sf.PrivacyType(sf.sum_query(3, 2), epsilon=1)
    found = audit(sf.exponential(privacy), privacy, optimum=False)
    assert found.loss is not None and found.loss.name == "absolute" and found.loss.at(0, 6) == 6
