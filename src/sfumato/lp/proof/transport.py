"""Transport with losses on the way: who is short of something gets it from who has more, and a share arrives.

Rows x need b_x > 0, others e have c_e > 0 to spare, and of a unit that e sends to x a share d_xe < 1 arrives. As little
as possible is to stay missing:

    min Σ_x u_x  with  u_x + Σ_e d_xe z_xe ≥ b_x,  Σ_x z_xe ≤ c_e,  z, u ≥ 0.

The dual has a value r for every row: max Σ b_x r_x − Σ c_e r_e with r_e ≥ d_xe r_x ≥ 0 and r_x ≤ 1. Entries r_e are
eliminated, each alone, and what is left is a system of one row for each x (:mod:`sfumato.lp.cone.near_passes`). There
are thousands of such transports to be found, each small: what the one loop asks for is done in three compiled calls an
iteration. A solution need not be a vertex: what arrives in tiny parts is left out afterwards.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

from sfumato.lp.cone import cholesky
from sfumato.lp.cone.loop import Predicted, Steps, Tuning, longest, step
from sfumato.lp.cone.near_passes import FAST, eliminated
from sfumato.numbers import Floats

_MOST_ITERATIONS = 60
_TUNING = Tuning(step=0.95, correctors=0)
# Places of what is kept of a row in need: its value x ≤ 1, the duals of x ≥ 0 and x ≤ 1, its change relative to x, and
# the targets of the two products.
_X, _LOW, _HIGH, _DX, _LOW_TARGET, _HIGH_TARGET = range(6)
# Places of what is kept of a row that gives: its value r, the dual of r ≥ 0, its change relative to r, the target of
# that product, and the inverse of its pivot.
_R, _R_DUAL, _DR, _R_TARGET, _PIVOT = range(5)
# Places of what is kept of both: the dual z, its target, the coupling of the two, and 1/(r_e − d r_x).
_Z, _Z_TARGET, _COUPLING, _INVERSE = range(4)


def transported(share: Floats, need: Floats, spare: Floats, accepted: float) -> Floats:
    """How much goes each way, one line for each row in need.

    Parameters
    ----------
    share, need, spare
        d, b and c.
    accepted
        What may stay missing, or how far from the least what is missing may be.
    """
    iterate = _TransportIterate(share, need, spare, accepted)
    for _ in range(_MOST_ITERATIONS):
        if iterate.lacking <= accepted or step(iterate, _TUNING) == 0.0:
            break
    return iterate.sent


class _TransportIterate:
    """The iterate of one transport; no product counts more than another."""

    def __init__(self, share: Floats, need: Floats, spare: Floats, accepted: float) -> None:
        k, n = share.shape
        self.accepted, self.weight = accepted, float(k * n + n + 2 * k)
        rows, others, pairs = np.zeros((6, k)), np.zeros((5, n)), np.empty((4, k, n))
        self.state: tuple[Any, ...] = share, need, spare, rows, others, pairs, np.empty((k, k))
        self.sent: Floats = pairs[_Z]
        self.lacking: float = _begin(*self.state[:-1], self.weight)

    def factor(self) -> bool:
        """Factor the system, and find and measure the direction of the predictor at once."""
        self.measures: tuple[float, ...] = _predict(*self.state)
        return True

    def predict(self) -> bool:
        """Whether that direction is worth taking."""
        return self.accepted < self.measures[2] < np.inf

    def predicted(self) -> Predicted:
        return Predicted.from_ratios(*self.measures)

    def aim(self, target: float, least: float, most: float) -> bool:
        """Find the direction to products ``target`` less the second-order term, and measure it."""
        self.reach = longest(*_aim(*self.state, target, least, most))
        return True

    def steps(self) -> Steps:
        return self.reach

    def recentre(self, steps: Steps, longer: Steps, least: float, most: float) -> Steps | None:
        """Systems this small are sooner factored anew."""
        return None

    def advance(self, primal: float, dual: float) -> None:
        self.lacking = _advance(*self.state[:-1], primal, dual)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _begin(share, need, spare, rows, others, pairs, count):  # type: ignore[no-untyped-def]
    """Entries that fall off at half the rate, and duals that make them central; what is missing."""
    x, r = rows[_X], others[_R]
    x[:] = 0.5
    for i in range(len(x)):
        line = share[i]
        for e in range(len(r)):
            r[e] = max(r[e], line[e])
    for e in range(len(r)):
        r[e] = 0.5 * np.sqrt(r[e])
    mu = (0.5 * need.sum() + (spare * r).sum()) / count
    _put(rows[_LOW], mu / x)
    _put(rows[_HIGH], mu / (1.0 - x))
    _put(others[_R_DUAL], mu / r)
    _invert_slacks(share, x, r, pairs[_INVERSE])
    for i in range(len(x)):
        _put(pairs[_Z, i], mu * pairs[_INVERSE, i])
    return _lacking(share, need, spare, pairs[_Z])


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _predict(share, need, spare, rows, others, pairs, root):  # type: ignore[no-untyped-def]
    """Factor the system; the predictor aims at products of zero.

    With ρ the ratios of changes to slacks: the largest −ρ and 1 + ρ, and the sums of products times 1, ρ and ρ².
    """
    x, r, v = rows[_X], others[_R], pairs[_COUPLING]
    low = x * rows[_LOW] + x * x * rows[_HIGH] / (1.0 - x)
    root[:] = 0.0
    for i in range(len(x)):
        root[i, i] = low[i]
    _couple(r, pairs[_Z], pairs[_INVERSE], v)
    _put(others[_PIVOT], eliminated(x, share, r, v, r * others[_R_DUAL], root))
    cholesky.factor(root, low, False)
    dx, dr = _solved(v, others[_PIVOT], root, need * x, -spare * r)
    _put(rows[_DX], dx)
    _put(others[_DR], dr)
    return _measured(share, rows, others, pairs)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _aim(share, need, spare, rows, others, pairs, root, target, least, most):  # type: ignore[no-untyped-def]
    """Set targets, and the direction to them; its largest ratios −ds/s and −dz/z."""
    x_force, r_force = _targets(share, need, spare, rows, others, pairs, target, least, most)
    dx, dr = _solved(pairs[_COUPLING], others[_PIVOT], root, x_force, r_force)
    _put(rows[_DX], dx)
    _put(others[_DR], dr)
    return _ratios(share, rows, others, pairs)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _advance(share, need, spare, rows, others, pairs, primal_step, dual_step):  # type: ignore[no-untyped-def]
    """Take the step, in place; what is missing then."""
    x, x_low, x_high, dx = rows[_X], rows[_LOW], rows[_HIGH], rows[_DX]
    r, r_dual, dr, z = others[_R], others[_R_DUAL], others[_DR], pairs[_Z]
    x_low += dual_step * (rows[_LOW_TARGET] / x - x_low * dx - x_low)
    x_high += dual_step * ((rows[_HIGH_TARGET] + x_high * dx * x) / (1.0 - x) - x_high)
    r_dual += dual_step * (others[_R_TARGET] / r - r_dual * dr - r_dual)
    change = dr * r
    for i in range(len(x)):
        own, line, duals, over, targets = dx[i] * x[i], share[i], z[i], pairs[_INVERSE, i], pairs[_Z_TARGET, i]
        for e in range(len(r)):
            ds = change[e] - line[e] * own
            duals[e] += dual_step * ((targets[e] - duals[e] * ds) * over[e] - duals[e])
    x *= 1.0 + primal_step * dx
    r *= 1.0 + primal_step * dr
    _invert_slacks(share, x, r, pairs[_INVERSE])
    return _lacking(share, need, spare, z)


@njit(cache=True, nogil=True)
def _put(into, values):  # type: ignore[no-untyped-def]
    """Write into a row: an assignment of arrays would compile a message about shapes, which takes longer than this."""
    for k in range(len(into)):
        into[k] = values[k]


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _invert_slacks(share, x, r, inverse):  # type: ignore[no-untyped-def]
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
        duals, over, into = z[i], inverse[i], v[i]
        for e in range(len(r)):
            into[e] = duals[e] * over[e] * square[e]


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _solved(w, pivots, root, x_force, r_force):  # type: ignore[no-untyped-def]
    """H⁻¹ times a force, both in terms of the entries: what r wants is handed on to the rows in need, and back."""
    k, n = w.shape
    dx, dr = x_force.copy(), pivots * r_force
    for i in range(k):
        line, total = w[i], 0.0
        for e in range(n):
            total += line[e] * dr[e]
        dx[i] += total
    cholesky.forward(root, dx)
    cholesky.backward(root, dx)
    more = np.zeros(n)
    for i in range(k):
        line, own = w[i], dx[i]
        for e in range(n):
            more[e] += line[e] * own
    return dx, dr + pivots * more


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _measured(share, rows, others, pairs):  # type: ignore[no-untyped-def]
    """Measures of the predictor, whose duals change by −(1 + ρ) times themselves."""
    x, dx, r, dr = rows[_X], rows[_DX], others[_R], others[_DR]
    room = 1.0 - x
    down, up, s0, s1, s2 = 0.0, 0.0, 0.0, 0.0, 0.0
    for ratios, products in (
        (dx, x * rows[_LOW]), (-dx * x / room, room * rows[_HIGH]), (dr, r * others[_R_DUAL])
    ):  # fmt: skip
        for e in range(len(ratios)):
            ratio, product = ratios[e], products[e]
            down, up = max(down, -ratio), max(up, 1.0 + ratio)
            s0 += product
            s1 += product * ratio
            s2 += product * ratio * ratio
    change = dr * r
    for i in range(len(x)):
        own, line, duals, over = dx[i] * x[i], share[i], pairs[_Z, i], pairs[_INVERSE, i]
        for e in range(len(r)):
            ratio, product = (change[e] - line[e] * own) * over[e], duals[e] / over[e]
            down, up = max(down, -ratio), max(up, 1.0 + ratio)
            s0 += product
            s1 += product * ratio
            s2 += product * ratio * ratio
    return down, up, s0, s1, s2


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _targets(share, need, spare, rows, others, pairs, target, least, most):  # type: ignore[no-untyped-def]
    """Targets, what is aimed at and the second-order term sz ρ (1 + ρ), and the forces that they leave.

    Forces are r (−c + Gᵀ(t/s) + t/r − t/(1 − r)).
    """
    x, dx, r, dr = rows[_X], rows[_DX], others[_R], others[_DR]
    room = 1.0 - x
    ratios = -dx * x / room
    for i in range(len(x)):
        low, high = (
            x[i] * rows[_LOW, i] * dx[i] * (1.0 + dx[i]),
            room[i] * rows[_HIGH, i] * ratios[i] * (1.0 + ratios[i]),
        )
        rows[_LOW_TARGET, i] = target + min(max(low, least), most)
        rows[_HIGH_TARGET, i] = target + min(max(high, least), most)
    for e in range(len(r)):
        others[_R_TARGET, e] = target + min(max(r[e] * others[_R_DUAL, e] * dr[e] * (1.0 + dr[e]), least), most)
    change, pushed = dr * r, np.zeros(len(r))
    x_force = rows[_LOW_TARGET] + x * (need - rows[_HIGH_TARGET] / room)
    for i in range(len(x)):
        own, line, duals, over, targets = dx[i] * x[i], share[i], pairs[_Z, i], pairs[_INVERSE, i], pairs[_Z_TARGET, i]
        back = 0.0
        for e in range(len(r)):
            ratio = (change[e] - line[e] * own) * over[e]
            aimed = target + min(max(duals[e] / over[e] * ratio * (1.0 + ratio), least), most)
            targets[e] = aimed
            push = aimed * over[e]
            pushed[e] += push
            back += line[e] * push
        x_force[i] -= back * x[i]
    return x_force, others[_R_TARGET] + r * (pushed - spare)


@njit(cache=True, nogil=True, fastmath=FAST, error_model="numpy")
def _ratios(share, rows, others, pairs):  # type: ignore[no-untyped-def]
    """The largest −ds/s and −dz/z of the direction."""
    x, dx, r, dr = rows[_X], rows[_DX], others[_R], others[_DR]
    down, up, room = 0.0, 0.0, 1.0 - x
    for ratios, products, targets in (
        (dx, x * rows[_LOW], rows[_LOW_TARGET]), (-dx * x / room, room * rows[_HIGH], rows[_HIGH_TARGET]),
        (dr, r * others[_R_DUAL], others[_R_TARGET]),
    ):  # fmt: skip
        for e in range(len(ratios)):
            down, up = max(down, -ratios[e]), max(up, 1.0 + ratios[e] - targets[e] / products[e])
    change = dr * r
    for i in range(len(x)):
        own, line, duals, over, targets = dx[i] * x[i], share[i], pairs[_Z, i], pairs[_INVERSE, i], pairs[_Z_TARGET, i]
        for e in range(len(r)):
            ratio = (change[e] - line[e] * own) * over[e]
            down, up = max(down, -ratio), max(up, 1.0 + ratio - targets[e] * over[e] / duals[e])
    return down, up


@njit(cache=True, nogil=True, error_model="numpy")
def thin(share, need, spare, z, spent):  # type: ignore[no-untyped-def]
    """Nobody sends more than it has, and parts that make up next to nothing of what a row needs are left out.

    What a row gets too much may go as well, and beyond it ``spent`` times what it needs. In place.
    """
    for e in range(len(spare)):
        given = z[:, e].sum()
        if given > spare[e]:
            for i in range(len(need)):
                z[i, e] *= spare[e] / given * (1.0 - 1e-15)
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
