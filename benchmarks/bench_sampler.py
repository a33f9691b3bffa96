"""Draws a second: exact alias tables beside float ones in numpy, and exact noise on integers beside OpenDP's geometric.

On one core, so that rows a second are rows a second and core:

    python benchmarks/bench_sampler.py --one-core

All in one run and in turns, the least CPU time of several calls. Secrets are random, and random bits are drawn within
what is timed (ChaCha20 keyed by the system for sfumato, PCG64 for numpy, which protects nobody). Tables hold random
integer weights with the total 2^52, as designs have them; whether they are private makes no difference to a draw. The
float tables are plain numpy: a bucket, a uniform number, one comparison; their chances are rounded, and so are draws.
OpenDP gets a list and gives one, its own way.
Takes 2 GB and a minute or two, most of it for the float tables of 5,000 × 5,000.
"""

from __future__ import annotations

import os
from argparse import ArgumentParser
from collections.abc import Callable, Mapping
from time import process_time
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.draws.alias import alias_tables
from sfumato.draws.plans import TablePlan
from sfumato.draws.randomness import system_bits
from sfumato.mechanisms.continuous import truncated_laplace
from sfumato.mechanisms.lattice import Lattice
from sfumato.mechanisms.tight import lattice_tight_constraints
from sfumato.release.sampler import Sampler, integer_noise, sampler
from timing import Table

SIZES = (100, 400, 5_000)
ROWS = 4_000_000
OPENDP_ROWS = 100_000
TOTAL = 1 << 52
REPEATS = 7


def main() -> None:
    """Measure and report."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--one-core", action="store_true", help="run on the last core alone")
    if parser.parse_args().one_core and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    tables()
    noise()
    never_a_table()


def tables() -> None:
    """Tables of weights."""
    table = Table(
        "sampler", "Draws from n × n tables, one core", ("n", "what", "million rows/s", "÷ float tables", "s to build")
    )
    rng = np.random.default_rng(1)
    for n in SIZES:
        weights = rng.integers(0, TOTAL // n, (n, n))
        weights[:, 0] += TOTAL - weights.sum(axis=1)
        rows = rng.integers(0, n, ROWS)
        ids = rng.integers(0, 256, (ROWS, 16), dtype=np.uint8)
        exact_tables(weights[:2], 2)  # compiles
        exact, built = timed(lambda w=weights, n=n: exact_tables(w, n))
        peer, peer_built = timed(lambda w=weights: FloatAlias(w / TOTAL))
        _ = exact.digest  # of the weights, once a sampler
        least = least_seconds(
            {
                "numpy, float tables": lambda p=peer, r=rows: p.draw(r),
                "sfumato, exact": lambda e=exact, r=rows: e.draw(r),
                "sfumato, exact, keyed": lambda e=exact, r=rows, i=ids: e.draw_keyed(
                    r, i, bytes(32), secret_never_changes=True
                ),
            },
            REPEATS,
        )
        base = least["numpy, float tables"]
        for name, timing in least.items():
            seconds = peer_built if name.startswith("numpy") else built
            table.add(n, name, ROWS / timing / 1e6, base / timing, seconds)
    source = system_bits()
    words = least_seconds({"words": lambda: [source.words(1 << 16) for _ in range(64)]}, REPEATS)["words"]
    table.add("—", "system's random words alone", (1 << 22) / words / 1e6, "—", "—")
    table.finish()


def exact_tables(weights: np.ndarray, n: int) -> Sampler:
    """A sampler of a table of weights."""
    return Sampler(range(n), range(n), TablePlan(alias_tables(weights, TOTAL)), f"{n} × {n}")


def timed(work: Any) -> tuple[Any, float]:
    """What it makes, and the seconds it takes."""
    start = process_time()
    return work(), process_time() - start


def least_seconds(functions: Mapping[str, Callable[[], Any]], repeats: int) -> dict[str, float]:
    """The least CPU time of several calls, in turns, after one that warms up; what else the core does is left out."""
    least = dict.fromkeys(functions, float("inf"))
    for turn in range(repeats + 1):
        for name, function in functions.items():
            start = process_time()
            function()
            least[name] = min(least[name], process_time() - start) if turn else least[name]
    return least


class FloatAlias:
    """The peer: alias tables in doubles, all rows at once in numpy."""

    def __init__(self, matrix: np.ndarray) -> None:
        n, m = matrix.shape
        self.chance = np.ones((n, m))
        self.alias = np.tile(np.arange(m), (n, 1))
        for row in range(n):
            left = (matrix[row] * m).tolist()
            small = [k for k in range(m) if left[k] < 1]
            large = [k for k in range(m) if left[k] >= 1]
            while small and large:
                little, much = small.pop(), large[-1]
                self.chance[row, little], self.alias[row, little] = left[little], much
                left[much] -= 1 - left[little]
                if left[much] < 1:
                    small.append(large.pop())
        self.rng = np.random.default_rng()

    def draw(self, rows: np.ndarray) -> np.ndarray:
        """One output for each row, in chunks that fit the cache."""
        result = np.empty(len(rows), dtype=np.int64)
        m = self.chance.shape[1]
        chance, alias = self.chance.ravel(), self.alias.ravel()
        for first in range(0, len(rows), 1 << 16):
            part = rows[first : first + (1 << 16)]
            bucket = self.rng.integers(0, m, len(part))
            place = part * m + bucket
            result[first : first + (1 << 16)] = np.where(
                self.rng.random(len(part)) < chance[place], bucket, alias[place]
            )
        return result


def noise() -> None:
    """Two-sided geometric noise on integers, e^-ε a step."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    table = Table("sampler_noise", "Geometric noise on integers, one core", ("ε", "what", "million rows/s", "÷ OpenDP"))
    values = np.arange(ROWS) % 1000
    few = values[:OPENDP_ROWS].tolist()
    for epsilon in (1.0, 0.1, 0.001):
        ours = integer_noise(epsilon)
        domain = dp.vector_domain(dp.atom_domain(T=int))
        theirs = dp.m.make_geometric(domain, dp.l1_distance(T=int), scale=1 / epsilon)
        least = least_seconds(
            {"OpenDP make_geometric": lambda t=theirs: t(few), "sfumato integer_noise": lambda o=ours: o.draw(values)},
            5,
        )
        rates = {"OpenDP make_geometric": OPENDP_ROWS, "sfumato integer_noise": ROWS}
        base = rates["OpenDP make_geometric"] / least["OpenDP make_geometric"]
        for name, count in rates.items():
            rate = count / least[name]
            table.add(epsilon, name, rate / 1e6, rate / base)
    table.finish()


def never_a_table() -> None:
    """A million cells, and pixels; one row at a time beside it."""
    table = Table(
        "sampler_implicit", "Mechanisms that are never a table, one core", ("what", "million rows/s", "s to build")
    )
    rng = np.random.default_rng(2)
    for metric, epsilon in (("euclidean", "0.8"), ("euclidean", "2"), ("manhattan", "0.1")):
        mechanism = lattice_tight_constraints(Lattice((1000, 1000), metric), epsilon=epsilon)
        draws, built = timed(lambda m=mechanism: sampler(m))
        rows = rng.integers(0, 10**6, ROWS // 4)
        least = least_seconds({"draw": lambda m=draws, r=rows: m.draw(r)}, 5)["draw"]
        table.add(f"1000 × 1000 {metric}, ε = {epsilon}", len(rows) / least / 1e6, built)
        secrets = [tuple(int(i) for i in divmod(int(r), 1000)) for r in rows[:20]]
        slow = least_seconds({"one": lambda m=mechanism, s=secrets: [m.sample(x) for x in s]}, 3)["one"]
        table.add("  the same by LatticeMechanism.sample", len(secrets) / slow / 1e6, "—")
    pixels, built = timed(lambda: sampler(truncated_laplace(3), pixels=1000, steps=1000))
    rows = rng.integers(0, 1001, ROWS)
    least = least_seconds({"draw": lambda: pixels.draw(rows)}, 5)["draw"]
    table.add("truncated Laplace, 1001 secrets, 1000 pixels", ROWS / least / 1e6, built)
    word = sf.random_response(sf.PrivacyType(sf.discrete(26), epsilon=2))
    words, built = timed(lambda: sampler(sf.mechanisms.product_mechanism(*[word] * 8)))
    rows = rng.integers(0, 26, (ROWS // 8, 8))
    least = least_seconds({"draw": lambda: words.draw(rows)}, 5)["draw"]
    table.add("product of eight 26 × 26 tables", len(rows) / least / 1e6, built)
    table.finish()


if __name__ == "__main__":
    main()
