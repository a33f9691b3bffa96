"""The formulas of one interior-point iteration for pairs (slack, mate) of numbers whose product goes to zero.

They hold for the pairs s = r_z − e^{−l} r_x of rows with their multipliers z, for the entries r with λ and for the
slacks v of limits with their prices u alike. Everything is elementwise, for arrays of NumPy and of torch. ``change``
is the step of the slack; the step of its mate follows from target = (slack + change) mate + slack · step.
"""

from __future__ import annotations

from typing import Any

__all__ = ["aimed", "moved_targets", "predicted", "reach", "stepped"]


def predicted(xp: Any, slack: Any, change: Any, mate: Any) -> Any:
    """With ρ = change/slack: the largest −ρ and 1 + ρ, which is −step/mate, and the sums of products times 1, ρ, ρ².

    The step of the mate is that of a predictor, whose targets are 0.
    """
    ratio = change / slack
    product = slack * mate
    first = product * ratio
    return xp.stack([(-ratio).max(), (1.0 + ratio).max(), product.sum(), first.sum(), (first * ratio).sum()])


def aimed(slack: Any, change: Any, mate: Any, weight: Any, centre: float, least: float, most: float) -> Any:
    """Targets w·centre − change · step for the direction of a predictor, the second term within bounds."""
    ratio = change / slack
    term = slack * mate * ratio * (1.0 + ratio)
    return weight * centre + term.clip(weight * least, weight * most)


def stepped(slack: Any, change: Any, mate: Any, target: Any) -> Any:
    """Mate and its step together."""
    return (target - mate * change) / slack


def reach(
    xp: Any, slack: Any, primal: Any, dual: Any, more: Any, mate: Any, target: Any, new: Any, shares: tuple[float, ...],
    present: Any = None,
) -> Any:  # fmt: skip
    """For each share of a correction the largest −change/slack and −step/mate; a mate not present has no step.

    Changes are ``primal`` and ``dual`` plus a share of ``more``, targets that part of the way to the ``new`` ones.
    """
    product = slack * mate if present is None else xp.where(present, slack * mate, 1.0)
    found = []
    for share in shares:
        backward = 1.0 + (dual + share * more) / slack - (target + share * (new - target)) / product
        if present is not None:
            backward = xp.where(present, backward, 0.0)
        found += [(-(primal + share * more) / slack).max(), backward.max()]
    return xp.stack(found)


def moved_targets(
    slack: Any, primal: Any, dual: Any, mate: Any, target: Any, weight: Any, ahead: float, beside: float,
    least: float, most: float,
) -> Any:  # fmt: skip
    """Targets moved so that products at a longer step come back between least·w and most·w (Gondzio 1996).

    The slack goes ``ahead`` times its change ``primal``, the mate ``beside`` times its step for the change ``dual``.
    """
    step = stepped(slack, dual, mate, target) - mate
    product = (slack + ahead * primal) * (mate + beside * step)
    highest = weight * most
    return target + (product.clip(weight * least, highest) - product).clip(-highest)
