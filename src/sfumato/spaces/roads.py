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
from sfumato.errors import InvalidInput, InvalidMetric, counted, few, keyword, shown
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

LACKING = ("refuse", "drop")
"""What to do about crossings without coordinates, where others have them."""

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
    lacking: str = "refuse",
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
    lacking
        What to do where some crossings have no coordinates, and others have: ``"refuse"``, or ``"drop"`` them with
        their streets, both of which the name of the space counts.
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
    one_of(lacking, LACKING, "lacking")
    unit = text(unit, "the unit of lengths")
    if is_networkx(streets):
        if crossings is not None or labels is not None:
            raise InvalidInput("the nodes of a networkx graph have their coordinates in x and y: leave crossings out")
        nodes, arcs = _from_networkx(streets, text(length, "length"))
        at: Any = {node: (data.get("y"), data.get("x")) for node, data in streets.nodes(data=True)}
    else:
        if crs is not None:
            raise InvalidInput(f"{keyword('crs')} is for networkx; crossings have latitude and longitude in degrees")
        nodes, arcs = _from_rows(streets, (first, second, length), oneway)
        at = None if crossings is None else _named_places(crossings, labels)
    nodes, arcs, gone = (nodes, arcs, "") if lacking == "refuse" else _with_places(nodes, arcs, at)
    where = _graph_places(nodes, at, streets, crs) if is_networkx(streets) else _places(nodes, at)
    links, lengths, one_sided = _shortest_arcs(nodes, arcs)
    if one_sided is not None and ways == "refuse":
        raise _one_way(*(shown(nodes[place]) for place in one_sided))
    ground = None if where is None else Ground()
    network = Network(nodes, links, _exact_sums(lengths, len(nodes)), "crossing", gone, where, ground)
    if one_sided is None or ways == "both":
        return _walked(network, as_parts(parts), unit, WAYS[ways] if one_sided is not None else "")
    return _driven(network, as_parts(parts), unit, ways)


def _one_way(x: str, z: str) -> InvalidMetric:
    return InvalidMetric(
        f"the street from {x} to {z} is one-way, or longer on the way back, and a distance is the same both ways: "
        f"say {keyword('ways', 'both')} (everybody walks), 'longer' (of the ways there and back) or 'mean'"
    )


def _with_places(nodes: tuple[Any, ...], arcs: list[Arc], at: Mapping[Any, Any] | None) -> tuple[Any, list[Arc], str]:
    """The crossings that have coordinates, the streets between them, and how many of both were left out, in words."""
    lost = {node for node in nodes if at is None or not _is_placed(at.get(node))}
    if len(lost) == len(nodes):
        raise InvalidInput(f"no crossing has coordinates, and {keyword('lacking', 'drop')} leaves out what has none")
    if not lost:
        return nodes, arcs, ""
    kept = [arc for arc in arcs if arc.first not in lost and arc.second not in lost]
    pairs = {frozenset(arc[:2]) for arc in arcs} - {frozenset(arc[:2]) for arc in kept}
    streets = sum(len(pair) == 2 for pair in pairs)  # there and back is one street
    gone = f"{counted(len(lost), 'crossing')} without coordinates and {counted(streets, 'street')}"
    return tuple(node for node in nodes if node not in lost), kept, f", {gone} left out"


def _is_placed(place: Any) -> bool:
    """Whether a place has two coordinates: what is missing in a table is None or NaN."""
    angles = place if hasattr(place, "__iter__") else [place]
    return all(angle is not None and angle == angle for angle in angles)


def _walked(network: Network, parts: str, unit: str, said: str) -> FiniteSpace:
    """Every street in both directions."""
    ends = np.sort(network.links, axis=1)
    order = np.lexsort((network.lengths.values, *ends.T[::-1]))
    ends, values = ends[order], network.lengths.values[order]
    shortest = np.append(True, (np.diff(ends, axis=0) != 0).any(axis=1))
    kept = replace(network.lengths, values=values[shortest])
    return network_space(replace(network, links=ends[shortest], lengths=kept, about=said + network.about), parts, unit)


def _driven(network: Network, parts: str, unit: str, ways: str) -> FiniteSpace:
    """The longer way, or the mean of both, along streets as they may be driven."""
    network = in_one_part(replace(network, about=WAYS[ways] + network.about), parts, directed=True)
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


def _from_networkx(graph: Any, length: str) -> tuple[tuple[Any, ...], list[Arc]]:
    """Nodes and arcs."""
    nodes = label_tuple(list(graph.nodes()), "the crossings of a road network")
    directed = graph.is_directed()
    arcs = [Arc(x, z, data.get(length), directed) for x, z, data in graph.edges(data=True)]
    if arcs and all(arc.length is None for arc in arcs):
        raise InvalidInput(f"no street has an attribute {shown(length)}: say {keyword('length')}, the name of theirs")
    return nodes, arcs


def _graph_places(nodes: tuple[Any, ...], at: Mapping[Any, Any], graph: Any, crs: Any) -> Floats | None:
    """Longitudes and latitudes where nodes have x and y."""
    without = [node for node in nodes if None in at[node]]
    if len(without) == len(nodes):
        return None
    if without:
        raise InvalidInput(
            f"{few(without)} of the crossings have no x and y, and others have: "
            f"{keyword('lacking', 'drop')} leaves their streets out"
        )
    north, east = float_array([at[node] for node in nodes], "x and y of crossings").T
    system = getattr(graph, "graph", {}).get("crs", _WGS84) if crs is None else crs
    if str(system).upper() != _WGS84:
        north, east = to_degrees(east, north, system)
    check_degrees(north, east)
    return np.stack([east, north], axis=1)


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


def _named_places(crossings: Any, labels: str | None) -> Mapping[Any, Any]:
    """Latitude and longitude of crossings, by their names."""
    if isinstance(crossings, Mapping):
        return crossings
    rows, names = place_rows(crossings, None, None, labels)
    if names is None or frame_of(crossings) is None:
        raise InvalidInput(
            "crossings are a mapping from their names to (latitude, longitude), or a dataframe whose index or "
            f"column {keyword('labels')} names them"
        )
    return dict(zip(label_tuple(names, "the crossings of a road network"), rows, strict=True))


def _places(nodes: tuple[Any, ...], at: Mapping[Any, Any] | None) -> Floats | None:
    """Longitude and latitude of each crossing."""
    if at is None:
        return None
    missing = [node for node in nodes if node not in at]
    if missing:
        raise InvalidInput(
            f"{few(missing)} of the crossings have no latitude and longitude: "
            f"{keyword('lacking', 'drop')} leaves their streets out"
        )
    for node in nodes:
        place = at[node]
        pair = items(place, "the place of a crossing") if not isinstance(place, str) else []
        if len(pair) != 2 or not all(isinstance(angle, Real) and isfinite(angle) for angle in pair):
            raise InvalidInput(f"the crossing {shown(node)} has no latitude and longitude, found {shown(place)}")
    degrees = float_array([list(at[node]) for node in nodes], "latitudes and longitudes of crossings")
    check_degrees(*degrees.T)
    return degrees[:, ::-1].copy()
