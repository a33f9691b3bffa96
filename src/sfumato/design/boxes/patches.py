"""Tables for boxes that are large beside 1/ε, improved patch by patch.

A column falls by e^(−ε) with every unit of length: what is told in one part of a town has next to nothing to do with
another. So a table begins as noise that promises a little more than it has to, each output moved to where somebody who
knows the prior would guess. Then patches take turns. The columns whose outputs lie in a patch have a sum S; any columns
with the same sum that keep the promise may stand in their place, and the best of these are a conic program of their
own. Far from the patch columns stay as they are, so that its rows are the lattice points near by, and what columns are
elsewhere is added to their forms (:class:`~sfumato.lp.cone.blocks.BlockProgram`). Each program begins at the columns
that are there: a patch can only gain. With every sweep the promise comes closer to the one that is asked for, which
leaves all columns strictly inside their cones, as interior points need it.

Rows are measured in S and forms in those of S, since columns span many orders of magnitude.

The rows of noise that is the same everywhere, in floats, are those that the table begins with; what leaves the box is
moved to its border.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from math import ceil, prod

import numpy as np
from scipy.sparse import csr_array

from sfumato.certify.noise import BoxNoise, whole_table
from sfumato.design.boxes.moments import Moments
from sfumato.design.boxes.program import blocks_of
from sfumato.design.boxes.table import BoxTable, best_places, moved_outputs
from sfumato.errors import InvalidInput, NotConverged
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.lp.cone.blocks import Block, BlockProgram
from sfumato.lp.cone.general import solve_blocks
from sfumato.mechanisms.box_noise import laplace_noise
from sfumato.numbers import Floats, Integers, exact
from sfumato.privacy.type import PrivacyType
from sfumato.processes import SideBySide
from sfumato.spaces.box import Box
from sfumato.spaces.splines import Rounding, rounding_of
from sfumato.watch import Watch

START = 0.94
"""The part of ε that noise begins with: the rest is room for the sweeps."""

SWEEPS = 8
"""Each of them halves what is left of the room."""

_SHIFTS = (0.0, 0.5, 0.25, 0.75)  # of patches from one sweep to the next, as parts of their sides
_PATCH, _MARGIN = 5.0, 3.0  # ε times the side of a patch, and how far around it rows may change
_APART = 0.85  # ε times the distance of outputs, about: closer ones are joined
_COARSE, _FINE, _COARSEST = 0.8, 0.5, 1.3  # ε times the side of a cell: at first, in the end, at most
_MOST_ROWS = 6_000
_MANY = 100.0  # ε² times the area of a box, for each of its symmetries, from which on patches take turns
_UNEVEN = 2.0  # times as many people as in the mean cell are in the fullest one, at least
_ACCURACY = 5e-3  # the gap of a patch: sweeps that follow gain more than that


def sweep_share(sweep: int) -> float:
    """The part of ε that a sweep may use."""
    return float(1 - (1 - START) / 2 ** (sweep + 1))


def noise_start(privacy: PrivacyType, parts: tuple[int, ...], weigh: Callable[[Rounding], Moments],
                loss: CoordinateLoss) -> BoxTable:  # fmt: skip
    """Noise on the cells of a box, each in so many parts, with outputs where they lose least; close ones are one."""
    noise = laplace_noise(PrivacyType(loss.box, epsilon=exact(START * privacy.rate)), parts=parts)
    matrix = clamped_rows(noise)
    weighed = weigh(noise.rounding)
    where = best_places(clamped_points(noise.rounding), np.asarray(weighed.weights.T @ matrix), weighed.points, loss)
    grid = _APART / privacy.rate
    squares, which = np.unique(np.floor(where / grid), axis=0, return_inverse=True)
    joined = np.zeros((len(squares), len(matrix)))
    np.add.at(joined, which.ravel(), matrix.T)
    matrix = np.ascontiguousarray(joined.T)
    middle = np.clip((squares + 0.5) * grid, 0.0, [float(side) for side in loss.box.sides])
    return moved_outputs(BoxTable(noise.rounding, 1, middle, matrix, 0.0, weighed.parts), weighed, loss)


def refined(table: BoxTable, weigh: Callable[[Rounding], Moments], loss: CoordinateLoss) -> BoxTable:
    """The same functions on a lattice with cells of half the side: B-splines of degree 2, subdivided.

    Examples
    --------
    >>> halved(np.array([0.0, 4.0, 8.0])[:, None], 0).ravel().tolist()
    [1.0, 3.0, 5.0, 7.0]
    """
    axes = table.rounding.axes
    finer = [sorted({*axis.breaks, *((a + b) / 2 for a, b in pairwise(axis.breaks))}) for axis in axes]
    rounding = rounding_of(table.rounding.box, breaks=finer)
    numbers = table.matrix.reshape(*table.rounding.shape, -1)
    for axis in range(len(axes)):
        numbers = halved(numbers, axis)
    weighed = weigh(rounding)
    matrix = numbers.reshape(len(rounding), -1)
    return moved_outputs(replace(table, rounding=rounding, matrix=matrix, parts=weighed.parts), weighed, loss)


def halved(numbers: Floats, axis: int) -> Floats:
    """Control numbers of a spline of degree 2 with equal cells, for cells of half the side."""
    first = np.moveaxis(numbers, axis, 0)
    low, high = first[:-1], first[1:]
    both = np.stack([0.75 * low + 0.25 * high, 0.25 * low + 0.75 * high], axis=1)
    return np.moveaxis(both.reshape(-1, *first.shape[1:]), 0, axis)


@dataclass(eq=False)
class Patches:
    """Sweeps over one lattice, then over finer ones; each takes the table on from where the last one left it.

    Parameters
    ----------
    privacy, loss
        The question, beside the prior, which ``weigh`` knows.
    rate
        ε in units of the map.
    lattices
        Into how many parts the cells of the box are cut, for each lattice in its turn.
    """

    privacy: PrivacyType
    loss: CoordinateLoss
    rate: float
    weigh: Callable[[Rounding], Moments]
    lattices: list[tuple[int, ...]]
    sweeps: int = 0
    table: BoxTable | None = None
    apart: SideBySide = field(default_factory=SideBySide)

    @property
    def rounds(self) -> list[tuple[int, ...]]:
        """The lattice of each sweep: as many on each, and most on the last."""
        first = [parts for parts in self.lattices[:-1] for _ in range(SWEEPS // len(self.lattices))]
        return first + [self.lattices[-1]] * (SWEEPS - len(first))

    def sweep(self, watch: Watch, told: Callable[[float], None]) -> BoxTable:
        """The next sweep."""
        if self.table is None:
            self.table = noise_start(self.privacy, self.lattices[0], self.weigh, self.loss)
        elif self.rounds[self.sweeps] != self.rounds[self.sweeps - 1]:
            self.table = refined(self.table, self.weigh, self.loss)
        told(self.table.value)
        weighed, rest = self.weigh(self.table.rounding), watch.before(self.table.proof_seconds)
        self.table = swept(self.table, weighed, self.loss, self.rate, self.sweeps, rest, told, self.apart)
        self.sweeps += 1
        return self.table


def patches_for(
    privacy: PrivacyType, loss: CoordinateLoss, rate: float, density: Floats, symmetries: int,
    weigh: Callable[[Rounding], Moments],
) -> Patches | None:  # fmt: skip
    """Patches that take turns, where a box is large beside what its symmetries leave, and people live unevenly.

    In the midst of people who live evenly no mechanism is much better than noise, so that sweeps gain next to nothing.
    """
    box = loss.box
    across = prod(rate * float(side) for side in box.sides)
    if box.dimension != 2 or across < _MANY * symmetries or density.max() < _UNEVEN * density.mean():
        return None
    lattices = lattices_for(box, rate)
    return Patches(privacy, loss, rate, weigh, lattices) if lattices else None


def lattices_for(box: Box, rate: float) -> list[tuple[int, ...]]:
    """Lattices of equal cells for a box, the next with cells of half the side; none where the first has too many."""
    wanted = [max(1, ceil(rate * float(step) / _COARSE - 1e-9)) for step in box.step]
    while max(wanted) > 1 and _rows(box, wanted) > _MOST_ROWS:
        wanted = [max(1, many - 1) for many in wanted]
    widest = max(rate * float(step) / many for step, many in zip(box.step, wanted, strict=True))
    if widest > _COARSEST or _rows(box, wanted) > _MOST_ROWS:
        return []
    found = [tuple(wanted)]
    while widest > _FINE and _rows(box, [2 * many for many in found[-1]]) <= _MOST_ROWS:
        found.append(tuple(2 * many for many in found[-1]))
        widest /= 2
    return found


def _rows(box: Box, parts: Sequence[int]) -> int:
    return prod(cells * many + 2 for cells, many in zip(box.shape, parts, strict=True))


def swept(
    table: BoxTable, weighed: Moments, loss: CoordinateLoss, rate: float, sweep: int, watch: Watch,
    told: Callable[[float], None], apart: SideBySide | None = None,
) -> BoxTable:  # fmt: skip
    """The table after all patches have had a turn, or those that the time was enough for.

    ``rate`` is ε in units of the map; ``told`` hears of the loss after every patch. Patches have no column in common,
    and what a patch does depends on its own columns only: they are solved side by side.
    """
    blocks = blocks_of(table.rounding, sweep_share(sweep) * rate, table.halvings)
    cost = weighed.costs(loss.at(weighed.points, table.outputs))
    matrix, value = table.matrix.copy(), table.value
    patches = list(_patches(table, rate, _SHIFTS[sweep % len(_SHIFTS)]))

    def task(patch: tuple[Integers, Integers]) -> PatchTask:
        return _task(table.matrix, cost, blocks, *patch, watch.left)

    found = (apart or SideBySide()).each(improved, patches, task)
    try:
        for (columns, rows), (better, gained) in zip(patches, found, strict=True):
            if better is not None:
                matrix[np.ix_(rows, columns)] = better
            value -= gained
            told(value)
    except KeyboardInterrupt:  # what has been gained so far is kept
        watch.stop()
    return moved_outputs(replace(table, matrix=matrix), weighed, loss)


def _patches(table: BoxTable, rate: float, shift: float) -> Iterator[tuple[Integers, Integers]]:
    """The columns of each patch that has several, and the rows near by."""
    box: Box = table.rounding.box
    side, margin = _PATCH / rate, _MARGIN / rate
    points = clamped_points(table.rounding)
    for low in product(*(np.arange(-shift * side, float(length), side) for length in box.sides)):
        inside = ((table.outputs >= low) & (table.outputs < np.add(low, side))).all(axis=1)
        near = ((points >= np.subtract(low, margin)) & (points <= np.add(low, side + margin))).all(axis=1)
        if inside.sum() > 1:
            yield np.flatnonzero(inside), np.flatnonzero(near)


@dataclass(frozen=True, eq=False)
class PatchTask:
    """The program of a patch, as it travels: what is at stake, forms and what is added to them, and where it begins.

    Entries are parts of ``scale``, the sum of the columns in each row; ``seconds`` may be taken.
    """

    stakes: Floats
    blocks: tuple[Block, ...]
    start: Floats
    offsets: tuple[Floats, ...]
    scale: Floats
    seconds: float | None


def _task(
    matrix: Floats, cost: Floats, blocks: tuple[Block, ...], columns: Integers, rows: Integers, seconds: float | None
) -> PatchTask:
    """What the columns of a patch may be, with the same sum."""
    own = matrix[:, columns]
    total = own.sum(axis=1)
    scale = total[rows, None]
    local, offsets = zip(*(_local(block, total, own, rows) for block in blocks), strict=True)
    return PatchTask(scale * cost[np.ix_(rows, columns)], local, own[rows] / scale, offsets, scale, seconds)


def improved(task: PatchTask) -> tuple[Floats | None, float]:
    """Better columns with the same sum, and what is gained; none where there are none, or no time to find them."""
    if task.seconds == 0.0:
        return None, 0.0
    try:
        program = BlockProgram(task.stakes, task.blocks, inside=task.start, offsets=task.offsets)
        solution = solve_blocks(program, tolerance=_ACCURACY, time_limit=task.seconds, threads=1)
    except (InvalidInput, NotConverged):  # by rounding a column lies on the boundary, or the time is up
        return None, 0.0
    gained = float((task.stakes * task.start).sum()) - solution.value
    return (task.scale * solution.matrix, gained) if gained > 0 else (None, 0.0)


def _local(block: Block, total: Floats, own: Floats, rows: Integers) -> tuple[Block, Floats]:
    """The forms of a block that look at some rows, in units of the sum of columns; and what other rows add to them."""
    looks = np.any([np.diff(csr_array(form[:, rows]).indptr) > 0 for form in block], axis=0)
    unit = 1.0 / (block[0][looks] @ total)
    elsewhere = own.copy()
    elsewhere[rows] = 0.0
    forms, offsets = [], []
    for form in block:
        chosen = csr_array(form[looks])
        own_rows = csr_array(chosen[:, rows] * total[rows][None, :])
        own_rows.data *= np.repeat(unit, np.diff(own_rows.indptr))
        forms.append(own_rows)
        offsets.append((chosen @ elsewhere) * unit[:, None])
    return tuple(forms), np.stack(offsets)


def clamped_points(rounding: Rounding) -> Floats:
    """Where lattice points are, moved into the box: what noise tells."""
    grids = np.meshgrid(*([float(point) for point in axis.points] for axis in rounding.axes), indexing="ij")
    sides = [float(side) for side in rounding.box.sides]
    return np.asarray(np.clip(np.stack(grids, axis=-1).reshape(-1, len(grids)), 0.0, sides))


def clamped_rows(noise: BoxNoise) -> Floats:
    """Chances of all outputs at all lattice points, axis by axis: what leaves the box is moved to its border."""
    chances, extended = whole_table(noise.table).astype(np.float64), np.ones(())
    for axis, (many, reach) in enumerate(zip(noise.rounding.shape, noise.reach, strict=True)):
        chances = _clamped(chances, axis, many, reach)
        border = np.ones(many)
        border[[0, -1]] += reach
        extended = np.multiply.outer(extended, border)
    order = (*range(0, chances.ndim, 2), *range(1, chances.ndim, 2))
    rows = chances.transpose(order).reshape(len(noise.rounding), -1) + float(noise.floor) * extended.ravel()
    return np.asarray(rows / rows.sum(axis=1, keepdims=True))


def _clamped(chances: Floats, done: int, many: int, reach: int) -> Floats:
    """Offsets along the next axis become lattice points and outputs along two; tails are summed from their ends."""
    offsets = np.moveaxis(chances, 2 * done, 0)
    shift = np.subtract.outer(-np.arange(many), -np.arange(many)) + reach  # where the offset of each pair stands
    last = len(offsets) - 1
    inside = ((shift >= 0) & (shift <= last)).reshape(many, many, *[1] * (offsets.ndim - 1))
    found = np.where(inside, offsets[np.clip(shift, 0, last)], 0.0)
    low, high = np.cumsum(offsets, axis=0), np.cumsum(offsets[::-1], axis=0)[::-1]
    for v in range(many):
        found[v, 0] = low[reach - v] if v <= reach else 0.0
        upper = reach + many - 1 - v
        found[v, -1] = high[upper] if upper <= last else 0.0
    return np.moveaxis(found, (0, 1), (2 * done, 2 * done + 1))
