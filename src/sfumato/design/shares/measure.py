"""The best measure on given columns: an experimental design with one vector equation.

Columns r_y with p·r_y = 1 and masses q_y ≥ 0 with Σ q_y r_y = 1 are a mechanism, and W = Σ q_y r_y r_yᵀ. The program

    minimise tr(A W⁻¹ Aᵀ) − τ Σ ln q_y    subject to    Σ q_y r_y = 1

is convex. With B = A W⁻¹ the gradient is −|B r_y|², the Hessian 2 (r_yᵀ W⁻¹ r_z)(B r_y · B r_z): a Newton step is one
Cholesky factor as large as the list of columns; τ falls tenfold between them. At the end B and the multipliers m of the
equation have |B r_y|² = m·r_y up to τ/q_y: a certificate, as far as these columns go.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from sfumato.numbers import Floats, floats
from sfumato.watch import Watch

_FALL = 0.1  # of τ between two centres
_CENTRED = 0.1  # A Newton step this short, relative to the masses, ends at a centre.
_STEPS = 60  # Newton steps for one centre.
_TO_THE_BORDER = 0.9
_RIDGE = 1e-14  # of the trace, for factors of matrices that are singular up to rounding


@dataclass(frozen=True, eq=False)
class ColumnMeasure:
    """Masses of columns, tr(A W⁻¹ Aᵀ), and the numbers B and m that certify it on these columns."""

    masses: Floats
    value: float
    dual: Floats
    prices: Floats


def best_measure(columns: Floats, wanted: Floats, masses: Floats, tolerance: float, watch: Watch) -> ColumnMeasure:
    """The best masses of columns (rows of a table, p·r = 1), to a relative tolerance, from any positive ones on."""
    count = len(columns)
    barrier = max(_value(columns, wanted, masses) / count, 1e-300)
    while True:
        for _ in range(_STEPS):
            watch.check()
            masses, prices, length = _newton(columns, wanted, masses, barrier)
            if length < _CENTRED:
                break
        value = _value(columns, wanted, masses)
        if barrier * count < tolerance * value:
            break
        barrier *= _FALL
    return ColumnMeasure(masses, value, wanted @ _inverse(columns, masses), prices)


def _newton(columns: Floats, wanted: Floats, masses: Floats, barrier: float) -> tuple[Floats, Floats, float]:
    """The masses after a step, the multipliers of the equation, and how long the step was in units of the masses."""
    inverse = _inverse(columns, masses)
    seen = columns @ (wanted @ inverse).T
    scaled = columns * masses[:, None]
    hessian = 2 * (scaled @ inverse @ scaled.T) * (seen @ seen.T)
    hessian[np.diag_indices_from(hessian)] += barrier + _RIDGE * np.trace(hessian) / len(masses)
    factor = cho_factor(hessian, overwrite_a=True, check_finite=False)
    gradient = -masses * (seen**2).sum(axis=1) - barrier
    across, along = cho_solve(factor, scaled, check_finite=False), cho_solve(factor, gradient, check_finite=False)
    meeting = scaled.T @ across
    meeting[np.diag_indices_from(meeting)] += _RIDGE * np.trace(meeting)
    prices = np.linalg.solve(meeting, 1 - columns.T @ masses + scaled.T @ along)
    step = across @ prices - along
    length = float(np.abs(step).max())
    reach = min(1.0, _TO_THE_BORDER / max(-float(step.min()), 1e-300))
    return masses * (1 + reach * step), floats(-prices), length


def _inverse(columns: Floats, masses: Floats) -> Floats:
    inside = (columns * masses[:, None]).T @ columns
    inside[np.diag_indices_from(inside)] += _RIDGE * np.trace(inside)
    return floats(np.linalg.inv(inside))


def _value(columns: Floats, wanted: Floats, masses: Floats) -> float:
    return float(np.trace(wanted @ _inverse(columns, masses) @ wanted.T))
