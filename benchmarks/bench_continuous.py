"""The Kantorovich distance of the hypers of G_N and of the pixelated Laplace mechanism, T = 4N.

``line_hyper_distance`` sorts posterior means. Beside it: one transport program over all pairs of posteriors in
HiGHS (``scipy.optimize.linprog``), its costs from one table of cumulative sums, and ``sfumato.orders.hyper_distance``,
which solves a program for each pair first. A second table has expected losses of the Laplace mechanism beside plain
midpoint sums of the same integral.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array
from scipy.stats import beta

import sfumato as sf
from sfumato.mechanisms.continuous import (
    Density,
    IntervalLoss,
    absolute_error,
    lattice_geometric,
    lattice_space,
    line_hyper_distance,
    on_lattice,
    pixelate,
    posterior_loss,
    squared_error,
    truncated_laplace,
)
from timing import Table, measure

STEPS = (4, 8, 16, 32, 64)
MOST_FOR_THE_GENERAL_CASE = 8  # hyper_distance takes a program for each of (N + 1)·4N pairs
CELLS = 1500


def main() -> None:
    """Print and write both tables."""
    _distances()
    _losses()


def _distances() -> None:
    table = Table(
        "hyper-distance",
        "Distance of the hypers of G_N and the Laplace mechanism with 4N pixels, ε = 1, uniform prior, floats",
        ("N", "distance", "sorted, s", "HiGHS, s", "HiGHS ÷ sorted", "difference", "hyper_distance, s"),
    )
    source = truncated_laplace(1)
    for steps in STEPS:
        prior = sf.Prior.uniform(lattice_space(steps)).to_floats()
        first = sf.hyper(prior, lattice_geometric(source, steps))
        second = sf.hyper(prior, on_lattice(pixelate(source, 4 * steps), steps))
        own = measure(lambda first=first, second=second: line_hyper_distance(first, second), repeats=5)
        peer = measure(lambda first=first, second=second: _by_highs(first, second), repeats=3 if steps <= 32 else 1)
        own_value, program = float(line_hyper_distance(first, second).cost), _by_highs(first, second)
        general: object = "—"
        if steps <= MOST_FOR_THE_GENERAL_CASE:
            space = lattice_space(steps)
            call = lambda first=first, second=second, space=space: sf.orders.hyper_distance(first, second, space)  # noqa: E731
            general = measure(call, repeats=0).first
        table.add(
            steps,
            own_value,
            own.median,
            peer.median,
            peer.median / own.median,
            f"{abs(own_value - program):.0e}",
            general,
        )
    table.finish()


def _by_highs(first: sf.Hyper, second: sf.Hyper) -> float:
    """One program with a variable for each pair of posteriors."""
    points = np.array([float(s) for s in first.secrets])
    sums = [np.cumsum(h.inners, axis=0)[:-1] for h in (first, second)]
    cost = np.einsum("kij,k->ij", np.abs(sums[0][:, :, None] - sums[1][:, None, :]), np.diff(points))
    n, m = cost.shape
    i, j = np.divmod(np.arange(n * m), m)
    ones = np.ones(2 * n * m)
    matrix = coo_array((ones, (np.concatenate([i, n + j]), np.tile(np.arange(n * m), 2))), shape=(n + m, n * m))
    target = second.outer * (first.outer.sum() / second.outer.sum())
    solved = linprog(cost.ravel(), A_eq=matrix.tocsr(), b_eq=np.concatenate([first.outer, target]), method="highs")
    return float(solved.fun)


def _losses() -> None:
    table = Table(
        "continuous-loss",
        f"Expected loss of the truncated Laplace mechanism, ε = 2, beside midpoint sums with {CELLS} cells",
        ("prior", "loss", "value", "error estimate", "quadrature, s", "sums, s", "sums ÷ quadrature", "off by"),
    )
    source = truncated_laplace(2)
    for prior in (Density.uniform(), Density(beta(2, 3))):
        for loss in (absolute_error(), squared_error()):
            own = measure(lambda prior=prior, loss=loss: posterior_loss(prior, source, loss), repeats=3)
            peer = measure(lambda prior=prior, loss=loss: _by_sums(prior, loss), repeats=1)
            own_value = posterior_loss(prior, source, loss)
            off = f"{abs(_by_sums(prior, loss) - own_value.value):.0e}"
            table.add(
                prior.name, loss.name, own_value.value, f"{own_value.error:.0e}", own.median, peer.median,
                peer.median / own.median, off,
            )  # fmt: skip
    table.finish()


def _by_sums(prior: Density, loss: IntervalLoss) -> float:
    """Midpoint sums for secrets and outputs, and 401 actions."""
    x = (np.arange(CELLS) + 0.5) / CELLS
    ends = np.exp(-2 * np.stack([x, 1 - x], axis=1)) / 2
    joint = (prior(x) / CELLS)[:, None] * np.concatenate(
        [ends, np.exp(-2 * np.abs(x[:, None] - x[None, :])) / CELLS], axis=1
    )
    actions = np.linspace(0, 1, 401)
    return float((loss(actions[:, None], x[None, :]) @ joint).min(axis=0).sum())


if __name__ == "__main__":
    main()
