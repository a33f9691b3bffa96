"""Capacities, weaker orders and distances between channels, beside qif, which answers in floats and proves nothing.

sfumato encloses: both ends of a capacity or a distance are proved, and a verdict comes with its witness. Each case of
qif runs in its own process, with a limit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import qif

import sfumato as sf
from isolation import NoResult, isolated
from timing import Table, Timing, measure

SIZES = (5, 20, 100)
LARGEST_PROGRAM = 20  # secrets up to which distances, which are linear programs, are asked for
QIF_SECONDS = 60


def main() -> None:
    """Print and write the table."""
    table = Table(
        "neighbours",
        "Capacities, weaker orders and distances of random channels",
        ("what", "secrets", "sfumato, s", "width", "qif, s", "qif − sfumato", "qif ÷ sfumato"),
        ("what", "secrets"),
        "sfumato, s",
    )
    for what, n, ours, theirs, arguments in _cases():
        own = measure(ours, repeats=3)
        value, width = _value(ours())
        peer = isolated(_time_qif, theirs, *arguments, seconds=QIF_SECONDS)
        if isinstance(peer, NoResult):
            table.add(what, n, own.median, width, peer, "—", "—")
        else:
            answer, timing = peer
            table.add(what, n, own.median, width, timing.median, answer - value, timing.median / own.median)
    table.finish()


def _value(found: Any) -> tuple[float, float | str]:
    """A number to compare, and how wide its enclosure is; 1 for a verdict that holds."""
    if isinstance(found, sf.Verdict):
        return float(bool(found)), "verdict"
    if hasattr(found, "lower"):
        return float(found.lower), float(found.upper - found.lower)
    return float(getattr(found, "value", found)), "closed form"


def _time_qif(call: Callable[..., Any], *arguments: np.ndarray) -> tuple[float, Timing]:
    timing = measure(lambda: call(*arguments), repeats=3)
    return float(call(*arguments)), timing


def _shannon(matrix: np.ndarray) -> float:
    return float(qif.measure.shannon.add_capacity(matrix)[0])


def _risk(matrix: np.ndarray) -> float:
    return float(qif.measure.bayes_risk.mult_capacity(matrix)[0])


def _max_case(a: np.ndarray, b: np.ndarray) -> float:
    return float(qif.refinement.max_refined_by(a, b))


def _privacy(a: np.ndarray, b: np.ndarray) -> float:
    return float(qif.refinement.priv_refined_by(a, b))


def _distance(weights: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    return float(qif.refinement.add_metric(weights, a, b)[0])


def _beliefs(first: np.ndarray, second: np.ndarray) -> float:
    return float(qif.metric.mult_kantorovich(lambda x, z: abs(float(x) - float(z)))(first, second))


def _cases() -> Iterator[tuple[str, int, Callable[[], Any], Callable[..., Any], tuple[np.ndarray, ...]]]:
    rng = np.random.default_rng(4)
    for n in SIZES:
        space = sf.line(n)
        tables = [rng.dirichlet(np.ones(n), n) for _ in range(2)]
        weights = [rng.dirichlet(np.ones(n)) for _ in range(2)]
        a, b = (sf.Channel(space, table) for table in tables)
        first, second = (sf.Prior(space, w) for w in weights)
        after = sf.cascade(a, sf.Channel(range(n), tables[1]))
        yield "Shannon capacity", n, lambda a=a: sf.measures.shannon_capacity(a), _shannon, (tables[0],)
        yield "Bayes-risk capacity", n, lambda a=a: sf.measures.bayes_risk_capacity(a), _risk, (tables[0],)
        yield (
            "max-case refinement, true", n, lambda a=a, after=after: sf.orders.max_refines(after, a),
            _max_case, (tables[0], after.matrix.copy()),
        )  # fmt: skip
        yield (
            "max-case refinement, false", n, lambda a=a, b=b: sf.orders.max_refines(b, a),
            _max_case, (tables[0], tables[1]),
        )  # fmt: skip
        yield (
            "privacy refinement, true", n, lambda a=a, after=after: sf.orders.privacy_refines(after, a),
            _privacy, (tables[0], after.matrix.copy()),
        )  # fmt: skip
        if n <= LARGEST_PROGRAM:
            yield (
                "refinement distance", n, lambda a=a, b=b, p=first: sf.orders.refinement_distance(b, a, p),
                _distance, (weights[0], tables[0], tables[1]),
            )  # fmt: skip
            yield (
                "multiplicative Kantorovich", n,
                lambda p=first, q=second, s=space: sf.orders.multiplicative_kantorovich(p, q, s),
                _beliefs, tuple(weights),
            )  # fmt: skip


if __name__ == "__main__":
    main()
