"""Mechanism files, honest and forged, written without a line of sfumato and judged by :mod:`judge`.

:func:`random_case` draws a case with the answer a checker owes it: ``owed`` is True where the file is true and its
proof complete, so that it must be accepted; whatever the judge calls false must never be.
"""

# ruff: noqa: B905

from __future__ import annotations

import hashlib
import itertools
import json
import math
import random
import struct
import zlib
from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint

from judge import Case, Claim, Events, Limit, Pair, Table, ball, exponent, growth, means, worst

NOWHERE = 2**32 - 1
UNBOUNDED = 2**64 - 1


# ----------------------------------------------------------------- the writer


def _width(values: list[int]) -> int:
    largest = max(values, default=0)
    return next(w for w in (1, 2, 4, 8, *range(16, 2049, 8)) if largest < 1 << (8 * w))


def _numbers(values: Any, width: int | None = None) -> tuple[int, bytes]:
    values = list(values)
    width = width or _width(values)
    return width, b"".join(int(v).to_bytes(width, "little") for v in values)


def _doubles(table: Table) -> tuple[int, bytes]:
    return 8, b"".join(struct.pack("<d", v) for line in table for v in line)


def sections_of(case: Case) -> dict[str, tuple[int, bytes]]:
    """Widths and bytes of every section, before they are packed."""
    found = {"weights": _numbers(w for row in case.weights for w in row)}
    listed = list(case.distances) if case.graph else list(itertools.combinations(range(case.n), 2))
    lengths = [case.distances[pair] for pair in listed]
    if case.form == "float":
        far = b"".join(struct.pack("<d", math.inf if d is None else d) for d in lengths)
        found["distances"] = 8, far
    else:
        found["distances"] = _numbers((UNBOUNDED if d is None else d for d in lengths), 8)
    if case.graph:
        found |= {f"edge_{end}": _numbers((p[k] for p in listed), 4) for k, end in enumerate(("first", "second"))}
    elif case.via:
        found["via"] = _numbers((case.via.get(pair, NOWHERE) for pair in listed), 4)
    if case.events:
        pairs = [pair for promise in case.events for pair in promise.pairs]
        found |= {f"event_{end}": _numbers((p[k] for p in pairs), 4) for k, end in enumerate(("upper", "lower"))}
    return found | ({} if case.claim is None else _claim_sections(case, case.claim))


def _claim_sections(case: Case, claim: Claim) -> dict[str, tuple[int, bytes]]:
    found = {
        "prior": _numbers(c for prior in claim.priors for c in prior),
        "loss": _doubles(claim.table),
        "remap": _numbers(claim.remap, 4),
    }
    if claim.limits:
        found["ceilings"] = _doubles(tuple(line for limit in claim.limits for line in limit.table))
    if claim.bound is None:
        return found
    found["dual"] = _numbers(d[3] for d in claim.duals)
    found |= {
        f"dual_{part}": _numbers((d[k] for d in claim.duals), 4) for k, part in enumerate(("from", "to", "action"))
    }
    if claim.criterion == "worst prior":
        found["mixture"] = _numbers(claim.mixture)
    if claim.limits:
        found["ceiling_prices"] = _numbers(p for limit in claim.limits for p in limit.prices)
    if case.events:
        found["event_dual"] = _numbers(d[2] for d in claim.event_duals)
        found |= {
            f"event_dual_{part}": _numbers((d[k] for d in claim.event_duals), 4)
            for k, part in enumerate(("pair", "action"))
        }
    return found


def header_of(case: Case) -> dict[str, Any]:
    """The header, without the list of sections."""
    promise = {"kind": "rows", **{name: str(value) for name, value in case.promise.items()}}
    header: dict[str, Any] = {
        "version": 3,
        "secrets": list(range(case.n)),
        "outputs": [f"output {y}" for y in range(case.m)],
        "total": str(case.total),
        "space": {"name": "a case", "unit": "km", "coordinates": None},
        "metric": {"form": case.form, "unit": str(case.unit), "source": "edges" if case.graph else "table"},
        "promise": promise,
        "claims": {},
        "provenance": {},
    }
    if case.events:
        header["events"] = [
            {"delta": str(e.delta), "pairs": len(e.pairs)}
            | ({"factor": str(e.factor)} if e.epsilon is None else {"epsilon": str(e.epsilon)})
            for e in case.events
        ]
    if case.claim is not None:
        header["claims"] = _claims(case.claim)
    return header


def _claims(claim: Claim) -> dict[str, Any]:
    claims: dict[str, Any] = {
        "kind": "loss", "loss": str(claim.loss), "loss_unit": str(claim.unit), "criterion": claim.criterion,
        "actions": list(range(len(claim.table))),
    }  # fmt: skip
    if claim.limits:
        claims["ceilings"] = [{"name": "", "unit": str(c.unit), "level": str(c.level)} for c in claim.limits]
    if claim.bound is not None:
        claims |= {"bound": str(claim.bound), "dual_unit": str(claim.dual_unit)}
    return claims


def to_bytes(case: Case) -> bytes:
    """The file that says it."""
    return packed(header_of(case), sections_of(case))


def packed(header: dict[str, Any], sections: dict[str, tuple[int, bytes]]) -> bytes:
    """Magic, version, header, sections with their bytes grouped by significance, SHA-256 of all that."""
    bodies, listed = [], []
    for name, (width, data) in sections.items():
        body = zlib.compress(b"".join(data[k::width] for k in range(width)), 9)
        bodies.append(body)
        listed.append({"name": name, "width": width, "count": len(data) // width, "size": len(body)})
    text = json.dumps({**header, "sections": listed}).encode()
    frame = b"sfumato\n" + struct.pack("<QQ", 3, len(text)) + text + b"".join(bodies)
    return frame + hashlib.sha256(frame).digest()


# ----------------------------------------------------------------- cases


def random_case(seed: int) -> Case:
    """A case: half of them are true with a complete proof, the others are false, or look odd."""
    rng = random.Random(seed)
    case = _promised(rng, _drawn(rng))
    if rng.random() < 0.3 and case.n > 1:
        case = _with_events(rng, case)
    if rng.random() < 0.7:
        case = _with_claim(rng, case)
    return _spoilt(rng, case) if rng.random() < 0.45 else case


def _drawn(rng: random.Random) -> Case:
    """Weights and distances, without a promise."""
    n, m = rng.choice((1, 2, 2, 3, 3, 3, 4)), rng.randint(1, 4)
    scale = rng.choice((1, 1, 1, 2**50, 2**57, 2**64, 2**300))
    total = m * rng.randint(2, 12)
    weights = tuple(_row(rng, m, total, scale) for _ in range(n))
    if rng.random() < 0.3:  # rows that are all alike, or a column that nobody has
        weights = (weights[0],) * n
    form = rng.choice(("rational", "root", "float"))
    graph = form != "root" and rng.random() < 0.4
    pairs = list(itertools.combinations(range(n), 2))
    if graph:
        pairs = [pair if rng.random() < 0.5 else pair[::-1] for pair in pairs if rng.random() < 0.8]
    distances = {pair: None if rng.random() < 0.1 else _distance(rng, form) for pair in pairs}
    unit = (
        Fraction(1)
        if form == "float"
        else rng.choice((Fraction(1), Fraction(1, 3), Fraction(5, 2), Fraction(1, 2**40)))
    )
    case = Case(weights, form, unit, distances, {"epsilon": Fraction(1)}, graph)
    return case if graph or rng.random() < 0.5 else _with_chain(rng, case)


def _row(rng: random.Random, m: int, total: int, scale: int) -> tuple[int, ...]:
    cuts = sorted(rng.randint(0, total - m) for _ in range(m - 1)) if rng.random() < 0.2 else None
    if cuts is not None:  # zeros may occur
        ends = [0, *cuts, total]
        return tuple(scale * (b - a) for a, b in itertools.pairwise(ends))
    parts = [1] * m
    for _ in range(total - m):
        parts[rng.randrange(m)] += 1
    moved = rng.randrange(min(scale, 2**20))
    row = [scale * p for p in parts]
    row[0] += moved
    row[-1] -= moved
    return tuple(row) if m > 1 else (scale * total,)


def _distance(rng: random.Random, form: str) -> Any:
    if form == "float":
        return rng.choice((1.0, 0.5, rng.random() + 0.1, 3.0, 2.0**61, 1e300, 5e-324, 0.1))
    if form == "root":
        return rng.choice((1, 2, 4, 9, 5, rng.randint(1, 50), 2**30 - 1))
    return rng.choice((1, 2, 3, rng.randint(1, 9), rng.randint(1, 9), 2**61 - 1))


def _with_chain(rng: random.Random, case: Case) -> Case:
    """One pair is implied by a point between its ends; one time in eight the point does not lie there."""
    if case.n < 3:
        return case
    x, y, z = rng.sample(range(case.n), 3)
    legs = tuple(sorted((x, y))), tuple(sorted((y, z)))
    sizes = {"float": (2.0, 0.25, 2.0**61), "root": (1, 4, 9), "rational": (1, 2, 5)}[case.form]
    a, b = rng.choice(sizes), rng.choice(sizes)
    whole = (math.isqrt(a) + math.isqrt(b)) ** 2 if case.form == "root" else a + b
    false = rng.random() < 0.125 or (case.form == "float" and Fraction(a) + Fraction(b) > Fraction(whole))
    if false:
        whole = whole / 2 if case.form == "float" else whole - 1
    lengths = case.distances | {legs[0]: a, legs[1]: b, tuple(sorted((x, z))): whole}
    return replace(case, distances=lengths, via={tuple(sorted((x, z))): y}, owed=case.owed and not false)  # type: ignore[arg-type]


def _promised(rng: random.Random, case: Case) -> Case:
    """The least promise that the rows keep, a little more, or a little less, by numbers of few or many digits."""
    needed: Fraction | None = Fraction(0)
    with flint.ctx.workprec(200):
        for (x, z), distance in case.distances.items():
            for a, b in zip(case.weights[x], case.weights[z]):
                if distance is None or a == b:
                    continue
                if not a or not b:
                    return replace(case, promise={"epsilon": Fraction(rng.randint(1, 5))}, owed=False)
                unit_case = replace(case, promise={"epsilon": Fraction(1)})
                rate = abs(ball(Fraction(a, b)).log()) / exponent(unit_case, distance)
                mantissa, power = rate.mid().man_exp()
                if needed is not None:
                    needed = max(needed, Fraction(int(mantissa)) * Fraction(2) ** int(power))
    assert needed is not None
    more = rng.random() < 0.75
    if not needed:
        return replace(case, promise={"epsilon": Fraction(1, rng.choice((1, 7, 10**30)))})
    grid = (
        Fraction(2) ** (math.frexp(float(needed))[1] - rng.choice((2, 10, 50))) if 1e-250 < needed < 1e250 else needed
    )
    epsilon = grid * (needed // grid + 1) if more else grid * ((needed - grid / 2**20) // grid)
    if epsilon <= 0:
        epsilon, more = needed / 2, False
    exact = _exact_alpha(case) if rng.random() < 0.4 else None
    if exact is not None:
        return replace(case, promise=exact)
    case = replace(case, promise={"epsilon": epsilon})
    return replace(case, owed=case.owed and more and _by_a_margin(case))


def _by_a_margin(case: Case) -> bool:
    """Whether every ratio is below e^(epsilon·d) by a part in 2^60: checkers round it down to 62 digits."""
    with flint.ctx.workprec(300):
        return all(
            not a or not b or _exponent_gap(case, Fraction(a, b), distance) > flint.arb(2) ** -60
            for (x, z), distance in case.distances.items() if distance is not None
            for a, b in zip(case.weights[x], case.weights[z]) if a != b
        )  # fmt: skip


def _exponent_gap(case: Case, ratio: Fraction, distance: Any) -> flint.arb:
    return exponent(case, distance) - abs(ball(ratio).log())


def _exact_alpha(case: Case) -> dict[str, Fraction] | None:
    """alpha such that the largest ratio is allowed exactly, where all distances are one unit."""
    lengths = {d for d in case.distances.values() if d is not None}
    if case.form == "float" or case.unit != 1 or lengths != {1}:
        return None
    ratios = [
        Fraction(max(a, b), min(a, b))
        for (x, z), d in case.distances.items() if d is not None
        for a, b in zip(case.weights[x], case.weights[z]) if a and b
    ]  # fmt: skip
    alpha = 1 / max(ratios, default=Fraction(1))
    return {"alpha": alpha, "step": alpha} if alpha < 1 and alpha.denominator < 10**1000 else None


def _with_events(rng: random.Random, case: Case) -> Case:
    pairs = [(x, z) for x in range(case.n) for z in range(case.n) if x != z and rng.random() < 0.7] or [(0, 1)]
    use_factor = rng.random() < 0.5
    promise = Events(
        tuple(pairs), Fraction(0), Fraction(rng.randint(3, 9), 3) if use_factor else None,
        None if use_factor else Fraction(rng.randint(1, 9), 4),
    )  # fmt: skip
    excess = Fraction(0)
    for x, z in pairs:
        factor = promise.factor or growth(lambda: ball(promise.epsilon), False)
        over = sum(
            (max(Fraction(0), a - factor * b) for a, b in zip(case.weights[x], case.weights[z])),
            Fraction(0),
        )
        excess = max(excess, over / case.total)
    above = Fraction(math.ceil(excess * 2**100), 2**100)  # the kernel's factors have 62 bits or those of the total
    false = rng.random() < 0.2 and excess > Fraction(1, 10**6)
    delta = excess * Fraction(999999, 10**6) if false else min(Fraction(1), above + Fraction(1, 2**40))
    return replace(case, events=(replace(promise, delta=delta),), owed=case.owed and not false)


_SIZES = (0.0, 1.0, -1.0, 0.5, 3.0, -2.5, 1e-300, -1e300, 5e-324, 1e16, 0.1, -0.0, 2.0**53)


def _table(rng: random.Random, actions: int, n: int) -> Table:
    sizes = _SIZES if rng.random() < 0.3 else (0.0, 1.0, 2.0, -1.0, 0.25, 0.1)
    return tuple(tuple(rng.choice(sizes) for _ in range(n)) for _ in range(actions))


def _with_claim(rng: random.Random, case: Case) -> Case:
    n, actions = case.n, rng.randint(1, 3)
    remap = tuple(rng.randrange(actions) for _ in range(case.m))
    criterion = rng.choice(("expected", "worst secret", "worst prior"))
    priors = tuple(
        (*tuple(rng.choice((0, 1, 2, 2**40)) for _ in range(n - 1)), rng.choice((1, 5, 2**70)))
        for _ in range(rng.randint(1, 3) if criterion == "worst prior" else 1)
    )
    units = (Fraction(1), Fraction(1, 7), Fraction(10**30), Fraction(1, 2**60))
    claim = Claim(_table(rng, actions, n), rng.choice(units), remap, priors, criterion, Fraction(0))
    for _ in range(rng.choice((0, 0, 0, 1, 2))):
        table, unit = _table(rng, actions, n), rng.choice(units)
        level = max(means(case, table, unit, remap))
        prices = tuple(rng.choice((0, 0, 1, 2**30)) for _ in range(n))
        claim = replace(claim, limits=(*claim.limits, Limit(table, unit, level, prices)))
    claim = replace(claim, loss=worst(case, claim))
    if rng.random() < 0.6 and case.owed and case.n <= 3 and len(case.events) <= 1:
        claim = _with_bound(rng, case, claim)
    return replace(case, claim=claim)


def _with_bound(rng: random.Random, case: Case, claim: Claim) -> Claim:
    """Random dual numbers, and what they prove with factors rounded up: less than what any exact checker finds."""
    near = [(pair, d) for pair, d in case.distances.items() if d is not None and _small(case, d)]
    top = rng.choice((1, 9, 2**40, 2**62, 2**64 - 1, 2**90))
    duals = _duals(rng, [pair for pair, _ in near], len(claim.table), top)
    pairs = [pair for promise in case.events for pair in promise.pairs]
    event_duals = tuple(
        (rng.randrange(len(pairs)), rng.randrange(len(claim.table)), rng.randint(0, 9)) for _ in pairs[:2]
    )
    unit = rng.choice((Fraction(1), Fraction(1, 2**60), Fraction(1, 3)))
    mixture = tuple(rng.randint(1, 9) for _ in claim.priors) if claim.criterion == "worst prior" else (1,)
    claim = replace(claim, dual_unit=unit, duals=duals, event_duals=event_duals, mixture=mixture)
    value = _dual_value(case, claim)
    return replace(claim, bound=Fraction(math.floor(value * 2**400), 2**400) if value.denominator > 10**1000 else value)


def _duals(rng: random.Random, pairs: list[Pair], actions: int, top: int) -> tuple[tuple[int, int, int, int], ...]:
    """Up to four of them, each on a constraint of its own."""
    places = {
        (*(pair if rng.random() < 0.5 else pair[::-1]), rng.randrange(actions))
        for pair in (rng.choice(pairs) for _ in range(rng.randint(0, 4) if pairs else 0))
    }
    return tuple((*place, rng.randint(0, top)) for place in sorted(places))


def _small(case: Case, distance: Any) -> bool:
    with flint.ctx.workprec(64):
        return bool(exponent(case, distance) < 1000)


def _dual_value(case: Case, claim: Claim) -> Fraction:
    n, actions = case.n, len(claim.table)
    shares = [Fraction(s, sum(claim.mixture)) for s in claim.mixture]
    prior = [sum((s * Fraction(p[x], sum(p)) for s, p in zip(shares, claim.priors)), Fraction(0)) for x in range(n)]
    reduced = [[prior[x] * Fraction(claim.table[a][x]) * claim.unit for a in range(actions)] for x in range(n)]
    paid = Fraction(0)
    for limit in claim.limits:
        for x, price in enumerate(limit.prices):
            paid += price * claim.dual_unit * limit.level
            for a in range(actions):
                reduced[x][a] += price * claim.dual_unit * Fraction(limit.table[a][x]) * limit.unit
    for x, z, a, value in claim.duals:
        distance = case.distances.get((x, z), case.distances.get((z, x)))
        reduced[x][a] += value * claim.dual_unit
        reduced[z][a] -= value * claim.dual_unit * growth(lambda d=distance: exponent(case, d), True)
    highest: dict[tuple[int, int], int] = {}
    for j, a, value in claim.event_duals:
        highest[j, a] = highest.get((j, a), 0) + value
    promise = case.events[0] if case.events else None
    for (j, a), value in highest.items():
        assert promise is not None
        x, z = promise.pairs[j]
        factor = promise.factor or growth(lambda: ball(promise.epsilon), True)
        reduced[x][a] += value * claim.dual_unit
        reduced[z][a] -= value * claim.dual_unit * factor
    for j in {j for j, _ in highest}:
        paid += max(v for (i, _), v in highest.items() if i == j) * claim.dual_unit * promise.delta  # type: ignore[union-attr]
    return sum((min(line) for line in reduced), Fraction(0)) - paid


# ----------------------------------------------------------------- forgeries


def _spoilt(rng: random.Random, case: Case) -> Case:
    """The same case with one thing that is false, or that only a forger would write."""
    spoil = rng.choice([f for f in _SPOILERS if case.claim is not None or f in _SPOILERS_OF_ROWS])
    return replace(spoil(rng, case), owed=False)


def _other_weight(rng: random.Random, case: Case) -> Case:
    rows = [list(row) for row in case.weights]
    x, y = rng.randrange(case.n), rng.randrange(case.m)
    rows[x][y] += rng.choice((1, case.total))
    return replace(case, weights=tuple(map(tuple, rows)))


def _moved_weight(rng: random.Random, case: Case) -> Case:
    rows = [list(row) for row in case.weights]
    row = rows[rng.randrange(case.n)]
    much = row[0] // rng.choice((1, 2, 5))
    row[0], row[-1] = row[0] - much, row[-1] + much
    return replace(case, weights=tuple(map(tuple, rows)))


def _smaller_epsilon(rng: random.Random, case: Case) -> Case:
    if "alpha" in case.promise:
        return replace(case, promise={"alpha": (case.promise["alpha"] + 1) / 2})
    return replace(case, promise={"epsilon": case.promise["epsilon"] / rng.choice((2, 1000))})


def _negative_loss_unit(rng: random.Random, case: Case) -> Case:
    claim = case.claim
    assert claim is not None
    paid = means(case, claim.table, -claim.unit, claim.remap)
    loss = min(paid) if rng.random() < 0.5 else -claim.loss  # the best secret, or the old loss with another sign
    return replace(case, claim=replace(claim, unit=-claim.unit, loss=loss))


def _negative_limit(rng: random.Random, case: Case) -> Case:
    claim = case.claim
    assert claim is not None
    table, unit = _table(rng, len(claim.table), case.n), Fraction(-1)
    level = min(means(case, table, unit, claim.remap))
    return replace(case, claim=replace(claim, limits=(*claim.limits, Limit(table, unit, level, (0,) * case.n))))


def _tighter_limit(rng: random.Random, case: Case) -> Case:
    claim = case.claim
    assert claim is not None
    table = _table(rng, len(claim.table), case.n)
    level = max(means(case, table, Fraction(1), claim.remap)) - rng.choice((Fraction(1), Fraction(1, 10**40)))
    limit = Limit(table, Fraction(1), level, (0,) * case.n)
    return replace(case, claim=replace(claim, limits=(*claim.limits, limit)))


def _other_loss(rng: random.Random, case: Case) -> Case:
    assert case.claim is not None
    off = rng.choice((Fraction(1), Fraction(-1), Fraction(1, 10**60), -Fraction(1, 10**60)))
    return replace(case, claim=replace(case.claim, loss=case.claim.loss + off))


def _other_bound(rng: random.Random, case: Case) -> Case:
    """A bound above the loss of the mechanism itself, with dual numbers of any size."""
    claim = case.claim
    assert claim is not None
    top = rng.choice((2**20, 2**62, 2**64 - 1, 2**200))
    duals = _duals(rng, [pair for pair, d in case.distances.items() if d is not None], len(claim.table), top)
    more = rng.choice((Fraction(1, 10**30), Fraction(1), Fraction(10**40)))
    unit = rng.choice((Fraction(1), Fraction(1, 2**60), Fraction(10**100)))
    limits = tuple(replace(limit, prices=tuple(rng.randint(0, top) for _ in limit.prices)) for limit in claim.limits)
    mixture = tuple(1 for _ in claim.priors)
    return replace(case, claim=replace(claim, bound=claim.loss + more, dual_unit=unit, duals=duals, event_duals=(),
                                       limits=limits, mixture=mixture))  # fmt: skip


def _negative_dual_unit(rng: random.Random, case: Case) -> Case:
    made = _other_bound(rng, case)
    assert made.claim is not None
    return replace(made, claim=replace(made.claim, dual_unit=-made.claim.dual_unit))


_SPOILERS_OF_ROWS = (_other_weight, _moved_weight, _smaller_epsilon)
_SPOILERS = (
    *_SPOILERS_OF_ROWS, _negative_loss_unit, _negative_limit, _tighter_limit, _other_loss, _other_bound,
    _negative_dual_unit,
)  # fmt: skip


# ----------------------------------------------------------------- columns by their support, places for distances


def folded(rng: random.Random, header: dict[str, Any], sections: dict[str, Any]) -> dict[str, Any]:
    """The same sections with columns by their support: floors that occur in them, and runs of at least what differs."""
    width, data = sections["weights"]
    m = len(header["outputs"])
    rows = [int.from_bytes(data[k : k + width], "little") for k in range(0, len(data), width)]
    columns = [rows[y::m] for y in range(m)]
    floors = [rng.choice(column) for column in columns]
    starts, lengths, listed = [], [], list(floors)
    for y, (column, floor) in enumerate(zip(columns, floors)):
        inside = [weight != floor or rng.random() < 0.1 for weight in column]
        for x, (here, before) in enumerate(zip(inside, [False, *inside])):
            if here and (not before or rng.random() < 0.1):  # one run may follow another at once
                starts.append(y * len(column) + x)
                lengths.append(0)
            if here:
                lengths[-1] += 1
                listed.append(column[x])
    runs = {"weights": (width, _numbers(listed, width)[1]), "run_starts": _numbers(starts, 4)}
    return sections | runs | {"run_lengths": _numbers(lengths, 4)}


def misfolded(rng: random.Random, sections: dict[str, Any]) -> dict[str, Any] | None:
    """Runs that are out of order, repeated, empty, too long, beyond the table, or do not fit their weights."""
    found = {name: _read(*sections[name]) for name in ("run_starts", "run_lengths", "weights")}
    starts, lengths, weights = found.values()
    if not starts:
        return None
    k, kind = rng.randrange(len(starts)), rng.choice(("swap", "repeat", "empty", "long", "beyond", "more", "less"))
    if kind == "swap":
        if len(starts) < 2:
            return None
        starts[0], starts[-1] = starts[-1], starts[0]
    elif kind == "repeat":
        starts.insert(k, starts[k])
        lengths.insert(k, lengths[k])
        weights += weights[-lengths[k] :]
    elif kind == "empty":
        starts.insert(k, starts[k])
        lengths.insert(k, 0)
    elif kind in ("long", "beyond"):
        end = (lengths if kind == "long" else starts)[-1]
        (lengths if kind == "long" else starts)[-1] = rng.choice((end + 2**20, 2**32 - 1))
    elif kind == "more":
        weights.append(weights[-1])
    else:
        weights.pop()
    widths = {"run_starts": 4, "run_lengths": 4, "weights": sections["weights"][0]}
    return sections | {name: _numbers(values, widths[name]) for name, values in found.items()}


def _read(width: int, data: bytes) -> list[int]:
    return [int.from_bytes(data[k : k + width], "little") for k in range(0, len(data), width)]


def placed(places: list[tuple[int, ...]], norm: str, header: Any, sections: Any) -> tuple[dict[str, Any], Any]:
    """The same file with places of secrets instead of a table of distances."""
    form = "root" if norm == "euclidean" else "rational"
    metric = {"form": form, "unit": header["metric"]["unit"], "source": "places", "norm": norm}
    kept = {name: section for name, section in sections.items() if name != "distances"}
    return header | {"metric": metric}, kept | {"places": _numbers((c for p in places for c in p), 4)}
