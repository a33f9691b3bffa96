"""The client in a real browser: the module verifies there, and pages of mechanisms work as people use them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

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
    assert page.is_hidden("#send")  # where no address was named
    # what is outside of the box and its margin is refused with a sentence
    page.fill("#fields input", "20")
    page.click("#again")
    page.click("#hide")
    assert "nothing is promised" in page.inner_text("#state")


class Collector(ThreadingHTTPServer):
    """A server that gives pages away and keeps what arrives."""

    def __init__(self, folder: Path) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.folder, self.arrived = folder, []
        self.address = f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    server: Collector

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write((self.server.folder / self.path[1:]).read_bytes())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.arrived.append((self.path, self.headers, json.loads(body)))
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing: the terminal belongs to the tests."""


@pytest.fixture
def collector(tmp_path: Path) -> Iterator[Collector]:
    with Collector(tmp_path) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_visitor_sends_what_is_shown_and_nothing_else(
    opened: Callable[..., Page], collector: Collector, tmp_path: Path
) -> None:
    target = f"{collector.address}/answers"
    write_page(VECTORS / "ground.sfm", tmp_path / "page.html", send_to=target)
    page = opened(f"{collector.address}/page.html", waits=False)
    page.wait_for_selector("#choice:not([hidden])")
    page.click("#hide")
    shown = json.loads(page.inner_text("#sent"))
    assert not collector.arrived
    page.evaluate("() => { window.asFetched = fetch; window.fetch = async () => ({ ok: false, status: 503 }); }")
    page.click(f"text=Send it to {target}")
    expect(page.locator("#arrived")).to_contain_text(
        "failed: the server answered 503. The answer stays the same; try again."
    )
    page.evaluate("() => { window.fetch = window.asFetched; }")
    page.click(f"text=Send it to {target}")
    expect(page.locator("#arrived")).to_have_text(f"It was sent to {target}.")
    expect(page.locator("#send")).to_be_hidden()
    ((path, headers, body),) = collector.arrived
    assert (path, body) == ("/answers", shown) and headers["Referer"] is None and headers["Cookie"] is None
    # who opens the page again gives the same answer: a second one would tell more
    page.reload()
    page.wait_for_selector("#choice:not([hidden])")
    page.fill("#fields input", "52.01")
    page.click("#hide")
    assert json.loads(page.inner_text("#sent")) == shown
    assert "when you say so" in page.inner_text("#sending")  # and not that nothing was sent, which nobody knows now
    page.click("#again")
    page.click("#hide")
    expect(page.locator("#send")).to_be_enabled()
    assert len(collector.arrived) == 1
