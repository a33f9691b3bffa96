"""What the receiver recovers of a city from released rows: unbiased estimate, likeliest density, Bayesian updates.

    python benchmarks/bench_estimation.py --side 50 --epsilons 1 2 4 8
    python benchmarks/bench_estimation.py --only-survey --rows 10000000 --answers 100

The secrets are the cells of a square grid, the mechanism is the tight-constraints mechanism for Manhattan distances,
proved, and every row is drawn by the exact sampler. Beside the true density (the frequencies among the rows themselves)
stand what the outputs look like if nothing is done, the unbiased estimate and the prior nearest to it, the maximum of
the likelihood, and the iterative Bayesian update stopped when it fits as well as the truth would. Distances between
densities are total variation and the earth mover's distance in km along the streets (a minimal-cost flow on the grid;
for the unbiased estimate, which has negative weights, it is taken of the prior nearest to it).

Before it, a survey: so many released answers to a question (``--rows``, ``--answers``), from the file to shares with
standard errors and intervals, in seconds by the clock on all cores. Beside it stands what pandas needs to read the
column and count it, without any estimate. Parquet and CSV files are written first, with an id beside the answer, a
weight and a region; the mechanism is the geometric one.

``--pickups`` names a JSON list of rows [longitude, latitude, number]; by default it is looked for in ``shared/data``
beside the repository. Without such a file a synthetic city is used, and the table says so. Seconds are those of the
processor for one call, all cores together, when compiled code is loaded.
"""

from __future__ import annotations

import json
from argparse import ArgumentParser
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from time import process_time
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.sparse import coo_array

import sfumato as sf
from sfumato.release.estimation.estimates import frequencies, nearest_prior
from sfumato.release.estimation.files import released_counts
from sfumato.release.estimation.likelihood import iterative_bayesian_update, maximum_likelihood
from sfumato.release.sampler import sampler
from timing import Table, measure_side_by_side

PICKUPS = Path(__file__).resolve().parents[2] / "shared" / "data" / "nyc-pickups.json"
SOUTH_WEST, SIZE_KM = (-74.03, 40.70), 10  # Manhattan up to Central Park, Brooklyn and Queens across the river
KM_PER_DEGREE = (84.3, 111.2)  # of longitude and latitude there

Floats = NDArray[np.float64]


def main() -> None:
    """Measure and report."""
    given = arguments()
    survey(given.rows, given.answers)
    if given.only_survey:
        return
    people, source = city(Path(given.pickups), given.side)
    rows = int(people.sum())
    table = Table(
        "estimation",
        f"{source}: {rows:,} rows on {given.side} × {given.side} cells of {SIZE_KM / given.side:g} km",
        ("ε per km", "estimate", "total variation", "earth mover, km", "gap", "steps", "seconds"),
    )
    space = sf.grid(given.side, given.side, metric="manhattan", step=Fraction(SIZE_KM, given.side), unit="km")
    truth = people / rows
    warm_up()
    for epsilon in given.epsilons:
        mechanism = sf.tight_constraints(sf.PrivacyType(space, epsilon=epsilon))
        drawn = sampler(mechanism).draw(np.repeat(np.arange(len(people)), people))
        counts = np.bincount(drawn, minlength=len(mechanism.outputs))
        channel = mechanism.channel.to_floats()
        for name, estimate in estimates(channel, counts).items():
            started = process_time()
            weights, gap, steps = estimate()
            spent = process_time() - started
            moved = earth_moved(nearest_prior(space, weights).float_weights, truth, given.side)
            table.add(epsilon, name, float(np.abs(weights - truth).sum() / 2), moved, gap, steps, spent)
    table.finish()


def arguments() -> Any:
    """What the command line says."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--side", type=int, default=50, help="cells along a side of the grid")
    parser.add_argument("--epsilons", nargs="+", default=["1", "2", "4", "8"], help="ε per km")
    parser.add_argument("--rows", type=int, default=10_000_000, help="released answers of the survey")
    parser.add_argument("--answers", type=int, default=100, help="answers that its question has")
    parser.add_argument("--only-survey", action="store_true", help="no city")
    parser.add_argument("--pickups", default=str(PICKUPS), help="a JSON list of rows [longitude, latitude, number]")
    return parser.parse_args()


def survey(rows: int, answers: int) -> None:
    """Shares from files of released answers, beside counting alone."""
    labels = [f"answer {k:03d}" for k in range(answers)]
    mechanism = sf.geometric(sf.PrivacyType(sf.line(labels), alpha="1/2"))
    rng = np.random.default_rng(13)
    outputs = pa.DictionaryArray.from_arrays(rng.integers(0, answers, rows).astype(np.int32), labels)
    regions = pa.DictionaryArray.from_arrays(
        rng.integers(0, 10, rows).astype(np.int32), [f"region {k}" for k in range(10)]
    )
    written = pa.table(
        {"id": np.arange(rows), "answer": outputs.cast(pa.string()), "region": regions.cast(pa.string()),
         "weight": rng.integers(1, 9, rows) / 4}
    )  # fmt: skip
    table = Table(
        "estimation_rows",
        f"Shares of {answers} answers from {rows:,} released rows",
        ("what", "seconds", "pandas counts, s", "ratio"),
        case=("what",),
        time="seconds",
    )
    with TemporaryDirectory() as folder:
        parquet, text = Path(folder) / "released.parquet", Path(folder) / "released.csv"
        pq.write_table(written, parquet)
        pacsv.write_csv(written.select(["id", "answer"]), text)
        channel = mechanism.channel.to_floats()

        def shares(file: Path, **how: Any) -> None:
            counted = released_counts(file, "answer", [labels], **how)
            for part in counted.parts.values():
                frequencies(channel, part).intervals()

        cases: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
            "Parquet": (lambda: shares(parquet),
                        lambda: pd.read_parquet(parquet, columns=["answer"])["answer"].value_counts()),
            "Parquet, weights and 10 regions": (
                lambda: shares(parquet, by="region", weights="weight"),
                lambda: pd.read_parquet(parquet, columns=["answer", "weight", "region"])
                .groupby(["region", "answer"])["weight"].sum()),
            "CSV": (lambda: shares(text), lambda: pd.read_csv(text, usecols=["answer"])["answer"].value_counts()),
        }  # fmt: skip
        for name, (ours, theirs) in cases.items():
            spent = measure_side_by_side({"ours": ours, "theirs": theirs}, 3)
            seconds, counting = spent["ours"].median, spent["theirs"].median
            table.add(name, seconds, counting, counting / seconds)
    table.finish()


def city(file: Path, side: int) -> tuple[NDArray[np.int64], str]:
    """People in each cell, and where they come from."""
    if not file.exists():
        print(f"There is no file {file}: a synthetic city is used instead.", flush=True)
        return synthetic(side), "a synthetic city"
    longitude, latitude, number = np.array(json.loads(file.read_text())).T
    east = (longitude - SOUTH_WEST[0]) * KM_PER_DEGREE[0] / SIZE_KM * side
    north = (latitude - SOUTH_WEST[1]) * KM_PER_DEGREE[1] / SIZE_KM * side
    inside = (east >= 0) & (east < side) & (north >= 0) & (north < side)
    people = np.zeros((side, side), dtype=np.int64)
    np.add.at(people, (north[inside].astype(int), east[inside].astype(int)), number[inside].astype(int))
    return people.ravel(), f"{file.name}, pickups in New York"


def synthetic(side: int, rows: int = 200_000) -> NDArray[np.int64]:
    """Five hills of people and a river that nobody lives in."""
    rng = np.random.default_rng(11)
    y, x = np.mgrid[0:side, 0:side] / side
    height = sum(a * np.exp(-((x - u) ** 2 + (y - v) ** 2) / s) for a, u, v, s in HILLS)
    height = np.where(np.abs(x - 0.55 - 0.1 * np.sin(6 * y)) < 0.04, 0.0, height)
    return rng.multinomial(rows, (height / height.sum()).ravel())


HILLS = (
    (1.0, 0.3, 0.4, 0.01),
    (0.7, 0.25, 0.7, 0.02),
    (0.5, 0.8, 0.3, 0.03),
    (0.9, 0.7, 0.75, 0.004),
    (0.1, 0.5, 0.5, 0.5),
)


def estimates(channel: sf.Channel, counts: NDArray[np.int64]) -> dict[str, Callable[[], tuple[Floats, Any, Any]]]:
    """Each way of estimating, as a function that has not run yet."""

    def likelihood(found: Any) -> tuple[Floats, float, int]:
        return found.prior.float_weights, found.gap, found.steps

    return {
        "outputs as they are": lambda: (counts / counts.sum(), "—", "—"),
        "unbiased (inverse)": lambda: (frequencies(channel, counts).weights, "—", "—"),
        "prior nearest to it": lambda: (frequencies(channel, counts).nearest_prior().float_weights, "—", "—"),
        "maximum likelihood": lambda: likelihood(maximum_likelihood(channel, counts)),
        "Bayesian updates, stopped": lambda: likelihood(iterative_bayesian_update(channel, counts)),
    }


def earth_moved(first: Floats, second: Floats, side: int) -> float:
    """The least work in km along the streets that makes one density of the other."""
    cell = np.arange(side * side).reshape(side, side)
    ends = [(cell[:, :-1], cell[:, 1:]), (cell[:-1], cell[1:])]
    start = np.concatenate([a.ravel() for a, _ in ends] + [b.ravel() for _, b in ends])
    stop = np.concatenate([b.ravel() for _, b in ends] + [a.ravel() for a, _ in ends])
    streets = np.arange(len(start))
    balance = coo_array(
        (np.repeat([1.0, -1.0], len(start)), (np.concatenate([start, stop]), np.concatenate([streets, streets])))
    )
    found = linprog(np.ones(len(start)), A_eq=balance.tocsr(), b_eq=first - second, method="highs-ds")
    return float(found.fun) * SIZE_KM / side


def warm_up() -> None:
    """Load compiled code."""
    small = sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2")).channel
    for estimate in estimates(small, np.array([3, 4, 5])).values():
        estimate()


if __name__ == "__main__":
    main()
