"""From an approximate mechanism to a proved one: how long it takes and how much loss it costs.

The mechanisms are exponential ones on Euclidean grids. "own ε" has rate 1/4 and is asked for exactly
the ε it reaches, so that its worst pair is tight. "closed" has rate 1/2, is asked for ε = 1/2 and
was repaired once before: most of its constraints are tight, as in the solution of a linear program.
The error is uniform noise, relative to each entry or the same for all.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import sfumato as sf
from timing import Table, measure

SIDES = (7, 10, 20)
ERRORS = (1e-4, 1e-6, 1e-8)


def main() -> None:
    """Print and write the table."""
    table = Table(
        "repair",
        "Repair of noisy mechanisms on Euclidean grids",
        ("grid", "mechanism", "noise", "error", "seconds", "loss ÷ noisy − 1", "loss ÷ noiseless − 1"),
    )
    rng = np.random.default_rng(5)
    for side in SIDES:
        space = sf.grid(side, side)
        prior, loss = sf.Prior.uniform(space).to_floats(), sf.losses.distance(space)
        for family, matrix, epsilon in _mechanisms(space):
            privacy = sf.PrivacyType(space, epsilon=epsilon)
            noiseless = sf.posterior_loss(prior, sf.Channel(space, matrix), loss)
            for kind, error, noisy in _noisy(matrix, rng):
                repaired: list[sf.certify.Repair] = []
                timing = measure(
                    lambda noisy=noisy, privacy=privacy, prior=prior, loss=loss, repaired=repaired: repaired.append(
                        sf.repair(noisy, privacy, prior=prior, loss=loss)
                    ),
                    repeats=1,
                )
                result = repaired[0]
                table.add(
                    f"{side} × {side}", family, kind, error, timing.median,
                    result.loss_after / result.loss_before - 1, result.loss_after / noiseless - 1,
                )  # fmt: skip
    table.finish()


def _mechanisms(space: sf.FiniteSpace) -> Iterator[tuple[str, np.ndarray, float]]:
    """Name, matrix and ε of both families."""
    slow, fast = (_rows(np.exp(-rate * space.distances.floats)) for rate in (0.25, 0.5))
    yield "own ε", slow, sf.smallest_epsilon(sf.Channel(space, slow), space)
    yield "closed", _rows(sf.repair(fast, sf.PrivacyType(space, epsilon=0.5)).mechanism.weights), 0.5


def _noisy(matrix: np.ndarray, rng: np.random.Generator) -> Iterator[tuple[str, float, np.ndarray]]:
    """Kind of noise, size of the error and noisy matrix, which may have negative entries and wrong row sums."""
    for error in ERRORS:
        noise = rng.uniform(-error, error, matrix.shape)
        yield "relative", error, matrix * (1 + noise)
        yield "absolute", error, matrix + noise


def _rows(matrix: np.ndarray) -> np.ndarray:
    return matrix / matrix.sum(axis=1, keepdims=True)


if __name__ == "__main__":
    main()
