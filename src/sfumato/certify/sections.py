"""The sections of a file, each declared once: what its numbers are, how many there are, and which part calls for it.

Writers ask :func:`laid` for the bytes of some sections, and readers :func:`values_of` for arrays of their shape. The
kernel imports nothing and has a table of its own: a test holds the two equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from math import prod
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from sfumato.certify import kernel
from sfumato.errors import InvalidInput
from sfumato.numbers import Array
from sfumato.spaces.distances import Form

_LARGEST_BITS = 8192  # Bits of a weight: the kernel reads totals of up to 4000 digits.


class Numbers(StrEnum):
    """What the numbers of a section are."""

    INTEGERS = "unsigned integers in the fewest bytes"
    INDICES = "unsigned integers of 4 bytes"
    BYTES = "unsigned integers of 1 byte"
    DOUBLES = "IEEE doubles"
    DISTANCES = "unsigned integers of 8 bytes, or IEEE doubles where that is their form"


_TYPES = {Numbers.INDICES: "<u4", Numbers.BYTES: "<u1", Numbers.DOUBLES: "<f8"}


@dataclass(frozen=True)
class Section:
    """Numbers of fixed width, little-endian."""

    width: int
    data: bytes


@dataclass(frozen=True)
class SectionKind:
    """A section that a file may have.

    Parameters
    ----------
    name, numbers
        What it is called, and what its numbers are.
    axes
        What its numbers are counted along. The first one may be up to the file: edges, priors, dual numbers, layers.
    part
        The part of a file that it belongs to: who lays that out writes it, and who reads that part reads it.
    """

    name: str
    numbers: Numbers
    axes: tuple[str, ...]
    part: str


SECTIONS: Final = (
    SectionKind("weights", Numbers.INTEGERS, ("table",), "mechanism"),
    SectionKind("run_starts", Numbers.INDICES, ("runs",), "support of columns"),
    SectionKind("run_lengths", Numbers.INDICES, ("runs",), "support of columns"),
    SectionKind("distances", Numbers.DISTANCES, ("pairs",), "metric"),
    SectionKind("via", Numbers.INDICES, ("pairs",), "metric"),
    SectionKind("edge_first", Numbers.INDICES, ("pairs",), "metric"),
    SectionKind("edge_second", Numbers.INDICES, ("pairs",), "metric"),
    SectionKind("places", Numbers.INDICES, ("secrets", "coordinates"), "metric"),
    SectionKind("event_upper", Numbers.INDICES, ("pairs of events",), "events"),
    SectionKind("event_lower", Numbers.INDICES, ("pairs of events",), "events"),
    SectionKind("prior", Numbers.INTEGERS, ("priors", "cells"), "claim"),
    SectionKind("mixture", Numbers.INTEGERS, ("priors",), "claim about rows"),
    SectionKind("loss", Numbers.DOUBLES, ("actions", "secrets"), "claim about a loss"),
    SectionKind("remap", Numbers.INDICES, ("outputs",), "claim about a loss"),
    SectionKind("ceilings", Numbers.DOUBLES, ("limits", "actions", "secrets"), "claim about a loss"),
    SectionKind("ceiling_prices", Numbers.INTEGERS, ("limits", "secrets"), "claim about a loss"),
    SectionKind("dual", Numbers.INTEGERS, ("dual numbers",), "bound"),
    SectionKind("dual_from", Numbers.INDICES, ("dual numbers",), "bound"),
    SectionKind("dual_to", Numbers.INDICES, ("dual numbers",), "bound"),
    SectionKind("dual_action", Numbers.INDICES, ("dual numbers",), "bound"),
    SectionKind("event_dual", Numbers.INTEGERS, ("dual numbers of events",), "bound"),
    SectionKind("event_dual_pair", Numbers.INDICES, ("dual numbers of events",), "bound"),
    SectionKind("event_dual_action", Numbers.INDICES, ("dual numbers of events",), "bound"),
    SectionKind("workload", Numbers.DOUBLES, ("rows", "secrets"), "claim about shares"),
    SectionKind("share_dual", Numbers.DOUBLES, ("rows", "secrets"), "claim about shares"),
    SectionKind("share_prices", Numbers.DOUBLES, ("secrets",), "claim about shares"),
    SectionKind("splits", Numbers.BYTES, ("cubes",), "bound on a box"),
    SectionKind("layer_counts", Numbers.INTEGERS, ("layers",), "bound below noise"),
    SectionKind("layer_ends", Numbers.INDICES, ("layers", "ends", "axes"), "bound below noise"),
)
"""All that files may have."""

_KINDS: Final = {section.name: section for section in SECTIONS}


def laid(**values: Any) -> dict[str, Section]:
    """Sections by their names, with numbers of the kinds that these have.

    Examples
    --------
    >>> laid(remap=[1, 0], weights=np.array([[300, 1]]))["weights"].width
    2
    """
    return {name: _section(_KINDS[name].numbers, np.asarray(found)) for name, found in values.items()}


def _section(numbers: Numbers, values: Array) -> Section:
    if numbers is Numbers.INTEGERS:
        return _integers(values)
    kind = _TYPES.get(numbers) or ("<f8" if values.dtype.kind == "f" else "<u8")
    return Section(np.dtype(kind).itemsize, values.astype(kind).tobytes())


def _integers(values: Array) -> Section:
    """Non-negative integers in the fewest bytes that are 1, 2, 4, 8 or a multiple of 8."""
    flat = values.ravel()
    if not flat.size:  # a bound that needs no dual number
        return Section(1, b"")
    if flat.dtype.kind not in "iuO" or any(v < 0 or v != int(v) for v in (flat.min(), flat.max())):
        raise InvalidInput("weights must be non-negative integers")
    largest = int(flat.max())
    if largest.bit_length() > _LARGEST_BITS:
        raise InvalidInput(f"a weight of {largest.bit_length()} bits is beyond the {_LARGEST_BITS} that files hold")
    for width in (1, 2, 4, 8):
        if largest < 1 << (8 * width):
            return Section(width, flat.astype(np.uint64).astype(f"<u{width}").tobytes())
    width = 8 * (-(-largest.bit_length() // 64))
    return Section(width, b"".join(int(v).to_bytes(width, "little") for v in flat))


def stored(name: str, header: kernel.AnyHeader, sections: dict[str, bytes]) -> NDArray[Any]:
    """The numbers of a section where they lie, as an array of its shape; integers of at most 8 bytes, or doubles."""
    numbers = _KINDS[name].numbers
    if numbers is Numbers.INTEGERS:
        kind = f"<u{header.widths[name]}"
    elif numbers is Numbers.DISTANCES and isinstance(header, kernel.Header):
        kind = "<f8" if header.metric.form == Form.FLOAT else "<u8"
    else:
        kind = _TYPES[numbers]
    return np.frombuffer(sections[name], dtype=kind).reshape(counts_of(name, header))


def values_of(name: str, header: kernel.AnyHeader, sections: dict[str, bytes]) -> Array:
    """The numbers of a section as an array of its shape: doubles, integers of 64 bits, or Python's where these are
    longer than 63.
    """
    if _KINDS[name].numbers is Numbers.INTEGERS and (width := header.widths[name]) > 8:
        listed = kernel.integers(sections[name], width, 0, len(sections[name]) // width)
        return np.array(listed, dtype=object).reshape(counts_of(name, header))
    values = stored(name, header, sections)
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    if values.dtype.itemsize < 8 or not values.size or values.max() < 2**63:
        return values.astype(np.int64)
    return values.astype(np.uint64).astype(object)


def counts_of(name: str, header: kernel.AnyHeader) -> tuple[int, ...]:
    """How many numbers a section has along its axes, −1 where that is up to the file.

    Where columns are listed by their support, and where there are places in the stead of distances, the kernel has
    unfolded that before anybody reads it.
    """
    sizes = _sizes_of_rows(header) if isinstance(header, kernel.Header) else _sizes_of_box(header)
    return tuple(size for axis in _KINDS[name].axes for size in sizes.get(axis, (-1,)))


def _sizes_of_rows(header: kernel.Header) -> dict[str, tuple[int, ...]]:
    n, m, claims = len(header.secrets), len(header.outputs), header.claims
    sizes: dict[str, tuple[int, ...]] = {"table": (n, m), "secrets": (n,), "outputs": (m,), "cells": (n,)}
    if isinstance(claims, kernel.LossClaim):
        sizes |= {"actions": (len(claims.actions),), "limits": (len(claims.ceilings),)}
    if header.metric.source == "table":
        sizes["pairs"] = (n * (n - 1) // 2,)
    if header.events:
        sizes["pairs of events"] = (sum(event.pairs for event in header.events),)
    return sizes


def _sizes_of_box(header: kernel.CoordinatesHeader) -> dict[str, tuple[int, ...]]:
    noise, cells = header.noise, header.box.cells
    table = (len(header.secrets), len(header.outputs)) if noise is None else tuple(r + 1 for r in noise.reach)
    return {"table": table, "cells": (prod(cells),), "ends": (2,), "axes": (len(cells),)}
