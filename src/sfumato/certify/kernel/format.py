"""Reads a file: magic, version, checksum, header, and sections as large as the header calls for and its bytes allow."""

import hashlib
import json
import math
import os
import stat
import sys
import zlib
from array import array
from typing import Any

from sfumato.certify.kernel.errors import Unreadable
from sfumato.certify.kernel.fields import VERSION, Json, few_enough, integer_between
from sfumato.certify.kernel.header import MOST_LIMITS, interpret
from sfumato.certify.kernel.sections import Sections, unshuffle, unsigned
from sfumato.certify.kernel.values import (
    AnyHeader,
    CoordinatesHeader,
    DistanceClaim,
    Header,
    LossClaim,
    Metric,
    VarianceClaim,
    WrittenBox,
    noise_of,
)

MAGIC = b"sfumato\n"
LARGEST_HEADER = 1 << 27  # bytes of JSON: labels of a million secrets fit
LARGEST_SECTION = 1 << 32  # bytes unpacked: ten thousand secrets and outputs fit
LARGEST_FILE = LARGEST_HEADER + LARGEST_SECTION + (1 << 24)  # bytes; what cannot be packed gets a little longer
MOST_PLACES = 64  # coordinates of a place
MOST_LOSSES = 1 << 28  # secrets times cubes, for a bound
MOST_SPLITS = 1 << 18  # cubes that cover the outputs, those that are halved included
MOST_LAYERS = 1000  # of uniform boxes below a prior
EFFORT = 1 << 23  # numbers of up to 64 bytes, about a microsecond each, that are computed for any file
EFFORT_OF_A_BYTE = 1 << 10  # and so many more for each byte that it has: headers and zeros are short
MOST_ANSWERS = 32  # secrets beside a claim about shares


def read(path: Any) -> tuple[AnyHeader, Sections, str]:
    """Read and unpack a mechanism file: (header, sections, digest). Raises Unreadable."""
    return parse(contents(path))


def contents(path: Any) -> bytes:
    """The bytes of a file that may be one of a mechanism. Raises Unreadable."""
    try:
        kind = os.stat(path)
        if not stat.S_ISREG(kind.st_mode) or kind.st_size > LARGEST_FILE:
            raise Unreadable("a mechanism file is a regular file, and no larger than its sections may be")
        with open(path, "rb") as file:
            return file.read() if file.peek(8)[:8] == MAGIC else b""  # of anything else no more is held
    except (OSError, ValueError) as error:
        raise Unreadable(f"cannot read the file: {getattr(error, 'strerror', None) or error}") from error


def parse(data: bytes) -> tuple[AnyHeader, Sections, str]:
    """Unpack the bytes of a mechanism file: magic, version, header, sections, SHA-256 of all before it."""
    if data[:8] != MAGIC:
        raise Unreadable("this is no sfumato mechanism file")
    if len(data) < 56:
        raise Unreadable("the file is truncated")
    view = memoryview(data)
    version, length = int.from_bytes(view[8:16], "little"), int.from_bytes(view[16:24], "little")
    if version != VERSION:
        raise Unreadable(f"the file has version {version} of the format, this kernel reads version {VERSION}")
    digest = hashlib.sha256(view[:-32]).digest()
    if digest != view[-32:]:
        raise Unreadable("the file is damaged or truncated: its checksum does not match")
    if length > LARGEST_HEADER or 24 + length > len(data) - 32:
        raise Unreadable("the header is larger than the file or the limit")
    try:
        text = str(view[24 : 24 + length], "utf-8")
        header = interpret(json.loads(text, parse_constant=refuse, object_pairs_hook=once))
        sections = unpack(header, view[24 + length : -32], len(data))
        if isinstance(header, Header) and header.metric.source == "places":
            header = with_distances(header, sections)
    except Unreadable:
        raise
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, ZeroDivisionError) as error:
        raise Unreadable(f"the header cannot be understood: {error!r:.200}") from error
    return header, sections, digest.hex()


def refuse(constant: str) -> None:
    """JSON may not contain NaN or infinities."""
    raise Unreadable(f"the header contains {constant}")


def once(items: list[tuple[str, Any]]) -> Json:
    """A JSON object in which no key occurs twice: readers differ in which one they believe."""
    terms = dict(items)
    if len(terms) < len(items):
        raise Unreadable("a key of the header occurs twice")
    return terms


def unpack(header: AnyHeader, data: memoryview, size: int) -> Sections:
    """Check the shape of every section, then decompress it to no more than that; the file has ``size`` bytes."""
    shapes = {name: (count, width, size) for name, width, count, size in header.sections}
    if len(shapes) < len(header.sections):
        raise Unreadable("a section occurs twice")
    if not all(type(number) is int and number >= 0 for shape in shapes.values() for number in shape):
        raise Unreadable("a section has no proper size")
    expected = expected_counts(header, {name: count for name, (count, _, _) in shapes.items()})
    if {name: count for name, (count, _, _) in shapes.items()} != expected:
        raise Unreadable("the sections are not those that the header calls for")
    for name, (_, width, _) in shapes.items():
        most = width_for(header.total) if name == "weights" else math.inf
        if width not in WIDTHS.get(name, ANY_WIDTH) or width > max(8, most):
            raise Unreadable(f"section {name!r} has numbers of {width} bytes")
    unfolding = len(header.secrets) * len(header.outputs) * shapes["weights"][1] if "run_starts" in shapes else 0
    if unfolding + sum(count * width for count, width, _ in shapes.values()) > LARGEST_SECTION:
        raise Unreadable("the sections are too large")
    check_effort(header, expected, size)
    sections: Sections = {}
    start = 0
    for name, (count, width, size) in shapes.items():
        unpacker = zlib.decompressobj()
        try:
            raw = unpacker.decompress(data[start : start + size], count * width + 1)
        except zlib.error as error:
            raise Unreadable(f"section {name!r} cannot be unpacked") from error
        if len(raw) != count * width or not unpacker.eof or unpacker.unused_data:
            raise Unreadable(f"section {name!r} has not the size it declares")
        # the bytes of highest significance come last
        if width > 8 and raw.count(0, -8 * count) == 8 * count:
            raise Unreadable(f"section {name!r} has wider numbers than it needs")
        sections[name] = unshuffle(raw, width)
        start += size
    if start != len(data):
        raise Unreadable("there are bytes that belong to no section")
    if "run_starts" in sections:
        sections["weights"] = unfolded(header, sections)
    return sections


def with_distances(header: Header, sections: Sections) -> Header:
    """The header of a file with a table of distances, which takes the place of the places of secrets."""
    sections["distances"] = measured(header.metric, sections.pop("places"), len(header.secrets))
    return header._replace(metric=header.metric._replace(source="table"))


def unfolded(header: AnyHeader, sections: Sections) -> Any:
    """The table of weights where these are listed by the support of columns: first a floor for each column, then what
    differs from it, in runs. A run begins at secret x of column y at y·(number of secrets) + x and stays in its column.
    """
    n, m, width = len(header.secrets), len(header.outputs), header.widths["weights"]
    weights = sections["weights"]
    starts, lengths = (unsigned(sections.pop(f"run_{what}"), 4) for what in ("starts", "lengths"))
    table, used, run, end = bytearray(n * m * width), m * width, 0, 0
    for y in range(m):
        column = bytearray(weights[y * width : (y + 1) * width] * n)
        while run < len(starts) and starts[run] < (y + 1) * n:
            place, size = starts[run] - y * n, lengths[run] * width
            if starts[run] < end or not size or place + lengths[run] > n or used + size > len(weights):
                raise Unreadable("the runs of columns overlap, are empty, out of order or beyond the table")
            column[place * width : place * width + size] = weights[used : used + size]
            used, end, run = used + size, starts[run] + lengths[run], run + 1
        for k in range(width):
            table[y * width + k :: m * width] = column[k::width]
    if run < len(starts) or used != len(weights):
        raise Unreadable("the runs of columns do not use all weights, or go beyond the table")
    return table


def measured(metric: Metric, section: Any, n: int) -> Any:
    """The distances of all pairs of places, or their squares: as a section, row by row."""
    power, join = 2 if metric.norm == "euclidean" else 1, max if metric.norm == "chebyshev" else sum
    places, found = unsigned(section, 4), array("Q")
    axes = [places[k :: len(places) // n].tolist() for k in range(len(places) // n)]
    for x in range(n):
        apart = [[abs(other - along[x]) ** power for other in along[x + 1 :]] for along in axes]
        found.extend(min(join(lengths), 1 << 62) for lengths in zip(*apart, strict=True))  # more is too far
    if sys.byteorder == "big":
        found.byteswap()
    return memoryview(found).cast("B")


WIDTHS = dict.fromkeys(("via", "edge_first", "edge_second", "remap", "dual_from", "dual_to", "dual_action"), (4,))
WIDTHS |= dict.fromkeys(("event_upper", "event_lower", "event_dual_pair", "event_dual_action"), (4,))
WIDTHS |= dict.fromkeys(("run_starts", "run_lengths", "places"), (4,))
WIDTHS |= {"splits": (1,), "layer_ends": (4,), "distances": (8,), "loss": (8,), "ceilings": (8,)}
WIDTHS |= dict.fromkeys(("workload", "share_dual", "share_prices"), (8,))


ANY_WIDTH: tuple[int, ...] = (1, 2, 4, 8, *range(16, 2049, 8))  # the longest holds 4000 digits


def width_for(number: int) -> int:
    """The least width that holds a number."""
    return next(width for width in ANY_WIDTH if number < 1 << (8 * width))


def expected_counts(header: AnyHeader, declared: dict[str, int]) -> dict[str, int]:
    """How many numbers each section must hold; the file chooses the number of edges, priors and dual numbers, of which
    there are at most as many as can be of use.
    """
    if isinstance(header, CoordinatesHeader) and header.noise is not None:
        return expected_of_noise(header, declared)
    n, m = len(header.secrets), len(header.outputs)
    pairs = n * (n - 1) // 2
    expected = {"weights": n * m}
    if "run_starts" in declared:
        expected["weights"] = few_enough(max(m, declared.get("weights", 0)), m + n * m, "weights")
        expected |= dict.fromkeys(("run_starts", "run_lengths"), few_enough(declared["run_starts"], n * m, "runs"))
    if isinstance(header, CoordinatesHeader):
        return expected | expected_of_box(header.box, header.claims, declared)
    if header.metric.source in ("table", "places"):
        expected |= {"via": pairs} if "via" in declared else {}
        axes = integer_between(declared.get("places", n) // n, 1, MOST_PLACES, "the number of coordinates of a place")
        expected |= {"places": axes * n} if header.metric.source == "places" else {"distances": pairs}
    else:
        pairs = few_enough(declared.get("edge_first", 0), pairs, "edges")
        expected |= dict.fromkeys(("distances", "edge_first", "edge_second"), pairs)
    event_pairs = sum(event.pairs for event in header.events)
    if event_pairs:
        expected |= dict.fromkeys(("event_upper", "event_lower"), event_pairs)
    if isinstance(header.claims, VarianceClaim):
        return expected | expected_of_shares(n, header.claims, declared)
    return expected | expected_of_loss((n, m, pairs, event_pairs), header.claims, declared)


def expected_of_loss(
    sizes: tuple[int, int, int, int], claims: LossClaim | None, declared: dict[str, int]
) -> dict[str, int]:
    """What a claim about a loss calls for, with so many secrets, outputs, pairs and pairs of promises about events."""
    if claims is None:
        return {}
    n, m, pairs, event_pairs = sizes
    actions, limits = len(claims.actions), len(claims.ceilings)
    several = claims.criterion == "worst prior"
    number = max(1, few_enough(declared.get("prior", 0) // n, MOST_LIMITS, "priors")) if several else 1
    expected = {"prior": number * n, "remap": m, "loss": actions * n}
    expected |= {"ceilings": limits * actions * n} if limits else {}
    if claims.bound is not None:
        expected |= {"mixture": number} if several else {}
        expected |= {"ceiling_prices": limits * n} if limits else {}
        duals = few_enough(declared.get("dual", 0), 2 * pairs * actions, "dual numbers")
        expected |= dict.fromkeys(("dual", "dual_from", "dual_to", "dual_action"), duals)
        if event_pairs:
            duals = few_enough(declared.get("event_dual", 0), event_pairs * actions, "dual numbers of events")
            expected |= dict.fromkeys(("event_dual", "event_dual_pair", "event_dual_action"), duals)
    return expected


def expected_of_shares(n: int, claims: VarianceClaim, declared: dict[str, int]) -> dict[str, int]:
    """What claims about shares call for; many secrets have more corners than are checked."""
    few_enough(n, MOST_ANSWERS, "secrets beside a claim about shares")
    several = claims.criterion == "worst prior"
    number = max(1, few_enough(declared.get("prior", 0) // n, MOST_LIMITS, "priors")) if several else 1
    rows = max(1, few_enough(declared.get("workload", 0) // n, MOST_LIMITS, "rows of a workload"))
    expected = {"prior": number * n, "workload": rows * n}
    expected |= {"mixture": number} if several else {}
    return expected | ({"share_dual": rows * n, "share_prices": n} if claims.bound is not None else {})


def expected_of_box(box: WrittenBox, claims: DistanceClaim | None, declared: dict[str, int]) -> dict[str, int]:
    """What claims about a box call for."""
    expected = {} if claims is None else {"prior": math.prod(box.cells)}
    if claims is not None and claims.bound is not None:
        cubes = expected["splits"] = few_enough(declared.get("splits", 0), MOST_SPLITS, "cubes")
        n = math.prod(box.cells) * math.prod(claims.bound_parts)
        few_enough(n * cubes, MOST_LOSSES, "losses of corners")
        duals = few_enough(declared.get("dual", 0), n * (n - 1) * cubes << len(box.cells), "dual numbers")
        expected |= dict.fromkeys(("dual", "dual_from", "dual_to", "dual_action"), duals)
    return expected


def expected_of_noise(header: CoordinatesHeader, declared: dict[str, int]) -> dict[str, int]:
    """What noise and claims about it call for."""
    expected, claims = {"weights": math.prod(r + 1 for r in noise_of(header).reach)}, header.claims
    if claims is None:
        return expected
    expected["prior"] = math.prod(header.box.cells)
    if claims.bound is not None:
        layers = expected["layer_counts"] = few_enough(declared.get("layer_counts", 0), MOST_LAYERS, "layers")
        expected["layer_ends"] = 2 * len(header.box.cells) * layers
    return expected


def check_effort(header: AnyHeader, counts: dict[str, int], size: int) -> None:
    """A file about a box, or about rows that have to be unfolded, asks for no more than its bytes allow."""
    asked, most = effort(header, counts), EFFORT + EFFORT_OF_A_BYTE * size
    if asked > most:
        sizes = f"{asked} numbers to be computed, and {most} are the most for its {size} bytes"
        raise Unreadable(f"the file asks for {sizes}: it has too many cells, halvings, parts, cubes, outputs or digits")


def effort(header: AnyHeader, counts: dict[str, int]) -> int:
    """How many numbers of up to 64 bytes are computed, longer ones counted as several. For a box: coefficients of the
    promise, products of the loss, losses of corners for all secrets. For rows: those that are unfolded, and where the
    total is long comparisons of pairs, in products of its bits, and bounds of their factors, in the terms of a series.
    """
    if isinstance(header, Header):  # what is unfolded
        n, m, bits = len(header.secrets), len(header.outputs), header.total.bit_length()
        pairs = counts.get("distances", n * (n - 1) // 2)
        asked = n * m * header.widths["weights"] if "run_starts" in counts else 0
        return int(asked + pairs * (("places" in counts) + m * (bits // 128) ** 2 // 8 + 4 * (bits // 512) ** 3))
    box, claims, lattice, widths = header.box, header.claims, header.lattice, header.widths
    cells, outputs = [len(along) - 1 for along in lattice.breaks], len(header.outputs)
    pieces = [2 * (n + count) for n, count in zip(cells, box.cells, strict=False)]
    if header.noise is not None:  # one column, on offsets that are not negative
        cells, outputs = [r + 2 for r in header.noise.reach], 1
        pieces = cells
    asked = outputs * math.prod(((2 * n) << lattice.halvings) + 1 for n in cells)
    if claims is not None:
        asked += outputs * math.prod(n * claims.parts for n in pieces) + math.prod(box.cells)
    if claims is not None and "splits" in counts:
        asked += 4 * math.prod(box.cells) * math.prod(claims.bound_parts) * counts["splits"]
    rate = header.promise.rate
    digits = max(rate.numerator.bit_length(), rate.denominator.bit_length()) // 8
    return int(asked * (1 + (digits + widths["weights"] + widths.get("prior", 0)) // 64))
