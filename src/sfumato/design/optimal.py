"""The best private mechanism for a prior and a loss, with a proof that it is private and nearly the best."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from os import cpu_count
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.arguments import one_of, optional_function, positive
from sfumato.certify.certificate import Certificate, certificate_of
from sfumato.certify.mechanism import Mechanism
from sfumato.channels.prior import Prior
from sfumato.design.bounds import LowerBound, proved_excess
from sfumato.design.certified import NoRoom, certified, losses_of_secrets
from sfumato.design.closed_forms import closed_form
from sfumato.design.merged import has_equal_rows, merged
from sfumato.design.objectives import Objective, as_objective
from sfumato.design.problem import Problem, Under, feasibility, problem
from sfumato.design.simple import joined, simple_answer
from sfumato.design.solvers import SOLVERS, Answer, Trail, gpu_is_there
from sfumato.design.solvers.blocks import solve_in_blocks
from sfumato.design.symmetry import symmetry
from sfumato.design.ties import conditional_entropy, least_worst_secret, most_entropy, tied
from sfumato.errors import Infeasible, NotConverged, NotSupported, SolverError, shown
from sfumato.losses.loss import Loss
from sfumato.lp.cone.near import first_losses
from sfumato.lp.cone.program import ColumnProgress
from sfumato.memory import refusing
from sfumato.numbers import floats, is_exact
from sfumato.privacy.type import PrivacyType
from sfumato.watch import TimeIsUp, Watch, announcing, watch_of

__all__ = ["COMPILING", "PROVING", "Design", "Effort", "best_of", "design"]

COMPILING = "compiling, the first time only"
PROVING = "repairing and proving"
"""Stages that progress tells of."""

_EXACT_VARIABLES = 100  # up to which rationals take a second at most
_COLUMN_VARIABLES = 3000  # up to which column generation takes a minute at most
_WORTH_A_GPU = 40_000  # variables: below, the processor is as fast
_STREAMED_SIZE, _STREAMED_PAIRS = 2_000, 4  # from so many secrets and outputs on, with so few pairs, a GPU streams
_MANY_PLACES = 150  # secrets from which on it pays to look at peaks,
_FEW_PEAKS, _SOME_PEAKS = 0.06, 0.15  # and share of peaks up to which: in any case, and where there is no symmetry
_BLOCK_WORK = 2 * 10**8  # pairs times columns that the block method gets through in minutes
_SOLVED = 0.3  # of the tolerance is for the solver, twice that for leaving out multipliers, the rest for rounding
_ROUNDS = 3  # tries with a tighter tolerance when repair eats the gap up
_EQUAL_ROWS = ("exact", "highs")  # need no room between rows that have to be equal
_FOR_EVENTS = ("exact", "highs")  # promises about events join columns, which the others take apart
# What repair and proof take, in seconds: for each pair of secrets, pair and output, entry, and product of a table of
# losses with the mechanism; all but the first on all cores. Measured on two of them, for 200 to 1,000 places and for
# counts of 3,000 and 5,000.
_PROOF_SECONDS = 1e-6, 6e-9, 6e-7, 1e-10
# What rounding, bounding and writing down take at the least, in seconds for each entry, even for a mechanism with one
# output: 200 s for 22,500 secrets and as many actions.
_LEAST_SECONDS = 4e-7
_MOST_PROVING = 0.5  # of a time limit: no more of it is kept for repair and proof
_GRACE = 1.2, 5.0  # of a time limit, and seconds beyond: when a call has to have ended
_INSTEAD = ("fewer outputs", "a coarser space", "a graph or a grid metric, whose pairs are few")
_TIE_SHARE = 0.9  # of the tolerance is for mechanisms that count as equally good, the rest for rounding


@dataclass(frozen=True, eq=False)
class Design:
    """A mechanism, the loss it has, and a bound below which no mechanism of the type can go; all proved.

    ``remap`` is the best action for each output, ``seconds`` the time of each stage, ``second`` the value of the
    criterion that broke ties, if one did; ``stopped`` says that the search was ended by the time limit, or by who asked
    for it.
    """

    mechanism: Mechanism
    loss: Fraction
    bound: Fraction
    method: str
    iterations: int
    seconds: dict[str, float]
    second: float | None = None
    stopped: bool = False

    @property
    def gap(self) -> float:
        """(loss − bound) / |loss|: how far from the optimum at most; 0 for an exact one."""
        return float((self.loss - self.bound) / abs(self.loss)) if self.loss else float(self.loss - self.bound)

    @property
    def remap(self) -> dict[Any, Any]:
        """The best action for each output."""
        assert self.mechanism.claim is not None
        actions = self.mechanism.claim.loss.actions
        return {y: actions[w] for y, w in zip(self.mechanism.outputs, self.mechanism.claim.remap, strict=True)}

    @property
    def certificate(self) -> Certificate:
        """What :func:`sfumato.save` writes: weights, promise, loss and bound."""
        return certificate_of(self.mechanism)

    def __repr__(self) -> str:
        return (
            f"Design(loss {float(self.loss):.6g}, bound {float(self.bound):.6g}, gap {self.gap:.1e}, {self.method}, "
            f"{self.mechanism!r})"
        )


def design(
    prior: Prior | None,
    loss: Loss,
    privacy: PrivacyType | None,
    *,
    outputs: Iterable[Any] | None = None,
    objective: Objective | str = "expected",
    under: Under = (),
    tolerance: float = 1e-4,
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
    privacy
        May be None where ``under`` says what is promised.
    outputs
        Some of the actions of the loss; all of them by default.
    objective
        ``"expected"``, ``"worst secret"``, or a value of :mod:`sfumato.design.objectives`: with limits, for several
        priors, with a rule for ties.
    under
        Promises about events beside, or instead of, the bounds on ratios: a predicate of :mod:`sfumato.predicates`
        that is made of lines, such as (ε, δ)-privacy, for all pairs of secrets; a tuple of a predicate and its
        neighbours, as in :func:`sfumato.satisfies`; or several of these.
    tolerance
        The relative gap between loss and bound to be reached. Exact problems of small size get 0.
    time_limit
        Seconds that the call may take, as closely as can be foreseen: then the best mechanism so far has been repaired
        and proved, or one that needs no solver. Compiling, once on a machine, is not counted. Ctrl-C ends it too.
    solver
        ``"auto"``, or one of :data:`sfumato.design.solvers.SOLVERS`: ``"exact"``, ``"highs"``, ``"blocks"``,
        ``"batched"``, ``"columns"``, ``"first-order"``, ``"peaks"``.
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
    effort = Effort(tolerance, watch_of(time_limit), solver, progress)
    effort.say("laying out the problem")
    with _without_warnings():
        asked = problem(prior, loss, privacy, outputs, as_objective(objective), under)
    return best_of(asked, effort)


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
        one_of(self.solver, ("auto", *SOLVERS), "solver")

    def say(self, stage: str, watch: Watch | None = None) -> None:
        """Tell what begins now; who answers with a KeyboardInterrupt wants what there is."""
        if self.progress is None:
            return
        watch = watch or watch_of(self.time_limit)
        try:
            self.progress(ColumnProgress.beginning(stage, watch.spent))
        except KeyboardInterrupt:
            watch.stop()

    def solve(self, name: str, asked: Problem, target: float, watch: Watch) -> Answer:
        """Ask a solver; the block method starts where the last program was midway."""
        fewer = merged(asked) if name not in _EQUAL_ROWS else None
        if fewer is not None:
            return fewer.answer(self.solve(name, fewer.problem, target, watch))
        with refusing(f"solver {name!r} for {asked.shape[0]} secrets and {asked.shape[1]} actions", _INSTEAD):
            if name == "blocks":
                return solve_in_blocks(asked, target, self.progress, watch, self.trail)
            return SOLVERS[name](asked, target, self.progress, watch)


def best_of(asked: Problem, effort: Effort) -> Design:
    """The best mechanism for a problem, or the best within a time limit; proved in any case."""
    watch = watch_of(effort.time_limit)
    with announcing(lambda: effort.say(COMPILING, watch)), _without_warnings(), refusing("this design", _INSTEAD):
        return _Search(asked, effort, watch).design()


@contextmanager
def _without_warnings() -> Iterator[None]:
    """Floats search, and what they find is proved: what they complain of on the way is of no use to anybody."""
    with np.errstate(all="ignore"), warnings.catch_warnings():
        for kind in (RuntimeWarning, UserWarning):
            warnings.simplefilter("ignore", kind)
        yield


@dataclass(eq=False)
class _Search:
    """One search for the best mechanism, and the best answer so far."""

    asked: Problem
    effort: Effort
    watch: Watch
    best: Answer | None = None
    proved: tuple[Answer, Design] | None = None  # the last answer that was proved, and what came of it

    def design(self) -> Design:
        """Ask one solver, or several, and prove the best of what they say."""
        asked, effort, watch, tolerance = self.asked, self.effort, self.watch, self.effort.tolerance
        self._refuse_what_no_proof_ends_in()
        free = effort.solver == "auto"
        name = self._choice() if free else effort.solver
        if asked.events and name not in _FOR_EVENTS:
            raise NotSupported(f"solver {shown(name)} for promises about events", ["auto", *_FOR_EVENTS])
        if name == "blocks" and free and asked.shape[0] * asked.shape[1] <= _EXACT_VARIABLES:
            quick = self._quickly()
            if quick is not None and asked.objective.then is None:
                return quick
        target = _SOLVED * tolerance
        known = self._known(target) if free and name != "exact" and not asked.events else None
        for _ in range(_ROUNDS):
            finished = self._take(known or self._answer(name, target))
            made = self._proved(name)
            goes_on = made.gap > tolerance and finished and name in ("blocks", "batched") and not watch.over
            if not goes_on:
                break
            target, known = target / 20, None
        n, m = asked.shape
        missed = made.gap > tolerance and finished and not watch.over
        if free and name == "peaks" and missed and n * n * m <= _BLOCK_WORK:
            self._take(self._answer("blocks", target))
            made = self._proved("blocks")
        if goes_on and _few_rays(asked):
            made = self._finished_by_columns(made, name)
        made = replace(made, stopped=watch.over or not finished)
        return made if asked.objective.then is None or watch.over else _tie_broken(asked, made, name, tolerance, watch)

    def _refuse_what_no_proof_ends_in(self) -> None:
        """A limit that is over before the least of all mechanisms could be proved is better told at once."""
        limit, (n, m) = self.watch.limit, self.asked.shape
        if limit is not None and _LEAST_SECONDS * n * m > limit + _beyond(limit):
            raise NotSupported(
                f"a design of {n} secrets and {m} actions within {limit:g} s: to prove the simplest one takes longer",
                [f"a time limit of {_LEAST_SECONDS * n * m:.0f} s or more", *_INSTEAD],
            )

    def _choice(self) -> str:
        """Which solver; to choose one it may have to look for symmetries."""
        self.effort.say("choosing a solver", self.watch)
        return _choice(self.asked, self.watch)

    def _known(self, target: float) -> Answer | None:
        """What a theorem says."""
        self.effort.say("looking for a closed form", self.watch)
        return closed_form(self.asked, target) if self._affords_proof() and not self.watch.over else None

    def _answer(self, name: str, target: float) -> Answer | None:
        """What a solver answers in the time it has; None if it has nothing by then."""
        asked, effort = self.asked, self.effort
        solving = self.watch.before(self._kept_for_proof())
        effort.say(f"solving by {name}", self.watch)
        try:
            return effort.solve(name, asked, target, solving)
        except TimeIsUp:
            return None
        except NotSupported:
            if effort.solver != "auto" or name not in ("blocks", "batched", "peaks") or asked.limits:
                raise
        except Infeasible as error:
            raise Infeasible(
                "no mechanism with this promise keeps the limits: raise their levels, or ε", error.ray
            ) from error
        except NotConverged:
            if not solving.over:
                raise
            return None
        effort.say("solving by first-order, which needs less memory", self.watch)
        try:
            return effort.solve("first-order", asked, target, solving)
        except TimeIsUp:
            return None

    def _take(self, answer: Answer | None) -> bool:
        """Keep the best of both sides; whether the solver has come to an end of its own."""
        finished = answer is not None and answer.finished
        plain = self.asked.objective.plain and not self.asked.events
        if answer is not None and finished and (self.best is None or is_exact(answer.matrix) or not plain):
            self.best = answer
            return True
        if answer is None and self.best is None:
            self.best = simple_answer(self.asked, small=not self._affords_proof())
        elif answer is not None:  # what needs no solver may be better than what one has in a hurry
            before = self.best or simple_answer(self.asked)
            self.best = joined(self.asked, answer, before)
        if self.best is None:
            raise NotConverged(
                f"no mechanism that keeps the limits was found within {self.watch.limit or self.watch.spent:g} s: give "
                "it more time, or raise their levels"
            )
        return finished

    def _proved(self, name: str) -> Design:
        """The best answer so far, repaired and proved."""
        assert self.best is not None
        if self.proved is None or self.proved[0] is not self.best:
            self.effort.say(PROVING, self.watch)
            self.proved = self.best, _design(self.asked, self.best, name, self.watch)
        return self.proved[1]

    def _proof_seconds(self) -> float:
        """What repair and proof will take, roughly."""
        (n, m), pairs = self.asked.shape, len(self.asked.privacy.space.pairs.first)
        of_pairs, *shared = (s * k for s, k in zip(_PROOF_SECONDS, (pairs, pairs * m, n * m, n * m * m), strict=True))
        return float(of_pairs + sum(shared) * 2 / (cpu_count() or 2))

    def _kept_for_proof(self) -> float:
        """Seconds that solvers leave: what a proof takes, but not most of the limit unless the call would end late."""
        limit, needed = self.watch.limit, self._proof_seconds()
        return 0.0 if limit is None else min(needed, max(_MOST_PROVING * limit, needed - _beyond(limit)))

    def _affords_proof(self) -> bool:
        """Whether a whole table of probabilities can still be proved in time."""
        limit = self.watch.limit
        return limit is None or self.watch.spent + self._proof_seconds() <= limit + _beyond(limit)

    def _quickly(self) -> Design | None:
        """What HiGHS says of a tiny problem, before anything has to be compiled; None if it is not good enough."""
        asked, tolerance = self.asked, self.effort.tolerance
        try:
            answer = closed_form(asked, tolerance / 10) or SOLVERS["highs"](asked, tolerance, None, self.watch)
            made = _design(asked, answer, "highs", self.watch)
        except Infeasible:
            raise
        except (SolverError, TimeIsUp):
            return None
        return made if made.gap <= tolerance else None

    def _finished_by_columns(self, made: Design, name: str) -> Design:
        """What column generation adds where rounding errors have stopped the block method."""
        asked, effort = self.asked, self.effort
        effort.say("solving by columns", self.watch)
        try:
            self._take(SOLVERS["columns"](asked, effort.tolerance, effort.progress, self.watch))
            finished = self._proved(name)
        except (SolverError, OverflowError, TimeIsUp):  # bounds beyond the range of floats
            return made
        return min(made, finished, key=lambda made: made.gap)


def _beyond(limit: float) -> float:
    """How many seconds a call may take beyond its limit."""
    return (_GRACE[0] - 1) * limit + _GRACE[1]


def _few_rays(asked: Problem) -> bool:
    """Whether column generation can finish what rounding errors have stopped."""
    return not asked.limits and asked.shape[0] * asked.shape[1] <= _COLUMN_VARIABLES


def _choice(asked: Problem, watch: Watch | None = None) -> str:
    """Rationals where they are quick, a GPU where there is one and the work is worth it, else blocks.

    Measured on an H200 on Manhattan grids: 900 secrets in 7 s by factors and 46 s by streams, 2,500 in 91 s and 22 s;
    10,000 with 20 outputs in 14 s by factors, where streams are still off by 6 % after 10,000 iterations.
    """
    n, m = asked.shape
    if asked.events:
        excesses = m * sum(map(len, asked.events))
        return "exact" if asked.exact and n * m + excesses <= _EXACT_VARIABLES else "highs"
    if n * m <= _EXACT_VARIABLES and asked.exact:
        return "exact"
    if asked.limits and has_equal_rows(asked):
        return "highs"
    if _few_peaks(asked, watch):
        return "peaks"
    if n * m < _WORTH_A_GPU or not gpu_is_there():
        return "blocks"
    streams = n * m >= _STREAMED_SIZE**2 and len(asked.privacy.space.pairs.first) <= _STREAMED_PAIRS * n
    return "first-order" if streams and not asked.limits else "batched"


def _few_peaks(asked: Problem, watch: Watch | None = None) -> bool:
    """Whether secrets have a price for few actions: those that cost less than the secret loses by exponential noise.

    On two cores the method at peaks took a third to two thirds of the time of blocks for cities with shares of 0.07 to
    0.12, from 0.18 on up to twice as long, and several times as long where blocks could make use of symmetries.
    """
    if len(asked.privacy.space) < _MANY_PLACES or asked.limits or asked.privacy.space.edges is not None:
        return False
    cost = asked.float_cost
    share = float((cost < first_losses(cost, asked.privacy.log_bounds)[:, None]).mean())
    return share <= _FEW_PEAKS or (share <= _SOME_PEAKS and symmetry(asked, watch) is None)


def _design(asked: Problem, answer: Answer, name: str, watch: Watch) -> Design:
    solved = perf_counter()
    provenance = {"made by": "design", "method": answer.method}
    try:
        mechanism = certified(asked, answer, provenance)
    except NoRoom:
        mechanism = _with_room(asked, answer, provenance, name, watch)
    return _as_design(mechanism, answer, perf_counter() - solved, watch)


def _as_design(mechanism: Mechanism, answer: Answer, certifying: float, watch: Watch) -> Design:
    proof = mechanism.proof
    assert proof.loss is not None and proof.bound is not None
    seconds = {"solve": answer.seconds, "certify": certifying, "total": watch.spent}
    return Design(mechanism, proof.loss, proof.bound, answer.method, answer.iterations, seconds)


def _with_room(asked: Problem, answer: Answer, provenance: dict[str, Any], name: str, watch: Watch) -> Mechanism:
    """The mechanism of an answer that rounding has put beyond a limit, mixed with one that keeps them all easily."""
    limit, left = watch.limit, watch.left
    # nothing can be returned without it, so it gets some of the time that is left for repair and proof
    grace = None if limit is None or left is None else max(left, _beyond(limit) / 2)
    try:
        return certified(asked, answer, provenance, safe=_safe_matrix(asked, name, Watch(grace, watch.clock)))
    except (NoRoom, TimeIsUp, NotConverged) as error:
        raise NotConverged(
            "no mechanism that keeps the limits was found in time: give it more, or raise their levels"
        ) from error


def _safe_matrix(asked: Problem, name: str, watch: Watch) -> NDArray[np.float64]:
    """A matrix that keeps all limits with room to spare."""
    easier = feasibility(asked)
    answer = SOLVERS[name](easier, 1e-3, None, watch)
    excess = proved_excess(easier, answer)
    if excess > 0:
        raise Infeasible(f"no mechanism with this promise keeps the limits: one is exceeded by {excess:.6g} at least")
    return floats(answer.matrix)


def _tie_broken(asked: Problem, made: Design, name: str, tolerance: float, watch: Watch) -> Design:
    """Another mechanism of nearly the same loss, with the same bound."""
    claim, started = made.mechanism.claim, perf_counter()
    assert claim is not None and claim.dual is not None
    wanted = asked.objective.then
    exactly = name == "exact" and wanted == "worst secret"
    level = made.loss if exactly else made.bound + Fraction(_TIE_SHARE * tolerance) * abs(made.loss)
    others = tied(asked, max(level, made.loss))

    def solve(problem: Problem) -> Answer:
        return SOLVERS["blocks" if name == "exact" and not exactly else name](problem, tolerance / 100, None, watch)

    try:
        if wanted == "worst secret":
            answer = least_worst_secret(others, solve)
        else:
            answer = most_entropy(others, solve, _full_matrix(asked, made.mechanism))
    except (TimeIsUp, NotConverged):
        if watch.over:  # ties stay as they are
            return replace(made, stopped=True)
        raise
    bound = LowerBound(made.bound, claim.dual, claim.prior, claim.mixture,
                       tuple(ceiling.prices for ceiling in claim.ceilings if ceiling.prices is not None))  # fmt: skip
    provenance = {**made.mechanism.provenance, "ties": f"broken by {wanted}"}
    answer = replace(answer, method=made.method, prices=(), seconds=made.seconds["solve"] + answer.seconds)
    mechanism = certified(asked, answer, provenance, bounded_by=bound)
    broken = _as_design(mechanism, answer, perf_counter() - started, watch)
    return replace(broken, second=_second(asked, mechanism), iterations=made.iterations)


def _full_matrix(asked: Problem, mechanism: Mechanism) -> NDArray[np.float64]:
    """The mechanism with a column for every action."""
    matrix = np.zeros(asked.shape)
    matrix[:, [asked.loss.actions.index(y) for y in mechanism.outputs]] = mechanism.weights / mechanism.total
    return matrix


def _second(asked: Problem, mechanism: Mechanism) -> float:
    if asked.objective.then == "entropy":
        return conditional_entropy(asked.prior.float_weights, mechanism.weights / mechanism.total)
    rows = [asked.loss.actions.index(y) for y in mechanism.outputs]
    return float(max(losses_of_secrets(asked.loss.matrix[rows], mechanism.weights, mechanism.total)))
