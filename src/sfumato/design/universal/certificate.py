"""A proof that no mechanism has less regret: finitely many priors and weights on them.

For weights λ_k ≥ 0 with Σ λ_k = 1, every mechanism M has max_k regret(π_k) ≥ Σ_k λ_k (U_M(π_k) − opt(π_k)), and the
least value of Σ_k λ_k U_M(π_k) over all mechanisms is one linear program over the rays of the type.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from sfumato.channels.prior import Prior
from sfumato.design.optimal import design
from sfumato.design.universal.answers import Certificate
from sfumato.design.universal.least_loss import LeastLoss
from sfumato.design.universal.question import Question
from sfumato.design.universal.regret import floor_at
from sfumato.numbers import Array, common_denominator, object_array

__all__ = ["certified_below"]


def certified_below(
    asked: Question, priors: tuple[Prior, ...], weights: tuple[Fraction, ...], program: LeastLoss
) -> Certificate:
    """What the priors and weights prove: exactly for exact types, with proved bounds otherwise."""
    total = sum(weights, Fraction(0))
    weights = tuple(w / total for w in weights)
    tables = [common_denominator(prior.weights) for prior in priors]
    integers = np.stack([table for table, _ in tables])
    floats = np.stack([prior.float_weights for prior in priors])
    found = program.approximate(floats)
    floors = [Fraction(0) if asked.relative else floor_at(asked, prior) for prior in priors]
    if asked.exact:
        values = program.exactly(integers, found.bases)
        least = [v / q / asked.scale + f for v, (_, q), f in zip(values, tables, floors, strict=True)]
    else:
        least = [Fraction(design(prior, asked.loss, asked.privacy, tolerance=1e-9).loss) for prior in priors]
    together = _least_average(asked, integers, [q for _, q in tables], weights, program) / asked.scale
    together += sum((w * f for w, f in zip(weights, floors, strict=True)), Fraction(0))
    average = sum((w * v for w, v in zip(weights, least, strict=True)), Fraction(0))
    bound = together - average if not asked.relative else (together / average - 1 if average else Fraction(0))
    return Certificate(priors, weights, tuple(least), together, bound, asked.relative)


def _least_average(
    asked: Question, integers: Array, totals: list[int], weights: tuple[Fraction, ...], program: LeastLoss
) -> Fraction:
    """min over mechanisms of Σ_k λ_k U_M(π_k), times scale: the program of least loss with other costs."""
    if not asked.exact:
        shares = np.array([float(w) for w in weights])
        priors = integers.astype(object) / object_array(totals)[:, None]
        return program.average_below(priors.astype(np.float64), shares)
    losses = asked.uncertainties(integers, asked.rays).astype(object)
    shares_exact = object_array(w / q for w, q in zip(weights, totals, strict=True))
    costs, denominator = common_denominator(shares_exact @ losses)
    return program.least_of(costs) / denominator
