"""WHERE a secret lives: finite metric spaces, their constructors, and query-induced spaces."""

from collections.abc import Callable

from sfumato.spaces import constructors, queries
from sfumato.spaces.constructors import *
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.finite import Edges, FiniteSpace, Pairs
from sfumato.spaces.isometries import isometries
from sfumato.spaces.queries import *

SPACES: dict[str, Callable[..., FiniteSpace]] = {
    constructor.__name__: constructor
    for constructor in (
        line, grid, discrete, hamming, cycle, star, complete_bipartite, graph, points, geo, count_query, sum_query,
        k_count_query, query, induced,
    )
}  # fmt: skip
"""Every constructor of a space, by name: the list that doors, docs and tests go through."""

__all__ = ["SPACES", "Distances", "Edges", "FiniteSpace", "Form", "Pairs", "isometries"]
__all__ += constructors.__all__ + queries.__all__
