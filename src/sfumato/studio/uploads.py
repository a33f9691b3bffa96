"""Files that people bring, as texts: points with counts, matrices of any tool, and rows.

Rows are released by the mechanism of the page; columns are found by what they hold.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sfumato.channels import Channel
from sfumato.errors import InvalidInput, NotSupported, counted, shown
from sfumato.release.streams import release_file
from sfumato.report.audit_matrix import channel_on, matrix_from_text
from sfumato.report.audit_rounding import Margins
from sfumato.spaces import FiniteSpace
from sfumato.spaces.foreign import ACROSS, COUNTS, LATITUDES, LONGITUDES, UP
from sfumato.specs.cities import cities_of
from sfumato.specs.complaints import nearest
from sfumato.specs.tables import (
    Columns,
    column_texts,
    columns_from_text,
    numbers_of,
    usual_column,
)
from sfumato.studio.families import MOST_SECRETS, Find

ROLES = {
    "latitude": LATITUDES, "longitude": LONGITUDES, "x": (*ACROSS, "column", "col"), "y": (*UP, "row"),
    "count": (*COUNTS, "n", "number"), "name": ("name", "label", "city", "place", "cell", "id"),
}  # fmt: skip
"""What a column of a file of points can be, and the names by which it is known."""


def point_tables(text: str, name: str, chosen: dict[str, str] | None = None) -> dict[str, Any]:
    r"""Tables of a spec from a CSV file: coordinates, names where there are some, counts where there are some.

    ``columns`` says which column was taken for what, ``left`` which ones were not. ``chosen`` names columns by what
    they are, an empty text for none; where several could be meant and none is chosen, that is an error.

    Examples
    --------
    >>> tables = point_tables("name,x,y,count,note\nA,0,0,3,-\nB,1,0,1,-", "two.csv")
    >>> tables["space"]["labels"], tables["prior"]["counts"], tables["columns"]["count"], tables["left"]
    (['A', 'B'], ['3', '1'], 'count', ['note'])
    """
    table = columns_from_text(text, name)
    if len(table) > MOST_SECRETS:
        raise NotSupported(f"{len(table):,} points in the studio", [f"at most {MOST_SECRETS:,}"])
    taken = _taken(table, chosen or {})
    space: dict[str, Any]
    if taken["latitude"] and taken["longitude"]:
        space = {"kind": "geo", "coordinates": _pairs(table, taken["latitude"], taken["longitude"])}
    elif taken["x"] and taken["y"]:
        space = {"kind": "points", "coordinates": _pairs(table, taken["x"], taken["y"])}
        taken |= {"latitude": "", "longitude": ""}
    else:
        raise InvalidInput(f"{name} needs columns x and y, or latitude and longitude; it has {', '.join(table.header)}")
    if taken["name"]:
        space["labels"] = _distinct(column_texts(table, taken["name"]))
    counts = taken["count"]
    prior = {"counts": [str(value) for value in numbers_of(table, counts)]} if counts else {"uniform": True}
    used = {role: column for role, column in taken.items() if column}
    left = [column for column in table.header if column not in used.values()]
    return {"space": space, "prior": prior, "columns": used, "left": left}


def _taken(table: Columns, chosen: dict[str, str]) -> dict[str, str]:
    """The column for each role: the chosen one, or the one with a usual name; of several names the first."""
    for role, column in chosen.items():
        if role not in ROLES:
            raise InvalidInput(f"a column is chosen as one of {', '.join(ROLES)}, not as {role!r}")
        if column and column not in table.header:
            raise InvalidInput(f"{table.file} has no column {column!r}{nearest(column, table.header)}")
    taken = {}
    for role, usual in ROLES.items():
        if role in chosen:
            taken[role] = chosen[role]
        elif role in ("x", "y") and taken["latitude"] and taken["longitude"]:
            taken[role] = ""
        elif role == "name":  # nothing depends on which is taken
            taken[role] = next((name for word in usual for name in table.header if name.lower() == word), "")
        else:
            taken[role] = usual_column(table, usual, f"the {role}", "choose one")
    return taken


def _pairs(table: Columns, first: str, second: str) -> list[list[str]]:
    return [[str(a), str(b)] for a, b in zip(numbers_of(table, first), numbers_of(table, second), strict=True)]


def _distinct(names: list[str]) -> list[str]:
    """Names with a number behind those that occur again."""
    taken, result = set(names), list[str]()
    for k, name in enumerate(names):
        numbered = (f"{name} {number}" for number in count(2))
        result.append(name if name not in names[:k] else next(new for new in numbered if new not in taken))
        taken.add(result[-1])
    return result


def uploaded(text: str, name: str, space: FiniteSpace, tolerance: Fraction) -> tuple[Channel, Margins | None]:
    r"""The channel of a matrix that came as a text, and its box; errors call it by the name that its file had.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> uploaded("0.7,0.3\n0.3,0.7", "m.csv", line(2), Fraction(0))[0].matrix[0].tolist()
    [Fraction(7, 10), Fraction(3, 10)]
    """
    readable = text.encode("utf-8", "replace").decode("utf-8-sig")
    return channel_on(matrix_from_text(readable, name, tolerance, len(space)), space, name)


def cities(country: str, most: int) -> dict[str, Any]:
    """Tables of a spec from the largest cities of a country, with their populations."""
    known = cities_of(country, most)
    places = [[str(latitude), str(longitude)] for latitude, longitude in known.places]
    return {
        "space": {"kind": "geo", "coordinates": places, "labels": list(known.names)},
        "prior": {"counts": list(known.people)},
    }


def released(mechanism: Any, space: Any, find: Find, text: str, name: str, column: str) -> dict[str, Any]:
    """The text of a CSV file with noise in the place of its secrets; everything else is as it was, byte for byte.

    The true rows lie in a folder of this user's own while they are released, and are removed with it.
    """
    table = columns_from_text(text, name)
    if column:
        column_texts(table, column)
    wanted = column or find(table, space)
    with TemporaryDirectory() as folder:
        source, target = Path(folder) / "true.csv", Path(folder) / "released.csv"
        source.write_text(text, encoding="utf-8", newline="")
        done = release_file(mechanism, source, target, wanted)
        told = target.read_text(encoding="utf-8")
    names = [wanted] if isinstance(wanted, str) else list(wanted.columns)
    words = f"{counted(done.rows, 'row')} of {name} released, {' and '.join(map(shown, names))} with noise"
    return {"text": told, "name": "released.csv", "said": words}
