"""Networks: places joined by links with lengths, whose shortest ways are the distances.

What no way joins is refused, or the largest part is kept, as is asked for; it is never dropped in silence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from sfumato.arguments import one_of
from sfumato.errors import InvalidMetric, counted, keyword, shown
from sfumato.numbers import Floats, Integers
from sfumato.spaces.distances import Distances
from sfumato.spaces.finite import Edges, FiniteSpace, Pairs, Structure, path_metric
from sfumato.spaces.ground import Ground

PARTS = ("refuse", "largest")
"""What to do about places that no way joins."""


@dataclass(frozen=True, eq=False)
class Network:
    """Places and the links between them, by index.

    Parameters
    ----------
    links, lengths
        Rows of two places, and how far it is from the first to the second.
    what, about
        How to call a place in print, and what else the name of the space says.
    coordinates, ground
        Longitudes and latitudes of the places, and what else is known of them.
    """

    labels: tuple[Any, ...]
    links: Integers
    lengths: Distances
    what: str
    about: str = ""
    coordinates: Floats | None = None
    ground: Ground | None = None

    @property
    def name(self) -> str:
        """How to call the space in print."""
        return f"{counted(len(self.labels), self.what)}{self.about}"

    def matrix(self) -> Any:
        """Lengths as a sparse matrix of doubles, which hold them exactly."""
        values = self.lengths.values.astype(np.float64)
        return csr_array((values, tuple(self.links.T)), shape=(len(self.labels),) * 2)

    def part(self, kept: Integers) -> Network:
        """Some of the places, and what joins them."""
        new = np.full(len(self.labels), -1, dtype=np.int64)
        new[kept] = np.arange(len(kept))
        links = new[self.links].reshape(-1, 2)
        inside = (links >= 0).all(axis=1)
        return replace(
            self,
            labels=tuple(self.labels[index] for index in kept.tolist()),
            links=links[inside],
            lengths=replace(self.lengths, values=self.lengths.values[inside]),
            coordinates=None if self.coordinates is None else self.coordinates[kept],
            ground=None if self.ground is None else self.ground.chosen(kept.tolist()),
        )


def as_parts(value: Any) -> str:
    """One of the two policies."""
    return str(one_of(value, PARTS, "parts"))


def in_one_part(network: Network, parts: str, *, directed: bool = False) -> Network:
    """The network, or its largest part where that is asked for; its name then says what was left out."""
    count, which = connected_components(network.matrix(), directed=directed, connection="strong")
    if count == 1:
        return network
    sizes = np.bincount(which)
    largest = int(np.argmax(sizes))
    if parts != "largest":
        other = int(np.flatnonzero(which != largest)[0])
        here = int(np.flatnonzero(which == largest)[0])
        way = "way there and back" if directed else "way"
        raise InvalidMetric(
            f"no {way} joins {shown(network.labels[here])} and {shown(network.labels[other])}: the {network.what}s are "
            f"in {count} parts, the largest has {sizes[largest]} of {len(network.labels)}; "
            f"{keyword('parts', 'largest')} keeps that one alone",
            (network.labels[here], network.labels[other]),
        )
    kept = network.part(np.flatnonzero(which == largest))
    left_out = counted(len(network.labels) - len(kept.labels), network.what)
    return replace(kept, about=f"{kept.about}, the largest of {count} parts, without {left_out}")


def network_space(network: Network, parts: str, unit: str) -> FiniteSpace:
    """The space of shortest ways along links that are walked in both directions."""
    network = in_one_part(network, parts)
    edges = Edges(Pairs(*np.ascontiguousarray(network.links.T)), network.lengths)
    metric = path_metric(len(network.labels), edges)
    structure = Structure(metric.distances, metric.edges, ground=network.ground)
    return FiniteSpace(network.labels, structure, unit, network.name, network.coordinates)
