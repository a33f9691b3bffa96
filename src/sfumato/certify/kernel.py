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
   because the numbers Z ≥ 0 in the file prove it (weak duality, see ``check_bound``);
   or, where the claim is about shares of a population: unbiased estimates from N answers have at most
   this variance (``variance``), and no mechanism has less (``variance_bound``).

Or the promise is about all points of a box: N has a row for each point of a lattice, and a point x
is rounded to it at random, with B-splines B_v(x) as probabilities. Then the kernel checks 1 and that

7. on every cell the Bernstein coefficients of value and gradient of Σ_v B_v N[v][y] satisfy
   ‖gradient‖* ≤ rate · value in the dual norm, squares compared, for a rational rate ≤ epsilon;
8. a claimed expected distance is an upper bound (``check_box_loss``), and a claimed bound holds for
   all mechanisms on the box, with whatever outputs (``LoweredLosses``).

What a file may hold is bounded by what its secrets, outputs and actions can need, and numbers are
read where they lie: the kernel takes at most 64 MB, three times the unpacked sections, and what
Python's JSON reader makes of the header (up to 30 times its bytes); for a box also up to 1 kB for
each lattice point, cell, part of a piece or offset, and cube that it has, for a bound 100 kB for each action.

Exit status: 0 all that the file says is proved, 3 refuted, 2 the file cannot be read.
"""

import bisect
import functools
import hashlib
import itertools
import json
import math
import operator
import os
import re
import stat
import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from fractions import Fraction
from typing import Any

MAGIC = b"sfumato\n"
VERSION = 3  # of the format; no other one is read
LARGEST_HEADER = 1 << 27  # bytes of JSON: labels of a million secrets fit
LARGEST_SECTION = 1 << 32  # bytes unpacked: ten thousand secrets and outputs fit
LARGEST_FILE = LARGEST_HEADER + LARGEST_SECTION + (1 << 24)  # bytes; what cannot be packed gets a little longer
PACKED = 1 << 25  # bytes of packed rows that are held at a time
REMEMBERED = 1 << 14  # factors of distances that are held at a time
MOST_LIMITS = 1000  # and as many priors; each of them is checked as the loss is
LONGEST_NAME = 80  # characters of a label in a message
LONGEST_TEXT = 200  # characters of a text that a report quotes
HIDDEN = (  # controls, marks that turn or hide a line, spaces but one, private use; no table of letters, which grow
    r"[\0-\x1f\x7f-\xa0\xad\u061c\u1680\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ud800-\uf8ff"
    r"\ufeff\ufff0-\ufffb\ufffe\uffff\U000e0000-\U0010ffff]"
)
NO_UNIT = (  # what could say something in a sentence: a unit has at most two words of letters, digits and %'*+-/^, and
    r"^ | $| .* |[^\x80-\U0010ffffA-Za-z0-9 %'*+/^-]|[\xa1-\xaf\xb8-\xbf\u2010-\u205e\u3001-\u303f\uff01-\uff65]"
    r"|^[\d'*+/^\xb1-\xb4\xb6\xb7\xd7\xf7\u2070-\u209f\u2150-\u2bff\u3190-\u32ff\U00010000-\U0001ffff-]|.{21}"
)  # begins with nothing that makes another number of the one before it
METRES = {  # in a unit of length, by its names: those of a box on the Earth
    "mm|millimet(re|er)s?": "1/1000", "cm|centimet(re|er)s?": "1/100", "m|met(re|er)s?": "1",
    "km|kilomet(re|er)s?": "1000", "in|inch|inches": "127/5000", "ft|foot|feet": "381/1250",
    "yd|yards?": "1143/1250", "mi|miles?": "201168/125", "nmi|nautical miles?": "1852",
}  # fmt: skip
EARTH_RADIUS = Fraction(63710088, 10)  # metres, of the sphere on which "on the ground" is measured
NOWHERE = 0xFFFFFFFF  # in "via": no point lies between
UNBOUNDED = 0xFFFFFFFFFFFFFFFF  # in integer distances: infinitely far, nothing is promised
LARGEST = {"rational": (1 << 61) - 1, "root": (1 << 30) - 1}  # integer distances: sums and squares fit 64 bits
FORMS = {("rational", "table"), ("rational", "edges"), ("root", "table"), ("float", "table"), ("float", "edges")}
NORMS = {"euclidean": "root", "manhattan": "rational", "chebyshev": "rational"}  # the form of distances between places
PROMISES = ("rows", "events")  # what a promise is about; others need a later kernel
COORDINATES = "coordinates"  # what promises and claims of files about a box are about
CLAIMS = ("loss", "shares")
BOX_CLAIM = "loss on a box"
MOST_AXES = 3  # of a box
MOST_PLACES = 64  # coordinates of a place
MOST_ALONG = 1 << 14  # cells and pieces of cells along an axis
MOST_POINTS = 1 << 22  # of a lattice, or cells of a box
MOST_HALVINGS = 4
AT_ONCE = 1 << 16  # Bernstein coefficients that are held at a time
MOST_PIECES = 1 << 24  # of cells, for a promise or a loss; with three axes up to eight coefficients each
MOST_LOSSES = 1 << 28  # secrets times cubes, for a bound
MOST_PARTS = 64  # of a piece, for a claimed loss
MOST_SPLITS = 1 << 18  # cubes that cover the outputs, those that are halved included
DEEPEST = 6  # halvings of a cube
MOST_LAYERS = 1000  # of uniform boxes below a prior
EFFORT = 1 << 23  # numbers of up to 64 bytes, about a microsecond each, that are computed for any file
EFFORT_OF_A_BYTE = 1 << 10  # and so many more for each byte that it has: headers and zeros are short
CRITERIA = {
    "expected": "expected loss",
    "worst secret": "largest loss of a secret",
    "worst prior": "largest expected loss",
}
MOST_ANSWERS = 32  # secrets beside a claim about shares
MOST_CORNERS = 1 << 16  # of the cone of a promise, for a bound on estimates of shares: a line of 17, 16 at one distance
POINT = 128  # binary digits of the corners
BLUR = 2  # units of the last digit by which a corner may lie above
LONGEST_GRAIN = 512  # bits of the common denominator of the frequencies of outputs, beyond which they are rounded
LONGEST_SUMS = 1 << 16  # bits of products in an elimination, and of what sums are taken over
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


# ----------------------------------------------------------------- the ground below a box


PI = (Fraction(3141592653589793238462643383279, 10**30), Fraction(3141592653589793238462643383280, 10**30))
FRAME_BITS = 96  # of cosines


def cos_bound(degrees: Fraction, bits: int, up: bool) -> Fraction:
    """A rational ≤ cos(degrees), or ≥ if ``up``, within a few units of 2^-bits; 0 ≤ degrees ≤ 90.

    The series 1 − x²/2! + x⁴/4! − … alternates, and its terms shrink from the second on, since x² < 12: a sum that ends
    with a positive term is too large, one that ends with a negative term too small. Cosines fall, so x is rounded the
    other way.
    """
    x = degrees * PI[not up] / 180
    x = Fraction(divided(x.numerator << bits, x.denominator, not up), 1 << bits)
    term = total = Fraction(1)
    k = 0
    while True:
        k += 2
        term *= -x * x / (k * (k - 1))
        total += term
        if abs(term) * 2**bits <= 1 and (term >= 0 if up else term <= 0):
            return total


def frame_extent(frame: Terms, sides: list[Fraction]) -> tuple[Fraction, Fraction, Fraction]:
    """The least |latitude| of the box, the largest of accepted places, and how many degrees of longitude these span."""
    (a, b), m, bottom = frame["degrees"], frame["margin"], frame["south"]
    top = bottom + sides[1] * b
    lowest = Fraction(0) if bottom < 0 < top else min(abs(bottom), abs(top))
    return lowest, max(abs(bottom - m * b), abs(top + m * b)), (sides[0] + 2 * m) * a


def largest_stretch(frame: Terms, sides: list[Fraction]) -> Fraction:
    """A rational k with ‖p − q‖ ≤ k·d for all accepted places p, q, at distance d on the ground.

    Along a great circle the map stretches by at most u/b, or u/(a·cos φ) at its highest latitude φ, u = 180/(π·radius).
    Between places up to a latitude with cosine c, at most Λ < 180° of longitude apart, tan φ is at most √(1 − c²)/(ck)
    with k = cos(Λ/2). So cos φ ≥ ck/√(1 − c²(1 − k²)), which is less for smaller c and k. Moving both to the nearest
    point of the box brings them no farther apart.
    """
    (a, b), (_, highest, wide) = frame["degrees"], frame_extent(frame, sides)
    c, k = cos_bound(highest, FRAME_BITS, False), cos_bound(wide / 2, FRAME_BITS, False)
    if min(c, k) <= 0:
        raise Refuted("the map of the box reaches a pole, or half around the globe")
    square = 1 - c * c * (1 - k * k)
    root = math.isqrt((square.numerator << 2 * FRAME_BITS) // square.denominator) + 1
    return Fraction(180 / (PI[0] * frame["radius"]) * max(1 / b, root / (a * c * k * 2**FRAME_BITS)))


def smallest_stretch(frame: Terms, sides: list[Fraction]) -> Fraction:
    """A rational k with ‖p − q‖ ≥ k·d for all places p, q of the box, at distance d on the ground.

    A straight line of the map is a curve on the ground that is no shorter than the great circle. The map stretches it
    by at least u/b or u/(a·cos φ), where φ is the latitude of the box that is nearest to the equator.
    """
    (a, b), (lowest, _, _) = frame["degrees"], frame_extent(frame, sides)
    return Fraction(180 / (PI[1] * frame["radius"]) / max(b, a * cos_bound(lowest, FRAME_BITS, True)))


def check_frame(header: Terms) -> None:
    """The rate on the map of a box keeps what is promised for distances on the ground."""
    box, rate = header["box"], header["promise"]["rate"]
    if box["frame"] is None:
        return
    most = epsilon_below(header["promise"]) / largest_stretch(box["frame"], box["sides"])
    if rate > most:
        said = "the rate on the map of the box is {}, and {} is what keeps the promise on the ground"
        raise Refuted(said.format(*apart(rate, most)))


def epsilon_below(promise: Terms) -> Fraction:
    """Epsilon, or a rational just below ln(1/alpha)."""
    if promise["alpha"] is None:
        return Fraction(promise["epsilon"])
    return log_bound(1 / promise["alpha"], 128 + promise["rate"].denominator.bit_length(), False)


def map_promise(header: Terms) -> Terms:
    """What every mechanism of the promise keeps on the map of a box: the promise, or a larger epsilon on the Earth."""
    promise, box = header["promise"], header["box"]
    about = {name: promise[name] for name in ("kind", "epsilon", "alpha")}
    if box["frame"] is None:
        return about
    most = promise["epsilon"] if promise["alpha"] is None else log_bound(1 / promise["alpha"], 160, True)
    rate = most / smallest_stretch(box["frame"], box["sides"])
    return about | {"alpha": None, "epsilon": Fraction(divided(rate.numerator << 96, rate.denominator, True), 1 << 96)}


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
    return a * root(value << (2 * precision), up), b << precision


def exact_factor(promise: Terms, metric: Terms, value: Any) -> tuple[int, int] | None:
    """e^(epsilon·d) as (p, q) when alpha^unit is rational and the power is small, else None."""
    step, steps = promise["step"], math.isqrt(value) if metric["form"] == "root" else int(value)
    if step is None or value != (steps * steps if metric["form"] == "root" else steps):
        return None
    small = steps * step.denominator.bit_length() <= 1 << 16
    return (step.denominator**steps, step.numerator**steps) if small else None


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


def check(header: Terms, sections: Sections) -> Terms:
    """Check everything the file claims. Returns what was proved as a dictionary; raises Refuted."""
    if "noise" in header:
        return check_noise(header, sections)
    if header["promise"]["kind"] == COORDINATES:
        return check_coordinates(header, sections)
    proved = {"secrets": len(header["secrets"]), "outputs": len(header["outputs"]), "total": header["total"]}
    check_sums(header, sections)
    proved |= check_pairs(header, sections)
    if header["events"]:
        proved["events"] = check_events(header, sections)
    return proved | check_claims(header, sections)


def check_claims(header: Terms, sections: Sections) -> Terms:
    """What is claimed beside the promise: a loss or a variance, and that no mechanism has less."""
    claims, proved = header["claims"], {}
    if claims.get("kind") == "shares":
        return check_shares(header, sections)
    if claims:
        proved["loss"] = check_loss(header, sections)
    if "bound" in claims:
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
        counted, pairs, loose, joined = {"implied": 0}, 0, 0, Joined(n)
        for x, z, value in pairs_to_check(header, sections, n, counted):
            p, q = factors(value)
            pairs += 1
            loose += p >= total * q
            joined.join(x, z)
            for upper, lower in ((x, z), (z, x)):
                if not packed.respects(upper, lower, p, q):
                    raise violation(header, row, upper, lower, p, q)
    if pairs and promise["kind"] == "events":
        raise Unreadable("the promise is about events alone, and two secrets have a distance all the same")
    found = {"pairs": pairs, **counted, "comparisons": 2 * m * pairs, "open": joined.apart(), "loose": loose}
    values, far = words(sections["distances"], "d"), math.inf
    if metric["form"] != "float":
        values, far = unsigned(sections["distances"], 8), UNBOUNDED
    ends = [end((v for v in values if v != far), default=None) for end in (min, max)]
    return found | {"span": None if ends[0] is None else span(metric, *ends)}


def span(metric: Terms, least: Any, largest: Any) -> tuple[Fraction, Fraction]:
    """The least and the largest distance of those that are listed, for people: roots are cut off."""
    if metric["form"] == "root":
        least, largest = (Fraction(root(v << 128, False), 1 << 64) for v in (least, largest))
    return Fraction(least) * metric["unit"], Fraction(largest) * metric["unit"]


def remembered(function: Callable[..., Any]) -> Callable[..., Any]:
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


def shown(number: Fraction | int, side: int = 0) -> str:
    """A number for a message: exact if short, else rounded, a bound to its side (1 is up, -1 down), else its size."""
    if number.denominator == 1 and abs(number.numerator) < 1 << 80:
        return str(number)
    try:
        value = float(number)
        while side and value and side * (Fraction(f"{value:.17g}") - number) < 0:
            value = math.nextafter(value, side * math.inf)
        if value:
            return f"{value:.17g}"
    except (OverflowError, ValueError):  # no double is so large
        pass
    return f"{'minus ' * (number < 0)}about 2^{abs(number.numerator).bit_length() - number.denominator.bit_length()}"


def brief(number: Fraction) -> str:
    """A coordinate for a message: as it is written if short."""
    return str(number) if len(str(number)) <= 12 else shown(number)


def apart(a: Fraction | int, b: Fraction | int) -> tuple[str, str]:
    """Two different numbers for a message; where digits agree, one by its difference from one that is exact in them."""
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


def repeats(first: Words, second: Words, n: int) -> bool:
    """Whether a pair of numbers occurs twice; the first ones are below n."""
    starts, order = grouped(first, n)
    groups = ([second[k] for k in order[start:stop]] for start, stop in itertools.pairwise(starts))
    return any(len(set(others)) < len(others) for others in groups)


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
    promise, metric = {**event, "alpha": None, "step": None}, {"form": "rational", "unit": Fraction(1)}
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
    priors = priors_of(header, sections)  # looked at whatever is claimed: one without weight is none
    value = unit * max(lost)
    if claims["criterion"] != "worst secret":
        value = max(unit * expectation(counts, lost) for counts in priors)
    if value != claims["loss"]:
        raise Refuted("the loss is {}, not {} as claimed".format(*apart(value, claims["loss"])))
    for table, ceiling in zip(ceiling_tables(header, sections, n), claims["ceilings"], strict=True):
        lost, unit = sums_of_secrets(header, sections, table, remap)
        if max(lost) * unit > ceiling["level"]:
            had = apart(max(lost) * unit, ceiling["level"])
            raise Refuted("a secret has {} where at most {} is claimed".format(*had))
    return Fraction(value)


def sums_of_secrets(header: Terms, sections: Sections, table: Table, remap: Words) -> tuple[list[int], Fraction]:
    """Σ_y N[x][y] / T · table(remap[y], x) for every secret x, as integers and their unit, which is positive."""
    row, columns = row_reader(header, sections), map(table.column, range(table.n))
    sums = [sum(map(operator.mul, row(x), map(column.__getitem__, remap))) for x, column in enumerate(columns)]
    return sums, table.unit / header["total"]


def expectation(counts: Words, values: Words) -> Fraction:
    """The mean of the values, each as often as counted."""
    return Fraction(sum(map(operator.mul, counts, values)), sum(counts))


def check_bound(header: Terms, sections: Sections, losses: Any = None) -> Fraction:
    """Weak duality. For a mechanism M with actions as outputs, numbers Z ≥ 0 and U ≥ 0,

        loss(M) ≥ loss(M) + Σ Z[x,z,w]·(M[x][w] − f·M[z][w]) + Σ U[x]·(Σ_w M[x][w]·t(w, x) − level)
                = Σ_x Σ_w M[x][w]·S[x][w] − Σ U[x]·level  ≥  Σ_x min_w S[x][w] − Σ U[x]·level

    because brackets are ≤ 0 and rows of M sum to 1, with S = prior[x]·loss(w, x) + Σ U[x]·t(w, x) + Σ_z Z[x,z,w]
    − Σ_z f·Z[z,x,w], any f ≥ e^(epsilon·d(x, z)), and t the tables that have levels. The largest of several
    expectations is at least any mixture of them, which is the expectation under the mixture of their priors; and the
    loss of the worst secret is at least the expectation under any prior. Promises about events add ``event_sums``.
    Losses are those of the file, or are given by what has their unit and columns, as ``Table`` does.
    """
    claims, n = header["claims"], len(header["secrets"])
    actions, dual_unit = len(claims["actions"]), claims["dual_unit"]
    loss = Table(sections["loss"], claims["loss_unit"], n) if losses is None else losses
    prior, prior_unit = mixed_prior(header, sections)
    parts: list[tuple[Any, Words, Fraction]] = [(loss, prior, prior_unit * loss.unit)]
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
    if header["metric"]["source"] == "box":
        return functools.partial(box_distances, header["metric"])
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


def box_distances(metric: Terms, x: int) -> Callable[[int], int | None]:
    """The distances of a secret of a finite problem below a box to those of its class: steps, or their squares."""
    here, join = place_of(x, metric["shape"]), max if metric["norm"] == "chebyshev" else sum
    power = 2 if metric["norm"] == "euclidean" else 1

    def distance(z: int) -> int | None:
        offsets = list(map(operator.sub, here, place_of(z, metric["shape"])))
        if any(map(operator.mod, offsets, metric["strides"])):
            return None
        return int(join(abs(o * step) ** power for o, step in zip(offsets, metric["steps"], strict=True)))

    return distance


def place_of(number: int, shape: list[int]) -> list[int]:
    """Where a number stands along the axes of a table, the last axis first."""
    found: list[int] = []
    for side in reversed(shape):
        number, place = divmod(number, side)
        found.insert(0, place)
    return found


def priors_of(header: Terms, sections: Sections) -> list[Words]:
    """The counts of each prior; there is one, unless the worst of several is claimed."""
    n, width, section = len(header["secrets"]), header["widths"]["prior"], sections["prior"]
    some = (
        functools.partial(integers, section, width) if width > 8 else lambda k, n: unsigned(section, width)[k : k + n]
    )
    counts = [some(k, n) for k in range(0, len(section) // width, n)]
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
    common = common_multiple(map(sum, priors))
    weights = [share * (common // sum(counts)) for share, counts in zip(shares, priors, strict=True)]
    mixed = [sum(map(operator.mul, weights, column)) for column in zip(*priors, strict=True)]
    return mixed, Fraction(1, common * sum(shares))


def common_multiple(numbers: Iterable[int]) -> int:
    """The least common multiple of numbers over which sums are taken: each of them becomes as long as that."""
    common = 1
    for common in itertools.accumulate(numbers, math.lcm):
        if common.bit_length() > LONGEST_SUMS:
            raise Unreadable("the sums of priors, or the units of limits, have no common multiple that is short enough")
    return common


# ----------------------------------------------------------------- claims about shares


def check_shares(header: Terms, sections: Sections) -> Terms:
    """What is claimed about estimates of shares: N times their total variance, and that no mechanism has less."""
    claims = header["claims"]
    value = variance(header, sections)
    if value > claims["loss"]:
        raise Refuted("the variance is {}, more than {} as claimed".format(*apart(value, claims["loss"])))
    if "bound" not in claims:
        return {"loss": claims["loss"]}
    bound = variance_bound(header, sections)
    if bound < claims["bound"]:
        raise Refuted("the numbers prove {}, less than the claimed {}".format(*apart(bound, claims["bound"])))
    check_corners(header, sections)
    return {"loss": claims["loss"], "bound": claims["bound"]}


def variance(header: Terms, sections: Sections) -> Fraction:
    """Estimates of A·p from N answers, p being the distribution of secrets and A the workload: the mean over people of
    v[y] = T·w[y]·Σ_x X[x]·N[x][y], where U·X = Aᵀ and U[x][z] = Σ_y w[y]·N[x][y]·N[z][y]. They are unbiased, whatever
    the w are: Σ_y N[x][y]/T·v[y] = A[·][x]. N times their total variance is Σ_y q[y]·|v[y]|² − |A·p|². That is concave
    in p, and with w = 1/q it is the least there is at the p of the bound; its tangent there is largest at one of the
    priors of a mixture. Only G = Aᵀ·A takes part: U·Z = G and U·S = Zᵀ give |v[y]|² = T²·w[y]²·N[·][y]·S·N[·][y].
    """
    claims, n, total = header["claims"], len(header["secrets"]), header["total"]
    table = list(zip(*map(row_reader(header, sections), range(n)), strict=True))  # by outputs
    counts, unit = mixed_prior(header, sections)
    shares = reciprocals([sum(map(operator.mul, counts, column)) for column in table])
    scaled = [[share * weight for weight in column] for share, column in zip(shares, table, strict=True)]
    square = [[sum(s[x] * c[z] for s, c in zip(scaled, table, strict=True)) for z in range(n)] for x in range(n)]
    if n * max(max(row) for row in square).bit_length() > LONGEST_SUMS:
        raise Unreadable("the weights and priors beside a claim about shares have too many digits")
    workload = Table(sections["workload"], claims["workload_unit"], n)
    gram = products(workload, workload, n)
    first, first_denominator = solved(square, gram)
    second, denominator = solved(square, [list(column) for column in zip(*first, strict=True)])
    spreads = [form(second, column, column) for column in scaled]
    level, values = form(gram, counts, counts) * unit**2, []
    for prior in priors_of(header, sections):
        outputs = (sum(map(operator.mul, prior, column)) for column in table)
        mean = Fraction(total * sum(map(operator.mul, outputs, spreads)), sum(prior) * denominator * first_denominator)
        values.append(mean - 2 * form(gram, prior, counts) * unit / sum(prior) + level)
    return Fraction(max(values) * workload.unit**2)


def reciprocals(numbers: list[int]) -> list[int]:
    """1/number in one unit, rounded down where the unit would be too small; 0 for 0."""
    grain = 1
    for number in filter(None, numbers):
        grain = math.lcm(grain, number)
        if grain.bit_length() > LONGEST_GRAIN:
            grain = 1 << (max(numbers).bit_length() + LONGEST_GRAIN // 4)
            break
    return [grain // number if number else 0 for number in numbers]


def products(first: Table, second: Table, n: int) -> list[list[int]]:
    """Σ over rows of two tables, for every pair of secrets, in units of both."""
    columns = [second.column(z) for z in range(n)]
    return [[sum(map(operator.mul, first.column(x), column)) for column in columns] for x in range(n)]


def form(table: list[list[int]], left: Any, right: Any) -> int:
    """left · table · right."""
    return int(sum(a * sum(map(operator.mul, row, right)) for a, row in zip(left, table, strict=True)))


def solved(square: list[list[int]], right: list[list[int]]) -> tuple[list[list[int]], int]:
    """A solution X of square·X = right as integers and their denominator: elimination in which all divisions are exact
    (Bareiss), along rows and columns. What no equation decides is 0; equations that contradict each other are refuted.
    """
    n = len(square)
    rows = [[*map(int, left), *map(int, side)] for left, side in zip(square, right, strict=True)]
    places: list[int] = []
    last = 1
    for column in range(n):
        start = len(places)
        pivot = next((i for i in range(start, n) if rows[i][column]), None)
        if pivot is None:
            continue
        rows[start], rows[pivot] = rows[pivot], rows[start]
        top, first = rows[start][column], rows[start]
        for i in range(n):
            if i != start:
                factor = rows[i][column]
                rows[i] = [(top * a - factor * b) // last for a, b in zip(rows[i], first, strict=True)]
        last = top
        places.append(column)
    if any(any(row) for row in rows[len(places) :]):
        raise Refuted("the outputs do not determine what is estimated")
    found = [[0] * len(right[0]) for _ in range(n)]
    for row, place in zip(rows, places, strict=False):
        found[place] = row[n:]
    return found, last


def variance_bound(header: Terms, sections: Sections) -> Fraction:
    """For every table B, tr(A W⁻¹ Aᵀ) ≥ 2 tr(A Bᵀ) − tr(B W Bᵀ). With columns q[y]·r[y] of a mechanism, p·r[y] = 1, the
    last term is Σ_y q[y]·|B r[y]|². If numbers m have |B r|² ≤ (m·r)(p·r) for every r that keeps the promise, it is at
    most m·1, since Σ_y q[y]·r[y] = 1. Where p·r = 1 the left side is convex in r and the right side linear, so corners
    decide: rays of the cone of the promise, of which ``corners`` leaves none out. The bound is what B and m come to.
    """
    workload, dual, prices = share_tables(header, sections)
    n = workload.n
    counts, unit = mixed_prior(header, sections)
    gained = 2 * workload.unit * dual.unit * sum(products(workload, dual, n)[x][x] for x in range(n))
    level = workload.unit**2 * form(products(workload, workload, n), counts, counts) * unit**2
    return Fraction(gained - prices.unit * sum(prices.column(x)[0] for x in range(n)) - level)


def share_tables(header: Terms, sections: Sections) -> tuple[Table, Table, Table]:
    """The workload A, the table B, and the numbers m as a table of one row."""
    n = len(header["secrets"])
    workload = Table(sections["workload"], header["claims"]["workload_unit"], n)
    dual, prices = (Table(sections[f"share_{part}"], Fraction(1), n) for part in ("dual", "prices"))
    return workload, dual, prices


def check_corners(header: Terms, sections: Sections) -> None:
    """|B r|² ≤ (m·r)(p·r) at every corner r; its entries lie up to ``BLUR`` units above those that ``rays`` gives, none
    of which exceeds 2^POINT.
    """
    _, dual, prices = share_tables(header, sections)
    counts, unit = mixed_prior(header, sections)
    gram, slopes = products(dual, dual, dual.n), [prices.column(x)[0] for x in range(dual.n)]
    scale = dual.unit**2 / (prices.unit * unit)
    blur = BLUR * ((2 << POINT) + BLUR) * sum(abs(v) for row in gram for v in row)
    below = BLUR * sum(-slope for slope in slopes if slope < 0)
    for ray in rays(header, sections, dual.n):
        left, paid = form(gram, ray, ray) + blur, sum(map(operator.mul, slopes, ray)) - below
        right = paid * sum(map(operator.mul, counts, ray))
        if paid < 0 or left * scale.numerator > right * scale.denominator:
            raise Refuted("the numbers do not prove the bound: a corner of the promise goes beyond them")


def rays(header: Terms, sections: Sections, n: int) -> Iterator[list[int]]:
    """e^(−epsilon·drop) for every corner and secret, from below, in units of 2^-POINT; the drop of the highest is 0."""
    counted = {"implied": 0}
    pairs = list(itertools.islice(pairs_to_check(header, sections, n, counted), n * n))
    ruler = Ruler(header["metric"], [value for _, _, value in pairs])
    lengths = [(x, z, ruler.length(value)) for x, z, value in pairs]
    joined = Joined(n)
    for x, z, _ in pairs:
        joined.join(x, z)
    if joined.apart():
        raise Unreadable("a bound for shares needs finite distances between all secrets")
    fading = functools.lru_cache(maxsize=None)(lambda drop: faded(header["promise"], ruler, drop))
    for heights in corners(lengths, n, ruler):
        top = ruler.highest(heights)
        yield [fading(tuple(map(operator.sub, top, height))) for height in heights]


def faded(promise: Terms, ruler: Any, drop: tuple[int, ...]) -> int:
    """e^(−epsilon·drop) from below, in units of 2^-POINT, within ``BLUR`` units."""
    least, most = ruler.bounds(drop)
    rates = [promise["epsilon"]] * 2
    if promise["alpha"] is not None:
        rates = [log_bound(1 / promise["alpha"], 2 * POINT, up) for up in (False, True)]
    exponents = [max(rates[0] * least, Fraction(0)), rates[1] * most]
    if exponents[0] > 2 * POINT:
        return 0
    (high, k), (low, j) = (
        exp_bound(e.numerator, e.denominator, 2 * POINT, up)
        for e, up in zip(exponents[::-1], (True, False), strict=True)
    )
    below, above = (Fraction(1 << POINT) / (m * Fraction(2) ** e) for m, e in ((high, k), (low, j)))
    if math.ceil(above) - math.floor(below) > BLUR:
        raise Unreadable("distances are too long for the corners of a bound for shares")
    return math.floor(below)


class Ruler:
    """Lengths as whole numbers of symbols: the unit, or the roots of square-free numbers, no sum of which is zero but
    for coefficients that all are. Where there are no values, as for one secret, there is one symbol.
    """

    def __init__(self, metric: Terms, values: list[Any]) -> None:
        self.form, self.unit, self.radicals = metric["form"], metric["unit"], [1]
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


# ----------------------------------------------------------------- promises about coordinates


Form = dict[int, Any]
"""A linear form of the lattice along an axis: its coefficients, those that are not zero, by lattice point."""


def cell_forms(breaks: list[Fraction], degree: int, j: int) -> tuple[list[Form], list[Form]]:
    """What rounding makes of the lattice on cell j of an axis, in Bernstein's basis: values, and slopes of one degree
    more than they have. The cells beyond the ends are as wide as their neighbours.
    """
    before, here, after = (breaks[k + 1] - breaks[k] for k in (max(j - 1, 0), j, min(j + 1, len(breaks) - 2)))
    if degree == 1:
        return [{j: Fraction(1)}, {j + 1: Fraction(1)}], [{j: -1 / here, j + 1: 1 / here}] * 2
    low, high = before + here, here + after
    values = [{j: here / low, j + 1: before / low}, {j + 1: Fraction(1)}, {j + 1: after / high, j + 2: here / high}]
    left, right = {j: -2 / low, j + 1: 2 / low}, {j + 1: -2 / high, j + 2: 2 / high}
    return values, [left, between(left, right, Fraction(1, 2)), right]


def between(first: Form, second: Form, share: Fraction) -> Form:
    """(1 − share) · first + share · second."""
    mixed = {v: (1 - share) * first.get(v, 0) + share * second.get(v, 0) for v in (first | second)}
    return {v: coefficient for v, coefficient in mixed.items() if coefficient}


def on_part(forms: list[Form], start: Fraction, stop: Fraction) -> list[Form]:
    """Bernstein's coefficients on a part of a cell, whose ends lie at 0 and 1: de Casteljau, once for each end."""
    result = []
    for upper in range(len(forms)):
        level = forms
        for place in [start] * (len(forms) - 1 - upper) + [stop] * upper:
            level = [between(a, b, place) for a, b in itertools.pairwise(level)]
        result.append(level[0])
    return result


def axis_forms(breaks: list[Fraction], degree: int, halvings: int) -> list[tuple[int, Form, Form]]:
    """(cell, value, slope) for all coefficients along an axis, in integers: the two forms of a coefficient have one
    denominator, which is left out, since values and gradients are compared with one another alone.
    """
    result: list[tuple[int, Form, Form]] = []
    pieces = 1 << halvings
    for j in range(len(breaks) - 1):
        forms = cell_forms(breaks, degree, j)
        for k in range(pieces):
            ends = Fraction(k, pieces), Fraction(k + 1, pieces)
            for value, slope in zip(*(on_part(of, *ends) for of in forms), strict=True):
                common = math.lcm(*(c.denominator for c in (*value.values(), *slope.values())))
                flat, steep = ({v: int(c * common) for v, c in form.items()} for form in (value, slope))
                if not result or result[-1][1:] != (flat, steep):  # neighbouring pieces share one, in degree 2
                    result.append((j, flat, steep))
    return result


def combined(form: Form, blocks: list[list[int]]) -> list[int]:
    """The form of blocks of numbers, number by number."""
    terms = [(coefficient, blocks[v]) for v, coefficient in form.items()]
    if len(terms) == 3:
        (a, first), (b, second), (c, third) = terms
        return [a * x + b * y + c * z for x, y, z in zip(first, second, third, strict=True)]
    result = [0] * len(blocks[0])
    for coefficient, block in terms:
        result = [r + coefficient * x for r, x in zip(result, block, strict=True)]
    return result


def cut(values: list[int], count: int) -> list[list[int]]:
    """So many blocks of one size."""
    size = len(values) // count
    return [values[k : k + size] for k in range(0, len(values), size)]


def turned(forms: list[Form], values: list[int], count: int) -> list[int]:
    """The forms along the first axis of a table, which has ``count`` numbers; it becomes the last axis."""
    blocks = cut(values, count)
    return list(itertools.chain.from_iterable(zip(*(combined(form, blocks) for form in forms), strict=True)))


def gradients(column: list[int], axes: list[list[tuple[int, Form, Form]]], shape: list[int]) -> Iterator[Any]:
    """Bernstein's coefficients of one output: [values, slopes along the first axis, …], block by block, each a table
    over the last two axes at most. With it come the number of the coefficient along the first of three axes, and where
    the block begins in the table of all coefficients along the others.
    """
    starts: Any = [((), [column])]
    if len(axes) == 3:
        blocks = cut(column, shape[0])
        starts = (((c,), [combined(form, blocks) for form in both]) for c, (_, *both) in enumerate(axes[0]))
    (leading, *others), counts = axes[-2:], shape[-2:]
    across = math.prod(map(len, others))
    for first, plain in starts:
        for start, some in some_at_a_time(leading, across):
            tables = plain
            for coefficients, count in zip((some, *others), counts, strict=True):
                values, slopes = ([both[k] for _, *both in coefficients] for k in (0, 1))
                steeper = turned(slopes, tables[0], count)
                tables = [turned(values, table, count) for table in tables] + [steeper]
            yield first, start, tables


def some_at_a_time(forms: list[Any], across: int) -> Iterator[tuple[int, list[Any]]]:
    """Forms of an axis in blocks that make tables of limited size, and where each block begins in the whole table."""
    step = max(1, AT_ONCE // across)
    return ((k * across, forms[k : k + step]) for k in range(0, len(forms), step))


def too_steep(metric: str, tables: list[list[int]], rate: Fraction) -> int | None:
    """Where a gradient is larger than rate times the value, in the dual norm; the first such coefficient, or None."""
    (values, *slopes), (p, q) = tables, rate.as_integer_ratio()
    if metric == "euclidean":
        squares = map(sum, zip(*(map(operator.mul, slope, slope) for slope in slopes), strict=True))
        p, q, values = p * p, q * q, list(map(operator.mul, values, values))
    else:
        dual: Any = max if metric == "manhattan" else sum
        squares = map(dual, zip(*(map(abs, slope) for slope in slopes), strict=True))
    return next((c for c, (f, g) in enumerate(zip(values, squares, strict=True)) if q * g > p * f), None)


def check_coordinates(header: Terms, sections: Sections) -> Terms:
    """Rounding makes Σ_v B_v(x)·N[v][y] / T of the rows of the lattice, B-splines B_v. On a part of a cell, value and
    gradient at x are the same mixture of Bernstein's coefficients (F, G). ‖G‖* ≤ rate·F is a convex condition: if all
    coefficients satisfy it, ‖gradient‖* ≤ rate·value holds at all points, and along any segment in the box the
    logarithm of the value changes by at most rate times its length.
    """
    check_frame(header)
    count, m, metric = len(header["secrets"]), len(header["outputs"]), header["box"]["metric"]
    check_sums(header, sections)
    axes, shape = lattice_forms(header["lattice"]), header["lattice"]["shape"]
    for y in range(m):
        for first, start, tables in gradients(column_of(header, sections, y), axes, shape):
            place = too_steep(metric, tables, header["promise"]["rate"])
            if place is not None:
                found = [table[place] for table in tables]
                raise steepness(header, axes, y, first, start + place, found)
    cells = math.prod(len(breaks) - 1 for breaks in header["lattice"]["breaks"])
    proved = {"secrets": count, "outputs": m, "total": header["total"], "pairs": 0, "implied": 0, "open": 0}
    proved |= {"cells": cells, "comparisons": m * math.prod(map(len, axes))}
    if "loss" in header["claims"]:
        proved["loss"] = check_box_loss(header, sections)
    if "bound" in header["claims"]:
        proved["bound"] = check_box_bound(header, sections)
    return proved


def lattice_forms(lattice: Terms) -> list[list[tuple[int, Form, Form]]]:
    """The coefficients along each axis."""
    return [axis_forms(breaks, lattice["degree"], lattice["halvings"]) for breaks in lattice["breaks"]]


def column_of(header: Terms, sections: Sections, y: int) -> list[int]:
    """The weights of one output at all points of the lattice."""
    m, width = len(header["outputs"]), header["widths"]["weights"]
    read = reader(sections["weights"], width)
    return [read(k) for k in range(y, len(header["secrets"]) * m, m)]


def steepness(header: Terms, axes: Any, y: int, first: tuple[int, ...], place: int, found: list[int]) -> Refuted:
    """The output and the cell in which its probability grows too fast: value and slopes of a coefficient."""
    value, *slopes = found
    numbers = place_of(place, list(map(len, axes[len(first) :])))
    cell = [coefficients[k][0] for coefficients, k in zip(axes, (*first, *numbers), strict=True)]
    origin, breaks, rate = header["box"]["origin"], header["lattice"]["breaks"], header["promise"]["rate"]
    corners = [[o + b[j + up] for o, b, j in zip(origin, breaks, cell, strict=True)] for up in (0, 1)]
    if header["box"]["metric"] == "euclidean":
        size = Fraction(math.isqrt(sum(slope * slope for slope in slopes) << 128), 1 << 64)
    else:
        size = Fraction((max if header["box"]["metric"] == "manhattan" else sum)(map(abs, slopes)))
    fast = f"at a rate of {apart(size / value, rate)[0]}" if value else "from zero"
    where = " to ".join("({})".format(", ".join(map(brief, corner))) for corner in corners)
    return Refuted(
        f"output {named(header['outputs'][y])} becomes likelier {fast} in the cell from {where}, at most "
        f"{brief(rate)} is allowed",
        [[{"fraction": str(x)} for x in corner] for corner in corners], header["outputs"][y],
        size / value if value else math.inf, rate,
    )  # fmt: skip


HATS = {  # integrals over a piece of Bernstein's polynomials times the two hat functions, as parts of its length
    1: ((Fraction(1, 3), Fraction(1, 6)), (Fraction(1, 6), Fraction(1, 3))),
    2: ((Fraction(1, 4), Fraction(1, 6), Fraction(1, 12)), (Fraction(1, 12), Fraction(1, 6), Fraction(1, 4))),
}
ROOT = 48  # binary digits after the point of a root


def axis_moments(breaks: list[Fraction], degree: int, cells: int, parts: int) -> tuple[list[Form], int, Any, list[int]]:
    """Integrals of B-splines times hat functions along an axis, on pieces between breaks and borders of cells, each cut
    into parts: two forms a part, for its lower and its upper end, in units of a cell / grain, rounded up if that is too
    coarse; the grain; where the ends lie; in which cell each part lies.
    """
    step = breaks[-1] / cells
    borders, ends = sorted({*breaks, *(k * step for k in range(cells))}), []
    exact: dict[tuple[int, int], Fraction] = {}
    places: list[int] = []
    for low, high in itertools.pairwise(borders):
        j = bisect.bisect(breaks, low) - 1
        width, values = breaks[j + 1] - breaks[j], cell_forms(breaks, degree, j)[0]
        for k in range(parts):
            start, stop = (low + (high - low) * Fraction(i, parts) for i in (k, k + 1))
            along = on_part(values, (start - breaks[j]) / width, (stop - breaks[j]) / width)
            for up, hat in enumerate(HATS[degree]):
                for share, form in zip(hat, along, strict=True):
                    for v, c in form.items():
                        where = 2 * len(places) + up, v
                        exact[where] = exact.get(where, Fraction(0)) + share * c * (stop - start) / step
            ends.append(start)
            places.append(int(low / step))
    rounded, grain = over_one_grain(exact)
    forms: list[Form] = [{} for _ in range(2 * len(places))]
    for (number, v), value in rounded.items():
        forms[number][v] = value
    return forms, grain, [*ends, breaks[-1]], places


def check_box_loss(header: Terms, sections: Sections) -> Fraction:
    """An upper bound of ∫ Σ_y M(x)(y)·‖y − x‖ π(x) dx, for a density π that is constant on cells. On a box a convex
    function lies below what is interpolated between its corners: a sum of hat functions, whose products with B-splines
    are integrated axis by axis, exactly. Only roots are rounded, and lengths with more than 1024 digits.
    """
    return claimed_loss(header, box_loss(header, sections))


def claimed_loss(header: Terms, value: Fraction) -> Fraction:
    """The loss that is claimed, which is not below what was proved."""
    claimed = Fraction(header["claims"]["loss"])
    if value > claimed:
        raise Refuted("the loss is proved to be at most {}, not {} as claimed".format(*apart(value, claimed)))
    return claimed


def box_loss(header: Terms, sections: Sections) -> Fraction:
    """The upper bound that ``check_box_loss`` compares with the claim."""
    box, shape = header["box"], header["lattice"]["shape"]
    axes, counts = loss_axes(header), box_counts(header, sections)
    lengths_of, scale = rods(header, axes)
    weigh, total = spread(axes, box["cells"], counts), 0
    for y, point in enumerate(header["points"]):
        lengths = lengths_of(point)
        around = reaches(box["metric"], lengths)
        for first, start, table in moments(column_of(header, sections, y), axes, shape):
            reach = around((first[0] + 1) // 2 if first else None)
            shares, spots = weigh(first, start, len(table))
            total += sum(map(operator.mul, map(operator.mul, table, shares), map(reach.__getitem__, spots)))
    return Fraction(total, scale * math.prod(grain for _, grain, _, _ in axes) * header["total"] * sum(counts))


def loss_axes(header: Terms) -> list[Any]:
    """``axis_moments`` of all axes."""
    lattice, cells = header["lattice"], header["box"]["cells"]
    return [
        axis_moments(breaks, lattice["degree"], count, header["claims"]["parts"])
        for breaks, count in zip(lattice["breaks"], cells, strict=True)
    ]


def box_counts(header: Terms, sections: Sections) -> list[int]:
    """The count of each cell of a box."""
    counts = integers(sections["prior"], header["widths"]["prior"], 0, math.prod(header["box"]["cells"]))
    if not any(counts):
        raise Unreadable("a prior has no weight")
    return counts


def rods(header: Terms, axes: list[Any]) -> tuple[Callable[[tuple[Fraction, ...]], list[list[int]]], int]:
    """A function from an output to its distances from the nodes along each axis, in whole parts, rounded up where these
    are too coarse; and how many of the units of ``norms`` make 1.
    """
    box = header["box"]
    nodes = [[start + end for end in ends] for start, (_, _, ends, _) in zip(box["origin"], axes, strict=True)]
    fine = functools.reduce(with_denominator, itertools.chain(*nodes, *header["points"]), 1)

    @remembered
    def along(axis: int, x: Fraction) -> list[int]:
        return [math.ceil(abs(x - node) * fine) for node in nodes[axis]]

    scale = fine << (ROOT if box["metric"] == "euclidean" else 0)
    return lambda point: list(itertools.starmap(along, enumerate(point))), scale


def moments(column: list[int], axes: Any, shape: list[int]) -> Iterator[tuple[tuple[int, ...], int, list[int]]]:
    """The forms of all axes applied to an output's weights, block by block, as in ``gradients``."""
    starts: Any = [((), column)]
    if len(axes) == 3:
        blocks = cut(column, shape[0])
        starts = (((k,), combined(form, blocks)) for k, form in enumerate(axes[0][0]))
    (leading, *others), counts = [forms for forms, *_ in axes[-2:]], shape[-2:]
    for first, plain in starts:
        for start, some in some_at_a_time(leading, math.prod(map(len, others))):
            table = plain
            for forms, count in zip((some, *others), counts, strict=True):
                table = turned(forms, table, count)
            yield first, start, table


def spread(axes: Any, cells: list[int], counts: list[int]) -> Callable[..., tuple[Iterator[int], Iterator[int]]]:
    """For a block of ``moments``: the count of the cell that each number belongs to, and its node."""
    last = [(places, len(ends), count) for (_, _, ends, places), count in zip(axes[-2:], cells[-2:], strict=True)]
    spots, inside = array("Q", [0]), array("Q", [0])
    for places, ends, count in last:
        twice = range(2 * len(places))
        spots = array("Q", (spot * ends + (k + 1) // 2 for spot in spots for k in twice))
        inside = array("Q", (cell * count + places[k // 2] for cell in inside for k in twice))

    def block(first: tuple[int, ...], start: int, size: int) -> tuple[Iterator[int], Iterator[int]]:
        skipped = (axes[0][3][first[0] // 2] if first else 0) * math.prod(cells[-2:])
        return (counts[skipped + cell] for cell in inside[start : start + size]), iter(spots[start : start + size])

    return block


def reaches(metric: str, lengths: list[list[int]]) -> Callable[[int | None], list[int]]:
    """A function from a node along the first of three axes to the ``norms`` over the others; the latest is kept."""

    @functools.lru_cache(maxsize=1)
    def around(node: int | None) -> list[int]:
        return norms(metric, [0 if node is None else lengths[0][node]], lengths[-2:])

    return around


def norms(metric: str, start: list[int], lengths: list[list[int]]) -> list[int]:
    """The norms of all offsets with these lengths along the axes; Euclidean ones in units of 2^-ROOT, rounded up."""
    if metric == "euclidean":
        squares = [a * a for a in start]
        for along in lengths:
            squares = [a + b for a in squares for b in [length * length for length in along]]
        return [root(square << (2 * ROOT), True) for square in squares]
    result, join = start, max if metric == "chebyshev" else operator.add
    for along in lengths:
        result = [join(a, b) for a in result for b in along]
    return result


def root(square: int, up: bool) -> int:
    """The root of an integer, rounded down or up."""
    found = math.isqrt(square)
    return found + (up and found * found != square)


# ----------------------------------------------------------------- a bound for all mechanisms on a box


DIGITS = 24  # binary digits of the longest distance in units of a lowered loss: compiled twins have 64 bits
RATIO = 12  # binary digits after the point of a ratio of squares


class LoweredLosses:
    """Secrets, outputs and losses of a finite problem that no mechanism on a box does better than.

    Let secrets be the lower corners of cells, each cell of the box cut into parts. Shifted by any one vector of a cell
    they are points of the box with the same masses, and a mechanism on the box is one on them; the mean of these over
    all shifts, with outputs shifted back, is a mechanism with the same loss. An output may be moved to the bounding box
    of the secrets, which brings it closer to all of them, and then be rounded at random, multilinearly, to the corners
    of a cube Q that contains it. That costs at most e_x(Q), the most by which the interpolated norm of y − x exceeds
    the norm in Q. So ‖c − x‖, less the largest e_x(Q) of the cubes Q with corner c, is a loss of corners that asks no
    more of any mechanism than what it loses. Cubes lie between neighbouring secrets and may be halved along all axes.

    Secrets whose places differ by multiples of ``strides`` are a class with a finite problem of its own: the same one,
    shifted, with other masses. A mechanism loses the sum of what it loses on the classes.
    """

    def __init__(self, box: Terms, parts: list[int], splits: Any, strides: Any = None) -> None:
        self.metric, self.fine = box["metric"], list(map(operator.mul, box["cells"], parts))
        self.strides = strides or [1] * len(parts)
        self.shape = list(map(operator.floordiv, self.fine, self.strides))
        cubes, self.depth = cubes_of(splits, self.shape)
        self.steps = [side / n for side, n in zip(box["sides"], self.shape, strict=True)]
        ends = [(n - 1) << self.depth for n in self.shape]
        self.unit, self.below, self.above = rulers([step / (1 << self.depth) for step in self.steps], ends)
        ups = list(itertools.product((0, 1), repeat=len(ends)))
        touched = [(w, low, [tuple(map(operator.add, low, (w * u for u in up))) for up in ups]) for w, low in cubes]
        self.corners = sorted({corner for _, _, around in touched for corner in around})
        numbers = {corner: k for k, corner in enumerate(self.corners)}
        self.cubes = [(width, low, [numbers[corner] for corner in around]) for width, low, around in touched]
        self.norm, self.bend = remembered(self.norm_of), remembered(self.bend_of)

    def column(self, x: int) -> list[int]:
        """What a secret loses at every corner, in units."""
        places = map(operator.floordiv, place_of(x, self.fine), self.strides)
        secret = [place << self.depth for place in places]
        lost = [self.norm(tuple(abs(c - s) for c, s in zip(corner, secret, strict=True))) for corner in self.corners]
        bent = [0] * len(lost)
        for width, low, numbers in self.cubes if self.metric != "manhattan" else []:
            # a cube lies on one side of a secret along each axis; its near end is what counts
            near = tuple(c - s if c >= s else s - c - width for c, s in zip(low, secret, strict=True))
            bend = self.bend((width, near))
            for number in numbers:
                bent[number] = max(bent[number], bend)
        return list(map(operator.sub, lost, bent))

    def norm_of(self, offset: tuple[int, ...]) -> int:
        """The norm of an offset, rounded down."""
        return self.size([ruler[k] for ruler, k in zip(self.below, offset, strict=True)], False)

    def size(self, lengths: list[int], up: bool) -> int:
        """The norm of lengths along the axes, rounded down or up."""
        if self.metric == "euclidean":
            return root(sum(length * length for length in lengths), up)
        return int(sum(lengths) if self.metric == "manhattan" else max(lengths))

    def bend_of(self, cube: tuple[int, tuple[int, ...]]) -> int:
        """e_x(Q), or more, for a cube of some width whose near ends are so far from x along the axes.

        For u in the dual ball ‖z‖ ≥ u·z, and a multilinear function less a linear one is largest at a corner; u is the
        direction of the centre, or for the maximum norm the mean of some axes. Also, interpolation along an axis of
        length g errs by at most g²/8 of the second derivative, Σ_{j≠i} z_j² / ‖z‖³ for the Euclidean norm.
        """
        width, near = cube
        low = [(ruler[k], ruler[k + width]) for ruler, k in zip(self.below, near, strict=True)]
        high = [(ruler[k], ruler[k + width]) for ruler, k in zip(self.above, near, strict=True)]
        corners = list(zip(itertools.product(*low), itertools.product(*high), strict=True))

        def tangent(u: Any, length: int) -> int:
            return max(self.size(list(c), True) - int(sum(map(operator.mul, u, z))) // length for z, c in corners)

        if self.metric == "chebyshev":
            return min(tangent(u, sum(u)) for u in itertools.product((0, 1), repeat=len(low)) if any(u))
        centre = [a + b for a, b in low]
        result = tangent(centre, max(1, self.size(centre, True)))
        nearest, sides = sum(a * a for a, _ in low), [ruler[width] for ruler in self.above]
        if nearest < max(1, sum(side * side for side in sides)):
            return result
        squares, curved = [b * b for _, b in high], 0
        for side, square in zip(sides, squares, strict=True):
            ratio = divided((sum(squares) - square) << RATIO, nearest, True)
            curved += divided(shifted(side * side * ratio, RATIO + 3, True), math.isqrt(nearest), True)
        return min(result, curved)


def cubes_of(splits: Any, shape: list[int]) -> tuple[list[tuple[int, tuple[int, ...]]], int]:
    """(width, lower corner) of every cube that is used, in units of the smallest, and how often that one is halved.

    Cubes between neighbouring secrets come in the order of their places, the last axis first; each has a 0, or a 1
    that its halves follow, depth first.
    """
    ups = list(itertools.product((0, 1), repeat=len(shape)))
    used: list[tuple[int, tuple[int, ...]]] = []
    read = iter(splits)
    for start in itertools.product(*(range(n - 1) for n in shape)):
        pending = [(0, start)]
        while pending:
            depth, low = pending.pop()
            split = next(read, 2)
            if split > 1 or depth + split > DEEPEST:
                raise Unreadable("the splits of cubes describe no covering")
            if split:
                pending += [(depth + 1, tuple(2 * c + u for c, u in zip(low, up, strict=True))) for up in reversed(ups)]
            else:
                used.append((depth, low))
    if next(read, None) is not None:
        raise Unreadable("the splits of cubes describe no covering")
    deepest = max(depth for depth, _ in used)
    widths = [1 << (deepest - depth) for depth in range(deepest + 1)]
    return [(widths[depth], tuple(c * widths[depth] for c in low)) for depth, low in used], deepest


def rulers(grid: list[Fraction], ends: list[int]) -> tuple[Fraction, list[list[int]], list[list[int]]]:
    """A unit, and the multiples of a length along each axis in it, rounded down and up; nothing is rounded where the
    sum of the longest stays below 2^DIGITS so.
    """
    denominator = math.lcm(*(length.denominator for length in grid))
    common = Fraction(math.gcd(*(int(length * denominator) for length in grid)), denominator)
    extent = sum((length * end for length, end in zip(grid, ends, strict=True)), Fraction(0))
    spare = DIGITS - int(extent / common).bit_length()
    unit = common / (1 << spare) if spare >= 0 else extent / ((1 << DIGITS) - 4)
    ratios = [(length / unit).as_integer_ratio() for length in grid]
    multiples = [[(k * p, q) for k in range(end + 1)] for (p, q), end in zip(ratios, ends, strict=True)]
    below, above = ([[divided(*both, up) for both in along] for along in multiples] for up in (False, True))
    return unit, below, above


def check_box_bound(header: Terms, sections: Sections) -> Fraction:
    """No mechanism on the box has less: the dual numbers prove it for the finite problem."""
    claims = header["claims"]
    losses = LoweredLosses(header["box"], claims["bound_parts"], sections["splits"], claims["bound_strides"])
    finite, found = finite_problem(header, sections, losses.fine, len(losses.corners))
    return check_bound(finite, found, losses)


def finite_problem(header: Terms, sections: Sections, shape: list[int], corners: int) -> tuple[Terms, Sections]:
    """The finite problem as a file of its own: its dual numbers, the counts of cells in equal parts, its distances."""
    box, claims, width = header["box"], header["claims"], header["widths"]["prior"]
    counts = memoryview(bytes(sections["prior"]))
    cells = [0]
    for n, part in zip(box["cells"], claims["bound_parts"], strict=True):
        cells = [cell * n + k for cell in cells for k in range(n) for _ in range(part)]
    steps = [side / n for side, n in zip(box["sides"], shape, strict=True)]
    denominator = math.lcm(*(step.denominator for step in steps))
    whole = [int(step * denominator) for step in steps]
    common = math.gcd(*whole)
    metric = {
        "form": NORMS[box["metric"]], "unit": Fraction(common, denominator), "source": "box", "norm": box["metric"],
        "steps": [step // common for step in whole], "shape": shape, "strides": claims["bound_strides"],
    }  # fmt: skip
    finite = {
        "secrets": range(math.prod(shape)), "outputs": range(1), "events": [], "metric": metric,
        "widths": header["widths"],
        "promise": map_promise(header) | {"step": None},
        "claims": {"actions": range(corners), "criterion": "expected", "ceilings": [], "loss_unit": Fraction(1)}
        | {name: claims[name] for name in ("bound", "dual_unit")},
    }  # fmt: skip
    split = b"".join(counts[cell * width : (cell + 1) * width] for cell in cells)
    return finite, {**sections, "prior": split, "loss": b""}


# ----------------------------------------------------------------- noise that is the same everywhere


def check_noise(header: Terms, sections: Sections) -> Terms:
    """A point is rounded to a lattice of equal steps, degree 2, and lattice point v becomes the extended output y, on
    the lattice enlarged by ``reach`` on either side, with (g(y − v) + floor) / total. Then outputs are moved into the
    box, coordinate by coordinate, which costs no privacy. g is even in each coordinate and 0 beyond the reach. So one
    column stands for all outputs: f = g + floor on cells with offsets ≥ 0, as far as f varies.
    """
    check_frame(header)
    noise, metric = header["noise"], header["box"]["metric"]
    table, reach, floor = noise_table(header, sections), noise["reach"], noise["floor"]
    mass = sum(map(operator.mul, table, mirrored([r + 1 for r in reach])))
    if mass + floor * noise["outputs"] != header["total"]:
        raise Refuted("the chances of noise do not sum to one")
    shape = [r + 4 for r in reach]  # from −1 to two beyond
    column = table
    for r in reach:
        column = turned([{abs(p): 1} if abs(p) <= r else {} for p in range(-1, r + 3)], column, r + 1)
    column = [floor + g for g in column]
    breaks = [[step * k for k in range(r + 3)] for step, r in zip(noise["steps"], reach, strict=True)]
    axes = [axis_forms(along, 2, noise["halvings"]) for along in breaks]
    for *_, tables in gradients(column, axes, shape):
        if too_steep(metric, tables, header["promise"]["rate"]) is not None:
            raise Refuted(f"noise falls faster with distance than epsilon = {shown(header['promise']['rate'])} allows")
    cells, n = math.prod(noise["cells"]), len(header["secrets"])
    proved = {"secrets": n, "outputs": n, "total": header["total"], "pairs": 0, "implied": 0, "open": 0}
    proved |= {"cells": cells, "comparisons": math.prod(map(len, axes))}
    if "loss" in header["claims"]:
        box_counts(header, sections)  # a loss is one under a prior, if it is the same for all of them
        proved["loss"] = claimed_loss(header, noise_loss(header, sections))
    if "bound" in header["claims"]:
        value, claimed = layers_bound(header, sections), header["claims"]["bound"]
        if value < claimed:
            raise Refuted("the layers prove a bound of {}, not {} as claimed".format(*apart(value, claimed)))
        proved["bound"] = claimed
    return proved


def noise_table(header: Terms, sections: Sections) -> list[int]:
    """g for offsets ≥ 0, the last axis first."""
    many = math.prod(r + 1 for r in header["noise"]["reach"])
    return integers(sections["weights"], header["widths"]["weights"], 0, many)


def mirrored(shape: list[int]) -> list[int]:
    """How many offsets each offset ≥ 0 stands for: those with other signs."""
    found = [1]
    for side in shape:
        found = [signs << (p > 0) for signs in found for p in range(side)]
    return found


def noise_loss(header: Terms, sections: Sections) -> Fraction:
    """An upper bound of the expected distance, for every density that is constant on the cells of the lattice. Where in
    a cell a point is makes its difference from the lattice point a sum of three uniform numbers: the density of that is
    a B-spline, and rounding it at random, linearly, to multiples of step / parts makes no convex loss smaller. What the
    floor draws is not farther than the box is wide, and outputs are moved into the box to nowhere farther.
    """
    box, noise, parts = header["box"], header["noise"], header["claims"]["parts"]
    table, shape, chances = noise_table(header, sections), [r + 1 for r in noise["reach"]], blur(parts)
    for axis, side in enumerate(shape):
        table = blurred(table, side, chances, parts)
        shape[axis] = (side - 1) * parts + len(chances) // 2 + 1
    lengths = [step / parts for step in noise["steps"]]
    fine = functools.reduce(with_denominator, [*lengths, *box["sides"]], 1)
    along = [[math.ceil(length * k * fine) for k in range(n)] for length, n in zip(lengths, shape, strict=True)]
    scale = fine << (ROOT if box["metric"] == "euclidean" else 0)
    reach = norms(box["metric"], [0], along)
    spent = sum(map(operator.mul, map(operator.mul, table, mirrored(shape)), reach))
    across = norms(box["metric"], [0], [[math.ceil(side * fine)] for side in box["sides"]])[0]
    value = Fraction(spent, sum(chances) ** len(shape)) + noise["floor"] * noise["outputs"] * across
    return Fraction(value / (scale * header["total"]))


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


def layers_bound(header: Terms, sections: Sections) -> Fraction:
    """A bound by layers: boxes of cells, one upon the other, that together lie below the counts of the prior. What a
    mechanism loses is at least what it loses on each of them, added up; see ``layer_value``.
    """
    box, k = header["box"], len(header["box"]["cells"])
    counts = box_counts(header, sections)
    many = len(sections["layer_ends"]) // (8 * k)
    heights = integers(sections["layer_counts"], header["widths"]["layer_counts"], 0, many)
    ends = integers(sections["layer_ends"], 4, 0, 2 * k * len(heights))
    promise = map_promise(header)
    rate = promise["epsilon"] if promise["alpha"] is None else log_bound(1 / promise["alpha"], 160, True)
    padded = [n + 1 for n in box["cells"]]
    rises, value = [0] * math.prod(padded), Fraction(0)
    for height, both in zip(heights, cut(ends, len(heights)) if heights else [], strict=True):
        low, high = both[:k], both[k:]
        if not all(a < b <= n for a, b, n in zip(low, high, box["cells"], strict=True)):
            raise Unreadable("a layer of the bound is no box of cells")
        for corner in itertools.product(*zip(low, high, strict=True)):
            number = 0
            for n, place in zip(padded, corner, strict=True):
                number = number * n + place
            rises[number] += height * (-1) ** sum(map(operator.eq, corner, high))
        sides = [(b - a) * s / n for a, b, s, n in zip(low, high, box["sides"], box["cells"], strict=True)]
        value += height * math.prod(map(operator.sub, high, low)) * layer_value(sides, rate)
    for axis in range(k):
        after = math.prod(padded[axis + 1 :])
        for number in range(len(rises)):
            if number // after % padded[axis]:
                rises[number] += rises[number - after]
    inside = itertools.product(*map(range, padded))
    used = [r for place, r in zip(inside, rises, strict=True) if all(map(operator.lt, place, box["cells"]))]
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


def interpret_noise(header: Terms) -> None:
    """Check and convert the description of noise on a box: cells of its lattice, reach, floor."""
    box, noise = header["box"], known(header["noise"], "noise")
    axes = len(box["sides"])
    for n, cells in zip(listed(noise["cells"], axes, "number of cells"), box["cells"], strict=True):
        counted(n, 1, 1 << 31, "the number of cells of the lattice")
        if n % cells:
            raise Unreadable("the cells of the lattice are no parts of the cells of the box")
    for r in listed(noise["reach"], axes, "reach"):
        counted(r, 0, MOST_ALONG >> MOST_HALVINGS, "the reach of noise")
    counted(noise["halvings"], 0, MOST_HALVINGS, "the number of halvings")
    if math.prod(r + 4 for r in noise["reach"]) << axes * noise["halvings"] > MOST_POINTS << 2:
        raise Unreadable("there are too many offsets")
    noise["floor"] = rational(noise["floor"], r"\d{1,4000}").numerator
    if noise["floor"] < 1:
        raise Unreadable("the floor of noise is positive")
    shape, noise["steps"] = [n + 2 for n in noise["cells"]], list(map(operator.truediv, box["sides"], noise["cells"]))
    noise["outputs"] = math.prod(n + 2 * r for n, r in zip(shape, noise["reach"], strict=True))
    if noise["outputs"] >= 1 << 62:
        raise Unreadable("there are more outputs than can be counted")
    header["lattice"] = {"shape": shape, "degree": 2, "halvings": noise["halvings"], "breaks": []}
    header["secrets"] = header["outputs"] = range(math.prod(shape))


def interpret_noise_claim(claims: Terms, noise: Terms) -> None:
    """Check and convert what is claimed of noise: a loss, and perhaps a bound by layers."""
    claims["loss"], parts = rational(claims["loss"]), counted(claims["parts"], 2, MOST_PARTS, "the number of parts")
    if parts % 2:
        raise Unreadable("the number of parts is even")
    at_most(math.prod((r + 1) * parts for r in noise["reach"]), MOST_PIECES, "parts of offsets")
    if "bound" in claims:
        claims["bound"] = rational(claims["bound"])


def expected_of_noise(header: Terms, declared: dict[str, int]) -> dict[str, int]:
    """What noise and claims about it call for."""
    expected, claims = {"weights": math.prod(r + 1 for r in header["noise"]["reach"])}, header["claims"]
    if claims:
        expected["prior"] = math.prod(header["box"]["cells"])
    if "bound" in claims:
        layers = expected["layer_counts"] = at_most(declared.get("layer_counts", 0), MOST_LAYERS, "layers")
        expected["layer_ends"] = 2 * len(header["box"]["cells"]) * layers
    return expected


# ----------------------------------------------------------------- the file


def read(path: Any) -> tuple[Terms, Sections, str]:
    """Read and unpack a mechanism file: (header, sections, digest). Raises Unreadable."""
    try:
        kind = os.stat(path)
        if not stat.S_ISREG(kind.st_mode) or kind.st_size > LARGEST_FILE:
            raise Unreadable("a mechanism file is a regular file, and no larger than its sections may be")
        with open(path, "rb") as file:
            data = file.read() if file.peek(8)[:8] == MAGIC else b""  # of anything else no more is held
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
    if version != VERSION:
        raise Unreadable(f"the file has version {version} of the format, this kernel reads version {VERSION}")
    digest = hashlib.sha256(view[:-32]).digest()
    if digest != view[-32:]:
        raise Unreadable("the file is damaged or truncated: its checksum does not match")
    if length > LARGEST_HEADER or 24 + length > len(data) - 32:
        raise Unreadable("the header is larger than the file or the limit")
    try:
        text = str(view[24 : 24 + length], "utf-8")
        header = interpret(json.loads(text, parse_constant=refuse, object_pairs_hook=once))
        sections = unpack(header, view[24 + length : -32], len(data))
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
    "header about coordinates": "version outputs total space box lattice promise claims provenance sections",
    "header about noise": "version total space box noise promise claims provenance sections",
    "noise": "cells reach floor halvings",
    "claim about noise": "kind loss loss_name parts bound",
    "space of coordinates": "name unit",
    "box": "sides cells metric origin frame",
    "frame": "south west degrees radius margin",
    "lattice": "degree halvings breaks",
    "promise about coordinates": "kind epsilon alpha rate",
    "claim about a box": "kind loss loss_name parts bound bound_parts bound_strides dual_unit",
    "header": "version secrets outputs total space metric promise events claims provenance sections",
    "space": "name unit coordinates ground",
    "metric": "form unit source norm",
    "promise": "kind epsilon alpha step",
    "promise about events": "factor epsilon delta pairs",
    "claim": "kind loss loss_unit loss_name actions criterion ceilings bound dual_unit",
    "claim about shares": "kind loss bound criterion workload_name workload_unit",
    "ceiling": "name unit level",
    "section": "name width count size",
}


def known(terms: Terms, what: str) -> Terms:
    """The terms, none of which this kernel would pass over."""
    unknown = terms.keys() - KEYS[what].split()
    if unknown:
        raise Unreadable(f"the {what} has {named(min(unknown))}, which this kernel does not know")
    return terms


def of_kind(terms: Terms, name: str, kind: type) -> Any:
    """A list or an object of the header, empty if it is left out: what only looks empty, such as "", says nothing."""
    value = terms.setdefault(name, kind())
    if not isinstance(value, kind):
        raise Unreadable(f"{name!r} is {named(value)}")
    return value


def interpret(header: Terms) -> Terms:
    """Turn the numbers of a parsed header into integers and rationals, and check its shape."""
    version = header["version"]
    if type(version) is not int or version != VERSION:
        raise Unreadable(f"the header has version {named(version)}, the file version {VERSION}")
    if "box" in header or header["promise"]["kind"] == COORDINATES:
        return interpret_coordinates(known(header, f"header about {'noise' if 'noise' in header else COORDINATES}"))
    known(header, "header")
    for name in ("secrets", "outputs"):
        check_labels(header[name], name)
    interpret_beginning(header, "space")
    n = len(header["secrets"])
    for event in of_kind(header, "events", list):
        interpret_event(known(event, "promise about events"), n)
    interpret_promise(known(header["promise"], "promise"), known(header["metric"], "metric"))
    if header["promise"]["kind"] == "events" and not header["events"]:
        raise Unreadable("the promise is about events, and none is listed")
    if of_kind(header, "claims", dict):
        interpret_claims(header["claims"])
    if header["claims"].get("kind") == "shares" and header["events"]:
        raise Unreadable("a claim about shares stands beside a promise about events")
    return header


def interpret_beginning(header: Terms, space: str) -> None:
    """Check and convert what all files have: total, widths of sections, name and unit of the space."""
    about = known(header.setdefault("space", {}), space)
    for name in ("unit", "name"):
        check_text(about.setdefault(name, ""), f"the {name} of the space")
    if re.search(NO_UNIT, about["unit"]):
        raise Unreadable(f"{named(about['unit'])} is no unit: these are one or two short words, first a letter")
    header["total"] = rational(header["total"], r"\d{1,4000}").numerator
    if header["total"] < 1:
        raise Unreadable("the total must be positive")
    header["widths"] = {known(section, "section")["name"]: section["width"] for section in header["sections"]}


def interpret_coordinates(header: Terms) -> Terms:
    """The same for a file about coordinates: a box, a lattice, a promise about all points, outputs that are points."""
    promise, box, lattice = header["promise"], known(header["box"], "box"), known(header.get("lattice", {}), "lattice")
    if promise["kind"] != COORDINATES:
        raise Unreadable(f"a box has a promise about {COORDINATES}, not about {named(promise['kind'])}")
    interpret_beginning(header, "space of coordinates")
    interpret_box(box, header["space"]["unit"])
    if "noise" in header:
        interpret_noise(header)
    else:
        interpret_lattice(lattice, box)
        header["secrets"] = range(math.prod(lattice["shape"]))  # rows are those of the lattice
        check_labels(header["outputs"], "outputs")
        header["points"] = [point_of(label, len(box["sides"])) for label in header["outputs"]]
        if len(set(header["points"])) < len(header["points"]):
            raise Unreadable("two outputs are one point")
    interpret_rate(known(promise, "promise about coordinates"), box["frame"])
    header["events"] = []
    if of_kind(header, "claims", dict):
        claims = known(header["claims"], f"claim about {'noise' if 'noise' in header else 'a box'}")
        check_kind(claims, "claim", (BOX_CLAIM,))
        check_text(claims.setdefault("loss_name", ""), "the name of the loss")
        if "noise" in header:
            interpret_noise_claim(claims, header["noise"])
        else:
            interpret_box_claim(claims, box, lattice)
    return header


LENGTH = r"-?\d{1,100}(/\d{1,100})?"  # digits of a coordinate: sums over a lattice stay short


def listed(values: Any, count: int, what: str) -> list[Any]:
    """A list with one entry for each axis."""
    if not isinstance(values, list) or len(values) != count:
        raise Unreadable(f"the file lists no {what} for each of {count} axes")
    return values


def counted(value: Any, least: int, most: int, what: str) -> int:
    """An integer between two others."""
    if type(value) is not int or not least <= value <= most:
        raise Unreadable(f"{what} is {named(value)}, and lies between {least} and {most}")
    return value


def interpret_box(box: Terms, unit: str) -> None:
    """Check and convert sides, cells and origin."""
    axes = len(box["sides"]) if isinstance(box["sides"], list) else 0
    if not 1 <= axes <= MOST_AXES:
        raise Unreadable(f"a box has 1 to {MOST_AXES} sides")
    box["sides"] = [rational(side, LENGTH) for side in box["sides"]]
    box["origin"] = [rational(start, LENGTH) for start in listed(box["origin"], axes, "origin")]
    for cells in listed(box["cells"], axes, "number of cells"):
        counted(cells, 1, MOST_ALONG, "the number of cells along an axis")
    if min(box["sides"]) <= 0 or math.prod(box["cells"]) > MOST_POINTS:
        raise Unreadable(f"the sides of a box are positive, and it has at most {MOST_POINTS} cells")
    if box["metric"] not in NORMS:
        raise Unreadable("the box has an unknown metric")
    if box["frame"] is not None:
        if not isinstance(box["frame"], dict):
            raise Unreadable(f"the frame of the box is {named(box['frame'])}")
        interpret_frame(known(box["frame"], "frame"), box, unit)


def interpret_frame(frame: Terms, box: Terms, unit: str) -> None:
    """Check and convert the map of a box on the Earth; what it does to distances is checked with the promise."""
    if len(box["sides"]) != 2 or any(box["origin"]) or box["metric"] != "euclidean":
        raise Unreadable("a box on the Earth has two sides, begins at 0 and is euclidean")
    for name in ("south", "west", "radius", "margin"):
        frame[name] = rational(frame[name], LENGTH)
    frame["degrees"] = [rational(scale, LENGTH) for scale in listed(frame["degrees"], 2, "degrees")]
    if min(*frame["degrees"], frame["radius"]) <= 0 or frame["margin"] < 0 or abs(frame["west"]) > 360:
        raise Unreadable("a frame has positive degrees and radius, no negative margin, and begins at a longitude")
    metres = [Fraction(size) for names, size in METRES.items() if re.fullmatch(names, unit)]
    if not metres or frame["radius"] * metres[0] != EARTH_RADIUS:
        sphere = f"a sphere of radius {shown(frame['radius'])} {named(unit)}, which is not the Earth"
        raise Unreadable(f"the box is on {sphere}: that has a radius of {float(EARTH_RADIUS)} m, in a unit of length")
    _, highest, wide = frame_extent(frame, box["sides"])
    if highest >= 90 or wide >= 180:
        raise Unreadable("a box on the Earth ends before the poles and spans less than half of the globe")


def interpret_lattice(lattice: Terms, box: Terms) -> None:
    """Check and convert the breaks of a lattice; its shape is the number of its points along each axis."""
    degree = counted(lattice["degree"], 1, 2, "the degree of the lattice")
    halvings = counted(lattice["halvings"], 0, MOST_HALVINGS, "the number of halvings")
    breaks = listed(lattice["breaks"], len(box["sides"]), "breaks")
    for along in breaks:
        if not isinstance(along, list) or not 2 <= len(along) <= 1 + (MOST_ALONG >> halvings):
            raise Unreadable(f"a lattice has 1 to {MOST_ALONG >> halvings} cells along an axis")
    lattice["breaks"] = breaks = [[rational(place, LENGTH) for place in along] for along in breaks]
    for along, side in zip(breaks, box["sides"], strict=True):
        if along[0] != 0 or along[-1] != side or any(a >= b for a, b in itertools.pairwise(along)):
            raise Unreadable("the breaks of a lattice go up from 0 to the side of the box")
    lattice["shape"] = [len(along) - 1 + degree for along in breaks]
    pieces = math.prod((len(along) - 1) << halvings for along in breaks)
    if math.prod(lattice["shape"]) > MOST_POINTS or pieces > MOST_PIECES:
        raise Unreadable(f"a lattice has at most {MOST_POINTS} points, and {MOST_PIECES} cells after halvings")


def interpret_rate(promise: Terms, frame: Terms | None) -> None:
    """Check and convert what is promised; the rate that is checked is at most epsilon, or ln(1/alpha) if flat."""
    for name in ("epsilon", "alpha"):
        promise[name] = None if promise.get(name) is None else rational(promise[name])
    rate = promise["rate"] = rational(promise["rate"])
    alpha, epsilon = promise["alpha"], promise["epsilon"]
    if (alpha is None) == (epsilon is None) or (alpha is not None and not 0 < alpha < 1):
        raise Unreadable("the promise is neither an epsilon nor an alpha between 0 and 1")
    if rate <= 0 or (frame is None and rate > epsilon_below(promise)):
        raise Unreadable(f"the rate that is checked is {shown(rate)}, and lies between 0 and what is promised")


def point_of(label: Any, axes: int) -> tuple[Fraction, ...]:
    """The point that an output is: exact coordinates, one number on an interval."""
    parts = label if isinstance(label, list) else [label]
    if len(parts) != axes or isinstance(label, list) == (axes == 1):
        raise Unreadable(f"output {named(label)} is no point with {axes} coordinates")
    values = list(map(label_value, parts))
    if any(isinstance(value, bool) or not isinstance(value, int | float | Fraction) for value in values):
        raise Unreadable(f"output {named(label)} has a coordinate that is no number")
    return tuple(map(Fraction, values))


def interpret_box_claim(claims: Terms, box: Terms, lattice: Terms) -> None:
    """Check and convert what is claimed about a box: a loss, and perhaps a bound."""
    claims["loss"], parts = rational(claims["loss"]), counted(claims["parts"], 1, MOST_PARTS, "the number of parts")
    for breaks, cells in zip(lattice["breaks"], box["cells"], strict=True):
        if (len(breaks) + cells) * parts > 2 * MOST_ALONG:
            raise Unreadable(f"there are more than {2 * MOST_ALONG} parts of pieces along an axis")
    pieces = math.prod((len(b) + n) * parts for b, n in zip(lattice["breaks"], box["cells"], strict=True))
    at_most(pieces, MOST_PIECES, "parts of pieces")
    if "bound" not in claims:
        if claims.keys() & {"bound_parts", "bound_strides", "dual_unit"}:
            raise Unreadable("the claim has parts of a bound and no bound")
        return
    claims["bound"], claims["dual_unit"] = rational(claims["bound"]), rational(claims["dual_unit"])
    if claims["dual_unit"] <= 0:
        raise Unreadable("a unit of losses, limits or dual numbers is not positive")
    axes = len(box["cells"])
    strides = listed(claims.setdefault("bound_strides", [1] * axes), axes, "strides")
    for cells, part, stride in zip(box["cells"], listed(claims["bound_parts"], axes, "parts"), strides, strict=True):
        whole = cells * counted(part, 1, MOST_ALONG, "parts of a cell")
        counted(whole, 2, MOST_ALONG, "the number of secrets along an axis")
        if whole % counted(stride, 1, whole // 2, "a stride"):
            raise Unreadable("a stride does not divide the number of secrets along its axis")


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
    """A short text without hidden characters, which a report may quote."""
    if not isinstance(text, str) or len(text) > LONGEST_TEXT or re.search(HIDDEN, text):
        raise Unreadable(f"{what} is no short text")


def interpret_promise(promise: Terms, metric: Terms) -> None:
    """Check and convert what is promised, and in which form distances are given."""
    check_kind(promise, "promise", PROMISES)
    if "norm" in metric or metric["source"] == "places":
        if metric["source"] != "places" or NORMS.get(metric["norm"]) != metric["form"]:
            raise Unreadable("the metric has a norm that does not belong to it")
    elif (metric["form"], metric["source"]) not in FORMS:
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


def check_kind(terms: Terms, what: str, kinds: tuple[str, ...]) -> None:
    """The kind of a promise or claim is one that this kernel can check."""
    if terms["kind"] not in kinds:
        only = " and ".join(kinds)
        raise Unreadable(f"this kernel does not check a {what} about {named(terms['kind'])}, only about {only}")


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


def interpret_claims(claims: Terms) -> None:
    """Check and convert what is claimed. Units are positive: a largest sum stays the largest when it is multiplied."""
    check_kind(claims, "claim", CLAIMS)
    if claims["kind"] == "shares":
        interpret_shares_claim(known(claims, "claim about shares"))
        return
    check_text(known(claims, "claim").setdefault("loss_name", ""), "the name of the loss")
    check_labels(claims["actions"], "actions")
    if claims.setdefault("criterion", "expected") not in CRITERIA:
        raise Unreadable("the claim is about an unknown criterion")
    if ("bound" in claims) != ("dual_unit" in claims):
        raise Unreadable("the claim has a bound without a unit of dual numbers, or the unit without a bound")
    for name in ("loss", "loss_unit", *(["bound", "dual_unit"] if "bound" in claims else [])):
        claims[name] = rational(claims[name])
    at_most(len(of_kind(claims, "ceilings", list)), MOST_LIMITS, "limits")
    for ceiling in claims["ceilings"]:
        check_text(known(ceiling, "ceiling").setdefault("name", ""), "the name of a limit")
        ceiling["unit"], ceiling["level"] = rational(ceiling["unit"]), rational(ceiling["level"])
    common_multiple(ceiling["unit"].denominator for ceiling in claims["ceilings"])
    units = [claims["loss_unit"], claims.get("dual_unit", 1), *(ceiling["unit"] for ceiling in claims["ceilings"])]
    if min(units) <= 0:
        raise Unreadable("a unit of losses, limits or dual numbers is not positive")


def interpret_shares_claim(claims: Terms) -> None:
    """The same for a claim about estimates of shares."""
    check_text(claims.setdefault("workload_name", ""), "the name of the workload")
    if claims.setdefault("criterion", "expected") not in ("expected", "worst prior"):
        raise Unreadable("a claim about shares is about one distribution, or about the worst of several")
    for name in ("loss", "workload_unit", *(["bound"] if "bound" in claims else [])):
        claims[name] = rational(claims[name])
    if claims["workload_unit"] <= 0:
        raise Unreadable("the unit of a workload is not positive")


def rational(text: Any, pattern: str = r"-?\d{1,4000}(/\d{1,4000})?") -> Fraction:
    """A number in decimal digits, few enough that reading them takes no time."""
    if not isinstance(text, str) or not text.isascii() or not re.fullmatch(pattern, text):
        raise Unreadable("a number is not written as a fraction in decimal digits")
    return Fraction(text)


def unpack(header: Terms, data: memoryview, size: int) -> Sections:
    """Check the shape of every section, then decompress it to no more than that; the file has ``size`` bytes."""
    shapes = {section["name"]: (section["count"], section["width"], section["size"]) for section in header["sections"]}
    if len(shapes) < len(header["sections"]):
        raise Unreadable("a section occurs twice")
    if not all(type(number) is int and number >= 0 for shape in shapes.values() for number in shape):
        raise Unreadable("a section has no proper size")
    expected = expected_counts(header, {name: count for name, (count, _, _) in shapes.items()})
    if {name: count for name, (count, _, _) in shapes.items()} != expected:
        raise Unreadable("the sections are not those that the header calls for")
    for name, (_, width, _) in shapes.items():
        most = width_for(header["total"]) if name == "weights" else math.inf
        if width not in WIDTHS.get(name, ANY_WIDTH) or width > max(8, most):
            raise Unreadable(f"section {name!r} has numbers of {width} bytes")
    unfolding = len(header["secrets"]) * len(header["outputs"]) * shapes["weights"][1] if "run_starts" in shapes else 0
    if unfolding + sum(count * width for count, width, _ in shapes.values()) > LARGEST_SECTION:
        raise Unreadable("the sections are too large")
    check_effort(header, expected, size)
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
    if "run_starts" in sections:
        sections["weights"] = unfolded(header, sections)
    if "places" in sections:
        sections["distances"] = measured(header["metric"], sections.pop("places"), len(header["secrets"]))
        header["metric"]["source"] = "table"
    return sections


def unfolded(header: Terms, sections: Sections) -> bytearray:
    """The table of weights where these are listed by the support of columns: first a floor for each column, then what
    differs from it, in runs. A run begins at secret x of column y at y·(number of secrets) + x and stays in its column.
    """
    n, m, width = len(header["secrets"]), len(header["outputs"]), header["widths"]["weights"]
    weights = sections["weights"]
    starts, lengths = (unsigned(sections.pop(f"run_{what}"), 4) for what in ("starts", "lengths"))
    table, used, run, end = bytearray(n * m * width), m * width, 0, 0
    for y in range(m):
        column = bytearray(weights[y * width : (y + 1) * width] * n)
        while run < len(starts) and starts[run] < (y + 1) * n:
            place, size = starts[run] - y * n, lengths[run] * width
            if starts[run] < end or not size or place + lengths[run] > n or used + size > len(weights):
                raise Unreadable("the runs of columns overlap, are empty, out of order or beyond the table")
            column[place * width : place * width + size] = weights[used : used + size]
            used, end, run = used + size, starts[run] + lengths[run], run + 1
        for k in range(width):
            table[y * width + k :: m * width] = column[k::width]
    if run < len(starts) or used != len(weights):
        raise Unreadable("the runs of columns do not use all weights, or go beyond the table")
    return table


def measured(metric: Terms, section: Any, n: int) -> Any:
    """The distances of all pairs of places, or their squares: as a section, row by row."""
    power, join = 2 if metric["norm"] == "euclidean" else 1, max if metric["norm"] == "chebyshev" else sum
    places, found = unsigned(section, 4), array("Q")
    axes = [places[k :: len(places) // n].tolist() for k in range(len(places) // n)]
    for x in range(n):
        apart = [[abs(other - along[x]) ** power for other in along[x + 1 :]] for along in axes]
        found.extend(min(join(lengths), 1 << 62) for lengths in zip(*apart, strict=True))  # more is too far
    if sys.byteorder == "big":
        found.byteswap()
    return memoryview(found).cast("B")


WIDTHS = dict.fromkeys(("via", "edge_first", "edge_second", "remap", "dual_from", "dual_to", "dual_action"), (4,))
WIDTHS |= dict.fromkeys(("event_upper", "event_lower", "event_dual_pair", "event_dual_action"), (4,))
WIDTHS |= dict.fromkeys(("run_starts", "run_lengths", "places"), (4,))
WIDTHS |= {"splits": (1,), "layer_ends": (4,), "distances": (8,), "loss": (8,), "ceilings": (8,)}
WIDTHS |= dict.fromkeys(("workload", "share_dual", "share_prices"), (8,))
ANY_WIDTH: tuple[int, ...] = (1, 2, 4, 8, *range(16, 2049, 8))  # the longest holds 4000 digits


def width_for(number: int) -> int:
    """The least width that holds a number."""
    return next(width for width in ANY_WIDTH if number < 1 << (8 * width))


def expected_counts(header: Terms, declared: dict[str, int]) -> dict[str, int]:
    """How many numbers each section must hold; the file chooses the number of edges, priors and dual numbers, of which
    there are at most as many as can be of use.
    """
    if "noise" in header:
        return expected_of_noise(header, declared)
    n, m, claims = len(header["secrets"]), len(header["outputs"]), header["claims"]
    pairs = n * (n - 1) // 2
    expected = {"weights": n * m}
    if "run_starts" in declared:
        expected["weights"] = at_most(max(m, declared.get("weights", 0)), m + n * m, "weights")
        expected |= dict.fromkeys(("run_starts", "run_lengths"), at_most(declared["run_starts"], n * m, "runs"))
    if header["promise"]["kind"] == COORDINATES:
        return expected | expected_of_box(header["box"], claims, declared)
    if header["metric"]["source"] in ("table", "places"):
        expected |= {"via": pairs} if "via" in declared else {}
        axes = counted(declared.get("places", n) // n, 1, MOST_PLACES, "the number of coordinates of a place")
        expected |= {"places": axes * n} if header["metric"]["source"] == "places" else {"distances": pairs}
    else:
        pairs = at_most(declared.get("edge_first", 0), pairs, "edges")
        expected |= dict.fromkeys(("distances", "edge_first", "edge_second"), pairs)
    event_pairs = sum(event["pairs"] for event in header["events"])
    if event_pairs:
        expected |= dict.fromkeys(("event_upper", "event_lower"), event_pairs)
    if claims.get("kind") == "shares":
        return expected | expected_of_shares(n, claims, declared)
    if claims:
        actions, limits = len(claims["actions"]), len(claims["ceilings"])
        several = claims["criterion"] == "worst prior"
        number = max(1, at_most(declared.get("prior", 0) // n, MOST_LIMITS, "priors")) if several else 1
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


def expected_of_shares(n: int, claims: Terms, declared: dict[str, int]) -> dict[str, int]:
    """What claims about shares call for; many secrets have more corners than are checked."""
    at_most(n, MOST_ANSWERS, "secrets beside a claim about shares")
    several = claims["criterion"] == "worst prior"
    number = max(1, at_most(declared.get("prior", 0) // n, MOST_LIMITS, "priors")) if several else 1
    rows = max(1, at_most(declared.get("workload", 0) // n, MOST_LIMITS, "rows of a workload"))
    expected = {"prior": number * n, "workload": rows * n}
    expected |= {"mixture": number} if several else {}
    return expected | ({"share_dual": rows * n, "share_prices": n} if "bound" in claims else {})


def expected_of_box(box: Terms, claims: Terms, declared: dict[str, int]) -> dict[str, int]:
    """What claims about a box call for."""
    expected = {"prior": math.prod(box["cells"])} if claims else {}
    if "bound" in claims:
        cubes = expected["splits"] = at_most(declared.get("splits", 0), MOST_SPLITS, "cubes")
        n = math.prod(box["cells"]) * math.prod(claims["bound_parts"])
        at_most(n * cubes, MOST_LOSSES, "losses of corners")
        duals = at_most(declared.get("dual", 0), n * (n - 1) * cubes << len(box["cells"]), "dual numbers")
        expected |= dict.fromkeys(("dual", "dual_from", "dual_to", "dual_action"), duals)
    return expected


def check_effort(header: Terms, counts: dict[str, int], size: int) -> None:
    """A file about a box, or about rows that have to be unfolded, asks for no more than its bytes allow."""
    asked, most = effort(header, counts), EFFORT + EFFORT_OF_A_BYTE * size
    if asked > most:
        sizes = f"{asked} numbers to be computed, and {most} are the most for its {size} bytes"
        raise Unreadable(f"the file asks for {sizes}: it has too many cells, halvings, parts, cubes, outputs or digits")


def effort(header: Terms, counts: dict[str, int]) -> int:
    """How many numbers of up to 64 bytes are computed, longer ones counted as several. For a box: coefficients of the
    promise, products of the loss, losses of corners for all secrets. For rows: those that are unfolded, and where the
    total is long comparisons of pairs, in products of its bits, and bounds of their factors, in the terms of a series.
    """
    if header["promise"]["kind"] != COORDINATES:  # what is unfolded
        n, m, bits = len(header["secrets"]), len(header["outputs"]), header["total"].bit_length()
        pairs = counts.get("distances", n * (n - 1) // 2)
        asked = n * m * header["widths"]["weights"] if "run_starts" in counts else 0
        return int(asked + pairs * (("places" in counts) + m * (bits // 128) ** 2 // 8 + 4 * (bits // 512) ** 3))
    box, claims, lattice, widths = header["box"], header["claims"], header["lattice"], header["widths"]
    cells, outputs = [len(along) - 1 for along in lattice["breaks"]], len(header["outputs"])
    pieces = [2 * (n + count) for n, count in zip(cells, box["cells"], strict=False)]
    if "noise" in header:  # one column, on offsets that are not negative
        cells, outputs = [r + 2 for r in header["noise"]["reach"]], 1
        pieces = cells
    asked = outputs * math.prod(((2 * n) << lattice["halvings"]) + 1 for n in cells)
    if claims:
        asked += outputs * math.prod(n * claims["parts"] for n in pieces) + math.prod(box["cells"])
    if "splits" in counts:
        asked += 4 * math.prod(box["cells"]) * math.prod(claims["bound_parts"]) * counts["splits"]
    rate = header["promise"]["rate"]
    digits = max(rate.numerator.bit_length(), rate.denominator.bit_length()) // 8
    return int(asked * (1 + (digits + widths["weights"] + widths.get("prior", 0)) // 64))


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
    if header["promise"]["kind"] == COORDINATES:
        return [*report_of_box(header, proved), f"  sha256 {digest}"]
    claims, n, unpromised = header["claims"], proved["secrets"], proved["open"]
    sizes = [f"{number} {what}{'' if number == 1 else 's'}" for number, what in (
        (n, "secret"), (proved["outputs"], "output"), (proved["pairs"], "pair"))]  # fmt: skip
    lines = [
        headline(header, proved),
        f"  {sizes[0]}, {sizes[1]}, every row sums to {shown(proved['total'])}",
        f"  {sizes[2]} checked in integers, {proved['implied']} implied by a checked chain",
        "  the promise is about these secrets, not about points between them",
    ]
    if proved["span"]:
        lines[1:1] = report_of_distances(header, proved)
    if unpromised:
        what = "no ratio is bounded between" if header["events"] else "nothing is promised about"
        lines.append(f"  {what} the secrets of {unpromised} pairs, of {n * (n - 1) // 2}")
    for event in header["events"]:
        factor = f"e^({event['epsilon']})" if event["factor"] is None else shown(event["factor"])
        lines.append(
            f"  every event is at most {factor} times as likely, plus {shown(event['delta'])}, "
            f"for {event['pairs']} ordered pairs"
        )
    if claims.get("kind") == "shares":
        return [*lines, *report_of_shares(claims, proved), f"  sha256 {digest}"]
    if "loss" in proved:
        lines.append(f"  {CRITERIA[claims['criterion']]} with the remap in the file = {shown(proved['loss'], 1)}")
        lines += [f"  for every secret the limit {shown(limit['level'], 1)} is kept" for limit in claims["ceilings"]]
    if "bound" in proved:
        kept = ", keeping the limits," if claims["ceilings"] else ""
        lines.append(f"  no mechanism with this promise{kept} has less than {shown(proved['bound'], -1)}")
    return [*lines, f"  sha256 {digest}"]


def report_of_distances(header: Terms, proved: Terms) -> list[str]:
    """How far apart the secrets are, and for how many pairs that is so far that nothing is left of the promise."""
    (least, largest), unit, total = proved["span"], header["space"]["unit"], shown(proved["total"])
    what = "lengths of edges" if header["metric"]["source"] == "edges" else "distances"
    ends = f"all {shown(least)}" if least == largest else "{} to {}".format(*apart(least, largest))
    lines = [f"  {what} are {ends}{f' {named(unit)}' if unit else ''}"]
    if proved["loose"]:
        which = (
            f"of {proved['pairs']} checked pairs {proved['loose']} allow a factor of {total} or more, a row's whole sum"
        )
        lines.append(f"  {which}: nothing is promised about them but zeros in the same places")
    return lines


def report_of_shares(claims: Terms, proved: Terms) -> list[str]:
    """What was proved about estimates, for people."""
    several = claims["criterion"] == "worst prior"
    where = "the worst mixture of distributions in the file" if several else "the distribution in the file"
    what = named(claims["workload_name"]) if claims["workload_name"] else "the workload"
    lines = [
        f"  unbiased estimates of {what} from N answers have at {where}",
        f"  a total variance of at most {shown(proved['loss'], 1)} / N",
    ]
    if "bound" in proved:
        lines.append(f"  no mechanism with this promise has less than {shown(proved['bound'], -1)} / N")
    return lines


def report_of_box(header: Terms, proved: Terms) -> list[str]:
    """What was proved about all points of a box, for people."""
    box, lattice, outputs = header["box"], header["lattice"], proved["outputs"]
    frame = box["frame"]
    sides = " × ".join(f"[{brief(o)}, {brief(o + s)}]" for o, s in zip(box["origin"], box["sides"], strict=True))
    rate, epsilon = header["promise"]["rate"], header["promise"]["epsilon"]
    lines = [
        f"PROVED private for all points of the box, with {amount_of(header)}",
        f"  the box is {sides}, distances are {box['metric']}",
        f"  a point is rounded at random to a lattice of {' × '.join(map(str, lattice['shape']))} points, "
        f"{outputs} output{'' if outputs == 1 else 's'}, every row sums to {shown(proved['total'])}",
        f"  {proved['comparisons']} gradients compared in integers on {proved['cells']} cells",
    ]
    if "noise" in header:
        offsets = " × ".join(str(2 * r + 1) for r in header["noise"]["reach"])
        lines[2] = (
            f"  a point is rounded at random to a lattice of {' × '.join(map(str, lattice['shape']))} points and gets "
            f"noise that is the same everywhere, {offsets} offsets, moved into the box"
        )
        lines[3] = f"  {proved['comparisons']} gradients of the one column of all outputs compared in integers"
    lines += [] if frame is None else ground_of(frame, box["sides"])
    if rate != epsilon:
        enough = "which is less" if frame is None else "on the map, which is enough"
        lines.append(f"  what was checked is epsilon = {shown(rate)}, {enough}")
    where = "" if frame is None else " on the map"
    if "loss" in proved:
        lines.append(f"  the expected distance of outputs from the points is at most {shown(proved['loss'], 1)}{where}")
    if "bound" in proved:
        least = shown(proved["bound"], -1)
        lines.append(f"  no mechanism on the box, with whatever outputs, has less than {least}{where}")
    return lines


def ground_of(frame: Terms, sides: list[Fraction]) -> list[str]:
    """Where a box lies on the Earth, and what its map does to lengths, for people."""
    south, west, margin = (f"{float(frame[name]):.9g}" for name in ("south", "west", "margin"))
    degrees = [f"{float(scale):.9g}" for scale in frame["degrees"]]
    least = math.floor(smallest_stretch(frame, sides) * 10**6) / 10**6
    most = math.ceil(largest_stretch(frame, sides) * 10**6) / 10**6
    return [
        f"  it begins at latitude {south}, longitude {west}; a unit is {degrees[1]} degrees of latitude and "
        f"{degrees[0]} of longitude: lengths are {least:g} to {most:g} times those on the ground",
        f"  places up to {margin} outside count as its nearest point, and nothing is promised about others",
    ]


def amount_of(header: Terms) -> str:
    """What is promised for each unit of distance."""
    promise, unit = header["promise"], header["space"]["unit"]
    amount = f"epsilon = {promise['epsilon']}" if promise["alpha"] is None else f"alpha = {promise['alpha']}"
    ground = header["box"]["frame"] if "box" in header else None
    radius = f" on the ground (sphere of radius {float(ground['radius']):.9g} {named(unit)})" if ground else ""
    return f"{amount} per {named(unit) if unit else 'unit of distance'}{radius}"


def headline(header: Terms, proved: Terms) -> str:
    """What is promised, or that nothing is."""
    if proved["secrets"] == 1:
        return "PROVED: there is one secret, and nothing to tell it from"
    if not proved["pairs"]:
        if header["events"]:
            return "PROVED private in the promises about events below"
        return "NOTHING IS PROMISED: no two secrets have a finite distance, so any table of rows is accepted"
    return f"PROVED private with {amount_of(header)}"


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
        name = path if path.isprintable() else ascii(path)  # no name writes a line of the report
        try:
            header, sections, digest = read(path)
            print(f"{name}: " + "\n".join(report(header, check(header, sections), digest)))
        except Unreadable as error:
            print(f"{name}: cannot be read: {error}")
            worst = max(worst, 2)
        except Refuted as error:
            print(f"{name}: REFUTED: {error}")
            worst = 3
    return worst


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
