"""Promises about events: M(x)(E) ≤ e^ε M(z)(E) + δ for every set E of outputs, which is linear in a mechanism.

A predicate whose upper curve is a minimum of lines is a list of such promises, one for each line, and keeping them is
keeping the predicate: the event with the largest excess M(x)(E) − e^ε M(z)(E) holds the outputs where it is positive,
so a promise says Σ_y max(0, M(x)(y) − e^ε M(z)(y)) ≤ δ. A line that is flatter than the diagonal says of x and z what
its reflection, which is steeper, says of z and x; here all are steep.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.errors import InvalidInput, NotSupported
from sfumato.privacy.predicates import Predicate, as_predicate
from sfumato.privacy.predicates_curves import CurvePart, Growth, Line
from sfumato.privacy.tradeoff import ordered_pairs


@dataclass(frozen=True, eq=False)
class EventPromise:
    """M(upper[k])(E) ≤ factor · M(lower[k])(E) + delta for every event E and every k; indices count secrets."""

    upper: NDArray[np.int64]
    lower: NDArray[np.int64]
    factor: Growth
    delta: Fraction

    def __len__(self) -> int:
        return len(self.upper)

    def __repr__(self) -> str:
        return f"EventPromise(factor {self.factor}, delta {self.delta}, {len(self)} ordered pairs)"


def event_promises(secrets: tuple[Any, ...], predicate: Predicate, neighbours: Any = None) -> tuple[EventPromise, ...]:
    """What a predicate made of lines promises about ordered pairs of neighbours.

    Parameters
    ----------
    neighbours
        Ordered pairs of secrets, a space (its pairs at distance 1), or None for all pairs, as in
        :func:`sfumato.satisfies`.

    Examples
    --------
    >>> from sfumato.privacy.predicates import epsilon_delta
    >>> event_promises(("a", "b"), epsilon_delta(delta="1/10", alpha="1/2"))
    (EventPromise(factor 2, delta 1/10, 2 ordered pairs),)
    """
    predicate = as_predicate(predicate)
    first, second, _ = ordered_pairs(secrets, neighbours)
    if predicate.relation is not None or not all(isinstance(part, Line) for part in predicate.parts):
        raise NotSupported(
            f"a design under {predicate.name}, whose curve is no polygon",
            ["predicates made of lines", "predicates.inscribed(predicate), a polygon below the curve"],
        )
    by_line: dict[tuple[Growth, Fraction], list[NDArray[np.int64]]] = {}
    for factor, delta, exchanged in _steep_lines(predicate.parts):
        if delta >= 1:
            continue
        if factor.rational == 1 and delta == 0:
            raise InvalidInput(f"{predicate.name} lets no event tell two neighbours apart: make them one secret")
        pairs = np.stack([first, second] if exchanged else [second, first])
        by_line.setdefault((factor, delta), []).append(pairs)
    merged = {line: np.unique(np.hstack(pairs), axis=1) for line, pairs in by_line.items()}
    return tuple(EventPromise(ends[0], ends[1], *line) for line, ends in merged.items() if ends.size)


def _steep_lines(parts: Iterable[CurvePart]) -> Iterable[tuple[Growth, Fraction, bool]]:
    """Slope at least 1, intercept, and whether the line is about exchanged secrets."""
    for part in parts:
        assert isinstance(part, Line)
        exchanged = part.slope.sign(Fraction(1), Fraction(1)) > 0
        line = part.reflected() if exchanged else part
        if line.intercept is None:
            raise NotSupported("a line with a transcendental slope and no rational intercept", ["rational slopes"])
        yield line.slope, line.intercept, exchanged
