"""Vertices of the polytope of private posteriors (Fernandes et al. 2023, section III).

In logarithms the cone of private columns, v_x ≤ e^{ε d(x, z)} v_z, is {φ : φ_x − φ_z ≤ d(x, z)}: it does
not depend on ε, and rounding e^d would split its degenerate vertices. A point of it is a vertex when
its tight pairs connect all secrets. From a vertex one moves along an edge by raising a set S of
secrets together until the next pair becomes tight; the sets are those that no tight pair holds
back and whose two sides stay connected. All vertices are reached that way.

Heights are kept exactly, as integer combinations of symbols: one unit for rational distances, the
square roots √1, √2, √3, √5, … of square-free numbers for Euclidean grids (they are linearly
independent over the rationals, so equal heights have equal coefficients), and one symbol for each
distinct distance between measured points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, overload

import flint
import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.channels.channel import Channel, normalise
from sfumato.channels.prior import Prior
from sfumato.errors import NotSupported, SolverError, UndecidedError, advice
from sfumato.lp import LinearProgram, solve
from sfumato.numbers import Array, is_exact, object_array
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.distances import Form
from sfumato.spaces.finite import FiniteSpace

_MOST_SECRETS = 62  # Sets of secrets are bits of one machine word.

# Two different combinations of symbols are told apart in float64 when they differ by more than
# this fraction of the largest distance; closer ones leave the enumeration undecided.
_GAP = 1e-9


@dataclass(frozen=True, eq=False)
class Vertex:
    """One vertex: a private posterior that is no mixture of others.

    ``heights`` are φ_x in units of distance, the highest at 0, so that the posterior is
    proportional to e^{ε φ_x}; ``tight`` lists the pairs (x, z) of labels with
    v_x = e^{ε d(x, z)} v_z, implied ones left out.
    """

    privacy: PrivacyType
    heights: NDArray[np.float64]
    coefficients: NDArray[np.int64]
    tight: tuple[tuple[Any, Any], ...]

    @cached_property
    def ray(self) -> Array:
        """The vertex scaled to maximum 1: exact for exact privacy types."""
        return np.asarray(_rays(self.privacy, self.heights[None, :], self.coefficients[None, :])[0])

    @cached_property
    def posterior(self) -> Prior:
        """The vertex as a distribution over secrets."""
        return Prior(self.privacy.space, self.ray / self.ray.sum())


@dataclass(frozen=True, eq=False, repr=False)
class Vertices(Sequence[Vertex]):
    """All vertices of a privacy type, in the order they were found; each is made when asked for."""

    privacy: PrivacyType
    coefficients: NDArray[np.int64]
    symbols: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.coefficients)

    def __repr__(self) -> str:
        return f"Vertices({len(self)} of {self.privacy!r})"

    @cached_property
    def heights(self) -> NDArray[np.float64]:
        """Heights of all vertices, one row each, the highest secret at 0."""
        table = self.coefficients @ self.symbols
        return np.asarray(table - table.max(axis=1, keepdims=True))

    @cached_property
    def rays(self) -> Array:
        """All rays, one row each, scaled to maximum 1: exact for exact privacy types."""
        return _rays(self.privacy, self.heights, self.coefficients)

    @cached_property
    def radicals(self) -> tuple[int, ...]:
        """The square-free numbers whose roots are the symbols, 1 for the unit itself; empty for measured distances."""
        distances = self.privacy.space.distances
        if distances.form is Form.ROOT:
            return tuple(sorted({_square_free(int(v))[1] for v in np.unique(distances.values)}))
        return (1,) if distances.form is Form.RATIONAL else ()

    @overload
    def __getitem__(self, index: int) -> Vertex: ...
    @overload
    def __getitem__(self, index: slice) -> list[Vertex]: ...
    def __getitem__(self, index: int | slice) -> Vertex | list[Vertex]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        coefficients = self.coefficients[index]
        space = self.privacy.space
        table, _ = _symbolic(space)
        first, second = space.pairs
        gap = coefficients[first] - coefficients[second]
        up, down = ((table[first, second] == sign * gap).all(axis=1) for sign in (1, -1))
        labels = space.labels
        tight = [(labels[x], labels[z]) for x, z in zip(first[up], second[up], strict=True)]
        tight += [(labels[z], labels[x]) for x, z in zip(first[down], second[down], strict=True)]
        return Vertex(self.privacy, self.heights[index], coefficients, tuple(tight))


def _rays(privacy: PrivacyType, heights: NDArray[np.float64], coefficients: NDArray[np.int64]) -> Array:
    """e^{ε φ} for rows of heights; each power of α is computed once."""
    if privacy.alpha is None or not privacy.exact or privacy.space.distances.form is not Form.RATIONAL:
        return np.asarray(np.exp(privacy.rate * heights))
    drops = coefficients.max(axis=1) - coefficients[:, :, 0]
    distinct, where = np.unique(drops, return_inverse=True)
    powers = object_array(privacy.exact_factor(drop) for drop in distinct.tolist())
    return np.asarray((1 / powers)[where].reshape(drops.shape))


def vertices(privacy: PrivacyType) -> Vertices:
    """All vertices of the polytope of private posteriors.

    Their number does not depend on ε: 2^(n−1) on a tree, 2^n − 2 on a discrete space.

    Raises
    ------
    UndecidedError
        If two different combinations of distances are too close for float64 to tell apart.
    NotSupported
        For infinite distances, or more than 62 secrets.

    Examples
    --------
    >>> from sfumato.spaces import grid, line
    >>> corners = vertices(PrivacyType(line(3), alpha="1/2"))
    >>> sorted([str(w) for w in vertex.posterior.weights] for vertex in corners)
    [['1/4', '1/2', '1/4'], ['1/7', '2/7', '4/7'], ['2/5', '1/5', '2/5'], ['4/7', '2/7', '1/7']]
    >>> len(vertices(PrivacyType(grid(2, 2), epsilon=1)))
    18
    """
    privacy = as_type(privacy)
    space = privacy.space
    if space.distances.infinite.any():
        raise NotSupported(
            f"vertices of {space.name}", ["finite distances" + advice(("space.restrict", "leaves one component"))]
        )
    if len(space) > _MOST_SECRETS:
        raise NotSupported(f"vertices for {len(space)} secrets", [f"at most {_MOST_SECRETS}"])
    table, symbols = _symbolic(space)
    first, second = space.pairs
    both = np.array([[*first, *second], [*second, *first]], dtype=np.int64)
    coefficients = _reachable(table, both, symbols, _GAP * float(space.distances.floats.max()))
    return Vertices(privacy, coefficients, symbols)


def cheapest_mixture(space: FiniteSpace, rays: Array, cost: Array) -> tuple[Any, Channel]:
    """The least Σ a_i cost_i over mechanisms Σ a_i v_i = 1 of rays v_i (rows), and one that has it.

    Exact where the numbers are. Every mechanism of a type is such a sum of its vertices, followed by post-processing
    (Fernandes et al. 2023, Theorem 3). Outputs are the numbers of the rays that are used.
    """
    n = rays.shape[1]
    one = np.ones(n, dtype=np.int64 if is_exact(rays) else np.float64)
    solution = solve(LinearProgram.dense(cost, rays.T, "=" * n, one))
    if solution.primal is None or solution.value is None:
        raise SolverError(f"the program over the vertices ended as {solution.status}")
    used = [i for i, a in enumerate(solution.primal) if a > 0]
    matrix = rays[used].T * solution.primal[used]
    return solution.value, Channel(space, matrix if is_exact(rays) else normalise(np.maximum(matrix, 0.0)), used)


def _reachable(
    table: NDArray[np.int64], pairs: NDArray[np.int64], symbols: NDArray[np.float64], gap: float
) -> NDArray[np.int64]:
    """Walk from one vertex to all others along edges of the polytope; implied pairs bound nothing."""
    start = table[0] - table[0, 0]  # φ = d(x₀, ·): every pair with x₀ is tight
    known = {start.tobytes(): start}
    waiting = [start]
    while waiting:
        steps, undecided = _steps(table, pairs, symbols, gap, waiting.pop())
        if undecided:
            raise UndecidedError(
                "two combinations of distances differ by less than float64 can tell: "
                "give distances as whole numbers or fractions if they are"
            )
        for step in steps:
            key = step.tobytes()
            if key not in known:
                known[key] = step
                waiting.append(step)
    return np.stack(list(known.values()))


def _symbolic(space: FiniteSpace) -> tuple[NDArray[np.int64], NDArray[np.float64]]:
    """Distances as integer coefficients of symbols, n × n × s, and the values of the symbols."""
    distances = space.distances
    values = distances.values
    if distances.form is Form.RATIONAL:
        return values[:, :, None].astype(np.int64), np.array([float(distances.unit)])
    if distances.form is Form.ROOT:
        parts = {int(v): _square_free(int(v)) for v in np.unique(values)}
        radicals = sorted({radical for _, radical in parts.values()})
        table = np.zeros((*values.shape, len(radicals)), dtype=np.int64)
        for value, (factor, radical) in parts.items():
            table[values == value, radicals.index(radical)] = factor
        return table, np.sqrt(np.array(radicals, dtype=np.float64)) * float(distances.unit)
    distinct = np.unique(values[values > 0])
    table = np.zeros((*values.shape, max(1, len(distinct))), dtype=np.int64)
    for k, value in enumerate(distinct):
        table[values == value, k] = 1
    return table, distinct if len(distinct) else np.ones(1)


def _square_free(value: int) -> tuple[int, int]:
    """(a, s) with value = a²·s and s square-free; (0, 1) for 0."""
    if value == 0:
        return 0, 1
    powers = [(int(prime), power) for prime, power in flint.fmpz(value).factor()]
    return prod(prime ** (power // 2) for prime, power in powers), prod(p for p, power in powers if power % 2)


@njit(cache=True)
def _steps(table, pairs, symbols, gap, heights):  # type: ignore[no-untyped-def]
    """The vertices at the other ends of all edges at a vertex; whether floats could not decide one."""
    n, s = heights.shape
    slack, tight = _slacks(table, symbols, heights)
    for x in range(n):
        for z in range(n):
            if x != z and slack[x, z] < gap and not tight[x] >> np.uint64(z) & np.uint64(1):
                return np.empty((0, n, s), np.int64), True
    near = tight.copy()
    reach = tight.copy()
    for x in range(n):
        reach[x] |= np.uint64(1) << np.uint64(x)
        for z in range(n):
            if tight[z] >> np.uint64(x) & np.uint64(1):
                near[x] |= np.uint64(1) << np.uint64(z)
    for y in range(n):  # what must rise with x: everything its tight pairs lead to
        for x in range(n):
            if reach[x] >> np.uint64(y) & np.uint64(1):
                reach[x] |= reach[y]
    sets = _movable_sets(near, reach, n)
    moved = np.empty((len(sets), n, s), np.int64)
    for k in range(len(sets)):
        if not _raise_set(table, pairs, slack, heights, sets[k], gap, moved[k]):
            return moved[:0], True
    return moved, False


@njit(cache=True)
def _slacks(table, symbols, heights):  # type: ignore[no-untyped-def]
    """d(x, z) − (φ_x − φ_z) in floats, and bit sets of the z for which it is exactly zero."""
    n, s = heights.shape
    slack = np.zeros((n, n))
    tight = np.zeros(n, np.uint64)
    for x in range(n):
        for z in range(n):
            zero = True
            for k in range(s):
                rest = table[x, z, k] - heights[x, k] + heights[z, k]
                slack[x, z] += rest * symbols[k]
                zero = zero and rest == 0
            if zero and x != z:
                tight[x] |= np.uint64(1) << np.uint64(z)
    return slack, tight


@njit(cache=True)
def _movable_sets(near, reach, n):  # type: ignore[no-untyped-def]
    """Sets S that contain what their members reach, with S and its complement connected."""
    everything = (np.uint64(1) << np.uint64(n)) - np.uint64(1)
    held = np.zeros(n, np.uint64)  # what must stay with x: everything whose tight pairs lead to it
    for x in range(n):
        for y in range(n):
            held[x] |= (reach[y] >> np.uint64(x) & np.uint64(1)) << np.uint64(y)
    sets = [np.uint64(0) for _ in range(0)]
    stack = np.zeros((n + 2, 2), np.uint64)  # each step decides a secret, and only one of its two branches waits
    depth = 1
    while depth:
        depth -= 1
        inside, outside = stack[depth, 0], stack[depth, 1]
        free = everything & ~(inside | outside)
        if free == np.uint64(0):
            if inside and outside and _connected(inside, near, n) and _connected(outside, near, n):
                sets.append(inside)
            continue
        x = 0
        while not free >> np.uint64(x) & np.uint64(1):
            x += 1
        if not reach[x] & outside:
            stack[depth, 0], stack[depth, 1] = inside | reach[x], outside
            depth += 1
        if not held[x] & inside:
            stack[depth, 0], stack[depth, 1] = inside, outside | held[x]
            depth += 1
    return sets


@njit(cache=True)
def _connected(members, near, n):  # type: ignore[no-untyped-def]
    seen = members & (~members + np.uint64(1))  # the lowest member
    done = np.uint64(0)
    while seen != members:
        fresh = seen & ~done
        if not fresh:
            return False
        done = seen
        for x in range(n):
            if fresh >> np.uint64(x) & np.uint64(1):
                seen |= near[x] & members
    return True


@njit(cache=True)
def _leaves(members, x, z):  # type: ignore[no-untyped-def]
    return members >> np.uint64(x) & np.uint64(1) and not members >> np.uint64(z) & np.uint64(1)


@njit(cache=True)
def _raise_set(table, pairs, slack, heights, members, gap, moved):  # type: ignore[no-untyped-def]
    """Raise a set until the next pair is tight; False when floats cannot tell which is next."""
    n, s = heights.shape
    best, first, second = np.inf, -1, -1
    for t in range(pairs.shape[1]):
        x, z = pairs[0, t], pairs[1, t]
        if _leaves(members, x, z) and slack[x, z] < best:
            best, first, second = slack[x, z], x, z
    rise = table[first, second] - heights[first] + heights[second]
    for t in range(pairs.shape[1]):
        x, z = pairs[0, t], pairs[1, t]
        if _leaves(members, x, z) and slack[x, z] < best + gap:
            for k in range(s):
                if table[x, z, k] - heights[x, k] + heights[z, k] != rise[k]:
                    return False
    for x in range(n):
        lift = members >> np.uint64(x) & np.uint64(1)
        for k in range(s):
            moved[x, k] = heights[x, k] + (rise[k] if lift else 0)
    base = moved[0].copy()
    for x in range(n):
        for k in range(s):
            moved[x, k] -= base[k]
    return True
