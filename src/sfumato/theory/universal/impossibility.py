"""Priors that no single mechanism can serve: why a universally optimal mechanism does not exist."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations

import numpy as np

from sfumato.channels.prior import Prior
from sfumato.errors import NotSupported
from sfumato.losses.loss import Loss
from sfumato.lp import solve
from sfumato.numbers import Array, common_denominator, text_below
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.theory.universal.answers import RegretCertificate, UniversalDesign
from sfumato.theory.universal.certificate import certified_below, exact_losses, regret_program
from sfumato.theory.universal.least_loss import LeastLoss
from sfumato.theory.universal.least_regret import universal_design
from sfumato.theory.universal.question import ReducedLoss, pose
from sfumato.verdict import Verdict, fails, holds, undecided

_MOST_SECRETS = 9


@dataclass(frozen=True, eq=False)
class Impossibility:
    """Priors such that every mechanism of the type has regret at least ``regret`` at one of them.

    No prior can be left out without losing that proof. ``theorem`` names a statement that holds for every ε, where one
    applies; its own priors are in ``for_every_epsilon``.
    """

    priors: tuple[Prior, ...]
    regret: Fraction
    certificate: RegretCertificate
    theorem: str | None = None
    for_every_epsilon: tuple[Prior, ...] = ()


def impossibility(loss: Loss, privacy: PrivacyType) -> Verdict:
    """Whether no mechanism of the type is universally optimal for the loss.

    *holds* with an :class:`Impossibility`: few priors that no mechanism serves all at once, found by cutting planes and
    minimised greedily. *fails* with a universally optimal mechanism. On a discrete space, and for a loss with three
    secrets of which no two share a best action, it is so for every ε (paper A, Lemma A6, which asks that of all
    secrets; Theorem 12 for losses with three actions or more, and Corollary 13, are cases of it).

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
    question = pose(loss, privacy)
    if question.trivial:
        return fails("one action is never worse than another, so that every mechanism is universally optimal")
    if len(privacy.space) > _MOST_SECRETS:
        return _from_design(question, universal_design(loss, privacy))
    program = LeastLoss(question)
    candidates = _candidates(question)
    if _served(question, program, candidates)[0] == 0:
        design = universal_design(loss, privacy)
        if design.upper == 0 or design.certificate is None:
            return _from_design(question, design)
        candidates = list(design.certificate.priors)
    kept = _minimised(question, program, candidates)
    return _impossible(question, certified_below(question, tuple(kept), _served(question, program, kept)[1], program))


def _from_design(question: ReducedLoss, design: UniversalDesign) -> Verdict:
    if design.upper == 0:
        return fails("this mechanism is universally optimal", design.mechanism)
    if design.certificate is not None and design.lower > 0:
        return _impossible(question, design.certificate)
    return undecided("no set of priors was found that no mechanism can serve", design)


def _impossible(question: ReducedLoss, certificate: RegretCertificate) -> Verdict:
    count, regret = len(certificate.priors), certificate.bound
    witness = Impossibility(certificate.priors, regret, certificate, *_theorem(question))
    return holds(f"no mechanism comes nearer than {text_below(regret, 3)} to the best for {count} priors", witness)


def _candidates(question: ReducedLoss) -> list[Prior]:
    """Even on all secrets that matter, on each two of them, and where two actions are as good as each other."""
    secrets, relevant = question.loss.secrets, question.relevant.tolist()
    supports = [tuple(relevant), *combinations(relevant, 2)]
    even = [Prior.from_counts([int(x in chosen) for x in range(len(secrets))], secrets) for chosen in supports]
    return [*even, *pairwise_priors(question)]


def pairwise_priors(question: ReducedLoss, among: Iterable[int] | None = None) -> tuple[Prior, ...]:
    """For each two secrets a prior on them at which the best action changes, if it does between them."""
    priors = []
    secrets = question.loss.secrets
    for x, z in combinations(question.relevant.tolist() if among is None else among, 2):
        table = question.table[:, [x, z]]
        best = [row for row in table.tolist() if not any(_below(other, row) for other in table.tolist())]
        (a, b), *others = sorted({tuple(row) for row in best})
        if others:  # from the action that is best at x to the first one that takes over on the way to z
            c, d = min(others, key=lambda row: Fraction(row[0] - a, b - row[1]))
            weights = [0] * len(secrets)
            weights[x], weights[z] = b - d, c - a
            priors.append(Prior.from_counts(weights, secrets))
    return tuple(priors)


def _below(one: list[int], other: list[int]) -> bool:
    return all(a <= b for a, b in zip(one, other, strict=True)) and one != other


def _served(question: ReducedLoss, program: LeastLoss, priors: list[Prior]) -> tuple[Fraction, tuple[Fraction, ...]]:
    """The least regret at all priors that a mechanism can have, and the weights of priors that prove it."""
    if not question.exact:
        raise NotSupported("a minimal set of priors for an irrational type", ["a rational alpha", "universal_design"])
    integers = np.stack([common_denominator(prior.weights)[0] for prior in priors])
    bases = program.approximate(np.stack([prior.float_weights for prior in priors])).bases
    costs, least = exact_losses(question, program, integers, bases)
    solution = solve(regret_program(question.rays.T, costs, least, relative=False))
    assert isinstance(solution.value, Fraction) and solution.dual is not None
    return solution.value, tuple(-Fraction(v) for v in solution.dual[-len(priors) :])


def _minimised(question: ReducedLoss, program: LeastLoss, priors: list[Prior]) -> list[Prior]:
    """Leave priors out, the last first, as long as no mechanism serves the rest."""
    weights = _served(question, program, priors)[1]
    kept = [p for p, w in zip(priors, weights, strict=True) if w > 0]
    if priors[0] not in kept and _served(question, program, [priors[0], *kept])[0] > 0:
        kept = [priors[0], *kept]  # the even prior is the plainest: keep it if it can replace others
    for prior in reversed(kept[:]):
        fewer = [p for p in kept if p is not prior]
        if fewer and _served(question, program, fewer)[0] > 0:
            kept = fewer
    return kept


def _theorem(question: ReducedLoss) -> tuple[str | None, tuple[Prior, ...]]:
    """Lemma A6 of paper A where it applies: equal distances, and three secrets no two of which share a best action."""
    space = question.privacy.space
    n = len(space)
    values = space.distances.values[~np.eye(n, dtype=bool)]
    three = _three_apart(question.table) if n > 2 and len(np.unique(values)) == 1 else None
    if three is None:
        return None, ()
    table = question.table
    same = len({int(v) for v in table.ravel()}) == 2 and len(table) == n and (table == 0).sum() == n
    return ("Corollary 13" if same else "Lemma A6"), pairwise_priors(question, three)


def _three_apart(table: Array) -> tuple[int, int, int] | None:
    """The first three secrets of which no two share a best action."""
    best = table == table.min(axis=0)[None, :]
    apart = ~(best[:, :, None] & best[:, None, :]).any(axis=0)
    return next((t for t in combinations(range(table.shape[1]), 3) if all(apart[p] for p in combinations(t, 2))), None)
