"""Answers without an order, all equally likely: the best mechanism is subset selection, written down and not searched.

Whatever the mechanism, its mean over all permutations of n answers has W = λ1 + (n − λ)/n 11ᵀ with a variance no
larger (it is convex in W), and tr W = Σ_y q_y |r_y|² is the mean of what rays have; so the best ones have sets of one
size, next to n/(e^ε + 1), in which all answers, and all pairs of answers, are equally often. All sets of that size are
such, and are too many beyond a dozen answers. Few are enough: n answers on a circle, some sets with all their
turns, and weights with which each distance along the circle is met equally often. A linear program finds these.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb
from typing import Any

import numpy as np

from sfumato.certify.repair import private_weights
from sfumato.channels.prior import Prior
from sfumato.design.shares.columns import kind_of_rays
from sfumato.design.shares.measure import ColumnMeasure
from sfumato.lp.highs import solve_floats
from sfumato.lp.program import LinearProgram
from sfumato.measures.shares import Workload
from sfumato.mechanisms.local import MOST_OUTPUTS, set_names, subset_selection, subset_size
from sfumato.mechanisms.response import least_ratio
from sfumato.numbers import Array, Floats
from sfumato.privacy.type import PrivacyType

_FEW_SETS = 1_000  # All sets of one size are taken up to so many, or up to n²; beyond, some with all their turns.
_TRIES = 40  # random sets for each distance along the circle, of which a few are taken
_ALIKE = 1e-6  # Rates below this leave variances that floats cannot hold next to each other.
_SEED = 20


@dataclass(frozen=True, eq=False)
class SetsOfOneSize:
    """A mechanism in integers, its outputs, how it came about, and the numbers B and m that certify it."""

    weights: Array
    total: int
    outputs: tuple[Any, ...]
    method: str
    columns: ColumnMeasure


def best_for_unordered(privacy: PrivacyType, prior: Prior, wanted: Workload) -> SetsOfOneSize | None:
    """The best mechanism for all shares of unordered answers at the uniform distribution; None for other questions."""
    n = len(privacy.space)
    if kind_of_rays(privacy) != "one distance" or len(set(prior.weights)) > 1:
        return None
    if wanted.matrix.shape != (n, n) or (wanted.matrix != np.eye(n, dtype=np.int64)).any():
        return None
    ratio = float(least_ratio(privacy))
    if 1 - ratio < _ALIKE:
        return None
    size = subset_size(privacy)
    certified = _certificate(n, size, ratio)
    if comb(n, size) <= max(_FEW_SETS, min(n * n, MOST_OUTPUTS)):
        known = subset_selection(privacy)
        return SetsOfOneSize(known.weights, known.total, known.outputs, "subset selection", certified)
    if n * (n // 2) > MOST_OUTPUTS or (balanced := balanced_sets(n, size)) is None:
        return None
    high, shares = balanced
    table = np.where(high, 1.0, ratio) * shares
    weights = private_weights(table / table.sum(axis=1, keepdims=True), privacy)
    outputs = tuple(set_names(high, privacy))
    return SetsOfOneSize(weights, int(weights[0].sum()), outputs, "balanced subset selection", certified)


def _certificate(n: int, size: int, ratio: float) -> ColumnMeasure:
    """B = (1 − 11ᵀ/n)/λ and m the same for all answers, with λ = (tr W − n)/(n − 1): |B r|² = (|r|² − n)/λ² ≤ m·r."""
    high = n / (size + (n - size) * ratio)
    trace = size * high**2 + (n - size) * (ratio * high) ** 2
    steep = (trace - n) / (n - 1)
    dual = (np.eye(n) - 1 / n) / steep
    return ColumnMeasure(np.ones(1), (n - 1) / steep, dual, np.full(n, (n - 1) / (n * steep)))


def balanced_sets(n: int, size: int) -> tuple[np.ndarray[Any, Any], Floats] | None:
    """At most n·⌊n/2⌋ sets of one size, as columns, and weights with which all pairs are together equally often.

    A set and its turns meet the pairs at a distance d along the circle as often as the set has such pairs, and twice as
    often where d is half the circle. None where the sets that were tried are not enough.
    """
    generator, half = np.random.default_rng(_SEED), n // 2
    order = np.argsort(generator.random((_TRIES * half, n)), axis=1)[:, :size]
    sets = np.zeros((len(order), n), dtype=bool)
    sets[np.arange(len(order))[:, None], order] = True
    met = np.stack([(sets & np.roll(sets, d, axis=1)).sum(axis=1) for d in range(1, half + 1)]).astype(float)
    each = size * (size - 1) / (n - 1)
    rows, columns = np.nonzero(met)
    program = LinearProgram(np.zeros(len(sets)), rows, columns, met[rows, columns], "=" * half, np.full(half, each))
    shares = solve_floats(program).primal
    if shares is None:
        return None
    taken = np.flatnonzero(shares > 1e-12)
    high = np.concatenate([[np.roll(sets[place], turn) for turn in range(n)] for place in taken])
    return high.T, np.repeat(shares[taken], n)
