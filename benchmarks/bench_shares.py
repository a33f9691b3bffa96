"""Designs for estimates of shares: how long they take, how far from the bound, and beside what surveys use today.

The second table is the problem of McKenna, Maity, Mazumdar and Miklau (2020), as published with their code: 128
answers, cumulative shares, plain local privacy with ε = 1. Their figure is the largest over answers x of what N
respondents, all with answer x, leave in total variance, times N:

    max_x Σ_y M(x)(y) |v_y|² − |A_x|²,

for the estimates v that go with a mechanism. No estimates of any mechanism have less than the mean over x, which
is tr(A W⁻¹ Aᵀ) − tr(A Aᵀ)/n at the uniform distribution, and no mechanism has less of it than the relaxation says.
"""

from __future__ import annotations

from argparse import ArgumentParser
from time import perf_counter

import numpy as np

import sfumato as sf
from sfumato.measures import share_variance
from timing import Table

ANSWERS, EPSILON = 128, 1
PUBLISHED = {"hierarchical, published": 5665.56, "local search, published": 1910.87}


def main() -> None:
    """Print and write both tables."""
    parser = ArgumentParser()
    parser.add_argument("--seconds", type=float, default=240, help="for 128 answers")
    parser.add_argument("--only", choices=("designs", "published"))
    chosen = parser.parse_args()
    if chosen.only != "published":
        designs()
    if chosen.only != "designs":
        published(chosen.seconds)


def designs() -> None:
    """Lines, equal distances, cycles, grids and cubes, with all shares or cumulative ones."""
    table = Table(
        "shares",
        "Designs for estimates of shares, e^ε = 2 for a unit of distance",
        ("space", "estimated", "N × variance", "gap", "proved", "outputs", "s", "known: times as many respondents"),
        ("space", "estimated"),
        "s",
    )
    cases = [
        (sf.line(7), "shares"), (sf.line(12), "shares"), (sf.line(12), "cumulative"), (sf.line(16), "shares"),
        (sf.discrete(8), "shares"), (sf.discrete(12), "shares"), (sf.cycle(10), "shares"), (sf.grid(3, 3), "shares"),
        (sf.hamming(3), "shares"), (sf.line(40), "shares"), (sf.line(100), "cumulative"), (sf.discrete(60), "shares"),
    ]  # fmt: skip
    sf.design(None, None, sf.PrivacyType(sf.line(3), alpha="1/2"), objective="shares")  # compiles what is compiled
    for space, what in cases:
        privacy, uniform = sf.PrivacyType(space, alpha="1/2"), sf.Prior.uniform(space)
        started = perf_counter()
        best = sf.design(uniform, None, privacy, objective=sf.objectives.shares(what), time_limit=120)
        seconds = perf_counter() - started
        known = sf.geometric(privacy) if space.name.startswith("line") else sf.exponential(privacy)
        if space.name.startswith("discrete"):
            known = sf.random_response(privacy)
        more = float(share_variance(uniform, known.channel, what)) / float(best.loss)
        table.add(space.name, what, float(best.loss), best.gap, best.proved, len(best.mechanism.outputs), seconds, more)
    table.finish()


def published(seconds: float) -> None:
    """128 answers, beside the figures that were published and known mechanisms by the same formula."""
    table = Table(
        "shares_published",
        f"{ANSWERS} answers, cumulative shares, plain local privacy with ε = {EPSILON}",
        ("mechanism", "largest over answers", "mean over answers", "no mechanism has a mean below", "s"),
        ("mechanism",),
        "s",
    )
    space, prefix = sf.discrete(ANSWERS), np.tril(np.ones((ANSWERS, ANSWERS)))
    privacy = sf.PrivacyType(space, epsilon=EPSILON)
    for name, figure in PUBLISHED.items():
        table.add(name, figure, "—", "—", "—")
    for name, known in (("randomised response", sf.random_response(privacy)),):
        table.add(name, *_figures(_matrix(known), prefix), "—", "—")
    started = perf_counter()
    best = sf.design(None, None, privacy, objective=sf.objectives.shares("cumulative"), time_limit=seconds)
    spent = perf_counter() - started
    # the bound is about sums of shares at the uniform distribution, whose last one is 1 and costs nothing
    shift = float(((prefix.mean(axis=1)) ** 2).sum()) - 1 - float((prefix**2).sum() / ANSWERS - 1)
    table.add("sfumato", *_figures(_matrix(best.mechanism), prefix), float(best.bound) + shift, spent)
    table.finish()


def _matrix(mechanism: sf.Mechanism) -> np.ndarray:
    return np.asarray(mechanism.weights, dtype=float) / mechanism.total


def _figures(matrix: np.ndarray, wanted: np.ndarray) -> tuple[float, float]:
    """Largest and mean over secrets, with estimates that are best at the uniform distribution."""
    seen = matrix.mean(axis=0)
    inside = (matrix / seen) @ matrix.T
    levers = wanted @ np.linalg.solve(inside, matrix / seen)
    each = matrix @ (levers**2).sum(axis=0) - (wanted**2).sum(axis=0)
    return float(each.max()), float(each.mean())


if __name__ == "__main__":
    main()
