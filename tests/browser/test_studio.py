"""The studio as people use it: by mouse, by keyboard, on a telephone, in the dark, with good files and bad ones."""

from __future__ import annotations

import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

import sfumato as sf
from sfumato.certify.bundle import kernel_file
from sfumato.studio.server import _leading_to
from studio_page import LONG, Open, colours, link, settled

pytestmark = pytest.mark.browser
expect.set_options(timeout=LONG)

LINE = {"space": {"kind": "line", "n": 4}, "privacy": {"epsilon": "ln 2"}, "loss": {"kind": "absolute"}}
# by a method that tells its gap from the first second on: that among peaks tells it when it is nearly through
LARGE = {"space": {"kind": "grid", "shape": [18, 18]}, "privacy": {"epsilon": "1"}, "solve": {"solver": "interior"},
         "prior": {"counts": [1 + (k * k) % 7 for k in range(324)]}}  # fmt: skip
LARGEST = {"space": {"kind": "grid", "shape": [24, 24]}, "privacy": {"epsilon": "3/2"},
           "prior": {"counts": [1 + (k * k) % 7 for k in range(576)]}}  # fmt: skip
ROUNDED = "0.667,0.167,0.083,0.083\n0.333,0.333,0.167,0.167\n0.167,0.167,0.333,0.333\n0.083,0.083,0.167,0.667"


def loss_of(page: Page) -> float:
    return float(page.locator("#numbers dd").first.inner_text().split()[0])


def test_it_begins_with_a_town(opened: Open) -> None:
    page = opened()
    expect(page.locator("h1")).to_have_text("sfumato studio")
    expect(page.locator(".where h2")).to_have_text("From (2, 3)")
    assert colours(page, "#map canvas") > 30
    assert 0.65 < loss_of(page) < 0.66
    assert "key=" not in page.url  # it does not stay where people copy from


def test_a_private_page_leads_to_it(opened: Open, served: Any) -> None:
    """What `sfumato studio` starts a browser with: the key is in the file, not in the address of the file."""
    with _leading_to(served.address) as address:
        page = opened(address)
    assert 0.65 < loss_of(page) < 0.66 and "key=" not in page.url


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_each_view_opens(opened: Open, scheme: str) -> None:
    page = opened(color_scheme=scheme)
    page.click("#tab-matrix")
    assert colours(page, "#matrix canvas") > 20
    page.click("#tab-curve")
    expect(page.locator("#view-curve tbody tr")).to_have_count(11)
    assert page.locator("#view-curve .main-svg").count() > 0
    page.click("#tab-known")
    expect(page.locator("#view-known tr.best th")).to_have_text("the optimum")
    page.click("#view-known button:has-text('planar laplace within')")
    expect(page.locator("#view-known h2").nth(1)).to_have_text("planar laplace within")
    page.click("#tab-verdicts")
    expect(page.locator("#view-verdicts article")).to_have_count(4)
    page.click("#tab-simplex")
    page.click("text=Show four secrets in a row")
    expect(page.locator("#kernel option")).to_have_count(11)
    page.wait_for_selector("#view-simplex canvas")
    page.select_option("#kernel", "4")
    expect(page.locator("#epsilon-text")).to_have_value("ln 2")
    page.click("#tab-matrix")
    expect(page.locator("#view-matrix tbody tr")).to_have_count(4)
    back = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, back[4:-1].split(","))) < 200) == (scheme == "dark")


def test_a_design_by_mouse(opened: Open) -> None:
    page = opened()
    before = loss_of(page)
    box = page.locator("#epsilon").bounding_box()
    assert box is not None
    middle = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.63 * box["width"], middle)
    page.mouse.down()
    for part in (0.7, 0.75, 0.8):
        page.mouse.move(box["x"] + part * box["width"], middle, steps=4)
        time.sleep(0.1)
    page.mouse.up()
    expect(page.locator("#epsilon-text")).not_to_have_value("2")
    settled(page)
    assert loss_of(page) < before
    cloud = page.locator("#map").bounding_box()
    assert cloud is not None
    page.mouse.move(cloud["x"] + 0.3 * cloud["width"], cloud["y"] + 0.3 * cloud["height"])
    expect(page.locator(".where h2")).not_to_have_text("From (2, 3)")
    page.mouse.click(cloud["x"] + 0.5 * cloud["width"], cloud["y"] + 0.5 * cloud["height"])
    page.mouse.move(5, 5)
    expect(page.locator(".where h2")).to_contain_text("From (")
    expect(page.locator(".where h2")).not_to_have_text("From (2, 3)")


def test_a_design_by_keyboard_alone(opened: Open) -> None:
    page = opened()
    before = loss_of(page)
    reached = []
    for _ in range(40):
        page.keyboard.press("Tab")
        reached.append(page.evaluate("document.activeElement.id"))
        if reached[-1] == "epsilon":
            break
    assert reached[-1] == "epsilon" and "space-kind" in reached
    assert page.locator("#epsilon").evaluate("n => getComputedStyle(n).outlineStyle") == "solid"  # focus can be seen
    for _ in range(10):
        page.keyboard.press("PageUp")
    settled(page)
    assert loss_of(page) < before
    page.keyboard.press("Tab")
    page.keyboard.press("Control+A")
    page.keyboard.type("ln 2")
    page.keyboard.press("Enter")
    expect(page.locator("#said")).to_contain_text("2× at 1 km")  # said once the design of ln 2 is there
    settled(page)
    while page.evaluate("document.activeElement.getAttribute('role')") != "tab":
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(page.locator("#tab-matrix")).to_have_attribute("aria-selected", "true")
    expect(page.locator("#tab-matrix")).to_be_focused()
    page.keyboard.press("Home")
    expect(page.locator("#view-map")).to_be_visible()
    while page.evaluate("document.activeElement.id") != "map":
        page.keyboard.press("Tab")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".where h2")).to_have_text("From (3, 3)")
    page.keyboard.press("ArrowUp")
    expect(page.locator(".where h2")).to_have_text("From (3, 4)")
    expect(page.locator("#said")).to_contain_text("Secret (3, 4)")


def test_everything_has_a_name(opened: Open) -> None:
    page = opened()
    nameless = """() => [...document.querySelectorAll('input, select, textarea, button, [role=application]')]
        .filter((n) => !(n.labels?.length || n.getAttribute('aria-label') || n.getAttribute('aria-labelledby')
                         || n.textContent.trim())).map((n) => n.outerHTML.slice(0, 90))"""
    for view in ("map", "matrix", "known", "verdicts", "audit"):
        page.click(f"#tab-{view}")
        page.wait_for_selector("#doing", state="hidden")
        assert page.evaluate(nameless) == []
    assert page.locator("[aria-live]").count() >= 1 and page.locator("html[lang=en]").count() == 1


def test_other_spaces(opened: Open) -> None:
    page = opened()
    for kind, count in (
        ("line", 6),
        ("hamming", 8),
        ("cycle", 8),
        ("star", 7),
        ("discrete", 5),
        ("sum_query", 19),
        ("k_count_query", 25),
        ("complete_bipartite", 7),
    ):
        page.select_option("#space-kind", kind)
        settled(page)
        page.click("text=the prior")
        expect(page.locator("#view-map tbody tr")).to_have_count(min(count, 8))
        assert colours(page, "#map canvas") > 3
    page.select_option("#space-kind", "grid")
    expect(page.locator("#prior-kind")).to_have_value("counts")
    assert page.locator("#problem").is_hidden()


def test_fields_are_made_of_what_the_server_says(opened: Open) -> None:
    page = opened()
    page.select_option("#loss-kind", "member")
    members = page.locator("#loss-fields input")
    expect(members).to_have_value("(2,3)")  # the marked secret
    members.fill("(2, 3), (1, 1)")
    members.press("Tab")
    settled(page)
    expect(members).to_have_value("(2,3), (1,1)")
    page.select_option("#space-kind", "line")
    expect(page.locator("#loss-kind")).to_have_value("distance")  # the names were of other secrets
    names, many = page.locator("[data-field='Names, if they have some']"), page.locator("[data-field='How many']")
    names.fill("no, so so, yes")
    names.press("Tab")
    expect(many).to_have_value("3")
    many.fill("4")
    many.press("Tab")
    expect(names).to_have_value("")
    settled(page)
    assert page.locator("#problem").is_hidden()


def test_a_graph_can_be_drawn_and_pasted(opened: Open) -> None:
    page = opened()
    page.select_option("#space-kind", "graph")
    page.wait_for_selector(".board")
    board = page.locator(".board").bounding_box()
    assert board is not None
    page.mouse.click(board["x"] + board["width"] / 2, board["y"] + 0.14 * board["height"])  # the node on top
    page.mouse.click(board["x"] + 0.93 * board["width"], board["y"] + 0.1 * board["height"])  # a new one, joined to it
    page.click("text=the prior")
    expect(page.locator("#view-map tbody tr")).to_have_count(6)
    page.fill("label:has-text('Edges') textarea", "x y 1\ny z 0.5")
    page.keyboard.press("Tab")
    expect(page.locator("#view-map tbody tr")).to_have_count(3)
    expect(page.locator("#view-map tbody")).to_contain_text("z")


def held(page: Page, words: str) -> None:
    """The page says what is wrong, dims what it shows and lets nobody take it away."""
    expect(page.locator("#problem")).to_contain_text(words)
    expect(page.locator("#stage.stale.held")).to_have_count(1)
    expect(page.locator("[data-download]:disabled")).to_have_count(4)


def test_a_space_without_its_file_or_country_has_no_mechanism(opened: Open) -> None:
    page = opened()
    settled(page)
    page.select_option("#space-kind", "points")
    held(page, "Choose a file")
    page.click("#tab-matrix")
    held(page, "Choose a file")  # also while one looks around
    page.reload()
    held(page, "Choose a file")  # and as a link
    assert page.locator("#numbers dd").count() == 0
    page.select_option("#space-kind", "cities")
    held(page, "Choose a country")
    page.select_option("#space-kind", "line")
    settled(page)
    expect(page.locator("#problem")).to_be_hidden()
    expect(page.locator("[data-download]:disabled")).to_have_count(0)


def test_board_list_and_mechanism_agree(opened: Open, served: Any) -> None:
    drawn = {"a": [0.2, 0.2], "b": [0.5, 0.2], "c": [0.8, 0.2]}
    spec = {"space": {"kind": "graph", "edges": [["a", "b"], ["b", "c"]]}, "privacy": {"epsilon": "1"}}
    page = opened(link(served, {"spec": spec, "shows": "prior", "drawn": drawn}))
    edges, rows = page.locator("label:has-text('Edges') textarea"), page.locator("#view-map tbody tr")
    note = page.locator(".board + [role=status]")

    def click(x: float, y: float) -> None:
        page.locator(".board").scroll_into_view_if_needed()
        box = page.locator(".board").bounding_box()
        assert box is not None
        page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])

    expect(rows).to_have_count(3)
    click(0.5, 0.8)  # a node by itself
    expect(note).to_contain_text("d has no edge")
    expect(edges).to_have_value("a b\nb c")
    click(0.2, 0.2)  # it is still marked: joined to a
    expect(edges).to_have_value("a b\nb c\nd a")
    expect(rows).to_have_count(4)
    expect(note).to_have_text("")
    click(0.8, 0.2)
    click(0.5, 0.2)  # b and c are parted, the last edge of c
    expect(edges).to_have_value("a b\nd a")
    expect(note).to_contain_text("c has no edge")
    expect(rows).to_have_count(3)
    click(0.5, 0.8)
    page.keyboard.press("Delete")
    expect(edges).to_have_value("a b")
    expect(rows).to_have_count(2)
    click(0.5, 0.2)
    page.click("#delete-node")
    expect(edges).to_have_value("")
    held(page, "A graph needs an edge")


def test_bad_values_are_said(opened: Open) -> None:
    page = opened()
    settled(page)
    for value, said in (("abc", "“abc” is none"), ("-1", "“-1” is none"), ("0", "“0” is none"), ("", "nothing")):
        page.fill("#epsilon-text", value)
        page.keyboard.press("Enter")
        held(page, said)
        expect(page.locator("#epsilon-text")).to_have_value(value)
    across = page.locator("[data-field=Across]")
    for value, said in (("0", "0 is not"), ("400", "from 1 to 32"), ("", "there is none"), ("2.5", "2.5 is not")):
        across.fill(value)
        across.press("Tab")
        held(page, said)
    assert page.locator("#prior-note").inner_text() == ""
    across.fill("4")
    across.press("Tab")
    expect(page.locator("#prior-note")).to_contain_text("now all are the same")
    settled(page)
    expect(page.locator("#problem")).to_be_hidden()
    expect(page.locator("#epsilon-text")).to_have_value("2")  # what was refused is gone
    page.select_option("#prior-kind", "counts")
    expect(page.locator("#prior-note")).to_have_text("")


def test_an_audit_of_what_promises_less_and_loses_more(opened: Open, served: Any) -> None:
    page = opened(link(served, {"view": "audit", "spec": LINE}))
    settled(page)
    page.fill("#matrix-text", "0.9,0.1\n0.2,0.8\n0.2,0.8\n0.2,0.8")
    page.click("#audit-go")
    expect(page.locator("#view-audit article").nth(2)).to_contain_text("%")
    assert "% more than the optimum of the promise" in page.locator("#view-audit article").nth(2).inner_text()


def test_cities(opened: Open) -> None:
    page = opened()
    page.select_option("#space-kind", "cities")
    page.select_option("[data-field=Country]", "PT")
    expect(page.locator(".where")).to_contain_text("Lisbon")
    page.click("text=everybody’s outputs")
    assert colours(page, "#map canvas") > 20


def test_the_prior_can_be_painted(opened: Open) -> None:
    page = opened()
    page.click("text=the prior")
    first = page.locator("#view-map tbody td.n").first.inner_text()
    page.check("#paint")
    cloud = page.locator("#map").bounding_box()
    assert cloud is not None
    for _ in range(12):
        page.mouse.click(cloud["x"] + 0.5 * cloud["width"], cloud["y"] + 0.5 * cloud["height"])
    expect(page.locator("#view-map tbody td.n").first).not_to_have_text(first)


def test_points_are_brought_and_bad_files_refused(opened: Open) -> None:
    page = opened()
    page.select_option("#space-kind", "points")
    good = "name,x,y,count\nharbour,0,0,30\nmarket,1,0.5,50\nstation,2,2,20\n"
    page.set_input_files("#points-file", {"name": "good.csv", "mimeType": "text/csv", "buffer": good.encode()})
    expect(page.locator("#view-map tbody")).to_contain_text("market")
    for text, said in (("x,y\n1,\n", "'y' is empty"), ("a,b\n1,2\n", "needs columns x and y"), ("x", "needs a header")):
        page.set_input_files("#points-file", {"name": "bad.csv", "mimeType": "text/csv", "buffer": text.encode()})
        expect(page.locator("#problem")).to_contain_text(said)
    expect(page.locator("#view-map tbody")).to_contain_text("market")  # what was there stays
    page.set_input_files("#points-file", {"name": "big.csv", "mimeType": "text/csv", "buffer": b"x" * 4_000_001})
    expect(page.locator("#problem")).to_contain_text("larger than 4 MB")
    assert page.locator("#problem").get_attribute("role") == "alert"


def test_columns_of_a_file_can_be_chosen(opened: Open) -> None:
    page = opened()
    page.select_option("#space-kind", "points")
    text = "name,lat,latitude,lon,people\nParis,48.86,0,2.35,3\nLondon,51.51,0,-0.13,1\nLille,50.6,0,3.06,1\n"
    page.set_input_files("#points-file", {"name": "two.csv", "mimeType": "text/csv", "buffer": text.encode()})
    expect(page.locator("#problem")).to_contain_text("could each be the latitude: choose one")
    page.select_option("#points-latitude", "lat")
    expect(page.locator("#view-map tbody")).to_contain_text("London")
    expect(page.locator("#problem")).to_be_hidden()
    assert page.locator("#points-columns select").count() == 6


def test_an_audit_of_an_uploaded_matrix(opened: Open, served: Any, tmp_path: Path) -> None:
    page = opened(link(served, {"view": "audit", "spec": LINE}))
    page.set_input_files("#matrix-file", {"name": "m.csv", "mimeType": "text/csv", "buffer": ROUNDED.encode()})
    expect(page.locator("#view-audit article").first).to_contain_text("2.01205 times as likely")
    with page.expect_download() as kept:
        page.click("text=Download the repaired mechanism")
    kept.value.save_as(tmp_path / "repaired.sfm")
    assert sf.verify(tmp_path / "repaired.sfm")
    for text, said in (
        ("1,2,x\n", "no number"),
        ("0.5,0.5\n", "1 rows for 4 secrets"),
        ("2,-1\n" * 4, "negative"),
    ):
        page.fill("#matrix-text", text)
        page.click("#audit-go")
        expect(page.locator("#view-audit .problem")).to_contain_text(said)


def test_a_long_design_shows_its_gap_and_can_be_cancelled(opened: Open, served: Any) -> None:
    page = opened(link(served, {"view": "map", "spec": LARGE}), waits=False)
    expect(page.locator("#doing-words")).to_contain_text("gap")
    running = served.workers()
    page.click("#cancel")
    expect(page.locator("#problem")).to_contain_text("Cancelled")
    expect(page.locator("#doing")).to_be_hidden()
    expect(page.locator("input[name=shows][value=prior]")).to_be_checked()  # as the picture
    expect(page.locator("[data-download]:disabled")).to_have_count(4)
    _until(lambda: running - served.workers())
    page.fill("label:has-text('Across') input", "5")
    page.fill("label:has-text('Up') input", "5")
    page.keyboard.press("Tab")
    expect(page.locator("#numbers dd").first).to_be_visible()
    assert loss_of(page) > 0


def test_a_long_design_can_be_stopped_with_what_it_has(opened: Open, served: Any) -> None:
    page = opened(link(served, {"view": "map", "spec": LARGE}), waits=False)
    expect(page.locator("#doing-words")).to_contain_text("gap")
    said = "document.getElementById('stop').click(), document.getElementById('doing-words').textContent"
    assert page.evaluate(said) == "stopping…"  # at once
    expect(page.locator("#numbers")).to_contain_text("gap")
    assert loss_of(page) > 0


def test_a_closed_tab_leaves_nothing_running(opened: Open, served: Any) -> None:
    """Whatever ran before: this takes minutes on any machine, so that it cannot be through when the tab is closed."""
    page = opened(link(served, {"view": "map", "spec": LARGEST}), waits=False)
    expect(page.locator("#doing-words")).to_contain_text("·")  # a worker has been at it for some time
    running = served.workers()
    page.close()
    _until(lambda: running - served.workers())
    assert served.process.poll() is None  # the studio itself goes on


def _until(true: Callable[[], Any]) -> None:
    for _ in range(1200):
        if true():
            return
        time.sleep(0.1)
    raise AssertionError("this should have become true within two minutes")


def test_downloads(opened: Open, tmp_path: Path) -> None:
    page = opened()
    for name in ("mechanism", "report", "page", "spec"):
        with page.expect_download() as kept:
            page.click(f"[data-download={name}]")
        kept.value.save_as(tmp_path / kept.value.suggested_filename)
    bare = [sys.executable, "-I", "-S", str(kernel_file()), str(tmp_path / "mechanism.sfm")]
    proved = subprocess.run(bare, capture_output=True, text=True, check=False)
    assert proved.returncode == 0, proved.stderr
    assert float(sf.load(tmp_path / "mechanism.sfm").proof.loss or 0) == pytest.approx(loss_of(page), rel=1e-3)
    assert (tmp_path / "report.html").read_text().startswith("<!DOCTYPE html>")
    assert tomllib.loads((tmp_path / "spec.toml").read_text())["privacy"]["epsilon"] == 2
    page.goto((tmp_path / "page.html").as_uri())  # what visitors get proves the mechanism in their browser
    page.wait_for_selector("text=It holds", timeout=120_000)


def test_every_state_is_a_link(opened: Open) -> None:
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    page.fill("#epsilon-text", "3")
    page.keyboard.press("Enter")
    page.click("#tab-matrix")
    settled(page)
    page.click("#copy-link")
    expect(page.locator(".toast")).to_be_visible()
    address = page.evaluate("navigator.clipboard.readText()")
    assert "key" not in address
    before = page.locator("#numbers dd").first.inner_text()
    page.goto("about:blank")
    page.goto(address)
    expect(page.locator("#epsilon-text")).to_have_value("3")
    expect(page.locator("#view-matrix")).to_be_visible()
    expect(page.locator("#numbers dd").first).to_have_text(before)
    page.reload()
    expect(page.locator("#epsilon-text")).to_have_value("3")


def test_links_from_elsewhere_do_no_harm(opened: Open, served: Any) -> None:
    evil = "<img src=x onerror=alert(1)>"
    page = opened(link(served, {"spec": {**LINE, "space": {"kind": "line", "labels": [evil, "b", "c", "d"]},
                                         "loss": {"kind": "distance"}}}))  # fmt: skip
    expect(page.locator(".where h2")).to_have_text(f"From {evil}")
    for view in ("matrix", "known", "verdicts", "simplex", "curve"):
        page.click(f"#tab-{view}")
        page.wait_for_selector("#doing", state="hidden")
    page.wait_for_selector("#view-curve .main-svg")
    assert page.locator("img[src=x]").count() == 0
    for hash_ in ("garbage", "AAAA", "x" * 5000):
        page.goto(f"{served.address}#{hash_}")
        page.reload()
        page.wait_for_selector("#numbers dd")


def test_a_page_without_the_key_says_so(browser: Any, served: Any) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(served.address.partition("?")[0])
    expect(page.locator("#problem")).to_contain_text("open the address that")
    assert page.locator("#numbers dd").count() == 0
    context.close()


def test_a_narrow_screen(opened: Open) -> None:
    page = opened(viewport={"width": 380, "height": 800}, is_mobile=True, has_touch=True)
    for view in ("map", "matrix", "curve", "known", "verdicts", "audit"):
        page.click(f"#tab-{view}")
        page.wait_for_selector("#doing", state="hidden")
        assert page.evaluate("document.documentElement.scrollWidth") <= 380, view
    page.click("summary:has-text('The question')")
    expect(page.locator("#space-kind")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 380


def test_shares_of_a_survey_are_asked_for_and_what_they_lack_says_so(opened: Open, served: Any) -> None:
    page = opened(link(served, {"spec": LINE}))
    expect(page.locator("#numbers")).to_contain_text("Expected loss")
    page.locator("#question").evaluate("(details) => { details.open = true; }")
    page.select_option("#loss-kind", "shares")
    expect(page.locator("#numbers")).to_contain_text("Variance of all estimates, times N")
    page.click("#tab-verdicts")
    expect(page.locator("#not-here")).to_be_visible()
    page.click("#tab-known")
    expect(page.locator("#not-here")).to_be_hidden()
    expect(page.locator("#view-known caption")).to_contain_text("how many times as many people", timeout=60_000)
    page.click("#tab-curve")
    expect(page.locator("#not-here")).to_be_hidden()
    expect(page.locator("#view-curve")).to_contain_text("variance, times N", timeout=60_000)
    page.reload()
    expect(page.locator("#loss-kind")).to_have_value("shares")
    expect(page.locator("#numbers")).to_contain_text("Variance of all estimates, times N")
    page.select_option("#loss-kind", "distance")
    expect(page.locator("#numbers")).to_contain_text("Expected loss")
    assert 0 < loss_of(page) < 4


def test_an_epsilon_is_found_for_a_loss_and_rows_are_released(opened: Open, served: Any, tmp_path: Path) -> None:
    page = opened(link(served, {"spec": LINE}))
    expect(page.locator("#numbers")).to_contain_text("Expected loss")
    page.fill("#target", "0.25")
    page.click("#seek")
    expect(page.locator("#numbers dd").first).to_contain_text("0.25")
    assert loss_of(page) <= 0.25 and page.locator("#epsilon-text").input_value() > "1"
    rows = tmp_path / "answers.csv"
    rows.write_text("id,answer\na,0\nb,3\n")
    with page.expect_download() as waiting:
        page.set_input_files("#rows", rows)
    told = Path(waiting.value.path()).read_text().splitlines()
    assert told[0] == "id,answer" and [row[:2] for row in told[1:]] == ["a,", "b,"]
