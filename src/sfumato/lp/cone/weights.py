"""How large products of slacks and duals may be, relative to others, while the gap of a run shrinks."""

from __future__ import annotations

import numpy as np

from sfumato.numbers import Floats


def row_weights(stakes: Floats, smallest: float = 1e-4) -> Floats:
    """Weights of rows, from what they have at stake; none is below the cube root of ``smallest``.

    Rows with little at stake count less: the cube root is what needed fewest iterations on priors with bumps.
    """
    return np.asarray(np.cbrt(np.maximum(stakes / (stakes.max() or 1.0), smallest)))


def pair_weights(one: Floats, other: Floats, logs: Floats, nearest: Floats) -> Floats:
    """Weights of pairs, from those of their rows.

    Far pairs nearly repeat r ≥ 0, so they count by the inverse of their log bound: ``nearest`` has the least one of
    every row, and what is typical of them counts fully.
    """
    known = nearest[np.isfinite(nearest)]
    typical = float(np.median(known)) if known.size else 1.0
    return np.asarray(np.minimum(one, other) * np.minimum(typical / logs, 1.0))


def column_weights(sizes: Floats, smallest: float, mask: Floats | None = None) -> Floats:
    """Weights of columns, 1 on average over those that are not masked: their sizes, but for columns that vanish.

    Most columns of a program with unequal rows vanish. With equal weights they do so late, and until then short steps
    along their boundaries hold up all others: that took twice as many iterations. ``sizes`` are 1 on average.
    """
    weights = np.maximum(sizes, smallest)
    average = weights.mean() if mask is None else (weights * mask).sum() / mask.sum()
    return np.asarray(weights / average)
