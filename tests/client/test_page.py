"""Pages of mechanisms: one file, one script, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.client.page import _part, page_of, write_page
from sfumato.errors import InvalidFile

VECTORS = Path(__file__).resolve().parents[1] / "vectors"


def test_a_page_allows_its_own_script_and_style_and_nothing_else() -> None:
    text = page_of(b"bytes", "a {script} & <b>")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy is not None
    assert policy[1].startswith("default-src 'none'; ")
    for kind, pattern in (("script", r'<script type="module">(.*?)</script>'), ("style", r"<style>(.*?)</style>")):
        (inside,) = re.findall(pattern, text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(inside.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy[1]
    assert "a {script} &amp; &lt;b&gt;" in text
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text)
    assert not re.search(r"<[^<>]*\son\w+=", _part("page.html"))


def test_a_page_holds_the_file_and_is_written_for_what_is_proved(tmp_path: Path) -> None:
    target = write_page(VECTORS / "rows-epsilon.sfm", tmp_path / "page.html")
    data = re.search(r'id="file">([^<]*)<', target.read_text())
    assert data is not None
    assert base64.b64decode(data[1]) == (VECTORS / "rows-epsilon.sfm").read_bytes()
    for wrong in ("ratio-one-unit", "bytes-digest"):
        with pytest.raises(InvalidFile):
            write_page(VECTORS / f"{wrong}.sfm", tmp_path / "none.html")
    with pytest.raises(sf.errors.InvalidInput):
        write_page(VECTORS / "rows-epsilon.sfm", tmp_path / "nowhere" / "page.html")
    assert not (tmp_path / "none.html").exists()
