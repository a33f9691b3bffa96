"""The conic program of a box: the best table for a lattice and a list of outputs.

Columns are functions on the lattice whose Bernstein coefficients F and G have ‖G‖* ≤ ε F. That is a second-order cone
of k + 1 sparse forms for Euclidean distances, and linear rows for the other two norms. Columns meet only in the row
sums: :func:`~sfumato.lp.cone.general.solve_blocks` takes them one by one. Symmetries of box, prior, lattice and outputs
leave one column for each orbit of outputs, and one sum for each orbit of lattice points.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array, kron, vstack

from sfumato.design.boxes.moments import Moments
from sfumato.design.boxes.symmetry import Turn, orbits_of_cells, orbits_of_points
from sfumato.design.symmetry import Symmetry
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.lp.cone.blocks import Block, BlockProgram
from sfumato.numbers import Floats
from sfumato.spaces.splines import Rounding, bernstein_rows, dense


def blocks_of(rounding: Rounding, rate: float, halvings: int) -> tuple[Block, ...]:
    """The conditions on a column, as blocks of linear forms of its entries.

    Examples
    --------
    >>> from sfumato.spaces.box import box
    >>> from sfumato.spaces.splines import rounding_of
    >>> [block[0].shape for block in blocks_of(rounding_of(box((1,), step="1/2")), 1.0, 0)]
    [(10, 4)]
    >>> [len(block) for block in blocks_of(rounding_of(box((1, 1), step="1/2")), 1.0, 0)]
    [3]
    """
    along = []
    for axis in rounding.axes:
        values, slopes = bernstein_rows(axis, halvings)
        along.append((csr_array(dense(values, len(axis))), csr_array(dense(slopes, len(axis)))))
    k = len(along)
    value = rate * _product([values for values, _ in along])
    gradient = [_product([along[j][int(i == j)] for j in range(k)]) for i in range(k)]
    metric = rounding.box.metric
    if metric == "euclidean" and k > 1:
        return (tuple(csr_array(form) for form in (value, *gradient)),)
    if metric == "chebyshev":  # the dual norm is the sum of absolute values
        rows = [value]
        for slope in gradient:
            rows = [row + sign * slope for row in rows for sign in (1, -1)]
    else:
        rows = [value + sign * slope for slope in gradient for sign in (1, -1)]
    return ((csr_array(vstack([csr_array(row) for row in rows])),),)


def _product(factors: list[csr_array]) -> csr_array:
    """The Kronecker product of forms along the axes."""
    result = factors[0]
    for factor in factors[1:]:
        result = csr_array(kron(result, factor))
    return result


@dataclass(frozen=True, eq=False)
class BoxProgram:
    """A conic program for one column of each orbit of outputs, the costs of all, and the turns that make a table."""

    program: BlockProgram
    cost: Floats
    group: Symmetry

    def whole(self, matrix: Floats) -> Floats:
        """The table of all outputs from one column for each orbit: averages over all turns."""
        return self.group.spread(matrix)


def box_program(
    rounding: Rounding,
    weighed: Moments,
    loss: CoordinateLoss,
    outputs: Floats,
    rate: float,
    halvings: int,
    group: list[Turn],
) -> BoxProgram:
    """Lay out the program; turns that do not map outputs to outputs are left out."""
    sides = np.array([float(side) for side in rounding.box.sides])
    columns = orbits_of_points(group, outputs, sides)
    if columns is None:
        group = group[:1]
        columns = orbits_of_points(group, outputs, sides)
    assert columns is not None
    points = orbits_of_cells(group, rounding.shape)
    cost = weighed.costs(loss.at(weighed.points, outputs))
    own = np.ascontiguousarray(cost[:, columns.representatives])
    program = BlockProgram(own, blocks_of(rounding, rate, halvings), *points.sums)
    return BoxProgram(program, cost, Symmetry(points.images, columns.images))
