"""Least δ of two rows and whether a predicate holds for all events, beside dp-accounting and beside all 2ⁿ events.

dp-accounting rounds privacy losses up to a grid of 10⁻⁴ and answers in floats; sfumato answers exactly, from rationals
or from floats.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from math import log
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.privacy import predicates
from sfumato.privacy.predicates_satisfaction import all_events, satisfies_predicate
from sfumato.privacy.tradeoff import smallest_delta, smallest_epsilon_at, tradeoff, worst_tradeoff
from timing import Table, measure

SIZES = (10, 100, 1000, 10_000)


def main() -> None:
    """Print and write the tables."""
    _questions()
    _delta()
    _pairs()


def _channel(size: int, secrets: int = 2) -> sf.Channel:
    weights = np.random.default_rng(0).integers(50, 101, (secrets, size))
    return sf.Channel(range(secrets), [[Fraction(int(v), int(row.sum())) for v in row] for row in weights])


def _questions() -> None:
    table = Table(
        "predicates", "Two rows, seconds for each question", ("outputs", "numbers", "question", "s", "all events, s")
    )
    curves = {"(ε, δ)": predicates.epsilon_delta(epsilon="0.3", delta="1/8"), "Gaussian": predicates.gaussian("1/2")}
    for size in SIZES[:3]:
        channel = _channel(size)
        for kind, given in (("rationals", channel), ("floats", channel.to_floats())):
            for name, predicate in curves.items():
                brute: Any = "—"
                if size == SIZES[0] and kind == "rationals":
                    brute = measure(partial(_brute, given, predicate), 1).median
                table.add(size, kind, name, measure(partial(satisfies_predicate, given, predicate), 3).median, brute)
            table.add(size, kind, "whole curve", measure(partial(tradeoff, given, 0, 1), 3).median, "—")
            table.add(size, kind, "least ε at δ", measure(partial(smallest_epsilon_at, given, "1/100"), 3).median, "—")
    table.finish()


def _brute(channel: sf.Channel, predicate: predicates.Predicate) -> bool:
    return all(predicate(a, b) for x, z in ((0, 1), (1, 0)) for _, a, b in all_events(channel, x, z))


def _delta() -> None:
    from dp_accounting.pld import privacy_loss_distribution as pld

    heads = (
        "outputs",
        "sfumato, rationals, s",
        "sfumato, floats, s",
        "dp-accounting, s",
        "÷ rationals",
        "δ too large by",
    )
    table = Table("accounting", "Least δ at ε = 0.1 of two rows", heads)
    for size in SIZES:
        channel = _channel(size)
        floats = channel.to_floats()
        rows = [{y: log(v) for y, v in enumerate(row)} for row in floats.matrix.tolist()]

        def peer(rows: list[dict[int, float]] = rows) -> float:
            return float(pld.from_two_probability_mass_functions(*rows, symmetric=False).get_delta_for_epsilon(0.1))

        ours = measure(lambda c=channel: smallest_delta(c, epsilon="0.1"), 5)
        in_floats = measure(lambda c=floats: smallest_delta(c, epsilon="0.1"), 5)
        theirs = measure(peer, 5)
        off = peer() - float(smallest_delta(channel, epsilon="0.1"))
        table.add(size, ours.median, in_floats.median, theirs.median, theirs.median / ours.median, f"{off:.1e}")
    table.finish()


def _pairs() -> None:
    table = Table("pairs", "All ordered pairs of secrets, 100 outputs", ("secrets", "question", "s"))
    for secrets in (10, 100):
        channel = _channel(100, secrets)
        table.add(secrets, "(ε, δ)", measure(lambda c=channel: satisfies_predicate(
            c, predicates.epsilon_delta(epsilon="0.3", delta="1/4")), 3).median)  # fmt: skip
        table.add(secrets, "least δ", measure(lambda c=channel: smallest_delta(c, epsilon="0.1"), 3).median)
        table.add(secrets, "worst curve", measure(lambda c=channel: worst_tradeoff(c), 1).median)
    table.finish()


if __name__ == "__main__":
    main()
