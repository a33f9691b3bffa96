"""What a mechanism file says, and whether it is so, by a judge that shares no line with what it judges.

A :class:`Case` is what a file says (:mod:`forgeries` writes it). Judged is what the words mean: every pair at a finite
distance, by ball arithmetic or in integers where both sides are rational; every event, one by one; every secret's loss
in fractions; a bound beside the optimum of the linear program over all mechanisms, by a simplex method in rationals.
Chains and dual numbers are means of proof and no claims, so the judge does not read them.
"""

# ruff: noqa: B905

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import flint

PRECISION = (128, 512, 4096)  # bits of balls; what does not separate in the last is equal or unknown

Table = tuple[tuple[float, ...], ...]  # one row an action, one column a secret
Pair = tuple[int, int]


@dataclass(frozen=True)
class Events:
    """P(E | x) ≤ factor · P(E | z) + delta for all events E and some pairs (x, z); a factor or an epsilon is given."""

    pairs: tuple[Pair, ...]
    delta: Fraction
    factor: Fraction | None = None
    epsilon: Fraction | None = None


@dataclass(frozen=True)
class Limit:
    """For every secret the table's mean is at most the level."""

    table: Table
    unit: Fraction
    level: Fraction
    prices: tuple[int, ...]


@dataclass(frozen=True)
class Claim:
    """A loss, limits and perhaps a bound with the numbers that prove it."""

    table: Table
    unit: Fraction
    remap: tuple[int, ...]
    priors: tuple[tuple[int, ...], ...]
    criterion: str
    loss: Fraction
    limits: tuple[Limit, ...] = ()
    bound: Fraction | None = None
    dual_unit: Fraction = Fraction(1)
    duals: tuple[tuple[int, int, int, int], ...] = ()
    event_duals: tuple[tuple[int, int, int], ...] = ()
    mixture: tuple[int, ...] = (1,)


@dataclass(frozen=True)
class Case:
    """What a file says. Distances are integers, radicands or floats by their form, None where infinite."""

    weights: tuple[tuple[int, ...], ...]
    form: str
    unit: Fraction
    distances: dict[Pair, Any]
    promise: dict[str, Fraction]
    graph: bool = False
    via: dict[Pair, int] = field(default_factory=dict)
    events: tuple[Events, ...] = ()
    claim: Claim | None = None
    owed: bool = True

    @property
    def n(self) -> int:
        return len(self.weights)

    @property
    def m(self) -> int:
        return len(self.weights[0])

    @property
    def total(self) -> int:
        return sum(self.weights[0])


# ----------------------------------------------------------------- the judge


def truth(case: Case) -> bool | None:
    """Whether everything that the file says is so; None where balls do not tell."""
    answers = [_rows(case), *_pairs(case), *_events(case), *_losses(case)]
    if False not in answers and case.claim is not None and case.claim.bound is not None:
        answers.append(_bound(case, case.claim))
    if False in answers:
        return False
    return None if None in answers else True


def _rows(case: Case) -> bool:
    return all(sum(row) == case.total for row in case.weights) and case.total > 0


def ball(value: Any) -> flint.arb:
    if isinstance(value, Fraction):
        return flint.arb(value.numerator) / flint.arb(value.denominator)
    return flint.arb(value)


def exponent(case: Case, distance: Any) -> flint.arb:
    """epsilon · d as a ball of the current precision."""
    length = ball(Fraction(distance)) * ball(case.unit)
    if case.form == "root":
        length = ball(Fraction(distance)).sqrt() * ball(case.unit)
    if "alpha" in case.promise:
        return -ball(case.promise["alpha"]).log() * length
    return ball(case.promise["epsilon"]) * length


def _at_most(ratio: Fraction, case: Case, distance: Any) -> bool | None:
    """ratio ≤ e^(epsilon·d)."""
    if ratio <= 1:
        return True
    for bits in PRECISION:
        with flint.ctx.workprec(bits):
            gap = exponent(case, distance) - ball(ratio).log()
            if gap > 0 or gap < 0:
                return bool(gap > 0)
    length = Fraction(distance) * case.unit
    if case.form == "root":
        root = math.isqrt(distance)
        length = root * case.unit
        if root * root != distance:
            return None
    if "alpha" in case.promise and max(length.as_integer_ratio()) < 1000:  # both sides are powers of rationals
        powers = ratio**length.denominator, (1 / case.promise["alpha"]) ** length.numerator
        return powers[0] <= powers[1]
    return None


def _pairs(case: Case) -> list[bool | None]:
    answers: list[bool | None] = []
    for (x, z), distance in case.distances.items():
        if distance is None:
            continue
        for a, b in itertools.chain(zip(case.weights[x], case.weights[z]), zip(case.weights[z], case.weights[x])):
            answers.append(a == 0 if b == 0 else _at_most(Fraction(a, b), case, distance))
    return answers


def _events(case: Case) -> list[bool | None]:
    answers: list[bool | None] = []
    for promise in case.events:
        for x, z in promise.pairs:
            for chosen in itertools.product((0, 1), repeat=case.m):
                p, q = (Fraction(sum(c * w for c, w in zip(chosen, case.weights[s])), case.total) for s in (x, z))
                answers.append(_event(p, q, promise))
    return answers


def _event(p: Fraction, q: Fraction, promise: Events) -> bool | None:
    if promise.factor is not None or p <= promise.delta or not q:
        return p <= (promise.factor or 0) * q + promise.delta
    for bits in PRECISION:
        with flint.ctx.workprec(bits):
            gap = ball(promise.epsilon).exp() * ball(q) + ball(promise.delta) - ball(p)
            if gap > 0 or gap < 0:
                return bool(gap > 0)
    return None


def means(case: Case, table: Table, unit: Fraction, remap: tuple[int, ...]) -> list[Fraction]:
    """What every secret pays."""
    return [
        sum((w * Fraction(table[remap[y]][x]) for y, w in enumerate(row)), Fraction(0)) * unit / case.total
        for x, row in enumerate(case.weights)
    ]


def worst(case: Case, claim: Claim) -> Fraction:
    """The loss by its criterion."""
    paid = means(case, claim.table, claim.unit, claim.remap)
    if claim.criterion == "worst secret":
        return max(paid)
    return max(sum((c * v for c, v in zip(prior, paid)), Fraction(0)) / sum(prior) for prior in claim.priors)


def _losses(case: Case) -> list[bool | None]:
    claim = case.claim
    if claim is None:
        return []
    kept = [max(means(case, limit.table, limit.unit, claim.remap)) <= limit.level for limit in claim.limits]
    return [worst(case, claim) == claim.loss, *kept]


def _bound(case: Case, claim: Claim) -> bool | None:
    """claim.bound ≤ the least loss of a mechanism with these promises and limits, by programs from both sides."""
    assert claim.bound is not None
    least = _optimum(case, claim, up=True)
    assert least is not None, "the mechanism of the file itself keeps all limits"
    if claim.bound <= least:
        return True
    most = _optimum(case, claim, up=False)
    return False if most is not None and claim.bound > most else None


def growth(of: Any, up: bool) -> Any:
    """e^of() as a rational on one side, within 2^-90 of it; None, or 2^1000 from below, where it is huge."""
    with flint.ctx.workprec(120):
        if of() > 1000:
            return None if up else Fraction(2) ** 1000
        enclosure = of().exp()
        mantissa, power = (enclosure.upper() if up else enclosure.lower()).man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(power)


def _optimum(case: Case, claim: Claim, up: bool) -> Fraction | None:
    """The least loss over all mechanisms whose outputs are the actions, factors rounded up (or down); None if none."""
    n, w = case.n, len(claim.table)
    size = n * w + 2  # and the loss, as a difference of two
    rows: list[tuple[list[Fraction], str, Fraction]] = []

    def row(entries: dict[int, Fraction], sense: str, level: Fraction) -> None:
        line = [Fraction(0)] * size
        for place, value in entries.items():
            line[place] += value
        rows.append((line, sense, level))

    for x in range(n):
        row({x * w + a: Fraction(1) for a in range(w)}, "=", Fraction(1))
    for (x, z), distance in case.distances.items():
        if distance is None:
            continue
        factor = growth(lambda d=distance: exponent(case, d), up)
        if factor is None:  # without the constraint the optimum can only be lower
            continue
        for (i, j), a in itertools.product(((x, z), (z, x)), range(w)):
            row({i * w + a: Fraction(1), j * w + a: -factor}, "<", Fraction(0))
    for promise in case.events:
        factor = promise.factor
        if factor is None:
            factor = growth(lambda e=promise.epsilon: ball(e), up)
        for x, z in promise.pairs:
            for chosen in itertools.product((0, 1), repeat=w):
                entries = {x * w + a: Fraction(1) for a in range(w) if chosen[a]}
                row(entries | {z * w + a: -factor for a in range(w) if chosen[a]}, "<", promise.delta)
    for limit in claim.limits:
        for x in range(n):
            row({x * w + a: Fraction(limit.table[a][x]) * limit.unit for a in range(w)}, "<", limit.level)
    priors = [[Fraction(c, sum(prior)) for c in prior] for prior in claim.priors]
    if claim.criterion == "worst secret":
        priors = [[Fraction(x == z) for z in range(n)] for x in range(n)]
    for prior in priors:
        costs = {x * w + a: prior[x] * Fraction(claim.table[a][x]) * claim.unit for x in range(n) for a in range(w)}
        row(costs | {n * w: Fraction(-1), n * w + 1: Fraction(1)}, "<", Fraction(0))
    goal = [Fraction(0)] * (n * w) + [Fraction(1), Fraction(-1)]
    return _simplex(goal, rows)


def _simplex(goal: list[Fraction], rows: list[tuple[list[Fraction], str, Fraction]]) -> Fraction | None:
    """min goal·v over v ≥ 0 under rows, by two phases with Bland's rule; None where no v keeps them."""
    size, slacks = len(goal), sum(sense == "<" for _, sense, _ in rows)
    width = size + slacks + len(rows)
    q = lambda value: flint.fmpq(value.numerator, value.denominator)  # noqa: E731
    tableau, basis, slack = [], [], size
    for k, (line, sense, level) in enumerate(rows):
        cells = [q(v) for v in line] + [flint.fmpq(0)] * (slacks + len(rows)) + [q(level)]
        if sense == "<":
            cells[slack] = flint.fmpq(1)
            slack += 1
        if level < 0:
            cells = [-v for v in cells]
        if sense == "<" and level >= 0:
            basis.append(slack - 1)
        else:
            cells[size + slacks + k] = flint.fmpq(1)
            basis.append(size + slacks + k)
        tableau.append(cells)
    artificial = range(size + slacks, width)
    first = [flint.fmpq(int(j in artificial)) for j in range(width)] + [flint.fmpq(0)]
    if _minimise(first, tableau, basis, width) > 0:
        return None
    second = [q(v) for v in goal] + [flint.fmpq(0)] * (width - size + 1)
    value = _minimise(second, tableau, basis, size + slacks)
    return Fraction(int(value.p), int(value.q))


def _minimise(costs: list[Any], tableau: list[list[Any]], basis: list[int], columns: int) -> Any:
    """Pivot to the optimum over the first columns; rows whose artificial variable is stuck at zero stay there."""
    reduced = list(costs)
    for line, j in zip(tableau, basis):
        if reduced[j]:
            scale = reduced[j]
            reduced = [r - scale * v for r, v in zip(reduced, line)]
    while True:
        entering = next((j for j in range(columns) if reduced[j] < 0), None)
        if entering is None:
            return -reduced[-1]
        best = None
        for i, line in enumerate(tableau):
            stuck = basis[i] >= columns and line[entering]
            if line[entering] > 0 or stuck:
                ratio = line[-1] / line[entering] if line[entering] > 0 else flint.fmpq(0)
                if best is None or (ratio, basis[i]) < best[:2]:
                    best = ratio, basis[i], i
        assert best is not None, "the program has no optimum"
        i = best[2]
        pivot = tableau[i][entering]
        tableau[i] = [v / pivot for v in tableau[i]]
        for k, line in enumerate(tableau):
            if k != i and line[entering]:
                scale = line[entering]
                tableau[k] = [v - scale * p for v, p in zip(line, tableau[i])]
        scale = reduced[entering]
        reduced = [r - scale * p for r, p in zip(reduced, tableau[i])]
        basis[i] = entering
