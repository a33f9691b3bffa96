"""The iterate of :mod:`sfumato.lp.cone.general`: strips of columns on all cores, and the prices that link them.

What a strip does is in :mod:`sfumato.lp.cone.strips`: operations on whole arrays over cones and columns, and systems
with entries near the diagonal (:mod:`sfumato.lp.cone.banded`). A strip is small enough for its arrays to stay in the
cache of a core.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import reduce
from operator import add
from typing import Any, TypeVar

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from sfumato.lp.cone import cholesky
from sfumato.lp.cone.arrays_backend import Arrays
from sfumato.lp.cone.banded import Bands
from sfumato.lp.cone.blocks import BlockProgram
from sfumato.lp.cone.loop import Predicted, Steps, longest
from sfumato.lp.cone.products import row_weights
from sfumato.lp.cone.registers import LANES
from sfumato.lp.cone.second_order import inverse
from sfumato.lp.cone.strips import Forms, Parts, Strip, Systems
from sfumato.memory import check_memory
from sfumato.numbers import Floats, Integers
from sfumato.threads import cores
from sfumato.watch import Watch

Result = TypeVar("Result")
Kept = list[tuple[Any, Parts]]
"""Entries and duals of all strips at some time."""

# What sums lack after a direction is found is corrected at most so often, and not below this part of a total.
_REFINEMENTS, _IMBALANCE = 3, 1e-13
# What costs are above their least, relative to their size, is rounding error below the square of this.
_SMALLEST_SCALE = 1e-6
# A column that vanishes has at least this weight, in terms of an average one.
_SMALLEST_COLUMN = 1e-3
# A pivot of the links below this part of its diagonal entry has lost all digits; its price is left as it is.
_LOST = 2.0**-52
# All forms of a strip of columns take about so many bytes: larger arrays leave the cache, smaller ones cost more calls.
_STRIP = 2**21
# With fewer forms times columns than this, handing work to a thread takes longer than the work.
_WORTH_A_THREAD = 50_000
# A step that rounding puts on the boundary is halved at most so often.
_HALVINGS = 6
# Shares of a corrector, from which the best is chosen for each side on its own, and by how much a step must grow.
_SHARES = (1.0, 0.6, 0.3)
_GAIN = 0.01
# Columns are left out where no more than this part of them stays: to lay out the others takes time too.
_THINNED = 0.85
_SMALLER = ("fewer columns", "a coarser lattice")


class BlockIterate:
    """The iterate of one run; costs are shifted and scaled: the least is 0, and the start has a value of about 1."""

    def __init__(
        self, program: BlockProgram, watch: Watch, arrays: Arrays | None = None, threads: int | None = None
    ) -> None:
        self.threads = threads or cores()
        self.order = _narrow_order(program)
        blocks = tuple(tuple(csr_array(matrix[:, self.order]) for matrix in block) for block in program.blocks)
        self.program = program = BlockProgram(
            program.cost[self.order], blocks, program.sums[:, self.order], program.totals, program.inside[self.order],
            program.offsets,
        )  # fmt: skip
        self.watch, self.arrays = watch, arrays or Arrays()
        self.floor = program.least(program.cost)
        cost = program.cost - (program.sums.T @ self.floor)[:, None]
        r = program.inside[:, None] * _column_sizes(program, cost) if program.inside.ndim == 1 else program.inside
        # What is left of costs without a choice is rounding error, and no scale. A power of two changes no digits, so
        # that duals are inside their cones in the program's scale too.
        stake = max(float((cost * r).sum()), _SMALLEST_SCALE**2 * float((np.abs(program.cost) * r).sum())) or 1.0
        self.scale = float(2.0 ** np.round(np.log2(stake)))
        cost /= self.scale
        self.forms = Forms(program, row_weights(cost.mean(axis=1)), self.arrays)
        self.weight = program.shape[1] * float(sum(weight.sum() for weight in self.forms.light))
        self.columns = np.arange(program.shape[1])
        self.pool: ThreadPoolExecutor | None = None
        self._prepare()
        self._start(cost, r)
        self.link: Any = np.empty((0, 0))

    def _prepare(self) -> None:
        """Check that there is room, and make threads and what they need."""
        (n, m), components = self.program.shape, self.forms.components
        width = int((self.forms.rows - self.forms.columns).max(initial=0))
        check_memory(8 * m * (n * (width + 12) + 16 * components),
                   f"the block method for {n} rows, {components} forms and {m} columns", _SMALLER)  # fmt: skip
        threads = self.threads if components * m >= _WORTH_A_THREAD else 1
        self.pool = ThreadPoolExecutor(threads) if threads > 1 else None
        self.scratch: list[tuple[Any, Any]] = [(Bands.scratch(n), np.zeros((n, n))) for _ in range(threads)]

    def _width(self) -> int:
        """How many columns make a strip."""
        most = min(_STRIP // (8 * self.forms.components), self.program.shape[1] // len(self.scratch))
        return max(1, most // LANES) * LANES

    def _systems(self, columns: int) -> Systems:
        """Where the systems of some columns are kept."""
        return Bands(self.program.shape[0], (self.forms.rows, self.forms.columns), columns)

    def _start(self, cost: Floats, r: Floats) -> None:
        """Columns that are multiples of the one inside, and duals that make them nearly central."""
        m, blocks, offsets = self.program.shape[1], self.program.blocks, self.program.offsets
        inside = self.program.inside.reshape(len(cost), -1)
        slacks = [inside[None], *(np.stack([matrix @ inside for matrix in block]) for block in blocks)]
        slacks[1:] = [part + g for part, g in zip(slacks[1:], offsets, strict=True)] if offsets else slacks[1:]
        z = [inverse(s) * weight * (m / self.weight) for s, weight in zip(slacks, self.forms.light, strict=True)]
        reduced = cost.copy()
        for block, duals in zip(blocks, z[1:], strict=True):
            for matrix, part in zip(block, duals, strict=True):
                reduced -= matrix.T @ part
        self.price = self.program.least(reduced - z[0][0])
        entries = (reduced - (self.program.sums.T @ self.price)[:, None])[None]
        self.dp = np.zeros_like(self.price)
        self._lay_out(cost, r, [entries, *z[1:]])

    def _lay_out(self, cost: Floats, r: Floats, z: Parts) -> None:
        """Put columns side by side into strips; duals that are the same for all columns may be given once."""
        m, wide, given = cost.shape[1], self._width(), self.arrays.given
        z = [np.broadcast_to(part, (*part.shape[:2], m)) for part in z]
        self.strips = []
        for low in range(0, m, wide):
            part = slice(low, min(low + wide, m))
            columns, duals = cost[:, part], [given(np.array(block[:, :, part], order="C")) for block in z]
            added = [given(g[:, :, part]) for g in self.program.offsets]
            systems = self._systems(columns.shape[1])
            self.strips.append(Strip(self.forms, given(columns), given(r[:, part]), duals, systems, added))
        self.missing = self._missing()

    def thin(self, least: float) -> bool:
        """Leave out columns that bring less than a part of the value, if they are many; whether there were so many.

        What they have goes to the columns where it costs least, so that sums stay what they are. Cones are convex: a
        column to which others are added stays inside.
        """
        r = np.concatenate([self.arrays.numpy(strip.r) for strip in self.strips], axis=1)
        brought = np.maximum(self.program.sums.T @ self.price, 0.0) @ r
        kept = brought >= least * brought.sum()
        if not kept.any() or kept.mean() > _THINNED or self.program.offsets:
            return False
        cost = np.concatenate([self.arrays.numpy(strip.cost) for strip in self.strips], axis=1)
        duals = [
            np.concatenate([self.arrays.numpy(part) for part in parts], axis=2)
            for parts in zip(*(strip.z for strip in self.strips), strict=True)
        ]
        left = r[:, kept]
        np.add.at(left.T, (cost[:, kept].T @ r[:, ~kept]).argmin(axis=0), r[:, ~kept].T)
        self.columns, self.weight = self.columns[kept], self.weight * float(kept.mean())
        self.program = self.program.restricted(np.flatnonzero(kept))
        self._lay_out(cost[:, kept], left, [part[:, :, kept] for part in duals])
        return True

    def _each(self, work: Callable[..., Result], *arguments: Any) -> list[Result]:
        """What ``work`` gives for each strip, on all cores where that pays."""

        def quiet(strip: Strip) -> Result:
            with np.errstate(all="ignore"):  # a direction that is not finite is refused; threads ask on their own
                return work(strip, *arguments)

        return list(map(quiet, self.strips) if self.pool is None else self.pool.map(quiet, self.strips))

    def close(self) -> None:
        """Wait for what is still running."""
        if self.pool is not None:
            self.pool.shutdown(cancel_futures=True)

    def _missing(self) -> Floats:
        """What the sums lack."""
        return np.asarray(self.program.totals - self.program.sums @ np.sum(self._each(Strip.totals), axis=0))

    @property
    def lack(self) -> float:
        """The largest error of a sum, relative to its total."""
        return float(np.abs(self.missing / self.program.totals).max())

    def kept(self) -> Kept:
        """The present entries and duals, which later steps leave alone."""
        return [(strip.r, strip.z) for strip in self.strips]

    def matrix(self, kept: Kept) -> Floats:
        """R of some time."""
        result = np.empty(self.program.shape)
        result[self.order] = np.concatenate([self.arrays.numpy(r) for r, _ in kept], axis=1)
        return result

    def duals(self, kept: Kept) -> tuple[Floats, ...]:
        """The duals of the blocks of some time, in the scale of the program."""
        blocks = range(1, len(self.program.blocks) + 1)
        return tuple(self.scale * np.concatenate([self.arrays.numpy(z[k]) for _, z in kept], axis=2) for k in blocks)

    def standing(self) -> tuple[float, float]:
        """Value and bound of the present iterate."""
        totals = self.program.totals
        least = self.program.least(np.stack(self._each(Strip.least_reduced), axis=1))
        spent = sum(strip.spent for strip in self.strips)
        inside = np.array([sum(strip.value for strip in self.strips), totals @ least - spent])
        value, bound = float(totals @ self.floor) + self.scale * inside
        return float(value), float(bound)

    def factor(self) -> bool:
        """Factor every H_y, and the matrix A Σ_y H_y⁻¹ Aᵀ of the links.

        Products in a column count by how much is left of it beside the mean: most columns vanish. With equal weights
        they do so late, and until then short steps along their boundaries hold up all others.
        """
        mean = float(np.sum(self._each(Strip.totals))) / self.program.shape[1]
        for _, link in self.scratch:
            link[:] = 0.0
        self._each(self._factor_strip, mean)
        return self._factor_link()

    def _factor_strip(self, strip: Strip, mean: float) -> None:
        self.watch.check()
        inverse, link = scratch = self.scratch.pop()
        strip.factor(mean, _SMALLEST_COLUMN, inverse, link)
        self.scratch.append(scratch)

    def _factor_link(self) -> bool:
        sums, upper = self.program.sums, np.sum([link for _, link in self.scratch], axis=0)
        self.link = np.ascontiguousarray(sums @ (sums @ (upper + np.triu(upper, 1).T)).T)
        cholesky.factor(self.link, _LOST * np.diagonal(self.link), True)
        return bool(np.isfinite(self.link).all())

    def _link_solution(self, lack: Floats) -> Floats:
        """The prices that make up for what sums lack."""
        return np.asarray(cholesky.factor_solved(self.link, lack))

    def predict(self) -> bool:
        """The direction to products of zero."""
        self.dp = np.zeros_like(self.price)
        self._each(Strip.begin)
        return self._direct()

    def _direct(self) -> bool:
        """Correct the direction by what the targets leave of the equations; False if it is not finite."""
        self.watch.check()
        sums, totals = self.program.sums, self.program.totals
        lack = self.missing - sums @ np.sum(self._each(Strip.correct, sums.T @ (self.price + self.dp)), axis=0)
        for _ in range(_REFINEMENTS):
            more = self._link_solution(lack)
            self.dp = self.dp + more
            lack = lack - sums @ np.sum(self._each(Strip.extend, sums.T @ more), axis=0)
            if not np.abs(lack / totals).max() > _IMBALANCE:
                break
        return all(self._each(Strip.measure)) and bool(np.isfinite(self.dp).all())

    def predicted(self) -> Predicted:
        """How far the predictor goes, and what it makes of ⟨s, z⟩."""
        table = np.array(self._each(Strip.predicted))
        return Predicted(longest(*table[:, :2].max(axis=0)), *table[:, 2:].sum(axis=0).tolist())

    def aim(self, target: float, least: float, most: float) -> bool:
        """Aim at products, less the second-order term within bounds."""
        self._each(Strip.aim, target, least, most)
        return self._direct()

    def steps(self) -> Steps:
        """How far the direction may go to the boundary."""
        return longest(*np.max(self._each(Strip.reach), axis=0).tolist())

    def recentre(self, steps: Steps, longer: Steps, least: float, most: float) -> Steps | None:
        """Bring products that are too small or too large at longer steps back; each side takes what suits it."""
        dp = self.dp
        self._each(Strip.move_targets, *longer, least, most)
        shares, reached = [0.0, 0.0], list(steps)
        if self._direct():
            table = np.max(self._each(Strip.reaches, _SHARES), axis=0)
            lengths = np.array([longest(*row) for row in table.tolist()])
            for side, best in enumerate(lengths.argmax(axis=0)):
                if min(1.0, lengths[best, side]) > min(1.0, steps[side]) + _GAIN:
                    shares[side], reached[side] = _SHARES[best], float(lengths[best, side])
        self._each(Strip.accept, *shares)
        self.dp = dp + shares[1] * (self.dp - dp) if shares[1] else dp
        return Steps(*reached) if any(shares) else None

    def advance(self, primal: float, dual: float) -> None:
        """Take the step; a side on which rounding would leave the cones goes half as far, or stays."""
        self._taken(Strip.try_primal, Strip.take_primal, primal)
        self.price = self.price + self._taken(Strip.try_dual, Strip.take_dual, dual) * self.dp
        self.missing = self._missing()

    def _taken(self, attempt: Callable[[Strip, float], bool], take: Callable[[Strip], None], length: float) -> float:
        """How far one side goes."""
        for _ in range(_HALVINGS):
            if all(self._each(attempt, length)):
                self._each(take)
                return length
            length /= 2
        return 0.0


def _column_sizes(program: BlockProgram, cost: Floats) -> Floats:
    """How large columns are at the start: by the share of rows for which each is best, and a little of all.

    That is one number for all columns of most programs; in those with classes, the lengths of the orbits of columns.
    """
    least = program.sums.T @ program.least(cost) + _SMALLEST_SCALE**2 * np.abs(program.cost).max()
    best = (cost <= least[:, None]).astype(np.float64)
    in_class = program.sums @ best
    sizes = program.totals / in_class.sum(axis=1) @ in_class
    kept = np.maximum(sizes, _SMALLEST_COLUMN * sizes.max())
    return np.asarray(kept * (program.totals.sum() / (program.sums @ program.inside).sum() / kept.sum()))


def _narrow_order(program: BlockProgram) -> Integers:
    """An order of rows in which those of a cone are near each other: the given one, or Cuthill and McKee's (1969)."""
    n = program.shape[0]
    pattern = csr_array((n, n))
    for block in program.blocks:
        looks_at = reduce(add, (abs(matrix) for matrix in block))
        pattern = csr_array(pattern + looks_at.T @ looks_at)
    one, other = pattern.nonzero()
    order = reverse_cuthill_mckee(pattern, symmetric_mode=True).astype(np.int64)
    place = np.argsort(order)
    narrower = np.abs(place[one] - place[other]).max(initial=0) < np.abs(one - other).max(initial=0)
    return order if narrower else np.arange(n)
