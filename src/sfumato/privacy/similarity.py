"""The similarity matrix Φ of a privacy type, and linear systems with it whose signs are proved.

Φ_xy = e^{−ε d(x, y)}. A system Φv = b is first divided by the symmetry of the space: secrets that see equally many
secrets of each class at each distance form one class, v is constant on classes, and one equation for each class
is left (:class:`Quotient`). Then, from cheap to certain:

* float64 with an enclosure: R ≈ Φ^{-1}, and a bound on I − RΦ that holds for any order of summation
  (Rump's method, :func:`verified_solve`);
* balls (Arb, inside FLINT) of growing precision;
* rationals, where e^{−εd} are rational and a ball keeps containing zero.

For a rational ε > 0 the balls always end: by the theorem of Lindemann and Weierstrass a sum Σ a_i e^{β_i} of
algebraic numbers with distinct exponents vanishes only if all a_i do. In det Φ, and in v_y det Φ where b_y ≠ 0, the
exponent 0 comes from the identity permutation alone, with coefficient 1 and b_y. So neither is ever zero.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

import flint
import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.arguments import items
from sfumato.errors import InvalidInput, NotSupported, shown
from sfumato.numbers import Array, as_ball, exact, fmpq, object_array
from sfumato.privacy.type import PrivacyType, as_type, ball_rate, distance_ball
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.finite import FiniteSpace, as_space

UNIT = 2.0**-53
"""Relative error of one rounding to float64."""

_SAFE = 1 + 2.0**-20
"""Bounds are sums of at most 2^20 non-negative doubles, so they are this accurate themselves."""

_TINY = 1e-290
"""Added to bounds: what underflow may have taken away."""

_MOST_SECRETS = 6_000  # A table of the distances of so many secrets takes 300 MB.
_EXACT_FIRST = 40  # Up to so many classes rationals are asked before anything else.
_FLOATS_FIRST = 24  # From so many classes on enclosures in float64 are faster than balls.
_MOST_BITS = 2**13


def similarity(privacy: PrivacyType) -> Array:
    """Φ_xy = e^{−ε d(x, y)}: exact for exact types, float64 otherwise (paper C, Definition 3).

    Secrets that are infinitely far apart have similarity 0.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> print(similarity(PrivacyType(line(3), alpha="1/2")))
    [[Fraction(1, 1) Fraction(1, 2) Fraction(1, 4)]
     [Fraction(1, 2) Fraction(1, 1) Fraction(1, 2)]
     [Fraction(1, 4) Fraction(1, 2) Fraction(1, 1)]]
    """
    privacy = as_type(privacy)
    values, codes = np.unique(privacy.space.distances.values, return_inverse=True)
    powers = exact_powers(privacy, values)
    table = float_powers(privacy, values) if powers is None else object_array(powers)
    return np.asarray(table[codes])


def symmetry_classes(space: FiniteSpace, colours: Sequence[Any] | None = None) -> NDArray[np.int64]:
    """The coarsest partition in which all members of a class see equally many members of each class at each distance.

    Classes are numbered by first appearance. With ``colours``, secrets of different colour are kept apart. One class
    for the whole space is ball-size symmetry (paper C, Definition 7).

    Examples
    --------
    >>> from sfumato.spaces import grid, hamming
    >>> symmetry_classes(grid(3, 3)).tolist()
    [0, 1, 0, 1, 2, 1, 0, 1, 0]
    >>> symmetry_classes(hamming(3)).max()
    np.int64(0)
    """
    space = as_space(space)
    if len(space) > _MOST_SECRETS:
        raise NotSupported(
            f"a table of {len(space)} secrets", [f"at most {_MOST_SECRETS}", "grids of any size by mechanisms.Lattice"]
        )
    _, codes = np.unique(space.distances.values, return_inverse=True)
    given = [0] * len(space) if colours is None else items(colours, "colours")
    if len(given) != len(space) or not all(isinstance(colour, Hashable) for colour in given):
        raise InvalidInput(f"colours are {len(space)} hashable values, one for each secret, found {shown(colours)}")
    classes = _by_appearance(given)
    while True:
        count = int(classes.max()) + 1
        seen = np.sort(codes * count + classes[None, :], axis=1)
        _, first, fresh = np.unique(np.column_stack([classes, seen]), axis=0, return_index=True, return_inverse=True)
        if len(first) == count:
            return _by_appearance(classes.tolist())
        classes = fresh.ravel()


def _by_appearance(values: Sequence[Any]) -> NDArray[np.int64]:
    """Values as numbers: the first one is 0, the next other one is 1, …."""
    numbers: dict[Any, int] = {}
    return np.array([numbers.setdefault(value, len(numbers)) for value in values])


@dataclass(frozen=True, eq=False)
class Quotient:
    """The system Φv = b for vectors that are constant on classes: B_ij = Σ_{y in class j} Φ(x_i, y).

    ``terms`` are rows (i, j, k, count): class i sees ``count`` members of class j at distance ``values[k]``. B has a
    solution v ≥ 0 exactly when Φ has one, since averaging a solution over classes gives one of B.
    """

    space: FiniteSpace
    classes: NDArray[np.int64]
    sizes: NDArray[np.int64]
    representatives: NDArray[np.int64]
    values: NDArray[Any]
    terms: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.sizes)

    def floats(self, powers: NDArray[np.float64]) -> NDArray[np.float64]:
        """B with the given numbers at the distinct distances."""
        i, j, k, count = self.terms.T
        m = len(self)
        flat = np.bincount(i * m + j, weights=count * powers[k], minlength=m * m)
        return np.asarray(flat.reshape(m, m), dtype=np.float64)

    def entries(self, powers: Sequence[Any], zero: Any) -> list[Any]:
        """B row by row with the given numbers, in any number field."""
        m = len(self)
        result = [zero] * (m * m)
        for i, j, k, count in self.terms.tolist():
            result[i * m + j] += powers[k] * count
        return result

    @cached_property
    def lengths(self) -> NDArray[np.float64]:
        """The distinct distances in float64."""
        table = self.space.distances
        return Distances(table.form, np.array(self.values), table.unit).floats

    @cached_property
    def most_terms(self) -> int:
        """The largest number of terms that one entry is a sum of."""
        i, j = self.terms[:, 0], self.terms[:, 1]
        return int(np.bincount(i * len(self) + j).max())


def quotient(space: FiniteSpace, colours: Sequence[Any] | None = None) -> Quotient:
    """The quotient of a space by its symmetry classes; the last two are kept, since questions come in series."""
    return _quotient(space, None if colours is None or len(set(colours)) == 1 else tuple(colours))


@lru_cache(maxsize=2)
def _quotient(space: FiniteSpace, colours: tuple[Any, ...] | None) -> Quotient:
    classes = symmetry_classes(space, colours)
    values, codes = np.unique(space.distances.values, return_inverse=True)
    _, representatives, sizes = np.unique(classes, return_index=True, return_counts=True)
    m, distinct = len(sizes), len(values)
    keys = (np.arange(m)[:, None] * m + classes[None, :]) * distinct + codes[representatives]
    distinct_keys, count = np.unique(keys, return_counts=True)
    pair, k = np.divmod(distinct_keys, distinct)
    terms = np.column_stack([pair // m, pair % m, k, count])
    return Quotient(space, classes, sizes, representatives, values, terms)


def exact_powers(privacy: PrivacyType, values: NDArray[Any]) -> list[Fraction] | None:
    """e^{−εd} for entries of the table of distances as rationals, or None if one is not."""
    if privacy.alpha is None or privacy.space.distances.form is Form.FLOAT:
        return None
    infinite = Distances(privacy.space.distances.form, np.array(values)).infinite
    result = []
    for value, far in zip(values, infinite, strict=True):
        factor = None if far else privacy.exact_factor(value)
        if factor is None and not far:
            return None
        result.append(Fraction(0) if factor is None else 1 / factor)
    return result


def ball_powers(space: FiniteSpace, values: NDArray[Any], rate: flint.arb) -> list[flint.arb]:
    """e^{−rate·d} for entries of the table of distances, as balls of the current precision."""
    table = space.distances
    infinite = Distances(table.form, np.array(values)).infinite
    return [
        flint.arb(0) if far else (-rate * distance_ball(table, value)).exp()
        for value, far in zip(values.tolist(), infinite.tolist(), strict=True)
    ]


def float_powers(privacy: PrivacyType, values: NDArray[Any]) -> NDArray[np.float64]:
    """e^{−εd} in float64, each within 2^-52 of its value or below 1e-300 and set to zero."""
    with flint.ctx.workprec(80):
        balls = ball_powers(privacy.space, values, ball_rate(privacy))
    result = np.array([float(ball.mid()) for ball in balls])
    result[result < 1e-300] = 0.0
    return result


@dataclass(frozen=True, eq=False)
class SignedSolution:
    """A vector v with Φv = b, one number a secret or a class.

    ``values`` are exact, or floats of which none is farther from the truth than its ``error``; ``signs`` are proved,
    ``None`` where the answer is not known.
    """

    values: Array
    error: NDArray[np.float64]
    signs: tuple[int | None, ...]

    def lifted(self, classes: NDArray[np.int64]) -> SignedSolution:
        """From one number a class to one a secret."""
        signs = tuple(self.signs[c] for c in classes)
        return SignedSolution(np.asarray(self.values[classes]), np.asarray(self.error[classes]), signs)

    @property
    def exact(self) -> bool:
        """Whether the values are rationals."""
        return self.values.dtype == object

    @property
    def decided(self) -> bool:
        """Whether every sign is known."""
        return None not in self.signs


def solve_signs(
    system: Quotient, privacy: PrivacyType, rhs: Sequence[Fraction], spread: Fraction = Fraction(0)
) -> SignedSolution | None:
    """The solution of Bv = rhs with proved signs; None where B is singular, exactly or as far as balls can see.

    ``spread`` is the relative uncertainty of the right-hand side: floats stand for numbers near them.
    """
    powers = exact_powers(privacy, system.values)
    if powers is not None and not spread and len(system) <= _EXACT_FIRST:
        return signed_solution(system, powers, rhs)
    if len(system) >= _FLOATS_FIRST:
        enclosed = _solve_floats(system, privacy, rhs, spread)
        if enclosed.decided:
            return enclosed
    best: SignedSolution | None = None
    bits = 64
    # balls cannot get smaller than what they start from
    most = 256 if spread or powers is not None else _MOST_BITS
    while bits <= most:
        with flint.ctx.workprec(bits):
            solution = solve_balls(system, ball_powers(privacy.space, system.values, ball_rate(privacy)), rhs, spread)
        if solution is not None and solution.decided:
            return solution
        best, bits = solution or best, 2 * bits
    if powers is not None and not spread:
        return signed_solution(system, powers, rhs)
    return best


def exact_solution(system: Quotient, powers: Sequence[flint.fmpq], rhs: Sequence[Fraction]) -> list[flint.fmpq] | None:
    """v with Bv = rhs in rationals, None where the matrix is singular."""
    m = len(system)
    matrix = flint.fmpq_mat(m, m, system.entries(powers, flint.fmpq(0)))
    try:
        return list(matrix.solve(flint.fmpq_mat(m, 1, [fmpq(exact(b)) for b in rhs])).entries())
    except ZeroDivisionError:
        return None


def ball_solution(
    system: Quotient, powers: Sequence[flint.arb], rhs: Sequence[Fraction], spread: Fraction = Fraction(0)
) -> list[flint.arb] | None:
    """v with Bv = rhs in balls of the current precision, None where the matrix cannot be told from a singular one."""
    m = len(system)
    around = flint.arb(1, fmpq(spread)) if spread else flint.arb(1)
    right = flint.arb_mat(m, 1, [as_ball(exact(b)) * around for b in rhs])
    matrix = flint.arb_mat(m, m, system.entries(powers, flint.arb(0)))
    try:
        # plain elimination loses bits with every row
        balls = list(matrix.solve(right, algorithm="lu" if m <= 8 else "precond").entries())
    except ZeroDivisionError:
        return None
    return balls if all(ball.is_finite() for ball in balls) else None


def signed_solution(system: Quotient, powers: Sequence[Fraction], rhs: Sequence[Fraction]) -> SignedSolution | None:
    """The solution in rationals, None where the matrix is singular."""
    entries = exact_solution(system, [fmpq(p) for p in powers], rhs)
    if entries is None:
        return None
    values = object_array(map(exact, entries))
    return SignedSolution(values, np.zeros(len(system)), tuple((v > 0) - (v < 0) for v in values))


def solve_balls(
    system: Quotient, powers: Sequence[flint.arb], rhs: Sequence[Fraction], spread: Fraction = Fraction(0)
) -> SignedSolution | None:
    """The solution as centres of balls with their radii, None where the matrix cannot be told from a singular one."""
    balls = ball_solution(system, powers, rhs, spread)
    if balls is None:
        return None
    values = np.array([float(ball.mid()) for ball in balls])
    error = np.array([float(ball.rad()) for ball in balls]) * _SAFE + np.abs(values) * 2 * UNIT + _TINY
    return SignedSolution(values, error, tuple(1 if v > 0 else -1 if v < 0 else None for v in balls))


def _solve_floats(system: Quotient, privacy: PrivacyType, rhs: Sequence[Fraction], spread: Fraction) -> SignedSolution:
    matrix = system.floats(float_powers(privacy, system.values))
    right = np.array([float(b) for b in rhs])
    off = (system.most_terms + 3) * 2 * UNIT * matrix
    values, error = verified_solve(matrix, off, right, (float(spread) + UNIT) * np.abs(right))
    signs = tuple(1 if v > e else -1 if v < -e else None for v, e in zip(values, error, strict=True))
    return SignedSolution(values, error, signs)


# Small dense algebra without BLAS: its threads wait for each other, which on a busy machine costs tenfold.


@njit(cache=True, nogil=True)
def verified_solve(matrix, matrix_error, rhs, rhs_error):  # type: ignore[no-untyped-def]
    """The solution of Av = b in float64 with a proved bound on its error, infinite if none could be proved.

    A and b are any numbers that are not farther from what is given than their errors. With R ≈ A^{-1} and
    ‖I − RA‖ ≤ g < 1 in the maximum norm, v − ṽ = (RA)^{-1} R (b − Aṽ), so entry i of the error is at most
    t_i + g/(1 − g) · max t, where t = |R| |b − Aṽ|. A sum of m products in any order is within
    m·u/(1 − m·u) · Σ |products| of the truth, u = 2^-53.
    """
    m = len(rhs)
    inverse = inverse_of(matrix)
    if not np.isfinite(inverse).all():
        return np.zeros(m), np.full(m, np.inf)
    magnitude, slip = np.abs(inverse), matrix_error + (m + 4) * UNIT * _SAFE * np.abs(matrix)
    residue = np.abs(np.eye(m) - matrix_product(inverse, matrix)).sum(axis=1)
    contraction = (residue + matrix_applied(magnitude, slip.sum(axis=1))).max() * _SAFE + _TINY
    if not contraction < 0.5:
        return np.zeros(m), np.full(m, np.inf)
    values = matrix_applied(inverse, rhs)
    values += matrix_applied(inverse, rhs - matrix_applied(matrix, values))
    rest = (
        np.abs(rhs - matrix_applied(matrix, values))
        + matrix_applied(slip, np.abs(values))
        + rhs_error
        + 2 * UNIT * np.abs(rhs)
    )
    reach = matrix_applied(magnitude, rest * _SAFE + _TINY)
    return values, (reach + contraction / (1 - contraction) * reach.max()) * _SAFE + _TINY


@njit(cache=True, nogil=True)
def matrix_applied(matrix, vector):  # type: ignore[no-untyped-def]
    """A matrix times a vector."""
    result = np.zeros(len(matrix))
    for i in range(len(matrix)):
        for j in range(len(vector)):
            result[i] += matrix[i, j] * vector[j]
    return result


@njit(cache=True, nogil=True)
def matrix_product(left, right):  # type: ignore[no-untyped-def]
    """A matrix times a matrix."""
    result = np.zeros((left.shape[0], right.shape[1]))
    for i in range(left.shape[0]):
        row = result[i]
        for k in range(left.shape[1]):
            factor, other = left[i, k], right[k]
            for j in range(other.size):
                row[j] += factor * other[j]
    return result


@njit(cache=True, nogil=True)
def inverse_of(matrix):  # type: ignore[no-untyped-def]
    """An inverse by Gauss–Jordan elimination, with entries that are not finite where the matrix is singular."""
    m, table = len(matrix), matrix.copy()
    order = np.arange(m)
    for k in range(m):
        best = k
        for i in range(k + 1, m):
            if abs(table[i, k]) > abs(table[best, k]):
                best = i
        if table[best, k] == 0.0:
            return np.full((m, m), np.nan)
        if best != k:
            for j in range(m):
                table[k, j], table[best, j] = table[best, j], table[k, j]
            order[k], order[best] = order[best], order[k]
        row = table[k]
        pivot, row[k] = row[k], 1.0
        for j in range(m):
            row[j] /= pivot
        for i in range(m):
            other = table[i]
            factor = other[k]
            if i != k and factor != 0.0:
                other[k] = 0.0
                for j in range(m):
                    other[j] -= factor * row[j]
    result = np.empty_like(table)
    for k in range(m):
        for i in range(m):
            result[i, order[k]] = table[i, k]
    return result
