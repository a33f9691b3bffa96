"""Columns under blocks of linear rows and second-order cones: the program, as a value, and what any duals prove of it.

n rows, m columns: minimise Σ_xy C_xy R_xy over R ≥ 0, every column of which satisfies the same list of blocks. A block
is a tuple of sparse matrices (T, U₁, …, U_k) of one shape and asks, for each of their rows i and each column r of R,
that (T r)_i ≥ ‖((U₁ r)_i, …, (U_k r)_i)‖; a single matrix is a list of linear rows (T r)_i ≥ 0. Columns are linked by
sums alone, Σ_y A r_y = b.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse

from sfumato.errors import InvalidInput, expect, keyword, shown
from sfumato.lp.cone.program import SMALLEST_SCALE, ColumnProgram, Ending, checked_cost
from sfumato.lp.cone.second_order import smallest
from sfumato.numbers import Floats, Integers, array, floats

Block = tuple[csr_array, ...]


@dataclass(frozen=True, eq=False)
class BlockProgram:
    """Minimise Σ C∘R over R ≥ 0 whose columns satisfy all blocks, with Σ_y A r_y = b.

    Parameters
    ----------
    cost
        C, one row a secret, one column an output; floats.
    blocks
        Tuples (T, U₁, …, U_k) of matrices, sparse or dense, with as many columns as C has rows:
        T r ≥ ‖(U₁ r, …, U_k r)‖, row by row. A tuple of one matrix is a list of linear rows.
    sums
        A, non-negative with exactly one positive entry in each column, so that every row of R counts in one sum. By
        default each row of R is a sum of its own.
    totals
        b > 0, one number for each row of A; by default 1.
    inside
        A column strictly inside all blocks; by default the constant one. Or one for each column, as many as C has.
    offsets
        What is added to the forms of a block, T r + g₀ ≥ ‖U₁ r + g₁, …‖, for each column its own: an array of shape
        (1 + k, rows of the matrices, columns of R) for each block, or none.

    Examples
    --------
    Two secrets, each at most three times as likely as the other, first as linear rows, then as |r₀ − r₁| ≤ (r₀ + r₁)/2:

    >>> rows = BlockProgram([[0, 1], [1, 0]], [([[3, -1], [-1, 3]],)])
    >>> cones = BlockProgram([[0, 1], [1, 0]], [([[0.5, 0.5]], [[1, -1]])])
    >>> rows.shape, [len(block) for block in cones.blocks]
    ((2, 2), [2])
    """

    cost: Floats
    blocks: tuple[Block, ...]
    sums: csr_array = None  # type: ignore[assignment]  # these defaults depend on the number of rows
    totals: Floats = None  # type: ignore[assignment]
    inside: Floats = None  # type: ignore[assignment]
    offsets: tuple[Floats, ...] = ()

    def __post_init__(self) -> None:
        cost = checked_cost(self.cost)
        given: Any = self.blocks
        if not isinstance(given, (tuple, list)):
            raise InvalidInput(f"blocks are a list of tuples of matrices, found {shown(given)}")
        blocks = tuple(_block(block, k, len(cost)) for k, block in enumerate(given))
        sums = _sums(self.sums, len(cost))
        totals = np.ones(sums.shape[0]) if self.totals is None else floats(array(self.totals, "the totals", 1))
        if len(totals) != sums.shape[0] or not (np.isfinite(totals) & (totals > 0)).all():
            raise InvalidInput(f"{sums.shape[0]} sums need as many totals, finite and positive, found {shown(totals)}")
        inside = np.ones(len(cost)) if self.inside is None else np.asarray(self.inside)
        inside = floats(array(inside, "the column inside", max(1, inside.ndim)))
        offsets = _offsets(self.offsets, blocks, cost.shape[1])
        _check_inside(inside, blocks, offsets, cost.shape)
        checked = {
            "cost": cost, "blocks": blocks, "sums": sums, "totals": totals, "inside": inside, "offsets": offsets,
        }  # fmt: skip
        for name, value in checked.items():
            if isinstance(value, np.ndarray):
                value.flags.writeable = False
            object.__setattr__(self, name, value)

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of columns."""
        return self.cost.shape[0], self.cost.shape[1]

    @property
    def smallest_value(self) -> float:
        """A millionth of the costs: relative gaps are not measured against values smaller than that."""
        return SMALLEST_SCALE * float(self.totals @ -self.least(-np.abs(self.cost))) or 1.0

    def restricted(self, chosen: NDArray[Any]) -> BlockProgram:
        """The program of some of the columns."""
        inside = self.inside if self.inside.ndim == 1 else self.inside[:, chosen]
        offsets = tuple(part[:, :, chosen] for part in self.offsets)
        return replace(self, cost=self.cost[:, chosen], inside=inside, offsets=offsets)

    def least(self, table: Floats) -> Floats:
        """For each sum the largest price p with Aᵀp ≤ table in its rows, whatever the column."""
        by_entry = self.sums.tocoo()
        prices = np.full(self.sums.shape[0], np.inf)
        np.minimum.at(prices, by_entry.row, table.min(axis=1)[by_entry.col] / by_entry.data)
        return prices


def _matrix(given: Any, what: str, n: int) -> csr_array:
    is_sparse = issparse(given)
    matrix = csr_array(given if is_sparse else floats(array(given, what, 2))).astype(np.float64)
    matrix.sum_duplicates()
    matrix.eliminate_zeros()
    if matrix.ndim != 2 or matrix.shape[1] != n:
        raise InvalidInput(f"{what} has {matrix.shape[-1]} columns, but columns of the program have {n} entries")
    if not np.isfinite(matrix.data).all():
        raise InvalidInput(f"{what} has an entry that is not finite")
    return matrix


def _block(given: Any, k: int, n: int) -> Block:
    if not isinstance(given, (tuple, list)) or not given:
        raise InvalidInput(f"block {k} is a tuple of matrices (T, U₁, …), found {shown(given)}")
    block = tuple(_matrix(matrix, f"matrix {i} of block {k}", n) for i, matrix in enumerate(given))
    if len({matrix.shape for matrix in block}) > 1:
        raise InvalidInput(f"the matrices of block {k} have different numbers of rows")
    return block


def _sums(given: Any, n: int) -> csr_array:
    if given is None:
        return csr_array((np.ones(n), np.arange(n), np.arange(n + 1)), shape=(n, n))
    sums = _matrix(given, "the matrix of sums", n)
    if (sums.data < 0).any() or not np.array_equal(np.sort(sums.indices), np.arange(n)):
        raise InvalidInput("the matrix of sums needs exactly one entry in each column, and that one positive")
    return sums


def _offsets(given: Any, blocks: tuple[Block, ...], m: int) -> tuple[Floats, ...]:
    offsets = tuple(floats(array(part, "the offsets", 3)) for part in given)
    shapes = [(len(block), block[0].shape[0], m) for block in blocks]
    if offsets and [part.shape for part in offsets] != shapes:
        raise InvalidInput(f"offsets have the shapes {shapes}, found {[part.shape for part in offsets]}")
    return offsets


def _check_inside(inside: Floats, blocks: tuple[Block, ...], offsets: tuple[Floats, ...], shape: Any) -> None:
    n = shape[0]
    if inside.shape not in ((n,), shape) or not (np.isfinite(inside) & (inside > 0)).all():
        raise InvalidInput(f"the column inside has {n} entries, finite and positive, found {shown(inside)}")
    if offsets and inside.shape != shape:
        raise InvalidInput("columns that have offsets each need one to start with")
    for k, block in enumerate(blocks):
        forms = np.stack([matrix @ inside for matrix in block])
        slack = smallest(forms + offsets[k] if offsets else forms)
        slack = slack.min(axis=1) if slack.ndim > 1 else slack
        if not (slack > 0).all():
            i = int(np.argmin(slack))
            raise InvalidInput(
                f"the column to start with has slack {slack[i]:.3g} in row {i} of block {k}: give one "
                f"that is strictly inside all blocks, {keyword('inside')}"
            )


@dataclass(frozen=True, eq=False)
class BlockSolution:
    """What :func:`~sfumato.lp.cone.general.solve_blocks` found.

    Parameters
    ----------
    columns
        The columns of the program that are left: all, unless those that vanish were left out.
    matrix
        R in these columns, strictly inside the blocks; sums hold up to rounding.
    duals
        For each block an array of shape (1 + k, rows of its matrices, columns of R), inside its cones: what
        :func:`blocks_bound` takes.
    value, bound
        Σ C∘R and the lower bound that the duals give, in floats: one for programs of these columns.
    gap
        (value − bound) / |value|, or relative to a millionth of the costs if the value is smaller.
    iterations, seconds, ended
        How long it took and why it stopped.
    """

    columns: Integers
    matrix: Floats
    duals: tuple[Floats, ...]
    value: float
    bound: float
    gap: float
    iterations: int
    seconds: float
    ended: Ending


def blocks_bound(program: BlockProgram, duals: Sequence[Any]) -> float:
    """The lower bound Σ_c b_c min_{x in c, y} (C − Σ Gᵀz)_xy / A_cx that any duals z in the cones give, in floats.

    G stacks the matrices of a block. The cones are their own duals, so that z·G r ≥ 0 and Σ C∘R ≥ Σ (C − Gᵀz)∘R; and
    with prices p for which Aᵀp ≤ C − Gᵀz this is at least Σ_y p·A r_y = p·b. With offsets it is z·(G r + g) ≥ 0,
    so that Σ z·g is taken off.

    Examples
    --------
    >>> program = BlockProgram([[0, 1], [1, 0]], [([[0.5, 0.5]], [[1, -1]])])
    >>> blocks_bound(program, [np.zeros((2, 1, 2))])
    0.0
    >>> blocks_bound(program, [[[[0.5, 0.5]], [[-0.5, 0.5]]]])
    0.5
    """
    program = expect(program, BlockProgram, "a program of blocks", "BlockProgram(cost, blocks)")
    if len(duals) != len(program.blocks):
        raise InvalidInput(f"{len(program.blocks)} blocks need as many arrays of duals, found {len(duals)}")
    reduced, spent = program.cost.copy(), 0.0
    for k, (block, given) in enumerate(zip(program.blocks, duals, strict=True)):
        z = floats(array(given, f"the duals of block {k}", 3))
        shape = len(block), block[0].shape[0], program.shape[1]
        if z.shape != shape:
            raise InvalidInput(f"the duals of block {k} have shape {z.shape}, not {shape}")
        if z.size and not smallest(z).min() >= 0:
            raise InvalidInput(f"the duals of block {k} leave their cones by {-smallest(z).min():.3g}")
        for matrix, part in zip(block, z, strict=True):
            reduced -= matrix.T @ part
        spent += float((program.offsets[k] * z).sum()) if program.offsets else 0.0
    return float(program.totals @ program.least(reduced)) - spent


def of_columns(program: ColumnProgram) -> BlockProgram:
    """The same program with its pairs as linear rows R_zy − e^{−l} R_xy ≥ 0, and with its classes as sums.

    Examples
    --------
    >>> of_columns(ColumnProgram([[0, 1], [1, 0]], [0, 1], [1, 0], np.log([2.0, 2.0]))).blocks[0][0].toarray().tolist()
    [[-0.5, 1.0], [1.0, -0.5]]
    """
    if program.limits:
        raise InvalidInput("a program of blocks has no limits on weighted sums")
    n, pairs = program.shape[0], np.arange(len(program.first))
    entries = np.concatenate([-np.exp(-program.logs), np.ones(len(pairs))])
    where = np.tile(pairs, 2), np.concatenate([program.first, program.second])
    rows = csr_array((entries, where), shape=(len(pairs), n))
    sums = csr_array((np.ones(n), (program.row_classes, np.arange(n))), shape=(len(program.sizes), n))
    return BlockProgram(program.cost, ((rows,),) if len(pairs) else (), sums, program.sizes.astype(np.float64))
