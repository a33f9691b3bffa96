"""Names of a ledger: those that no reader tells apart begin no second account."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.ledger.names import looks

HALF = sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2"))
ALIKE = ["people ", " people", "People", "PEOPLE", "people\t", "peo\u200bple", "\u200fpeople", "people\u00a0",
         "p\u0435ople", "\uff50eople", "people_", "pe\u00adople"]  # fmt: skip


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    made = Ledger(tmp_path / "spent.ledger", limit=2)
    made.charge(dataset="people", column="home", mechanism=HALF, scope="May 2026")
    return made


@pytest.mark.parametrize("name", ALIKE)
def test_a_dataset_that_looks_like_another_is_refused_at_every_door_of_a_ledger(name: str, ledger: Ledger) -> None:
    for ask in (
        lambda: ledger.charge(dataset=name, column="home", mechanism=HALF),
        lambda: ledger.set_limit(9, dataset=name),
        lambda: ledger.spent(name),
        lambda: ledger.left(name, "home"),
    ):
        with pytest.raises(InvalidInput, match="looks like 'people', which the ledger has"):
            ask()
    assert len(ledger.entries()) == 1 and len(ledger.limits()) == 1


def test_columns_and_scopes_that_look_alike_are_refused_too(ledger: Ledger) -> None:
    for column, scope, words in (("Home", "", "column 'Home' looks like 'home'"),
                                 ("work, home ", "", "column 'home ' looks like 'home'"),
                                 ("home", "may-2026", "scope 'may-2026' looks like 'May 2026'")):  # fmt: skip
        with pytest.raises(InvalidInput, match=words):
            ledger.charge(dataset="people", column=column, mechanism=HALF, scope=scope)
    ledger.set_limit(5, dataset="villages", column="work")
    with pytest.raises(InvalidInput, match="looks like 'villages'"):
        ledger.charge(dataset="Villages", column="work", mechanism=HALF)
    with pytest.raises(InvalidInput, match="looks like 'work'"):
        ledger.charge(dataset="villages", column="Work", mechanism=HALF)


def test_names_that_differ_are_names_of_their_own(ledger: Ledger) -> None:
    for name in ("people 2026", "people2", "peoples", "person", "人", "人々", "-", "+", "1-11", "11-1"):
        ledger.charge(dataset=name, column="home", mechanism=HALF)
    assert ledger.datasets() == (
        "people", "people 2026", "people2", "peoples", "person", "人", "人々", "-", "+", "1-11", "11-1",
    )  # fmt: skip
    assert looks("a_b") == looks("A  b") != looks("ab")
