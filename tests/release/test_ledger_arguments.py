"""Whatever is said to a ledger: it is an error of ours, or the file opens and says the same.

Names of a ledger: those that no reader tells apart begin no second account.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

import sfumato as sf
from sfumato.certify.amounts import amount
from sfumato.certify.charge import Charge
from sfumato.certify.protocol import charge_of
from sfumato.errors import InvalidEpsilon, InvalidInput, SfumatoError
from sfumato.release.ledger.arguments import looks
from sfumato.release.ledger.ledger import Ledger

FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None  # where waiting for a disk is not what is tested
HALF = sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2"))


class Name(StrEnum):
    HOME = "home"


class Loud(str):
    __slots__ = ()

    def __str__(self) -> str:
        return self.upper()


ODD: list[Any] = [
    None, True, False, 0, 1, 5, -1, 1.0, 0.5, float("nan"), float("inf"), 2**53, 2**63, 2**64, 10**5000, 1j,
    "", " ", "5", "1/0", "x, y", "\0", "a\0b", "\ud800", "é\u0301", "x" * 20_000, "';--", Name.HOME, Loud("quiet"),
    b"", b"km", bytearray(b"km"), (), [], {}, set(), ["a", "a"], ["a", 1], [None], "home\n", Path("home"),
    np.int64(3), np.uint8(3), np.float64(2), np.str_("km"), np.bool_(True), np.array([1]), Decimal("0.1"),
    Fraction(1, 3), Fraction(1, 3**9000), amount(alpha="1/2"), amount(epsilon=1) + amount(alpha="1/2"), HALF, object(),
]  # fmt: skip

FIELDS = ("space", "unit", "metric", "text", "mechanism", "noise", "delta")


def odd_promise(field: str, value: Any) -> Charge:
    return Charge(**{name: getattr(charge_of(HALF), name) for name in FIELDS} | {field: value})


CALLS: dict[str, Callable[[Ledger, Any], Any]] = {
    **{f"charge {name}": lambda ledger, odd, name=name: ledger.charge(**charge() | {name: odd})
       for name in ("dataset", "column", "mechanism", "times", "rows", "scope", "data", "token", "note", "key")},
    **{f"promise {name}": lambda ledger, odd, name=name: ledger.charge(**charge(odd_promise(name, odd)))
       for name in FIELDS},
    **{f"limit {name}": lambda ledger, odd, name=name: ledger.set_limit(**{"limit": 2, "dataset": "d"} | {name: odd})
       for name in ("limit", "dataset", "column", "delta", "unit")},
    "limit alpha": lambda ledger, odd: ledger.set_limit(alpha=odd),
    "spent": lambda ledger, odd: ledger.spent(odd),
    "spent column": lambda ledger, odd: ledger.spent("d", odd),
    "left": lambda ledger, odd: ledger.left(odd, "c"),
    "left column": lambda ledger, odd: ledger.left("d", odd),
    "left_delta": lambda ledger, odd: ledger.left_delta("d", odd),
    "open with a limit": lambda ledger, odd: Ledger(ledger.path, limit=odd),
    "open with a delta": lambda ledger, odd: Ledger(ledger.path, limit=1000, delta=odd),
    "create with a limit": lambda ledger, odd: Ledger(ledger.path.with_name("new.ledger"), limit=odd),
    "create with a delta": lambda ledger, odd: Ledger(ledger.path.with_name("new.ledger"), limit=3, delta=odd),
}  # fmt: skip


def charge(mechanism: Any = HALF) -> dict[str, Any]:
    return {"dataset": "d", "column": "c", "mechanism": mechanism, "key": b"a key", "data": "v1"}


@pytest.mark.parametrize("call", CALLS)
def test_a_file_opens_whatever_was_said_to_it(call: str) -> None:
    answered = 0
    with TemporaryDirectory(dir=FAST) as folder:
        ledger = Ledger(f"{folder}/x.ledger", limit=1000)
        for odd in ODD:
            try:
                CALLS[call](ledger, odd)
            except SfumatoError as error:
                answered += len(str(error)) < 600  # one sentence, not ten thousand letters of somebody's mistake
            else:
                answered += 1
            for path in Path(folder).glob("*.ledger"):
                again = Ledger(path)
                assert all(again.spent(*where).parts for where in again.columns())
            Path(f"{folder}/new.ledger").unlink(missing_ok=True)
    assert answered == len(ODD)


@pytest.mark.parametrize(
    "said",
    [
        lambda ledger: ledger.set_limit(2, dataset="d", unit=5),
        lambda ledger: ledger.set_limit(2, dataset=5),
        lambda ledger: ledger.set_limit(2, dataset=1.0),
        lambda ledger: ledger.set_limit(2, dataset=""),
        lambda ledger: ledger.set_limit(2, dataset="d", column=5),
        lambda ledger: ledger.set_limit(delta="1/10"),
        lambda ledger: ledger.set_limit(1, delta=2),
        lambda ledger: ledger.set_limit(1, delta=True),
        lambda ledger: ledger.set_limit(2**10000),
        lambda ledger: ledger.charge(**charge() | {"data": 0}),
        lambda ledger: ledger.charge(**charge() | {"data": None}),
        lambda ledger: ledger.charge(**charge() | {"token": False}),
        lambda ledger: ledger.spent(5),
        lambda ledger: ledger.spent("d", b"c"),
        lambda ledger: ledger.left("d", ["c"]),
        lambda ledger: Ledger(5),
        lambda ledger: Ledger(b"x.ledger"),
        lambda ledger: Ledger(""),
        lambda ledger: Ledger("x\0.ledger"),
        lambda ledger: Ledger(ledger.path, delta="1/10"),
        lambda ledger: Ledger(ledger.path, create=5),
    ],
)
def test_what_makes_no_sense_is_refused(tmp_path: Path, said: Callable[[Ledger], Any]) -> None:
    ledger = Ledger(tmp_path / "x.ledger")
    with pytest.raises(InvalidInput):
        said(ledger)
    assert Ledger(ledger.path).entries() == () == Ledger(ledger.path).limits()


def test_paths_that_are_none_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    strange = ["x" * 300, "/proc/x.ledger", "/", "..", "nowhere/x", "/dev/null", Path("a\ud800"), "\ud800"]
    for odd in strange:
        for create in (True, False):
            with pytest.raises(InvalidInput):
                Ledger(odd, create=create)
    for odd in ODD:
        with suppress(SfumatoError):
            assert Ledger(odd).path.exists()
    assert not list(tmp_path.glob(".*"))


def test_texts_and_integers_of_other_kinds_are_what_they_say(tmp_path: Path) -> None:
    ledger = Ledger(tmp_path / "x.ledger")
    terms: dict[str, Any] = {"dataset": np.str_("d"), "column": Name.HOME, "note": Loud("quiet"), "times": np.int64(3)}
    entry = ledger.charge(**terms, mechanism=HALF, rows=np.uint8(7))
    assert (entry.dataset, entry.column, entry.note, entry.times, entry.rows) == ("d", "home", "quiet", 3, 7)
    assert Ledger(ledger.path).entries() == (entry,) and {type(v) for v in vars(entry).values()} == {
        int,
        str,
        type(None),
    }


def test_a_limit_may_be_a_logarithm_and_is_what_was_written(tmp_path: Path) -> None:
    ledger = sf.Ledger(tmp_path / "spent.ledger", limit="ln(2)/0.5")
    assert [limit.promise for limit in ledger.limits()] == ["alpha 1/4"]
    assert ledger.set_limit(0.3).promise == "epsilon 3/10"
    assert ledger.set_limit(np.float32(0.3)).promise == "epsilon 3/10"
    for wrong in ("1e999999999", "9" * 10**6, "ln 3/2"):
        with pytest.raises(InvalidEpsilon):
            ledger.set_limit(wrong)
    assert len(ledger.limits()) == 1


def test_rows_that_are_answers_about_people_are_charged_for_what_one_person_changes(tmp_path: Path) -> None:
    """Twenty counts are twenty rows of nobody: who moves changes two, and a ledger asks; it also knows saved ones."""
    counts = sf.geometric(sf.PrivacyType(sf.count_query(20), epsilon="1/2"))
    sf.save(counts, tmp_path / "counts.sfm")
    parity = sf.spaces.query(lambda people: sum(people) % 2, values=[0, 1], individuals=3)
    about_people = [
        counts,
        sf.load(tmp_path / "counts.sfm"),
        sf.sampler(counts),
        sf.tight_constraints(sf.PrivacyType(sf.sum_query(3, 2), epsilon=2)),
        sf.random_response(sf.PrivacyType(parity, epsilon=1)),
        sf.mechanisms.InfiniteGeometric(Fraction(1, 2)),
    ]
    for number, mechanism in enumerate(about_people):
        ledger = Ledger(tmp_path / f"{number}.ledger")
        where: dict[str, Any] = {"dataset": "clinic", "column": "ill", "mechanism": mechanism}
        with pytest.raises(InvalidInput, match=r"20 rows of .* are answers about people, not people"):
            ledger.charge(**where, rows=20)
        assert not ledger.entries()
        assert [ledger.charge(**where, rows=1).times, ledger.charge(**where, rows=20, times=2).times] == [1, 2]
    assert Ledger(tmp_path / "0.ledger").spent("clinic").total == amount(epsilon="3/2")
    people = sf.geometric(sf.PrivacyType(sf.line(21, unit="year"), epsilon="1/2"))
    assert Ledger(tmp_path / "x.ledger").charge(dataset="d", column="age", mechanism=people, rows=20).times == 1


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
