"""The least or the largest number that a file may claim, as the kernel decides: what rounds otherwise is found out.

Claims are multiples of a small unit, so that the next one is false or not proved, and forged files are made of it.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from pathlib import Path

from sfumato.certify import kernel
from vectors.parts import File

CLAIM = Fraction(1, 2**60)
RATE = Fraction(1, 2**20)


def is_proved(file: File) -> bool:
    """Whether the kernel proves a file, which it can read."""
    header, sections, _ = kernel.parse(file.written())
    try:
        kernel.check(header, sections)
    except kernel.Refuted:
        return False
    return True


@cache
def stored() -> tuple[int, ...]:
    """The numbers that files say which are there already, in the units of claims and rates, both signs, in order."""
    found: set[int] = set()
    for path in Path(__file__).parent.glob("*.sfm"):
        try:
            header, _, _ = kernel.parse(path.read_bytes())
        except (kernel.Unreadable, OSError):
            continue
        claims, rate = header.claims, getattr(header.promise, "rate", None)
        said = [rate] if claims is None else [claims.loss, claims.bound, rate]
        units = [Fraction(value) / unit for value in said if value is not None for unit in (CLAIM, RATE)]
        found.update(int(sign * value) for value in units if value.denominator == 1 for sign in (1, -1))
    return tuple(sorted(found))


def first_true(holds: Callable[[int], bool]) -> int:
    """The least integer for which something holds that holds for all larger ones.

    Numbers of files that are there already are tried first: what they say is confirmed, not believed.
    """
    place = bisect_left(stored(), True, key=holds)
    if place < len(stored()) and not holds(stored()[place] - 1):
        return stored()[place]
    low, high = -(2**20), 2**20  # a claim of a few millionths, or a rate of 1
    while holds(low):
        low *= 2
    while not holds(high):
        high *= 2
        if high > 2**100:
            raise ValueError("the file has another fault")
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def with_claim(file: File, name: str, units: int) -> File:
    """The file with so many units of a claim."""
    return file.about("claims", **{name: str(CLAIM * units)})


def least_loss(file: File) -> tuple[File, File]:
    """The file with the least loss that is proved, and the one that claims a unit less."""
    found = first_true(lambda units: is_proved(with_claim(file, "loss", units)))
    return with_claim(file, "loss", found), with_claim(file, "loss", found - 1)


def largest_bound(file: File) -> tuple[File, File]:
    """The file with the largest bound that is proved, and the one that claims a unit more."""
    found = -first_true(lambda units: is_proved(with_claim(file, "bound", -units)))
    return with_claim(file, "bound", found), with_claim(file, "bound", found + 1)


def least_rate(file: File) -> tuple[File, File]:
    """The file about coordinates with the least rate that is proved, its epsilon, and the one with a unit less."""

    def with_rate(units: int) -> File:
        rate = str(RATE * units)
        return file.about("promise", rate=rate, epsilon=rate)

    found = first_true(lambda units: units > 0 and is_proved(with_rate(units)))
    return with_rate(found), with_rate(found - 1)
