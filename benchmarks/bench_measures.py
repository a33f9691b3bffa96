"""Measures of a 1,000 × 1,000 channel, beside the peer and beside the least work that could do.

Bayes vulnerability has to read the matrix once; a posterior loss with 1,000 actions, its remap and
its leakage need one matrix product. Both packages get their inputs ready-made: sfumato's channel
is built (and checked) before the clock starts, which is reported on a line of its own.
"""

from __future__ import annotations

import numpy as np
import qif

import sfumato as sf
from timing import Table, measure_side_by_side

SIZE = 1_000


def main() -> None:
    """Print and write the two tables."""
    rng = np.random.default_rng(1)
    matrix = rng.dirichlet(np.ones(SIZE), SIZE)
    weights = rng.dirichlet(np.ones(SIZE))
    bayes_vulnerability(matrix, weights)
    losses(matrix, weights, rng.random((SIZE, SIZE)))


def bayes_vulnerability(matrix: np.ndarray, weights: np.ndarray) -> None:
    """Σ_y max_x π_x C_xy, whose limit is reading the matrix once."""
    secrets = range(SIZE)
    channel, prior = sf.Channel(secrets, matrix), sf.Prior(secrets, weights)
    by_column = np.asfortranarray(matrix)
    timings = measure_side_by_side(
        {
            "numpy matrix.sum()": matrix.sum,
            "numpy matrix.max()": matrix.max,
            "sfumato bayes_vulnerability": lambda: sf.bayes_vulnerability(prior, channel),
            "qif bayes_vuln.posterior": lambda: qif.measure.bayes_vuln.posterior(weights, matrix),
            "qif bayes_vuln.posterior, columns contiguous": lambda: qif.measure.bayes_vuln.posterior(
                weights, by_column
            ),
            "sfumato Channel(...), built and checked": lambda: sf.Channel(secrets, matrix),
        },
        repeats=31,
    )
    table = Table(
        "measures_bayes_vulnerability",
        f"Bayes vulnerability of a {SIZE} × {SIZE} channel",
        ("what", "first call, ms", "median, ms", "÷ matrix.sum()", "÷ matrix.max()", "÷ qif at its best"),
    )
    total, largest = timings["numpy matrix.sum()"].median, timings["numpy matrix.max()"].median
    peer = min(timing.median for what, timing in timings.items() if what.startswith("qif"))
    for what, timing in timings.items():
        table.add(
            what, timing.first * 1e3, timing.median * 1e3,
            timing.median / total, timing.median / largest, timing.median / peer,
        )  # fmt: skip
    table.finish()
    assert np.isclose(sf.bayes_vulnerability(prior, channel), qif.measure.bayes_vuln.posterior(weights, matrix))


def losses(matrix: np.ndarray, weights: np.ndarray, loss_table: np.ndarray) -> None:
    """Posterior loss, optimal remap and leakage with as many actions as secrets, whose limit is a product."""
    secrets = range(SIZE)
    channel, prior = sf.Channel(secrets, matrix), sf.Prior(secrets, weights)
    loss = sf.losses.matrix(secrets, loss_table)
    ours = {
        "posterior loss": lambda: sf.posterior_loss(prior, channel, loss),
        "optimal remap": lambda: sf.optimal_remap(prior, channel, loss),
        "leakage": lambda: sf.leakage(prior, channel, loss),
    }
    peers = {
        "posterior loss": lambda: qif.measure.l_risk.posterior(loss_table, weights, matrix),
        "optimal remap": lambda: qif.measure.l_risk.strategy(loss_table, weights, matrix),
        "leakage": lambda: qif.measure.l_risk.mult_leakage(loss_table, weights, matrix),
    }
    timings = measure_side_by_side(
        {"product": lambda: loss_table @ matrix}
        | {f"sfumato {what}": call for what, call in ours.items()}
        | {f"qif {what}": call for what, call in peers.items()},
        repeats=9,
    )
    table = Table(
        "measures_losses",
        f"Measures with a loss of {SIZE} actions on a {SIZE} × {SIZE} channel",
        ("what", "sfumato first, s", "sfumato, s", "one numpy product, s", "qif, s", "÷ product", "÷ qif"),
    )
    product = timings["product"].median
    for what in ours:
        own, peer = timings[f"sfumato {what}"], timings[f"qif {what}"].median
        table.add(what, own.first, own.median, product, peer, own.median / product, own.median / peer)
    table.finish()
    assert np.isclose(ours["posterior loss"](), peers["posterior loss"]())


if __name__ == "__main__":
    main()
