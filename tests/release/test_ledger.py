"""The ledger: exact sums, limits that hold, entries that neither vanish nor count twice."""

from __future__ import annotations

import multiprocessing
import os
import random
import shutil
import signal
import sqlite3
import tempfile
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise
from math import log
from pathlib import Path
from time import sleep
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import ledger_worker
import sfumato as sf
from sfumato.certify.amounts import Amount, amount
from sfumato.certify.charge import Charge, metric_digest
from sfumato.certify.protocol import charge_of
from sfumato.errors import BudgetExceeded, InvalidFile, InvalidInput, Mismatch
from sfumato.mechanisms.lattice import Lattice
from sfumato.release.ledger.ledger import Entry, Ledger

HALF = sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2"))
TENTHS = sf.geometric(sf.PrivacyType(sf.line(3), epsilon="7/10"))
FLAT = sf.random_response(sf.PrivacyType(sf.discrete(3), epsilon="1/4"))
FAST = "/dev/shm" if Path("/dev/shm").is_dir() else None  # where waiting for a disk is not what is tested


def promise(text: str, metric: str = "line", unit: str = "") -> Charge:
    return Charge(metric, unit, metric, text, f"mechanism {metric} {text}", f"noise {metric} {text}")


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "spent.ledger")


# ----------------------------------------------------------------- amounts


@given(
    st.fractions(-3, 3, max_denominator=9),
    st.dictionaries(st.fractions("11/10", 9, max_denominator=12), st.integers(-5, 5), max_size=4),
)
def test_signs_of_amounts_are_those_of_powers(rational: Fraction, powers: dict[Fraction, int]) -> None:
    total = Amount(rational)
    product = Fraction(1)
    for base, count in powers.items():
        total = total + amount(alpha=1 / base) * count
        product *= base**count
    if rational == 0:
        assert total.sign == (product > 1) - (product < 1)
    else:  # never 0, and a float is enough here
        assert total.sign == (1 if float(rational) + log(product) > 0 else -1)
    low, high = total.bounds(80)
    assert low <= high and (high - low) < Fraction(1, 2**60)


def test_amounts_that_floats_cannot_tell_apart() -> None:
    assert 10 * amount(epsilon="0.1") == amount(epsilon=1)
    assert 10 * amount(epsilon=0.1) == amount(epsilon=1)  # who types 0.1 means a tenth, not the double above it
    assert 10 * amount(epsilon=Fraction(0.1)) > amount(epsilon=1)
    million = 10**12
    assert million * amount(alpha="4/9") == 2 * million * amount(alpha="2/3")
    assert million * amount(alpha="4/9") + amount(epsilon=Fraction(1, 10**40)) > 2 * million * amount(alpha="2/3")
    assert amount(alpha="1/6") == amount(alpha="1/2") + amount(alpha="1/3")
    assert amount(alpha="1/2") != amount(epsilon=0.6931471805599453)
    assert sum([amount(alpha="1/2")] * 3, Amount()) == amount(alpha="1/8")
    assert float(amount(alpha="1/2")) >= 0.6931471805599453 and Fraction(float(amount(epsilon="1/3"))) > Fraction(1, 3)
    assert amount(alpha=1) == Amount() and not amount(alpha=1)


@pytest.mark.parametrize("wrong", [{}, {"epsilon": 1, "alpha": "1/2"}, {"epsilon": -1}, {"alpha": 0}, {"alpha": 2},
                                   {"epsilon": float("nan")}, {"epsilon": "much"}])  # fmt: skip
def test_no_amounts(wrong: dict[str, Any]) -> None:
    with pytest.raises(sf.errors.InvalidEpsilon):
        amount(**wrong)


# ----------------------------------------------------------------- promises


def test_promises_name_metric_and_mechanism() -> None:
    first = charge_of(HALF)
    assert first.text == "alpha 1/2" and first.mechanism == HALF.proof.digest
    assert first.metric == metric_digest(sf.line(3)) == charge_of(TENTHS).metric != charge_of(FLAT).metric
    assert metric_digest(sf.line(3, unit="km")) != metric_digest(sf.line(3)) != metric_digest(sf.line(3, step=2))
    lattice = charge_of(sf.mechanisms.lattice_tight_constraints(Lattice((20, 20)), epsilon=2))
    assert lattice.text == "epsilon 2" and lattice.space == "grid(20, 20)"
    assert charge_of(sf.mechanisms.InfiniteGeometric(Fraction(1, 3))).text == "alpha 1/3"
    assert charge_of(sf.continuous.truncated_laplace(epsilon=3)).text == "epsilon 3"
    for stranger in (HALF.channel, 0.5, sf.repair(HALF.channel, HALF.privacy)):
        with pytest.raises(InvalidInput, match="proved mechanisms"):
            charge_of(stranger)


# ----------------------------------------------------------------- charging


def test_releases_add_exactly(ledger: Ledger) -> None:
    for _ in range(10):
        ledger.charge(dataset="d", column="home", mechanism=promise("epsilon 1/10"))
    ledger.charge(dataset="d", column="home", mechanism=promise("alpha 1/2"), times=3)
    spent = ledger.spent("d", "home")
    assert spent.total == amount(epsilon=1) + amount(alpha="1/8")
    assert len(spent.parts) == 1 and len(ledger.entries()) == 11
    assert ledger.spent("d", "work").total == Amount() == ledger.spent("other", "home").total


def test_metrics_add_as_functions(ledger: Ledger) -> None:
    ledger.charge(dataset="d", column="c", mechanism=TENTHS, times=2)
    ledger.charge(dataset="d", column="c, e", mechanism=FLAT)
    spent = ledger.spent("d", "c")
    assert [part.amount for part in spent.parts] == [amount(epsilon="7/5"), amount(epsilon="1/4")]
    # line distance 2 at 7/5 a unit, discrete distance 1 at 1/4
    assert spent.between(0, 2, sf.line(3), sf.discrete(3)) == (Fraction(61, 20), Fraction(61, 20))
    with pytest.raises(InvalidInput, match="give that space too"):
        spent.between(0, 2, sf.line(3))
    ledger.charge(dataset="d", column="c", mechanism=HALF)
    low, high = ledger.spent("d", "c").between(0, 1, sf.line(3), sf.discrete(3))
    assert low <= Fraction(33, 20) + Fraction(0.6931471805599453) + Fraction(1, 2**50) and 0 < high - low < 2**-50


def test_the_limit_is_exact(ledger: Ledger) -> None:
    ledger.set_limit(1)
    ledger.charge(dataset="d", column="c", mechanism=promise("epsilon 1/10"), times=9)
    with pytest.raises(BudgetExceeded, match=r"limit of 1, of which 9/10 are spent") as caught:
        ledger.charge(
            dataset="d", column="c", mechanism=promise("epsilon 100000000000000000001/1000000000000000000000")
        )
    assert caught.value.spent == amount(epsilon="9/10") and caught.value.columns == ("c",)
    ledger.charge(dataset="d", column="c", mechanism=promise("epsilon 1/10"))
    assert ledger.left("d", "c") == Amount() and ledger.left("d", "other") == amount(epsilon=1)
    assert len(ledger.entries()) == 2


def test_limits_in_alpha_meet_promises_in_alpha(ledger: Ledger) -> None:
    ledger.set_limit(alpha="1/8")
    ledger.charge(dataset="d", column="c", mechanism=HALF, times=2)
    larger = replace(charge_of(HALF), text="alpha 49999999999999999999/100000000000000000000")
    with pytest.raises(BudgetExceeded):
        ledger.charge(dataset="d", column="c", mechanism=larger)
    ledger.charge(dataset="d", column="c", mechanism=HALF)
    assert ledger.left("d", "c") == Amount()


def test_limits_of_columns_sets_and_datasets(ledger: Ledger) -> None:
    unit = promise("epsilon 1")
    ledger.set_limit(2)
    ledger.set_limit(3, dataset="d", column=["work", "home"])
    ledger.set_limit(4, dataset="d")
    ledger.charge(dataset="d", column="home", mechanism=unit, times=2)
    with pytest.raises(BudgetExceeded, match="column 'home'"):
        ledger.charge(dataset="d", column="home", mechanism=unit)
    with pytest.raises(BudgetExceeded, match="'home', 'work' of 'd' together"):
        ledger.charge(dataset="d", column="work", mechanism=unit, times=2)
    ledger.charge(dataset="d", column="work", mechanism=unit)
    ledger.charge(dataset="d", column="age", mechanism=unit)
    with pytest.raises(BudgetExceeded, match="all columns together"):
        ledger.charge(dataset="d", column="age", mechanism=unit)
    ledger.charge(dataset="e", column="age", mechanism=unit, times=2)
    ledger.set_limit(5, dataset="e", column="age")  # instead of the one for each column
    ledger.charge(dataset="e", column="age", mechanism=unit, times=3)
    ledger.set_limit(1, dataset="e", column="age")
    with pytest.raises(BudgetExceeded, match="limit of 1, of which 5 are spent"):
        ledger.charge(dataset="e", column="age", mechanism=unit)
    ledger.set_limit(dataset="e", column="age")  # lifted: no limit at all, not the general one
    ledger.charge(dataset="e", column="age", mechanism=unit, times=100)
    assert len(ledger.limits()) == 3


def test_scopes_are_counted_by_themselves(ledger: Ledger) -> None:
    unit = promise("epsilon 1")
    ledger.set_limit(3)
    ledger.charge(dataset="d", column="c", mechanism=unit)
    ledger.charge(dataset="d", column="c", mechanism=unit, times=2, scope="May")
    ledger.charge(dataset="d", column="c", mechanism=unit, scope="June")
    assert ledger.spent("d", "c").total == amount(epsilon=3) and ledger.spent("d", "c").of("June") == amount(epsilon=2)
    for scope in ("May", ""):
        with pytest.raises(BudgetExceeded, match="on the rows 'May'"):
            ledger.charge(dataset="d", column="c", mechanism=unit, scope=scope)
    ledger.charge(dataset="d", column="c", mechanism=unit, scope="June")


def test_units_do_not_add(ledger: Ledger) -> None:
    ledger.charge(dataset="d", column="c", mechanism=promise("epsilon 1", unit="km"))
    ledger.charge(dataset="d", column="e", mechanism=promise("epsilon 1", "other", unit="m"))  # nothing to compare with
    ledger.set_limit(100, dataset="d")
    with pytest.raises(Mismatch, match="different units"):
        ledger.charge(dataset="d", column="c", mechanism=promise("epsilon 1", unit="km"))
    ledger.set_limit(5, dataset="e", unit="km")
    ledger.charge(dataset="e", column="c", mechanism=promise("epsilon 1", unit="km"))
    with pytest.raises(Mismatch, match="'km' and 'm'"):
        ledger.charge(dataset="e", column="f", mechanism=promise("epsilon 1", "other", unit="m"))


def test_a_keyed_release_is_paid_once(ledger: Ledger) -> None:
    ledger.set_limit(alpha="1/4")
    keyed = {"dataset": "d", "column": "c", "mechanism": HALF, "key": b"a key of sixteen", "data": "v1"}
    assert ledger.charge(**keyed).cost == amount(alpha="1/2")
    again = ledger.charge(**keyed)
    assert again.charged == 0 and again.times == 1 and again.cost == Amount()
    assert ledger.charge(**keyed | {"times": 2}).charged == 1  # one more value for each person
    assert ledger.charge(**keyed | {"times": 2}).charged == 0
    assert ledger.spent("d", "c").total == amount(alpha="1/4")
    for other in ({"key": b"another key, see"}, {"mechanism": TENTHS}, {"key": None}, {"scope": "May"}):
        with pytest.raises(BudgetExceeded):
            ledger.charge(**keyed | other)
    assert ledger.charge(**keyed | {"column": "e"}).charged == 1
    assert all("a key" not in str(vars(entry)) for entry in ledger.entries())
    assert b"a key of sixteen" not in ledger.path.read_bytes()


def test_noise_is_not_shared_between_secrets(ledger: Ledger) -> None:
    keyed = {"dataset": "d", "column": "c", "mechanism": HALF, "key": b"a key of sixteen", "data": "v1"}
    ledger.charge(**keyed)
    for other in ({"data": "v2"}, {"dataset": "e"}):
        with pytest.raises(InvalidInput, match=r"this key was used for column 'c' of .* \(entry 1\)"):
            ledger.charge(**keyed | other)
    claimed = sf.certify.claim(sf.Prior.uniform(range(3)), HALF, sf.losses.bin(range(3)))
    with pytest.raises(InvalidInput, match="this key was used"):  # one more claim, the same noise
        ledger.charge(**keyed | {"dataset": "e", "mechanism": claimed})
    ledger.charge(**keyed | {"dataset": "e", "mechanism": TENTHS})  # noise of another mechanism is independent
    ledger.charge(**keyed | {"dataset": "e", "key": b"another key, see"})
    assert [entry.charged for entry in ledger.entries()] == [1, 1, 1]


def test_a_token_is_charged_once(ledger: Ledger) -> None:
    ledger.set_limit(1)
    asked = {"dataset": "d", "column": "c", "mechanism": promise("epsilon 1"), "token": "job 7", "rows": 10}
    first = ledger.charge(**asked)
    assert ledger.charge(**asked | {"note": "once more"}) == first
    assert len(ledger.entries()) == 1 and isinstance(first, Entry) and first.rows == 10
    with pytest.raises(InvalidInput, match=r"used for another charge \(entry 1\): times differ"):
        ledger.charge(**asked | {"times": 2})


@pytest.mark.parametrize("wrong", [{"dataset": ""}, {"column": 3}, {"times": 0}, {"times": True}, {"times": 1.5},
                                   {"rows": -1}, {"key": b""}, {"key": "rows.key"}, {"scope": None}, {"mechanism": 0.7},
                                   {"token": 4}])  # fmt: skip
def test_charges_that_make_no_sense(ledger: Ledger, wrong: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"dataset": "d", "column": "c", "mechanism": HALF} | wrong
    with pytest.raises(InvalidInput):
        ledger.charge(**asked)
    assert not ledger.entries()


def test_limits_that_make_no_sense(ledger: Ledger) -> None:
    for wrong in ({"limit": 1, "alpha": "1/2"}, {"limit": 1, "column": "c"}, {"limit": 1, "dataset": "d", "column": []},
                  {"limit": amount(alpha="1/2") + amount(epsilon=1)}, {"limit": -1}):  # fmt: skip
        with pytest.raises(InvalidInput):
            ledger.set_limit(**wrong)  # type: ignore[arg-type]


# ----------------------------------------------------------------- the file


def test_an_old_file_keeps_its_limit(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    Ledger(path, limit="3/2")
    assert Ledger(path).limits()[0].amount == amount(epsilon="3/2")
    Ledger(path, limit=Fraction(3, 2))
    with pytest.raises(InvalidInput, match=r"has another limit \(each column: at most 3/2\) than .* at most 2\)"):
        Ledger(path, limit=2)
    Ledger(path).set_limit(2)
    Ledger(path, limit=2)
    assert list(tmp_path.iterdir()) == [path]
    with pytest.raises(InvalidInput, match="there is no ledger"):
        Ledger(tmp_path / "y.ledger", create=False)
    with pytest.raises(InvalidInput, match="there is no folder"):
        Ledger(tmp_path / "nowhere" / "y.ledger")


def test_entries_cannot_be_taken_back(ledger: Ledger) -> None:
    ledger.charge(dataset="d", column="c", mechanism=HALF)
    with sqlite3.connect(ledger.path) as connection:
        for change in ("DELETE FROM entries", "UPDATE entries SET charged = 0"):
            with pytest.raises(sqlite3.IntegrityError):
                connection.execute(change)
    connection.close()


def test_a_deleted_ledger_does_not_come_back_empty(ledger: Ledger) -> None:
    ledger.charge(dataset="d", column="c", mechanism=HALF)
    ledger.path.unlink()
    with pytest.raises(InvalidFile, match="what was spent is not known"):
        ledger.charge(dataset="d", column="c", mechanism=HALF)
    assert not ledger.path.exists()


def edited(path: Path, change: str) -> None:
    """Somebody who knows SQLite takes the triggers away first and puts them back afterwards."""
    connection = sqlite3.connect(path)
    triggers = connection.execute("SELECT name, sql FROM sqlite_master WHERE type = 'trigger'").fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute(change)
    for _, again in triggers:
        connection.execute(again)
    connection.commit()
    connection.close()


@pytest.mark.parametrize("change", ["UPDATE entries SET charged = 0 WHERE id = 2", "DELETE FROM entries WHERE id = 2",
                                    "UPDATE entries SET promise = 'epsilon 1/100' WHERE id = 1",
                                    "UPDATE limits SET promise = 'epsilon 1000'"])  # fmt: skip
def test_edits_are_found(ledger: Ledger, change: str) -> None:
    ledger.set_limit(50)
    for _ in range(3):
        ledger.charge(dataset="d", column="c", mechanism=HALF)
    edited(ledger.path, change)
    with pytest.raises(InvalidFile, match=r"is damaged .* is not what was written"):
        Ledger(ledger.path)


def test_another_layout_is_found(ledger: Ledger) -> None:
    connection = sqlite3.connect(ledger.path)
    connection.execute("DROP TRIGGER entries_stay")
    connection.close()
    with pytest.raises(InvalidFile, match="its tables are not those of a ledger"):
        Ledger(ledger.path)


def test_damage_is_found_wherever_it_is(tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    ledger = Ledger(path, limit=10)
    for k in range(30):
        ledger.charge(dataset="d", column="c", mechanism=promise("epsilon 1/100"), token=f"number {k}")
    whole = path.read_bytes()
    expected = Ledger(path).entries()
    rng = random.Random(4)
    found = 0
    for _ in range(100):
        place = rng.randrange(len(whole))
        broken = bytearray(whole)
        broken[place] ^= 1 << rng.randrange(8)
        path.write_bytes(broken)
        try:
            same = Ledger(path).entries() == expected
        except InvalidFile:
            found += 1
        else:
            assert same, f"byte {place} changed what is read"
    assert found > 15  # the rest lies between what is written
    for size in (0, 10, 4096, len(whole) // 2):
        path.write_bytes(whole[:size])
        with pytest.raises(InvalidFile):
            Ledger(path)
    path.write_text("dataset,column\n" * 1000)
    with pytest.raises(InvalidFile):
        Ledger(path)


def test_other_databases_are_refused(tmp_path: Path) -> None:
    connection = sqlite3.connect(tmp_path / "other.db")
    connection.execute("CREATE TABLE entries (id)")
    connection.close()
    with pytest.raises(InvalidFile, match="no ledger of sfumato"):
        Ledger(tmp_path / "other.db")


def test_who_waits_too_long_is_told(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sfumato.release.ledger.store.WAIT", 0.05)
    holder = sqlite3.connect(ledger.path, isolation_level=None)
    holder.execute("BEGIN IMMEDIATE")
    with pytest.raises(InvalidFile, match="held by another program"):
        ledger.charge(dataset="d", column="c", mechanism=HALF)
    holder.execute("ROLLBACK")
    holder.close()
    ledger.charge(dataset="d", column="c", mechanism=HALF)


# ----------------------------------------------------------------- several processes


@pytest.fixture(scope="module")
def processes() -> Any:
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["ledger_worker"])
    return context


def test_eight_processes_never_overstep_a_limit(processes: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    ledger = Ledger(path, limit="10.05")
    results = processes.Queue()
    step = promise("epsilon 1/10")
    crowd = [processes.Process(target=ledger_worker.spend, args=(path, who, 20, step, results)) for who in range(8)]
    for process in crowd:
        process.start()
    granted, refused = (sum(counts) for counts in zip(*(results.get(timeout=240) for _ in crowd), strict=True))
    for process in crowd:
        process.join()
        assert process.exitcode == 0
    assert (granted, refused) == (100, 60)
    entries = ledger.entries()
    assert [entry.id for entry in entries] == list(range(1, 101)) and len({entry.token for entry in entries}) == 100
    assert ledger.spent("d", "c").total == amount(epsilon=10) and ledger.left("d", "c") == amount(epsilon="1/20")
    assert all(a.time <= b.time for a, b in pairwise(entries))


def test_processes_that_are_killed_lose_nothing_and_count_nothing_twice(processes: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    ledger = Ledger(path)
    rng = random.Random(7)
    step = promise("epsilon 1/3")
    for turn in range(3):
        crowd = [
            processes.Process(
                target=ledger_worker.spend_until_killed,
                args=(path, f"{turn}.{who}", step, tmp_path / f"{turn}.{who}.txt"),
            )
            for who in range(4)
        ]
        for process in crowd:
            process.start()
        for k, process in enumerate(rng.sample(crowd, len(crowd)), 1):
            while sum(file.read_text().count("did") for file in tmp_path.glob(f"{turn}.*.txt")) < 3 * k:
                assert process.exitcode is None  # one that dies must not leave us waiting
                sleep(rng.random() * 0.02)
            os.kill(process.pid, signal.SIGKILL)
        for process in crowd:
            process.join()
    diary = [line.split() for file in tmp_path.glob("*.txt") for line in file.read_text().splitlines()]
    tried = {token for word, token in (line for line in diary if len(line) == 2) if word == "try"}
    done = {token for word, token in (line for line in diary if len(line) == 2) if word == "did"}
    found = [entry.token for entry in Ledger(path).entries()]
    assert len(found) == len(set(found)) > 20
    assert done <= set(found) <= tried
    for token in tried:  # whoever was interrupted tries again
        ledger.charge(dataset="d", column="c", mechanism=step, token=token)
    assert {entry.token for entry in ledger.entries()} == tried
    assert ledger.spent("d", "c").total == amount(epsilon=Fraction(len(tried), 3))


def test_one_of_many_creates_the_file(processes: Any, tmp_path: Path) -> None:
    path = tmp_path / "x.ledger"
    gate, results = processes.Event(), processes.Queue()
    crowd = [
        processes.Process(target=ledger_worker.create, args=(path, promise("epsilon 1"), gate, results))
        for _ in range(6)
    ]
    for process in crowd:
        process.start()
    gate.set()
    for _ in crowd:
        results.get(timeout=240)
    for process in crowd:
        process.join()
    assert len(Ledger(path).entries()) == 6 and len(Ledger(path).limits()) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["x.ledger"]


# ----------------------------------------------------------------- against a plain model

LN2 = Fraction(69314718055994530941723212145817656807550013436, 10**47)  # more digits than any sum here has
RATES = {"epsilon 1/10": (Fraction(1, 10), 0, "1/100"), "epsilon 1/3": (Fraction(1, 3), 0, "0"),
         "alpha 1/2": (Fraction(0), 1, "1/7"), "alpha 1/8": (Fraction(0), 3, "0")}  # fmt: skip
names = st.sampled_from(["a", "b"])
released = st.sampled_from(["a", "b", "a, b"])  # the last: both as one secret


class LedgerBesideADict(RuleBasedStateMachine):
    """Whatever is charged, refused, limited and read, a dictionary of sums says the same."""

    @initialize()
    def start(self) -> None:
        self.folder = tempfile.mkdtemp(dir=FAST)
        self.ledger = Ledger(f"{self.folder}/x.ledger")
        self.sums: dict[tuple[str, str, str], tuple[Fraction, Fraction]] = {}  # of ε and of δ
        self.limits: dict[tuple[str | None, str | None], tuple[Fraction, Fraction] | None] = {}
        self.keyed: dict[tuple[Any, ...], int] = {}
        self.tokens: dict[str, tuple[Any, ...]] = {}

    def total(self, dataset: str, column: str | None, scope: str) -> tuple[Fraction, Fraction]:
        meant = lambda d, c, s: d == dataset and (column is None or column in c) and s in ("", scope)  # noqa: E731
        found = [both for where, both in self.sums.items() if meant(*where)]
        return sum((e for e, _ in found), Fraction(0)), sum((d for _, d in found), Fraction(0))

    def allowed(self, dataset: str, column: str, scope: str, cost: tuple[Fraction, Fraction]) -> bool:
        scopes = [scope] if scope else ["", "x", "y"]
        own = {name: self.limits.get((dataset, name), self.limits.get((None, None))) for name in column.split(", ")}
        most: dict[str | None, tuple[Fraction, Fraction] | None] = {**own, None: self.limits.get((dataset, None))}
        for name, limit in most.items():
            for spent in (self.total(dataset, name, s) for s in scopes if limit is not None):
                assert limit is not None
                if spent[0] + cost[0] > limit[0] or (cost[1] and spent[1] + cost[1] > limit[1]):
                    return False
        return True

    @rule(
        dataset=names,
        column=released,
        scope=st.sampled_from(["", "x", "y"]),
        text=st.sampled_from(sorted(RATES)),
        times=st.integers(1, 3),
        key=st.sampled_from([None, b"k", b"l"]),
        token=st.none() | st.integers(0, 5),
    )
    def charge(self, dataset: str, column: str, scope: str, text: str, times: int, key: Any, token: Any) -> None:
        asked = (dataset, column, scope, text, times, key)
        name = None if token is None else str(token)
        about_events = replace(promise(text), delta=Fraction(RATES[text][2]))
        call = {"dataset": dataset, "column": column, "scope": scope, "mechanism": about_events, "times": times,
                "key": key, "data": key and "the same", "token": name}  # fmt: skip
        before = len(self.ledger.entries())
        if name in self.tokens:
            if self.tokens[name] == asked:
                self.ledger.charge(**call)
            else:
                with pytest.raises(InvalidInput):
                    self.ledger.charge(**call)
            assert len(self.ledger.entries()) == before
            return
        again = (key, dataset, column, scope, text)
        if key and any(k[0] == key and k[2] == column and k[4] == text and k[1] != dataset for k in self.keyed):
            with pytest.raises(InvalidInput, match="this key was used"):
                self.ledger.charge(**call)
            assert len(self.ledger.entries()) == before
            return
        given_before = self.keyed.get(again, 0) if key else 0
        charged = max(0, times - given_before)
        rational, logs, delta = RATES[text]
        cost = charged * (rational + logs * LN2), charged * Fraction(delta)
        if charged and not self.allowed(dataset, column, scope, cost):
            with pytest.raises(BudgetExceeded):
                self.ledger.charge(**call)
            assert len(self.ledger.entries()) == before
            return
        assert self.ledger.charge(**call).charged == charged
        where = (dataset, column, scope)
        before_it = self.sums.get(where, (Fraction(0), Fraction(0)))
        self.sums[where] = before_it[0] + cost[0], before_it[1] + cost[1]
        if key:
            self.keyed[again] = max(given_before, times)
        if name is not None:
            self.tokens[name] = asked

    @rule(
        dataset=st.none() | names,
        column=st.none() | names,
        most=st.none() | st.integers(0, 6),
        delta=st.sampled_from([None, "0", "1/50", "1/2"]),
    )
    def limit(self, dataset: str | None, column: str | None, most: int | None, delta: str | None) -> None:
        if dataset is None:
            column = None
        if most is None:
            delta = None
        self.ledger.set_limit(most, dataset=dataset, column=column, delta=delta)
        self.limits[dataset, column] = None if most is None else (Fraction(most), Fraction(delta or 0))

    @rule()
    def open_again(self) -> None:
        self.ledger = Ledger(self.ledger.path)

    @invariant()
    def sums_agree(self) -> None:
        if not hasattr(self, "ledger"):
            return
        for dataset in ("a", "b"):
            for column in (None, "a", "b"):
                spent = self.ledger.spent(dataset, column)
                low, high = spent.total.bounds(100)
                expected = max(self.total(dataset, column, scope)[0] for scope in ("", "x", "y"))
                assert spent.delta == max(self.total(dataset, column, scope)[1] for scope in ("", "x", "y"))
                assert abs(low - expected) < Fraction(1, 10**20) and high - low < Fraction(1, 10**20)

    def teardown(self) -> None:
        shutil.rmtree(getattr(self, "folder", ""), ignore_errors=True)


TestLedgerBesideADict = LedgerBesideADict.TestCase
TestLedgerBesideADict.settings = settings(max_examples=30, stateful_step_count=20)
