"""Where the solvers of column programs are, in this tree and in those from before ``lp/cone``.

``compare.py`` runs the same benchmarks against two trees, so what has moved is looked for at both places.
"""

from __future__ import annotations

from sfumato.lp.first_order import solve_first_order

try:
    from sfumato.lp.cone.arrays import solve_batched
    from sfumato.lp.cone.lanes import solve_columns
    from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, column_bound
except ModuleNotFoundError:
    from sfumato.lp.batched import solve_batched
    from sfumato.lp.column_program import ColumnProgram, ColumnProgress, column_bound
    from sfumato.lp.columns import solve_columns

__all__ = ["ColumnProgram", "ColumnProgress", "column_bound", "solve_batched", "solve_columns", "solve_first_order"]
