"""WHERE a secret lives: finite metric spaces, their constructors, and query-induced spaces."""

from collections.abc import Callable

from sfumato.spaces import constructors, earth, queries
from sfumato.spaces.areas import area_column, areas
from sfumato.spaces.box import Box, box
from sfumato.spaces.constructors import *
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.earth import *
from sfumato.spaces.elastic import elastic
from sfumato.spaces.finite import Edges, FiniteSpace, Pairs
from sfumato.spaces.h3_cells import h3_cells
from sfumato.spaces.isometries import isometries
from sfumato.spaces.queries import *
from sfumato.spaces.roads import roads
from sfumato.spaces.squares import square_cells

SPACES: dict[str, Callable[..., FiniteSpace]] = {
    constructor.__name__: constructor
    for constructor in (
        line, grid, discrete, hamming, cycle, star, complete_bipartite, graph, points, geo, square_cells, h3_cells,
        areas, roads, elastic, count_query, sum_query, k_count_query, query, induced,
    )
}  # fmt: skip
"""Every constructor of a space, by name: the list that doors, docs and tests go through."""

__all__ = ["SPACES", "Box", "Distances", "Edges", "FiniteSpace", "Form", "Pairs", "area_column", "areas", "box"]
__all__ += ["elastic", "h3_cells", "isometries", "roads", "square_cells"]
__all__ += constructors.__all__ + earth.__all__ + queries.__all__
