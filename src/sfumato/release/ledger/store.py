"""The file of a ledger: an SQLite database that is only ever appended to.

Why a rollback journal and not a write-ahead log: after every commit the one file is the whole truth, so a copy of it
loses no entry, and it works where processes share no memory. Charges are few and short; that readers wait for
writers costs nothing here. Why ``synchronous = EXTRA``: with ``FULL`` a power cut right after a commit may bring the
journal back and take the commit with it, since the folder that forgot the journal was not written out; a charge that
was confirmed must not vanish. Every writer begins with ``BEGIN IMMEDIATE``, so that what it reads is what it decides
on, and waits its turn for up to a minute.

Pages of SQLite carry no checksums. Each row therefore carries a SHA-256 of itself and of the row before: a byte that
has changed, a row that is missing and one that was edited by hand are found when the file is opened. Rows cut off at
the end are not. What is hashed is what is read back: a row that SQLite gives back otherwise than it was given, a number
in a column of texts for example, is not written.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

from sfumato.errors import InvalidFile, InvalidInput, shown
from sfumato.files import writable

APPLICATION = 0x53464C47  # "SFLG" in the header of the file
VERSION = 3  # of the layout; any other is refused
WAIT = 60.0  # seconds for another writer to finish

# what SQLite says before a transaction is complete, and then undoes it; of what comes later that is not known
_NOT_WRITTEN = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC)

ENTRY_FIELDS = (
    "time", "dataset", "column", "scope", "space", "unit", "metric", "promise", "mechanism", "noise", "rows",
    "times", "charged", "key", "data", "token", "note", "delta",
)  # fmt: skip
LIMIT_FIELDS = ("time", "dataset", "columns", "promise", "unit", "delta")

_SCHEMA = f"""
PRAGMA application_id = {APPLICATION};
PRAGMA user_version = {VERSION};
CREATE TABLE entries (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, dataset TEXT NOT NULL, "column" TEXT NOT NULL, scope TEXT NOT NULL,
    space TEXT NOT NULL, unit TEXT NOT NULL, metric TEXT NOT NULL, promise TEXT NOT NULL, mechanism TEXT NOT NULL,
    noise TEXT NOT NULL, "rows" INTEGER, times INTEGER NOT NULL CHECK (times > 0),
    charged INTEGER NOT NULL CHECK (charged >= 0), "key" TEXT, data TEXT, token TEXT UNIQUE,
    note TEXT NOT NULL, delta TEXT, chain TEXT NOT NULL);
CREATE TABLE limits (
    id INTEGER PRIMARY KEY, time TEXT NOT NULL, dataset TEXT, columns TEXT, promise TEXT, unit TEXT, delta TEXT,
    chain TEXT NOT NULL);
CREATE INDEX spent ON entries (dataset, "column", scope, unit, metric, space, promise, delta, charged);
CREATE INDEX again ON entries ("key", "column", noise) WHERE "key" IS NOT NULL;
CREATE TRIGGER entries_are_kept BEFORE DELETE ON entries BEGIN SELECT RAISE(ABORT, 'entries are kept'); END;
CREATE TRIGGER entries_stay BEFORE UPDATE ON entries BEGIN SELECT RAISE(ABORT, 'entries stay as they are'); END;
CREATE TRIGGER limits_are_kept BEFORE DELETE ON limits BEGIN SELECT RAISE(ABORT, 'limits are kept'); END;
CREATE TRIGGER limits_stay BEFORE UPDATE ON limits BEGIN SELECT RAISE(ABORT, 'limits stay as they are'); END;
"""


def written(path: Path, first: dict[str, Any] | None) -> None:
    """Create an empty ledger, whole or not at all, with a first limit if there is one; one that is there stays."""
    writable(path)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}") from error
    os.close(handle)
    temporary = Path(name)
    try:
        with _complaints(path), closing(_connection(temporary)) as connection:
            connection.executescript(f"BEGIN IMMEDIATE; {_SCHEMA} COMMIT;")
            if first is not None:
                append(connection, "limits", LIMIT_FIELDS, first)
        _placed(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def _placed(temporary: Path, path: Path) -> None:
    """Give a file its name unless somebody else was quicker: a link never replaces anything, a move would."""
    with suppress(FileExistsError):
        try:
            os.link(temporary, path)
        except (NotImplementedError, PermissionError):  # a file system without links
            with open(path, "xb") as file:
                file.write(temporary.read_bytes())
                file.flush()
                os.fsync(file.fileno())


@contextmanager
def writing(path: Path) -> Iterator[sqlite3.Connection]:
    """A transaction that nobody else writes beside; it is undone if anything is raised."""
    with _complaints(path), closing(_connection(path)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        try:
            _check_version(connection, path)
            yield connection
            connection.execute("COMMIT")
        except BaseException:
            # a full disk has ended the transaction already; what cannot be undone now is undone by the next who opens
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            raise


@contextmanager
def reading(path: Path) -> Iterator[sqlite3.Connection]:
    """A view of the file at one moment."""
    with _complaints(path), closing(_connection(path)) as connection:
        connection.execute("BEGIN")
        _check_version(connection, path)
        yield connection


def _connection(path: Path) -> sqlite3.Connection:
    """A connection of its own for every transaction: none is carried through a fork or into another thread."""
    # mode=rw: a ledger that was deleted must not come back empty
    connection = sqlite3.connect(f"{path.absolute().as_uri()}?mode=rw", uri=True, timeout=WAIT, isolation_level=None)
    try:
        connection.row_factory = sqlite3.Row
        for setting in ("synchronous = EXTRA", "fullfsync = ON", "trusted_schema = OFF", "temp_store = MEMORY"):
            connection.execute(f"PRAGMA {setting}")
    except BaseException:
        connection.close()
        raise
    return connection


def _check_version(connection: sqlite3.Connection, path: Path) -> None:
    """Raise if the file is no ledger of this layout; asked within a transaction, so that nobody changes it then."""
    application, version = (int(connection.execute(f"PRAGMA {name}").fetchone()[0])
                            for name in ("application_id", "user_version"))  # fmt: skip
    if application != APPLICATION:
        raise InvalidFile(f"{path} is no ledger of sfumato")
    if version != VERSION:
        raise InvalidFile(f"{path} has version {version} of the ledger's layout, this program knows version {VERSION}")


@contextmanager
def _complaints(path: Path) -> Iterator[None]:
    """Whatever SQLite says, as an error that tells what to do."""
    try:
        yield
    except sqlite3.OperationalError as error:
        if "decode" in str(error):
            raise damaged(path, str(error)) from error
        code = getattr(error, "sqlite_errorcode", None)
        if code in _NOT_WRITTEN:
            reason = "the disk is full" if code == sqlite3.SQLITE_FULL else f"the disk does not take it ({error})"
            raise InvalidFile(
                f"the ledger {path} cannot be written, {reason}: nothing was charged or changed, and what the file "
                "says is what it said before; make room and try again"
            ) from error
        if "unable to open" in str(error):
            raise InvalidFile(
                f"the ledger {path} is not there or cannot be opened: what was spent is not known"
            ) from error
        if "locked" in str(error):
            raise InvalidFile(f"the ledger {path} was held by another program for {WAIT:g} s: try again") from error
        raise InvalidFile(f"the ledger {path} cannot be used: {error}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # even what SQLite says of broken text is broken
        raise damaged(path, str(error)) from error


def damaged(path: Path, how: str) -> InvalidFile:
    """The error for a file that cannot be believed."""
    return InvalidFile(f"the ledger {path} is damaged ({how}): put a copy back; a new one would forget what was spent")


def append(connection: sqlite3.Connection, table: str, fields: tuple[str, ...], values: dict[str, Any]) -> int:
    """Add a row, chained to the one before; its number."""
    last = connection.execute(f"SELECT id, chain FROM {table} ORDER BY id DESC LIMIT 1").fetchone()
    number, before = (1, "") if last is None else (last[0] + 1, last[1])
    row = {"id": number, **{name: values[name] for name in fields}}
    row["chain"] = _link(before, row, fields)
    names, marks = ", ".join(f'"{name}"' for name in row), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))
    kept = connection.execute(f"SELECT * FROM {table} WHERE id = ?", [number]).fetchone()
    for name, value in row.items():
        if type(kept[name]) is not type(value) or kept[name] != value:
            raise InvalidInput(f"{name} cannot be kept in a ledger as it was given, {shown(value)}: give it as a text")
    return number


def rows_of(connection: sqlite3.Connection, path: Path, table: str, fields: tuple[str, ...]) -> list[sqlite3.Row]:
    """All rows in order, their chain checked on the way."""
    rows = connection.execute(f"SELECT * FROM {table} ORDER BY id").fetchall()
    before = ""
    for place, row in enumerate(rows, 1):
        before = _link(before, row, fields)
        if row["id"] != place or row["chain"] != before:
            raise damaged(path, f"row {place} of {table} is not what was written")
    return rows


def check_ledger(path: Path) -> None:
    """Read everything once; an error if the file is not what was written."""
    with reading(path) as connection:
        answer = connection.execute("PRAGMA integrity_check(1)").fetchone()[0]
        if answer != "ok":
            raise damaged(path, answer)
        if _layout(connection) != _known_layout():
            raise damaged(path, "its tables are not those of a ledger")
        rows_of(connection, path, "entries", ENTRY_FIELDS)
        rows_of(connection, path, "limits", LIMIT_FIELDS)


def _layout(connection: sqlite3.Connection) -> list[tuple[str, ...]]:
    rows = connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name")
    return [tuple(row) for row in rows]


@cache
def _known_layout() -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(_SCHEMA)
        return _layout(connection)


def _link(before: str, row: Mapping[str, Any] | sqlite3.Row, fields: tuple[str, ...]) -> str:
    """The digest of a row and of all before it."""
    listed = [row["id"], *(row[name] for name in fields)]
    return hashlib.sha256((before + json.dumps(listed, default=repr)).encode()).hexdigest()
