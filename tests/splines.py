"""Quadratic splines that keep a promise about coordinates, as programs of blocks.

On a box with cells of side h a column f has one entry for each control point of quadratic B-splines, the centres of the
cells and one more ring around them. On every cell the spline and its gradient have Bernstein coefficients F_c and G_c,
and ‖G_c‖ ≤ ε F_c for all of them implies e^{ε|x − x′|} between all pairs of points.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from scipy.sparse import csr_array, kron

from sfumato.lp.cone.blocks import BlockProgram

VALUES = np.array([[0.5, 0.5, 0.0], [0.0, 1.0, 0.0], [0.0, 0.5, 0.5]])  # F of a cell from its three control points
SLOPES = np.array([[-1.0, 1.0, 0.0], [-0.5, 0.0, 0.5], [0.0, -1.0, 1.0]])  # hG
NODES = 8  # of Gauss and Legendre in each cell and axis, for the costs


def spline_program(
    cells: int, axes: int, rate: float, outputs: int, prior: Any = None, symmetric: bool = False
) -> BlockProgram:
    """Distance as loss on the unit box with ``cells`` cells and ``outputs`` outputs an axis; ``rate`` is ε.

    ``prior`` has the mass of each cell, uniform by default. A ``symmetric`` program has one column for each orbit of
    outputs, and a sum for each orbit of control points, under the symmetries of an interval or a square.
    """
    value, slope = (_in_all_cells(local, cells) for local in (VALUES, SLOPES))
    forms = [[value] * axes, *([slope if i == k else value for i in range(axes)] for k in range(axes))]
    block = [csr_array(reduce(kron, maps)) for maps in forms]
    block[0] = block[0] * (rate / cells)
    cost = _costs(cells, axes, outputs, np.full((cells,) * axes, 1.0 / cells**axes) if prior is None else prior)
    if not symmetric:
        return BlockProgram(cost, [tuple(block)])
    leaders, classes = _orbits(outputs, axes)[0], _orbits(cells + 2, axes)[1]
    n = len(classes)
    sums = csr_array((np.ones(n), (classes, np.arange(n))))
    return BlockProgram(cost[:, leaders], [tuple(block)], sums, np.bincount(classes).astype(float))


def _in_all_cells(local: Any, cells: int) -> Any:
    """One map for all cells of an axis; neighbours share a coefficient."""
    result = np.zeros((2 * cells + 1, cells + 2))
    for c in range(cells):
        result[2 * c : 2 * c + 3, c : c + 3] = local
    return csr_array(result)


def _costs(cells: int, axes: int, outputs: int, prior: Any) -> Any:
    """∫ B_v(x) π(x) |y − x| dx for all control points v and outputs y."""
    nodes, weights = np.polynomial.legendre.leggauss(NODES)
    s = (nodes + 1) / 2
    basis = np.stack([(1 - s) ** 2 / 2, 0.5 + s * (1 - s), s**2 / 2]) * (weights / 2)
    axis = np.zeros((cells + 2, cells * NODES))
    for c in range(cells):
        axis[c : c + 3, c * NODES : (c + 1) * NODES] = basis
    inputs = _product_grid(((np.arange(cells)[:, None] + s) / cells).ravel(), axes)
    density = reduce(lambda table, k: np.repeat(table, NODES, axis=k), range(axes), np.asarray(prior))
    distances = np.linalg.norm(inputs[:, None] - _product_grid((np.arange(outputs) + 0.5) / outputs, axes), axis=2)
    return (reduce(np.kron, [axis] * axes) * density.ravel()) @ distances


def _product_grid(places: Any, axes: int) -> Any:
    return np.stack(np.meshgrid(*[places] * axes, indexing="ij"), axis=-1).reshape(-1, axes)


def _orbits(size: int, axes: int) -> tuple[Any, Any]:
    """The least member of each orbit, and the orbit of each point, on a line or square of points."""
    where = np.arange(size**axes).reshape((size,) * axes)
    images = [where, where[::-1]]
    if axes == 2:
        images = [np.rot90(flip, turns) for flip in (where, where.T) for turns in range(4)]
    leaders, orbits = np.unique(np.min([image.ravel() for image in images], axis=0), return_inverse=True)
    return leaders, orbits


def lumpy_prior(cells: int) -> Any:
    """Five bumps on a square."""
    rng = np.random.default_rng(3)
    centres, widths = rng.uniform(0, 1, (5, 2)), rng.uniform(0.05, 0.2, 5)
    places = _product_grid((np.arange(cells) + 0.5) / cells, 2)
    near = np.linalg.norm(places[:, None] - centres, axis=2) / widths
    prior = np.exp(-(near**2) / 2).sum(axis=1).reshape(cells, cells)
    return prior / prior.sum()
