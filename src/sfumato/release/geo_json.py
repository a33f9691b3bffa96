"""GeoJSON: the features of a collection, one at a time, with released points in the place of their geometries.

A collection is read as a stream: each feature becomes a line, on which the scanner of JSON lines finds the geometry;
all the rest is copied as it is written. Members of the file beside its features, such as a box around them, could tell
of true points: boxes go, names and the coordinate system stay, anything else is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.errors import InvalidInput, few, shown
from sfumato.release.batches import BatchRelease
from sfumato.release.crs import WGS84, System, system_of
from sfumato.release.lines import Bytes, Edit, Scanned
from sfumato.release.lines_json import JsonRecords

_LONGEST_HEAD = 1 << 20  # bytes before the first feature
_STAY = ("type", "name", "crs")
_GO = ("bbox", "features", "xy_coordinate_resolution", "z_coordinate_resolution")  # the last two are those of GDAL
_START = re.compile(rb"\s*\{")


class FeatureRecords(JsonRecords):
    """Features, or other objects with a geometry, one a line; boxes around geometries go."""

    def __init__(self, work: BatchRelease) -> None:
        super().__init__(work)
        self.empty = self.entries.add(b"null")
        if "bbox" not in self.place:
            self.place["bbox"] = len(self.wanted)
            self.wanted.append("bbox")

    def edits(self, scanned: Scanned, outputs: NDArray[np.int64]) -> list[Edit]:
        """What is put where; a box goes with the comma before it, or becomes null where it comes first."""
        done = super().edits(scanned, outputs)
        assert scanned.commas is not None
        if self.work.terms.keep:
            return done
        k = self.place["bbox"]
        there, follows = scanned.starts[k] >= 0, scanned.commas[k] >= 0
        first = np.where(there, np.where(follows, scanned.commas[k], scanned.starts[k]), scanned.last)
        last = np.where(there, scanned.ends[k], scanned.last)
        return [*done, (first, last, np.where(there & ~follows, self.empty, self.nothing))]


def feature_lines(blocks: Iterator[tuple[bytes, bool]], head: list[dict[str, Any]]) -> Iterator[tuple[bytes, bool]]:
    """Blocks of a collection as blocks of lines, one feature a line; its members are put into ``head``."""
    text, state = b"", np.zeros(3, dtype=np.int64)
    opened = closed = False
    for block, final in blocks:
        text += block
        if not opened:
            start = _features_at(text, final)
            if start is None:
                continue
            head.append(_members(text[:start] + b"]}"))
            text, opened = text[start:], True
        if not closed:
            lines, used, closed = _lined(np.frombuffer(text, dtype=np.uint8), state)
            text = text[used:]
            yield lines.tobytes(), closed
        if closed and len(text) > _LONGEST_HEAD:
            raise InvalidInput("more than a MiB follows the features: this is no collection of GeoJSON")
    if not closed:
        raise InvalidInput("the features do not end: the file is cut off")
    tail = _members(b'{"features": [' + (b"]" + text if not text.lstrip().startswith(b"]") else text))
    if "crs" in tail:
        raise InvalidInput("the coordinate system follows the features: put 'crs' before them")


def _features_at(text: bytes, final: bool) -> int | None:
    """Where the list of features begins; None if more has to be read."""
    if text.startswith(b"\xef\xbb\xbf"):
        raise InvalidInput("this is no GeoJSON: it begins with a byte order mark")
    if text.strip() and not _START.match(text):
        raise InvalidInput("this is no GeoJSON: it does not begin with {")
    place = int(_find_features(np.frombuffer(text, dtype=np.uint8))) if text else -1
    if place < 0 and (final or len(text) > _LONGEST_HEAD):
        raise InvalidInput("there is no list of features: a file of GeoJSON is a FeatureCollection")
    return place if place >= 0 else None


def _members(text: bytes) -> dict[str, Any]:
    """The members of a collection, its features aside; those that could tell of true points are refused."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"this is no GeoJSON: {error}") from error
    strange = [name for name in found if name not in (*_STAY, *_GO)]
    if strange:
        raise InvalidInput(
            f"the file has {few(strange)} beside its features, which may tell of true points: remove "
            f"{'it' if len(strange) == 1 else 'them'} first"
        )
    if found.get("type", "FeatureCollection") != "FeatureCollection":
        raise InvalidInput(f"this is a {shown(found['type'])}, and no FeatureCollection")
    return {name: value for name, value in found.items() if name in _STAY}


def collection_system(members: dict[str, Any]) -> System:
    """The coordinate system of a collection: degrees, unless an old file names another one."""
    crs = members.get("crs")
    if crs is None:
        return WGS84
    name = (crs.get("properties") or {}).get("name") if isinstance(crs, dict) else None
    if not isinstance(name, str):
        raise InvalidInput(f"the coordinate system {shown(crs)} has no name: remove 'crs', or name one")
    return system_of(name) or WGS84


class FeatureSink:
    """Where lines of features become a collection again."""

    def __init__(self, sink: Any, members: list[dict[str, Any]]) -> None:
        self.sink, self.members, self.any = sink, members, False

    def write(self, data: Any) -> None:
        """Lines of features, whole ones."""
        text = bytes(data).strip()
        if text:
            self.sink.write((b",\n" if self.any else self._head()) + text.replace(b"\n", b",\n"))
            self.any = True

    def finish(self) -> None:
        """The end of the collection."""
        self.sink.write((b"" if self.any else self._head()) + b"\n]}\n")

    def _head(self) -> bytes:
        members = {"type": "FeatureCollection"} | (self.members[0] if self.members else {})
        return json.dumps(members)[:-1].encode() + b', "features": [\n'


@njit(cache=True, nogil=True)
def _find_features(data):  # type: ignore[no-untyped-def]
    """The place after the bracket that follows the key ``features`` of the outermost object, −1 if it is not there."""
    word = b'"features"'
    depth, at = 0, 0
    while at < len(data):
        byte = data[at]
        if byte == 34:
            same = depth == 1 and at + len(word) <= len(data)
            for k in range(len(word)):
                same = same and data[at + k] == word[k]
            end = at + 1
            while end < len(data) and data[end] != 34:
                end += 2 if data[end] == 92 else 1
            at = end
            if same:
                place, colon = end + 1, False
                while place < len(data) and (data[place] <= 32 or (data[place] == 58 and not colon)):
                    colon = colon or data[place] == 58
                    place += 1
                if colon and place < len(data) and data[place] == 91:
                    return place + 1
        elif byte == 123 or byte == 91:
            depth += 1
        elif byte == 125 or byte == 93:
            depth -= 1
        at += 1
    return -1


@njit(cache=True, nogil=True)
def _lined(data: Bytes, state):  # type: ignore[no-untyped-def]
    """Features on a line each; how many bytes were used, and whether the list ended. ``state``: depth, text, escape."""
    result = np.empty(len(data) + 1, np.uint8)
    at = 0
    depth, inside, escaped = state[0], state[1], state[2]
    for k in range(len(data)):
        byte = data[k]
        if inside:
            if escaped:
                escaped = 0
            elif byte == 92:
                escaped = 1
            elif byte == 34:
                inside = 0
        elif byte == 34:
            inside = 1
        elif byte == 123 or byte == 91:
            depth += 1
        elif byte == 125 or byte == 93:
            if depth == 0:
                state[0], state[1], state[2] = depth, inside, escaped
                return result[:at], k, True
            depth -= 1
        elif depth == 0 and byte <= 32:
            continue
        elif depth == 0 and byte == 44:
            byte = np.uint8(10)
        elif byte < 32:
            byte = np.uint8(32)
        result[at] = byte
        at += 1
    state[0], state[1], state[2] = depth, inside, escaped
    return result[:at], len(data), False
