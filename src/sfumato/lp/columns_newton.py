"""Compiled parts of the block interior-point method of :mod:`sfumato.lp.columns`.

Four columns stand side by side in the lanes of a register (:mod:`sfumato.lp.lanes`) and make one block. Arrays
over secrets have shape (blocks, n, 4), arrays over pairs (blocks, pairs, 4). For a pair k = (x, e) the slack is
s = r_e − d r_x with d the decay of the pair; only its multiplier z is stored, slacks are computed anew each time
(a fused product keeps all their digits).

Where the accuracy comes from
-----------------------------
A column near its optimum has slacks of 1e-8 of its entries and less, and H = Gᵀ diag(z/s) G + diag(λ/r) then has
a condition number beyond 1e16. Two things keep Newton directions good to nearly full precision:

- With r ∘ H ∘ r the off-diagonal entries are −w ≤ 0 and the row sums are r (λ + Gᵀz), both known without
  cancellation. Elimination in terms of these two adds and never subtracts, as for Markov chains (Grassmann,
  Taksar and Heyman 1985): tiny pivots come out as accurate as large ones.
- Directions are refined: each further right-hand side is a residual for the direction so far, and the rounding
  error of the sum is kept beside it (``dr`` and ``rest``).
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.lp.lanes import larger, load, root, smaller, spread, store

__all__ = [
    "advance",
    "aim",
    "apply",
    "extend",
    "factor",
    "link_factor",
    "link_solve",
    "measure",
    "measure_predictor",
    "recentre",
]

_PANEL = 32  # columns eliminated before the rest of the matrix is touched
_STRIP = 16  # rows that stay in cache while others stream past


@njit(cache=True, nogil=True)
def _dots(rows, i, others, j, start, stop, n):  # type: ignore[no-untyped-def]
    """Scalar products of rows i, …, i + 3 with rows j, j + 1 of the others, over columns start … stop."""
    zero = spread(0.0)
    a0, a1, b0, b1, c0, c1, d0, d1 = zero, zero, zero, zero, zero, zero, zero, zero
    p, q = i * n, j * n
    for k in range(start, stop):
        u, v = load(others, q + k), load(others, q + n + k)
        row = load(rows, p + k)
        a0 = a0 + row * u
        a1 = a1 + row * v
        row = load(rows, p + n + k)
        b0 = b0 + row * u
        b1 = b1 + row * v
        row = load(rows, p + 2 * n + k)
        c0 = c0 + row * u
        c1 = c1 + row * v
        row = load(rows, p + 3 * n + k)
        d0 = d0 + row * u
        d1 = d1 + row * v
    return a0, a1, b0, b1, c0, c1, d0, d1


@njit(cache=True, nogil=True)
def _add_dots(sums, rows, i, others, j, start, stop, n):  # type: ignore[no-untyped-def]
    """Add the scalar products of :func:`_dots` to the entries (i … i + 3, j … j + 1) of ``sums``."""
    a0, a1, b0, b1, c0, c1, d0, d1 = _dots(rows, i, others, j, start, stop, n)
    at = i * n + j
    store(sums, at, load(sums, at) + a0)
    store(sums, at + 1, load(sums, at + 1) + a1)
    at += n
    store(sums, at, load(sums, at) + b0)
    store(sums, at + 1, load(sums, at + 1) + b1)
    at += n
    store(sums, at, load(sums, at) + c0)
    store(sums, at + 1, load(sums, at + 1) + c1)
    at += n
    store(sums, at, load(sums, at) + d0)
    store(sums, at + 1, load(sums, at + 1) + d1)


@njit(cache=True, nogil=True)
def _pivot(w, j, size, excess, least):  # type: ignore[no-untyped-def]
    """Divide column j by the root of its pivot: what is left of the column plus the excess of row j.

    In exact arithmetic no pivot is below rλ, because the rest of H is positive semidefinite.
    """
    pivot = load(excess, j)
    for i in range(j + 1, size):
        pivot = pivot + load(w, i * size + j)
    scale = spread(1.0) / root(larger(pivot, load(least, j)))
    store(w, j * size + j, scale)
    share = load(excess, j) * scale
    for i in range(j + 1, size):
        entry = load(w, i * size + j) * scale
        store(w, i * size + j, entry)
        store(excess, i, load(excess, i) + entry * share)


@njit(cache=True, nogil=True)
def _eliminate(w, size, excess, least):  # type: ignore[no-untyped-def]
    """H = L Lᵀ for off-diagonal entries −w and row sums ``excess``: w becomes −L, with reciprocals on the diagonal."""
    for start in range(0, size, _PANEL):
        stop = min(start + _PANEL, size)
        for j in range(start, stop, 2):
            for i in range(j // 4 * 4, size, 4):
                _add_dots(w, w, i, w, j, start, j, size)
            _pivot(w, j, size, excess, least)
            corner = load(w, (j + 1) * size + j)
            for i in range(j + 2, size):
                at = i * size + j
                store(w, at + 1, load(w, at + 1) + load(w, at) * corner)
            _pivot(w, j + 1, size, excess, least)
        for j in range(stop, size, 2):
            for i in range(j // 4 * 4, size, 4):
                _add_dots(w, w, i, w, j, start, stop, size)


@njit(cache=True, nogil=True)
def _finish(v, i, j, n, left, right, first, below, second):  # type: ignore[no-untyped-def]
    """Columns j and j + 1 of row i, given the scalar products with the columns before."""
    at = i * n + j
    left = (load(v, at) + left) * first
    store(v, at, left)
    store(v, at + 1, (load(v, at + 1) + right + left * below) * second)


@njit(cache=True, nogil=True)
def _transposed_inverse(w, v, size):  # type: ignore[no-untyped-def]
    """V = L⁻ᵀ: the rows of the identity after the same elimination, sums of positive terms again."""
    for i in range(size):
        for k in range(i // 4 * 4, size):
            store(v, i * size + k, spread(0.0))
        store(v, i * size + i, spread(1.0))
    for top in range(0, size, _STRIP):
        bottom = min(top + _STRIP, size)
        for j in range(top, size, 2):
            at = j * size + j
            first, below, second = load(w, at), load(w, at + size), load(w, at + size + 1)
            for i in range(top, min(bottom, j + 2), 4):
                a0, a1, b0, b1, c0, c1, d0, d1 = _dots(v, i, w, j, i, j, size)
                _finish(v, i, j, size, a0, a1, first, below, second)
                _finish(v, i + 1, j, size, b0, b1, first, below, second)
                _finish(v, i + 2, j, size, c0, c1, first, below, second)
                _finish(v, i + 3, j, size, d0, d1, first, below, second)


@njit(cache=True, nogil=True)
def factor(  # type: ignore[no-untyped-def]
    low, high, first, second, decay, r, lam, z, pull, mask, roots, w, v, excess, least, sums
):
    """H_y⁻¹ = U_y U_yᵀ for the columns of blocks low … high; U into ``roots``, Σ H_y⁻¹ added to ``sums``.

    ``roots`` has the rows of the upper triangles one after the other. ``pull`` is Gᵀz. Lanes with mask 0 get U = 0.
    """
    n, size, pairs = r.shape[1], w.shape[0], len(first)
    one, zero = spread(1.0), spread(0.0)
    for b in range(low, high):
        for i in range(size):
            for j in range(i // 4 * 4 + 4):
                store(w, i * size + j, zero)
            if i < n:
                at = b * n + i
                store(excess, i, load(r, at) * (load(lam, at) + load(pull, at)))
                store(least, i, load(r, at) * load(lam, at))
            else:
                store(excess, i, one)
                store(least, i, one)
        for k in range(pairs):
            x, e, d = first[k], second[k], spread(decay[k])
            here, there = load(r, b * n + x), load(r, b * n + e)
            at = max(x, e) * size + min(x, e)
            store(w, at, load(w, at) + load(z, b * pairs + k) / (there - d * here) * there * (d * here))
        _eliminate(w, size, excess, least)
        _transposed_inverse(w, v, size)
        at = b * (n * (n + 1) // 2)
        for i in range(n):
            scale = load(r, b * n + i) * load(mask, b)
            for k in range(i, n):
                entry = load(v, i * size + k) * scale
                store(v, i * size + k, entry)
                store(roots, at + k - i, entry)
            at += n - i
        for top in range(0, size, _STRIP):
            bottom = min(top + _STRIP, size)
            for j in range(0, bottom, 2):
                for i in range(max(j // 4 * 4, top), bottom, 4):
                    _add_dots(sums, v, i, v, j, i, size, size)


@njit(cache=True, nogil=True)
def apply(low, high, roots, q, shift, out, sums, work):  # type: ignore[no-untyped-def]
    """out_y = H_y⁻¹ (q_y + shift) for the columns of blocks low … high; Σ out_y added to ``sums``."""
    n = q.shape[1]
    half = n * (n + 1) // 2
    zero = spread(0.0)
    for b in range(low, high):
        for k in range(n):
            store(work, k, zero)
        at = b * half
        for i in range(n):
            force = load(q, b * n + i) + spread(shift[i])
            for k in range(i, n):
                store(work, k, load(work, k) + load(roots, at + k - i) * force)
            at += n - i
        at = b * half
        for i in range(n):
            even, odd = zero, zero
            for k in range(i, n - 1, 2):
                even = even + load(roots, at + k - i) * load(work, k)
                odd = odd + load(roots, at + k - i + 1) * load(work, k + 1)
            if (n - i) % 2:
                even = even + load(roots, at + n - 1 - i) * load(work, n - 1)
            at += n - i
            store(out, b * n + i, even + odd)
            store(sums, i, load(sums, i) + even + odd)


@njit(cache=True, nogil=True)
def extend(low, high, out, dr, rest, sums):  # type: ignore[no-untyped-def]
    """Add a correction to dr, with the rounding error of the sum added to ``rest``; Σ dr added to ``sums``."""
    n = out.shape[1]
    for b in range(low, high):
        for x in range(n):
            at = b * n + x
            old, more = load(dr, at), load(out, at)
            new = old + more
            part = new - old
            store(rest, at, load(rest, at) + ((old - (new - part)) + (more - part)))
            store(dr, at, new)
            store(sums, x, load(sums, x) + new)


@njit(cache=True, nogil=True)
def measure_predictor(  # type: ignore[no-untyped-def]
    low, high, first, second, decay, r, dr, lam, z, mask, stats
):
    """With ρ = ds/s and dr/r: the largest −ρ and 1 + ρ = −dz/z, and Σ sz, Σ sz ρ, Σ sz ρ²."""
    n, pairs = r.shape[1], len(first)
    one, zero = spread(1.0), spread(0.0)
    down, up = load(stats, 0), load(stats, 1)
    t0, t1, t2 = load(stats, 2), load(stats, 3), load(stats, 4)
    for b in range(low, high):
        s0, s1, s2 = zero, zero, zero
        for x in range(n):
            at = b * n + x
            entry = load(r, at)
            ratio = load(dr, at) / entry
            product = entry * load(lam, at)
            down = larger(down, zero - ratio)
            up = larger(up, one + ratio)
            s0 = s0 + product
            s1 = s1 + product * ratio
            s2 = s2 + product * ratio * ratio
        for k in range(pairs):
            x, e, d = b * n + first[k], b * n + second[k], spread(decay[k])
            slack = load(r, e) - d * load(r, x)
            ratio = (load(dr, e) - d * load(dr, x)) / slack
            product = slack * load(z, b * pairs + k)
            down = larger(down, zero - ratio)
            up = larger(up, one + ratio)
            s0 = s0 + product
            s1 = s1 + product * ratio
            s2 = s2 + product * ratio * ratio
        keep = load(mask, b)
        t0, t1, t2 = t0 + keep * s0, t1 + keep * s1, t2 + keep * s2
    store(stats, 0, down)
    store(stats, 1, up)
    store(stats, 2, t0)
    store(stats, 3, t1)
    store(stats, 4, t2)


@njit(cache=True, nogil=True)
def aim(  # type: ignore[no-untyped-def]
    low, high, first, second, decay, weight, share, r, dr, lam, z, cost, price, barrier, least, most, t, tr, q
):
    """Targets barrier·w − ds dz for the products, and the residual they leave for the predictor's direction.

    In a predictor −ds dz = sz ρ (1 + ρ); it is kept between least·w and most·w.
    """
    n, pairs = r.shape[1], len(first)
    one = spread(1.0)
    centre, lowest, highest = spread(barrier), spread(least), spread(most)
    for b in range(low, high):
        for x in range(n):
            at = b * n + x
            entry, mate, w = load(r, at), load(lam, at), spread(share[x])
            ratio = load(dr, at) / entry
            term = entry * mate * ratio * (one + ratio)
            target = w * centre + larger(smaller(term, w * highest), w * lowest)
            store(tr, at, target)
            store(q, at, target / entry - mate * ratio + spread(price[x]) - load(cost, at))
        for k in range(pairs):
            x, e, d, w = b * n + first[k], b * n + second[k], spread(decay[k]), spread(weight[k])
            slack, mate = load(r, e) - d * load(r, x), load(z, b * pairs + k)
            ratio = (load(dr, e) - d * load(dr, x)) / slack
            term = slack * mate * ratio * (one + ratio)
            target = w * centre + larger(smaller(term, w * highest), w * lowest)
            store(t, b * pairs + k, target)
            force = target / slack - mate * ratio
            store(q, e, load(q, e) + force)
            store(q, x, load(q, x) - d * force)


@njit(cache=True, nogil=True)
def measure(low, high, first, second, decay, r, dr, rest, lam, z, t, tr, stats):  # type: ignore[no-untyped-def]
    """The largest −ds/s and −dr/r, and the largest −dz/z and −dλ/λ."""
    n, pairs = r.shape[1], len(first)
    one, zero = spread(1.0), spread(0.0)
    down, up = load(stats, 0), load(stats, 1)
    for b in range(low, high):
        for x in range(n):
            at = b * n + x
            entry = load(r, at)
            ratio = (load(dr, at) + load(rest, at)) / entry
            down = larger(down, zero - ratio)
            up = larger(up, one + ratio - load(tr, at) / (entry * load(lam, at)))
        for k in range(pairs):
            x, e, d = b * n + first[k], b * n + second[k], spread(decay[k])
            slack, mate = load(r, e) - d * load(r, x), load(z, b * pairs + k)
            change = (load(dr, e) - d * load(dr, x)) + (load(rest, e) - d * load(rest, x))
            inverse = one / (slack * mate)
            ratio = change * mate * inverse
            down = larger(down, zero - ratio)
            up = larger(up, one + ratio - load(t, b * pairs + k) * inverse)
    store(stats, 0, down)
    store(stats, 1, up)


@njit(cache=True, nogil=True)
def recentre(  # type: ignore[no-untyped-def]
    low, high, first, second, decay, weight, share, r, dr, rest, lam, z, t, tr, cost, price, primal, dual,
    least, most, t_new, tr_new, q,
):  # fmt: skip
    """Move targets so that products at a longer step come back between least·w and most·w (Gondzio 1996).

    The residual the new targets leave for the present direction goes into ``q``.
    """
    n, pairs = r.shape[1], len(first)
    one, zero = spread(1.0), spread(0.0)
    ahead, beside, lowest, highest = spread(primal), spread(dual), spread(least), spread(most)
    for b in range(low, high):
        for x in range(n):
            at = b * n + x
            entry, mate, target, w = load(r, at), load(lam, at), load(tr, at), spread(share[x])
            change = load(dr, at) + load(rest, at)
            step = (target - mate * change) / entry - mate
            product = (entry + ahead * change) * (mate + beside * step)
            moved = larger(larger(smaller(product, w * highest), w * lowest) - product, zero - w * highest)
            store(tr_new, at, target + moved)
            store(q, at, moved / entry + step + mate + spread(price[x]) - load(cost, at))
        for k in range(pairs):
            x, e, d, w = b * n + first[k], b * n + second[k], spread(decay[k]), spread(weight[k])
            slack, mate, target = load(r, e) - d * load(r, x), load(z, b * pairs + k), load(t, b * pairs + k)
            change = (load(dr, e) - d * load(dr, x)) + (load(rest, e) - d * load(rest, x))
            inverse = one / slack
            step = (target - mate * change) * inverse - mate
            product = (slack + ahead * change) * (mate + beside * step)
            moved = larger(larger(smaller(product, w * highest), w * lowest) - product, zero - w * highest)
            store(t_new, b * pairs + k, target + moved)
            force = moved * inverse + step + mate
            store(q, e, load(q, e) + force)
            store(q, x, load(q, x) - d * force)


@njit(cache=True, nogil=True)
def advance(  # type: ignore[no-untyped-def]
    low, high, first, second, decay, r, dr, rest, lam, z, t, tr, primal, dual, z_new, pull
):
    """Take the step: in place for r and λ, into ``z_new`` for z; ``pull`` becomes Gᵀz of the new z."""
    n, pairs = r.shape[1], len(first)
    ahead, beside, zero = spread(primal), spread(dual), spread(0.0)
    for b in range(low, high):
        for x in range(n):
            store(pull, b * n + x, zero)
        for k in range(pairs):
            x, e, d = b * n + first[k], b * n + second[k], spread(decay[k])
            slack, mate = load(r, e) - d * load(r, x), load(z, b * pairs + k)
            change = (load(dr, e) - d * load(dr, x)) + (load(rest, e) - d * load(rest, x))
            mate = mate + beside * ((load(t, b * pairs + k) - mate * change) / slack - mate)
            store(z_new, b * pairs + k, mate)
            store(pull, e, load(pull, e) + mate)
            store(pull, x, load(pull, x) - d * mate)
        for x in range(n):
            at = b * n + x
            entry, mate, change = load(r, at), load(lam, at), load(dr, at) + load(rest, at)
            store(lam, at, mate + beside * ((load(tr, at) - mate * change) / entry - mate))
            store(r, at, entry + ahead * change)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def link_factor(matrix):  # type: ignore[no-untyped-def]
    """Cholesky factor of Σ H_y⁻¹ in place, below the diagonal, with reciprocals on it.

    A pivot that has lost all its digits fixes its price for this direction. A library routine would be no
    faster at these sizes and would start threads of its own.
    """
    n = len(matrix)
    for i in range(n):
        for j in range(i):
            found = matrix[i, j]
            for k in range(j):
                found -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = found * matrix[j, j]
        found = matrix[i, i]
        for k in range(i):
            found -= matrix[i, k] * matrix[i, k]
        matrix[i, i] = 0.0 if found <= 2.0**-52 * matrix[i, i] else 1.0 / np.sqrt(found)


@njit(cache=True, nogil=True, fastmath={"reassoc", "contract"})
def link_solve(matrix, vector):  # type: ignore[no-untyped-def]
    """The solution for one right-hand side, from the factor of :func:`link_factor`."""
    n = len(matrix)
    result = vector.copy()
    for i in range(n):
        found = result[i]
        for k in range(i):
            found -= matrix[i, k] * result[k]
        result[i] = found * matrix[i, i]
    for i in range(n - 1, -1, -1):
        result[i] *= matrix[i, i]
        for k in range(i):
            result[k] -= matrix[i, k] * result[i]
    return result
