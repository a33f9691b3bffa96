"""WHERE a secret lives: finite metric spaces, their constructors, and query-induced spaces."""

from collections.abc import Callable

from sfumato.spaces.constructors import (
    EARTH_RADIUS_KM,
    complete_bipartite,
    cycle,
    discrete,
    geo,
    graph,
    grid,
    hamming,
    line,
    points,
    star,
)
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.finite import Edges, FiniteSpace, Pairs
from sfumato.spaces.isometries import isometries
from sfumato.spaces.pickles import Known as Known  # the module says how spaces are pickled
from sfumato.spaces.queries import (
    Chains,
    count_query,
    induced,
    is_uniformly_sensitive,
    k_count_query,
    lipschitz_constant,
    query,
    sum_query,
)

SPACES: dict[str, Callable[..., FiniteSpace]] = {
    "line": line,
    "grid": grid,
    "discrete": discrete,
    "hamming": hamming,
    "cycle": cycle,
    "star": star,
    "complete_bipartite": complete_bipartite,
    "graph": graph,
    "points": points,
    "geo": geo,
    "count_query": count_query,
    "sum_query": sum_query,
    "k_count_query": k_count_query,
    "query": query,
    "induced": induced,
}
"""Every constructor of a space, by name: the list that doors, docs and tests go through."""

__all__ = [
    "EARTH_RADIUS_KM",
    "SPACES",
    "Chains",
    "Distances",
    "Edges",
    "FiniteSpace",
    "Form",
    "Pairs",
    "complete_bipartite",
    "count_query",
    "cycle",
    "discrete",
    "geo",
    "graph",
    "grid",
    "hamming",
    "induced",
    "is_uniformly_sensitive",
    "isometries",
    "k_count_query",
    "line",
    "lipschitz_constant",
    "points",
    "query",
    "star",
    "sum_query",
]
