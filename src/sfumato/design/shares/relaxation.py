"""A lower bound on tr(A W⁻¹ Aᵀ) where the rays of a promise are too many to be listed.

W is Σ q r rᵀ over the columns of a mechanism, and N times the variance is |Ap|² less: who asks for a bound on that
takes it off.

Let the cone of the promise be {r : G r ≥ 0}, or its lift {(r, c) : c ≤ r_x ≤ f c} where all distances are one. Products
of two of these forms are not negative, so for numbers Λ ≥ 0 (a symmetric table) and prices m

    |B r|² ≤ (m·r)(p·r)  on the cone, if  BᵀB ⪯ H(m, Λ) = sym(m pᵀ) − Gᵀ Λ G,

where a lift is left out of H by a Schur complement. The best B for an H has 2 tr(A Bᵀ) = 2‖A H^{1/2}‖_* (the sum of the
singular values), so that

    no mechanism has less than  2‖A H^{1/2}‖_* − m·1.

That is concave in (m, Λ), with gradient H^{−1/2} (H^{1/2} AᵀA H^{1/2})^{1/2} H^{−1/2} with respect to H: the W of the
relaxed problem. L-BFGS climbs it; a barrier keeps H definite. Whatever it returns is a bound, up to the rounding of an
eigenvalue decomposition, for which a stated margin is taken off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import minimum_spanning_tree, shortest_path

from sfumato.design.shares.columns import kind_of_rays
from sfumato.design.shares.descent import descended
from sfumato.numbers import Array, Floats
from sfumato.privacy.type import PrivacyType
from sfumato.watch import Watch

_MOST_FORMS = 400  # Constraints of which all products are taken: those of the shortest pairs.
# Parts of the logarithm of det H that count, one after the other: without the first a climb at a small ε may end early.
_BARRIERS = (1.0, 1e-1, 1e-2, 1e-3, 1e-4)
_STEPS = 6000  # of L-BFGS, for each of them
# Of the value, which is a square of roots: eigenvalues of H are good to 1e-14 of the largest, and none is below
# ``_DEFINITE`` of it, so that roots are good to 2e-8 of the largest root.
_MARGIN = 1e-7
_TRIES = 40  # of what all other products begin with
_DEFINITE = 1e-13  # of the largest eigenvalue is the least that is told from 0


@dataclass(frozen=True, eq=False)
class Relaxation:
    """The forms G of a cone, the distribution p and the workload A; ``lifted`` says that the last variable is c."""

    forms: Floats
    weights: Floats
    wanted: Floats
    lifted: bool

    @property
    def products(self) -> tuple[Array, Array]:
        """The pairs of forms whose products are taken: all, or of a lift those of one secret."""
        count = len(self.forms)
        if not self.lifted:
            return np.triu_indices(count)
        return np.arange(count // 2), np.arange(count // 2, count)

    @property
    def size(self) -> int:
        """The number of secrets."""
        return len(self.weights)

    def parts(self, point: Floats) -> tuple[Floats, Floats]:
        """Prices, which are given times n, and a table of products from their logarithms."""
        n, count = self.size, len(self.forms)
        products = np.zeros((count, count))
        products[self.products] = np.exp(point[n:])
        return point[:n] / n, (products + products.T) / 2

    def table(self, prices: Floats, products: Floats) -> Floats:
        """H of prices and products, the lift included."""
        inside = -self.forms.T @ products @ self.forms
        n = self.size
        inside[:n, :n] += (np.outer(prices, self.weights) + np.outer(self.weights, prices)) / 2
        return inside


def relaxed_bound(privacy: PrivacyType, weights: Floats, wanted: Floats, watch: Watch) -> float:
    """A number below tr(A W⁻¹ Aᵀ) for every mechanism of a type at the distribution with these weights.

    Never below that of a survey in which everybody tells the truth, which W ⪯ diag(p)⁻¹ gives without any search: what
    there is where floats hold no definite H, as where all distances are forty times 1/ε.
    """
    best = float(weights @ (wanted**2).sum(axis=0)) * (1 - _MARGIN)
    with np.errstate(all="ignore"):  # what is not finite is looked for, and is no start
        relaxation, point = _lifted(privacy, weights, wanted) or _chained(privacy, weights, wanted)
        if not _parts_of_value(relaxation, *relaxation.parts(point))[0] > 0:
            return best
        for barrier in _BARRIERS:
            point, bound = _climbed(relaxation, point, barrier, watch)
            best = max(best, bound)
            if watch.over:
                break
    return best


def _lifted(privacy: PrivacyType, weights: Floats, wanted: Floats) -> tuple[Relaxation, Floats] | None:
    """Where all distances are one: the lift, and prices and products for which H is definite.

    With λ_x ≥ p_x, a = (1 + f)/2 and r_x = a c + s_x, H is Σ λ_x s_x² + M (p·s + a c)² − Σ λ_x (f − 1)²c²/4. The first
    sum is at least (p·s)², so that the first two are at least a²c² M/(1 + M), which is a²c² − fc²/4 for the M below;
    and Σ λ_x ≤ 1 + 2f/(f − 1)² leaves the rest at most a²c² − fc²/2.
    """
    if kind_of_rays(privacy) != "one distance":
        return None
    n, factor = len(weights), np.exp(privacy.rate * privacy.space.pair_distances.floats)[0]
    below = np.hstack([np.eye(n), -np.ones((n, 1))])
    above = np.hstack([-np.eye(n), np.full((n, 1), factor)])
    least = (1.0 if factor < 3 else 2 * factor / (factor - 1) ** 2) / n
    prices = weights * ((1 + factor) ** 2 / factor - 1)
    products = 2 * np.maximum(weights, least)  # a product of two different forms stands in the table twice, by halves
    relaxation = Relaxation(np.vstack([below, above]), weights, wanted, True)
    return relaxation, _scaled(prices, np.log(products))


def _chained(privacy: PrivacyType, weights: Floats, wanted: Floats) -> tuple[Relaxation, Floats]:
    """Elsewhere: the forms of the shortest pairs, and prices and products for which H is definite.

    Along chains of these pairs, of length D, r_x ≥ 0 and c_x p·r − r_x ≥ 0 follow with c_x = 1 / Σ_z p_z e^{−εD(x, z)},
    as sums of forms with coefficients that are not negative. Their products, added up over x, make H the identity for
    m = c; all others begin with a little.
    """
    n, (first, second) = len(weights), privacy.space.pairs
    rates = privacy.rate * privacy.space.pair_distances.floats
    near = _connecting(n, first, second, rates)
    first, second, rates = first[near], second[near], rates[near]
    ends, starts = np.concatenate([first, second]), np.concatenate([second, first])
    both, rows = np.tile(rates, 2), np.arange(2 * len(near))
    forms = np.zeros((len(rows), n))
    # e^{εd} r_z − r_x, divided by its larger coefficient
    forms[rows, starts] = 1.0
    forms[rows, ends] = -np.exp(-both)
    relaxation = Relaxation(forms, weights, wanted, False)
    form_of = np.zeros((n, n), dtype=np.int64)  # [x, z] has the number of r_z − e^{−εd} r_x
    form_of[ends, starts] = rows
    nonnegative, bounded, reach = np.zeros((n, len(rows))), np.zeros((n, len(rows))), np.zeros(n)
    far, before = shortest_path(csr_array((both, (ends, starts)), shape=(n, n)), return_predecessors=True)
    for x in range(n):
        nearest = int(np.argmin(np.where(np.arange(n) == x, np.inf, far[x])))
        # r_x = (up + e^{−rate}·down) / (1 − e^{−2·rate}), up = r_x − e^{−rate} r_z and down = r_z − e^{−rate} r_x
        down, up, rate = form_of[x, nearest], form_of[nearest, x], far[x, nearest]
        nonnegative[x, up] = 1 / -np.expm1(-2 * rate)
        nonnegative[x, down] = np.exp(-rate) / -np.expm1(-2 * rate)
        reach[x] = 1 / float(weights @ np.exp(-far[x]))
        # c_x p·r − r_x = c_x Σ_w p_w (r_w − e^{−εD(x, w)} r_x), and on the way from x to w each link from a secret to a
        # z adds its form, times e^{−εD(z, w)}, to the bracket
        carried = weights.copy()  # Σ p_w e^{−εD(z, w)} over all w that are reached from x through z
        for z in np.argsort(-far[x], kind="stable")[:-1]:
            back = before[x, z]
            link = form_of[back, z]
            bounded[x, link] = reach[x] * carried[z]
            carried[back] += carried[z] * np.exp(-both[link])
    if not (np.isfinite(reach).all() and np.isfinite(bounded).all()):
        return relaxation, np.full(n + len(relaxation.products[0]), np.nan)
    table = nonnegative.T @ bounded
    table = table + table.T
    table[np.diag_indices_from(table)] /= 2
    few = table.max()
    for _ in range(_TRIES):
        few /= 4
        point = _scaled(reach, np.log(np.maximum(table, few)[relaxation.products]))
        if _parts_of_value(relaxation, *relaxation.parts(point))[0] > 0:
            break
    return relaxation, point


def _connecting(n: int, first: Array, second: Array, rates: Floats) -> Array:
    """The pairs of a tree of least length, so that there are chains everywhere, and the shortest others."""
    tree = minimum_spanning_tree(csr_array((rates, (first, second)), shape=(n, n))).tocoo()
    chosen = np.isin(first * n + second, tree.row.astype(np.int64) * n + tree.col)
    order = np.lexsort((rates, ~chosen))
    return np.asarray(order[: max(n - 1, _MOST_FORMS // 2)])


def _scaled(prices: Floats, logs: Floats) -> Floats:
    """A point from prices and logarithms of products, of prices with sum one."""
    scale = prices.sum()
    return np.concatenate([len(prices) * prices / scale, logs - np.log(scale)])


def _parts_of_value(relaxation: Relaxation, prices: Floats, products: Floats) -> tuple[float, Floats, float, Floats]:
    """‖A H^{1/2}‖_* and twice its gradient with respect to H, ln det H and the inverse of H; −∞ first where H is not
    definite.
    """
    whole, n = relaxation.table(prices, products), relaxation.size
    gradient = np.zeros_like(whole)
    nowhere = -np.inf, gradient, -np.inf, gradient
    if not np.isfinite(whole).all():
        return nowhere
    values, axes = np.linalg.eigh(whole)
    if not values[0] > _DEFINITE * values[-1]:
        return nowhere
    inside, lift = whole, np.zeros((n, 0))
    if relaxation.lifted:
        lift = whole[:n, n:] / whole[n, n]
        inside = whole[:n, :n] - lift @ whole[n:, :n]
    low, turned = np.linalg.eigh(inside)
    if not low[0] > 0:
        return nowhere
    root, back = (turned * np.sqrt(low)) @ turned.T, (turned / np.sqrt(low)) @ turned.T
    squares, sides = np.linalg.eigh(root @ (relaxation.wanted.T @ relaxation.wanted) @ root)
    singular = np.sqrt(np.maximum(squares, 0.0))
    best = back @ (sides * singular) @ sides.T @ back
    gradient[:n, :n] = best
    if relaxation.lifted:
        gradient[:n, n:] = -best @ lift
        gradient[n:, :n] = gradient[:n, n:].T
        gradient[n:, n:] = lift.T @ best @ lift
    return float(singular.sum()), gradient, float(np.log(values).sum()), (axes / values) @ axes.T


def _climbed(relaxation: Relaxation, point: Floats, barrier: float, watch: Watch) -> tuple[Floats, float]:
    """A point that is better, and its bound.

    With a = ‖A H^{1/2}‖_* and c = m·1, a factor for all of m and Λ makes the bound a²/c; so ln a² − ln c is what is
    climbed, in which no direction is flat, with a barrier of the same kind.
    """
    n, size = relaxation.size, relaxation.forms.shape[1]

    def fall(at: Floats) -> tuple[float, Floats]:
        prices, products = relaxation.parts(at)
        paid = float(prices.sum())
        half, gradient, log_determinant, inverse = _parts_of_value(relaxation, prices, products)
        if not (half > 0 and paid > 0):
            return np.inf, at
        value = 2 * np.log(half) - np.log(paid) + barrier * (log_determinant / size - np.log(paid))
        slope = gradient / half + barrier * inverse / size
        slopes = (slope[:n, :n] @ relaxation.weights - (1 + barrier) / paid) / n
        pulls = -(relaxation.forms @ slope @ relaxation.forms.T)[relaxation.products] * np.exp(at[n:])
        return -value, -np.concatenate([slopes, pulls])

    point = descended(fall, point, _STEPS, lambda: watch.over)
    prices, products = relaxation.parts(point)
    half = _parts_of_value(relaxation, prices, products)[0]
    return point, half**2 / float(prices.sum()) * (1 - _MARGIN)
