"""Where points are released, and which columns beside them hold places there: all rows are looked at as they pass.

Most values are put aside by patterns of the region that look at whole columns at once; what is left is read in every
way that :mod:`sfumato.release.spellings` knows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from math import ceil, floor
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sfumato.certify.protocol import Domain
from sfumato.numbers import Floats
from sfumato.release.conversion import on_the_ground
from sfumato.release.families import Corners, release_family
from sfumato.release.spellings import (
    QUADKEYS,
    TILES,
    Spelling,
    geohash_cells,
    pairs_in,
    places_in,
)

MOST = 0.8
"""The share of values that says what a column holds: some are missing, some are wrong."""

PAD = 0.1
"""Degrees around points that are the same neighbourhood."""

_FEW = 0.05  # of what looks alike lies in the region: by chance far less does, of numbers in a region of 15 degrees
_WIDEST = 15.0  # degrees: in a wider region numbers of any kind lie
_NARROW = 0.5  # a range that is at most so wide, as a part of its distance from 0, holds few numbers by chance
_BEFORE = "(?:^|[^0-9]|%[0-9A-Fa-f]{2})0{0,2}"
_AFTER = "(?:[^0-9]|$|[0-9]{4,7}(?:[^0-9]|$))"  # minutes that are packed, or parts of a degree
_WKB = "A[ACQ][A-Za-z0-9+/_-]{24}|0[01][0-9A-Fa-f]{40}"  # in base 64, and in digits
_CODES = "|".join((
    _WKB, r'(?:^|")\s*[A-Ra-r]{2}[0-9]{2}[A-Xa-x]{2}(?:[0-9]{2})?\s*(?:"|$)',
    QUADKEYS.looks, TILES.looks.replace("/", r"\\?/"), "[zZ]=[0-9]", "(?i:geohash)",
    "[0-9][eE][-+]?[0-9]{1,2}(?:[^0-9A-Za-z]|$)",  # no whole degrees are seen in a number with an exponent
    r"[0-9A-Za-z]{8}(?:\+|%2[Bb])[0-9A-Za-z]{2}",
    r"(?:^|[^0-9A-Za-z])[0-9]{1,2} ?[C-Xc-x] ?[A-Za-z]{2} ?[0-9]{2,5} ?[0-9]{2}",
    r"(?:^|[^0-9A-Za-z])[0-9]{1,2} ?[C-Xc-x][ ,:]+(?:E ?)?[0-9]{6}",
))  # fmt: skip
"""What codes of cells and grids look like, wherever they lie."""


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """Where points lie: the least and the largest of each coordinate; ``earth`` where these are degrees."""

    low: tuple[float, float]
    high: tuple[float, float]
    earth: bool

    def holds(self, axis: int, values: Floats) -> bool:
        """Whether most of some numbers lie there along an axis, and are no whole numbers."""
        inside = (values >= self.low[axis]) & (values <= self.high[axis])
        return bool(inside.mean() >= MOST and (values != np.rint(values)).mean() >= 1 - MOST)

    def contains(self, place: tuple[float, float]) -> bool:
        """Whether a point lies there; longitudes may be a turn apart."""
        first, second = place
        turns = (0, 360, -360) if self.earth else (0,)
        return self.low[0] <= first <= self.high[0] and any(
            self.low[1] <= second + turn <= self.high[1] for turn in turns
        )

    @property
    def rare(self) -> bool:
        """Whether two numbers hardly lie there by chance."""
        wide = [high - low for low, high in zip(self.low, self.high, strict=True)]
        away = [max(low, -high, 0.0) for low, high in zip(self.low, self.high, strict=True)]
        narrow = any(width <= _NARROW * far for width, far in zip(wide, away, strict=True))
        return narrow and (not self.earth or max(wide) <= _WIDEST)

    def spelled(self, text: str) -> set[Spelling]:
        """The ways in which a text tells a place that lies there.

        Examples
        --------
        >>> town = Neighbourhood((40.6, -74.1), (40.9, -73.8), True)
        >>> [how.name for how in town.spelled("https://maps.example/@40.71,-74.01,15z")]
        ['coordinates with their names or in links to maps']
        >>> town.spelled("40.71 $ on 2024-12-17, +1 212 740 0110")
        set()
        """
        if self.earth:
            return {how for how, place in places_in(text) if self.contains(place)}
        return {how for how, pair in pairs_in(text) if self.contains(pair) or self.contains((pair[1], pair[0]))}


def around(corners: Corners, *, earth: bool) -> Neighbourhood:
    """A little more than what lies between corners."""
    south, west, north, east = corners
    up, across = (max(wide / 2, PAD if earth else 0.0) for wide in (north - south, east - west))
    return Neighbourhood((south - up, west - across), (north + up, east + across), earth)


def neighbourhood_of(domain: Domain) -> Neighbourhood | None:
    """Where the points of a mechanism lie, as far as numbers in texts can be known for such points."""
    corners = release_family(domain).corners(domain)
    if corners is None:
        return None
    found = around(corners, earth=on_the_ground(domain))
    return found if found.rare or found.earth else None


# ----------------------------------------------------------------- columns


@dataclass(eq=False)
class Lookout:
    """Looks for places in the columns that pass, and counts what it has seen of each."""

    where: Neighbourhood
    rows: Counter[str] = field(default_factory=Counter)
    looks: Counter[tuple[str, Spelling]] = field(default_factory=Counter)
    here: Counter[tuple[str, Spelling]] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        where = self.where
        self.numbers = [_whole_parts(low, high) for low, high in zip(where.low, where.high, strict=True)]
        cells = geohash_cells(*where.low, *where.high) if where.earth and where.rare else []
        self.codes = rf'{_CODES}|(?:^|")\s*(?i:{"|".join(cells)})[0-9A-Za-z]{{1,9}}\s*(?:"|$)' if cells else _CODES

    def told(self, name: str, column: Any) -> str:
        """How the texts of a column tell places, with those that came before; empty where they do not."""
        found: set[Spelling] = set()
        for texts in _texts(column):
            self.rows[name] += len(texts)
            for text in self.suspects(texts):
                for how in self.where.spelled(text):
                    self.here[name, how] += 1
                    found.add(how)
            for how in found:
                if how.looks:
                    self.looks[name, how] += pc.sum(pc.match_substring_regex(texts, how.looks)).as_py() or 0
        return next((how.name for how in sorted(found) if self._many(name, how)), "")

    def _many(self, name: str, how: Spelling) -> bool:
        """Whether so many values of a column are places of the region that it is not by chance."""
        if not self.where.rare and how.fewest > 1:
            return False
        share = _FEW if self.where.rare else MOST
        return self.here[name, how] >= max(min(how.fewest, self.rows[name]), share * self.looks[name, how])

    def suspects(self, texts: Any) -> list[str]:
        """The texts that have the whole degrees of the region in them, or look like a code."""
        if not self.where.earth:
            likely = pc.match_substring_regex(texts, f"[0-9].*[^0-9].*[0-9]|{_WKB}")
        else:
            likely, second = (pc.match_substring_regex(texts, pattern) for pattern in self.numbers)
            likely = pc.or_(pc.and_(likely, second), pc.match_substring_regex(texts, self.codes))
        kept = texts.filter(likely).cast(pa.large_binary())  # what is no text in UTF-8 is read as far as it is one
        return [text.decode("utf-8", "replace") for text in kept.to_pylist()]


def lookout_of(domain: Domain) -> Lookout | None:
    """What looks for places beside the points of a domain; None where these cannot be told from other numbers."""
    where = neighbourhood_of(domain)
    return None if where is None else Lookout(where)


def _whole_parts(low: float, high: float) -> str:
    """A pattern for numbers whose whole part is one of those between two ends, whatever their sign."""
    parts = {abs(value) for value in range(floor(low), ceil(high) + 1)}
    parts |= {360 - part for part in parts if part > 180}
    return f"{_BEFORE}(?:{'|'.join(map(str, sorted(parts)))}){_AFTER}"


def _texts(column: Any) -> Iterator[Any]:
    """The texts of a column that are not empty, also those inside of lists, records and dictionaries."""
    types, kind = pa.types, column.type
    if isinstance(column, pa.ChunkedArray):
        for chunk in column.chunks:
            yield from _texts(chunk)
    elif types.is_dictionary(kind):
        if _textual(kind.value_type):
            yield from _texts(column.dictionary_decode())
    elif isinstance(column, pa.ExtensionArray):
        yield from _texts(column.storage)
    elif types.is_struct(kind):
        for part in column.flatten():
            yield from _texts(part)
    elif types.is_map(kind):
        yield from _texts(column.keys)
        yield from _texts(column.items)
    elif types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        yield from _texts(column.flatten())
    elif _textual(kind):
        texts = column.cast(pa.large_string()) if types.is_string_view(kind) else column
        texts = texts.filter(pc.greater(pc.binary_length(texts), 0))
        if len(texts):
            yield texts


def _textual(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))
