"""The iterate of :mod:`sfumato.lp.cone.general` over arrays on any device: wide strips, one after the other.

All passes over cones are those of :mod:`sfumato.lp.cone.strips`; the systems of a strip are factored together, block by
block (:mod:`sfumato.lp.cone.arrays_tridiagonal`), and the prices of the sums have one dense factor on the device.
"""

from __future__ import annotations

from typing import Any

from sfumato.lp.cone.arrays_backend import Arrays
from sfumato.lp.cone.arrays_tridiagonal import Tridiagonal, block_rows
from sfumato.lp.cone.blocks import BlockProgram
from sfumato.lp.cone.general_iterate import BlockIterate
from sfumato.lp.cone.strips import Systems
from sfumato.memory import check_memory
from sfumato.numbers import Floats
from sfumato.watch import Watch

# So many arrays over all forms and columns are kept, and so many more of one strip are there for a while.
_KEPT, _PASSING = 18, 12
# A strip is this part of what one temporary array may have: a pass has several.
_STRIP = 4
_SMALLER = ("fewer columns", "a coarser lattice")


class ArraysBlockIterate(BlockIterate):
    """The iterate of one run on the device of ``arrays``."""

    arrays: Arrays

    def __init__(self, program: BlockProgram, watch: Watch, arrays: Arrays) -> None:
        super().__init__(program, watch, arrays)
        self.sums = arrays.given(self.program.sums.toarray())

    def _prepare(self) -> None:
        (n, m), forms = self.program.shape, self.forms
        size = block_rows(n, forms.rows, forms.columns)
        one_array, one_row = 8 * forms.components, 8 * size * (n + size)
        wide = self._wide = max(1, min(m, self.arrays.chunk // _STRIP // max(one_array, one_row)))
        entries = 8 * (len(forms.rows) + sum(d * (d + 1) // 2 * count for d, count in forms.shapes))
        factors = 16 * size * (n + size)
        needed = m * (_KEPT * one_array + factors + 12 * 8 * n) + 5 * 8 * n * n
        needed += wide * max(_PASSING * one_array, 2 * factors + entries, 4 * one_row)
        what = f"the block method over arrays for {n} rows, {forms.components} forms and {m} columns"
        check_memory(needed, what, _SMALLER, self.arrays.memory)
        self.scratch = [(None, self.arrays.zeros(n, n))]

    def _width(self) -> int:
        return self._wide

    def _systems(self, columns: int) -> Systems:
        return Tridiagonal(self.arrays, self.program.shape[0], (self.forms.rows, self.forms.columns), columns)

    def _factor_link(self) -> bool:
        xp, upper = self.arrays.module, self.scratch[0][1]
        upper = xp.triu(upper)
        link = self.sums @ (upper + xp.triu(upper, 1).mT) @ self.sums.mT
        diagonal = xp.diagonal(link)
        if not bool((xp.isfinite(diagonal) & (diagonal > 0)).all()):
            return False
        self.link = self.arrays.scaled_root(link)
        return self.link[0] is not None

    def _link_solution(self, lack: Floats) -> Floats:
        root, scale = self.link
        more: Any = scale * self.arrays.solve(root, scale * self.arrays.given(lack))
        return self.arrays.numpy(more)
