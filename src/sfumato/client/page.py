"""One offline file in which a visitor's browser verifies a mechanism and hides the visitor's own choice.

The page contains the mechanism, the module of the client and nothing else: its content-security policy allows the one
script and the one style sheet that are in it, by their hashes, and no connection to anybody.
"""

from __future__ import annotations

import base64
import hashlib
import re
from html import escape
from os import PathLike
from pathlib import Path

from sfumato.arguments import file_path, flag, quoted
from sfumato.certify.certificate import Certifiable, certificate_of
from sfumato.certify.file import to_bytes
from sfumato.certify.mechanism import Mechanism
from sfumato.certify.verify import verify_file
from sfumato.client.bundle import bundle
from sfumato.errors import InvalidFile
from sfumato.files import DRAWN, place_for, write_whole

_HERE = Path(__file__).resolve().parent


def write_page(
    mechanism: str | PathLike[str], path: str | PathLike[str], *, title: str = "", overwrite: bool = False
) -> Path:  # fmt: skip
    """Write the page of a mechanism file, which is proved again first.

    A page of ours that is already there is replaced with ``overwrite``, any other file never.

    Raises
    ------
    InvalidFile
        If the file cannot be read, or does not keep its promise.
    """
    source, target = file_path(mechanism, "a mechanism file"), file_path(path, "a page")
    place_for(target, DRAWN, overwrite=flag(overwrite, "overwrite"))
    verdict, header, _ = verify_file(source)
    if not verdict:
        raise InvalidFile(f"{quoted(source)} is not proved, and no page is written of it: {verdict.reason}")
    named = title or header["space"]["name"] or source.stem
    write_whole(target, lambda: page_of(source.read_bytes(), named).encode(), DRAWN, overwrite=overwrite)
    return target


def visitors_page(mechanism: Mechanism | Certifiable, *, title: str = "") -> str:
    """The text of the page of a mechanism that has been proved here.

    Examples
    --------
    >>> import sfumato as sf
    >>> page = visitors_page(sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2")), title="A scale of three")
    >>> page[:15], "A scale of three" in page
    ('<!doctype html>', True)
    """
    written = certificate_of(mechanism)
    return page_of(to_bytes(written), title or written.header["space"]["name"])


def page_of(data: bytes, title: str) -> str:
    """The text of the page for the bytes of a file."""
    style = _part("page.css")
    module = re.sub(r"^export \{[^}]*\};\n", "", bundle(), flags=re.MULTILINE)
    script = f"\n{module}{_part('page.mjs')}"
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy, "title": escape(title), "style": style, "script": script,
        "file": base64.b64encode(data).decode(),
    }  # fmt: skip
    return re.sub(r"\{(policy|title|style|script|file)\}", lambda found: parts[found[1]], _part("page.html"))


def _part(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
