"""The best measure on given columns where a workload asks for fewer numbers than there are secrets.

The best W is singular there, or nearly so, and steps that invert it end in rounding errors. The dual program

    maximise 2 tr(A Bᵀ) − m·1 + τ Σ ln(m·r_y − |B r_y|²)

has no W in it: its optimum is bounded wherever the columns span, and q_y = τ/(m·r_y − |B r_y|²) are masses with
Σ q_y r_y = 1 at a centre. A Newton step is one Cholesky factor, as large as B and m together.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, qr, solve_triangular

from sfumato.numbers import Floats
from sfumato.watch import Watch

_FALL = 0.1  # of τ between two centres
_CENTRED = 0.3  # A Newton decrement this small ends at a centre: the masses of its step are positive.
_STEPS = 200  # Newton steps for one centre: a damped one gains a constant, and few are damped.
_CENTRES = 40
_HALVINGS = 50  # of a step
_ARMIJO = 0.1  # of the slope is the least that a step gains
_RANK = 1e-12  # of the largest singular value of a workload is the least that is told from 0
_RIDGE = 1e-15  # of a Hessian with ones on its diagonal

Centre = tuple[Floats, Floats, Floats]
"""B, m, and masses with Σ q_y r_y = 1."""


def rank_factors(wanted: Floats) -> tuple[Floats, Floats]:
    """Orthonormal columns and independent rows whose product is a workload: only as many as its rank count."""
    left, values, right = np.linalg.svd(wanted, full_matrices=False)
    rank = int((values > _RANK * values[0]).sum())
    return left[:, :rank], values[:rank, None] * right[:rank]


def dual_measure(columns: Floats, rows: Floats, value: float, tolerance: float, watch: Watch) -> Centre | None:
    """B, m and masses within a relative tolerance of the best; None where floats hold no centre.

    ``value`` is about as large as the optimum, and no more than where the search begins.
    """
    count, n = columns.shape
    size = rows.size
    barrier = value / count
    point = np.concatenate([np.zeros(size), np.full(n, value / n)])
    best: Centre | None = None
    for _ in range(_CENTRES):
        centre = _centred(columns, rows, point, barrier, watch)
        if centre is None:  # rounding errors have the last word, and the centre before was good
            break
        point, masses = centre
        best = point[:size].reshape(rows.shape), point[size:], masses
        reached = 2 * float(point[:size] @ rows.ravel()) - float(point[size:].sum()) + barrier * count
        if barrier * count < tolerance * reached:
            break
        barrier *= _FALL
    return best


def _centred(
    columns: Floats, rows: Floats, point: Floats, barrier: float, watch: Watch
) -> tuple[Floats, Floats] | None:
    """The point where the barrier balances, and the masses that a last step makes fit."""
    aim = np.concatenate([2 * rows.ravel(), -np.ones(columns.shape[1])]) / barrier
    for _ in range(_STEPS):
        watch.check()
        slack, slopes, hessian = _around(columns, rows.shape, point)
        gradient = aim + slopes.sum(axis=0)
        scale = 1 / np.sqrt(np.diag(hessian))
        scaled = hessian * scale * scale[:, None]
        scaled[np.diag_indices_from(scaled)] += _RIDGE * len(scale)
        try:
            step = scale * cho_solve(cho_factor(scaled, overwrite_a=True), scale * gradient)
        except (LinAlgError, ValueError):
            return None
        gain = float(gradient @ step)
        if not gain >= 0:
            return None
        if gain < _CENTRED**2:
            return point + step, barrier / slack * (1 - slopes @ step)
        length = 1 / (1 + gain**0.5)
        value = float(aim @ point) + float(np.log(slack).sum())
        for _ in range(_HALVINGS):
            after = point + length * step
            there = _slack(columns, rows.shape, after)
            if there.min() > 0 and float(aim @ after) + float(np.log(there).sum()) >= value + _ARMIJO * length * gain:
                break
            length /= 2
        else:
            return None
        point = after
    return None


def _slack(columns: Floats, shape: tuple[int, ...], point: Floats) -> Floats:
    """m·r_y − |B r_y|² of each column."""
    size = shape[0] * shape[1]
    return np.asarray(columns @ point[size:] - ((columns @ point[:size].reshape(shape).T) ** 2).sum(axis=1))


def _around(columns: Floats, shape: tuple[int, ...], point: Floats) -> tuple[Floats, Floats, Floats]:
    """Slacks, the slopes of their logarithms, and minus the Hessian of the sum of these."""
    (k, n), size = shape, shape[0] * shape[1]
    slack = _slack(columns, shape, point)
    seen = columns @ point[:size].reshape(shape).T
    turned = -2 * seen[:, :, None] * columns[:, None, :]
    slopes = np.concatenate([turned.reshape(len(columns), size), columns], axis=1) / slack[:, None]
    hessian = slopes.T @ slopes
    inner = 2 * (columns / slack[:, None]).T @ columns
    for row in range(k):
        hessian[row * n : (row + 1) * n, row * n : (row + 1) * n] += inner
    return slack, slopes, hessian


def variance_of(columns: Floats, rows: Floats, masses: Floats) -> float:
    """tr(A W⁻¹ Aᵀ) by a factor of W that is made without W, which may be singular up to rounding."""
    factor = qr(np.sqrt(masses)[:, None] * columns, mode="r")[0][: columns.shape[1]]
    return float((solve_triangular(factor, rows.T, trans="T") ** 2).sum())
