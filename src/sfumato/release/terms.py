"""The terms of a release: which column, what comes instead, whose noise, who is charged. One value, checked once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, Unpack

from sfumato.arguments import flag, integer, items, one_of
from sfumato.errors import InvalidInput, keyword, shown, worded
from sfumato.fields import changed, fields_of
from sfumato.numbers import as_written
from sfumato.release.fields import BEYOND, MOST_MOVED, TermFields
from sfumato.release.keys import check_statement, key_bytes
from sfumato.release.places import Position, in_system
from sfumato.release.rows import check_policy

MOST_ROWS = 10**9
"""The most rows of one person that anybody may ask for."""

Column = str | Position
"""A column of labels, or the columns of coordinates."""

RowId = str | Sequence[str]
"""The column that names a row, or several that name it together."""


@dataclass(frozen=True, eq=False)
@fields_of(TermFields)
class Terms:
    """What is released, how, and at whose account; the same for tables, files, Spark and Dask.

    Parameters
    ----------
    column
        The column with the labels of the secrets, ``Position("x", "y")``, ``Place("lat", "lon")``, or ``Geometry()``
        for a column of points. Coordinates are replaced by those of the output. On a list of secrets, such as the cells
        of a grid, a point is first taken for one of them, and the promise is about these; a mechanism for coordinates
        (a design on a box) rounds smoothly, and its promise is about all points. On an interval the name of one column
        will do.
    into
        A new name for the column of outputs. The true columns do not stay beside the noise, unless ``keep`` says so.
    on_unknown
        What to do about a value that is no secret: ``"error"``, ``"drop"`` the row, or take the ``"nearest"`` secret;
        of a box that is its nearest point, which costs no privacy.
    within
        For coordinates: how far a point may be from the nearest secret, in the unit of the space (``0.5`` or
        ``"0.5 km"``). Grids need none: a point belongs to the cell it is in.
    most_moved
        With ``"nearest"``: the share of the rows that may lie outside the space, 1/20 by default; with more, nothing is
        released. Outside is what lies in no cell of a grid, beyond the ends of a line by more than half a step, farther
        than ``within`` from every secret, farther than secrets are from their nearest neighbours, or not in a box.
    most_dropped
        With ``"drop"``: the share of the rows that may be left out, 1/20 by default; with more, nothing is released.
        Rows beyond those of a person do not count.
    crs
        For coordinates: their coordinate system, such as ``"EPSG:2154"``, where the column or the file does not say it.
    drop, stay
        Other columns that are left out of what is released, and those that stay as they are although they hold
        geometries or have names of coordinates, which are refused otherwise.
    key, row_id
        A key (32 bytes or a key file, see :func:`release_key`) and the column or columns that name a row: its noise is
        then a function of (key, row id, column, mechanism), the same whenever it is released again. A key file is read
        once, here.
    secret_never_changes
        A key needs a ledger, which notices a changed table, or this statement: with neither, two releases of a table
        whose rows changed would tell every change for certain.
    ledger, dataset, times
        Where to charge the release, under which name (one that the data keep wherever they are copied to), and how many
        values of the column one person has or changes: 2 for counts by district, where who moves changes two. One by
        default; where several rows are answers of a query it has to be said. The charge is made before any output is
        seen.
    person, most_rows, beyond
        The column that names a person, how many rows of each are released at most (the first in the order of the
        table), and what to do about the others: ``"error"``, or ``"drop"`` them. A ledger is charged for so many.

    Examples
    --------
    >>> terms = Terms("home", on_unknown="nearest", most_moved="0.1")
    >>> terms.share, terms.ids
    (Fraction(1, 10), ())
    """

    column: Column

    if TYPE_CHECKING:  # what the decorators make of the declaration

        def __init__(self, column: Column, **terms: Unpack[TermFields]) -> None: ...

        def __getattr__(self, name: str) -> Any: ...

    def __post_init__(self) -> None:
        if not isinstance(self.column, str | Position):
            raise InvalidInput(
                "a column is named by a text; coordinates are Position('x', 'y') or Place('lat', 'lon'), points are "
                f"Geometry(), found {shown(self.column)}"
            )
        if self.crs is not None:
            if isinstance(self.column, str):
                calls = ("Position(…)", "x", "y"), ("Place(…)", "lat", "lon"), ("Geometry(…)", "geometry")
                raise InvalidInput(
                    f"{keyword('crs')} is for coordinates, and {shown(self.column)} is one column: name "
                    f"{', or '.join(worded(*call) for call in calls)}"
                )
            object.__setattr__(self, "column", in_system(self.column, self.crs))
        check_policy(self.on_unknown)
        self._check_share()
        if (self.key is None) != (self.row_id is None):
            raise InvalidInput(
                f"keyed noise needs both {keyword('key')} and {keyword('row_id')}: the key alone names no row, the id "
                "alone hides none"
            )
        check_statement(self.secret_never_changes, keyed=self.key is not None, ledger=self.ledger is not None)
        self._check_account()
        if flag(self.keep, "keep") and self.into is None:
            raise InvalidInput(
                f"{keyword('keep', True)} leaves the true column in the table: the noise needs another name, "
                f"{keyword('into', '…')}"
            )
        if self.into is not None and (not isinstance(self.into, str) or not self.into):
            raise InvalidInput(f"into is the name of a column, found {shown(self.into)}")
        self._check_several()
        self._check_ids()
        self._check_person()
        self._check_others()
        if self.key is not None:
            object.__setattr__(self, "key", key_bytes(self.key))

    @property
    def taken(self) -> tuple[str, ...]:
        """The columns that hold the secret."""
        return (self.column,) if isinstance(self.column, str) else self.column.columns

    @property
    def places(self) -> tuple[str | Position, ...]:
        """What is drawn for in each row: the column, or each of its places."""
        return (self.column,) if isinstance(self.column, str) else self.column.each

    @property
    def row_ids(self) -> tuple[str, ...]:
        """The columns that name a row."""
        return (self.row_id,) if isinstance(self.row_id, str) else tuple(self.row_id or ())

    @property
    def ids(self) -> tuple[str, ...]:
        """The columns that are read and stay as they are: those that name a row, and that of the person."""
        return tuple(dict.fromkeys([*self.row_ids, *([] if self.person is None else [self.person])]))

    @property
    def values(self) -> int | None:
        """How many values of the column one person has, for which a ledger is charged; None if nobody says."""
        said: int | None = self.times if self.most_rows is None else self.most_rows
        return said if len(self.places) == 1 else (said or 1) * len(self.places)

    @property
    def share(self) -> Fraction:
        """``most_moved`` or ``most_dropped`` as people write it: 0.3 is three tenths."""
        name = "most_dropped" if self.on_unknown == "drop" else "most_moved"
        given = getattr(self, name)
        return MOST_MOVED if given is None else as_written(given, name)

    def for_worker(self) -> Terms:
        """The terms for a part of a table: whoever sees the whole charges for it, and has checked the statement."""
        return changed(self, ledger=None, dataset=None, times=None, secret_never_changes=self.key is not None)

    def _check_share(self) -> None:
        for name, policy, done in (("most_moved", "nearest", "moved"), ("most_dropped", "drop", "left out")):
            given = getattr(self, name)
            if given is not None and self.on_unknown != policy:
                raise InvalidInput(
                    f"{keyword(name)} goes with {keyword('on_unknown', policy)}: otherwise nothing is {done}"
                )
            if given is not None and not 0 <= self.share <= 1:
                raise InvalidInput(f"{name} is a share of the rows, between 0 and 1, found {shown(given)}")

    def _check_account(self) -> None:
        if self.ledger is None:
            once = self.times is None or (isinstance(self.times, int) and self.times == 1)
            if self.dataset is not None or not once:
                raise InvalidInput(
                    f"{keyword('dataset')} and {keyword('times')} are for a ledger: give {keyword('ledger')} too"
                )
            return
        if not callable(getattr(self.ledger, "charge", None)):
            raise InvalidInput(
                f"ledger= is a Ledger, found a value of type {type(self.ledger).__name__}: Ledger(path) opens one"
            )
        if not isinstance(self.dataset, str) or not self.dataset:
            raise InvalidInput(
                f"a ledger adds up what is released of one dataset: say {keyword('dataset', '…')}, a name of the data "
                "that stays the same wherever they are copied to (the name of a file does not: each copy would start "
                "with nothing spent)"
            )

    def _check_several(self) -> None:
        given = [name for name in ("key", "into") if getattr(self, name) is not None]
        if given and len(self.places) > 1:
            raise InvalidInput(f"{keyword(given[0])} is about one place in each row, found {len(self.places)}")

    def _check_ids(self) -> None:
        if self.row_id is not None and not (self.row_ids and all(isinstance(name, str) for name in self.row_ids)):
            raise InvalidInput(f"row_id is the name of a column or a list of names, found {shown(self.row_id)}")
        for name in self.taken:
            if name in self.row_ids:
                raise InvalidInput(f"{shown(name)} is released and cannot be the row id, which stays as it is")

    def _check_person(self) -> None:
        one_of(self.beyond, BEYOND, "beyond")
        if (self.person is None) != (self.most_rows is None):
            raise InvalidInput(
                f"{keyword('person')} names whose row it is, {keyword('most_rows')} how many of each are released: "
                "give both"
            )
        if self.person is None:
            if self.beyond != "error":
                raise InvalidInput(f"{keyword('beyond')} is about the rows of a person: give {keyword('person')} too")
            return
        if not isinstance(self.person, str) or not self.person or self.person in self.taken:
            raise InvalidInput(f"person is the name of a column that is not released, found {shown(self.person)}")
        integer(self.most_rows, "most_rows", 1, MOST_ROWS)
        if self.times not in (None, 1):
            raise InvalidInput(
                f"{keyword('most_rows')} says how many values a person has: leave {keyword('times')} out"
            )

    def _check_others(self) -> None:
        """Columns that go or stay are others than those that are released or read."""
        for name in ("drop", "stay"):
            object.__setattr__(self, name, names_of(getattr(self, name), name))
        taken = next((name for name in (*self.drop, *self.stay) if name in self.taken), None)
        if taken is not None:
            raise InvalidInput(f"{shown(taken)} is released, and can neither be left out nor stay")
        for name in self.drop:
            if name in self.ids or name in self.stay:
                what = "stays" if name in self.stay else "names whose row it is"
                raise InvalidInput(f"{shown(name)} {what}, and cannot be left out as well")


def names_of(given: Any, what: str) -> tuple[str, ...]:
    """Names of columns: one text, or several.

    Examples
    --------
    >>> names_of("home", "drop"), names_of(["home", "work"], "drop")
    (('home',), ('home', 'work'))
    """
    listed = (given,) if isinstance(given, str) else items(given, keyword(what))
    if not all(isinstance(name, str) and name for name in listed):
        raise InvalidInput(f"{keyword(what)} names columns by texts, found {shown(given)}")
    return tuple(dict.fromkeys(listed))


def terms_of(column: Column | Terms, keywords: TermFields) -> Terms:
    """The terms that were given as such, or as a column and keywords."""
    if not isinstance(column, Terms):
        return Terms(column, **keywords)
    if keywords:
        raise InvalidInput(f"these terms are complete: {', '.join(keywords)} cannot be given beside them")
    return column
