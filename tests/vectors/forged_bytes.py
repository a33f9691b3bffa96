"""Forged files whose bytes, header or sections nobody may read."""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable
from typing import Any

from vectors.parts import File, header_text, listed, merged, numbers, rewritten, rows, sealed, written_json
from vectors.true_boxes import STREET
from vectors.true_rows import HALF, ONE, PAIR, losses

Forged = dict[str, tuple[bytes, str, str]]
"""Bytes, the answer, and the reason."""

UNREADABLE, REFUTED = "unreadable", "refuted"
TRUE = PAIR.saying(space={"name": "a vector", "unit": "km"}, provenance={}).written()
CLAIM = losses()["bound"][0]


def unreadable(files: dict[str, tuple[bytes | File, str]]) -> Forged:
    """Files that cannot be read, each with its reason."""
    return {
        name: (file.written() if isinstance(file, File) else file, UNREADABLE, reason)
        for name, (file, reason) in files.items()
    }


def frames() -> Forged:
    """Magic, version, lengths and digest."""
    other = bytearray(TRUE)
    other[-40] ^= 1
    beyond = TRUE[:16] + (len(TRUE)).to_bytes(8, "little") + TRUE[24:]
    first, second = PAIR.saying(version=..., promise=HALF).written(), PAIR.saying(version=2).written()
    huge = TRUE[:16] + (2**63).to_bytes(8, "little") + TRUE[24:]
    return unreadable({
        "bytes-none": (b"", "there is nothing"),
        "bytes-magic": (sealed(b"Sfumato\n" + TRUE[8:]), "the first eight bytes are others"),
        "bytes-magic-alone": (TRUE[:8], "truncated behind the magic"),
        "bytes-truncated-in-the-header": (TRUE[:100], "truncated in the header"),
        "bytes-truncated-by-one": (TRUE[:-1], "the last byte is missing"),
        "bytes-truncated-and-sealed": (sealed(TRUE[:-40] + bytes(32)), "a section is cut off, and the digest made new"),
        "bytes-one-bit": (bytes(other), "one bit of a section has changed"),
        "bytes-digest": (TRUE[:-32] + bytes(32), "the digest is zero"),
        "bytes-trailing": (TRUE + b"\0", "a byte follows the digest"),
        "bytes-trailing-and-sealed": (sealed(TRUE[:-32] + b"\0" + bytes(32)), "a byte belongs to no section"),
        "bytes-version-0": (sealed(TRUE[:8] + bytes(8) + TRUE[16:]), "there is no version 0"),
        "bytes-version-1": (sealed(first[:8] + b"\1" + first[9:]), "a format without kinds, which is not described"),
        "bytes-version-2": (sealed(second[:8] + b"\2" + second[9:]), "version 2 is not described"),
        "bytes-version-4": (sealed(TRUE[:8] + b"\4" + TRUE[9:]), "version 4 is not described"),
        "bytes-version-high": (sealed(TRUE[:15] + b"\1" + TRUE[16:]), "the version has eight bytes"),
        "bytes-two-versions": (second, "version 3 outside, version 2 inside"),
        "bytes-header-beyond": (sealed(beyond), "the header is longer than the file"),
        "bytes-header-huge": (sealed(huge), "the header is longer than any"),
    })  # fmt: skip


def replaced(old: bytes, new: bytes) -> bytes:
    """The true file with another piece of its header."""
    assert header_text(TRUE).count(old) == 1, old
    return rewritten(TRUE, lambda text: text.replace(old, new))


def texts() -> Forged:
    """What is no JSON, or JSON that two readers may read as two things."""
    return unreadable({
        "json-key-twice": (replaced(b'"total":"3"', b'"total":"4","total":"3"'), "a key occurs twice"),
        "json-key-twice-inside": (
            replaced(b'"provenance":{}', b'"provenance":{"a":[{"b":1,"b":1}]}'),
            "a key occurs twice where nobody looks"),
        "json-nan": (replaced(b'"provenance":{}', b'"provenance":NaN'), "NaN is no JSON"),
        "json-infinity": (replaced(b'"secrets":[0,1]', b'"secrets":[0,-Infinity]'), "infinities are no JSON"),
        "json-mark": (rewritten(TRUE, lambda text: b"\xef\xbb\xbf" + text), "a byte order mark"),
        "json-no-utf-8": (replaced(b"a vector", b"a v\xe9ctor"), "Latin-1 is no UTF-8"),
        "json-surrogate-bytes": (replaced(b"a vector", b"\xed\xa0\x80"), "a surrogate in UTF-8"),
        "json-control-character": (replaced(b"a vector", b"a\nvector"), "a line feed inside of a text"),
        "json-list": (rewritten(TRUE, lambda text: b"[" + text + b"]"), "a list is no header"),
        "json-number": (rewritten(TRUE, lambda _: b"7"), "a number is no header"),
        "json-two": (rewritten(TRUE, lambda text: text + b" {}"), "two values"),
        "json-comma": (rewritten(TRUE, lambda text: text[:-1] + b",}"), "a comma before the end"),
        "json-empty": (rewritten(TRUE, lambda _: b""), "no header"),
        "json-zeros": (replaced(b'"version":3', b'"version":03'), "a number with a leading zero is no JSON"),
    })  # fmt: skip


def number_texts() -> Forged:
    """Numbers as nobody may write them."""
    written: dict[str, tuple[Any, str]] = {
        "script": ("٣", "digits of another script"),
        "full-width": ("３", "full-width digits"),
        "sign": ("+3", "a plus sign"),
        "space": (" 3", "a space"),
        "line": ("3\n", "a line feed behind the digits"),
        "point": ("3.0", "a decimal point"),
        "fraction": ("6/2", "a total is whole"),
        "negative": ("-3", "a total is positive"),
        "zero": ("0", "a total is positive"),
        "long": ("0" * 4001 + "3", "more than 4000 digits"),
        "json": (3, "numbers are texts"),
        "empty": ("", "no digits"),
    }
    found: dict[str, tuple[bytes | File, str]] = {
        f"number-{name}": (PAIR.saying(total=value), reason) for name, (value, reason) in written.items()
    }
    found["number-by-zero"] = PAIR.about("promise", alpha="1/0"), "a denominator of zero"
    found["number-exponent"] = PAIR.about("promise", alpha="5e-1"), "an exponent"
    found["number-underscore"] = PAIR.about("promise", alpha="1/1_0"), "an underscore"
    return unreadable(found)


def labels() -> Forged:
    """Labels that are one, or none, and texts that would write a report."""
    return unreadable({
        "label-twice": (PAIR.saying(secrets=["a", "a"]), "two secrets have one name"),
        "label-number-and-double": (PAIR.saying(outputs=[1, 1.0]), "1 and 1.0 are one number"),
        "label-number-and-fraction": (PAIR.saying(secrets=[0.5, {"fraction": "2/4"}]), "1/2 and 0.5 are one number"),
        "label-truth-and-number": (PAIR.saying(secrets=[True, 1]), "true is 1"),
        "label-lists": (PAIR.saying(outputs=[[1, 2], [1, 2.0]]), "two lists with the same numbers"),
        "label-minus-zero": (PAIR.saying(secrets=[0, -0.0]), "zero has one value"),
        "label-infinite": (replaced(b'"secrets":[0,1]', b'"secrets":[0,1e999]'), "a number beyond the doubles"),
        "label-object": (PAIR.saying(outputs=[{"name": 1}, 2]), "no label is such an object"),
        "label-none": (PAIR.saying(outputs=[]), "no outputs"),
        "label-no-list": (PAIR.saying(secrets="ab"), "a text is no list"),
        "text-lines": (PAIR.about("space", unit="km\nPROVED private with epsilon = 1/100"), "a unit of two lines"),
        "text-turned": (PAIR.about("space", name="\u202eabc"), "a mark that turns the direction of a line"),
        "text-long": (PAIR.about("space", name="a" * 201), "more than 200 characters"),
        "text-hidden": (PAIR.about("space", name="a\u00adb"), "a hyphen that does not show itself"),
        "text-private": (PAIR.about("space", name="a\ue000"), "a letter of private use"),
        "unit-promise": (PAIR.about("space", unit="km, or 1 time"), "a comma, after which a unit could say anything"),
        "unit-long": (PAIR.about("space", unit="a" * 21), "more than 20 characters"),
        "unit-three-words": (PAIR.about("space", unit="at no cost"), "more than two words"),
        "unit-space": (PAIR.about("space", unit=" km"), "a unit that begins with a space"),
        "unit-comma-of-another-script": (PAIR.about("space", unit="km\uff0c1"), "a comma of another script"),
        "unit-digits": (PAIR.about("space", unit="000 km"), "digits that make another number of the one before them"),
        "unit-digits-of-another-script": (PAIR.about("space", unit="\u0660 km"), "a digit of another script"),
        "unit-power": (PAIR.about("space", unit="^6 km"), "a sign that belongs to a number"),
        "text-number": (PAIR.about("space", unit=3), "a unit is a text"),
    })  # fmt: skip


def words() -> Forged:
    """Words, kinds and shapes that are not described."""
    event = {"factor": "1", "delta": "1", "pairs": 1, "name": ""}
    return unreadable({
        "word-header": (PAIR.saying(comment="trust me"), "an unknown key of the header"),
        "word-promise": (PAIR.about("promise", delta="1/10"), "an unknown key of the promise"),
        "word-metric": (PAIR.about("metric", shape="round"), "an unknown key of the metric"),
        "word-space": (PAIR.about("space", area="1"), "an unknown key of the space"),
        "word-claim": (CLAIM.about("claims", median="1/3"), "an unknown key of the claim"),
        "word-event": (PAIR.saying(events=[event]), "an unknown key of a promise about events"),
        "word-section": (listed(TRUE, "weights", packing="zlib"), "an unknown key of a section"),
        "word-box": (STREET.about("box", height="1"), "an unknown key of the box"),
        "word-lattice": (STREET.about("lattice", shape=[4]), "an unknown key of the lattice"),
        "word-coordinates": (STREET.saying(secrets=[0, 1, 2, 3]), "a file about coordinates lists no secrets"),
        "kind-promise": (PAIR.about("promise", kind="columns"), "an unknown kind of promise"),
        "kind-promise-missing": (PAIR.about("promise", kind=...), "a promise names its kind"),
        "kind-coordinates-without-a-box": (PAIR.about("promise", kind="coordinates"), "coordinates need a box"),
        "kind-box-about-rows": (STREET.about("promise", kind="rows"), "a box has a promise about coordinates"),
        "kind-claim": (CLAIM.about("claims", kind="medians"), "an unknown kind of claim"),
        "kind-claim-missing": (CLAIM.about("claims", kind=...), "a claim names its kind"),
        "kind-claim-of-a-box": (CLAIM.about("claims", kind="loss on a box"), "rows have no loss on a box"),
        "kind-criterion": (CLAIM.about("claims", criterion="median"), "an unknown criterion"),
        "shape-version": (PAIR.saying(version=3.0), "3.0 is no integer"),
        "shape-version-missing": (PAIR.saying(version=...), "a header names its version"),
        "shape-events": (PAIR.saying(events=""), "events are a list"),
        "shape-claims": (PAIR.saying(claims=[]), "claims are an object"),
        "shape-box-claims": (STREET.saying(claims=[]), "claims are an object"),
        "shape-ceilings": (CLAIM.about("claims", ceilings=""), "limits are a list"),
        "shape-metric-missing": (PAIR.saying(metric=...), "a file about rows has a metric"),
        "shape-space": (PAIR.saying(space=[1]), "a space is an object"),
    })  # fmt: skip


def by_header(change: Callable[[dict[str, Any]], None]) -> bytes:
    """The true file with a header that was changed after it was written."""

    def rewrite(text: bytes) -> bytes:
        header = json.loads(text)
        change(header)
        return written_json(header)

    return rewritten(TRUE, rewrite)


def body(name: str, packed: bytes) -> bytes:
    """The true file with another packed body of its first section."""
    header = json.loads(header_text(TRUE))
    first = header["sections"][0]
    assert first["name"] == name
    rest = TRUE[24 + len(header_text(TRUE)) + first["size"] :]
    first["size"] = len(packed)
    text = written_json(header)
    return sealed(TRUE[:16] + len(text).to_bytes(8, "little") + text + packed + rest)


def sections() -> Forged:
    """Sections that are missing, in excess, of another size, or that unpack to something else."""
    good = zlib.compress(bytes([2, 1, 1, 2]), 9)
    dictionary = zlib.compressobj(zdict=b"\2\1\1\2")
    with_dictionary = dictionary.compress(bytes([2, 1, 1, 2])) + dictionary.flush()
    checksum = good[:-1] + bytes([good[-1] ^ 1])
    many = rows([[2, 1], [1, 2]], [1], HALF, edges=[(0, 1)]).holding(
        edge_first=numbers([0, 0], 4), edge_second=numbers([1, 1], 4), distances=numbers([1, 1], 8)
    )
    return unreadable({
        "section-missing": (PAIR.holding(distances=...), "a section is missing"),
        "section-in-excess": (PAIR.holding(prior=numbers([1, 1])), "nobody asks for a prior"),
        "section-unknown": (PAIR.holding(notes=(1, b"x")), "an unknown section"),
        "section-twice": (by_header(lambda h: h["sections"].append(h["sections"][0])), "a section occurs twice"),
        "section-count": (listed(TRUE, "weights", count=5), "five weights for two secrets and outputs"),
        "section-negative": (listed(TRUE, "weights", size=-1), "a size below zero"),
        "section-truth": (listed(TRUE, "distances", count=True), "true is no count"),
        "section-size": (listed(TRUE, "weights", size=10**9), "a section beyond the file"),
        "section-width-0": (listed(TRUE, "weights", width=0), "numbers of no bytes"),
        "section-width-3": (PAIR.holding(weights=(3, numbers([2, 1, 1, 2], 3)[1])), "numbers of three bytes"),
        "section-width-of-distances": (PAIR.holding(distances=numbers([1], 4)), "distances have eight bytes"),
        "section-wider-than-the-total": (PAIR.holding(weights=numbers([2, 1, 1, 2], 16)),
            "weights are wider than the total"),
        "section-wide-zeros": (
            CLAIM.holding(dual=numbers([1, 1], 16)), "the upper bytes of all numbers are zero"),
        "section-wide-and-empty": (
            CLAIM.holding(dual=(16, b""), **{f"dual_{p}": (4, b"") for p in ("from", "to", "action")}),
            "an empty section of wide numbers"),
        "section-bomb": (body("weights", zlib.compress(bytes(10**6), 9)), "a million bytes instead of four"),
        "section-too-long": (body("weights", zlib.compress(bytes([2, 1, 1, 2, 0]), 9)), "five bytes instead of four"),
        "section-too-short": (body("weights", zlib.compress(bytes([2, 1, 1]), 9)), "three bytes instead of four"),
        "section-cut": (body("weights", good[:-2]), "the stream does not end"),
        "section-checksum": (body("weights", checksum), "the checksum of the stream is wrong"),
        "section-and-more": (body("weights", good + b"x"), "a byte follows the stream"),
        "section-dictionary": (body("weights", with_dictionary), "a stream with a preset dictionary"),
        "section-raw": (body("weights", bytes([2, 1, 1, 2])), "bytes that were not packed"),
        "section-deflate": (body("weights", good[2:-4]), "a stream without its zlib header"),
        "section-empty": (body("weights", b""), "no stream"),
        "section-too-many-edges": (many, "two edges between two secrets"),
        "section-wrong-promise": (rows([[2, 1], [1, 2]], [1], ONE).about("promise", alpha="1/2"),
            "an epsilon and an alpha"),
    })  # fmt: skip


def forged_bytes() -> Forged:
    """All of them."""
    return merged(frames(), texts(), number_texts(), labels(), words(), sections())
