"""All corners of the cone of a promise: heights of secrets that differ by no more than distances, in exact lengths."""

import functools
import itertools
import operator
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from sfumato.certify.kernel.arithmetic import root
from sfumato.certify.kernel.errors import Unreadable
from sfumato.certify.kernel.values import Metric

POINT = 128  # binary digits of the corners
MOST_CORNERS = 1 << 16  # of the cone of a promise, for a bound on estimates of shares: a line of 17, 16 at one distance


class Ruler:
    """Lengths as whole numbers of symbols: the unit, or the roots of square-free numbers, no sum of which is zero but
    for coefficients that all are. Where there are no values, as for one secret, there is one symbol.
    """

    def __init__(self, metric: Metric, values: list[Any]) -> None:
        self.form, self.unit, self.radicals = metric.form, metric.unit, [1]
        if self.form == "float":
            self.grain = max((value.as_integer_ratio()[1] for value in values), default=1)
            self.unit = Fraction(1, self.grain)
        if self.form == "root":
            self.parts = {value: square_free(value) for value in set(values)}
            self.radicals = sorted({radical for _, radical in self.parts.values()}) or [1]

    def length(self, value: Any) -> tuple[int, ...]:
        """One distance of the file."""
        if self.form == "rational":
            return (value,)
        if self.form == "float":
            p, q = value.as_integer_ratio()
            return (p * (self.grain // q),)
        factor, radical = self.parts[value]
        return tuple(factor if radical == other else 0 for other in self.radicals)

    def scaled(self, length: tuple[int, ...], bits: int) -> tuple[int, int]:
        """Bounds of a length in units of 2^-bits."""
        sums = [0, 0]
        for c, radical in zip(length, self.radicals, strict=True):
            for up in (False, True):
                sums[up] += c * root(radical << 2 * bits, up == (c > 0))
        return sums[0], sums[1]

    def bounds(self, length: tuple[int, ...]) -> tuple[Fraction, Fraction]:
        """Rationals below and above a length."""
        below, above = self.scaled(length, 3 * POINT)
        return self.unit * Fraction(below, 1 << 3 * POINT), self.unit * Fraction(above, 1 << 3 * POINT)

    def sign(self, length: tuple[int, ...]) -> int:
        """−1, 0 or 1."""
        if not any(length):
            return 0
        bits = 64
        while True:
            below, above = self.scaled(length, bits)
            if below > 0 or above < 0:
                return 1 if below > 0 else -1
            bits *= 2

    def compare(self, first: tuple[int, ...], second: tuple[int, ...]) -> int:
        """Whether one length exceeds another."""
        return self.sign(tuple(map(operator.sub, first, second)))

    def highest(self, lengths: list[tuple[int, ...]]) -> tuple[int, ...]:
        """The largest of some lengths."""
        if len(self.radicals) == 1:
            return max(lengths)
        return max(lengths, key=functools.cmp_to_key(self.compare))

    def shortest(self, lengths: list[tuple[int, ...]]) -> tuple[int, ...]:
        """The least of some lengths."""
        return tuple(-c for c in self.highest([tuple(-c for c in length) for length in lengths]))


def square_free(value: int) -> tuple[int, int]:
    """(a, s) with value = a²·s and s square-free."""
    factor, radical, p = 1, 1, 2
    while p * p <= value:
        while value % (p * p) == 0:
            value, factor = value // (p * p), factor * p
        if value % p == 0:
            value, radical = value // p, radical * p
        p += 1
    return factor, radical * value


Height = tuple[int, ...]


Length = tuple[int, int, Height]


def corners(lengths: list[Length], n: int, ruler: Ruler) -> Iterator[list[Height]]:
    """Heights of all corners of {h : |h[x] − h[z]| ≤ d(x, z)}, up to a constant: h is one where pairs that are tight
    connect all secrets. On a tree all of them are, in one of two directions; where all distances are one length, any
    secrets are high and the others low. Otherwise a walk along edges finds all, since corners and edges are connected.
    """
    zero = tuple(0 for _ in lengths[0][2]) if lengths else (0,)
    if n == 1:
        yield [zero]
    elif len(lengths) == n - 1:
        check_number(1 << (n - 1))
        yield from tree_corners(lengths, n, zero)
    elif len(lengths) == n * (n - 1) // 2 and len({length for _, _, length in lengths}) == 1:
        check_number((1 << n) - 2)
        high = lengths[0][2]
        for members in range(1, (1 << n) - 1):
            yield [high if members >> x & 1 else zero for x in range(n)]
    else:
        yield from walked_corners(lengths, n, ruler, zero)


def check_number(corner_count: int) -> None:
    """Refuse what nobody wants to wait for."""
    if corner_count > MOST_CORNERS:
        raise Unreadable(f"the bound for shares has {corner_count} corners or more, and {MOST_CORNERS} are the most")


def tree_corners(lengths: list[Length], n: int, zero: Height) -> Iterator[list[Height]]:
    """Each secret after the first lies as far above or below the one that it hangs from as it can."""
    near: dict[int, list[tuple[int, Height]]] = {x: [] for x in range(n)}
    for x, z, length in lengths:
        near[x].append((z, length))
        near[z].append((x, length))
    order, hanging = [0], {0: (0, zero)}
    for x in order:
        for z, length in near[x]:
            if z not in hanging:
                hanging[z] = x, length
                order.append(z)
    heights = [zero] * n
    for ups in itertools.product((operator.add, operator.sub), repeat=n - 1):
        for z, turn in zip(order[1:], ups, strict=True):
            x, length = hanging[z]
            heights[z] = tuple(map(turn, heights[x], length))
        yield list(heights)


def walked_corners(lengths: list[Length], n: int, ruler: Ruler, zero: Height) -> Iterator[list[Height]]:
    """All corners from one on. An edge at a corner raises a set of secrets that no tight pair holds back, and whose two
    sides stay connected by tight pairs, until the next pair is tight.
    """
    bounds = [*lengths, *((z, x, length) for x, z, length in lengths)]
    heights = [zero] * n
    while (members := grown(1, ties_of(bounds, heights, n)[0], n)) != (1 << n) - 1:
        heights = raised(bounds, heights, members, ruler)
    known, waiting, tries = {tuple(heights)}, [heights], 0
    while waiting:
        heights = waiting.pop()
        yield heights
        near, reach = ties_of(bounds, heights, n)
        for members in movable(near, reach, n):
            tries += 1
            after = raised(bounds, heights, members, ruler)
            after = [tuple(map(operator.sub, height, after[0])) for height in after]
            if tuple(after) not in known:
                known.add(tuple(after))
                waiting.append(after)
        check_number(max(len(known), tries >> 4))


def ties_of(bounds: list[Length], heights: list[Height], n: int) -> tuple[list[int], list[int]]:
    """For each secret, as bits: whom a tight pair joins it to, and who must rise with it (itself included)."""
    near, reach = [0] * n, [1 << x for x in range(n)]
    for x, z, length in bounds:
        if all(a - b == c for a, b, c in zip(heights[x], heights[z], length, strict=True)):
            near[x] |= 1 << z
            near[z] |= 1 << x
            reach[x] |= 1 << z
    for y in range(n):
        for x in range(n):
            if reach[x] >> y & 1:
                reach[x] |= reach[y]
    return near, reach


def grown(members: int, near: list[int], n: int, within: int = -1) -> int:
    """All that tight pairs join to some secrets, within others."""
    done = 0
    while members != done:
        fresh, done = members & ~done, members
        for x in range(n):
            if fresh >> x & 1:
                members |= near[x] & within
    return members


def movable(near: list[int], reach: list[int], n: int) -> Iterator[int]:
    """Sets that contain all that must rise with their members, connected, and connected outside."""
    everything = (1 << n) - 1
    held = [sum(1 << y for y in range(n) if reach[y] >> x & 1) for x in range(n)]  # who must stay where x stays
    waiting = [(0, 0)]
    while waiting:
        inside, outside = waiting.pop()
        free = everything & ~(inside | outside)
        if free:
            x = (free & -free).bit_length() - 1
            if not reach[x] & outside:
                waiting.append((inside | reach[x], outside))
            if not held[x] & inside:
                waiting.append((inside, outside | held[x]))
        elif inside and outside and all(grown(s & -s, near, n, s) == s for s in (inside, outside)):
            yield inside


def raised(bounds: list[Length], heights: list[Height], members: int, ruler: Ruler) -> list[Height]:
    """The heights after some secrets rose until a pair became tight."""
    slacks = [
        tuple(c - a + b for a, b, c in zip(heights[x], heights[z], length, strict=True))
        for x, z, length in bounds
        if members >> x & 1 and not members >> z & 1
    ]
    rise = ruler.shortest(slacks)
    return [tuple(map(operator.add, h, rise)) if members >> x & 1 else h for x, h in enumerate(heights)]
