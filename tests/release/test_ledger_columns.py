"""Columns that are released as one secret: what is spent on each of them, and which limits hold."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

import sfumato as sf
from sfumato.errors import BudgetExceeded
from sfumato.release.ledger import Ledger
from sfumato.release.ledger_amounts import Amount, amount
from sfumato.release.ledger_promises import Promise
from sfumato.release.places import Position


def promise(text: str) -> Promise:
    return Promise("line", "", "line", text, f"mechanism {text}", f"noise {text}")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "spent.ledger")


def test_a_limit_on_a_column_holds_whatever_it_is_released_with(ledger: Ledger) -> None:
    unit = promise("epsilon 1")
    ledger.set_limit(2, dataset="d", column="x")
    ledger.charge(dataset="d", column="x", mechanism=unit)
    ledger.charge(dataset="d", column="x, y", mechanism=unit)
    for column in ("x", "x, y", "y, x", "w, x"):
        with pytest.raises(BudgetExceeded, match="column 'x' of 'd' has a limit of 2, of which 2 are spent"):
            ledger.charge(dataset="d", column=column, mechanism=unit)
    ledger.charge(dataset="d", column="y", mechanism=unit, times=7)
    ledger.charge(dataset="d", column="xx, y", mechanism=unit)  # another column, whatever it begins with
    assert {name: str(ledger.spent("d", name).total) for name in ("x", "y", "x, y", "xx", "w")} == {
        "x": "2", "y": "9", "x, y": "10", "xx": "1", "w": "0",
    }  # fmt: skip
    assert ledger.spent("d", ["x", "y"]).total == ledger.spent("d").total == amount(epsilon=10)  # each entry once
    assert ledger.left("d", "x") == ledger.left("d", "x, y") == Amount() and ledger.left("d", "y") is None


def test_a_limit_on_each_column_is_one_on_each_coordinate(ledger: Ledger) -> None:
    unit = promise("epsilon 1")
    ledger.set_limit(2)
    ledger.charge(dataset="d", column="x", mechanism=unit)
    ledger.charge(dataset="d", column="x, y", mechanism=unit)
    with pytest.raises(BudgetExceeded, match="column 'x' of 'd'"):
        ledger.charge(dataset="d", column="x, y", mechanism=unit)
    ledger.charge(dataset="d", column="y", mechanism=unit)  # of y only one was spent
    ledger.set_limit(3, dataset="d", column="x")  # instead of the one for each column, for x alone
    with pytest.raises(BudgetExceeded, match="column 'y' of 'd'"):
        ledger.charge(dataset="d", column="x, y", mechanism=unit)
    ledger.set_limit(5, dataset="d", column="x, y")  # what the pair may cost, in whatever parts
    ledger.charge(dataset="d", column="x, y", mechanism=unit)
    with pytest.raises(BudgetExceeded, match="column 'x' of 'd' has a limit of 3"):
        ledger.charge(dataset="d", column="x", mechanism=unit)
    ledger.charge(dataset="d", column="y", mechanism=unit)
    with pytest.raises(BudgetExceeded, match="column 'x, y' of 'd' has a limit of 5, of which 5 are spent"):
        ledger.charge(dataset="d", column="y", mechanism=unit)


def test_coordinates_that_are_released_together_spend_on_each(ledger: Ledger) -> None:
    """A column and a place that it is a coordinate of, through the release itself."""
    line, plane = (sf.PrivacyType(space, alpha="1/2") for space in (sf.line(3), sf.grid(3, 3)))
    table = pyarrow.table({"x": [0, 1, 2], "y": [2, 1, 0]})
    ledger.set_limit(alpha="1/4", dataset="d", column="x")
    terms: dict[str, Any] = {"ledger": ledger, "dataset": "d"}
    sf.geometric(line).release(table, "x", **terms)
    sf.random_response(plane).release(table, Position("y", "x"), **terms)
    assert ledger.left("d", "x") == Amount()
    for mechanism, column in ((sf.geometric(line), "x"), (sf.random_response(plane), Position("x", "y"))):
        with pytest.raises(BudgetExceeded, match="column 'x' of 'd'"):
            mechanism.release(table, column, **terms)
    sf.geometric(line).release(table, "y", **terms)


def test_a_comma_in_a_name_counts_too_much_and_never_too_little(ledger: Ledger) -> None:
    unit = promise("epsilon 1")
    ledger.set_limit(1, dataset="d", column="last, first")
    ledger.charge(dataset="d", column="last, first", mechanism=unit)
    for column in ("last, first", "last, first, street", "first"):
        with pytest.raises(BudgetExceeded):
            ledger.charge(dataset="d", column=column, mechanism=unit)
