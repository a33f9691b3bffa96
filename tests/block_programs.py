"""Programs of blocks: random ones, quadratic splines that keep a promise about coordinates; and Clarabel on them.

On a box with cells of side h a column f has one entry for each control point of quadratic B-splines, the centres of the
cells and one more ring around them. On every cell the spline and its gradient have Bernstein coefficients F_c and G_c,
and ‖G_c‖ ≤ ε F_c for all of them implies e^{ε|x − x′|} between all pairs of points.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array, identity, kron, vstack

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


def random_program(rng: Any, *, cones: bool = True) -> BlockProgram:
    """Rows and cones of two to four forms with the constant column inside, weighted classes, any totals."""
    n, m = rng.integers(2, 7), rng.integers(1, 7)
    blocks = []
    for d in (1, 2, 3, 4) if cones else (1,):
        count = rng.integers(0, 5)
        forms = rng.normal(size=(d, count, n)) * (rng.random((d, count, n)) < 0.7)
        shortfall = np.linalg.norm(forms[1:].sum(axis=2), axis=0) + 0.1 + rng.random(count) - forms[0].sum(axis=1)
        forms[0] += np.maximum(shortfall, 0.0)[:, None] / n
        if count:
            blocks.append(tuple(csr_array(form) for form in forms))
    classes = np.unique(rng.integers(rng.integers(1, n + 1), size=n), return_inverse=True)[1]
    sums = csr_array((0.5 + rng.random(n), (classes, np.arange(n))))
    # totals that the constant column has, so that there are points
    return BlockProgram(rng.normal(size=(n, m)), blocks, sums, np.asarray(sums.sum(axis=1)).ravel())


def random_duals(program: BlockProgram, rng: Any) -> list[Any]:
    """Duals anywhere in their cones."""
    duals = []
    for block in program.blocks:
        z = rng.normal(size=(len(block), block[0].shape[0], program.shape[1]))
        z[0] = np.linalg.norm(z[1:], axis=0) + np.abs(z[0])
        duals.append(z * 10.0 ** rng.uniform(-3, 0))
    return duals


def by_clarabel(program: BlockProgram, tolerance: float = 1e-10) -> Any:
    """Clarabel's solution of the same program, as one cone program over all entries, column after column."""
    import clarabel

    n, m = program.shape
    each = identity(m, format="csr")
    rows = [kron(np.ones((1, m)), program.sums), -identity(n * m)]
    cones = [clarabel.ZeroConeT(len(program.totals)), clarabel.NonnegativeConeT(n * m)]
    for block in program.blocks:
        d, count = len(block), block[0].shape[0]
        cone_by_cone = vstack(block, format="csr")[np.arange(d * count).reshape(d, count).T.ravel()]
        rows.append(-kron(each, cone_by_cone))
        cones += [clarabel.NonnegativeConeT(d)] * count * m if d == 1 else [clarabel.SecondOrderConeT(d)] * count * m
    matrix = vstack(rows, format="csc")
    right = np.concatenate([program.totals, np.zeros(matrix.shape[0] - len(program.totals))])
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = tolerance
    nothing = csc_array((n * m, n * m))
    return clarabel.DefaultSolver(nothing, program.cost.T.ravel(), matrix, right, cones, settings).solve()
