"""Where columns come from: rays of the cone of a promise, listed where they can be, looked for where they cannot.

Optimal columns may be taken to be rays, because Σ q_i r_i r_iᵀ ⪰ q r rᵀ where r is a mean of the r_i. A measure with
dual numbers B and m is the best there is when no ray r, p·r = 1, has more than 0 in

    |B r|² − m·r.

That is convex in r: over a list it is looked up; without one, rays are improved one change at a time (a secret moves
from low to high where all distances are one, one side of an edge rises on a line), or by linear programs, each of which
maximises the tangent at a ray. Such a search finds good columns and proves nothing.

``wanted`` is the centred workload A − Ap 1ᵀ, ``weights`` are p, and W is Σ q r rᵀ over the columns of a mechanism.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from sfumato.design.shares.measure import ColumnMeasure
from sfumato.lp.highs import solve_floats
from sfumato.lp.program import LinearProgram
from sfumato.numbers import Array, Floats
from sfumato.privacy.type import PrivacyType
from sfumato.privacy.vertices import Vertices, vertices
from sfumato.watch import Watch

_LISTED = {"tree": 17, "one distance": 16, "cycle": 13, "any": 9}  # Secrets up to which rays are listed, by metric.
_STARTS = 400  # columns to begin with, and to try in each round, where rays are not listed
_OPPOSITES = 20  # columns to begin with whose opposites begin too
_SHARE_OF_FLIPS = 0.08  # of the secrets or edges of a column that is varied
_GAIN = 1e-12  # Relative gains below are rounding.
_CHANGES = 2000  # of one column, at most
_TANGENTS = 8  # linear programs for one column
_PROGRAMS = 60  # columns of a round that are improved by linear programs
# A larger factor between two secrets is searched as this one, which promises more: what is lost is as small a part as
# its inverse, and the programs stay in numbers that a solver of floats can hold.
_LARGEST_FACTOR = 1e6


class RaySource(Protocol):
    """Columns to begin with, and those that a measure lacks."""

    @property
    def complete(self) -> bool:
        """Whether what ``beyond`` says is about all rays."""

    def start(self, wanted: Floats) -> Floats:
        """Columns to begin with, for a centred workload."""

    def beyond(self, measure: ColumnMeasure, columns: Floats, watch: Watch) -> tuple[Floats, Floats]:
        """Columns r with the most of |B r|² − m·r, in falling order, and what they have."""


def kind_of_rays(privacy: PrivacyType) -> str:
    """``"one distance"``, ``"tree"``, ``"cycle"`` or ``"any"``: which list of rays a metric has."""
    n, (first, second) = len(privacy.space), privacy.space.pairs
    lengths = privacy.space.pair_distances.values
    if len(first) == n * (n - 1) // 2 and n > 2 and (lengths == lengths[0]).all():
        return "one distance"
    if len(first) == n - 1:
        return "tree"
    degrees = np.bincount(np.concatenate([first, second]), minlength=n)
    return "cycle" if len(first) == n and (degrees == 2).all() else "any"


def is_listed(privacy: PrivacyType) -> bool:
    """Whether the rays of a type are few enough for a list, which the kernel makes again."""
    return len(privacy.space) <= _LISTED[kind_of_rays(privacy)]


def ray_source(privacy: PrivacyType, weights: Floats) -> RaySource:
    """The rays of a type as a list, if it is short, or a search for them."""
    kind = kind_of_rays(privacy)
    if is_listed(privacy):
        return Listed.of(privacy, weights)
    first, second = privacy.space.pairs
    along = np.array_equal(first + 1, second) or np.array_equal(second + 1, first)
    most = np.log(_LARGEST_FACTOR)
    rates = np.minimum(privacy.rate * privacy.space.pair_distances.floats, most)
    if kind == "one distance":
        return HighAndLow(weights, float(np.exp(rates[0])))
    if kind == "tree" and along:
        return UpAndDown(weights, rates[np.argsort(np.minimum(first, second))])
    return ByPrograms(weights, first, second, np.exp(rates), np.exp(-np.minimum(privacy.log_bounds, most)))


@dataclass(frozen=True, eq=False)
class Listed:
    """All rays, scaled to p·r = 1."""

    rays: Floats
    vertices: Vertices
    complete: bool = True

    @classmethod
    def of(cls, privacy: PrivacyType, weights: Floats) -> Listed:
        """The rays of a type."""
        listed = vertices(privacy)
        rays = np.exp(privacy.rate * listed.heights)
        return cls(rays / (rays @ weights)[:, None], listed)

    def exact_rays(self, columns: Floats) -> Array:
        """The rays of some columns in fractions, scaled to maximum 1; only for exact types."""
        places = [int(np.argmin(np.abs(self.rays - column).sum(axis=1))) for column in columns]
        return np.stack([self.vertices[place].ray for place in places])

    def start(self, wanted: Floats) -> Floats:
        """All, or some of them drawn at random."""
        if len(self.rays) <= _STARTS:
            return self.rays
        return self.rays[_generator().choice(len(self.rays), _STARTS // 2, replace=False)]

    def beyond(self, measure: ColumnMeasure, columns: Floats, watch: Watch) -> tuple[Floats, Floats]:
        """Of all rays, the ``_STARTS`` with the most."""
        excess = ((self.rays @ measure.dual.T) ** 2).sum(axis=1) - self.rays @ measure.prices
        order = np.argsort(-excess)[:_STARTS]
        return self.rays[order], excess[order]


@dataclass(frozen=True, eq=False)
class HighAndLow:
    """All distances are one: a ray is high for some secrets and low for the others."""

    weights: Floats
    factor: float
    complete: bool = False
    generator: np.random.Generator = field(default_factory=lambda: _generator())

    def start(self, wanted: Floats) -> Floats:
        """Secrets are high where Gaussians are, whose covariance is the W that is best when only its trace is bounded:
        (AᵀA)^{1/2}.
        """
        n = len(self.weights)
        gram = wanted.T @ wanted
        gram = gram - gram.mean(axis=0) - gram.mean(axis=1)[:, None] + gram.mean()
        free = self.generator.random((_STARTS // 4, n)) < 1 / (1 + self.factor)
        both = np.concatenate([self._drawn(_root(gram, 0.25), 3 * _STARTS // 2), np.where(free, self.factor, 1.0)])
        # a ray and its opposite sum to a constant, so that there is a mechanism of these columns
        return self._scaled(np.concatenate([both, 1 + self.factor - both[:_OPPOSITES]]))

    def beyond(self, measure: ColumnMeasure, columns: Floats, watch: Watch) -> tuple[Floats, Floats]:
        """Columns of the measure, varied, and new ones, each improved as long as one secret can be moved."""
        high = np.where(columns > columns.min(axis=1, keepdims=True) * (1 + self.factor) / 2, self.factor, 1.0)
        varied = high[self.generator.integers(len(high), size=_STARTS)]
        flipped = self.generator.random(varied.shape) < _SHARE_OF_FLIPS
        gram = measure.dual.T @ measure.dual
        tries = [high, np.where(flipped, 1 + self.factor - varied, varied), self._drawn(_root(gram, 0.5), _STARTS // 2)]
        return _best(*self._improved(np.concatenate(tries), gram, measure.prices, watch))

    def _drawn(self, root: Floats, count: int) -> Floats:
        """Columns in which a share 1/(1 + f) of secrets is high: those where a Gaussian is largest."""
        values = self.generator.standard_normal((count, len(root))) @ root
        return np.where(
            values > np.quantile(values, self.factor / (1 + self.factor), axis=1, keepdims=True), self.factor, 1.0
        )

    def _scaled(self, columns: Floats) -> Floats:
        return columns / (columns @ self.weights)[:, None]

    def _improved(self, columns: Floats, gram: Floats, prices: Floats, watch: Watch) -> tuple[Floats, Floats]:
        product, mass, paid = columns @ gram, columns @ self.weights, columns @ prices
        square, each = (product * columns).sum(axis=1), np.arange(len(columns))
        for _ in range(_CHANGES):
            watch.check()
            excess = square / mass**2 - paid / mass
            change = np.where(columns > 1, 1 - self.factor, self.factor - 1)
            squares = square[:, None] + 2 * change * product + change**2 * np.diag(gram)
            masses, costs = mass[:, None] + change * self.weights, paid[:, None] + change * prices
            after = squares / masses**2 - costs / masses
            best = after.argmax(axis=1)
            rows = np.flatnonzero(after[each, best] > excess + _GAIN * np.abs(excess).max())
            if not len(rows):
                break
            places = best[rows]
            by = change[rows, places]
            square[rows], mass[rows], paid[rows] = (table[rows, places] for table in (squares, masses, costs))
            product[rows] += by[:, None] * gram[places]
            columns[rows, places] += by
        return self._scaled(columns), square / mass**2 - paid / mass


@dataclass(frozen=True, eq=False)
class UpAndDown:
    """A line: along each edge a ray rises or falls by all that is allowed."""

    weights: Floats
    rates: Floats
    complete: bool = False
    generator: np.random.Generator = field(default_factory=lambda: _generator())

    def start(self, wanted: Floats) -> Floats:
        """Peaks and valleys everywhere, and steps at random, more or less often in the same direction."""
        edges, n = np.arange(len(self.rates)), len(self.weights)
        peaks = np.where(edges < np.arange(n)[:, None], 1.0, -1.0)
        turns = self.generator.random((_STARTS, len(edges))) < self.generator.uniform(0.05, 0.6, (_STARTS, 1))
        return self._of(np.concatenate([peaks, -peaks, np.where(np.cumsum(turns, axis=1) % 2 == 0, 1.0, -1.0)]))

    def beyond(self, measure: ColumnMeasure, columns: Floats, watch: Watch) -> tuple[Floats, Floats]:
        """Columns of the measure, varied, and new ones, each improved as long as one edge can be turned."""
        # far from its peak a column of a long line may be 0 in floats, and which way it goes there is of no weight
        steps = np.where(np.diff(columns, axis=1) < 0, -1.0, 1.0)
        varied = steps[self.generator.integers(len(steps), size=_STARTS)]
        varied = np.where(self.generator.random(varied.shape) < _SHARE_OF_FLIPS, -varied, varied)
        fresh = np.where(self.generator.random((_STARTS // 2, steps.shape[1])) < 0.5, 1.0, -1.0)
        gram = measure.dual.T @ measure.dual
        return _best(*self._improved(np.concatenate([steps, varied, fresh]), gram, measure.prices, watch))

    def _of(self, steps: Floats) -> Floats:
        heights = np.concatenate([np.zeros((len(steps), 1)), np.cumsum(steps * self.rates, axis=1)], axis=1)
        columns = np.exp(heights - heights.max(axis=1, keepdims=True))
        return np.asarray(columns / (columns @ self.weights)[:, None])

    def _improved(self, steps: Floats, gram: Floats, prices: Floats, watch: Watch) -> tuple[Floats, Floats]:
        """What lies left of an edge keeps its values, what lies right of it is multiplied: three sums along the line
        give |B r|² after every turn.
        """
        lower, each = np.tril(gram, -1), np.arange(len(steps))
        for _ in range(_CHANGES):
            watch.check()
            columns = self._of(steps)
            meeting = columns * (columns @ gram)
            # what the secrets left of an edge add to |B r|²: with all secrets, and with those left of it
            with_all = np.cumsum(meeting, axis=1)
            with_left = np.cumsum(2 * columns * (columns @ lower.T) + np.diag(gram) * columns**2, axis=1)
            square, paid = with_all[:, -1], (columns * prices).sum(axis=1)
            mass, cost = np.cumsum(columns * self.weights, axis=1)[:, :-1], np.cumsum(columns * prices, axis=1)[:, :-1]
            factor = np.exp(-2 * steps * self.rates)
            with_all, with_left = with_all[:, :-1], with_left[:, :-1]
            across, right = with_all - with_left, square[:, None] - 2 * with_all + with_left
            squares = with_left + 2 * factor * across + factor**2 * right
            masses, costs = mass + factor * (1 - mass), cost + factor * (paid[:, None] - cost)
            after, excess = squares / masses**2 - costs / masses, square - paid
            best = after.argmax(axis=1)
            rows = np.flatnonzero(after[each, best] > excess + _GAIN * np.abs(excess).max())
            if not len(rows):
                break
            steps[rows, best[rows]] *= -1
        return columns, excess


@dataclass(frozen=True, eq=False)
class ByPrograms:
    """Any metric: linear programs find the ray that is highest along a tangent."""

    weights: Floats
    first: Array
    second: Array
    factors: Floats
    near: Floats
    """e^{−εd}: columns that begin."""
    complete: bool = False
    generator: np.random.Generator = field(default_factory=lambda: _generator())

    def start(self, wanted: Floats) -> Floats:
        """A column around each secret, and those of two mechanisms: with half the rate they sum to a constant, and so
        do columns that are higher, or lower, for one secret alone by what its neighbour allows. The last ones differ
        wherever secrets do, however small ε is and however much alike secrets far away make the others.
        """
        half, n = np.sqrt(self.near), len(self.weights)
        least = np.full(n, np.inf)
        np.minimum.at(least, np.concatenate([self.first, self.second]), np.tile(self.factors, 2))
        alone = 1 + np.diag(least - 1)
        rows = np.concatenate([self.near, (half / half.sum(axis=1, keepdims=True)).T, alone, 1 / alone])
        return rows / (rows @ self.weights)[:, None]

    def beyond(self, measure: ColumnMeasure, columns: Floats, watch: Watch) -> tuple[Floats, Floats]:
        """Columns of the measure, and random ones, each moved to where its tangent is highest."""
        gram, n = measure.dual.T @ measure.dual, len(self.weights)
        order = self.generator.permutation(len(columns))[: _PROGRAMS // 2]
        fresh = self.generator.standard_normal((_PROGRAMS // 2, n)) @ _root(gram, 0.5)
        found = [*columns[order]] + [self._highest(direction, watch) for direction in fresh]
        ends = []
        for column in found:
            for _ in range(_TANGENTS):
                watch.check()
                after = self._highest(2 * gram @ column - measure.prices, watch)
                gained = _excess(after, gram, measure.prices) - _excess(column, gram, measure.prices)
                if not gained > _GAIN * measure.value:
                    break
                column = after
            ends.append(column)
        stacked = np.array(ends)
        return _best(stacked, np.array([_excess(column, gram, measure.prices) for column in stacked]))

    def _highest(self, direction: Floats, watch: Watch) -> Floats:
        n, pairs = len(self.weights), len(self.first)
        rows = np.arange(2 * pairs)
        above, below = np.concatenate([self.first, self.second]), np.concatenate([self.second, self.first])
        program = LinearProgram(
            -direction / max(np.abs(direction).max(), 1e-300),
            np.concatenate([rows, rows, np.full(n, 2 * pairs)]),
            np.concatenate([above, below, np.arange(n)]),
            np.concatenate([np.ones(2 * pairs), -np.tile(self.factors, 2), self.weights]),
            "<" * (2 * pairs) + "=",
            np.concatenate([np.zeros(2 * pairs), [1.0]]),
        )
        solution = solve_floats(program, watch)
        assert solution.primal is not None  # the program is feasible and bounded
        return np.asarray(solution.primal / (solution.primal @ self.weights), dtype=np.float64)


def _excess(column: Floats, gram: Floats, prices: Floats) -> float:
    return float(column @ gram @ column - prices @ column)


def _best(columns: Floats, excess: Floats) -> tuple[Floats, Floats]:
    """Different columns, the ones with the most first."""
    _, places = np.unique(np.round(columns, 9), axis=0, return_index=True)
    order = places[np.argsort(-excess[places])]
    return columns[order], excess[order]


def _root(gram: Floats, power: float) -> Floats:
    values, axes = np.linalg.eigh(gram)
    return np.asarray((axes * np.maximum(values, 0.0) ** power) @ axes.T)


def _generator() -> np.random.Generator:
    """Random directions of a search; no secret depends on them, and two runs find the same."""
    return np.random.default_rng(20)
