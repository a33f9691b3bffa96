"""Inverse roots of many Stieltjes matrices at once, without a subtraction.

A matrix H with off-diagonal entries −w ≤ 0 is given by w and its row sums, both known without cancellation.
Elimination in terms of these two adds and never subtracts, as for Markov chains (Grassmann, Taksar and Heyman 1985),
so pivots of 1e-20 come out as accurate as large ones. Here it goes by panels: inside a panel only the couplings
within it and the sum of those to later rows are needed, and everything else is products of matrices ≥ 0.
"""

from __future__ import annotations

from typing import Any

from sfumato.lp.cone.arrays_backend import Arrays

_PANEL = 32
_STRIP = 512


def inverse_roots(arrays: Arrays, w: Any, excess: Any, least: Any) -> Any:
    """V, upper triangular and ≥ 0, with V Vᵀ = H⁻¹, for each matrix of a batch.

    Parameters
    ----------
    w
        −H off the diagonal, batch × n × n; the diagonal is not read. Overwritten.
    excess
        Row sums of H, batch × n. Overwritten.
    least
        Lower bounds of the pivots, for when rounding errors leave nothing of one.
    """
    n = excess.shape[1]
    result = arrays.zeros(*w.shape)
    corner = _fused_corner(arrays) or _corner
    for low in range(0, n, _PANEL):
        high = min(low + _PANEL, n)
        panel = w[:, low:, low:high]
        if low:
            before = w[:, low:high, :low].mT
            panel = panel + w[:, low:, :low] @ before
        below = panel[:, high - low :]
        mine = excess[:, low:high]
        diagonal = corner(arrays, panel[:, : high - low], mine + below.sum(1), least[:, low:high])
        result[:, low:high, low:high] = diagonal
        if high < n:
            later = below @ diagonal
            w[:, high:, low:high] = later
            excess[:, high:] += (later @ (diagonal.mT @ mine[:, :, None]))[:, :, 0]
        if low:
            turned = before @ diagonal
            # the upper triangle times a panel, in strips of rows that leave out most of what is zero
            for top in range(0, low, _STRIP):
                rows = slice(top, min(top + _STRIP, low))
                result[:, rows, low:high] = result[:, rows, top:low] @ turned[:, top:]
    return result


def _fused_corner(arrays: Arrays) -> Any:
    if not arrays.fused:
        return None
    from sfumato.lp.cone.arrays_corner import corner

    return corner


def _corner(arrays: Arrays, w: Any, excess: Any, least: Any) -> Any:
    """V of small matrices, one pivot after the other."""
    xp = arrays.module
    size = excess.shape[1]
    lower, result = w + 0.0, arrays.zeros(*w.shape)
    excess = excess + 0.0
    for j in range(size):
        scale = 1.0 / xp.sqrt(xp.maximum(excess[:, j] + lower[:, j + 1 :, j].sum(1), least[:, j]))
        column = lower[:, j + 1 :, j] * scale[:, None]
        lower[:, j + 1 :, j] = column
        excess[:, j + 1 :] += column * (excess[:, j] * scale)[:, None]
        lower[:, j + 1 :, j + 1 :] += column[:, :, None] * column[:, None, :]
        result[:, :j, j] = (result[:, :j, :j] * lower[:, j, None, :j]).sum(2) * scale[:, None]
        result[:, j, j] = scale
    return result
