"""The whole tradeoff ε*(γ, δ) on a grid: every value enclosed, every upper end a proved mechanism.

δ enters as a level only: for one γ, the least chance of missing δ*(ε) is solved at a few ε, shared by all δ, and what
lies between is interpolated. Two mechanisms of the types ε₀ and ε₁ have geometric means M₀^{1−t} M₁^t in the cone of
ε_t = (1 − t)ε₀ + tε₁, exactly; only their rows sum to a little less than 1, which repair fills up. Multipliers are
mixed in the proportion that proves most. Neither has to be believed: the mechanism is proved in integers by the kernel
and its chance of missing counted exactly; the multipliers that end a bracket are rounded to integers and put before
the kernel too. Where interpolation is not good enough, another ε is solved.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from math import inf, log

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize_scalar

from sfumato.certify.mechanism import Claim, Mechanism
from sfumato.certify.repair import private_weights
from sfumato.certify.verify import prove
from sfumato.design.bounds import LowerBound, rounded_bound
from sfumato.design.compatibility.question import Ball, FiniteFunction, Utility, utility
from sfumato.design.compatibility.star import blind, first_guess, hopeless, level, short
from sfumato.design.objectives import worst_secret
from sfumato.design.problem import Problem, problem
from sfumato.design.solvers import SOLVERS, Answer, Multipliers
from sfumato.errors import InvalidChannel, InvalidInput, NotConverged
from sfumato.numbers import Number, float_above, float_below, floats
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.finite import FiniteSpace

__all__ = ["Cell", "TradeOff", "tradeoff_grid"]

_MOST_SOLVES = 60  # for one δ; two or three are usual, and most δ need none
_WIDEST = 1.0  # change of ln δ* between two solved ε that interpolation is tried across
_TRIES = 3  # interpolations for one end of one bracket
_TIGHTER = 20.0  # by which the tolerance of the solver falls where a bracket does not close


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
class TradeOff:
    """ε*(γ, δ) on a grid: ``cells[i][j]`` at ``gammas[i]`` and ``deltas[j]``."""

    function: FiniteFunction
    gammas: tuple[Fraction, ...]
    deltas: tuple[Fraction, ...]
    ball: Ball
    cells: tuple[tuple[Cell, ...], ...]
    solved: int

    @property
    def low(self) -> NDArray[np.float64]:
        """The lower ends, rounded down."""
        return np.array([[float_below(cell.low) for cell in row] for row in self.cells])

    @property
    def high(self) -> NDArray[np.float64]:
        """The upper ends, rounded up."""
        return np.array([[inf if c.high is None else float_above(c.high) for c in row] for row in self.cells])


def tradeoff_grid(
    target: FiniteFunction | FiniteSpace,
    gammas: Iterable[Number],
    deltas: Iterable[Number],
    ball: Ball = "closed",
    *,
    precision: float = 0.05,
) -> TradeOff:
    """ε*(γ, δ) for every γ and δ given, each enclosed to a relative width.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> found = tradeoff_grid(line(6), [0, 1], ["1/10", "1/4"])
    >>> bool((found.high <= 1.06 * found.low).all()), bool((found.low[1] < found.high[0]).all())
    (True, True)
    """
    asked = [utility(target, gamma, ball) for gamma in gammas]
    levels = tuple(level(delta) for delta in deltas)
    if not asked or not levels:
        raise InvalidInput("a grid needs at least one gamma and one delta")
    if not 0 < precision < 1:
        raise InvalidInput(f"the precision is a relative width between 0 and 1, found {precision}")
    rows: dict[bytes, tuple[Cell, ...]] = {}
    solved = 0
    for one in asked:
        balls = one.far.tobytes()  # only which answers lie in a ball matters
        if balls not in rows:
            rows[balls], count = _row(one, levels, precision)
            solved += count
    return TradeOff(asked[0].function, tuple(one.gamma for one in asked), levels, ball,
                    tuple(rows[one.far.tobytes()] for one in asked), solved)  # fmt: skip


def _row(asked: Utility, levels: tuple[Fraction, ...], precision: float) -> tuple[tuple[Cell, ...], int]:
    least = blind(asked)[1]
    cells: dict[Fraction, Cell] = {}
    rising: _Level | None = None
    for chance in _ends_first(sorted(set(levels), reverse=True)):
        if least <= chance:
            cells[chance] = Cell(Fraction(0), Fraction(0))
        elif hopeless(asked, chance) is not None:
            cells[chance] = Cell(Fraction(0), None)
        else:
            rising = rising or _Level(asked, least, precision)
            cells[chance] = rising.cell(chance)
    return tuple(cells[chance] for chance in levels), 0 if rising is None else rising.solved


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


@dataclass(frozen=True, eq=False)
class _Node:
    """A solved ε, its answer, and its chance of missing in floats."""

    epsilon: float
    answer: Answer
    chance: float


class _Level:
    """All that is known of δ*(ε) for one γ."""

    def __init__(self, asked: Utility, least: Fraction, precision: float) -> None:
        self.asked, self.precision, self.tolerance = asked, precision, min(precision / 50, 1e-3)
        self.start = log(least)
        self.base = problem(None, asked.loss, self._promise(Fraction(1)), None, worst_secret())
        self.far = floats(self.base.loss.matrix.T)
        self.nodes: list[_Node] = []
        self.met: list[tuple[Fraction, Mechanism, Fraction]] = []
        self.refuted: list[tuple[Fraction, LowerBound]] = []
        self.accepted: dict[Fraction, Mechanism] = {}
        self.solved = 0

    def _promise(self, epsilon: Fraction) -> PrivacyType:
        return PrivacyType(self.asked.function.databases, epsilon=epsilon)

    def _problem(self, epsilon: Fraction) -> Problem:
        return Problem(self.base.prior, self.base.loss, self._promise(epsilon), self.base.objective)

    def cell(self, chance: Fraction) -> Cell:
        """Shrink the bracket of one δ: by interpolation where two solved ε are near, else by solving another one."""
        began = self.solved
        while self.solved - began < _MOST_SOLVES:
            closed = self._closed(chance)
            if closed is not None:
                return closed
            root, wide = self._root(log(chance))
            if not wide:
                self._try_above(chance, root * (1 + self.precision / 2))
                self._try_below(chance, root * (1 - self.precision / 2))
                closed = self._closed(chance)
                if closed is not None:
                    return closed
            self._solve(self._where(root, chance, self.solved - began))
        raise NotConverged(f"no bracket of relative width {self.precision:g} for delta = {float(chance):g}")

    def _closed(self, chance: Fraction) -> Cell | None:
        """The bracket of one δ if it is narrow enough, its lower end now accepted by the kernel."""
        met = min((one for one in self.met if one[2] <= chance), key=lambda one: one[0], default=None)
        if met is None:
            return None
        while True:
            above = [k for k, one in enumerate(self.refuted) if one[1].value > chance]
            best = max(above, key=lambda k: self.refuted[k][0], default=None)
            if best is None or met[0] - self.refuted[best][0] > Fraction(self.precision) * met[0]:
                return None
            epsilon, bound = self.refuted[best]
            if epsilon not in self.accepted:
                try:
                    self.accepted[epsilon] = self._refutation(epsilon, bound)
                except InvalidChannel:  # the kernel finds less in the multipliers: rounding was underestimated
                    del self.refuted[best]
                    continue
            return Cell(epsilon, met[0], met[1], met[2], self.accepted[epsilon])

    def _refutation(self, epsilon: Fraction, bound: LowerBound) -> Mechanism:
        """A mechanism that always gives the first output, with the bound as a claim; accepted by the kernel."""
        loss = self.base.loss
        value = Fraction(int(loss.matrix[0].max()))
        claim = Claim(bound.prior, loss, (0,), value, min(bound.value, value), bound.dual, "worst secret")
        nothing = np.ones((len(loss.secrets), 1), dtype=np.int64)
        return prove(nothing, self._promise(epsilon), outputs=loss.actions[:1], claim=claim,
                     provenance={"made by": "tradeoff_grid", "about": "the bound"})  # fmt: skip

    def _where(self, root: float, chance: Fraction, tries: int) -> float:
        """The ε to solve next: on the side of the root where the bracket is still open."""
        share = self.precision / 3
        has_upper = any(one[2] <= chance and one[0] <= root * (1 + 2 * share) for one in self.met)
        if tries >= 6:  # the root is near, and the gap of the solver is in the way
            self.tolerance = max(self.tolerance / _TIGHTER, 1e-9)
        return root * (1 - share) if has_upper else root * (1 + share)

    def _root(self, aim: float) -> tuple[float, bool]:
        """Where ln δ* reaches ln δ, by lines between solved ε; and whether these are too far apart to interpolate."""
        places = [0.0, *(node.epsilon for node in self.nodes)]
        values = [self.start, *(log(max(node.chance, 1e-300)) for node in self.nodes)]
        k = next((i for i, value in enumerate(values) if value <= aim), len(values))
        if k == len(values):
            if len(values) == 1:
                return first_guess(self.asked, Fraction(np.exp(aim)), float(np.exp(self.start))), True
            slope = min((values[-1] - values[-2]) / (places[-1] - places[-2]), -1e-12)
            step = (aim - values[-1]) / slope
            # never more than three times farther: the line may have been nearly flat so far
            return min(places[-1] + step, 3 * places[-1]), True
        share = (values[k - 1] - aim) / max(values[k - 1] - values[k], 1e-300)
        return places[k - 1] + share * (places[k] - places[k - 1]), k == 1 or values[k - 1] - values[k] > _WIDEST

    def _solve(self, epsilon: float) -> None:
        """One program; what its matrix and its multipliers prove."""
        chosen = short(Fraction(epsilon))
        asked = self._problem(chosen)
        answer = SOLVERS["blocks"](asked, self.tolerance)
        matrix = np.maximum(floats(answer.matrix), 0.0)
        answer = replace(answer, matrix=matrix / matrix.sum(axis=1, keepdims=True))
        self.solved += 1
        chance = float((self.far * answer.matrix).sum(axis=1).max())
        place = bisect_left([node.epsilon for node in self.nodes], float(chosen))
        self.nodes.insert(place, _Node(float(chosen), answer, chance))
        self._keep(chosen, answer.matrix)
        self.refuted.append((chosen, rounded_bound(asked, answer)))

    def _keep(self, epsilon: Fraction, matrix: NDArray[np.float64]) -> Fraction:
        """The matrix repaired, proved, and its chance of missing counted in integers."""
        privacy = self._promise(epsilon)
        weights = private_weights(matrix, privacy)
        used = np.flatnonzero(weights.any(axis=0)).tolist()
        outputs = [self.base.loss.actions[w] for w in used]
        mechanism = prove(weights[:, used], privacy, outputs=outputs,
                          provenance={"made by": "tradeoff_grid"})  # fmt: skip
        lost = (self.base.loss.matrix.T.astype(np.int64) * weights.astype(object)).sum(axis=1)
        missing = Fraction(int(max(lost)), mechanism.total)
        self.met.append((epsilon, mechanism, missing))
        return missing

    def _between(self, epsilon: float) -> tuple[_Node, _Node, float] | None:
        """The solved ε on both sides, and where between them."""
        place = bisect_left([node.epsilon for node in self.nodes], epsilon)
        if not 0 < place < len(self.nodes):
            return None
        low, high = self.nodes[place - 1], self.nodes[place]
        return low, high, (epsilon - low.epsilon) / (high.epsilon - low.epsilon)

    def _try_above(self, chance: Fraction, enough: float) -> None:
        """Mechanisms between two solved ones, where their chances of missing seem to reach δ, until ε ≤ ``enough``."""
        for _ in range(_TRIES):
            known = _lower_left([(float(one[0]), float(one[2])) for one in self.met])
            root = _crossing([(0.0, self.start), *known], log(chance))
            epsilon = short(Fraction(root * (1 + self.precision / 8)))
            found = self._between(float(epsilon))
            if found is None or any(one[0] == epsilon or (one[2] <= chance and one[0] < epsilon) for one in self.met):
                return
            low, high, t = found
            with np.errstate(divide="ignore"):
                mean = np.exp((1 - t) * np.log(low.answer.matrix) + t * np.log(high.answer.matrix))
            if self._keep(epsilon, mean / mean.sum(axis=1, keepdims=True)) <= chance and float(epsilon) <= enough:
                return

    def _try_below(self, chance: Fraction, enough: float) -> None:
        """Multipliers between two solved ones, where what they prove seems to reach δ, until ε ≥ ``enough``."""
        for _ in range(_TRIES):
            proved = [(-float(one[0]), -float(one[1].value)) for one in self.refuted if one[1].value > 0]
            known = _lower_left(proved)
            root = _crossing([(0.0, self.start), *((-e, v) for e, v in reversed(known))], log(chance))
            epsilon = short(Fraction(root * (1 - self.precision / 8)))
            found = self._between(float(epsilon))
            if found is None or any(
                one[0] == epsilon or (one[1].value > chance and one[0] > epsilon) for one in self.refuted
            ):
                return
            asked = self._problem(epsilon)
            best = rounded_bound(asked, _mixed(asked, *found[:2]))
            self.refuted.append((epsilon, best))
            if best.value > chance and float(epsilon) >= enough:
                return


def _lower_left(points: list[tuple[float, float]]) -> list[tuple[float, float]]:
    """Points (ε, ±δ) with no other to the left and below, by ε, with ln |δ|."""
    kept: list[tuple[float, float]] = []
    for place, value in sorted(points):
        if not kept or value < kept[-1][1]:
            kept.append((place, value))
    return [(place, log(abs(value))) for place, value in kept]


def _crossing(points: list[tuple[float, float]], aim: float) -> float:
    """Where a falling line through points reaches a value; beyond the last one it goes on as before."""
    k = next((i for i, (_, value) in enumerate(points) if value <= aim), len(points) - 1)
    (left, above), (right, below) = points[max(k, 1) - 1], points[max(k, 1)]
    return left + (right - left) * (above - aim) / max(above - below, 1e-300)


def _mixed(asked: Problem, low: _Node, high: _Node) -> Answer:
    """(1 − λ)(Z₀, u₀) + λ(Z₁, u₁), multipliers in the scale of e^{−εd} M_x − M_z ≤ 0, with the λ that proves most.

    What they prove, Σ_x min_y of a table that is linear in λ, is concave in λ.
    """
    distances = asked.privacy.space.distances.floats
    far, sides, tables, prices = floats(asked.loss.matrix.T), [], [], []
    for node in (low, high):
        given = node.answer.multipliers
        moved = np.exp((node.epsilon - asked.privacy.rate) * distances[given.first, given.second])
        side = replace(given, values=floats(given.values) * moved)
        price = floats(node.answer.prices[0])
        sides.append(side)
        prices.append(price / price.sum())
        tables.append(side.reduced(prices[-1][:, None] * far, asked.factors(side.first, side.second)))

    def lost(share: float) -> float:
        return -float(((1 - share) * tables[0] + share * tables[1]).min(axis=1).sum())

    share = float(minimize_scalar(lost, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-4}).x)
    weights = np.concatenate([(1 - share) * sides[0].values, share * sides[1].values])
    mixed = (1 - share) * prices[0] + share * prices[1]
    return Answer(low.answer.matrix, _added_up(asked, sides, weights), "mixed", 0, 0.0, prices=(mixed,))


def _added_up(asked: Problem, sides: list[Multipliers], weights: NDArray[np.float64]) -> Multipliers:
    """One multiplier for each constraint."""
    n, m = asked.shape
    keys = np.concatenate([(side.first * n + side.second) * m + side.action for side in sides])
    different, where = np.unique(keys, return_inverse=True)
    ends = different // m
    return Multipliers(ends // n, ends % n, different % m, np.bincount(where, weights, len(different)))
