"""The best measure on given columns: an experimental design with one vector equation.

Columns r_y with p·r_y = 1 and masses q_y ≥ 0 with Σ q_y r_y = 1 are a mechanism, and W = Σ q_y r_y r_yᵀ. The program

    minimise tr(A W⁻¹ Aᵀ) − τ Σ ln q_y    subject to    Σ q_y r_y = 1

is convex. With B = A W⁻¹ the gradient is −|B r_y|², the Hessian 2 (r_yᵀ W⁻¹ r_z)(B r_y · B r_z): a Newton step is one
Cholesky factor as large as the list of columns; τ falls tenfold between them. At the end B and the multipliers m of the
equation have |B r_y|² = m·r_y up to τ/q_y: a certificate, as far as these columns go. Where a workload asks for fewer
numbers than there are secrets, the dual program is solved instead (:mod:`sfumato.design.shares.dual`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from sfumato.design.shares.dual import dual_measure, rank_factors, variance_of
from sfumato.errors import NotConverged
from sfumato.numbers import Floats, floats
from sfumato.watch import Watch

ALIKE = "columns are so much alike that a variance is beyond floats: take a larger epsilon, or fewer secrets"
"""What is said where no mechanism that was found has a variance that floats can hold."""

_FALL = 0.1  # of τ between two centres
_CENTRED = 0.1  # A Newton step this short, relative to the masses, ends at a centre.
_STEPS = 40  # Newton steps for one centre.
_CENTRES = 40
_HOPELESS = 1e15  # condition of the equation beyond which a step is noise
_TO_THE_BORDER = 0.9
_LEAST = 1e-17  # of the trace of W
_RIDGE = 1e-14  # of the trace, for factors of matrices that are singular up to rounding
_LARGEST_DUAL = 600  # numbers in B and m together: a Hessian of so many takes some milliseconds


@dataclass(frozen=True, eq=False)
class ColumnMeasure:
    """Masses of columns, tr(A W⁻¹ Aᵀ), and the numbers B and m that certify it on these columns."""

    masses: Floats
    value: float
    dual: Floats
    prices: Floats


def best_masses(columns: Floats, wanted: Floats, masses: Floats, tolerance: float, watch: Watch) -> ColumnMeasure:
    """The best masses of columns (rows of a table, p·r = 1), to a relative tolerance, from any positive ones on."""
    turned, rows = rank_factors(wanted)
    n = columns.shape[1]
    # W has 1 to itself, whatever is asked for: W p = 1
    if np.linalg.matrix_rank(np.vstack([wanted, np.ones(n)])) < n and (len(rows) + 1) * n <= _LARGEST_DUAL:
        even = np.full(len(columns), 1 / len(columns))
        found = dual_measure(columns, rows, _value(columns, rows, even), tolerance, watch)
        if found is not None:
            dual, prices, masses = found
            return ColumnMeasure(masses, variance_of(columns, rows, masses), turned @ dual, prices)
    count, prices = len(columns), np.zeros(columns.shape[1])
    barrier = _value(columns, wanted, masses) / count
    for _ in range(_CENTRES):
        for _ in range(_STEPS):
            watch.check()
            after = _newton(columns, wanted, masses, barrier)
            if after is None:  # rounding errors have the last word, and the step before was good
                return _measured(columns, wanted, masses, prices)
            masses, prices, length = after
            if length < _CENTRED:
                break
        else:  # so many steps lead to a centre, unless rounding errors lead away from it
            break
        if barrier * count < tolerance * _value(columns, wanted, masses):
            break
        barrier *= _FALL
    return _measured(columns, wanted, masses, prices)


def _measured(columns: Floats, wanted: Floats, masses: Floats, prices: Floats) -> ColumnMeasure:
    inverse = _inverse(columns, masses)
    return ColumnMeasure(masses, float(np.trace(wanted @ inverse @ wanted.T)), wanted @ inverse, prices)


def _newton(columns: Floats, wanted: Floats, masses: Floats, barrier: float) -> tuple[Floats, Floats, float] | None:
    """The masses after a step, the multipliers of the equation, and how long the step was in units of the masses; None
    where floats cannot make one.
    """
    inverse = _inverse(columns, masses)
    seen = columns @ (wanted @ inverse).T
    scaled = columns * masses[:, None]
    hessian = 2 * (scaled @ inverse @ scaled.T) * (seen @ seen.T)
    hessian[np.diag_indices_from(hessian)] += barrier + _RIDGE * np.trace(hessian) / len(masses)
    try:
        factor = cho_factor(hessian, overwrite_a=True, check_finite=False)
    except LinAlgError:
        return None
    gradient = -masses * (seen**2).sum(axis=1) - barrier
    across, along = cho_solve(factor, scaled, check_finite=False), cho_solve(factor, gradient, check_finite=False)
    # where the Hessian is flat the barrier alone holds, so that entries differ by many powers of ten: no ridge here
    meeting = scaled.T @ across
    if not np.isfinite(meeting).all() or not np.linalg.cond(meeting) < _HOPELESS:
        return None
    prices = np.linalg.solve(meeting, 1 - columns.T @ masses + scaled.T @ along)
    step = across @ prices - along
    length = float(np.abs(step).max())
    reach = min(1.0, _TO_THE_BORDER / max(-float(step.min()), 1e-300))
    return masses * (1 + reach * step), floats(-prices), length


def _inverse(columns: Floats, masses: Floats) -> Floats:
    """W⁻¹. Where a workload asks for less than all shares, the best W is singular, and on the way there nearly so: what
    is added to make it definite has to stay below what masses that vanish still add.
    """
    inside = (columns * masses[:, None]).T @ columns
    inside[np.diag_indices_from(inside)] += _LEAST * np.trace(inside)
    try:
        return floats(np.linalg.inv(inside))
    except LinAlgError as error:
        raise NotConverged(ALIKE) from error


def _value(columns: Floats, wanted: Floats, masses: Floats) -> float:
    return float(np.trace(wanted @ _inverse(columns, masses) @ wanted.T))
