"""Multipliers from prices: what rows are short of in a column is brought from rows that have more than they need.

Prices p are a lower bound Σ p of a program over columns (:mod:`sfumato.lp.cone.program`) if every column y has
multipliers Z ≥ 0 with C_xy + Σ_z Z_xz − Σ_z e^{l(z, x)} Z_zx ≥ p_x for all rows x. Where bounds l add up along chains
it is enough to look at Z_xz from rows x with p_x > C_xy, which are short of p_x − C_xy, to rows z with p_z < C_zy, that
have C_zy − p_z to spare (:mod:`sfumato.lp.cone.near` says why): a transport from those to these, and of what leaves z a
share of e^{−l(x, z)} arrives at x. Where there is plenty, each row takes from the nearest that still have something.
Else the column is a small linear program of its own (:mod:`sfumato.lp.proof.transport`), whose ways are thinned to a
forest: then there are fewer multipliers than rows. What cannot be covered is taken off the prices.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.errors import InvalidInput
from sfumato.lp.proof.transport import missing, prune, thin, transported
from sfumato.numbers import Floats, Integers
from sfumato.threads import on_threads
from sfumato.watch import Watch, watch_of

_MAY_BE_MISSING = 1e-2  # What may stay missing in a column, in tolerances of the sum of all prices.
_NEGLIGIBLE = 0.1  # Rows from which a row could get no more than this part of that, in all, are not considered.
_SMALLEST_LOG = 1e-9  # Smaller log bounds are taken as this one: a little less arrives than could.


@dataclass(frozen=True, eq=False)
class Cover:
    """Multipliers Z ≥ 0, each with its first and second row and its column, and what they leave uncovered.

    ``missing`` has one number for each row: what it is short of in the column where it is worst off, and ``worst`` is
    that column. The prices less what is missing are a lower bound, up to rounding. ``short`` has one number for each
    column: what all rows are short of there.
    """

    first: Integers
    second: Integers
    column: Integers
    values: Floats
    missing: Floats
    worst: Integers
    short: Floats


def covered(
    cost: Any, prices: Any, logs: Any, tolerance: float = 1e-5, time_limit: float | Watch | None = None
) -> Cover:
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
    time_limit
        Seconds, or a watch, after which rows of the columns that are left take from the nearest, and no program is
        solved.

    Examples
    --------
    Two rows, e^l = 3: prices of 1/4 each are the best there are.

    >>> import numpy as np
    >>> logs = np.log(3) * (1 - np.eye(2))
    >>> cover = covered([[0.0, 1.0], [1.0, 0.0]], [0.25, 0.25], logs)
    >>> cover.values.round(6).tolist(), float(cover.missing.max())
    ([0.25, 0.25], 0.0)
    >>> round(float(covered([[0.0, 1.0], [1.0, 0.0]], [0.3, 0.3], logs).missing.max()), 6)
    0.066667
    """
    table, wanted, far = (np.asarray(given, dtype=np.float64) for given in (cost, prices, logs))
    n, m = table.shape
    if wanted.shape != (n,) or far.shape != (n, n):
        raise InvalidInput(f"{n} rows need as many prices and a square table, found {wanted.shape} and {far.shape}")
    enough = _MAY_BE_MISSING * tolerance * float(np.abs(wanted).sum())
    columns = np.ascontiguousarray(table.T)
    order = np.argsort(far, axis=1, kind="stable").astype(np.int32)  # the nearest first

    watch = watch_of(time_limit)

    def several(low: int, high: int) -> list[tuple[Integers, Integers, Floats, Floats]]:
        return [_column(columns[w], wanted, far, order, enough, watch.over) for w in range(low, high)]

    covers = [one for part in on_threads(several, m) for one in part]
    missing, worst = np.zeros(n), np.zeros(n, dtype=np.int64)
    for w, (_, _, _, lack) in enumerate(covers):
        worse = lack > missing
        missing[worse], worst[worse] = lack[worse], w
    first, second, values = (np.concatenate([one[k] for one in covers]) for k in range(3))
    columns_of = np.repeat(np.arange(m), [len(one[0]) for one in covers])
    short = np.array([lack.sum() for _, _, _, lack in covers])
    return Cover(first, second, columns_of, values, missing, worst, short)


def _column(
    cost: Floats, prices: Floats, logs: Floats, order: NDArray[np.int32], enough: float, hurried: bool
) -> tuple[Integers, Integers, Floats, Floats]:
    """First and second rows, multipliers, and what every row is still short of, in one column."""
    first, second, values, left = _from_nearest(cost, prices, logs, order, enough)
    if hurried or left.sum() <= enough:
        return first, second, values, left
    needy, giving, share, need, spare, lack = _transport(cost, prices, logs, enough)
    if not giving.size:
        return first[:0], second[:0], values[:0], lack
    scale = lack.sum()
    sent = transported(share, need, spare, 0.5 * enough / scale)
    at, of, arrives, left = _ways(share, need, spare, sent, 0.25 * enough / scale)
    lack[needy] = scale * left
    return needy[at], giving[of], scale * arrives, lack


@njit(cache=True, nogil=True)
def _taken(needy, left, rest, logs, order, negligible, first, second, values):  # type: ignore[no-untyped-def]
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
            if arrives <= negligible * left[x]:
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


@njit(cache=True, nogil=True, error_model="numpy")
def _from_nearest(cost, prices, logs, order, enough):  # type: ignore[no-untyped-def]
    """First and second rows, multipliers, and what every row is still short of, if all take from the nearest."""
    over = cost - prices
    needy = np.flatnonzero(over < 0)
    left, rest = np.maximum(-over, 0.0), np.maximum(over, 0.0)
    first, second, values = np.empty(len(cost), np.int64), np.empty(len(cost), np.int64), np.empty(len(cost))
    negligible = _NEGLIGIBLE * enough / (len(cost) * left.sum())
    sequence = needy[np.argsort(-left[needy])]
    count = _taken(sequence, left, rest, logs, order, negligible, first, second, values)
    return first[:count], second[:count], values[:count], left


@njit(cache=True, nogil=True, error_model="numpy")
def _transport(cost, prices, logs, enough):  # type: ignore[no-untyped-def]
    """Who is short of something and who gives, which share arrives, what is needed and spare in parts of all that is
    short, and what every row is short of.
    """
    over = cost - prices
    needy, lack = np.flatnonzero(over < 0), np.maximum(-over, 0.0)
    giving = _giving(over, needy, lack, logs, _NEGLIGIBLE * enough / (len(cost) * lack.sum()))
    share = np.empty((len(needy), len(giving)))
    for i in range(len(needy)):
        for e in range(len(giving)):
            share[i, e] = np.exp(-max(logs[needy[i], giving[e]], _SMALLEST_LOG))
    return needy, giving, share, lack[needy] / lack.sum(), over[giving] / lack.sum(), lack


@njit(cache=True, nogil=True, error_model="numpy")
def _ways(share, need, spare, sent, spent):  # type: ignore[no-untyped-def]
    """A forest of ways: at whom each arrives and of whom it is, how much arrives, and what is still missing."""
    thin(share, need, spare, sent, spent)
    prune(share, sent)
    at, of = np.nonzero(sent)
    arrives = np.empty(len(at))
    for j in range(len(at)):
        arrives[j] = share[at[j], of[j]] * sent[at[j], of[j]]
    return at, of, arrives, missing(share, need, sent)


@njit(cache=True, nogil=True)
def _giving(over, needy, lack, logs, negligible):  # type: ignore[no-untyped-def]
    """Rows from which something arrives at one that is short."""
    counts = np.zeros(len(over), np.bool_)
    for x in needy:
        for e in range(len(over)):
            if over[e] > 0.0 and logs[x, e] < np.inf and over[e] * np.exp(-logs[x, e]) > negligible * lack[x]:
                counts[e] = True
    return np.flatnonzero(counts)
