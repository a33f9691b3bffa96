"""Attacks on noise: patterns of low bits, time, words that tell the secret, processes that share their noise."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from time import thread_time_ns
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import sfumato as sf
from sfumato.certify.verify import prove
from sfumato.draws.alias import AliasTables, alias_tables
from sfumato.draws.noise import Rate, noise
from sfumato.draws.plans import TablePlan
from sfumato.draws.randomness import system_bits
from sfumato.mechanisms.lattice import Lattice
from sfumato.mechanisms.registry import MECHANISMS
from sfumato.mechanisms.tight import lattice_tight_constraints
from sfumato.release.sampler import Sampler, integer_noise, sampler

# ----------------------------------------------------------------- patterns that one secret has and another has not


def telling(outputs: dict[Any, set[Any]], secret: Any, neighbour: Any) -> float:
    """The share of what a secret may be reported as that its neighbour never is: who sees such an output knows."""
    return len(outputs[secret] - outputs[neighbour]) / len(outputs[secret])


def float_laplace(secret: float, bits: int) -> set[float]:
    """Every value of secret ± ln(u)/ε in doubles, for all u with so many bits (Mironov 2012 attacks this)."""
    u = (np.arange(1 << bits) + 1) / (1 << bits)
    size = -np.log(u)
    return {*(secret + size).tolist(), *(secret - size).tolist()}


def all_draws(tables: AliasTables, row: int) -> NDArray[np.int64]:
    """What every string of random bits leads to."""

    class Every:
        def take(self, lanes: NDArray[np.int64], first: int, count: int) -> NDArray[np.uint64]:
            return (lanes.astype(np.uint64) << np.uint64(64 - tables.bits))[None]

    assert tables.exact
    lanes = np.arange(1 << tables.bits)
    return tables.draw(np.full(len(lanes), row), Every(), lanes)


def test_doubles_give_a_naive_laplace_mechanism_away() -> None:
    possible = {secret: float_laplace(secret, 12) for secret in (0.0, 1.0)}
    assert telling(possible, 0.0, 1.0) > 0.5
    assert telling(possible, 1.0, 0.0) > 0.5


def test_no_output_of_ours_tells_two_secrets_apart_for_certain() -> None:
    """The same attack over all strings of 14 bits: every output is possible for every secret, as often as promised."""
    n, total = 9, 1 << 14
    matrix = np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n))) / 2)
    weights = np.floor(matrix / matrix.sum(axis=1).max() * (total - 2000)).astype(np.int64) + 40
    weights[:, 0] += total - weights.sum(axis=1)
    mechanism = prove(weights, sf.PrivacyType(sf.line(n), epsilon=1))
    tables = alias_tables(mechanism.weights, mechanism.total)
    counts = np.stack([np.bincount(all_draws(tables, row), minlength=n) for row in range(n)])
    assert (counts == mechanism.weights).all()
    possible = {row: set(np.flatnonzero(counts[row]).tolist()) for row in range(n)}
    assert all(telling(possible, x, z) == 0 for x in range(n) for z in range(n))
    assert (counts[1:] <= np.e * counts[:-1]).all() and (counts[:-1] <= np.e * counts[1:]).all()


def support(tables: AliasTables, row: int) -> set[int]:
    """Outputs that some string of bits leads to, read off the table."""
    buckets, low = 1 << tables.bucket_bits, tables.low
    found = set()
    for bucket, entry in enumerate(tables.entries[row * buckets : (row + 1) * buckets].tolist()):
        digits = entry & ((1 << low) - 1)
        # digits of 0 may stand for a small threshold that only further words see
        small = not tables.exact and bucket < tables.weights.shape[1] and int(tables.weights[row, bucket]) > 0
        if digits or small:
            found.add(bucket)
        found.add(entry >> low)
    return found


PROMISES = (
    sf.PrivacyType(sf.line(4), alpha="1/16"), sf.PrivacyType(sf.line(5), epsilon="0.7"),
    sf.PrivacyType(sf.grid(3, 4), epsilon=3), sf.PrivacyType(sf.hamming(3), epsilon=1),
    sf.PrivacyType(sf.line(2), alpha="1/3"),
)  # fmt: skip


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_can_be_drawn_is_what_has_weight_and_neighbours_agree(name: str) -> None:
    tried = 0
    for privacy in PROMISES:
        if not MECHANISMS[name].applies(privacy):
            continue
        mechanism = MECHANISMS[name](privacy)
        tables = sampler(mechanism).plan.tables  # type: ignore[attr-defined]
        rows = [support(tables, row) for row in range(len(mechanism.secrets))]
        assert rows == [set(np.flatnonzero(row).tolist()) for row in mechanism.weights]
        assert all(row == rows[0] for row in rows)  # all distances are finite here
        tried += 1
    assert tried


def test_noise_on_integers_reaches_every_integer() -> None:
    """No table of digits leaves out a value: what has no weight of its own is in the rest."""
    for rate in ("1/3", "20", "1/500"):
        made = noise(Rate(sf.PrivacyType(sf.line(2), epsilon=rate).epsilon, None), fair=False)
        for digit in made.digits:
            *weights, rest = digit.tables.weights[0].tolist()
            assert rest > 0 or all(weights)
            assert rest < len(weights) + 3


# ----------------------------------------------------------------- work and time


class Counted:
    """The system's bits, counted."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def words(self, count: int) -> NDArray[np.uint64]:
        self.calls.append(count)
        return system_bits().words(count)


@pytest.mark.parametrize(
    "made",
    [
        sampler(sf.geometric(sf.PrivacyType(sf.line(6), alpha="1/3"))),
        sampler(sf.exponential(sf.PrivacyType(sf.grid(3, 3), epsilon=1))),
        integer_noise("1/100"),
    ],
)
def test_every_secret_takes_the_same_words(made: Sampler) -> None:
    calls = []
    for secret in range(6):
        bits = Counted()
        made.draw(np.full(5000, secret), bits=bits)
        calls.append(bits.calls)
    assert all(call == calls[0] for call in calls)


@cache
def large_sampler() -> Sampler:
    rng = np.random.default_rng(1)
    weights = rng.integers(0, 2**52 // 400, (400, 400))
    weights[1] = 0  # one row on a single output, one nearly so, one even
    weights[1, 7] = 1 << 52
    weights[2] = 1
    weights[:, 0] += (1 << 52) - weights.sum(axis=1)
    return Sampler(range(400), range(400), TablePlan(alias_tables(weights, 1 << 52)), "for tests")


def slowest_over_fastest(draw: Callable[[int], Any], secrets: list[int], rounds: int) -> float:
    """Of the medians of CPU time for each secret; secrets take turns, so that what disturbs one disturbs all."""
    times = np.zeros((rounds, len(secrets)))
    for turn in range(rounds):
        for k, secret in enumerate(secrets):
            start = thread_time_ns()
            draw(secret)
            times[turn, k] = thread_time_ns() - start
    medians = np.median(times, axis=0)
    return float(medians.max() / medians.min())


def test_time_does_not_depend_on_the_secret() -> None:
    """Medians within a factor of 1.5: a branch on the secret would show as more; a busy machine gets three tries.

    A chunk of rows with one secret each time: tables, and a grid where one secret is a corner and one the middle.
    """
    table = large_sampler()
    grid = sampler(lattice_tight_constraints(Lattice((40, 40)), epsilon=1))
    for made, secrets in ((table, [0, 1, 2, 3, 399]), (grid, [0, 39, 820, 1599])):
        batches = {secret: np.full(30_000, secret) for secret in secrets}
        made.draw(batches[secrets[0]])
        ratios = []
        for _ in range(3):
            ratios.append(slowest_over_fastest(lambda s, m=made, b=batches: m.draw(b[s]), secrets, 11))
            if ratios[-1] < 1.5:
                break
        assert min(ratios) < 1.5


def test_a_sampler_whose_work_depends_on_the_secret_would_show() -> None:
    table = large_sampler()
    few, many = np.full(5_000, 0), np.full(30_000, 1)
    assert slowest_over_fastest(lambda s: table.draw(many if s else few), [0, 1], 11) > 1.5


# ----------------------------------------------------------------- processes


def test_children_never_repeat_the_noise_of_their_parent_or_each_other() -> None:
    made = sampler(sf.exponential(sf.PrivacyType(sf.grid(4, 4), epsilon=1)))
    rows = np.full(500, 3)
    made.draw(rows[:5])
    seen = []
    for _ in range(4):
        read, write = os.pipe()
        child = os.fork()
        if not child:  # pragma: no cover
            try:
                os.write(write, made.draw(rows).tobytes())
            finally:
                os._exit(0)
        os.close(write)
        with os.fdopen(read, "rb") as pipe:
            seen.append(pipe.read())
        os.waitpid(child, 0)
    seen += [made.draw(rows).tobytes() for _ in range(3)]
    assert all(len(drawn) == rows.nbytes for drawn in seen)
    assert len(set(seen)) == 7
