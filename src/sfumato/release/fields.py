"""What releases can be asked, each field declared once; what :mod:`sfumato.hide` asks as well is a declaration alone.

Types that have a name are texts, which signatures show: annotations of this module are values, they are not postponed.
"""

from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypedDict

from sfumato.fields import ShellOption, asked

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from os import PathLike

    from sfumato.numbers import Number
    from sfumato.release.ledger.ledger import Ledger
    from sfumato.release.terms import RowId

MOST_MOVED = Fraction(1, 20)
"""The share of the rows that may be no secret, where the nearest one is taken or such rows are left out.

A few strays are what these policies are for; a column in other units, coordinates in another order, or numbers that are
written in another way, concern nearly all."""

BEYOND = ("error", "drop")
"""What is done about a row that is one too many."""

OUTSIDE = "nearest"
"""What :func:`sfumato.hide.hiding.hide` does about points outside of the box, unless it is told."""

_SHARE = f"{float(MOST_MOVED)}"


# ----------------------------------------------------------------- shared with hide, and with the shell


class ColumnFields(TypedDict, total=False):
    """The columns of points, by their names; a release takes them as one value, and its command makes that of these."""

    lat: Annotated[
        str | None,
        asked(hide="The column of the latitude.", release="Instead of --column: that of the latitude, with --lon."),
    ]
    lon: Annotated[str | None, asked(hide="The column of the longitude.", release="The column of the longitude.")]
    x: Annotated[
        str | None,
        asked(hide="The column of the first coordinate.", release="Instead of --column: that of the first coordinate."),
    ]
    y: Annotated[
        str | None, asked(hide="The column of the second coordinate.", release="The column of the second coordinate.")
    ]
    geometry: Annotated[
        str | None,
        asked(
            in_spec=True,
            hide="The column of points, where there are several.",
            release="Instead of --column: that of points, such as geometry (WKB, WKT, GeoJSON).",
        ),
    ]


class PlacesFields(TypedDict, total=False):
    """Several places in a row, instead of one."""

    places: Annotated[
        "Mapping[str, tuple[str, str]] | None",
        asked(
            in_spec=True,
            hide=ShellOption("One of several places in a row: NAME=LAT,LON, its columns; once for each.",
                             list[str], "--place"),
        ),
    ]  # fmt: skip


class SystemFields(TypedDict, total=False):
    """The coordinate system of points that do not say theirs."""

    crs: Annotated[
        Any,
        asked(
            in_spec=True,
            hide="The coordinate system of --x and --y, such as EPSG:2154.",
            release="The coordinate system of the points, such as EPSG:2154, if the file is silent.",
        ),
    ]


class StrayFields(TypedDict, total=False):
    """What is done about values that are no secret, and about how many of them."""

    on_unknown: Annotated[
        str,
        asked(
            "error",
            words=("error", "drop", "nearest"),
            in_spec=True,
            hide="For points outside: nearest (moved to the border), error, or drop the row.",
            release=ShellOption(
                "For values that are no secret: error, drop the row, or take the nearest.", with_default=True
            ),
        ),
    ]
    most_moved: Annotated[
        "Number | None",
        asked(
            in_spec=True,
            hide=f"The share of rows that may be moved ({_SHARE}).",
            release=f"With --on-unknown nearest: the share of rows that may lie outside ({_SHARE}).",
        ),
    ]
    most_dropped: Annotated[
        "Number | None",
        asked(
            in_spec=True,
            hide="The share that --on-unknown drop may leave out.",
            release=f"With --on-unknown drop: the share of rows that may be left out ({_SHARE}).",
        ),
    ]


class PersonFields(TypedDict, total=False):
    """Whose row it is, and how many rows of a person are released."""

    person: Annotated[
        str | None,
        asked(
            in_spec=True,
            question="Column that says whose row it is, none if all have one ({columns})",
            usual="none",
            hide="The column that names whose row it is.",
        ),
    ]
    most_rows: Annotated[
        int | None,
        asked(
            in_spec=True,
            question="How many rows of one person are released, others being left out",
            usual="1",
            hide=ShellOption("With --person: rows of each that are released.", int),
        ),
    ]
    beyond: Annotated[
        str,
        asked("error", words=BEYOND, in_spec=True, hide="For rows beyond that: error, or drop them."),
    ]


class PerPersonFields(TypedDict, total=False):
    """Whether the promise is about all rows of a person together, which takes the rate of each row from it."""

    per_person: Annotated[
        bool,
        asked(
            False,
            in_spec=True,
            hide=ShellOption("With --most-rows: all rows of a person together keep the promise.", bool),
        ),
    ]


class DroppedFields(TypedDict, total=False):
    """Other columns, which are left out."""

    drop: Annotated[
        "Sequence[str]",
        asked(
            (),
            in_spec=True,
            hide=ShellOption("A column that tells places and is left out; may be said several times.", list[str]),
            release=ShellOption("A column that is left out; may be said several times.", list[str]),
        ),
    ]


class KeptFields(TypedDict, total=False):
    """Other columns, which stay although they tell places; a release calls them ``stay``."""

    keep: Annotated[
        "Sequence[str]",
        asked(
            (),
            in_spec=True,
            hide=ShellOption("A column that tells places and stays as it is; likewise.", list[str]),
        ),
    ]


class AccountFields(TypedDict, total=False):
    """At whose account."""

    ledger: Annotated[
        "Ledger | None",
        asked(
            hide=ShellOption("Charge everything here; refused past the limit (exit 3).", Path),
            release=ShellOption("Charge the release here; refused past the limit (exit 3).", Path),
        ),
    ]
    dataset: Annotated[
        str | None,
        asked(
            hide="With --ledger: the name of the data there.",
            release="With --ledger: the name of the data there, the same for every copy of them.",
        ),
    ]


# ----------------------------------------------------------------- of releases alone


class WrittenFields(TypedDict, total=False):
    """What stands in the released table, and which points are taken for a secret."""

    stay: Annotated[
        "Sequence[str]",
        asked((), release=ShellOption("A column that tells places and stays as it is; likewise.", list[str])),
    ]
    within: Annotated[Any, asked(release="How far a point may be from the nearest secret, such as '500 m'.")]
    into: Annotated[str | None, asked(release="A new name for the released column.")]
    keep: Annotated[
        bool, asked(False, release=ShellOption("Leave the true columns beside the noise. Needs --into.", bool))
    ]


class KeyFields(TypedDict, total=False):
    """Noise that is a function of a key and of what names a row."""

    key: Annotated[
        "bytes | str | PathLike[str] | None",
        asked(
            secret=True,
            release=ShellOption(
                "With --row-id: the same row always gets the same noise under this key.", Path, "--key-file"
            ),
        ),
    ]
    row_id: Annotated[
        "RowId | None",
        asked(release=ShellOption("The column that names a row; several name it together.", list[str])),
    ]
    secret_never_changes: Annotated[
        bool,
        asked(False, release=ShellOption("With --key-file and no --ledger: states that it is so.", bool)),
    ]


class TermFields(
    SystemFields, DroppedFields, WrittenFields, StrayFields, KeyFields, AccountFields, PersonFields, total=False
):
    """Everything that a release can be asked beside the column: the fields of :class:`sfumato.release.terms.Terms`."""

    times: Annotated[
        int | None,
        asked(
            release=ShellOption(
                "With --ledger: how many rows one person has or changes (2 in counts by district).", int, least=1
            )
        ),
    ]
