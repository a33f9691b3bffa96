"""Priors that no single mechanism can serve: why a universally optimal mechanism does not exist."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from sfumato.channels.prior import Prior
from sfumato.design.universal.answers import Certificate, UniversalDesign
from sfumato.design.universal.certificate import certified_below
from sfumato.design.universal.least_loss import LeastLoss
from sfumato.design.universal.least_regret import universal_design
from sfumato.design.universal.question import Question, question
from sfumato.errors import NotSupported
from sfumato.losses.loss import Loss
from sfumato.lp import LinearProgram, solve
from sfumato.numbers import Array, common_denominator, object_array
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.verdict import Verdict, fails, holds, undecided

__all__ = ["Impossibility", "impossibility", "pairwise_priors"]

_MOST_SECRETS = 9


@dataclass(frozen=True, eq=False)
class Impossibility:
    """Priors such that every mechanism of the type has regret at least ``regret`` at one of them.

    No prior can be left out without losing that proof. ``theorem`` names a statement that holds for every ε, where one
    applies; its own priors are in ``for_every_epsilon``.
    """

    priors: tuple[Prior, ...]
    regret: Fraction
    certificate: Certificate
    theorem: str | None = None
    for_every_epsilon: tuple[Prior, ...] = ()


def impossibility(loss: Loss, privacy: PrivacyType) -> Verdict:
    """Whether no mechanism of the type is universally optimal for the loss.

    *holds* with an :class:`Impossibility`: few priors that no mechanism serves all at once, found by cutting planes and
    minimised greedily. *fails* with a universally optimal mechanism. On a discrete space with more than two secrets,
    and a loss for which no action is best at both of any two secrets, it is so for every ε (paper A, Lemma A6; Theorem
    12 and Corollary 13 are cases of it).

    Examples
    --------
    >>> import sfumato as sf
    >>> space = sf.discrete(3)
    >>> verdict = impossibility(sf.losses.bin(space), sf.PrivacyType(space, alpha="1/2"))
    >>> [[str(w) for w in prior.weights] for prior in verdict.witness.priors]
    [['1/3', '1/3', '1/3'], ['1/2', '1/2', '0']]
    >>> verdict.witness.regret, verdict.witness.theorem
    (Fraction(1, 42), 'Corollary 13')
    """
    privacy = as_type(privacy)
    asked = question(loss, privacy)
    if asked.trivial:
        return fails("one action is never worse than another, so that every mechanism is universally optimal")
    if len(privacy.space) > _MOST_SECRETS:
        return _from_design(asked, universal_design(loss, privacy))
    program = LeastLoss(asked)
    candidates = _candidates(asked)
    if _least(asked, program, candidates) == 0:
        found = universal_design(loss, privacy)
        if found.upper == 0 or found.certificate is None:
            return _from_design(asked, found)
        candidates = list(found.certificate.priors)
    kept = _minimised(asked, program, candidates)
    weights = _weights(asked, program, kept)
    certificate = certified_below(asked, tuple(kept), weights, program)
    name, every = _theorem(asked)
    made = Impossibility(tuple(kept), certificate.bound, certificate, name, every)
    return holds(f"no mechanism serves {len(kept)} priors within {float(certificate.bound):.3g} of their best", made)


def _from_design(asked: Question, found: UniversalDesign) -> Verdict:
    if found.upper == 0:
        return fails("this mechanism is universally optimal", found.mechanism)
    if found.certificate is not None and found.lower > 0:
        name, every = _theorem(asked)
        made = Impossibility(found.certificate.priors, found.lower, found.certificate, name, every)
        return holds(
            f"no mechanism serves {len(made.priors)} priors within {float(found.lower):.3g} of their best", made
        )
    return undecided("no set of priors was found that no mechanism can serve", found)


def _candidates(asked: Question) -> list[Prior]:
    """Even on all secrets that matter, on each two of them, and where two actions are as good as each other."""
    secrets = asked.loss.secrets
    n = len(secrets)
    relevant = asked.relevant.tolist()
    supports = [tuple(relevant), *combinations(relevant, 2)]
    priors = [Prior(secrets, [Fraction(int(x in chosen), len(chosen)) for x in range(n)]) for chosen in supports]
    return priors + list(pairwise_priors(asked))


def pairwise_priors(asked: Question) -> tuple[Prior, ...]:
    """For each two secrets a prior on them at which the best action changes, if it does between them."""
    made = []
    secrets = asked.loss.secrets
    for x, z in combinations(asked.relevant.tolist(), 2):
        table = asked.table[:, [x, z]]
        best = [row for row in table.tolist() if not any(_below(other, row) for other in table.tolist())]
        ends = sorted({tuple(row) for row in best})
        if len(ends) > 1:  # from the action that is best at x to the next one
            (a, b), (c, d) = ends[0], ends[1]
            weights = [Fraction(0)] * len(secrets)
            weights[x], weights[z] = Fraction(b - d), Fraction(c - a)
            total = sum(weights)
            made.append(Prior(secrets, [w / total for w in weights]))
    return tuple(made)


def _below(one: list[int], other: list[int]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and one != other


def _program(asked: Question, program: LeastLoss, priors: list[Prior]) -> LinearProgram:
    """min r over weights of rays: regret at most r at each prior."""
    tables = [common_denominator(prior.weights) for prior in priors]
    integers = np.stack([table for table, _ in tables])
    totals = object_array(q for _, q in tables)
    bases = program.approximate(np.stack([prior.float_weights for prior in priors])).bases
    if not asked.exact:
        raise NotSupported("a minimal set of priors for an irrational type", ["a rational alpha", "universal_design"])
    least = object_array(Fraction(v) / q for v, q in zip(program.exactly(integers, bases), totals, strict=True))
    costs = (
        asked.uncertainties(integers, asked.rays).astype(object) * object_array(Fraction(1, q) for q in totals)[:, None]
    )
    n, count = asked.rays.shape[1], len(asked.rays)
    top = np.concatenate([asked.rays.T, np.zeros((n, 1), dtype=object)], axis=1)
    below = np.concatenate([costs, -np.ones((len(priors), 1), dtype=object)], axis=1)
    cost = np.zeros(count + 1, dtype=object)
    cost[-1] = 1
    rhs = np.concatenate([np.ones(n, dtype=object), least])
    return LinearProgram.dense(cost, np.concatenate([top, below]), "=" * n + "<" * len(priors), rhs)


def _least(asked: Question, program: LeastLoss, priors: list[Prior]) -> Fraction:
    value = solve(_program(asked, program, priors)).value
    assert isinstance(value, Fraction)
    return value


def _weights(asked: Question, program: LeastLoss, priors: list[Prior]) -> tuple[Fraction, ...]:
    found = solve(_program(asked, program, priors))
    assert found.dual is not None
    return tuple(-Fraction(v) for v in found.dual[-len(priors) :])


def _minimised(asked: Question, program: LeastLoss, priors: list[Prior]) -> list[Prior]:
    """Leave priors out, the last first, as long as no mechanism serves the rest."""
    weights = _weights(asked, program, priors)
    kept = [p for p, w in zip(priors, weights, strict=True) if w > 0]
    if priors[0] not in kept and _least(asked, program, [priors[0], *kept]) > 0:
        kept = [priors[0], *kept]  # the even prior is the plainest: keep it if it can replace others
    for prior in reversed(kept[:]):
        fewer = [p for p in kept if p is not prior]
        if fewer and _least(asked, program, fewer) > 0:
            kept = fewer
    return kept


def _theorem(asked: Question) -> tuple[str | None, tuple[Prior, ...]]:
    """Lemma A6 of paper A where it applies: equal distances, and no action best at both of any two of all secrets."""
    space = asked.privacy.space
    n = len(space)
    values = space.distances.values[~np.eye(n, dtype=bool)]
    if n < 3 or len(np.unique(values)) != 1 or len(asked.relevant) != n or not _pairwise(asked.table):
        return None, ()
    every = pairwise_priors(asked)
    pairs = list(combinations(range(n), 2))
    first = tuple(every[pairs.index(pair)] for pair in ((0, 1), (0, 2), (1, 2)))
    same = (
        len({int(v) for v in asked.table.ravel()}) == 2 and asked.table.shape[0] == n and (asked.table == 0).sum() == n
    )
    return ("Corollary 13" if same else "Lemma A6"), first


def _pairwise(table: Array) -> bool:
    """Whether for any two secrets no action is best at both."""
    best = table == table.min(axis=0)[None, :]
    return not any((best[:, x] & best[:, z]).any() for x, z in combinations(range(table.shape[1]), 2))
