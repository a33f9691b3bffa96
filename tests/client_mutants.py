"""Mechanism files that were changed a little, with a digest that fits: most are unreadable, some refuted, some true."""

from __future__ import annotations

import copy
import hashlib
import json
import random
import struct
import zlib
from collections.abc import Callable
from typing import Any

import box_forgeries
import forgeries
from forgeries import packed

Sections = dict[str, tuple[int, bytes]]

ODD: list[Any] = [
    None, True, False, 0, 1, 2, 3, -1, 64, 2**31, 10**30, 0.5, 1e300, "", "x", "0", "1", "-1", "1/2", "2/4", "1/0",
    " 1", "1.5", "0x1", "9" * 101, "1" * 4001, [], {}, [1], ["1"], {"fraction": "1/3"}, "rows", "events", "coordinates",
    "loss", "table", "edges", "places", "root", "float", "rational", "euclidean", "manhattan", "chebyshev", "expected",
    "worst prior", "worst secret", "loss on a box", "\u0000", "\u2028", "a" * 201, "\ud800",
]  # fmt: skip


def base(rng: random.Random) -> tuple[dict[str, Any], Sections]:
    """Header and sections of a file, true or forged."""
    seed = rng.randrange(10**9)
    if rng.random() < 0.35:
        case = box_forgeries.random_box_case(seed)
        return box_forgeries.header_of(case), box_forgeries.sections_of(case)
    found = forgeries.random_case(seed)
    header, sections = forgeries.header_of(found), forgeries.sections_of(found)
    return header, forgeries.folded(rng, header, sections) if rng.random() < 0.1 else sections


def mutant(seed: int) -> bytes:
    """A file, changed in one way or not at all."""
    rng = random.Random(seed)
    header, sections = base(rng)
    way = rng.choice(WAYS)
    return way(rng, copy.deepcopy(header), dict(sections))


def _as_it_is(_rng: random.Random, header: dict[str, Any], sections: Sections) -> bytes:
    return packed(header, sections)


def _places(value: Any, found: list[tuple[Any, Any]]) -> list[tuple[Any, Any]]:
    """All places inside of a value: containers with a key or an index."""
    for key in list(value) if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        found.append((value, key))
        _places(value[key], found)
    return found


def _other_value(rng: random.Random, header: dict[str, Any], sections: Sections) -> bytes:
    where, key = rng.choice(_places(header, []))
    where[key] = rng.choice(ODD)
    return packed(header, sections)


def _nudged(rng: random.Random, header: dict[str, Any], sections: Sections) -> bytes:
    """A number of the header becomes one that is hardly another."""
    numbers = [
        (w, k) for w, k in _places(header, []) if type(w[k]) is int or (isinstance(w[k], str) and w[k][:1].isdigit())
    ]
    if not numbers:
        return packed(header, sections)
    where, key = rng.choice(numbers)
    if isinstance(where[key], int):
        where[key] += rng.choice((-1, 1))
    else:
        head, *tail = where[key].split("/")
        where[key] = "/".join([str(int(head) + rng.choice((-1, 1))) if head.isdigit() else head, *tail])
    return packed(header, sections)


def _without_a_key(rng: random.Random, header: dict[str, Any], sections: Sections) -> bytes:
    where, key = rng.choice([(w, k) for w, k in _places(header, []) if isinstance(w, dict)])
    del where[key]
    return packed(header, sections)


def _another_key(rng: random.Random, header: dict[str, Any], sections: Sections) -> bytes:
    tables = [header, *(w[k] for w, k in _places(header, []) if isinstance(w[k], dict))]
    key = rng.choice(["more", "step", "kind", "norm", "bound", "factor", "frame", "name"])
    rng.choice(tables)[key] = rng.choice(ODD)
    return packed(header, sections)


def _swapped(rng: random.Random, header: dict[str, Any], sections: Sections) -> bytes:
    """Two neighbours of a list change places, or one is there twice."""
    lists = [w[k] for w, k in _places(header, []) if isinstance(w[k], list) and len(w[k]) > 1]
    if lists:
        found = rng.choice(lists)
        at = rng.randrange(len(found) - 1)
        found[at], found[at + 1] = (found[at + 1], found[at]) if rng.random() < 0.5 else (found[at], found[at])
    return packed(header, sections)


def _other_number(rng: random.Random, header: dict[str, Any], sections: Sections) -> bytes:
    """One number of a section becomes another."""
    filled = [name for name, (_, data) in sections.items() if data]
    name = rng.choice(filled)
    width, data = sections[name]
    at = rng.randrange(len(data) // width)
    old = int.from_bytes(data[at * width : (at + 1) * width], "little")
    new = rng.choice([0, 1, old + 1, max(old - 1, 0), 2 ** (8 * width) - 1, rng.getrandbits(8 * width), old ^ 1])
    changed = (new % 2 ** (8 * width)).to_bytes(width, "little")
    sections[name] = width, data[: at * width] + changed + data[(at + 1) * width :]
    return packed(header, sections)


def _other_length(rng: random.Random, header: dict[str, Any], sections: Sections) -> bytes:
    """A section loses or gains a number, vanishes, or comes under another name."""
    name = rng.choice(list(sections))
    width, data = sections[name]
    kind = rng.randrange(4)
    if kind == 0:
        sections[name] = width, data[:-width]
    elif kind == 1:
        sections[name] = width, data + bytes(width)
    elif kind == 2:
        del sections[name]
    else:
        sections[rng.choice(["via", "run_starts", "prior", "dual", "more"])] = width, data
    return packed(header, sections)


def _other_width(rng: random.Random, header: dict[str, Any], sections: Sections) -> bytes:
    name = rng.choice(list(sections))
    width, data = sections[name]
    numbers = [int.from_bytes(data[k : k + width], "little") for k in range(0, len(data), width)]
    wide = rng.choice([1, 2, 3, 4, 8, 16, 24])
    if all(number < 2 ** (8 * wide) for number in numbers):
        sections[name] = wide, b"".join(number.to_bytes(wide, "little") for number in numbers)
    return packed(header, sections)


def _other_bytes(rng: random.Random, header: dict[str, Any], sections: Sections) -> bytes:
    """Bytes of the file change, and its digest with them."""
    data = bytearray(packed(header, sections)[:-32])
    kind = rng.randrange(4)
    if kind == 0:
        data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)
    elif kind == 1:
        del data[rng.randrange(len(data)) :]
    elif kind == 2:
        data[rng.randrange(len(data))] = rng.randrange(256)
    else:
        data += bytes([rng.randrange(256)])
    return bytes(data) + hashlib.sha256(data).digest()


def _other_stream(rng: random.Random, header: dict[str, Any], sections: Sections) -> bytes:
    """Sections packed in other ways: stored, with fixed codes, with another window; now and then cut, or too long."""
    bodies, listed = [], []
    for name, (width, data) in sections.items():
        grouped = b"".join(data[k::width] for k in range(width))
        packer = zlib.compressobj(
            rng.randrange(10), zlib.DEFLATED, rng.choice([9, 12, 15]), 8, rng.choice([0, 2, 3, 4])
        )
        body = packer.compress(grouped) + packer.flush()
        if rng.random() < 0.1:
            body = body[:-1] if rng.random() < 0.5 else body + b"\0"
        bodies.append(body)
        listed.append({"name": name, "width": width, "count": len(data) // width, "size": len(body)})
    text = json.dumps({**header, "sections": listed}).encode()
    data = b"sfumato\n" + struct.pack("<QQ", 3, len(text)) + text + b"".join(bodies)
    return data + hashlib.sha256(data).digest()


WAYS: list[Callable[[random.Random, dict[str, Any], Sections], bytes]] = [
    _as_it_is, _other_value, _other_value, _nudged, _nudged, _without_a_key, _another_key, _swapped, _other_number,
    _other_number, _other_number, _other_length, _other_width, _other_bytes, _other_stream,
]  # fmt: skip
