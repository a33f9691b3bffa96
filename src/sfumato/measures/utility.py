"""Utility measures of a channel (Kifer and Lin 2012, section 3.2).

Expected loss with outputs taken as answers and √|det C·Cᵀ| prefer some channels to others from which these can be
simulated. |det C| does not, for as many outputs as secrets, nor does how far rows overlap, nor any branching measure.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import sqrt
from typing import Any

import numpy as np

from sfumato.channels.channel import Channel
from sfumato.channels.prior import Prior, as_prior, secrets_of
from sfumato.errors import InvalidInput
from sfumato.losses.loss import Gain, Loss, as_loss
from sfumato.measures.branching import (
    Branch,
    Generator,
    branching,
    divergence,
    is_convex_homogeneous,
    largest_gain,
)
from sfumato.measures.sufficiency import SufficiencyGround, UtilityMeasure, respects_sufficiency
from sfumato.measures.uncertainty import expected_loss
from sfumato.numbers import Array, exact, to_flint

__all__ = [
    "BRANCHES",
    "UtilityMeasure",
    "bayes_utility",
    "branching",
    "branching_measure",
    "chi_squared",
    "determinant",
    "discrimination",
    "divergence_utility",
    "dobrushin",
    "expected_utility",
    "gram_determinant",
    "respects_sufficiency",
    "shannon",
    "total_variation",
]

_CHUNK = 2**22  # So many minima are held at once.


def _determinant(channel: Channel) -> Any:
    """|det C| of the outputs that can occur; 0 where they are fewer than the secrets."""
    matrix = channel.matrix[:, (channel.matrix > 0).any(axis=0)]
    rows, columns = matrix.shape
    if columns > rows:
        raise InvalidInput(
            f"|det| needs at most as many outputs as secrets, found {columns} for {rows}: gram_determinant takes any"
        )
    if channel.exact:
        return abs(exact(to_flint(matrix).det())) if rows == columns else exact(0)
    return float(abs(np.linalg.det(matrix))) if rows == columns else 0.0


def _gram(channel: Channel) -> Any:
    """det(C·Cᵀ), which is no less than 0 but for rounding."""
    if channel.exact:
        matrix = to_flint(channel.matrix)
        return exact((matrix * matrix.transpose()).det())
    return abs(float(np.linalg.det(channel.matrix @ channel.matrix.T)))


def _overlaps(channel: Channel, choose: Callable[[Array], Any]) -> Any:
    """The least or largest Σ_y min(C_xy, C_zy) over pairs of secrets; 1 where there is one secret only."""
    rows = channel.matrix
    n, m = rows.shape
    if n == 1:
        return rows.sum()
    extremes = []
    for x in range(n - 1):
        for start in range(x + 1, n, max(1, _CHUNK // m)):
            extremes.append(choose(np.minimum(rows[x], rows[start : start + max(1, _CHUNK // m)]).sum(axis=1)))
    return choose(np.array(extremes, dtype=rows.dtype))


determinant = UtilityMeasure(
    "|det C|",
    _determinant,
    SufficiencyGround(
        "the determinant is multiplicative and at most 1 for a stochastic matrix (Kifer and Lin 2012, Example 3.2.2)",
        ("both channels have at most as many outputs as secrets, which is checked whenever it is evaluated",),
    ),
    square=True,
)
"""``|det C|``: by how much C shrinks volumes; 0 where fewer outputs can occur than there are secrets."""

gram_determinant = UtilityMeasure("√|det C·Cᵀ|", lambda channel: sqrt(_gram(channel)), ordering=_gram)
"""√(det C·Cᵀ): the volume that the rows span, for any number of outputs. Post-processing can raise it."""

_OVERLAP = "the overlap of two rows, Σ_y min(C_xy, C_zy), never falls under post-processing"

dobrushin = UtilityMeasure(
    "−min overlap of two rows",
    lambda channel: -_overlaps(channel, np.min),
    SufficiencyGround("negative Dobrushin coefficient (Kifer and Lin 2012, Appendix D)", (_OVERLAP,)),
)
"""−min over two secrets of Σ_y min(C_xy, C_zy): how well the two that are easiest to tell apart can be told apart."""

discrimination = UtilityMeasure(
    "−max overlap of two rows",
    lambda channel: -_overlaps(channel, np.max),
    SufficiencyGround("all-pairs discrimination (Kifer and Lin 2012, Appendix D)", (_OVERLAP,)),
)
"""−max over two secrets of Σ_y min(C_xy, C_zy): how well the two that are hardest to tell apart can be told apart."""


def expected_utility(prior: Prior, loss: Loss) -> UtilityMeasure:
    """Negative expected loss with outputs taken as actions: the textbook choice, and a bad one."""
    prior, loss = as_prior(prior), as_loss(loss)
    return UtilityMeasure(
        "−expected loss", lambda channel: -expected_loss(prior, channel, loss), outputs=loss.actions,
        secrets=loss.secrets,
    )  # fmt: skip


def bayes_utility(prior: Prior, stake: Loss | Gain) -> UtilityMeasure:
    """Negative expected loss, or expected gain, of a consumer who remaps the output; this one respects sufficiency.

    Examples
    --------
    >>> from sfumato.losses.standard import bin
    >>> measure = bayes_utility(Prior([0, 1], ["3/4", "1/4"]), bin([0, 1]))
    >>> measure(Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])), bool(respects_sufficiency(measure))
    (Fraction(-1, 4), True)
    """
    name = "posterior vulnerability" if isinstance(stake, Gain) else "−posterior loss"
    return branching_measure(name, largest_gain(prior, stake))


def divergence_utility(prior: Prior, generator: Generator | str) -> UtilityMeasure:
    """Σ_x π_x D_φ(C_x ‖ Σ_z π_z C_z): how far the outputs of a secret are from those of all, on average.

    With φ = ``"entropy"`` this is the mutual information of secret and output in bits, with ``"square"`` the χ²
    information, with ``"absolute"`` the mean total variation; :func:`sfumato.measures.branching.polygon` makes others.

    Examples
    --------
    >>> flip = Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]])
    >>> divergence_utility(Prior.uniform([0, 1]), "square")(flip)
    Fraction(1, 9)
    """
    branch = divergence(generator, prior)
    return branching_measure(branch.name, branch)


def branching_measure(
    name: str, function: Branch | Callable[[Array], Any], *, secrets: int | tuple[Any, ...] = 3, tries: int = 500
) -> UtilityMeasure:
    """The branching measure Σ_y F(column y) of a convex F with F(cv) = cF(v).

    A :class:`~sfumato.measures.branching.Branch` is so by its form, and its measure respects sufficiency by
    Theorem 3.2.8. Any other F is searched for a violation; if none is found, nothing is known, and
    :func:`respects_sufficiency` will say so.

    Parameters
    ----------
    secrets, tries
        For the search: how many entries a column has, or the secrets, and how many random pairs of columns are tried.

    Raises
    ------
    InvalidInput
        If F was found not to be convex or homogeneous. ``witness`` has the columns, and a channel whose post-processing
        raises the sum (:class:`~sfumato.measures.branching.Unbranched`); :func:`branching` sums up any F.

    Examples
    --------
    >>> measure = branching_measure("largest entries", max)
    >>> measure(Channel.identity([0, 1])), respects_sufficiency(measure, tries=10).decided
    (Fraction(2, 1), False)
    """
    if isinstance(function, Branch):
        ground = SufficiencyGround("a branching measure (Kifer and Lin 2012, Theorem 3.2.8)", (function.reason,))
        return UtilityMeasure(name, partial(branching, function=function), ground, secrets=function.secrets)
    verdict = is_convex_homogeneous(function, secrets, tries=tries)
    if verdict.decided:
        error = InvalidInput(f"{name} is no branching measure: {verdict.reason}")
        error.witness = verdict.witness  # type: ignore[attr-defined]
        raise error
    given = None if isinstance(secrets, int | np.integer) else secrets_of(secrets)
    return UtilityMeasure(name, partial(branching, function=function), secrets=given, note=f"{verdict.reason}; ")


shannon = divergence("entropy")
"""F(v) = Σ v_x log₂(v_x / mean v): mutual information for the uniform prior, up to a factor n."""

chi_squared = divergence("square")
"""F(v) = Σ (v_x − m)² / m with m the mean of v."""

total_variation = divergence("absolute")
"""``F(v) = Σ |v_x − m| / 2`` with m the mean of v."""

_largest = Branch("largest entry", lambda column: column.max(), "F is a maximum of linear functions")


BRANCHES: dict[str, UtilityMeasure] = {
    name: branching_measure(name, branch)
    for name, branch in (
        ("shannon", shannon),
        ("bayes", _largest),
        ("chi_squared", chi_squared),
        ("total_variation", total_variation),
    )
}
"""Branching measures whose F is convex and homogeneous, with the reason."""
