"""The client in a real browser: the module verifies there, and pages of mechanisms work as people use them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import sfumato as sf
from sfumato.client.bundle import bundle
from sfumato.client.page import write_page

pytestmark = pytest.mark.browser

VECTORS = Path(__file__).resolve().parents[1] / "vectors"


def test_the_module_answers_as_it_should_in_a_browser(opened: Callable[..., Page], tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text("<!doctype html><title>client</title>")
    page = opened(f"file://{tmp_path}/page.html", waits=False)
    answers = json.loads((VECTORS / "answers.json").read_text())
    files = {name: base64.b64encode((VECTORS / f"{name}.sfm").read_bytes()).decode() for name in answers}
    found = page.evaluate(
        """async ([module, files]) => {
            const { load, verify } = await import(`data:text/javascript;base64,${module}`);
            const answer = (text) => {
                try {
                    return verify(load(Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0)))).outcome;
                } catch (error) {
                    return error.name === "Unreadable" ? "unreadable" : String(error.stack);
                }
            };
            return Object.fromEntries(Object.entries(files).map(([name, text]) => [name, answer(text)]));
        }""",
        [base64.b64encode(bundle().encode()).decode(), files],
    )
    assert found == {name: owed["answer"] for name, owed in answers.items()}


@pytest.fixture
def town(tmp_path: Path) -> Path:
    space = sf.grid(3, 3, step="1/2", unit="km")
    sf.save(sf.exponential(sf.PrivacyType(space, epsilon=2)), tmp_path / "town.sfm")
    return write_page(tmp_path / "town.sfm", tmp_path / "town.html", title="A <small> town")


def test_a_page_verifies_hides_and_shows(opened: Callable[..., Page], town: Path) -> None:
    page = opened(f"file://{town}", waits=False, viewport={"width": 390, "height": 844}, color_scheme="dark")
    page.wait_for_selector("#choice:not([hidden])")
    assert "It holds" in page.inner_text("#state")
    assert "times as likely" in page.inner_text("#words")
    assert page.inner_text("#words") == (
        "Whatever is sent is at most 2.72 times as likely from one as from the other of two places that are up to 500 "
        "m apart and 7.39 times up to 1 km. The promise is about these places, not about points between them."
    )
    assert "at most e^(2·d) times as likely" in (page.text_content("#report") or "")
    assert page.inner_text("h1") == "A <small> town"
    # by keyboard alone: choose, then hide
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    page.focus("#hide")
    page.keyboard.press("Enter")
    page.wait_for_selector("#answer:not([hidden])")
    first = page.inner_text("#sent")
    for _ in range(5):
        page.click("#hide")
        assert page.inner_text("#sent") == first
    assert page.locator("#map .told").count() == 1 and page.is_visible("#map")
    page.click("#again")
    assert page.is_hidden("#answer")
    # nothing is wider than a phone
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_page_asks_for_the_position_of_the_device(opened: Callable[..., Page], tmp_path: Path) -> None:
    target = write_page(VECTORS / "ground.sfm", tmp_path / "ground.html")
    where = {"geolocation": {"latitude": 52.0512345678901, "longitude": 13.06}, "permissions": ["geolocation"]}
    page = opened(f"file://{target}", waits=False, **where)
    page.wait_for_selector("#choice:not([hidden])")
    page.click("#locate")
    # by Playwright's own script: the page forbids to evaluate a string, as the second look of wait_for_function does
    expect(page.locator("#fields input").first).to_have_value("52.0512345678901")  # not rounded
    page.click("#hide")
    page.wait_for_selector("#answer:not([hidden])")
    assert page.is_visible("#map .mine") and page.is_visible("#map .told")
    sent = json.loads(page.inner_text("#sent"))
    assert set(sent) == {"latitude", "longitude", "mechanism"}
    assert sent["mechanism"] == (VECTORS / "ground.sfm").read_bytes()[-32:].hex()
    assert sent["mechanism"] not in page.inner_text("#told")
    # what is outside of the box and its margin is refused with a sentence
    page.fill("#fields input", "20")
    page.click("#again")
    page.click("#hide")
    assert "nothing is promised" in page.inner_text("#state")
