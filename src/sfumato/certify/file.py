"""The file ``mechanism.sfm``: one self-contained file that the bare kernel can read.

Layout: eight bytes of magic, version and header length as 64-bit little-endian integers, a JSON
header, the sections (each compressed, bytes grouped by significance), and the SHA-256 of all
that. It is written under another name and moved into place, so it appears whole or not at all.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import replace
from fractions import Fraction
from functools import partial
from os import PathLike
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.spatial.distance import squareform

from sfumato.arguments import file_path, flag, quoted
from sfumato.certify import kernel
from sfumato.certify.certificate import Certifiable, Certificate, certificate_of
from sfumato.certify.label_json import label_from_json
from sfumato.certify.mechanism import Ceiling, Claim, Dual, Mechanism, SharesClaim
from sfumato.certify.sections import Section, laid, stored, values_of
from sfumato.channels.prior import Prior
from sfumato.errors import InvalidFile, InvalidInput, expect
from sfumato.files import Kind, write_whole
from sfumato.losses.loss import Loss, read_later
from sfumato.measures.shares import named_again
from sfumato.numbers import Array, nearest_float, object_array
from sfumato.privacy.events import EventPromise
from sfumato.privacy.predicates_curves import Growth
from sfumato.privacy.type import PrivacyType
from sfumato.spaces.axioms import INFINITE
from sfumato.spaces.cells import ground_from_json
from sfumato.spaces.constructors import lengths_of
from sfumato.spaces.distances import Distances, Form
from sfumato.spaces.finite import Edges, FiniteSpace, Pairs, Structure, path_metric
from sfumato.threads import on_threads

_COMPRESSION = 1  # The level of zlib: more effort gains nothing.
_SMALL_SECTION = 1 << 16  # Sections of at most so many bytes are compressed in one go.
_SAMPLE = 1 << 14  # So many bytes of a section tell whether the others will shrink.
_INCOMPRESSIBLE = 0.95  # Bytes of which more than this share is left are not worth compressing.
_FEWEST_PLACES = 50  # Distances of fewer places take no room.
_FARTHEST = 2**31  # Places with larger coordinates have no distances that files hold.
_FEWEST_WEIGHTS = 1000  # A table of fewer is written as it is.
_WHOLE = 2.0**62  # Whole losses below it are integers of 64 bits.
_KEPT = "_file"  # What a mechanism has the bytes of its file under.
_ZLIB_HEADER = b"\x78\x01"  # A zlib stream begins so: deflate with a window of 32 KiB, no dictionary.


_Proved = TypeVar("_Proved", bound=Mechanism | Certifiable)


MECHANISM = Kind("a mechanism file", lambda data: data.startswith(kernel.MAGIC))
"""What :func:`save` writes."""


def save(mechanism: Mechanism | Certifiable, path: str | PathLike[str], *, overwrite: bool = False) -> str:
    """Write a mechanism atomically; returns the SHA-256 that ends the file.

    A mechanism file that is already there is replaced with ``overwrite``, any other file never.
    """
    if not isinstance(mechanism, Certifiable):
        mechanism = expect(mechanism, Mechanism, "what is saved", "a Repair has one as .mechanism, prove() makes one")
    overwrite = flag(overwrite, "overwrite")
    return write_whole(path, lambda: file_of(mechanism), MECHANISM, overwrite=overwrite)[-32:].hex()


def file_of(mechanism: Mechanism | Certifiable) -> bytes:
    """The bytes of a mechanism's file: those that were proved or read, and laid out once for whoever has none yet."""
    if _KEPT not in vars(mechanism):
        with_file(mechanism, to_bytes(certificate_of(mechanism)))
    data: bytes = vars(mechanism)[_KEPT]
    return data


def with_file(mechanism: _Proved, data: bytes) -> _Proved:
    """The mechanism, which keeps the bytes of its file beside its proof.

    They are no field, so that :func:`dataclasses.replace` leaves them out: nothing has been proved of what it makes.
    """
    vars(mechanism)[_KEPT] = data
    return mechanism


def to_bytes(written: Certificate) -> bytes:
    """The bytes of the file: columns by their support where that is shorter, places instead of their distances."""
    written = _by_places(written)
    bodies, listed = [], []
    written, packed_already = _by_support(written)
    for name, section in written.sections.items():
        body = packed_already.get(name) or packed(section)
        bodies.append(body)
        listed.append({"name": name, "width": section.width, "count": len(section.data) // section.width,
                       "size": len(body)})  # fmt: skip
    header = json.dumps({**written.header, "sections": listed}, ensure_ascii=False, allow_nan=False).encode()
    start = kernel.MAGIC + kernel.VERSION.to_bytes(8, "little") + len(header).to_bytes(8, "little")
    data = b"".join([start, header, *bodies])
    return data + hashlib.sha256(data).digest()


def _by_places(written: Certificate) -> Certificate:
    """The same certificate with places of secrets instead of a table of distances, where these are those of a norm."""
    header, sections = written.header, written.sections
    if "metric" not in header or header["metric"]["source"] != "table":
        return written
    metric, drawn = header["metric"], header["space"]["coordinates"]
    if drawn is None or len(drawn) < _FEWEST_PLACES:
        return written
    with np.errstate(all="ignore"):
        cells = np.rint((np.array(drawn) - np.min(drawn, axis=0)) / nearest_float(Fraction(metric["unit"])))
    distances = np.frombuffer(sections["distances"].data, dtype="<u8")
    too_many = cells.shape[1] > kernel.MOST_PLACES or len(distances) > kernel.EFFORT
    if metric["form"] == "float" or too_many or not (cells < _FARTHEST).all():
        return written
    first, second = np.triu_indices(len(cells), 1)
    apart = np.abs(cells.astype(np.int64)[first] - cells.astype(np.int64)[second])
    for norm, form in kernel.NORMS.items():
        if form == metric["form"] and np.array_equal(lengths_of(apart.T, norm).astype(np.uint64), distances):
            kept = {name: section for name, section in sections.items() if name != "distances"}
            about = {**header, "metric": {**metric, "source": "places", "norm": norm}}
            return Certificate(about, {**kept, **laid(places=cells.astype(np.int64))})
    return written


def _by_support(written: Certificate) -> tuple[Certificate, dict[str, bytes]]:
    """The same certificate with the support of columns instead of all weights where that is shorter, and what has been
    packed to find out. A column that fades ends in its floor; what differs from that is listed, in runs.
    """
    header, section = written.header, written.sections["weights"]
    if "outputs" not in header:
        return written, {}
    if section.width > 8 or len(section.data) < _FEWEST_WEIGHTS * section.width:
        return written, {}
    columns = np.frombuffer(section.data, dtype=f"<u{section.width}").reshape(-1, len(header["outputs"])).T
    floors = columns.min(axis=1)
    inside = columns != floors[:, None]
    if 2 * np.count_nonzero(inside) > inside.size:
        return written, {}
    edges = np.diff(np.pad(inside, ((0, 0), (1, 1))).astype(np.int8), axis=1)
    (column, start), (_, stop) = np.nonzero(edges == 1), np.nonzero(edges == -1)
    listed = np.concatenate([floors, columns[inside]])
    sections = {
        "weights": Section(section.width, listed.astype(columns.dtype).tobytes()),
        **laid(run_starts=column * columns.shape[1] + start, run_lengths=stop - start),
    }
    bodies, whole = {name: packed(part) for name, part in sections.items()}, packed(section)
    size = sum(map(len, bodies.values()))
    if size >= len(whole) or len(section.data) > kernel.EFFORT + kernel.EFFORT_OF_A_BYTE * size:
        return written, {"weights": whole}
    rest = {name: part for name, part in written.sections.items() if name != "weights"}
    return Certificate(header, {**sections, **rest}), bodies


class Checkable(NamedTuple):
    """What a checker is given, with the digest that names it, and the bytes of the file that hold it."""

    header: kernel.AnyHeader
    sections: dict[str, bytes]
    digest: str
    data: bytes


def to_be_checked(written: Certificate) -> Checkable:
    """What is checked of a certificate, as :func:`parsed` has it from its file."""
    header, sections = written.interpreted()
    data = to_bytes(written)
    counts = {name: len(section.data) // section.width for name, section in written.sections.items()}
    try:
        kernel.expected_counts(header, counts)
        kernel.check_effort(header, counts, len(data))
    except kernel.Unreadable as error:
        raise InvalidInput(f"this mechanism cannot be certified: {error}") from error
    return Checkable(header, sections, data[-32:].hex(), data)


def parsed(path: str | PathLike[str]) -> Checkable:
    """What is checked of a file; one clear error for anything that is wrong with it."""
    path = file_path(path, "a mechanism file")
    try:
        data = kernel.contents(path)
        return Checkable(*kernel.parse(data), data)
    except kernel.Unreadable as error:
        raise InvalidFile(f"{quoted(path)}: {str(error)[:300]}") from error


def parts_of(header: kernel.Header, sections: dict[str, bytes]) -> dict[str, Any]:
    """The parts of the mechanism that a file describes."""
    space = _space(header, sections)
    return {
        "weights": values_of("weights", header, sections),
        "privacy": PrivacyType(space, header.promise.epsilon, header.promise.alpha),
        "outputs": tuple(label_from_json(label) for label in header.outputs),
        "claim": _claimed(header, sections, space),
        "provenance": header.provenance or {},
        "events": _events(header, sections),
    }


def _space(header: kernel.Header, sections: dict[str, bytes]) -> FiniteSpace:
    labels = tuple(label_from_json(label) for label in header.secrets)
    metric, about = header.metric, header.space
    form = Form(metric.form)
    values = stored("distances", header, sections)
    if form is not Form.FLOAT:
        values = np.where(values == np.uint64(kernel.UNBOUNDED), INFINITE, values).astype(np.int64)
    drawn = None if about.coordinates is None else np.array(about.coordinates, dtype=np.float64)
    if metric.source == "edges":
        pairs = Pairs(*(values_of(f"edge_{end}", header, sections) for end in ("first", "second")))
        structure = path_metric(len(labels), Edges(pairs, Distances(form, values.copy(), metric.unit)))
    else:
        structure = _table_structure(header, Distances(form, values.copy(), metric.unit), sections)
    shape = (0, 0) if drawn is None else drawn.shape
    structure = replace(structure, ground=ground_from_json(about.ground, *shape))
    return FiniteSpace(labels, structure, about.unit, about.name, drawn)


def _table_structure(header: kernel.Header, upper: Distances, sections: dict[str, bytes]) -> Structure:
    distances = Distances(upper.form, squareform(upper.values), upper.unit)
    via = np.full((len(header.secrets),) * 2, -1, dtype=np.int32)
    if "via" in sections:
        via = squareform(stored("via", header, sections).astype(np.int32))  # NOWHERE wraps to -1
        np.fill_diagonal(via, -1)
    return Structure(lambda: distances, midpoints=lambda: via)


def _claimed(header: kernel.Header, sections: dict[str, bytes], space: FiniteSpace) -> Claim | SharesClaim | None:
    if header.claims is None:
        return None
    given = tuple(Prior(space, shares_of(counts)) for counts in kernel.priors_of(header, sections))
    prior, mixture = given[0], ()
    if "mixture" in sections:
        mixture = tuple(values_of("mixture", header, sections).tolist())
        prior = Prior(space, shares_of(kernel.mixed_prior(header, sections)[0]))
    several = header.claims.criterion == "worst prior"
    kind = _shares_claim if isinstance(header.claims, kernel.VarianceClaim) else _claim
    return kind(header, sections, space, prior=prior, priors=given if several else (), mixture=mixture)


def _shares_claim(header: kernel.Header, sections: dict[str, bytes], space: FiniteSpace, **under: Any) -> SharesClaim:
    claims, rows = kernel.variance_claim(header), values_of("workload", header, sections)
    matrix = rows if claims.workload_unit == 1 else [[Fraction(v) * claims.workload_unit for v in r] for r in rows]
    dual = prices = None
    if claims.bound is not None:
        dual, prices = (values_of(f"share_{what}", header, sections) for what in ("dual", "prices"))
    asked = named_again(matrix, claims.workload_name, space)
    return SharesClaim(workload=asked, value=claims.loss, bound=claims.bound, dual=dual, prices=prices, **under)


def _claim(header: kernel.Header, sections: dict[str, bytes], space: FiniteSpace, **under: Any) -> Claim:
    claims = kernel.loss_claim(header)
    actions = tuple(label_from_json(label) for label in claims.actions)
    loss = _loss(stored("loss", header, sections), claims.loss_unit, actions, space, claims.loss_name)
    remap = tuple(values_of("remap", header, sections).tolist())
    bound, dual = claims.bound, None
    kept: tuple[Ceiling, ...] = ()
    if bound is not None:
        dual = dual_of(claims.dual_unit, header, sections)
    if claims.ceilings:
        prices = (None,) * len(claims.ceilings) if bound is None else values_of("ceiling_prices", header, sections)
        tables = stored("ceilings", header, sections)
        kept = tuple(
            Ceiling(_loss(table, ceiling.unit, actions, space, ceiling.name), ceiling.level, price)
            for ceiling, table, price in zip(claims.ceilings, tables, prices, strict=True)
        )
    return Claim(
        loss=loss, remap=remap, value=claims.loss, bound=bound, dual=dual, criterion=claims.criterion,
        ceilings=kept, **under,
    )  # fmt: skip


def dual_of(unit: Fraction, header: kernel.AnyHeader, sections: dict[str, bytes]) -> Dual:
    """The numbers that prove a bound, in a unit."""

    def read(*names: str) -> list[Array]:
        return [values_of(name, header, sections) for name in names]

    of_events = {}
    if "event_dual" in sections:
        pair, action, values = read("event_dual_pair", "event_dual_action", "event_dual")
        of_events = {"event_pair": pair, "event_action": action, "event_values": values}
    first, second, action, values = read("dual_from", "dual_to", "dual_action", "dual")
    return Dual(first, second, action, values, unit, **of_events)


def shares_of(counts: list[int]) -> list[Fraction]:
    """Counts as parts of their sum."""
    total = sum(counts)
    return [Fraction(count, total) for count in counts]


def _events(header: kernel.Header, sections: dict[str, bytes]) -> tuple[EventPromise, ...]:
    if not header.events:
        return ()
    upper, lower = (values_of(f"event_{end}", header, sections) for end in ("upper", "lower"))
    cuts = np.cumsum([event.pairs for event in header.events])[:-1]
    return tuple(
        EventPromise(x, z, Growth(event.factor, event.epsilon), event.delta)
        for x, z, event in zip(np.split(upper, cuts), np.split(lower, cuts), header.events, strict=True)
    )


def _loss(doubles: Array, unit: Fraction, actions: tuple[Any, ...], space: FiniteSpace, name: str = "") -> Loss:
    return read_later(actions, space, partial(_losses, doubles, unit), name)


def _losses(doubles: Array, unit: Fraction) -> Array:
    """The numbers of a loss: whole ones as integers, parts of a unit as fractions, one object for equal ones."""
    table = doubles.astype(np.float64)
    if unit == 1:
        if (table != np.round(table)).any():
            return table
        if (np.abs(table) < _WHOLE).all():
            return table.astype(np.int64)
    values, places = np.unique(table, return_inverse=True)
    return object_array([Fraction(v) * unit for v in values.tolist()])[places].reshape(table.shape)


def packed(section: Section) -> bytes:
    """One compressed stream of the bytes, grouped by significance: high bytes are mostly zero and take no room.

    The low bytes of weights and losses are noise. Where a sample of a group does not shrink the group is stored as it
    is, which the format allows for any part of a stream, and which takes a tenth of the time.
    """
    groups = [section.data[k :: section.width] for k in range(section.width)]
    if len(section.data) <= _SMALL_SECTION:
        return zlib.compress(b"".join(groups), _COMPRESSION)
    parts = on_threads(lambda start, stop: [_part(group) for group in groups[start:stop]], len(groups), 8)
    checksum = 1
    for group in groups:
        checksum = zlib.adler32(group, checksum)
    end = zlib.compressobj(0, zlib.DEFLATED, -zlib.MAX_WBITS).flush()
    return b"".join([_ZLIB_HEADER, *(part for some in parts for part in some), end, checksum.to_bytes(4, "big")])


def _part(group: bytes) -> bytes:
    """Blocks of a deflate stream that end at a byte."""
    middle = len(group) // 2
    sample = group[middle : middle + _SAMPLE]
    noise = len(zlib.compress(sample, _COMPRESSION)) > _INCOMPRESSIBLE * len(sample)
    packer = zlib.compressobj(0 if noise else _COMPRESSION, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(group) + packer.flush(zlib.Z_FULL_FLUSH)
