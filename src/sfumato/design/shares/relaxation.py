"""A lower bound on N times the variance where the rays of a promise are too many to be listed.

Let the cone of the promise be {r : G r ≥ 0}, or its lift {(r, c) : c ≤ r_x ≤ f c} where all distances are one. Products
of two of these forms are not negative, so for numbers Λ ≥ 0 (a symmetric table) and prices m

    |B r|² ≤ (m·r)(p·r)  on the cone, if  BᵀB ⪯ H(m, Λ) = sym(m pᵀ) − Gᵀ Λ G,

where a lift is left out of H by a Schur complement. The best B for an H has 2 tr(A Bᵀ) = 2‖A H^{1/2}‖_* (the sum of the
singular values), so that

    no mechanism has less than  2‖A H^{1/2}‖_* − m·1 − |Ap|².

That is concave in (m, Λ), with gradient H^{−1/2} (H^{1/2} AᵀA H^{1/2})^{1/2} H^{−1/2} with respect to H: the W of the
relaxed problem. L-BFGS climbs it; a barrier keeps H definite. Whatever it returns is a bound, up to the rounding of an
eigenvalue decomposition, for which a stated margin is taken off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls

from sfumato.design.shares.columns import kind_of
from sfumato.design.shares.descent import descended
from sfumato.numbers import Array, Floats
from sfumato.privacy.type import PrivacyType
from sfumato.watch import Watch

_MOST_FORMS = 400  # Constraints of which all products are taken: those of the shortest pairs.
_BARRIERS = (1e-1, 1e-2, 1e-3, 1e-4)  # parts of the logarithm of det H that count, one after the other
_STEPS = 6000  # of L-BFGS, for each of them
_MARGIN = 1e-7  # of the value: eigenvalues of H are good to 1e-13 of the largest, their roots to 3e-7 of its root
_TRIES = 40  # of a start
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
    """A number below tr(A W⁻¹ Aᵀ) for every mechanism of a type at the distribution with these weights."""
    relaxation = _relaxation(privacy, weights, wanted)
    reach = 1 / (np.exp(-privacy.log_bounds) @ weights)
    point, best = _start(relaxation, reach), -np.inf
    for barrier in _BARRIERS:
        point, bound = _climbed(relaxation, point, barrier, watch)
        best = max(best, bound)
        if watch.over:
            break
    return best


def _relaxation(privacy: PrivacyType, weights: Floats, wanted: Floats) -> Relaxation:
    n, (first, second) = len(weights), privacy.space.pairs
    factors = np.exp(privacy.rate * privacy.space.pair_distances.floats)
    if kind_of(privacy) == "one distance":
        below = np.hstack([np.eye(n), -np.ones((n, 1))])
        above = np.hstack([-np.eye(n), np.full((n, 1), factors[0])])
        return Relaxation(np.vstack([below, above]), weights, wanted, True)
    near = np.argsort(factors, kind="stable")[: _MOST_FORMS // 2]
    forms = np.zeros((2 * len(near), n))
    rows = np.arange(len(near))
    for start, (x, z) in enumerate(((first, second), (second, first))):
        forms[start * len(near) + rows, z[near]] = factors[near]
        forms[start * len(near) + rows, x[near]] = -1.0
    return Relaxation(forms / np.abs(forms).max(axis=1, keepdims=True), weights, wanted, False)


def _start(relaxation: Relaxation, reach: Floats) -> Floats:
    """Prices and logarithms of products for which H is definite.

    For a lift, the products (r_x − c)(f c − r_x), equally, are enough. Elsewhere r_x ≥ 0 and c_x p·r − r_x ≥ 0 follow
    from the forms, with c_x = 1 / Σ_z p_z e^{−εd(x, z)}, so they are sums of these with coefficients that are not
    negative. Their products, added up over x, make H the identity for m = c; all others begin with a little.
    """
    n, forms, chosen = relaxation.size, relaxation.forms, relaxation.products
    table = np.zeros((len(forms), len(forms)))
    if relaxation.lifted:
        table[chosen] = 1.0
        prices = relaxation.weights * n * (2 + np.abs(forms).max()) ** 2
    else:
        above = [nnls(forms.T, unit)[0] for unit in np.eye(n)]
        below = [nnls(forms.T, c * relaxation.weights - unit)[0] for c, unit in zip(reach, np.eye(n), strict=True)]
        both = np.array(above).T @ np.array(below)
        table, prices = (both + both.T) / 2, reach
    few = table.max()
    for _ in range(_TRIES):
        few /= 4
        point = np.concatenate([n * prices, np.log(np.maximum(table, few)[chosen])])
        if _parts_of_value(relaxation, *relaxation.parts(point))[0] > 0:
            break
    scale = prices.sum()
    return np.concatenate([n * prices / scale, point[n:] - np.log(scale)])


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
