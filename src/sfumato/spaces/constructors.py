"""The spaces people ask for by name.

Each constructor knows its metric in closed form, so no axiom is checked and no table is
built before it is needed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from itertools import product
from math import prod
from operator import add
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import float_array, items, one_of, text
from sfumato.errors import InvalidInput, InvalidMetric, NotSupported, shown
from sfumato.numbers import Number, common_denominator, exact, nearest_float, whole_number
from sfumato.spaces.axioms import INFINITE, LARGEST_RADICAND
from sfumato.spaces.box import METRICS, MetricName, box_of_grid
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.finite import Edges, FiniteSpace, Pairs, Structure, check_size, label_tuple, path_metric
from sfumato.spaces.foreign import networkx_edges, place_rows, point_rows
from sfumato.spaces.ground import (
    EARTH_RADIUS_KM,
    EarthName,
    Ground,
    as_earth,
    check_degrees,
    lazy_distances,
    refuse_same_places,
)
from sfumato.spaces.lengths import in_unit

__all__ = [
    "EARTH_RADIUS_KM",
    "complete_bipartite",
    "cycle",
    "discrete",
    "geo",
    "graph",
    "grid",
    "hamming",
    "line",
    "points",
    "star",
]

_MOST_SIDES = 32  # An array of every version of NumPy has so many axes; with two points on each, 21 are too many.
_SHORTEST = Fraction(1, 10**300)  # Neighbours are at least so far apart: this and its inverse are floats.


def line(n: int | Sequence[Any], *, step: Number = 1, unit: str = "") -> FiniteSpace:
    """Points in a row: the answers 0, …, n − 1 of a counting query, or those of an ordinal question.

    ``n`` is a number of points or their labels.

    Examples
    --------
    >>> line(4).distance(0, 3), line(["never", "rarely", "often"]).distance("never", "often")
    (3.0, 2.0)
    """
    labels = _labels(n)
    space = grid(len(labels), metric="manhattan", step=step, unit=unit)
    return FiniteSpace(labels, space.source, unit, f"line({len(labels)})", space.coordinates)


def grid(*shape: int, metric: MetricName = "euclidean", step: Number = 1, unit: str = "") -> FiniteSpace:
    """A rectangular grid of any dimension; labels are tuples of integers.

    ``metric`` is ``"euclidean"`` (exact: distances are square roots of integers),
    ``"manhattan"`` or ``"chebyshev"``; ``step`` is the distance of neighbours.

    Examples
    --------
    >>> space = grid(3, 3)
    >>> space.distance((0, 0), (1, 2)) == 5 ** 0.5
    True
    >>> len(space.pairs.first), len(grid(3, 3, metric="manhattan").pairs.first)
    (28, 12)
    """
    if not shape:
        raise InvalidInput("a grid needs at least one side, such as grid(8, 8)")
    shape = tuple(whole_number(side, "points along a side") for side in shape)
    if len(shape) > _MOST_SIDES:
        raise NotSupported(f"a grid with {len(shape)} sides", [f"at most {_MOST_SIDES}"])
    check_size(prod(shape))
    unit_length = _positive(step, "step", unit)
    one_of(metric, METRICS, "metric")
    cells = np.stack(np.meshgrid(*(np.arange(s) for s in shape), indexing="ij"), axis=-1).reshape(-1, len(shape))

    def distances() -> Distances:
        return _lattice_distances(cells, metric, unit_length)

    lattice = box_of_grid(shape, metric, unit_length)
    if metric == "euclidean":
        structure = Structure(distances, midpoints=lambda: _lattice_midpoints(cells, shape), lattice=lattice)
    else:
        structure = Structure(
            distances, lambda: _lattice_edges(shape, metric, unit_length), _number_of_steps(shape, metric),
            lattice=lattice,
        )  # fmt: skip
    name = f"grid({', '.join(map(str, shape))}, {metric})"
    return FiniteSpace(tuple(map(tuple, cells.tolist())), structure, unit, name, cells * float(unit_length))


def discrete(n: int | Sequence[Any], *, distance: Number = 1) -> FiniteSpace:
    """Points that are all equally far apart: local differential privacy.

    ``n`` is a number of points or their labels.
    """
    labels = _labels(n)
    size = len(labels)
    apart = _positive(distance, "distance")

    def distances() -> Distances:
        return Distances(Form.RATIONAL, (1 - np.eye(size, dtype=np.int64)), apart)

    def edges() -> Edges:
        return _equal_edges(Pairs(*np.triu_indices(size, 1)), apart)

    structure = Structure(distances, edges, size * (size - 1) // 2)
    return FiniteSpace(labels, structure, name=f"discrete({size})")


def hamming(length: int, *, symbols: int = 2) -> FiniteSpace:
    """Words of a given length; the distance counts the places where they differ.

    Labels are strings such as ``"010"``.
    """
    length, symbols = whole_number(length, "letters"), whole_number(symbols, "symbols")
    if symbols > 36:
        raise NotSupported(f"{shown(symbols)} symbols", ["at most 36: digits and letters"])
    check_size(length, "letters")
    check_size(symbols ** min(length, 64))  # 2^64 is already too much, and a larger power might not be held
    alphabet = "0123456789abcdefghijklmnopqrstuvwxyz"[:symbols]
    words = np.array(list(product(range(symbols), repeat=length)), dtype=np.int64)

    def distances() -> Distances:
        table = np.zeros((len(words), len(words)), dtype=np.int64)
        for letter in words.T:
            table += letter[:, None] != letter[None, :]
        return Distances(Form.RATIONAL, table)

    labels = tuple("".join(alphabet[i] for i in word) for word in words.tolist())
    pairs = len(words) * length * (symbols - 1) // 2
    structure = Structure(distances, lambda: _changed_letters(words, symbols), pairs)
    return FiniteSpace(labels, structure, name=f"hamming({length}, {symbols} symbols)")


def cycle(n: int) -> FiniteSpace:
    """n points around a circle, neighbours at distance 1."""
    n = whole_number(n, "points", least=3)
    check_size(n)
    return _unit_graph(range(n), [(i, (i + 1) % n) for i in range(n)], f"cycle({n})")


def star(leaves: int) -> FiniteSpace:
    """A centre 0 and leaves 1, …, each at distance 1 from it."""
    leaves = whole_number(leaves, "leaves")
    check_size(leaves + 1)
    return _unit_graph(range(leaves + 1), [(0, i) for i in range(1, leaves + 1)], f"star({leaves})")


def complete_bipartite(a: int, b: int) -> FiniteSpace:
    """Two groups; distance 1 across, 2 within. Labels are ``("left", i)`` and ``("right", j)``."""
    a, b = whole_number(a, "points on the left"), whole_number(b, "points on the right")
    check_size(a + b)
    check_size(a * b, "edges")
    left, right = [("left", i) for i in range(a)], [("right", j) for j in range(b)]
    edges = [(x, y) for x in left for y in right]
    return _unit_graph([*left, *right], edges, f"complete_bipartite({a}, {b})")


def graph(
    edges: Iterable[Sequence[Any]] | Mapping[tuple[Any, Any], Number],
    *,
    labels: Iterable[Any] | None = None,
    weight: str | None = None,
    unit: str = "",
    name: str = "",
) -> FiniteSpace:
    """The shortest-path metric of a graph.

    Parameters
    ----------
    edges
        Pairs ``(x, z)`` of length 1, triples ``(x, z, length)``, or a mapping from pairs
        to lengths; or an undirected graph of networkx, with its nodes. Nodes that no path
        connects are infinitely far apart: nothing is promised between them.
    labels
        All nodes, to fix their order or to add isolated ones.
    weight
        The attribute of networkx edges that is their length, such as ``"length"``; by default ``"weight"``
        where edges have one, and length 1 where none has.

    Examples
    --------
    >>> roads = graph([("a", "b", "1/2"), ("b", "c", "1/2"), ("a", "c", 3)])
    >>> roads.distance("a", "c"), len(roads.pairs.first)
    (1.0, 2)
    """
    edges, labels = networkx_edges(edges, weight, labels)
    listed = _edge_list(edges)
    if labels is None:
        try:
            labels = dict.fromkeys(node for x, z, _ in listed for node in (x, z))
        except TypeError as error:
            raise InvalidInput(f"the nodes of a graph must be hashable: {error}") from error
    nodes = label_tuple(labels, "the nodes of a graph")
    position = {label: i for i, label in enumerate(nodes)}
    shortest: dict[tuple[int, int], Any] = {}
    for x, z, length in listed:
        for node in (x, z):
            if node not in position:
                raise InvalidInput(f"the edge ({shown(x)}, {shown(z)}) names {shown(node)}, which is no node")
        if x == z:
            raise InvalidMetric(f"the edge from {shown(x)} to itself has no meaning", (x,))
        key = (min(position[x], position[z]), max(position[x], position[z]))
        shortest[key] = min(length, shortest.get(key, length))
    return _graph_space(nodes, shortest, unit, text(name, "the name of a graph") or f"graph of {len(nodes)} nodes")


def points(
    coordinates: Any,
    *,
    metric: MetricName = "euclidean",
    labels: Iterable[Any] | str | None = None,
    columns: Iterable[Any] | None = None,
    unit: str = "",
) -> FiniteSpace:
    """Points of R^k with one of the three metrics.

    Integer or rational coordinates keep the distances exact (as square roots of integers
    for the Euclidean metric); float coordinates give float distances.

    Parameters
    ----------
    coordinates
        One row a point: lists, an array, or a dataframe of pandas, polars or Arrow.
    labels
        Their names; of a dataframe also the name of a column, and by default its index where that is more than row
        numbers.
    columns
        Which columns of a dataframe are coordinates; by default all but the labels, which must be numbers.

    Examples
    --------
    >>> import pandas
    >>> shops = pandas.DataFrame({"name": ["north", "south"], "x": [0, 3], "y": [4, 0]})
    >>> points(shops, labels="name", unit="km").distance("north", "south")
    5.0
    """
    one_of(metric, METRICS, "metric")
    coordinates, labels = point_rows(coordinates, columns, labels)
    table = _coordinates(coordinates)
    names = _names(labels, len(table), "points")
    lattice = _on_lattice(table)
    if lattice is not None:
        cells, step = lattice
        _refuse_repeats(cells, names)
        spans = (cells.max(axis=0) - cells.min(axis=0)).tolist()
        if lengths_of(spans, metric) < (LARGEST_RADICAND if metric == "euclidean" else INFINITE):
            structure = Structure(lambda: _lattice_distances(cells, metric, step))
            return FiniteSpace(names, structure, unit, f"{len(names)} points, {metric}", table.astype(float))
    position = float_array(table, "coordinates")
    _refuse_repeats(position, names)
    structure = Structure(lambda: Distances(Form.FLOAT, _float_distances(position, metric)))
    return FiniteSpace(names, structure, unit, f"{len(names)} points, {metric}", position)


def geo(
    coordinates: Any,
    *,
    labels: Iterable[Any] | str | None = None,
    latitude: Any = None,
    longitude: Any = None,
    radius_km: Number = EARTH_RADIUS_KM,
    earth: EarthName = "sphere",
) -> FiniteSpace:
    """Places on the Earth, given as (latitude, longitude) in degrees; great-circle distance in km.

    ``space.coordinates`` has x before y for drawing, that is, (longitude, latitude).

    Parameters
    ----------
    coordinates
        Pairs (latitude, longitude), an array of them, or a dataframe of pandas, polars or Arrow.
    labels
        Names of the places; of a dataframe also the name of a column, and by default its index where that is more than
        row numbers.
    latitude, longitude
        Columns of a dataframe; by default those called latitude or lat and longitude, lon, lng or long, if no other
        column is left over.
    radius_km
        Of the sphere.
    earth
        ``"WGS84"`` for geodesics on the ellipsoid (pyproj, extra ``geo``), a millionth shorter than they are and never
        longer. They are 0.9944 to 1.0045 times as long as great circles on the ``"sphere"``.

    Examples
    --------
    >>> cities = geo([(48.8566, 2.3522), (51.5074, -0.1278)], labels=["Paris", "London"])
    >>> round(cities.distance("Paris", "London"))
    344
    >>> import pandas
    >>> table = pandas.DataFrame({"city": ["Paris", "London"], "lat": [48.8566, 51.5074], "lon": [2.3522, -0.1278]})
    >>> geo(table, labels="city").labels
    ('Paris', 'London')
    """
    coordinates, labels = place_rows(coordinates, latitude, longitude, labels)
    degrees = float_array(_coordinates(coordinates), "coordinates")
    if degrees.shape[1] != 2:
        raise InvalidInput(f"give (latitude, longitude) pairs, found {degrees.shape[1]} columns")
    latitude, longitude = degrees.T
    check_degrees(latitude, longitude)
    names = _names(labels, len(degrees), "places")
    radius = _positive(radius_km, "radius_km", "km")
    if as_earth(earth) != "sphere" and radius != in_unit(EARTH_RADIUS_KM, "km"):
        raise InvalidInput("radius_km is that of a sphere: leave it out on the ellipsoid")
    refuse_same_places(latitude, longitude, names, earth)
    distances = lazy_distances(latitude, longitude, earth, nearest_float(radius), "km")
    ground = Ground(earth) if earth == "WGS84" else None  # great circles are known by their lengths
    structure = Structure(distances, ground=ground)
    return FiniteSpace(names, structure, "km", f"{len(names)} places", degrees[:, ::-1].copy())


def _names(labels: Iterable[Any] | None, count: int, what: str) -> tuple[Any, ...]:
    """The labels of points that were given beside them, or 0, 1, …."""
    names = tuple(range(count)) if labels is None else label_tuple(labels, f"labels of {what}")
    if len(names) != count:
        raise InvalidInput(f"{len(names)} labels for {count} {what}")
    return names


def _labels(n: int | Sequence[Any]) -> tuple[Any, ...]:
    if isinstance(n, int | float | np.integer | np.floating | Fraction):
        size = whole_number(n, "points")
        check_size(size)
        return tuple(range(size))
    return label_tuple(n, "labels")


def _positive(value: Number, what: str, unit: str = "") -> Fraction:
    result = in_unit(value, unit, what)
    if result <= 0:
        raise InvalidInput(f"{what} must be positive, found {shown(value)}")
    if not _SHORTEST <= result <= 1 / _SHORTEST:
        raise InvalidInput(f"{what} must lie between 1e-300 and 1e300, found {shown(value)}")
    return result


def _unit_graph(labels: Iterable[Any], edges: list[tuple[Any, Any]], name: str) -> FiniteSpace:
    return graph(edges, labels=labels, name=name) if edges else discrete(list(labels))


def unit_edges(pairs: Pairs) -> Edges:
    """The pairs at distance 1, where these make up all distances."""
    return _equal_edges(pairs, Fraction(1))


def _changed_letters(words: NDArray[np.int64], symbols: int) -> Edges:
    """Each word with those behind it in the dictionary that differ in one letter, the last letter first."""
    length = words.shape[1]
    places = np.repeat(np.arange(length)[::-1], symbols - 1)
    raised = np.tile(np.arange(1, symbols), length)
    first, change = np.nonzero(words[:, places] + raised < symbols)
    return unit_edges(Pairs(first, first + (raised * symbols ** (length - 1 - places))[change]))


def _equal_edges(pairs: Pairs, length: Fraction) -> Edges:
    return Edges(pairs, Distances(Form.RATIONAL, np.ones(len(pairs.first), dtype=np.int64), length))


def _edge_list(edges: Any) -> list[tuple[Any, Any, Fraction | float]]:
    if isinstance(edges, Mapping):
        edges = [(*pair, length) if isinstance(pair, tuple) else pair for pair, length in edges.items()]
    if hasattr(edges, "columns"):
        raise InvalidInput("edges are pairs or triples, found a table: pass its rows, such as .itertuples(index=False)")
    result = []
    for edge in items(edges, "the edges of a graph"):
        if isinstance(edge, str | bytes) or not isinstance(edge, Sequence | np.ndarray) or len(edge) not in (2, 3):
            raise InvalidInput(f"an edge is (x, z) or (x, z, length), found {shown(edge)}")
        x, z, length = edge if len(edge) == 3 else (*edge, 1)
        value = exact(length)
        if value <= 0:
            raise InvalidMetric(
                f"the edge from {shown(x)} to {shown(z)} has length {shown(length)}: give a positive one", (x, z)
            )
        result.append((x, z, float(value) if isinstance(length, float | np.floating) else value))
    return result


def _graph_space(nodes: tuple[Any, ...], lengths: dict[tuple[int, int], Any], unit: str, name: str) -> FiniteSpace:
    first = np.array([x for x, _ in lengths], dtype=np.int64)
    second = np.array([z for _, z in lengths], dtype=np.int64)
    measured = Distances(Form.RATIONAL, np.empty(0, dtype=np.int64))
    if lengths:
        measured = Distances.parse(list(lengths.values()), "edge lengths", 1)
    if measured.form is Form.RATIONAL and sum(measured.values.tolist()) >= 2**53:
        # shortest paths are summed in doubles: beyond 2^53 they would not be exact
        measured = Distances(Form.FLOAT, measured.floats.copy())
    return FiniteSpace(nodes, path_metric(len(nodes), Edges(Pairs(first, second), measured)), unit, name)


def lengths_of(offsets: Iterable[Any], metric: str) -> Any:
    """Lengths, squared if Euclidean, of what has these offsets ≥ 0 along the axes: integers, or arrays of them."""
    if metric == "chebyshev":
        return reduce(np.maximum, offsets)
    return reduce(add, (offset * offset if metric == "euclidean" else offset for offset in offsets))


def _lattice_distances(cells: NDArray[np.int64], metric: str, step: Fraction) -> Distances:
    table = lengths_of((np.abs(axis[:, None] - axis[None, :]) for axis in cells.T), metric)
    return Distances(Form.ROOT if metric == "euclidean" else Form.RATIONAL, table, step)


def _lattice_midpoints(cells: NDArray[np.int64], shape: tuple[int, ...]) -> NDArray[np.int32]:
    """Between x and z on a full grid lies x + (z − x)/g, where g > 1 divides every offset."""
    common = reduce(np.gcd, (np.abs(axis[None, :] - axis[:, None]) for axis in cells.T))
    divisor = np.maximum(common, 1)
    index = np.repeat(np.arange(len(cells))[:, None], len(cells), axis=1)
    for side, axis in enumerate(cells.T):
        index += (axis[None, :] - axis[:, None]) // divisor * prod(shape[side + 1 :])
    return np.where(common > 1, index, -1).astype(np.int32)


def _number_of_steps(shape: tuple[int, ...], metric: str) -> int:
    """How many pairs of neighbours a grid has, without making one of them."""
    if metric == "chebyshev":
        return (prod(3 * side - 2 for side in shape) - prod(shape)) // 2
    return sum(prod(shape) // side * (side - 1) for side in shape)


def _unit_offsets(shape: tuple[int, ...], metric: str) -> list[tuple[int, ...]]:
    """Steps to neighbours at distance 1, one of each opposite pair, along the sides of more than one point."""
    if metric == "manhattan":
        return [tuple(map(int, row)) for row in np.eye(len(shape), dtype=np.int64)[::-1]]
    around = product(*((-1, 0, 1) if side > 1 else (0,) for side in shape))
    return [offset for offset in around if offset > (0,) * len(shape)]


def _lattice_edges(shape: tuple[int, ...], metric: str, step: Fraction) -> Edges:
    index = np.arange(prod(shape)).reshape(shape)
    first, second = [index[:0].ravel()], [index[:0].ravel()]
    for offset in _unit_offsets(shape, metric):
        here = tuple(slice(max(0, -o), s - max(0, o)) for o, s in zip(offset, shape, strict=True))
        there = tuple(slice(max(0, o), s - max(0, -o)) for o, s in zip(offset, shape, strict=True))
        first.append(index[here].ravel())
        second.append(index[there].ravel())
    pairs = Pairs(np.concatenate(first), np.concatenate(second))
    return _equal_edges(pairs, step)


def _coordinates(coordinates: Any) -> NDArray[Any]:
    if isinstance(coordinates, np.ndarray) and coordinates.dtype.kind in "fiu":
        table: NDArray[Any] = coordinates
    else:
        if isinstance(coordinates, Mapping | set | frozenset):
            raise InvalidInput("coordinates are rows of numbers in order: pass them and labels=… for their names")
        rows = [
            [row] if not isinstance(row, Iterable) or isinstance(row, str) else items(row, "the coordinates of a point")
            for row in items(coordinates, "coordinates")
        ]
        if len({len(row) for row in rows}) > 1:
            raise InvalidInput("points have different numbers of coordinates")
        is_float = any(isinstance(v, float | np.floating) for row in rows for v in row)
        if is_float:
            table = float_array(rows, "coordinates")
        else:
            table = np.array([[exact(v) for v in row] for row in rows], dtype=object)
    if table.ndim == 1:
        table = table[:, None]
    if table.ndim != 2 or table.size == 0:
        raise InvalidInput(f"coordinates must be a table with one row a point, found shape {table.shape}")
    if table.dtype.kind == "f" and not np.isfinite(table).all():
        row = int(np.argwhere(~np.isfinite(table))[0, 0])
        raise InvalidInput(f"point {row} has a coordinate that is not finite: {table[row].tolist()}")
    return table


def _on_lattice(table: NDArray[Any]) -> tuple[NDArray[np.int64], Fraction] | None:
    """Integer coordinates and their step, or None for floats that are not integers."""
    if table.dtype.kind in "iu":
        small = max(abs(int(table.min())), abs(int(table.max()))) < 2**53
        return (table.astype(np.int64), Fraction(1)) if small else None
    if table.dtype.kind == "f":
        integral = (table == np.round(table)).all() and np.abs(table).max() < 2**53
        return (table.astype(np.int64), Fraction(1)) if integral else None
    integers, denominator = common_denominator(table)
    if np.abs(integers).max() >= 2**53:
        return None
    return integers.astype(np.int64), Fraction(1, denominator)


def _float_distances(position: NDArray[np.float64], metric: str) -> NDArray[np.float64]:
    gaps = (np.abs(axis[:, None] - axis[None, :]) for axis in position.T)
    if metric == "euclidean":
        return np.asarray(reduce(np.hypot, gaps))  # squares would underflow for points 1e-160 apart
    return np.asarray(lengths_of(gaps, metric))


def _refuse_repeats(rows: NDArray[Any], names: tuple[Any, ...]) -> None:
    seen: dict[tuple[Any, ...], int] = {}
    for i, row in enumerate(map(tuple, rows.tolist())):
        if row in seen:
            x, z = names[seen[row]], names[i]
            raise InvalidMetric(
                f"{shown(x)} and {shown(z)} are the same point {row}: merge them into one secret", (x, z)
            )
        seen[row] = i
