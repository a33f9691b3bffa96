"""The numbers of a file: its sections read where they lie, and positions in them."""

import itertools
import sys
from array import array
from collections.abc import Sequence
from typing import Any

Sections = dict[str, bytes]  # by their names; or views of bytes
Words = Any  # a memoryview, array or list of integers


def unshuffle(raw: bytes, width: int) -> Any:
    """Undo the grouping of bytes by significance that makes sections compress well."""
    if width == 1:
        return raw
    count = len(raw) // width
    result, groups = bytearray(len(raw)), memoryview(raw)
    for k in range(width):
        result[k::width] = groups[k * count : (k + 1) * count]
    return result


def integers(section: Any, width: int, start: int, count: int) -> list[int]:
    """``count`` unsigned integers of ``width`` bytes, from position ``start`` on."""
    if width in (1, 2, 4, 8):
        return list(unsigned(section, width)[start : start + count])
    return list(map(reader(section, width), range(start, start + count)))


def reader(section: Any, width: int) -> Any:
    """A function from positions to unsigned integers of so many bytes."""
    if width in (1, 2, 4, 8):
        return unsigned(section, width).__getitem__
    view = memoryview(section)
    return lambda k: int.from_bytes(view[k * width : (k + 1) * width], "little")


def unsigned(section: Any, width: int) -> Words:
    """Unsigned integers of 1, 2, 4 or 8 bytes."""
    return words(section, {1: "B", 2: "H", 4: "I", 8: "Q"}[width])


def words(section: Any, kind: Any) -> Any:
    """The numbers of a section where they lie, or a copy of them on a big-endian machine: files are little-endian."""
    if sys.byteorder == "little":
        return memoryview(section).cast("B").cast(kind)
    values = array(kind, bytes(section))
    values.byteswap()
    return values


def grouped(keys: Words, n: int) -> tuple[Words, Words]:
    """Positions ordered by their key, which is below n, and where each key begins: a counting sort."""
    starts = array("I", bytes(4 * (n + 1)))
    for key in keys:
        starts[key + 1] += 1
    for key in range(n):
        starts[key + 1] += starts[key]
    order, free = array("I", bytes(4 * len(keys))), starts[:]
    for k, key in enumerate(keys):
        order[free[key]] = k
        free[key] += 1
    return starts, order


def repeats(first: Words, second: Words, n: int) -> bool:
    """Whether a pair of numbers occurs twice; the first ones are below n."""
    starts, order = grouped(first, n)
    groups = ([second[k] for k in order[start:stop]] for start, stop in itertools.pairwise(starts))
    return any(len(set(others)) < len(others) for others in groups)


def position(x: int, z: int, n: int) -> int:
    """Index of the pair x < z in the upper triangle, row by row."""
    return x * (2 * n - x - 1) // 2 + z - x - 1


def place_of(number: int, shape: Sequence[int]) -> list[int]:
    """Where a number stands along the axes of a table, the last axis first."""
    found: list[int] = []
    for side in reversed(shape):
        number, place = divmod(number, side)
        found.insert(0, place)
    return found
