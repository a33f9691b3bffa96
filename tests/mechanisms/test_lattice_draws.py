"""Draws on grids: proposals exceed the weights everywhere, and have exactly the chances they are judged by."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import product
from typing import Any

import numpy as np
import pytest

from sfumato.draws.randomness import FreshStream, SystemBits
from sfumato.errors import NotSupported
from sfumato.mechanisms import lattice_draws
from sfumato.mechanisms.lattice import KERNEL_BITS, Lattice
from sfumato.mechanisms.lattice_draws import LatticePlan, lattice_plan, weight_of
from sfumato.mechanisms.tight import LatticeMechanism, lattice_tight_constraints

TOTAL = 1 << KERNEL_BITS

OFFSETS = {"plane": Lattice((7, 5)), "chebyshev": Lattice((4, 4), "chebyshev"), "space": Lattice((3, 4, 3))}
NOISE = {"manhattan": Lattice((5, 4), "manhattan"), "line": Lattice((9,)), "flat": Lattice((1, 6, 1), "manhattan")}


@cache
def mechanism_of(name: str) -> LatticeMechanism:
    return lattice_tight_constraints({**OFFSETS, **NOISE}[name], epsilon="1.5" if name in OFFSETS else "0.4")


def all_cells(mechanism: LatticeMechanism) -> list[tuple[int, ...]]:
    return list(product(*map(range, mechanism.lattice.shape)))


@pytest.mark.parametrize("name", [*OFFSETS, *NOISE])
def test_parts_of_a_row_add_up_to_its_weights(name: str) -> None:
    mechanism = mechanism_of(name)
    spill = np.ravel_multi_index(mechanism.spill, mechanism.lattice.shape)
    for secret in all_cells(mechanism)[::3]:
        near = [weight_of(mechanism, secret, cell) for cell in range(len(mechanism.lattice))]
        weights = mechanism.row_weights(secret).ravel() - mechanism.floor
        missing = TOTAL - len(near) * mechanism.floor - sum(near)
        assert mechanism.missing[0] <= missing <= mechanism.missing[1]
        weights[spill] -= missing
        assert weights.tolist() == near


@pytest.mark.parametrize("name", [*OFFSETS, *NOISE])
def test_no_weight_exceeds_its_proposal(name: str) -> None:
    mechanism = mechanism_of(name)
    proposals = lattice_plan(mechanism).proposals
    for secret in all_cells(mechanism)[::2]:
        for cell in range(len(mechanism.lattice)):
            low, high = proposals.bounds(secret, cell, 64)
            assert weight_of(mechanism, secret, cell) <= low <= high <= low * (1 + Fraction(1, 2**60))


@pytest.mark.parametrize("name", OFFSETS)
def test_offsets_are_proposed_with_the_chances_they_are_judged_by(name: str) -> None:
    """Fold all offsets into the grid, from every secret, and compare with M."""
    mechanism = mechanism_of(name)
    proposals: Any = lattice_plan(mechanism).proposals
    shape = mechanism.lattice.shape
    weights = proposals.tables.weights[0].tolist()
    assert weights[-1] == proposals.anywhere * len(mechanism.lattice)
    for secret in all_cells(mechanism)[::2]:
        chances = np.full(shape, proposals.anywhere, dtype=object)
        for offset, weight in zip(proposals.offsets.tolist()[:-1], weights[:-1], strict=True):
            place = tuple(min(max(x + o, 0), s - 1) for x, o, s in zip(secret, offset, shape, strict=True))
            chances[place] += weight
        assert sum(chances.ravel()) == proposals.tables.total
        for cell, chance in enumerate(chances.ravel()):
            assert proposals.bounds(secret, cell, 64) == (chance, chance)


@pytest.mark.parametrize("name", NOISE)
def test_noise_is_proposed_with_the_chances_it_is_judged_by(name: str) -> None:
    """Clamped two-sided geometric noise along each axis, mixed with any cell, times one factor: M."""
    lattice = NOISE[name]
    mechanism = lattice_tight_constraints(lattice, alpha="2/3")
    alpha, share = Fraction(2, 3), Fraction(1, 2**20)
    proposals = lattice_plan(mechanism).proposals

    def along(x: int, y: int, side: int) -> Fraction:
        if side == 1:
            return Fraction(1)
        edge = y in (0, side - 1)
        return alpha ** abs(x - y) / (1 + alpha) * (1 if edge else 1 - alpha)

    for secret in all_cells(mechanism)[::3]:
        total = Fraction(0)
        for cell, place in enumerate(all_cells(mechanism)):
            noise = np.prod([along(x, y, s) for x, y, s in zip(secret, place, lattice.shape, strict=True)])
            chance = (1 - share) * noise + share / len(lattice)
            total += chance
            low, high = proposals.bounds(secret, cell, 64)
            assert low <= TOTAL * (1 + share) / (1 - share) * chance <= high
        assert total == 1


@pytest.mark.parametrize("name", [*OFFSETS, *NOISE])
def test_compiled_proposals_agree_with_the_slow_ones(name: str) -> None:
    mechanism = mechanism_of(name)
    proposals = lattice_plan(mechanism).proposals
    secrets = np.array(all_cells(mechanism)).T
    lanes = np.arange(secrets.shape[1])
    waiting = np.repeat(lanes, 5)
    stream = FreshStream(SystemBits())
    found = proposals.propose(secrets, waiting, stream, np.arange(len(waiting)), 1)
    for k in range(len(waiting)):
        secret, cell = tuple(secrets[:, waiting[k]].tolist()), int(found.cells[k])
        assert int(found.weights[k]) == weight_of(mechanism, secret, cell)
        low, high = proposals.bounds(secret, cell, 64)
        assert int(found.least[k]) <= low <= high <= int(found.most[k])
        # wider than 1 only where similarities are rounded: a few units of 2^-60
        assert int(found.most[k]) - int(found.least[k]) <= (0 if name in OFFSETS else 8)


def test_any_cell_can_be_proposed() -> None:
    """The rare proposals, made frequent: they are judged like the others."""
    for name in ("plane", "manhattan"):
        mechanism = mechanism_of(name)
        proposals = lattice_plan(mechanism, mix=2).proposals
        secret = (0,) * 2
        lanes = np.arange(4000)
        found = proposals.propose(np.zeros((2, 4000), dtype=np.int64), lanes, FreshStream(SystemBits()), lanes, 1)
        seen = set(found.cells.tolist())
        assert seen == set(range(len(mechanism.lattice)))
        for k in range(0, 4000, 7):
            low, high = proposals.bounds(secret, int(found.cells[k]), 64)
            assert int(found.least[k]) <= low <= high <= int(found.most[k])
            assert int(found.weights[k]) == weight_of(mechanism, secret, int(found.cells[k]))


# ----------------------------------------------------------------- judging


def test_a_proposal_is_judged_by_integers() -> None:
    one = np.uint64(1)
    cases = []
    for weight, bound in ((3, 7), (1, 3), (7, 7), (0, 5), (2**60, 2**61 - 1)):
        edge = -(-weight * 2**64 // bound)  # the first word at or beyond the ratio
        for word in {0, edge - 2, edge - 1, edge, edge + 1, 2**64 - 1}:
            if 0 <= word < 2**64:
                cases.append((word, weight, bound))
    words, weights, bounds = (np.array(part, dtype=np.uint64) for part in zip(*cases, strict=True))
    states = lattice_draws._judge(words, one, weights, bounds, bounds)
    for (word, weight, bound), state in zip(cases, states.tolist(), strict=True):
        if (word + 1) * bound <= weight * 2**64:
            assert state == lattice_draws._TAKEN
        elif word * bound >= weight * 2**64:
            assert state == lattice_draws._REJECTED
        else:
            assert state == lattice_draws._OPEN
    assert {0, 1, 2} == set(states.tolist())


def test_loose_bounds_and_few_digits_leave_open_what_they_must() -> None:
    step = np.uint64(1 << 60)
    words = np.arange(16, dtype=np.uint64) << np.uint64(60)
    weights, least, most = (np.full(16, v, dtype=np.uint64) for v in (50, 95, 105))
    states = lattice_draws._judge(words, step, weights, least, most).tolist()
    for k, state in enumerate(states):
        sure = (k + 1) * 105 <= 50 * 16
        never = k * 95 >= 50 * 16
        assert state == (1 if sure else 0 if never else 2)


# ----------------------------------------------------------------- the other parts of a row


def lopsided(name: str) -> LatticeMechanism:
    """A third of a row on its similarities, a third on the floor, a third missing: no proof, but a row of weights."""
    made = mechanism_of(name)
    count = len(made.lattice)
    changed = replace(made, diagonal=made.diagonal // 3, floor=TOTAL // 3 // count)
    rows = [
        TOTAL - count * changed.floor - sum(weight_of(changed, s, c) for c in range(count)) for s in all_cells(made)
    ]
    spread = (max(rows) - min(rows)) + TOTAL // 50
    return replace(changed, missing=(Fraction(min(rows) - spread), Fraction(max(rows) + spread)))


@pytest.mark.parametrize("name", ["plane", "manhattan"])
def test_the_integer_below_two_to_the_sixty_decides_between_the_parts(name: str) -> None:
    mechanism = lopsided(name)
    cells = LatticePlan(mechanism, lattice_plan(mechanism_of(name)).proposals)
    count, secret = len(mechanism.lattice), (1, 2)
    spill = int(np.ravel_multi_index(mechanism.spill, mechanism.lattice.shape))
    missing = TOTAL - count * mechanism.floor - sum(weight_of(mechanism, secret, c) for c in range(count))
    assert [cells._elsewhere(secret, place) for place in (0, mechanism.floor - 1, mechanism.floor)] == [0, 0, 1]
    assert cells._elsewhere(secret, count * mechanism.floor - 1) == count - 1
    assert cells._elsewhere(secret, TOTAL - 1) == spill == cells._elsewhere(secret, TOTAL - missing)
    assert cells._elsewhere(secret, TOTAL - missing - 1) is None
    wrong = LatticePlan(replace(mechanism, missing=(Fraction(1), Fraction(2))), cells.proposals)
    with pytest.raises(AssertionError, match="outside of its bounds"):
        wrong._elsewhere(secret, TOTAL - 2)


def test_bounds_are_so_close_that_rows_are_hardly_ever_summed() -> None:
    mechanism = lattice_tight_constraints(Lattice((60, 60)), epsilon=1)
    assert float(mechanism.missing[1] - mechanism.missing[0]) / TOTAL < 1e-11


def test_the_chance_of_a_rejection_is_the_same_for_all_secrets() -> None:
    """Work does not depend on the secret: what is taken of proposals is S/ΣM, and S differs by what may be missing."""
    for name in ("plane", "manhattan"):
        mechanism = mechanism_of(name)
        count = len(mechanism.lattice)
        sums = [sum(weight_of(mechanism, s, c) for c in range(count)) for s in all_cells(mechanism)]
        assert max(sums) - min(sums) <= mechanism.missing[1] - mechanism.missing[0]
        assert max(sums) / min(sums) < 1 + 1e-12


def test_most_proposals_are_taken() -> None:
    for lattice, epsilon, least in (
        (Lattice((100, 100)), "0.8", 0.55), (Lattice((100, 100)), 1, 0.55), (Lattice((20, 20, 20)), 2, 0.5),
    ):  # fmt: skip
        proposals: Any = lattice_plan(lattice_tight_constraints(lattice, epsilon=epsilon)).proposals
        assert TOTAL / proposals.tables.total > least


def test_boxes_too_large_for_a_table_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lattice_draws, "_LARGEST_BOX", 10)
    with pytest.raises(NotSupported, match="a table of proposals"):
        lattice_plan(mechanism_of("plane"))


def test_what_is_assumed_of_a_mechanism_is_checked() -> None:
    made = mechanism_of("manhattan")
    bumped = made.diagonal.copy()
    bumped[1, 1] += 1
    with pytest.raises(AssertionError, match="more than the border"):
        lattice_plan(replace(made, diagonal=bumped))
    with pytest.raises(AssertionError, match="rarer"):
        lattice_plan(replace(made, diagonal=made.diagonal + made.diagonal // 1000))
