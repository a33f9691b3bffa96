"""Families of answers that are described, not listed: intervals, cubes, balls, sequences, databases of points.

Each says how large the set of databases is (its ρ-diameter), and carries what decides compatibility: finite nets of any
scale, or infinitely many answers that stay apart.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from math import ceil, isqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist

from sfumato.arguments import flag, integer, one_of, text
from sfumato.errors import InvalidInput, expect, short, shown
from sfumato.numbers import Integers, Number, array, as_written, exact, floats
from sfumato.spaces.finite import FiniteSpace
from sfumato.theory.compatibility.utility import utility

__all__ = [
    "Answers",
    "Net",
    "Packing",
    "ball",
    "countable_discrete",
    "covering",
    "cube",
    "finite",
    "interval",
    "ranges",
    "real_line",
    "samples",
    "sup_ball",
    "thresholds",
]

_ROOM = Fraction(1, 2**40)  # Nets with centres in floats are made finer by this share, far above their rounding.
_MOST_DIMENSIONS = 1_000_000  # The sizes of nets of cubes and balls are numbers of as many bits.
_MOST_MEMBERS = 10_000  # So many members of a packing are compared with each other at most.


@dataclass(frozen=True, eq=False)
class Net:
    """Finitely many centres such that every answer lies within ``radius`` of one of them.

    ``centres`` lists them (None if only their number is known); ``nearest(answer)`` names one that is near enough.
    """

    radius: Fraction
    size: int
    centres: Callable[[], Iterator[Any]] | None = None
    nearest: Callable[[Any], Any] | None = None


@dataclass(frozen=True, eq=False)
class Packing:
    """Infinitely many answers, any two at least ``separation`` apart; ``member(i)`` is the i-th."""

    separation: Fraction
    member: Callable[[int], Any]
    distance: Callable[[Any, Any], Fraction]
    text: str

    def check(self, count: int) -> bool:
        """Whether the first members are as far apart as is said, exactly; for those who want to see some."""
        first = [self.member(i) for i in range(integer(count, "how many members", 0, _MOST_MEMBERS))]
        return all(self.distance(a, b) >= self.separation for i, a in enumerate(first) for b in first[:i])


@dataclass(frozen=True, eq=False)
class Answers:
    """A set of answers f(X) with its metric, of databases with diameter at most ``diameter`` (None: unbounded).

    One of ``net``, ``packing``, ``covering_number`` and ``sampled`` says what is known of the answers.
    ``unbounded_rate`` is for databases without bound: an ε(γ, δ) that a known mechanism needs.
    """

    name: str
    diameter: Fraction | None
    net: Callable[[Fraction], Net] | None = None
    packing: Packing | None = None
    covering_number: Callable[[Fraction], float] | None = None
    vouched: bool = False
    sampled: FiniteSpace | None = None
    unbounded_rate: str = ""

    def __repr__(self) -> str:
        return f"Answers({self.name})"


def interval(low: Number = 0, high: Number = 1) -> Answers:
    """The numbers from ``low`` to ``high``; databases are at least as far apart as their answers.

    Examples
    --------
    >>> net = interval().net(Fraction(1, 5))
    >>> net.size, [str(centre) for centre in net.centres()]
    (3, ['1/6', '1/2', '5/6'])
    """
    start, end = as_written(low, "an end"), as_written(high, "an end")
    if not start < end:
        raise InvalidInput(f"an interval goes from a number to a larger one, found {short(low)} and {short(high)}")
    return Answers(f"interval [{start}, {end}]", end - start, net=lambda radius: _interval_net(start, end, radius))


def _interval_net(start: Fraction, end: Fraction, radius: Fraction) -> Net:
    count = ceil((end - start) / (2 * radius))
    step = (end - start) / count

    def nearest(answer: Number) -> Fraction:
        k = min(int((exact(answer) - start) / step), count - 1)
        return start + step * (2 * k + 1) / 2

    return Net(radius, count, lambda: (start + step * (2 * k + 1) / 2 for k in range(count)), nearest)


def cube(dimension: int, metric: Literal["sup", "euclidean"] = "sup") -> Answers:
    """[0, 1]^k with the largest difference of a coordinate, or the Euclidean distance.

    Examples
    --------
    >>> cube(3).net(Fraction(1, 4)).size, cube(2, "euclidean").net(Fraction(1, 4)).size
    (8, 9)
    """
    dimension = integer(dimension, "a dimension", 1, _MOST_DIMENSIONS)
    one_of(metric, ("sup", "euclidean"), "a cube with the metric")
    across = Fraction(1) if metric == "sup" else _root_above(Fraction(dimension))

    def net(radius: Fraction) -> Net:
        """Products of nets of the unit interval; ``across`` bounds the length of a vector of ones."""
        return _power(_interval_net(Fraction(0), Fraction(1), radius / across), dimension, radius, tuple)

    return Answers(f"cube [0, 1]^{dimension}, {metric}", across, net=net)


def _power(axis: Net, dimension: int, radius: Fraction, moved: Callable[[Any], tuple[Any, ...]]) -> Net:
    """The net of all vectors of centres of an axis, each moved to where it belongs."""
    centres, nearest = axis.centres, axis.nearest
    assert centres is not None and nearest is not None
    return Net(radius, axis.size**dimension, lambda: map(moved, product(*(centres() for _ in range(dimension)))),
               lambda answer: moved(nearest(value) for value in answer))  # fmt: skip


def ball(dimension: int, radius: Number = 1) -> Answers:
    """The Euclidean ball of a radius in R^k. Centres are floats: projections of the cells of a grid onto the ball.

    Examples
    --------
    >>> net = ball(2).net(Fraction(1, 2))
    >>> net.size == len(list(net.centres())), net.size
    (True, 9)
    """
    dimension = integer(dimension, "a dimension", 1, _MOST_DIMENSIONS)
    size = as_written(radius, "the radius")
    if size <= 0:
        raise InvalidInput(f"the radius of a ball is positive, found {short(radius)}")
    return Answers(f"ball of radius {size} in R^{dimension}", 2 * size, net=lambda r: _ball_net(dimension, size, r))


def _ball_net(dimension: int, size: Fraction, radius: Fraction) -> Net:
    """Cells of a grid on the cube around the ball; moving a centre to the nearest point of the ball moves it nearer.

    (To project onto a convex set never takes two points farther apart.)
    """

    def projected(centre: Iterable[Fraction]) -> tuple[float, ...]:
        point = np.array([float(value) for value in centre])
        length = float(np.sqrt((point * point).sum()))
        return tuple((point * min(1.0, float(size) / length if length else 1.0)).tolist())

    axis = _interval_net(-size, size, radius * (1 - _ROOM) / _root_above(Fraction(dimension)))
    return _power(axis, dimension, radius, projected)


def finite(space: FiniteSpace) -> Answers:
    """A finite space: its points are a net of every scale."""
    expect(space, FiniteSpace, "a finite family")
    table = space.distances
    across = None if table.infinite.any() else table.bounds(table.values.max())[1]
    return Answers(space.name, across, net=lambda radius: _finite_net(space, radius))


def _finite_net(space: FiniteSpace, radius: Fraction) -> Net:
    owner = greedy_owners(~utility(space, radius).far)
    centres = [space.labels[k] for k in dict.fromkeys(owner.tolist())]
    return Net(radius, len(centres), lambda: iter(centres), lambda x: space.labels[owner[space.index(x)]])


def greedy_owners(near: NDArray[np.bool_]) -> Integers:
    """For each point one that is near it, few in all: the first that has none owns all near ones, again and again."""
    owner = np.full(len(near), -1)
    while (owner < 0).any():
        k = int(np.argmax(owner < 0))
        owner[near[k] & (owner < 0)] = k
    return owner


def countable_discrete() -> Answers:
    """Infinitely many answers, any two at distance 1."""
    packing = Packing(Fraction(1), lambda i: i, lambda a, b: Fraction(int(a != b)), "all of them")
    return Answers("countable discrete space", Fraction(1), packing=packing)


def real_line(cap: Number | None = 1) -> Answers:
    """All real numbers at distance min(``cap``, |x − y|), or with ``cap=None`` at distance |x − y|.

    Theorem 3.4 speaks of bounded sets of databases. A function with bounded differences of inputs and any real number
    as a value is not Lipschitz for |x − y|, so the distance of answers is capped like that of databases. Without a cap
    the databases are unbounded, and noise that grows with nobody's distance does: Laplace noise.
    """
    if cap is None:
        text = "ln(1/δ)/γ by Laplace noise of scale γ/ln(1/δ)"
        return Answers("real line", None, unbounded_rate=text)
    most = as_written(cap, "the cap")
    if most <= 0:
        raise InvalidInput(f"a cap on distances is positive, found {short(cap)}")
    packing = Packing(most, lambda i: most * i, lambda a, b: min(most, abs(a - b)), f"the multiples of {most}")
    return Answers(f"real line, distances capped at {most}", most, packing=packing)


def sup_ball() -> Answers:
    """The unit ball of bounded sequences with the largest difference as distance (ℓ∞).

    The i-th unit vector is written as the tuple of places where it is 1.
    """
    packing = Packing(Fraction(1), lambda i: (i,), lambda a, b: Fraction(int(a != b)), "the unit vectors")
    return Answers("unit ball of ℓ∞", Fraction(2), packing=packing)


def thresholds() -> Answers:
    """Databases of points in [0, 1], and the share of points up to t, for every t at once.

    Answers are distribution functions at the largest difference over all t (Kolmogorov distance); one record of N moves
    it by 1/N at most, and databases are the share of records that differ apart (Blum, Ligett and Roth 2008).
    """
    packing = Packing(Fraction(1), _point_database, _threshold_distance, "databases with all points at 1/(i + 2)")
    return Answers("thresholds over [0, 1]", Fraction(1), packing=packing)


def ranges() -> Answers:
    """Databases of points in [0, 1], and the share of points in [s, t], for all s ≤ t at once."""
    packing = Packing(Fraction(1), _point_database, _range_distance, "databases with all points at 1/(i + 2)")
    return Answers("range queries over [0, 1]", Fraction(1), packing=packing)


def _point_database(i: int) -> tuple[Fraction, ...]:
    return (Fraction(1, i + 2),)


def _excess(a: tuple[Fraction, ...], b: tuple[Fraction, ...]) -> list[Fraction]:
    """Share of a up to t minus share of b up to t, at all points t where it changes."""
    places = sorted({*a, *b})
    return [Fraction(sum(x <= t for x in a), len(a)) - Fraction(sum(x <= t for x in b), len(b)) for t in places]


def _threshold_distance(a: tuple[Fraction, ...], b: tuple[Fraction, ...]) -> Fraction:
    return max(abs(value) for value in _excess(a, b))


def _range_distance(a: tuple[Fraction, ...], b: tuple[Fraction, ...]) -> Fraction:
    values = [Fraction(0), *_excess(a, b)]  # a range counts the difference of two thresholds
    return max(values) - min(values)


def covering(
    number: Callable[[Fraction], float], *, diameter: Number | None = 1, everywhere: bool = False, name: str = ""
) -> Answers:
    """A family known by its covering numbers: ``number(r)`` balls of radius r cover all answers, or ``inf`` do not.

    Parameters
    ----------
    diameter
        Of the databases; None if they are unbounded.
    everywhere
        Whether you vouch that the number is finite at every r > 0. Values at a few scales cannot tell.
    """
    if not callable(number):
        raise InvalidInput(f"covering numbers are a function of the radius, found {shown(number)}")
    name = text(name, "the name of a family") or "family with given covering numbers"
    across = None if diameter is None else as_written(diameter, "the diameter")
    return Answers(name, across, covering_number=number, vouched=flag(everywhere, "everywhere"))


def samples(points: FiniteSpace | Iterable[Any], *, diameter: Number | None = 1) -> Answers:
    """A family of which only some answers are known: a finite space, or rows of coordinates (Euclidean)."""
    across = None if diameter is None else as_written(diameter, "the diameter")
    if isinstance(points, FiniteSpace):
        return Answers(f"samples: {points.name}", across, sampled=points)
    table = floats(array(points, "samples", 2))
    if not np.isfinite(table).all():
        raise InvalidInput("samples have finite coordinates")
    space = FiniteSpace(range(len(table)), cdist(table, table), name=f"{len(table)} samples in R^{table.shape[1]}")
    return Answers(f"samples: {space.name}", across, sampled=space)


def _root_above(value: Fraction) -> Fraction:
    """A rational at least √value, exactly the root where that is rational."""
    bits = 64
    scaled = value.numerator * value.denominator << (2 * bits)
    root = isqrt(scaled)
    return Fraction(root + (root * root != scaled), value.denominator << bits)
