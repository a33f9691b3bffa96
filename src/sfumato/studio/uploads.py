"""Files that people bring: points with counts, and matrices of any tool. Both come as texts."""

from __future__ import annotations

from fractions import Fraction
from itertools import count
from typing import Any

from sfumato.channels import Channel
from sfumato.errors import InvalidInput, NotSupported
from sfumato.report.audit_matrix import channel_on, matrix_from_text
from sfumato.report.audit_rounding import Box
from sfumato.spaces import FiniteSpace
from sfumato.spaces.foreign import LATITUDES, LONGITUDES
from sfumato.specs.cities import cities_of
from sfumato.specs.tables import (
    Columns,
    column_of,
    columns_from_text,
    numbers_of,
    usual_column,
)
from sfumato.studio.requests import MOST_SECRETS

_ACROSS, _UP = ("x", "easting", "column", "col"), ("y", "northing", "row")
_COUNTS = ("count", "counts", "population", "residents", "people", "weight", "n", "number")
_NAMES = ("name", "label", "city", "place", "cell", "id")


def points(text: str, name: str) -> dict[str, Any]:
    r"""Tables of a spec from a CSV file: coordinates, names where there are some, counts where there are some.

    Examples
    --------
    >>> tables = points("name,x,y,count\nA,0,0,3\nB,1,0,1", "two.csv")
    >>> tables["space"]["labels"], tables["prior"]["counts"]
    (['A', 'B'], ['3', '1'])
    """
    table = columns_from_text(text, name)
    if len(table) > MOST_SECRETS:
        raise NotSupported(f"{len(table):,} points in the studio", [f"at most {MOST_SECRETS:,}"])
    latitude, longitude = usual_column(table, LATITUDES), usual_column(table, LONGITUDES)
    across, up = usual_column(table, _ACROSS), usual_column(table, _UP)
    space: dict[str, Any]
    if latitude and longitude:
        space = {"kind": "geo", "coordinates": _pairs(table, latitude, longitude)}
    elif across and up:
        space = {"kind": "points", "coordinates": _pairs(table, across, up)}
    else:
        raise InvalidInput(f"{name} needs columns x and y, or latitude and longitude; it has {', '.join(table.header)}")
    named = usual_column(table, _NAMES)
    if named:
        space["labels"] = _distinct(column_of(table, named))
    counted = usual_column(table, _COUNTS)
    prior = {"counts": [str(value) for value in numbers_of(table, counted)]} if counted else {"uniform": True}
    return {"space": space, "prior": prior}


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


def uploaded(text: str, name: str, space: FiniteSpace, tolerance: Fraction) -> tuple[Channel, Box | None]:
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
