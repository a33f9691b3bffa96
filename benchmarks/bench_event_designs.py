"""Best mechanisms under (ε, δ)-privacy and under a polygon below a Gaussian curve, beside HiGHS and the geometric one.

HiGHS solves the same program to its own tolerance; its matrix, rows divided by their sums, is asked for the smallest δ
that it really keeps. The geometric mechanism keeps δ = 0 at the same ε, so it says what the δ is worth.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import sfumato as sf
from sfumato import predicates
from sfumato.design.problem import problem
from sfumato.design.solvers import SOLVERS
from sfumato.numbers import floats
from timing import Table, measure

DELTA = "1/1000"


def main() -> None:
    """Print and write the table."""
    table = Table(
        "event_designs",
        f"Absolute error on a line, uniform prior, neighbours one step apart, ε = 1, δ = {DELTA}",
        ("promise", "secrets", "s, question to proof", "s, HiGHS alone", "loss", "gap", "loss of the geometric, δ = 0",
         "δ of HiGHS beyond the promised"),
    )  # fmt: skip
    pair = predicates.epsilon_delta(epsilon=1, delta=DELTA)
    for n in (10, 20, 50, 100):
        table.add("(1, 1/1000)", n, *_row(n, pair, delta=True))
    curve = predicates.inscribed(predicates.gaussian(1), corners=9)
    for n in (10, 20, 50):
        table.add("Gaussian 1, 9 corners", n, *_row(n, curve, delta=False))
    table.finish()


def _row(n: int, predicate: predicates.Predicate, *, delta: bool) -> tuple[Any, ...]:
    space = sf.line(n)
    prior, loss = sf.Prior.uniform(space), sf.losses.absolute(space)
    designs: list[sf.Design] = []
    whole = measure(lambda: designs.append(sf.design(prior, loss, None, under=(predicate, space))), 1).median
    question = problem(prior, loss, None, under=(predicate, space))
    solutions: list[Any] = []
    alone = measure(lambda: solutions.append(SOLVERS["highs"](question, 1e-4)), 1).median
    matrix = floats(solutions[0].matrix).clip(0)
    geometric = sf.geometric(sf.PrivacyType(space, epsilon=1))
    share: Any = "—"
    if delta:
        channel = sf.Channel(space, matrix / matrix.sum(axis=1, keepdims=True), space.labels)
        share = float(sf.privacy.smallest_delta(channel, space, epsilon=1).high - Fraction(DELTA))
    return (
        whole,
        alone,
        float(designs[-1].loss),
        designs[-1].gap,
        float(sf.posterior_loss(prior, geometric.channel, loss)),
        share,
    )


if __name__ == "__main__":
    main()
