"""Compiled parts of the interior-point method of :mod:`sfumato.lp.peaks`.

Column y has peaks x_i, and for each of them all rows e: the slack is s = r_e − d r_x with d the decay of the pair.
Peaks of all columns stand in one list, ``rows``, those of column y from ``starts[y]`` on; arrays over pairs have one
line a peak and one entry a row, arrays over entries one line a column. A peak with itself has decay 0 and says r ≥ 0.

H = Gᵀ diag(z/s) G + diag(λ/r) has off-diagonal entries only next to peaks. Rows that are none are eliminated first,
each alone; what is left is k × k. So H⁻¹ = diag(g) + VᵀV with one line of V for each peak. The diagonal of what is
left is summed from positive terms: z r_e²/s · (d r_x/r_e)² · (rest of h_e)/h_e, where the rest is h_e without this
pair's own part.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = [
    "advance",
    "aim",
    "apply",
    "balance",
    "close",
    "factor",
    "least",
    "measure",
    "measure_predictor",
    "place",
    "pulls",
    "recentre",
]

# infinities and NaN are looked for in what comes out, so inside the loops none need be kept apart
_FAST = {"reassoc", "contract", "nnan", "nsz", "arcp"}


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _couplings(w, a, rows, decay, r, z, v, h, among):  # type: ignore[no-untyped-def]
    """v = z r_e²/s for the pairs with rows that are no peaks, zero at peaks.

    What pairs of peaks give goes to ``among``; ``h`` gets the part of each pair of a peak with itself.
    """
    n, k = r.shape[1], len(among)
    entries = r[w]
    for i in range(k):
        x = rows[a + i]
        own, line, mates, into = entries[x], decay[x], z[a + i], v[a + i]
        for e in range(n):
            into[e] = mates[e] / (entries[e] - line[e] * own) * entries[e] * entries[e]
        h[x] += into[x]
    for i in range(k):
        x = rows[a + i]
        among[i, i] += h[x]
        for j in range(k):
            y = rows[a + j]
            if i != j:
                part = v[a + i, y]
                ratio = decay[x, y] * entries[x] / entries[y]
                among[j, j] += part
                among[i, i] += part * ratio * ratio
                among[i, j] -= part * ratio
                among[j, i] -= part * ratio
    for i in range(k):
        for j in range(k):
            v[a + i, rows[a + j]] = 0.0


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _eliminated(w, a, rows, decay, r, v, h, among):  # type: ignore[no-untyped-def]
    """Eliminate all rows but the peaks: v becomes the couplings w = v · d r_x/r_e, and 1/h is returned."""
    n, k = r.shape[1], len(among)
    entries = r[w]
    later = np.zeros((k + 1, n))  # sums over the peaks that come after: no part is ever taken away from a sum
    for i in range(k - 1, -1, -1):
        part = v[a + i]
        for e in range(n):
            later[i, e] = later[i + 1, e] + part[e]
    inverse = np.empty(n)
    for e in range(n):
        inverse[e] = 1.0 / (h[e] + later[0, e])
    for i in range(k):
        x = rows[a + i]
        own, line, part = entries[x], decay[x], v[a + i]
        found = 0.0
        for e in range(n):
            ratio = line[e] * own / entries[e]
            value = part[e]
            found += value * ratio * ratio * (h[e] + later[i + 1, e]) * inverse[e]
            h[e] += value
            part[e] = value * ratio
        among[i, i] += found
    for i in range(k):
        for j in range(i):
            one, other = v[a + i], v[a + j]
            found = 0.0
            for e in range(n):
                found += one[e] * other[e] * inverse[e]
            among[i, j] -= found
    return inverse


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def _cholesky(matrix, least):  # type: ignore[no-untyped-def]
    """The lower factor in place, with reciprocals on the diagonal; no pivot is below ``least``."""
    for j in range(len(matrix)):
        pivot = matrix[j, j]
        for q in range(j):
            pivot -= matrix[j, q] * matrix[j, q]
        pivot = 1.0 / np.sqrt(max(pivot, least[j]))
        for i in range(j + 1, len(matrix)):
            found = matrix[i, j]
            for q in range(j):
                found -= matrix[i, q] * matrix[j, q]
            matrix[i, j] = found * pivot
        matrix[j, j] = pivot


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def factor(low, high, starts, rows, decay, r, lam, z, v, g):  # type: ignore[no-untyped-def]
    """V and g with H⁻¹ = diag(g) + VᵀV, for the columns low … high."""
    n = r.shape[1]
    for w in range(low, high):
        a, k = starts[w], starts[w + 1] - starts[w]
        entries, h = r[w], np.empty(n)
        for e in range(n):
            h[e] = entries[e] * lam[w, e]
        least = np.empty(k)
        for i in range(k):
            least[i] = h[rows[a + i]]
        among = np.zeros((k, k))
        _couplings(w, a, rows, decay, r, z, v, h, among)
        inverse = _eliminated(w, a, rows, decay, r, v, h, among)
        _cholesky(among, least)
        for i in range(k):
            line = v[a + i]
            for e in range(n):
                line[e] *= inverse[e]
            line[rows[a + i]] = 1.0
            for j in range(i):
                share, other = among[i, j], v[a + j]
                for e in range(n):
                    line[e] -= share * other[e]
            share = among[i, i]
            for e in range(n):
                line[e] *= share
        for e in range(n):
            g[w, e] = inverse[e] * entries[e] * entries[e]
        for i in range(k):
            g[w, rows[a + i]] = 0.0
            line = v[a + i]
            for e in range(n):
                line[e] *= entries[e]


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def apply(low, high, starts, v, g, q, shift, dr, sums):  # type: ignore[no-untyped-def]
    """Add H_y⁻¹ (q_y + shift) to dr_y, and Σ dr_y to ``sums``."""
    n = q.shape[1]
    force, found = np.empty(n), np.empty(n)
    for w in range(low, high):
        for e in range(n):
            force[e] = q[w, e] + shift[e]
            found[e] = g[w, e] * force[e]
        for i in range(starts[w], starts[w + 1]):
            line = v[i]
            along = 0.0
            for e in range(n):
                along += line[e] * force[e]
            for e in range(n):
                found[e] += along * line[e]
        for e in range(n):
            dr[w, e] += found[e]
            sums[e] += dr[w, e]


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def measure_predictor(low, high, starts, rows, decay, r, dr, lam, z, stats):  # type: ignore[no-untyped-def]
    """With ρ = ds/s and dr/r: the largest −ρ and 1 + ρ = −dz/z, and Σ sz, Σ sz ρ, Σ sz ρ²."""
    n = r.shape[1]
    down, up, s0, s1, s2 = 0.0, 0.0, 0.0, 0.0, 0.0
    for w in range(low, high):
        entries, change = r[w], dr[w]
        for e in range(n):
            ratio, product = change[e] / entries[e], entries[e] * lam[w, e]
            down, up = max(down, -ratio), max(up, 1.0 + ratio)
            s0 += product
            s1 += product * ratio
            s2 += product * ratio * ratio
        for i in range(starts[w], starts[w + 1]):
            x = rows[i]
            own, moved, line, mates = entries[x], change[x], decay[x], z[i]
            for e in range(n):
                slack = entries[e] - line[e] * own
                ratio, product = (change[e] - line[e] * moved) / slack, slack * mates[e]
                down, up = max(down, -ratio), max(up, 1.0 + ratio)
                s0 += product
                s1 += product * ratio
                s2 += product * ratio * ratio
    stats[:] = down, up, s0, s1, s2


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def aim(  # type: ignore[no-untyped-def]
    low, high, starts, rows, decay, weight, share, heft, r, dr, lam, z, cost, price, barrier, least, most, t, tr, q
):
    """Targets barrier·w − ds dz for the products, and the residual they leave for the predictor's direction.

    In a predictor −ds dz = sz ρ (1 + ρ); it is kept between least·w and most·w.
    """
    n = r.shape[1]
    for w in range(low, high):
        entries, change, force, own = r[w], dr[w], q[w], heft[w]
        centre, lowest, highest = own * barrier, own * least, own * most
        for e in range(n):
            ratio = change[e] / entries[e]
            term = entries[e] * lam[w, e] * ratio * (1.0 + ratio)
            target = share[e] * centre + max(min(term, share[e] * highest), share[e] * lowest)
            tr[w, e] = target
            force[e] = target / entries[e] - lam[w, e] * ratio + price[e] - cost[w, e]
        for i in range(starts[w], starts[w + 1]):
            x = rows[i]
            mine, moved, line, mates, targets, weights = entries[x], change[x], decay[x], z[i], t[i], weight[x]
            back = 0.0
            for e in range(n):
                slack = entries[e] - line[e] * mine
                ratio = (change[e] - line[e] * moved) / slack
                term = slack * mates[e] * ratio * (1.0 + ratio)
                target = weights[e] * centre + max(min(term, weights[e] * highest), weights[e] * lowest)
                targets[e] = target
                push = target / slack - mates[e] * ratio
                force[e] += push
                back += line[e] * push
            force[x] -= back


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def measure(low, high, starts, rows, decay, r, dr, lam, z, t, tr, stats):  # type: ignore[no-untyped-def]
    """The largest −ds/s and −dr/r, and the largest −dz/z and −dλ/λ."""
    n = r.shape[1]
    down, up = 0.0, 0.0
    for w in range(low, high):
        entries, change = r[w], dr[w]
        for e in range(n):
            ratio = change[e] / entries[e]
            down, up = max(down, -ratio), max(up, 1.0 + ratio - tr[w, e] / (entries[e] * lam[w, e]))
        for i in range(starts[w], starts[w + 1]):
            x = rows[i]
            own, moved, line, mates, targets = entries[x], change[x], decay[x], z[i], t[i]
            for e in range(n):
                slack = entries[e] - line[e] * own
                inverse = 1.0 / (slack * mates[e])
                ratio = (change[e] - line[e] * moved) * mates[e] * inverse
                down, up = max(down, -ratio), max(up, 1.0 + ratio - targets[e] * inverse)
    stats[0], stats[1] = down, up


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def recentre(  # type: ignore[no-untyped-def]
    low, high, starts, rows, decay, weight, share, heft, r, dr, lam, z, t, tr, cost, price, primal, dual, least, most,
    t_new, tr_new, q,
):  # fmt: skip
    """Move targets so that products at a longer step come back between least·w and most·w (Gondzio 1996).

    The residual the new targets leave for the present direction goes into ``q``.
    """
    n = r.shape[1]
    for w in range(low, high):
        entries, change, force, own = r[w], dr[w], q[w], heft[w]
        lowest, highest = own * least, own * most
        for e in range(n):
            mate, target = lam[w, e], tr[w, e]
            step = (target - mate * change[e]) / entries[e] - mate
            product = (entries[e] + primal * change[e]) * (mate + dual * step)
            moved = max(max(min(product, share[e] * highest), share[e] * lowest) - product, -share[e] * highest)
            tr_new[w, e] = target + moved
            force[e] = moved / entries[e] + step + mate + price[e] - cost[w, e]
        for i in range(starts[w], starts[w + 1]):
            x = rows[i]
            mine, ahead, line, mates = entries[x], change[x], decay[x], z[i]
            targets, renewed, weights = t[i], t_new[i], weight[x]
            back = 0.0
            for e in range(n):
                slack, ds, mate = entries[e] - line[e] * mine, change[e] - line[e] * ahead, mates[e]
                inverse = 1.0 / slack
                step = (targets[e] - mate * ds) * inverse - mate
                product = (slack + primal * ds) * (mate + dual * step)
                top = weights[e] * highest
                moved = max(max(min(product, top), weights[e] * lowest) - product, -top)
                renewed[e] = targets[e] + moved
                push = moved * inverse + step + mate
                force[e] += push
                back += line[e] * push
            force[x] -= back


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def advance(low, high, starts, rows, decay, r, dr, lam, z, t, tr, primal, dual):  # type: ignore[no-untyped-def]
    """Take the step, in place."""
    n = r.shape[1]
    for w in range(low, high):
        entries, change = r[w], dr[w]
        for i in range(starts[w], starts[w + 1]):
            x = rows[i]
            own, moved, line, mates, targets = entries[x], change[x], decay[x], z[i], t[i]
            for e in range(n):
                slack, ds, mate = entries[e] - line[e] * own, change[e] - line[e] * moved, mates[e]
                mates[e] = mate + dual * ((targets[e] - mate * ds) / slack - mate)
        for e in range(n):
            mate = lam[w, e]
            lam[w, e] = mate + dual * ((tr[w, e] - mate * change[e]) / entries[e] - mate)
            entries[e] += primal * change[e]


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def pulls(low, high, starts, rows, decay, z, pull):  # type: ignore[no-untyped-def]
    """Gᵀz of the columns low … high."""
    n = pull.shape[1]
    for w in range(low, high):
        into = pull[w]
        into[:] = 0.0
        for i in range(starts[w], starts[w + 1]):
            line, mates = decay[rows[i]], z[i]
            back = 0.0
            for e in range(n):
                into[e] += mates[e]
                back += line[e] * mates[e]
            into[rows[i]] -= back


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def close(low, high, decay, columns, closed):  # type: ignore[no-untyped-def]
    """The least columns above given ones that keep all bounds: one sweep is enough where bounds are a metric."""
    n = columns.shape[1]
    for w in range(low, high):
        entries, into = columns[w], closed[w]
        into[:] = entries
        for x in range(n):
            own, line = entries[x], decay[x]
            for e in range(n):
                into[e] = max(into[e], line[e] * own)


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def least(low, high, starts, rows, decay, r, into):  # type: ignore[no-untyped-def]
    """The least columns with the entries of their peaks: all other rows get what peaks ask of them.

    They keep the bounds of all pairs, since these are a metric.
    """
    n = r.shape[1]
    for w in range(low, high):
        entries, found = r[w], into[w]
        found[:] = 0.0
        for i in range(starts[w], starts[w + 1]):
            own, line = entries[rows[i]], decay[rows[i]]
            found[rows[i]] = max(found[rows[i]], own)
            for e in range(n):
                found[e] = max(found[e], line[e] * own)


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def balance(matrix, cost, decay, order, lacking):  # type: ignore[no-untyped-def]
    """Rows moved in place, one after the other, towards a sum of 1, with no bound broken.

    All other rows leave an interval for every entry. What a row lacks is put where it costs least, what it has too much
    is taken where it costs most; ``lacking`` says what it still lacks, negative if it has too much.
    """
    n, m = matrix.shape
    low, high = np.empty(m), np.empty(m)
    for x in order:
        row = matrix[x]
        lacks = 1.0 - row.sum()
        if abs(lacks) > 1e-15:
            low[:] = 0.0
            high[:] = 1.0
            for z in range(n):
                near = decay[z, x]
                if near > 0.0:
                    other, far = matrix[z], 1.0 / near
                    for w in range(m):
                        low[w] = max(low[w], near * other[w])
                        high[w] = min(high[w], far * other[w])
            ranked = np.argsort(cost[x])
            for i in range(m):
                w = ranked[i] if lacks > 0.0 else ranked[m - 1 - i]
                change = (
                    min(lacks, max(high[w] - row[w], 0.0)) if lacks > 0.0 else max(lacks, min(low[w] - row[w], 0.0))
                )
                row[w] += change
                lacks -= change
                if abs(lacks) <= 1e-15:
                    break
        lacking[x] = lacks


@njit(cache=True, nogil=True, fastmath=_FAST, error_model="numpy")
def place(matrix, over, decay, rows, lacking, parts):  # type: ignore[no-untyped-def]
    """Give rows what they lack, in a few parts, each to the column where that costs least in terms of prices.

    Other rows are raised in that column by what the bounds then ask of them; ``over`` is what an entry costs beyond the
    price of its row, and so what it costs to raise one and lower another of the same row that no bound holds.
    """
    n, m = matrix.shape
    price = np.empty(m)
    for x in rows:
        line = decay[x]
        for _ in range(parts):
            part = lacking[x] / parts
            price[:] = over[x] * part
            for z in range(n):
                if line[z] > 0.0:
                    for w in range(m):
                        price[w] += max(line[z] * (matrix[x, w] + part) - matrix[z, w], 0.0) * over[z, w]
            best = price.argmin()
            matrix[x, best] += part
            for z in range(n):
                matrix[z, best] = max(matrix[z, best], line[z] * matrix[x, best])
