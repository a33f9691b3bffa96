"""What is to be designed: a prior, a loss, a promise and an objective, laid out as a program over columns.

With the outputs taken for actions, the expected loss of a mechanism M is Σ_xw π_x ℓ(w, x) M_xw, linear in M, and
every mechanism followed by a remap is one of these. So the best mechanism has one output for each action at most.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from sfumato.arguments import items
from sfumato.certify.mechanism import Ceiling
from sfumato.channels.channel import check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.design.objectives import EXPECTED, Objective, ceiling
from sfumato.design.reduction import Reduced, Reduction, as_it_is
from sfumato.errors import InvalidInput, expect, shown
from sfumato.losses.loss import Loss
from sfumato.lp import ColumnProgram, Limit
from sfumato.memory import refusing
from sfumato.numbers import Array, Floats, Integers, floats, is_exact, object_array, together
from sfumato.privacy.events import EventPromise, event_promises
from sfumato.privacy.predicates import Predicate
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.constructors import graph
from sfumato.spaces.finite import label_place
from sfumato.watch import Watch

Under = Predicate | tuple[Predicate, Any] | Iterable[Predicate | tuple[Predicate, Any]]
"""A predicate for all pairs, a predicate with its neighbours, or several of these."""

SMALLER = ("fewer outputs", "a coarser space", "a graph or a grid metric, whose pairs are few")
"""What to try where a problem is too large."""

# So many entries are looked at for dominated actions at most, which takes a second or two.
_MOST_COMPARISONS = 2 * 10**9

# Smaller bounds of log-ratios are solved as this one; repair and bound use the true ones.
_SMALLEST_LOG = 1e-9


def ordered_bounds(privacy: PrivacyType) -> tuple[Integers, Integers, Floats]:
    """Pairs that no chain implies, at finite distance, both ways round; and ε d of them, as floats can solve it."""
    first, second = privacy.space.pairs
    logs = np.maximum(np.tile(privacy.rate * privacy.space.pair_distances.floats, 2), _SMALLEST_LOG)
    return np.concatenate([first, second]).astype(np.int64), np.concatenate([second, first]).astype(np.int64), logs


class EventPairs(NamedTuple):
    """All pairs of the promises about events, and which promise each belongs to."""

    upper: Integers
    lower: Integers
    which: Integers


@dataclass(frozen=True, eq=False)
class Problem:
    """A prior, a loss whose actions are all worth considering, a promise, an objective, and its limits as tables.

    ``stated`` are other costs to be made small and other limits to be kept by the same mechanisms, where there are any.
    """

    prior: Prior
    loss: Loss
    privacy: PrivacyType
    objective: Objective = EXPECTED
    ceilings: tuple[Ceiling, ...] = ()
    events: tuple[EventPromise, ...] = ()
    stated: tuple[Array, tuple[Limit, ...]] | None = None

    @cached_property
    def cost(self) -> Array:
        """The linear part of the objective, one row a secret, one column an action: π_x ℓ(w, x), or nothing."""
        if self.stated is not None:
            return self.stated[0]
        if self.objective.criterion == "expected":
            return self.cost_under(self.prior)
        return np.zeros(self.shape, dtype=np.int64 if self.loss.exact else np.float64)

    def cost_under(self, prior: Prior) -> Array:
        """π_x ℓ(w, x), one row a secret, one column an action; exact if prior and loss are."""
        weights, table = together(prior.weights, self.loss.matrix)
        return np.asarray(weights[:, None] * table.T)

    @cached_property
    def float_cost(self) -> Floats:
        """The linear part of the objective in floats."""
        if self.stated is not None or self.objective.criterion != "expected":
            return floats(self.cost)
        return self.prior.float_weights[:, None] * floats(self.loss.matrix).T

    @cached_property
    def limits(self) -> tuple[Limit, ...]:
        """The worst secret, or the worst prior, as excess over 0 to be minimised; then the ceilings."""
        if self.stated is not None:
            return self.stated[1]
        n = len(self.privacy.space)
        everyone, all_together = np.arange(n), np.zeros(n, dtype=np.int64)
        worst_cases = []
        if self.objective.criterion == "worst secret":
            worst_cases.append(Limit(self.loss.matrix.T, everyone, np.zeros(n, dtype=np.int64), relative=True))
        if self.objective.criterion == "worst prior":
            nothing = np.zeros(1, dtype=np.int64)
            worst_cases += [
                Limit(self.cost_under(p), all_together, nothing, relative=True) for p in self.objective.priors
            ]
        return (
            *worst_cases,
            *(Limit(c.loss.matrix.T, everyone, object_array([c.level] * n)) for c in self.ceilings),
        )

    @cached_property
    def program(self) -> ColumnProgram:
        """The whole in floats."""
        limits = tuple(replace(limit, table=floats(limit.table), level=floats(limit.level)) for limit in self.limits)
        return ColumnProgram(self.float_cost, *self.ordered_pairs, self.logs, limits=limits)

    @cached_property
    def ordered_pairs(self) -> tuple[Integers, Integers]:
        """Pairs that no chain implies, at finite distance, both ways round."""
        return ordered_bounds(self.privacy)[:2]

    @cached_property
    def logs(self) -> Floats:
        """ε d of the ordered pairs, never below what floats can solve."""
        return ordered_bounds(self.privacy)[2]

    @cached_property
    def event_pairs(self) -> EventPairs:
        """The pairs of all promises about events, one after the other."""
        nothing = np.zeros(0, dtype=np.int64)
        upper, lower = (
            np.concatenate([nothing, *(getattr(e, end) for e in self.events)]) for end in ("upper", "lower")
        )
        return EventPairs(upper, lower, np.repeat(np.arange(len(self.events)), [len(e) for e in self.events]))

    def factors(self, first: Integers, second: Integers) -> Floats:
        """e^{εd} of pairs, infinite where floats end."""
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(self.privacy.rate * self.privacy.space.distances.floats[first, second]))

    @property
    def exact(self) -> bool:
        """Whether every number is rational."""
        rational = all(event.factor.rational is not None for event in self.events)
        return rational and self.privacy.exact and is_exact(self.cost, *(limit.table for limit in self.limits))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of secrets and of actions."""
        return len(self.privacy.space), len(self.loss.actions)


def restated(problem: Problem, cost: Array | None, limits: Iterable[Limit]) -> Problem:
    """A problem with other costs, none by default, and other limits."""
    return replace(problem, stated=(np.zeros(problem.shape, dtype=np.int64) if cost is None else cost, tuple(limits)))


def _feasibility(problem: Problem, watch: Watch) -> Reduced:
    """Nothing to lose, and the largest excess over a ceiling to be minimised: how well can all limits be kept?"""
    ceilings = (replace(limit, relative=True) for limit in problem.limits if not limit.relative)
    return Reduced(restated(problem, None, ceilings), as_it_is)


FEASIBILITY = Reduction("what is lost, beside the limits", lambda problem: bool(problem.limits), _feasibility)
"""A mechanism that keeps all limits with room to spare, if there is one."""


@refusing("laying out the problem", SMALLER)
def problem(
    prior: Prior | None,
    loss: Loss,
    privacy: PrivacyType | None,
    outputs: Iterable[Any] | None = None,
    objective: Objective = EXPECTED,
    under: Under = (),
) -> Problem:
    """Check that all fit together, and leave out actions that another one is never worse than."""
    loss = expect(loss, Loss, "a loss", "losses.distance(space), Loss(actions, secrets, table)")
    privacy, events = _promises(loss, privacy, under)
    if prior is None and objective.criterion == "expected":
        raise InvalidInput("an expected loss needs a prior; objective='worst secret' needs none")
    prior = Prior.uniform(privacy.space) if prior is None else as_prior(prior)
    check_secrets("prior, loss and privacy type", privacy.space, prior, loss, *objective.priors)
    if outputs is not None:
        wanted = items(outputs, "outputs")
        if not wanted:
            raise InvalidInput("outputs must name at least one action of the loss")
        loss = with_actions(loss, [label_place(w, loss.actions, "outputs as actions of the loss") for w in wanted])
    ceilings = tuple(ceiling(limit, loss, privacy.space) for limit in objective.limits)
    whole = Problem(prior, loss, privacy, objective, ceilings, events)
    left = DOMINATED_ACTIONS(whole)
    return whole if left is None else left.part


def _without_dominated(problem: Problem, watch: Watch) -> Reduced | None:
    """Actions are left out that another one is never worse than; nobody misses them in an answer."""
    prior, loss = problem.prior, problem.loss
    # a secret of prior 0 counts as soon as anything but the expected loss does
    counted = prior.float_weights > 0 if problem.objective.plain else np.ones(len(prior.float_weights), dtype=bool)
    limited = (floats(c.loss.matrix) for c in problem.ceilings)
    kept = undominated(np.hstack([floats(loss.matrix)[:, counted], *limited]))
    if len(kept) == len(loss.actions):
        return None
    ceilings = tuple(Ceiling(with_actions(c.loss, kept), c.level) for c in problem.ceilings)
    return Reduced(replace(problem, loss=with_actions(loss, kept), ceilings=ceilings), as_it_is)


DOMINATED_ACTIONS = Reduction("dominated actions", lambda problem: problem.shape[1] > 1, _without_dominated)
"""Laying out a problem begins with this."""


def _promises(loss: Loss, privacy: PrivacyType | None, under: Under) -> tuple[PrivacyType, tuple[EventPromise, ...]]:
    """Bounds on ratios, none if there is no privacy type, and promises about events."""
    several: Any = [under] if isinstance(under, Predicate) or _is_pair(under) else under
    if not isinstance(several, Iterable):
        raise InvalidInput(
            f"under= takes a predicate, a predicate with its neighbours, or several; found {shown(under)}"
        )
    listed = items(several, "under=")
    if privacy is None and not listed:
        raise InvalidInput("a design needs a privacy type, or a predicate given as under=")
    if privacy is None:
        # no pair has a distance, so that any alpha promises nothing
        apart = graph([], labels=loss.secrets, name=f"{len(loss.secrets)} secrets, no ratio bounded")
        privacy = PrivacyType(apart, alpha=Fraction(1, 2))
    privacy = as_type(privacy)
    pairs = [given if _is_pair(given) else (given, None) for given in listed]
    promised = (event_promises(privacy.space.labels, *pair) for pair in pairs)
    return privacy, tuple(event for events in promised for event in events)


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple) and len(given) == 2 and isinstance(given[0], Predicate)


def with_actions(loss: Loss, rows: list[int]) -> Loss:
    """The loss of some of its actions alone."""
    return Loss([loss.actions[w] for w in rows], loss.secrets, loss.matrix[rows], loss.name)


def undominated(table: Floats | Integers) -> list[int]:
    """Actions that no other is at least as good as for every secret; of equal ones the first.

    One row an action. Leaving out an action can only make the optimum worse, so a wrong answer of floats costs at most
    rounding. Where there are too many comparisons all actions stay.
    """
    actions, secrets = table.shape
    if actions * actions * secrets > _MOST_COMPARISONS:
        return list(range(actions))
    # the only best action for some secret needs no comparison with others
    alone = np.flatnonzero((table == table.min(axis=0)).sum(axis=0) == 1)
    best = set(table[:, alone].argmin(axis=0).tolist())
    kept: list[int] = []
    for w in range(actions):
        if w in best:
            kept.append(w)
            continue
        no_worse = (table <= table[w]).all(axis=1)
        equal = (table == table[w]).all(axis=1)
        no_worse[w] = False
        if not (no_worse & ~equal).any() and not equal[:w].any():
            kept.append(w)
    return kept
