"""Small worst-case regret where rays and cells are too many to list: a mechanism and two proved bounds.

The mechanism is a mixture (an external choice) of mechanisms that are best for single priors: losses are linear in
the shares of a mixture, so shares come from a small game against the priors met so far, and a search finds the prior at
which the mixture does worst, and with it the next mechanism. From above its regret is bounded as in
:mod:`sfumato.theory.universal.regret`. From below, no mechanism can serve two priors at once better than the best one
for both games together, which is one design problem with pairs of actions.
"""

from __future__ import annotations

from fractions import Fraction
from math import ceil, floor, log2
from time import perf_counter

import numpy as np

from sfumato.certify.repair import quantise
from sfumato.channels.channel import Channel
from sfumato.channels.prior import Prior
from sfumato.design.optimal import design
from sfumato.errors import NotSupported
from sfumato.losses.loss import Loss
from sfumato.lp import solve
from sfumato.lp.cone.lanes import solve_columns
from sfumato.lp.cone.program import ColumnProgram
from sfumato.numbers import Array, Floats, fractions, object_array
from sfumato.theory.universal.answers import RegretCertificate, UniversalDesign
from sfumato.theory.universal.certificate import regret_program
from sfumato.theory.universal.least_loss import LeastLoss
from sfumato.theory.universal.prior_sets import PriorSet
from sfumato.theory.universal.question import ReducedLoss
from sfumato.theory.universal.refute import search
from sfumato.theory.universal.regret import regret_above

_ROUNDS = 10
_STARTS = 5  # The search of each round has so many starts.
_SECONDS = 30.0  # After so many seconds no new round begins.
_MOST_PAIRS = 2500  # One design problem has at most so many actions of two games at once.


def large_design(question: ReducedLoss, among: PriorSet, started: float) -> UniversalDesign:
    """A mixture of mechanisms that are best for single priors, with bounds on the least regret from both sides."""
    if question.relative or len(among.limits):
        raise NotSupported(
            f"relative regret, or regret on a ball, for {len(question.privacy.space)} secrets",
            ["additive regret over all priors or a hull", "at most 9 secrets"],
        )
    program = LeastLoss(question)
    game = _Game(question)
    generators = among.generators.astype(np.float64)
    centre = generators.sum(axis=1)
    game.add(centre / centre.sum())
    number, worst, shares = 0, np.inf, np.ones(1)
    best: tuple[float, Floats] = (np.inf, game.matrices[0])
    multipliers = np.ones(1)
    for number in range(1, _ROUNDS + 1):
        shares, multipliers = game.shares()
        mixed = np.concatenate([p * m for p, m in zip(shares, game.matrices, strict=True) if p > 1e-9], axis=1)
        channel = Channel(question.privacy.space, mixed / mixed.sum(axis=1, keepdims=True))
        worst_case = search(question, channel, among, program, _STARTS, seed=number)
        worst = worst_case.regret
        if worst < best[0]:
            best = (worst, mixed)
        if perf_counter() - started > _SECONDS or not game.add(worst_case.weights):
            break
    mechanism = quantise(best[1] / best[1].sum(axis=1, keepdims=True), question.privacy).mechanism
    above = regret_above(question, mechanism.channel, among, program, 0)
    certificate = two_priors(question, *game.hardest(multipliers))
    lower = Fraction(0) if certificate is None else max(certificate.bound, Fraction(0))
    return UniversalDesign(mechanism, lower, Fraction(above) * question.unit, certificate, None, False,
                           "mixture of best mechanisms", number, perf_counter() - started)  # fmt: skip


class _Game:
    """Mechanisms that are best for single priors, against those priors; floats in units of the largest loss."""

    def __init__(self, question: ReducedLoss) -> None:
        self.question = question
        self.priors: list[Floats] = []
        self.least: list[float] = []
        self.matrices: list[Floats] = []

    def add(self, prior: Floats) -> bool:
        """A prior and the mechanism that is best for it; False if it is known."""
        if any(np.abs(prior - known).sum() < 1e-6 for known in self.priors):
            return False
        cost = prior[:, None] * self.question.float_table.T
        solution = solve_columns(ColumnProgram(cost, *self.question.ordered_bounds), tolerance=1e-6)
        self.priors.append(prior)
        self.least.append(solution.value)
        self.matrices.append(solution.matrix[:, solution.matrix.max(axis=0) > 1e-9])
        return True

    def shares(self) -> tuple[Floats, Floats]:
        """The mixture that does best against the priors so far, and the weights on priors that prove it."""
        table = self.question.float_table
        costs = [[((table * prior) @ matrix).min(axis=0).sum() for matrix in self.matrices] for prior in self.priors]
        sums = np.ones((1, len(self.matrices)))
        solution = solve(regret_program(sums, np.array(costs), np.array(self.least), relative=False))
        assert solution.primal is not None and solution.dual is not None
        return np.asarray(solution.primal[:-1]), np.maximum(-np.asarray(solution.dual[1:]), 0.0)

    def hardest(self, multipliers: Floats) -> tuple[Prior, Prior, Fraction]:
        """The two priors of largest weight in the game, and the share of the first."""
        padded = np.zeros(len(self.priors))
        padded[: len(multipliers)] = multipliers
        order = np.argsort(-padded)
        second = int(order[1]) if len(order) > 1 else int(order[0])
        rounded = (object_array(round(float(w) * 2**20) for w in self.priors[int(k)]) for k in (order[0], second))
        one, two = (Prior.from_counts(weights, self.question.loss.secrets) for weights in rounded)
        total = padded[order[0]] + padded[second]
        share = Fraction(round(64 * padded[order[0]] / total), 64) if total > 0 else Fraction(1, 2)
        return one, two, min(max(share, Fraction(1, 8)), Fraction(7, 8))


def _rounded_down(table: Array) -> Array:
    """Multiples of one power of two with numerators of at most 40 bits, as certificates take them."""
    largest = max(abs(v) for v in table.ravel())
    unit = Fraction(2) ** (ceil(log2(float(largest))) - 40) if largest else Fraction(1)
    return object_array((floor(v / unit) * unit for v in table.ravel()), table.shape)


def two_priors(
    question: ReducedLoss, one: Prior, two: Prior, share: Fraction = Fraction(1, 2)
) -> RegretCertificate | None:
    """No mechanism has less regret than this at one of two priors: both games at once are one design problem.

    Proved on both sides by :func:`sfumato.design`. None if the pairs of actions are too many.
    """
    kept = list(question.kept)
    if len(kept) ** 2 > _MOST_PAIRS:
        return None
    space = question.privacy.space
    table = fractions(question.loss.matrix)[kept]
    n = len(space)
    parts = [n * w * table * fractions(p.weights)[None, :] for w, p in ((share, one), (1 - share, two))]
    both = (parts[0][:, None, :] + parts[1][None, :, :]).reshape(len(kept) ** 2, n)
    both = _rounded_down(both)  # which can only lower the bound
    pairs = [(w, v) for w in kept for v in kept]
    together = design(Prior.uniform(space), Loss(pairs, space.labels, both), question.privacy, tolerance=1e-4).bound
    least = tuple(Fraction(design(p, question.loss, question.privacy, tolerance=1e-5).loss) for p in (one, two))
    bound = together - share * least[0] - (1 - share) * least[1]
    return RegretCertificate((one, two), (share, 1 - share), least, Fraction(together), Fraction(bound), False)
