"""Claims before the kernel's twin: the loss that is claimed, in the same integers; the bound, rounded to the safe side.

A double is an integer of 53 bits times a power of two, so the doubles of a table are integers over one power of two,
and Σ_y N[x][y] · loss(remap[y], x) is a sum of integers: 256 bits hold it unless the table spans too many powers.
Of a bound only "at least" has to be decided. What is no whole number of units there, e^(epsilon·d) and prior times
loss, is rounded so that the proved bound can only fall, by far less than a unit of the dual numbers. Where that is too
much, and wherever numbers are too long, the kernel decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.certify import kernel, twin
from sfumato.certify.exponentials import factors_above
from sfumato.certify.sections import stored, values_of
from sfumato.certify.wide import (
    LARGEST,
    WORDS,
    integers_of,
    load_integer,
    lower,
    shifted,
    store_integer,
    wide,
    words_of,
)
from sfumato.numbers import Array, common_denominator, floats
from sfumato.spaces.distances import Form
from sfumato.threads import for_reading, on_threads

_FRACTION = 52  # bits of a double below its leading one
_BIAS = 1075  # 2^-1075 times 2^exponent times mantissa is the double
_NOT_FINITE = 2047  # the exponent of infinities and NaN
_MOST_SPAN = 100  # powers of two in a table: 62 bits of a weight, 53 of a double and 2^32 terms fit beside into 255
_GRAIN = 60  # binary digits after the point of a factor, rounded up
_LARGEST_FACTOR = 1 << 60
_LARGEST_DUALS = 240  # bits that the sum of all dual numbers may have, times their factors
_FINER = 64  # binary digits beyond the grain in which reduced costs are summed, at most
_LARGEST_EXACT_DOUBLE = 2**53  # up to which integers are doubles
_INTERPRETED = 4096  # weights: below, Python is through before a compiled function is loaded
_ROWS = 16  # of a table of losses that stay in cache while outputs stream past
_BLOCK = 1 << 16  # reduced costs that a thread holds at a time, 2 MiB

Sections = dict[str, bytes]


class TooLong(Exception):
    """Numbers that the twin cannot hold."""


@dataclass(frozen=True, eq=False)
class _Doubles:
    """A table of doubles, one row an action, as bits; the least and the largest exponent of those that are not zero."""

    bits: NDArray[np.uint64]
    lowest: int
    highest: int

    @classmethod
    def of(cls, table: NDArray[np.float64]) -> _Doubles:
        bits = np.ascontiguousarray(table, dtype="<f8").view(np.uint64)
        spans = on_threads(lambda start, stop: _exponents(for_reading(bits[start:stop])), len(bits))
        highest = max(high for _, high in spans)
        scale = cls(bits, min(highest, *(low for low, _ in spans)), highest)
        if scale.highest >= _NOT_FINITE:
            raise kernel.Unreadable("a loss is not finite")
        if scale.highest - scale.lowest > _MOST_SPAN:
            raise TooLong
        return scale

    @property
    def unit(self) -> Fraction:
        """What the integers of the table are multiplied by."""
        return Fraction(2) ** (self.lowest - _BIAS)


@njit(cache=True, nogil=True)
def _exponents(bits):  # type: ignore[no-untyped-def]
    """The least and the largest exponent of the doubles that are not zero."""
    lowest, highest = np.int64(_NOT_FINITE), np.int64(1)
    for row in bits:
        for word in row:
            if word << np.uint64(1):
                exponent = max(np.int64((word >> np.uint64(_FRACTION)) & np.uint64(_NOT_FINITE)), np.int64(1))
                lowest, highest = min(lowest, exponent), max(highest, exponent)
    return lowest, highest


@njit(cache=True, nogil=True)
def _parts(word, lowest):  # type: ignore[no-untyped-def]
    """Mantissa, power of two above the lowest, and sign of a double."""
    exponent = np.int64((word >> np.uint64(_FRACTION)) & np.uint64(_NOT_FINITE))
    mantissa = word & np.uint64((1 << _FRACTION) - 1)
    if exponent:
        mantissa |= np.uint64(1 << _FRACTION)
    power = max(exponent, 1) - lowest if mantissa else 0
    return mantissa, np.uint64(power), word >> np.uint64(63) != 0


@njit(cache=True, nogil=True)
def _sum_of_secrets(weights, bits, remap, lowest, start, sums):  # type: ignore[no-untyped-def]
    """Σ_y weights[x, y] · table[remap[y], start + x] for the secrets from ``start`` on, in units of 2^lowest."""
    for top in range(0, len(weights), _ROWS):
        bottom = min(top + _ROWS, len(weights))
        for y in range(weights.shape[1]):
            for x in range(top, bottom):
                mantissa, power, negative = _parts(bits[remap[y], start + x], lowest)
                term = shifted(wide(weights[x, y]) * wide(mantissa), power)
                before = load_integer(sums, start + x)
                store_integer(sums, start + x, before - term if negative else before + term)


def sums_of_secrets(weights: Array, table: NDArray[np.float64], remap: NDArray[np.int64]) -> tuple[list[int], Fraction]:
    """Σ_y weights[x, y] · table[remap[y], x] for every x, exactly, as integers and their unit.

    Raises
    ------
    TooLong
        Where 256 bits cannot hold them.
    """
    doubles = _Doubles.of(table)
    sums = np.zeros(len(weights) * WORDS, dtype=np.uint64)

    def work(start: int, stop: int) -> None:
        some = for_reading(weights[start:stop], np.uint64)
        _sum_of_secrets(some, for_reading(doubles.bits), remap, doubles.lowest, start, sums)

    on_threads(work, len(weights))
    return integers_of(sums), doubles.unit


def exact_sums(weights: Array, table: Array, remap: NDArray[np.int64]) -> tuple[list[int], Fraction]:
    """Σ_y weights[x, y] · table[remap[y], x] for every x, as integers and their unit, for numbers of any kind.

    Examples
    --------
    >>> exact_sums(np.array([[3, 1], [1, 3]]), np.array([[0, 1], [1, 0]]), np.array([0, 1]))
    ([1, 1], Fraction(1, 1))
    """
    doubles = table.dtype == np.float64 or (table.dtype != object and np.abs(table).max() <= _LARGEST_EXACT_DOUBLE)
    if doubles and weights.dtype != object and weights.size > _INTERPRETED:
        try:
            return sums_of_secrets(weights, floats(table), remap)
        except TooLong:
            pass
    integers, denominator = common_denominator(table)
    return (integers[remap].T * weights).sum(axis=1).tolist(), Fraction(1, denominator)


def check_loss(header: kernel.Header, sections: Sections) -> Fraction:
    """What :func:`kernel.check_loss` checks, with the same answer."""
    claims, total = kernel.loss_claim(header), header.total
    weights, table = stored("weights", header, sections), stored("loss", header, sections)
    remap = values_of("remap", header, sections)
    if remap.max() >= len(table):
        raise kernel.Unreadable("the remap names an action that is not there")
    lost, unit = sums_of_secrets(weights, table, remap)
    unit *= claims.loss_unit / total
    priors = kernel.priors_of(header, sections)
    value = unit * max(lost)
    if claims.criterion != "worst secret":
        value = max(unit * kernel.expectation(prior, lost) for prior in priors)
    if value != claims.loss:
        raise kernel.Refuted("the loss is {}, not {} as claimed".format(*kernel.apart(value, claims.loss)))
    for ceiling, table in zip(claims.ceilings, _limits(header, sections), strict=True):
        lost, unit = sums_of_secrets(weights, table, remap)
        highest = max(lost) * unit * ceiling.unit / total
        if highest > ceiling.level:
            raise kernel.Refuted(
                "a secret has {} where at most {} is claimed".format(*kernel.apart(highest, ceiling.level))
            )
    return value


def _limits(header: kernel.Header, sections: Sections) -> NDArray[np.float64] | tuple[()]:
    """The tables of all limits, if there are any."""
    return stored("ceilings", header, sections) if "ceilings" in sections else ()


# ----------------------------------------------------------------- the bound


@dataclass(frozen=True, eq=False)
class _Duals:
    """The dual numbers, in the order of one of their ends; ``starts`` says where each secret begins.

    ``factor`` is the place of e^(epsilon·d) in a table of words, in units of 2^-60.
    """

    starts: NDArray[np.int64]
    action: NDArray[np.int32]
    values: NDArray[np.uint64]
    factor: NDArray[np.int32]

    @classmethod
    def by(cls, end: NDArray[Any], n: int, action: Array, values: Array, factor: Array) -> _Duals:
        # NumPy sorts words of 16 bits by counting, far sooner than longer ones
        order = np.argsort(end.astype(np.uint16) if n <= 1 << 16 else end, kind="stable")
        starts = np.concatenate([[0], np.cumsum(np.bincount(end, minlength=n))])
        return cls(starts, action[order].astype(np.int32), values[order], factor[order])


def check_bound(header: kernel.Header, sections: Sections) -> Fraction:
    """What :func:`kernel.check_bound` proves, up to rounding: a bound that is accepted here is accepted there.

    Distances have been checked before, with the pairs.

    Raises
    ------
    kernel.Refuted
        If the dual numbers prove less than is claimed; perhaps only by what has been rounded.
    TooLong
        If numbers are too long, or promises about events take part.
    """
    bound, claimed = proved_bound(header, sections), kernel.bound_of(kernel.loss_claim(header))
    if bound < claimed:
        raise kernel.Refuted(
            "the dual numbers prove {}, less than the claimed {}".format(*kernel.apart(bound, claimed))
        )
    return claimed


def proved_bound(header: kernel.Header, sections: Sections) -> Fraction:
    """A little less than the dual numbers prove, or exactly that."""
    claims, n = kernel.loss_claim(header), len(header.secrets)
    if header.events:
        raise TooLong
    loss = _Doubles.of(stored("loss", header, sections))
    gaining, spending, factors, longest = _duals(header, sections, n, len(loss.bits))
    prior, prior_unit = kernel.mixed_prior(header, sections)
    parts = [(loss, prior, prior_unit * claims.loss_unit * loss.unit)]
    paid = Fraction(0)
    for j, (ceiling, doubles) in enumerate(zip(claims.ceilings, _limits(header, sections), strict=True)):
        prices = kernel.integers(sections["ceiling_prices"], header.widths["ceiling_prices"], j * n, n)
        table = _Doubles.of(doubles)
        parts.append((table, prices, ceiling.unit * claims.dual_unit * table.unit))
        paid += sum(prices) * claims.dual_unit * ceiling.level
    finer = min(_FINER, _LARGEST_DUALS - longest.bit_length())
    if finer < 0:
        raise TooLong
    unit = Fraction(claims.dual_unit) / (1 << (_GRAIN + finer))
    scaled = [(table, *_rounded(weights, of_part / unit)) for table, weights, of_part in parts]
    # a reduced cost is a sum of all of these, and of products of coefficients, none negative, with numbers of tables
    shifts = [_FRACTION + 1 + table.highest - table.lowest for table, _, _ in scaled]
    if (longest << finer) + sum(max(one[2]) << by for one, by in zip(scaled, shifts, strict=True)) > LARGEST:
        raise TooLong
    least = _least_reduced(gaining, spending, factors, scaled, n, finer)
    return sum(least) * unit - paid


def _rounded(weights: list[int], unit: Fraction) -> tuple[list[int], list[int]]:
    """weight · unit, rounded down and up."""
    products = [weight * unit.numerator for weight in weights]
    return [p // unit.denominator for p in products], [-(-p // unit.denominator) for p in products]


def _duals(
    header: kernel.Header, sections: Sections, n: int, actions: int
) -> tuple[_Duals, _Duals, NDArray[np.uint64], int]:
    """The dual numbers by their first end and by their second, the factors, and what no sum of them exceeds."""
    first, second, action = (stored(f"dual_{part}", header, sections) for part in ("from", "to", "action"))
    if header.widths["dual"] > 8:
        raise TooLong
    values = stored("dual", header, sections).astype(np.uint64)
    if first.size and (max(first.max(), second.max()) >= n or (first == second).any() or action.max() >= actions):
        raise kernel.Unreadable("a dual number belongs to no constraint")
    above, factor = _factors(header, sections, n, first, second)
    if above and (max(above) >> _GRAIN >= _LARGEST_FACTOR or int(values.max()) >> 63):
        raise TooLong
    longest = int(values.max(initial=0)) * max([1 << _GRAIN, *above]) * len(values)
    gaining, spending = (_Duals.by(end, n, action, values, factor) for end in (first, second))
    return gaining, spending, words_of(above or [0]), longest


def _factors(
    header: kernel.Header, sections: Sections, n: int, first: NDArray[np.uint32], second: NDArray[np.uint32]
) -> tuple[list[int], NDArray[np.int32]]:
    """e^(epsilon·d), rounded up to 2^-60, for each distance that is used; and which of them each dual number has."""
    form = Form(header.metric.form)
    values = stored("distances", header, sections)
    low, high = np.minimum(first, second).astype(np.int64), np.maximum(first, second).astype(np.int64)
    if header.metric.source == "table":
        place, there = low * (2 * n - low - 1) // 2 + high - low - 1, True
    else:
        edges = np.sort(twin.edges_of(header, sections), axis=0).T @ [n, 1]
        if not edges.size and first.size:
            raise kernel.Refuted("a dual number uses two secrets between which nothing is promised")
        order = np.argsort(edges)
        place = order[np.minimum(np.searchsorted(edges[order], low * n + high), len(edges) - 1)]
        there = bool((edges[place] == low * n + high).all())
    used = np.flatnonzero(np.bincount(place, minlength=len(values)))
    distinct, kind = np.unique(values[used], return_inverse=True)
    unbounded = np.isinf(distinct) if form is Form.FLOAT else distinct == np.uint64(kernel.UNBOUNDED)
    if not there or unbounded.any():
        raise kernel.Refuted("a dual number uses two secrets between which nothing is promised")
    rank = np.zeros(len(values), dtype=np.int32)
    rank[used] = kind
    return factors_above(header.promise, header.metric, distinct, _GRAIN), rank[place]


def _least_reduced(
    gaining: _Duals, spending: _Duals, factors: NDArray[np.uint64],
    parts: list[tuple[_Doubles, list[int], list[int]]], n: int, finer: int,
) -> list[int]:  # fmt: skip
    """min_w S[x][w] for every secret, in units of dual_unit · 2^-(60 + finer), S never rounded up."""
    tables = for_reading(np.stack([table.bits for table, _, _ in parts]) if len(parts) > 1 else parts[0][0].bits[None])
    lowest = np.array([table.lowest for table, _, _ in parts])
    below = words_of([value for _, rounded_down, _ in parts for value in rounded_down])
    above = words_of([value for _, _, rounded_up in parts for value in rounded_up])
    result = np.zeros(n * WORDS, dtype=np.uint64)
    rows = max(1, _BLOCK // tables.shape[1])

    def work(start: int, stop: int) -> None:
        _reduced_rows(
            start, stop, rows, gaining.starts, gaining.action, gaining.values, spending.starts, spending.action,
            spending.values, spending.factor, factors, tables, lowest, below, above, np.uint64(finer), result,
        )  # fmt: skip

    on_threads(work, n)
    return integers_of(result)


@njit(cache=True, nogil=True)
def _reduced_rows(  # type: ignore[no-untyped-def]
    start, stop, rows, gained, gained_action, gained_value, spent, spent_action, spent_value, spent_factor, factors,
    tables, lowest, below, above, finer, result,
):  # fmt: skip
    parts, actions, n = tables.shape
    sums = np.empty(rows * actions * WORDS, np.uint64)
    for top in range(start, stop, rows):
        bottom = min(top + rows, stop)
        sums[:] = 0
        for x in range(top, bottom):
            base = (x - top) * actions
            for k in range(gained[x], gained[x + 1]):
                at = base + gained_action[k]
                store_integer(sums, at, load_integer(sums, at) + shifted(wide(gained_value[k]), np.uint64(_GRAIN)))
            for k in range(spent[x], spent[x + 1]):
                at = base + spent_action[k]
                store_integer(
                    sums, at, load_integer(sums, at) - wide(spent_value[k]) * load_integer(factors, spent_factor[k])
                )
        # rows of a table are actions: neighbouring secrets stand side by side
        for x in range(top, bottom):
            store_integer(result, x, shifted(load_integer(sums, (x - top) * actions), finer))
        for w in range(actions):
            for x in range(top, bottom):
                reduced = shifted(load_integer(sums, (x - top) * actions + w), finer)
                for j in range(parts):
                    mantissa, power, negative = _parts(tables[j, w, x], lowest[j])
                    if negative:
                        reduced = reduced - shifted(load_integer(above, j * n + x) * wide(mantissa), power)
                    else:
                        reduced = reduced + shifted(load_integer(below, j * n + x) * wide(mantissa), power)
                store_integer(result, x, reduced if w == 0 else lower(reduced, load_integer(result, x)))
