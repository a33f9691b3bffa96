"""HOW we solve: one linear program value, a float backend and an exact one, and columns in one cone that sum to one.

This room knows nothing of privacy. A program is a value; :func:`solve` returns the
primal point, the row multipliers, or the Farkas ray that proves there is no point.
"""

from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.program import ColumnProgram, ColumnProgress, ColumnSolution, Ending, Limit, column_bound
from sfumato.lp.program import LinearProgram, Solution, Status, check_optimality
from sfumato.lp.solve import solve

__all__ = [
    "ColumnProgram",
    "ColumnProgress",
    "ColumnSolution",
    "Ending",
    "Limit",
    "LinearProgram",
    "Solution",
    "Status",
    "check_optimality",
    "column_bound",
    "solve",
    "solve_columns",
]
