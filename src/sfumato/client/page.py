"""One offline file in which a visitor's browser verifies a mechanism and hides the visitor's own choice.

The page contains the mechanism, the module of the client and nothing else: its content-security policy allows the one
script and the one style sheet that are in it, by their hashes, and no connection to anybody but to one address, if
somebody names one to send answers to.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape
from math import ceil
from os import PathLike
from pathlib import Path

from sfumato.arguments import file_path, flag, quoted, text
from sfumato.certify import kernel
from sfumato.certify.certificate import Certifiable
from sfumato.certify.file import file_of
from sfumato.certify.mechanism import Mechanism, Proof
from sfumato.certify.verify import verify_file
from sfumato.client.bundle import bundle
from sfumato.client.greeting import title_of
from sfumato.errors import InvalidFile, InvalidInput, NotSupported, keyword
from sfumato.files import DRAWN, place_for, write_whole

_HERE = Path(__file__).resolve().parent

# What the client takes on one core, in seconds: a byte to read, a comparison for each byte of a weight, a comparison of
# polynomials on a cell of a box, a dual number of a bound. Fitted by hand to single runs: rows in Node, 2.1 times what
# a proof of 3.6 s took; boxes in Chromium on a busy machine, 1.2 times what proofs of 4.6 s and 19.2 s took, and less
# than that for proofs of a tenth of a second, most of which is a start. It tells seconds from minutes, no more.
_A_BYTE, _A_COMPARISON, _ON_A_CELL, _A_DUAL = 5e-8, 1.5e-8, 2e-7, 6e-6
# No phone was measured: that one has a fourth of that speed is assumed, so that these seconds are more than a minute
# there. The text of a page is held three times, as text, as bytes and as numbers that are larger than both.
_PHONE_SECONDS, _PHONE_BYTES = 20.0, 25_000_000
# In a policy a space or a semicolon would end it, and a question mark is nothing.
_ADDRESS = re.compile(r"(https://[a-z0-9.-]+|http://(localhost|127\.0\.0\.1))(:[0-9]{1,5})?(/[a-z0-9._~%/-]*)?", re.I)


@dataclass(frozen=True)
class Burden:
    """What a page asks of the browser that opens it: so many bytes, and about so many seconds for the proof.

    Examples
    --------
    >>> print(Burden(120_000, 0.2), "|", Burden(61_800_000, 86.9))
    0.2 MB, which a computer's browser proves in a second | 61.8 MB, which a computer's browser proves in about 90 s
    >>> Burden(120_000, 0.2).for_phones, Burden(61_800_000, 86.9).for_phones
    (True, False)
    """

    size: int
    seconds: float

    @property
    def for_phones(self) -> bool:
        """Whether a phone opens it and has proved it before anybody gives up."""
        return self.size <= _PHONE_BYTES and self.seconds <= _PHONE_SECONDS

    def __str__(self) -> str:
        step = 1 if self.seconds <= 20 else 10
        time = "a second" if self.seconds <= 1 else f"about {ceil(self.seconds / step) * step} s"
        return f"{ceil(self.size / 1e5) / 10} MB, which a computer's browser proves in {time}"


def write_page(
    mechanism: str | PathLike[str], path: str | PathLike[str], *, title: str = "", overwrite: bool = False,
    large: bool = False, send_to: str = "", tell: Callable[[Burden], None] | None = None,
) -> Path:  # fmt: skip
    """Write the page of a mechanism file, which is proved again first.

    A page of ours that is already there is replaced with ``overwrite``, any other file never. ``tell`` is told of the
    size and of the time that a browser will take before anything is written, and what a phone cannot open and prove is
    written only where it may be ``large``. With ``send_to`` the visitor can send what was drawn to that address.

    Raises
    ------
    InvalidFile
        If the file cannot be read, or does not keep its promise.
    NotSupported
        If a phone could not open the page or prove the mechanism.
    """
    source, target = file_path(mechanism, "a mechanism file"), file_path(path, "a page")
    address = _address(send_to)
    place_for(target, DRAWN, overwrite=flag(overwrite, "overwrite"))
    verdict, header, _ = verify_file(source)
    if not verdict:
        raise InvalidFile(f"{quoted(source)} is not proved, and no page is written of it: {verdict.reason}")
    page = client_page(source.read_bytes(), title or title_of(header), address).encode()
    burden = Burden(len(page), _seconds(header.sections, verdict.witness, source.stat().st_size))
    if not flag(large, "large") and not burden.for_phones:
        raise NotSupported(
            f"on phones a page of {burden},",
            [f"at most {_PHONE_BYTES // 10**6} MB and {_PHONE_SECONDS:g} s", "a mechanism with fewer secrets or cells, "
             f"or without a bound; {keyword('large', True)} writes it for computers"],
        )  # fmt: skip
    if tell is not None:
        tell(burden)
    write_whole(target, lambda: page, DRAWN, overwrite=overwrite)
    return target


def _seconds(listed: Sequence[kernel.SectionShape], proof: Proof, size: int) -> float:
    """About how long a computer's browser takes to read and prove a file."""
    sections = {section.name: section for section in listed}
    each = _ON_A_CELL if proof.cells else _A_COMPARISON * sections["weights"].width
    duals = sections["dual"].numbers if "dual" in sections else 0
    return _A_BYTE * size + each * proof.comparisons + _A_DUAL * duals


def visitors_page(mechanism: Mechanism | Certifiable, *, title: str = "") -> str:
    """The text of the page of a mechanism that has been proved here.

    Examples
    --------
    >>> import sfumato as sf
    >>> page = visitors_page(sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2")), title="A scale of three")
    >>> page[:15], "A scale of three" in page
    ('<!doctype html>', True)
    """
    data = file_of(mechanism)
    return client_page(data, title or title_of(kernel.parse(data)[0]))


def _address(given: str) -> str:
    """Where answers are sent: nowhere, or to an address that can stand in a content-security policy."""
    if given and not _ADDRESS.fullmatch(text(given, "the address that answers are sent to")):
        raise InvalidInput(
            f"{keyword('send_to', given)} is no address for answers: write one with https:// and without a query, such "
            "as https://example.org/answers; http:// is for localhost"
        )
    return given


def client_page(data: bytes, title: str, send_to: str = "") -> str:
    """The text of the page for the bytes of a file."""
    style = _part("page.css")
    module = re.sub(r"^export \{[^}]*\};\n", "", bundle(), flags=re.MULTILINE)
    words = _part("promise.mjs").replace("\nexport ", "\n")
    script = f"\n{module}{words}{_part('page.mjs')}"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        f"base-uri 'none'; form-action 'none'{send_to and f'; connect-src {send_to}'}"
    )
    parts = {
        "policy": policy, "title": escape(title), "style": style, "script": script, "send_to": send_to,
        "file": base64.b64encode(data).decode(),
    }  # fmt: skip
    return re.sub(r"\{(policy|title|style|script|send_to|file)\}", lambda found: parts[found[1]], _part("page.html"))


def _part(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
