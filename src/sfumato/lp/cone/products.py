"""The formulas of one interior-point iteration for a slack and its dual, two numbers whose product goes to zero.

They hold for the pairs s = r_z − e^{−l} r_x of rows with their multipliers z, for the entries r with λ and for the
slacks v of limits with their prices u alike. Everything is elementwise, for arrays of NumPy and of torch. ``change``
is the step of the slack; the step of its dual follows from target = (slack + change) dual + slack · step.

Weights say how large products of slacks and duals may be, relative to others, while the gap of a run shrinks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sfumato.numbers import Floats


def predicted(xp: Any, slack: Any, change: Any, dual: Any) -> Any:
    """With ρ = change/slack: the largest −ρ and 1 + ρ, which is −step/dual, and the sums of products times 1, ρ, ρ².

    The step of the dual is that of a predictor, whose targets are 0.
    """
    ratio = change / slack
    product = slack * dual
    first = product * ratio
    return xp.stack([(-ratio).max(), (1.0 + ratio).max(), product.sum(), first.sum(), (first * ratio).sum()])


def aimed(slack: Any, change: Any, dual: Any, weight: Any, centre: float, least: float, most: float) -> Any:
    """Targets w·centre − change · step for the direction of a predictor, the second term within bounds."""
    ratio = change / slack
    term = slack * dual * ratio * (1.0 + ratio)
    return weight * centre + term.clip(weight * least, weight * most)


def dual_stepped(slack: Any, change: Any, dual: Any, target: Any) -> Any:
    """The dual and its step together."""
    return (target - dual * change) / slack


def reach(
    xp: Any, slack: Any, primal_change: Any, dual_change: Any, more: Any, dual: Any, target: Any, new: Any,
    shares: tuple[float, ...], present: Any = None,
) -> Any:  # fmt: skip
    """For each share of a correction the largest −change/slack and −step/dual; a dual not present has no step.

    Changes are those of the two sides plus a share of ``more``, targets that part of the way to the ``new`` ones.
    """
    product = slack * dual if present is None else xp.where(present, slack * dual, 1.0)
    ratios = []
    for share in shares:
        backward = 1.0 + (dual_change + share * more) / slack - (target + share * (new - target)) / product
        if present is not None:
            backward = xp.where(present, backward, 0.0)
        ratios += [(-(primal_change + share * more) / slack).max(), backward.max()]
    return xp.stack(ratios)


def moved_targets(
    slack: Any, primal_change: Any, dual_change: Any, dual: Any, target: Any, weight: Any, primal_step: float,
    dual_step: float, least: float, most: float,
) -> Any:  # fmt: skip
    """Targets moved so that products at a longer step come back between least·w and most·w (Gondzio 1996).

    The slack goes along ``primal_change``, the dual along the step that belongs to ``dual_change``.
    """
    step = dual_stepped(slack, dual_change, dual, target) - dual
    product = (slack + primal_step * primal_change) * (dual + dual_step * step)
    highest = weight * most
    return target + (product.clip(weight * least, highest) - product).clip(-highest)


def row_weights(stakes: Floats, smallest: float = 1e-4) -> Floats:
    """Weights of rows, from what they have at stake; none is below the cube root of ``smallest``.

    Rows with little at stake count less: the cube root is what needed fewest iterations on priors with bumps.
    """
    return np.asarray(np.cbrt(np.maximum(stakes / (stakes.max() or 1.0), smallest)))


def pair_weights(one: Floats, other: Floats, logs: Floats, nearest: Floats) -> Floats:
    """Weights of pairs, from those of their rows.

    Far pairs nearly repeat r ≥ 0, so they count by the inverse of their log bound: ``nearest`` has the least one of
    every row, and what is typical of them counts fully.
    """
    known = nearest[np.isfinite(nearest)]
    typical = float(np.median(known)) if known.size else 1.0
    return np.asarray(np.minimum(one, other) * np.minimum(typical / logs, 1.0))


def column_weights(sizes: Floats, smallest: float, mask: Floats | None = None) -> Floats:
    """Weights of columns, 1 on average over those that are not masked: their sizes, but for columns that vanish.

    Most columns of a program with unequal rows vanish. With equal weights they do so late, and until then short steps
    along their boundaries hold up all others: that took twice as many iterations. ``sizes`` are 1 on average.
    """
    weights = np.maximum(sizes, smallest)
    average = weights.mean() if mask is None else (weights * mask).sum() / mask.sum()
    return np.asarray(weights / average)
