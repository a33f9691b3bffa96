"""Designs on Euclidean grids, certified to a gap of 1e-4, beside the linear programs of qif and of HiGHS.

The peers get the same problem: least expected distance under a uniform prior, all pairs of cells, e^ε = 2 for a step.
What they return is put before the exact check, so the table also says whether it is private at all.
"""

from __future__ import annotations

from time import perf_counter
from typing import Any

import numpy as np

import sfumato as sf
from isolation import NoResult, isolated
from sfumato.design.problem import problem
from sfumato.design.solvers import SOLVERS
from timing import Table, measure

REPEATS = 3
SECONDS = 60.0


def main() -> None:
    """Measure and report."""
    columns = ("grid", "sfumato first, s", "sfumato, s", "of it solving, s", "gap", "HiGHS, s", "HiGHS private",
               "qif, s", "qif private", "loss, sfumato", "loss, qif")  # fmt: skip
    table = Table("design", "Least expected distance, uniform prior, e^ε = 2", columns)
    for side, peers in ((3, True), (4, True), (5, True), (6, True), (7, True), (8, False), (10, False)):
        table.add(f"{side} × {side}", *row(side, peers))
    table.finish()
    kinds()


def row(side: int, peers: bool) -> tuple[Any, ...]:
    """One size: ours, and the peers within a time limit."""
    space = sf.grid(side, side)
    prior, loss, privacy = sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2")
    made: list[sf.Design] = []
    timing = measure(lambda: made.append(sf.design(prior, loss, privacy)), REPEATS)
    ours = (timing.first, timing.median, made[-1].seconds["solve"], made[-1].gap)
    if not peers:
        return (*ours, "not run", "—", "not run", "—", float(made[-1].loss), "—")
    highs, qif = isolated(with_highs, side, seconds=SECONDS), isolated(with_qif, side, seconds=SECONDS)
    return (*ours, *said(highs, space, privacy), *said(qif, space, privacy), float(made[-1].loss), loss_of(qif, space))


def said(answer: Any, space: sf.FiniteSpace, privacy: sf.PrivacyType) -> tuple[Any, Any]:
    """Seconds, and what the exact check says of the matrix."""
    if isinstance(answer, NoResult):
        return str(answer), "—"
    seconds, matrix = answer
    channel = sf.normalise(np.maximum(matrix, 0.0))
    verdict = sf.satisfies(sf.Channel(space, channel), privacy)
    return seconds, f"{verdict.outcome}, needs ε = {sf.smallest_epsilon(sf.Channel(space, channel), space):.3g}"


def loss_of(answer: Any, space: sf.FiniteSpace) -> Any:
    """Expected distance of a peer's matrix."""
    if isinstance(answer, NoResult):
        return "—"
    return float((answer[1] * space.distances.floats).sum() / len(space))


def with_highs(side: int) -> tuple[float, np.ndarray]:
    """The whole program by HiGHS."""
    space = sf.grid(side, side)
    asked = problem(sf.Prior.uniform(space), sf.losses.distance(space), sf.PrivacyType(space, alpha="1/2"))
    start = perf_counter()
    answer = SOLVERS["highs"](asked, 1e-4, None)
    return perf_counter() - start, np.asarray(answer.matrix, dtype=np.float64)


def with_qif(side: int) -> tuple[float, np.ndarray]:
    """The same program in qif."""
    import qif

    distances = sf.grid(side, side).distances.floats
    n = len(distances)
    allowed, loss = (lambda x, z: np.log(2) * distances[x, z]), (lambda w, x: distances[w, x])
    start = perf_counter()
    matrix = qif.mechanism.d_privacy.min_loss_given_d(np.full(n, 1 / n), n, allowed, loss)
    return perf_counter() - start, np.asarray(matrix)


def kinds() -> None:
    """Random small problems against the exact optimum: loss and bound on its two sides."""
    table = Table("design_random", "Random exact problems, block method against rationals",
                  ("space", "problems", "bracketed", "largest gap", "seconds"))  # fmt: skip
    draws = np.random.default_rng(5)
    for space in (sf.line(3), sf.discrete(3), sf.cycle(4), sf.star(3)):
        start, bracketed, worst, number = perf_counter(), 0, 0.0, 500
        for _ in range(number):
            alpha = f"1/{draws.integers(2, 60)}"
            prior = sf.Prior.from_counts(draws.integers(0, 5, len(space)) + (np.arange(len(space)) == 0), space)
            loss = sf.Loss(range(3), space, draws.integers(0, 6, (3, len(space))))
            privacy = sf.PrivacyType(space, alpha=alpha)
            exact = sf.design(prior, loss, privacy, solver="exact")
            made = sf.design(prior, loss, privacy, solver="blocks")
            bracketed += made.bound <= exact.loss <= made.loss
            worst = max(worst, float(made.loss - made.bound))
        table.add(space.name, number, bracketed, worst, perf_counter() - start)
    table.finish()


if __name__ == "__main__":
    main()
