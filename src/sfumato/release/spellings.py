"""How places are written in texts, and which of them lie in a region.

Degrees with a point or a comma, in links to maps, with labels or hemispheres, in minutes and seconds; MGRS and UTM;
codes of cells (quadkeys, tiles, geohashes, plus codes, Maidenhead). What a text could say is read in every way, and
counts where it lies in the region: elsewhere numbers are prices, dates or telephone numbers.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Iterator
from decimal import Decimal
from html import unescape
from itertools import combinations, pairwise
from math import asin, atan, atan2, cos, cosh, degrees, floor, pi, sin, sinh
from struct import unpack_from
from typing import NamedTuple
from urllib.parse import unquote

Place = tuple[float, float]
"""Latitude and longitude in degrees."""


class Spelling(NamedTuple):
    """A way in which places are written: its name, what looks like it anywhere (for RE2), and how many values of a
    region say that a column has it.

    Where nothing else looks alike, one value is enough; of other spellings a part of what looks alike has to lie there.
    """

    name: str
    looks: str
    fewest: int


LABELLED = Spelling("coordinates with their names or in links to maps", "", 1)
MINUTES = Spelling("degrees and minutes", "", 1)
COLONS = Spelling("degrees and minutes", r"[0-9]:[0-9]{1,2}[:.,][0-9].*[^0-9].*[0-9]:[0-9]{1,2}[:.,][0-9]", 3)
MAP_GRID = Spelling("MGRS or UTM", "", 1)
EXACT = Spelling("pairs of numbers", r"[0-9][.,][0-9]{4}.*[^0-9].*[0-9][.,][0-9]{4}", 1)
PAIRS = Spelling("pairs of numbers", r"[0-9][.,][0-9].*[^0-9].*[0-9][.,][0-9]", 3)
MILLIONTHS = Spelling("pairs of numbers in parts of a degree", r"[0-9]{6,10}[^0-9]+[0-9]{6,10}", 3)
PLANE = Spelling("pairs of numbers", r"[0-9]{3}.*[^0-9].*[0-9]{3}", 3)
WKB = Spelling("geometries (WKB)", "", 1)
QUADKEYS = Spelling("quadkeys", r"(^|[^0-9])[0-3]{10,23}([^0-9]|$)", 3)
TILES = Spelling("tiles of maps", r"[0-9]{1,2}/[0-9]{3,7}/[0-9]{3,7}", 3)
GEOHASHES = Spelling("geohashes", r"^\s*[0-9b-hjkmnp-zB-HJKMNP-Z]{5,12}\s*$", 3)
LINKED_HASHES = Spelling("geohashes", "", 1)
PLUS_CODES = Spelling("plus codes", "", 1)
LOCATORS = Spelling("Maidenhead locators", r"^[A-Ra-r]{2}[0-9]{2}[A-Xa-x]{2}([0-9]{2})?$", 3)

_BASE64 = re.compile(r"(?<![\w+/])A[ACQ][\w+/-]{26,}", re.ASCII)
_URL_SAFE = str.maketrans("-_", "+/")
_HEX = re.compile(r"(?<![0-9A-Za-z])0[01][0-9A-Fa-f]{40,}")
_DIGITS = "0123456789bcdefghjkmnpqrstuvwxyz"  # of a geohash
_CODE_DIGITS = "23456789CFGHJMPQRVWX"  # of a plus code
_BANDS, _ROWS = "CDEFGHJKLMNPQRSTUVWX", "ABCDEFGHJKLMNPQRSTUV"  # of MGRS
_COLUMNS = ("STUVWXYZ", "ABCDEFGH", "JKLMNPQR")
_ROUND = {" ": " ", "−": "-", "–": "-", "，": ",", "º": "°", "˚": "°", "′": "'", "’": "'", "″": '"', "”": '"'}

_BEFORE = r"(?:(?<![a-z])([NSEWO]))?\s?([-+]?)"  # the hemisphere stands before a number or after it
_AFTER = r"\s?°?\s?(?(1)|([NSEWO](?![a-z]))?)"
_POINT = re.compile(_BEFORE + r"(?<![\d.])(\d{1,3}\.\d+)(?!\d*\.\d)" + _AFTER, re.IGNORECASE)
_COMMA = re.compile(_BEFORE + r"(?<![\d,])(\d{1,3},\d+)(?!\d*,\d)" + _AFTER, re.IGNORECASE)
_FOUR = re.compile(r"\s*(-?\d{1,3}),(\d{3,})\s*,\s*(-?\d{1,3}),(\d{3,})\s*")  # 48,8566,2,3522
_LABEL = re.compile(
    r"(?<![a-z])(?:lat|latitude|lon|long|longitude|lng|coord\w*|gps|latlng|mlat|mlon)(?![a-z])|geo:|point\s*\(|!3d"
    r"|@-?\d+\.\d{3}|[?&](?:q|s?ll|center|loc|query|[sd]addr|cp)=|#map=|\bmaps?[./]"
    r"|\d\s?°?\s?[ns](?![a-z]).*\d\s?°?\s?[ewo](?![a-z])|(?<![a-z])[ns]\s?\d.*(?<![a-z])[ewo]\s?\d",
    re.IGNORECASE | re.DOTALL,
)
_SEXAGESIMAL = re.compile(
    _BEFORE
    + r"""(?<![\d.])(\d{1,3})\s*(?:°|deg|d|[\ :])\s*(\d{1,2}(?:[.,]\d+)?)\s*(?:'|min|m|[\ :])?\s*
        (?:(\d{1,2}(?:[.,]\d+)?)\s*(?:"|\'\'|sec|s)?)?\s*(?(1)|([NSEWO](?![a-z]))?)""",
    re.IGNORECASE | re.VERBOSE,
)
_COLONS = re.compile(  # with seconds or a part of a minute, without which times of day look alike
    r"([-+]?)(?<![\d.:])(\d{1,3}):([0-5]?\d)(?::([0-5]?\d(?:[.,]\d+)?)|([.,]\d+))(?![\d:])"
)
_UNTIL = re.compile(r"\s*-\s+|-")  # between two times of day
_EXPONENT = re.compile(r"(?<![\w.])(\d+(?:[.,]\d+)?)[eE]([-+]?\d{1,2})(?!\w|\.\d)")
_PACKED = re.compile(
    r"([+-]?)(\d\d)(\d\d)(\d\d)?(\.\d+)?([NS]?)[ ,]?([+-]?)(\d{3})(\d\d)(\d\d)?(\.\d+)?([EW]?)", re.IGNORECASE
)
_WHOLE = re.compile(r"([-+]?)(?<![\d.,])(\d{6,10})(?![\d.,]*\d)")
_PLANE = re.compile(r"([-+]?)(?<![\d.])(\d{4,9}(?:\.\d+)?|\d+\.\d+)(?!\.?\d)")
_MGRS = re.compile(
    r"(?<![\w])(\d{1,2})\s?([C-HJ-NP-X])\s?([A-HJ-NP-Z])([A-HJ-NP-V])\s?(\d{2,5})\s(\d{2,5})(?!\d)"
    r"|(?<![\w])(\d{1,2})\s?([C-HJ-NP-X])\s?([A-HJ-NP-Z])([A-HJ-NP-V])\s?((?:\d\d){2,5})(?!\w)",
    re.IGNORECASE,
)
_UTM = re.compile(
    r"(?<!\w)(\d{1,2})\s?([C-HJ-NP-X])[\s,:]+(?:E\s?)?(\d{6})(?:\.\d+)?\s?m?\s?E?[\s,;/]+(?:N\s?)?(\d{6,7})(?!\d)",
    re.IGNORECASE,
)
_QUADKEY = re.compile(r"(?<!\d)[0-3]{10,23}(?!\d)")
_TILE = re.compile(r"(?<!\d)(\d{1,2})/(\d{3,7})/(\d{3,7})(?!\d)")
_TILE_QUERY = re.compile(r"(?<![a-z])([xyz])=(\d{1,7})(?!\d)", re.IGNORECASE)
_GEOHASH = re.compile(rf"\s*([{_DIGITS}]{{4,12}})\s*", re.IGNORECASE)
_LINKED_HASH = re.compile(rf"geohash\S*?[:/=]\s*([{_DIGITS}]{{5,12}})(?!\w)", re.IGNORECASE)
_PLUS_CODE = re.compile(rf"(?<!\w)([{_CODE_DIGITS}]{{8}})\+([{_CODE_DIGITS}]{{2,7}})(?!\w)", re.IGNORECASE)
_LOCATOR = re.compile(r"[A-R]{2}\d\d[A-X]{2}(?:\d\d)?", re.IGNORECASE)


def plain(text: str) -> str:
    """A text without the escapes of links and pages, and with one kind of minus, degree and quote each.

    Examples
    --------
    >>> plain("?q=40.7%2C−74&deg;")
    '?q=40.7,-74°'
    """
    text = unescape(unquote(text)) if "%" in text or "&" in text else text
    return text if text.isascii() else "".join(_ROUND.get(letter, letter) for letter in text)


def places_in(text: str) -> Iterator[tuple[Spelling, Place]]:
    """Every place on the Earth that a text could mean, and how it is written.

    Examples
    --------
    >>> {how.name: place for how, place in places_in("18TWL8345007350")}["MGRS or UTM"]
    (40.7..., -74.0...)
    >>> [place for _, place in places_in("see 40,7128; -74,0060")][0]
    (40.7128, -74.006)
    """
    text = plain(text)
    yield from _degrees(text)
    if (longer := _EXPONENT.sub(_written_out, text)) != text:
        yield from _degrees(longer)
    yield from ((MINUTES, place) for place in _minutes(text))
    yield from ((COLONS, place) for place in _with_colons(text))
    yield from ((MAP_GRID, place) for place in _gridded(text))
    yield from ((WKB, (y, x)) for x, y in wkb_points(text))
    yield from _cells(text)


def pairs_in(text: str) -> Iterator[tuple[Spelling, Place]]:
    """Pairs of numbers in a text that could be coordinates of a plane, in their order."""
    numbers = [float(sign + digits) for sign, digits in _PLANE.findall(_EXPONENT.sub(_written_out, plain(text)))]
    yield from ((PLANE, pair) for pair in pairwise(numbers))
    yield from ((WKB, point) for point in wkb_points(text))


def wkb_points(text: str) -> Iterator[Place]:
    """x and y of the first point of each geometry that stands in a text as WKB, in base 64 or in hexadecimal digits.

    Examples
    --------
    >>> list(wkb_points("AQEAAAAAAAAAAIBSwAAAAAAAYERA"))
    [(-74.0, 40.75)]
    """
    for code in _BASE64.findall(text):
        whole = code[: len(code) - (len(code) % 4 == 1)].translate(_URL_SAFE)  # what ends it may be left out
        yield from _first_point(b64decode(whole + "=" * (-len(whole) % 4)))
    for code in _HEX.findall(text):
        yield from _first_point(bytes.fromhex(code[: len(code) // 2 * 2]))


def _first_point(data: bytes) -> Iterator[Place]:
    """The first point of WKB or EWKB; nothing where these bytes are something else."""
    order = "<" if data[0] == 1 else ">"
    (code,) = unpack_from(f"{order}I", data, 1)
    kind, flags = (code & 0x1FFFFFFF) % 1000, code >> 29
    start = 5 + 4 * (flags & 1)  # a coordinate system comes first
    nested = {1: 0, 2: 4, 3: 8, 4: 9, 5: 13, 6: 17}.get(kind)
    if nested is not None and code & 0x1FFFFFFF < 4000 and len(data) >= start + nested + 16:
        yield unpack_from(f"{order}dd", data, start + nested)


# ----------------------------------------------------------------- numbers


class _Number(NamedTuple):
    values: tuple[float, ...]  # several where O may stand for the east or the west
    decimals: int


def _read(form: re.Pattern[str], text: str) -> list[_Number]:
    numbers = []
    for before, sign, digits, after in form.findall(text):
        value = float(sign + digits.replace(",", "."))
        numbers.append(_Number(_turned(value, before, after), len(digits) - digits.replace(",", ".").index(".") - 1))
    return numbers


def _turned(value: float, *letters: str) -> tuple[float, ...]:
    """A number with the signs that a letter beside it may give."""
    said = {letter.upper() for letter in letters}
    if said & {"S", "W"}:
        return (-abs(value), value)  # the letter may belong to a word
    return (value, -value) if "O" in said else (value,)


def _degrees(text: str) -> Iterator[tuple[Spelling, Place]]:
    """Two numbers with decimals, latitude first or longitude; any two where they have labels."""
    if (four := _FOUR.fullmatch(text)) is not None:
        yield EXACT, (float(f"{four[1]}.{four[2]}"), float(f"{four[3]}.{four[4]}"))
    labelled = _LABEL.search(text) is not None
    for numbers in (_read(_POINT, text), _read(_COMMA, text)):
        for one, other in combinations(numbers[:12], 2) if labelled else pairwise(numbers):
            how = LABELLED if labelled else EXACT if min(one.decimals, other.decimals) > 3 else PAIRS
            for a in one.values:
                for b in other.values:
                    yield how, (a, b)
                    yield how, (b, a)
    whole = [int(sign + digits) for sign, digits in _WHOLE.findall(text)]
    for first, second in pairwise(whole):
        for parts in (1e5, 1e6, 1e7):
            yield MILLIONTHS, (first / parts, second / parts)
            yield MILLIONTHS, (second / parts, first / parts)


def _written_out(number: re.Match[str]) -> str:
    """A number without its exponent, with a point."""
    digits = f"{Decimal(f'{number[1]}e{number[2]}'.replace(',', '.')):f}"
    return digits if "." in digits else f"{digits}.0"


def _minutes(text: str) -> Iterator[Place]:
    """Degrees, minutes and perhaps seconds, one after the other or packed as in ISO 6709."""
    found = []
    for before, sign, whole, minutes, seconds, after in _SEXAGESIMAL.findall(text):
        if (before or after or "°" in text) and float(minutes.replace(",", ".")) < 60:
            size = int(whole) + float(minutes.replace(",", ".")) / 60 + float((seconds or "0").replace(",", ".")) / 3600
            found.append(_turned(-size if sign == "-" else size, before, after))
    for one, other in pairwise(found):
        for a in one:
            for b in other:
                yield a, b
                yield b, a
    for m in _PACKED.finditer(text):
        if (m[1] or m[6]) and (m[7] or m[12]):
            yield _unpacked(m[1], m[2], m[3], m[4], m[5], m[6]), _unpacked(m[7], m[8], m[9], m[10], m[11], m[12])


def _with_colons(text: str) -> Iterator[Place]:
    """Degrees, minutes and seconds with colons, in both orders; what goes from one time of day to another is none."""
    for one, other in pairwise(_COLONS.finditer(text)):
        hours = max(int(one[2]), int(other[2])) < 24
        if not (hours and _UNTIL.fullmatch(text, one.end(), other.start(2))):
            a, b = _of_sixty(one), _of_sixty(other)
            yield a, b
            yield b, a


def _of_sixty(found: re.Match[str]) -> float:
    sign, whole, minutes, seconds, part = (said.replace(",", ".") for said in found.groups(""))
    size = int(whole) + float(minutes + part) / 60 + float(seconds or 0) / 3600
    return -size if sign == "-" else size


def _unpacked(sign: str, whole: str, minutes: str, seconds: str | None, part: str | None, letter: str) -> float:
    rest = float(part or 0)
    size = int(whole) + (int(minutes) + (rest if seconds is None else (int(seconds) + rest) / 60)) / 60
    return -size if sign == "-" or letter.upper() in ("S", "W") else size


# ----------------------------------------------------------------- grids of maps


def _gridded(text: str) -> Iterator[Place]:
    for m in _MGRS.finditer(text):
        zone, band, column, row = (m[1], m[2], m[3], m[4]) if m[1] else (m[7], m[8], m[9], m[10])
        half = len(m[11] or "") // 2
        east, north = (m[5], m[6]) if m[1] else (m[11][:half], m[11][half:])
        if len(east) == len(north):
            yield from _mgrs_places(int(zone), band.upper(), column.upper() + row.upper(), east, north)
    for m in _UTM.finditer(text):
        south = m[2].upper() < "N"
        yield utm_place(int(m[1]), float(m[3]), float(m[4]) - 1e7 * south)


def _mgrs_places(zone: int, band: str, square: str, east: str, north: str) -> Iterator[Place]:
    """The place in a square of 100 km; its row comes again every 2,000 km, and the band says which is meant."""
    columns = _COLUMNS[zone % 3]
    if not 1 <= zone <= 60 or square[0] not in columns:
        return
    x = (columns.index(square[0]) + 1) * 1e5 + float(east) * 10 ** (5 - len(east))
    y = ((_ROWS.index(square[1]) - 5 * (zone % 2 == 0)) % 20) * 1e5 + float(north) * 10 ** (5 - len(north))
    least = -80 + 8 * _BANDS.index(band)
    for turn in range(-5, 5):
        place = utm_place(zone, x, y + 2e6 * turn)
        if least - 1 <= place[0] <= least + 13:  # the last band has twelve degrees
            yield place


def utm_place(zone: int, east: float, north: float) -> Place:
    """Latitude and longitude of a point of UTM, north of the equator positive, within a metre: Krüger's series.

    Examples
    --------
    >>> [round(at, 4) for at in utm_place(18, 583960, 4507351)]
    [40.7128, -74.006]
    """
    third = 0.0016792203863837  # the third flattening of WGS 84
    scale = 0.9996 * 6367449.1458234
    xi, eta = north / scale, (east - 5e5) / scale
    terms = (third / 2 - 2 * third**2 / 3 + 37 * third**3 / 96, third**2 / 48 + third**3 / 15)
    up = xi - sum(term * sin(2 * k * xi) * cosh(2 * k * eta) for k, term in enumerate(terms, 1))
    across = eta - sum(term * cos(2 * k * xi) * sinh(2 * k * eta) for k, term in enumerate(terms, 1))
    ball = asin(sin(up) / cosh(across))
    latitude = ball + (2 * third - 2 * third**2 / 3) * sin(2 * ball) + 7 * third**2 / 3 * sin(4 * ball)
    return degrees(latitude), 6 * zone - 183 + degrees(atan2(sinh(across), cos(up)))


# ----------------------------------------------------------------- codes of cells


def _cells(text: str) -> Iterator[tuple[Spelling, Place]]:
    for m in _QUADKEY.finditer(text):
        x, y = (int("".join(str(int(digit) >> k & 1) for digit in m[0]), 2) for k in (0, 1))
        yield QUADKEYS, tile_place(len(m[0]), x, y)
    tiles = [(int(z), int(x), int(y)) for z, x, y in _TILE.findall(text)]
    query = {name.lower(): int(value) for name, value in _TILE_QUERY.findall(text)}
    if len(query) == 3:
        tiles.append((query["z"], query["x"], query["y"]))
    yield from ((TILES, tile_place(z, x, y)) for z, x, y in tiles if 10 <= z <= 30 and max(x, y) < 1 << z)
    if (whole := _GEOHASH.fullmatch(text)) is not None:
        yield GEOHASHES, geohash_place(whole[1])
    yield from ((LINKED_HASHES, geohash_place(code)) for code in _LINKED_HASH.findall(text))
    yield from ((PLUS_CODES, _plus_place(first.upper())) for first, _ in _PLUS_CODE.findall(text))
    if _LOCATOR.fullmatch(text.strip()) is not None:
        yield LOCATORS, _locator_place(text.strip().upper())


def tile_place(zoom: int, x: int, y: int) -> Place:
    """Latitude and longitude of the middle of a tile of a map.

    Examples
    --------
    >>> [round(at, 2) for at in tile_place(15, 9647, 12320)]
    [40.71, -74.01]
    """
    many = 1 << zoom
    return degrees(atan(sinh(pi * (1 - 2 * (y + 0.5) / many)))), (x + 0.5) / many * 360 - 180


def geohash_place(text: str) -> Place:
    """Latitude and longitude of the middle of a geohash.

    Examples
    --------
    >>> [round(at, 3) for at in geohash_place("dr5regw")]
    [40.713, -74.006]
    """
    ends = [[-90.0, 90.0], [-180.0, 180.0]]
    bits = "".join(f"{_DIGITS.index(letter):05b}" for letter in text.lower())
    for k, bit in enumerate(bits):
        low, high = ends[1 - k % 2]
        ends[1 - k % 2] = [(low + high) / 2, high] if bit == "1" else [low, (low + high) / 2]
    return (sum(ends[0]) / 2, sum(ends[1]) / 2)


def geohash_cells(south: float, west: float, north: float, east: float) -> list[str]:
    """The geohashes of three letters that meet a region, as alternatives of a pattern.

    Examples
    --------
    >>> geohash_cells(40.6, -74.1, 40.9, -73.8)
    ['dr5', 'dr7']
    """
    step = 180 / 128  # cells of three letters are 1.40625 degrees high and wide
    rows = range(floor((south + 90) / step), floor((north + 90) / step) + 1)
    columns = range(floor((west + 180) / step), floor((east + 180) / step) + 1)
    return [_hash_of(row % 128, column % 256) for row in rows for column in columns]


def _hash_of(row: int, column: int) -> str:
    """Fifteen bits, those of the longitude and of the latitude in turn."""
    bits = "".join(f"{column:08b}"[k // 2] if k % 2 == 0 else f"{row:07b}"[k // 2] for k in range(15))
    return "".join(_DIGITS[int(bits[k : k + 5], 2)] for k in (0, 5, 10))


def _plus_place(code: str) -> Place:
    """The middle of the cell of a full plus code, by its eight first digits."""
    sizes = (20.0, 1.0, 1 / 20, 1 / 400)
    up, across = (sum(_CODE_DIGITS.index(code[2 * k + j]) * sizes[k] for k in range(4)) for j in (0, 1))
    return up - 90 + sizes[3] / 2, across - 180 + sizes[3] / 2


def _locator_place(code: str) -> Place:
    """The middle of a square of Maidenhead's system."""
    across, up = (10 * (ord(code[k]) - 65) + int(code[2 + k]) + (ord(code[4 + k]) - 64.5) / 24 for k in (0, 1))
    return up - 90, 2 * across - 180
