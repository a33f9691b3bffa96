"""Goodness of fit on every mechanism, with one false-alarm budget for the suite, and broken samplers that it catches.

All p-values of this file together cry wolf with a chance of at most :data:`BUDGET` (Bonferroni): each is compared with
BUDGET / PLANNED, and there are no more than PLANNED of them, which a test counts. The bits come from fixed seeds, so a
run that passes passes again; the budget is what a change of seeds would risk.

A test draws many rows of all secrets, mixed, and compares counts of (secret, output) with the exact weights by
Pearson's chi-squared; cells with fewer than :data:`SMALL` expected draws are pooled for each secret, so that its
distribution is good far into the tail. An output of weight zero fails at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from math import exp
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2

import sfumato as sf
from sfumato.draws.alias import AliasTables, alias_tables
from sfumato.draws.noise import Rate, noise
from sfumato.draws.plans import AddedNoise, TablePlan
from sfumato.draws.randomness import FreshStream, InsecureSeed, SeededBits
from sfumato.mechanisms.continuous import on_lattice, pixelate, truncated_laplace
from sfumato.mechanisms.lattice import Lattice
from sfumato.mechanisms.lattice_draws import lattice_plan
from sfumato.mechanisms.registry import MECHANISMS
from sfumato.mechanisms.tight import LatticeMechanism, lattice_tight_constraints
from sfumato.release.sampler import Sampler, integer_noise, sampler

BUDGET = 1e-6
"""The chance that any test of this file fails although every sampler is right."""

PLANNED = 120
"""The number of p-values it is spread over."""

SMALL = 25
"""Expected counts below this are pooled."""

DRAWS = 100_000
KEY = bytes(range(32))
STATED = {"secret_never_changes": True}

PROMISES = {
    "exact": sf.PrivacyType(sf.line(4), alpha="1/16"),
    "rounded": sf.PrivacyType(sf.line(5, step="1/2"), epsilon="0.7"),
    "two": sf.PrivacyType(sf.line(2), alpha="1/3"),
    "cube": sf.PrivacyType(sf.hamming(3), epsilon=1),
    "plane": sf.PrivacyType(sf.grid(3, 4, step="1/2"), epsilon=3),
}

CASES = [
    (name, key) for name, known in MECHANISMS.items() for key, promise in PROMISES.items() if known.applies(promise)
]


def source(seed: int) -> SeededBits:
    with pytest.warns(InsecureSeed):
        return SeededBits(seed)


def p_value(counts: NDArray[Any], chances: NDArray[Any]) -> float:
    """Of counts in rows with given chances: rows are independent, their totals are given."""
    statistic, freedom = 0.0, 0
    for found, chance in zip(counts, chances, strict=True):
        if found[chance == 0].any():
            return 0.0
        expected = found.sum() * chance.astype(np.float64)
        large = expected >= SMALL
        observed, wanted = [*found[large]], [*expected[large]]
        if expected[~large].sum() >= SMALL:
            observed.append(found[~large].sum())
            wanted.append(expected[~large].sum())
        else:  # join the rest to the smallest of the others
            place = int(np.argmin(wanted))
            observed[place] += found[~large].sum()
            wanted[place] += expected[~large].sum()
        statistic += sum((o - w) ** 2 / w for o, w in zip(observed, wanted, strict=True))
        freedom += len(wanted) - 1
    return float(chi2.sf(statistic, freedom)) if freedom else 1.0


def fits(p: float) -> bool:
    return p >= BUDGET / PLANNED


def exact_chances(mechanism: Any) -> NDArray[Any]:
    total = mechanism.total
    return np.array([[float(Fraction(int(w), total)) for w in row] for row in mechanism.weights])


def mixed(secrets: int, seed: int, draws: int = DRAWS) -> NDArray[np.int64]:
    rows = np.arange(draws) % secrets
    np.random.default_rng(seed).shuffle(rows)
    return rows


def counted(rows: NDArray[np.int64], drawn: NDArray[np.int64], secrets: int, outputs: int) -> NDArray[np.int64]:
    return np.bincount(rows * outputs + drawn, minlength=secrets * outputs).reshape(secrets, outputs)


def table_p_value(made: Sampler, chances: NDArray[Any], seed: int, draws: int = DRAWS) -> float:
    rows = mixed(len(chances), seed, draws)
    return p_value(counted(rows, made.draw(rows, bits=source(seed)), *chances.shape), chances)


# ----------------------------------------------------------------- tables


@pytest.mark.parametrize(("name", "key"), CASES)
def test_every_mechanism_of_the_list_is_drawn_with_its_weights(name: str, key: str) -> None:
    mechanism = MECHANISMS[name](PROMISES[key])
    assert fits(table_p_value(sampler(mechanism), exact_chances(mechanism), seed=1))


def test_every_mechanism_of_the_list_is_tested() -> None:
    assert {name for name, _ in CASES} == set(MECHANISMS)


@cache
def long_table() -> Any:
    return sf.geometric(sf.PrivacyType(sf.line(40), alpha="9/10"))


@pytest.mark.parametrize("low", [None, 1])
def test_totals_of_many_words(low: int | None) -> None:
    """Also with comparisons that nearly always go on."""
    mechanism = long_table()
    assert mechanism.total > 2**64
    made = sampler(mechanism)
    if low is not None:
        made = replace(made, plan=TablePlan(alias_tables(mechanism.weights, mechanism.total, low=low)))
    assert fits(table_p_value(made, exact_chances(mechanism), seed=2, draws=DRAWS if low is None else 20_000))


def test_neighbouring_draws_are_independent() -> None:
    """Pairs of draws that follow one another, from any secrets, fit products of chances."""
    mechanism = MECHANISMS["geometric"](PROMISES["exact"])
    chances = exact_chances(mechanism)
    pairs = np.einsum("ax,by->abxy", chances, chances).reshape(16, 16)
    rows = mixed(4, 3, 2 * DRAWS).reshape(-1, 2)
    drawn = sampler(mechanism).draw(rows.ravel(), bits=source(3)).reshape(-1, 2)
    assert fits(p_value(counted(rows @ [4, 1], drawn @ [4, 1], 16, 16), pairs))


def test_keyed_draws_fit_and_do_not_follow_ids_keys_or_mechanisms() -> None:
    mechanism = MECHANISMS["geometric"](PROMISES["exact"])
    other = MECHANISMS["exponential"](PROMISES["exact"])
    chances, others = exact_chances(mechanism), exact_chances(other)
    rows = mixed(4, 4)
    numbers = np.zeros((DRAWS, 2), dtype="<u8")
    numbers[:, 1] = np.arange(DRAWS)  # ids that differ in few bits
    ids = numbers.view(np.uint8).reshape(DRAWS, 16)
    made = sampler(mechanism)
    drawn = made.draw_keyed(rows, ids, KEY, **STATED)
    assert fits(p_value(counted(rows, drawn, 4, 4), chances))
    again = [
        (made.draw_keyed(rows, ids, KEY[::-1], **STATED), chances),
        (sampler(other).draw_keyed(rows, ids, KEY, **STATED), others),
        (np.roll(drawn, 1), np.roll(chances, 0)),
    ]
    for found, second in again[:2]:
        joint = np.einsum("ax,ay->axy", chances, second).reshape(4, -1)
        assert fits(p_value(counted(rows, drawn * second.shape[1] + found, 4, joint.shape[1]), joint))
    both = np.einsum("ax,by->abxy", chances, chances).reshape(16, 16)
    follow = counted(rows * 4 + np.roll(rows, 1), drawn * 4 + again[2][0], 16, 16)
    assert fits(p_value(follow, both))


# ----------------------------------------------------------------- never a table


def test_products_are_drawn_with_their_weights() -> None:
    first = sf.tight_constraints(sf.PrivacyType(sf.discrete(["a", "b", "c"]), alpha="1/4"))
    mechanism = sf.mechanisms.product_mechanism(first, sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2")), first)
    made = sampler(mechanism)
    assert made.secrets is not None
    chances = np.stack([mechanism.row(secret).ravel() for secret in made.secrets])
    assert fits(table_p_value(made, chances, seed=5, draws=4 * DRAWS))


LATTICES = {
    "plane": (Lattice((9, 7)), "0.9"), "manhattan": (Lattice((6, 5), "manhattan"), "0.3"),
    "line": (Lattice((30,)), "0.2"), "chebyshev": (Lattice((5, 5), "chebyshev"), "2"),
    "space": (Lattice((4, 3, 4)), "1.5"),
}  # fmt: skip


@cache
def lattice_of(name: str) -> LatticeMechanism:
    lattice, epsilon = LATTICES[name]
    return lattice_tight_constraints(lattice, epsilon=epsilon)


def lattice_chances(mechanism: LatticeMechanism) -> NDArray[Any]:
    places = np.stack(np.unravel_index(np.arange(len(mechanism.lattice)), mechanism.lattice.shape), axis=1)
    return np.stack([mechanism.row(tuple(place)).ravel() for place in places.tolist()])


@pytest.mark.parametrize("name", LATTICES)
def test_grids_are_drawn_with_their_weights(name: str) -> None:
    mechanism = lattice_of(name)
    assert fits(table_p_value(sampler(mechanism), lattice_chances(mechanism), seed=6, draws=3 * DRAWS))


@pytest.mark.parametrize("name", ["plane", "manhattan"])
def test_grids_with_all_that_is_rare_made_frequent(name: str) -> None:
    """A third of each row missing, a third floor; most comparisons go on; one proposal in four is any cell."""
    made = lattice_of(name)
    count, total = len(made.lattice), made.total
    lopsided = replace(made, diagonal=made.diagonal // 3, floor=total // 3 // count)
    shares = lattice_chances(lopsided)
    spill = int(np.ravel_multi_index(made.spill, made.lattice.shape))
    excess = [float(row[spill]) for row in shares]
    bounds = (Fraction(min(excess) - 0.2) * total, Fraction(max(excess) + 0.02) * total)
    plan = lattice_plan(replace(lopsided, missing=bounds), digits=3, low=2, mix=2)
    slow = Sampler(None, None, plan, "for tests")
    assert fits(table_p_value(slow, shares, seed=7, draws=9000))


def two_sided(alpha: float, reach: int) -> NDArray[Any]:
    """Chances of −reach, …, reach and of what lies beyond on either side."""
    inside = (1 - alpha) / (1 + alpha) * alpha ** np.abs(np.arange(-reach, reach + 1))
    beyond = alpha ** (reach + 1) / (1 + alpha)
    return np.array([beyond, *inside, beyond])


@pytest.mark.parametrize(
    ("made", "alpha"),
    [
        (sampler(sf.mechanisms.InfiniteGeometric(Fraction(2, 3))), 2 / 3),
        (integer_noise("1/3"), exp(-1 / 3)),
        (integer_noise("1/50"), exp(-1 / 50)),
        # tables of few bits and short digits: the rest and "or more" are frequent
        (
            Sampler(None, None, AddedNoise(noise(Rate(None, Fraction(2, 3)), fair=False, bits=5, sizes=(3, 2))), ""),
            2 / 3,
        ),
    ],
)
def test_integers_get_two_sided_geometric_noise(made: Sampler, alpha: float) -> None:
    reach = 60
    secrets = np.array([-(10**12), 0, 7])
    few = made.name == ""
    rows = mixed(3, 8, 20_000 if few else 2 * DRAWS)
    drawn = made.draw(secrets[rows], bits=source(8)) - secrets[rows]
    chances = np.tile(two_sided(alpha, reach), (3, 1))
    counts = counted(rows, np.clip(drawn, -reach - 1, reach + 1) + reach + 1, 3, 2 * reach + 3)
    assert fits(p_value(counts, chances))


@pytest.mark.parametrize(("pixels", "steps"), [(8, 4), (7, 5), (1, 3)])
def test_pixels_fit_the_truncated_laplace_mechanism(pixels: int, steps: int) -> None:
    coarse = pixelate(truncated_laplace("3/2", interval=(-1, 1)), pixels)
    chances = np.asarray(on_lattice(coarse, steps).matrix, dtype=np.float64)
    assert fits(table_p_value(sampler(coarse, steps=steps), chances, seed=9, draws=3 * DRAWS))


# ----------------------------------------------------------------- broken on purpose

SMALL_TABLE = np.array([[40, 16, 5, 3], [16, 40, 5, 3], [3, 5, 40, 16]])


def drawn_by(tables: AliasTables, rows: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    return tables.draw(rows, FreshStream(source(seed)), np.arange(len(rows)))


def right(rows: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    return drawn_by(alias_tables(SMALL_TABLE, 64), rows, seed)


def alias_off_by_one(rows: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    tables = alias_tables(SMALL_TABLE, 64)
    low = np.uint64(tables.low)
    aliases = ((tables.entries >> low) + np.uint64(1)) % np.uint64(4)
    entries = (aliases << low) | (tables.entries & np.uint64((1 << tables.low) - 1))
    return drawn_by(replace(tables, entries=entries), rows, seed)


def threshold_not_strict(rows: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """u ≤ t in place of u < t, which is t one larger."""
    tables = alias_tables(SMALL_TABLE, 64)
    partial = (tables.entries >> np.uint64(tables.low)) != np.tile(np.arange(4, dtype=np.uint64), 3)
    return drawn_by(replace(tables, entries=tables.entries + partial.astype(np.uint64)), rows, seed)


def modulo_bias(rows: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    """A byte modulo 100 for a total of 100."""
    ends = np.cumsum([[70, 20, 10], [20, 70, 10], [10, 20, 70]], axis=1)
    place = (source(seed).words(len(rows)) % np.uint64(256) % np.uint64(100)).astype(np.int64)
    return (place[:, None] >= ends[rows]).sum(axis=1)


def without_bias(rows: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    ends = np.cumsum([[70, 20, 10], [20, 70, 10], [10, 20, 70]], axis=1)
    place = (source(seed).words(len(rows)) % np.uint64(100)).astype(np.int64)
    return (place[:, None] >= ends[rows]).sum(axis=1)


class ReusedBits:
    """The bits that choose a bucket are those that are compared with its threshold."""

    def __init__(self, bits: SeededBits) -> None:
        self.bits = bits

    def words(self, count: int) -> NDArray[np.uint64]:
        words = self.bits.words(count) >> np.uint64(62)
        return (words << np.uint64(62)) | (words << np.uint64(60)) | (words << np.uint64(58))


def reused_bits(rows: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    tables = alias_tables(SMALL_TABLE, 64)
    return tables.draw(rows, FreshStream(ReusedBits(source(seed))), np.arange(len(rows)))


def rows_mixed_up(rows: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    return right(np.roll(rows, 1), seed)


def last_output_forgotten(rows: NDArray[np.int64], seed: int) -> NDArray[np.int64]:
    return np.minimum(right(rows, seed), 2)


SIXTY_FOUR = SMALL_TABLE / 64
HUNDRED = np.array([[70, 20, 10], [20, 70, 10], [10, 20, 70]]) / 100

BROKEN: list[tuple[Callable[..., Any], NDArray[Any]]] = [
    (alias_off_by_one, SIXTY_FOUR), (threshold_not_strict, SIXTY_FOUR), (modulo_bias, HUNDRED),
    (reused_bits, SIXTY_FOUR), (rows_mixed_up, SIXTY_FOUR), (last_output_forgotten, SIXTY_FOUR),
]  # fmt: skip


@pytest.mark.parametrize(("broken", "chances"), BROKEN)
def test_a_broken_sampler_is_caught(broken: Callable[..., Any], chances: NDArray[Any]) -> None:
    rows = mixed(3, 10)
    assert not fits(p_value(counted(rows, broken(rows, 10), *chances.shape), chances))


@pytest.mark.parametrize(("sound", "chances"), [(right, SIXTY_FOUR), (without_bias, HUNDRED)])
def test_its_sound_brother_is_not(sound: Callable[..., Any], chances: NDArray[Any]) -> None:
    rows = mixed(3, 10)
    assert fits(p_value(counted(rows, sound(rows, 10), *chances.shape), chances))


def test_one_word_for_two_draws_is_caught_by_pairs() -> None:
    tables = alias_tables(SMALL_TABLE, 64)
    rows = mixed(3, 11, 2 * DRAWS).reshape(-1, 2)
    words = np.repeat(source(11).words(DRAWS), 2)

    class Twice:
        def take(self, lanes: NDArray[np.int64], first: int, count: int) -> NDArray[np.uint64]:
            return words[lanes][None]

    drawn = tables.draw(rows.ravel(), Twice(), np.arange(rows.size)).reshape(-1, 2)
    pairs = np.einsum("ax,by->abxy", SIXTY_FOUR, SIXTY_FOUR).reshape(9, 16)
    assert not fits(p_value(counted(rows @ [3, 1], drawn @ [4, 1], 9, 16), pairs))
    single = counted(rows.ravel(), drawn.ravel(), 3, 4)
    assert p_value(single, SIXTY_FOUR) > 1e-6  # which counts of single draws would miss


def test_a_slightly_wrong_chance_is_caught() -> None:
    """One part in a hundred of one output, moved to its neighbour."""
    moved = np.array([[4000, 1600, 500, 300]])
    moved[0, 0], moved[0, 1] = 4000 - 64, 1600 + 64
    tables = alias_tables(moved, 6400)
    rows = np.zeros(4 * DRAWS, dtype=np.int64)
    assert not fits(p_value(counted(rows, drawn_by(tables, rows, 12), 1, 4), SIXTY_FOUR[:1]))


def test_the_budget_covers_all_that_is_asked() -> None:
    """Count what can fail by chance: one p-value a case, four for keys, one for pairs, three for sound draws."""
    asked = len(CASES) + 2 + 1 + 4 + 1 + len(LATTICES) + 2 + 4 + 3 + 2 + 1
    assert asked <= PLANNED
    assert BUDGET <= 1e-6
