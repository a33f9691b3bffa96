"""Points a second: coordinates rounded to a lattice and drawn exactly, from two Arrow columns of doubles to two others.

On one core, so that points a second are points a second and core:

    python benchmarks/bench_plane_draws.py --one-core

The table has 400 lattice points (18 × 18 cells, degree 2) and 400 outputs, random weights with the total 2^52; whether
they are private makes no difference to a draw. All in one run and in turns, the least CPU time of several calls, random
bits included (ChaCha20 keyed by the system; PCG64 for the floats). The peer does the same in NumPy with doubles: two
uniform numbers added along each axis, then float alias tables; its chances are rounded. Snapping takes the row of the
cell that a point is in, which promises something about cells alone. The limit is 5 million points a second.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import sfumato as sf
from bench_sampler import FloatAlias, least_seconds
from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.mechanism import Mechanism, Proof
from sfumato.release.places import Position
from sfumato.release.sampler import sampler
from sfumato.spaces.box import Box, box
from sfumato.spaces.splines import rounding_of
from timing import Table

POINTS = 2_000_000
REPEATS = 5
OUTPUTS = 400
TOTAL = 1 << 52
XY = Position("x", "y")


def main() -> None:
    """Measure and report."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--one-core", action="store_true", help="run on the last core alone")
    if parser.parse_args().one_core and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    title = "Points drawn for, 400 lattice points and 400 outputs, one core"
    table = Table("plane_draws", title, ("what", "million points/s", "÷ floats"))
    rng = np.random.default_rng(19)
    town = box((9, 9), step="1/2", unit="km")
    hide = on_box(town, rng)
    points = rng.uniform(0, 9, (POINTS, 2))
    columns = pa.table({"x": points[:, 0], "y": points[:, 1]})
    named = columns.append_column("id", pa.array(np.arange(POINTS)))
    snap = snapped(hide)
    peer = FloatPlane(hide)
    draws = sampler(hide)
    uneven = sampler(on_box(town, rng, breaks=uneven_breaks()))
    linear = sampler(on_box(box((19, 19), step=1), rng, degree=1))
    line, cube = box(398, step=1), box((5, 5, 5), step=1)
    interval, space = sampler(on_box(line, rng)), sampler(on_box(cube, rng))
    keyed: dict[str, Any] = {"key": bytes(32), "row_id": "id", "secret_never_changes": True}
    cases = {
        "floats in NumPy, arrays": lambda: peer.draw(points),
        "release, Arrow to Arrow": lambda: hide.release(columns, XY),
        "release, Arrow to Arrow, keyed": lambda: hide.release(named, XY, **keyed),
        "release, snapped to cells": lambda: snap.release(columns, XY),
        "arrays": lambda: draws.draw(points),
        "arrays, uneven lattice": lambda: uneven.draw(points),
        "arrays, degree 1": lambda: linear.draw(points),
        "arrays, an interval": lambda: interval.draw(points[:, 0]),
        "arrays, three dimensions": lambda: space.draw(np.column_stack([points, points[:, 0]])),
    }
    least = least_seconds(cases, REPEATS)
    for name, seconds in least.items():
        table.add(name, POINTS / seconds / 1e6, least["floats in NumPy, arrays"] / seconds)
    table.finish()


def on_box(where: Box, rng: np.random.Generator, **options: Any) -> BoxMechanism:
    """A mechanism with random weights, not proved: only its draws are measured."""
    rounding = rounding_of(where, **options)
    weights = rng.integers(0, TOTAL // OUTPUTS, (len(rounding), OUTPUTS))
    weights[:, 0] += TOTAL - weights.sum(axis=1)
    outputs = tuple(tuple(Fraction(k + a) for a in range(where.dimension)) for k in range(OUTPUTS))
    labels = outputs if where.dimension > 1 else tuple(y[0] for y in outputs)
    proof = Proof("nobody", 0, 0, 0, "0" * 64)
    return BoxMechanism(sf.PrivacyType(where, epsilon=1), Fraction(1), rounding, 0, labels, weights, TOTAL, proof)


def uneven_breaks() -> list[list[Fraction]]:
    """Eighteen cells, finer in the middle."""
    widths = [Fraction(1, 4) if 4 <= k < 14 else Fraction(13, 16) for k in range(18)]
    return [[sum(widths[:k], Fraction(0)) for k in range(19)]] * 2


def snapped(hide: BoxMechanism) -> Mechanism:
    """The table as a mechanism on the cells of a grid, one for each lattice point."""
    grid = sf.grid(20, 20, step="1/2", unit="km")
    proof = Proof("nobody", 0, 0, 0, "0" * 64)
    return Mechanism(sf.PrivacyType(grid, epsilon=1), grid.labels, hide.weights, TOTAL, proof)


class FloatPlane:
    """The peer: rounding and alias tables in doubles, all points at once in NumPy."""

    def __init__(self, hide: BoxMechanism) -> None:
        self.alias = FloatAlias(hide.weights / TOTAL)
        self.rng = np.random.default_rng()

    def draw(self, points: np.ndarray) -> np.ndarray:
        """One output for each point, in chunks that fit the cache; uniform noise of one cell, then linear rounding."""
        result = np.empty(len(points), dtype=np.int64)
        for first in range(0, len(points), 1 << 16):
            part = np.clip(points[first : first + (1 << 16)], 0, 9) * 2
            part += self.rng.random(part.shape) + self.rng.random(part.shape)
            row = np.minimum(part.astype(np.int64), 19)
            result[first : first + (1 << 16)] = self.alias.draw(row[:, 0] * 20 + row[:, 1])
        return result


if __name__ == "__main__":
    main()
