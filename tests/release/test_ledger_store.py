"""The file of a ledger: other versions, full disks, rows that are read back as they were written."""

from __future__ import annotations

import os
import resource
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.certify.charge import Charge
from sfumato.errors import InvalidFile, InvalidInput
from sfumato.release.ledger import store
from sfumato.release.ledger.ledger import Ledger

HALF = sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2"))
FLAT = sf.random_response(sf.PrivacyType(sf.discrete(3), epsilon="1/4"))
EVENTS = Charge("neighbours", "", "neighbours", "epsilon 1/2", "mechanism", "noise", sf.numbers.exact("1/10"))
KEYED: dict[str, Any] = {"dataset": "d", "key": bytes(32), "data": "v1"}


@pytest.mark.parametrize("version", [0, 1, 2, 4])
def test_another_version_of_the_layout_is_refused_and_left_as_it_is(tmp_path: Path, version: int) -> None:
    ledger = Ledger(tmp_path / "x.ledger")
    with closing(sqlite3.connect(ledger.path)) as connection:
        connection.execute(f"PRAGMA user_version = {version}")
    before = ledger.path.read_bytes()
    with pytest.raises(
        InvalidFile, match=rf"has version {version} of the ledger's layout, this program knows version 3"
    ):
        ledger.charge(dataset="d", column="c", mechanism=HALF)
    assert ledger.path.read_bytes() == before


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
        "from sfumato.release.ledger.ledger import Ledger\n"
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
        "from sfumato.release.ledger.ledger import Ledger\n"
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
