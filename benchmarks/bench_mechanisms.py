"""Known mechanisms beside those of ``qif.mechanism``, in one run.

sfumato's figures are for a proved mechanism: the formula, rounding to integers that keep the promise, the ε these
need, and the kernel. "formula" is the table of floats alone, where there is a function for it; qif returns such a
table. "rows off" is how far qif's rows are from summing to 1, "apart" the largest difference of a probability.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from qif.mechanism import d_privacy, geo_ind

import sfumato as sf
from sfumato.mechanisms.exponential import exponential
from sfumato.mechanisms.planar import (
    planar_geometric,
    planar_geometric_masses,
    planar_laplace,
    planar_laplace_masses,
    plane_of,
)
from sfumato.mechanisms.selection import permute_and_flip
from sfumato.mechanisms.staircase import staircase
from sfumato.mechanisms.tight import tight_constraints
from timing import Table, measure_side_by_side

EPSILON = 0.5
SIZES = (20, 100, 400)
SIDES = (5, 10, 20)

Case = tuple[str, Callable[[], sf.Mechanism], Callable[[], np.ndarray] | None, Callable[[], Any] | None]


def main() -> None:
    """Print and write the table."""
    table = Table(
        "mechanisms",
        f"Building known mechanisms, ε = {EPSILON}",
        (
            "mechanism",
            "secrets",
            "proved, s",
            "formula, s",
            "qif, s",
            "qif ÷ proved",
            "qif ÷ formula",
            "rows off",
            "apart",
        ),
    )
    for size in SIZES:
        for case in _small_cases(size):
            _measure(table, case, size)
    for side in SIDES:
        for case in _plane_cases(side):
            _measure(table, case, side * side)
    table.finish()


def _measure(table: Table, case: Case, secrets: int) -> None:
    name, build, formula, peer = case
    functions = {"proved": build} | ({"formula": formula} if formula else {}) | ({"qif": peer} if peer else {})
    seconds = {key: timing.median for key, timing in measure_side_by_side(functions, repeats=3).items()}
    theirs = seconds.get("qif")
    rows: tuple[Any, ...] = ("—", "—", "—", "—", "—")
    if peer is not None and theirs is not None:
        matrix, mechanism = np.array(peer()), build()
        rows = (
            theirs,
            theirs / seconds["proved"],
            theirs / seconds["formula"] if formula else "—",
            f"{np.abs(matrix.sum(axis=1) - 1).max():.0e}",
            f"{np.abs(matrix - mechanism.weights / mechanism.total).max():.0e}",
        )
    table.add(name, secrets, seconds["proved"], seconds.get("formula", "—"), *rows)


def _small_cases(size: int) -> Iterator[Case]:
    line, discrete = (sf.PrivacyType(space, epsilon=EPSILON) for space in (sf.line(size), sf.discrete(size)))
    yield "geometric", lambda: sf.geometric(line), None, lambda: d_privacy.geometric(size, EPSILON)
    yield "random_response", lambda: sf.random_response(discrete), None, lambda: d_privacy.randomized_response(
        size, EPSILON
    )  # fmt: skip
    yield "exponential", lambda: exponential(line), None, lambda: d_privacy.exponential(
        size, lambda i, j: EPSILON * abs(i - j)
    )  # fmt: skip
    yield "exponential_exact", lambda: exponential(line, calibration="exact"), None, None
    yield "permute_and_flip", lambda: permute_and_flip(line), None, None
    yield "staircase", lambda: staircase(line), None, None


def _plane_cases(side: int) -> Iterator[Case]:
    space = sf.grid(side, side)
    privacy, plane = sf.PrivacyType(space, epsilon=EPSILON), plane_of(space)
    yield (
        "planar_laplace",
        lambda: planar_laplace(privacy),
        lambda: planar_laplace_masses(plane, EPSILON),
        lambda: geo_ind.planar_laplace_grid(side, side, 1.0, EPSILON),
    )
    yield (
        "planar_geometric",
        lambda: planar_geometric(privacy),
        lambda: planar_geometric_masses(plane, EPSILON),
        lambda: geo_ind.planar_geometric_grid(side, side, 1.0, EPSILON),
    )
    if side == SIDES[0]:
        strong = sf.PrivacyType(space, epsilon=1.5)  # exists here

        def metric(i: int, j: int) -> float:
            return 1.5 * float(np.hypot(i // side - j // side, i % side - j % side))

        yield (
            "tight_constraints, ε = 1.5",
            lambda: tight_constraints(strong),
            None,
            lambda: d_privacy.tight_constraints(side * side, metric),
        )


if __name__ == "__main__":
    main()
