"""Moving hypers: Kantorovich distances and refining earth moves.

The distance of two distributions over X is the least cost of moving one into the other
when moving a unit from x to x′ costs d(x, x′); the distance of two hypers is the same one
level up, with that distance between inners as the cost. If ℓ(w, ·) is κ-Lipschitz in d for
every action, losses of two hypers differ by at most κ times it (Fernandes, McIver and
Morgan 2021, section IV-D).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.channel import Channel, check_secrets
from sfumato.channels.hyper import Hyper
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidInput, NotSupported, SolverError, expect
from sfumato.losses.loss import Loss, as_loss
from sfumato.lp import LinearProgram, solve
from sfumato.numbers import Array, floats, fractions, is_exact
from sfumato.orders.refinement import refines
from sfumato.spaces.finite import FiniteSpace, as_space
from sfumato.verdict import Verdict

__all__ = ["Transport", "hyper_distance", "hyper_refines", "kantorovich", "loss_lipschitz"]


@dataclass(frozen=True, eq=False)
class Transport:
    """A cheapest plan: ``plan[i, j]`` moves from i to j; potentials prove it cheapest."""

    cost: Fraction | float
    plan: Array
    potentials: tuple[Array, Array]


def kantorovich(first: Prior, second: Prior, space: FiniteSpace) -> Transport:
    """Kantorovich (Wasserstein-1) distance of two distributions over a space.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> space = line(3)
    >>> kantorovich(Prior(space, ["1/2", "1/2", 0]), Prior(space, [0, "1/2", "1/2"]), space).cost
    Fraction(1, 1)
    """
    first, second, space = as_prior(first), as_prior(second), as_space(space)
    check_secrets("two distributions and a space", space, first, second)
    table = space.distances
    if table.infinite.any():
        raise NotSupported(f"transport on {space.name}", ["finite distances"])
    rational = table.exact()
    cost = table.floats if rational is None else rational
    return cheapest(first.weights, second.weights, cost)


def hyper_distance(first: Hyper, second: Hyper, space: FiniteSpace) -> Transport:
    """Kantorovich distance of two hypers over the Kantorovich distance of their inners."""
    first, second, space = _as_hyper(first), _as_hyper(second), as_space(space)
    check_secrets("two hypers and a space", space, first, second)
    cost: list[list[Any]] = [
        [
            kantorovich(Prior(space, first.inners[:, i]), Prior(space, second.inners[:, j]), space).cost
            for j in range(len(second))
        ]
        for i in range(len(first))
    ]
    kind = np.float64 if any(isinstance(c, float) for row in cost for c in row) else object
    return cheapest(first.outer, second.outer, np.array(cost, dtype=kind))


def hyper_refines(b: Hyper, a: Hyper) -> Verdict:
    """Whether a refining earth move leads from hyper A to hyper B (paper A, II-B).

    The hypers must have the same average; the verdict is that of the channels they stand
    for on its support, and the witness R tells how much of inner i of A goes to inner j of B.
    """
    a, b = _as_hyper(a), _as_hyper(b)
    check_secrets("two hypers", a, b)
    average = a.average()
    close = np.abs(floats(average) - floats(b.average())).max() <= 1e-12
    if (a.exact and b.exact and (average != b.average()).any()) or not close:
        raise InvalidInput("hypers of different priors are not comparable: their averages differ")
    return refines(_channel_of(b), _channel_of(a))


def loss_lipschitz(loss: Loss, space: FiniteSpace) -> Any:
    """The smallest κ with ``|ℓ(w, x) − ℓ(w, x′)| ≤ κ d(x, x′)`` for all actions."""
    loss, space = as_loss(loss), as_space(space)
    check_secrets("loss and space", space, loss)
    table = space.distances
    first, second = np.triu_indices(len(space), 1)
    keep = ~table.infinite[first, second]
    first, second = first[keep], second[keep]
    if not first.size:
        return 0
    gaps = np.abs(loss.matrix[:, first] - loss.matrix[:, second]).max(axis=0)
    rational = table.exact()
    if rational is not None and loss.exact:
        return max(Fraction(g) / d for g, d in zip(fractions(gaps), fractions(rational[first, second]), strict=True))
    return float((floats(gaps) / table.floats[first, second]).max())


def _as_hyper(value: Any) -> Hyper:
    return expect(value, Hyper, "a hyper", "hyper(prior, channel) makes one")


def _channel_of(hyper: Hyper) -> Channel:
    """The channel on the support of the average that makes this hyper of it."""
    joint = hyper.inners * hyper.outer[None, :]
    totals = joint.sum(axis=1)
    rows = np.flatnonzero(totals > 0)
    matrix = joint[rows] / totals[rows][:, None]
    return Channel([hyper.secrets[i] for i in rows], matrix)


def cheapest(first: Array, second: Array, cost: Array) -> Transport:
    """min Σ c_ij P_ij over P ≥ 0 with row sums ``first`` and column sums ``second``."""
    n, m = cost.shape
    exactly = is_exact(first, second, cost)
    if not exactly:
        first, second, cost = floats(first), floats(second), floats(cost)
        second = second * (first.sum() / second.sum())  # equal totals, or there is no plan at all
    i, j = np.divmod(np.arange(n * m), m)
    program = LinearProgram(
        cost=cost.ravel(),
        rows=np.concatenate([i, n + j]),
        columns=np.concatenate([np.arange(n * m)] * 2),
        values=np.ones(2 * n * m, dtype=np.int64 if exactly else np.float64),
        senses="=" * (n + m),
        rhs=np.concatenate([first, second]),
    )
    solution = solve(program)
    if solution.value is None or solution.primal is None or solution.dual is None:
        raise SolverError("the transport problem has no solution: do the totals agree?")
    dual: NDArray[Any] = solution.dual
    plan = solution.primal.reshape(n, m) + 0  # a solver's -0.0 is 0
    return Transport(solution.value, plan, (dual[:n], dual[n:]))
