"""The first kernel of Triton, for small corners of inverse roots, and whether Triton is there at all.

What array operations need of Triton stands here, below them; passes over tables of pairs, which are a layout of their
own, are in :mod:`sfumato.lp.cone.arrays_triton`. Where Triton is missing, both can be imported but not used.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any

triton: Any = import_module("triton") if find_spec("triton") else None
tl: Any = import_module("triton.language") if triton else None

_CORNER = 32  # The tile of one corner has so many rows.


def available() -> bool:
    """Whether Triton is installed."""
    return triton is not None


def jit(function: Any) -> Any:
    """A kernel of Triton, or the function as it is where Triton is missing."""
    return triton.jit(function) if triton else function


@jit
def _corner_kernel(w, row_step, matrix_step, excess, least, result, size, SIZE: tl.constexpr):  # type: ignore[no-untyped-def]  # noqa: N803
    """V with V Vᵀ = H⁻¹ for a matrix of at most SIZE rows, given −H off the diagonal and its row sums."""
    c = tl.program_id(0).to(tl.int64)
    i = tl.arange(0, SIZE)
    inside = i < size
    both = inside[:, None] & inside[None, :]
    table = tl.load(w + c * matrix_step + i[:, None] * row_step + i[None, :], mask=both, other=0.0)
    sums = tl.load(excess + c * size + i, mask=inside, other=1.0)
    floor = tl.load(least + c * size + i, mask=inside, other=1.0)
    inverse = tl.where(i[:, None] == i[None, :], 1.0, 0.0).to(tl.float64)
    for j in range(size):
        here = (i == j)[None, :]
        column = tl.sum(tl.where(here, table, 0.0), axis=1)
        column = tl.where(i > j, column, 0.0)
        mine = tl.sum(tl.where(i == j, sums, 0.0), axis=0)
        pivot = tl.maximum(mine + tl.sum(column, axis=0), tl.sum(tl.where(i == j, floor, 0.0), axis=0))
        scale = 1.0 / tl.sqrt(pivot)
        column = column * scale
        sums = sums + column * (mine * scale)
        table = table + column[:, None] * column[None, :]
        solved = tl.sum(tl.where(here, inverse, 0.0), axis=1) * scale
        inverse = tl.where(here, solved[:, None], inverse + solved[:, None] * column[None, :])
    tl.store(result + c * size * size + i[:, None] * size + i[None, :], inverse, mask=both)


def corner(arrays: Any, w: Any, excess: Any, least: Any) -> Any:
    """V of small matrices, one program each."""
    count, size = excess.shape
    result = arrays.empty(count, size, size)
    _corner_kernel[(count,)](
        w, w.stride(1), w.stride(0), excess.contiguous(), least.contiguous(), result, size, SIZE=_CORNER, num_warps=1
    )
    return result
