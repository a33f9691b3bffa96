"""The best mechanism on a box: rounds of finer lattices and closer bounds, then one proof.

A round solves the conic program of a lattice for a mechanism, and the finite problem of another lattice for a bound.
Both errors are of second order in ε times the side of a cell, so that each round halves them or better. Whatever was
best when the time is up, or when the gap is small enough, is rounded to integers and put before the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import ceil, prod
from typing import Any

import numpy as np

from sfumato.certify.coordinates import BoxBound, BoxMechanism, prove_on_box
from sfumato.channels.prior import Prior
from sfumato.design.answer import tell_state
from sfumato.design.boxes.axes import breaks_along, cells_apart, lattice_cells, parts_of_cells, parts_of_pieces
from sfumato.design.boxes.bound import MOST_AT_ONCE, box_bound, classes_bound, splits_of
from sfumato.design.boxes.finite import FiniteProblem
from sfumato.design.boxes.moments import Moments, density_moments
from sfumato.design.boxes.patches import Patches, patches_for
from sfumato.design.boxes.prices import prices, window_prices
from sfumato.design.boxes.program import box_program
from sfumato.design.boxes.question import box_question
from sfumato.design.boxes.symmetry import Turn, turns
from sfumato.design.boxes.table import (
    TOTAL,
    BoxTable,
    exact_points,
    few_bits,
    integer_weights,
    moved_outputs,
    table_claim,
)
from sfumato.design.result import SAME_NOISE, BoxDesign
from sfumato.errors import NotConverged, PrivacyViolation, TooLarge
from sfumato.losses.coordinates import CoordinateLoss
from sfumato.lp.cone.general import solve_blocks
from sfumato.lp.cone.program import ColumnProgress, Ending
from sfumato.numbers import Floats
from sfumato.privacy.rates import bound_rate, box_rate
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.box import Box
from sfumato.spaces.splines import Rounding, rounding_of
from sfumato.threads import cores
from sfumato.watch import TimeIsUp, Watch

TOLERANCE = 0.03
"""The gap that is aimed at where nobody asks for another: what a lattice of a few hundred points reaches."""

_HALVINGS = 1  # how often cells are halved before coefficients are compared
_FINEST = 0.1  # ε times the side of cubes that outputs are rounded to: smaller ones gain next to nothing
_DEEPEST = 2  # halvings of a cube, beside what the mesh of a bound costs
_LARGEST_FINITE = 900  # secrets of the finite problem; with symmetries some more
_LARGEST_WINDOWS = 8_000  # where it is priced window by window
# What is taken off the prices, as a part of the loss, so that they can be covered.
_SLACK = {"windows": 2e-3, "once": 1e-3, "thorough": 2e-4}
_COARSEST_WINDOWS = 1.3  # ε times the side of a cell: coarser problems of uneven towns prove next to nothing
_MOST_COLUMNS = 700  # outputs of the finite problem, one of each orbit
_WORTH = 0.05  # a side is refined no further when a round has gained less than this part of the tolerance
_FINE = 0.2  # and its mesh costs less than this part: coarse rounds may gain nothing, and later ones much
_COVER_SECONDS = 3e-8  # that a corner takes, for each pair of secrets; measured on two cores with uneven priors
_NEAR = 150  # that a corner concerns, about, where windows leave out who is far and where nobody lives
_COVERING = 0.35  # of the time that is left may be planned for corners
_SETTLED, _BOUND_BEGINS = 0.035, 0.25  # what a lattice may still lose, and the part of the time, when bounds begin
_IDLE = 2  # so many times in a row: three parts of a cell may be no better than two, and four are
_FEWEST = {1: 24, 2: 4, 3: 2}  # outputs along an axis, by dimension: where ε is small, medians are close together
_GROWTH = 3  # a round takes at least so many times longer than the one before
_SWEEP_AT_LEAST = 0.3  # and what of a sweep is not its patches, as a part of the one before
_ACROSS = 4.0  # ε times a box below which its sides, not 1/ε, say how fine is fine
_LEAST_ACROSS = 2.0**-16  # ε times a box below which bounds are about a larger ε: the difference is less than that part
# Integers with few bits may lose this part of the tolerance, and always less than the second number: a file is as small
# as that allows. What is shown is never better than what is returned.
_FEW_BITS, _LEAST_LOST = 0.01, 1e-5


LARGEST_LATTICE = {1: 400, 2: 2_600, 3: 4_000}
"""Lattice points of a table, by the dimension of a box."""

MESHES = (1.0, 0.7, 0.5, 0.36, 0.25, 0.18, 0.12, 0.08, 0.05, 0.03, 0.02, 0.012, 0.008, 0.005, 0.003)
"""ε times the side of a cell, round after round: from a first answer within a second to the best that is worth it."""

_FIRST = 2.0  # the same where time is short: better than telling nothing, in a part of a second
_QUICK = 200  # lattice points of such a round that is run however little time is left
_QUICK_CELLS = 5_000  # of a box for that: with more of them proofs take several seconds
_FIRST_SECONDS = 1.0  # that it may take
_COARSE_BOUNDS = (2.0, 4.0)  # the same where no problem of these fits: a bound that is far is more than none

# What is lost by a lattice, and by the finite problem of a bound, is about so much times the square of a mesh, as a
# part of the loss: measured for uniform priors on squares. It says which side to refine, nothing more.
_LATTICE_ERROR, _BOUND_ERROR, _COVER_ERROR = 0.05, 0.06, {"windows": 0.05, "once": 0.006, "thorough": 0.001}


@dataclass(frozen=True)
class Aim:
    """What a search on a box is for: both sides or one of them, or a number that decides something.

    Parameters
    ----------
    sides
        Which sides are refined. One alone is refined until it is as fine as the tolerance needs, as far as is known
        beforehand, or until ``loss`` and ``bound`` are met.
    loss, bound
        The search goes on while the loss is above the one, or the bound not above the other.
    """

    sides: tuple[str, ...] = ("lattice", "bound")
    loss: float | None = None
    bound: float | None = None


def approximate_loss(
    prior: Prior | None, loss: Any, privacy: PrivacyType, outputs: Any, tolerance: float, watch: Watch,
    progress: Callable[[Any], object] | None,
) -> float:  # fmt: skip
    """About what the design loses whose tolerance this is, in floats: its table without a bound and without a proof."""
    search = BoxSearch(*box_question(prior, loss, privacy, outputs), tolerance, watch, progress, Aim(("lattice",)))
    search.search()
    assert search.table is not None
    return search.table.value


def silent_loss(prior: Prior | None, loss: Any, privacy: PrivacyType, outputs: Any) -> float:
    """What is lost, at most, by who tells nothing: one output, where the prior loses least."""
    return BoxSearch(*box_question(prior, loss, privacy, outputs), 1.0, Watch(), None).silent().value


def _accuracy(mesh: float) -> float:
    """The relative gap to which a program is solved: small beside what its mesh costs."""
    return min(1e-2, max(1e-4, 0.015 * mesh**2))


@dataclass(eq=False)
class BoxSearch:
    """One search, and the best of both sides so far."""

    prior: Prior
    loss: CoordinateLoss
    privacy: PrivacyType
    box: Box
    given: dict[tuple[float, ...], tuple[Fraction, ...]] | None
    tolerance: float
    watch: Watch
    progress: Callable[[Any], object] | None
    aim: Aim = field(default_factory=Aim)
    table: BoxTable | None = None
    glimpsed: bool = False  # whether windows have said something at once
    bounded: bool = False  # whether the bound that takes long has been looked for
    noisy: bool = False  # whether the table is noise that no round has beaten
    bound: BoxBound | None = None
    iterations: int = 0
    cells: int = 0  # of the last lattice
    seconds: dict[str, float] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.rate = box_rate(self.privacy)
        self.density = self.prior.float_weights
        # what a mesh costs is measured against 1/ε, or against the box where that is smaller
        self.fineness = max(self.privacy.rate, _ACROSS / float(max(self.box.sides)))
        # along an interval, and for sums of distances, losses do not bend between secrets
        self.straight = self.box.metric == "manhattan" or self.box.dimension == 1
        self.outputs = None if self.given is None else np.array(list(self.given))
        self.patches: Patches | None = None
        if self.outputs is None:
            rate = float(self.rate)
            self.patches = patches_for(self.privacy, self.loss, rate, self.density, len(self.group), self._moments)
        self.safe = 1 + max(_LEAST_LOST, _FEW_BITS * min(self.tolerance, 0.05))

    # ------------------------------------------------------------- rounds

    def design(self, noise: Callable[[], BoxTable | None] | None = None) -> BoxDesign:
        """Refine the side that loses more, until the gap is small enough; then a proof.

        ``noise`` makes a table that is asked for where rounds end farther from the best than they should, or than
        noise may be where somebody is content with little, and taken where it loses less than theirs.
        """
        return self.proved(self.found(noise))

    def design_below(self, most: Fraction, noise: Callable[[], BoxTable | None]) -> BoxDesign | None:
        """The same where it loses less than ``most``; None where it does not, for which there is no proof to wait."""
        stopped = self.found(noise)
        assert self.table is not None
        return self.proved(stopped) if self.table.value < most else None

    def found(self, noise: Callable[[], BoxTable | None] | None = None) -> bool:
        """The same without the proof; whether the rounds ended because of the time."""
        stopped = self.search()
        found, before = None, self.table
        assert before is not None
        if noise is not None and (self.aim.loss is None or before.value * self.safe > self.aim.loss):
            self._announce("moving noise that is the same everywhere to where it loses least")
            try:
                found = noise() if self._gap() > min(self.tolerance, TOLERANCE) else None
            except KeyboardInterrupt:
                self.watch.stop()
        if found is not None and found.value < before.value:
            self.table, self.noisy = found, True
        return stopped or self.watch.over

    def search(self) -> bool:
        """The rounds; whether they ended because of the time."""
        self.table = self.silent()
        rough = self.watch.limit is not None and self._cells(_FIRST) != self._cells(MESHES[0])
        meshes = (_FIRST, *MESHES) if rough else MESHES
        both = {"lattice": iter([(mesh, "once") for mesh in meshes]), "bound": iter(self._bound_rounds())}
        sides = {side: rounds for side, rounds in both.items() if side in self.aim.sides}
        errors, idle = {"lattice": np.inf, "bound": np.inf}, {"lattice": 0, "bound": 0}
        stopped = False
        if float(self.rate * max(self.box.sides)) < _LEAST_ACROSS:
            sides.pop("lattice", None)  # any mechanism loses e^(−ε‖x − x′‖) times as much as silence, or more
        if "lattice" in sides and self.patches is not None:
            widest = max(float(self.rate * step) for step in self.box.step)
            sides["lattice"] = iter([(widest / max(parts), "once") for parts in self.patches.rounds])
        elif "lattice" in sides and not self._fits("lattice", MESHES[0]):  # coarse ones, up to the finest that does
            finest = next(mesh for mesh in (2.0**k for k in range(1, 1000)) if self._fits("lattice", mesh))
            sides["lattice"] = iter([(coarser * finest, "once") for coarser in (4, 2, 1)])
        while sides and not self._enough(errors):
            side = self._next_side(sides, errors)
            mesh, how = next(sides[side], (0.0, "once"))
            if not mesh or not self._fits(side, mesh):
                del sides[side]
                continue
            # a sweep may end anywhere, and what it has gained is kept
            growth = _SWEEP_AT_LEAST if side == "lattice" and self.patches is not None else self._growth(side, mesh)
            late = self.watch.over or not self._rest.allows(growth * self.seconds.get(f"last {side}", 0.0))
            if late and not (side == "lattice" and self._quick(mesh)):
                stopped = True
                del sides[side]  # the other side may be quicker
                continue
            began, before = self.watch.spent, self._standing(side)
            try:
                if side == "lattice":
                    self._improve(mesh)
                else:
                    self._raise(mesh, how)
            except KeyboardInterrupt:
                self.watch.stop()
            except TimeIsUp:
                stopped = True
                sides.clear()
            except TooLarge:
                if not self.iterations:  # a coarser lattice has been solved otherwise, and is what there is
                    raise
                del sides[side]
                continue
            self.seconds[f"last {side}"] = self.watch.spent - began
            self._show(f"{side} with cells of {mesh:g}/ε")
            gained = abs(self._standing(side) - before)
            fine = _BOUND_ERROR * mesh**2 < _FINE * self.tolerance and self._standing(side) > 0
            idle[side] = idle[side] + 1 if fine and gained < _WORTH * self.tolerance * self.table.value else 0
            if idle[side] == _IDLE:
                sides.pop(side, None)  # what is left is lost elsewhere: by given outputs, or on the other side
            errors[side] = _LATTICE_ERROR * mesh**2
            if side == "lattice" and self.patches is not None:
                errors[side] += min(1.0, gained / max(self.table.value, 1e-300))
            if side == "bound":
                errors[side] = _BOUND_ERROR * mesh**2 + (0.0 if self.straight else _COVER_ERROR[how])
        return stopped and not self._enough(errors)

    @property
    def _rest(self) -> Watch:
        """The time for rounds: the proof of what they have found comes after them."""
        return self.watch.before(0.0 if self.table is None else self.table.proof_seconds)

    def _quick(self, mesh: float) -> bool:
        """Whether a round is the first of a lattice so small that it is solved even if the time is up."""
        first = not self.watch.stopped and not self.iterations and self.patches is None
        return first and len(self.box) <= _QUICK_CELLS and prod(many + 2 for many in self._cells(mesh)) <= _QUICK

    def _growth(self, side: str, mesh: float) -> float:
        """How many times as long as the last round the next one takes, at least."""
        now = prod(self._cells(mesh)) if side == "lattice" else 0
        before, self.cells = self.cells or now, now or self.cells
        return max(_GROWTH, (now / before) ** 1.5 if before else 0.0)

    def _next_side(self, sides: Collection[str], errors: dict[str, float]) -> str:
        """The side that loses more; where patches take turns, a bound comes when these have gained most, or in time."""
        if self.patches is not None and not self.bounded and len(sides) > 1 and self.patches.sweeps:
            if not self.glimpsed and self._secrets(self._bound_rounds()[0][0]) <= MOST_AT_ONCE:
                return "bound"
            limit = self.watch.limit
            late = limit is not None and self.watch.spent > _BOUND_BEGINS * limit
            return "bound" if late or errors["lattice"] < _SETTLED else "lattice"
        return max(sides, key=lambda name: errors[name])

    def _enough(self, errors: dict[str, float]) -> bool:
        """Whether what was asked for is there."""
        loss, bound = self.aim.loss, self.aim.bound
        met = (loss is None or self._standing("lattice") * self.safe <= loss) and (
            bound is None or self._standing("bound") > bound
        )
        if len(self.aim.sides) == 1:
            decided = met and (loss, bound) != (None, None)
            return decided or errors[self.aim.sides[0]] <= self.tolerance / 2
        return met and self._gap() <= self.tolerance

    def _bound_rounds(self) -> list[tuple[float, str]]:
        """The sides of the cells of finite problems, those of the box first, each in more parts than the one before.

        Where losses bend between secrets, each of them is solved once for a first answer and once thoroughly. Cells may
        be long along one axis and short along another: each axis is cut for itself. Where patches take turns, windows
        say something at once, or are all that the time is enough for; problems so coarse that they prove next to
        nothing are left out.
        """
        cut = {self._bound_parts(mesh): None for mesh in MESHES}
        widths = [self.fineness * float(step) for step in self.box.step]
        finest = [max(width / many for width, many in zip(widths, parts, strict=True)) for parts in cut]
        if self.patches is not None:
            sizes = {mesh: self._secrets(mesh) for mesh in finest if mesh < _COARSEST_WINDOWS}
            whole = [mesh for mesh, size in sizes.items() if size <= _LARGEST_FINITE]
            parts = [mesh for mesh, size in sizes.items() if size <= _LARGEST_WINDOWS]
            once = [(mesh, how) for mesh in whole for how in ("once", "thorough")]
            if sizes and parts:
                return [(parts[0], "windows"), *(once or [(mesh, "windows") for mesh in parts[1:]])]
        if self._fits("bound", finest[0]):
            return [(mesh, how) for mesh in finest for how in (("once",) if self.straight else ("once", "thorough"))]
        # cells are so many that they are looked at in classes, each of cells farther apart
        apart = {self._strides(mesh): mesh for mesh in reversed(MESHES) if mesh > finest[0]}
        classes = [(mesh, "once") for strides, mesh in reversed(apart.items()) if max(strides) > 1]
        if classes and self._fits("bound", classes[0][0]):
            return classes
        return [(mesh, "once") for mesh in _COARSE_BOUNDS if self._fits("bound", mesh)]

    def _standing(self, side: str) -> float:
        """The number that a side has come to."""
        assert self.table is not None
        return self.table.value if side == "lattice" else 0.0 if self.bound is None else float(self.bound.value)

    def _gap(self) -> float:
        value = np.inf if self.table is None else self.table.value * self.safe
        return 1.0 if self.bound is None else (value - float(self.bound.value)) / value

    def _fits(self, side: str, mesh: float) -> bool:
        """Whether the lattice, or the finite problem of a bound, is small enough for cells of that mesh."""
        if side == "lattice":
            return self.patches is not None or prod(self._cells(mesh)) <= LARGEST_LATTICE[self.box.dimension]
        if self.patches is not None and self._secrets(mesh) <= _LARGEST_WINDOWS:
            return True
        return bool(self._secrets(mesh) <= _LARGEST_FINITE * len(self.group) ** 0.3)

    def _secrets(self, mesh: float) -> int:
        """How many points the finite problem of a bound has, or each class of them."""
        sizes = zip(self.box.shape, self._bound_parts(mesh), self._strides(mesh), strict=True)
        return prod(cells * part // apart for cells, part, apart in sizes)

    def _cells(self, mesh: float) -> tuple[int, ...]:
        return lattice_cells(self.box, float(self.rate), mesh)

    def _bound_parts(self, mesh: float) -> tuple[int, ...]:
        return parts_of_cells(self.box, self.fineness, mesh)

    def _strides(self, mesh: float) -> tuple[int, ...]:
        return cells_apart(self.box, self.fineness, mesh)

    # ------------------------------------------------------------- a mechanism

    def silent(self) -> BoxTable:
        """The best mechanism that tells nothing: one output, where the prior loses least."""
        rounding = self._rounding((1,) * self.box.dimension)
        weighed = self._moments(rounding, 1)
        middle = np.array([[float(side) / 2 for side in self.box.sides]]) if self.outputs is None else self.outputs
        cost = weighed.costs(self.loss.at(weighed.points, middle)).sum(axis=0)
        best = middle[[int(cost.argmin())]]
        table = BoxTable(rounding, 0, best, np.ones((len(rounding), 1)), float(cost.min()), weighed.parts)
        return moved_outputs(table, weighed, self.loss) if self.outputs is None else table

    def _rounding(self, cells: tuple[int, ...]) -> Rounding:
        breaks = [breaks_along(self.box, self.density, axis, many) for axis, many in enumerate(cells)]
        return rounding_of(self.box, breaks=breaks)

    def _moments(self, rounding: Rounding, outputs: int | None = None) -> Moments:
        return density_moments(rounding, self.density, parts_of_pieces(rounding, float(self.rate), outputs))

    def _improve(self, mesh: float) -> None:
        """Solve the conic program of a finer lattice."""
        began = self.watch.spent
        if self.patches is not None:
            self._announce(f"sweep {self.patches.sweeps + 1} over a lattice with cells of {mesh:.2g}/ε")
            table = self.patches.sweep(self.watch, lambda value: self._show("", min(value, self._standing("lattice"))))
            self.iterations += 1
            self.seconds["solve"] = self.seconds.get("solve", 0.0) + self.watch.spent - began
            if table.value < self._standing("lattice"):
                self.table = table
            return
        self._announce(f"solving on a lattice with cells of {mesh:g}/ε")
        rounding = self._rounding(self._cells(mesh))
        where = self._outputs(mesh) if self.outputs is None else self.outputs
        weighed = self._moments(rounding, len(where))
        group = turns(self.box, [axis.breaks for axis in rounding.axes], self.density.reshape(self.box.shape))
        program = box_program(rounding, weighed, self.loss, where, float(self.rate), _HALVINGS, group)
        watch = self.watch.share(0.6)
        if not watch.allows(_FIRST_SECONDS) and self._quick(mesh):
            watch = Watch(_FIRST_SECONDS, self.watch.clock, self.watch)
        try:
            solution = solve_blocks(program.program, tolerance=_accuracy(mesh), time_limit=watch, progress=self._told)
        except NotConverged:
            if not watch.over:
                raise
            return
        self.iterations += solution.iterations

        def solved() -> BoxTable:
            found = program.whole(solution.matrix)
            table = BoxTable(rounding, _HALVINGS, where, found, solution.value, weighed.parts)
            return moved_outputs(table, weighed, self.loss) if self.outputs is None else table

        try:
            table = solved()
        except KeyboardInterrupt:  # what has been shown is returned
            self.watch.stop()
            table = solved()
        if self.table is None or table.value < self.table.value:
            self.table = table
        self.seconds["solve"] = self.seconds.get("solve", 0.0) + self.watch.spent - began
        if solution.ended is Ending.INTERRUPTED:
            self.watch.stop()

    def _outputs(self, mesh: float, closer: float = 1.0) -> Floats:
        """The centres of equal boxes, hardly closer than cells of the lattice: they are moved to medians later.

        Beside outputs twice as close along each axis that costs 0.2 % of the loss on an interval with cells of 1/4ε; on
        a uniform square with εL = 8, 2.1 % with cells of 1/ε, 0.3 % with 1/2ε and 0.2 % with cells of 0.36/ε.
        """
        apart = mesh if self.box.dimension == 1 else max(mesh, 0.8 * mesh**0.5)
        fewest = _FEWEST[self.box.dimension]
        counts = [ceil(closer * max(fewest, ceil(float(self.rate * side) / apart))) for side in self.box.sides]
        along = [(np.arange(n) + 0.5) * float(s) / n for n, s in zip(counts, self.box.sides, strict=True)]
        return np.stack(np.meshgrid(*along, indexing="ij"), axis=-1).reshape(-1, self.box.dimension)

    # ------------------------------------------------------------- a bound

    @cached_property
    def group(self) -> list[Turn]:
        """The symmetries of box and prior."""
        breaks = [self.box.breaks(i) for i in range(self.box.dimension)]
        return turns(self.box, breaks, self.density.reshape(self.box.shape))

    def _raise(self, mesh: float, how: str) -> None:
        """Solve the finite problem of smaller cells."""
        began, size, strides, thorough = self.watch.spent, self._secrets(mesh), self._strides(mesh), how == "thorough"
        # a larger ε promises less, and multipliers for a smaller one would be too large for floats
        rate = max(float(bound_rate(self.privacy)), _LEAST_ACROSS / float(max(self.box.sides)))
        self._announce(f"bounding what all mechanisms lose, by {size} points")
        self.glimpsed, self.bounded = True, self.bounded or how != "windows" or size > MOST_AT_ONCE
        problem = FiniteProblem(self.box, self._bound_parts(mesh), self.density, rate * (1 + 2.0**-50), self.group)
        step = max(self.fineness * float((problem.step * strides).max()), 1e-9)
        level = 0 if self.straight else min(_DEEPEST, max(0, ceil(np.log2(step / _FINEST)))) + thorough
        level = self._in_time(level, size, min(size, _NEAR) if how == "windows" else size)
        fine = int(thorough or (level > 0 and size * 2**self.box.dimension <= _MOST_COLUMNS * len(self.group)))
        watch = self._rest.share(0.7)
        accuracy = _accuracy(mesh) * (0.3 if thorough else 1.0)
        try:
            if max(strides) > 1:
                if np.ptp(self.density) > 0:  # as many programs as there are classes
                    level, fine = min(level, 1), 0
                self._keep(classes_bound(problem, strides, level, fine, accuracy, watch), began)
                return
            if how == "windows":
                assert self.patches is not None
                price = window_prices(problem, level, accuracy, watch, self.patches.apart)
            else:
                price = prices(problem, level, fine, accuracy, watch, thorough)
        except NotConverged:
            if not watch.over:
                raise
            return
        splits, slack = splits_of(problem, price, level, watch, _SLACK[how])
        self._keep(box_bound(problem, price, splits, slack, self._rest.share(0.7)), began)

    def _in_time(self, level: int, size: int, near: int) -> int:
        """How often cubes are halved so that a part of what is left of the time is enough for all their corners.

        Each of these concerns about so many secrets as are ``near``.
        """
        left = self._rest.left
        corner = _COVER_SECONDS * near**2 * 2 / cores() / len(self.group)
        while left is not None and level > 0 and (size << self.box.dimension * level) * corner > _COVERING * left:
            level -= 1
        return level

    def _keep(self, bound: BoxBound, began: float) -> None:
        """The better of two bounds."""
        if bound.value > (0 if self.bound is None else self.bound.value):  # that nothing is lost needs no proof
            self.bound = bound
        self.seconds["bound"] = self.seconds.get("bound", 0.0) + self.watch.spent - began

    # ------------------------------------------------------------- telling and proving

    def _announce(self, stage: str) -> None:
        tell_state(self.progress, ColumnProgress.beginning(stage, self.watch.spent), self.watch)

    def _told(self, state: ColumnProgress) -> None:
        """A program in the midst of its solution has a value that counts if it is better than what there is."""
        if self.progress is not None and self.table is not None:
            self._show("", min(self.table.value, state.value))

    def _show(self, stage: str, value: float | None = None) -> None:
        assert self.table is not None
        if self.progress is not None:
            value = (self.table.value if value is None else value) * self.safe
            bound = -np.inf if self.bound is None else float(self.bound.value)
            gap = (value - bound) / value if self.bound is not None else np.inf
            tell_state(
                self.progress, ColumnProgress(self.iterations, value, bound, gap, self.watch.spent, stage), self.watch
            )

    def proved(self, stopped: bool) -> BoxDesign:
        """The best of both sides before the kernel."""
        assert self.table is not None
        self._announce("rounding and proving")
        began, tried = self.watch.spent, "last bound" in self.seconds
        mechanism = self._mechanism(self.table)
        self.seconds = {
            "solve": self.seconds.get("solve", 0.0), "bound": self.seconds.get("bound", 0.0),
            "certify": self.watch.spent - began, "total": self.watch.spent,
        }  # fmt: skip
        loss, bound = mechanism.proof.loss, mechanism.proof.bound or Fraction(0)
        assert loss is not None
        how = "conic program" if self.patches is None else "conic programs of patches"
        method = f"{how} on {' × '.join(map(str, mechanism.rounding.shape))} lattice points"
        if self.noisy:
            method = f"{SAME_NOISE}, moved to where it loses least, {method[len(how) + 1 :]}"
        if len(mechanism.outputs) == 1:
            method = "nothing is told"
        if not bound and not stopped and self.table.value and "bound" in self.aim.sides:
            method += f", without a bound: {self._why_no_bound(tried)}"
        return BoxDesign(mechanism, loss, bound, method, self.iterations, self.seconds, stopped=stopped)

    def _why_no_bound(self, tried: bool) -> str:
        """What is true where the rounds have ended without one."""
        if tried:
            return "the finite problems that were solved prove none"
        points, most = self._secrets(_COARSE_BOUNDS[-1]), int(_LARGEST_FINITE * len(self.group) ** 0.3)
        if points <= most:
            return "a finite problem for one does not fit into memory"
        return f"the smallest finite problem for one has {points} points, more than {most}"

    def _mechanism(self, table: BoxTable) -> BoxMechanism:
        weighed = density_moments(table.rounding, self.density, table.parts)
        cost = weighed.costs(self.loss.at(weighed.points, table.outputs))
        if self.given is None:
            points = exact_points(table.outputs, self.box.origin)
        else:
            points = [self.given[place] for place in map(tuple, table.outputs.tolist())]
        outputs = points if self.box.dimension > 1 else [point[0] for point in points]
        for mixed, total in few_bits(len(table.outputs), self.safe - 1):
            weights = integer_weights(table.matrix, mixed, total)
            claim = table_claim(weights, cost, self.prior, self.loss, table.parts, self.bound)
            if total < TOTAL and claim.value > self.safe * table.value:
                continue
            try:
                return prove_on_box(
                    weights, self.privacy, table.rounding, outputs, rate=self.rate, halvings=table.halvings,
                    claim=claim, provenance={"made by": "design"},
                )  # fmt: skip
            except PrivacyViolation:
                continue
        raise NotConverged("the table of the last round cannot be repaired")
