"""The studio in a real browser: Debian's Chromium through Playwright, with nothing but this machine in reach."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page, Route, sync_playwright

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
OWN = {"127.0.0.1", "localhost"}


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "browser: drives the studio in Chromium; needs the extra 'browser' and chromium")


class Served:
    """A running studio: where it is, and which workers it has."""

    def __init__(self, process: subprocess.Popen[str], address: str) -> None:
        self.process, self.address = process, address

    def workers(self) -> set[int]:
        """The processes that compute; multiprocessing's own tracker is none of them."""
        found = set()
        for folder in Path("/proc").iterdir():
            if not folder.name.isdecimal():
                continue
            try:
                state, parent = (folder / "stat").read_text().rpartition(")")[2].split()[:2]
                command = (folder / "cmdline").read_bytes()
            except OSError:
                continue
            # a process that has ended stays in the list until its parent asks for its status
            if int(parent) == self.process.pid and state != "Z" and b"resource_tracker" not in command:
                found.add(int(folder.name))
        return found


@pytest.fixture(scope="session")
def served() -> Iterator[Served]:
    process = subprocess.Popen(
        [sys.executable, "-m", "sfumato", "studio", "--no-open", "--json"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    yield Served(process, json.loads(process.stdout.readline())["address"])
    process.terminate()
    assert process.wait(15) in (0, -15)
    process.stdout.close()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    options = ["--no-sandbox", "--use-gl=swiftshader", "--enable-unsafe-swiftshader"]  # a solid is drawn without a GPU
    with sync_playwright() as playwright:
        made = playwright.chromium.launch(executable_path=CHROMIUM, args=options)
        yield made
        made.close()


@pytest.fixture
def opened(browser: Browser, served: Served) -> Iterator[Callable[..., Page]]:
    """Open pages; afterwards: no error on a console, no dialog, no request that left this machine."""
    contexts, complaints, strangers = [], [], []

    def guard(route: Route) -> None:
        if urlsplit(route.request.url).hostname in OWN or route.request.url.startswith(("data:", "blob:", "file:")):
            route.continue_()
        else:
            strangers.append(route.request.url)
            route.abort()

    def open_page(address: str | None = None, waits: bool = True, **options: Any) -> Page:
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        context.route("**/*", guard)
        page = context.new_page()
        page.set_default_timeout(300_000)
        page.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("dialog", lambda dialog: (complaints.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        page.goto(address or served.address)
        if waits:
            page.wait_for_selector("#numbers dd")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert not strangers
    assert not complaints
