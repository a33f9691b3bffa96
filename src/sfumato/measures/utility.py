"""Utility measures of a channel (Kifer and Lin 2012, section 3.2) and the axiom of sufficiency.

The axiom: no post-processing may raise a measure, μ(C) ≥ μ(C·A). A measure that breaks it
can prefer a mechanism to one from which that mechanism can be simulated.

Rows are secrets here, as everywhere in sfumato; Kifer and Lin write the transpose.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from random import Random
from typing import Any

import numpy as np

from sfumato.channels.channel import Channel
from sfumato.channels.composition import cascade
from sfumato.channels.prior import Prior
from sfumato.errors import InvalidInput
from sfumato.losses.loss import Loss
from sfumato.measures.uncertainty import expected_loss, posterior_loss
from sfumato.numbers import Array, exact, to_flint
from sfumato.verdict import Verdict, fails, holds, undecided

__all__ = [
    "BRANCHES",
    "UtilityMeasure",
    "bayes_utility",
    "branching",
    "branching_measure",
    "chi_squared",
    "determinant",
    "discrimination",
    "dobrushin",
    "expected_utility",
    "gram_determinant",
    "respects_sufficiency",
    "shannon",
    "total_variation",
]


@dataclass(frozen=True, eq=False)
class UtilityMeasure:
    """A number for each channel, larger being better.

    ``theorem`` names the reason why it respects sufficiency, where one is known; ``outputs``
    are the labels its channels must have, for measures that read outputs as actions;
    ``secrets`` fixes their secrets.
    """

    name: str
    value: Callable[[Channel], Any]
    theorem: str = ""
    outputs: tuple[Any, ...] | None = None
    secrets: tuple[Any, ...] | None = None
    square: bool = False

    def __call__(self, channel: Channel) -> Any:
        """The measure of one channel."""
        return self.value(channel)


def _determinant(channel: Channel) -> Any:
    if channel.shape[0] != channel.shape[1]:
        raise InvalidInput(f"|det| needs as many outputs as secrets, found shape {channel.shape}")
    if channel.exact:
        return abs(exact(to_flint(channel.matrix).det()))
    return float(abs(np.linalg.det(channel.matrix)))


def _gram(channel: Channel) -> float:
    if channel.exact:
        matrix = to_flint(channel.matrix)
        return sqrt(exact((matrix * matrix.transpose()).det()))
    return sqrt(abs(float(np.linalg.det(channel.matrix @ channel.matrix.T))))


def _overlaps(channel: Channel) -> list[Any]:
    """Σ_y min(C_xy, C_x′y) for all pairs of secrets."""
    rows = channel.matrix
    return [np.minimum(rows[x], rows[x + 1 :]).sum(axis=1).tolist() for x in range(len(rows) - 1)] or [[rows[0].sum()]]


def _smallest_overlap(channel: Channel) -> Any:
    return -min(min(row) for row in _overlaps(channel))


def _largest_overlap(channel: Channel) -> Any:
    return -max(max(row) for row in _overlaps(channel))


determinant = UtilityMeasure(
    "|det C|", _determinant, "the determinant is multiplicative and at most 1 for a stochastic matrix "
    "(Kifer and Lin, Example 3.2.2, square channels)", square=True,
)  # fmt: skip
gram_determinant = UtilityMeasure("√|det C·Cᵀ|", _gram)
dobrushin = UtilityMeasure(
    "−min overlap of two rows", _smallest_overlap, "negative Dobrushin coefficient (Kifer and Lin, Appendix D)"
)
discrimination = UtilityMeasure(
    "−max overlap of two rows", _largest_overlap, "all-pairs discrimination (Kifer and Lin, Appendix D)"
)


def expected_utility(prior: Prior, loss: Loss) -> UtilityMeasure:
    """Negative expected loss with outputs taken as actions: the textbook choice, and a bad one."""
    return UtilityMeasure(
        "−expected loss", lambda channel: -expected_loss(prior, channel, loss), outputs=loss.actions,
        secrets=loss.secrets,
    )  # fmt: skip


def bayes_utility(prior: Prior, loss: Loss) -> UtilityMeasure:
    """Negative expected loss of a consumer who remaps the output; this one respects sufficiency."""
    return UtilityMeasure(
        "−posterior loss", lambda channel: -posterior_loss(prior, channel, loss),
        "Σ_y of a convex homogeneous function of the column, a branching measure (Kifer and Lin, Theorem 3.2.8)",
        secrets=loss.secrets,
    )  # fmt: skip


def branching(channel: Channel, function: Callable[[Array], Any]) -> Any:
    """μ(C) = Σ_y F(column y)."""
    values = [function(column) for column in channel.matrix.T]
    return sum(values[1:], values[0])


def branching_measure(name: str, function: Callable[[Array], Any], theorem: str = "") -> UtilityMeasure:
    """The branching measure of F, which respects sufficiency iff F is convex with F(cv) = cF(v)."""
    return UtilityMeasure(name, lambda channel: branching(channel, function), theorem)


def shannon(column: Array) -> float:
    """F(v) = Σ v_x log(v_x / mean v): mutual information for the uniform prior, up to a factor n."""
    values = np.asarray(column, dtype=np.float64)
    mean = values.mean()
    positive = values[values > 0]
    return float((positive * np.log2(positive / mean)).sum()) if mean > 0 else 0.0


def chi_squared(column: Array) -> Any:
    """F(v) = Σ (v_x − m)² / m with m the mean of v."""
    mean = column.sum() / len(column)
    return ((column - mean) ** 2).sum() / mean if mean > 0 else column.sum()


def total_variation(column: Array) -> Any:
    """``F(v) = Σ |v_x − m| / 2`` with m the mean of v."""
    return np.abs(column - column.sum() / len(column)).sum() / 2


BRANCHES: dict[str, UtilityMeasure] = {
    name: branching_measure(name, function, f"a branching measure (Kifer and Lin, Theorem 3.2.8): {why}")
    for name, function, why in (
        ("shannon", shannon, "F is the perspective of t log t, summed"),
        ("bayes", np.max, "F is a maximum of linear functions"),
        ("chi_squared", chi_squared, "F is the perspective of t², summed, minus a linear function"),
        ("total_variation", total_variation, "F is a sum of absolute values of linear functions"),
    )
}
"""Branching measures whose F is convex and homogeneous, with the reason."""


def respects_sufficiency(
    measure: UtilityMeasure | Callable[[Channel], Any], *, secrets: int = 2, tries: int = 2000, seed: int = 0
) -> Verdict:
    """Does no post-processing raise the measure?

    *Holds* where a theorem says so. Otherwise small channels and post-processings are tried;
    *fails* comes with (C, A), a pair with μ(C·A) > μ(C); *undecided* says how far it was searched.

    Examples
    --------
    >>> bool(respects_sufficiency(dobrushin))
    True
    >>> verdict = respects_sufficiency(gram_determinant)
    >>> channel, processing = verdict.witness
    >>> gram_determinant(cascade(channel, processing)) > gram_determinant(channel)
    True
    """
    if not isinstance(measure, UtilityMeasure):
        measure = UtilityMeasure(getattr(measure, "__name__", "the measure"), measure)
    if measure.theorem:
        return holds(measure.theorem)
    random = Random(seed)
    for _ in range(tries):
        channel, processing = _random_pair(measure, secrets, random)
        before, after = measure(channel), measure(cascade(channel, processing))
        # an exact measure decides by itself; a float one must exceed the rounding of its evaluation
        if after - before > (0 if isinstance(after, Fraction | int) else 1e-9):
            return fails(f"post-processing raises {measure.name} from {before} to {after}", (channel, processing))
    return undecided(f"no counter-example among {tries} small channels with {secrets} secrets")


def _random_pair(measure: UtilityMeasure, secrets: int, random: Random) -> tuple[Channel, Channel]:
    labels = measure.secrets or tuple(range(secrets))
    if measure.outputs is not None:
        outputs = images = measure.outputs
    else:
        outputs = tuple(range(len(labels) if measure.square else len(labels) + random.randint(0, 1)))
        images = outputs if measure.square else tuple(range(random.randint(1, len(outputs))))
    channel = Channel(labels, [_random_row(len(outputs), random) for _ in labels], outputs)
    return channel, Channel(outputs, [_random_row(len(images), random, sharp=True) for _ in outputs], images)


def _random_row(size: int, random: Random, sharp: bool = False) -> list[Fraction]:
    weights = [random.choice((0, 1, 2, 3)) for _ in range(size)]
    if not any(weights) or (sharp and random.random() < 0.7):
        weights = [0] * size
        weights[random.randrange(size)] = 1
    return [Fraction(w, sum(weights)) for w in weights]
