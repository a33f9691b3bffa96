"""Where the first-order method begins: the columns e^{−dist} with weights, each moved to its best action.

Let K_xo = e^{−dist(o, x)} be the least column that satisfies all pairs and is 1 at o. If Kw = 1 has a solution w ≥ 0,
then Σ_o w_o K_o is a point, and it stays one when K_o is given to the column in which it costs least, g_o. On grids
with the Manhattan metric this is within a hundredth of the optimum, often at it. If it is optimal, its prices solve
Kᵀp = g; then, for every column y, multipliers are flows away from the row where y is best: what arrives at z pays for
(C − p)_zy and for what goes on from there. Where a flow would be negative there is none, and the iteration has to find
a better way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sfumato.lp.cone.program import ColumnProgram
from sfumato.lp.first_order_support import Closure, Support, torch
from sfumato.watch import Watch

_MOST_ROWS = {"cpu": 4_000, "cuda": 20_000}  # The system Kw = 1 is dense: it is not solved for more rows.
_SOLVED = 1e-7  # With a larger relative residual the two systems are too ill-conditioned to be of use.
_MOST_SWEEPS = 1_000
_SETTLED = 1e-6  # Sweeps end with a relative change of the flows below this.
_TAIL = 1e-4  # Entries below this part of the largest of their column, in tolerances, are filled in at the end.
_DEARER = 2.0  # Prices may become so many times the first ones in the end.
_SHORTAGE = 1e-2  # All rows together may lose this part of a tolerance because an entry was left out.


@dataclass(frozen=True, eq=False)
class Beginning:
    """A matrix and the prices of its rows if there are any, and how columns fall off from where they are best."""

    falling: Any
    matrix: Any = None
    prices: Any = None


def beginning(program: ColumnProgram, cost: Any, closure: Closure, watch: Watch | None = None) -> Beginning:
    """For costs (tensor, double) whose least entry in every class is 0; raises TimeIsUp when its time is over."""
    n = len(program.cost)
    if n > _MOST_ROWS[cost.device.type]:
        anchors = _anchors(cost, cost.mean(1))
        field = torch.zeros(n, len(anchors), dtype=torch.float64, device=cost.device)
        field[anchors, torch.arange(len(anchors), device=cost.device)] = 1.0
        closure.close(field)
        return Beginning(field)
    kernel = torch.eye(n, dtype=torch.float64, device=cost.device)
    closure.close(kernel, watch)
    ones = torch.ones(n, 1, dtype=torch.float64, device=cost.device)
    weights = _solved(kernel, ones)
    if weights is None or float(weights.min()) < -_SOLVED * float(weights.max()):
        return Beginning(kernel[:, _anchors(cost, cost.mean(1))])
    weights = weights.clamp_min(0)[:, 0]
    classes = torch.tensor(program.row_classes, device=cost.device)
    paid = kernel.T @ cost
    least, action = paid.min(1)
    # in a class the best of its rows speaks for all: with symmetry they are images of each other
    best = torch.full((len(program.sizes),), torch.inf, dtype=torch.float64, device=cost.device)
    best.scatter_reduce_(0, classes, least, "amin")
    speaker = torch.zeros(len(best), dtype=torch.int64, device=cost.device)
    chosen = torch.nonzero(least <= best[classes])[:, 0]
    speaker[classes[chosen]] = chosen
    speaker = speaker[classes]
    matrix = torch.zeros_like(cost).index_add_(1, action[speaker], kernel[:, speaker] * weights)
    prices = _solved(kernel.T, best[classes][:, None])
    if prices is None:
        return Beginning(kernel[:, _anchors(cost, cost.mean(1))], matrix)
    return Beginning(kernel[:, _anchors(cost, prices[:, 0].abs())], matrix, prices[:, 0])


def _anchors(cost: Any, stakes: Any) -> Any:
    """The row for which a column is best, in shares of what is at stake there."""
    known = stakes > 1e-12 * stakes.max()  # a row where nothing is at stake has no best column
    return torch.where(known[:, None], cost / stakes.clamp_min(1e-300)[:, None], torch.inf).argmin(0)


def _solved(matrix: Any, right: Any) -> Any:
    """The solution of a linear system, None if floats do not have one."""
    solution, info = torch.linalg.solve_ex(matrix, right)
    if int(info):
        return None
    off = float((matrix @ solution - right).abs().max())
    return solution if off <= _SOLVED * float(right.abs().max()) else None


def worth_moving(program: ColumnProgram, cost: Any, begun: Beginning, tolerance: float) -> Any:
    """Which entries the iteration needs: near the row where a column is best, and wherever the prices ask for more."""
    falling = begun.falling
    if begun.prices is None or begun.matrix is None or not _both_ways(program):
        return torch.ones_like(falling, dtype=torch.bool)
    value = float((begun.matrix * cost).sum())
    shortage = _DEARER * begun.prices[:, None] - cost > _SHORTAGE * tolerance * value / len(cost)
    # as far as prices ask for it, and a step beyond
    farthest = torch.where(shortage, falling, torch.inf).amin(0)
    nearest, column = falling.max(1)  # and so that no row is without entries
    farthest.scatter_reduce_(0, column, nearest, "amin")
    step = float(torch.exp(-torch.tensor(program.logs).min())) if len(program.logs) else 1.0
    return falling >= torch.minimum(farthest * step, torch.full_like(farthest, _TAIL * tolerance))


def _both_ways(program: ColumnProgram) -> bool:
    """Whether every pair is there the other way round too: otherwise columns may be large again far away."""
    n = len(program.cost)
    there, back = program.first * n + program.second, program.second * n + program.first
    return bool(np.isin(back, there).all())


def flows(support: Support, cost: Any, prices: Any, falling: Any) -> Any:
    """Multipliers that go away from where each column is best, and pay for (C − p) behind them."""
    tight = support.real & (support.at_ends(falling) <= support.decay * falling * (1 + 1e-9))
    arriving = torch.zeros_like(falling)
    arriving.index_add_(0, support.after.view(-1).long(), tight.double().view(-1))
    owed = cost - prices
    owed[-1] = 0.0
    due = owed
    for _ in range(_MOST_SWEEPS):
        onward = _forward(support, tight, due, arriving)
        new = owed + (support.decay * onward).sum(0)
        moved = float((new - due).abs().sum())
        due = new
        if moved <= _SETTLED * float(due.abs().sum()):
            break
    return _forward(support, tight, due, arriving)


def _forward(support: Support, tight: Any, due: Any, arriving: Any) -> Any:
    each = due.clamp_min(0) / arriving.clamp_min(1.0)
    each[-1] = 0.0
    return torch.where(tight, support.at_ends(each), 0.0)
