"""What :mod:`sfumato.lp.cone.general` does for some columns side by side: scalings, systems, targets.

Entries r ≥ 0, linear rows and second-order cones are treated alike (:mod:`sfumato.lp.cone.second_order`), all cones of
a block and all columns of a strip at once. Seen through its scaling W a cone has one point v = W z = W⁻¹ s; with
d = W⁻¹ ds and targets t for the products, the duals become W⁻¹ (t/v − d), where t/v is the quotient of the algebra. So
v, d and t say everything: steps to the boundary, second-order terms, products at a longer step.

A corrector is taken in the share that gives the longest step, on the primal and on the dual side apart: any share of it
keeps the equations of either side. So there is one d for each side, that of slacks and that of duals.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from scipy.sparse import csr_array, vstack

from sfumato.lp.cone.arrays_backend import Arrays
from sfumato.lp.cone.blocks import Block, BlockProgram
from sfumato.lp.cone.second_order import Scaling
from sfumato.lp.cone.strip_passes import passes_for
from sfumato.numbers import Floats, Integers

Parts = list[Any]
"""One array a block, of shape (components, rows of the block, columns)."""


class Forms:
    """The blocks of a program, entries r ≥ 0 first, as sparse maps of columns; and the shape of their systems.

    ``weights`` has, block by block, how large the product of a cone may be beside others: by the least ``share`` among
    the entries it looks at. The lower triangles of the systems have entries at ``rows`` and ``columns``.
    """

    def __init__(self, program: BlockProgram, share: Floats, arrays: Arrays) -> None:
        n = program.shape[0]
        identity = csr_array((np.ones(n), np.arange(n), np.arange(n + 1)), shape=(n, n))
        blocks: list[Block] = [(identity,), *program.blocks]
        self.arrays, self.shapes = arrays, [(len(block), block[0].shape[0]) for block in blocks]
        self.light = [_lightest(block, share)[:, None] for block in blocks]
        self.weights = [arrays.given(weight) for weight in self.light]
        matrix = csr_array(vstack([matrix for block in blocks for matrix in block], format="csr"))
        self.rows, self.columns, assembly = _assembly(blocks, n)
        self.matrix, self.adjoint = arrays.sparse(matrix), arrays.sparse(csr_array(matrix.T.tocsr()))
        self.assembly = arrays.sparse(assembly)

    @property
    def components(self) -> int:
        """How many forms there are, those of the entries included."""
        return sum(d * count for d, count in self.shapes)

    def of(self, columns: Any) -> Parts:
        """G r for the columns r."""
        stacked, parts, low = self.matrix @ columns, [], 0
        for d, count in self.shapes:
            parts.append(stacked[low : low + d * count].reshape(d, count, -1))
            low += d * count
        return parts

    def pulled(self, parts: Parts) -> Any:
        """Gᵀz."""
        return self.adjoint @ self.arrays.module.concatenate([part.reshape(-1, part.shape[-1]) for part in parts])

    def systems(self, squares: list[Any]) -> Any:
        """The entries of the lower triangle of H = Gᵀ W⁻² G, for each column, from those of W⁻²."""
        return self.assembly @ self.arrays.module.concatenate(squares)


def _lightest(block: Block, share: Floats) -> Floats:
    """The least share among the entries that a row of a block looks at."""
    weights = np.ones(block[0].shape[0])
    for matrix in block:
        rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
        np.minimum.at(weights, rows, share[matrix.indices])
    return weights


def _assembly(blocks: list[Block], n: int) -> tuple[Integers, Integers, csr_array]:
    """Where the lower triangle of H has entries, rows and columns, and the matrix that makes them out of all W⁻²."""
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
    return rows, columns, csr_array(entries, shape=(len(keys), at))


def _row_products(left: csr_array, right: csr_array) -> tuple[Any, Any, Any, Floats]:
    """All products of an entry of ``left`` and one of ``right`` in the same row: row, the two columns, product."""
    rows = np.repeat(np.arange(left.shape[0]), np.diff(left.indptr))
    lengths = np.diff(right.indptr)[rows]
    one = np.repeat(np.arange(left.nnz), lengths)
    other = np.arange(len(one)) - np.repeat(np.cumsum(lengths) - lengths - right.indptr[rows], lengths)
    return rows[one], left.indices[one], right.indices[other], left.data[one] * right.data[other]


class Systems(Protocol):
    """The systems of some columns: how they are stored and factored."""

    def factor(self, entries: Any, scratch: Any, link: Any) -> None:
        """Factor them, from the entries of their lower triangles; add upper triangles of their inverses to ``link``."""

    def solve(self, right: Any) -> Any:
        """H⁻¹ q for each column q."""


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
    systems
        Where their systems are kept.
    offsets
        What is added to the forms of all blocks but the entries; nothing where there is none.
    """

    def __init__(
        self, forms: Forms, cost: Any, r: Any, z: Parts, systems: Systems, offsets: Parts | None = None
    ) -> None:
        self.forms, self.cost, self.r, self.z, self.systems = forms, cost, r, z, systems
        self.offsets = offsets or []
        self.s = self._slacks(r)
        self.passes = [passes_for(part) for part in self.s]
        self.dr = self.ahead_r = r * 0.0
        self.scalings: list[Scaling] = []
        self.weights: Parts = []
        self.v: Parts = []
        self.d: Parts = []
        self.ahead: Parts = []
        self.t: Parts = []
        self.goal: Parts = []
        self.old = self.dr, self.d, self.t, self.goal
        self.tried, self.tried_z = (r, self.s), z

    def _slacks(self, r: Any) -> Parts:
        """G r + g."""
        entries, *blocks = self.forms.of(r)
        if self.offsets:
            blocks = [part + offset for part, offset in zip(blocks, self.offsets, strict=True)]
        return [entries, *blocks]

    @property
    def spent(self) -> float:
        """Σ z·g."""
        return float(sum((z * g).sum() for z, g in zip(self.z[1:], self.offsets, strict=False)))

    @property
    def value(self) -> float:
        """Σ C∘R."""
        return float((self.cost * self.r).sum())

    def totals(self) -> Floats:
        """The sum of the columns."""
        return self.forms.arrays.numpy(self.r.sum(1))

    def least_reduced(self) -> Floats:
        """The least entry of C − Gᵀz in each row, without the duals of the entries."""
        reduced = self.cost - self.forms.pulled([self.z[0] * 0.0, *self.z[1:]])
        return self.forms.arrays.numpy(self.forms.arrays.module.amin(reduced, 1))

    def factor(self, mean: float, smallest: float, scratch: Any, link: Any) -> None:
        """Scale the cones, factor the systems, and add the upper triangles of their inverses to ``link``.

        Products in a column count by how much is left of it beside the mean, at least ``smallest``.
        """
        column_weights = (self.r.sum(0) / mean).clip(smallest)
        self.weights = [weight * column_weights for weight in self.forms.weights]
        found = [each.scaled(s, z) for each, s, z in zip(self.passes, self.s, self.z, strict=True)]
        self.scalings, self.v = [seen for seen, _, _ in found], [v for _, v, _ in found]
        self.systems.factor(self.forms.systems([entry for _, _, squares in found for entry in squares]), scratch, link)

    def begin(self) -> None:
        """No direction yet, and targets of zero."""
        self.dr = self.r * 0.0
        self.d = self.t = self.goal = [v * 0.0 for v in self.v]

    def correct(self, price: Floats) -> Floats:
        """Change dr by H⁻¹ of what is left of Gᵀ(z + dz) + price − C; the sum of the new dr over columns."""
        every = zip(self.passes, self.scalings, self.goal, self.d, strict=True)
        after = self.forms.pulled([each.divided(seen, goal, d) for each, seen, goal, d in every])
        arrays = self.forms.arrays
        self.dr = self.dr + self.systems.solve(after + arrays.given(price)[:, None] - self.cost)
        return arrays.numpy(self.dr.sum(1))

    def extend(self, price: Floats) -> Floats:
        """Change dr by H⁻¹ of a change of prices; the sum of that over columns."""
        arrays = self.forms.arrays
        change = self.systems.solve(arrays.given(price)[:, None] + self.r * 0.0)
        self.dr = self.dr + change
        return arrays.numpy(change.sum(1))

    def measure(self) -> bool:
        """See the direction through the scalings; whether it is finite."""
        every = zip(self.passes, self.scalings, self.forms.of(self.dr), strict=True)
        self.d = [each.divided(seen, ds) for each, seen, ds in every]
        return bool(self.forms.arrays.module.isfinite(self.dr).all())

    def predicted(self) -> Floats:
        """The largest 1/α of slacks and duals, and the sums of ⟨v, v⟩, ⟨d, v⟩ and ⟨d, d + v⟩, for a predictor."""
        table = np.array([each.predicted(v, d) for each, v, d in zip(self.passes, self.v, self.d, strict=True)])
        return np.concatenate([table[:, :2].max(axis=0), table[:, 2:].sum(axis=0)])

    def aim(self, target: float, least: float, most: float) -> None:
        """Targets for the products: ``target`` less the second-order term of the predictor within bounds."""
        every = zip(self.passes, self.v, self.d, self.weights, strict=True)
        found = [each.aimed(v, d, weight, target, least, most) for each, v, d, weight in every]
        self.t, self.goal = [t for t, _ in found], [goal for _, goal in found]

    def reach(self) -> Floats:
        """The largest 1/α of slacks and duals along the present direction, which both sides take."""
        self.ahead_r, self.ahead = self.dr, self.d
        self.old = self.dr, self.d, self.t, self.goal
        return np.asarray(self.reaches((0.0,))[0])

    def move_targets(self, primal: float, dual: float, least: float, most: float) -> None:
        """Move targets so that products at longer steps come back between least·w and most·w (Gondzio 1996)."""
        self.old = self.dr, self.d, self.t, self.goal
        every = zip(self.passes, self.v, self.ahead, self.d, self.goal, self.t, self.weights, strict=True)
        found = [each.moved(*given, primal, dual, least, most) for each, *given in every]
        self.t, self.goal = [t for t, _ in found], [goal for _, goal in found]

    def reaches(self, shares: tuple[float, ...]) -> Floats:
        """The largest 1/α of slacks and duals, one row a share of what has changed since targets were moved."""
        _, d, _, goal = self.old
        every = zip(self.passes, self.v, self.ahead, self.d, self.goal, d, goal, strict=True)
        return np.asarray(np.max([each.reaches(*given, shares) for each, *given in every], axis=0))

    def accept(self, ahead: float, beside: float) -> None:
        """Take shares of what has changed since targets were moved: one for slacks, one for duals."""
        dr, d, t, goal = self.old
        if ahead:
            self.ahead_r = self.ahead_r + ahead * (self.dr - dr)
            self.ahead = self._mixed(self.ahead, self.d, d, ahead)
        if beside == 0.0:
            self.dr, self.d, self.t, self.goal = self.old
        elif beside < 1.0:
            self.dr = dr + beside * (self.dr - dr)
            self.d, self.t, self.goal = (
                self._mixed(was, new, was, beside) for was, new in ((d, self.d), (t, self.t), (goal, self.goal))
            )

    def _mixed(self, old: Parts, new: Parts, was: Parts, share: float) -> Parts:
        """old + share · (new − was)."""
        every = zip(self.passes, old, new, was, strict=True)
        return [each.mixed(one, other, less, share) for each, one, other, less in every]

    def try_primal(self, length: float) -> bool:
        """Whether r is strictly inside after a step, in spite of rounding."""
        r = self.r + length * self.ahead_r
        self.tried = r, self._slacks(r)
        return self._are_inside(self.tried[1])

    def take_primal(self) -> None:
        """Go where :meth:`try_primal` was."""
        self.r, self.s = self.tried

    def try_dual(self, length: float) -> bool:
        """Whether z is strictly inside after a step, in spite of rounding."""
        every = zip(self.passes, self.z, self.scalings, self.goal, self.d, strict=True)
        self.tried_z = [each.stepped(z, seen, goal, d, length) for each, z, seen, goal, d in every]
        return self._are_inside(self.tried_z)

    def _are_inside(self, parts: Parts) -> bool:
        return all(each.inside(part) for each, part in zip(self.passes, parts, strict=True))

    def take_dual(self) -> None:
        """Go where :meth:`try_dual` was."""
        self.z = self.tried_z
