"""Columns: those that are released as one secret, what is spent on each, which limits hold, and the metric of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow
import pytest

import sfumato as sf
from sfumato.certify.amounts import Amount, amount
from sfumato.certify.charge import Charge
from sfumato.errors import BudgetExceeded, InvalidInput, Mismatch
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.places import Position
from sfumato.release.streams import release_file


def promise(text: str) -> Charge:
    return Charge("line", "", "line", text, f"mechanism {text}", f"noise {text}")


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


# ----------------------------------------------------------------- a column has one metric


def geometric(space: sf.FiniteSpace, epsilon: str) -> sf.Mechanism:
    return sf.geometric(sf.PrivacyType(space, epsilon=epsilon))


def test_longer_distances_at_a_smaller_epsilon_are_no_way_around_a_limit(ledger: Ledger) -> None:
    """The same matrix, with distances a thousand times as long, would be charged a thousandth."""
    ledger.set_limit(1, dataset="d", column="x")
    honest, stretched = geometric(sf.line(3), "1"), geometric(sf.line(3, step=1000), "1/1000")
    assert (honest.weights == stretched.weights).all()
    ledger.charge(dataset="d", column="x", mechanism=honest)
    with pytest.raises(
        Mismatch, match=r"has the metric of line\(3\) .* since entry 1, and this release that of line\(3\)"
    ):
        ledger.charge(dataset="d", column="x", mechanism=stretched)
    assert ledger.left("d", "x") == Amount() and len(ledger.entries()) == 1


def test_another_epsilon_is_fine_and_another_space_is_not(ledger: Ledger) -> None:
    space = sf.line(3, unit="km")
    ledger.charge(dataset="d", column="x", mechanism=geometric(space, "1"))
    ledger.charge(dataset="d", column="x", mechanism=geometric(sf.line(3, unit="km"), "1/3"), scope="May")
    ledger.charge(dataset="d", column="x", mechanism=sf.random_response(sf.PrivacyType(space, alpha="1/2")))
    as_table = sf.FiniteSpace(space.labels, space.distances.floats.astype(int).tolist(), unit="km")
    for other in (sf.line(3), sf.line(3, unit="m"), sf.line(4, unit="km"), sf.line(3, unit="km", step="1/2"), as_table):
        for scope in ("", "May", "June"):
            with pytest.raises(Mismatch, match=r"metric of line\(3\) in km"):
                ledger.charge(dataset="d", column="x", mechanism=geometric(other, "1"), scope=scope)
    with pytest.raises(Mismatch, match="metric"):
        ledger.charge(dataset="d", column="x", mechanism=sf.mechanisms.InfiniteGeometric(alpha="1/2"))  # type: ignore[arg-type]
    ledger.charge(dataset="e", column="x", mechanism=geometric(sf.line(4), "1"))  # another dataset, another column
    ledger.charge(dataset="d", column="w", mechanism=geometric(sf.line(4, unit="m"), "1"))
    assert [entry.metric for entry in ledger.entries()[:3]] == 3 * [ledger.entries()[0].metric]


def test_a_refused_charge_fixes_nothing(ledger: Ledger) -> None:
    ledger.set_limit(1)
    with pytest.raises(BudgetExceeded):
        ledger.charge(dataset="d", column="x", mechanism=geometric(sf.line(3), "2"))
    ledger.charge(dataset="d", column="x", mechanism=geometric(sf.line(4), "1"))


def test_columns_together_have_a_metric_of_their_own_in_one_unit(ledger: Ledger) -> None:
    ledger.charge(dataset="d", column="x", mechanism=geometric(sf.line(3, unit="km"), "1"))
    plane = sf.random_response(sf.PrivacyType(sf.grid(3, 3, unit="km"), epsilon=1))
    ledger.charge(dataset="d", column="x, y", mechanism=plane)
    other = sf.random_response(sf.PrivacyType(sf.grid(3, 3, unit="km", step=1000), epsilon="1/1000"))
    with pytest.raises(Mismatch, match="metric of grid"):
        ledger.charge(dataset="d", column="y, x", mechanism=other)  # the same two columns
    in_metres = sf.random_response(sf.PrivacyType(sf.grid(3, 3, unit="m"), epsilon=1))
    with pytest.raises(Mismatch, match=r"'x' of 'd' has distances in 'km' since entry 1, and this release in 'm'"):
        ledger.charge(dataset="d", column="w, x", mechanism=in_metres)
    ledger.charge(dataset="d", column="y", mechanism=geometric(sf.line(3, unit="km"), "1"))
    assert str(ledger.spent("d", "x").total) == "2"


def test_a_mechanism_file_has_the_metric_it_was_saved_with(ledger: Ledger, tmp_path: Path) -> None:
    """What is proved here and what is loaded there are charged to one column."""
    for k, space in enumerate((sf.line(4, step="1/3"), sf.grid(2, 3), sf.points([[0, 0], [1, 2], [3.5, 1]]),
                               sf.graph([("a", "b", 1), ("b", "c", "3/2"), ("a", "c", 9)]))):  # fmt: skip
        mechanism = sf.exponential(sf.PrivacyType(space, epsilon=1))
        sf.save(mechanism, tmp_path / "m.sfm", overwrite=True)
        for made in (mechanism, sf.load(tmp_path / "m.sfm")):
            ledger.charge(dataset="d", column=f"column {k}", mechanism=made)
        assert len({entry.metric for entry in ledger.entries()}) == k + 1


# ----------------------------------------------------------------- a dataset has one name


def test_a_ledger_asks_for_the_name_of_the_data(ledger: Ledger, tmp_path: Path) -> None:
    table, mechanism = pyarrow.table({"x": [0, 1, 2]}), geometric(sf.line(3), "1")
    (tmp_path / "in.csv").write_text("x\n0\n1\n")
    for dataset in (None, "", 5, b"d", 1.0):
        for made in (
            lambda dataset=dataset: mechanism.release(table, "x", ledger=ledger, dataset=dataset),
            lambda dataset=dataset: release_file(
                mechanism, tmp_path / "in.csv", tmp_path / "out.csv", "x", ledger=ledger, dataset=dataset
            ),
        ):
            with pytest.raises(InvalidInput, match="stays the same wherever they are copied to"):
                made()
    assert not ledger.entries() and not (tmp_path / "out.csv").exists()
    with pytest.raises(InvalidInput, match=r"Ledger\(path\) opens one"):
        mechanism.release(table, "x", ledger=str(ledger.path), dataset="d")
    for alone in ({"dataset": "d"}, {"times": 2}):
        with pytest.raises(InvalidInput, match="are for a ledger"):
            mechanism.release(table, "x", **alone)
