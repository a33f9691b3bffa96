"""Vectors that were changed, packed in another way, or put together from two; and what such a file says, for the judge.

The reader shares no line with sfumato. It reads what :mod:`judge` can judge: rows with distances in a table, along
edges or by places. Of other files it says nothing.
"""

# ruff: noqa: B905

from __future__ import annotations

import copy
import hashlib
import json
import random
import struct
import zlib
from fractions import Fraction
from functools import cache
from itertools import combinations
from pathlib import Path
from typing import Any

from client_mutants import WAYS, Sections
from forgeries import NOWHERE, UNBOUNDED, packed
from judge import Case, truth

_VECTORS = Path(__file__).resolve().parent / "vectors"
_STRATEGIES = (zlib.Z_DEFAULT_STRATEGY, zlib.Z_FILTERED, zlib.Z_HUFFMAN_ONLY, zlib.Z_RLE, zlib.Z_FIXED)
Parts = tuple[dict[str, Any], Sections]
_LONGEST = 20_000  # bytes of all sections: a large vector that says little else takes minutes to prove


def unpacked(data: bytes) -> Parts | None:
    """Header, without the list of sections, and sections; None for a frame that is not whole."""
    try:
        _, length = struct.unpack("<QQ", data[8:24])
        header = json.loads(data[24 : 24 + length])
        found: Sections = {}
        at = 24 + length
        for section in header.pop("sections"):
            raw = zlib.decompress(data[at : at + section["size"]])
            at, count, width = at + section["size"], section["count"], section["width"]
            if len(raw) != count * width or section["name"] in found:
                return None
            found[section["name"]] = width, b"".join(raw[k::count] for k in range(count))
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError, zlib.error, struct.error):
        return None
    return (header, found) if isinstance(header, dict) and at + 32 == len(data) else None


@cache
def vectors() -> tuple[Parts, ...]:
    """All vectors whose frame is whole and whose sections are short, true ones and forged ones."""
    found = [unpacked(path.read_bytes()) for path in sorted(_VECTORS.glob("*.sfm"))]
    return tuple(parts for parts in found if parts is not None and parts[1] and _size(parts[1]) <= _LONGEST)


def _size(sections: Sections) -> int:
    return sum(len(body) for _, body in sections.values())


def changed_vector(seed: int) -> bytes:
    """A vector in one of the ways of :mod:`client_mutants`, repacked, or with a part of another one."""
    rng = random.Random(seed)
    header, sections = copy.deepcopy(rng.choice(vectors()))
    way = rng.choice((*WAYS, repacked, repacked, *(grafted,) * 8))
    return way(rng, header, dict(sections))


def grafted(rng: random.Random, header: dict[str, Any], sections: Sections) -> bytes:
    """A file with sections, or keys of the header, of another one that has them too, or has more."""
    alike = [parts for parts in vectors() if _kind(parts[0]) == _kind(header)] or list(vectors())
    same = [parts for parts in alike if len(_weights(parts[1])) == len(_weights(sections))]
    other, others = copy.deepcopy(rng.choice(same if same and rng.random() < 0.7 else alike))
    names, keys = sorted({*sections, *others}), sorted({*header, *other})
    for name in rng.sample(names, min(len(names), rng.choice((0, 1, 1, 2, 4)))):
        if name in others:
            sections[name] = others[name]
        else:
            del sections[name]
    for key in rng.sample(keys, rng.choice((0, 1, 1, 2))):
        if key in other:
            header[key] = other[key]
        else:
            del header[key]
    return repacked(rng, header, sections) if rng.random() < 0.3 else packed(header, sections)


def _weights(sections: Sections) -> bytes:
    return sections.get("weights", (1, b""))[1]


def _kind(header: dict[str, Any]) -> Any:
    promise = header.get("promise")
    return promise.get("kind") if isinstance(promise, dict) else None


def repacked(rng: random.Random, header: dict[str, Any], sections: Sections) -> bytes:
    """The same sections in another order, in streams of several blocks, and at times with bytes between or beyond."""
    bodies, listed = [], []
    for name, (width, data) in sorted(sections.items(), key=lambda _: rng.random()):
        grouped, cut = b"".join(data[k::width] for k in range(width)), rng.randrange(len(data) + 1)
        packer = zlib.compressobj(
            rng.choice((0, 1, 6, 9)), zlib.DEFLATED, rng.choice((9, 15)), 9, rng.choice(_STRATEGIES)
        )
        body = packer.compress(grouped[:cut]) + packer.flush(rng.choice((zlib.Z_SYNC_FLUSH, zlib.Z_FULL_FLUSH)))
        body += packer.compress(grouped[cut:]) + packer.flush()
        if rng.random() < 0.05:
            body += rng.choice((b"\0", body, zlib.compress(b"")))
        bodies.append(body)
        listed.append({"name": name, "width": width, "count": len(data) // width, "size": len(body)})
    text = json.dumps({**header, "sections": listed}).encode()
    frame = b"sfumato\n" + struct.pack("<QQ", 3, len(text)) + text + b"".join(bodies)
    return frame + hashlib.sha256(frame).digest()


# ----------------------------------------------------------------- what a file says


def promise_is_kept(data: bytes) -> bool | None:
    """Whether the rows of a file keep their promise about distances; None for files that this reader does not read."""
    parts = unpacked(data)
    try:
        case = None if parts is None else _case(*parts)
        return None if case is None else truth(case)
    except (ArithmeticError, AttributeError, KeyError, IndexError, TypeError, ValueError, struct.error):
        return None


def _case(header: dict[str, Any], sections: Sections) -> Case | None:
    metric, promise = header["metric"], header["promise"]
    if promise["kind"] != "rows" or "weights" not in sections or "run_starts" in sections:
        return None
    n, m, numbers = len(header["secrets"]), len(header["outputs"]), _numbers(*sections["weights"])
    rows = tuple(tuple(numbers[x * m : (x + 1) * m]) for x in range(n))
    if len(numbers) != n * m or any(sum(row) != int(header["total"]) for row in rows):
        return Case(((1,), (2,)), "rational", Fraction(1), {}, {"epsilon": Fraction(1)})  # which is false
    kept = {name: Fraction(promise[name]) for name in ("alpha", "epsilon") if name in promise}
    if len(kept) != 1 or min(kept.values()) <= 0:
        return None
    unit = Fraction(metric["unit"]) if metric["form"] != "float" else Fraction(1)
    return Case(rows, metric["form"], unit, _distances(metric, sections, n), kept)


def _distances(metric: dict[str, Any], sections: Sections, n: int) -> dict[tuple[int, int], Any]:
    """Distances of pairs that are promised by themselves: chains of them follow, and need no look."""
    pairs = list(combinations(range(n), 2))
    if metric["source"] == "places":
        numbers = _numbers(*sections["places"])
        places = [numbers[k * len(numbers) // n : (k + 1) * len(numbers) // n] for k in range(n)]
        offsets = [[abs(a - b) for a, b in zip(places[x], places[z])] for x, z in pairs]
        norm = {"euclidean": lambda o: sum(c * c for c in o), "manhattan": sum, "chebyshev": max}[metric["norm"]]
        return dict(zip(pairs, map(norm, offsets)))
    if metric["source"] == "edges":
        pairs = list(zip(_numbers(*sections["edge_first"]), _numbers(*sections["edge_second"])))
    width, data = sections["distances"]
    if metric["form"] == "float":
        lengths: list[Any] = [d if d != float("inf") else None for (d,) in struct.iter_unpack("<d", data)]
    else:
        lengths = [None if d == UNBOUNDED else d for d in _numbers(width, data)]
    implied = [via != NOWHERE for via in _numbers(*sections["via"])] if "via" in sections else [False] * len(pairs)
    return {pair: length for pair, length, chained in zip(pairs, lengths, implied, strict=True) if not chained}


def _numbers(width: int, data: bytes) -> list[int]:
    return [int.from_bytes(data[k : k + width], "little") for k in range(0, len(data), width)]
