"""HOW we solve: one linear program value, a float backend and an exact one.

This room knows nothing of privacy. A program is a value; :func:`solve` returns the
primal point, the row multipliers, or the Farkas ray that proves there is no point.
"""

from sfumato.lp.program import LinearProgram, Solution, Status, check_optimality
from sfumato.lp.solve import solve

__all__ = ["LinearProgram", "Solution", "Status", "check_optimality", "solve"]
