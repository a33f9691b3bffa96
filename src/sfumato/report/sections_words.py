"""The words of a report: promises, distances, factors of odds and losses, rounded to the safe side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from math import ceil, floor, log, log2, log10
from shlex import quote

import numpy as np

from sfumato.certify.mechanism import Proof
from sfumato.numbers import exp_bounds, log_bounds
from sfumato.privacy.promise import rational_power
from sfumato.privacy.type import PrivacyType
from sfumato.report.html import above, below, commands, escaped, in_percent, near, paragraph, power_of_ten, table
from sfumato.report.maps import map_layout
from sfumato.report.page_facts import Facts, is_called
from sfumato.spaces.finite import FiniteSpace

_RUNGS = {"km": Fraction(1, 1000), "m": Fraction(1)}
"""A metre, in the units whose round distances are 1 and 5 times a power of ten of metres, as people have them."""
_SAYS_LITTLE, _SAYS_NOTHING = log(1.01), 7.0  # exponents: a factor of 1.01, and one of 1,100
_LARGEST_PICTURED = 10_000  # A larger factor of odds is the power of ten above it.
_MOST_SCALES = 4
_TINY_GAP = 1e-7
_LARGEST_EXPONENT = 1000  # A larger power of e is written as a power of ten.
_NEARLY_CERTAIN = "more than 99.9\N{NO-BREAK SPACE}%"
_MEANINGS = {
    "distance": "the distance between what is concluded and the truth",
    "absolute": "the absolute error",
    "squared": "the squared error",
    "bin": "the probability of a wrong guess",
    "nib": "the probability of naming the secret",
    "matrix": "the loss that was given",
    "member": "the probability of a wrong answer",
}


def things(facts: Facts) -> str:
    """What secrets are called: places where they are on a map."""
    return "places" if map_layout(facts.space).kind in ("cells", "places") else "secrets"


def epsilon_words(privacy: PrivacyType) -> str:
    """``ε = 0.7 per km``, or the logarithm of a rational and its value.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> epsilon_words(PrivacyType(line(3, unit="km"), epsilon="0.7")), epsilon_words(PrivacyType(line(3), alpha="1/2"))
    ('ε = 0.7 per km', 'ε = ln 2 = 0.6931')
    """
    per = f" per {privacy.space.unit}" if privacy.space.unit else ""
    if privacy.epsilon is not None:
        return f"ε = {near(privacy.epsilon, 6)}{per}"
    assert privacy.alpha is not None
    factor = str(1 / privacy.alpha)
    logarithm = f"ln {factor} = " if len(factor) <= 12 else ""
    return f"ε = {logarithm}{near(privacy.rate, 4)}{per}"


def odds_factor(privacy: PrivacyType, distance: Fraction) -> Fraction:
    """A rational not below e^{εd}, and e^{εd} itself where that is rational."""
    if privacy.alpha is not None:
        exactly = rational_power(1 / privacy.alpha, distance)
        if exactly is not None:
            return exactly
    return exp_bounds(privacy.rate_bounds(64)[1] * distance, 64)[1]


def odds(factor: Fraction) -> str:
    """A factor of odds, rounded up, with two digits of what it has above 1; a large one to a power of ten.

    Examples
    --------
    >>> odds(Fraction("1.002002")), odds(Fraction("2.718282")), odds(Fraction(1024)), odds(Fraction(2479915801))
    ('1.0021', '2.72', '1,024', '10¹⁰')
    """
    if factor > _LARGEST_PICTURED:
        return power_of_ten(len(str(ceil(factor) - 1)))
    excess = factor - 1
    small = 0 < excess < Fraction(1, 10)
    return above(factor, 2 - floor(log10(excess))) if small else above(factor)


def odds_at(privacy: PrivacyType, distance: Fraction) -> tuple[str, str]:
    """By which factor odds change at most at a distance, and what becomes of a belief of 50 %.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> [odds_at(PrivacyType(line(2), epsilon=rate), Fraction(1))[0] for rate in (1, 10**7)]
    ['2.72', '10⁴³⁴²⁹⁴⁵']
    """
    exponent = privacy.rate_bounds(64)[1] * distance
    if exponent > _LARGEST_EXPONENT:
        return power_of_ten(ceil(exponent / log_bounds(Fraction(10))[0])), _NEARLY_CERTAIN
    factor = odds_factor(privacy, distance)
    certain = 1 / (1 + 1 / factor)
    return odds(factor), in_percent(certain, 3, above) if certain < Fraction(999, 1000) else _NEARLY_CERTAIN


def allowed(privacy: PrivacyType, distance: Fraction) -> str:
    """The largest ratio that a promise allows, to compare with one that is there."""
    if privacy.rate * float(distance) > _LARGEST_EXPONENT:
        return odds_at(privacy, distance)[0]
    return above(odds_factor(privacy, distance), 6)


def loss_unit(facts: Facts) -> str:
    """The unit of the loss: that of distances, where it is one; an error of the answer of a query is none."""
    if facts.loss is None or facts.loss.name not in ("distance", "absolute"):
        return ""
    return facts.space.unit if is_called("distance", facts.loss, facts.space) else ""


def with_unit(number: str, unit: str) -> str:
    """A number that is not torn from its unit."""
    return f"{number}\N{NO-BREAK SPACE}{escaped(unit)}" if unit else number


def loss_meaning(facts: Facts) -> str:
    """What the loss is."""
    assert facts.loss is not None
    name = facts.loss.name
    if name.startswith("threshold("):
        return f"the probability of a conclusion farther away than {name[10:-1]}"
    if facts.claimed_name:
        return f"one that its author calls “{facts.claimed_name}”"
    return _MEANINGS.get(name, f"the loss “{name}”" if name else "the loss that was given")


def gap_words(gap: float | None) -> str:
    """A relative gap, rounded up; below a ten-millionth its digits say nothing."""
    return in_percent(max(gap or 0.0, _TINY_GAP), 2, above)


def short_fraction(value: Fraction) -> str:
    """A fraction where that is short, else its value."""
    return str(value) if len(str(value)) <= 12 else near(value, 3)


def scales(privacy: PrivacyType) -> list[tuple[Fraction, str]]:
    r"""Distances at which a promise is spelled out: 100 m, 500 m, 1 km, or round numbers between the least and largest.

    Examples
    --------
    >>> from sfumato.spaces import grid, line
    >>> [words for _, words in scales(PrivacyType(grid(9, 9, unit="km"), alpha="1/4"))]
    ['100 m', '500 m', '1 km', '5 km', '11.3\xa0km, the farthest two']
    >>> [words for _, words in scales(PrivacyType(line(6), alpha="1/4"))]
    ['1', '2', '5, the farthest two']
    """
    table = privacy.space.distances
    finite = table.floats[np.isfinite(table.floats) & (table.floats > 0)]
    if not finite.size:
        return []
    least, most = float(finite.min()), float(finite.max())
    return round_scales(privacy, least, most, farthest(privacy.space), "the farthest two")


def farthest(space: FiniteSpace) -> Fraction:
    """The largest finite distance, rounded up where it is no rational; 0 if there is none."""
    table = space.distances
    lengths = np.where(np.isfinite(table.floats), table.floats, 0)
    return table.bounds(table.values[np.unravel_index(np.argmax(lengths), lengths.shape)])[1]


def round_scales(
    privacy: PrivacyType, least: float, most: float, farthest: Fraction, last: str
) -> list[tuple[Fraction, str]]:  # fmt: skip
    """Round distances between two, and the larger of these, rounded up to ``farthest``, in the words ``last``."""
    unit = privacy.space.unit
    if unit in _RUNGS:
        round_ones = _round_lengths(privacy.rate, most, unit)
    else:
        power = Fraction(10) ** int(np.floor(np.log10(least)))
        steps = [power * m * 10**k for k in range(20) for m in (1, 2, 5)]
        candidates = [d for d in steps if least * (1 - 1e-9) <= d < most * (1 - 1e-9)]
        chosen = candidates[:: -(-len(candidates) // _MOST_SCALES)] if candidates else []
        round_ones = [(d, with_unit(near(d), unit)) for d in chosen]
    return [*round_ones, (farthest, f"{with_unit(near(most, 3), unit)}, {last}")]


def _round_lengths(rate: float, most: float, unit: str) -> list[tuple[Fraction, str]]:
    """The largest round lengths at which a factor says something; where there is none, a tenth and a half of all."""
    metres = [m * 10**k for k in range(7) for m in (1, 5)]
    words = [(d * _RUNGS[unit], f"{d:,} m" if d < 1000 else f"{d // 1000:,} km") for d in metres]
    said = [(d, name) for d, name in words if d < most and _SAYS_LITTLE <= rate * float(d) <= _SAYS_NOTHING]
    if said:
        return said[-_MOST_SCALES:]
    parts = [Fraction(f"{most * part:.2g}") for part in (0.1, 0.5)]
    return [(d, with_unit(near(d), unit)) for d in parts]


def doubling_distance(privacy: PrivacyType) -> str:
    """A distance within which odds cannot double, with its unit: ln 2 / ε rounded down, unless it is a short number."""
    distance = log_bounds(Fraction(2))[0] / privacy.rate_bounds(64)[1]
    brief = Fraction(f"{float(distance):.3g}")
    exactly = privacy.alpha is not None and odds_factor(privacy, brief) == 2
    return with_unit(near(brief) if exactly else below(distance), privacy.space.unit)


# ----------------------------------------------------------------- what reports on lists and on coordinates share


ONE_RELEASE = paragraph(
    "The promise is about one release. The same secret, released again with fresh noise, adds its promise to the "
    "first. Nothing is said about what surrounds the mechanism: who may ask, how long it takes, what is logged.",
    kind="soft",
)
"""What no promise covers."""


def promise_head(privacy: PrivacyType) -> str:
    """The promise for the head of a page, short: the value of a logarithm is in the text."""
    words = epsilon_words(privacy)
    return escaped(words.replace(f" = {near(privacy.rate, 4)}", "") if " = ln " in words else words)


def head_numbers(cells: Iterable[tuple[str, str, str]]) -> str:
    """The head of a page: names, values and a few words on each."""
    rows = "".join(f"<div><dt>{name}</dt><dd>{value}</dd><dd>{about}</dd></div>" for name, value, about in cells)
    return f"<dl class=numbers>{rows}</dl>"


def spelled_odds(privacy: PrivacyType, at: Sequence[tuple[Fraction, str]], what: str) -> list[str]:
    """What one output can do to somebody's belief, at a few distances: an example, and a table."""
    said = [(d, words) for d, words in at if privacy.rate * float(d) <= _SAYS_NOTHING] or list(at)
    usual = 1000 if privacy.space.unit == "m" else 1
    one = next(((d, words) for d, words in said if d >= usual), said[-1] if said else None)
    example = ""
    if one is not None:
        example = paragraph(
            f"For example, if two {what} are {escaped(one[1].split(',')[0])} apart, seeing the output makes one at "
            f"most {odds_at(privacy, one[0])[0]} times as likely, relative to the other, as it was before. Odds cannot "
            f"double for {what} less than {doubling_distance(privacy)} apart."
        )
    spelled = table(
        "What one output can do to somebody’s belief",
        (f"Two {what} this far apart", "odds change at most by a factor", "50 % becomes at most"),
        [(escaped(words), *odds_at(privacy, distance)) for distance, words in at],
    )
    return [example, spelled]


def times_words(times: float) -> str:
    """A factor, and its bits."""
    return f"{near(times)} ({near(log2(times), 3) if times > 1 else '0'} bits)"


def total_words(total: int) -> str:
    """The sum of a row of integers."""
    power = total.bit_length() - 1
    return f"2<sup>{power}</sup>" if total == 1 << power else near(Fraction(total), 6)


def proof_rows(proof: Proof, rows: Sequence[tuple[str, str]], provenance: dict[str, object]) -> list[tuple[str, str]]:
    """The rows of a certificate: its digest and who checked it, those given, what else is proved, its provenance."""
    proved = [name for name, value in (("loss", proof.loss), ("bound", proof.bound)) if value is not None]
    about = ", ".join(f"{key}: {value}" for key, value in provenance.items())
    return [
        ("SHA-256", f"<code>{escaped(proof.digest)}</code>"),
        ("checked by", escaped(proof.checker)),
        *rows,
        ("also proved", " and ".join(proved) or "nothing beside the promise"),
        *([("how it came about", escaped(about))] if about else []),
    ]


def checking(file: str) -> str:
    """The commands by which anybody checks a file."""
    return commands(
        f"sfumato verify {quote(file)}",
        f"python -I -S kernel.py {quote(file)}      # the kernel alone: one file, standard library only",
        f"head -c -32 {quote(file)} | sha256sum     # the digest above",
    )
