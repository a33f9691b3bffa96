"""Road networks: crossings, and how far it is from one to another along streets.

**One-way streets.** Ways there and back differ, and a promise needs one distance. Let D(x, z) be the shortest way that
is allowed from x to z. Two symmetric distances are metrics: the longer way max(D(x, z), D(z, x)), since the larger of
two sums is at most the sum of the larger ones; and half the round trip, (D(x, z) + D(z, x))/2. The shorter way min(D(x,
z), D(z, x)) is none: into a square that two one-way streets lead to, both are short, but none leads from one street to
the other. The largest metric below it is the shortest way of who may walk both directions of every street: it is below
D both ways, and any metric below the shorter way is at most the length of each street, so at most that of a walk. This
is what ``ways="both"`` takes. It is the smallest of the three, and so at one ε the strongest promise.

**Exactness.** Lengths that are integers, fractions or texts stay exact. Floats are rounded down, by less than 2⁻⁵² of
the length of all streets together, so that all sums are exact and shortest ways are a metric.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from math import isfinite
from numbers import Real
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse.csgraph import dijkstra

from sfumato.arguments import float_array, items, one_of, text
from sfumato.errors import InvalidInput, InvalidMetric, few, keyword, shown
from sfumato.labels import frame_of
from sfumato.numbers import Floats, Integers, exact
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.earth import to_degrees
from sfumato.spaces.finite import FiniteSpace, Structure, label_tuple
from sfumato.spaces.foreign import is_networkx, place_rows
from sfumato.spaces.ground import Ground, check_degrees, whole_grains
from sfumato.spaces.networks import Network, as_parts, in_one_part, network_space

WAYS = {
    "refuse": "",
    "both": ", one-way streets walked both ways",
    "longer": ", the longer of the ways there and back",
    "mean": ", the mean of the ways there and back",
}
"""What to do about one-way streets, and what the name of the space says of it."""

_LARGEST_SUM = 2**53  # Beyond this, sums of integers in doubles would be rounded.
_WGS84 = "EPSG:4326"


class Arc(NamedTuple):
    """A street from one crossing to another; back too, if it is not one-way."""

    first: Any
    second: Any
    length: Any
    oneway: bool = False


def roads(
    streets: Any,
    crossings: Any = None,
    *,
    ways: str = "refuse",
    parts: str = "refuse",
    unit: str = "m",
    length: str = "length",
    oneway: str = "oneway",
    first: str = "from",
    second: str = "to",
    labels: str | None = None,
    crs: Any = None,
) -> FiniteSpace:
    """Crossings of a road network; the distance is the shortest way along streets.

    A point (:class:`~sfumato.release.places.Place`) is taken for the crossing nearest to it in a straight line, and the
    promise is about crossings. Several streets between two crossings count as the shortest, and a street that comes
    back to its crossing makes no way shorter and is left out.

    Parameters
    ----------
    streets
        A graph of networkx as osmnx makes it: nodes with ``x`` and ``y``, edges with a length, one-way where there is
        none back. Or rows (from, to, length) or (from, to, length, one-way), a list or a dataframe.
    crossings
        Where rows are given: latitude and longitude of each crossing, by a mapping or a dataframe whose index or column
        ``labels`` has their names. Places that no street leads to are not looked at. Without any, the space is one of
        labels alone.
    ways
        What one-way streets mean. ``"refuse"``; ``"both"``: everybody walks, and may go both ways; ``"longer"``: the
        longer of the ways there and back; ``"mean"``: half the round trip. All three are metrics, and ``"both"`` is the
        smallest.
    parts
        What to do where no way joins all crossings: ``"refuse"``, or keep the ``"largest"`` part.
    unit
        That of the lengths.
    length, oneway, first, second
        Names of columns, or of the attribute of networkx edges that is their length. Without a column
        ``oneway`` every street goes both ways.
    crs
        The coordinate system of ``x`` and ``y`` of networkx, by default what the graph names, and else degrees.

    Examples
    --------
    >>> rows = [("a", "b", 100), ("b", "c", 50, True), ("c", "a", 120)]
    >>> places = {"a": (41.9, 12.49), "b": (41.9009, 12.49), "c": (41.9009, 12.4906)}
    >>> town = roads(rows, places, ways="both")
    >>> town.name, town.distance("b", "c")
    ('3 crossings, one-way streets walked both ways', 50.0)
    >>> roads(rows, ways="longer").distance("b", "c"), roads(rows, ways="mean").distance("b", "c")
    (220.0, 135.0)
    """
    one_of(ways, tuple(WAYS), "ways")
    unit = text(unit, "the unit of lengths")
    if is_networkx(streets):
        if crossings is not None or labels is not None:
            raise InvalidInput("the nodes of a networkx graph have their coordinates in x and y: leave crossings out")
        nodes, arcs, where = _from_networkx(streets, text(length, "length"), crs)
    else:
        if crs is not None:
            raise InvalidInput(f"{keyword('crs')} is for networkx; crossings have latitude and longitude in degrees")
        nodes, arcs = _from_rows(streets, (first, second, length), oneway)
        where = None if crossings is None else _places(crossings, nodes, labels)
    links, lengths, one_sided = _shortest_arcs(nodes, arcs)
    if one_sided is not None and ways == "refuse":
        x, z = (shown(nodes[place]) for place in one_sided)
        raise InvalidMetric(
            f"the street from {x} to {z} is one-way, or longer on the way back, and a distance is the same both ways: "
            f"say {keyword('ways', 'both')} (everybody walks), 'longer' (of the ways there and back) or 'mean'"
        )
    ground = None if where is None else Ground()
    network = Network(nodes, links, _exact_sums(lengths, len(nodes)), "crossing", "", where, ground)
    if one_sided is None or ways == "both":
        return _walked(network, as_parts(parts), unit, WAYS[ways] if one_sided is not None else "")
    return _driven(network, as_parts(parts), unit, ways)


def _walked(network: Network, parts: str, unit: str, said: str) -> FiniteSpace:
    """Every street in both directions."""
    ends = np.sort(network.links, axis=1)
    order = np.lexsort((network.lengths.values, *ends.T[::-1]))
    ends, values = ends[order], network.lengths.values[order]
    shortest = np.append(True, (np.diff(ends, axis=0) != 0).any(axis=1))
    kept = replace(network.lengths, values=values[shortest])
    return network_space(replace(network, links=ends[shortest], lengths=kept, about=said), parts, unit)


def _driven(network: Network, parts: str, unit: str, ways: str) -> FiniteSpace:
    """The longer way, or the mean of both, along streets as they may be driven."""
    network = in_one_part(replace(network, about=WAYS[ways]), parts, directed=True)
    form, grain, matrix = network.lengths.form, network.lengths.unit, network.matrix()

    def distances() -> Distances:
        table = dijkstra(matrix, directed=True)
        both = np.maximum(table, table.T) if ways == "longer" else table + table.T
        half = grain if ways == "longer" else grain / 2
        if form is Form.RATIONAL:
            return Distances(form, both.astype(np.int64), half)
        return Distances(form, both if ways == "longer" else both / 2)

    return FiniteSpace(
        network.labels, Structure(distances, ground=network.ground), unit, network.name, network.coordinates
    )


def _exact_sums(lengths: list[Fraction | float], places: int) -> Distances:
    """Lengths whose sums doubles hold exactly."""
    if not any(isinstance(value, float) for value in lengths):
        found = Distances.parse(lengths, "lengths of streets", 1)
        if found.form is Form.RATIONAL and sum(found.values.tolist()) < _LARGEST_SUM:
            return found
    return Distances(Form.FLOAT, whole_grains(np.array([float(value) for value in lengths]), places))


def _shortest_arcs(
    nodes: tuple[Any, ...], arcs: list[Arc]
) -> tuple[Integers, list[Fraction | float], tuple[int, int] | None]:
    """The shortest arc for each ordered pair of crossings, and one of those that are not the same both ways."""
    place = {node: index for index, node in enumerate(nodes)}
    found: dict[tuple[int, int], Fraction | float] = {}
    for arc in arcs:
        length = _length(arc)
        pair = place[arc.first], place[arc.second]
        if pair[0] == pair[1]:
            continue  # it comes back to its crossing
        for way in (pair,) if arc.oneway else (pair, pair[::-1]):
            found[way] = min(length, found.get(way, length))
    if not found:
        raise InvalidInput("there is no street from one crossing to another")
    one_sided = next((way for way, length in found.items() if found.get(way[::-1]) != length), None)
    return np.array(list(found), dtype=np.int64), list(found.values()), one_sided


def _length(arc: Arc) -> Fraction | float:
    """A positive length; floats stay floats."""
    given = arc.length
    way = f"the street from {shown(arc.first)} to {shown(arc.second)}"
    if given is None:
        raise InvalidMetric(f"{way} has no length", (arc.first, arc.second))
    if isinstance(given, bool | np.bool_) or (isinstance(given, float | np.floating) and not isfinite(given)):
        raise InvalidMetric(f"{way} has length {given}: give a positive one", (arc.first, arc.second))
    try:
        value = exact(given)
    except InvalidInput as error:
        raise InvalidMetric(f"{way} has length {shown(given)}, which is no number", (arc.first, arc.second)) from error
    if value <= 0:
        raise InvalidMetric(f"{way} has length {shown(given)}: give a positive one", (arc.first, arc.second))
    return float(given) if isinstance(given, float | np.floating) else value


def _from_networkx(graph: Any, length: str, crs: Any) -> tuple[tuple[Any, ...], list[Arc], Floats | None]:
    """Nodes, arcs, and longitudes and latitudes where nodes have x and y."""
    nodes = label_tuple(list(graph.nodes()), "the crossings of a road network")
    directed = graph.is_directed()
    arcs = [Arc(x, z, data.get(length), directed) for x, z, data in graph.edges(data=True)]
    if arcs and all(arc.length is None for arc in arcs):
        raise InvalidInput(f"no street has an attribute {shown(length)}: say {keyword('length')}, the name of theirs")
    at = [(data.get("x"), data.get("y")) for _, data in graph.nodes(data=True)]
    without = [node for node, (x, y) in zip(nodes, at, strict=True) if x is None or y is None]
    if len(without) == len(nodes):
        return nodes, arcs, None
    if without:
        raise InvalidInput(f"{few(without)} of the crossings have no x and y, and others have")
    east, north = float_array(at, "x and y of crossings").T
    system = getattr(graph, "graph", {}).get("crs", _WGS84) if crs is None else crs
    if str(system).upper() != _WGS84:
        north, east = to_degrees(east, north, system)
    check_degrees(north, east)
    return nodes, arcs, np.stack([east, north], axis=1)


def _from_rows(streets: Any, names: tuple[Any, ...], oneway: Any) -> tuple[tuple[Any, ...], list[Arc]]:
    """Crossings in the order in which they come, and arcs."""
    frame = frame_of(streets)
    if frame is not None:
        columns = [frame.column(name) for name in names]
        columns += [frame.column(oneway)] if oneway in frame.names else []
        rows: list[Any] = list(zip(*columns, strict=True))
    else:
        rows = items(streets, "the streets of a road network")
    arcs = []
    for row in rows:
        if isinstance(row, str | bytes | Mapping) or not hasattr(row, "__len__") or len(row) not in (3, 4):
            raise InvalidInput(f"a street is (from, to, length) or (from, to, length, one-way), found {shown(row)}")
        arcs.append(Arc(row[0], row[1], row[2], len(row) == 4 and _is_oneway(row[3])))
    try:
        nodes = dict.fromkeys(node for arc in arcs for node in arc[:2])
    except TypeError as error:
        raise InvalidInput(f"the crossings of a road network must be hashable: {error}") from error
    return label_tuple(list(nodes), "the crossings of a road network"), arcs


def _is_oneway(value: Any) -> bool:
    """A truth value, or how files write one."""
    known = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False, "": False}
    spelled = str(value).strip().lower()
    if spelled not in known:
        raise InvalidInput(f"whether a street is one-way is true or false, found {shown(value)}")
    return known[spelled]


def _places(crossings: Any, nodes: tuple[Any, ...], labels: str | None) -> Floats:
    """Longitude and latitude of each crossing."""
    if isinstance(crossings, Mapping):
        at = crossings
    else:
        rows, names = place_rows(crossings, None, None, labels)
        if names is None or frame_of(crossings) is None:
            raise InvalidInput(
                "crossings are a mapping from their names to (latitude, longitude), or a dataframe whose index or "
                f"column {keyword('labels')} names them"
            )
        at = dict(zip(label_tuple(names, "the crossings of a road network"), rows, strict=True))
    missing = [node for node in nodes if node not in at]
    if missing:
        raise InvalidInput(f"{few(missing)} of the crossings have no latitude and longitude: leave their streets out")
    for node in nodes:
        place = at[node]
        pair = items(place, "the place of a crossing") if not isinstance(place, str) else []
        if len(pair) != 2 or not all(isinstance(angle, Real) and isfinite(angle) for angle in pair):
            raise InvalidInput(f"the crossing {shown(node)} has no latitude and longitude, found {shown(place)}")
    degrees = float_array([list(at[node]) for node in nodes], "latitudes and longitudes of crossings")
    check_degrees(*degrees.T)
    return degrees[:, ::-1].copy()
