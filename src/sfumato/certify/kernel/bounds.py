"""Proves a claimed bound by weak duality: no mechanism of these promises has a smaller loss."""

import bisect
import functools
import math
import operator
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from sfumato.certify.kernel.arithmetic import over_one_grain, remembered, with_denominator
from sfumato.certify.kernel.errors import Refuted, Unreadable, apart
from sfumato.certify.kernel.losses import Table, ceiling_tables, mixed_prior
from sfumato.certify.kernel.pairs import checked_edges, distance_reader, event_factor, event_pairs
from sfumato.certify.kernel.promise import factor_above
from sfumato.certify.kernel.sections import (
    Sections,
    Words,
    grouped,
    integers,
    place_of,
    position,
    reader,
    unsigned,
)
from sfumato.certify.kernel.values import Grid, Header, bound_of, loss_claim


def check_bound(header: Header, sections: Sections, losses: Any = None) -> Fraction:
    """Weak duality. For a mechanism M with actions as outputs, numbers Z ≥ 0 and U ≥ 0,

        loss(M) ≥ loss(M) + Σ Z[x,z,w]·(M[x][w] − f·M[z][w]) + Σ U[x]·(Σ_w M[x][w]·t(w, x) − level)
                = Σ_x Σ_w M[x][w]·S[x][w] − Σ U[x]·level  ≥  Σ_x min_w S[x][w] − Σ U[x]·level

    because brackets are ≤ 0 and rows of M sum to 1, with S = prior[x]·loss(w, x) + Σ U[x]·t(w, x) + Σ_z Z[x,z,w]
    − Σ_z f·Z[z,x,w], any f ≥ e^(epsilon·d(x, z)), and t the tables that have levels. The largest of several
    expectations is at least any mixture of them, which is the expectation under the mixture of their priors; and the
    loss of the worst secret is at least the expectation under any prior. Promises about events add ``event_sums``.
    Losses are those of the file, or are given by what has their unit and columns, as ``Table`` does.
    """
    claims, n = loss_claim(header), len(header.secrets)
    actions, dual_unit = len(claims.actions), claims.dual_unit
    loss = Table(sections["loss"], claims.loss_unit, n) if losses is None else losses
    prior, prior_unit = mixed_prior(header, sections)
    parts: list[tuple[Any, Words, Fraction]] = [(loss, prior, prior_unit * loss.unit)]
    paid = Fraction(0)
    for j, table in enumerate(ceiling_tables(header, sections, n)):
        prices = integers(sections["ceiling_prices"], header.widths["ceiling_prices"], j * n, n)
        parts.append((table, prices, dual_unit * table.unit))
        paid += sum(prices) * dual_unit * claims.ceilings[j].level
    add_duals, grain = dual_sums(header, sections, n, actions)
    add_events, event_grain, event_costs = event_sums(header, sections, n, actions)
    # S is summed in integers, in units of 1 / common
    units = [*(unit for _, _, unit in parts), dual_unit / grain, dual_unit / event_grain]
    common = math.lcm(*(unit.denominator for unit in units))
    *scales, dual_scale, event_scale = (unit.numerator * (common // unit.denominator) for unit in units)
    total = 0
    for x in range(n):
        reduced = [0] * actions
        add_duals(x, dual_scale, reduced)
        add_events(x, event_scale, reduced)
        for scale, (table, weights, _) in zip(scales, parts, strict=True):
            weight = scale * weights[x]
            reduced = [r + weight * value for r, value in zip(reduced, table.column(x), strict=True)]
        total += min(reduced)
    bound, claimed = Fraction(total, common) - paid - event_costs * dual_unit, bound_of(claims)
    if bound < claimed:
        raise Refuted("the dual numbers prove {}, less than the claimed {}".format(*apart(bound, claimed)))
    return claimed


Adder = Callable[[int, int, list[int]], None]
"""Adds its part of S[x], times a scale, to a list with a number for every action."""


def dual_sums(header: Header, sections: Sections, n: int, actions: int) -> tuple[Adder, int]:
    """Σ_z Z[x,z,w] − Σ_z f·Z[z,x,w] for a secret and every action, in units of dual_unit / grain; and the grain.

    Every f is rounded up to a multiple of 1 / grain: a common denominator of them, if that is not too long.
    """
    first, second, action = (unsigned(sections[f"dual_{part}"], 4) for part in ("from", "to", "action"))
    value = reader(sections["dual"], header.widths["dual"])
    if any(x >= n or z >= n or x == z for x, z in zip(first, second, strict=True)) or max(action, default=0) >= actions:
        raise Unreadable("a dual number belongs to no constraint")
    above = remembered(lambda distance: factor_above(header.promise, header.metric, distance))
    distances = pair_distances(header, sections, n)
    (gained, gaining), (spent, spending) = grouped(first, n), grouped(second, n)

    def spendings(x: int) -> Iterator[tuple[int, Fraction]]:
        distance = distances(x)
        for k in spending[spent[x] : spent[x + 1]]:
            length = distance(first[k])
            if length is None:
                raise Refuted("a dual number uses two secrets between which nothing is promised")
            yield k, above(length)

    grain = functools.reduce(with_denominator, (f for x in range(n) for _, f in spendings(x)), 1)

    def add(x: int, scale: int, reduced: list[int]) -> None:
        for k in gaining[gained[x] : gained[x + 1]]:
            reduced[action[k]] += scale * grain * value(k)
        for k, f in spendings(x):
            reduced[action[k]] -= scale * math.ceil(f * grain) * value(k)

    return add, grain


def event_sums(header: Header, sections: Sections, n: int, actions: int) -> tuple[Adder, int, Fraction]:
    """Numbers Z ≥ 0 on promises about events, summed as in ``dual_sums``, the grain, and what their use costs.

    With t = max_w Z[w], Σ_w Z[w]·(M[x][w] − f·M[z][w]) ≤ t·Σ_w max(0, M[x][w] − f·M[z][w]) ≤ t·delta.
    """
    if not header.events:
        return lambda x, scale, reduced: None, 1, Fraction(0)
    upper, lower, starts = event_pairs(header, sections, n)
    pair, action = (unsigned(sections[f"event_dual_{part}"], 4) for part in ("pair", "action"))
    value = reader(sections["event_dual"], header.widths["event_dual"])
    if max(pair, default=0) >= len(upper) or max(action, default=0) >= actions:
        raise Unreadable("a dual number belongs to no promise about events")
    rounded, grain = over_one_grain({k: event_factor(event) for k, event in enumerate(header.events)})
    owned, order = grouped(pair, len(upper))
    (gained, gaining), (spent, spending) = grouped(upper, n), grouped(lower, n)
    cost = Fraction(0)
    for j in range(len(upper)):
        summed: dict[int, int] = {}
        for k in order[owned[j] : owned[j + 1]]:
            summed[action[k]] = summed.get(action[k], 0) + value(k)
        cost += max(summed.values(), default=0) * header.events[bisect.bisect(starts, j) - 1].delta

    def add(x: int, scale: int, reduced: list[int]) -> None:
        for j in gaining[gained[x] : gained[x + 1]]:
            for k in order[owned[j] : owned[j + 1]]:
                reduced[action[k]] += scale * grain * value(k)
        for j in spending[spent[x] : spent[x + 1]]:
            for k in order[owned[j] : owned[j + 1]]:
                reduced[action[k]] -= scale * rounded[bisect.bisect(starts, j) - 1] * value(k)

    return add, grain, cost


def pair_distances(header: Header, sections: Sections, n: int) -> Callable[[int], Callable[[int], Any]]:
    """For a secret x, a function from other secrets to distances; of a graph only its edges have one."""
    if header.metric.grid is not None:
        return functools.partial(box_distances, header.metric.grid)
    read = distance_reader(header.metric, sections)
    if header.metric.source == "table":
        return lambda x: lambda z: read(position(min(x, z), max(x, z), n))
    ends = checked_edges(sections, n)
    groups = [grouped(end, n) for end in ends]

    def from_secret(x: int) -> Callable[[int], Any]:
        near: dict[int, Any] = {}
        for (starts, order), others in zip(groups, reversed(ends), strict=True):
            near |= {others[k]: read(k) for k in order[starts[x] : starts[x + 1]]}
        return near.get

    return from_secret


def box_distances(grid: Grid, x: int) -> Callable[[int], int | None]:
    """The distances of a secret of a finite problem below a box, in steps, or their squares: to secrets whose places
    differ from its own by multiples of the strides. Others belong to another finite problem, and have none.
    """
    here, join = place_of(x, grid.shape), max if grid.norm == "chebyshev" else sum
    power = 2 if grid.norm == "euclidean" else 1

    shape, strides, steps = grid.shape, grid.strides, grid.steps

    def distance(z: int) -> int | None:
        offsets = list(map(operator.sub, here, place_of(z, shape)))
        if any(map(operator.mod, offsets, strides)):
            return None
        return int(join(abs(o * step) ** power for o, step in zip(offsets, steps, strict=True)))

    return distance
