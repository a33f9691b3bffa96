"""Finite metric spaces: labels and the distances between them."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from sfumato.arguments import float_array, items, text
from sfumato.errors import InvalidInput, InvalidMetric, Mismatch, NotSupported, advice, expect, shown
from sfumato.labels import column_values, table_in_order
from sfumato.memory import check_memory
from sfumato.spaces.axioms import INFINITE, midpoints, open_pairs, triangle_violation
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.lengths import as_unit
from sfumato.spaces.space import Space

if TYPE_CHECKING:
    from sfumato.spaces.box import Box
    from sfumato.spaces.ground import Ground

# A float table is accepted as a metric when a triangle is broken by no more than this
# fraction of the largest distance: square roots and haversines round each entry by a few
# units of 2^-53 relative to the coordinates they come from. No proof rests on the triangle
# inequality, so nothing unsafe can follow from accepting such a table.
_TRIANGLE_ROUNDING = 2.0**-44

_BYTES_A_DISTANCE = 32  # A distance is stored, kept as a float, and twice in tables on the way there.
_BYTES_A_MIDPOINT = 48  # A midpoint is one of 4 bytes, with five tables of integers on the way there.
_BYTES_AN_EDGE = 64  # An edge has two ends and a length, with copies and masks on the way there.
_MOST_POINTS = 2_000_000  # So many labels take seconds and most of a gigabyte; more are refused beforehand.
_LARGEST_DENSE = 30_000  # A float64 table of so many points takes 7 GB.
_SMALLER = ("fewer points", "a coarser grid")


class Pairs(NamedTuple):
    """Index arrays of pairs x < z; all other finite pairs follow from these."""

    first: NDArray[np.int64]
    second: NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Edges:
    """A weighted graph whose shortest paths define the metric.

    The lengths have the form and unit of the full table of distances.
    """

    pairs: Pairs
    lengths: Distances


@dataclass(frozen=True, eq=False)
class Structure:
    """What a constructor knows of its space: tables are made only when asked for."""

    distances: Callable[[], Distances]
    edges: Callable[[], Edges] | None = None
    number_of_edges: int = 0  # how many they will be, where they are not there yet: asked before they are made
    midpoints: Callable[[], NDArray[np.int32]] | None = None
    lattice: Box | None = None  # what has a cell for each point of a grid, in the unit of the space
    answers: bool = False  # labels are the values of a query, numbers or tuples of them; distances count people
    ground: Ground | None = None  # coordinates are longitude and latitude, and people may fall into cells


@dataclass(frozen=True, eq=False, repr=False, init=False)
class FiniteSpace(Space):
    """A finite set of labelled secrets with a metric.

    Parameters
    ----------
    labels
        Distinct hashable names of the secrets.
    source
        A square table of distances (ints, fractions, strings such as ``"1/3"``, floats;
        ``inf`` where nothing is promised; a table with labels is matched by label), or the :class:`Structure` of a
        constructor.
    unit
        Name of the unit of distance, such as ``"km"``; ε is then "per km".
    name
        How to call the space in print.
    coordinates
        Where to draw the secrets, n × k; a table with labels for its rows is matched by label.

    Raises
    ------
    InvalidMetric
        If an axiom fails; ``triple`` holds the labels that break it.

    Examples
    --------
    >>> space = FiniteSpace(["a", "b", "c"], [[0, 1, 2], [1, 0, "3/2"], [2, "3/2", 0]])
    >>> len(space), space.distance("b", "c")
    (3, 1.5)
    """

    about: ClassVar[Literal["secrets"]] = "secrets"

    labels: tuple[Any, ...]
    source: Structure
    unit: str
    name: str
    coordinates: NDArray[np.float64] | None

    def __init__(
        self,
        labels: Iterable[Any],
        source: Any,
        unit: str = "",
        name: str = "",
        coordinates: NDArray[Any] | None = None,
    ) -> None:
        names = label_tuple(labels, "the labels of a space")
        if not isinstance(source, Structure):
            distances = Distances.parse(table_in_order(source, names, names, "the distances"), "distances", 2)
            _check_metric(names, distances)
            source = Structure(lambda: distances)
        if coordinates is not None:
            coordinates = float_array(table_in_order(coordinates, names, None, "the coordinates"), "coordinates")
            if coordinates.ndim != 2 or len(coordinates) != len(names):
                count = len(coordinates) if coordinates.ndim == 2 else f"a table of shape {coordinates.shape} as"
                raise InvalidInput(f"{count} coordinates for {len(names)} points")
        for field, value in {
            "labels": names,
            "source": source,
            "unit": as_unit(unit, "the unit of a space"),
            "name": text(name, "the name of a space") or f"space of {len(names)} points",
            "coordinates": coordinates,
        }.items():
            object.__setattr__(self, field, value)

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        return f"FiniteSpace({self.name}, {len(self)} points{f', in {self.unit}' if self.unit else ''})"

    @cached_property
    def distances(self) -> Distances:
        """The full table of distances."""
        check_table(len(self))
        return self.source.distances().simplest()

    @cached_property
    def edges(self) -> Edges | None:
        """The graph that defines the metric, if the space was built from one."""
        if self.source.edges is None:
            return None
        number = self.source.number_of_edges
        check_memory(_BYTES_AN_EDGE * number, f"{number:,} pairs of neighbours in {self.name}", _SMALLER)
        return self.source.edges()

    @property
    def answers(self) -> bool:
        """Whether labels are the values of a numeric query: distances then count people, not the size of an error."""
        return self.source.answers

    @property
    def ground(self) -> Ground | None:
        """What is known of places on the Earth beside their distances; None for other spaces, and for ``geo``."""
        return self.source.ground

    @property
    def ruler(self) -> Distances:
        """A table in the form and unit of the space: the edges of a graph, or all distances.

        It tells what a number stands for without building the full table of a large graph.
        """
        return self.distances if self.edges is None else self.edges.lengths

    @cached_property
    def position(self) -> dict[Any, int]:
        """Index of each label."""
        return {label: i for i, label in enumerate(self.labels)}

    def index(self, label: Any) -> int:
        """Index of a label; an unknown one is an error that names it."""
        try:
            return self.position[label]
        except (KeyError, TypeError):
            raise InvalidInput(f"{shown(label)} is not in {self.name}") from None

    def distance(self, x: Any, z: Any) -> float:
        """The distance between two labels."""
        return float(self.distances.floats[self.index(x), self.index(z)])

    @cached_property
    def midpoints(self) -> NDArray[np.int32]:
        """For each pair a point that lies exactly between its ends, −1 where there is none."""
        check_memory(_BYTES_A_MIDPOINT * len(self) ** 2, f"the pairs that count of {len(self)} points", _SMALLER)
        if self.source.midpoints is not None:
            return self.source.midpoints()
        table = self.distances
        return midpoints(table.form.code, table.values, table.floats)

    @cached_property
    def pairs(self) -> Pairs:
        """The pairs at finite distance that no chain of shorter pairs implies, exactly.

        A mechanism that keeps its promise on these keeps it on all pairs.
        """
        if self.edges is not None:
            return _unimplied_edges(self, self.edges)
        infinite = self.distances.infinite  # first: larger spaces than have such a table are refused with its name
        keep = (self.midpoints < 0) & ~infinite
        return Pairs(*np.nonzero(np.triu(keep, 1)))

    @cached_property
    def open_pairs(self) -> int:
        """The number of pairs that no chain of finite distances joins, so that nothing is promised about them."""
        return open_pairs(len(self), *self.pairs)

    @cached_property
    def pair_distances(self) -> Distances:
        """The distances of :attr:`pairs`, without building the full table of a large graph."""
        if self.edges is not None and self.pairs is self.edges.pairs:
            return self.edges.lengths
        table = self.distances
        return Distances(table.form, table.values[self.pairs.first, self.pairs.second], table.unit)

    def __reduce__(self) -> tuple[Any, tuple[Any, ...]]:
        """What defines the metric travels to another process, tables that follow from it do not."""
        metric = self.edges if self.edges is not None else (self.distances, self.midpoints)
        known = self.source.lattice, self.source.answers, self.source.ground
        return _restored, (metric, known, self.labels, self.unit, self.name, self.coordinates)

    def as_list(self) -> FiniteSpace:
        """Itself."""
        return self

    def restrict(self, labels: Iterable[Any]) -> FiniteSpace:
        """The subspace on some of the labels, distances kept."""
        chosen = items(labels, "labels")
        indices = [self.index(label) for label in chosen]
        table = self.distances
        part = Distances(table.form, table.values[np.ix_(indices, indices)].copy(), table.unit)
        return FiniteSpace(
            tuple(chosen),
            Structure(lambda: part, ground=None if self.ground is None else self.ground.chosen(indices)),
            unit=self.unit,
            name=f"{len(chosen)} points of {self.name}",
            coordinates=None if self.coordinates is None else self.coordinates[indices],
        )


def _restored(metric: Any, known: tuple[Any, bool, Any], labels: tuple[Any, ...], *about: Any) -> FiniteSpace:
    if isinstance(metric, Edges):
        structure = path_metric(len(labels), metric)
    else:
        structure = Structure(lambda: metric[0], midpoints=lambda: metric[1])
    return FiniteSpace(labels, replace(structure, lattice=known[0], answers=known[1], ground=known[2]), *about)


def path_metric(n: int, edges: Edges, *, dense: bool = False) -> Structure:
    """The shortest-path metric of a graph on n nodes; the table is made when it is asked for.

    Where a graph is ``dense``, nearly all nodes being joined, the table is all that is kept of it.
    """
    lengths = edges.lengths

    def distances() -> Distances:
        weights = csr_array((lengths.values.astype(np.float64), edges.pairs), shape=(n, n))
        table = shortest_path(weights, "FW" if dense else "D", directed=False)
        if lengths.form is Form.FLOAT:
            return Distances(Form.FLOAT, np.maximum(table, table.T))
        integers = np.full((n, n), INFINITE, dtype=np.int64)
        integers[np.isfinite(table)] = table[np.isfinite(table)].astype(np.int64)
        return Distances(Form.RATIONAL, integers, lengths.unit)

    return Structure(distances, None if dense else lambda: edges)


def check_size(n: int, what: str = "points") -> None:
    """Refuse a space that could not be held, before anything of it is built."""
    if n > _MOST_POINTS:
        number = str(n) if n.bit_length() < 64 else "more than 2^63"
        table = f", and {_LARGEST_DENSE} where a full table of distances is needed" if what == "points" else ""
        raise NotSupported(f"a space of {number} {what}", [f"at most {_MOST_POINTS} {what}{table}"])


def check_table(n: int) -> None:
    """Refuse a full table of distances that could not be held, before anything of it is built."""
    table = f"a full table of distances for {n} points"
    if n > _LARGEST_DENSE:
        raise NotSupported(table, [f"at most {_LARGEST_DENSE} points"])
    check_memory(_BYTES_A_DISTANCE * n**2, table, _SMALLER)


def as_space(value: Any, what: str = "a space") -> FiniteSpace:
    """The space; an error for anything else."""
    return expect(value, FiniteSpace, what, "line(n), grid(n, m), FiniteSpace(labels, distances) make one")


def label_tuple(labels: Iterable[Hashable], what: str) -> tuple[Any, ...]:
    """Distinct hashable labels as a tuple; columns of any library become Python's own values."""
    if isinstance(labels, str | bytes) or not isinstance(labels, Iterable):
        raise InvalidInput(f"{what} must be a list of labels, found {shown(labels)}")
    if isinstance(labels, set | frozenset):
        raise InvalidInput(f"{what} must have an order, which a set has not: give a list")
    if hasattr(labels, "columns"):
        raise InvalidInput(f"{what} must be a list of labels, found a table: name its column")
    result = tuple(column_values(labels))
    if not result:
        raise InvalidInput(f"{what} are empty: at least one is needed")
    seen: set[Any] = set()
    for label in result:
        try:
            twice = label in seen
            seen.add(label)
        except TypeError:
            raise InvalidInput(f"{what} must be hashable, found {shown(label)}") from None
        if twice:
            raise InvalidInput(f"{what} must be distinct: {shown(label)} occurs twice")
    return result


def label_place(label: Any, labels: tuple[Any, ...], what: str) -> int:
    """Where a label stands among others; an unknown one is an error that names it."""
    try:
        hash(label)  # what has no hash is no label, and may not compare to a truth value either
        return labels.index(label)
    except (TypeError, ValueError):
        raise Mismatch.unknown(what, labels, [label]) from None


def _check_metric(labels: Sequence[Any], distances: Distances) -> None:
    table, n = distances.values, len(labels)
    if table.shape != (n, n):
        raise InvalidMetric(f"{n} labels need a {n} × {n} table of distances, found {table.shape}")
    itself = np.eye(n, dtype=bool)
    for broken, sentence in (
        (table < 0, "the distance from {} to {} is negative"),
        (table != table.T, "distances are not symmetric: from {} to {} it is {:g}, back it is {:g}"),
        ((table != 0) & itself, "the distance of {} to itself is not 0"),
        ((table == 0) & ~itself, "{} and {} are at distance 0: merge them into one secret"),
    ):
        if broken.any():
            (x, z), d = np.argwhere(broken)[0], distances.floats
            words = sentence.format(shown(labels[x]), shown(labels[z]), d[x, z], d[z, x])
            raise InvalidMetric(words, (labels[x], labels[z]) if x != z else (labels[x],))
    slack: float | int = 0
    if distances.form is Form.FLOAT:
        finite = table[np.isfinite(table)]
        slack = float(finite.max(initial=0.0)) * _TRIANGLE_ROUNDING
    violation = triangle_violation(table, slack)
    if violation is not None:
        (x, y, z), d = violation, distances.floats
        a, b, c = (shown(labels[i]) for i in violation)
        raise InvalidMetric(
            f"the triangle inequality fails: d({a}, {c}) = {d[x, z]:g} > "
            f"d({a}, {b}) + d({b}, {c}) = {d[x, y]:g} + {d[y, z]:g}"
            + advice(("graph", "makes a metric of such numbers by taking shortest paths")),
            (labels[x], labels[y], labels[z]),
        )


def _unimplied_edges(space: FiniteSpace, edges: Edges) -> Pairs:
    """The edges that are not themselves implied by a path of other edges.

    Edges of equal length never are: a detour has at least two of them. Otherwise the
    table of distances decides; without room for it every edge is kept, which is safe.
    Edges of length 0, which say that two points are one, are kept, and are no leg of a
    detour: then every leg is shorter than the edge it replaces, and chains of chains end.
    """
    lengths = edges.lengths.values
    if len(lengths) == 0 or (lengths == lengths[0]).all() or len(space) > _LARGEST_DENSE // 6:
        return edges.pairs
    table = space.distances.values
    if edges.lengths.form is Form.FLOAT:
        # a path adds up to 5,000 roundings of 2^-53: drop an edge only when it is clearly longer
        lengths = lengths * (1 - 2.0**-38)
    keep = [not _has_detour(table, *edge) for edge in zip(*edges.pairs, lengths, strict=True)]
    return Pairs(edges.pairs.first[keep], edges.pairs.second[keep])


def _has_detour(table: NDArray[Any], x: int, z: int, length: Any) -> bool:
    if table[x, z] < length:
        return True
    fits = (table[x] + table[:, z] <= length) & (table[x] > 0) & (table[:, z] > 0)
    return bool(fits.any())
