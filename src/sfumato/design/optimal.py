"""The best private mechanism for a prior and a loss, with a proof that it is private and nearly the best."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
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
from sfumato.design.solvers import SOLVERS, Answer, Trail, gpu_is_there
from sfumato.design.solvers.blocks import solve_in_blocks
from sfumato.design.symmetry import symmetry
from sfumato.design.ties import conditional_entropy, least_worst_secret, most_entropy, tied
from sfumato.design.watch import Watch
from sfumato.errors import Infeasible, NotSupported, SolverError, shown
from sfumato.losses.loss import Loss
from sfumato.lp.peaks import first_losses
from sfumato.numbers import floats
from sfumato.privacy.type import PrivacyType

__all__ = ["Design", "Effort", "best_of", "design"]

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
_TIE_SHARE = 0.9  # of the tolerance is for mechanisms that count as equally good, the rest for rounding


@dataclass(frozen=True, eq=False)
class Design:
    """A mechanism, the loss it has, and a bound below which no mechanism of the type can go; all proved.

    ``remap`` is the best action for each output, ``seconds`` the time of each stage, ``second`` the value of the
    criterion that broke ties, if one did.
    """

    mechanism: Mechanism
    loss: Fraction
    bound: Fraction
    method: str
    iterations: int
    seconds: dict[str, float]
    second: float | None = None

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
    time_limit: float | None = None,
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
        Seconds after which the best mechanism so far is repaired and proved. Ctrl-C does the same.
    solver
        ``"auto"``, or one of :data:`sfumato.design.solvers.SOLVERS`: ``"exact"``, ``"highs"``, ``"blocks"``,
        ``"batched"``, ``"columns"``, ``"first-order"``, ``"peaks"``.
    progress
        Called with the state of the solver after each iteration.

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
    effort = Effort(tolerance, time_limit, solver, progress)
    return best_of(problem(prior, loss, privacy, outputs, as_objective(objective), under), effort)


@dataclass(frozen=True, eq=False)
class Effort:
    """How far a design goes, by which solver, who is told, and what it leaves for the next one."""

    tolerance: float
    time_limit: float | None = None
    solver: str = "auto"
    progress: Callable[[Any], object] | None = None
    trail: Trail | None = None

    def __post_init__(self) -> None:
        positive(self.tolerance, "the tolerance, a relative gap,")
        if self.time_limit is not None:
            positive(self.time_limit, "the time limit in seconds", zero=True)
        optional_function(self.progress, "progress")
        one_of(self.solver, ("auto", *SOLVERS), "solver")

    def solve(self, name: str, asked: Problem, target: float, left: float | None) -> Answer:
        """Ask a solver; the block method starts where the last program was midway."""
        fewer = merged(asked) if name not in _EQUAL_ROWS else None
        if fewer is not None:
            return fewer.answer(self.solve(name, fewer.problem, target, left))
        if name == "blocks":
            return solve_in_blocks(asked, target, self.progress, left, self.trail)
        return SOLVERS[name](asked, target, self.progress, left)


def best_of(asked: Problem, effort: Effort) -> Design:
    """The best mechanism for a problem."""
    watch, tolerance = Watch(perf_counter(), effort.time_limit), effort.tolerance
    free = effort.solver == "auto"
    name = _choice(asked) if free else effort.solver
    if asked.events and name not in _FOR_EVENTS:
        raise NotSupported(f"solver {shown(name)} for promises about events", ["auto", *_FOR_EVENTS])
    if name == "blocks" and free and asked.shape[0] * asked.shape[1] <= _EXACT_VARIABLES:
        quick = _quickly(asked, tolerance, watch)
        if quick is not None and asked.objective.then is None:
            return quick
    target = _SOLVED * tolerance
    known = closed_form(asked, target) if free and name != "exact" and not asked.events else None
    for _ in range(_ROUNDS):
        answer = known or _asked(effort, name, asked, target, watch)
        made = _design(asked, answer, name, watch)
        goes_on = made.gap > tolerance and answer.finished and name in ("blocks", "batched") and not watch.over
        if not goes_on:
            break
        target, known = target / 20, None
    if free and name == "peaks" and made.gap > tolerance and answer.finished and not watch.over:
        made = _once_more_in_blocks(asked, made, effort, target, watch)
    if goes_on and _few_rays(asked):
        made = _finished_by_columns(asked, made, tolerance, effort.progress, watch)
    return made if asked.objective.then is None or watch.over else _tie_broken(asked, made, name, tolerance, watch)


def _asked(effort: Effort, name: str, asked: Problem, target: float, watch: Watch) -> Answer:
    """What a solver answers; where there is nothing to be found, said in the words of users, not of programs."""
    try:
        return effort.solve(name, asked, target, watch.left)
    except NotSupported:
        if effort.solver != "auto" or name not in ("blocks", "batched") or asked.limits:
            raise
        return effort.solve("first-order", asked, target, watch.left)  # factors are too large, a matrix may not be
    except Infeasible as error:
        raise Infeasible(
            "no mechanism with this promise keeps the limits: raise their levels, or ε", error.ray
        ) from error


def _quickly(asked: Problem, tolerance: float, watch: Watch) -> Design | None:
    """What HiGHS says of a tiny problem, before anything has to be compiled; None if it is not good enough."""
    try:
        made = _design(asked, closed_form(asked, tolerance / 10) or SOLVERS["highs"](asked, tolerance), "highs", watch)
    except Infeasible:
        raise
    except SolverError:
        return None
    return made if made.gap <= tolerance else None


def _once_more_in_blocks(asked: Problem, made: Design, effort: Effort, target: float, watch: Watch) -> Design:
    """What the block method says where the one at peaks has missed its aim and the other's factors fit into memory."""
    n, m = asked.shape
    if n * n * m > _BLOCK_WORK:
        return made
    other = _design(asked, _asked(effort, "blocks", asked, target, watch), "blocks", watch)
    return min(made, other, key=lambda made: made.gap)


def _finished_by_columns(asked: Problem, made: Design, tolerance: float, progress: Any, watch: Watch) -> Design:
    """What column generation adds where rounding errors have stopped the block method."""
    try:
        finished = _design(asked, SOLVERS["columns"](asked, tolerance, progress, watch.left), "columns", watch)
    except (SolverError, OverflowError):  # bounds beyond the range of floats
        return made
    return min(made, finished, key=lambda made: made.gap)


def _few_rays(asked: Problem) -> bool:
    """Whether column generation can finish what rounding errors have stopped."""
    return not asked.limits and asked.shape[0] * asked.shape[1] <= _COLUMN_VARIABLES


def _choice(asked: Problem) -> str:
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
    if _few_peaks(asked):
        return "peaks"
    if n * m < _WORTH_A_GPU or not gpu_is_there():
        return "blocks"
    streams = n * m >= _STREAMED_SIZE**2 and len(asked.privacy.space.pairs.first) <= _STREAMED_PAIRS * n
    return "first-order" if streams and not asked.limits else "batched"


def _few_peaks(asked: Problem) -> bool:
    """Whether secrets have a price for few actions: those that cost less than the secret loses by exponential noise.

    On two cores the method at peaks took a third to two thirds of the time of blocks for cities with shares of 0.07 to
    0.12, from 0.18 on up to twice as long, and several times as long where blocks could make use of symmetries.
    """
    if len(asked.privacy.space) < _MANY_PLACES or asked.limits or asked.privacy.space.edges is not None:
        return False
    cost = asked.float_cost
    share = float((cost < first_losses(cost, asked.privacy.log_bounds)[:, None]).mean())
    return share <= _FEW_PEAKS or (share <= _SOME_PEAKS and symmetry(asked) is None)


def _design(asked: Problem, answer: Answer, name: str, watch: Watch) -> Design:
    solved = perf_counter()
    provenance = {"made by": "design", "method": answer.method}
    try:
        mechanism = certified(asked, answer, provenance)
    except NoRoom:
        mechanism = certified(asked, answer, provenance, safe=_safe_matrix(asked, name, watch))
    return _as_design(mechanism, answer, perf_counter() - solved, watch)


def _as_design(mechanism: Mechanism, answer: Answer, certifying: float, watch: Watch) -> Design:
    proof = mechanism.proof
    assert proof.loss is not None and proof.bound is not None
    seconds = {"solve": answer.seconds, "certify": certifying, "total": watch.spent}
    return Design(mechanism, proof.loss, proof.bound, answer.method, answer.iterations, seconds)


def _safe_matrix(asked: Problem, name: str, watch: Watch) -> NDArray[np.float64]:
    """A matrix that keeps all limits with room to spare."""
    easier = feasibility(asked)
    answer = SOLVERS[name](easier, 1e-3, None, watch.left)
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
        return SOLVERS["blocks" if name == "exact" and not exactly else name](
            problem, tolerance / 100, None, watch.left
        )

    if wanted == "worst secret":
        answer = least_worst_secret(others, solve)
    else:
        answer = most_entropy(others, solve, _full_matrix(asked, made.mechanism))
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
