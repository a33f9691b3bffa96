"""Does a channel keep a promise, and which is the best promise it keeps?

A search in floats finds the pairs and outputs where the ratio of two entries comes near the
bound; those are then decided exactly. e^{εd} is transcendental unless it is a known rational,
so comparing it with a rational always ends.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import inf
from typing import Any, NamedTuple

import numpy as np

from sfumato.channels.channel import Channel, as_channel, check_secrets
from sfumato.channels.composition import restrict
from sfumato.channels.ratios import log_ratios, logarithms
from sfumato.errors import advice, counted, expect
from sfumato.numbers import ROUNDING, exact, float_above, log_bounds, printed_above, told_apart
from sfumato.privacy.predicates import Predicate
from sfumato.privacy.predicates_curves import rational_between
from sfumato.privacy.predicates_satisfaction import satisfies_predicate
from sfumato.privacy.type import PrivacyType, as_type
from sfumato.spaces.finite import FiniteSpace, Pairs, label_place
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
    logs = logarithms(channel.matrix)
    most = log_ratios(logs, *pairs)
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
    value = privacy.space.pair_distances.values[k]
    log_bound = float(privacy.rate * privacy.space.ruler.bounds(value)[1])
    broken: list[_Ratio] = []
    for found in _steep(channel, pairs, k, log_bound - 2 * _LOG_BAND * (1 + log_bound)):
        key = (found.ratio, value)
        if key not in decided:
            decided[key] = _bound_below(found.ratio, privacy, value)
        if decided[key] is not None:
            broken.append(found)
    if not broken:
        return None
    worst = max(broken, key=lambda found: found.ratio)
    allowed = float_above(_allowed(privacy, value))
    return Violation(*worst.shown(channel), allowed, (worst.ratio, decided[worst.ratio, value]))


class _Ratio(NamedTuple):
    """How much likelier output y is for one secret than for another, exactly."""

    ratio: Any
    upper: int
    lower: int
    y: int

    def shown(self, channel: Channel) -> tuple[tuple[Any, Any], Any, Fraction | float]:
        """The pair, the output, and the ratio in the numbers of the channel."""
        ratio = self.ratio if channel.exact or self.ratio == inf else float_above(self.ratio)
        return (channel.secrets[self.upper], channel.secrets[self.lower]), channel.outputs[self.y], ratio


def _steep(channel: Channel, pairs: Pairs, k: int, least: float) -> Iterator[_Ratio]:
    """Outputs where the logarithm of a ratio of the rows of a pair, in floats, is above some number, or infinite."""
    x, z = int(pairs.first[k]), int(pairs.second[k])
    for upper, lower in ((x, z), (z, x)):
        a, b = channel.matrix[upper], channel.matrix[lower]
        with np.errstate(invalid="ignore"):  # 0/0 is no ratio
            gaps = logarithms(a) - logarithms(b)
        for y in np.flatnonzero((gaps > least) | (gaps == inf)):
            yield _Ratio(inf if b[y] == 0 else exact(a[y]) / exact(b[y]), upper, lower, int(y))


def _bound_below(ratio: Any, privacy: PrivacyType, value: Any) -> Any:
    """A rational that e^{εd} is no larger than and the ratio is larger than, if the ratio exceeds e^{εd}; else None."""
    if ratio == inf:
        return _allowed(privacy, value)
    if privacy.rate_bounds(64)[0] * privacy.space.ruler.bounds(value)[0] >= ratio.numerator.bit_length():
        return None  # ratio < 2^bits < e^{εd}: a bound of millions of digits need not be worked out
    end = rational_between(ratio, lambda bits: privacy.factor_bounds(value, bits))
    return None if end is None or ratio <= end else end


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
    most = log_ratios(logarithms(channel.matrix), *pairs)
    distances = space.pair_distances
    rates = most / distances.floats
    top = rates.max()
    slack = _LOG_BAND / distances.floats.min() + _LOG_BAND * abs(top)
    near = np.flatnonzero(rates >= top - 2 * slack) if np.isfinite(top) else np.flatnonzero(rates == top)
    # ties are many in symmetric mechanisms: equal (ratio, distance) need one logarithm
    candidates: dict[Any, Tightest] = {}
    for k in near:
        worst, value = _steepest(channel, pairs, int(k), most[k]), distances.values[k]
        if (worst.ratio, value) not in candidates:
            low, high = space.ruler.bounds(value)
            epsilon = inf if worst.ratio == inf else printed_above(log_bounds(worst.ratio)[1] / low)
            candidates[worst.ratio, value] = Tightest(*worst.shown(channel), float_above(high), epsilon)
    return max(candidates.values(), key=lambda t: t.epsilon)


def _steepest(channel: Channel, pairs: Pairs, k: int, log_ratio: float) -> _Ratio:
    """The largest ratio of the two rows of a pair, exact, whose logarithm is about the given one."""
    even = _Ratio(Fraction(1), int(pairs.first[k]), int(pairs.second[k]), 0)
    return max([even, *_steep(channel, pairs, k, log_ratio - 2 * _LOG_BAND)], key=lambda found: found.ratio)


def row_distance(channel: Channel, x: Any, z: Any) -> float:
    """The multiplicative distance d_P of two rows, ``max_y |ln(C_xy / C_zy)|``, with 0/0 = 1 and 1/0 = ∞."""
    channel = as_channel(channel)
    first, second = (label_place(secret, channel.secrets, "the secret of a row") for secret in (x, z))
    if first == second:
        return 0.0
    pair, rows = Pairs(np.array([0]), np.array([1])), restrict(channel, (x, z))
    ratio = _steepest(rows, pair, 0, log_ratios(logarithms(rows.matrix), *pair)[0]).ratio
    return inf if ratio == inf else printed_above(log_bounds(ratio)[1])
