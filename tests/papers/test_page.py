"""The page with all items of the papers."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import pytest
from typer.testing import CliRunner

from sfumato import errors
from sfumato.cli.main import app
from sfumato.papers import PAPERS
from sfumato.papers.page import TITLES, Agreement, compared, paper_page, recomputed
from sfumato.papers.tables import PaperTable, cell


class Outline(HTMLParser):
    """Names of sections, links within the page, and anything that asks for another file."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.sections: list[str] = []
        self.links: list[str] = []
        self.outside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if tag == "section":
            self.sections.append(given["id"] or "")
        if tag == "a":
            self.links.append(given["href"] or "")
        self.outside += [str(given[name]) for name in ("src", "href") if name in given and "#" not in str(given[name])]


def test_the_page_has_a_section_for_each_item_and_asks_for_nothing_else() -> None:
    said: list[str] = []
    page = paper_page(recomputed(["C.example3", "C.fig2", "D.fig8"], said.append))
    outline = Outline(page)
    assert outline.sections == ["C.example3", "C.fig2", "D.fig8"]
    assert sorted(outline.links) == [f"#{key}" for key in sorted(outline.sections)] and not outline.outside
    assert said == ["C.example3, 1 of 3", "C.fig2, 2 of 3", "D.fig8, 3 of 3"]
    assert "2 of 4 printed numbers differ" in page and 'id="figure-C-fig2"' in page


def test_every_paper_has_a_title() -> None:
    assert {key[0] for key in PAPERS} == set(TITLES)


def test_what_agrees_is_counted() -> None:
    rows = ({"a": cell("0.5", 0.5), "b": cell("-", 3), "c": "text"}, {"a": cell("2", 3)})
    assert compared(PaperTable("X.y", "", rows)) == Agreement(1, 1)
    assert str(Agreement(0, 0)) == "no number is printed"
    assert str(Agreement(1, 0)) == "the printed number found again"
    assert str(Agreement(3, 0)) == "all 3 printed numbers found again"


@pytest.mark.parametrize(("key", "same", "different"), [("C.fig6b", 0, 1), ("C.fig7", 0, 1), ("A.fig8", 36, 8)])
def test_the_page_counts_what_the_corrections_list(key: str, same: int, different: int) -> None:
    """The thresholds that are too small, and two rows of four numbers that belong to no secret."""
    assert compared(PAPERS[key]()) == Agreement(same, different)


def test_the_command_says_how_many_differ(tmp_path: Path) -> None:
    words = ["paper", "C.example3", "--all", "-o", str(tmp_path / "all.html")]
    assert "2 of 4 printed numbers differ (in C.example3)" in CliRunner().invoke(app, words).stdout
    told = json.loads(CliRunner().invoke(app, [*words, "--overwrite", "--json"]).stdout)
    assert (told["items"], told["printed"], told["different"], told["differ"]) == (1, 4, 2, ["C.example3"])


def test_the_list_of_items_is_json_where_asked() -> None:
    told = CliRunner().invoke(app, ["paper", "list", "--json"]).stdout
    assert [json.loads(line)["key"] for line in told.splitlines()] == list(PAPERS)


def test_unknown_items_are_refused() -> None:
    with pytest.raises(errors.NotSupported, match=r"'Z\.fig1'"):
        paper_page(recomputed(["Z.fig1"]))


def test_the_command_writes_one_page(tmp_path: Path) -> None:
    words = ["paper", "D.sec", "--all", "-o", str(tmp_path / "all.html")]
    made = CliRunner().invoke(app, words, catch_exceptions=False)
    assert made.exit_code == 0 and "1 item: " in made.stdout
    assert "D.section22" in (tmp_path / "all.html").read_text()
    with pytest.raises(errors.InvalidInput, match="begins with 'Z'"):
        CliRunner().invoke(app, ["paper", "Z", "--all"], catch_exceptions=False)
    with pytest.raises(errors.InvalidInput, match="or say --all"):
        CliRunner().invoke(app, ["paper"], catch_exceptions=False)
