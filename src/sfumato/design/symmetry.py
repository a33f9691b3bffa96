"""Symmetry of a problem: isometries that, with a permutation of the actions, leave prior and loss as they are.

If g moves secrets and h actions, and nothing changes, then with M also M(gx)(hw) is an optimum, and so is the mean
over the group. Only one column for each orbit of actions has to be found, and the rows of an orbit of secrets only have
to sum up to its size: :class:`sfumato.lp.ColumnProgram` has classes of rows for this. What is found is spread over the
group again. Nobody has to believe that a permutation is a symmetry: what comes out is repaired and proved like
everything else.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from sfumato.design.answer import Answer, Multipliers
from sfumato.design.problem import Problem
from sfumato.design.reduction import Reduced, Reduction, as_it_is
from sfumato.lp import ColumnProgram
from sfumato.numbers import Array, Floats, Integers, floats
from sfumato.watch import Watch

_MOST_ELEMENTS = 4000  # Larger groups belong to spaces so regular that they are small, or have closed forms.
_MOST_CANDIDATES = 50_000  # So many images of base points are tried at most.
_TIME_SHARE = 0.2  # Symmetries are looked for in this share of the time that is left.
_MOST_BASE = 6  # A space that needs more base points has a huge group.


@dataclass(frozen=True, eq=False)
class Symmetry:
    """A group, one row an element: where it moves each secret and each action."""

    secrets: Integers
    actions: Integers

    def __len__(self) -> int:
        return len(self.secrets)

    @property
    def classes(self) -> Integers:
        """The orbit of each secret."""
        return np.unique(self.secrets.min(axis=0), return_inverse=True)[1]

    @property
    def representatives(self) -> Integers:
        """One action of each orbit, the first."""
        return np.unique(self.actions.min(axis=0))

    def reduced(self, program: ColumnProgram) -> ColumnProgram:
        """One column for each orbit of actions, scaled by its size, and a class for each orbit of secrets."""
        chosen, classes = self.representatives, self.classes
        sizes = np.bincount(classes)[classes]
        limits = tuple(
            # a limit on every secret becomes one on the mean over each orbit; one on a total stays what it is
            replace(limit, table=limit.table[:, chosen])
            if len(limit.level) == 1
            else replace(
                limit,
                table=limit.table[:, chosen] / sizes[:, None],
                group=classes,
                level=limit.level[np.unique(classes, return_index=True)[1]],
            )
            for limit in program.limits
        )
        return ColumnProgram(program.cost[:, chosen], program.first, program.second, program.logs, classes, limits)

    def spread(self, matrix: Floats) -> Floats:
        """The whole mechanism from scaled columns of representatives: the mean over the group."""
        result = np.zeros((self.secrets.shape[1], self.actions.shape[1]))
        for moved, acted in zip(self.secrets, self.actions, strict=True):
            result[np.ix_(moved, acted[self.representatives])] += matrix
        return result / len(self)

    def spread_multipliers(self, given: Multipliers) -> Multipliers:
        """Multipliers of all columns from those of the representatives, whose actions are counted among these."""
        chosen, n, m = self.representatives, self.secrets.shape[1], self.actions.shape[1]
        sizes = np.bincount(self.actions.min(axis=0), minlength=m)[chosen]
        share = given.values * sizes[given.action] / len(self)
        first, second = self.secrets[:, given.first], self.secrets[:, given.second]
        action = self.actions[:, chosen[given.action]]
        # several elements may move a multiplier to one place
        return Multipliers.summed(n, first.ravel(), second.ravel(), action.ravel(), np.tile(share, len(self)))

    def spread_prices(self, prices: tuple[Floats, ...], groups: list[int]) -> tuple[Floats, ...]:
        """Prices of every secret from those of orbits, shared equally; those of totals as they are."""
        sizes = np.bincount(self.classes)
        return tuple(
            price if count == 1 else (price / sizes)[self.classes] for price, count in zip(prices, groups, strict=True)
        )


def symmetry(problem: Problem, watch: Watch | None = None) -> Symmetry | None:
    """The symmetries of a problem, or None where there is only the identity or more than is worth listing.

    Of the time that a watch has left a part is for this; where it is over, a solver has more of looking at all columns.
    """
    n, looking = len(problem.privacy.space), (watch or Watch()).share(_TIME_SHARE)
    if n < 2:
        return None
    table = _codes(problem.privacy.space.distances.values)
    program = problem.program
    parts = [_scrambled(_codes(floats(part))) for part in (program.cost, *(limit.table for limit in program.limits))]
    colours = _colours([_scrambled(table), *parts])
    base = _base(table, colours)
    if base is None:
        return None
    tables = np.ascontiguousarray(np.vstack(parts).T)
    moved, acted = [], []
    for images in _images(table, colours, base):
        if looking.over:
            return None
        permutation = _extended(table, colours, base, images)
        if permutation is None:
            continue
        actions = _matching_actions(tables, permutation)
        if actions is not None:
            moved.append(permutation)
            acted.append(actions)
        if len(moved) > _MOST_ELEMENTS:
            return None
    return Symmetry(np.array(moved), np.array(acted)) if len(moved) > 1 else None


def by_group(problem: Problem, group: Symmetry | None) -> Reduced:
    """One column for each orbit of actions; what is found is spread over the group again. All columns without one."""
    if group is None:
        return Reduced(problem.program, as_it_is)
    levels = [len(limit.level) for limit in problem.program.limits]

    def invert(answer: Answer) -> Answer:
        return replace(
            answer,
            matrix=group.spread(answer.matrix),
            multipliers=group.spread_multipliers(answer.multipliers),
            prices=group.spread_prices(answer.prices, levels),
            method=f"{answer.method}, {len(group)} symmetries",
        )

    return Reduced(group.reduced(problem.program), invert)


def _step(problem: Problem, watch: Watch) -> Reduced | None:
    group = symmetry(problem, watch)
    return None if group is None else by_group(problem, group)


SYMMETRIES = Reduction("columns that symmetries make alike", lambda problem: len(problem.privacy.space) > 1, _step)
"""What is left is a program over columns, not a problem."""


def _codes(table: Array) -> Integers:
    """Equal entries as equal integers: the bits of floats, of which zero alone has two kinds."""
    if table.dtype == np.float64:
        return np.asarray(table + 0.0).view(np.int64)
    return np.asarray(table, dtype=np.int64)


def _colours(parts: list[NDArray[np.uint64]]) -> Integers:
    """Secrets of different colours are not exchanged: their distances, or what is at stake there, differ as sets.

    Sets are told apart by the sums of their scrambled members; where two agree by accident nothing is lost, because
    every isometry is checked.
    """
    sums = np.stack([part.sum(axis=1) for part in parts], axis=1)
    return np.asarray(np.unique(sums, axis=0, return_inverse=True)[1].ravel())


def _scrambled(codes: Integers) -> NDArray[np.uint64]:
    """A permutation of the 64-bit integers that looks random: the bits of most floats end in zeros."""
    mixed = codes.astype(np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed ^= mixed >> np.uint64(shift)
        mixed *= np.uint64(factor)
    mixed ^= mixed >> np.uint64(31)
    return mixed


def _refined(classes: Integers, codes: Integers) -> Integers:
    """Numbers for points that differ in one of two ways."""
    ranks = np.unique(codes, return_inverse=True)[1].ravel()
    return np.asarray(np.unique(classes * len(classes) + ranks, return_inverse=True)[1].ravel())


def _base(table: Integers, colours: Integers) -> list[int] | None:
    """Points whose distances tell all points apart: an isometry is known once their images are."""
    classes = colours.copy()
    base: list[int] = []
    for _ in range(_MOST_BASE):
        if len(np.unique(classes)) == len(classes):
            return base
        # the candidate that splits most, among a few of each colour: trying all would take n² steps
        candidates = np.unique(np.linspace(0, len(classes) - 1, 64).astype(int))
        split = [int(_refined(classes, table[x]).max()) for x in candidates]
        best = int(candidates[int(np.argmax(split))])
        base.append(best)
        classes = _refined(classes, table[best])
    return base if len(np.unique(classes)) == len(classes) else None


def _images(table: Integers, colours: Integers, base: list[int]) -> list[list[int]]:
    """Points that may be the images of the base: of the same colours, at the same distances from each other."""
    partial: list[list[int]] = [[]]
    for x in base:
        grown = []
        for images in partial:
            fits = colours == colours[x]
            for j, y in enumerate(images):
                fits &= table[y] == table[base[j], x]
            grown += [[*images, int(y)] for y in np.flatnonzero(fits)]
        if len(grown) > _MOST_CANDIDATES:
            return []
        partial = grown
    return partial


def _extended(table: Integers, colours: Integers, base: list[int], images: list[int]) -> Integers | None:
    """The isometry with these images of the base, if there is one."""
    before = np.lexsort((*table[base], colours))
    after = np.lexsort((*table[images], colours))
    if (table[base][:, before] != table[images][:, after]).any() or (colours[before] != colours[after]).any():
        return None
    permutation = np.empty(len(table), dtype=np.int64)
    permutation[before] = after
    kept = (table[np.ix_(permutation, permutation)] == table).all()
    return permutation if kept else None


def _matching_actions(tables: NDArray[np.uint64], permutation: Integers) -> Integers | None:
    """How actions must move with the secrets so that no table changes: one row an action, codes of its entries."""
    n, inverse = len(permutation), np.argsort(permutation)
    # rows are told apart by a hash in wrapping integers, which does not depend on the order of summation
    weights = np.random.default_rng(7).integers(1, 2**62, tables.shape[1], dtype=np.uint64).reshape(-1, n)
    order = np.argsort(tables @ weights[:, permutation].ravel(), kind="stable")
    target = np.argsort(tables @ weights.ravel(), kind="stable")
    result = np.empty(len(tables), dtype=np.int64)
    result[order] = target
    several = tables.reshape(len(tables), -1, n)
    return result if (several[result] == several[:, :, inverse]).all() else None
