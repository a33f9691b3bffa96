"""The first-order method of :mod:`sfumato.lp`, on the CPU or on a GPU.

Slower than the interior-point method wherever that one has the memory for its factors and many digits are wanted. This
one only needs room for the matrix and its multipliers, and does nothing but stream past them: it is the way to ten
thousand secrets.
"""

from __future__ import annotations

from collections.abc import Callable

from sfumato.design.answer import Answer
from sfumato.design.problem import Problem
from sfumato.design.solvers.reduced import check_begun, reduced_program, shown_thinned, whole_answer, worth_keeping
from sfumato.design.symmetry import symmetry
from sfumato.lp.first_order import solve_first_order
from sfumato.watch import Watch, watch_of

__all__ = ["solve_by_first_order"]

_MOST_ROWS = 4_000  # secrets: finding symmetries compares tables of all pairs, which takes longer than they save


def solve_by_first_order(
    problem: Problem,
    tolerance: float,
    progress: Callable[..., object] | None = None,
    time_limit: float | Watch | None = None,
    *,
    device: str = "auto",
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
    >>> from sfumato.channels import Prior
    >>> from sfumato.design.problem import problem
    >>> from sfumato.losses import absolute
    >>> from sfumato.privacy import PrivacyType
    >>> from sfumato.spaces import line
    >>> asked = problem(Prior.uniform(line(3)), absolute(line(3)), PrivacyType(line(3), alpha="1/2"))
    >>> found = solve_by_first_order(asked, 1e-4, device="cpu")
    >>> round(float((asked.float_cost * found.matrix).sum()), 3), found.finished
    (0.556, True)
    """
    watch = watch_of(time_limit)
    group = symmetry(problem, watch) if problem.shape[0] <= _MOST_ROWS else None
    program = reduced_program(problem, group)
    shown = shown_thinned(progress, tolerance)
    found = solve_first_order(program, tolerance=tolerance, time_limit=watch, progress=shown, device=device)
    check_begun(found)
    return whole_answer(problem, group, found, worth_keeping(program, found, tolerance), "first order")
