"""Does a channel keep a promise, and which is the best promise it keeps?

A search in floats finds the pairs and outputs where the ratio of two entries comes near the
bound; those are then decided exactly. e^{εd} is transcendental unless it is a known rational,
so comparing it with a rational always ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from math import inf, log
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.errors import advice, counted, expect
from sfumato.numbers import ROUNDING, Array, exact, float_above, is_exact, log_bounds, printed_above, told_apart
from sfumato.privacy.predicates import Predicate
from sfumato.privacy.predicates_satisfaction import satisfies_predicate
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.finite import FiniteSpace, Pairs, place_of
from sfumato.threads import on_threads
from sfumato.verdict import Verdict, fails, holds, undecided

__all__ = ["Tightest", "Violation", "row_distance", "satisfies", "smallest_epsilon", "tightest_pair"]

# Logarithms of entries are good to 2^-52 of their size, at most 745 for doubles: an entry
# whose log-ratio is farther from the bound than this is decided by the float search.
_LOG_BAND = 1e-12


@dataclass(frozen=True)
class Violation:
    """An output whose probabilities for two secrets differ by more than promised.

    ``bound`` is e^{εd} rounded up to a float; ``compared`` are the exact ratio and a rational between it and e^{εd}.
    """

    pair: tuple[Any, Any]
    output: Any
    ratio: Fraction | float
    bound: float
    compared: tuple[Fraction | float, Fraction]

    @property
    def excess(self) -> Fraction | float:
        """By which share of the bound the ratio exceeds it."""
        ratio, bound = self.compared
        return inf if ratio == inf else exact(ratio) / bound - 1

    def __str__(self) -> str:
        (x, z), (ratio, bound) = self.pair, self.compared
        times, most = ("infinitely many", told_apart(bound, bound)[0]) if ratio == inf else told_apart(ratio, bound)
        return f"output {self.output!r} is {times} times as likely for {x!r} as for {z!r}, more than the {most} allowed"


@dataclass(frozen=True)
class Tightest:
    """Where a channel tells two secrets apart most, for their distance."""

    pair: tuple[Any, Any]
    output: Any
    ratio: Fraction | float
    distance: float
    epsilon: float


def satisfies(channel: Channel, privacy: PrivacyType | Predicate, neighbours: Any = None) -> Verdict:
    """Whether M(x)(y) ≤ e^{ε d(x, x′)} M(x′)(y) for all secrets x, x′ and outputs y.

    A :class:`~sfumato.privacy.predicates.Predicate` is asked about every event of every two ``neighbours``
    (:func:`~sfumato.privacy.predicates_satisfaction.satisfies_predicate`).

    The numbers of the channel are compared exactly as given. An exact channel gets a
    definite answer. A float channel that breaks the promise by no more than the rounding
    of its entries is *undecided*: a mechanism on the border cannot be judged from rounded
    numbers. :func:`sfumato.repair` then gives a proved mechanism next to it.

    Returns
    -------
    Verdict
        *fails* and *undecided* carry the worst :class:`Violation`.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> privacy = PrivacyType(line(2), alpha="1/2")
    >>> bool(satisfies(Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]]), privacy))
    True
    >>> print(satisfies(Channel([0, 1], [["3/4", "1/4"], ["1/4", "3/4"]]), privacy))
    fails: output 0 is 3 times as likely for 0 as for 1, more than the 2 allowed
    """
    if isinstance(privacy, Predicate):
        return satisfies_predicate(channel, privacy, neighbours)
    channel, privacy = as_channel(channel), as_type(privacy)
    check_secrets("channel and privacy type", privacy.space, channel)
    pairs = privacy.space.pairs
    if not pairs.first.size:
        count = privacy.space.open_pairs
        return holds(
            f"nothing is promised about any of {count} pairs: no two secrets have a finite distance"
            if count
            else "there is no pair of secrets to tell apart"
        )
    logs = _logarithms(channel.matrix)
    most = log_ratios(logs, pairs)
    allowed = privacy.rate * privacy.space.pair_distances.floats
    suspects = np.flatnonzero(most > allowed - _LOG_BAND * (1 + allowed))
    order = suspects[np.argsort((allowed - most)[suspects], kind="stable")]
    decided: dict[Any, Any] = {}
    for k in order:
        violation = _violation(channel, privacy, pairs, int(k), decided)
        if violation is not None:
            return _judge(channel, violation)
    count = privacy.space.open_pairs
    about_others = f"; nothing is promised about {counted(count, 'pair')}" if count else ""
    checked = counted(pairs.first.size, "pair that is", "pairs that are")
    return holds(f"all {checked} not implied by others were checked exactly{about_others}")


def _judge(channel: Channel, violation: Violation) -> Verdict:
    if channel.exact or violation.ratio > violation.bound * (1 + 2 * ROUNDING):
        return fails(str(violation), violation)
    return undecided(
        f"{violation}, but only by the rounding of float64: exact numbers give a definite answer"
        + advice(("repair", "gives a proved mechanism next to it")),
        violation,
    )


def _violation(
    channel: Channel, privacy: PrivacyType, pairs: Pairs, k: int, decided: dict[Any, Any]
) -> Violation | None:
    """The worst violation at one pair, both directions, or None; exact."""
    x, z = int(pairs.first[k]), int(pairs.second[k])
    value = privacy.space.pair_distances.values[k]
    worst: tuple[Any, int, int, int] | None = None
    for upper, lower in ((x, z), (z, x)):
        a, b = channel.matrix[upper], channel.matrix[lower]
        for y in _near_bound(a, b, privacy.rate * privacy.space.ruler.bounds(value)[1]):
            if b[y] == 0:
                bound = _allowed(privacy, value)
                return Violation((channel.secrets[upper], channel.secrets[lower]), channel.outputs[y], inf,
                                 float_above(bound), (inf, bound))  # fmt: skip
            ratio = exact(a[y]) / exact(b[y])
            key = (ratio, value)
            if key not in decided:
                decided[key] = _bound_below(ratio, privacy, value)
            if decided[key] is not None and (worst is None or ratio > worst[0]):
                worst = ratio, upper, lower, int(y)
    if worst is None:
        return None
    ratio, upper, lower, y = worst
    shown = ratio if channel.exact else float_above(ratio)
    pair = (channel.secrets[upper], channel.secrets[lower])
    allowed = float_above(_allowed(privacy, value))
    return Violation(pair, channel.outputs[y], shown, allowed, (ratio, decided[ratio, value]))


def _near_bound(a: Array, b: Array, log_bound: Any) -> NDArray[np.int64]:
    """Outputs where a / b comes within the search band of the bound, or b is 0 and a is not."""
    limit = float(log_bound) - 2 * _LOG_BAND * (1 + float(log_bound))
    return np.flatnonzero((a != 0) & ((b == 0) | (_log_gaps(a, b) > limit)))


def _log_gaps(a: Array, b: Array) -> NDArray[np.float64]:
    """ln(a / b) of two rows, −∞ where either is 0."""
    result = np.full(len(a), -inf)
    both = (a != 0) & (b != 0)
    result[both] = _logarithms(a[both]) - _logarithms(b[both])
    return result


def _bound_below(ratio: Fraction, privacy: PrivacyType, value: Any) -> Fraction | None:
    """A rational that e^{εd} is no larger than and the ratio is larger than, if the ratio exceeds e^{εd}; else None."""
    if privacy.rate_bounds(64)[0] * privacy.space.ruler.bounds(value)[0] >= ratio.numerator.bit_length():
        return None  # ratio < 2^bits < e^{εd}: a bound of millions of digits need not be worked out
    bits = 64
    while True:
        low, high = privacy.factor_bounds(value, bits)
        if ratio <= low:
            return None
        if ratio > high:
            return high
        bits *= 2


def _allowed(privacy: PrivacyType, value: Any) -> Any:
    """e^{εd} from above; infinity where it lies beyond the floats, as e^710 does."""
    beyond = privacy.rate_bounds(64)[0] * privacy.space.ruler.bounds(value)[0] > 710
    return inf if beyond else privacy.factor_bounds(value)[1]


def smallest_epsilon(channel: Channel, space: FiniteSpace) -> float:
    """The least ε for which the channel is ε·d-private, rounded up to a float; may be 0 or inf.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> smallest_epsilon(Channel([0, 1], [["2/3", "1/3"], ["1/3", "2/3"]]), line(2))
    0.6931471805599454
    """
    tightest = tightest_pair(channel, space)
    return 0.0 if tightest is None else tightest.epsilon


def tightest_pair(channel: Channel, space: FiniteSpace) -> Tightest | None:
    """The pair and output that need the largest ε; None when there is no pair to tell apart.

    The first of the pair is the secret for which the output is likelier.
    """
    channel = as_channel(channel)
    space = expect(getattr(space, "space", space), FiniteSpace, "a space")
    check_secrets("channel and space", space, channel)
    pairs = space.pairs
    if not pairs.first.size:
        return None
    most = log_ratios(_logarithms(channel.matrix), pairs)
    distances = space.pair_distances
    rates = most / distances.floats
    top = rates.max()
    slack = _LOG_BAND / distances.floats.min() + _LOG_BAND * abs(top)
    near = np.flatnonzero(rates >= top - 2 * slack) if np.isfinite(top) else np.flatnonzero(rates == top)
    # ties are many in symmetric mechanisms: equal (ratio, distance) need one logarithm
    candidates: dict[Any, Tightest] = {}
    for k in near:
        candidate = _ratio_at(channel, pairs, int(k))
        value = distances.values[k]
        key = (candidate[0], value)
        if key not in candidates:
            candidates[key] = _tightest(channel, space, candidate, value)
    return max(candidates.values(), key=lambda t: t.epsilon)


def _ratio_at(channel: Channel, pairs: Pairs, k: int) -> tuple[Any, int, int, int]:
    """The largest ratio of the two rows of a pair, exact, with its direction and output."""
    x, z = int(pairs.first[k]), int(pairs.second[k])
    best: tuple[Any, int, int, int] = (Fraction(1), x, z, 0)
    for upper, lower in ((x, z), (z, x)):
        a, b = channel.matrix[upper], channel.matrix[lower]
        if ((b == 0) & (a != 0)).any():
            return inf, upper, lower, int(np.flatnonzero((b == 0) & (a != 0))[0])
        gaps = _log_gaps(a, b)
        for y in np.flatnonzero(gaps >= gaps.max() - 2 * _LOG_BAND):
            ratio = exact(a[y]) / exact(b[y]) if b[y] != 0 else Fraction(0)
            if ratio > best[0]:
                best = ratio, upper, lower, int(y)
    return best


def _tightest(channel: Channel, space: FiniteSpace, candidate: tuple[Any, int, int, int], value: Any) -> Tightest:
    ratio, upper, lower, y = candidate
    low, high = space.ruler.bounds(value)
    epsilon = inf if ratio == inf else printed_above(log_bounds(ratio)[1] / low)
    pair = (channel.secrets[upper], channel.secrets[lower])
    shown = ratio if is_exact(channel.matrix) or ratio == inf else float_above(ratio)
    return Tightest(pair, channel.outputs[y], shown, float_above(high), epsilon)


def row_distance(channel: Channel, x: Any, z: Any) -> float:
    """The multiplicative distance d_P of two rows, ``max_y |ln(C_xy / C_zy)|``, with 0/0 = 1 and 1/0 = ∞."""
    channel = as_channel(channel)
    first, second = (place_of(secret, channel.secrets, "the secret of a row") for secret in (x, z))
    if first == second:
        return 0.0
    where = Pairs(np.array([first]), np.array([second]))
    ratio = _ratio_at(channel, where, 0)[0]
    return inf if ratio == inf else printed_above(log_bounds(ratio)[1])


def _logarithms(matrix: Array) -> NDArray[np.float64]:
    """Natural logarithms, −inf for zeros; exact entries may lie far outside the range of floats."""
    if is_exact(matrix):
        flat = [log(v.numerator) - log(v.denominator) if v else -inf for v in matrix.ravel()]
        return np.array(flat).reshape(matrix.shape)
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(matrix))


def log_ratios(logs: NDArray[np.float64], pairs: Pairs) -> NDArray[np.float64]:
    """For each pair the largest |log-ratio| of its rows; 0/0 does not count."""
    result = np.empty(pairs.first.size)

    def scan(first: int, last: int) -> None:
        _scan(logs, pairs.first[first:last], pairs.second[first:last], result[first:last])

    on_threads(scan, pairs.first.size)
    return result


@njit(cache=True, nogil=True)
def _scan(logs, first, second, result):  # type: ignore[no-untyped-def]
    for k in range(first.size):
        a, b = logs[first[k]], logs[second[k]]
        most = 0.0
        for y in range(a.size):
            gap = abs(a[y] - b[y])  # NaN where both are -inf, and NaN never exceeds
            most = gap if gap > most else most
        result[k] = most
