"""A ledger of what was released, which adds up ε and refuses what goes past a limit.

d-privacy adds. If M₁ is ε₁·d₁-private and M₂ is ε₂·d₂-private, who sees an output of both for one secret learns at most
what ε₁d₁ + ε₂d₂ allows: the ratios of independent outputs multiply. So k releases of one column at ε₁, …, ε_k cost
Σ ε_i for one metric, a trace of k points costs k times as much as a point, and different metrics add as functions. The
ledger keeps a sum for every metric. A limit L is one for the sum of them all: then Σ_m E_m d_m ≤ L · max_m d_m.

Columns that are one secret, such as the coordinates of a place, are one entry under their names, ``"x, y"``. It tells
something about each of them: who can tell (x, y) from (x′, y) can tell x from x′. So the entry spends on x as well as
on y, and a release of x spends on the pair. What is spent on some columns is the sum of all entries that share one with
them, and a limit on x holds whatever x was released with. A column whose own name has a comma and a blank in it is
taken for several, which counts too much, never too little.

Sums and comparisons are exact (:mod:`sfumato.release.ledger_amounts`); the file is append-only and survives crashes and
concurrent writers (:mod:`sfumato.release.ledger_store`).

Charge before you draw. A crash in between then costs budget and no privacy.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from fractions import Fraction
from os import PathLike
from pathlib import Path
from typing import Any

from sfumato.errors import BudgetExceeded, InvalidInput, Mismatch
from sfumato.numbers import Number
from sfumato.release import ledger_store as store
from sfumato.release.ledger_amounts import Amount, amount
from sfumato.release.ledger_promises import Promise, metric_digest, promise_of, rate_of

__all__ = ["Entry", "Ledger", "Limit", "Part", "Spent"]

_BETWEEN = ", "  # between the names of columns that are one secret
_MOST_TIMES = 2**53  # of one charge; SQLite adds up to 2^63


@dataclass(frozen=True)
class Entry:
    """One line of a ledger.

    ``charged`` says how many times the promise was added to what is spent: ``times``, or less where a keyed release
    repeated an earlier one. ``key`` and ``data`` are fingerprints; ``key`` is None for fresh noise.
    """

    id: int
    time: str
    dataset: str
    column: str
    scope: str
    space: str
    unit: str
    metric: str
    promise: str
    mechanism: str
    noise: str
    rows: int | None
    times: int
    charged: int
    key: str | None
    data: str | None
    token: str | None
    note: str

    @property
    def cost(self) -> Amount:
        """What the entry added, per unit of distance."""
        return rate_of(self.promise) * self.charged


@dataclass(frozen=True)
class Limit:
    """The most that may be spent: on each column of its own (``columns`` None and ``dataset`` None), on all columns of
    a dataset together (``columns`` None), or on some columns together. ``promise`` None lifts it.
    """

    dataset: str | None
    columns: tuple[str, ...] | None
    promise: str | None
    unit: str | None
    time: str

    @property
    def amount(self) -> Amount | None:
        """As a number."""
        return None if self.promise is None else rate_of(self.promise)

    def __str__(self) -> str:
        most = (
            "no limit" if self.promise is None else f"at most {self.amount}{f' per {self.unit}' if self.unit else ''}"
        )
        return f"{_scope_words(self.dataset, self.columns)}: {most}"


@dataclass(frozen=True)
class Part:
    """What was spent of one column in one metric, on the rows of one scope ("" for all rows)."""

    column: str
    scope: str
    space: str
    unit: str
    metric: str
    amount: Amount


@dataclass(frozen=True)
class Spent:
    """What was spent of some columns: in each metric, and in all for the rows that had most."""

    dataset: str
    parts: tuple[Part, ...]

    @property
    def total(self) -> Amount:
        """The sum over metrics and columns for the scope where it is largest."""
        return max(self.of(scope) for scope in self.scopes)

    @property
    def scopes(self) -> tuple[str, ...]:
        """The scopes that occur, "" first."""
        return tuple(dict.fromkeys(["", *(part.scope for part in self.parts)]))

    @property
    def units(self) -> tuple[str, ...]:
        """The units that occur."""
        return tuple(dict.fromkeys(part.unit for part in self.parts))

    def of(self, scope: str) -> Amount:
        """The sum over metrics and columns for the rows of one scope; what was spent on all rows counts there too."""
        return sum((part.amount for part in self.parts if part.scope in ("", scope)), Amount())

    def between(self, x: Any, z: Any, *spaces: Any, bits: int = 64) -> tuple[Fraction, Fraction]:
        """Rationals around Σ_m E_m d_m(x, z), the exponent that bounds how well two secrets are told apart.

        The spaces of all metrics that occur are needed; a ledger knows them by their digest only.
        """
        known = {metric_digest(space): space for space in spaces}
        best = Fraction(0), Fraction(0)
        for scope in self.scopes:
            low = high = Fraction(0)
            for part in (part for part in self.parts if part.scope in ("", scope)):
                if part.metric not in known:
                    raise InvalidInput(f"{part.space} is among what was released: give that space too")
                space = known[part.metric]
                near = space.distances.bounds(space.distances.values[space.index(x), space.index(z)], bits)
                rate = part.amount.bounds(bits)
                low, high = low + rate[0] * near[0], high + rate[1] * near[1]
            best = max(best[0], low), max(best[1], high)
        return best


class Ledger:
    """What was released of which columns, in one file that several programs may use at once.

    Parameters
    ----------
    path
        The file; it is created if it is not there, unless ``create`` is False.
    limit
        ε that may be spent on each column, per unit of distance, as a number or an :class:`Amount`; columns and
        datasets may have limits of their own (:meth:`set_limit`). A file that is there keeps its limit: naming another
        one is an error.

    Examples
    --------
    >>> import tempfile, sfumato as sf
    >>> response = sf.geometric(sf.PrivacyType(sf.line(5), alpha="1/2"))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     ledger = Ledger(f"{folder}/spent.ledger", limit="3/2")
    ...     entry = ledger.charge(dataset="survey", column="answer", mechanism=response, times=2)
    ...     print(entry.cost, ledger.left("survey", "answer"))
    ...     ledger.charge(dataset="survey", column="answer", mechanism=response)
    Traceback (most recent call last):
        ...
    sfumato.errors.BudgetExceeded: column 'answer' of 'survey' has a limit of 3/2, of which 2·ln(2) are spent: ...
    """

    def __init__(self, path: str | PathLike[str], limit: Number | Amount | None = None, *, create: bool = True) -> None:
        self.path = Path(path)
        promise = None if limit is None else _limit_text(limit)
        if not self.path.exists():
            if not create:
                raise InvalidInput(f"there is no ledger {self.path}")
            first = None if promise is None else _limit_row(None, None, promise, None)
            store.written(self.path, first)
        store.check(self.path)
        if promise is not None:
            found = next((kept for kept in self.limits() if kept.dataset is None), None)
            if found is None or found.amount != rate_of(promise):
                kept_limit = "no limit for all columns" if found is None else str(found)
                raise InvalidInput(
                    f"{self.path} has another limit ({kept_limit}) than the {rate_of(promise)} given here; "
                    "set_limit() changes it"
                )

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def charge(
        self,
        *,
        dataset: str,
        column: str,
        mechanism: Any,
        times: int = 1,
        rows: int | None = None,
        scope: str = "",
        key: bytes | None = None,
        data: str | None = None,
        token: str | None = None,
        note: str = "",
    ) -> Entry:
        """Record that a column is about to be released, or refuse.

        Parameters
        ----------
        dataset, column
            What is released. A dataset is one fixed table; give a changed table a name of its own. Columns that are one
            secret are named together, ``"x, y"``: it is charged once, and counts against the limits of both.
        mechanism
            A proved mechanism (or its :class:`~sfumato.release.ledger_promises.Promise`).
        times
            How many values of this column one person has, each of which gets noise of its own: the points of a trace.
        rows
            How many rows are released, for the record.
        scope
            The rows, if not all are released: scopes with different names must have no row in common. What is spent on
            one does not count against another.
        key
            The key of a keyed release. Releasing again with the same key, dataset, column, scope and mechanism costs
            nothing: the noise is a function of the key, the row, the column and the mechanism, so the second answer is
            the first one, and who sees it twice knows what he knew. With more ``times`` than before only the new ones
            are charged. Only a fingerprint of the key is kept.
        data
            A fingerprint of the column, made with a key (small columns could be guessed from another one).
        token
            A name of this charge. A charge with a token that is there already is not made again; the entry is returned
            as it is. Use it to retry after a crash if nothing of the first attempt was seen by anybody.

        Raises
        ------
        BudgetExceeded
            If a limit would be passed; nothing is recorded.
        InvalidInput
            If a key is used for another dataset, or for other data: rows with the same id would get the same noise on
            another secret, and two such answers tell more than the sum of their promises.
        """
        asked = _request(dataset, column, scope, times, rows, key, data, token, note)
        asked |= _promise_fields(promise_of(mechanism))
        with store.writing(self.path) as connection:
            known = _by_token(connection, token)
            if known is not None:
                return _same(known, asked)
            _refuse_shared_noise(connection, asked)
            asked["charged"] = max(0, times - _given_before(connection, asked))
            if asked["charged"]:
                _refuse_beyond_limits(connection, asked)
            asked["time"] = _now()
            number = store.append(connection, "entries", store.ENTRY_FIELDS, asked)
        return Entry(id=number, **asked)

    def spent(self, dataset: str, column: str | Iterable[str] | None = None) -> Spent:
        """What was spent of a column, of several together, or of all columns of a dataset together.

        A release of several columns as one secret counts for each of them, and once for all.
        """
        columns = _columns(column)
        with store.reading(self.path) as connection:
            return _spent(connection, dataset, columns)

    def entries(self) -> tuple[Entry, ...]:
        """Everything that was recorded, in order; the chain of digests is checked on the way."""
        with store.reading(self.path) as connection:
            found = store.rows_of(connection, self.path, "entries", store.ENTRY_FIELDS)
        return tuple(_entry(row) for row in found)

    def limits(self) -> tuple[Limit, ...]:
        """The limits that are in force, those that were lifted left out."""
        with store.reading(self.path) as connection:
            return tuple(limit for limit in _limits(connection) if limit.promise is not None)

    def set_limit(
        self,
        limit: Number | Amount | None = None,
        *,
        dataset: str | None = None,
        column: str | Iterable[str] | None = None,
        alpha: Number | None = None,
        unit: str | None = None,
    ) -> Limit:
        """Set, change or (with neither ``limit`` nor ``alpha``) lift a limit; earlier ones stay in the file.

        Without ``dataset`` it is for each column that has no limit of its own; with ``dataset`` for all its columns
        together; with ``column`` as well for that one, or for several together. A limit below what is spent already
        refuses whatever comes.
        """
        if limit is not None and alpha is not None:
            raise InvalidInput("give a limit as epsilon or as alpha, not both")
        promise = None
        if limit is not None or alpha is not None:
            promise = _limit_text(amount(alpha=alpha) if limit is None else limit)
        columns = _columns(column)
        if columns is not None and dataset is None:
            raise InvalidInput("a limit on columns needs the dataset they belong to")
        row = _limit_row(dataset, columns, promise, unit)
        with store.writing(self.path) as connection:
            store.append(connection, "limits", store.LIMIT_FIELDS, row)
        return Limit(dataset, columns, promise, unit, row["time"])

    def columns(self) -> tuple[tuple[str, str], ...]:
        """Every dataset and column of which something was released."""
        with store.reading(self.path) as connection:
            found = connection.execute(
                'SELECT dataset, "column" FROM entries GROUP BY dataset, "column" ORDER BY MIN(id)'
            )
            return tuple((row[0], row[1]) for row in found)

    def left(self, dataset: str, column: str) -> Amount | None:
        """What may still be spent on a column, by the tightest limit that covers it; None if none does."""
        with store.reading(self.path) as connection:
            rooms = [
                limit.amount - _spent(connection, dataset, covered).total
                for limit, covered in _covering(connection, dataset, column)
                if limit.amount is not None
            ]
        return min(rooms, default=None)


def _limit_text(limit: Number | Amount) -> str:
    if isinstance(limit, Amount):
        if not limit.logarithms:
            return f"epsilon {limit.rational}"
        if limit.rational == 0 and len(limit.logarithms) == 1 and limit.logarithms[0][1] == 1:
            return f"alpha {1 / limit.logarithms[0][0]}"
        raise InvalidInput(f"a limit is one ε or one α, found the sum {limit}")
    return f"epsilon {amount(epsilon=limit).rational}"


def _limit_row(
    dataset: str | None, columns: tuple[str, ...] | None, promise: str | None, unit: str | None
) -> dict[str, Any]:
    listed = None if columns is None else json.dumps(columns, ensure_ascii=False)
    return {"time": _now(), "dataset": dataset, "columns": listed, "promise": promise, "unit": unit}


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _columns(given: str | Iterable[str] | None) -> tuple[str, ...] | None:
    if given is None:
        return None
    columns = (given,) if isinstance(given, str) else tuple(sorted(set(given)))
    if not columns or not all(isinstance(name, str) and name for name in columns):
        raise InvalidInput(f"columns are named by texts, found {given!r}")
    return columns


def _request(
    dataset: str,
    column: str,
    scope: str,
    times: int,
    rows: int | None,
    key: bytes | None,
    data: str | None,
    token: str | None,
    note: str,
) -> dict[str, Any]:
    """What a charge says of itself, checked."""
    for what, text in {"dataset": dataset, "column": column}.items():
        if not isinstance(text, str) or not text:
            raise InvalidInput(f"{what} must be a name, found {text!r}")
    for what, text in {"scope": scope, "note": note, "data": data or "", "token": token or ""}.items():
        if not isinstance(text, str):
            raise InvalidInput(f"{what} must be a text, found {text!r}")
    if isinstance(times, bool) or not isinstance(times, int) or not 0 < times <= _MOST_TIMES:
        raise InvalidInput(f"times must be a positive integer, found {times!r}")
    if rows is not None and (isinstance(rows, bool) or not isinstance(rows, int) or not 0 <= rows <= _MOST_TIMES):
        raise InvalidInput(f"rows must be a number of rows, found {rows!r}")
    if key is not None and (not isinstance(key, bytes) or not key):
        raise InvalidInput(f"a key is given by its bytes, found {type(key).__name__}: key_bytes(path) reads a key file")
    return {"dataset": dataset, "column": column, "scope": scope, "times": times, "rows": rows,
            "key": None if key is None else _fingerprint(key), "data": data, "token": token, "note": note}  # fmt: skip


def _fingerprint(key: bytes) -> str:
    return hashlib.sha256(b"sfumato ledger, fingerprint of a key\0" + key).hexdigest()


def _promise_fields(promise: Promise) -> dict[str, Any]:
    return {"space": promise.space, "unit": promise.unit, "metric": promise.metric, "promise": promise.text,
            "mechanism": promise.mechanism, "noise": promise.noise}  # fmt: skip


def _entry(row: sqlite3.Row) -> Entry:
    return Entry(**{field.name: row[field.name] for field in fields(Entry)})


def _by_token(connection: sqlite3.Connection, token: str | None) -> Entry | None:
    if token is None:
        return None
    row = connection.execute("SELECT * FROM entries WHERE token = ?", [token]).fetchone()
    return None if row is None else _entry(row)


def _same(known: Entry, asked: dict[str, Any]) -> Entry:
    """The entry that a token stands for, if it is for what is asked."""
    differing = [name for name, value in asked.items() if getattr(known, name) != value and name != "note"]
    if differing:
        raise InvalidInput(
            f"the token {known.token!r} was used for another charge (entry {known.id}): {', '.join(differing)} differ"
        )
    return known


def _refuse_shared_noise(connection: sqlite3.Connection, asked: dict[str, Any]) -> None:
    """Raise if the noise of this release was used before, on what may be other secrets."""
    if asked["key"] is None:
        return
    other = connection.execute(
        'SELECT id, dataset, data FROM entries WHERE "key" = ? AND "column" = ? AND noise = ? '
        "AND (dataset <> ? OR data IS NOT ?) LIMIT 1",
        [asked[name] for name in ("key", "column", "noise", "dataset", "data")],
    ).fetchone()
    if other is not None:
        what = f"dataset {other['dataset']!r}" if other["dataset"] != asked["dataset"] else "other data"
        raise InvalidInput(
            f"this key was used for column {asked['column']!r} of {what} (entry {other['id']}): a row with the same id "
            "and another secret would get the same noise; make a key for each dataset, and a new one when it changes"
        )


def _given_before(connection: sqlite3.Connection, asked: dict[str, Any]) -> int:
    """How many of the values of a keyed release were given before, with the same noise."""
    if asked["key"] is None:
        return 0
    same = ("key", "dataset", "column", "scope", "noise")
    where = " AND ".join(f'"{name}" IS ?' for name in same)
    found = connection.execute(f"SELECT MAX(times) FROM entries WHERE {where}", [asked[name] for name in same])
    return int(found.fetchone()[0] or 0)


def _spent(connection: sqlite3.Connection, dataset: str, columns: tuple[str, ...] | None) -> Spent:
    grouped = connection.execute(
        'SELECT "column", scope, space, unit, metric, promise, SUM(charged) AS total FROM entries WHERE dataset = ? '
        'GROUP BY "column", scope, unit, metric, space, promise ORDER BY MIN(id)',
        [dataset],
    )
    sums: dict[tuple[str, ...], tuple[str, Amount]] = {}
    for row in grouped:
        if columns is None or _shares(row["column"], columns):
            where = (row["column"], row["scope"], row["unit"], row["metric"])
            space, before = sums.get(where, (row["space"], Amount()))
            sums[where] = space, before + rate_of(row["promise"]) * row["total"]
    return Spent(dataset, tuple(Part(c, s, space, u, m, a) for (c, s, u, m), (space, a) in sums.items()))


def _limits(connection: sqlite3.Connection) -> list[Limit]:
    """The last limit that was set for each set of columns."""
    last: dict[tuple[str | None, tuple[str, ...] | None], Limit] = {}
    for row in connection.execute("SELECT * FROM limits ORDER BY id"):
        columns = None if row["columns"] is None else tuple(json.loads(row["columns"]))
        last[row["dataset"], columns] = Limit(row["dataset"], columns, row["promise"], row["unit"], row["time"])
    return list(last.values())


def _covering(connection: sqlite3.Connection, dataset: str, column: str) -> list[tuple[Limit, tuple[str, ...] | None]]:
    """The limits that a column comes under, each with the columns whose sum it bounds.

    Where several columns are one secret, a limit on each column is one on each of them; a limit of its own has a column
    that is named in it alone, or together with those it is released with.
    """
    limits = _limits(connection)
    alone = [
        limit.columns for limit in limits if limit.dataset == dataset and limit.columns and len(limit.columns) == 1
    ]
    found: list[tuple[Limit, tuple[str, ...] | None]] = []
    for limit in limits:
        if limit.dataset is None:
            found += [(limit, (name,)) for name in _names(column) if not any(_shares(name, own) for own in alone)]
        elif limit.dataset == dataset and (limit.columns is None or _shares(column, limit.columns)):
            found.append((limit, limit.columns))
    return [(limit, columns) for limit, columns in found if limit.promise is not None]


def _names(column: str) -> list[str]:
    """The columns that an entry is about: ``"x, y"`` is about x and y."""
    return list(dict.fromkeys(column.split(_BETWEEN)))


def _shares(column: str, columns: Iterable[str]) -> bool:
    """Whether an entry is about one of some columns."""
    return not set(_names(column)).isdisjoint(name for other in columns for name in _names(other))


def _refuse_beyond_limits(connection: sqlite3.Connection, asked: dict[str, Any]) -> None:
    """Raise if a limit would be passed by what is asked, in the scope it is asked for or any other."""
    dataset, column = asked["dataset"], asked["column"]
    cost = rate_of(asked["promise"]) * asked["charged"]
    new = Part(column, asked["scope"], asked["space"], asked["unit"], asked["metric"], cost)
    for limit, columns in _covering(connection, dataset, column):
        most = limit.amount
        assert most is not None
        before = _spent(connection, dataset, columns)
        after = Spent(dataset, (*before.parts, new))
        units = after.units if limit.unit is None else tuple(dict.fromkeys([limit.unit, *after.units]))
        if len(units) > 1:
            raise Mismatch("units of a limit and of what is released", units[:1], units[1:],
                           f"{' and '.join(map(repr, units))} under one limit ({limit}): amounts in different units "
                           "do not add up; give each column a limit of its own unit")  # fmt: skip
        here = max([new.scope] if new.scope else after.scopes, key=after.of)
        if after.of(here) > most:
            spent, rows = before.of(here), f" on the rows {here!r}" if here else ""
            raise BudgetExceeded(
                f"{_scope_words(dataset, columns)} has a limit of {most}, of which {spent} are spent{rows}: a release "
                f"for {cost} more is refused; set_limit() changes the limit, if the promise made to people allows it",
                dataset, columns or (), spent, cost, most,
            )  # fmt: skip


def _scope_words(dataset: str | None, columns: tuple[str, ...] | None) -> str:
    if dataset is None:
        return "each column"
    if columns is None:
        return f"{dataset!r}, all columns together,"
    if len(columns) == 1:
        return f"column {columns[0]!r} of {dataset!r}"
    return f"columns {', '.join(map(repr, columns))} of {dataset!r} together"
