"""Where solvers are and what they are called, in this tree and in those from before ``lp/cone``.

``compare.py`` runs the same benchmarks against two trees, so what has moved is looked for at both places.
"""

from __future__ import annotations

from sfumato.design.solvers import SOLVERS
from sfumato.lp.first_order import solve_first_order

try:
    from sfumato.lp.cone.arrays import solve_batched
    from sfumato.lp.cone.lanes import solve_columns
    from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, column_bound
except ModuleNotFoundError:
    from sfumato.lp.batched import solve_batched
    from sfumato.lp.column_program import ColumnProgram, ColumnProgress, column_bound
    from sfumato.lp.columns import solve_columns

__all__ = ["ColumnProgram", "ColumnProgress", "column_bound", "solve_batched", "solve_columns", "solve_first_order",
           "solver_name"]  # fmt: skip

FORMER = {
    "interior": "blocks",
    "interior-gpu": "batched",
    "interior-near": "peaks",
    "column-generation": "columns",
}


def solver_name(name: str) -> str:
    """What a solver is called in the tree that is measured."""
    return FORMER[name] if name in FORMER and name not in SOLVERS else name
