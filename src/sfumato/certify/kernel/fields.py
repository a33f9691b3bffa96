"""Reads single fields of a header: which keys there are, numbers, labels, texts and lists within their limits."""

import math
import re
from fractions import Fraction
from typing import Any

from sfumato.certify.kernel.errors import Unreadable, named
from sfumato.certify.kernel.values import SectionShape, WrittenSpace

Json = dict[str, Any]  # an object of the header; no function asks one that does not read it
VERSION = 3  # of the format; no other one is read
LONGEST_TEXT = 200  # characters of a text that a report quotes
HIDDEN = (  # controls, marks that turn or hide a line, spaces but one, private use; no table of letters, which grow
    r"[\0-\x1f\x7f-\xa0\xad\u061c\u1680\u180b-\u180f\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\ud800-\uf8ff"
    r"\ufeff\ufff0-\ufffb\ufffe\uffff\U000e0000-\U0010ffff]"
)
NO_UNIT = (  # what could say something in a sentence: a unit has at most two words of letters, digits and %'*+-/^, and
    r"^ | $| .* |[^\x80-\U0010ffffA-Za-z0-9 %'*+/^-]|[\xa1-\xaf\xb8-\xbf\u2010-\u205e\u3001-\u303f\uff01-\uff65]"
    r"|^[\d'*+/^\xb1-\xb4\xb6\xb7\xd7\xf7\u2070-\u209f\u2150-\u2bff\u3190-\u32ff\U00010000-\U0001ffff-]|.{21}"
)  # begins with nothing that makes another number of the one before it
COORDINATES = "coordinates"  # what promises and claims of files about a box are about
KEYS = {
    "header about coordinates": "version outputs total space box lattice promise claims provenance sections",
    "header about noise": "version total space box noise promise claims provenance sections",
    "noise": "cells reach floor halvings",
    "claim about noise": "kind loss loss_name parts bound",
    "space of coordinates": "name unit",
    "box": "sides cells metric origin frame",
    "frame": "south west degrees radius margin",
    "lattice": "degree halvings breaks",
    "promise about coordinates": "kind epsilon alpha rate",
    "claim about a box": "kind loss loss_name parts bound bound_parts bound_strides dual_unit",
    "header": "version secrets outputs total space metric promise events claims provenance sections",
    "space": "name unit coordinates ground",
    "metric": "form unit source norm",
    "promise": "kind epsilon alpha step",
    "promise about events": "factor epsilon delta pairs",
    "claim": "kind loss loss_unit loss_name actions criterion ceilings bound dual_unit",
    "claim about shares": "kind loss bound criterion workload_name workload_unit",
    "ceiling": "name unit level",
    "section": "name width count size",
}


def known(terms: Json, what: str) -> Json:
    """The terms, none of which this kernel would pass over."""
    unknown = terms.keys() - KEYS[what].split()
    if unknown:
        raise Unreadable(f"the {what} has {named(min(unknown))}, which this kernel does not know")
    return terms


def of_kind(terms: Json, name: str, kind: type) -> Any:
    """A list or an object of the header, empty if it is left out: what only looks empty, such as "", says nothing."""
    value = terms.get(name, kind())
    if not isinstance(value, kind):
        raise Unreadable(f"{name!r} is {named(value)}")
    return value


def listed(values: Any, count: int, what: str) -> list[Any]:
    """A list with one entry for each axis."""
    if not isinstance(values, list) or len(values) != count:
        raise Unreadable(f"the file lists no {what} for each of {count} axes")
    return values


def integer_between(value: Any, least: int, most: int, what: str) -> int:
    """An integer between two others."""
    if type(value) is not int or not least <= value <= most:
        raise Unreadable(f"{what} is {named(value)}, and lies between {least} and {most}")
    return value


def check_labels(labels: Any, what: str) -> None:
    """Labels are texts, finite numbers, truth values, null, fractions or lists of these, and no two are one."""
    if not isinstance(labels, list) or not labels:
        raise Unreadable(f"the header lists no {what}")
    if len(set(map(label_value, labels))) < len(labels):
        raise Unreadable(f"two {what} have one name")


def label_value(label: Any) -> Any:
    """What a label stands for, to be compared with others."""
    if isinstance(label, list):
        return tuple(map(label_value, label))
    if isinstance(label, dict):
        if list(label) != ["fraction"]:
            raise Unreadable(f"a label is {named(label)}")
        return rational(label["fraction"])
    if isinstance(label, float) and not math.isfinite(label):
        raise Unreadable("a label is an infinite number")
    return label


def check_text(text: Any, what: str) -> None:
    """A short text without hidden characters, which a report may quote."""
    if not isinstance(text, str) or len(text) > LONGEST_TEXT or re.search(HIDDEN, text):
        raise Unreadable(f"{what} is no short text")


def check_kind(terms: Json, what: str, kinds: tuple[str, ...]) -> None:
    """The kind of a promise or claim is one that this kernel can check."""
    if terms["kind"] not in kinds:
        only = " and ".join(kinds)
        raise Unreadable(f"this kernel does not check a {what} about {named(terms['kind'])}, only about {only}")


def rational(text: Any, pattern: str = r"-?\d{1,4000}(/\d{1,4000})?") -> Fraction:
    """A number in decimal digits, few enough that reading them takes no time."""
    if not isinstance(text, str) or not text.isascii() or not re.fullmatch(pattern, text):
        raise Unreadable("a number is not written as a fraction in decimal digits")
    return Fraction(text)


def few_enough(count: int, most: int, what: str) -> int:
    """The count, if so many can be of use."""
    if count > most:
        raise Unreadable(f"the file declares {count} {what}, and {most} are the most there can be")
    return count


def optional(terms: Json, name: str) -> Fraction | None:
    """A number that may be left out."""
    return None if terms.get(name) is None else rational(terms[name])


def interpret_beginning(header: Json, space: str) -> tuple[WrittenSpace, int, dict[str, int]]:
    """What all files have: name and unit of the space, the total, the widths of sections."""
    about = known(header.get("space", {}), space)
    unit, name = about.get("unit", ""), about.get("name", "")
    check_text(unit, "the unit of the space")
    check_text(name, "the name of the space")
    if re.search(NO_UNIT, unit):
        raise Unreadable(f"{named(unit)} is no unit: these are one or two short words, first a letter")
    total = rational(header["total"], r"\d{1,4000}").numerator
    if total < 1:
        raise Unreadable("the total must be positive")
    widths = {known(section, "section")["name"]: section["width"] for section in header["sections"]}
    return WrittenSpace(name, unit, about.get("coordinates"), about.get("ground")), total, widths


def interpret_end(header: Json) -> tuple[SectionShape, ...]:
    """Which sections follow, as far as the file says it."""
    return tuple(
        SectionShape(name=section["name"], numbers=section["count"], width=section["width"], size=section["size"])
        for section in header["sections"]
    )
