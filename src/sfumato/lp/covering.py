"""Multipliers from prices: what rows are short of in a column is brought from rows that have more than they need.

Prices p are a lower bound Σ p of a program over columns (:mod:`sfumato.lp.column_program`) if every column y has
multipliers Z ≥ 0 with C_xy + Σ_z Z_xz − Σ_z e^{l(z, x)} Z_zx ≥ p_x for all rows x. Where bounds l add up along chains
it is enough to look at Z_xz from rows x with p_x > C_xy, which are short of p_x − C_xy, to rows z with p_z < C_zy, that
have C_zy − p_z to spare (:mod:`sfumato.lp.peaks` says why): a transport from those to these, and of what leaves z a
share of e^{−l(x, z)} arrives at x. Where there is plenty, each row takes from the nearest that still have something.
Else the column is a small linear program of its own, whose basic solutions have at most as many multipliers as rows.
What cannot be covered is taken off the prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.errors import InvalidInput
from sfumato.lp.highs import solve_floats
from sfumato.lp.program import LinearProgram
from sfumato.threads import on_threads

__all__ = ["Cover", "covered"]

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_NEAREST = (40, 400)  # rows with something to spare that a row looks at: first, and if these are not enough
_OTHERS = 3  # rows that are short, nearest to one that has something to spare
_WORTHLESS = 0.1  # tolerances of what a row is short of: if others have less than that in all, they are not asked
_RATHER = 1e-2  # tolerances of the price of all rows: if no more is missing, no further rows are asked


@dataclass(frozen=True, eq=False)
class Cover:
    """Multipliers Z ≥ 0, each with its first and second row and its column, and what they leave uncovered.

    ``missing`` has one number for each row: what it is short of in the column where it is worst off, and ``worst`` is
    that column. The prices less what is missing are a lower bound, up to rounding.
    """

    first: Integers
    second: Integers
    column: Integers
    values: Floats
    missing: Floats
    worst: Integers


def covered(cost: Any, prices: Any, logs: Any, tolerance: float = 1e-5) -> Cover:
    """Multipliers that bring the reduced costs of all columns up to the prices, as far as there are any.

    Parameters
    ----------
    cost
        C, one row a row, one column a column.
    prices
        p, one number a row.
    logs
        The table of log bounds, infinite where there is none.
    tolerance
        About what part of the prices may stay uncovered although it could be covered, to be sooner through.

    Examples
    --------
    Two rows, e^l = 3: prices of 1/4 each are the best there are.

    >>> import numpy as np
    >>> logs = np.log(3) * (1 - np.eye(2))
    >>> found = covered([[0.0, 1.0], [1.0, 0.0]], [0.25, 0.25], logs)
    >>> found.values.round(6).tolist(), float(found.missing.max())
    ([0.25, 0.25], 0.0)
    >>> round(float(covered([[0.0, 1.0], [1.0, 0.0]], [0.3, 0.3], logs).missing.max()), 6)
    0.066667
    """
    table, wanted, far = (np.asarray(given, dtype=np.float64) for given in (cost, prices, logs))
    n, m = table.shape
    if wanted.shape != (n,) or far.shape != (n, n):
        raise InvalidInput(f"{n} rows need as many prices and a square table, found {wanted.shape} and {far.shape}")
    enough, worthless = _RATHER * tolerance * float(np.abs(wanted).sum()), _WORTHLESS * tolerance / max(n, 1)

    order = np.argsort(far, axis=1, kind="stable").astype(np.int32)  # the nearest first

    def several(low: int, high: int) -> list[tuple[Integers, Integers, Floats, Floats]]:
        return [_column(table[:, w], wanted, far, order, enough, worthless) for w in range(low, high)]

    found = [one for part in on_threads(several, m) for one in part]
    missing, worst = np.zeros(n), np.zeros(n, dtype=np.int64)
    for w, (_, _, _, lack) in enumerate(found):
        worse = lack > missing
        missing[worse], worst[worse] = lack[worse], w
    return Cover(
        np.concatenate([one[0] for one in found]),
        np.concatenate([one[1] for one in found]),
        np.repeat(np.arange(m), [len(one[0]) for one in found]),
        np.concatenate([one[2] for one in found]),
        missing,
        worst,
    )


def _column(
    cost: Floats, prices: Floats, logs: Floats, order: NDArray[np.int32], enough: float, worthless: float
) -> tuple[Integers, Integers, Floats, Floats]:
    """First and second rows, multipliers, and what every row is still short of, in one column."""
    over = cost - prices
    needy, giving = np.flatnonzero(over < 0), np.flatnonzero(over > 0)
    lack = np.maximum(-over, 0.0)
    if not needy.size or not giving.size:
        return needy[:0], needy[:0], np.zeros(0), lack
    first, second, values = np.empty(len(cost), np.int64), np.empty(len(cost), np.int64), np.empty(len(cost))
    left, rest = lack.copy(), np.maximum(over, 0.0)
    sequence = needy[np.argsort(-lack[needy], kind="stable")]
    count = _taken(sequence, left, rest, logs, order, worthless, first, second, values)
    if left.sum() <= enough:
        return first[:count], second[:count], values[:count], left
    far = logs[np.ix_(needy, giving)]
    need, spare = lack[needy], over[giving]
    for nearest in _NEAREST:
        i, j = _ways(far, need, spare, nearest, worthless)
        amount, left = _transported(i, j, far[i, j], need, spare)
        if left.sum() <= enough or nearest >= len(giving):
            break
    lack[needy] = left
    used = amount > 0
    i, j = i[used], j[used]
    return needy[i], giving[j], amount[used] * np.exp(-far[i, j]), lack


@njit(cache=True, nogil=True)
def _taken(needy, left, rest, logs, order, worthless, first, second, values):  # type: ignore[no-untyped-def]
    """Rows take what they are short of from the nearest that have something left, one after the other; how many times.

    A row that takes either has enough then or leaves nothing, so that no more than all rows are involved.
    """
    count = 0
    for x in needy:
        for z in order[x]:
            if not logs[x, z] < np.inf:
                break
            if rest[z] <= 0.0 or z == x:
                continue
            share = np.exp(-logs[x, z])
            arrives = rest[z] * share
            if arrives <= worthless * left[x]:
                continue
            first[count], second[count] = x, z
            if arrives >= left[x]:
                values[count] = left[x]
                rest[z] -= left[x] / share
                left[x] = 0.0
            else:
                values[count] = arrives
                rest[z] = 0.0
                left[x] -= arrives
            count += 1
            if left[x] == 0.0:
                break
    return count


def _ways(far: Floats, need: Floats, spare: Floats, nearest: int, worthless: float) -> tuple[Integers, Integers]:
    """Pairs of a row that is short and one that is not: neighbours of either, between which something arrives."""
    few, others = min(nearest, far.shape[1]), min(_OTHERS, far.shape[0])
    one = np.argpartition(far, few - 1, axis=1)[:, :few]
    other = np.argpartition(far, others - 1, axis=0)[:others]
    key = np.concatenate([
        (np.arange(len(far))[:, None] * far.shape[1] + one).ravel(),
        (other * far.shape[1] + np.arange(far.shape[1])).ravel(),
    ])  # fmt: skip
    i, j = np.divmod(np.unique(key), far.shape[1])
    arrives = spare[j] * np.exp(-far[i, j]) > worthless * need[i]
    return i[arrives], j[arrives]


def _transported(i: Integers, j: Integers, far: Floats, need: Floats, spare: Floats) -> tuple[Floats, Floats]:
    """How much goes each way from the second row, and what the first rows are then still short of, least in all."""
    ways, (rows, others) = len(i), (len(need), len(spare))
    # in units of the most that is of use: of what the one has, or of what makes up for all the other is short of
    unit = np.minimum(spare[j], need[i] * np.exp(far))
    every = np.arange(ways)
    program = LinearProgram(
        np.concatenate([np.zeros(ways), need / need.sum()]),
        np.concatenate([i, np.arange(rows), rows + j]),
        np.concatenate([every, ways + np.arange(rows), every]),
        np.concatenate([unit * np.exp(-far) / need[i], np.ones(rows), unit / spare[j]]),
        ">" * rows + "<" * others,
        np.ones(rows + others),
    )
    found = solve_floats(program).primal
    if found is None:
        return np.zeros(ways), need
    amount = unit * np.maximum(found[:ways], 0.0)
    # what the solver lets rows give beyond what they have, within its tolerance, is taken back
    given = np.bincount(j, amount, others)
    amount *= np.minimum(1.0, spare / np.maximum(given, 1e-300))[j]
    return amount, np.maximum(need - np.bincount(i, amount * np.exp(-far), rows), 0.0)
