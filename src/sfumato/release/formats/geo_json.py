"""GeoJSON: the features of a collection, one at a time, with released points in the place of their geometries.

A collection is read as a stream: each feature becomes a line, on which the scanner of JSON lines finds the geometry;
its properties are copied as they are written. Members of a feature beside them may hold the true point once more, as
geocoders write it: boxes go, ``id`` is a column, and any other member is refused until somebody says that it goes or
stays. Of the members of a collection only the coordinate system stays, written anew; foreign ones are refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from sfumato.errors import InvalidInput, few, keyword, shown
from sfumato.release.batches import BatchRelease
from sfumato.release.crs import WGS84, System, system_of
from sfumato.release.formats.lines import Bytes, Edit, Scanned
from sfumato.release.formats.lines_json import JsonRecords
from sfumato.release.rows import BadRow

_LONGEST_HEAD = 1 << 20  # bytes before the first feature
_KNOWN = (
    "type", "name", "description", "crs", "bbox", "features",
    "xy_coordinate_resolution", "z_coordinate_resolution",  # which GDAL writes
)  # fmt: skip
_FEATURE = np.frombuffer(b'"Feature"', dtype=np.uint8)

FIXED = ("type", "geometry", "properties")
"""The members that make a feature; they can neither be left out nor be columns."""

_LISTED = (*FIXED, "id", "bbox")
_START = re.compile(rb"\s*\{")


class FeatureRecords(JsonRecords):
    """Features, or other objects with a geometry, one a line; boxes around geometries go."""

    def __init__(self, work: BatchRelease, *, collection: bool) -> None:
        super().__init__(work)
        self.empty = self.entries.add(b"null")
        self.collection = collection
        for name in _LISTED:
            if name not in self.place:
                self.place[name] = len(self.wanted)
                self.wanted.append(name)

    def scan(self, data: Bytes, most: int, *, final: bool, first_row: int) -> Scanned:
        """Up to ``most`` whole features; one with a member that nobody has spoken of is refused."""
        scanned = super().scan(data, most, final=final, first_row=first_row)
        assert scanned.other is not None
        foreign = np.flatnonzero((scanned.other >= 0) & self._features(data, scanned))
        if foreign.size and not self.work.terms.keep:
            row = int(foreign[0])
            text = data[scanned.other[row] : scanned.last[row] + 1].tobytes().decode()
            name = json.JSONDecoder().raw_decode(text)[0]
            raise BadRow(
                f"the feature has {shown(name)} beside its properties, which may tell its true place: say whether it "
                f"goes, {keyword('drop', name)}, or stays",
                first_row + row + 1,
            )
        return scanned

    def _features(self, data: Bytes, scanned: Scanned) -> NDArray[np.bool_]:
        """Which records are features, and no objects whose keys are columns."""
        found: NDArray[np.bool_] = (scanned.starts[self.place["properties"]] >= 0) | self.collection
        k = self.place["type"]
        likely = np.flatnonzero(
            ~found & (scanned.ends[k] - scanned.starts[k] == len(_FEATURE)) & (scanned.starts[k] >= 0)
        )
        found[likely] = (data[scanned.starts[k][likely][:, None] + np.arange(len(_FEATURE))] == _FEATURE).all(axis=1)
        return found

    def named_values(self, record: dict[str, Any]) -> dict[str, Any]:
        """What stands in the columns of a feature, or in the keys of another object; boxes go."""
        return feature_columns(record) if is_feature(record) else {k: v for k, v in record.items() if k != "bbox"}

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


def is_feature(record: dict[str, Any]) -> bool:
    """Whether an object is a feature, and none whose keys are columns."""
    return "properties" in record or record.get("type") == "Feature"


def feature_columns(record: dict[str, Any]) -> dict[str, Any]:
    """The columns of a feature: its properties, and its members beside those that make it.

    What a property and a member are both called holds both.

    Examples
    --------
    >>> feature_columns({"type": "Feature", "id": 7, "properties": {"id": 8, "name": "a"}, "geometry": None})
    {'id': [8, 7], 'name': 'a'}
    """
    found = dict(record.get("properties") or {})
    for name, value in record.items():
        if name not in (*FIXED, "bbox"):
            found[name] = [found[name], value] if name in found else value
    return found


def foreign_members(record: dict[str, Any]) -> list[str]:
    """The members of a feature that are none of the standard."""
    return [name for name in record if name not in _LISTED]


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
    """The coordinate system of a collection; what is foreign beside it, and could tell of true points, is refused."""
    try:
        found = json.loads(text)
    except ValueError as error:
        raise InvalidInput(f"this is no GeoJSON: {error}") from error
    strange = [name for name in found if name not in _KNOWN]
    if strange:
        raise InvalidInput(
            f"the file has {few(strange)} beside its features, which may tell of true points: remove "
            f"{'it' if len(strange) == 1 else 'them'} first"
        )
    if found.get("type", "FeatureCollection") != "FeatureCollection":
        raise InvalidInput(f"this is a {shown(found['type'])}, and no FeatureCollection")
    return {"crs": found["crs"]} if "crs" in found else {}


def collection_system(members: dict[str, Any]) -> System:
    """The coordinate system of a collection: degrees, unless an old file names another one."""
    crs = members.get("crs")
    if crs is None:
        return WGS84
    name = _crs_name(crs)
    if name is None:
        raise InvalidInput(f"the coordinate system {shown(crs)} has no name: remove 'crs', or name one")
    return system_of(name) or WGS84


def _crs_name(crs: Any) -> str | None:
    """The name of a coordinate system in an old file."""
    name = (crs.get("properties") or {}).get("name") if isinstance(crs, dict) else None
    return name if isinstance(name, str) else None


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
        members: dict[str, Any] = {"type": "FeatureCollection"}
        name = _crs_name(self.members[0].get("crs")) if self.members else None
        if name is not None:
            members["crs"] = {"type": "name", "properties": {"name": name}}
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
