"""Which solver is the quickest, from question to proof: what ``auto`` chooses by is measured here.

    python benchmarks/bench_choice.py                      # the cases for a processor
    python benchmarks/bench_choice.py --gpu                # those for a GPU
    python benchmarks/bench_choice.py --only "towns 400"   # some

A case has a size, a promise, a prior and outputs; every solver that accepts it is asked for a design within a gap of
1e-3, and all of it counts: laying out, solving, repair and proof. The solver that ``auto`` chooses comes first; the
others may take twice the time of the best so far and two seconds more, after which they are "slower". Compiled
functions are loaded by a small design before, and designs below five seconds are measured three times, of which the
middle one counts: the first may have to compile.
"""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from re import search
from statistics import median
from time import perf_counter

import numpy as np

import sfumato as sf
from bench_design import euclidean, lumpy, roads, uniform
from sfumato.design.choice import choose
from sfumato.design.problem import problem
from sfumato.design.solvers import SOLVERS, gpu_is_there
from timing import Table

GAP = 1e-3
QUICK, TURNS = 5.0, 3  # designs that take fewer seconds are measured so often
SLOWER, MORE = 2.0, 2.0  # others may take so many times the best so far, and so many seconds more
LONGEST = 100.0  # no design may take more seconds

Setting = tuple[sf.Prior, sf.Loss, sf.PrivacyType, list[object] | None]


@dataclass(frozen=True)
class Case:
    """A problem and, in words, what it is a case of."""

    secrets: int
    promise: str
    prior: str
    outputs: str
    build: Callable[[], Setting]


def grid(side: int, prior: str, alpha: str = "1/2", metric: str = "euclidean", outputs: int = 0) -> Case:
    """A square grid of unit spacing; the loss is the Euclidean distance."""

    def build() -> Setting:
        space = sf.grid(side, side, metric=metric)
        weights = uniform(space) if prior == "uniform" else lumpy(space, side)
        few = spread(np.asarray(space.coordinates), outputs)
        return weights, euclidean(space), sf.PrivacyType(space, alpha=alpha), [space.labels[k] for k in few] or None

    return Case(side**2, f"{metric}, α = {alpha} a step", prior, str(outputs or "all"), build)


def towns(number: int, epsilon: float, outputs: int = 0) -> Case:
    """Places at random in a unit square, with weights that differ by a factor of a thousand."""

    def build() -> Setting:
        draws = np.random.default_rng(number)
        places = draws.random((number, 2))
        space = sf.points(places.tolist())
        weights = 10 ** draws.uniform(-3, 0, number)
        few = spread(places, outputs)
        privacy = sf.PrivacyType(space, epsilon=epsilon)
        prior = sf.Prior(space, weights / weights.sum())
        return prior, sf.losses.distance(space), privacy, [space.labels[k] for k in few] or None

    return Case(number, f"all pairs, ε = {epsilon:g} a side", "uneven", str(outputs or "all"), build)


def crossings(number: int, epsilon: float) -> Case:
    """Roads at random in a unit square."""

    def build() -> Setting:
        space = roads(number)
        return uniform(space), sf.losses.distance(space), sf.PrivacyType(space, epsilon=epsilon), None

    return Case(number, f"roads, ε = {epsilon:g} a side", "uniform", "all", build)


def spread(places: np.ndarray, number: int) -> list[int]:
    """Some of the places, each as far as possible from those before it."""
    if not number:
        return []
    chosen = [0]
    while len(chosen) < number:
        apart = np.linalg.norm(places[:, None] - places[chosen][None], axis=2).min(axis=1)
        chosen.append(int(apart.argmax()))
    return chosen


CASES = {
    "grid 6": grid(6, "uniform"),
    "grid 10": grid(10, "uniform"),
    "grid 10, bumps": grid(10, "bumps"),
    "grid 10, bumps, strict": grid(10, "bumps", alpha="9/10"),
    "grid 14": grid(14, "uniform"),
    "grid 14, bumps": grid(14, "bumps"),
    "grid 14, bumps, lax": grid(14, "bumps", alpha="1/8"),
    "Manhattan 16, bumps": grid(16, "bumps", metric="manhattan"),
    "Manhattan 24": grid(24, "uniform", metric="manhattan"),
    "Manhattan 24, 20 outputs": grid(24, "bumps", metric="manhattan", outputs=20),
    "towns 60, strict": towns(60, 3),
    "towns 200, strict": towns(200, 6),
    "towns 200": towns(200, 20),
    "towns 200, lax": towns(200, 60),
    "towns 400": towns(400, 30),
    "towns 400, lax": towns(400, 100),
    "towns 400, 20 outputs": towns(400, 10, outputs=20),
    "crossings 200": crossings(200, 10),
}
"""Cases for a processor, by name."""

GPU_CASES = {
    "grid 10, bumps": grid(10, "bumps"),
    "grid 20": grid(20, "uniform"),
    "grid 20, bumps": grid(20, "bumps"),
    "grid 28, bumps": grid(28, "bumps"),
    "grid 40": grid(40, "uniform"),
    "Manhattan 24": grid(24, "uniform", metric="manhattan"),
    "Manhattan 50, bumps": grid(50, "bumps", metric="manhattan"),
    "Manhattan 50, 20 outputs": grid(50, "bumps", metric="manhattan", outputs=20),
    "towns 400, lax": towns(400, 100),
    "towns 400, strict": towns(400, 10),
    "towns 1000, lax": towns(1000, 100),
    "towns 1000, 20 outputs": towns(1000, 20, outputs=20),
}
"""Cases for a GPU, by name."""


def main() -> None:
    """Measure and report."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--gpu", action="store_true", help="the cases for a GPU")
    parser.add_argument("--only", default="", help="a pattern for the names of cases")
    parser.add_argument("--seconds", type=float, default=inf, help="after which no further case is begun")
    given = parser.parse_args()
    if given.gpu and not gpu_is_there():
        parser.error("there is no GPU")
    began = perf_counter()
    for name in SOLVERS:
        seconds_of(grid(4, "bumps"), name, LONGEST)
        seconds_of(towns(30, 20), name, LONGEST)
    table = Table(
        "choice", f"Seconds from question to proof within {GAP:g}, by solver",
        ("case", "secrets", "promise", "prior", "outputs", "chosen", *SOLVERS), ("case",),
    )  # fmt: skip
    for name, case in (GPU_CASES if given.gpu else CASES).items():
        if search(given.only, name) and perf_counter() - began < given.seconds:
            prior, loss, privacy, outputs = case.build()
            chosen = choose(problem(prior, loss, privacy, outputs)).name
            times = measured(case, chosen)
            table.add(name, case.secrets, case.promise, case.prior, case.outputs, chosen,
                      *(times.get(solver, "does not accept") for solver in SOLVERS))  # fmt: skip
    table.finish()


def measured(case: Case, chosen: str) -> dict[str, float | str]:
    """Seconds of every solver that accepts a case, the chosen one first."""
    prior, loss, privacy, outputs = case.build()
    accepting = [name for name, solver in SOLVERS.items() if solver.accepts(problem(prior, loss, privacy, outputs))]
    times: dict[str, float | str] = {}
    best = LONGEST
    for name in sorted(accepting, key=lambda one: one != chosen):
        limit = min(LONGEST, SLOWER * best + MORE)
        seconds = seconds_of(case, name, limit)
        if seconds < QUICK:
            seconds = median([seconds, *(seconds_of(case, name, limit) for _ in range(TURNS - 1))])
        best = min(best, seconds)
        times[name] = seconds if seconds < inf else "slower"
        print(f"  {name}: {times[name]}", flush=True)
    return times


def seconds_of(case: Case, solver: str, limit: float) -> float:
    """How long a solver takes for a design within the gap; infinite if it does not find one within the limit."""
    prior, loss, privacy, outputs = case.build()
    began = perf_counter()
    try:
        design = sf.design(prior, loss, privacy, outputs=outputs, solver=solver, tolerance=GAP, time_limit=limit)
    except (sf.errors.SfumatoError, MemoryError):
        return inf
    seconds = perf_counter() - began
    return seconds if design.gap <= GAP else inf


if __name__ == "__main__":
    main()
