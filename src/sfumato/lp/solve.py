"""One entry to both backends."""

from __future__ import annotations

from sfumato.lp.exact import solve_rationals
from sfumato.lp.highs import solve_floats
from sfumato.lp.program import LinearProgram, Solution
from sfumato.watch import Watch


def solve(program: LinearProgram, *, exact: bool | None = None, watch: Watch | None = None) -> Solution:
    """Solve a linear program; exactly when its numbers are rational, unless told otherwise.

    Examples
    --------
    >>> import numpy as np
    >>> from fractions import Fraction
    >>> program = LinearProgram.dense(
    ...     cost=np.array([1, 1]), matrix=np.array([[1, 2], [3, 1]]), senses=">>", rhs=np.array([1, 1])
    ... )
    >>> solution = solve(program)
    >>> solution.value, solution.primal.tolist()
    (Fraction(3, 5), [Fraction(1, 5), Fraction(2, 5)])
    """
    if program.exact if exact is None else exact:
        return solve_rationals(program, watch)
    return solve_floats(program, watch)
