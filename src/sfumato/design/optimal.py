"""The best private mechanism for a prior and a loss, with a proof that it is private and nearly the best.

A problem is laid out, a solver chosen and asked, its answer repaired and proved: :mod:`sfumato.design.problem`,
:mod:`sfumato.design.choice`, :mod:`sfumato.design.solvers`, :mod:`sfumato.design.certified`.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from sfumato.arguments import optional_function, positive
from sfumato.channels.prior import Prior
from sfumato.design.answer import Answer, tell_state
from sfumato.design.boxes.choice import design_on_box
from sfumato.design.boxes.optimal import TOLERANCE as BOX_TOLERANCE
from sfumato.design.certified import proved_design
from sfumato.design.choice import choose, quick_try, successor, with_less_memory
from sfumato.design.closed_forms import closed_form
from sfumato.design.few_actions import few_actions
from sfumato.design.objectives import Objective, as_objective
from sfumato.design.problem import SMALLER, Problem, Under, problem
from sfumato.design.result import Design
from sfumato.design.shares.optimal import design_for_shares, warn_of_lost_shares
from sfumato.design.simple import joined, simple_answer
from sfumato.design.solvers import SOLVERS, Solver, Trail, solver_name
from sfumato.design.ties import tie_broken
from sfumato.design.time_budget import affords_proof, check_provable, kept_for_proof, provable_outputs
from sfumato.errors import Infeasible, InvalidInput, NotConverged, NotSupported, SolverError, TooLarge
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.losses.loss import Loss, as_loss
from sfumato.lp.cone.program import ColumnProgress
from sfumato.memory import refusing
from sfumato.numbers import is_exact
from sfumato.privacy.type import PrivacyType
from sfumato.watch import TimeIsUp, Watch, announcing, watch_of

COMPILING = "compiling, the first time only"
PROVING = "repairing and proving"
"""Stages that progress tells of."""

TOLERANCE = 1e-4
"""The gap that is aimed at on a list of secrets where nobody asks for another."""
# Of the tolerance so much is for the solver, twice that for leaving out multipliers, the rest for rounding.
_SOLVER_SHARE = 0.3
# So often a solver is asked, each time for so many times less, where repair eats the gap up.
_ROUNDS, _TIGHTER = 3, 20
_WIDE = 1e-3  # From this tolerance on, what needs no solver may lose less than what a solver is content with.
_WIDER = 0.1  # From this one on the same holds of noise that is the same everywhere, which takes seconds.
_FEW_ENTRIES = 10**6  # For so many a closed form is looked for even when the time is up: it takes less than a second.


def design(
    prior: Prior | None,
    loss: Loss | CoordinateLoss | None,
    privacy: PrivacyType | None,
    *,
    outputs: Iterable[Any] | None = None,
    objective: Objective | str = "expected",
    under: Under = (),
    tolerance: float | None = None,
    time_limit: float | Watch | None = None,
    solver: str = "auto",
    progress: Callable[[Any], object] | None = None,
) -> Design:
    """The best mechanism of a privacy type.

    Minimise Σ_xy π_x M(x)(y) ℓ(y, x), or another objective, over all M with M(x)(y) ≤ e^{εd(x, x′)} M(x′)(y): outputs
    are actions, which loses nothing, because a remap is post-processing.

    Parameters
    ----------
    prior
        May be None where the objective does not look at it.
    loss
        None where the objective is about shares.
    privacy
        May be None where ``under`` says what is promised. A promise about all points of a box
        (:func:`sfumato.spaces.box.box`) has a mechanism for coordinates (``docs/theory/coordinates.md``), and a bound
        for all mechanisms on the box, with whatever outputs.
    outputs
        Some of the actions of the loss; all of them by default. On a box: points; by default as many as make little
        difference, moved to where each loses least.
    objective
        ``"expected"``, ``"worst secret"``, ``"shares"``, or a value of :mod:`sfumato.design.objectives`: with limits,
        for several priors, with a rule for ties, for shares of a population.
    under
        Promises about events beside, or instead of, the bounds on ratios: a predicate of :mod:`sfumato.predicates`
        that is made of lines, such as (ε, δ)-privacy, for all pairs of secrets; a tuple of a predicate and its
        neighbours, as in :func:`sfumato.satisfies`; or several of these.
    tolerance
        The relative gap between loss and bound to be reached: 1e-4 by default, 3 % on a box. Exact problems of small
        size get 0.
    time_limit
        Seconds that the call may take, as closely as can be foreseen: then the best mechanism so far has been repaired
        and proved, or one that needs no solver. Compiling, once on a machine, is not counted. Ctrl-C ends it too.
    solver
        ``"auto"``, or one of :data:`sfumato.design.solvers.SOLVERS`: ``"exact"``, ``"highs"``, ``"interior"``,
        ``"interior-gpu"``, ``"interior-near"``, ``"column-generation"``, ``"first-order"``.
    progress
        Called with the state of the solver after each iteration: the best value and bound so far, which is the least
        that is returned; and with a ``stage`` in words when something else begins that may take long.

    Examples
    --------
    >>> from sfumato.losses import absolute
    >>> from sfumato.spaces import line
    >>> space = line(3)
    >>> best = design(Prior.uniform(space), absolute(space), PrivacyType(space, alpha="1/2"))
    >>> best.loss, best.gap
    (Fraction(5, 9), 0.0)
    >>> design(None, absolute(space), PrivacyType(space, alpha="1/2"), objective="worst secret").loss
    Fraction(4, 7)
    >>> from sfumato.privacy.predicates import epsilon_delta
    >>> weaker = epsilon_delta(alpha="1/2", delta="1/10")
    >>> design(Prior.uniform(space), absolute(space), None, under=(weaker, space)).loss
    Fraction(7, 15)
    """
    aim = _search_for(privacy, objective).tolerance if tolerance is None else tolerance
    return designed(
        prior, loss, privacy, outputs, objective, under, Effort(aim, watch_of(time_limit), solver, progress)
    )


def designed(
    prior: Prior | None, loss: Any, privacy: PrivacyType | None, outputs: Any, objective: Any, under: Under,
    effort: Effort,
) -> Design:  # fmt: skip
    """The same with an effort, which knows where the search before this one ended."""
    return _search_for(privacy, objective).run(prior, loss, privacy, outputs, objective, under, effort)


class _KindOfSearch(NamedTuple):
    """How designs of a kind are searched, and which gap is aimed at where nobody says another one."""

    run: Callable[..., Design]
    tolerance: float


def _search_for(privacy: Any, objective: Any) -> _KindOfSearch:
    """By what a promise is about; without a privacy type there is a list, and a promise about its events."""
    return _SEARCHES[privacy.space.about if isinstance(privacy, PrivacyType) else "secrets"](objective)


def _on_list(
    prior: Prior | None, loss: Any, privacy: PrivacyType | None, outputs: Any, objective: Any, under: Under,
    effort: Effort,
) -> Design:  # fmt: skip
    """A mechanism for a list of secrets with a loss."""
    effort.announce("laying out the problem")
    with _without_warnings():
        question = problem(prior, as_loss(loss), privacy, outputs, as_objective(objective), under)
    best = best_of(question, effort)
    warn_of_lost_shares(best.mechanism)
    return best


def _for_shares(
    prior: Prior | None, loss: Any, privacy: Any, outputs: Any, objective: Any, under: Under, effort: Effort
) -> Design:
    """A mechanism for estimates: nobody acts on a single answer, so there is no loss, and outputs are found."""
    effort.announce("laying out the problem")
    asked = {"a loss": loss is not None, "outputs": outputs is not None, "a promise about events": under != ()}
    if any(asked.values()) or effort.solver != "auto":
        what = next((name for name, given in asked.items() if given), "a solver by name")
        raise NotSupported(f"{what} beside an objective about shares", ["a prior, no loss, and a privacy type"])
    if privacy is None:
        raise InvalidInput("an objective about shares needs a privacy type")
    with searching(effort) as watch:
        return design_for_shares(prior, privacy, as_objective(objective), effort.tolerance, watch, effort.progress)


def _on_box(
    prior: Prior | None, loss: Any, privacy: PrivacyType, outputs: Any, objective: Any, under: Under, effort: Effort
) -> Design:
    """A mechanism for coordinates: its program has one objective, one promise and one method."""
    if not as_objective(objective).plain or under != () or effort.solver != "auto":
        raise NotSupported(
            "an objective, a promise about events or a solver by name on a box of coordinates",
            ["the expected loss under an ε", "grid(…) on the centres of cells for all others"],
        )
    with searching(effort) as watch:
        return design_on_box(prior, loss, privacy, outputs, effort.tolerance, watch, effort.progress)


_SEARCHES: dict[str, Callable[[Any], _KindOfSearch]] = {
    "coordinates": lambda _: _KindOfSearch(_on_box, BOX_TOLERANCE),
    "secrets": lambda objective: _KindOfSearch(
        _for_shares if as_objective(objective).criterion == "shares" else _on_list, TOLERANCE
    ),
}


@dataclass(frozen=True, eq=False)
class Effort:
    """How far a design goes, by which solver, who is told, and what it leaves for the next one."""

    tolerance: float
    time_limit: float | Watch | None = None
    solver: str = "auto"
    progress: Callable[[Any], object] | None = None
    trail: Trail | None = None

    def __post_init__(self) -> None:
        positive(self.tolerance, "the tolerance, a relative gap,")
        optional_function(self.progress, "progress")
        object.__setattr__(self, "solver", solver_name(self.solver))

    def announce(self, stage: str, watch: Watch | None = None) -> None:
        """Tell what begins now."""
        watch = watch or watch_of(self.time_limit)
        tell_state(self.progress, ColumnProgress.beginning(stage, watch.spent), watch)


def best_of(problem: Problem, effort: Effort) -> Design:
    """The best mechanism for a problem, or the best within a time limit; proved in any case."""
    with searching(effort) as watch:
        return _DesignSearch(problem, effort, watch).design()


@contextmanager
def searching(effort: Effort) -> Iterator[Watch]:
    """Tell when functions are compiled, say nothing of floats, and refuse what memory does not hold; with a watch."""
    watch = watch_of(effort.time_limit)
    with announcing(lambda: effort.announce(COMPILING, watch)), _without_warnings(), refusing("this design", SMALLER):
        yield watch


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Floats search, and what they find is proved: what they complain of on the way is of no use to anybody."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        for kind in (RuntimeWarning, UserWarning):
            warnings.simplefilter("ignore", kind)
        yield


@dataclass(eq=False)
class _DesignSearch:
    """One search for the best mechanism, and the best answer so far."""

    problem: Problem
    effort: Effort
    watch: Watch
    best: Answer | None = None
    proved: tuple[Answer, Design] | None = None  # the last answer that was proved, and what came of it

    def design(self) -> Design:
        """Ask one solver, or several, and prove the best of what they say."""
        problem, watch, tolerance = self.problem, self.watch, self.effort.tolerance
        check_provable(problem, watch)
        free = self.effort.solver == "auto"
        solver = self._choice() if free else SOLVERS[self.effort.solver]
        if free and problem.objective.then is None and (quick := self._quickly(solver)) is not None:
            return quick
        target = _SOLVER_SHARE * tolerance
        if free:
            self._few_first()
        answer = self._closed_form(target) if free and (not solver.rational or watch.over) else None
        for _ in range(_ROUNDS):
            finished = self._take(answer or self._answer(solver, target))
            design = self._proved(solver)
            missed = design.gap > tolerance and finished and not watch.over
            if not missed or not solver.refines:
                break
            target, answer = target / _TIGHTER, None
        # a solver that was asked for by name is helped only to finish what rounding errors have stopped
        if missed and (free or solver.refines):
            design = self._helped(design, solver, target)
        design = replace(design, stopped=watch.over or not finished)
        if problem.objective.then is None or watch.over:
            return design
        return tie_broken(problem, design, solver, tolerance, watch)

    def _few_first(self) -> None:
        """Keep what is found with few actions, where a solver for all of them may have nothing in time."""
        answer = few_actions(self.problem, self.watch, self.effort.progress)
        if answer is not None:
            self._take(answer)

    def _choice(self) -> Solver:
        self.effort.announce("choosing a solver", self.watch)
        return choose(self.problem, self.watch)

    def _closed_form(self, target: float) -> Answer | None:
        """What a theorem says, which is quick where secrets are few."""
        self.effort.announce("looking for a closed form", self.watch)
        (n, m), over = self.problem.shape, self.watch.over
        in_time = affords_proof(self.problem, self.watch) and (not over or n * m <= _FEW_ENTRIES)
        return closed_form(self.problem, target) if in_time else None

    def _answer(self, solver: Solver, target: float, remark: str = "") -> Answer | None:
        """What a solver answers in the time it has; None if it has nothing by then."""
        effort, solving = self.effort, self.watch.before(kept_for_proof(self.problem, self.watch))
        effort.announce(f"solving by {solver.name}{remark}", self.watch)
        try:
            return solver(self.problem, target, effort.progress, solving, effort.trail)
        except TimeIsUp:
            return None
        except TooLarge:
            other = with_less_memory(self.problem, solver) if effort.solver == "auto" else None
            if other is None:
                raise
        except Infeasible as error:
            raise Infeasible(
                "no mechanism with this promise keeps the limits: raise their levels, or ε", error.ray
            ) from error
        except NotConverged:
            if not solving.over:
                raise
            return None
        return self._answer(other, target, ", which needs less memory")

    def _take(self, answer: Answer | None) -> bool:
        """Keep the best of both sides; whether the solver has come to an end of its own."""
        problem, finished = self.problem, answer is not None and answer.finished
        plain = problem.objective.plain and not problem.events
        if answer is not None and finished and (self.best is None or is_exact(answer.matrix) or not plain):
            self.best = self._no_worse(answer) if plain else answer
            return True
        if answer is None and self.best is None:
            self.best = simple_answer(problem, outputs=provable_outputs(problem, self.watch))
        elif answer is not None:  # what needs no solver may be better than what one has in a hurry
            self.best = joined(problem, answer, self.best or simple_answer(problem))
        if self.best is None:
            raise NotConverged(
                f"no mechanism that keeps the limits was found within {self.watch.limit or self.watch.spent:g} s: give "
                "it more time, or raise their levels"
            )
        return finished

    def _no_worse(self, answer: Answer) -> Answer:
        """An answer within a wide tolerance, or what needs no solver and is within it too, and loses less."""
        if self.effort.tolerance < _WIDE or is_exact(answer.matrix):
            return answer
        return joined(self.problem, answer, simple_answer(self.problem, quick=self.effort.tolerance < _WIDER))

    def _proved(self, solver: Solver) -> Design:
        """The best answer so far, repaired and proved."""
        assert self.best is not None
        if self.proved is None or self.proved[0] is not self.best:
            self.effort.announce(PROVING, self.watch)
            self.proved = self.best, proved_design(self.problem, self.best, solver, self.watch)
        return self.proved[1]

    def _quickly(self, solver: Solver) -> Design | None:
        """A design of a tiny problem before anything has to be compiled; None if it is not good enough."""
        problem, tolerance, other = self.problem, self.effort.tolerance, quick_try(self.problem, solver)
        if other is None:
            return None
        try:
            answer = closed_form(problem, tolerance / 10) or other(problem, tolerance, None, self.watch)
            design = proved_design(problem, answer, other, self.watch)
        except Infeasible:
            raise
        except (SolverError, TimeIsUp):
            return None
        return design if design.gap <= tolerance else None

    def _helped(self, design: Design, solver: Solver, target: float) -> Design:
        """The design again, or a better one by the solver that follows on one which has missed its aim."""
        other = successor(self.problem, solver)
        if other is None:
            return design
        try:
            self._take(self._answer(other, target))
            return min(design, self._proved(other), key=lambda one: one.gap)
        except (SolverError, NotSupported, OverflowError):  # bounds may lie beyond the range of floats
            return design
