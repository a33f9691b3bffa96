"""How many secrets a table of a spec stands for, before anything is built: a page must not ask for too many."""

from __future__ import annotations

import json
from collections.abc import Callable
from math import prod
from typing import Any

from sfumato.errors import NotSupported
from sfumato.specs.boxes import spec_box
from sfumato.specs.spec import Spec

_MOST_AXES = 2


def secrets_in(spec: Spec) -> int:
    """The secrets of a list."""
    if spec.space.kind not in _SIZES:
        raise NotSupported(
            f"a space of kind {spec.space.kind!r} in the studio", ["`sfumato design` and Python, which take them all"]
        )
    return _SIZES[spec.space.kind](spec.space)


def cells_in(spec: Spec) -> int:
    """The cells of a box that can be drawn."""
    home = spec_box(spec)
    if home.dimension > _MOST_AXES:
        raise NotSupported(
            "a box with three axes in the studio", ["one or two axes here; `sfumato design` has no such limit"]
        )
    return len(home)


def _nodes(space: Any) -> int:
    ends = {json.dumps(end, default=str) for edge in space.edges or () for end in edge[:2]}
    return max(len(ends), len(space.nodes or ()))


def _power(base: int, exponent: int) -> int:
    """base^exponent, or something beyond every limit before the number gets long."""
    return base**exponent if exponent * base.bit_length() < 64 else 2**63


_SIZES: dict[str, Callable[[Any], int]] = {
    "line": lambda space: space.size,
    "discrete": lambda space: space.size,
    "cycle": lambda space: space.size,
    "grid": lambda space: prod(space.shape) if len(space.shape) < 20 else 2**63,
    "hamming": lambda space: _power(space.symbols, space.length),
    "star": lambda space: space.leaves + 1,
    "complete_bipartite": lambda space: space.a + space.b,
    "count_query": lambda space: space.individuals + 1,
    "sum_query": lambda space: space.individuals * space.largest + 1,
    "k_count_query": lambda space: _power(space.individuals + 1, space.k),  # at most: so many answers for each count
    "graph": _nodes,
    "points": lambda space: len(space.coordinates or ()),
    "geo": lambda space: len(space.coordinates or ()),
    "matrix": lambda space: len(space.distances or ()),
}
"""How many secrets a table stands for, before anything is built."""
