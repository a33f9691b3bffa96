"""Transport with losses on the way: who is short of something gets it from who has more, and a share arrives.

Rows x need b_x > 0, others e have c_e > 0 to spare, and of a unit that e sends to x a share d_xe < 1 arrives. As little
as possible is to stay missing:

    min Σ_x u_x  with  u_x + Σ_e d_xe z_xe ≥ b_x,  Σ_x z_xe ≤ c_e,  z, u ≥ 0.

The dual has a value r for every row: max Σ b_x r_x − Σ c_e r_e with r_e ≥ d_xe r_x ≥ 0 and r_x ≤ 1. An interior-point
method with Mehrotra's predictor and corrector. Entries r_e are eliminated, each alone, and what is left is a system of
one row for each x (:mod:`sfumato.lp.cone.near_passes`). There are thousands of such transports to be found, each small,
so all is compiled, and a solution need not be a vertex: what arrives in tiny parts is left out afterwards.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from sfumato.lp.cone.near_passes import FAST, cholesky, eliminated

__all__ = ["missing", "prune", "thin", "transported"]

_MOST_ITERATIONS = 60
_STEP = 0.95  # of the way to the boundary
_CENTRING = 0.3  # the most of the average product that is aimed at
_SECOND_ORDER = 10.0  # average products: the most of the second-order term


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def transported(share, need, spare, accepted):  # type: ignore[no-untyped-def]
    """How much goes each way, one line for each row in need.

    Parameters
    ----------
    share, need, spare
        d, b and c.
    accepted
        What may stay missing, or how far from the least what is missing may be.
    """
    k, n = share.shape
    count = k * n + n + 2 * k
    x, r = np.full(k, 0.5), np.zeros(n)
    for i in range(k):
        line = share[i]
        for e in range(n):
            r[e] = max(r[e], line[e])
    r = 0.5 * np.sqrt(r)  # entries that fall off at half the rate
    mu = (0.5 * need.sum() + (spare * r).sum()) / count
    x_low, x_high, r_low = mu / x, mu / (1.0 - x), mu / r
    z, t, v, inverse = np.empty((k, n)), np.empty((k, n)), np.empty((k, n)), np.empty((k, n))
    _slacks(share, x, r, inverse)
    z[:] = mu * inverse
    for _ in range(_MOST_ITERATIONS):
        if _lacking(share, need, spare, z) <= accepted:
            break
        low = x * x_low + x * x * x_high / (1.0 - x)
        among = np.diag(low)
        _couple(r, z, inverse, v)
        pivots = eliminated(x, share, r, v, r * r_low, among)
        cholesky(among, low)
        dx, dr = _solved(v, pivots, among, need * x, -spare * r)  # the predictor aims at products of zero
        products, aim = _predicted(share, x, r, z, inverse, x_low, x_high, r_low, dx, dr)
        if products <= accepted or not products < np.inf:
            break
        tx_low, tx_high, tr, x_force, r_force = _aimed(
            share, need, spare, x, r, z, inverse, x_low, x_high, r_low, dx, dr, aim, products / count, t
        )
        dx, dr = _solved(v, pivots, among, x_force, r_force)
        primal, dual = _longest(share, x, r, z, inverse, x_low, x_high, r_low, tx_low, tx_high, tr, t, dx, dr)
        x_low += dual * (tx_low / x - x_low * dx - x_low)
        x_high += dual * ((tx_high + x_high * dx * x) / (1.0 - x) - x_high)
        r_low += dual * (tr / r - r_low * dr - r_low)
        _advance(share, z, inverse, t, dx * x, dr * r, dual)
        x *= 1.0 + primal * dx
        r *= 1.0 + primal * dr
        _slacks(share, x, r, inverse)
    return z


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _slacks(share, x, r, inverse):  # type: ignore[no-untyped-def]
    """1/(r_e − d r_x)."""
    for i in range(len(x)):
        own, line, into = x[i], share[i], inverse[i]
        for e in range(len(r)):
            into[e] = 1.0 / (r[e] - line[e] * own)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _lacking(share, need, spare, z):  # type: ignore[no-untyped-def]
    """What would be missing if nobody sent more than it has."""
    given, lacking = np.zeros(len(spare)), 0.0
    for sent in z:
        for e in range(len(spare)):
            given[e] += sent[e]
    for e in range(len(spare)):
        given[e] = min(1.0, spare[e] / given[e])
    for i in range(len(need)):
        sent, line, arrives = z[i], share[i], 0.0
        for e in range(len(spare)):
            arrives += line[e] * sent[e] * given[e]
        lacking += max(need[i] - arrives, 0.0)
    return lacking


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _couple(r, z, inverse, v):  # type: ignore[no-untyped-def]
    """v = z r_e²/s."""
    square = r * r
    for i in range(len(z)):
        mates, over, into = z[i], inverse[i], v[i]
        for e in range(len(r)):
            into[e] = mates[e] * over[e] * square[e]


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _solved(w, pivots, root, x_force, r_force):  # type: ignore[no-untyped-def]
    """H⁻¹ times a force, both in terms of the entries: what r wants is handed on to the rows in need, and back."""
    k, n = w.shape
    dx, dr = np.empty(k), pivots * r_force
    for i in range(k):
        line, total = w[i], x_force[i]
        for e in range(n):
            total += line[e] * dr[e]
        for j in range(i):
            total -= root[i, j] * dx[j]
        dx[i] = total * root[i, i]
    for i in range(k - 1, -1, -1):
        total = dx[i]
        for j in range(i + 1, k):
            total -= root[j, i] * dx[j]
        dx[i] = total * root[i, i]
    more = np.zeros(n)
    for i in range(k):
        line, own = w[i], dx[i]
        for e in range(n):
            more[e] += line[e] * own
    return dx, dr + pivots * more


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _predicted(share, x, r, z, inverse, x_low, x_high, r_low, dx, dr):  # type: ignore[no-untyped-def]
    """The sum of products, and which to aim at after the predictor's step, by Mehrotra's rule."""
    k, n = z.shape
    down, up, s0, s1, s2 = 0.1, 0.1, 0.0, 0.0, 0.0
    for ratios, products in ((dx, x * x_low), (-dx * x / (1.0 - x), (1.0 - x) * x_high), (dr, r * r_low)):
        for e in range(len(ratios)):
            ratio, product = ratios[e], products[e]
            down, up = max(down, -ratio), max(up, 1.0 + ratio)
            s0 += product
            s1 += product * ratio
            s2 += product * ratio * ratio
    change = dr * r
    for i in range(k):
        own, line, mates, over = dx[i] * x[i], share[i], z[i], inverse[i]
        for e in range(n):
            ratio, product = (change[e] - line[e] * own) * over[e], mates[e] / over[e]
            down, up = max(down, -ratio), max(up, 1.0 + ratio)
            s0 += product
            s1 += product * ratio
            s2 += product * ratio * ratio
    primal, dual = min(1.0, 1.0 / down), min(1.0, 1.0 / up)
    after = s0 * (1.0 - dual) + s1 * (primal * (1.0 - dual) - dual) - s2 * primal * dual
    return s0, min(_CENTRING, max(after / s0, 0.0) ** 3) * s0 / (k * n + n + 2 * k)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _aimed(  # type: ignore[no-untyped-def]
    share, need, spare, x, r, z, inverse, x_low, x_high, r_low, dx, dr, aim, average, t
):
    """Targets, what is aimed at and the second-order term sz ρ (1 + ρ), and the forces that they leave.

    Forces are r (−c + Gᵀ(t/s) + t/r − t/(1 − r)).
    """
    most = _SECOND_ORDER * average
    room = 1.0 - x
    tx_low = aim + np.minimum(np.maximum(x * x_low * dx * (1.0 + dx), -average), most)
    ratios = -dx * x / room
    tx_high = aim + np.minimum(np.maximum(room * x_high * ratios * (1.0 + ratios), -average), most)
    tr = aim + np.minimum(np.maximum(r * r_low * dr * (1.0 + dr), -average), most)
    change, pushed, x_force = dr * r, np.zeros(len(r)), tx_low + x * (need - tx_high / room)
    for i in range(len(x)):
        own, line, mates, over, targets, back = dx[i] * x[i], share[i], z[i], inverse[i], t[i], 0.0
        for e in range(len(r)):
            ratio = (change[e] - line[e] * own) * over[e]
            target = aim + min(max(mates[e] / over[e] * ratio * (1.0 + ratio), -average), most)
            targets[e] = target
            push = target * over[e]
            pushed[e] += push
            back += line[e] * push
        x_force[i] -= back * x[i]
    return tx_low, tx_high, tr, x_force, tr + r * (pushed - spare)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _longest(  # type: ignore[no-untyped-def]
    share, x, r, z, inverse, x_low, x_high, r_low, tx_low, tx_high, tr, t, dx, dr
):
    """Primal and dual steps, nearly to the boundary."""
    down, up = _STEP, _STEP
    room = 1.0 - x
    for ratios, products, targets in (
        (dx, x * x_low, tx_low), (-dx * x / room, room * x_high, tx_high), (dr, r * r_low, tr)
    ):  # fmt: skip
        for e in range(len(ratios)):
            down, up = max(down, -ratios[e]), max(up, 1.0 + ratios[e] - targets[e] / products[e])
    change = dr * r
    for i in range(len(x)):
        own, line, mates, over, targets = dx[i] * x[i], share[i], z[i], inverse[i], t[i]
        for e in range(len(r)):
            ratio = (change[e] - line[e] * own) * over[e]
            down, up = max(down, -ratio), max(up, 1.0 + ratio - targets[e] * over[e] / mates[e])
    return _STEP / down, _STEP / up


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _advance(share, z, inverse, t, x_change, r_change, dual):  # type: ignore[no-untyped-def]
    """Take the step of z, in place."""
    for i in range(len(x_change)):
        own, line, mates, over, targets = x_change[i], share[i], z[i], inverse[i], t[i]
        for e in range(len(r_change)):
            ds = r_change[e] - line[e] * own
            mates[e] += dual * ((targets[e] - mates[e] * ds) * over[e] - mates[e])


@njit(cache=True, nogil=True, error_model="numpy")
def thin(share, need, spare, z, spent):  # type: ignore[no-untyped-def]
    """Nobody sends more than it has, and parts that make up next to nothing of what a row needs are left out.

    What a row gets too much may go as well, and beyond it ``spent`` times what it needs. In place.
    """
    for e in range(len(spare)):
        given = z[:, e].sum()
        if given > spare[e]:
            z[:, e] *= spare[e] / given * (1.0 - 1e-15)
    for i in range(len(need)):
        arrives = share[i] * z[i]
        room = arrives.sum() - need[i] * (1.0 - spent)
        for e in np.argsort(arrives):
            if arrives[e] > room:
                break
            room -= arrives[e]
            z[i, e] = 0.0


@njit(cache=True, nogil=True, error_model="numpy")
def missing(share, need, z):  # type: ignore[no-untyped-def]
    """What each row in need is still short of."""
    lacks = np.empty(len(need))
    for i in range(len(need)):
        lacks[i] = max(need[i] - (share[i] * z[i]).sum(), 0.0)
    return lacks


@njit(cache=True, nogil=True, error_model="numpy")
def prune(share, z):  # type: ignore[no-untyped-def]
    """Leave a forest of ways, in place, with which no row gets less and nobody sends more.

    Ways are taken one after the other, the larger first. One that closes a cycle is played off against the others of
    it: more one way, less the next, so that all senders on the cycle send what they did and all receivers get what they
    did, but for one, which gets more in one of the two directions. In that one they go on until a way is empty.
    """
    k, nodes = len(z), z.shape[0] + z.shape[1]  # rows in need come first
    parent, cycle = np.full(nodes, -1), np.empty(nodes, np.int64)
    up, down, change = np.empty(nodes, np.int64), np.empty(nodes, np.int64), np.empty(nodes)
    i_all, e_all = np.nonzero(z)
    sent = np.empty(len(i_all))
    for j in range(len(i_all)):
        sent[j] = share[i_all[j], e_all[j]] * z[i_all[j], e_all[j]]
    for j in np.argsort(-sent):
        i, e = i_all[j], k + e_all[j]
        # the ways from both ends to their roots
        a = _to_root(parent, i, up)
        b = _to_root(parent, e, down)
        if up[a - 1] != down[b - 1]:
            _reroot(parent, down, b)
            parent[e] = i
            continue
        while a > 1 and b > 1 and up[a - 2] == down[b - 2]:
            a, b = a - 1, b - 1
        # nodes of the cycle: from e up to where both meet, then down to i
        length = 0
        for q in range(b):
            cycle[length] = down[q]
            length += 1
        for q in range(a - 2, -1, -1):
            cycle[length] = up[q]
            length += 1
        empty = _rotate(share, z, cycle[:length], change)
        if empty < 0:  # the new way itself is empty
            continue
        # the way between cycle[empty] and cycle[empty + 1] is empty: the new one takes its place
        if empty + 1 < b:
            for q in range(empty, 0, -1):
                parent[cycle[q]] = cycle[q - 1]
            parent[e] = i
        else:
            for q in range(empty + 1, length - 1):
                parent[cycle[q]] = cycle[q + 1]
            parent[i] = e


@njit(cache=True, nogil=True)
def _to_root(parent, node, path):  # type: ignore[no-untyped-def]
    """Write the way up to the root; how many nodes it has."""
    count = 0
    while node >= 0:
        path[count] = node
        count += 1
        node = parent[node]
    return count


@njit(cache=True, nogil=True)
def _reroot(parent, path, count):  # type: ignore[no-untyped-def]
    """Make the first node of a way to the root the root."""
    for q in range(count - 1, 0, -1):
        parent[path[q]] = path[q - 1]
    parent[path[0]] = -1


@njit(cache=True, nogil=True, error_model="numpy")
def _rotate(share, z, cycle, change):  # type: ignore[no-untyped-def]
    """Play the way from the first node, a sender, to the last off against the others of a cycle.

    Which of them is empty then, −1 for itself. The cycle has senders and receivers in turn.
    """
    k, length = len(z), len(cycle)
    i, e = cycle[length - 1], cycle[0] - k
    amount = -1.0
    for q in range(length - 1):
        change[q] = amount
        if q + 2 < length:
            one, other, mid = cycle[q] - k, cycle[q + 2] - k, cycle[q + 1]
            amount = -amount * share[mid, one] / share[mid, other] if mid < k else -amount
    last = cycle[length - 2] - k
    sign = 1.0 if share[i, e] + share[i, last] * change[length - 2] >= 0.0 else -1.0
    # how far until something is empty
    most, empty = np.inf, -2
    if sign < 0.0:
        most, empty = z[i, e], -1
    for q in range(length - 1):
        one, other = min(cycle[q], cycle[q + 1]), max(cycle[q], cycle[q + 1]) - k
        if sign * change[q] < 0.0 and z[one, other] < -sign * change[q] * most:
            most, empty = -z[one, other] / (sign * change[q]), q
    z[i, e] += sign * most
    for q in range(length - 1):
        one, other = min(cycle[q], cycle[q + 1]), max(cycle[q], cycle[q + 1]) - k
        z[one, other] = max(z[one, other] + sign * most * change[q], 0.0)
    if empty == -1:
        z[i, e] = 0.0
    else:
        z[min(cycle[empty], cycle[empty + 1]), max(cycle[empty], cycle[empty + 1]) - k] = 0.0
    return empty
