"""Compiled parts of the interior-point method of :mod:`sfumato.lp.cone.near`.

Column y has peaks x_i, and for each of them all rows e near the column: the slack is s = r_e − d r_x with d the decay
of the pair. Pairs of a peak are a line, and after those of all peaks comes one more with decay 0, whose slacks are the
entries r themselves and whose duals are λ. Where the numbers of a column stand says
:mod:`sfumato.lp.cone.near_layout`.

H = Gᵀ diag(z/s) G + diag(λ/r) has off-diagonal entries only next to peaks. Rows that are none are eliminated first,
each alone; what is left is k × k. So H⁻¹ = diag(g) + VᵀV with one line of V for each peak. The diagonal of what is
left is summed from positive terms: z r_e²/s · (d r_x/r_e)² · (rest of h_e)/h_e, where the rest is h_e without this
pair's own part.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.lp.cone import cholesky

# infinities and NaN are looked for in what comes out, so inside the loops none need be kept apart
FAST = {"reassoc", "contract", "nnan", "nsz", "arcp"}


@njit(cache=True, nogil=True, inline="always")
def _block(w, starts, places, blocks, values):  # type: ignore[no-untyped-def]
    """The pairs of column w, one line a peak."""
    return values[blocks[w] : blocks[w + 1]].reshape(starts[w + 1] - starts[w], places[w + 1] - places[w])


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _couplings(at, decay, entries, z, v, h, among):  # type: ignore[no-untyped-def]
    """v = z r_e²/s for the pairs with rows that are no peaks, zero at peaks.

    What pairs of peaks give goes to ``among``; ``h`` gets the part of each pair of a peak with itself.
    """
    for i, x in enumerate(at):
        own, line, duals, into = entries[x], decay[i], z[i], v[i]
        for e in range(len(entries)):
            into[e] = duals[e] / (entries[e] - line[e] * own) * entries[e] * entries[e]
        h[x] += into[x]
    for i, x in enumerate(at):
        among[i, i] += h[x]
        for j, y in enumerate(at):
            if i != j:
                part = v[i, y]
                ratio = decay[i, y] * entries[x] / entries[y]
                among[j, j] += part
                among[i, i] += part * ratio * ratio
                among[i, j] -= part * ratio
                among[j, i] -= part * ratio
    for i in range(len(at)):
        for y in at:
            v[i, y] = 0.0


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def eliminated(own_entries, decay, entries, v, h, among):  # type: ignore[no-untyped-def]
    """Eliminate all rows but the peaks: v becomes the couplings w = v · d r_x/r_e, and 1/h is returned."""
    n, k = len(entries), len(own_entries)
    later = np.zeros((k + 1, n))  # sums over the peaks that come after: no part is ever taken away from a sum
    for i in range(k - 1, -1, -1):
        part = v[i]
        for e in range(n):
            later[i, e] = later[i + 1, e] + part[e]
    inverse = np.empty(n)
    for e in range(n):
        inverse[e] = 1.0 / (h[e] + later[0, e])
    for i in range(k):
        own, line, part = own_entries[i], decay[i], v[i]
        total = 0.0
        for e in range(n):
            ratio = line[e] * own / entries[e]
            value = part[e]
            total += value * ratio * ratio * (h[e] + later[i + 1, e]) * inverse[e]
            h[e] += value
            part[e] = value * ratio
        among[i, i] += total
    for i in range(k):
        for j in range(i):
            one, other = v[i], v[j]
            total = 0.0
            for e in range(n):
                total += one[e] * other[e] * inverse[e]
            among[i, j] -= total
    return inverse


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def inverted(at, decay, entries, z, v, g):  # type: ignore[no-untyped-def]
    """V and g with H⁻¹ = diag(g) + VᵀV, for one column with peaks ``at``."""
    n, k = len(entries), len(at)
    h = entries * z[k]
    least = h[at]
    among = np.zeros((k, k))
    _couplings(at, decay, entries, z, v, h, among)
    inverse = eliminated(entries[at], decay, entries, v, h, among)
    cholesky.factor(among, least, False)
    for i in range(k):
        line = v[i]
        for e in range(n):
            line[e] *= inverse[e]
        line[at[i]] = 1.0
        for j in range(i):
            share, other = among[i, j], v[j]
            for e in range(n):
                line[e] -= share * other[e]
        share = among[i, i]
        for e in range(n):
            line[e] *= share
    for e in range(n):
        g[e] = inverse[e] * entries[e] * entries[e]
    for i in range(k):
        g[at[i]] = 0.0
        line = v[i]
        for e in range(n):
            line[e] *= entries[e]


@njit(cache=True, nogil=True)
def factor_columns(low, high, starts, at, places, blocks, decay, r, z, v, g):  # type: ignore[no-untyped-def]
    """V and g of the columns low … high."""
    for w in range(low, high):
        here = slice(places[w], places[w + 1])
        inverted(
            at[starts[w] : starts[w + 1] - 1], _block(w, starts, places, blocks, decay), r[here],
            _block(w, starts, places, blocks, z), _block(w, starts, places, blocks, v), g[here],
        )  # fmt: skip


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def apply(low, high, starts, places, blocks, near, v, g, q, shift, dr, sums):  # type: ignore[no-untyped-def]
    """Add H_y⁻¹ (q_y + shift) to dr_y, and Σ dr_y to ``sums``."""
    for w in range(low, high):
        a, n = places[w], places[w + 1] - places[w]
        lines, rows, change, own = _block(w, starts, places, blocks, v), near[a : a + n], dr[a : a + n], g[a : a + n]
        force, solution = np.empty(n), np.empty(n)
        for e in range(n):
            force[e] = q[a + e] + shift[rows[e]]
            solution[e] = own[e] * force[e]
        for line in lines[:-1]:
            along = 0.0
            for e in range(n):
                along += line[e] * force[e]
            for e in range(n):
                solution[e] += along * line[e]
        for e in range(n):
            change[e] += solution[e]
            sums[rows[e]] += change[e]


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def measure_predictor(low, high, starts, at, places, blocks, decay, r, dr, z, stats):  # type: ignore[no-untyped-def]
    """With ρ = ds/s: the largest −ρ and 1 + ρ = −dz/z, and Σ sz, Σ sz ρ, Σ sz ρ²."""
    down, up, s0, s1, s2 = 0.0, 0.0, 0.0, 0.0, 0.0
    for w in range(low, high):
        here = slice(places[w], places[w + 1])
        entries, change, n = r[here], dr[here], places[w + 1] - places[w]
        lines, all_duals = _block(w, starts, places, blocks, decay), _block(w, starts, places, blocks, z)
        for i, x in enumerate(at[starts[w] : starts[w + 1]]):
            own, moved, line, duals = entries[x], change[x], lines[i], all_duals[i]
            for e in range(n):
                slack = entries[e] - line[e] * own
                ratio, product = (change[e] - line[e] * moved) / slack, slack * duals[e]
                down, up = max(down, -ratio), max(up, 1.0 + ratio)
                s0 += product
                s1 += product * ratio
                s2 += product * ratio * ratio
    stats[0], stats[1], stats[2], stats[3], stats[4] = down, up, s0, s1, s2


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def aim(  # type: ignore[no-untyped-def]
    low, high, starts, at, places, blocks, decay, weight, column, r, dr, z, excess, barrier, least, most, t, q
):
    """Targets barrier·w − ds dz for the products, and the residual they leave for the predictor's direction.

    In a predictor −ds dz = sz ρ (1 + ρ); it is kept between least·w and most·w. ``excess`` is the price of the row of
    an entry less its cost.
    """
    for w in range(low, high):
        here, own = slice(places[w], places[w + 1]), column[w]
        entries, change, force, n = r[here], dr[here], q[here], places[w + 1] - places[w]
        centre, lowest, highest = own * barrier, own * least, own * most
        for e in range(n):
            force[e] = excess[places[w] + e]
        lines, all_duals = _block(w, starts, places, blocks, decay), _block(w, starts, places, blocks, z)
        all_targets, all_weights = _block(w, starts, places, blocks, t), _block(w, starts, places, blocks, weight)
        for i, x in enumerate(at[starts[w] : starts[w + 1]]):
            mine, moved, line, duals = entries[x], change[x], lines[i], all_duals[i]
            targets, weights = all_targets[i], all_weights[i]
            back = 0.0
            for e in range(n):
                slack = entries[e] - line[e] * mine
                ratio = (change[e] - line[e] * moved) / slack
                term = slack * duals[e] * ratio * (1.0 + ratio)
                target = weights[e] * centre + max(min(term, weights[e] * highest), weights[e] * lowest)
                targets[e] = target
                push = target / slack - duals[e] * ratio
                force[e] += push
                back += line[e] * push
            force[x] -= back


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def measure(low, high, starts, at, places, blocks, decay, r, dr, z, t, stats):  # type: ignore[no-untyped-def]
    """The largest −ds/s, and the largest −dz/z."""
    down, up = 0.0, 0.0
    for w in range(low, high):
        here = slice(places[w], places[w + 1])
        entries, change, n = r[here], dr[here], places[w + 1] - places[w]
        lines, all_duals = _block(w, starts, places, blocks, decay), _block(w, starts, places, blocks, z)
        all_targets = _block(w, starts, places, blocks, t)
        for i, x in enumerate(at[starts[w] : starts[w + 1]]):
            own, moved, line, duals, targets = entries[x], change[x], lines[i], all_duals[i], all_targets[i]
            for e in range(n):
                slack = entries[e] - line[e] * own
                inverse = 1.0 / (slack * duals[e])
                ratio = (change[e] - line[e] * moved) * duals[e] * inverse
                down, up = max(down, -ratio), max(up, 1.0 + ratio - targets[e] * inverse)
    stats[0], stats[1] = down, up


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def recentre(  # type: ignore[no-untyped-def]
    low, high, starts, at, places, blocks, decay, weight, column, r, dr, z, t, excess, primal_step, dual_step, least,
    most, t_new, q,
):  # fmt: skip
    """Move targets so that products at a longer step come back between least·w and most·w (Gondzio 1996).

    The residual the new targets leave for the present direction goes into ``q``.
    """
    for w in range(low, high):
        here, own = slice(places[w], places[w + 1]), column[w]
        entries, change, force, n = r[here], dr[here], q[here], places[w + 1] - places[w]
        lowest, highest = own * least, own * most
        for e in range(n):
            force[e] = excess[places[w] + e]
        lines, all_duals = _block(w, starts, places, blocks, decay), _block(w, starts, places, blocks, z)
        all_targets, all_weights = _block(w, starts, places, blocks, t), _block(w, starts, places, blocks, weight)
        all_renewed = _block(w, starts, places, blocks, t_new)
        for i, x in enumerate(at[starts[w] : starts[w + 1]]):
            mine, ahead, line, duals = entries[x], change[x], lines[i], all_duals[i]
            targets, renewed, weights = all_targets[i], all_renewed[i], all_weights[i]
            back = 0.0
            for e in range(n):
                slack, ds, dual = entries[e] - line[e] * mine, change[e] - line[e] * ahead, duals[e]
                inverse = 1.0 / slack
                step = (targets[e] - dual * ds) * inverse - dual
                product = (slack + primal_step * ds) * (dual + dual_step * step)
                top = weights[e] * highest
                moved = max(max(min(product, top), weights[e] * lowest) - product, -top)
                renewed[e] = targets[e] + moved
                push = moved * inverse + step + dual
                force[e] += push
                back += line[e] * push
            force[x] -= back


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def advance(low, high, starts, at, places, blocks, decay, r, dr, z, t, primal_step, dual_step):  # type: ignore[no-untyped-def]
    """Take the step, in place."""
    for w in range(low, high):
        here = slice(places[w], places[w + 1])
        entries, change, n = r[here], dr[here], places[w + 1] - places[w]
        lines, all_duals = _block(w, starts, places, blocks, decay), _block(w, starts, places, blocks, z)
        all_targets = _block(w, starts, places, blocks, t)
        for i, x in enumerate(at[starts[w] : starts[w + 1]]):
            own, moved, line, duals, targets = entries[x], change[x], lines[i], all_duals[i], all_targets[i]
            for e in range(n):
                slack, ds, dual = entries[e] - line[e] * own, change[e] - line[e] * moved, duals[e]
                duals[e] = dual + dual_step * ((targets[e] - dual * ds) / slack - dual)
        for e in range(n):
            entries[e] += primal_step * change[e]


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def centred(low, high, starts, at, places, blocks, decay, weight, aims, r, z):  # type: ignore[no-untyped-def]
    """Multipliers z for which the products s z of column w are its aim times their weights."""
    for w in range(low, high):
        entries = r[places[w] : places[w + 1]]
        lines, all_duals = _block(w, starts, places, blocks, decay), _block(w, starts, places, blocks, z)
        weights = _block(w, starts, places, blocks, weight)
        for i, x in enumerate(at[starts[w] : starts[w + 1]]):
            own, line, duals, shares = entries[x], lines[i], all_duals[i], weights[i]
            for e in range(len(entries)):
                duals[e] = aims[w] * shares[e] / (entries[e] - line[e] * own)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def adjoints(low, high, starts, at, places, blocks, decay, z, adjoint):  # type: ignore[no-untyped-def]
    """Gᵀz of the columns low … high, without λ."""
    for w in range(low, high):
        into = adjoint[places[w] : places[w + 1]]
        into[:] = 0.0
        lines, all_duals = _block(w, starts, places, blocks, decay), _block(w, starts, places, blocks, z)
        for i, x in enumerate(at[starts[w] : starts[w + 1] - 1]):
            line, duals = lines[i], all_duals[i]
            back = 0.0
            for e in range(len(into)):
                into[e] += duals[e]
                back += line[e] * duals[e]
            into[x] -= back
