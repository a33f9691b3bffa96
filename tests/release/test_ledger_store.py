"""The file of a ledger: old versions, full disks, rows that are read back as they were written."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.certify.amounts import amount
from sfumato.certify.charge import Charge
from sfumato.errors import BudgetExceeded, InvalidFile, InvalidInput
from sfumato.mechanisms.lattice import Lattice
from sfumato.release import ledger_store as store
from sfumato.release.ledger import Ledger

HALF = sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2"))
FLAT = sf.random_response(sf.PrivacyType(sf.discrete(3), epsilon="1/4"))
EVENTS = Charge("neighbours", "", "neighbours", "epsilon 1/2", "mechanism", "noise", sf.numbers.exact("1/10"))
KEYED: dict[str, Any] = {"dataset": "d", "key": bytes(32), "data": "v1"}


# ----------------------------------------------------------------- version 1


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A file that an earlier version wrote, with two limits and six entries."""
    path = tmp_path / "old.ledger"
    connection = sqlite3.connect(path)
    connection.executescript(Path(__file__).with_name("ledger_version_1.sql").read_text())
    connection.close()
    return path


def version(path: Path) -> int:
    connection = sqlite3.connect(path)
    try:
        return int(connection.execute("PRAGMA user_version").fetchone()[0])
    finally:
        connection.close()


def test_an_old_file_is_read_and_not_touched(old: Path) -> None:
    before = old.read_bytes()
    old.chmod(0o400)
    ledger = Ledger(old, limit=9, create=False)
    assert ledger.spent("d", "c").total == amount(alpha="1/4") + amount(epsilon="1/4")
    assert ledger.spent("d", "c").delta == 0 == ledger.left_delta("d", "c")
    assert ledger.left("d", "x, y") == amount(epsilon=7)
    assert [entry.charged for entry in ledger.entries()] == [2, 1, 1, 0, 1, 1]
    assert {entry.delta for entry in ledger.entries()} == {None} and len(ledger.limits()) == 2
    assert old.read_bytes() == before and version(old) == 1


def test_an_old_file_is_renewed_with_the_first_thing_that_is_written(old: Path) -> None:
    ledger = Ledger(old)
    known = ledger.entries()
    with pytest.raises(BudgetExceeded):
        ledger.charge(dataset="d", column="c", mechanism=HALF, times=50)
    assert version(old) == 1  # a refusal leaves everything as it was
    assert ledger.charge(dataset="d", column="c", mechanism=HALF).id == 7
    assert version(old) == 2 and Ledger(old).entries()[:6] == known
    with pytest.raises(BudgetExceeded, match=r"limit of delta = 0, of which 0 are spent"):
        ledger.charge(dataset="d", column="new", mechanism=EVENTS)  # an old limit has not granted any delta
    ledger.set_limit(9, delta="1/5")
    ledger.charge(dataset="d", column="new", mechanism=EVENTS)
    assert Ledger(old).spent("d", "new").delta == sf.numbers.exact("1/10")
    assert store._layout(sqlite3.connect(old)) == store._known_layout(2)


def test_what_was_charged_to_an_old_file_is_known_again(old: Path) -> None:
    ledger = Ledger(old)
    assert ledger.charge(**KEYED, column="e", mechanism=HALF).charged == 0
    with pytest.raises(InvalidInput, match="of other data"):
        ledger.charge(**KEYED | {"data": "v2"}, column="e", mechanism=HALF)
    grid = sf.mechanisms.lattice_tight_constraints(Lattice((20, 20)), epsilon=2)
    laplace = sf.sampler(sf.continuous.truncated_laplace(epsilon=1), pixels=10, steps=5)
    for column, mechanism in (("x, y", grid), ("z", laplace)):  # their noise has another name today
        with pytest.raises(InvalidInput, match="of other data"):
            ledger.charge(**KEYED | {"data": "v2"}, column=column, mechanism=mechanism)
        assert ledger.charge(**KEYED, column=column, mechanism=mechanism).charged == 1
        assert ledger.charge(**KEYED, column=column, mechanism=mechanism).charged == 0
    ledger.charge(dataset="d", column="c", mechanism=FLAT)  # a column that had two metrics keeps both
    ledger.charge(dataset="d", column="c", mechanism=HALF)
    with pytest.raises(InvalidInput, match=r"has the metric of line\(3\)"):
        ledger.charge(dataset="d", column="c", mechanism=sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2")))


def test_an_interrupted_renewal_leaves_the_old_file(old: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for k in range(1, len(store._TO_VERSION_2)):
        monkeypatch.setattr(store, "_TO_VERSION_2", (*store._TO_VERSION_2[:k], "SELECT nothing"))
        with pytest.raises(InvalidFile):
            Ledger(old).charge(dataset="d", column="c", mechanism=HALF)
        monkeypatch.undo()
        assert version(old) == 1 and len(Ledger(old).entries()) == 6


def test_damage_in_an_old_file_is_found(old: Path) -> None:
    connection = sqlite3.connect(old)
    connection.executescript("DROP TRIGGER entries_stay; UPDATE entries SET charged = 0 WHERE id = 1")
    (made,) = connection.execute(
        "SELECT sql FROM (SELECT 'CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, "
        "''entries stay as they are''); END' AS sql)"
    ).fetchone()
    connection.execute(made)
    connection.close()
    with pytest.raises(InvalidFile, match="row 1 of entries is not what was written"):
        Ledger(old)


# ----------------------------------------------------------------- what is hashed is what is read back


@pytest.mark.parametrize("wrong", [5, 1.0, True])
def test_a_row_that_would_be_read_otherwise_is_not_written(tmp_path: Path, wrong: Any) -> None:
    ledger = Ledger(tmp_path / "x.ledger")
    row = {"time": "now", "dataset": "d", "columns": None, "promise": "epsilon 1", "unit": wrong, "delta": None}

    def write() -> None:
        with store.writing(ledger.path) as connection:
            store.append(connection, "limits", store.LIMIT_FIELDS, row)

    with pytest.raises(InvalidInput, match="unit cannot be kept in a ledger as it was given"):
        write()
    assert Ledger(ledger.path).limits() == ()


# ----------------------------------------------------------------- full disks


def full_at(pages: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no file of a ledger have more pages than it has, and so many: what a full disk is to SQLite."""
    opened: Callable[[Path], sqlite3.Connection] = store._connection

    def limited(path: Path) -> sqlite3.Connection:
        connection = opened(path)
        used = connection.execute("PRAGMA page_count").fetchone()[0]
        connection.execute(f"PRAGMA max_page_count = {used + pages}")
        return connection

    monkeypatch.setattr(store, "_connection", limited)


def test_a_full_disk_is_said_and_the_file_stays_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = Ledger(tmp_path / "x.ledger", limit=1000)
    full_at(0, monkeypatch)
    long = "a long story " * 700  # longer than what a page has left
    with pytest.raises(InvalidFile, match=r"cannot be written, the disk is full: nothing was charged .* make room"):
        ledger.charge(dataset="d", column="c", mechanism=HALF, note=long)
    with pytest.raises(InvalidFile, match="the disk is full"):
        ledger.set_limit(2, dataset=long)
    monkeypatch.undo()
    assert Ledger(ledger.path).entries() == () and os.listdir(tmp_path) == ["x.ledger"]
    ledger.charge(dataset="d", column="c", mechanism=HALF)


def test_a_disk_that_takes_no_more_bytes_is_said(tmp_path: Path) -> None:
    """The same with a limit of the system on the size of files, for the file and for its journal, at every size."""
    ledger = Ledger(tmp_path / "x.ledger")
    ledger.charge(dataset="d", column="c", mechanism=HALF)
    size, whole = ledger.path.stat().st_size, ledger.path.read_bytes()
    script = (
        "import resource, sys\n"
        "from sfumato.release.ledger import Ledger\n"
        "from sfumato.certify.charge import Charge\n"
        "step = Charge('line', '', 'line', 'epsilon 1', 'mechanism', 'noise')\n"
        "ledger = Ledger(sys.argv[1])\n"
        "for most in map(int, sys.argv[2:]):\n"
        "    resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))\n"
        "    try:\n"
        "        ledger.charge(dataset='e', column='c', mechanism=step, note='n' * 9000)\n"
        "        print('charged')\n"
        "    except Exception as error:\n"
        "        print(type(error).__name__, error)\n"
    )
    limits = [0, 512, 4096, size - 1, size]
    done = subprocess.run(
        [sys.executable, "-c", script, str(ledger.path), *map(str, limits)], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert len(lines) == len(limits)
    for line in lines:
        assert line.startswith("InvalidFile the ledger") and "cannot be written, the disk" in line, line
    assert Ledger(ledger.path).entries()[-1].dataset == "d" and len(Ledger(ledger.path).entries()) == 1
    assert ledger.path.stat().st_size == size and ledger.path.read_bytes() == whole
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY  # that was another process


def test_a_ledger_that_does_not_fit_is_not_created(tmp_path: Path) -> None:
    script = (
        "import resource, sys\n"
        "from sfumato.release.ledger import Ledger\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (2048, resource.RLIM_INFINITY))\n"
        "try:\n"
        "    Ledger(sys.argv[1])\n"
        "except Exception as error:\n"
        "    print(type(error).__name__, error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path / "x.ledger")], capture_output=True, text=True, check=True
    )
    assert done.stdout.startswith("InvalidFile the ledger") and "cannot be written" in done.stdout
    assert os.listdir(tmp_path) == []
