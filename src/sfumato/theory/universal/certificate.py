"""A proof that no mechanism has less regret: finitely many priors and weights on them.

For weights λ_k ≥ 0 with Σ λ_k = 1, every mechanism M has max_k regret(π_k) ≥ Σ_k λ_k (U_M(π_k) − opt(π_k)), and the
least value of Σ_k λ_k U_M(π_k) over all mechanisms is one linear program over the rays of the type.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sfumato.channels.prior import Prior
from sfumato.design.optimal import design
from sfumato.lp import LinearProgram
from sfumato.numbers import Array, common_denominator, object_array
from sfumato.theory.universal.answers import RegretCertificate
from sfumato.theory.universal.least_loss import LeastLoss
from sfumato.theory.universal.question import ReducedLoss
from sfumato.theory.universal.regret import floor_at

Orbits = tuple[tuple[int, ...], ...]


def certified_below(
    question: ReducedLoss, priors: tuple[Prior, ...], weights: tuple[Fraction, ...], program: LeastLoss
) -> RegretCertificate:
    """What the priors and weights prove: exactly for exact types, with proved bounds otherwise."""
    total = sum(weights, Fraction(0))
    weights = tuple(w / total for w in weights)
    tables = [common_denominator(prior.weights) for prior in priors]
    integers = np.stack([table for table, _ in tables])
    floats = np.stack([prior.float_weights for prior in priors])
    approximate = program.approximate(floats)
    floors = [Fraction(0) if question.relative else floor_at(question, prior) for prior in priors]
    if question.exact:
        values = program.exactly(integers, approximate.bases)
        least = [v / q / question.scale + f for v, (_, q), f in zip(values, tables, floors, strict=True)]
    else:
        least = [Fraction(design(prior, question.loss, question.privacy, tolerance=1e-9).loss) for prior in priors]
    together = _least_average(question, integers, [q for _, q in tables], weights, program) / question.scale
    together += sum((w * f for w, f in zip(weights, floors, strict=True)), Fraction(0))
    average = sum((w * v for w, v in zip(weights, least, strict=True)), Fraction(0))
    bound = together - average if not question.relative else (together / average - 1 if average else Fraction(0))
    return RegretCertificate(priors, weights, tuple(least), together, bound, question.relative)


def regret_program(sums: Array, costs: Array, least: Array, *, relative: bool) -> LinearProgram:
    """min r over weights (columns) and r: ``sums`` of them are 1, and the regret at each prior (row) is at most r.

    The regret is ``costs`` of the weights minus ``least``, or that as a share of ``least``.
    """
    slope = least if relative else np.ones(len(least), dtype=np.int64)
    top = np.concatenate([sums, np.zeros((len(sums), 1), dtype=np.int64)], axis=1)
    below = np.concatenate([costs, -slope[:, None]], axis=1)
    matrix, cost = np.concatenate([top, below]), np.zeros(costs.shape[1] + 1, dtype=np.int64)
    cost[-1] = 1
    rhs = np.concatenate([np.ones(len(sums), dtype=np.int64), least]).astype(matrix.dtype)
    return LinearProgram.dense(cost.astype(matrix.dtype), matrix, "=" * len(sums) + "<" * len(least), rhs)


def exact_losses(
    question: ReducedLoss, program: LeastLoss, priors: Array, bases: Array, orbits: Orbits | None = None
) -> tuple[Array, Array]:
    """What each ray, or orbit of rays, loses at integer priors (rows), and the least loss; times scale, exactly."""
    losses = question.uncertainties(priors, question.rays).astype(object)
    shares = object_array(Fraction(1, int(total)) for total in priors.sum(axis=1))
    costs = losses if orbits is None else summed(losses, orbits)
    return costs * shares[:, None], object_array(program.exactly(priors, bases)) * shares


def summed(losses: Array, orbits: Orbits) -> Array:
    """A column for each orbit of rays: the sum of theirs."""
    return np.stack([losses[:, list(orbit)].sum(axis=1) for orbit in orbits], axis=1)


def _least_average(
    question: ReducedLoss, integers: Array, totals: list[int], weights: tuple[Fraction, ...], program: LeastLoss
) -> Fraction:
    """min over mechanisms of Σ_k λ_k U_M(π_k), times scale: the program of least loss with other costs."""
    if not question.exact:
        shares = np.array([float(w) for w in weights])
        priors = integers.astype(object) / object_array(totals)[:, None]
        return program.average_below(priors.astype(np.float64), shares)
    losses = question.uncertainties(integers, question.rays).astype(object)
    shares_exact = object_array(w / q for w, q in zip(weights, totals, strict=True))
    costs, denominator = common_denominator(shares_exact @ losses)
    return program.least_of(costs) / denominator
