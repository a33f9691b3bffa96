"""Boxes of coordinates in the studio's page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

import sfumato as sf
from sfumato.certify.noise import BoxNoise
from studio_page import LONG, Open, colours, link, settled

pytestmark = pytest.mark.browser
expect.set_options(timeout=LONG)


def test_a_box_of_coordinates(opened: Open, tmp_path: Path) -> None:
    """All points are secrets: designed from the form, drawn at a chosen point, and taken away."""
    page = opened()
    settled(page)
    page.select_option("#space-kind", "box")
    settled(page)
    expect(page.locator("#promise")).to_contain_text("about all points, not about cells")
    page.locator("[data-field='Up (empty: an interval)']").fill("")
    page.locator("[data-field='Up (empty: an interval)']").press("Tab")
    settled(page)
    expect(page.locator("#density figure")).to_have_count(3)
    page.locator("[data-field='Side of a cell']").fill("500 m")
    page.locator("[data-field='Side of a cell']").press("Tab")
    settled(page)
    expect(page.locator("#density figcaption").first).to_contain_text("What is told at the point 0.25 km")
    page.locator("#map").press("End")
    expect(page.locator("#density figcaption").first).to_contain_text("What is told at the point 3.75 km")
    expect(page.locator("#view-map h2")).to_have_text("At 3.75")
    assert page.locator("#density img").first.evaluate("i => i.decode().then(() => i.naturalWidth)") > 100
    assert colours(page, "#map canvas") > 3
    page.click("#tab-verdicts")
    expect(page.locator("#not-here")).to_be_visible()
    expect(page.locator("#view-verdicts")).to_be_hidden()
    page.click("#tab-curve")
    expect(page.locator("#view-curve details tbody tr")).to_have_count(7)
    page.click("#tab-matrix")
    expect(page.locator("#not-here")).to_be_hidden()
    with page.expect_download() as file:
        page.click("[data-download=mechanism]")
    file.value.save_as(tmp_path / "way.sfm")
    assert sf.load(tmp_path / "way.sfm").box == sf.box(4, step="1/2", unit="km")
    page.select_option("#space-kind", "line")
    settled(page)
    page.click("#tab-verdicts")
    expect(page.locator("#view-verdicts")).to_be_visible()
    page.click("#tab-map")
    expect(page.locator("#density figure")).to_have_count(0)


def test_a_long_design_on_a_box_is_stopped_with_what_it_has(opened: Open, served: Any) -> None:
    city = {"space": {"kind": "box", "sides": ["4", "4"], "step": "1/2", "unit": "km"}, "privacy": {"epsilon": "2"},
            "prior": {"counts": [1 + (k * k) % 7 for k in range(64)]}, "solve": {"tolerance": "0.0001"}}  # fmt: skip
    page = opened(link(served, {"spec": city}), waits=False)
    expect(page.locator("#doing-words")).to_contain_text("gap")
    page.click("#stop")
    settled(page)
    expect(page.locator("#numbers")).to_contain_text("No mechanism has less than")
    expect(page.locator("#density figure")).to_have_count(3)
    assert "km" in page.locator("#numbers dd").first.inner_text()


def test_a_box_too_large_for_a_table(opened: Open, served: Any, tmp_path: Path) -> None:
    """The same noise everywhere is shown like any other box: on cells, at a point, at the border; and taken away."""
    region = {"space": {"kind": "box", "sides": ["10", "10"], "step": "1", "unit": "km"},
              "privacy": {"double_at": "200 m"}, "solve": {"tolerance": "0.03"}}  # fmt: skip
    page = opened(link(served, {"spec": region, "secret": 55}))
    settled(page)
    expect(page.locator("#numbers")).to_contain_text("the same noise everywhere")
    expect(page.locator("#promise")).to_contain_text("at most 2× at 0.2 km, 4× at 0.4 km")
    expect(page.locator("#epsilon-text")).to_have_value("3.466")
    captions = page.locator("#density figcaption")
    expect(captions).to_have_count(3)
    expect(captions.nth(0)).to_contain_text("What is told at the point (5.5, 5.5) km")
    expect(captions.nth(1)).to_contain_text("How much of ε is used")
    expect(captions.nth(2)).to_contain_text("on the border itself")
    for k in range(3):
        assert page.locator("#density img").nth(k).evaluate("i => i.decode().then(() => i.naturalWidth)") > 100
    assert colours(page, "#map canvas") > 3
    page.click("#tab-matrix")
    expect(page.locator("#matrix canvas")).to_be_visible()
    assert colours(page, "#matrix canvas") > 3
    with page.expect_download() as file:
        page.click("[data-download=mechanism]")
    file.value.save_as(tmp_path / "region.sfm")
    assert isinstance(sf.load(tmp_path / "region.sfm"), BoxNoise)
