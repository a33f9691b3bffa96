"""Proves the promise of a table: rows sum to the total, every pair is compared or implied, and events are kept."""

import itertools
import math
from array import array
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

from sfumato.certify.kernel.arithmetic import remembered, root
from sfumato.certify.kernel.errors import Refuted, Unreadable, apart, named, number_text
from sfumato.certify.kernel.promise import MANTISSA, factor_above, factor_below
from sfumato.certify.kernel.sections import (
    Sections,
    Words,
    grouped,
    integers,
    position,
    repeats,
    unsigned,
    words,
)
from sfumato.certify.kernel.values import AnyHeader, Event, Header, Metric, Promise, Proved

PACKED = 1 << 25  # bytes of packed rows that are held at a time
NOWHERE = 0xFFFFFFFF  # in "via": no point lies between
UNBOUNDED = 0xFFFFFFFFFFFFFFFF  # in integer distances: infinitely far, nothing is promised
LARGEST = {"rational": (1 << 61) - 1, "root": (1 << 30) - 1}  # integer distances: sums and squares fit 64 bits


def row_reader(header: AnyHeader, sections: Sections) -> Callable[..., list[int]]:
    """A function from a secret to its weights, or to those of the outputs from one position to another."""
    m, width = len(header.outputs), header.widths["weights"]

    def row(x: int, start: int = 0, stop: int = m) -> list[int]:
        return integers(sections["weights"], width, x * m + start, stop - start)

    return row


def check_sums(header: AnyHeader, sections: Sections) -> None:
    """Every row sums to the total."""
    row, total = row_reader(header, sections), header.total
    for x, secret in enumerate(header.secrets):
        if sum(row(x)) != total:
            raise Refuted("the weights of {} sum to {}, not to {}".format(named(secret), *apart(sum(row(x)), total)))


def check_pairs(header: Header, sections: Sections) -> Proved:
    """Compare the rows of every pair that is not implied, output by output; count what was done and what is left."""
    n, m, total = len(header.secrets), len(header.outputs), header.total
    row, promise, metric = row_reader(header, sections), header.promise, header.metric
    factors = remembered(lambda value: factor_below(promise, metric, value, total))
    field = (total.bit_length() + max(MANTISSA, total.bit_length()) + 2) // 8 + 1
    at_once = max(1, PACKED // (n * field))
    for start in range(0, m, at_once):
        stop = min(start + at_once, m)
        packed = Packed((row(x, start, stop) for x in range(n)), field, stop - start)
        counted, pairs, loose, joined = {"implied": 0}, 0, 0, Joined(n)
        for x, z, value in pairs_to_check(header, sections, n, counted):
            p, q = factors(value)
            pairs += 1
            loose += p >= total * q
            joined.join(x, z)
            for upper, lower in ((x, z), (z, x)):
                if not packed.respects(upper, lower, p, q):
                    raise violation(header, row, upper, lower, p, q)
    if pairs and promise.kind == "events":
        raise Unreadable("the promise is about events alone, and two secrets have a distance all the same")
    found = {"pairs": pairs, **counted, "comparisons": 2 * m * pairs, "open": joined.apart(), "loose": loose}
    values, far = words(sections["distances"], "d"), math.inf
    if metric.form != "float":
        values, far = unsigned(sections["distances"], 8), UNBOUNDED
    ends = [end((v for v in values if v != far), default=None) for end in (min, max)]
    return found | {"span": None if ends[0] is None else span(metric, *ends)}


def span(metric: Metric, least: Any, largest: Any) -> tuple[Fraction, Fraction]:
    """The least and the largest distance of those that are listed, for people: roots are cut off."""
    if metric.form == "root":
        least, largest = (Fraction(root(v << 128, False), 1 << 64) for v in (least, largest))
    return Fraction(least) * metric.unit, Fraction(largest) * metric.unit


class Joined:
    """Which secrets are joined by a chain of pairs: a forest in which every tree has one root."""

    def __init__(self, n: int) -> None:
        self.parents, self.trees = array("I", range(n)), n

    def root(self, x: int) -> int:
        """The root of the tree of a secret; the way there is halved for the next one who asks."""
        while self.parents[x] != x:
            self.parents[x] = x = self.parents[self.parents[x]]
        return x

    def join(self, x: int, z: int) -> None:
        """Make one tree of two."""
        if self.trees > 1 and self.root(x) != self.root(z):
            self.parents[self.root(x)] = self.root(z)
            self.trees -= 1

    def apart(self) -> int:
        """The number of pairs that no chain joins."""
        sizes = array("Q", bytes(8 * len(self.parents)))
        for x in range(len(self.parents)):
            sizes[self.root(x)] += 1
        return (len(sizes) ** 2 - sum(size * size for size in sizes)) // 2


class Packed:
    """Rows as long integers, one field for each output, so that a row is compared at once.

    A field has room for q·a and p·b and one guard bit above. In p·B + guards − q·A the guard bit of field y survives
    exactly if q·a ≤ p·b there; no field borrows from the next, since each stays between 1 and 2^width − 1.
    """

    def __init__(self, rows: Iterator[list[int]], field: int, outputs: int) -> None:
        self.bytes = field
        self.rows = [self.pack(row) for row in rows]
        self.guards = self.pack([1 << (8 * field - 1)] * outputs)

    def pack(self, fields: list[int]) -> int:
        """Write the fields side by side."""
        return int.from_bytes(b"".join(f.to_bytes(self.bytes, "little") for f in fields), "little")

    def respects(self, upper: int, lower: int, p: int, q: int) -> bool:
        """Whether q times row ``upper`` is at most p times row ``lower``, in every field."""
        kept = p * self.rows[lower] + self.guards - q * self.rows[upper]
        return kept & self.guards == self.guards


def violation(header: Header, row: Callable[[int], list[int]], upper: int, lower: int, p: int, q: int) -> Refuted:
    """The worst output of a pair that breaks its promise."""
    rows = row(upper), row(lower)
    broken = [y for y, (a, b) in enumerate(zip(*rows, strict=True)) if a * q > p * b]
    y = max(broken, key=lambda y: Fraction(rows[0][y], rows[1][y]) if rows[1][y] else math.inf)
    pair, output = (header.secrets[upper], header.secrets[lower]), header.outputs[y]
    a, b, allowed = rows[0][y], rows[1][y], Fraction(p, q)
    ratio, most = apart(Fraction(a, b), allowed) if b else ("infinitely many", number_text(allowed))
    return Refuted(
        f"output {named(output)} has weight {number_text(a)} for {named(pair[0])} and {number_text(b)} for "
        f"{named(pair[1])}: {ratio} times as much, at most {most} allowed",
        pair, output, Fraction(a, b) if b else math.inf, allowed,
    )  # fmt: skip


def pairs_to_check(
    header: Header, sections: Sections, n: int, counted: dict[str, int]
) -> Iterator[tuple[int, int, Any]]:
    """Yield (x, z, distance) for every pair that is not implied; check the chains of those that are."""
    form, metric_of = header.metric.form, distance_reader(header.metric, sections)
    if header.metric.source == "edges":
        for k, (x, z) in enumerate(zip(*checked_edges(sections, n), strict=True)):
            value = metric_of(k)
            if value is not None:
                yield x, z, value
        return
    via = unsigned(sections["via"], 4) if "via" in sections else None
    for k, (x, z) in enumerate(itertools.combinations(range(n), 2)):
        value = metric_of(k)
        between = NOWHERE if via is None else via[k]
        if value is None:
            continue
        if between == NOWHERE:
            yield x, z, value
            continue
        if between >= n or between in (x, z):
            raise Unreadable(f"the point between secrets {x} and {z} is number {between}")
        a = metric_of(position(min(x, between), max(x, between), n))
        b = metric_of(position(min(z, between), max(z, between), n))
        # legs are positive, so they are shorter than the whole, and chains of chains end
        if a is None or b is None or not chain_fits(form, a, b, value):
            raise Refuted(f"secret {between} does not lie between {x} and {z}")
        counted["implied"] += 1


def checked_edges(sections: Sections, n: int) -> tuple[Words, Words]:
    """The first and the second ends of the edges of a graph, which join two secrets, and no two the same ones."""
    first, second = (unsigned(sections[f"edge_{end}"], 4) for end in ("first", "second"))
    if any(x >= n or z >= n or x == z for x, z in zip(first, second, strict=True)):
        raise Unreadable("an edge does not join two secrets")
    if repeats(array("I", map(min, first, second)), array("I", map(max, first, second)), n):
        raise Unreadable("an edge is listed twice")
    return first, second


def chain_fits(form: str, a: float, b: float, c: float) -> bool:
    """Whether two legs a and b are together at most c, exactly."""
    if form == "rational":
        return a + b <= c
    if form == "root":  # √a + √b ≤ √c
        return c >= a + b and (c - a - b) ** 2 >= 4 * a * b
    # fsum rounds the exact sum once, so its sign is exact; a sum beyond the floats exceeds c, which is one
    return a + b < math.inf and math.fsum((a, b, -c)) <= 0


def distance_reader(metric: Metric, sections: Sections) -> Callable[[int], Any]:
    """A function from positions to distances; None where nothing is promised. Those of a table are positive, or chains
    of implied pairs might not end; an edge of length 0 says that its two ends have one row, and is checked like others.
    """
    form, edges = metric.form, metric.source == "edges"
    if form == "float":
        measured = words(sections["distances"], "d")
        if any(not (v > 0 or (edges and v == 0)) for v in measured):
            raise Unreadable("a distance is not a positive number")
        return lambda k: None if measured[k] == math.inf else measured[k]
    table, least = unsigned(sections["distances"], 8), 0 if edges else 1
    if any(not least <= v <= LARGEST[form] and v != UNBOUNDED for v in table):
        raise Unreadable("a distance is zero or too large")
    return lambda k: None if table[k] == UNBOUNDED else table[k]


def event_pairs(header: Header, sections: Sections, n: int) -> tuple[Words, Words, list[int]]:
    """Secrets x, secrets z, and where the pairs of each promise about events begin (and the last one ends)."""
    upper, lower = (unsigned(sections[f"event_{end}"], 4) for end in ("upper", "lower"))
    if any(x >= n or z >= n or x == z for x, z in zip(upper, lower, strict=True)):
        raise Unreadable("a promise about events does not join two secrets")
    starts = [0, *itertools.accumulate(event.pairs for event in header.events)]
    same: dict[Any, tuple[array[int], array[int]]] = {}
    for event, (start, stop) in zip(header.events, itertools.pairwise(starts), strict=True):
        ends = same.setdefault((event.factor, event.epsilon, event.delta), (array("I"), array("I")))
        ends[0].extend(upper[start:stop])
        ends[1].extend(lower[start:stop])
    if any(repeats(*ends, n) for ends in same.values()):
        raise Unreadable("a promise about events lists a pair of secrets twice")
    return upper, lower, starts


def event_factor(event: Event, cap: int | None = None) -> Fraction:
    """The factor f of a promise about events: as given, or e^epsilon from below up to a cap, or from above."""
    if event.factor is not None:
        return Fraction(event.factor)
    promise, metric = Promise("events", event.epsilon, None), Metric("rational", Fraction(1))
    return factor_above(promise, metric, 1) if cap is None else Fraction(*factor_below(promise, metric, 1, cap))


def check_events(header: Header, sections: Sections) -> int:
    """P(E | x) − f·P(E | z) is largest for the event of all outputs where N[x][y] > f·N[z][y], and is the sum of
    these differences: at most delta there is at most delta everywhere. Returns the number of pairs (x, z), each once.
    """
    row, total, secrets = row_reader(header, sections), header.total, header.secrets
    upper, lower, starts = event_pairs(header, sections, len(secrets))
    for event, (start, stop) in zip(header.events, itertools.pairwise(starts), strict=True):
        factor, delta = event_factor(event, total), event.delta
        p, q = factor.numerator, factor.denominator
        for x, z in zip(upper[start:stop], lower[start:stop], strict=True):
            excess = Fraction(sum(max(0, q * a - p * b) for a, b in zip(row(x), row(z), strict=True)), q * total)
            if excess > delta:
                raise Refuted(
                    f"an event exceeds {number_text(factor)} times its probability for {named(secrets[z])} by "
                    f"{apart(excess, delta)[0]} for {named(secrets[x])}, at most {number_text(delta)} allowed"
                )
    by_upper, order = grouped(upper, len(secrets))
    return sum(len({lower[k] for k in order[start:stop]}) for start, stop in itertools.pairwise(by_upper))
