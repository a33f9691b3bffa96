"""No design loses more than what is known for the same promise, in a second or in no time at all, on any kind of space.

What is known is worked out here in floats: telling nothing; the exponential mechanism, by half of ε and as strong as
the promise allows; noise that is the same everywhere, told as the nearest secret. Each output is then relabelled as the
action that loses least given it.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pytest
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from shapely.geometry import box as rectangle

import sfumato as sf
from sfumato.design.boxes.optimal import TOLERANCE
from sfumato.spaces import SPACES

Floats = NDArray[np.float64]

# Noise is summed up over cells of 0.3/ε in a design and over a finer lattice here: sums differ by so much.
SUMS = 5e-3
KILOMETRES = np.pi / 180 * 6371.0088  # of a degree of latitude
RNG = np.random.default_rng(3)
PLACES = RNG.uniform(0, 5, (45, 2)).round(3)
DEGREES = np.array([[48.0, 11.0]]) + PLACES / 100


class Family(NamedTuple):
    """A space; where it lies in a plane or a line, in its unit; and the norm of its noise there."""

    space: Any
    where: Floats | None = None
    norm: Any = "euclidean"


def lattice(*shape: int) -> Floats:
    return np.stack(np.meshgrid(*map(np.arange, shape), indexing="ij"), axis=-1).reshape(-1, len(shape)).astype(float)


def on_a_plane(space: Any) -> Floats:
    """Places on the Earth in km, on a map that is true along the middle parallel."""
    longitude, latitude = space.coordinates.T
    return np.stack([longitude * np.cos(np.radians(latitude.mean())), latitude], axis=1) * KILOMETRES


def streets(side: int = 8) -> Any:
    """A grid of streets that are a little longer than straight lines, some of them closed."""
    rng = np.random.default_rng(4)
    at = {f"{i}.{j}": (48 + 0.003 * i, 11 + 0.004 * j) for i in range(side) for j in range(side)}
    rows = []
    for name in at:
        i, j = map(int, name.split("."))
        for other in (f"{i + 1}.{j}", f"{i}.{j + 1}"):
            if other in at and rng.random() > 0.1:
                rows.append((name, other, round(float(rng.uniform(0.35, 0.5)), 3)))
    return sf.spaces.roads(rows, at, parts="largest", unit="km")


def _families() -> dict[str, Family]:
    table = RNG.uniform(1, 2, (30, 30))
    table = np.triu(table, 1) + np.triu(table, 1).T
    blocks = [rectangle(11 + 0.01 * i, 48 + 0.007 * j, 11.01 + 0.01 * i, 48.007 + 0.007 * j) for i, j in lattice(6, 7)]
    uneven = np.sort(PLACES[:, :1] * 3, axis=0)
    on_earth = {
        "geo": sf.geo(DEGREES.tolist()),
        "h3_cells": sf.spaces.h3_cells((48.83, 2.30, 48.87, 2.36), 8),
        "areas": sf.spaces.areas(blocks),
        "square_cells": sf.spaces.square_cells(48, 2, sides=(6, 5), step=1),
        "roads": streets(),
    }
    return {
        "line": Family(sf.line(40), lattice(40)),
        "uneven line": Family(sf.points(uneven.tolist()), uneven),
        "grid": Family(sf.grid(7, 6), lattice(7, 6)),
        "grid, manhattan": Family(sf.grid(7, 6, metric="manhattan"), lattice(7, 6), "cityblock"),
        "grid, chebyshev": Family(sf.grid(7, 6, metric="chebyshev"), lattice(7, 6), "chebyshev"),
        "points": Family(sf.points(PLACES.tolist()), PLACES),
        "elastic": Family(sf.elastic(sf.grid(6, 6), RNG.uniform(0.5, 2, 36).round(2).tolist())),
        "a table": Family(sf.FiniteSpace(list(range(30)), table)),
        "discrete": Family(sf.discrete(25)),
        "cycle": Family(sf.cycle(30)),
        "hamming": Family(sf.hamming(5)),
        "graph": Family(sf.graph([(k, (k + 7) % 31, 1 + k % 3) for k in range(31)] + [(k, k + 1) for k in range(30)])),
        **{name: Family(space, on_a_plane(space)) for name, space in on_earth.items()},
    }


FAMILIES = _families()
ABSTRACT = {"star", "complete_bipartite", "count_query", "sum_query", "k_count_query", "query", "induced"}
"""Spaces that are graphs or lines as far as a design knows."""


def relabelled(chances: Floats, cost: Floats) -> float:
    """Σ_y min_w Σ_x chances_xy cost_xw."""
    return float((chances.T @ cost).min(axis=1).sum())


def strongest(distances: Floats, epsilon: float) -> Floats:
    """e^{−s·d} with rows divided by their sums, s as large as ε allows, for all rows and outputs."""
    low, high = epsilon / 2, 2 * epsilon
    for _ in range(20):
        scale = (low + high) / 2
        logs = -scale * distances - np.log(np.exp(-scale * distances).sum(axis=1, keepdims=True))
        worst = (logs[:, None] - logs[None]).max(axis=2)
        low, high = (scale, high) if (worst <= epsilon * distances + 1e-9).all() else (low, scale)
    chances = np.exp(-low * distances)
    return np.asarray(chances / chances.sum(axis=1, keepdims=True))


def nearest_after_noise(family: Family, epsilon: float) -> Floats:
    """Noise e^{−ε′‖z‖} on a lattice, told as the nearest secret, where ε′ makes up for what a map stretches."""
    where, distances = family.where, family.space.distances.floats
    assert where is not None
    apart = cdist(where, where, family.norm)
    rate = epsilon * float((distances[apart > 0] / apart[apart > 0]).min())
    step, reach = 0.15 / rate, 8 / rate
    along = [np.arange(a - reach, b + reach, step) for a, b in zip(where.min(axis=0), where.max(axis=0), strict=True)]
    points = np.stack(np.meshgrid(*along, indexing="ij"), axis=-1).reshape(-1, where.shape[1])
    noise = np.exp(-rate * cdist(where, points, family.norm))
    told = np.zeros(distances.shape)
    np.add.at(told.T, cdist(points, where, family.norm).argmin(axis=1), noise.T)
    return np.asarray(told / told.sum(axis=1, keepdims=True))


def known(family: Family, weights: Floats, table: Floats, epsilon: float) -> dict[str, float]:
    """What known mechanisms lose with outputs relabelled; ``table`` has one row an action."""
    cost, distances = weights[:, None] * table.T, family.space.distances.floats
    half = np.exp(-epsilon / 2 * distances)
    found = {
        "nothing told": float(cost.sum(axis=0).min()),
        "exponential": relabelled(half / half.sum(axis=1, keepdims=True), cost),
        "strongest exponential": relabelled(strongest(distances, epsilon), cost),
    }
    if family.where is not None:
        found["noise"] = relabelled(nearest_after_noise(family, epsilon), cost)
    return found


@cache
def asked(name: str, epsilon: float) -> tuple[Any, dict[str, float]]:
    """A question with uneven counts, and what is known of it."""
    family = FAMILIES[name]
    counts = (1 + 20 * np.random.default_rng(7).exponential(size=len(family.space)) ** 2).astype(int)
    prior, loss = sf.Prior.from_counts(counts.tolist(), family.space), sf.losses.distance(family.space)
    least = known(family, counts / counts.sum(), np.asarray(loss.matrix, dtype=float), epsilon)
    return (prior, loss, sf.PrivacyType(family.space, epsilon=epsilon)), least


def test_every_kind_of_space_is_here_or_is_like_one_that_is() -> None:
    assert SPACES.keys() - ABSTRACT <= FAMILIES.keys()


@pytest.mark.parametrize("limit", [0.0, 1.0])
@pytest.mark.parametrize("epsilon", [0.02, 0.6, 2.0])
@pytest.mark.parametrize("name", FAMILIES)
def test_no_design_loses_more_than_what_is_known(name: str, epsilon: float, limit: float) -> None:
    question, least = asked(name, epsilon)
    best = sf.design(*question, time_limit=limit, tolerance=1e-2)
    assert sf.verify(best.mechanism)
    for what, value in least.items():
        assert float(best.loss) <= value * (1 + SUMS), what


@pytest.mark.parametrize("tolerance", [0.05, 0.9])
@pytest.mark.parametrize("name", ["cycle", "grid", "points", "discrete"])
def test_neither_does_one_that_may_be_far_from_the_best(name: str, tolerance: float) -> None:
    question, least = asked(name, 0.6)
    best = sf.design(*question, tolerance=tolerance)
    assert float(best.loss) <= min(least.values()) * (1 + SUMS)


@pytest.mark.parametrize("limit", [0.0, 1.0])
def test_neither_does_one_with_few_outputs(limit: float) -> None:
    """Each of which is the best for few secrets: noise is not around these alone."""
    prior, loss, privacy = asked("points", 1.5)[0]
    outputs = [loss.actions[w] for w in range(0, len(loss.actions), 6)]
    table = np.asarray(loss.matrix, dtype=float)[::6]
    least = known(FAMILIES["points"], prior.float_weights, table, 1.5)
    best = sf.design(prior, loss, privacy, outputs=outputs, time_limit=limit, tolerance=1e-2)
    assert float(best.loss) <= min(least.values()) * (1 + SUMS)


def test_neither_does_what_hides_points_in_cells() -> None:
    points = pa.table({"lat": [48.85, 48.86], "lon": [2.32, 2.35]})
    hidden = sf.hide(points, "400 m", box=(48.83, 2.30, 48.87, 2.36), h3=8, time_limit=1, tolerance=0.9)
    space = hidden.mechanism.privacy.space
    weights, loss = np.full(len(space), 1 / len(space)), sf.losses.distance(space)
    least = known(Family(space, on_a_plane(space)), weights, np.asarray(loss.matrix, dtype=float), np.log(2) / 0.4)
    assert float(hidden.design.loss) <= min(least.values()) * (1 + SUMS)


# ----------------------------------------------------------------- boxes of coordinates

BOXES = [
    ((12,), "euclidean", 0.05, 0.03, False), ((12,), "euclidean", 0.5, 0.03, True),
    ((12,), "euclidean", 0.5, 0.03, False),
    ((12,), "euclidean", 2.0, 0.03, False), ((4, 4), "euclidean", 0.05, 0.03, True),
    ((4, 4), "euclidean", 0.7, 0.05, True), ((4, 3), "manhattan", 0.7, 0.05, True),
    ((4, 3), "manhattan", 0.7, 0.05, False), ((4, 3), "chebyshev", 0.7, 0.05, True),
    ((2, 2, 2), "euclidean", 0.4, 0.15, True),
]  # fmt: skip
"""Cells, norm, ε, tolerance and whether people are everywhere alike: the best of a box is known to a tolerance only."""


def known_on_box(shape: tuple[int, ...], norm: str, epsilon: float, weights: Floats) -> dict[str, float]:
    """Telling nothing, and noise told as the best of many points, for people in the middles of parts of cells."""
    k, metric = len(shape), {"manhattan": "cityblock"}.get(norm, norm)
    parts, fine, step = {1: (8, 200, 0.05), 2: (4, 32, 0.25), 3: (3, 9, 0.7)}[k]
    people = (lattice(*(side * parts for side in shape)) + 0.5) / parts
    share = weights.reshape(shape)[tuple(people.astype(int).T)] / parts**k
    told = lattice(*[fine + 1] * k) / fine * np.array(shape)
    cost = share[:, None] * cdist(people, told, metric)
    along = [np.arange(-8 / epsilon, side + 8 / epsilon, step / epsilon) for side in shape]
    points = np.stack(np.meshgrid(*along, indexing="ij"), axis=-1).reshape(-1, k)
    noise = np.exp(-epsilon * cdist(people, points, metric))
    noise /= noise.sum(axis=1, keepdims=True)
    return {"nothing told": float(cost.sum(axis=0).min()), "noise": relabelled(noise, cost)}


@cache
def asked_on_box(shape: tuple[int, ...], norm: Any, epsilon: float, even: bool) -> tuple[Any, dict[str, float]]:
    """A question about coordinates with even or uneven counts, and what is known of it."""
    space, rng = sf.box(shape, step=1, metric=norm), np.random.default_rng(5)
    counts = np.ones(shape, dtype=int) if even else (1 + 20 * rng.exponential(size=shape) ** 2).astype(int)
    prior, loss = sf.Prior.on_cells(counts.tolist(), space), sf.losses.distance(space)
    least = known_on_box(shape, norm, epsilon, counts / counts.sum())
    return (prior, loss, sf.PrivacyType(space, epsilon=epsilon)), least


@pytest.mark.parametrize(("shape", "norm", "epsilon", "tolerance", "even"), BOXES, ids=repr)
def test_no_box_is_told_worse_than_what_is_known_within_its_tolerance(
    shape: tuple[int, ...], norm: Any, epsilon: float, tolerance: float, even: bool
) -> None:
    question, least = asked_on_box(shape, norm, epsilon, even)
    best = sf.design(*question, tolerance=tolerance)
    assert best.gap <= tolerance
    assert float(best.loss) * (1 - tolerance) <= min(least.values()) * (1 + SUMS)


@pytest.mark.parametrize(("shape", "norm", "epsilon", "even"), [
    ((8, 6), "euclidean", 0.35, True), ((8, 6), "euclidean", 0.35, False), ((12,), "euclidean", 0.5, False),
])  # fmt: skip
def test_neither_is_one_for_who_is_content_with_little(
    shape: tuple[int, ...], norm: str, epsilon: float, even: bool
) -> None:
    """A gap of a third is allowed, and noise that loses less is taken all the same."""
    question, least = asked_on_box(shape, norm, epsilon, even)
    best = sf.design(*question, tolerance=0.33)
    assert float(best.loss) <= min(least.values()) * (1 + TOLERANCE)


HURRIED = [
    ((12,), "euclidean", 2.0, False, 0.01), ((6, 5), "euclidean", 2.0, False, 0.03),
    ((6, 5), "manhattan", 2.0, True, 0.04), ((6, 5), "chebyshev", 2.0, False, 0.07),
    ((4, 4), "euclidean", 0.05, False, 0.01), ((2, 2, 2), "euclidean", 0.4, False, 0.06),
    ((3, 3, 3), "euclidean", 2.0, False, 0.06), ((3, 3, 3), "euclidean", 4.0, False, 0.25),
]  # fmt: skip
"""And how much more is lost in little time: a table has a lattice, and a proved loss is summed over few points."""


LIMITED = [*((*one, 0.001) for one in HURRIED), *((*one, 1.0) for one in HURRIED[:2])]


@pytest.mark.parametrize(("shape", "norm", "epsilon", "even", "more", "limit"), LIMITED, ids=repr)
def test_neither_is_a_box_in_little_time(
    shape: tuple[int, ...], norm: Any, epsilon: float, even: bool, more: float, limit: float
) -> None:
    question, least = asked_on_box(shape, norm, epsilon, even)
    best = sf.design(*question, time_limit=limit)
    assert sf.verify(best.mechanism)
    # who is through in time has met the tolerance, which noise may lie within
    within = more if best.stopped else max(more, TOLERANCE)
    assert float(best.loss) <= min(least.values()) * (1 + within)
