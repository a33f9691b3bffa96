"""Pages of mechanisms: one file, one script, nothing from elsewhere."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from pathlib import Path

import pytest

import sfumato as sf
from sfumato.certify import kernel
from sfumato.certify.mechanism import Proof
from sfumato.client import page
from sfumato.client.page import Burden, _part, client_page, write_page
from sfumato.errors import InvalidFile, NotSupported
from shell import sfumato

VECTORS = Path(__file__).resolve().parents[1] / "vectors"


def test_a_page_allows_its_own_script_and_style_and_nothing_else() -> None:
    text = client_page(b"bytes", "a {script} & <b>")
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


def test_a_page_reaches_the_one_address_that_was_named(tmp_path: Path) -> None:
    address = "https://example.org:8443/answers/2026"
    page = write_page(VECTORS / "rows-epsilon.sfm", tmp_path / "page.html", send_to=address).read_text()
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', page)
    assert policy.startswith("default-src 'none'; ") and policy.endswith(f"; connect-src {address}")
    assert f'<meta name="send-to" content="{address}">' in page
    assert "connect-src" not in write_page(VECTORS / "rows-epsilon.sfm", tmp_path / "none.html").read_text()


@pytest.mark.parametrize(
    "address",
    ["http://example.org/", "example.org", "https://a.org/?q=1", "https://a.org/; script-src *", "https://a.org/ b",
     'https://a.org/"><script>', "https://me:secret@a.org/", "javascript:alert(1)", "*", "https://a.org/a,b\n"],
)  # fmt: skip
def test_what_cannot_stand_in_a_policy_is_no_address(address: str, tmp_path: Path) -> None:
    with pytest.raises(sf.errors.InvalidInput, match=r"is no address for answers: write one with https://"):
        write_page(VECTORS / "rows-epsilon.sfm", tmp_path / "page.html", send_to=address)
    assert not (tmp_path / "page.html").exists()


def test_the_command_says_where_answers_go(tmp_path: Path) -> None:
    file, page = str(VECTORS / "rows-epsilon.sfm"), str(tmp_path / "page.html")
    done = sfumato("page", file, "-o", page, "--send-to", "https://example.org/answers")
    assert done.returncode == 0 and "what a visitor sends goes to https://example.org/answers" in done.stdout
    refused = sfumato("page", file, "-o", page, "--overwrite", "--send-to", "http://example.org")
    assert refused.returncode == 2 and "--send-to http://example.org is no address" in refused.stderr


def test_size_and_time_are_told_before_a_page_is_written(tmp_path: Path) -> None:
    target, told = tmp_path / "page.html", []

    def tell(burden: Burden) -> None:
        assert not target.exists()
        told.append(burden)

    write_page(VECTORS / "rows-epsilon.sfm", target, tell=tell)
    assert [burden.size for burden in told] == [target.stat().st_size]
    assert str(told[0]).endswith("MB, which a computer's browser proves in a second") and told[0].for_phones


@pytest.mark.parametrize("limit", ["_PHONE_BYTES", "_PHONE_SECONDS"])
def test_what_a_phone_cannot_do_is_written_where_it_is_asked_for(
    limit: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target = tmp_path / "page.html"
    monkeypatch.setattr(page, limit, 0)
    with pytest.raises(
        NotSupported,
        match=r"^on phones a page of 0\.\d MB, .*, is not supported; instead: .*; large=True writes it for computers$",
    ):
        write_page(VECTORS / "rows-epsilon.sfm", target, tell=pytest.fail)
    assert not target.exists()
    assert write_page(VECTORS / "rows-epsilon.sfm", target, large=True) == target and target.exists()


def test_times_of_proofs_grow_with_what_is_compared() -> None:
    """Measured for one of 63.8 million comparisons: 3.6 s; for boxes of a town and of a city: 4.6 s and 19.2 s."""
    weights = kernel.SectionShape("weights", 8, 160_000, 0)
    rows = page._seconds([weights], Proof("twin", 79_800, 0, 63_840_000, ""), 1_000_000)
    assert 3.6 < rows < 2.5 * 3.6
    dual, box = kernel.SectionShape("dual", 8, 728_197, 0), Proof("twin", 0, 0, 3_818_115, "", cells=483)
    town = page._seconds([weights, dual], box, 2_674_186)
    city = page._seconds([weights, dual._replace(numbers=1_363_659)], replace(box, comparisons=75_503_131), 6_613_259)
    assert 4.6 < town < 1.5 * 4.6 and 19.2 < city < 1.5 * 19.2
    assert Burden(3_696_224, town).for_phones and not Burden(8_948_318, city).for_phones
    # no measured file: 45 MB at the bytes that a dual number took there, and a number of comparisons that is a guess
    large = page._seconds([weights, dual._replace(numbers=5_800_000)], replace(box, comparisons=2_500_000), 45 * 10**6)
    assert not Burden(60_000_000, large).for_phones
