"""The Kantorovich distance of hypers over numbers.

Inners are distributions on a line, where the distance of two is the area between their distribution functions:
one table of cumulative sums gives all costs, and one linear program moves the hypers.

Often no program is needed. Two distributions are ordered when one's cumulative sums nowhere exceed the other's.
Then the distance between them is the difference of their means: Σ |F − F′| has no cancellation, so it is
|Σ (F − F′)|. If all inners of two hypers are ordered one after another, a chain, means embed them into the real
numbers without changing a distance, and the distance of the hypers is the area between the distribution functions
of their means. One sort replaces a linear program with as many variables as there are pairs of inners.

Posteriors of G_N and of the Laplace mechanism on U_N are such a chain for every prior: their columns e^{−ε|x − y|}
have monotone likelihood ratios in y, and a prior does not change ratios. So are those of the pixelated mechanism if
N divides T: a pixel that reaches over a lattice point mixes posteriors of both sides, and is off the chain.
(Paper B uses the linear order, with the same proviso, in the proof of Theorem 13.)
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfumato.channels.channel import check_secrets
from sfumato.channels.hyper import Hyper
from sfumato.channels.prior import secrets_of
from sfumato.errors import InvalidInput, expect
from sfumato.numbers import Array, array, floats, is_exact, number, together
from sfumato.orders.transport import Transport, cheapest


def line_hyper_distance(first: Hyper, second: Hyper) -> Transport:
    """The Kantorovich distance of two hypers over numbers, with a cheapest plan and potentials that prove it.

    Exact for exact hypers. For floats inners count as ordered up to the rounding of cumulative sums, 2^-44 each,
    which moves the distance by no more than that times the width.

    Examples
    --------
    >>> from sfumato.channels import Prior, hyper
    >>> from sfumato.mechanisms.continuous import lattice_geometric, on_lattice, pixelate, truncated_laplace
    >>> source = truncated_laplace(alpha="1/16")
    >>> geometric, coarse = lattice_geometric(source, 2), on_lattice(pixelate(source, 4), 2)
    >>> prior = Prior.uniform(geometric.secrets)
    >>> line_hyper_distance(hyper(prior, geometric), hyper(prior, coarse)).cost
    Fraction(4, 85)
    """
    for given in (first, second):
        expect(given, Hyper, "a hyper", "hyper(prior, channel) makes one")
    check_secrets("two hypers", first, second)
    points = _points(first)
    ordered = np.argsort(floats(points), kind="stable")
    inners, points = together(np.concatenate([first.inners, second.inners], axis=1)[ordered], points[ordered])
    sources, targets = together(first.outer, second.outer)
    if not is_exact(sources, inners):
        inners, sources, targets = floats(inners), floats(sources), floats(targets)
        targets = targets * (sources.sum() / targets.sum())  # equal totals, or nothing fits
    means = np.asarray((points[:, None] * inners).sum(axis=0))
    order = np.argsort(means, kind="stable")
    if _is_chain(inners[:, order]):
        return _on_the_real_line(sources, targets, means, order)
    return cheapest(sources, targets, _costs(inners, points, len(sources)))


def _points(hyper: Hyper) -> Array:
    try:
        return array([number(s, "a label") for s in secrets_of(hyper)], "labels", 1)
    except ValueError as error:
        raise InvalidInput(f"hypers on a line have numbers as secrets ({error})") from error


def _is_chain(inners: Array) -> bool:
    """Whether cumulative sums never rise from one inner to the next; the order is transitive."""
    rises = np.diff(np.cumsum(inners, axis=0), axis=1)
    # float sums of up to a thousand terms of size at most 1 are good to 2^-44
    allowed = 0 if is_exact(inners) else 2.0**-44
    return not rises.size or bool(rises.max() <= allowed)


def _costs(inners: Array, points: Array, n: int) -> Array:
    """Distances between the first n inners and the others: ∫ |F − F′| in one table."""
    sums = np.cumsum(inners, axis=0)[:-1]
    gaps = np.diff(points)[:, None, None]
    return np.asarray((np.abs(sums[:, :n, None] - sums[:, None, n:]) * gaps).sum(axis=0))


def _on_the_real_line(sources: Array, targets: Array, means: Array, order: NDArray[np.int64]) -> Transport:
    """∫ |F − G| for masses at the given places; the plan is monotone, the potential has slopes ±1."""
    n = len(sources)
    signed = np.concatenate([sources, -targets])[order]
    places = means[order]
    lead = np.cumsum(signed)[:-1]
    gaps = np.diff(places)
    cost = (np.abs(lead) * gaps).sum() if len(gaps) else 0 * sources[0]
    slopes = -np.sign(lead) * gaps
    heights = np.concatenate([[0 * places[0]], np.cumsum(slopes)])
    potential = np.empty_like(places)
    potential[order] = heights
    plan = _monotone_plan(sources, targets, means[:n], means[n:])
    return Transport(cost if isinstance(cost, Fraction) else float(cost), plan, (potential[:n], -potential[n:]))


def _monotone_plan(sources: Array, targets: Array, here: Array, there: Array) -> Array:
    """Fill the targets from left to right: at most one entry for each source and target."""
    plan: Array = np.zeros((len(sources), len(targets)), dtype=sources.dtype)
    if plan.dtype == object:
        plan[:] = Fraction(0)
    rows, columns = np.argsort(here, kind="stable").tolist(), np.argsort(there, kind="stable").tolist()
    supply: list[Any] = sources.tolist()
    demand: list[Any] = targets.tolist()
    i = j = 0
    while i < len(rows) and j < len(columns):
        row, column = rows[i], columns[j]
        moved = min(supply[row], demand[column])
        plan[row, column] = moved
        i, j = (i + 1, j) if supply[row] <= demand[column] else (i, j + 1)
        supply[row] -= moved
        demand[column] -= moved
    return plan
