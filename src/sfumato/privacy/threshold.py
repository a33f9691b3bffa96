"""From which ε on the tight-constraints mechanism exists, and the whole set of ε where it does.

Three ways, all of them proofs:

* Trees have a closed form: z_y = 1 − Σ_e 1/(1 + e^{ε d_e}) over the edges e at y.
* With commensurable distances z · det is a polynomial in t = e^{−ε·unit}; its roots are isolated exactly, so the whole
  set of ε is known, also where it is not an interval.
* Otherwise z ≥ 0 is shown from some ε on (where Φπ < 2π, the alternating series of Φ^{-1}π has non-negative sums),
  then on one interval after another below, by Taylor enclosures in float64, down to a bracket in which the critical
  entries rise through zero. Balls then give as many digits as one likes.

Everything is said for π = μΦ, μ ≥ 0; the uniform prior stands for the mechanism (paper C, Proposition 8).
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from sfumato.channels.channel import check_secrets
from sfumato.channels.prior import Prior, as_prior
from sfumato.errors import InvalidPrior, NotSupported, expect, shown
from sfumato.numbers import as_ball, fractions
from sfumato.privacy.algebraic import Endpoint, Stretch, algebraic_stretches, ball_endpoint, commensurable
from sfumato.privacy.similarity import (
    UNIT,
    Quotient,
    float_powers,
    inverse_of,
    matrix_applied,
    matrix_product,
    quotient,
    solve_signs,
)
from sfumato.privacy.type import PrivacyType, distance_ball
from sfumato.spaces.distances import Distances
from sfumato.spaces.finite import FiniteSpace

_MOST_CLASSES = 48  # Polynomials are eliminated in a few seconds for up to so many classes.
_MOST_DEGREE = 2_000  # Polynomials are eliminated if no entry of the matrix has a larger degree.
_MOST_DIGITS = 1_000
_FIRST_BRACKET = 0.02  # Monotonicity is first tried in a bracket of this relative width.
_SMALLEST_STEP = 1e-7  # A march whose relative steps get smaller than this has met a zero.
_LOWEST = 1e-3  # The march ends at this share of where it starts: below, Φ is too close to singular for float64.


@dataclass(frozen=True)
class Threshold:
    """From ``value`` on the mechanism exists for every ε (or the prior is regular); just below it does not.

    ``exists`` lists the stretches of ε where it does, all of them if ``complete``; ``open_points`` are single values
    of ε at which that is not settled. ``settled`` is False when no ε without a mechanism was found: then it exists
    from ``value`` on, and what holds below is not known.
    """

    value: Endpoint
    exists: tuple[Stretch, ...]
    complete: bool
    digits: int
    settled: bool = True
    open_points: tuple[Endpoint, ...] = ()

    def __float__(self) -> float:
        return float(self.value)

    def __str__(self) -> str:
        if not self.settled:
            return f"at most {Endpoint(self.value.high, self.value.high).decimal(self.digits)}"
        known = f" (ln {1 / self.value.alpha})" if self.value.alpha is not None and self.value.high else ""
        return self.value.decimal(self.digits) + known


def tight_threshold(space: FiniteSpace, *, digits: int = 9) -> Threshold:
    """The ε from which on the tight-constraints mechanism exists, to any number of decimals.

    Examples
    --------
    >>> from sfumato.spaces import graph, star
    >>> print(tight_threshold(star(4)))
    1.098612289 (ln 3)
    >>> edges = [(i, j) for i in range(3) for j in range(3, 6)] + [(0, 1)]
    >>> threshold = tight_threshold(graph(edges), digits=6)         # K_{3,3} and one more edge
    >>> [(s.low.decimal(6), s.high and s.high.decimal(6)) for s in threshold.exists]
    [('0.000000', '0.346574'), ('0.693147', None)]
    """
    space = expect(space, FiniteSpace, "a space")
    _check_digits(digits)
    branches = _tree(space)
    if branches is not None:
        return _tree_threshold(space, branches, digits)
    return _threshold(quotient(space), None, digits)


def regular_threshold(prior: Prior, space: FiniteSpace, *, digits: int = 9) -> Threshold:
    """The ε from which on a prior is regular, to any number of decimals.

    Examples
    --------
    >>> from sfumato.spaces import discrete
    >>> print(regular_threshold(Prior(range(4), ["0.3", "0.27", "0.23", "0.2"]), discrete(4)))
    0.693147181 (ln 2)
    """
    prior, space = as_prior(prior), expect(space, FiniteSpace, "a space")
    check_secrets("prior and space", space, prior)
    _check_digits(digits)
    weights = fractions(prior.weights)
    if not all(weights):
        raise InvalidPrior("a prior that leaves a secret out is regular for no ε: restrict the space to its support")
    system = quotient(space, weights.tolist())
    return _threshold(system, [weights[x] for x in system.representatives], digits)


def _check_digits(digits: int) -> None:
    if not isinstance(digits, int | np.integer) or not 0 <= digits <= _MOST_DIGITS:
        raise NotSupported(f"{shown(digits)} digits", [f"a whole number up to {_MOST_DIGITS}"])


def _threshold(system: Quotient, rhs: list[Fraction] | None, digits: int) -> Threshold:
    if len(system) == 1:
        return _always(digits)
    right = rhs if rhs is not None else [Fraction(1)] * len(system)
    steps = commensurable(system)
    if steps is not None and len(system) <= _MOST_CLASSES and max(steps.exponents) <= _MOST_DEGREE:
        stretches, doubtful = algebraic_stretches(system, steps, right, digits)
        return Threshold(stretches[-1].low, stretches, True, digits, open_points=doubtful)
    return _numerical_threshold(system, right, digits)


def _always(digits: int) -> Threshold:
    zero = Endpoint(Fraction(0), Fraction(0))
    return Threshold(zero, (Stretch(zero, None),), True, digits)


# ----------------------------------------------------------------- trees


def _tree(space: FiniteSpace) -> list[list[Any]] | None:
    """For each secret the entries of the edge table at it, if the space is a tree."""
    if space.edges is None or not 0 < len(space.edges.pairs.first) == len(space) - 1 or space.open_pairs:
        return None
    first, second = space.edges.pairs
    at: list[list[Any]] = [[] for _ in space.labels]
    for x, y, value in zip(first.tolist(), second.tolist(), space.edges.lengths.values.tolist(), strict=True):
        at[x].append(value)
        at[y].append(value)
    return at


def _tree_threshold(space: FiniteSpace, branches: list[list[Any]], digits: int) -> Threshold:
    """Σ_e 1/(1 + e^{ε d_e}) falls with ε; up to two edges it is below 1 from the start."""
    kinds = {tuple(sorted(lengths)) for lengths in branches if len(lengths) > 2}
    if not kinds:
        return _always(digits)
    assert space.edges is not None
    ends = [_tree_endpoint(space.edges.lengths, lengths, digits) for lengths in kinds]
    last = max(ends, key=lambda end: end.high)
    return Threshold(last, (Stretch(last, None),), True, digits)


def _tree_endpoint(ruler: Distances, lengths: tuple[Any, ...], digits: int) -> Endpoint:
    if len(set(lengths)) == 1:  # k / (1 + e^{εd}) = 1
        length, length_high = ruler.bounds(lengths[0])
        base = Fraction(1, len(lengths) - 1)
        if length == length_high:
            return ball_endpoint(base, base, lambda: as_ball(length), digits, length)

    def excess(rate: Fraction) -> bool:
        bits = 64 + 4 * digits
        while True:
            with flint.ctx.workprec(bits):
                total = flint.arb(0)
                for value in lengths:
                    total += 1 / (1 + (as_ball(rate) * distance_ball(ruler, value)).exp())
                if total > 1 or total < 1:
                    return bool(total > 1)
            bits *= 2

    low, high = Fraction(0), Fraction(1)
    while excess(high):
        high *= 2
    while high - low > Fraction(1, 20 * 10**digits):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) else (low, middle)
    return Endpoint(low, high)


# ----------------------------------------------------------------- enclosures


class _Taylor:
    """Bounds of v(ε) = B(ε)^{-1} rhs and of its derivative for all ε within ``radius`` of ``centre``.

    With R ≈ B^{-1}, ṽ = v₀ + t v₁ has a residual of second order in t, which the bounds of :func:`verified_solve` turn
    into one on v − ṽ; B″ is bounded entry by entry at the left end. Every line below is an upper bound.
    """

    def __init__(self, system: Quotient, rhs: NDArray[np.float64], centre: Fraction, radius: float) -> None:
        privacy = PrivacyType(system.space, epsilon=centre)
        d = np.where(np.isfinite(system.lengths), system.lengths, 0.0)
        power = float_powers(privacy, system.values)
        b0, b1 = system.floats(power), -system.floats(power * d)
        b2 = system.floats(power * d * d * np.exp(radius * d)) * (1 + 1e-9)
        m = len(system)
        slip = (m + 2 * system.most_terms + 16) * UNIT * 1.001  # relative error of entries and of sums of m products
        inverse = inverse_of(b0)
        self.usable = bool(np.isfinite(inverse).all())
        if not self.usable:
            return
        size, one = np.abs(inverse), np.ones(m)
        self.values = matrix_applied(inverse, rhs)
        self.values += matrix_applied(inverse, rhs - matrix_applied(b0, self.values))
        self.slopes = -matrix_applied(inverse, matrix_applied(b1, self.values))
        v0, v1 = np.abs(self.values), np.abs(self.slopes)
        rest0 = np.abs(rhs - matrix_applied(b0, self.values)) + slip * (matrix_applied(b0, v0) + np.abs(rhs))
        rest1 = np.abs(matrix_applied(b1, self.values) + matrix_applied(b0, self.slopes)) + slip * (
            matrix_applied(b0, v1) - matrix_applied(b1, v0)
        )
        bend = np.abs(matrix_applied(inverse, matrix_applied(b1, self.slopes))) - 2 * slip * matrix_applied(
            size, matrix_applied(b1, v1)
        )
        curve = matrix_applied(size, matrix_applied(b2, v0 + radius * v1))
        shrink = 1.001 * float(
            (
                np.abs(np.eye(m) - matrix_product(inverse, b0)).sum(axis=1)
                + radius * np.abs(matrix_product(inverse, b1)).sum(axis=1)
                + radius**2 * matrix_applied(size, matrix_applied(b2, one))
                + slip * matrix_applied(size, matrix_applied(b0 - radius * b1, one))
            ).max()
        )
        self.usable = shrink < 0.5
        if not self.usable:
            return
        grow = shrink / (1 - shrink)
        off = matrix_applied(size, rest0 + radius * rest1) + radius**2 * (bend + curve / 2)
        self.error = (off + grow * off.max()) * 1.001 + 1e-290
        off = (
            matrix_applied(size, rest1)
            + radius * (matrix_applied(size, matrix_applied(b2, v0)) + 2 * bend)
            + 1.5 * radius**2 * matrix_applied(size, matrix_applied(b2, v1))
            + matrix_applied(size, matrix_applied(radius * b2 - b1, self.error))
        )
        self.slope_error = (off + grow * off.max()) * 1.001 + 1e-290
        self.low = self.values - radius * v1 - self.error


def _numerical_threshold(system: Quotient, rhs: list[Fraction], digits: int) -> Threshold:
    right = np.array([float(b) for b in rhs])
    top = _dominant_rate(system, right)
    below = _last_failure(system, right, top)
    here, rising = _march(system, right, top, below)
    if rising is None:
        end = Endpoint(Fraction(0) if below is None else Fraction(below), here)
        return Threshold(end, (Stretch(Endpoint(here, here), None),), False, digits, settled=False)
    end = _refined(system, rhs, rising, digits)
    return Threshold(end, (Stretch(end, None),), False, digits)


def _dominant_rate(system: Quotient, rhs: NDArray[np.float64]) -> Fraction:
    """An ε with Φπ < 2π there and beyond: with E = Φ − I, Φ^{-1}π = Σ_k E^{2k}(π − Eπ) ≥ 0 then."""
    shortest = float(np.min(system.space.pair_distances.floats, initial=np.inf))
    rate = Fraction(1 / shortest) if np.isfinite(shortest) else Fraction(1)
    while True:
        sums = matrix_applied(system.floats(float_powers(PrivacyType(system.space, epsilon=rate), system.values)), rhs)
        if (sums < 1.999 * rhs).all():  # far beyond rounding
            return rate
        rate *= Fraction(9, 8)


def _solved(system: Quotient, rhs: NDArray[np.float64], rate: float) -> NDArray[np.float64]:
    """v in plain float64, to search with; zeros where the matrix is singular in float64."""
    inverse = inverse_of(system.floats(np.exp(-rate * system.lengths)))
    return np.asarray(np.nan_to_num(matrix_applied(inverse, rhs)))


def _last_failure(system: Quotient, rhs: NDArray[np.float64], top: Fraction) -> float | None:
    """About the largest ε at which an entry of v is negative, found by looking; None if none was seen."""
    high = float(top)
    low = high * 0.93
    while _solved(system, rhs, low).min() >= 0:
        high, low = low, low * 0.93
        if low < _LOWEST * float(top):
            return None
    return float(brentq(lambda rate: float(_solved(system, rhs, rate).min()), low, high, xtol=1e-12 * high, rtol=1e-12))


def _march(
    system: Quotient, rhs: NDArray[np.float64], top: Fraction, below: float | None
) -> tuple[Fraction, tuple[Fraction, Fraction, float] | None]:
    """Prove v > 0 from ``top`` down to near ``below``; then that the entries which reach zero there only rise.

    Returns how far the proof went, and the bracket with the smallest slope in it, or None where none was found.
    """
    here, step = top, float(top) / 16
    goal = _LOWEST * float(top) if below is None else below
    bracket = _FIRST_BRACKET
    while True:
        gap = float(here) - goal
        if below is not None and gap < bracket * below:
            rising = _rising(system, rhs, below, 1.001 * gap)
            if rising is not None:
                return here, rising
            bracket /= 4
        if gap < _SMALLEST_STEP * float(here) or step < _SMALLEST_STEP * float(here):
            return here, None
        step = min(step, 0.45 * gap)
        box = _Taylor(system, rhs, here - Fraction(step), step * (1 + 1e-9))
        if box.usable and (box.low > 0).all():
            here, step = here - 2 * Fraction(step), step * 1.7
        else:
            step /= 2


def _rising(
    system: Quotient, rhs: NDArray[np.float64], below: float, radius: float
) -> tuple[Fraction, Fraction, float] | None:
    """Whether, around ``below``, every entry is positive or rises, and some entry is negative at the left end."""
    centre = Fraction(below)
    box = _Taylor(system, rhs, centre, radius)
    if not box.usable:
        return None
    slopes = (box.slopes - box.slope_error)[box.low <= 0]
    if not (slopes > 0).all() or not (box.values - radius * box.slopes + box.error < 0).any():
        return None
    return centre - Fraction(radius), centre + Fraction(radius), float(slopes.min())


def _refined(system: Quotient, rhs: list[Fraction], rising: tuple[Fraction, Fraction, float], digits: int) -> Endpoint:
    """Inside the bracket the least entry of v rises through zero once: signs at two points enclose where."""
    low, high, slope = rising
    half = Fraction(1, 40 * 10**digits)  # a digit more, so that those shown are right
    # the middle is the root as floats see it: a little beside it a sign is cheaper to prove
    guess, last = (low + high) / 2 - half, None
    rounded = 10 ** (digits + 4)
    while high - low > 2 * half:
        value, sign = _least_entry(system, rhs, guess)
        low, high = (guess, high) if sign < 0 else (low, guess)
        if last is not None and guess != last[0] and value != last[1]:
            slope = (value - last[1]) / float(guess - last[0])
        last = guess, value
        aim = guess - Fraction(value / slope) if slope > 0 else (low + high) / 2
        # step beyond the root, so that both ends come close to it
        aim += (half if sign < 0 else -half) / 2
        aim = Fraction(round(aim * rounded), rounded)
        guess = aim if low < aim < high else (low + high) / 2
    return Endpoint(low, high)


def _least_entry(system: Quotient, rhs: list[Fraction], rate: Fraction) -> tuple[float, int]:
    """The least entry of v at a rational ε, and its proved sign: for rational ε it is never zero."""
    solution = solve_signs(system, PrivacyType(system.space, epsilon=rate), rhs)
    if solution is None or not solution.decided:
        raise NotSupported(f"a sign at ε = {float(rate)} beyond 8192 bits", ["fewer digits"])
    least = int(np.argmin(solution.values))
    return float(solution.values[least]), -1 if -1 in solution.signs else 1
