"""What test vectors are made of: headers and sections of small files, written without a line of sfumato.

A file is a header and sections, each a width and its bytes. Headers say what is needed and no more, in few bytes.
"""

from __future__ import annotations

import hashlib
import json
import struct
import zlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

VERSION = 3  # of the format
FAR = 2**64 - 1  # nothing is promised
NOWHERE = 2**32 - 1  # no secret lies between
WIDTHS = (1, 2, 4, 8, *range(16, 2049, 8))


class File(NamedTuple):
    """Header and sections."""

    header: dict[str, Any]
    sections: dict[str, tuple[int, bytes]]

    def saying(self, **changes: Any) -> File:
        """The same file with other values in its header; an ellipsis leaves a key out."""
        return File(kept({**self.header, **changes}), self.sections)

    def about(self, part: str, **changes: Any) -> File:
        """The same file with other values in an object of its header; an ellipsis leaves a key out."""
        return self.saying(**{part: kept({**self.header.get(part, {}), **changes})})

    def holding(self, **sections: Any) -> File:
        """The same file with other sections; an ellipsis leaves one out."""
        return File(self.header, kept({**self.sections, **sections}))

    def written(self) -> bytes:
        """Its bytes: magic, version, header, sections with their bytes grouped by significance, SHA-256 of all that."""
        bodies = {name: zlib.compress(b"".join(data[k::width] for k in range(width)), 9)
                  for name, (width, data) in self.sections.items()}  # fmt: skip
        listed = [
            {"name": name, "width": width, "count": len(data) // width, "size": len(bodies[name])}
            for name, (width, data) in self.sections.items()
        ]
        text = written_json({**self.header, "sections": listed})
        start = b"sfumato\n" + struct.pack("<QQ", VERSION, len(text))
        return sealed(start + text + b"".join(bodies.values()) + bytes(32))


def written_json(header: dict[str, Any]) -> bytes:
    """A header without spaces."""
    return json.dumps(header, separators=(",", ":")).encode()


def kept(terms: dict[str, Any]) -> dict[str, Any]:
    """The terms without those that are left out."""
    return {name: value for name, value in terms.items() if value is not ...}


def numbers(values: Sequence[int], width: int | None = None) -> tuple[int, bytes]:
    """A section of unsigned integers, as wide as the largest needs."""
    width = width or next(w for w in WIDTHS if max(values, default=0) < 1 << (8 * w))
    return width, b"".join(value.to_bytes(width, "little") for value in values)


def doubles(values: Sequence[float]) -> tuple[int, bytes]:
    """A section of doubles."""
    return 8, struct.pack(f"<{len(values)}d", *values)


def merged(*families: dict[str, Any]) -> dict[str, Any]:
    """All of some files, no two of which have one name."""
    found: dict[str, Any] = {}
    for family in families:
        if found.keys() & family.keys():
            raise ValueError(f"two files have one name: {sorted(found.keys() & family.keys())}")
        found |= family
    return found


def flat(table: Sequence[Sequence[Any]]) -> list[Any]:
    """Rows one after another."""
    return [value for row in table for value in row]


def rows(
    weights: Sequence[Sequence[int]],
    distances: Sequence[Any],
    promise: dict[str, str],
    *,
    form: str = "rational",
    unit: str = "1",
    edges: Sequence[tuple[int, int]] | None = None,
    via: Sequence[int] | None = None,
    **header: Any,
) -> File:
    """A file about rows."""
    source = "table" if edges is None else "edges"
    about = {
        "version": VERSION,
        "secrets": list(range(len(weights))),
        "outputs": list(range(len(weights[0]))),
        "total": str(sum(weights[0])),
        "metric": {"form": form, "unit": unit, "source": source},
        "promise": {"kind": "rows", **promise},
    }
    sections = {"weights": numbers(flat(weights))}
    sections["distances"] = doubles(distances) if form == "float" else numbers(list(distances), 8)
    if edges is not None:
        sections |= {f"edge_{end}": numbers([edge[k] for edge in edges], 4) for k, end in enumerate(ENDS)}
    if via is not None:
        sections["via"] = numbers(via, 4)
    return File({**about, **header}, sections)


ENDS = ("first", "second")


def claimed(
    file: File, loss: str, table: Sequence[Sequence[float]], remap: Sequence[int], prior: Any, **claim: Any
) -> File:
    """The file with a claim about a loss: a table with one row an action, and one prior or several."""
    claims = {"kind": "loss", "loss": loss, "loss_unit": "1", "actions": list(range(len(table))), **claim}
    priors = flat(prior) if isinstance(prior[0], list) else list(prior)
    parts = {"prior": numbers(priors), "loss": doubles(flat(table)), "remap": numbers(remap, 4)}
    return File({**file.header, "claims": claims}, {**file.sections, **parts})


def bounded(file: File, bound: str, unit: str, duals: Sequence[tuple[int, int, int, int]]) -> File:
    """The file with a bound beside its claim, by dual numbers (from, to, action, value)."""
    parts = {f"dual_{part}": numbers([dual[k] for dual in duals], 4) for k, part in enumerate(("from", "to", "action"))}
    return file.about("claims", bound=bound, dual_unit=unit).holding(dual=numbers([dual[3] for dual in duals]), **parts)


def promising(file: File, *promises: tuple[dict[str, str], Sequence[tuple[int, int]]]) -> File:
    """The file with promises about events."""
    pairs = [pair for _, listed in promises for pair in listed]
    parts = {f"event_{end}": numbers([pair[k] for pair in pairs], 4) for k, end in enumerate(("upper", "lower"))}
    return file.saying(events=[{**terms, "pairs": len(listed)} for terms, listed in promises]).holding(**parts)


def coordinates(
    weights: Sequence[Sequence[int]],
    outputs: Sequence[Any],
    sides: Sequence[str],
    breaks: Sequence[Sequence[str]],
    promise: dict[str, str],
    *,
    cells: Sequence[int] | None = None,
    metric: str = "euclidean",
    degree: int = 2,
    halvings: int = 0,
    frame: Any = None,
    origin: Sequence[str] | None = None,
) -> File:
    """A file about all points of a box."""
    box = {
        "sides": list(sides), "cells": list(cells or [1] * len(sides)), "metric": metric,
        "origin": list(origin or ["0"] * len(sides)), "frame": frame,
    }  # fmt: skip
    header = {
        "version": VERSION,
        "outputs": list(outputs),
        "total": str(sum(weights[0])),
        "box": box,
        "lattice": {"degree": degree, "halvings": halvings, "breaks": [list(along) for along in breaks]},
        "promise": {"kind": "coordinates", **promise},
    }
    return File(header, {"weights": numbers(flat(weights))})


def noise(
    table: Sequence[int],
    floor: int,
    reach: Sequence[int],
    sides: Sequence[str],
    cells: Sequence[int],
    promise: dict[str, str],
    *,
    box_cells: Sequence[int] | None = None,
    metric: str = "euclidean",
    halvings: int = 0,
    frame: Any = None,
) -> File:
    """A file about noise that is the same everywhere; its total is what the table comes to."""
    total, extended = 0, 1
    for number, weight in enumerate(table):
        place, signs = number, 1
        for r in reversed(reach):
            place, offset = divmod(place, r + 1)
            signs <<= offset > 0
        total += signs * weight
    for n, r in zip(cells, reach, strict=True):
        extended *= n + 2 + 2 * r
    box = {
        "sides": list(sides), "cells": list(box_cells or [1] * len(sides)), "metric": metric,
        "origin": ["0"] * len(sides), "frame": frame,
    }  # fmt: skip
    header = {
        "version": VERSION,
        "total": str(total + floor * extended),
        "box": box,
        "noise": {"cells": list(cells), "reach": list(reach), "floor": str(floor), "halvings": halvings},
        "promise": {"kind": "coordinates", **promise},
    }
    return File(header, {"weights": numbers(table)})


# ----------------------------------------------------------------- bytes that nobody writes


def sealed(data: bytes) -> bytes:
    """The bytes before the digest, with their own."""
    return data[:-32] + hashlib.sha256(data[:-32]).digest()


def header_text(data: bytes) -> bytes:
    """The header of a file as it is written."""
    return data[24 : 24 + int.from_bytes(data[16:24], "little")]


def rewritten(data: bytes, change: Callable[[bytes], bytes]) -> bytes:
    """The file with another text as its header, its length and digest set right."""
    text = header_text(data)
    new = change(text)
    return sealed(data[:16] + len(new).to_bytes(8, "little") + new + data[24 + len(text) :])


def listed(data: bytes, name: str, **changes: Any) -> bytes:
    """The file with another entry in its list of sections."""

    def change(text: bytes) -> bytes:
        header = json.loads(text)
        for section in header["sections"]:
            if section["name"] == name:
                section |= changes
        return written_json(header)

    return rewritten(data, change)
