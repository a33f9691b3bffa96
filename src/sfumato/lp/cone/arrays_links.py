"""What links the columns of a program, in the scaled form in which the batched method works.

Column y enters the links with B_y = [Q, E_1y ∘ Q_1, …]: Q has one column for each class of rows, and each limit adds
one column for each of its groups, with the entries of its table. Over all columns Σ_y B_yᵀ r_y is the number of rows
of each class, and for limits the level less a slack v ≥ 0, plus τ where the limit is relative. The prices of all
links are one vector π; those of limits are −u with u ≥ 0.

Costs are shifted so that their least in each class is 0 and divided by what is at stake: the cost of constant columns
above that. Relative limits are divided by the same number, since τ is a cost; any other group by the sum it has on
average.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.lp.cone.arrays_backend import Arrays
from sfumato.lp.cone.program import ColumnProgram, least_of_classes
from sfumato.numbers import Floats, Integers


@dataclass(frozen=True, eq=False)
class Part:
    """Some columns of every B_y: ``indicator`` (count × n, None for the identity), times a table (m × n) if any."""

    count: int
    labels: Any  # of each row, ``count`` for rows that are in none
    indicator: Any | None
    table: Any | None

    def summed(self, values: Any) -> Any:
        """Sums over the rows of each label, along the first axis."""
        return values if self.indicator is None else self.indicator @ values


@dataclass(frozen=True, eq=False)
class Links:
    """The scaled links of a program, its scaled costs and the way back.

    Parameters
    ----------
    floor, scale
        The least cost of each class, and by what costs above it were divided.
    cost
        Scaled costs, m × n.
    target
        The right-hand side: sizes of classes, then scaled levels of limits.
    relative
        1 for limits relative to τ, 0 for others, over all limits.
    units
        By what the rows of limits were divided.
    rows
        The number of classes, which come first.
    """

    floor: Floats
    scale: float
    cost: Floats
    target: Floats
    relative: Floats
    units: Floats
    rows: int


def scaled_links(program: ColumnProgram) -> Links:
    """The links of a program, with stated units."""
    classes, m = program.row_classes, program.shape[1]
    floor = least_of_classes(program.cost.min(axis=1), classes)
    relative = [np.full(len(limit.level), float(limit.relative)) for limit in program.limits]
    count = max(sum(part.sum() for part in relative), 1.0)
    effective = program.cost.copy()
    for limit in program.limits:
        if limit.relative:
            effective += limit.weighted(np.full(len(limit.level), 1.0 / count))
    scale = float((effective - least_of_classes(effective.min(axis=1), classes)[classes][:, None]).sum()) / m
    scale = scale if scale > 0 else 1.0
    units = []
    for limit in program.limits:
        sizes = np.bincount(limit.group + 1, np.abs(limit.table).mean(axis=1), len(limit.level) + 1)[1:]
        units.append(np.full(len(sizes), scale) if limit.relative else np.where(sizes > 0, sizes, 1.0))
    levels = [limit.level / unit for limit, unit in zip(program.limits, units, strict=True)]
    return Links(
        floor,
        scale,
        ((program.cost - floor[classes][:, None]) / scale).T,
        np.concatenate([program.sizes, *levels]).astype(np.float64),
        np.concatenate([np.empty(0), *relative]),
        np.concatenate([np.empty(0), *units]),
        len(floor),
    )


def device_parts(program: ColumnProgram, links: Links, arrays: Arrays) -> list[Part]:
    """The columns of B on the device, classes first, then the limits one after the other."""
    parts = [_part(program.row_classes, links.rows, None, arrays)]
    at = 0
    for limit in program.limits:
        units = np.append(links.units[at : at + len(limit.level)], 1.0)[limit.group]
        table = np.where(limit.group[:, None] >= 0, limit.table / units[:, None], 0.0).T
        parts.append(_part(limit.group, len(limit.level), table, arrays))
        at += len(limit.level)
    return parts


def _part(labels: Integers, count: int, table: Floats | None, arrays: Arrays) -> Part:
    identity = len(labels) == count and bool((labels == np.arange(count)).all())
    indicator = None if identity else arrays.given(labels[None, :] == np.arange(count)[:, None])
    padded = np.where(labels >= 0, labels, count)
    return Part(count, arrays.integers(padded), indicator, None if table is None else arrays.given(table))


def normalised_prices(prices: Floats, relative: Floats) -> Floats:
    """Prices of limits ≥ 0, those of relative ones multiples of 2⁻⁵³ with sum 1: exactly, and in any order.

    Examples
    --------
    >>> float(normalised_prices(np.array([0.1, 0.1, 0.1, 7.0]), np.array([1.0, 1.0, 1.0, 0.0]))[:3].sum())
    1.0
    """
    result = np.maximum(prices, 0.0)
    chosen = np.flatnonzero(relative)
    if len(chosen):
        part = result[chosen] + (result[chosen].sum() == 0)
        steps = np.floor(part / part.sum() * 2.0**53).astype(np.int64)
        steps[np.argmax(steps)] += 2**53 - int(steps.sum())
        result[chosen] = steps * 2.0**-53
    return result
