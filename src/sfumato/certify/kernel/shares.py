"""Proves claims about estimates of shares: the variance of those in the file, and that no mechanism has less."""

import functools
import itertools
import math
import operator
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from sfumato.certify.kernel.arithmetic import LONGEST_SUMS, exp_bound
from sfumato.certify.kernel.cone import POINT, Ruler, corners
from sfumato.certify.kernel.errors import Refuted, Unreadable, apart
from sfumato.certify.kernel.losses import Table, mixed_prior, priors_of
from sfumato.certify.kernel.pairs import Joined, pairs_to_check, row_reader
from sfumato.certify.kernel.promise import exponent_of_unit
from sfumato.certify.kernel.sections import Sections
from sfumato.certify.kernel.values import Header, Promise, Proved, variance_claim

BLUR = 2  # units of the last digit by which a corner may lie above
LONGEST_GRAIN = 512  # bits of the common denominator of the frequencies of outputs, beyond which they are rounded


def check_shares(header: Header, sections: Sections) -> Proved:
    """What is claimed about estimates of shares: N times their total variance, and that no mechanism has less."""
    claims = variance_claim(header)
    value = variance(header, sections)
    if value > claims.loss:
        raise Refuted("the variance is {}, more than {} as claimed".format(*apart(value, claims.loss)))
    if claims.bound is None:
        return {"loss": claims.loss}
    bound = variance_bound(header, sections)
    if bound < claims.bound:
        raise Refuted("the numbers prove {}, less than the claimed {}".format(*apart(bound, claims.bound)))
    check_corners(header, sections)
    return {"loss": claims.loss, "bound": claims.bound}


def variance(header: Header, sections: Sections) -> Fraction:
    """Estimates of A·p from N answers, p being the distribution of secrets and A the workload: the mean over people of
    v[y] = T·w[y]·Σ_x X[x]·N[x][y], where U·X = Aᵀ and U[x][z] = Σ_y w[y]·N[x][y]·N[z][y]. They are unbiased, whatever
    the w are: Σ_y N[x][y]/T·v[y] = A[·][x]. N times their total variance is Σ_y q[y]·|v[y]|² − |A·p|². That is concave
    in p, and with w = 1/q it is the least there is at the p of the bound; its tangent there is largest at one of the
    priors of a mixture. Only G = Aᵀ·A takes part: U·Z = G and U·S = Zᵀ give |v[y]|² = T²·w[y]²·N[·][y]·S·N[·][y].
    """
    claims, n, total = variance_claim(header), len(header.secrets), header.total
    table = list(zip(*map(row_reader(header, sections), range(n)), strict=True))  # by outputs
    counts, unit = mixed_prior(header, sections)
    shares = reciprocals([sum(map(operator.mul, counts, column)) for column in table])
    scaled = [[share * weight for weight in column] for share, column in zip(shares, table, strict=True)]
    square = [[sum(s[x] * c[z] for s, c in zip(scaled, table, strict=True)) for z in range(n)] for x in range(n)]
    if n * max(max(row) for row in square).bit_length() > LONGEST_SUMS:
        raise Unreadable("the weights and priors beside a claim about shares have too many digits")
    workload = Table(sections["workload"], claims.workload_unit, n)
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


def variance_bound(header: Header, sections: Sections) -> Fraction:
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


def share_tables(header: Header, sections: Sections) -> tuple[Table, Table, Table]:
    """The workload A, the table B, and the numbers m as a table of one row."""
    n = len(header.secrets)
    workload = Table(sections["workload"], variance_claim(header).workload_unit, n)
    dual, prices = (Table(sections[f"share_{part}"], Fraction(1), n) for part in ("dual", "prices"))
    return workload, dual, prices


def check_corners(header: Header, sections: Sections) -> None:
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


def rays(header: Header, sections: Sections, n: int) -> Iterator[list[int]]:
    """e^(−epsilon·drop) for every corner and secret, from below, in units of 2^-POINT; the drop of the highest is 0."""
    counted = {"implied": 0}
    pairs = list(itertools.islice(pairs_to_check(header, sections, n, counted), n * n))
    ruler = Ruler(header.metric, [value for _, _, value in pairs])
    lengths = [(x, z, ruler.length(value)) for x, z, value in pairs]
    joined = Joined(n)
    for x, z, _ in pairs:
        joined.join(x, z)
    if joined.apart():
        raise Unreadable("a bound for shares needs finite distances between all secrets")
    fading = functools.lru_cache(maxsize=None)(lambda drop: faded(header.promise, ruler, drop))
    for heights in corners(lengths, n, ruler):
        top = ruler.highest(heights)
        yield [fading(tuple(map(operator.sub, top, height))) for height in heights]


def faded(promise: Promise, ruler: Ruler, drop: tuple[int, ...]) -> int:
    """e^(−epsilon·drop) from below, in units of 2^-POINT, within ``BLUR`` units."""
    least, most = ruler.bounds(drop)
    rates = [exponent_of_unit(promise, 2 * POINT, up) for up in (False, True)]
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
