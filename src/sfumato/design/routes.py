"""Multipliers between any two secrets, carried along shortest paths of a graph to its edges.

Certificates of a graph metric know edges only. A multiplier Z on the pair (x, z) adds Z to the reduced cost of x and
takes e^{εd(x, z)} Z from that of z. So do multipliers Z e^{εd(x, u)} on the edges (u, v) of a shortest path from x to
z: what one of them takes from v the next one gives back, and nothing is lost but rounding.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from sfumato.design.answer import Multipliers
from sfumato.numbers import Floats, Integers
from sfumato.privacy.type import PrivacyType

_Legs = tuple[Integers, Integers, Integers, Floats]


def along_edges(privacy: PrivacyType, given: Multipliers) -> Multipliers:
    """The same bound from multipliers on pairs that certificates know; as they are where that is all pairs.

    Examples
    --------
    >>> from sfumato.spaces import cycle
    >>> privacy, zero = PrivacyType(cycle(5), alpha="1/2"), np.zeros(1, dtype=np.int64)
    >>> moved = along_edges(privacy, Multipliers(zero, zero + 2, zero, np.ones(1)))
    >>> moved.first.tolist(), moved.second.tolist(), moved.values.tolist()
    ([0, 1], [1, 2], [1.0, 2.0])
    """
    if privacy.space.edges is None or not len(given):
        return given
    sources, source = np.unique(given.first, return_inverse=True)
    far, before = _shortest_paths(privacy, sources)
    at, action, values = given.second.copy(), given.action, given.values.astype(np.float64)
    legs: list[_Legs] = []
    while len(at):
        back = before[source, at].astype(np.int64)
        legs.append((back, at, action, values * np.exp(privacy.rate * far[source, back])))
        on = back != sources[source]
        at, action, values, source = back[on], action[on], values[on], source[on]
    return Multipliers.summed(len(privacy.space), *map(np.concatenate, zip(*legs, strict=True)))


def along_trees(privacy: PrivacyType, roots: Integers, amount: Floats) -> Multipliers:
    """The same for multipliers from one secret for each action, from which ``amount`` (one row an action) goes to all.

    Shortest paths from one secret are a tree: an edge carries what is meant for all secrets behind it.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> start, amount = np.zeros(1, dtype=np.int64), np.array([[0.0, 0.0, 1.0, 0.5]])
    >>> moved = along_trees(PrivacyType(line(4), alpha="1/2"), start, amount)
    >>> moved.first.tolist(), moved.second.tolist(), moved.values.tolist()
    ([0, 1, 2], [1, 2, 3], [1.5, 3.0, 2.0])
    """
    starts, which = np.unique(roots, return_inverse=True)
    far, before = _shortest_paths(privacy, starts)
    outermost = np.argsort(-far, axis=1, kind="stable")
    every, behind = np.arange(len(roots)), amount.copy()
    for k in range(far.shape[1]):
        node = outermost[which, k]
        parent = before[which, node]
        joined = parent >= 0
        behind[every[joined], parent[joined]] += behind[every[joined], node[joined]]
    action, second = np.nonzero((before[which] >= 0) & (behind > 0))
    first = before[which[action], second].astype(np.int64)
    with np.errstate(over="ignore"):
        values = behind[action, second] * np.exp(privacy.rate * far[which[action], first])
    return Multipliers(first, second, action, values)


def _shortest_paths(privacy: PrivacyType, sources: Integers) -> tuple[Floats, NDArray[np.int32]]:
    """Distances from some secrets to all along the edges of the space, and the secret before each on the way."""
    space, n = privacy.space, len(privacy.space)
    graph = csr_array((space.pair_distances.floats, (space.pairs.first, space.pairs.second)), shape=(n, n))
    far, before = dijkstra(graph, directed=False, indices=sources, return_predecessors=True)
    return far, before
