"""Promises about events: ε and δ add up, for the pairs that they are about, and limits hold for both."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.certify.amounts import Amount, amount
from sfumato.certify.charge import Charge
from sfumato.certify.mechanism import Mechanism
from sfumato.errors import BudgetExceeded, InvalidInput, Mismatch
from sfumato.release.ledger.ledger import Ledger

SPACE = sf.line(3)


def design(epsilon: Any, delta: Any, neighbours: Any = None) -> Mechanism:
    under = sf.predicates.epsilon_delta(epsilon=epsilon, delta=delta)
    loss = sf.losses.absolute(SPACE)
    return sf.design(sf.Prior.uniform(SPACE), loss, None, under=(under, neighbours)).mechanism


NEARLY_TRUE = design(5, "1/2")
CLOSE = design(1, "1/10")


def promise(text: str, delta: Any, metric: str = "neighbours") -> Charge:
    exactly = None if delta is None else Fraction(delta)
    return Charge(metric, "", metric, text, f"mechanism {text} {delta}", f"noise {text} {delta}", exactly)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "spent.ledger")


def test_both_add_up(ledger: Ledger) -> None:
    entry = ledger.charge(dataset="d", column="c", mechanism=NEARLY_TRUE)  # was charged ln 2, and no delta
    assert (entry.cost, entry.delta_cost) == (amount(epsilon=5), Fraction(1, 2))
    ledger.charge(dataset="d", column="c", mechanism=CLOSE, times=3)
    spent = ledger.spent("d", "c")
    assert (spent.total, spent.delta) == (amount(epsilon=8), Fraction(4, 5)) and len(spent.parts) == 1
    assert spent.parts[0].delta == Fraction(4, 5) and ledger.spent("d", "e").delta == 0
    with pytest.raises(InvalidInput, match=r"a promise about events .* no distances"):
        spent.between(0, 1, SPACE)


@given(st.integers(0, 2), st.integers(1, 3), st.sampled_from(["1/10", "1/4"]), st.sampled_from(["0", "1/7"]))
@settings(max_examples=12)
def test_what_is_added_up_holds_for_both_outputs_together(e: int, f: int, d: str, g: str) -> None:
    """Basic composition, asked of the pair of outputs, for every pair of neighbours; the sum is what a ledger keeps."""
    one, other = design(Fraction(e, 2), d, SPACE), design(Fraction(f, 2), g, SPACE)
    together = sf.predicates.epsilon_delta(epsilon=Fraction(e + f, 2), delta=Fraction(d) + Fraction(g))
    assert sf.satisfies(sf.parallel(one, other), together, SPACE)


def test_delta_does_not_grow_with_a_distance() -> None:
    """Over two steps (ε, δ) becomes (2ε, δ(1 + e^ε)) and not (2ε, 2δ): a ledger promises nothing about 0 and 2."""
    chain = sf.Channel(SPACE, [["6/10", "4/10"], ["1/10", "9/10"], [0, 1]], ["a", "b"])

    def keeps(alpha: str, delta: str, neighbours: Any) -> bool:
        return bool(sf.satisfies(chain, sf.predicates.epsilon_delta(alpha=alpha, delta=delta), neighbours))

    assert keeps("1/5", "1/10", SPACE) and not keeps("1/25", "2/10", [(0, 2)]) and keeps("1/25", "6/10", [(0, 2)])


def test_limits_hold_for_both(ledger: Ledger) -> None:
    step = promise("epsilon 1/10", "1/100")
    ledger.set_limit(1, delta="3/100")
    for _ in range(3):
        ledger.charge(dataset="d", column="c", mechanism=step)
    with pytest.raises(
        BudgetExceeded, match=r"limit of delta = 3/100, of which 3/100 are spent: .* delta = 1/100"
    ) as error:
        ledger.charge(dataset="d", column="c", mechanism=step)
    assert (error.value.spent, error.value.asked, error.value.limit) == tuple(Fraction(k, 100) for k in (3, 1, 3))
    assert (ledger.left("d", "c"), ledger.left_delta("d", "c")) == (amount(epsilon="7/10"), 0)
    ledger.charge(dataset="d", column="c", mechanism=promise("epsilon 7/10", 0))  # no delta, so no limit of delta
    with pytest.raises(BudgetExceeded, match="limit of 1, of which 1 are spent"):
        ledger.charge(dataset="d", column="c", mechanism=step)
    assert str(ledger.limits()[0]) == "each column: at most 1, with delta at most 3/100"


def test_a_limit_that_names_no_delta_grants_none(ledger: Ledger) -> None:
    ledger.set_limit(10)
    with pytest.raises(BudgetExceeded, match="limit of delta = 0"):
        ledger.charge(dataset="d", column="c", mechanism=CLOSE)
    ledger.charge(dataset="d", column="e", mechanism=promise("epsilon 1", 0))
    ledger.set_limit(10, dataset="d", column="c", delta="1e-9")
    with pytest.raises(BudgetExceeded, match="limit of delta = 1/1000000000"):
        ledger.charge(dataset="d", column="c", mechanism=CLOSE)
    ledger.set_limit(dataset="d", column="c")
    ledger.charge(dataset="d", column="c", mechanism=CLOSE)


def test_limits_of_a_dataset_and_of_scopes(ledger: Ledger) -> None:
    step = promise("epsilon 1/10", "1/100")
    ledger.set_limit(9, dataset="d", delta="1/25")
    ledger.charge(dataset="d", column="c", mechanism=step)
    ledger.charge(dataset="d", column="e", mechanism=step, scope="May", times=2)
    ledger.charge(dataset="d", column="e", mechanism=step, scope="June", times=3)
    spent = ledger.spent("d")
    assert (spent.delta_of("May"), spent.delta_of("June"), spent.delta) == tuple(Fraction(k, 100) for k in (3, 4, 4))
    with pytest.raises(BudgetExceeded, match="on the rows 'June'"):
        ledger.charge(dataset="d", column="c", mechanism=step)
    ledger.charge(dataset="d", column="e", mechanism=step, scope="May")


def test_a_keyed_release_pays_its_delta_once(ledger: Ledger) -> None:
    keyed: dict[str, Any] = {"dataset": "d", "column": "c", "mechanism": CLOSE, "key": b"k", "data": "v1"}
    assert [ledger.charge(**keyed).delta_cost for _ in range(3)] == [Fraction(1, 10), 0, 0]
    assert ledger.spent("d", "c").delta == Fraction(1, 10)


def test_events_and_distances_do_not_mix_in_a_column(ledger: Ledger) -> None:
    ledger.charge(dataset="d", column="c", mechanism=CLOSE)
    for other in (sf.geometric(sf.PrivacyType(SPACE, epsilon=1)), design(1, "1/10", SPACE)):
        with pytest.raises(
            Mismatch, match=r"has the metric of 3 secrets, 6 ordered pairs of neighbours .* since entry 1"
        ):
            ledger.charge(dataset="d", column="c", mechanism=other)
    ledger.charge(dataset="d", column="e", mechanism=sf.geometric(sf.PrivacyType(SPACE, epsilon=1)))
    assert ledger.spent("d").total == amount(epsilon=2) and ledger.spent("d").delta == Fraction(1, 10)


def test_a_limit_is_for_a_new_file_too(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    assert Ledger(path, limit=1, delta="1/10").limits()[0].most_delta == Fraction(1, 10)
    Ledger(path, limit=1, delta=Fraction(1, 10))
    for other in ({}, {"delta": "1/9"}):
        with pytest.raises(
            InvalidInput, match=r"has another limit \(each column: at most 1, with delta at most 1/10\)"
        ):
            Ledger(path, limit=1, **other)  # type: ignore[arg-type]
    assert Ledger(path).left("d", "c") == amount(epsilon=1) != Amount()
