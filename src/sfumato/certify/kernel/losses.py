"""Proves a claimed loss: sums over outputs after the remap, under the priors in the file, and limits that are kept."""

import functools
import math
import operator
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from sfumato.certify.kernel.arithmetic import common_multiple
from sfumato.certify.kernel.errors import Refuted, Unreadable, apart
from sfumato.certify.kernel.pairs import row_reader
from sfumato.certify.kernel.sections import Sections, Words, integers, unsigned, words
from sfumato.certify.kernel.values import Header, loss_claim


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


def ceiling_tables(header: Header, sections: Sections, n: int) -> Iterator[Table]:
    """The tables whose sums must not exceed a level: of the limits, which a file calls ceilings."""
    each, tables = len(sections["loss"]), memoryview(sections.get("ceilings", b""))
    for j, ceiling in enumerate(loss_claim(header).ceilings):
        yield Table(tables[j * each : (j + 1) * each], ceiling.unit, n)


def check_loss(header: Header, sections: Sections) -> Fraction:
    """What each secret loses is Σ_y N[x][y] / T · loss(remap[y], x). Compared with the claim is its expectation
    under the prior, or the largest expectation under several priors, or the loss of the worst secret.
    The same sums of other tables must not exceed their levels, for any secret.
    """
    claims, n = loss_claim(header), len(header.secrets)
    remap = unsigned(sections["remap"], 4)
    if max(remap) >= len(claims.actions):
        raise Unreadable("the remap names an action that is not there")
    lost, unit = sums_of_secrets(header, sections, Table(sections["loss"], claims.loss_unit, n), remap)
    priors = priors_of(header, sections)  # looked at whatever is claimed: one without weight is none
    value = unit * max(lost)
    if claims.criterion != "worst secret":
        value = max(unit * expectation(counts, lost) for counts in priors)
    if value != claims.loss:
        raise Refuted("the loss is {}, not {} as claimed".format(*apart(value, claims.loss)))
    for table, ceiling in zip(ceiling_tables(header, sections, n), claims.ceilings, strict=True):
        lost, unit = sums_of_secrets(header, sections, table, remap)
        if max(lost) * unit > ceiling.level:
            had = apart(max(lost) * unit, ceiling.level)
            raise Refuted("a secret has {} where at most {} is claimed".format(*had))
    return Fraction(value)


def sums_of_secrets(header: Header, sections: Sections, table: Table, remap: Words) -> tuple[list[int], Fraction]:
    """Σ_y N[x][y] / T · table(remap[y], x) for every secret x, as integers and their unit, which is positive."""
    row, columns = row_reader(header, sections), map(table.column, range(table.n))
    sums = [sum(map(operator.mul, row(x), map(column.__getitem__, remap))) for x, column in enumerate(columns)]
    return sums, table.unit / header.total


def expectation(counts: Words, values: Words) -> Fraction:
    """The mean of the values, each as often as counted."""
    return Fraction(sum(map(operator.mul, counts, values)), sum(counts))


def priors_of(header: Header, sections: Sections) -> list[Words]:
    """The counts of each prior; there is one, unless the worst of several is claimed."""
    n, width, section = len(header.secrets), header.widths["prior"], sections["prior"]
    some = (
        functools.partial(integers, section, width) if width > 8 else lambda k, n: unsigned(section, width)[k : k + n]
    )
    counts = [some(k, n) for k in range(0, len(section) // width, n)]
    if not all(map(sum, counts)):
        raise Unreadable("a prior has no weight")
    return counts


def mixed_prior(header: Header, sections: Sections) -> tuple[list[int], Fraction]:
    """The prior under which the bound is proved, the only one or the mixture that is named: counts and their unit."""
    priors, shares = priors_of(header, sections), [1]
    if header.claims is not None and header.claims.criterion == "worst prior":
        shares = integers(sections["mixture"], header.widths["mixture"], 0, len(priors))
        if not sum(shares):
            raise Unreadable("the mixture of priors has no weight")
    common = common_multiple(map(sum, priors))
    weights = [share * (common // sum(counts)) for share, counts in zip(shares, priors, strict=True)]
    mixed = [sum(map(operator.mul, weights, column)) for column in zip(*priors, strict=True)]
    return mixed, Fraction(1, common * sum(shares))
