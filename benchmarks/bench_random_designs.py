"""Designs of small random problems beside the optimum in rationals: spaces, priors, losses and ε of every kind.

    python benchmarks/bench_random_designs.py --number 10000

For each problem, under a promise with rational factors, and for every third also under one with an ε, whose optimum
lies between those of two rational promises next to it: does the bound lie below the optimum and the loss above, is the
gap as small as asked for, does the kernel accept the mechanism with both, is the remap the one that has this loss? The
problems are those of ``tests/random_designs.py``, so any one can be looked at again by its number. HiGHS and column
generation are asked for every tenth. Where the loss is some 1e-9 of what is at stake, floats cannot tell it from
nothing: such designs are counted under "near 0", and their gap is no failure.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Iterable
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from time import process_time
from typing import Any

from timing import Table

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from random_designs import KINDS, Checked, checked, random_problem

TOLERANCE = 1e-4
SHOWN = 50  # failures that are printed


@dataclass(frozen=True)
class Outcome:
    """What came of one problem."""

    kind: str
    number: int
    designs: tuple[Checked, ...]
    seconds: float


def main() -> None:
    """Solve, check and report."""
    given = arguments()
    numbers = range(given.first, given.first + given.number)
    work = [(given.seed, number) for number in numbers]
    if given.processes == 1:
        outcomes = [outcome(question) for question in work]
    else:
        with get_context("spawn").Pool(given.processes) as pool:
            outcomes = list(pool.imap_unordered(outcome, work, chunksize=20))
    report(sorted(outcomes, key=lambda outcome: outcome.number), given.seed)


def arguments() -> Any:
    """What the command line says."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--number", type=int, default=1000, help="of problems")
    parser.add_argument("--first", type=int, default=0, help="number of the first problem")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other problems")
    parser.add_argument("--processes", type=int, default=1)
    return parser.parse_args()


def outcome(question: tuple[int, int]) -> Outcome:
    """One problem by all solvers."""
    start, problem = process_time(), random_problem(*question)
    turn = question[1] // len(KINDS)
    solvers = (
        "auto",
        "interior",
        *(["highs", "column-generation"] if turn % 10 == 0 else []),
    )
    designs = checked(problem, solvers, TOLERANCE, irrational=turn % 3 == 0)
    return Outcome(problem.kind, question[1], tuple(designs), process_time() - start)


def report(outcomes: list[Outcome], seed: int) -> None:
    """A table by kind of space, one by solver, and what failed."""
    headings = ("designs", "failures", "near 0", "largest other gap")
    table = Table("random_designs", f"Random problems against the exact optimum, gap ≤ {TOLERANCE:g}",
                  ("space", "problems", *headings, "processor seconds"))  # fmt: skip
    for kind in KINDS:
        found = [result for result in outcomes if result.kind == kind]
        table.add(kind, len(found), *counted(d for f in found for d in f.designs), sum(f.seconds for f in found))
    table.add("all", len(outcomes), *counted(d for f in outcomes for d in f.designs), sum(f.seconds for f in outcomes))
    table.finish()
    every = [design for result in outcomes for design in result.designs]
    solvers = Table("random_designs_solvers", "The same by solver and method", ("solver", "method", *headings))
    for solver, method in sorted({(design.solver, design.method) for design in every}):
        solvers.add(solver, method, *counted(d for d in every if (d.solver, d.method) == (solver, method)))
    solvers.finish()
    wrong = [(result, design) for result in outcomes for design in result.designs if design.complaints]
    for result, design in wrong[:SHOWN]:
        print(
            f"random_problem({seed}, {result.number}), {result.kind}, {design.solver}: {'; '.join(design.complaints)}"
        )
    print(f"{len(wrong)} failures in {len(every)} designs of {len(outcomes)} problems")


def counted(designs: Iterable[Checked]) -> tuple[int, int, int, float]:
    """How many designs, how many of them failed, how many have no loss to speak of, the largest gap of the rest."""
    found = list(designs)
    gaps = [design.gap for design in found if not design.near_zero]
    return (
        len(found),
        sum(1 for design in found if design.complaints),
        sum(design.near_zero for design in found),
        max(gaps, default=0.0),
    )


if __name__ == "__main__":
    main()
