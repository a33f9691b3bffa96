"""The pages on the papers: every numbered item is there, in order, and what a row names exists.

A row says what an item states, which function computes it, which tests show it, what is printed and what we find. Names
of functions are resolved, tests are looked up, and keys of ``sfumato paper`` are those of the register.
"""

from __future__ import annotations

import ast
import importlib
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

import sfumato as sf
from sfumato.papers import PAPERS

ROOT = Path(__file__).resolve().parents[2]
HEADER = ["item", "what it says", "call", "shown by", "printed", "ours", "verdict"]
VERDICTS = {
    "definition",
    "illustration",
    "right",
    "right, with one more hypothesis",
    "misprint",
    "wrong in part",
    "wrong",
}

# What is numbered in each paper, facts of its text.
ITEMS = {
    "a": "Definition 1-10 A1, Property 1-3, Lemma 1-2 16 19 21 A1-A3 A6, Theorem 3-6 8 10-12 14 15 A4, "
    "Corollary 7 9 13 17 18 20 22 A5, Remark 1, Figure 1-3 4b 5b 6b 7b 8, Table 4a 5a 6a 7a",
    "b": "Definition 1-4 6 7 15, Theorem 5 12-14, Lemma 8-11 16, Corollary 17, Figure 1",
    "c": "Definition 1-7, Theorem 1-4, Lemma 1, Proposition 1-9, Corollary 1-3, Example 1-3, Figure 1-7",
    "d": "Definition 2.0.1-2.0.5 3.1.2 3.1.3 3.2.7 3.3.1, Axiom 2.1.1 2.1.2 3.1.4 3.2.5 3.2.6, "
    "Theorem 2.1.3 2.1.4 2.2.1 2.2.2 2.3.1 3.2.8 3.3.2 A.0.6 B.0.7, Proposition A.0.3-A.0.5, Example 3.2.1-3.2.4, "
    "Figure 1-10",
    "e": "Definition 2.1-2.3 2.6 3.1 3.2, Remark 2.4 2.5, Theorem 2.7 3.4 A.2, Lemma A.1, Example 3.3",
}


class Row(NamedTuple):
    """One numbered item."""

    item: str
    says: str
    call: str
    shown_by: str
    printed: str
    ours: str
    verdict: str


def expected(paper: str) -> set[str]:
    """The numbered items of a paper: a range ``A1-A3`` counts up its last number."""
    items = set()
    for group in ITEMS[paper].split(", "):
        kind, *numbers = group.split()
        for number in numbers:
            first, _, last = number.partition("-")
            start, low = re.fullmatch(r"(.*?)(\d+)([a-z]?)", first), first
            if last:
                assert start is not None
                high = re.fullmatch(r".*?(\d+)", last)
                assert high is not None
                items |= {f"{kind} {start[1]}{k}" for k in range(int(start[2]), int(high[1]) + 1)}
            else:
                items.add(f"{kind} {low}")
    return items


@cache
def rows(paper: str) -> tuple[Row, ...]:
    text = (ROOT / "docs" / "papers" / f"{paper}.md").read_text()
    lines = [[part.strip() for part in line.strip().strip("|").split(" | ")] for line in text.splitlines()
             if line.startswith("|") and not line.startswith("|-")]  # fmt: skip
    assert HEADER in lines
    assert [line for line in lines if len(line) != len(HEADER)] == []
    return tuple(Row(*line) for line in lines if line != HEADER)


def exists(name: str) -> bool:
    """Whether a dotted name can be reached: ``sf.types.capacities``, ``sfumato.lp.exact``, ``paper A.fig2``."""
    if name.startswith("paper "):
        return name.removeprefix("paper ") in PAPERS
    parts = name.split(".")
    if parts[0] == "sf":
        value: object = sf
        parts = parts[1:]
    else:
        size = max(k for k in range(1, len(parts) + 1) if _imports(".".join(parts[:k])))
        value, parts = importlib.import_module(".".join(parts[:size])), parts[size:]
    for part in parts:
        if not hasattr(value, part):
            return False
        value = getattr(value, part)
    return True


def _imports(module: str) -> bool:
    try:
        importlib.import_module(module)
    except ModuleNotFoundError:
        return False
    return True


def is_test(name: str) -> bool:
    """Whether ``tests/…/test_….py::test_…`` is there."""
    path, _, function = name.partition("::")
    file = ROOT / path
    if not path.startswith("tests/") or not file.exists():
        return False
    return any(isinstance(n, ast.FunctionDef) and n.name == function for n in ast.walk(ast.parse(file.read_text())))


@pytest.mark.parametrize("paper", sorted(ITEMS))
def test_every_numbered_item_is_on_the_page(paper: str) -> None:
    listed = [row.item for row in rows(paper)]
    assert expected(paper) - set(listed) == set()
    assert len(listed) == len(set(listed))


@pytest.mark.parametrize("paper", sorted(ITEMS))
def test_what_a_row_names_exists(paper: str) -> None:
    for row in rows(paper):
        assert row.verdict in VERDICTS, row
        calls, tests = (re.findall(r"`([^`]+)`", cell) for cell in (row.call, row.shown_by))
        assert [name for name in calls if not exists(name)] == [], row
        assert [name for name in tests if not is_test(name)] == [], row
        assert calls or tests, row  # everything that is numbered can be called or is a test


@pytest.mark.parametrize("paper", sorted(ITEMS))
def test_every_item_that_can_be_rerun_is_on_the_page(paper: str) -> None:
    named = {name for row in rows(paper) for name in re.findall(r"`paper ([^`]+)`", row.call)}
    assert {key for key in PAPERS if key.startswith(f"{paper.upper()}.")} - named == set()
