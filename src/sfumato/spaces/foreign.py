"""Points and graphs as other libraries hold them: dataframes with columns of coordinates, graphs of networkx.

Nothing is left out in silence. Columns that are not named are recognised by their names; where several could be meant,
or where a column would not be used, the error says which and how to choose.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from numbers import Number
from typing import Any

from sfumato.arguments import items, text
from sfumato.errors import InvalidInput, few, keyword, shown
from sfumato.labels import Frame, frame_of

LATITUDES = ("latitude", "lat")
"""Names of columns that hold a latitude, in small letters."""

LONGITUDES = ("longitude", "lon", "lng", "long")
"""Names of columns that hold a longitude, in small letters."""

ACROSS, UP = ("x", "easting", "eastings"), ("y", "northing", "northings")
"""Names of columns that hold coordinates of a map, to the east and to the north, in small letters."""

COUNTS = ("count", "counts", "population", "residents", "people", "weight", "weights")
"""Names of columns that hold how often a point occurs, in small letters."""

COORDINATES = (*LATITUDES, *LONGITUDES, *ACROSS, *UP)
"""Names of columns that hold coordinates, in small letters."""

_PLACE_WORDS = {
    *LATITUDES, "longitude", "lon", "lng", "easting", "eastings", "northing", "northings", "latlon", "latlng", "lonlat",
    "lnglat", "coord", "coords", "gps", "geom", "geo", "geopoint", "geocode", "wkt", "wkb", "ewkb", "ewkt", "h3", "s2",
    "s2cell", "olc", "mgrs", "utm", "quadkey", "location", "locations", "place", "address", "addr", "street", "postal",
    "zip", "plz",
}  # fmt: skip
_PLACE_PARTS = (
    "latitud", "longitud", "coordinat", "geohash", "geometry", "geojson", "postcode", "zipcode", "pluscode",
    "plus_code", "breitengrad", "laengengrad", "längengrad",
)  # fmt: skip
_AXES = {"x": "y", "y": "x", "long": "lat"}  # words that say a place only beside the other one

Labels = Iterable[Any] | str | None


def point_rows(points: Any, columns: Iterable[Any] | None, labels: Labels) -> tuple[Any, Labels]:
    """Coordinates and labels out of a dataframe; what is none comes back as it is.

    Examples
    --------
    >>> import pandas
    >>> point_rows(pandas.DataFrame({"x": [0, 3], "y": [0, 4]}, index=["a", "b"]), None, None)
    ([(0, 0), (3, 4)], ['a', 'b'])
    """
    frame = frame_of(points)
    if frame is None:
        if columns is not None:
            raise InvalidInput(
                f"{keyword('columns')} names columns of a dataframe, found points of type {type(points).__name__}"
            )
        return points, labels
    if columns is not None:
        chosen = items(columns, "the columns of coordinates")
    else:
        chosen = [name for name in frame.names if not _same(name, labels)]
        for name in chosen:
            if isinstance(name, str) and name.lower() in COUNTS:
                raise InvalidInput(
                    f"column {shown(name)} is called like a count, and would be a coordinate: columns=[…] says which "
                    "columns are coordinates"
                )
            if not all(isinstance(value, Number) and not isinstance(value, bool) for value in frame.column(name)):
                raise InvalidInput(
                    f"column {shown(name)} holds no numbers: labels={shown(name)} takes names from it, "
                    "columns=[…] says which columns are coordinates"
                )
    return _rows(frame, chosen), _labels(frame, labels)


def place_rows(places: Any, latitude: Any, longitude: Any, labels: Labels) -> tuple[Any, Labels]:
    """Latitudes before longitudes, and labels, out of a dataframe; what is none comes back as it is.

    Examples
    --------
    >>> import pandas
    >>> cities = pandas.DataFrame({"city": ["Rome", "Paris"], "Lat": [41.9, 48.9], "Lon": [12.5, 2.4]})
    >>> place_rows(cities, None, None, "city")
    ([(41.9, 12.5), (48.9, 2.4)], ['Rome', 'Paris'])
    """
    frame = frame_of(places)
    if frame is None:
        if latitude is not None or longitude is not None:
            raise InvalidInput(
                f"{keyword('latitude')} and {keyword('longitude')} name columns of a dataframe, "
                f"found places of type {type(places).__name__}"
            )
        return places, labels
    chosen = [
        _recognised(frame, LATITUDES, "latitude") if latitude is None else latitude,
        _recognised(frame, LONGITUDES, "longitude") if longitude is None else longitude,
    ]
    if latitude is None or longitude is None:  # who names both columns has looked at the others
        unused = [name for name in frame.names if name not in chosen and not _same(name, labels)]
        if unused:
            raise InvalidInput(
                f"nothing is done with {few(unused)}: {keyword('labels')} takes names from a column, and "
                f"{keyword('latitude', chosen[0])}, {keyword('longitude', chosen[1])} leave the others out"
            )
    return _rows(frame, chosen), _labels(frame, labels)


def is_networkx(graph: Any) -> bool:
    """Whether a value is a graph of networkx, by what it can do."""
    return all(callable(getattr(graph, name, None)) for name in ("is_directed", "edges", "nodes"))


def networkx_edges(graph: Any, weight: str | None, labels: Iterable[Any] | None) -> tuple[Any, Iterable[Any] | None]:
    """Edges with their lengths, and all nodes, of a graph of networkx; what is none comes back as it is."""
    if not is_networkx(graph):
        if weight is not None:
            raise InvalidInput(
                f"{keyword('weight')} names an attribute of networkx edges, found edges of type {type(graph).__name__}"
            )
        return graph, labels
    if graph.is_directed():
        raise InvalidInput(
            "ways of a directed graph differ there and back, which is no metric: make it undirected, or see roads(…)"
        )
    name = "weight" if weight is None else text(weight, "the weight, an attribute of edges,")
    edges = [(x, z, data.get(name)) for x, z, data in graph.edges(data=True)]
    without = [(x, z) for x, z, length in edges if length is None]
    if without and (weight is not None or len(without) < len(edges)):
        raise InvalidInput(f"the edge {shown(without[0])} has no attribute {shown(name)}: name one that all edges have")
    nodes = list(graph.nodes()) if labels is None else labels
    return (without or edges), nodes


def _same(name: Any, labels: Labels) -> bool:
    """Whether labels are taken from the column of that name."""
    return isinstance(labels, str) and bool(name == labels)


def _rows(frame: Frame, names: Sequence[Any]) -> list[tuple[Any, ...]]:
    return list(zip(*(frame.column(name) for name in names), strict=True))


def _labels(frame: Frame, labels: Labels) -> Labels:
    """A column that is named, else an index that is more than row numbers."""
    if isinstance(labels, str):
        return frame.column(labels)
    return frame.index if labels is None and not frame.counted else labels


def named_column(names: Sequence[Any], usual: Sequence[str], what: str, how: str = "", *, inside: bool = False) -> Any:
    """The one column with a usual name, an empty text if there is none; refused where several have one.

    Names that will do are those of :func:`columns_named`. ``how`` says how to choose among several.

    Examples
    --------
    >>> named_column(["id", "Lat", "Lon"], LATITUDES, "the latitude")
    'Lat'
    >>> named_column(["lat", "latitude"], LATITUDES, "the latitude")
    Traceback (most recent call last):
        ...
    sfumato.errors.InvalidInput: 'lat', 'latitude' could each be the latitude: say which is meant
    """
    found = columns_named(names, usual, inside=inside)
    if len(found) > 1:
        raise InvalidInput(f"{few(found)} could each be {what}: {how or 'say which is meant'}")
    return found[0] if found else ""


def columns_named(names: Sequence[Any], usual: Sequence[str], *, inside: bool = True) -> list[str]:
    """The columns with a usual name; where none has, those that end in a usual word of three letters or more.

    Where none does either, and ``inside`` is said, those that have a usual word anywhere. Neither has a word of another
    coordinate; ``x`` or ``long`` then counts where the other axis is there under the same name.

    Examples
    --------
    >>> columns_named(["id", "pickup_latitude", "dropoffLat", "lat_err"], LATITUDES)
    ['pickup_latitude', 'dropoffLat']
    >>> columns_named(["lat_s", "long_s", "long_text", "lat_lon"], LONGITUDES)
    ['long_s']
    """
    words = {name: _words(name) for name in names if isinstance(name, str)}
    found = [name for name in words if name.strip().lower() in usual]
    found = found or [name for name, said in words.items() if _ends_in(said, usual)]
    if found or not inside:
        return found
    known = set(words.values())
    return [name for name, said in words.items() if _has_axis(said, usual, known)]


def _ends_in(words: tuple[str, ...], usual: Sequence[str]) -> bool:
    """Whether the last word is a usual one and no other is of another coordinate, as in lat_lon, which holds both."""
    told = [word for word in words if len(word) > 2 and word in COORDINATES]
    return bool(told) and words[-1] == told[-1] and all(word in usual for word in told)


def _has_axis(words: tuple[str, ...], usual: Sequence[str], known: set[tuple[str, ...]]) -> bool:
    """Whether one of some words is usual, none is of another coordinate, and an axis is not there alone."""
    plain = [word.rstrip("0123456789") for word in words]
    found = {word for word in plain if word in usual}
    if not found or any(word in COORDINATES and word not in usual for word in plain):
        return False
    return not found <= {*_AXES} or tuple(_AXES.get(word, word) for word in words) in known


def place_names(names: Iterable[Any]) -> tuple[str, ...]:
    """Those of some columns whose names say that they tell places, whatever else they say.

    ``x`` or ``y`` as a part of a name counts where the other one is there as well, and ``long`` beside ``lat``.

    Examples
    --------
    >>> place_names(["id", "pickup_latitude", "dropoffLng", "h3_8", "start_x", "start_y", "x_ray", "flat", "lat2"])
    ('pickup_latitude', 'dropoffLng', 'h3_8', 'start_x', 'start_y', 'lat2')
    """
    texts = [name for name in names if isinstance(name, str)]
    words = {name: _words(name) for name in texts}
    known = set(words.values())
    return tuple(name for name in texts if _tells_a_place(name, words[name], known))


def _tells_a_place(name: str, words: tuple[str, ...], known: set[tuple[str, ...]]) -> bool:
    if name.strip().lower() in COORDINATES or any(part in name.lower() for part in _PLACE_PARTS):
        return True
    if any(word in _PLACE_WORDS or word.rstrip("0123456789") in _PLACE_WORDS for word in words):
        return True
    turned = tuple(_AXES.get(word, word) for word in words)
    return turned != words and turned in known


def _words(name: str) -> tuple[str, ...]:
    """The words of a name, in small letters: between marks, and where a small letter is followed by a capital one."""
    parted = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ", name.strip()).lower()
    parted = re.sub(r"(?<![a-z])([xy])(?=\d)", r"\1 ", parted)  # x1 and y1 are axes with a number
    return tuple(word for word in re.split(r"[\W_]+", parted) if word)


def _recognised(frame: Frame, usual: Sequence[str], what: str) -> Any:
    """The one column with a usual name."""
    how = f"name it by {what}=…, one of {few(frame.names)}"
    found = named_column(frame.names, usual, f"the {what}", how)
    if found == "":
        raise InvalidInput(f"no column is called {usual[0]} or {usual[1]}: {how}")
    return found
