"""What :mod:`sfumato.lp.cone.general` does for some columns side by side: scalings, systems, targets.

Entries r ≥ 0, linear rows and second-order cones are treated alike (:mod:`sfumato.lp.cone.second_order`), all cones of
a block and all columns of a strip at once. Seen through its scaling W a cone has one point v = W z = W⁻¹ s; with
d = W⁻¹ ds and targets t for the products, the duals become W⁻¹ (t/v − d), where t/v is the quotient of the algebra. So
v, d and t say everything: steps to the boundary, second-order terms, products at a longer step.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from sfumato.lp.cone.banded import Bands
from sfumato.lp.cone.blocks import Block, BlockProgram
from sfumato.lp.cone.second_order import Scaling, clipped, inner, product, quotient, reach, scaling, smallest
from sfumato.numbers import Floats, Integers

Parts = list[Floats]
"""One array a block, of shape (components, rows of the block, columns)."""


class Forms:
    """The blocks of a program, entries r ≥ 0 first, as sparse maps of columns; and the shape of their systems.

    ``weights`` has, block by block, how large the product of a cone may be beside others: by the least ``share`` among
    the entries it looks at.
    """

    def __init__(self, program: BlockProgram, share: Floats) -> None:
        n = program.shape[0]
        identity = csr_array((np.ones(n), np.arange(n), np.arange(n + 1)), shape=(n, n))
        blocks: list[Block] = [(identity,), *program.blocks]
        self.shapes = [(len(block), block[0].shape[0]) for block in blocks]
        self.weights = [_lightest(block, share)[:, None] for block in blocks]
        self.matrix = csr_array(vstack([matrix for block in blocks for matrix in block], format="csr"))
        self.adjoint = csr_array(self.matrix.T.tocsr())
        self.width, self.places, self.assembly = _assembly(blocks, n)

    def of(self, columns: Floats) -> Parts:
        """G r for the columns r."""
        stacked, parts, low = self.matrix @ columns, [], 0
        for d, count in self.shapes:
            parts.append(stacked[low : low + d * count].reshape(d, count, -1))
            low += d * count
        return parts

    def pulled(self, parts: Parts) -> Floats:
        """Gᵀz."""
        return np.asarray(self.adjoint @ np.concatenate([part.reshape(-1, part.shape[-1]) for part in parts]))

    def systems(self, scalings: list[Scaling]) -> Floats:
        """The entries of H = Gᵀ W⁻² G at ``places``, for each column."""
        squares = [each.inverse_squares() for each in scalings]
        stacked = np.concatenate([part.reshape(-1, part.shape[-1]) for part in squares])
        return np.asarray(self.assembly @ stacked)


def _lightest(block: Block, share: Floats) -> Floats:
    """The least share among the entries that a row of a block looks at."""
    weights = np.ones(block[0].shape[0])
    for matrix in block:
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        np.minimum.at(weights, rows, share[matrix.indices])
    return weights


def _assembly(blocks: list[Block], n: int) -> tuple[int, Integers, csr_array]:
    """The bandwidth of H, where its lower triangle has entries, and the matrix that makes them out of all W⁻²."""
    where, sources, values, at = [], [], [], 0
    for block in blocks:
        for i, left in enumerate(block):
            for j, right in enumerate(block[i:], i):
                rows, p, q, products = _row_products(left, right)
                for first, second in ((p, q),) if i == j else ((p, q), (q, p)):
                    lower = first >= second
                    where.append((first.astype(np.int64) * n + second)[lower])
                    sources.append(at + rows[lower])
                    values.append(products[lower])
                at += left.shape[0]
    keys, target = np.unique(np.concatenate(where), return_inverse=True)
    entries = np.concatenate(values), (target, np.concatenate(sources))
    rows, columns = np.divmod(keys, n)
    width = int((rows - columns).max())
    return width, rows * (width + 1) + columns - rows + width, csr_array(entries, shape=(len(keys), at))


def _row_products(left: csr_array, right: csr_array) -> tuple[Any, Any, Any, Floats]:
    """All products of an entry of ``left`` and one of ``right`` in the same row: row, the two columns, product."""
    rows = np.repeat(np.arange(left.shape[0]), np.diff(left.indptr))
    lengths = np.diff(right.indptr)[rows]
    one = np.repeat(np.arange(left.nnz), lengths)
    other = np.arange(len(one)) - np.repeat(np.cumsum(lengths) - lengths - right.indptr[rows], lengths)
    return rows[one], left.indices[one], right.indices[other], left.data[one] * right.data[other]


class Strip:
    """Some columns side by side: r and z, their direction, and their systems.

    Parameters
    ----------
    forms
        What all columns of the program have in common.
    cost
        The costs of these columns.
    r, z
        Where they begin: entries, and duals of all cones.
    """

    def __init__(self, forms: Forms, cost: Floats, r: Floats, z: Parts) -> None:
        self.forms, self.cost, self.r, self.z = forms, cost, r, z
        self.s = forms.of(r)
        self.dr = np.zeros_like(r)
        self.systems = Bands(len(r), forms.width, r.shape[1])
        self.scalings: list[Scaling] = []
        self.weights: Parts = []
        self.v: Parts = []
        self.d: Parts = []
        self.t: Parts = []
        self.goal: Parts = []
        self.kept = self.dr, self.d, self.t, self.goal
        self.tried, self.tried_z = (r, self.s), z

    @property
    def value(self) -> float:
        """Σ C∘R."""
        return float((self.cost * self.r).sum())

    def reduced(self) -> Floats:
        """C − Gᵀz without the duals of the entries."""
        return self.cost - self.forms.pulled([np.zeros_like(self.z[0]), *self.z[1:]])

    def factor(self, column_weights: Floats, scratch: Floats, link: Floats) -> None:
        """Scale the cones, factor the systems, and add the upper triangles of their inverses to ``link``."""
        self.weights = [weight * column_weights for weight in self.forms.weights]
        self.scalings = [scaling(s, z) for s, z in zip(self.s, self.z, strict=True)]
        self.v = [each.times(z) for each, z in zip(self.scalings, self.z, strict=True)]
        self.systems.factor(self.forms.places, self.forms.systems(self.scalings), scratch, link)

    def begin(self) -> None:
        """No direction yet, and targets of zero."""
        self.dr = np.zeros_like(self.r)
        self.d = self.t = self.goal = [np.zeros_like(v) for v in self.v]

    def _set_targets(self, targets: Parts) -> None:
        self.t, self.goal = targets, [quotient(v, t) for v, t in zip(self.v, targets, strict=True)]

    def _next(self) -> Parts:
        """W (z + dz), for the present direction and targets."""
        return [goal - d for goal, d in zip(self.goal, self.d, strict=True)]

    def correct(self, price: Floats) -> Floats:
        """Change dr by H⁻¹ of what is left of Gᵀ(z + dz) + price − C; the sum of the new dr over columns."""
        after = self.forms.pulled([each.divided(e) for each, e in zip(self.scalings, self._next(), strict=True)])
        self.dr = self.dr + self.systems.solve(after + price[:, None] - self.cost)
        return np.asarray(self.dr.sum(axis=1))

    def extend(self, price: Floats) -> Floats:
        """Change dr by H⁻¹ of a change of prices; the sum of that over columns."""
        change = self.systems.solve(price[:, None])
        self.dr += change
        return np.asarray(change.sum(axis=1))

    def measure(self) -> bool:
        """See the direction through the scalings; whether it is finite."""
        self.d = [each.divided(ds) for each, ds in zip(self.scalings, self.forms.of(self.dr), strict=True)]
        return bool(np.isfinite(self.dr).all())

    def predicted(self) -> Floats:
        """The largest 1/α of slacks and duals, and the sums of ⟨v, v⟩, ⟨d, v⟩ and ⟨d, d + v⟩, for a predictor."""
        rows = []
        for v, d in zip(self.v, self.d, strict=True):
            total = d + v
            sums = (inner(v, v).sum(), inner(d, v).sum(), inner(d, total).sum())
            rows.append((reach(v, d).max(initial=0.0), reach(v, -total).max(initial=0.0), *sums))
        table = np.array(rows)
        return np.concatenate([table[:, :2].max(axis=0), table[:, 2:].sum(axis=0)])

    def aim(self, target: float, least: float, most: float) -> None:
        """Targets for the products: ``target`` less the second-order term of the predictor within bounds."""
        targets = []
        for v, d, weight in zip(self.v, self.d, self.weights, strict=True):
            t = clipped(product(d, d + v), weight * least, weight * most)
            t[0] += weight * target
            targets.append(t)
        self._set_targets(targets)

    def reach(self) -> tuple[float, float]:
        """The largest 1/α of slacks and duals along the present direction."""
        ahead = max(float(reach(v, d).max(initial=0.0)) for v, d in zip(self.v, self.d, strict=True))
        beside = max(float(reach(v, e - v).max(initial=0.0)) for v, e in zip(self.v, self._next(), strict=True))
        return ahead, beside

    def move_targets(self, primal: float, dual: float, least: float, most: float) -> None:
        """Move targets so that products at longer steps come back between least·w and most·w (Gondzio 1996)."""
        self.kept, moved = (self.dr, self.d, self.t, self.goal), []
        for v, d, e, t, weight in zip(self.v, self.d, self._next(), self.t, self.weights, strict=True):
            high = weight * most
            products = product(v + primal * d, v + dual * (e - v))
            moved.append(t + clipped(clipped(products, weight * least, high) - products, -high, np.inf * high))
        self._set_targets(moved)

    def restore(self) -> None:
        """Take direction and targets from before they were moved."""
        self.dr, self.d, self.t, self.goal = self.kept

    def try_primal(self, length: float) -> bool:
        """Whether r is strictly inside after a step, in spite of rounding."""
        r = self.r + length * self.dr
        self.tried = r, self.forms.of(r)
        return _are_inside(self.tried[1])

    def take_primal(self) -> None:
        """Go where :meth:`try_primal` was."""
        self.r, self.s = self.tried

    def try_dual(self, length: float) -> bool:
        """Whether z is strictly inside after a step, in spite of rounding."""
        after = zip(self.z, self.scalings, self._next(), strict=True)
        self.tried_z = [(1.0 - length) * z + length * each.divided(e) for z, each, e in after]
        return _are_inside(self.tried_z)

    def take_dual(self) -> None:
        """Go where :meth:`try_dual` was."""
        self.z = self.tried_z


def _are_inside(parts: Parts) -> bool:
    return all(smallest(part).min(initial=np.inf) > 0 for part in parts)
