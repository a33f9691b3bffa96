"""The texts for people keep their measure, name what exists, and take their figures from measurements."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import sfumato as sf

ROOT = Path(__file__).resolve().parents[2]
ROOM = re.compile(r"^\| `([\w.]+)` \| (.+?) \|$", re.MULTILINE)
IN_MOTION: set[str] = set()
TERM = re.compile(r"^\| \*\*(.+?)\*\* \| (.+?) \|$", re.MULTILINE)


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def words(sentence: str) -> int:
    return len(re.findall(r"[\w'ε]+(?:[-–][\w]+)*", sentence))


# ------------------------------------------------------------------------------------------------------ architecture


def test_paths_named_in_the_texts_exist() -> None:
    known = r"`((?:src|tests|docs|benchmarks)/[\w./-]*|[\w-]+\.(?:md|toml|txt)|Makefile|\.ci/run)`"
    for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "benchmarks/README.md"):
        missing = [path for path in re.findall(known, text(name)) if not (ROOT / path).exists()]
        assert not missing, (name, missing)


def test_every_room_is_described_in_at_most_25_words() -> None:
    described = dict(ROOM.findall(text("ARCHITECTURE.md").split("**The tower", 1)[0]))
    there = {path.name for path in (ROOT / "src" / "sfumato").iterdir() if path.suffix not in (".pyi", ".typed")}
    assert there - {"__pycache__"} <= described.keys()
    assert described.keys() <= there | IN_MOTION
    for room, what in described.items():
        assert words(what) <= 25, (room, words(what))


def test_the_glossary_has_some_forty_terms_of_one_line_each() -> None:
    terms = TERM.findall(text("ARCHITECTURE.md").split("## Glossary", 1)[1])
    names = [name for name, _ in terms]
    assert 40 <= len(names) <= 60
    assert len(set(names)) == len(names)
    assert all(len(line) <= 160 for _, line in terms)


def test_functions_of_the_two_walks_exist() -> None:
    """A walk names functions as ``file.py: function``; the file has it."""
    walks = text("ARCHITECTURE.md").split("## Two walks", 1)[1].split("## Glossary", 1)[0]
    named = re.findall(r"`([\w/]+\.py)`: `(\w+)`", walks)
    assert len(named) >= 12
    for file, function in named:
        source = text(f"src/sfumato/{file}")
        assert re.search(rf"^(?:def|class) {function}\b|^    def {function}\b", source, re.MULTILINE), (file, function)


# ------------------------------------------------------------------------------------------------------------ others


def test_the_readme_is_short_and_names_the_two_commands() -> None:
    readme = text("README.md")
    assert readme.count("\n") <= 120
    assert "make demo" in readme
    assert "make test" in readme


def test_the_readme_shows_a_small_picture_that_a_command_makes() -> None:
    pictures = re.findall(r"!\[.+?\]\((docs/.+?)\)", text("README.md"))
    assert pictures
    for picture in pictures:
        assert 1_000 < (ROOT / picture).stat().st_size < 150_000
    assert "make picture" in text("README.md")
    assert "\npicture:" in text("Makefile")


def test_the_changelog_is_short_and_knows_this_version() -> None:
    changelog = text("CHANGELOG.md")
    assert f"## {sf.__version__}" in changelog
    assert changelog.count("\n") <= 40


@pytest.mark.parametrize("family", ["space", "loss", "mechanism", "solver", "engine", "command", "paper"])
def test_contributing_says_where_a_new_member_goes(family: str) -> None:
    assert re.search(rf"^\| (?:an? )?{family} \|", text("CONTRIBUTING.md"), re.MULTILINE)


def test_the_home_of_the_documentation_has_four_doors() -> None:
    home = text("docs/index.md")
    for guide in ("locations", "surveys", "statistics", "research"):
        assert f"(guides/{guide}.md)" in home
    assert len(re.findall(r"\]\(", home)) <= 12


# ----------------------------------------------------------------------------------------------------- measurements


def test_the_page_on_peers_is_what_its_command_makes() -> None:
    command = [sys.executable, str(ROOT / "benchmarks" / "peers_page.py"), "--check"]
    assert subprocess.run(command, check=False).returncode == 0, "run `make peers-page`"


def test_the_text_of_the_page_on_peers_has_no_figure() -> None:
    prose = re.sub(r"\{\{.*?\}\}|`[^`]*`|\([\w/.-]+\)", "", text("benchmarks/peers_page.md"))
    assert not re.findall(r".*\d.*", prose)


def test_times_are_measured_on_the_page_on_peers_alone() -> None:
    """A time written elsewhere by hand grows old unseen."""
    timed = re.compile(r"\d[\d.,]*\s*(?:s|ms|seconds|minutes|hours)\b(?!·)")
    pages = ["README.md", "CHANGELOG.md", "docs/index.md", "docs/start.md", "docs/limits.md"]
    pages += [str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs" / "guides").glob("*.md"))]
    for name in pages:
        prose = re.sub(r"(?s)```.*?```|`[^`]*`", "", text(name))
        assert not timed.findall(prose), (name, timed.findall(prose))


def test_results_say_where_they_come_from() -> None:
    kept = sorted((ROOT / "benchmarks" / "results").glob("*.json"))
    assert kept
    for path in kept:
        result = json.loads(path.read_text(encoding="utf-8"))
        assert {"columns", "rows", "machine", "date", "commit", "command"} <= result.keys(), path.name
        assert "seconds" in result or "source" in result, path.name
        assert {"processor", "cores", "memory", "gpu", "busy"} <= result["machine"].keys(), path.name
        assert all(len(row) == len(result["columns"]) for row in result["rows"]), path.name
        assert result["command"].startswith("python benchmarks/"), path.name
        assert path.stat().st_size < 30_000
