"""Compiled parts of the block interior-point method of :mod:`sfumato.lp.cone.lanes`.

Four columns stand side by side in the lanes of a register (:mod:`sfumato.lp.cone.registers`) and make one block. Arrays
over secrets have shape (blocks, n, 4), arrays over pairs (blocks, pairs, 4). For a pair k = (x, e) the slack is
s = r_e − d r_x with d the decay of the pair; only its multiplier z is stored, slacks are computed anew each time
(a fused product keeps all their digits). The last n pairs are those of a row with itself, of decay 0: their slacks are
the entries r, their multipliers λ.

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

from numba import njit

from sfumato.lp.cone.registers import larger, load, smaller, spread, store_lanes


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
            store_lanes(rest, at, load(rest, at) + ((old - (new - part)) + (more - part)))
            store_lanes(dr, at, new)
            store_lanes(sums, x, load(sums, x) + new)


@njit(cache=True, nogil=True)
def measure_predictor(low, high, first, second, decay, r, dr, z, mask, stats):  # type: ignore[no-untyped-def]
    """With ρ = ds/s: the largest −ρ and 1 + ρ = −dz/z, and Σ sz, Σ sz ρ, Σ sz ρ²."""
    n, pairs = r.shape[1], len(first)
    one, zero = spread(1.0), spread(0.0)
    down, up = load(stats, 0), load(stats, 1)
    t0, t1, t2 = load(stats, 2), load(stats, 3), load(stats, 4)
    for b in range(low, high):
        s0, s1, s2 = zero, zero, zero
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
    store_lanes(stats, 0, down)
    store_lanes(stats, 1, up)
    store_lanes(stats, 2, t0)
    store_lanes(stats, 3, t1)
    store_lanes(stats, 4, t2)


@njit(cache=True, nogil=True)
def _begin_residual(b, n, cost, price, q):  # type: ignore[no-untyped-def]
    """What prices leave of the costs of block b."""
    for x in range(n):
        store_lanes(q, b * n + x, spread(price[x]) - load(cost, b * n + x))


@njit(cache=True, nogil=True)
def aim(  # type: ignore[no-untyped-def]
    low, high, first, second, decay, weight, column, r, dr, z, cost, price, barrier, least, most, t, q
):
    """Targets barrier·w − ds dz for the products, and the residual they leave for the predictor's direction.

    In a predictor −ds dz = sz ρ (1 + ρ); it is kept between least·w and most·w.
    """
    n, pairs = r.shape[1], len(first)
    one = spread(1.0)
    for b in range(low, high):
        own = load(column, b)
        centre, lowest, highest = own * spread(barrier), own * spread(least), own * spread(most)
        _begin_residual(b, n, cost, price, q)
        for k in range(pairs):
            x, e, d, w = b * n + first[k], b * n + second[k], spread(decay[k]), spread(weight[k])
            slack, dual = load(r, e) - d * load(r, x), load(z, b * pairs + k)
            ratio = (load(dr, e) - d * load(dr, x)) / slack
            term = slack * dual * ratio * (one + ratio)
            target = w * centre + larger(smaller(term, w * highest), w * lowest)
            store_lanes(t, b * pairs + k, target)
            force = target / slack - dual * ratio
            store_lanes(q, e, load(q, e) + force)
            store_lanes(q, x, load(q, x) - d * force)


@njit(cache=True, nogil=True)
def measure(low, high, first, second, decay, r, dr, rest, z, t, stats):  # type: ignore[no-untyped-def]
    """The largest −ds/s, and the largest −dz/z."""
    n, pairs = r.shape[1], len(first)
    one, zero = spread(1.0), spread(0.0)
    down, up = load(stats, 0), load(stats, 1)
    for b in range(low, high):
        for k in range(pairs):
            x, e, d = b * n + first[k], b * n + second[k], spread(decay[k])
            slack, dual = load(r, e) - d * load(r, x), load(z, b * pairs + k)
            change = (load(dr, e) - d * load(dr, x)) + (load(rest, e) - d * load(rest, x))
            inverse = one / (slack * dual)
            ratio = change * dual * inverse
            down = larger(down, zero - ratio)
            up = larger(up, one + ratio - load(t, b * pairs + k) * inverse)
    store_lanes(stats, 0, down)
    store_lanes(stats, 1, up)


@njit(cache=True, nogil=True)
def recentre(  # type: ignore[no-untyped-def]
    low, high, first, second, decay, weight, column, r, dr, rest, z, t, cost, price, primal_step, dual_step, least,
    most, t_new, q,
):  # fmt: skip
    """Move targets so that products at a longer step come back between least·w and most·w (Gondzio 1996).

    The residual the new targets leave for the present direction goes into ``q``.
    """
    n, pairs = r.shape[1], len(first)
    one, zero = spread(1.0), spread(0.0)
    ahead, beside = spread(primal_step), spread(dual_step)
    for b in range(low, high):
        own = load(column, b)
        lowest, highest = own * spread(least), own * spread(most)
        _begin_residual(b, n, cost, price, q)
        for k in range(pairs):
            x, e, d, w = b * n + first[k], b * n + second[k], spread(decay[k]), spread(weight[k])
            slack, dual, target = load(r, e) - d * load(r, x), load(z, b * pairs + k), load(t, b * pairs + k)
            change = (load(dr, e) - d * load(dr, x)) + (load(rest, e) - d * load(rest, x))
            inverse = one / slack
            step = (target - dual * change) * inverse - dual
            product = (slack + ahead * change) * (dual + beside * step)
            moved = larger(larger(smaller(product, w * highest), w * lowest) - product, zero - w * highest)
            store_lanes(t_new, b * pairs + k, target + moved)
            force = moved * inverse + step + dual
            store_lanes(q, e, load(q, e) + force)
            store_lanes(q, x, load(q, x) - d * force)


@njit(cache=True, nogil=True)
def advance(  # type: ignore[no-untyped-def]
    low, high, first, second, decay, r, dr, rest, z, t, primal_step, dual_step, z_new, adjoint
):
    """Take the step: in place for r, into ``z_new`` for z; ``adjoint`` becomes Gᵀz of the new z without λ."""
    n, pairs = r.shape[1], len(first)
    ahead, beside, zero = spread(primal_step), spread(dual_step), spread(0.0)
    for b in range(low, high):
        for x in range(n):
            store_lanes(adjoint, b * n + x, zero)
        for k in range(pairs):
            x, e, d = b * n + first[k], b * n + second[k], spread(decay[k])
            slack, dual = load(r, e) - d * load(r, x), load(z, b * pairs + k)
            change = (load(dr, e) - d * load(dr, x)) + (load(rest, e) - d * load(rest, x))
            dual = dual + beside * ((load(t, b * pairs + k) - dual * change) / slack - dual)
            store_lanes(z_new, b * pairs + k, dual)
            if k < pairs - n:
                store_lanes(adjoint, e, load(adjoint, e) + dual)
                store_lanes(adjoint, x, load(adjoint, x) - d * dual)
        for x in range(b * n, b * n + n):
            store_lanes(r, x, load(r, x) + ahead * (load(dr, x) + load(rest, x)))
