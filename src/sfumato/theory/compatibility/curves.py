"""The whole tradeoff ε*(γ, δ) on a grid: every value enclosed, every end of a bracket accepted by the kernel.

δ enters as a level only: one ε solved for one γ gives a mechanism, which is an upper end for every δ that it does not
miss by, and a bound, which is a lower end for every smaller δ (:mod:`sfumato.theory.compatibility.rungs`). So all ε
lie on one ladder, whose rungs are as far apart as a bracket may be wide, and every δ looks for the two rungs between
which its ε* lies. The ladder is the same for all γ, and so are its promises in integers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from math import exp, floor, inf, log
from operator import attrgetter

import numpy as np

from sfumato.arguments import items
from sfumato.certify.mechanism import Mechanism
from sfumato.design.calibration import relative_width
from sfumato.errors import InvalidInput, NotConverged
from sfumato.numbers import Floats, Number, float_below, printed_above
from sfumato.spaces.finite import FiniteSpace
from sfumato.theory.compatibility.rungs import EpsilonRung, Level, PrivacyTypes, blind, hopeless
from sfumato.theory.compatibility.utility import Ball, FiniteFunction, Utility, level, utility

__all__ = ["Cell", "TradeOffGrid", "tradeoff_grid"]

_MOST_SOLVES = 60  # One δ takes at most so many programs; two or three are usual, and neighbours share rungs.
_GAP = 1 / 6  # A program is solved to this share of the change of δ* from rung to rung.
_LOOSEST = 1e-2
_TIGHTER = 20.0  # The gap shrinks by this factor where δ lies inside it.
_TIGHTEST = 1e-9
_NARROWER = 0.999  # Rungs are rounded to nine digits, so they stand nearer than the precision by this factor.


@dataclass(frozen=True, eq=False)
class Cell:
    """``low`` < ε* ≤ ``high`` at one (γ, δ), or both 0; ``high`` is None where no ε is enough.

    ``mechanism`` is proved at ``high`` and misses with probability ``missing`` ≤ δ at most. ``refuted`` is a mechanism
    that tells nothing, with the promise ``low`` and a claim that no mechanism of that promise misses less than
    ``refuted.proof.bound`` > δ: multipliers that the kernel has accepted.
    """

    low: Fraction
    high: Fraction | None
    mechanism: Mechanism | None = None
    missing: Fraction | None = None
    refuted: Mechanism | None = None


@dataclass(frozen=True, eq=False)
class TradeOffGrid:
    """ε*(γ, δ) on a grid: ``cells[i][j]`` at ``gammas[i]`` and ``deltas[j]``."""

    function: FiniteFunction
    gammas: tuple[Fraction, ...]
    deltas: tuple[Fraction, ...]
    ball: Ball
    cells: tuple[tuple[Cell, ...], ...]
    solved: int

    @property
    def low(self) -> Floats:
        """The lower ends, rounded down."""
        return np.array([[float_below(cell.low) for cell in row] for row in self.cells])

    @property
    def high(self) -> Floats:
        """The upper ends, rounded up."""
        return np.array([[inf if c.high is None else printed_above(c.high) for c in row] for row in self.cells])


def tradeoff_grid(
    target: FiniteFunction | FiniteSpace,
    gammas: Iterable[Number],
    deltas: Iterable[Number],
    ball: Ball = "closed",
    *,
    precision: float = 0.05,
) -> TradeOffGrid:
    """ε*(γ, δ) for every γ and δ given, each enclosed to a relative width.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> grid = tradeoff_grid(line(6), [0, 1], ["1/10", "1/4"])
    >>> bool((grid.high <= 1.06 * grid.low).all()), bool((grid.low[1] < grid.high[0]).all())
    (True, True)
    """
    goals = [utility(target, gamma, ball) for gamma in items(gammas, "gammas")]
    levels = tuple(level(delta) for delta in items(deltas, "deltas"))
    if not goals or not levels:
        raise InvalidInput("a grid needs at least one gamma and one delta")
    width = relative_width(precision)
    ladders: dict[bytes, Ladder] = {}
    types = PrivacyTypes(goals[0].function.databases)
    guesses: dict[Fraction, float] = {}  # the ε* found for each δ at the last radius: where to look first at the next
    for one in sorted(goals, key=lambda one: one.gamma):
        balls = one.far.tobytes()  # only which answers lie in a ball matters
        if balls not in ladders:
            ladders[balls] = Ladder(one, blind(one)[1], levels, width, types, guesses)
    cells = {balls: ladder.cells for balls, ladder in ladders.items()}
    radii, solved = tuple(one.gamma for one in goals), sum(ladder.solved for ladder in ladders.values())
    rows = tuple(cells[one.far.tobytes()] for one in goals)
    return TradeOffGrid(goals[0].function, radii, levels, ball, rows, solved)


def _first_guess(goal: Utility, chance: Fraction, blind_chance: float) -> float:
    """Some ε > 0 of the right size: far from the ball by about γ, ln δ falls by about εγ."""
    distances = goal.function.databases.pair_distances.floats
    reach = max(float(goal.gamma), float(np.median(distances)))
    return max(log(blind_chance / float(chance)), 1e-3) / reach


def _short(epsilon: Fraction) -> Fraction:
    """A nearby ε of nine digits, so that proofs stay short."""
    return Fraction(f"{float(epsilon):.9g}")


def _ends_first(levels: list[Fraction]) -> list[Fraction]:
    """The ends, then the middle of what is between, and so on: later ones lie between solved ones."""
    order = [0, len(levels) - 1] if len(levels) > 1 else [0]
    waiting = [(0, len(levels) - 1)]
    while waiting:
        first, last = waiting.pop(0)
        if last - first > 1:
            middle = (first + last) // 2
            order.append(middle)
            waiting += [(first, middle), (middle, last)]
    return [levels[k] for k in order]


@dataclass(eq=False)
class Ladder:
    """One γ: the rungs that are solved, and for each δ the two between which its ε* lies.

    ``least`` is the chance of missing at ε = 0, ``levels`` are all δ; ``guesses`` has the ε* found for a δ at other γ.
    A rung is distrusted for a δ where its multipliers do not prove what floats say of them.
    """

    goal: Utility
    least: Fraction
    levels: tuple[Fraction, ...]
    precision: float
    types: PrivacyTypes
    guesses: dict[Fraction, float] = field(default_factory=dict)
    rungs: dict[Fraction, EpsilonRung] = field(default_factory=dict)
    distrusted: set[tuple[Fraction, Fraction]] = field(default_factory=set)
    solved: int = 0

    @cached_property
    def level(self) -> Level:
        """The program whose ε is open."""
        return Level(self.goal, self.types, self.levels)

    @cached_property
    def step(self) -> float:
        """From rung to rung, in ln ε."""
        return -log(1 - _NARROWER * self.precision)

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """One for each δ."""
        cells: dict[Fraction, Cell] = {}
        ends: dict[Fraction, tuple[EpsilonRung, EpsilonRung]] = {}
        for chance in _ends_first(sorted(set(self.levels), reverse=True)):
            if self.least <= chance:
                cells[chance] = Cell(Fraction(0), Fraction(0))
            elif hopeless(self.goal, chance) is not None:
                cells[chance] = Cell(Fraction(0), None)
            else:
                ends[chance] = self.bracket(chance)
        proved: dict[EpsilonRung, Mechanism] = {}
        for chance, (low, high) in sorted(ends.items(), reverse=True):
            # the largest δ first: what refutes it refutes the smaller ones of the same bracket
            while (refuted := proved.get(low) or low.refutation(chance)) is None:
                self.distrusted.add((low.epsilon, chance))
                low, high = self.bracket(chance)
            proved[low] = refuted
            cells[chance] = Cell(low.epsilon, high.epsilon, high.mechanism, high.missing, refuted)
            self.guesses[chance] = float(high.epsilon)
        return tuple(cells[chance] for chance in self.levels)

    def _ends(self, chance: Fraction) -> tuple[EpsilonRung | None, EpsilonRung | None]:
        """The highest rung that is refuted for δ, and the lowest one with a mechanism."""
        rungs = self.rungs.values()
        refuted = (rung for rung in rungs if rung.bound > chance and (rung.epsilon, chance) not in self.distrusted)
        met = (rung for rung in rungs if rung.missing <= chance)
        height = attrgetter("epsilon")
        return max(refuted, key=height, default=None), min(met, key=height, default=None)

    def bracket(self, chance: Fraction) -> tuple[EpsilonRung, EpsilonRung]:
        """Two rungs around ε* as near as the precision asks for."""
        began = self.solved
        # ln δ* falls by about this much while ln ε grows by 1
        slope = log(self.least / chance)
        tolerance = max(min(self.precision * _GAP * slope, _LOOSEST), _TIGHTEST)
        while self.solved - began < _MOST_SOLVES:
            low, high = self._ends(chance)
            if low and high and high.epsilon - low.epsilon <= Fraction(self.precision) * high.epsilon:
                return low, high
            epsilon = self._next(chance, low, high)
            known = epsilon in self.rungs  # and not clear enough
            self.solved += 1
            self.rungs[epsilon] = self.level.solve(epsilon, tolerance, closer=known)
            if known:
                tolerance = max(tolerance / _TIGHTER, _TIGHTEST)
        raise NotConverged(f"no bracket of relative width {self.precision:g} for delta = {float(chance):g}")

    def _next(self, chance: Fraction, low: EpsilonRung | None, high: EpsilonRung | None) -> Fraction:
        """The rung nearest to where ε* is expected, among those that are not known; else one that is not clear."""
        bottom = Fraction(0) if low is None else low.epsilon
        root = max(self._root(chance), float(bottom))
        root = root if high is None else min(root, float(high.epsilon))

        def inside(epsilon: Fraction) -> bool:
            return bottom < epsilon and (high is None or epsilon < high.epsilon)

        below = floor(log(root) / self.step)
        for k in sorted(range(below - 1, below + 3), key=lambda k: abs(k * self.step - log(root))):
            epsilon = _short(Fraction(exp(k * self.step)))
            if inside(epsilon) and epsilon not in self.rungs:
                return epsilon
        unclear = sorted(filter(inside, self.rungs), key=lambda e: abs(float(e) - root))
        if unclear:  # δ lies within the gap of its program
            return unclear[0]
        top = 4 * bottom if high is None else high.epsilon
        return _short(Fraction(float(top * bottom) ** 0.5 if bottom else top / 2))

    def _root(self, chance: Fraction) -> float:
        """Where ln δ* reaches ln δ, by lines between what was solved; before that, what other radii suggest."""
        aim, start = log(chance), log(self.least)
        known = [(float(e), log(rung.chance)) for e, rung in sorted(self.rungs.items())]
        if not known:
            return self.guesses.get(chance) or _first_guess(self.goal, chance, exp(start))
        points = [(0.0, start), *known]
        k = next((i for i, (_, value) in enumerate(points) if value <= aim), len(points))
        if k == len(points):
            (left, above), (right, below) = points[-2:]
            step = (aim - below) / min((below - above) / (right - left), -1e-12)
            # never more than three times farther: the line may have been nearly flat so far
            return min(right + step, 3 * right)
        (left, above), (right, below) = points[max(k, 1) - 1], points[max(k, 1)]
        return max(left + (right - left) * (above - aim) / max(above - below, 1e-300), right * 1e-3)
