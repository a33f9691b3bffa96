"""Designs of many secrets from question to proof: solved on a GPU if there is one, repaired, and proved in integers.

    python benchmarks/bench_large.py manhattan:100:1e-3 euclidean:40:1e-4      # with a GPU
    python benchmarks/bench_large.py                                           # small ones on the processor

Square grids of unit spacing, loss = Euclidean distance, e^ε = 2 for a step. Cases are written metric:side:gap;
Manhattan grids have an uneven prior of five bumps, Euclidean ones a uniform prior. The first-order method solves from
4,900 secrets on, whatever ``auto`` chooses below. What is measured: seconds of solving; seconds of certifying, which is
to repair the matrix, to round it to integers, and to have privacy, loss and bound proved by the kernel's twin; the
whole; the proved gap; and the most memory that the process and the GPU have held. Kernels have been compiled by a small
design before.
"""

from __future__ import annotations

import resource
from argparse import ArgumentParser
from time import perf_counter

import torch

import sfumato as sf
from bench_design import euclidean, lumpy, uniform
from timing import Table

LARGE = ("manhattan:50:1e-4", "euclidean:40:1e-4", "manhattan:100:1e-3")
SMALL = ("manhattan:12:1e-3", "euclidean:10:1e-4")
FIRST_ORDER = 4_900  # secrets from which on factors do not fit into a GPU


def main() -> None:
    """Measure and report."""
    cuda = torch.cuda.is_available()
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("cases", nargs="*", default=LARGE if cuda else SMALL)
    parser.add_argument("--solver", help="for all cases")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds after which a solver has to come to an end")
    given = parser.parse_args()
    start = perf_counter()
    for solver in ("auto", "interior-gpu", "first-order") if cuda else ("auto",):
        designed(*setting("manhattan", 8), 1e-2, solver, 60.0)
    device = torch.cuda.get_device_name() if cuda else "the processor"
    print(f"torch {torch.__version__} on {device}; small designs took {perf_counter() - start:.1f} s", flush=True)
    table = Table("large", f"Designs from question to proof, on {device}", (
        "case", "secrets", "method", "solving, s", "certifying, s", "whole, s", "loss", "proved gap", "dual numbers",
        "peak, GiB", "GPU, GiB",
    ))  # fmt: skip
    for case in given.cases:
        metric, side, gap = case.split(":")
        n = int(side) ** 2
        if cuda:
            torch.cuda.reset_peak_memory_stats()
        solver = given.solver or ("first-order" if n >= FIRST_ORDER else "auto")
        start = perf_counter()
        design = designed(*setting(metric, int(side)), float(gap), solver, given.limit)
        whole = perf_counter() - start
        claim = design.mechanism.claim
        assert claim is not None and claim.dual is not None
        table.add(
            case, n, design.method, design.seconds["solve"], design.seconds["certify"], whole, float(design.loss),
            design.gap, len(claim.dual.values), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
            torch.cuda.max_memory_allocated() / 2**30 if cuda else 0.0,
        )  # fmt: skip
    table.finish()


def setting(metric: str, side: int) -> tuple[sf.Prior, sf.Loss, sf.PrivacyType]:
    """Prior, loss and promise."""
    space = sf.grid(side, side, metric=metric)
    prior = lumpy(space, side) if metric == "manhattan" else uniform(space)
    return prior, euclidean(space), sf.PrivacyType(space, alpha="1/2")


def designed(
    prior: sf.Prior, loss: sf.Loss, privacy: sf.PrivacyType, gap: float, solver: str, limit: float
) -> sf.Design:
    """One design."""
    return sf.design(prior, loss, privacy, solver=solver, tolerance=gap, time_limit=limit)


if __name__ == "__main__":
    main()
