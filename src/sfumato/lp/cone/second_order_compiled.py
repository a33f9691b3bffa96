"""Passes over many second-order cones of at most four components, compiled: each reads its arrays once.

Written with the algebra of :mod:`sfumato.lp.cone.second_order`, a pass makes an array for every operation; here what is
between stays in registers of four cones (:mod:`sfumato.lp.cone.registers`). Arrays have shape (d, cones / 4, 4). All
cones are treated as if they had four components (t, a, b, c), those that are not there being zero.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.lp.cone.registers import LANES, larger, load, load_planes, root, smaller, spread, store_lanes, store_planes


@njit(cache=True, nogil=True)
def scaled(s, z, size, axis, v, squares):  # type: ignore[no-untyped-def]
    """The scaling of Nesterov and Todd, v = W z, and the entries of W⁻²."""
    d, many = s.shape[0], s.shape[1]
    one, two = spread(1.0), spread(2.0)
    for i in range(many):
        if d == 1:
            ratio = load(z, i) / load(s, i)
            eta = one / root(ratio)
            store_lanes(size, i, eta)
            store_lanes(axis, i, one)
            store_lanes(v, i, load(z, i) * eta)
            store_lanes(squares, i, ratio)
            continue
        s0, s1, s2, s3 = load_planes(s, i)
        z0, z1, z2, z3 = load_planes(z, i)
        radius = root(s1 * s1 + s2 * s2 + s3 * s3)
        of_s = root((s0 - radius) * (s0 + radius))
        radius = root(z1 * z1 + z2 * z2 + z3 * z3)
        of_z = root((z0 - radius) * (z0 + radius))
        down, below = one / of_s, one / of_z
        s0, s1, s2, s3 = s0 * down, s1 * down, s2 * down, s3 * down
        y0, y1, y2, y3 = z0 * below, z1 * below, z2 * below, z3 * below
        half = one / root(two * (one + s0 * y0 + s1 * y1 + s2 * y2 + s3 * y3))
        w0, w1, w2, w3 = (s0 + y0) * half, (s1 - y1) * half, (s2 - y2) * half, (s3 - y3) * half
        eta = root(of_s * below)
        store_lanes(size, i, eta)
        store_planes(axis, i, (w0, w1, w2, w3))
        along = w1 * z1 + w2 * z2 + w3 * z3
        part = z0 + along / (one + w0)
        store_planes(
            v, i, (eta * (w0 * z0 + along), eta * (z1 + part * w1), eta * (z2 + part * w2), eta * (z3 + part * w3))
        )
        unit = of_z * down  # 1/η²
        twice = two * unit
        store_lanes(squares, i, twice * w0 * w0 - unit)
        store_lanes(squares, many + i, spread(0.0) - twice * w0 * w1)
        if d == 2:
            store_lanes(squares, 2 * many + i, twice * w1 * w1 + unit)
        elif d == 3:
            store_lanes(squares, 2 * many + i, spread(0.0) - twice * w0 * w2)
            store_lanes(squares, 3 * many + i, twice * w1 * w1 + unit)
            store_lanes(squares, 4 * many + i, twice * w1 * w2)
            store_lanes(squares, 5 * many + i, twice * w2 * w2 + unit)
        else:
            store_lanes(squares, 2 * many + i, spread(0.0) - twice * w0 * w2)
            store_lanes(squares, 3 * many + i, spread(0.0) - twice * w0 * w3)
            store_lanes(squares, 4 * many + i, twice * w1 * w1 + unit)
            store_lanes(squares, 5 * many + i, twice * w1 * w2)
            store_lanes(squares, 6 * many + i, twice * w1 * w3)
            store_lanes(squares, 7 * many + i, twice * w2 * w2 + unit)
            store_lanes(squares, 8 * many + i, twice * w2 * w3)
            store_lanes(squares, 9 * many + i, twice * w3 * w3 + unit)


@njit(cache=True, nogil=True)
def scaled_difference(size, axis, x, y, out):  # type: ignore[no-untyped-def]
    """W⁻¹ (x − y), or W⁻¹ x where there is no y."""
    d, one, whole = x.shape[0], spread(1.0), y.shape[1] == 0
    for i in range(x.shape[1]):
        x0, x1, x2, x3 = load_planes(x, i)
        if not whole:
            y0, y1, y2, y3 = load_planes(y, i)
            x0, x1, x2, x3 = x0 - y0, x1 - y1, x2 - y2, x3 - y3
        below = one / load(size, i)
        if d == 1:
            store_lanes(out, i, x0 * below)
            continue
        w0, w1, w2, w3 = load_planes(axis, i)
        along = w1 * x1 + w2 * x2 + w3 * x3
        part = along / (one + w0) - x0
        rest = (x1 + part * w1) * below, (x2 + part * w2) * below, (x3 + part * w3) * below
        store_planes(out, i, ((w0 * x0 - along) * below, *rest))


@njit(cache=True, nogil=True)
def predicted(v, change, stats):  # type: ignore[no-untyped-def]
    """The largest 1/α of slacks and duals of a predictor, and the sums of ⟨v, v⟩, ⟨d, v⟩ and ⟨d, d + v⟩."""
    d, zero, one = v.shape[0], spread(0.0), spread(1.0)
    down, up, t0, t1, t2 = zero, zero, zero, zero, zero
    for i in range(v.shape[1]):
        v0, v1, v2, v3 = load_planes(v, i)
        c0, c1, c2, c3 = load_planes(change, i)
        if d == 1:
            ratio = c0 / v0
            down, up = larger(down, zero - ratio), larger(up, one + ratio)
        else:
            radius = root(v1 * v1 + v2 * v2 + v3 * v3)
            below = one / root((v0 - radius) * (v0 + radius))
            u0, u1, u2, u3 = v0 * below, v1 * below, v2 * below, v3 * below
            part = one / (one + u0)
            first = u0 * c0 - (u1 * c1 + u2 * c2 + u3 * c3)
            along = (first + c0) * part
            r1, r2, r3 = c1 - along * u1, c2 - along * u2, c3 - along * u3
            length = root(r1 * r1 + r2 * r2 + r3 * r3) * below
            down = larger(down, length - first * below)
            # seen from v, −(d + v) is −d less the unit
            up = larger(up, length + first * below + one)
        cv = c0 * v0 + c1 * v1 + c2 * v2 + c3 * v3
        t0 = t0 + v0 * v0 + v1 * v1 + v2 * v2 + v3 * v3
        t1 = t1 + cv
        t2 = t2 + c0 * c0 + c1 * c1 + c2 * c2 + c3 * c3 + cv
    for k, value in enumerate((down, up, t0, t1, t2)):
        store_lanes(stats, k, value)


@njit(cache=True, nogil=True)
def _clipped(x0, x1, x2, x3, least, most):  # type: ignore[no-untyped-def]
    """Both eigenvalues between bounds."""
    zero, tiny, half = spread(0.0), spread(1e-300), spread(0.5)
    radius = root(x1 * x1 + x2 * x2 + x3 * x3)
    low = larger(smaller(x0 - radius, most), least)
    high = larger(smaller(x0 + radius, most), least)
    part = half * (high - low) / larger(radius, tiny)
    part = larger(part, zero)
    return half * (high + low), x1 * part, x2 * part, x3 * part


@njit(cache=True, nogil=True)
def _quotient(v0, v1, v2, v3, t0, t1, t2, t3):  # type: ignore[no-untyped-def]
    """t/v."""
    one = spread(1.0)
    radius = root(v1 * v1 + v2 * v2 + v3 * v3)
    below = one / ((v0 - radius) * (v0 + radius))
    first = (v0 * t0 - (v1 * t1 + v2 * t2 + v3 * t3)) * below
    part = one / v0
    return first, (t1 - first * v1) * part, (t2 - first * v2) * part, (t3 - first * v3) * part


@njit(cache=True, nogil=True)
def aimed(v, change, weights, target, least, most, t, goal):  # type: ignore[no-untyped-def]
    """Targets less the second-order term d ∘ (d + v) of a predictor within bounds, and their quotients by v."""
    d, aim, low, high = v.shape[0], spread(target), spread(least), spread(most)
    for i in range(v.shape[1]):
        v0, v1, v2, v3 = load_planes(v, i)
        c0, c1, c2, c3 = load_planes(change, i)
        e0, e1, e2, e3 = c0 + v0, c1 + v1, c2 + v2, c3 + v3
        weight = load(weights, i)
        if d == 1:
            t0 = larger(smaller(c0 * e0, weight * high), weight * low) + weight * aim
            store_lanes(t, i, t0)
            store_lanes(goal, i, t0 / v0)
            continue
        t0, t1, t2, t3 = _clipped(
            c0 * e0 + c1 * e1 + c2 * e2 + c3 * e3, c0 * e1 + e0 * c1, c0 * e2 + e0 * c2, c0 * e3 + e0 * c3,
            weight * low, weight * high,
        )  # fmt: skip
        t0 = t0 + weight * aim
        store_planes(t, i, (t0, t1, t2, t3))
        store_planes(goal, i, _quotient(v0, v1, v2, v3, t0, t1, t2, t3))


@njit(cache=True, nogil=True)
def moved(v, ahead, change, goal, t, weights, primal, dual, least, most, new_t, new_goal):  # type: ignore[no-untyped-def]
    """Targets moved so that products at steps ``primal`` and ``dual`` come between bounds, and their quotients by v."""
    d, zero, huge = v.shape[0], spread(0.0), spread(np.inf)
    far, beyond, low, high = spread(primal), spread(dual), spread(least), spread(most)
    for i in range(v.shape[1]):
        v0, v1, v2, v3 = load_planes(v, i)
        a0, a1, a2, a3 = load_planes(ahead, i)
        c0, c1, c2, c3 = load_planes(change, i)
        g0, g1, g2, g3 = load_planes(goal, i)
        a0, a1, a2, a3 = v0 + far * a0, v1 + far * a1, v2 + far * a2, v3 + far * a3
        b0, b1 = v0 + beyond * (g0 - c0 - v0), v1 + beyond * (g1 - c1 - v1)
        b2, b3 = v2 + beyond * (g2 - c2 - v2), v3 + beyond * (g3 - c3 - v3)
        p0, p1 = a0 * b0 + a1 * b1 + a2 * b2 + a3 * b3, a0 * b1 + b0 * a1
        p2, p3 = a0 * b2 + b0 * a2, a0 * b3 + b0 * a3
        weight = load(weights, i)
        most_here = weight * high
        if d == 1:
            q0 = larger(larger(smaller(p0, most_here), weight * low) - p0, zero - most_here)
            t0 = load(t, i) + q0
            store_lanes(new_t, i, t0)
            store_lanes(new_goal, i, t0 / v0)
            continue
        q0, q1, q2, q3 = _clipped(p0, p1, p2, p3, weight * low, most_here)
        q0, q1, q2, q3 = _clipped(q0 - p0, q1 - p1, q2 - p2, q3 - p3, zero - most_here, huge)
        t0, t1, t2, t3 = load_planes(t, i)
        t0, t1, t2, t3 = t0 + q0, t1 + q1, t2 + q2, t3 + q3
        store_planes(new_t, i, (t0, t1, t2, t3))
        store_planes(new_goal, i, _quotient(v0, v1, v2, v3, t0, t1, t2, t3))


@njit(cache=True, nogil=True)
def cone_reaches(v, ahead, change, goal, old_change, old_goal, shares, out):  # type: ignore[no-untyped-def]
    """The largest 1/α of slacks and duals, for each share of what has changed since ``old_change`` and ``old_goal``."""
    d, zero, one = v.shape[0], spread(0.0), spread(1.0)
    for k in range(2 * len(shares)):
        store_lanes(out, k, zero)
    for i in range(v.shape[1]):
        v0, v1, v2, v3 = load_planes(v, i)
        x0, x1, x2, x3 = load_planes(ahead, i)
        o0, o1, o2, o3 = load_planes(old_change, i)
        y0, y1, y2, y3 = load_planes(old_goal, i)
        c0, c1, c2, c3 = load_planes(change, i)
        g0, g1, g2, g3 = load_planes(goal, i)
        c0, c1, c2, c3 = c0 - o0, c1 - o1, c2 - o2, c3 - o3
        g0, g1, g2, g3 = g0 - y0 - c0, g1 - y1 - c1, g2 - y2 - c2, g3 - y3 - c3
        y0, y1, y2, y3 = y0 - o0 - v0, y1 - o1 - v1, y2 - o2 - v2, y3 - o3 - v3
        if d == 1:
            below = zero - one / v0
            for k in range(len(shares)):
                share = spread(shares[k])
                store_lanes(out, 2 * k, larger(load(out, 2 * k), below * (x0 + share * c0)))
                store_lanes(out, 2 * k + 1, larger(load(out, 2 * k + 1), below * (y0 + share * g0)))
            continue
        radius = root(v1 * v1 + v2 * v2 + v3 * v3)
        below = one / root((v0 - radius) * (v0 + radius))
        u0, u1, u2, u3 = v0 * below, v1 * below, v2 * below, v3 * below
        part = one / (one + u0)
        for k in range(len(shares)):
            share = spread(shares[k])
            for side in range(2):
                if side == 0:
                    e0, e1, e2, e3 = x0 + share * c0, x1 + share * c1, x2 + share * c2, x3 + share * c3
                else:
                    e0, e1, e2, e3 = y0 + share * g0, y1 + share * g1, y2 + share * g2, y3 + share * g3
                first = u0 * e0 - (u1 * e1 + u2 * e2 + u3 * e3)
                along = (first + e0) * part
                e1, e2, e3 = e1 - along * u1, e2 - along * u2, e3 - along * u3
                found = (root(e1 * e1 + e2 * e2 + e3 * e3) - first) * below
                store_lanes(out, 2 * k + side, larger(load(out, 2 * k + side), found))


@njit(cache=True, nogil=True)
def mixed(old, new, was, share, out):  # type: ignore[no-untyped-def]
    """old + share · (new − was)."""
    part = spread(share)
    for i in range(old.shape[0] * old.shape[1]):
        store_lanes(out, i, load(old, i) + part * (load(new, i) - load(was, i)))


@njit(cache=True, nogil=True)
def least(x):  # type: ignore[no-untyped-def]
    """The smallest eigenvalue of all cones; no number where one is none."""
    found = np.full((2, LANES), np.inf)
    lowest, poison = load(found, 0), spread(0.0)
    for i in range(x.shape[1]):
        t, a, b, c = load_planes(x, i)
        value = t - root(a * a + b * b + c * c)
        poison = poison + (value - value)  # which is zero for numbers, and stays what it is otherwise
        lowest = smaller(lowest, value)
    store_lanes(found, 0, lowest)
    store_lanes(found, 1, poison)
    return found[0].min() + found[1].sum()


@njit(cache=True, nogil=True)
def cone_stepped(z, size, axis, goal, change, length, out):  # type: ignore[no-untyped-def]
    """(1 − length) z + length W⁻¹ (goal − d)."""
    scaled_difference(size, axis, goal, change, out)
    far, rest = spread(length), spread(1.0 - length)
    for i in range(z.shape[0] * z.shape[1]):
        store_lanes(out, i, rest * load(z, i) + far * load(out, i))
