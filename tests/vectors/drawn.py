"""What keyed draws give: for some of the true files, a key and ids, the outputs that everybody must draw.

Most draws are decided by their first word. For a table one in 2^50 is not, and nobody finds an id for that; where three
axes share a word it is one in a million, and the ids of ``DEEP`` are such. Secrets are numbers of rows, or points.
"""

from __future__ import annotations

import tempfile
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

import sfumato as sf
from sfumato.draws.randomness import KeyedBits
from sfumato.release.keys import id_digests, salt_of
from sfumato.release.sampler import sampler

KEY = bytes(range(32))
ROWS = 24
DEEP_POINT = [0.3, 1.1, 0.7]
DEEP = {0: (5282219, 5851625, 5928163), 1: (1460112, 3358001, 4747533), 2: (2167189, 2323588, 3017130)}
"""By axes of ``coordinates-three-axes``: ids, little-endian, whose first word does not decide on the point above."""

TABLES = (
    "rows-alpha-step", "rows-epsilon", "rows-epsilon-last-bit", "rows-wide", "rows-zero-column", "rows-one-secret",
    "labels-texts", "labels-lists", "chain-of-chains", "runs", "places-manhattan", "events-factor",
)  # fmt: skip
BOXES = (
    "coordinates", "coordinates-degree-1", "coordinates-halvings", "coordinates-euclidean", "coordinates-three-axes",
    "coordinates-outputs", "coordinates-wide", "coordinates-loss-degree-1", "noise", "noise-two-axes", "ground",
    "ground-across-the-equator", "ground-noise",
)  # fmt: skip


def some_ids(name: str) -> np.ndarray[Any, Any]:
    """Sixteen bytes for each row."""
    digests = [sha256(f"{name} {row}".encode()).digest()[:16] for row in range(ROWS)]
    return np.frombuffer(b"".join(digests), dtype=np.uint8).reshape(ROWS, 16)


def some_points(name: str, header: sf.certify.kernel.CoordinatesHeader) -> list[list[float]]:
    """Points in the box and a little outside, on borders too; in degrees on the Earth."""
    box = header.box
    shares = [[((7 * k * (axis + 2)) % 23 - 1) / 20 for axis in range(len(box.sides))] for k in range(ROWS - 3)]
    shares += [[share] * len(box.sides) for share in (0.0, 0.5, 1.0)]
    origin, sides = box.origin, box.sides
    if box.frame is not None:
        frame = box.frame
        origin = [frame.west, frame.south]
        sides = [side * scale for side, scale in zip(sides, frame.degrees, strict=True)]
        shares = [[min(max(share, -0.02), 1.02) for share in point] for point in shares]
    points = [
        [float(o) + float(s) * share for o, s, share in zip(origin, sides, point, strict=True)] for point in shares
    ]
    return [[x - 360 if k % 2 and x > 180 else x for x in point] for k, point in enumerate(points)]


def draws(made: dict[str, tuple[bytes, dict[str, Any]]]) -> dict[str, Any]:
    """Keyed outputs by the name of the file, and the words, ids and salts that they are made of."""
    found: dict[str, Any] = {"": parts()}
    with tempfile.TemporaryDirectory() as folder:
        for name in (*TABLES, *BOXES):
            path = Path(folder) / "mechanism.sfm"
            path.write_bytes(made[name][0])
            mechanism = sf.load(path)
            found[name] = drawn(name, mechanism, sf.certify.kernel.parse(made[name][0])[0])
    return found


def drawn(name: str, mechanism: Any, header: sf.certify.kernel.AnyHeader) -> dict[str, Any]:
    """Key, ids, secrets, the digest of what is drawn and the outputs."""
    tell, ids = sampler(mechanism), some_ids(name)
    about_points = isinstance(header, sf.certify.kernel.CoordinatesHeader)
    secrets: Any = some_points(name, header) if about_points else [k % len(mechanism.secrets) for k in range(ROWS)]
    if name == "coordinates-three-axes":
        deep = undecided(tell)
        ids, secrets = np.concatenate([ids, deep]), [*secrets, *[DEEP_POINT] * len(deep)]
    outputs = tell.draw_keyed(np.array(secrets), ids, KEY, secret_never_changes=True)
    told = {"key": KEY.hex(), "digest": tell.digest.hex(), "ids": [bytes(row).hex() for row in ids]}
    return {**told, "secrets": secrets, "outputs": outputs.tolist()}


def undecided(tell: Any) -> np.ndarray[Any, Any]:
    """The ids of ``DEEP``, whose words begin with the digits of a chance, as is made sure of here."""
    numbers = [(axis, number) for axis, listed in DEEP.items() for number in listed]
    ids = np.array([list(number.to_bytes(16, "little")) for _, number in numbers], dtype=np.uint8)
    words = KeyedBits(KEY, tell.digest, ids).take(np.arange(len(ids)), 0, 1)[0].tolist()
    for (axis, number), word in zip(numbers, words, strict=True):
        _, (chance,) = tell.plan.axes[axis].chances(DEEP_POINT[axis])
        if (word >> 64 - 21 * (axis + 1)) % 2**21 != int(chance * 2**21):
            raise ValueError(f"the first word of id {number} decides along axis {axis}: look for another one")
    return ids


def parts() -> dict[str, Any]:
    """Words of a stream, digests of row ids and the salt of columns, one by one."""
    ids = some_ids("words")[:2]
    stream, lanes = KeyedBits(KEY, b"a context", ids), np.arange(2)
    numbers = [0, 1, 2, 3, 2**32, 2**32 + 1, 3 * 2**32]
    words = {str(number): [str(word) for word in stream.take(lanes, number, 1)[0]] for number in numbers}
    salt, texts = salt_of(["latitude", "höhe"]), [b"17", "ü".encode(), b"", b"x" * 300]
    ends = np.cumsum([0, *map(len, texts)])
    one = np.frombuffer(b"".join(texts), dtype=np.uint8), ends, ord("t")
    two = np.frombuffer(b"".join(texts), dtype=np.uint8), ends, ord("b")
    digests = id_digests([one, two], salt)
    by_key = {"key": KEY.hex(), "context": b"a context".hex(), "ids": [bytes(one).hex() for one in ids]}
    return {
        "words": {**by_key, "words": words},
        "rows": {
            "columns": ["latitude", "höhe"], "salt": salt.hex(), "texts": [text.hex() for text in texts],
            "letters": ["t", "b"], "ids": [bytes(digest).hex() for digest in digests],
        },
    }  # fmt: skip
