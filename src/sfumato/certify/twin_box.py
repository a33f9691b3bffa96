"""Promises about coordinates before the kernel's twin: the same integers, compiled, for what takes the kernel long.

Bernstein's coefficients are sums of products of weights below 2^62 and the kernel's integer forms: they fit 256 bits,
and their squares 384. Where numbers are longer the kernel decides. Boxes of one or two dimensions get axes in front
that have one point.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import chain
from math import prod
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.certify import kernel, twin_claims
from sfumato.certify.box_bounds import Covering, box_covering
from sfumato.certify.box_certificate import box_of
from sfumato.certify.sections import laid, stored
from sfumato.certify.twin import LARGEST_WEIGHT
from sfumato.certify.twin_claims import TooLong
from sfumato.certify.wide import (
    LARGEST,
    WORDS,
    digits,
    extended,
    integers_of,
    load_integer,
    low_word,
    lower,
    negative,
    shifted,
    shifted_down,
    store_integer,
    wide,
    words_of,
)
from sfumato.numbers import Integers
from sfumato.threads import on_threads

_TERMS = 3  # lattice points of a form, at most
_LONGEST_ROOT = 190  # bits of numbers whose squares are added in 384
_LONGEST_ROD = 1 << 78  # the sum of three squares is below 2^158
_COARSE = 40  # digits that a first step to a root leaves out
_ROOT = kernel.ROOT
_NORMS = {"euclidean": 0, "manhattan": 1, "chebyshev": 2}
_MOST_SECRETS = 6000  # of a finite problem whose distances are held as a table

Proved = dict[str, Any]
Sections = dict[str, bytes]
Words = NDArray[np.uint64]


def check(header: kernel.CoordinatesHeader, sections: Sections) -> Proved:
    """What :func:`kernel.check` proves of a file about coordinates, with the same answers."""
    kernel.check_frame(header)
    try:
        proved = _check_gradients(header, sections)
    except TooLong:
        return kernel.check(header, sections)
    if header.claims is not None:
        try:
            proved["loss"] = kernel.claimed_loss(header, box_loss(header, sections))
        except TooLong:
            proved["loss"] = kernel.check_box_loss(header, sections)
    if header.claims is not None and header.claims.bound is not None:
        try:
            proved["bound"] = _check_bound(header, sections)
        except (TooLong, kernel.Refuted):  # perhaps only by what has been rounded
            proved["bound"] = kernel.check_box_bound(header, sections)
    return proved


def _columns(header: kernel.CoordinatesHeader, sections: Sections) -> Words:
    """One row an output, one column a lattice point."""
    if header.total > LARGEST_WEIGHT or header.widths["weights"] > 8:
        raise TooLong
    return np.ascontiguousarray(stored("weights", header, sections).T.astype(np.uint64))


def _padded(forms: list[list[dict[int, int]]]) -> tuple[list[Integers], list[Words], int]:
    """Indices and coefficients of the forms of each axis, three terms each, for three axes; and what no sum of
    products of coefficients along all axes exceeds.
    """
    places, coefficients, largest = [], [], 1
    for along in [[{0: 1}]] * (3 - len(forms)) + forms:
        terms = [[*form.items(), *[(min(form, default=0), 0)] * (_TERMS - len(form))] for form in along]
        places.append(np.array([[v for v, _ in row] for row in terms]))
        largest *= max(sum(abs(c) for _, c in row) for row in terms)
        if largest >= LARGEST:
            raise TooLong
        coefficients.append(words_of([c for row in terms for _, c in row]))
    return places, coefficients, largest


def _sizes(header: kernel.CoordinatesHeader) -> tuple[int, int, int]:
    shape = header.lattice.shape
    first, second, third = (1,) * (3 - len(shape)) + shape
    return first, second, third


# ----------------------------------------------------------------- the promise


def _check_gradients(header: kernel.CoordinatesHeader, sections: Sections) -> Proved:
    axes, columns = kernel.lattice_forms(header.lattice), _columns(header, sections)
    kernel.check_sums(header, sections)
    # both forms of a coefficient get terms at the same lattice points, some of them 0
    both = [[(value, slope, value | slope) for _, value, slope in along] for along in axes]
    flat, steep = ([[{v: forms[k].get(v, 0) for v in forms[2]} for forms in along] for along in both] for k in (0, 1))
    places, values, _ = _padded(flat)
    slopes = _padded(steep)[1]
    slopes[: 3 - len(axes)] = [words_of([0] * _TERMS)] * (3 - len(axes))  # an axis in front has no slope
    largest = prod(max(sum(map(abs, f.values())) for forms in along for f in forms[:2]) for along in both)
    p, q = header.promise.rate.as_integer_ratio()
    if (max(p, q) * LARGEST_WEIGHT * largest).bit_length() > _LONGEST_ROOT:
        raise TooLong
    rate, norm = words_of([p, q]), _NORMS[header.box.metric]

    def work(start: int, stop: int) -> int:
        return int(_first_steep(columns, _sizes(header), *places, *values, *slopes, rate, norm, start, stop))

    for y in on_threads(work, len(columns)):
        if y >= 0:
            _raise(header, sections, axes, y)
    count, m = len(header.secrets), len(columns)
    cells = prod(len(breaks) - 1 for breaks in header.lattice.breaks)
    return {"secrets": count, "outputs": m, "total": header.total, "pairs": 0, "implied": 0, "open": 0,
            "cells": cells, "comparisons": m * prod(map(len, axes))}  # fmt: skip


def _raise(header: kernel.CoordinatesHeader, sections: Sections, axes: Any, y: int) -> None:
    """The kernel's words on an output that is too steep somewhere."""
    column = kernel.column_of(header, sections, y)
    for first, start, tables in kernel.gradients(column, axes, header.lattice.shape):
        place = kernel.too_steep(header.box.metric, tables, header.promise.rate)
        if place is not None:
            raise kernel.steepness(header, axes, y, first, start + place, [table[place] for table in tables])
    raise AssertionError("kernel and twin differ")


@njit(cache=True, nogil=True)
def _form(table, places, coefficients, row, step, start):  # type: ignore[no-untyped-def]
    """A form of numbers that lie ``step`` apart, from ``start`` on."""
    result = wide(np.uint64(0))
    for t in range(_TERMS):
        result = result + load_integer(coefficients, _TERMS * row + t) * load_integer(
            table, start + step * places[row, t]
        )
    return result


@njit(cache=True, nogil=True)
def _form_of_words(column, places, coefficients, row, step, start):  # type: ignore[no-untyped-def]
    """The same of numbers of one word."""
    result = wide(np.uint64(0))
    for t in range(_TERMS):
        result = result + load_integer(coefficients, _TERMS * row + t) * wide(column[start + step * places[row, t]])
    return result


@njit(cache=True, nogil=True)
def _size(value):  # type: ignore[no-untyped-def]
    other = wide(np.uint64(0)) - value
    return wide(np.uint64(0)) - lower(value, other)


@njit(cache=True, nogil=True)
def _square(value):  # type: ignore[no-untyped-def]
    long = extended(value)
    return long * long


@njit(cache=True, nogil=True)
def _exceeds(value, first, second, third, p, q, norm):  # type: ignore[no-untyped-def]
    """Whether q times the dual norm of a gradient is more than p times the value."""
    if norm == 0:
        slopes = _square(q * first) + _square(q * second) + _square(q * third)
        return negative(_square(p * value) - slopes)
    if norm == 2:
        return negative(p * value - q * (_size(first) + _size(second) + _size(third)))
    most = p * value
    return negative(most - q * _size(first)) or negative(most - q * _size(second)) or negative(most - q * _size(third))


@njit(cache=True, nogil=True)
def _first_steep(  # type: ignore[no-untyped-def]
    columns, sizes, places0, places1, places2, values0, values1, values2, slopes0, slopes1, slopes2, rate, norm, start,
    stop,
):  # fmt: skip
    """The first output that becomes likelier too fast somewhere, −1 if none does."""
    rows, across = sizes[1] * sizes[2], sizes[2]
    flat, steep = np.empty(rows * WORDS, np.uint64), np.empty(rows * WORDS, np.uint64)
    flat_flat, steep_flat, flat_steep = (
        np.empty(across * WORDS, np.uint64), np.empty(across * WORDS, np.uint64), np.empty(across * WORDS, np.uint64),
    )  # fmt: skip
    p, q = load_integer(rate, 0), load_integer(rate, 1)
    for y in range(start, stop):
        for a in range(len(places0)):
            for v in range(rows):
                store_integer(flat, v, _form_of_words(columns[y], places0, values0, a, rows, v))
                store_integer(steep, v, _form_of_words(columns[y], places0, slopes0, a, rows, v))
            for b in range(len(places1)):
                for v in range(across):
                    store_integer(flat_flat, v, _form(flat, places1, values1, b, across, v))
                    store_integer(steep_flat, v, _form(steep, places1, values1, b, across, v))
                    store_integer(flat_steep, v, _form(flat, places1, slopes1, b, across, v))
                for c in range(len(places2)):
                    value = _form(flat_flat, places2, values2, c, 1, 0)
                    first = _form(steep_flat, places2, values2, c, 1, 0)
                    second = _form(flat_steep, places2, values2, c, 1, 0)
                    third = _form(flat_flat, places2, slopes2, c, 1, 0)
                    if _exceeds(value, first, second, third, p, q, norm):
                        return y
    return -1


# ----------------------------------------------------------------- the loss


def box_loss(header: kernel.CoordinatesHeader, sections: Sections) -> Fraction:
    """The number of :func:`kernel.box_loss`.

    Raises
    ------
    TooLong
        Where 256 bits cannot hold the sums.
    """
    axes, counts, columns = kernel.loss_axes(header), kernel.box_counts(header, sections), _columns(header, sections)
    lengths_of, scale = kernel.rods(header, axes)
    places, forms, largest = _padded([forms for forms, _, _, _ in axes])
    missing = 3 - len(axes)
    inside = [np.zeros(1, dtype=np.int64)] * missing + [np.repeat(cells, 2) for _, _, _, cells in axes]
    ends = np.array([1] * missing + [len(nodes) for _, _, nodes, _ in axes])
    cells = np.array([1] * missing + [*header.box.cells])
    if max(counts) >> 64:
        raise TooLong
    masses = np.array(counts, dtype=np.uint64)
    lengths = [lengths_of(point) for point in header.points]
    farthest = [[max(map(max, along))] for along in zip(*lengths, strict=True)]
    metric = header.box.metric
    (reach,) = kernel.norms(metric, [0], farthest)
    terms = prod(len(rows) for rows in places)
    if max(farthest)[0] > _LONGEST_ROD or reach * max(counts) * largest * LARGEST_WEIGHT * terms > LARGEST:
        raise TooLong
    rods = [words_of([0] * len(columns)).reshape(len(columns), -1)] * missing
    rods += [words_of(list(chain(*along))).reshape(len(columns), -1) for along in zip(*lengths, strict=True)]
    sums, norm = np.zeros(len(columns) * WORDS, dtype=np.uint64), _NORMS[metric]

    def work(start: int, stop: int) -> None:
        _lost(columns, _sizes(header), *places, *forms, *inside, cells, masses, ends, *rods, norm, start, stop, sums)

    on_threads(work, len(columns))
    whole = scale * prod(grain for _, grain, _, _ in axes) * header.total * sum(counts)
    return Fraction(sum(integers_of(sums)), whole)


@njit(cache=True, nogil=True)
def _lost(  # type: ignore[no-untyped-def]
    columns, sizes, places0, places1, places2, forms0, forms1, forms2, inside0, inside1, inside2, cells, masses, ends,
    rods0, rods1, rods2, norm, start, stop, sums,
):  # fmt: skip
    rows, across = sizes[1] * sizes[2], sizes[2]
    plane, line = np.empty(rows * WORDS, np.uint64), np.empty(across * WORDS, np.uint64)
    reach = np.empty(ends[0] * ends[1] * ends[2] * WORDS, np.uint64)
    for y in range(start, stop):
        _lengths(rods0[y], rods1[y], rods2[y], ends, norm, reach)
        total = wide(np.uint64(0))
        for a in range(len(places0)):
            for v in range(rows):
                store_integer(plane, v, _form_of_words(columns[y], places0, forms0, a, rows, v))
            for b in range(len(places1)):
                for v in range(across):
                    store_integer(line, v, _form(plane, places1, forms1, b, across, v))
                cell = (inside0[a] * cells[1] + inside1[b]) * cells[2]
                # lower and upper ends of parts take turns; those of neighbours are one node
                node = ((a + 1) // 2 * ends[1] + (b + 1) // 2) * ends[2]
                for c in range(len(places2)):
                    share = _form(line, places2, forms2, c, 1, 0) * wide(masses[cell + inside2[c]])
                    total = total + share * load_integer(reach, node + (c + 1) // 2)
        store_integer(sums, y, total)


@njit(cache=True, nogil=True)
def _lengths(rods0, rods1, rods2, ends, norm, reach):  # type: ignore[no-untyped-def]
    """What :func:`kernel.norms` gives for the lengths along three axes."""
    node = 0
    for i in range(ends[0]):
        a = load_integer(rods0, i)
        for j in range(ends[1]):
            b = load_integer(rods1, j)
            for k in range(ends[2]):
                c = load_integer(rods2, k)
                if norm == 0:
                    store_integer(reach, node, _root_above(a * a + b * b + c * c))
                elif norm == 1:
                    store_integer(reach, node, a + b + c)
                else:
                    most = a if negative(b - a) else b
                    store_integer(reach, node, most if negative(c - most) else c)
                node += 1


@njit(cache=True, nogil=True)
def _root_above(square):  # type: ignore[no-untyped-def]
    """2^ROOT times the root of an integer below 2^158, rounded up: about, by floats, and then exactly."""
    one = wide(np.uint64(1))
    if digits(square) == 0:
        return square
    scaled = shifted(square, np.uint64(2 * _ROOT))
    root, part = _nearly(square)
    root = np.sqrt(root)
    half = part // 2 + _ROOT - 21  # a root of 62 digits has 31, and 21 more are digits of a double
    found = shifted(wide(np.uint64(root * 2.0**21)), np.uint64(half))
    for _ in range(2):  # by Newton: 50 digits are right, then 100, then nearly all
        left = scaled - found * found
        below = negative(left)
        amount, more = _nearly(wide(np.uint64(0)) - left if below else left)
        step = shifted(wide(np.uint64(amount * 2.0 ** (more - half - 22 - _COARSE) / root)), np.uint64(_COARSE))
        if digits(step) == 0:
            step = wide(np.uint64(amount * 2.0 ** (more - half - 22) / root))
        found = found - step if below else found + step
    while negative(found * found - scaled):
        found = found + one
    while not negative((found - one) * (found - one) - scaled):
        found = found - one
    return found


@njit(cache=True, nogil=True)
def _nearly(value):  # type: ignore[no-untyped-def]
    """A float and an even exponent of 2 whose product is nearly an integer: its 62 leading digits."""
    part = max(0, digits(value) - 62)
    part += part % 2
    return np.float64(low_word(shifted_down(value, np.uint64(part)))), part


# ----------------------------------------------------------------- the bound


def _check_bound(header: kernel.CoordinatesHeader, sections: Sections) -> Fraction:
    """Class after class of secrets: what is proved for each of them, added up."""
    box, claims = box_of(header), kernel.distance_claim(header)
    parts, strides = claims.bound_parts, claims.bound_strides
    fine = tuple(cells * part for cells, part in zip(box.shape, parts, strict=True))
    coarse = replace(box, step=tuple(s * m / n for s, m, n in zip(box.sides, strides, fine, strict=True)))
    if len(coarse) > _MOST_SECRETS:
        raise TooLong
    try:
        found = box_covering(coarse, (1,) * len(fine), bytes(sections["splits"]))
    except ValueError as error:
        raise kernel.Unreadable("the splits of cubes describe no covering") from error
    finite, given = kernel.finite_problem(header, sections, fine, len(found.corners))
    total, claimed = Fraction(0), kernel.bound_of(claims)
    for secrets, dual in _classes(header, given, fine, strides):
        problem, share = _class_problem(finite, given | dual, found, secrets)
        total += share * twin_claims.proved_bound(*problem) if share else 0
    if total < claimed:
        raise kernel.Refuted(f"the dual numbers prove {total}, less than the claimed {claimed}")
    return claimed


def _classes(
    header: kernel.CoordinatesHeader, given: Sections, fine: tuple[int, ...], strides: tuple[int, ...]
) -> Iterator[tuple[Integers, Sections]]:
    """The secrets of each class, and its dual numbers, with ends counted within the class."""
    places = np.unravel_index(np.arange(prod(fine)), fine)
    of = np.ravel_multi_index([p % m for p, m in zip(places, strides, strict=True)], strides)
    coarse = tuple(n // m for n, m in zip(fine, strides, strict=True))
    within = np.ravel_multi_index([p // m for p, m in zip(places, strides, strict=True)], coarse)
    first, second, action = (stored(f"dual_{part}", header, given) for part in ("from", "to", "action"))
    if first.size and max(first.max(), second.max()) >= prod(fine):
        raise kernel.Unreadable("a dual number belongs to no constraint")
    if (of[first] != of[second]).any():
        raise kernel.Refuted("a dual number uses two secrets between which nothing is promised")
    values = np.frombuffer(given["dual"], dtype=np.uint8).reshape(-1, header.widths["dual"])  # each as its bytes
    for number in range(prod(strides)):
        here = of[first] == number
        yield (
            np.flatnonzero(of == number),
            {
                **_bytes(dual_from=within[first[here]], dual_to=within[second[here]], dual_action=action[here]),
                "dual": values[here].tobytes(),
            },
        )


def _class_problem(
    finite: kernel.Header, given: Sections, found: Covering, secrets: Integers
) -> tuple[tuple[kernel.Header, Sections], Fraction]:
    """The finite problem of one class as a file of its own, and the part of the mass that its secrets have."""
    metric, n, width = finite.metric, len(secrets), finite.widths["prior"]
    if (grid := metric.grid) is None:
        raise TypeError("the secrets of a finite problem are those of a grid")
    steps = [step * stride for step, stride in zip(grid.steps, grid.strides, strict=True)]
    if max(steps) * max(found.shape) * len(steps) > 1 << 14:  # squares of distances stay in 30 bits
        raise TooLong
    places = np.stack(np.unravel_index(np.arange(n), found.shape), axis=1) * np.array(steps, dtype=np.int64)
    first, second = np.triu_indices(n, 1)
    offsets = np.abs(places[first] - places[second])
    join = {"euclidean": lambda z: (z * z).sum(axis=1), "manhattan": lambda z: z.sum(axis=1)}
    lengths = join.get(grid.norm, lambda z: z.max(axis=1))(offsets)
    counts = kernel.integers(given["prior"], width, 0, len(finite.secrets))
    share = Fraction(sum(counts[x] for x in secrets.tolist()), sum(counts))
    if not share and given["dual_from"]:  # they prove nothing there
        raise TooLong
    prior = np.frombuffer(given["prior"], dtype=np.uint8).reshape(-1, width)[secrets].tobytes()
    # dual numbers are parts of the whole mass, and the bound of a class is one for a prior
    claims = kernel.loss_claim(finite)
    claims = claims._replace(loss_unit=found.unit, dual_unit=claims.dual_unit / (share or 1))
    problem = finite._replace(secrets=range(n), metric=kernel.Metric(metric.form, metric.unit), claims=claims)
    return (problem, given | {"prior": prior} | _bytes(distances=lengths, loss=found.losses)), share


def _bytes(**values: Any) -> Sections:
    """Sections as they are given to a checker, which knows their widths."""
    return {name: section.data for name, section in laid(**values).items()}
