"""The proof kernel: reads a mechanism file and decides, in integers, whether it keeps its promise.

It needs nothing but the Python standard library and trusts nothing but this page:

    python -I -S kernel.py mechanism.sfm

What is proved. The file holds a space of n secrets with a metric d, a promise (epsilon, or
alpha = e^-epsilon), and an n × m table N of non-negative integers. The kernel checks that

1. every row of N sums to the same total T, so that M(x)(y) = N[x][y] / T is a mechanism;
2. N[x][y] · q ≤ p · N[z][y] for every pair of secrets and every output, where p/q is a
   rational that the kernel itself has computed to be at most e^(epsilon·d(x, z));
3. a pair is left out only where its promise follows from others: the file names a point y
   between x and z with d(x, y) + d(y, z) ≤ d(x, z), which the kernel checks exactly, or the
   metric is by definition the shortest-path metric of a graph, of which all edges are checked;
   pairs that no chain of finite distances joins are counted, since nothing is promised about them;
4. where promises about events are listed: P(E | x) ≤ f·P(E | z) + delta for every event E;
5. if a loss is claimed: it is the loss of the mechanism with the remap in the file (expected under
   a prior, under the worst of several priors, or of the worst secret), and the limits are kept;
6. if a bound is claimed: no mechanism of these promises, keeping the limits, has a smaller loss,
   because the numbers Z ≥ 0 in the file prove it (weak duality, see ``check_bound``).

What a file may hold is bounded by what its secrets, outputs and actions can need, and numbers are
read where they lie: the kernel takes at most 64 MB, three times the unpacked sections, and what
Python's JSON reader makes of the header (up to 30 times its bytes).

Exit status: 0 all that the file says is proved, 3 refuted, 2 the file cannot be read.
"""

import bisect
import functools
import hashlib
import itertools
import json
import math
import operator
import re
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any

MAGIC = b"sfumato\n"
VERSION = 2
VERSIONS = (1, 2)  # version 1 had no kinds: its promises are about rows, its claims about a loss
LARGEST_HEADER = 1 << 27  # bytes of JSON: labels of a million secrets fit
LARGEST_SECTION = 1 << 32  # bytes unpacked: ten thousand secrets and outputs fit
PACKED = 1 << 25  # bytes of packed rows that are held at a time
REMEMBERED = 1 << 14  # factors of distances that are held at a time
MOST_LIMITS = 1000  # each of them is checked as the loss is
LONGEST_NAME = 80  # characters of a label in a message
NOWHERE = 0xFFFFFFFF  # in "via": no point lies between
UNBOUNDED = 0xFFFFFFFFFFFFFFFF  # in integer distances: infinitely far, nothing is promised
LARGEST = {"rational": (1 << 61) - 1, "root": (1 << 30) - 1}  # integer distances: sums and squares fit 64 bits
FORMS = {("rational", "table"), ("rational", "edges"), ("root", "table"), ("float", "table"), ("float", "edges")}
PROMISES = ("rows", "events")  # what a promise is about; others need a later kernel
CLAIMS = ("loss",)
CRITERIA = {
    "expected": "expected loss",
    "worst secret": "largest loss of a secret",
    "worst prior": "largest expected loss",
}
MANTISSA = 62  # bits kept of e^x: a product with a 62-bit weight fits into 128 bits

Terms = dict[str, Any]
Sections = dict[str, Any]  # bytes
Words = Any  # a memoryview, array or list of integers


class Unreadable(ValueError):
    """The file is damaged, truncated, malicious, or of another version."""


class Refuted(Exception):
    """The file can be read and what it claims is false."""

    def __init__(self, message: str, *details: Any) -> None:
        self.pair, self.output, self.ratio, self.bound = details or (None,) * 4
        super().__init__(message)


# ----------------------------------------------------------------- bounds of e^x and ln x


def divided(a: int, b: int, up: bool) -> int:
    """a / b for integers, b > 0, rounded down or up."""
    return -(-a // b) if up else a // b


def shifted(a: int, bits: int, up: bool) -> int:
    """a / 2^bits, rounded down or up."""
    return -(-a >> bits) if up else a >> bits


def exp_bound(a: int, b: int, bits: int, up: bool) -> tuple[int, int]:
    """Integers (m, k) with m·2^k ≤ e^(a/b), or ≥ if ``up``; a ≥ 0, b > 0; m has about ``bits`` bits.

    Halve the exponent until it is at most 1/256, sum the Taylor series in fixed point with every
    step rounded to the safe side, square back. The series has positive terms, so cutting it off
    is safe from below; from above, the first term left out is at most one unit and the rest of
    the tail less than another (each term is at most 1/256 of the one before).
    """
    halvings = (a // b).bit_length() + 8
    point = bits + halvings + 16  # binary digits after the point
    x = divided(a << point, b << halvings, up)
    term = total = 1 << point
    k = 0
    while term > (1 if up else 0):
        k += 1
        term = divided(shifted(term * x, point, up), k, up)
        total += term
    total += 2 if up else 0
    exponent = -point
    for _ in range(halvings):
        total, exponent = shortened(total * total, 2 * exponent, point, up)
    return shortened(total, exponent, bits, up)


def shortened(m: int, exponent: int, bits: int, up: bool) -> tuple[int, int]:
    """m·2^exponent with m cut to at most ``bits`` bits (one more if rounding up carries)."""
    excess = m.bit_length() - bits
    return (shifted(m, excess, up), exponent + excess) if excess > 0 else (m, exponent)


@functools.lru_cache(maxsize=16)
def log_bound(v: Fraction, bits: int, up: bool) -> Fraction:
    """A rational ≤ ln v, or ≥ if ``up``, for a rational v > 1.

    v = r·2^k with 1 ≤ r < 2, and ln r = 2 artanh((r − 1)/(r + 1)), ln 2 = 2 artanh(1/3).
    """
    k = 0
    while v >= 2:
        v, k = v / 2, k + 1
    return 2 * (artanh_bound((v - 1) / (v + 1), bits, up) + k * artanh_bound(Fraction(1, 3), bits, up))


def artanh_bound(ratio: Fraction, bits: int, up: bool) -> Fraction:
    """t + t³/3 + t⁵/5 + … for t = ratio, 0 ≤ t ≤ 1/3; the tail is below 1/8 of the first term left out, or 1 unit."""
    point = bits + 16
    t = divided(ratio.numerator << point, ratio.denominator, up)
    square = shifted(t * t, point, up)
    power = total = t
    k = 1
    while power > (1 if up else 0):
        k += 2
        power = shifted(power * square, point, up)
        total += divided(power, k, up)
    return Fraction(total + (2 if up else 0), 1 << point)


# ----------------------------------------------------------------- the promise on one pair


def exponent_bound(promise: Terms, metric: Terms, value: Any, up: bool) -> tuple[int, int]:
    """Integers (a, b) with a/b on the safe side of epsilon·d for one entry of the table of distances."""
    precision = 160 if up else 128
    rate: Fraction = promise["epsilon"]
    if promise["alpha"] is not None:
        rate = log_bound(1 / promise["alpha"], precision, up)
    if metric["form"] == "float":
        a, b = value.as_integer_ratio()
        return rate.numerator * a, rate.denominator * b
    unit = metric["unit"]
    a, b = rate.numerator * unit.numerator, rate.denominator * unit.denominator
    if metric["form"] == "rational":
        return a * value, b
    root = math.isqrt(value << (2 * precision))
    root += up and root * root != value << (2 * precision)
    return a * root, b << precision


def exact_factor(promise: Terms, metric: Terms, value: Any) -> tuple[int, int] | None:
    """e^(epsilon·d) as (p, q) when alpha^unit is rational and the power is small, else None."""
    step, steps = promise["step"], value
    if metric["form"] == "root":
        steps = math.isqrt(value)
    if metric["form"] == "float":
        steps = int(value)
    if step is None or value != (steps * steps if metric["form"] == "root" else steps):
        return None
    if steps * step.denominator.bit_length() > 1 << 16:
        return None
    return step.denominator**steps, step.numerator**steps


def factor_below(promise: Terms, metric: Terms, value: Any, cap: int) -> tuple[int, int]:
    """(p, q) with p/q ≤ e^(epsilon·d), as sharp as needed for weights up to ``cap``.

    A factor of ``cap`` or more only says that no weight faces a zero, so it is cut there. A
    rational factor is kept exactly unless its numerator exceeds ``cap``; any other one is
    rounded down to ``MANTISSA`` bits, or to the bits of ``cap`` if these are more.
    """
    bits = max(MANTISSA, cap.bit_length())
    exact = exact_factor(promise, metric, value)
    if exact is not None:
        p, q = exact
        if p >= cap * q:
            return cap, 1
        if p <= cap:
            return p, q
        k = max(0, bits + 2 - p.bit_length() + q.bit_length())
        m, k = shortened((p << k) // q, -k, bits, False)
    else:
        a, b = exponent_bound(promise, metric, value, False)
        if a >= b * cap.bit_length():  # e^x > 2^x ≥ cap
            return cap, 1
        m, k = exp_bound(a, b, bits, False)
    return min((m << k, 1), (cap, 1)) if k >= 0 else (m, 1 << -k)


def factor_above(promise: Terms, metric: Terms, value: Any) -> Fraction:
    """A rational ≥ e^(epsilon·d), equal to it where it is rational and small."""
    exact = exact_factor(promise, metric, value)
    if exact is not None:
        return Fraction(*exact)
    a, b = exponent_bound(promise, metric, value, True)
    if a > b << 16:
        raise Refuted("a dual number uses a pair so far apart that its bound helps nobody")
    m, k = exp_bound(a, b, 128, True)
    return Fraction(m << k) if k >= 0 else Fraction(m, 1 << -k)


# ----------------------------------------------------------------- the checks


def check(header: Terms, sections: Sections) -> Terms:
    """Check everything the file claims. Returns what was proved as a dictionary; raises Refuted."""
    proved = {"secrets": len(header["secrets"]), "outputs": len(header["outputs"]), "total": header["total"]}
    check_sums(header, sections)
    proved |= check_pairs(header, sections)
    if header["events"]:
        proved["events"] = check_events(header, sections)
    if "loss" in header["claims"]:
        proved["loss"] = check_loss(header, sections)
    if "bound" in header["claims"]:
        proved["bound"] = check_bound(header, sections)
    return proved


def row_reader(header: Terms, sections: Sections) -> Callable[..., list[int]]:
    """A function from a secret to its weights, or to those of the outputs from one position to another."""
    m, width = len(header["outputs"]), header["widths"]["weights"]

    def row(x: int, start: int = 0, stop: int = m) -> list[int]:
        return integers(sections["weights"], width, x * m + start, stop - start)

    return row


def check_sums(header: Terms, sections: Sections) -> None:
    """Every row sums to the total."""
    row, total = row_reader(header, sections), header["total"]
    for x, secret in enumerate(header["secrets"]):
        if sum(row(x)) != total:
            raise Refuted("the weights of {} sum to {}, not to {}".format(named(secret), *apart(sum(row(x)), total)))


def check_pairs(header: Terms, sections: Sections) -> Terms:
    """Compare the rows of every pair that is not implied, output by output; count what was done and what is left."""
    n, m, total = len(header["secrets"]), len(header["outputs"]), header["total"]
    row, promise, metric = row_reader(header, sections), header["promise"], header["metric"]
    factors = remembered(lambda value: factor_below(promise, metric, value, total))
    field = (total.bit_length() + max(MANTISSA, total.bit_length()) + 2) // 8 + 1
    at_once = max(1, PACKED // (n * field))
    for start in range(0, m, at_once):
        stop = min(start + at_once, m)
        packed = Packed((row(x, start, stop) for x in range(n)), field, stop - start)
        counted, pairs, joined = {"implied": 0}, 0, Joined(n)
        for x, z, value in pairs_to_check(header, sections, n, counted):
            p, q = factors(value)
            pairs += 1
            joined.join(x, z)
            for upper, lower in ((x, z), (z, x)):
                if not packed.respects(upper, lower, p, q):
                    raise violation(header, row, upper, lower, p, q)
    if pairs and promise["kind"] == "events":
        raise Unreadable("the promise is about events alone, and two secrets have a distance all the same")
    return {"pairs": pairs, **counted, "comparisons": 2 * m * pairs, "open": joined.apart()}


def remembered(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same function, which remembers its latest values."""
    return functools.lru_cache(maxsize=REMEMBERED)(function)


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

    A field has room for q·a and p·b and one guard bit above. In p·B + guards − q·A the guard
    bit of field y survives exactly if q·a ≤ p·b there; no field borrows from the next, since
    each stays between 1 and 2^width − 1.
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


def shown(number: Fraction | int) -> str:
    """A number for a message: exact if short, else rounded, else its size."""
    if number.denominator == 1 and abs(number.numerator) < 1 << 80:
        return str(number)
    try:
        if float(number):
            return f"{float(number):.17g}"
    except OverflowError:
        pass
    size = abs(number.numerator).bit_length() - number.denominator.bit_length()
    return f"{'about' if number > 0 else 'minus about'} 2^{size}"


def apart(a: Fraction | int, b: Fraction | int) -> tuple[str, str]:
    """Two different numbers for a message that compares them: where their digits agree, one is told by the difference
    from the other, if possible from one that its digits give exactly.
    """
    first, second = shown(a), shown(b)
    if first != second:
        return first, second
    difference = shown(abs(Fraction(a) - b))
    if re.fullmatch(r"[-+.e\d]+", first) and Fraction(first) == a:
        return first, f"{second} {'plus' if b > a else 'minus'} {difference}"
    return f"{first} {'plus' if a > b else 'minus'} {difference}", second


def named(label: Any) -> str:
    """A label for a message, in quotes if it is a text, and not too long."""
    text = repr(label)
    return text if len(text) <= LONGEST_NAME else f"{text[:LONGEST_NAME]}…"


def violation(header: Terms, row: Callable[[int], list[int]], upper: int, lower: int, p: int, q: int) -> Refuted:
    """The worst output of a pair that breaks its promise."""
    rows = row(upper), row(lower)
    broken = [y for y, (a, b) in enumerate(zip(*rows, strict=True)) if a * q > p * b]
    y = max(broken, key=lambda y: Fraction(rows[0][y], rows[1][y]) if rows[1][y] else math.inf)
    pair, output = (header["secrets"][upper], header["secrets"][lower]), header["outputs"][y]
    a, b, allowed = rows[0][y], rows[1][y], Fraction(p, q)
    ratio, most = apart(Fraction(a, b), allowed) if b else ("infinitely many", shown(allowed))
    return Refuted(
        f"output {named(output)} has weight {shown(a)} for {named(pair[0])} and {shown(b)} for {named(pair[1])}: "
        f"{ratio} times as much, at most {most} allowed",
        pair, output, Fraction(a, b) if b else math.inf, allowed,
    )  # fmt: skip


def pairs_to_check(header: Terms, sections: Sections, n: int, counted: Terms) -> Iterator[tuple[int, int, Any]]:
    """Yield (x, z, distance) for every pair that is not implied; check the chains of those that are."""
    form, metric_of = header["metric"]["form"], distance_reader(header, sections)
    if header["metric"]["source"] == "edges":
        for k, (x, z) in enumerate(zip(*checked_edges(sections, n), strict=True)):
            value = metric_of(k)
            if value is not None:
                yield x, z, value
        return
    via = unsigned(sections["via"], 4) if "via" in sections else None
    k = 0
    for x in range(n):
        for z in range(x + 1, n):
            value = metric_of(k)
            between = NOWHERE if via is None else via[k]
            k += 1
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


def repeats(first: Words, second: Words, n: int) -> bool:
    """Whether a pair of numbers occurs twice; the first ones are below n."""
    starts, order = grouped(first, n)
    for x in range(n):
        others = [second[k] for k in order[starts[x] : starts[x + 1]]]
        if len(set(others)) < len(others):
            return True
    return False


def grouped(keys: Words, n: int) -> tuple[Words, Words]:
    """Positions ordered by their key, which is below n, and where each key begins: a counting sort."""
    starts = array("I", bytes(4 * (n + 1)))
    for key in keys:
        starts[key + 1] += 1
    for key in range(n):
        starts[key + 1] += starts[key]
    order, free = array("I", bytes(4 * len(keys))), starts[:]
    for k, key in enumerate(keys):
        order[free[key]] = k
        free[key] += 1
    return starts, order


def chain_fits(form: str, a: float, b: float, c: float) -> bool:
    """Whether two legs a and b are together at most c, exactly."""
    if form == "rational":
        return a + b <= c
    if form == "root":  # √a + √b ≤ √c
        return c >= a + b and (c - a - b) ** 2 >= 4 * a * b
    # fsum rounds the exact sum once, so its sign is exact; a sum beyond the floats exceeds c, which is one
    return a + b < math.inf and math.fsum((a, b, -c)) <= 0


def position(x: int, z: int, n: int) -> int:
    """Index of the pair x < z in the upper triangle, row by row."""
    return x * (2 * n - x - 1) // 2 + z - x - 1


def distance_reader(header: Terms, sections: Sections) -> Callable[[int], Any]:
    """A function from positions to distances; None where nothing is promised. Those of a table are positive, or chains
    of implied pairs might not end; an edge of length 0 says that its two ends have one row, and is checked like others.
    """
    form, edges = header["metric"]["form"], header["metric"]["source"] == "edges"
    if form == "float":
        measured = words(sections["distances"], "d")
        if any(not (v > 0 or (edges and v == 0)) for v in measured):
            raise Unreadable("a distance is not a positive number")
        return lambda k: None if measured[k] == math.inf else measured[k]
    table, least = unsigned(sections["distances"], 8), 0 if edges else 1
    if any(not least <= v <= LARGEST[form] and v != UNBOUNDED for v in table):
        raise Unreadable("a distance is zero or too large")
    return lambda k: None if table[k] == UNBOUNDED else table[k]


def event_pairs(header: Terms, sections: Sections, n: int) -> tuple[Words, Words, list[int]]:
    """Secrets x, secrets z, and where the pairs of each promise about events begin (and the last one ends)."""
    upper, lower = (unsigned(sections[f"event_{end}"], 4) for end in ("upper", "lower"))
    if any(x >= n or z >= n or x == z for x, z in zip(upper, lower, strict=True)):
        raise Unreadable("a promise about events does not join two secrets")
    starts = [0, *itertools.accumulate(event["pairs"] for event in header["events"])]
    same: dict[Any, tuple[array[int], array[int]]] = {}
    for event, (start, stop) in zip(header["events"], itertools.pairwise(starts), strict=True):
        ends = same.setdefault((event["factor"], event["epsilon"], event["delta"]), (array("I"), array("I")))
        ends[0].extend(upper[start:stop])
        ends[1].extend(lower[start:stop])
    if any(repeats(*ends, n) for ends in same.values()):
        raise Unreadable("a promise about events lists a pair of secrets twice")
    return upper, lower, starts


def event_factor(event: Terms, cap: int | None = None) -> Fraction:
    """The factor f of a promise about events: as given, or e^epsilon from below up to a cap, or from above."""
    if event["factor"] is not None:
        return Fraction(event["factor"])
    promise, metric = (
        {"epsilon": event["epsilon"], "alpha": None, "step": None},
        {"form": "rational", "unit": Fraction(1)},
    )
    return factor_above(promise, metric, 1) if cap is None else Fraction(*factor_below(promise, metric, 1, cap))


def check_events(header: Terms, sections: Sections) -> int:
    """P(E | x) − f·P(E | z) is largest for the event of all outputs where N[x][y] > f·N[z][y], and is the sum of
    these differences: at most delta there is at most delta everywhere. Returns the number of pairs (x, z), each once.
    """
    row, total, secrets = row_reader(header, sections), header["total"], header["secrets"]
    upper, lower, starts = event_pairs(header, sections, len(secrets))
    for event, (start, stop) in zip(header["events"], itertools.pairwise(starts), strict=True):
        factor, delta = event_factor(event, total), event["delta"]
        p, q = factor.numerator, factor.denominator
        for x, z in zip(upper[start:stop], lower[start:stop], strict=True):
            excess = Fraction(sum(max(0, q * a - p * b) for a, b in zip(row(x), row(z), strict=True)), q * total)
            if excess > delta:
                raise Refuted(
                    f"an event exceeds {shown(factor)} times its probability for {named(secrets[z])} by "
                    f"{apart(excess, delta)[0]} for {named(secrets[x])}, at most {shown(delta)} allowed"
                )
    by_upper, order = grouped(upper, len(secrets))
    return sum(len({lower[k] for k in order[start:stop]}) for start, stop in itertools.pairwise(by_upper))


class Table:
    """A table of doubles times a unit, one row an action, as integers times another unit, a column at a time."""

    def __init__(self, section: Any, unit: Fraction, n: int) -> None:
        self.doubles, self.n = words(section, "d"), n
        if not all(map(math.isfinite, self.doubles)):
            raise Unreadable("a loss is not finite")
        self.common = max(value.as_integer_ratio()[1] for value in self.doubles)  # all are powers of two
        self.unit = unit / self.common

    def column(self, x: int) -> list[int]:
        """What a secret pays for every action, in units."""
        ratios = (value.as_integer_ratio() for value in self.doubles[x :: self.n])
        return [p * (self.common // q) for p, q in ratios]


def ceiling_tables(header: Terms, sections: Sections, n: int) -> Iterator[Table]:
    """The tables whose sums must not exceed a level."""
    each, tables = len(sections["loss"]), memoryview(sections.get("ceilings", b""))
    for j, ceiling in enumerate(header["claims"]["ceilings"]):
        yield Table(tables[j * each : (j + 1) * each], ceiling["unit"], n)


def check_loss(header: Terms, sections: Sections) -> Fraction:
    """What each secret loses is Σ_y N[x][y] / T · loss(remap[y], x). Compared with the claim is its expectation
    under the prior, or the largest expectation under several priors, or the loss of the worst secret.
    The same sums of other tables must not exceed their levels, for any secret.
    """
    claims, n = header["claims"], len(header["secrets"])
    remap = unsigned(sections["remap"], 4)
    if max(remap) >= len(claims["actions"]):
        raise Unreadable("the remap names an action that is not there")
    lost, unit = sums_of_secrets(header, sections, Table(sections["loss"], claims["loss_unit"], n), remap)
    value = unit * max(lost)
    if claims["criterion"] != "worst secret":
        value = max(unit * expectation(counts, lost) for counts in priors_of(header, sections))
    if value != claims["loss"]:
        raise Refuted("the loss is {}, not {} as claimed".format(*apart(value, claims["loss"])))
    for table, ceiling in zip(ceiling_tables(header, sections, n), claims["ceilings"], strict=True):
        lost, unit = sums_of_secrets(header, sections, table, remap)
        if max(lost) * unit > ceiling["level"]:
            raise Refuted(
                "a secret has {} where at most {} is claimed".format(*apart(max(lost) * unit, ceiling["level"]))
            )
    return Fraction(value)


def sums_of_secrets(header: Terms, sections: Sections, table: Table, remap: Words) -> tuple[list[int], Fraction]:
    """Σ_y N[x][y] / T · table(remap[y], x) for every secret x, as integers and their unit, which is positive."""
    row, sums = row_reader(header, sections), []
    for x in range(table.n):
        column = table.column(x)
        sums.append(sum(map(operator.mul, row(x), map(column.__getitem__, remap))))
    return sums, table.unit / header["total"]


def expectation(counts: Words, values: Words) -> Fraction:
    """The mean of the values, each as often as counted."""
    return Fraction(sum(map(operator.mul, counts, values)), sum(counts))


def check_bound(header: Terms, sections: Sections) -> Fraction:
    """Weak duality. For a mechanism M with actions as outputs, numbers Z ≥ 0 and U ≥ 0,

        loss(M) ≥ loss(M) + Σ Z[x,z,w]·(M[x][w] − f·M[z][w]) + Σ U[x]·(Σ_w M[x][w]·t(w, x) − level)
                = Σ_x Σ_w M[x][w]·S[x][w] − Σ U[x]·level  ≥  Σ_x min_w S[x][w] − Σ U[x]·level

    because brackets are ≤ 0 and rows of M sum to 1, with S = prior[x]·loss(w, x) + Σ U[x]·t(w, x) + Σ_z Z[x,z,w]
    − Σ_z f·Z[z,x,w], any f ≥ e^(epsilon·d(x, z)), and t the tables that have levels. The largest of several
    expectations is at least any mixture of them, which is the expectation under the mixture of their priors; and the
    loss of the worst secret is at least the expectation under any prior. Promises about events add ``event_sums``.
    """
    claims, n = header["claims"], len(header["secrets"])
    actions, dual_unit = len(claims["actions"]), claims["dual_unit"]
    loss, (prior, prior_unit) = Table(sections["loss"], claims["loss_unit"], n), mixed_prior(header, sections)
    parts: list[tuple[Table, Words, Fraction]] = [(loss, prior, prior_unit * loss.unit)]
    paid = Fraction(0)
    for j, table in enumerate(ceiling_tables(header, sections, n)):
        prices = integers(sections["ceiling_prices"], header["widths"]["ceiling_prices"], j * n, n)
        parts.append((table, prices, dual_unit * table.unit))
        paid += sum(prices) * dual_unit * claims["ceilings"][j]["level"]
    add_duals, grain = dual_sums(header, sections, n, actions)
    add_events, event_grain, event_costs = event_sums(header, sections, n, actions)
    # S is summed in integers, in units of 1 / common
    units = [*(unit for _, _, unit in parts), dual_unit / grain, dual_unit / event_grain]
    common = math.lcm(*(unit.denominator for unit in units))
    factors = [unit.numerator * (common // unit.denominator) for unit in units]
    total = 0
    for x in range(n):
        reduced = [0] * actions
        add_duals(x, factors[-2], reduced)
        add_events(x, factors[-1], reduced)
        for factor, (table, weights, _) in zip(factors, parts, strict=False):
            weight = factor * weights[x]
            reduced = [r + weight * value for r, value in zip(reduced, table.column(x), strict=True)]
        total += min(reduced)
    bound, claimed = Fraction(total, common) - paid - event_costs * dual_unit, claims["bound"]
    if bound < claimed:
        raise Refuted("the dual numbers prove {}, less than the claimed {}".format(*apart(bound, claimed)))
    return Fraction(claimed)


Adder = Callable[[int, int, list[int]], None]
"""Adds its part of S[x], times a factor, to a list with a number for every action."""


def dual_sums(header: Terms, sections: Sections, n: int, actions: int) -> tuple[Adder, int]:
    """Σ_z Z[x,z,w] − Σ_z f·Z[z,x,w] for a secret and every action, in units of dual_unit / grain; and the grain."""
    first, second, action = (unsigned(sections[f"dual_{part}"], 4) for part in ("from", "to", "action"))
    value = reader(sections["dual"], header["widths"]["dual"])
    if any(x >= n or z >= n or x == z for x, z in zip(first, second, strict=True)) or max(action, default=0) >= actions:
        raise Unreadable("a dual number belongs to no constraint")
    above = remembered(lambda distance: factor_above(header["promise"], header["metric"], distance))
    distances = pair_distances(header, sections, n)
    (gained, gaining), (spent, spending) = grouped(first, n), grouped(second, n)

    def spendings(x: int) -> Iterator[tuple[int, Fraction]]:
        distance = distances(x)
        for k in spending[spent[x] : spent[x + 1]]:
            length = distance(first[k])
            if length is None:
                raise Refuted("a dual number uses two secrets between which nothing is promised")
            yield k, above(length)

    grain = functools.reduce(with_denominator, (f for x in range(n) for _, f in spendings(x)), 1)

    def add(x: int, factor: int, reduced: list[int]) -> None:
        for k in gaining[gained[x] : gained[x + 1]]:
            reduced[action[k]] += factor * grain * value(k)
        for k, f in spendings(x):
            reduced[action[k]] -= factor * math.ceil(f * grain) * value(k)

    return add, grain


def event_sums(header: Terms, sections: Sections, n: int, actions: int) -> tuple[Adder, int, Fraction]:
    """Numbers Z ≥ 0 on promises about events, summed as in ``dual_sums``, the grain, and what their use costs.

    With t = max_w Z[w], Σ_w Z[w]·(M[x][w] − f·M[z][w]) ≤ t·Σ_w max(0, M[x][w] − f·M[z][w]) ≤ t·delta.
    """
    if not header["events"]:
        return lambda x, factor, reduced: None, 1, Fraction(0)
    upper, lower, starts = event_pairs(header, sections, n)
    pair, action = (unsigned(sections[f"event_dual_{part}"], 4) for part in ("pair", "action"))
    value = reader(sections["event_dual"], header["widths"]["event_dual"])
    if max(pair, default=0) >= len(upper) or max(action, default=0) >= actions:
        raise Unreadable("a dual number belongs to no promise about events")
    rounded, grain = over_one_grain({k: event_factor(event) for k, event in enumerate(header["events"])})
    owned, order = grouped(pair, len(upper))
    (gained, gaining), (spent, spending) = grouped(upper, n), grouped(lower, n)
    cost = Fraction(0)
    for j in range(len(upper)):
        summed: dict[int, int] = {}
        for k in order[owned[j] : owned[j + 1]]:
            summed[action[k]] = summed.get(action[k], 0) + value(k)
        cost += max(summed.values(), default=0) * header["events"][bisect.bisect(starts, j) - 1]["delta"]

    def add(x: int, factor: int, reduced: list[int]) -> None:
        for j in gaining[gained[x] : gained[x + 1]]:
            for k in order[owned[j] : owned[j + 1]]:
                reduced[action[k]] += factor * grain * value(k)
        for j in spending[spent[x] : spent[x + 1]]:
            for k in order[owned[j] : owned[j + 1]]:
                reduced[action[k]] -= factor * rounded[bisect.bisect(starts, j) - 1] * value(k)

    return add, grain, cost


def with_denominator(grain: int, factor: Fraction) -> int:
    """A grain in which the factor is whole as well, up to 1024 bits: what is finer is rounded up."""
    return min(math.lcm(grain, factor.denominator), 1 << 1024)


def over_one_grain(factors: dict[Any, Fraction]) -> tuple[dict[Any, int], int]:
    """Factors as integers over one grain, rounded up where that is too coarse; and the grain."""
    grain = functools.reduce(with_denominator, factors.values(), 1)
    return {d: math.ceil(f * grain) for d, f in factors.items()}, grain


def pair_distances(header: Terms, sections: Sections, n: int) -> Callable[[int], Callable[[int], Any]]:
    """For a secret x, a function from other secrets to distances; of a graph only its edges have one."""
    read = distance_reader(header, sections)
    if header["metric"]["source"] == "table":
        return lambda x: lambda z: read(position(min(x, z), max(x, z), n))
    ends = checked_edges(sections, n)
    groups = [grouped(end, n) for end in ends]

    def from_secret(x: int) -> Callable[[int], Any]:
        near: dict[int, Any] = {}
        for (starts, order), others in zip(groups, reversed(ends), strict=True):
            near |= {others[k]: read(k) for k in order[starts[x] : starts[x + 1]]}
        return near.get

    return from_secret


def priors_of(header: Terms, sections: Sections) -> list[Words]:
    """The counts of each prior; there is one, unless the worst of several is claimed."""
    n, width = len(header["secrets"]), header["widths"]["prior"]
    counts = [integers(sections["prior"], width, k, n) for k in range(0, len(sections["prior"]) // width, n)]
    if not all(map(sum, counts)):
        raise Unreadable("a prior has no weight")
    return counts


def mixed_prior(header: Terms, sections: Sections) -> tuple[list[int], Fraction]:
    """The prior under which the bound is proved, the only one or the mixture that is named: counts and their unit."""
    priors, shares = priors_of(header, sections), [1]
    if header["claims"]["criterion"] == "worst prior":
        shares = integers(sections["mixture"], header["widths"]["mixture"], 0, len(priors))
        if not sum(shares):
            raise Unreadable("the mixture of priors has no weight")
    common = math.lcm(*map(sum, priors))
    weights = [share * (common // sum(counts)) for share, counts in zip(shares, priors, strict=True)]
    return [sum(map(operator.mul, weights, column)) for column in zip(*priors, strict=True)], Fraction(
        1, common * sum(shares)
    )


# ----------------------------------------------------------------- the file


def read(path: Any) -> tuple[Terms, Sections, str]:
    """Read and unpack a mechanism file: (header, sections, digest). Raises Unreadable."""
    try:
        with open(path, "rb") as file:
            data = file.read()
    except (OSError, ValueError) as error:
        raise Unreadable(f"cannot read the file: {getattr(error, 'strerror', None) or error}") from error
    return parse(data)


def parse(data: bytes) -> tuple[Terms, Sections, str]:
    """Unpack the bytes of a mechanism file: magic, version, header, sections, SHA-256 of all before it."""
    if data[:8] != MAGIC:
        raise Unreadable("this is no sfumato mechanism file")
    if len(data) < 56:
        raise Unreadable("the file is truncated")
    view = memoryview(data)
    version, length = int.from_bytes(view[8:16], "little"), int.from_bytes(view[16:24], "little")
    if version not in VERSIONS:
        raise Unreadable(f"the file has version {version}, this kernel reads versions {VERSIONS[0]} to {VERSIONS[-1]}")
    digest = hashlib.sha256(view[:-32]).digest()
    if digest != view[-32:]:
        raise Unreadable("the file is damaged or truncated: its checksum does not match")
    if length > LARGEST_HEADER or 24 + length > len(data) - 32:
        raise Unreadable("the header is larger than the file or the limit")
    try:
        text = str(view[24 : 24 + length], "utf-8")
        header = interpret(json.loads(text, parse_constant=refuse, object_pairs_hook=once))
        if header["version"] != version:
            raise Unreadable(f"the header has version {header['version']}, the file version {version}")
        sections = unpack(header, view[24 + length : -32])
    except Unreadable:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ZeroDivisionError) as error:
        raise Unreadable(f"the header cannot be understood: {error!r:.200}") from error
    return header, sections, digest.hex()


def refuse(constant: str) -> None:
    """JSON may not contain NaN or infinities."""
    raise Unreadable(f"the header contains {constant}")


def once(items: list[tuple[str, Any]]) -> Terms:
    """A JSON object in which no key occurs twice: readers differ in which one they believe."""
    terms = dict(items)
    if len(terms) < len(items):
        raise Unreadable("a key of the header occurs twice")
    return terms


KEYS = {
    "header": "version secrets outputs total space metric promise events claims provenance sections",
    "space": "name unit coordinates",
    "metric": "form unit source",
    "promise": "kind epsilon alpha step",
    "promise about events": "factor epsilon delta pairs",
    "claim": "kind loss loss_unit loss_name actions criterion ceilings bound dual_unit",
    "ceiling": "name unit level",
    "section": "name width count size",
}


def known(terms: Terms, what: str) -> Terms:
    """The terms, none of which this kernel would pass over."""
    unknown = terms.keys() - KEYS[what].split()
    if unknown:
        raise Unreadable(f"the {what} has {named(min(unknown))}, which this kernel does not know")
    return terms


def interpret(header: Terms) -> Terms:
    """Turn the numbers of a parsed header into integers and rationals, and check its shape."""
    known(header, "header")
    version = header.setdefault("version", 1)
    if type(version) is not int or version not in VERSIONS:
        raise Unreadable(f"the header has version {named(version)}")
    for name in ("secrets", "outputs"):
        check_labels(header[name], name)
    about = known(header.setdefault("space", {}), "space")
    for name in ("unit", "name"):
        check_text(about.setdefault(name, ""), f"the {name} of the space")
    header["total"] = rational(header["total"], r"\d{1,4000}").numerator
    if header["total"] < 1:
        raise Unreadable("the total must be positive")
    n = len(header["secrets"])
    for event in header.setdefault("events", []):
        interpret_event(known(event, "promise about events"), n)
    interpret_promise(known(header["promise"], "promise"), known(header["metric"], "metric"), version)
    if header["promise"]["kind"] == "events" and not header["events"]:
        raise Unreadable("the promise is about events, and none is listed")
    if header.setdefault("claims", {}):
        interpret_claims(known(header["claims"], "claim"), version)
    header["widths"] = {known(section, "section")["name"]: section["width"] for section in header["sections"]}
    return header


def check_labels(labels: Any, what: str) -> None:
    """Labels are texts, finite numbers, truth values, null, fractions or lists of these, and no two are one."""
    if not isinstance(labels, list) or not labels:
        raise Unreadable(f"the header lists no {what}")
    if len(set(map(label_value, labels))) < len(labels):
        raise Unreadable(f"two {what} have one name")


def label_value(label: Any) -> Any:
    """What a label stands for, to be compared with others."""
    if isinstance(label, list):
        return tuple(map(label_value, label))
    if isinstance(label, dict):
        if list(label) != ["fraction"]:
            raise Unreadable(f"a label is {named(label)}")
        return rational(label["fraction"])
    if isinstance(label, float) and not math.isfinite(label):
        raise Unreadable("a label is an infinite number")
    return label


def check_text(text: Any, what: str) -> None:
    """A short text of printable characters, which a report may quote."""
    if not isinstance(text, str) or not text.isprintable() or len(text) > 200:
        raise Unreadable(f"{what} is no short text")


def interpret_promise(promise: Terms, metric: Terms, version: int) -> None:
    """Check and convert what is promised, and in which form distances are given."""
    check_kind(promise, "promise", "rows", PROMISES, version)
    if (metric["form"], metric["source"]) not in FORMS:
        raise Unreadable("the metric has an unknown form")
    unit = metric["unit"] = rational(metric["unit"])
    if unit <= 0 or (metric["form"] == "float" and unit != 1):
        raise Unreadable("the unit of distance must be positive, and 1 for floats")
    for name in ("epsilon", "alpha", "step"):
        promise[name] = None if promise.get(name) is None else rational(promise[name])
    alpha, epsilon, step = promise["alpha"], promise["epsilon"], promise["step"]
    if (alpha is None) == (epsilon is None) or (alpha is None and not epsilon > 0):
        raise Unreadable("the promise is neither an epsilon nor an alpha")
    if alpha is not None and not 0 < alpha < 1:
        raise Unreadable("alpha must lie between 0 and 1")
    if step is not None and (alpha is None or not 0 < step < 1 or max(unit.numerator, unit.denominator) > 64):
        raise Unreadable("the step must be a small power of alpha")
    if step is not None and step**unit.denominator != alpha**unit.numerator:
        raise Unreadable("the step is not alpha to the unit of distance")


def check_kind(terms: Terms, what: str, first: str, kinds: tuple[str, ...], version: int) -> None:
    """The kind of a promise or claim is one that this kernel can check; in version 1 there was one of each."""
    kind = terms.setdefault("kind", first) if version == 1 else terms["kind"]
    if kind not in kinds:
        raise Unreadable(f"this kernel does not check a {what} about {named(kind)}, only about {' and '.join(kinds)}")


def interpret_event(event: Terms, n: int) -> None:
    """Check and convert a promise about events: a factor or an epsilon, a delta, and for how many pairs it is given."""
    for name in ("factor", "epsilon", "delta"):
        event[name] = None if event.get(name) is None else rational(event[name])
    factor, epsilon, delta, pairs = (event[name] for name in ("factor", "epsilon", "delta", "pairs"))
    given = epsilon if factor is None else factor
    if (factor is None) == (epsilon is None) or not given > 0 or delta is None or not 0 <= delta <= 1:
        raise Unreadable("a promise about events needs a factor or an epsilon, and a delta from 0 to 1")
    if type(pairs) is not int or not 0 < pairs <= n * (n - 1):
        raise Unreadable(f"a promise about events is given for {named(pairs)} pairs, of which there are {n * (n - 1)}")


def interpret_claims(claims: Terms, version: int) -> None:
    """Check and convert what is claimed. Units are positive: a largest sum stays the largest when it is multiplied."""
    check_kind(claims, "claim", "loss", CLAIMS, version)
    check_text(claims.setdefault("loss_name", ""), "the name of the loss")
    check_labels(claims["actions"], "actions")
    if claims.setdefault("criterion", "expected") not in CRITERIA:
        raise Unreadable("the claim is about an unknown criterion")
    for name in ("loss", "loss_unit", *(["bound", "dual_unit"] if "bound" in claims else [])):
        claims[name] = rational(claims[name])
    at_most(len(claims.setdefault("ceilings", [])), MOST_LIMITS, "limits")
    for ceiling in claims["ceilings"]:
        check_text(known(ceiling, "ceiling").setdefault("name", ""), "the name of a limit")
        ceiling["unit"], ceiling["level"] = rational(ceiling["unit"]), rational(ceiling["level"])
    units = [claims["loss_unit"], claims.get("dual_unit", 1), *(ceiling["unit"] for ceiling in claims["ceilings"])]
    if min(units) <= 0:
        raise Unreadable("a unit of losses, limits or dual numbers is not positive")


def rational(text: Any, pattern: str = r"-?\d{1,4000}(/\d{1,4000})?") -> Fraction:
    """A number in decimal digits, few enough that reading them takes no time."""
    if not isinstance(text, str) or not text.isascii() or not re.fullmatch(pattern, text):
        raise Unreadable("a number is not written as a fraction in decimal digits")
    return Fraction(text)


def unpack(header: Terms, data: memoryview) -> Sections:
    """Check the shape of every section, then decompress it to no more than that."""
    shapes = {section["name"]: (section["count"], section["width"], section["size"]) for section in header["sections"]}
    if len(shapes) < len(header["sections"]):
        raise Unreadable("a section occurs twice")
    if not all(type(number) is int and number >= 0 for shape in shapes.values() for number in shape):
        raise Unreadable("a section has no proper size")
    expected = expected_counts(header, {name: count for name, (count, _, _) in shapes.items()})
    if {name: count for name, (count, _, _) in shapes.items()} != expected:
        raise Unreadable("the sections are not those that the header calls for")
    for name, (_, width, _) in shapes.items():
        if width not in WIDTHS.get(name, ANY_WIDTH) or (
            name == "weights" and width > max(8, width_for(header["total"]))
        ):
            raise Unreadable(f"section {name!r} has numbers of {width} bytes")
    if sum(count * width for count, width, _ in shapes.values()) > LARGEST_SECTION:
        raise Unreadable("the sections are too large")
    sections: Sections = {}
    start = 0
    for name, (count, width, size) in shapes.items():
        unpacker = zlib.decompressobj()
        try:
            raw = unpacker.decompress(data[start : start + size], count * width + 1)
        except zlib.error as error:
            raise Unreadable(f"section {name!r} cannot be unpacked") from error
        if len(raw) != count * width or not unpacker.eof or unpacker.unused_data:
            raise Unreadable(f"section {name!r} has not the size it declares")
        # the bytes of highest significance come last
        if width > 8 and raw.count(0, -8 * count) == 8 * count:
            raise Unreadable(f"section {name!r} has wider numbers than it needs")
        sections[name] = unshuffle(raw, width)
        start += size
    if start != len(data):
        raise Unreadable("there are bytes that belong to no section")
    return sections


WIDTHS = dict.fromkeys(("via", "edge_first", "edge_second", "remap", "dual_from", "dual_to", "dual_action"), (4,))
WIDTHS |= dict.fromkeys(("event_upper", "event_lower", "event_dual_pair", "event_dual_action"), (4,))
WIDTHS |= {"distances": (8,), "loss": (8,), "ceilings": (8,)}
ANY_WIDTH: tuple[int, ...] = (1, 2, 4, 8, *range(16, 2049, 8))  # the longest holds 4000 digits


def width_for(number: int) -> int:
    """The least width that holds a number."""
    return next(width for width in ANY_WIDTH if number < 1 << (8 * width))


def expected_counts(header: Terms, declared: dict[str, int]) -> dict[str, int]:
    """How many numbers each section must hold; the file chooses the number of edges, priors and dual numbers, of which
    there are at most as many as can be of use.
    """
    n, m, claims = len(header["secrets"]), len(header["outputs"]), header["claims"]
    pairs = n * (n - 1) // 2
    expected = {"weights": n * m}
    if header["metric"]["source"] == "table":
        expected |= dict.fromkeys(("distances", "via"), pairs)
        if "via" not in declared:
            del expected["via"]
    else:
        pairs = at_most(declared.get("edge_first", 0), pairs, "edges")
        expected |= dict.fromkeys(("distances", "edge_first", "edge_second"), pairs)
    event_pairs = sum(event["pairs"] for event in header["events"])
    if event_pairs:
        expected |= dict.fromkeys(("event_upper", "event_lower"), event_pairs)
    if claims:
        actions, limits = len(claims["actions"]), len(claims["ceilings"])
        several = claims["criterion"] == "worst prior"
        number = max(1, declared.get("prior", 0) // n) if several else 1
        expected |= {"prior": number * n, "remap": m, "loss": actions * n}
        expected |= {"ceilings": limits * actions * n} if limits else {}
    if "bound" in claims:
        expected |= {"mixture": number} if several else {}
        expected |= {"ceiling_prices": limits * n} if limits else {}
        duals = at_most(declared.get("dual", 0), 2 * pairs * actions, "dual numbers")
        expected |= dict.fromkeys(("dual", "dual_from", "dual_to", "dual_action"), duals)
        if event_pairs:
            duals = at_most(declared.get("event_dual", 0), event_pairs * actions, "dual numbers of events")
            expected |= dict.fromkeys(("event_dual", "event_dual_pair", "event_dual_action"), duals)
    return expected


def at_most(count: int, most: int, what: str) -> int:
    """The count, if so many can be of use."""
    if count > most:
        raise Unreadable(f"the file declares {count} {what}, and {most} are the most there can be")
    return count


def unshuffle(raw: bytes, width: int) -> Any:
    """Undo the grouping of bytes by significance that makes sections compress well."""
    if width == 1:
        return raw
    count = len(raw) // width
    result, groups = bytearray(len(raw)), memoryview(raw)
    for k in range(width):
        result[k::width] = groups[k * count : (k + 1) * count]
    return result


def integers(section: Any, width: int, start: int, count: int) -> list[int]:
    """``count`` unsigned integers of ``width`` bytes, from position ``start`` on."""
    if width in (1, 2, 4, 8):
        return list(unsigned(section, width)[start : start + count])
    return list(map(reader(section, width), range(start, start + count)))


def reader(section: Any, width: int) -> Any:
    """A function from positions to unsigned integers of so many bytes."""
    if width in (1, 2, 4, 8):
        return unsigned(section, width).__getitem__
    view = memoryview(section)
    return lambda k: int.from_bytes(view[k * width : (k + 1) * width], "little")


def unsigned(section: Any, width: int) -> Words:
    """Unsigned integers of 1, 2, 4 or 8 bytes."""
    return words(section, {1: "B", 2: "H", 4: "I", 8: "Q"}[width])


def words(section: Any, kind: Any) -> Any:
    """The numbers of a section where they lie, or a copy of them on a big-endian machine: files are little-endian."""
    if sys.byteorder == "little":
        return memoryview(section).cast("B").cast(kind)
    values = array(kind, bytes(section))
    values.byteswap()
    return values


def report(header: Terms, proved: Terms, digest: str) -> list[str]:
    """What was proved, for people."""
    claims, n, unpromised = header["claims"], proved["secrets"], proved["open"]
    sizes = [f"{number} {what}{'' if number == 1 else 's'}" for number, what in (
        (n, "secret"), (proved["outputs"], "output"), (proved["pairs"], "pair"))]  # fmt: skip
    lines = [
        headline(header, proved),
        f"  {sizes[0]}, {sizes[1]}, every row sums to {shown(proved['total'])}",
        f"  {sizes[2]} checked in integers, {proved['implied']} implied by a checked chain",
    ]
    if unpromised:
        what = "no ratio is bounded between" if header["events"] else "nothing is promised about"
        lines.append(f"  {what} the secrets of {unpromised} pairs, of {n * (n - 1) // 2}")
    for event in header["events"]:
        factor = f"e^({event['epsilon']})" if event["factor"] is None else shown(event["factor"])
        lines.append(
            f"  every event is at most {factor} times as likely, plus {shown(event['delta'])}, "
            f"for {event['pairs']} ordered pairs"
        )
    if "loss" in proved:
        lines.append(f"  {CRITERIA[claims['criterion']]} with the remap in the file = {shown(proved['loss'])}")
        lines += [f"  for every secret the limit {shown(limit['level'])} is kept" for limit in claims["ceilings"]]
    if "bound" in proved:
        kept = ", keeping the limits," if claims["ceilings"] else ""
        lines.append(f"  no mechanism with this promise{kept} has less than {shown(proved['bound'])}")
    return [*lines, f"  sha256 {digest}"]


def headline(header: Terms, proved: Terms) -> str:
    """What is promised, or that nothing is."""
    if proved["secrets"] == 1:
        return "PROVED: there is one secret, and nothing to tell it from"
    if not proved["pairs"]:
        if header["events"]:
            return "PROVED private in the promises about events below"
        return "NOTHING IS PROMISED: no two secrets have a finite distance, so any table of rows is accepted"
    promise, unit = header["promise"], header["space"]["unit"]
    amount = f"epsilon = {promise['epsilon']}" if promise["alpha"] is None else f"alpha = {promise['alpha']}"
    return f"PROVED private with {amount} per {named(unit) if unit else 'unit of distance'}"


def main(arguments: list[str]) -> int:
    """Check the files named on the command line and say what was proved."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that cannot show a letter shows its number
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -I -S kernel.py mechanism.sfm [...]", file=sys.stderr)
        return 2
    worst = 0
    for path in arguments:
        try:
            header, sections, digest = read(path)
            print(f"{path}: " + "\n".join(report(header, check(header, sections), digest)))
        except Unreadable as error:
            print(f"{path}: cannot be read: {error}")
            worst = max(worst, 2)
        except Refuted as error:
            print(f"{path}: REFUTED: {error}")
            worst = 3
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
