"""Proves the promise, the loss and the bound of noise that is the same everywhere in a box."""

import functools
import itertools
import math
import operator
from fractions import Fraction

from sfumato.certify.kernel.arithmetic import exp_bound, with_denominator
from sfumato.certify.kernel.box_losses import ROOT, box_counts, claimed_loss, norms
from sfumato.certify.kernel.errors import Refuted, Unreadable, apart, number_text
from sfumato.certify.kernel.promise import check_frame, exponent_of_unit, map_promise
from sfumato.certify.kernel.sections import Sections, integers
from sfumato.certify.kernel.splines import Form, axis_forms, cut, gradients, too_steep, turned
from sfumato.certify.kernel.values import CoordinatesHeader, Proved, distance_claim, noise_of


def check_noise(header: CoordinatesHeader, sections: Sections) -> Proved:
    """A point is rounded to a lattice of equal steps, degree 2, and lattice point v becomes the extended output y, on
    the lattice enlarged by ``reach`` on either side, with (g(y − v) + floor) / total. Then outputs are moved into the
    box, coordinate by coordinate, which costs no privacy. g is even in each coordinate and 0 beyond the reach. So one
    column stands for all outputs: f = g + floor on cells with offsets ≥ 0, as far as f varies.
    """
    check_frame(header)
    noise, metric = noise_of(header), header.box.metric
    table, reach, floor = noise_weights(header, sections), noise.reach, noise.floor
    mass = sum(map(operator.mul, table, mirrored([r + 1 for r in reach])))
    if mass + floor * noise.outputs != header.total:
        raise Refuted("the chances of noise do not sum to one")
    shape = [r + 4 for r in reach]  # from −1 to two beyond
    column = table
    for r in reach:
        column = turned([{abs(p): 1} if abs(p) <= r else {} for p in range(-1, r + 3)], column, r + 1)
    column = [floor + g for g in column]
    breaks = [[step * k for k in range(r + 3)] for step, r in zip(noise.steps, reach, strict=True)]
    axes = [axis_forms(along, 2, noise.halvings) for along in breaks]
    for *_, tables in gradients(column, axes, shape):
        if too_steep(metric, tables, header.promise.rate) is not None:
            raise Refuted(f"noise falls faster with distance than epsilon = {number_text(header.promise.rate)} allows")
    cells, n = math.prod(noise.cells), len(header.secrets)
    proved: Proved = {"secrets": n, "outputs": n, "total": header.total, "pairs": 0, "implied": 0, "open": 0}
    proved |= {"cells": cells, "comparisons": math.prod(map(len, axes))}
    if header.claims is not None:
        box_counts(header, sections)  # a loss is one under a prior, if it is the same for all of them
        proved["loss"] = claimed_loss(header, noise_loss(header, sections))
    if header.claims is not None and header.claims.bound is not None:
        value, claimed = layers_bound(header, sections), header.claims.bound
        if value < claimed:
            raise Refuted("the layers prove a bound of {}, not {} as claimed".format(*apart(value, claimed)))
        proved["bound"] = claimed
    return proved


def noise_weights(header: CoordinatesHeader, sections: Sections) -> list[int]:
    """g for offsets ≥ 0, the last axis first."""
    many = math.prod(r + 1 for r in noise_of(header).reach)
    return integers(sections["weights"], header.widths["weights"], 0, many)


def mirrored(shape: list[int]) -> list[int]:
    """How many offsets each offset ≥ 0 stands for: those with other signs."""
    found = [1]
    for side in shape:
        found = [signs << (p > 0) for signs in found for p in range(side)]
    return found


def noise_loss(header: CoordinatesHeader, sections: Sections) -> Fraction:
    """An upper bound of the expected distance, for every density that is constant on the cells of the lattice. Where in
    a cell a point is makes its difference from the lattice point a sum of three uniform numbers: the density of that is
    a B-spline, and rounding it at random, linearly, to multiples of step / parts makes no convex loss smaller. What the
    floor draws is not farther than the box is wide, and outputs are moved into the box to nowhere farther.
    """
    box, noise, parts = header.box, noise_of(header), distance_claim(header).parts
    table, shape, chances = noise_weights(header, sections), [r + 1 for r in noise.reach], blur(parts)
    for axis, side in enumerate(shape):
        table = blurred(table, side, chances, parts)
        shape[axis] = (side - 1) * parts + len(chances) // 2 + 1
    lengths = [step / parts for step in noise.steps]
    fine = functools.reduce(with_denominator, [*lengths, *box.sides], 1)
    along = [[math.ceil(length * k * fine) for k in range(n)] for length, n in zip(lengths, shape, strict=True)]
    scale = fine << (ROOT if box.metric == "euclidean" else 0)
    reach = norms(box.metric, [0], along)
    spent = sum(map(operator.mul, map(operator.mul, table, mirrored(shape)), reach))
    across = norms(box.metric, [0], [[math.ceil(side * fine)] for side in box.sides])[0]
    value = Fraction(spent, sum(chances) ** len(shape)) + noise.floor * noise.outputs * across
    return Fraction(value / (scale * header.total))


def blur(parts: int) -> list[int]:
    """The chances of −3·parts/2, …, 3·parts/2: integrals of the B-spline of degree 2 times hat functions, by Simpson's
    rule, which is exact for polynomials of degree three, in units of 1 / (48·parts³).
    """

    def spline(twice: int) -> int:  # 8·parts² times its value at twice / (2·parts)
        z, end = abs(twice), 3 * parts
        return 0 if z >= end else (end - z) ** 2 if z > parts else 6 * parts * parts - 2 * z * z

    ends = range(-3 * parts // 2, 3 * parts // 2 + 1)
    # beyond its ends the B-spline is 0, so that each hat has two sides
    return [2 * (spline(2 * k) + spline(2 * k - 1) + spline(2 * k + 1)) for k in ends]


def blurred(table: list[int], side: int, chances: list[int], parts: int) -> list[int]:
    """An even table with the chances added along its first axis, which becomes the last: its entries at offsets ≥ 0."""
    half, forms = len(chances) // 2, []
    for j in range((side - 1) * parts + half + 1):
        form: Form = {}
        for o in range(-((half - j) // parts), min((j + half) // parts, side - 1) + 1):
            form[abs(o)] = form.get(abs(o), 0) + chances[j - o * parts + half]
        forms.append(form)
    return turned([{o: chance for o, chance in form.items() if o < side} for form in forms], table, side)


def layers_bound(header: CoordinatesHeader, sections: Sections) -> Fraction:
    """A bound by layers: boxes of cells, one upon the other, that together lie below the counts of the prior. What a
    mechanism loses is at least what it loses on each of them, added up; see ``layer_value``.
    """
    box, k = header.box, len(header.box.cells)
    counts = box_counts(header, sections)
    many = len(sections["layer_ends"]) // (8 * k)
    heights = integers(sections["layer_counts"], header.widths["layer_counts"], 0, many)
    ends = integers(sections["layer_ends"], 4, 0, 2 * k * len(heights))
    rate = exponent_of_unit(map_promise(header), 160, True)
    padded = [n + 1 for n in box.cells]
    rises, value = [0] * math.prod(padded), Fraction(0)
    for height, both in zip(heights, cut(ends, len(heights)) if heights else [], strict=True):
        low, high = both[:k], both[k:]
        if not all(a < b <= n for a, b, n in zip(low, high, box.cells, strict=True)):
            raise Unreadable("a layer of the bound is no box of cells")
        for corner in itertools.product(*zip(low, high, strict=True)):
            number = 0
            for n, place in zip(padded, corner, strict=True):
                number = number * n + place
            rises[number] += height * (-1) ** sum(map(operator.eq, corner, high))
        sides = [(b - a) * s / n for a, b, s, n in zip(low, high, box.sides, box.cells, strict=True)]
        value += height * math.prod(map(operator.sub, high, low)) * layer_value(sides, rate)
    for axis in range(k):
        after = math.prod(padded[axis + 1 :])
        for number in range(len(rises)):
            if number // after % padded[axis]:
                rises[number] += rises[number - after]
    inside = itertools.product(*map(range, padded))
    used = [r for place, r in zip(inside, rises, strict=True) if all(map(operator.lt, place, box.cells))]
    if any(map(operator.gt, used, counts)):
        raise Refuted("the layers of the bound are more than the prior")
    return value / sum(counts)


def layer_value(sides: list[Fraction], rate: Fraction) -> Fraction:
    """No mechanism with epsilon = rate loses less where points are uniform in a box with these sides, k of them. Let t
    be how far x is from the border, and p(x) = (k/ε)(1 − e^(−εt)). For an output y of the box, and along a ray from y
    that leaves the box after R, p ≤ (k/ε)(1 − e^(−ε(R − r))) at r. A column f with |f′| ≤ εf has ∫ (r − p) f r^(k−1) dr
    ≥ 0 up to R: r − p is bounded from below by what changes its sign once, so that e^(−εr) is the worst f, for which
    the integral of that is 0. So ∫ (‖x − y‖ − p(x)) f(x) dx ≥ 0, and a mechanism loses at least the average of p. By
    parts that is k ∫ e^(−ετ) Π (1 − 2τ/a_i) dτ from 0 to half of the shortest side a.
    """
    end, none = min(sides) / 2, Fraction(0)
    polynomial = [Fraction(1)]
    for side in sides:
        polynomial = [a - 2 / side * b for a, b in zip([*polynomial, none], [none, *polynomial], strict=True)]
    first, last, power = Fraction(0), Fraction(0), 1 / rate
    while polynomial:  # Σ_n (Q⁽ⁿ⁾(0) − e^(−ε·end) Q⁽ⁿ⁾(end)) / ε^(n+1)
        first += power * polynomial[0]
        last += power * sum(c * end**n for n, c in enumerate(polynomial))
        polynomial = [n * c for n, c in enumerate(polynomial)][1:]
        power /= rate
    if rate * end > 1 << 16:
        return len(sides) * (first - max(last, Fraction(0)) / 2**65536)
    m, exponent = exp_bound((rate * end).numerator, (rate * end).denominator, 128, last < 0)
    return max(Fraction(0), len(sides) * (first - last / (m * Fraction(2) ** exponent)))
