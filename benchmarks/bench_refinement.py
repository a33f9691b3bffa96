"""Is one channel another followed by post-processing? sfumato beside qif, each case of qif in its own process.

Square cases have a unique candidate for the post-processing; wide ones (twice as many outputs as
secrets) need a linear program. "true" asks about B = A·R, "false" whether A can be had from B.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import qif

import sfumato as sf
from isolation import NoResult, isolated
from timing import Table, Timing, measure

SQUARE_SIZES = (10, 20, 50, 100)
WIDE_SIZES = (10, 20, 30)
EXACT_SIZES = (10, 20)
QIF_SECONDS = 60


def main() -> None:
    """Print and write the table."""
    table = Table(
        "refinement",
        "Refinement of random channels",
        ("case", "answer", "sfumato", "sfumato first, s", "sfumato, s", "qif", "qif, s", "qif ÷ sfumato"),
    )
    for case, matrix_a, matrix_b in _cases():
        secrets = range(len(matrix_a))
        a, b = sf.Channel(secrets, matrix_a), sf.Channel(secrets, matrix_b)
        for answer, refined, source in (("true", b, a), ("false", a, b)):
            table.add(case, answer, *_compare(refined, source))
    table.finish()


def _compare(refined: sf.Channel, source: sf.Channel) -> tuple[Any, ...]:
    own = measure(lambda: sf.refines(refined, source), repeats=3)
    verdict = sf.refines(refined, source).outcome
    peer = isolated(_time_qif, source.matrix, refined.matrix, seconds=QIF_SECONDS)
    if isinstance(peer, NoResult):
        return verdict, own.first, own.median, "no answer", peer, "—"
    answer, timing = peer
    return verdict, own.first, own.median, answer, timing.median, timing.median / own.median


def _time_qif(source: np.ndarray, refined: np.ndarray) -> tuple[bool, Timing]:
    timing = measure(lambda: qif.refinement.refined_by(source, refined), repeats=3)
    return qif.refinement.refined_by(source, refined), timing


def _cases() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    rng = np.random.default_rng(2)
    for n in SQUARE_SIZES:
        yield f"square, n = {n}, float", *_float_pair(rng, n, n)
    for n in WIDE_SIZES:
        yield f"wide, {n} × {2 * n}, float", *_float_pair(rng, n, 2 * n)
    for n in EXACT_SIZES:
        a, r = _rational_rows(rng, n), _rational_rows(rng, n)
        yield f"square, n = {n}, exact", a, a @ r


def _float_pair(rng: np.random.Generator, n: int, m: int) -> tuple[np.ndarray, np.ndarray]:
    """A and B = A·R, rows divided by their sums once more to undo the rounding of the product."""
    a = rng.dirichlet(np.ones(m), n)
    b = a @ rng.dirichlet(np.ones(m), m)
    return a, b / b.sum(axis=1, keepdims=True)


def _rational_rows(rng: np.random.Generator, n: int) -> np.ndarray:
    counts = rng.integers(1, 100, (n, n)).tolist()
    return np.array([[Fraction(count, sum(row)) for count in row] for row in counts], dtype=object)


if __name__ == "__main__":
    main()
