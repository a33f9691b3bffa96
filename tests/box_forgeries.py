"""Files about coordinates, honest and forged, written without a line of sfumato and judged by :mod:`box_judge`."""

# ruff: noqa: B905

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from fractions import Fraction
from typing import Any

import flint

from box_judge import BoxCase, BoxClaim, Point, ball, distance, least_known, lost, mixed, rate_ball, splines
from forgeries import _numbers, packed


def header_of(case: BoxCase) -> dict[str, Any]:
    """The header, without the list of sections."""
    claims: dict[str, Any] = {}
    if case.claim is not None:
        claims = {"kind": "loss on a box", "loss": str(case.claim.loss), "parts": case.claim.parts}
        if case.claim.bound is not None:
            claims |= {"bound": str(case.claim.bound), "bound_parts": list(case.claim.bound_parts)}
            claims |= {"dual_unit": str(case.claim.dual_unit)}
            if case.claim.bound_strides:
                claims["bound_strides"] = list(case.claim.bound_strides)
    return {
        "version": 3,
        "outputs": [_label(output) for output in case.outputs],
        "total": str(case.total),
        "space": {"name": "a case", "unit": "km"},
        "box": {
            "sides": list(map(str, case.sides)), "cells": list(case.cells), "metric": case.metric,
            "origin": list(map(str, case.origin)), "frame": None,
        },
        "lattice": {
            "degree": case.degree, "halvings": case.halvings, "breaks": [list(map(str, b)) for b in case.breaks],
        },
        "promise": {"kind": "coordinates", **{k: str(v) for k, v in case.promise.items()}, "rate": str(case.rate)},
        "claims": claims,
        "provenance": {},
    }  # fmt: skip


def _label(output: Point) -> Any:
    parts = [int(x) if x.denominator == 1 else {"fraction": str(x)} for x in output]
    return parts if len(parts) > 1 else parts[0]


def sections_of(case: BoxCase) -> dict[str, tuple[int, bytes]]:
    """Widths and bytes of every section, before they are packed."""
    found = {"weights": _numbers(w for row in case.weights for w in row)}
    claim = case.claim
    if claim is not None:
        found["prior"] = _numbers(claim.counts)
        if claim.bound is not None:
            found["splits"] = 1, claim.splits
            found["dual"] = _numbers(d[3] for d in claim.duals)
            ends = enumerate(("from", "to", "action"))
            found |= {f"dual_{part}": _numbers((d[k] for d in claim.duals), 4) for k, part in ends}
    return found


def to_bytes(case: BoxCase) -> bytes:
    """The file that says it."""
    return packed(header_of(case), sections_of(case))


# ----------------------------------------------------------------- cases


def random_box_case(seed: int) -> BoxCase:
    """A case: half of them are true with a complete proof, the others are false, or claim more than they prove."""
    rng = random.Random(seed)
    case = _promised(rng, _drawn(rng))
    if rng.random() < 0.6:
        case = _with_claim(rng, case)
    return _spoilt(rng, case) if rng.random() < 0.4 else case


def drawn_case(seed: int) -> BoxCase:
    """A box and a table, whatever they are worth."""
    return _drawn(random.Random(seed))


def _drawn(rng: random.Random) -> BoxCase:
    axes = rng.choice((1, 1, 1, 2, 2, 3))
    sides = tuple(rng.choice((Fraction(1), Fraction(3, 2), Fraction(2), Fraction(10, 7))) for _ in range(axes))
    cells = tuple(rng.randint(1, 3 if axes == 1 else 2) for _ in range(axes))
    breaks = tuple(_breaks(rng, side, 3 if axes == 1 else 2 if axes == 2 else 1) for side in sides)
    degree, m = rng.choice((1, 2, 2)), rng.randint(1, 3)
    points = math.prod(len(along) - 1 + degree for along in breaks)
    scale = rng.choice((1, 1, 2**50, 2**57, 2**70))
    total = 20 * scale
    weights = tuple(_row(rng, m, total) for _ in range(points))
    if rng.random() < 0.2:
        weights = (weights[0],) * points
    outputs: set[Point] = set()
    while len(outputs) < m:
        outputs.add(tuple(rng.choice((Fraction(k, 4), Fraction(k), Fraction(k, 2**30))) for k in _some(rng, axes)))
    origin = tuple(rng.choice((Fraction(0), Fraction(-5, 3))) for _ in range(axes))
    metric = rng.choice(("euclidean", "manhattan", "chebyshev"))
    halvings = rng.randint(0, 1 if axes == 3 else 2)
    one = Fraction(1)
    return BoxCase(sides, cells, origin, metric, degree, halvings, breaks, weights, tuple(sorted(outputs)),
                   {"epsilon": one}, one)  # fmt: skip


def _some(rng: random.Random, count: int) -> list[int]:
    return [rng.randint(-3, 9) for _ in range(count)]


def _breaks(rng: random.Random, side: Fraction, most: int) -> Point:
    inner = sorted(rng.sample(range(1, 8), rng.randint(0, most - 1)))
    return (Fraction(0), *(side * Fraction(k, 8) for k in inner), side)


def _row(rng: random.Random, m: int, total: int) -> tuple[int, ...]:
    if m == 1:
        return (total,)
    least = 0 if rng.random() < 0.05 else total // 10
    row = [least + rng.randrange(total // (2 * m)) for _ in range(m - 1)]
    return (*row, total - sum(row))


def _coefficients(case: BoxCase, axis: int) -> list[tuple[list[Fraction], list[Fraction]]]:
    """Bernstein's coefficients of values and slopes along an axis, from values at ends and middles of pieces."""
    found = []
    breaks, parts = case.breaks[axis], 2**case.halvings
    for j, (low, high) in enumerate(itertools.pairwise(breaks)):
        for k in range(parts):
            places = [low + (high - low) * (k + s) / parts for s in (Fraction(0), Fraction(1, 2), Fraction(1))]
            at = [splines(breaks, case.degree, j, x) for x in places]
            if case.degree == 1:
                found += [(at[0][0], at[1][1]), (at[2][0], at[1][1])]
                continue
            middle = [[2 * m - (a + b) / 2 for a, m, b in zip(*(at[i][w] for i in range(3)))] for w in (0, 1)]
            found += [at[0], (middle[0], middle[1]), at[2]]
    return found


def _needed(case: BoxCase) -> Fraction | None:
    """A rate that all coefficients keep, as small as can be up to 2^-60; None where there is none."""
    rate = Fraction(0)
    axes = [_coefficients(case, axis) for axis in range(len(case.sides))]
    for chosen in itertools.product(*axes):
        for y in range(len(case.outputs)):
            column = [row[y] for row in case.weights]
            value = mixed([v for v, _ in chosen], column)
            slopes = [
                mixed([s if k == i else v for k, (v, s) in enumerate(chosen)], column) for i in range(len(chosen))
            ]
            if not any(slopes):
                continue
            if not value:
                return None
            if case.metric == "euclidean":
                square = sum((s * s for s in slopes), Fraction(0)) / value**2
                size = Fraction(math.isqrt(math.ceil(square * 2**120)) + 1, 2**60)
            else:
                sizes = [abs(s) / value for s in slopes]
                size = max(sizes) if case.metric == "manhattan" else sum(sizes, Fraction(0))
            rate = max(rate, size)
    return rate


def _promised(rng: random.Random, case: BoxCase) -> BoxCase:
    """The least promise that the table is proved to keep, a little more, or less."""
    needed = _needed(case)
    if needed is None:
        return replace(case, promise={"epsilon": Fraction(5)}, rate=Fraction(5), owed=False)
    needed = needed or Fraction(1, 7)
    if rng.random() < 0.3:
        less = needed * rng.choice((Fraction(1, 2), Fraction(99, 100), 1 - Fraction(1, 2**40)))
        return replace(case, promise={"epsilon": less}, rate=less, owed=False)
    if rng.random() < 0.5:
        return replace(case, promise={"epsilon": needed * rng.choice((1, 2))}, rate=needed)
    with flint.ctx.workprec(200):
        above = (-(ball(needed) + flint.arb(2) ** -40)).exp().lower()
        mantissa, power = above.man_exp()
    alpha = Fraction(int(mantissa)) * Fraction(2) ** int(power)
    return replace(case, promise={"alpha": Fraction(math.floor(alpha * 2**500), 2**500)}, rate=needed)


def _with_claim(rng: random.Random, case: BoxCase) -> BoxCase:
    counts = [rng.choice((0, 1, 2, 2**40)) for _ in range(math.prod(case.cells))]
    counts[rng.randrange(len(counts))] += rng.choice((1, 5))
    claim = BoxClaim(tuple(counts), Fraction(0), rng.randint(1, 2))
    above = lost(case, claim, up=True) + Fraction(1, 2**40)
    claim = replace(claim, loss=above * rng.choice((1, 1, 2)))
    if rng.random() < 0.5 and case.owed:
        claim = _with_bound(rng, case, claim)
    return replace(case, claim=claim)


def _with_bound(rng: random.Random, case: BoxCase, claim: BoxClaim) -> BoxClaim:
    """Random dual numbers, and less than what they prove: losses are lowered by all of the largest cube."""
    parts = tuple(rng.randint(1 if n > 1 else 2, 2) for n in case.cells)
    shape = [n * p for n, p in zip(case.cells, parts)]
    strides = tuple(rng.choice([m for m in (1, 2, 3) if n % m == 0 and n >= 2 * m]) for n in shape)
    coarse = [n // m for n, m in zip(shape, strides)]
    cubes = math.prod(n - 1 for n in coarse)
    axes = len(shape)
    splits = b"".join(rng.choice((b"\0", b"\0", b"\1" + b"\0" * 2**axes)) for _ in range(cubes))
    steps = [s / n for s, n in zip(case.sides, coarse)]
    corners = _corners(splits, coarse, steps)
    places = list(itertools.product(*map(range, shape)))
    # each class of secrets is seen from its own first secret
    secrets = [tuple(k // m * s for k, m, s in zip(place, strides, steps)) for place in places]
    classes = [tuple(k % m for k, m in zip(place, strides)) for place in places]
    masses = _masses(case, claim, parts)
    widest = distance(case, tuple(steps), (Fraction(0),) * axes, True) * Fraction(1001, 1000)
    reduced = [
        [mass * (distance(case, corner, secret, False) - widest) for corner in corners]
        for mass, secret in zip(masses, secrets)
    ]
    unit, duals = Fraction(1, rng.choice((1, 1000, 2**40))), []
    for _ in range(rng.randint(0, 4)):
        x = rng.randrange(len(secrets))
        z = rng.choice([k for k, other in enumerate(classes) if other == classes[x] and k != x])
        action, value = rng.randrange(len(corners)), rng.choice((0, 1, 9, 2**20))
        duals.append((x, z, action, value))
        reduced[x][action] += value * unit
        reduced[z][action] -= value * unit * _growth(case, distance(case, secrets[x], secrets[z], True))
    value = sum((min(row) for row in reduced), Fraction(0))
    bound = Fraction(math.floor(value * 2**60), 2**60)
    claim = replace(claim, bound=bound, bound_parts=parts, splits=splits, dual_unit=unit, duals=tuple(duals))
    return replace(claim, bound_strides=strides if max(strides) > 1 or rng.random() < 0.5 else ())


def _masses(case: BoxCase, claim: BoxClaim, parts: tuple[int, ...]) -> list[Fraction]:
    whole = sum(claim.counts) * math.prod(parts)
    found = []
    for place in itertools.product(*(range(n * p) for n, p in zip(case.cells, parts))):
        number = 0
        for k, n, p in zip(place, case.cells, parts):
            number = number * n + k // p
        found.append(Fraction(claim.counts[number], whole))
    return found


def _corners(splits: bytes, shape: list[int], steps: list[Fraction]) -> list[Point]:
    """The corners of cubes that are halved once at most, in the order of their coordinates."""
    found: set[Point] = set()
    read = iter(splits)
    for place in itertools.product(*(range(n - 1) for n in shape)):
        halved = next(read)
        for _ in range(2 ** len(shape) if halved else 0):
            next(read)
        grid = [[Fraction(k), Fraction(2 * k + 1, 2), Fraction(k + 1)] if halved else [Fraction(k), Fraction(k + 1)]
                for k in place]  # fmt: skip
        found |= {tuple(t * s for t, s in zip(corner, steps)) for corner in itertools.product(*grid)}
    return sorted(found)


def _growth(case: BoxCase, length: Fraction) -> Fraction:
    with flint.ctx.workprec(200):
        mantissa, power = (rate_ball(case) * ball(length)).exp().upper().man_exp()
    return Fraction(int(mantissa)) * Fraction(2) ** int(power) * (1 + Fraction(1, 2**60))


# ----------------------------------------------------------------- forgeries


def _spoilt(rng: random.Random, case: BoxCase) -> BoxCase:
    """The same case with one thing that is false, or that only a forger would write."""
    spoilers = _SPOILERS if case.claim is not None else _SPOILERS_OF_TABLES
    return replace(rng.choice(spoilers)(rng, case), owed=False)


def _other_weight(rng: random.Random, case: BoxCase) -> BoxCase:
    rows = [list(row) for row in case.weights]
    rng.choice(rows)[rng.randrange(len(rows[0]))] += rng.choice((1, case.total))
    return replace(case, weights=tuple(map(tuple, rows)))


def _moved_weight(rng: random.Random, case: BoxCase) -> BoxCase:
    rows = [list(row) for row in case.weights]
    row = rng.choice(rows)
    much = row[0] // rng.choice((1, 2, 5))
    row[0], row[-1] = row[0] - much, row[-1] + much
    return replace(case, weights=tuple(map(tuple, rows)))


def _smaller_promise(rng: random.Random, case: BoxCase) -> BoxCase:
    less = case.rate / rng.choice((2, 1000))
    kept = rng.random() < 0.5  # the rate stays above the promise, or goes down with it
    return replace(case, promise={"epsilon": less}, rate=case.rate if kept else less)


def _other_lattice(rng: random.Random, case: BoxCase) -> BoxCase:
    scale = rng.choice((Fraction(1, 2), Fraction(1, 100)))
    breaks = tuple(tuple(b * scale for b in along) for along in case.breaks)
    return replace(case, breaks=breaks, sides=tuple(s * scale for s in case.sides))


def _smaller_loss(rng: random.Random, case: BoxCase) -> BoxCase:
    assert case.claim is not None
    below = lost(case, case.claim, up=False)
    return replace(case, claim=replace(case.claim, loss=below * rng.choice((0, Fraction(1, 2), Fraction(999, 1000)))))


def _larger_bound(rng: random.Random, case: BoxCase) -> BoxCase:
    claim = case.claim
    assert claim is not None
    if claim.bound is None:
        claim = _with_bound(rng, case, claim)
    most = least_known(case, claim)
    top = rng.choice((2**20, 2**62, 2**64 - 1, 2**100))
    duals = tuple((x, z, action, rng.randint(0, top)) for x, z, action, _ in claim.duals)
    return replace(case, claim=replace(claim, bound=most + rng.choice((Fraction(1, 10**9), Fraction(5))), duals=duals))


def _other_splits(rng: random.Random, case: BoxCase) -> BoxCase:
    claim = case.claim
    assert claim is not None
    if claim.bound is None:
        claim = _with_bound(rng, case, claim)
    splits = rng.choice((claim.splits[:-1], claim.splits + b"\0", b"\1" * len(claim.splits), b"\2" + claim.splits[1:]))
    return replace(case, claim=replace(claim, splits=splits))


def _other_strides(rng: random.Random, case: BoxCase) -> BoxCase:
    claim = case.claim
    assert claim is not None
    if claim.bound is None:
        claim = _with_bound(rng, case, claim)
    most = least_known(case, claim)
    strides = rng.choice(((0,), (1,) * 4, (7,) * len(case.cells), ("1",) * len(case.cells), (2,) * len(case.cells)))
    return replace(case, claim=replace(claim, bound_strides=strides, bound=most + 1))


_SPOILERS_OF_TABLES = (_other_weight, _moved_weight, _smaller_promise, _other_lattice)
_SPOILERS = (*_SPOILERS_OF_TABLES, _smaller_loss, _larger_bound, _other_splits, _other_strides)
