"""Every solver as a record, which says what it takes and what it is good at.

Whoever chooses a solver asks the records, and so does whoever has to say that a solver does not take a problem: no
other module needs to know the name of one, but the module that chooses (:mod:`sfumato.design.choice`).

The first-order method of :mod:`sfumato.lp`, on the CPU or on a GPU, is slower than the interior-point method wherever
that one has the memory for its factors and many digits are wanted. It only needs room for the matrix and its
multipliers, and does nothing but stream past them: it is the way to ten thousand secrets.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

from sfumato.arguments import one_of
from sfumato.design.answer import Answer, Progress, TimeLimit
from sfumato.design.merged import EQUAL_ROWS
from sfumato.design.problem import SMALLER, Problem
from sfumato.design.solvers.column_generation import solve_by_column_generation
from sfumato.design.solvers.interior import Trail, solve_by_arrays, solve_by_interior_point
from sfumato.design.solvers.interior_near import solve_near
from sfumato.design.solvers.linear import solve_exactly, solve_with_highs
from sfumato.design.solvers.reduced import solve_reduced
from sfumato.errors import NotSupported, shown
from sfumato.lp.first_order import solve_first_order
from sfumato.memory import refusing
from sfumato.verdict import Verdict, fails, holds

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


@dataclass(frozen=True, eq=False)
class Solver:
    """A way to the optimum, and which problems it is one for. Called with a problem and a tolerance, it solves it.

    Parameters
    ----------
    summary
        What it does, in a line for people.
    solve
        Takes a problem, a relative gap, who is told of progress, and a time limit; with ``starts_warm`` a trail too.
    limits, events
        Whether it understands limits and worst cases, and promises about events, which join columns.
    rational
        Whether it takes problems whose numbers are rational, no others, and leaves no gap at all.
    needs_room
        Whether rows that have to be equal leave it no room: secrets that have such rows are then merged.
    starts_warm
        Whether it can start from what the solution of a similar problem has left.
    refines
        Whether it comes closer when it is asked again with a smaller tolerance.
    keeps_factors
        Whether it holds a matrix for every column, and may be short of memory where others are not.
    compiles
        Whether functions have to be compiled before its first solution on a machine, which takes seconds.
    package
        The optional package without which it does not run, where there is one.
    """

    name: str
    summary: str
    solve: Callable[..., Answer]
    limits: bool = False
    events: bool = False
    rational: bool = False
    needs_room: bool = False
    starts_warm: bool = False
    refines: bool = False
    keeps_factors: bool = False
    compiles: bool = False
    package: str = ""

    @property
    def installed(self) -> bool:
        """Whether what it needs is there."""
        return not self.package or find_spec(self.package) is not None

    def accepts(self, problem: Problem) -> Verdict:
        """Whether it solves problems of this kind; where it does not, the reason is what it cannot do."""
        if problem.events and not self.events:
            return fails("promises about events")
        if problem.limits and not self.limits:
            return fails("limits or worst cases")
        if self.rational and not problem.exact:
            return fails("numbers that are not all rational (exact prior and loss, alpha and whole distances are)")
        return holds(self.summary)

    def __call__(
        self,
        problem: Problem,
        tolerance: float,
        progress: Progress = None,
        time_limit: TimeLimit = None,
        trail: Trail | None = None,
    ) -> Answer:
        """Solve a problem, for merged secrets where rows have to be equal.

        Raises
        ------
        NotSupported
            For a problem that it does not accept; with the names of those that do.
        """
        verdict = self.accepts(problem)
        if not verdict:
            others = [name for name, solver in SOLVERS.items() if solver.accepts(problem)]
            raise NotSupported(f"solver {shown(self.name)} for {verdict.reason}", ["auto", *others])
        step = EQUAL_ROWS(problem) if self.needs_room else None
        if step is not None:
            return step.invert(self(step.part, tolerance, progress, time_limit, trail))
        (n, m), warm = problem.shape, {"trail": trail} if self.starts_warm else {}
        with refusing(f"solver {self.name!r} for {n} secrets and {m} actions", SMALLER):
            return self.solve(problem, tolerance, progress, time_limit, **warm)


_RECORDS = (
    Solver(
        "exact", "the whole program at once, in rationals", solve_exactly, limits=True, events=True, rational=True
    ),
    Solver("highs", "the whole program at once, by HiGHS", solve_with_highs, limits=True, events=True),
    Solver(
        "interior", "an interior-point method over columns, compiled", solve_by_interior_point,
        limits=True, needs_room=True, starts_warm=True, refines=True, keeps_factors=True, compiles=True,
    ),
    Solver(
        "interior-gpu", "an interior-point method over arrays, on a GPU if there is one", solve_by_arrays,
        limits=True, needs_room=True, refines=True, keeps_factors=True,
    ),
    Solver(
        "interior-near", "an interior-point method that looks at the actions near each secret", solve_near,
        needs_room=True, keeps_factors=True, compiles=True,
    ),
    Solver(
        "column-generation", "mixtures of rays, exact where the numbers are", solve_by_column_generation,
        needs_room=True, compiles=True,
    ),
    Solver(
        "first-order", "a first-order method that needs little memory", solve_by_first_order,
        needs_room=True, package="torch",
    ),
)  # fmt: skip

SOLVERS: dict[str, Solver] = {record.name: record for record in _RECORDS}
"""Every solver by name."""


def solver_name(given: str) -> str:
    """The name of a solver, or ``"auto"``.

    Examples
    --------
    >>> solver_name("interior")
    'interior'
    """
    return str(one_of(given, ("auto", *SOLVERS), "solver"))
