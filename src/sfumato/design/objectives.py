"""What is to be made small: the loss expected, of the worst secret, or under the worst of several priors; and limits.

Everything here is about the vector v of what each secret loses, v_x = Σ_w M(x)(w) ℓ(w, x), which is linear in M. The
expected loss is π·v, the worst secret has max_x v_x, the worst of several priors max_k π_k·v. A limit says of another
vector of this kind that no entry exceeds a level.
"""

from __future__ import annotations

from collections.abc import Iterable, Sized
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from sfumato.arguments import items, one_of
from sfumato.certify.mechanism import Ceiling, Criterion
from sfumato.channels.channel import check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidInput, Mismatch, NotSupported, expect, shown
from sfumato.losses.loss import Loss, as_loss
from sfumato.losses.standard import threshold
from sfumato.numbers import Number, array, as_written, fractions, object_array
from sfumato.spaces.finite import FiniteSpace, as_space
from sfumato.spaces.lengths import Length, as_length

__all__ = [
    "EXPECTED",
    "Bound",
    "Objective",
    "as_objective",
    "at_most",
    "ceiling",
    "displacement_at_most",
    "expected",
    "loss_at_most",
    "shares",
    "weighted",
    "worst_prior",
    "worst_secret",
]

Second = Literal["worst secret", "entropy"]


@dataclass(frozen=True, eq=False)
class Bound:
    """For every secret: the mean of a loss is at most ``level``. Without a loss, of the one that is designed for.

    With ``radius`` the loss is 1 where the action lies farther than that from the secret, else 0.
    """

    level: Fraction
    loss: Loss | None = None
    radius: Length | None = None


@dataclass(frozen=True, eq=False)
class Objective:
    """Whose loss counts, what every secret is promised beside, and what decides between equally good mechanisms."""

    criterion: Criterion | Literal["shares"] = "expected"
    limits: tuple[Bound, ...] = ()
    priors: tuple[Prior, ...] = ()
    then: Second | None = None
    workload: Any = None

    @property
    def plain(self) -> bool:
        """Whether the expected loss is all that counts."""
        return self.criterion == "expected" and not self.limits and self.then is None

    @property
    def has_loss(self) -> bool:
        """Whether a loss takes part: where shares are estimated, nobody acts on a single answer."""
        return self.criterion != "shares"


EXPECTED = Objective()
"""The expected loss and nothing else."""


def expected(*, limits: Bound | Iterable[Bound] = (), then: Second | None = None) -> Objective:
    """The expected loss under the prior.

    Parameters
    ----------
    limits
        What every secret is promised beside: :func:`loss_at_most`, :func:`displacement_at_most`, :func:`at_most`.
    then
        What decides between mechanisms whose loss is the same up to the tolerance: ``"worst secret"``, the smaller
        loss of the worst secret; ``"entropy"``, the larger conditional entropy of the secret given the output (Oya,
        Troncoso and Pérez-González 2017 show how little the expected loss alone may say).
    """
    if then is not None:
        one_of(then, ("worst secret", "entropy"), "then=")
    return Objective("expected", _limits(limits), then=then)


def worst_secret(*, limits: Bound | Iterable[Bound] = ()) -> Objective:
    """The loss of the secret that loses most; no prior takes part."""
    return Objective("worst secret", _limits(limits))


def worst_prior(priors: Iterable[Prior], *, limits: Bound | Iterable[Bound] = ()) -> Objective:
    """The largest of the expected losses under several priors."""
    given = tuple(as_prior(prior) for prior in items(priors, "priors"))
    if not given:
        raise InvalidInput("worst_prior needs at least one prior")
    check_secrets("priors", given[0], *given[1:])
    return Objective("worst prior", _limits(limits), given)


def shares(workload: Any = None, *, priors: Iterable[Prior] = ()) -> Objective:
    """The total variance of unbiased estimates of shares of a population, from the answers of N people, times N.

    Parameters
    ----------
    workload
        What is estimated: every share (None, or ``"shares"``), ``"cumulative"`` shares, the ``"mean"`` of secrets that
        are numbers, or a matrix with a column for each secret; see :func:`sfumato.measures.workload`.
    priors
        Where these are given, the worst distribution among their mixtures counts, and none is guessed.
    """
    given = tuple(as_prior(prior) for prior in items(priors, "priors"))
    if given:
        check_secrets("priors", given[0], *given[1:])
    return Objective("shares", priors=given, workload=workload)


def weighted(priors: Iterable[Prior], weights: Iterable[Number]) -> Prior:
    """Several priors at once, each with its weight: Σ_k w_k π_k / Σ_k w_k, a prior like any other.

    Examples
    --------
    >>> day, night = Prior(["in", "out"], ["1/4", "3/4"]), Prior(["in", "out"], [1, 0])
    >>> weighted([day, night], [2, 1]).weights.tolist()
    [Fraction(1, 2), Fraction(1, 2)]
    """
    given = tuple(as_prior(prior) for prior in items(priors, "priors"))
    typed = weights if isinstance(weights, Sized) else items(weights, "the weights of priors")
    array(typed, "the weights of priors", 1)  # refuses what has other shapes or labels
    shares = object_array(as_written(weight, "the weight of a prior") for weight in typed)
    if not given or len(given) != len(shares) or (shares < 0).any() or not shares.sum():
        raise InvalidInput(
            f"{len(given)} priors need as many weights ≥ 0, not all zero, found {shown(shares.tolist())}"
        )
    check_secrets("priors", given[0], *given[1:])
    mixed = sum(share * fractions(prior.weights) for share, prior in zip(shares, given, strict=True))
    return Prior.from_counts(np.asarray(mixed).tolist(), given[0].secrets)


def loss_at_most(level: Number) -> Bound:
    """No secret loses more than ``level`` in the mean."""
    return Bound(as_written(level, "a level"))


def displacement_at_most(radius: Number | Length, probability: Number) -> Bound:
    """Whatever the secret: farther than ``radius`` from it only with this probability. Actions must be secrets.

    The radius is in the unit of the space, or says another: ``"500 m"``.
    """
    chance, far = as_written(probability, "a probability"), as_length(radius, "a radius")
    if not 0 <= chance < 1 or far.number < 0:
        raise InvalidInput(f"a radius ≥ 0 and a probability from 0 to 1 are needed, found {radius} and {probability}")
    return Bound(chance, radius=far)


def at_most(loss: Loss, level: Number) -> Bound:
    """Any other loss, over the same actions and secrets: at most ``level`` in the mean, whatever the secret."""
    return Bound(as_written(level, "a level"), expect(loss, Loss, "the loss of a limit"))


def as_objective(value: Objective | str) -> Objective:
    """An objective, or one of its short names."""
    named = {"expected": expected(), "worst secret": worst_secret(), "shares": shares()}
    if isinstance(value, str):
        if value not in named:
            raise NotSupported(f"objective {shown(value)}", [*named, "objectives.worst_prior(…) and others as values"])
        return named[value]
    return expect(value, Objective, "an objective", "objectives.expected(…), objectives.worst_secret(…)")


def _limits(given: Bound | Iterable[Bound]) -> tuple[Bound, ...]:
    every = (given,) if isinstance(given, Bound) else tuple(items(given, "limits"))
    for limit in every:
        expect(limit, Bound, "a limit", "objectives.loss_at_most(…), objectives.displacement_at_most(…)")
    return every


def ceiling(limit: Bound, loss: Loss, space: FiniteSpace) -> Ceiling:
    """A limit as a table over the actions of the loss that is designed for."""
    limit = expect(limit, Bound, "a limit", "objectives.loss_at_most(…), objectives.displacement_at_most(…)")
    loss, space = as_loss(loss), as_space(space)
    if limit.radius is not None:
        return Ceiling(_far(limit.radius, loss, space), limit.level)
    table = loss if limit.loss is None else limit.loss
    check_secrets("the loss of a limit", space, table)
    if any(w not in table.actions for w in loss.actions):
        raise Mismatch.unknown("actions of a limit", table.actions, loss.actions)
    rows = [table.actions.index(w) for w in loss.actions]
    return Ceiling(Loss(loss.actions, loss.secrets, table.matrix[rows], f"limit on {table.name}"), limit.level)


def _far(limit: Length, loss: Loss, space: FiniteSpace) -> Loss:
    radius = limit.into(space.unit, "the radius of a limit")
    if any(w not in space.labels for w in loss.actions):
        raise NotSupported("a limit on the displacement where an action is no secret", ["actions that are secrets"])
    rows = [space.labels.index(w) for w in loss.actions]
    return Loss(loss.actions, loss.secrets, threshold(space, radius).matrix[rows], f"farther than {radius}")
