"""A ledger of what was released, which adds up ε and δ and refuses what goes past a limit.

d-privacy adds. If M₁ is ε₁·d₁-private and M₂ is ε₂·d₂-private, who sees an output of both for one secret learns at most
what ε₁d₁ + ε₂d₂ allows: the ratios of independent outputs multiply. So k releases of one column at ε₁, …, ε_k cost
Σ ε_i for one metric, a trace of k points costs k times as much as a point, and different metrics add as functions. The
ledger keeps a sum for every metric. A limit L is one for the sum of them all: then Σ_m E_m d_m ≤ L · max_m d_m.

Promises about events add as well (basic composition: Dwork and Roth 2014, theorem 3.16). If M_i(x)(E) ≤
e^{ε_i} M_i(z)(E) + δ_i for all events E and the neighbours (x, z) of M_i, then all of them together keep (Σ ε_i, Σ δ_i)
for every pair that are neighbours in each. The ledger adds up both, and a limit bounds both; one that names no δ allows
none. With the neighbours as a metric n_i, 1 between them and infinite elsewhere, this is the sum of metrics above: a
promise about distances is one with δ = 0 and any d in place of n_i. What is **not** promised: δ does not grow with a
distance, and nothing is said of two secrets that are no neighbours. Over a chain of k neighbours (ε, δ) becomes
(kε, δ(1 + e^ε + … + e^{(k−1)ε})), which is no multiple of δ; a ledger does not work it out. Traces of k values are
neighbours where all their values are equal or neighbours, so that ``times=k`` costs (kε, kδ).

A column has one metric, and one unit, which its first charge fixes: distances a thousand times as long, at a thousandth
of ε, are the same mechanism, and ε alone would tell nothing. Another ε on the same space is what a ledger adds up;
another space, the same metric in another form (a graph, a table), or promises about events beside promises about
distances, are refused. So are promises about coordinates beside promises about cells: where points were snapped to
cells first, two of them on the two sides of a border have no bound by their distance, and there is nothing to add.
Columns that are released together, ``"x, y"``, have a metric of their own, in the unit that x
and y have alone.

Columns that are one secret, such as the coordinates of a place, are one entry under their names, ``"x, y"``. It tells
something about each of them: who can tell (x, y) from (x′, y) can tell x from x′. So the entry spends on x as well as
on y, and a release of x spends on the pair. What is spent on some columns is the sum of all entries that share one with
them, and a limit on x holds whatever x was released with. A column whose own name has a comma and a blank in it is
taken for several, which counts too much, never too little.

Sums and comparisons are exact (:mod:`sfumato.certify.amounts`); the file is append-only and survives crashes and
concurrent writers (:mod:`sfumato.release.ledger.store`).

Charge before you draw. A crash in between then costs budget and no privacy.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable
from dataclasses import fields
from fractions import Fraction
from os import PathLike
from typing import Any

from sfumato.arguments import flag
from sfumato.certify.amounts import Amount
from sfumato.certify.charge import about_coordinates, rate_of
from sfumato.certify.protocol import charge_of
from sfumato.errors import BudgetExceeded, InvalidInput, Mismatch, advice, shown
from sfumato.numbers import Number
from sfumato.release.ledger import arguments, store
from sfumato.release.ledger.arguments import refuse_alike
from sfumato.release.ledger.values import BudgetLimit, Entry, Spent, SpentPart, scope_words

_COLUMN_SEPARATOR = ", "  # It stands between the names of columns that are one secret.


Covering = tuple[BudgetLimit, tuple[str, ...] | None]
"""A limit, and the columns whose sum it bounds: None for all of a dataset."""


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
    delta
        δ that may be spent on each column, beside ``limit``; none unless given.

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

    def __init__(
        self,
        path: str | PathLike[str],
        limit: Number | Amount | None = None,
        *,
        delta: Number | None = None,
        create: bool = True,
    ) -> None:
        self.path = arguments.place(path)
        create = flag(create, "create")
        wanted = arguments.limit_fields(None, None, arguments.limit_text(limit), arguments.delta_text(delta), None)
        if not self.path.exists():
            if not create:
                raise InvalidInput(f"there is no ledger {self.path}")
            store.written(self.path, None if wanted["promise"] is None else wanted)
        store.check_ledger(self.path)
        if wanted["promise"] is not None:
            kept = next((limit for limit in self.limits() if limit.dataset is None), None)
            named = _as_limit(wanted)
            if kept is None or (kept.amount, kept.most_delta) != (named.amount, named.most_delta):
                raise InvalidInput(
                    f"{self.path} has another limit ({kept or 'no limit for all columns'}) than is given here "
                    f"({named}){advice(('set_limit', 'changes it'))}"
                )

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    def charge(
        self,
        *,
        dataset: str,
        column: str,
        mechanism: Any,
        times: int | None = None,
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
            A proved mechanism, the sampler that draws from it (a keyed truncated Laplace needs that), or its
            :class:`~sfumato.certify.charge.Charge`.
        times
            How many values of this column one person has or changes, each of which gets noise of its own: the points of
            a trace, the counts of a table. One by default; where several rows are answers of a query (counts, sums, all
            integers) it has to be said.
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
            A fingerprint of the column, made with a key (small columns could be guessed from another one). A keyed
            release has one, so that a changed table is noticed.
        token
            A name of this charge. A charge with a token that is there already is not made again; the entry is returned
            as it is. Use it to retry after a crash if nothing of the first attempt was seen by anybody.

        Raises
        ------
        BudgetExceeded
            If a limit would be passed; nothing is recorded.
        InvalidInput
            If a key is used for another dataset, or for other data: rows with the same id would get the same noise on
            another secret, and two such answers tell more than the sum of their promises. If the column was released
            in another metric or unit before. If a name is new and looks like one that is there: ``People`` beside
            ``people`` would begin with nothing spent.
        """
        request = arguments.charge_fields(dataset, column, scope, rows, key, data, token, note)
        charge = charge_of(mechanism)
        request |= arguments.charged_fields(charge, keyed=key is not None)
        request["times"] = arguments.times_of(times, request["rows"], charge)
        with store.writing(self.path) as connection:
            known = _by_token(connection, token)
            if known is not None:
                return _same(known, request)
            _refuse_alike(connection, request["dataset"], _names(request["column"]), request["scope"])
            _refuse_shared_noise(connection, request)
            _refuse_other_metric(connection, request)
            request["charged"] = max(0, request["times"] - _given_before(connection, request))
            if request["charged"]:
                _refuse_beyond_limits(connection, request)
            request["time"] = arguments.now()
            number = store.append(connection, "entries", store.ENTRY_FIELDS, request)
        return Entry(id=number, **request)

    def spent(self, dataset: str, column: str | Iterable[str] | None = None) -> Spent:
        """What was spent of a column, of several together, or of all columns of a dataset together.

        A release of several columns as one secret counts for each of them, and once for all.
        """
        name, columns = arguments.name(dataset, "dataset"), arguments.column_names(column)
        with store.reading(self.path) as connection:
            _refuse_alike(connection, name, columns or ())
            return _spent(connection, name, columns)

    def entries(self) -> tuple[Entry, ...]:
        """Everything that was recorded, in order; the chain of digests is checked on the way."""
        with store.reading(self.path) as connection:
            rows = store.rows_of(connection, self.path, "entries", store.ENTRY_FIELDS)
        return tuple(_entry(row) for row in rows)

    def limits(self) -> tuple[BudgetLimit, ...]:
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
        delta: Number | None = None,
        unit: str | None = None,
    ) -> BudgetLimit:
        """Set, change or (with neither ``limit`` nor ``alpha``) lift a limit; earlier ones stay in the file.

        Without ``dataset`` it is for each column that has no limit of its own; with ``dataset`` for all its columns
        together; with ``column`` as well for that one, or for several together. ``delta`` is the most δ that promises
        about events may spend beside ε; without it there is none to spend. A limit below what is spent already refuses
        whatever would add to it.
        """
        promise, columns = arguments.limit_text(limit, alpha), arguments.column_names(column)
        if columns is not None and dataset is None:
            raise InvalidInput("a limit on columns needs the dataset they belong to")
        row = arguments.limit_fields(dataset, columns, promise, arguments.delta_text(delta), unit)
        with store.writing(self.path) as connection:
            if row["dataset"] is not None and promise is not None:
                _refuse_alike(connection, row["dataset"], columns or ())
            store.append(connection, "limits", store.LIMIT_FIELDS, row)
        return _as_limit(row)

    def datasets(self) -> tuple[str, ...]:
        """The names of all datasets that were released from or have a limit."""
        with store.reading(self.path) as connection:
            return _datasets(connection)

    def columns(self) -> tuple[tuple[str, str], ...]:
        """Every dataset and column of which something was released."""
        with store.reading(self.path) as connection:
            rows = connection.execute(
                'SELECT dataset, "column" FROM entries GROUP BY dataset, "column" ORDER BY MIN(id)'
            )
            return tuple((row[0], row[1]) for row in rows)

    def left(self, dataset: str, column: str) -> Amount | None:
        """The ε that may still be spent on a column, by the tightest limit that covers it; None if none does."""
        return min((most - spent for most, spent, _, _ in self._rooms(dataset, column)), default=None)

    def left_delta(self, dataset: str, column: str) -> Fraction | None:
        """The δ that may still be spent on a column, likewise."""
        return min((most - spent for _, _, most, spent in self._rooms(dataset, column)), default=None)

    def _rooms(self, dataset: str, column: str) -> list[tuple[Amount, Amount, Fraction, Fraction]]:
        """For each limit that covers a column: the most ε and what of it is spent, the same for δ."""
        where = arguments.name(dataset, "dataset"), arguments.name(column, "column")
        rooms = []
        with store.reading(self.path) as connection:
            _refuse_alike(connection, where[0], _names(where[1]))
            for limit, covered in _covering(connection, *where):
                spent = _spent(connection, where[0], covered)
                if limit.amount is not None:
                    rooms.append((limit.amount, spent.total, limit.most_delta, spent.delta))
        return rooms


def _as_limit(row: Any) -> BudgetLimit:
    columns = None if row["columns"] is None else tuple(json.loads(row["columns"]))
    return BudgetLimit(row["dataset"], columns, row["promise"], row["unit"], row["time"], row["delta"])


def _entry(row: sqlite3.Row) -> Entry:
    return Entry(**{field.name: row[field.name] for field in fields(Entry)})


def _by_token(connection: sqlite3.Connection, token: str | None) -> Entry | None:
    if token is None:
        return None
    row = connection.execute("SELECT * FROM entries WHERE token = ?", [token]).fetchone()
    return None if row is None else _entry(row)


def _same(known: Entry, request: dict[str, Any]) -> Entry:
    """The entry that a token stands for, if it is the one that is wanted."""
    differing = [name for name, value in request.items() if getattr(known, name) != value and name != "note"]
    if differing:
        raise InvalidInput(
            f"the token {shown(known.token)} was used for another charge (entry {known.id}): "
            f"{', '.join(differing)} differ"
        )
    return known


def _datasets(connection: sqlite3.Connection) -> tuple[str, ...]:
    rows = connection.execute(
        "SELECT dataset, 0 AS later, MIN(id) FROM entries GROUP BY dataset UNION ALL "
        "SELECT dataset, 1, MIN(id) FROM limits WHERE dataset IS NOT NULL GROUP BY dataset ORDER BY 2, 3"
    )
    return tuple(dict.fromkeys(row[0] for row in rows))


def _refuse_alike(connection: sqlite3.Connection, dataset: str, columns: Iterable[str], scope: str = "") -> None:
    """Raise for names that would begin a new account because they differ in what nobody sees."""
    refuse_alike(dataset, _datasets(connection), "dataset")
    said = connection.execute('SELECT DISTINCT "column", scope FROM entries WHERE dataset = ?', [dataset]).fetchall()
    limited = [limit.columns or () for limit in _limits(connection) if limit.dataset == dataset]
    known = [name for row in said for name in _names(row["column"])] + [name for some in limited for name in some]
    for name in columns:
        refuse_alike(name, [name for other in known for name in _names(other)], "column")
    if scope:
        refuse_alike(scope, [row["scope"] for row in said if row["scope"]], "scope")


def _refuse_shared_noise(connection: sqlite3.Connection, request: dict[str, Any]) -> None:
    """Raise if this noise was used before on what may be other secrets."""
    if request["key"] is None:
        return
    other = connection.execute(
        'SELECT id, dataset, data FROM entries WHERE "key" = ? AND "column" = ? AND noise = ? '
        "AND (dataset <> ? OR data IS NOT ?) LIMIT 1",
        [request[name] for name in ("key", "column", "noise", "dataset", "data")],
    ).fetchone()
    if other is not None:
        what = f"dataset {other['dataset']!r}" if other["dataset"] != request["dataset"] else "other data"
        raise InvalidInput(
            f"this key was used for column {shown(request['column'])} of {what} (entry {other['id']}): a row with the "
            "same id and another secret would get the same noise, and who compares the two answers learns more than "
            "both promises allow; make a key for each dataset, and a new one when it changes"
        )


def _refuse_other_metric(connection: sqlite3.Connection, request: dict[str, Any]) -> None:
    """Raise if the column has another metric, or a column that it shares has another unit."""
    names = set(_names(request["column"]))
    before = connection.execute(
        'SELECT MIN(id) AS id, "column", space, unit, metric FROM entries WHERE dataset = ? '
        'GROUP BY "column", unit, metric, space ORDER BY 1',
        [request["dataset"]],
    ).fetchall()
    near = [row for row in before if not names.isdisjoint(_names(row["column"]))]
    _refuse_cells_beside_coordinates(near, request)
    same = [row for row in near if names == set(_names(row["column"]))]
    if same and request["metric"] not in {row["metric"] for row in same}:
        first = same[0]
        raise Mismatch(
            "metrics of one column", [first["metric"]], [request["metric"]],
            f"column {shown(request['column'])} of {shown(request['dataset'])} has the metric of "
            f"{_metric_words(first)} since entry {first['id']}, and this release that of {_metric_words(request)}: "
            "an ε of the one says nothing of an ε of the other; use a mechanism on the first space, with its "
            "labels, distances and unit",
        )  # fmt: skip
    if near and request["unit"] not in {row["unit"] for row in near}:
        first = near[0]
        shared = _COLUMN_SEPARATOR.join(sorted(names & set(_names(first["column"]))))
        raise Mismatch(
            "units of one column", [first["unit"]], [request["unit"]],
            f"{shown(shared)} of {shown(request['dataset'])} has distances in {shown(first['unit'])} since entry "
            f"{first['id']}, and this release in {shown(request['unit'])}: use one unit for a column",
        )  # fmt: skip


def _refuse_cells_beside_coordinates(near: Iterable[Any], request: dict[str, Any]) -> None:
    """Raise if promises about points would be added to promises about a list of secrets."""
    points = about_coordinates(request["metric"], request["unit"])
    other = next((row for row in near if about_coordinates(row["metric"], row["unit"]) != points), None)
    if other is None:
        return
    cells, whose = f"the secrets of {(other if points else request)['space']}", shown(other["column"])
    before, after = (cells, "coordinates") if points else ("coordinates", cells)
    raise Mismatch(
        "promises about one column", [before], [after],
        f"{whose} of {shown(request['dataset'])} has a promise about {before} since entry {other['id']}, and this "
        f"release has one about {after}: a promise about cells says nothing of two points on the two sides of a "
        "border, so that the two do not add up; release a column always by cells, or always by a mechanism for "
        "coordinates (design on a box)",
    )  # fmt: skip


def _metric_words(row: Any) -> str:
    unit = f" in {row['unit']}" if row["unit"] else ""
    return f"{row['space']}{unit} ({row['metric'][:8]})"


def _given_before(connection: sqlite3.Connection, request: dict[str, Any]) -> int:
    """How many of the values of a keyed release were given before, with the same noise."""
    if request["key"] is None:
        return 0
    same = ("key", "dataset", "column", "scope", "noise")
    where = " AND ".join(f'"{name}" IS ?' for name in same)
    rows = connection.execute(f"SELECT MAX(times) FROM entries WHERE {where}", [request[name] for name in same])
    return int(rows.fetchone()[0] or 0)


def _spent(connection: sqlite3.Connection, dataset: str, columns: tuple[str, ...] | None) -> Spent:
    grouped = connection.execute(
        'SELECT "column", scope, space, unit, metric, promise, delta, SUM(charged) AS total FROM entries '
        'WHERE dataset = ? GROUP BY "column", scope, unit, metric, space, promise, delta ORDER BY MIN(id)',
        [dataset],
    )
    sums: dict[tuple[str, ...], SpentPart] = {}
    for row in grouped:
        if columns is None or _shares(row["column"], columns):
            where = (row["column"], row["scope"], row["unit"], row["metric"])
            before = sums.get(where)
            epsilon = rate_of(row["promise"]) * row["total"]
            delta = None if row["delta"] is None else Fraction(row["delta"]) * row["total"]
            if before is not None:
                epsilon = before.amount + epsilon
                delta = None if delta is None else (before.delta or 0) + delta
            sums[where] = SpentPart(*where[:2], row["space"], *where[2:], epsilon, delta)
    return Spent(dataset, tuple(sums.values()))


def _limits(connection: sqlite3.Connection) -> list[BudgetLimit]:
    """The last limit that was set for each set of columns."""
    every = [_as_limit(row) for row in connection.execute("SELECT * FROM limits ORDER BY id")]
    return list({(limit.dataset, limit.columns): limit for limit in every}.values())


def _covering(connection: sqlite3.Connection, dataset: str, column: str) -> list[Covering]:
    """The limits that a column comes under, each with the columns whose sum it bounds.

    Where several columns are one secret, a limit on each column is one on each of them; a limit of its own has a column
    that is named in it alone, or together with those it is released with.
    """
    limits = _limits(connection)
    alone = [
        limit.columns for limit in limits if limit.dataset == dataset and limit.columns and len(limit.columns) == 1
    ]
    covering: list[Covering] = []
    for limit in limits:
        if limit.dataset is None:
            covering += [(limit, (name,)) for name in _names(column) if not any(_shares(name, own) for own in alone)]
        elif limit.dataset == dataset and (limit.columns is None or _shares(column, limit.columns)):
            covering.append((limit, limit.columns))
    return [(limit, columns) for limit, columns in covering if limit.promise is not None]


def _names(column: str) -> list[str]:
    """The columns that an entry is about: ``"x, y"`` is about x and y."""
    return list(dict.fromkeys(column.split(_COLUMN_SEPARATOR)))


def _shares(column: str, columns: Iterable[str]) -> bool:
    """Whether an entry is about one of some columns."""
    return not set(_names(column)).isdisjoint(name for other in columns for name in _names(other))


def _refuse_beyond_limits(connection: sqlite3.Connection, request: dict[str, Any]) -> None:
    """Raise if a limit would be passed, in the scope of the request or in any other."""
    dataset, column = request["dataset"], request["column"]
    cost = rate_of(request["promise"]) * request["charged"]
    delta = None if request["delta"] is None else Fraction(request["delta"]) * request["charged"]
    new = SpentPart(column, request["scope"], request["space"], request["unit"], request["metric"], cost, delta)
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
        scopes = [new.scope] if new.scope else after.scopes
        here = max(scopes, key=after.of)
        if after.of(here) > most:
            raise _exceeded(dataset, columns, here, "", before.of(here), cost, most)
        here = max(scopes, key=after.delta_of)
        if delta and after.delta_of(here) > limit.most_delta:
            raise _exceeded(dataset, columns, here, "delta = ", before.delta_of(here), delta, limit.most_delta)


def _exceeded(
    dataset: str, columns: tuple[str, ...] | None, scope: str, what: str, spent: Any, cost: Any, most: Any
) -> BudgetExceeded:
    rows = f" on the rows {scope!r}" if scope else ""
    return BudgetExceeded(
        f"{scope_words(dataset, columns)} has a limit of {what}{most}, of which {spent} are spent{rows}: a release "
        f"for {what}{cost} more is refused"
        + advice(("set_limit", "changes the limit, if the promise made to people allows it")),
        dataset, columns or (), spent, cost, most,
    )  # fmt: skip
