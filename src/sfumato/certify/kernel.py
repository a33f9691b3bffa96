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
4. where promises about events are listed: P(E | x) ≤ f·P(E | z) + delta for every event E;
5. if a loss is claimed: it is the loss of the mechanism with the remap in the file (expected under
   a prior, under the worst of several priors, or of the worst secret), and the limits are kept;
6. if a bound is claimed: no mechanism of these promises, keeping the limits, has a smaller loss,
   because the numbers Z ≥ 0 in the file prove it (weak duality, see ``check_bound``).

Exit status: 0 proved, 3 refuted, 2 the file cannot be read.
"""

import functools
import hashlib
import json
import math
import operator
import re
import sys
import zlib
from array import array
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, TypeVar

MAGIC = b"sfumato\n"
VERSION = 1
LARGEST_HEADER = 1 << 27  # bytes of JSON: labels of a million secrets fit
LARGEST_SECTION = 1 << 32  # bytes unpacked: ten thousand secrets and outputs fit
NOWHERE = 0xFFFFFFFF  # in "via": no point lies between
UNBOUNDED = 0xFFFFFFFFFFFFFFFF  # in integer distances: infinitely far, nothing is promised
LARGEST = {"rational": (1 << 61) - 1, "root": (1 << 30) - 1}  # integer distances: sums and squares fit 64 bits
FORMS = {("rational", "table"), ("rational", "edges"), ("root", "table"), ("float", "table"), ("float", "edges")}
CRITERIA = {
    "expected": "expected loss",
    "worst secret": "largest loss of a secret",
    "worst prior": "largest expected loss",
}
MANTISSA = 62  # bits kept of e^x: a product with a 62-bit weight fits into 128 bits

Terms = dict[str, Any]
Sections = dict[str, bytes]
Numbers = TypeVar("Numbers", "array[int]", "array[float]")


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
    n, m, total = len(header["secrets"]), len(header["outputs"]), header["total"]
    promise, metric = header["promise"], header["metric"]
    rows = [integers(sections["weights"], header["widths"]["weights"], x * m, m) for x in range(n)]
    for x, row in enumerate(rows):
        if sum(row) != total:
            raise Refuted(f"the weights of {header['secrets'][x]!r} sum to {shown(sum(row))}, not to {shown(total)}")
    proved = {"secrets": n, "outputs": m, "total": total, "pairs": 0, "implied": 0, "comparisons": 0}
    packed = Packed(rows, total)
    known = {}
    for x, z, value in pairs_to_check(header, sections, n, proved):
        if value not in known:
            known[value] = factor_below(promise, metric, value, total)
        p, q = known[value]
        proved["pairs"] += 1
        proved["comparisons"] += 2 * m
        for upper, lower in ((x, z), (z, x)):
            if not packed.respects(upper, lower, p, q):
                raise violation(header, rows, upper, lower, p, q)
    if header["events"]:
        proved["events"] = check_events(header, sections, rows)
    if "loss" in header["claims"]:
        proved["loss"] = check_loss(header, sections, rows)
    if "bound" in header["claims"]:
        proved["bound"] = check_bound(header, sections, proved)
    return proved


class Packed:
    """Rows as long integers, one field for each output, so that a row is compared at once.

    A field has room for q·a and p·b and one guard bit above. In p·B + guards − q·A the guard
    bit of field y survives exactly if q·a ≤ p·b there; no field borrows from the next, since
    each stays between 1 and 2^width − 1.
    """

    def __init__(self, rows: list[list[int]], total: int) -> None:
        self.bytes = (total.bit_length() + max(MANTISSA, total.bit_length()) + 2) // 8 + 1
        self.rows = [self.pack(row) for row in rows]
        self.guards = self.pack([1 << (8 * self.bytes - 1)] * len(rows[0]))

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
        return f"{float(number):.17g}"
    except OverflowError:
        return f"about 2^{number.numerator.bit_length() - number.denominator.bit_length()}"


def violation(header: Terms, rows: Any, upper: int, lower: int, p: int, q: int) -> Refuted:
    """The worst output of a pair that breaks its promise."""
    broken = [y for y, (a, b) in enumerate(zip(rows[upper], rows[lower], strict=True)) if a * q > p * b]
    y = max(broken, key=lambda y: Fraction(rows[upper][y], rows[lower][y]) if rows[lower][y] else math.inf)
    pair, output = (header["secrets"][upper], header["secrets"][lower]), header["outputs"][y]
    a, b = rows[upper][y], rows[lower][y]
    return Refuted(
        f"output {output!r} has weight {shown(a)} for {pair[0]!r} and {shown(b)} for {pair[1]!r}: "
        f"{shown(Fraction(a, b)) if b else 'infinitely many'} times as much, at most {shown(Fraction(p, q))} allowed",
        pair, output, Fraction(a, b) if b else math.inf, Fraction(p, q),
    )  # fmt: skip


def pairs_to_check(header: Terms, sections: Sections, n: int, proved: Terms) -> Iterator[tuple[int, int, Any]]:
    """Yield (x, z, distance) for every pair that is not implied; check the chains of those that are."""
    form, metric_of = header["metric"]["form"], distance_reader(header, sections)
    if header["metric"]["source"] == "edges":
        for k, (x, z) in enumerate(edges_of(sections, n)):
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
            proved["implied"] += 1


def edges_of(sections: Sections, n: int) -> list[tuple[int, int]]:
    """The edges of a graph, each once."""
    edges = list(zip(unsigned(sections["edge_first"], 4), unsigned(sections["edge_second"], 4), strict=True))
    if any(x >= n or z >= n or x == z for x, z in edges):
        raise Unreadable("an edge does not join two secrets")
    if len({(min(edge), max(edge)) for edge in edges}) < len(edges):
        raise Unreadable("an edge is listed twice")
    return edges


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
        measured = little_endian(array("d", sections["distances"]))
        if any(not (v > 0 or (edges and v == 0)) for v in measured):
            raise Unreadable("a distance is not a positive number")
        return lambda k: None if measured[k] == math.inf else measured[k]
    table, least = unsigned(sections["distances"], 8), 0 if edges else 1
    if any(not least <= v <= LARGEST[form] and v != UNBOUNDED for v in table):
        raise Unreadable("a distance is zero or too large")
    return lambda k: None if table[k] == UNBOUNDED else table[k]


def events_of(header: Terms, sections: Sections, n: int) -> list[tuple[int, int, int]]:
    """Triples (x, z, k): the k-th promise about events is given for secret x as against secret z."""
    if not header["events"]:
        return []
    which = [k for k, event in enumerate(header["events"]) for _ in range(event["pairs"])]
    pairs = list(zip(*(unsigned(sections[f"event_{end}"], 4) for end in ("upper", "lower")), which, strict=True))
    if any(x >= n or z >= n or x == z for x, z, _ in pairs):
        raise Unreadable("a promise about events does not join two secrets")
    return pairs


def event_factor(event: Terms, cap: int | None = None) -> Fraction:
    """The factor f of a promise about events: as given, or e^epsilon from below up to a cap, or from above."""
    if event["factor"] is not None:
        return Fraction(event["factor"])
    promise, metric = (
        {"epsilon": event["epsilon"], "alpha": None, "step": None},
        {"form": "rational", "unit": Fraction(1)},
    )
    return factor_above(promise, metric, 1) if cap is None else Fraction(*factor_below(promise, metric, 1, cap))


def check_events(header: Terms, sections: Sections, rows: list[list[int]]) -> int:
    """P(E | x) − f·P(E | z) is largest for the event of all outputs where N[x][y] > f·N[z][y], and is the sum of
    these differences: at most delta there is at most delta everywhere. Returns the number of pairs.
    """
    events, total = header["events"], header["total"]
    factors = [event_factor(event, total) for event in events]
    pairs = events_of(header, sections, len(rows))
    for x, z, k in pairs:
        p, q = factors[k].numerator, factors[k].denominator
        excess = Fraction(sum(max(0, q * a - p * b) for a, b in zip(rows[x], rows[z], strict=True)), q * total)
        if excess > events[k]["delta"]:
            raise Refuted(
                f"an event exceeds {shown(factors[k])} times its probability for {header['secrets'][z]!r} by "
                f"{shown(excess)} for {header['secrets'][x]!r}, at most {shown(events[k]['delta'])} allowed"
            )
    return len(pairs)


def check_loss(header: Terms, sections: Sections, rows: list[list[int]]) -> Fraction:
    """What each secret loses is Σ_y N[x][y] / T · loss(remap[y], x). Compared with the claim is its expectation
    under the prior, or the largest expectation under several priors, or the loss of the worst secret.
    The same sums of other tables must not exceed their levels, for any secret.
    """
    claims, total, n = header["claims"], header["total"], len(rows)
    loss, unit = table_of(sections["loss"], claims["loss_unit"], n)
    remap = unsigned(sections["remap"], 4)
    if max(remap) >= len(loss):
        raise Unreadable("the remap names an action that is not there")
    spent = [unit * lost / total for lost in of_secrets(rows, [loss[w] for w in remap])]
    value = max(spent)
    if claims["criterion"] != "worst secret":
        value = max(sum(p * v for p, v in zip(prior, spent, strict=True)) for prior in priors_of(header, sections))
    if value != claims["loss"]:
        raise Refuted(f"the loss is {shown(value)}, not {shown(claims['loss'])} as claimed")
    for (table, unit), ceiling in zip(ceilings_of(header, sections, n), claims["ceilings"], strict=True):
        highest = max(of_secrets(rows, [table[w] for w in remap])) * unit / total
        if highest > ceiling["level"]:
            raise Refuted(f"a secret has {shown(highest)} where at most {shown(ceiling['level'])} is claimed")
    return Fraction(value)


def of_secrets(rows: list[list[int]], lines: list[list[int]]) -> list[int]:
    """Σ_y N[x][y] · lines[y][x] for every secret x."""
    columns = zip(*lines, strict=True)
    return [sum(map(operator.mul, row, column)) for row, column in zip(rows, columns, strict=True)]


def check_bound(header: Terms, sections: Sections, proved: Terms, summed: Any = None) -> Fraction:
    """Weak duality. For a mechanism M with actions as outputs, numbers Z ≥ 0 and U ≥ 0,

        loss(M) ≥ loss(M) + Σ Z[x,z,w]·(M[x][w] − f·M[z][w]) + Σ U[x]·(Σ_w M[x][w]·t(w, x) − level)
                = Σ_x Σ_w M[x][w]·S[x][w] − Σ U[x]·level  ≥  Σ_x min_w S[x][w] − Σ U[x]·level

    because brackets are ≤ 0 and rows of M sum to 1, with S = prior[x]·loss(w, x) + Σ U[x]·t(w, x) + Σ_z Z[x,z,w]
    − Σ_z f·Z[z,x,w], any f ≥ e^(epsilon·d(x, z)), and t the tables that have levels. The largest of several
    expectations is at least any mixture of them, which is the expectation under the mixture of their priors; and the
    loss of the worst secret is at least the expectation under any prior. Promises about events add ``event_sums``.
    """
    claims, n = header["claims"], proved["secrets"]
    loss, loss_unit = table_of(sections["loss"], claims["loss_unit"], n)
    prior, prior_unit = over_one_denominator(mixed_prior(header, sections))
    sums, grain = (summed or dual_sums)(header, sections, n, len(loss))
    events, event_grain, paid = event_sums(header, sections, n, len(loss))
    parts = [(prior_unit * loss_unit, prior, loss)]
    for j, (table, unit) in enumerate(ceilings_of(header, sections, n)):
        prices = integers(sections["ceiling_prices"], header["widths"]["ceiling_prices"], j * n, n)
        parts.append((unit * claims["dual_unit"], prices, table))
        paid += sum(prices) * claims["dual_unit"] * claims["ceilings"][j]["level"]
    # S is summed in integers, in units of 1 / common
    units = [unit for unit, _, _ in parts] + [claims["dual_unit"] / grain, claims["dual_unit"] / event_grain]
    common = math.lcm(*(unit.denominator for unit in units))
    factors = [unit.numerator * (common // unit.denominator) for unit in units]
    total = 0
    for x in range(n):
        reduced = [factors[-2] * s + factors[-1] * e for s, e in zip(sums[x], events[x], strict=True)]
        for factor, (_, weights, table) in zip(factors, parts, strict=False):
            weight = factor * weights[x]
            reduced = [r + weight * line[x] for r, line in zip(reduced, table, strict=True)]
        total += min(reduced)
    bound, claimed = Fraction(total, common) - paid, claims["bound"]
    if bound < claimed:
        raise Refuted(f"the dual numbers prove {shown(bound)}, less than the claimed {shown(claimed)}")
    return Fraction(claimed)


def dual_sums(header: Terms, sections: Sections, n: int, actions: int) -> tuple[list[list[int]], int]:
    """Σ_z Z[x,z,w] − Σ_z f·Z[z,x,w] for every secret and action, in units of dual_unit / grain; and the grain."""
    places = [unsigned(sections[f"dual_{part}"], 4) for part in ("from", "to", "action")]
    values = integers(sections["dual"], header["widths"]["dual"], 0, len(places[0]))
    pairs = set(zip(*places[:2], strict=True))
    if any(max(x, z) >= n or x == z for x, z in pairs) or max(places[2], default=0) >= actions:
        raise Unreadable("a dual number belongs to no constraint")
    distance = pair_distances(header, sections, n)
    used = {(x, z): distance(min(x, z), max(x, z)) for x, z in pairs}
    if None in used.values():
        raise Refuted("a dual number uses two secrets between which nothing is promised")
    factors = {d: factor_above(header["promise"], header["metric"], d) for d in set(used.values())}
    rounded, grain = over_one_grain(factors)
    above = {pair: rounded[d] for pair, d in used.items()}
    gained, spent = [[0] * actions for _ in range(n)], [[0] * actions for _ in range(n)]
    for x, z, w, weight in zip(*places, values, strict=True):
        gained[x][w] += weight
        spent[z][w] += weight * above[x, z]
    return [[g * grain - s for g, s in zip(*rows, strict=True)] for rows in zip(gained, spent, strict=True)], grain


def event_sums(header: Terms, sections: Sections, n: int, actions: int) -> tuple[list[list[int]], int, Fraction]:
    """Numbers Z ≥ 0 on promises about events, summed as in ``dual_sums``, the grain, and what their use costs.

    With t = max_w Z[w], Σ_w Z[w]·(M[x][w] − f·M[z][w]) ≤ t·Σ_w max(0, M[x][w] − f·M[z][w]) ≤ t·delta.
    """
    sums = [[0] * actions for _ in range(n)]
    if not header["events"]:
        return sums, 1, Fraction(0)
    pairs, deltas = events_of(header, sections, n), [event["delta"] for event in header["events"]]
    rounded, grain = over_one_grain({k: event_factor(event) for k, event in enumerate(header["events"])})
    places = [unsigned(sections[f"event_dual_{part}"], 4) for part in ("pair", "action")]
    if max(places[0], default=0) >= len(pairs) or max(places[1], default=0) >= actions:
        raise Unreadable("a dual number belongs to no promise about events")
    numbers: dict[tuple[int, int], int] = {}
    for j, w, value in zip(
        *places, integers(sections["event_dual"], header["widths"]["event_dual"], 0, len(places[0])), strict=True
    ):
        numbers[j, w] = numbers.get((j, w), 0) + value
    highest = [0] * len(pairs)
    for (j, w), value in numbers.items():
        x, z, k = pairs[j]
        sums[x][w] += value * grain
        sums[z][w] -= value * rounded[k]
        highest[j] = max(highest[j], value)
    paid = sum((t * deltas[k] for t, (_, _, k) in zip(highest, pairs, strict=True)), Fraction(0))
    return sums, grain, paid * header["claims"]["dual_unit"]


def over_one_grain(factors: dict[Any, Fraction]) -> tuple[dict[Any, int], int]:
    """Factors as integers over one denominator, rounded up where that would have more than 1024 bits."""
    grain = min(math.lcm(*(f.denominator for f in factors.values())), 1 << 1024)
    return {d: math.ceil(f * grain) for d, f in factors.items()}, grain


def pair_distances(header: Terms, sections: Sections, n: int) -> Callable[[int, int], Any]:
    """A function from pairs x < z to distances; of a graph only its edges have one."""
    read = distance_reader(header, sections)
    if header["metric"]["source"] == "table":
        return lambda x, z: read(position(x, z, n))
    where = {(min(x, z), max(x, z)): k for k, (x, z) in enumerate(edges_of(sections, n))}
    return lambda x, z: read(where[x, z]) if (x, z) in where else None


def priors_of(header: Terms, sections: Sections) -> list[list[Fraction]]:
    """The priors of the file as rationals that sum to 1; one, unless the worst of several is claimed."""
    n, width = len(header["secrets"]), header["widths"]["prior"]
    counts = [integers(sections["prior"], width, k, n) for k in range(0, len(sections["prior"]) // width, n)]
    if not all(map(sum, counts)):
        raise Unreadable("a prior has no weight")
    return [[Fraction(count, sum(row)) for count in row] for row in counts]


def mixed_prior(header: Terms, sections: Sections) -> list[Fraction]:
    """The prior under which the bound is proved: the only one, or the mixture that the file names."""
    priors, shares = priors_of(header, sections), [1]
    if header["claims"]["criterion"] == "worst prior":
        shares = integers(sections["mixture"], header["widths"]["mixture"], 0, len(priors))
        if not sum(shares):
            raise Unreadable("the mixture of priors has no weight")
    return [sum(map(operator.mul, shares, column), Fraction(0)) / sum(shares) for column in zip(*priors, strict=True)]


@functools.lru_cache(maxsize=4)
def table_of(section: bytes, unit: Fraction, n: int) -> tuple[list[list[int]], Fraction]:
    """A table of doubles times a unit, one row an action, as integers times another unit."""
    ratios = [value.as_integer_ratio() for value in doubles(section)]
    common = max(q for _, q in ratios)  # all are powers of two
    values = [p * (common // q) for p, q in ratios]
    return [values[i : i + n] for i in range(0, len(values), n)], unit / common


def ceilings_of(header: Terms, sections: Sections, n: int) -> list[tuple[list[list[int]], Fraction]]:
    """The tables whose sums must not exceed a level."""
    each = len(sections["loss"])
    return [
        table_of(sections["ceilings"][j * each : (j + 1) * each], ceiling["unit"], n)
        for j, ceiling in enumerate(header["claims"]["ceilings"])
    ]


def doubles(section: bytes) -> "array[float]":
    """Finite doubles."""
    values = little_endian(array("d", section))
    if not all(map(math.isfinite, values)):
        raise Unreadable("a loss is not finite")
    return values


def over_one_denominator(values: list[Fraction]) -> tuple[list[int], Fraction]:
    """Integers and a unit whose products are the values."""
    common = math.lcm(*(value.denominator for value in values))
    return [value.numerator * (common // value.denominator) for value in values], Fraction(1, common)


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
    """Unpack the bytes of a mechanism file: magic, header, sections, SHA-256 of all before it."""
    if data[:8] != MAGIC:
        raise Unreadable("this is no sfumato mechanism file")
    if len(data) < 56:
        raise Unreadable("the file is truncated")
    version, length = int.from_bytes(data[8:16], "little"), int.from_bytes(data[16:24], "little")
    if version != VERSION:
        raise Unreadable(f"the file has version {version}, this kernel reads version {VERSION}")
    digest = hashlib.sha256(data[:-32]).digest()
    if digest != data[-32:]:
        raise Unreadable("the file is damaged or truncated: its checksum does not match")
    if length > LARGEST_HEADER or 24 + length > len(data) - 32:
        raise Unreadable("the header is larger than the file or the limit")
    try:
        header = interpret(json.loads(data[24 : 24 + length].decode(), parse_constant=refuse))
        sections = unpack(header, data[24 + length : -32])
    except Unreadable:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ZeroDivisionError) as error:
        raise Unreadable(f"the header cannot be understood: {error!r:.200}") from error
    return header, sections, digest.hex()


def refuse(constant: str) -> None:
    """JSON may not contain NaN or infinities."""
    raise Unreadable(f"the header contains {constant}")


def interpret(header: Terms) -> Terms:
    """Turn the numbers of a parsed header into integers and rationals, and check its shape."""
    for name in ("secrets", "outputs"):
        if not isinstance(header[name], list) or not header[name]:
            raise Unreadable(f"the header lists no {name}")
    about = header.setdefault("space", {})
    for name in ("unit", "name"):
        text = about.setdefault(name, "")
        if not isinstance(text, str) or not text.isprintable() or len(text) > 200:
            raise Unreadable(f"the {name} of the space is no short text")
    header["total"] = rational(header["total"], r"\d{1,4000}").numerator
    for event in header.setdefault("events", []):
        interpret_event(event)
    interpret_promise(header["promise"], header["metric"])
    if header["total"] < 1:
        raise Unreadable("the total must be positive")
    claims = header.setdefault("claims", {})
    for name in ("loss", "loss_unit", *(["bound", "dual_unit"] if "bound" in claims else [])) if claims else ():
        claims[name] = rational(claims[name])
    if claims and claims.setdefault("criterion", "expected") not in CRITERIA:
        raise Unreadable("the claim is about an unknown criterion")
    for ceiling in claims.setdefault("ceilings", []) if claims else ():
        ceiling["unit"], ceiling["level"] = rational(ceiling["unit"]), rational(ceiling["level"])
    if "bound" in claims and claims["dual_unit"] <= 0:
        raise Unreadable("the unit of the dual numbers is not positive")
    header["widths"] = {section["name"]: section["width"] for section in header["sections"]}
    return header


def interpret_promise(promise: Terms, metric: Terms) -> None:
    """Check and convert what is promised, and in which form distances are given."""
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


def interpret_event(event: Terms) -> None:
    """Check and convert a promise about events: a factor or an epsilon, a delta, and for how many pairs it is given."""
    for name in ("factor", "epsilon", "delta"):
        event[name] = None if event.get(name) is None else rational(event[name])
    factor, epsilon, delta, pairs = (event[name] for name in ("factor", "epsilon", "delta", "pairs"))
    given = epsilon if factor is None else factor
    if (factor is None) == (epsilon is None) or not given > 0 or delta is None or not 0 <= delta <= 1:
        raise Unreadable("a promise about events needs a factor or an epsilon, and a delta from 0 to 1")
    if type(pairs) is not int or not 0 < pairs < 1 << 32:
        raise Unreadable("a promise about events is given for no pair")


def rational(text: Any, pattern: str = r"-?\d{1,4000}(/\d{1,4000})?") -> Fraction:
    """A number in decimal digits, few enough that reading them takes no time."""
    if not isinstance(text, str) or not re.fullmatch(pattern, text):
        raise Unreadable("a number is not written as a fraction in decimal digits")
    return Fraction(text)


def unpack(header: Terms, data: bytes) -> Sections:
    """Check the shape of every section, then decompress it to no more than that."""
    shapes = {section["name"]: (section["count"], section["width"], section["size"]) for section in header["sections"]}
    if len(shapes) < len(header["sections"]):
        raise Unreadable("a section occurs twice")
    if not all(type(number) is int and number >= 0 for shape in shapes.values() for number in shape):
        raise Unreadable("a section has no proper size")
    expected = expected_counts(header, {name: count for name, (count, _, _) in shapes.items()})
    if {name: count for name, (count, _, _) in shapes.items()} != expected:
        raise Unreadable("the sections are not those that the header calls for")
    if sum(count * width for count, width, _ in shapes.values()) > LARGEST_SECTION:
        raise Unreadable("the sections are too large")
    sections: Sections = {}
    start = 0
    for name, (count, width, size) in shapes.items():
        if width not in WIDTHS.get(name, (1, 2, 4, 8, *range(16, 4097, 8))):
            raise Unreadable(f"section {name!r} has numbers of {width} bytes")
        unpacker = zlib.decompressobj()
        try:
            raw = unpacker.decompress(data[start : start + size], count * width + 1)
        except zlib.error as error:
            raise Unreadable(f"section {name!r} cannot be unpacked") from error
        if len(raw) != count * width or not unpacker.eof or unpacker.unused_data:
            raise Unreadable(f"section {name!r} has not the size it declares")
        sections[name] = unshuffle(raw, width)
        start += size
    if start != len(data):
        raise Unreadable("there are bytes that belong to no section")
    return sections


WIDTHS = dict.fromkeys(("via", "edge_first", "edge_second", "remap", "dual_from", "dual_to", "dual_action"), (4,))
WIDTHS |= dict.fromkeys(("event_upper", "event_lower", "event_dual_pair", "event_dual_action"), (4,))
WIDTHS |= {"distances": (8,), "loss": (8,), "ceilings": (8,)}


def expected_counts(header: Terms, declared: dict[str, int]) -> dict[str, int]:
    """How many numbers each section must hold; the file chooses the number of edges, actions and duals."""
    n, m = len(header["secrets"]), len(header["outputs"])
    expected = {"weights": n * m}
    if header["metric"]["source"] == "table":
        expected |= dict.fromkeys(("distances", "via"), n * (n - 1) // 2)
        if "via" not in declared:
            del expected["via"]
    else:
        expected |= dict.fromkeys(("distances", "edge_first", "edge_second"), declared.get("edge_first", 0))
    if header["events"]:
        expected |= dict.fromkeys(("event_upper", "event_lower"), sum(event["pairs"] for event in header["events"]))
    if header["claims"]:
        actions = max(1, declared.get("loss", 0) // n)
        several = header["claims"]["criterion"] == "worst prior"
        number = max(1, declared.get("prior", 0) // n) if several else 1
        expected |= {"prior": number * n, "remap": m, "loss": actions * n}
        if header["claims"]["ceilings"]:
            expected["ceilings"] = len(header["claims"]["ceilings"]) * actions * n
    if "bound" in header["claims"]:
        expected |= {"mixture": number} if several else {}
        expected |= {"ceiling_prices": len(header["claims"]["ceilings"]) * n} if header["claims"]["ceilings"] else {}
        parts: tuple[str, ...] = ("dual", "dual_from", "dual_to", "dual_action")
        expected |= dict.fromkeys(parts, declared.get("dual", 0))
        if header["events"]:
            parts = ("event_dual", "event_dual_pair", "event_dual_action")
            expected |= dict.fromkeys(parts, declared.get("event_dual", 0))
    return expected


def unshuffle(raw: bytes, width: int) -> bytes:
    """Undo the grouping of bytes by significance that makes sections compress well."""
    if width == 1:
        return raw
    count = len(raw) // width
    result = bytearray(len(raw))
    for k in range(width):
        result[k::width] = raw[k * count : (k + 1) * count]
    return bytes(result)


def integers(section: bytes, width: int, start: int, count: int) -> list[int]:
    """``count`` unsigned integers of ``width`` bytes, from position ``start`` on."""
    if width in (1, 2, 4, 8):
        return unsigned(section[start * width : (start + count) * width], width).tolist()
    return [int.from_bytes(section[i * width : (i + 1) * width], "little") for i in range(start, start + count)]


def unsigned(section: bytes, width: int) -> "array[int]":
    """Unsigned integers of 1, 2, 4 or 8 bytes."""
    return little_endian(array({1: "B", 2: "H", 4: "I", 8: "Q"}[width], section))


def little_endian(values: Numbers) -> Numbers:
    """Files are little-endian; most machines are too."""
    if sys.byteorder == "big":
        values.byteswap()
    return values


def report(header: Terms, proved: Terms, digest: str) -> list[str]:
    """What was proved, for people."""
    promise = header["promise"]
    said = f"epsilon = {promise['epsilon']}" if promise["alpha"] is None else f"alpha = {promise['alpha']}"
    some = proved["pairs"] or not header["events"]  # else no ratio is bounded
    lines = [
        f"PROVED private with {said} per {header['space']['unit'] or 'unit of distance'}" if some else "PROVED private",
        f"  {proved['secrets']} secrets, {proved['outputs']} outputs, every row sums to {shown(proved['total'])}",
        f"  {proved['pairs']} pairs checked in integers, {proved['implied']} implied by a checked chain",
    ]
    for event in header["events"]:
        f = f"e^{event['epsilon']}" if event["factor"] is None else shown(event["factor"])
        lines.append(
            f"  P(E | x) ≤ {f} · P(E | z) + {shown(event['delta'])} for all events, {event['pairs']} pairs (x, z)"
        )
    if "loss" in proved:
        what = CRITERIA[header["claims"]["criterion"]]
        lines.append(f"  {what} with the remap in the file = {shown(proved['loss'])}")
        lines += [f"  for every secret the limit {shown(c['level'])} is kept" for c in header["claims"]["ceilings"]]
    if "bound" in proved:
        kept = ", keeping the limits," if header["claims"]["ceilings"] else ""
        lines.append(f"  no mechanism with this promise{kept} has less than {shown(proved['bound'])}")
    return [*lines, f"  sha256 {digest}"]


def main(arguments: list[str]) -> int:
    """Check the files named on the command line and say what was proved."""
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
