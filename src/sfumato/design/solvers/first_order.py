"""The first-order method of :mod:`sfumato.lp`, on the CPU or on a GPU.

Slower than the interior-point method wherever that one has the memory for its factors and many digits are wanted. This
one only needs room for the matrix and its multipliers, and does nothing but stream past them: it is the way to ten
thousand secrets.
"""

from __future__ import annotations

from functools import partial

from sfumato.design.answer import Answer, Progress, TimeLimit
from sfumato.design.problem import Problem
from sfumato.design.solvers.reduced import solve_reduced
from sfumato.lp.first_order import solve_first_order

# For more secrets symmetries are not looked for: that compares tables of all pairs, which takes longer than they save.
_SYMMETRY_SECRETS = 4_000


def solve_by_first_order(
    problem: Problem, tolerance: float, progress: Progress = None, time_limit: TimeLimit = None, *, device: str = "auto"
) -> Answer:
    """Near-optimal to a relative gap, in memory of the order of the matrix; symmetries make it smaller.

    Parameters
    ----------
    device
        ``"cpu"``, ``"cuda"``, or ``"auto"``: a GPU if there is one.

    Raises
    ------
    MissingExtra
        If torch is not installed.

    Examples
    --------
    >>> import sfumato as sf
    >>> from sfumato.design.problem import problem
    >>> line = sf.line(3)
    >>> three = problem(sf.Prior.uniform(line), sf.losses.absolute(line), sf.PrivacyType(line, alpha="1/2"))
    >>> answer = solve_by_first_order(three, 1e-4, device="cpu")
    >>> round(float((three.float_cost * answer.matrix).sum()), 3), answer.finished
    (0.556, True)
    """
    solve = partial(solve_first_order, device=device)
    return solve_reduced(problem, solve, "first order", tolerance, progress, time_limit, _SYMMETRY_SECRETS)
