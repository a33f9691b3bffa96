"""Items of the papers in LaTeX and CSV."""

from __future__ import annotations

import csv
from io import StringIO
from pathlib import Path

import pytest

from sfumato.papers import PAPERS
from sfumato.papers.exports import paper_latex, paper_rows
from sfumato.papers.tables import PaperTable, cell
from shell import sfumato

CHEAP = ["C.example3", "B.section7", "D.example322", "A.fig5b"]


@pytest.mark.parametrize("key", CHEAP)
def test_latex_has_a_row_for_each_and_no_letter_that_latex_does_not_know(key: str) -> None:
    table = PAPERS[key]()
    text = paper_latex(table)
    names = {name for row in table.rows for name in row}
    rows = [line for line in text.splitlines() if line.endswith(" \\\\")]
    assert len(rows) == len(table.rows) + 1
    assert all(line.replace("\\&", "").count("&") == len(names) - 1 for line in rows)
    assert text.isascii() and text.replace("\\$", "").count("$") % 2 == 0
    assert text.startswith("% made by sfumato") and text.replace("\\{", "").count("{") == text.replace("\\}", "").count(
        "}"
    )


def test_what_has_a_meaning_in_latex_is_written_as_a_letter() -> None:
    text = paper_latex(PaperTable("X.y", "50 % of {a_b} & c#", ({"e^−ε": cell("0.5", 0.25)},), ("x₁² ~ $3 $ε, 10⁻¹²",)))
    assert r"\caption{50 \% of \{a\_b\} \& c\# (X.y)}" in text
    assert r"e\textasciicircum{}$-\varepsilon$ \\" in text and "0.25 (0.5)" in text
    assert r"\par x$_{1}^{2}$ \textasciitilde{} \$3 \$$\varepsilon$, 10$^{-12}$" in text


def test_rows_keep_all_digits_and_printed_values_apart() -> None:
    heads, first, second = paper_rows(PaperTable("X.y", "", ({"a": cell("0.3", 1 / 3)}, {"a": "none", "b": 2})))
    assert (heads, first, second) == (["a", "a, printed", "b"], [str(1 / 3), "0.3", ""], ["none", "", "2"])


def test_the_command_writes_what_the_ending_says(tmp_path: Path) -> None:
    tex, table = tmp_path / "t.tex", tmp_path / "t.csv"
    assert f"Written: {tex}" in sfumato("paper", "D.example322", "-o", str(tex)).stdout
    assert tex.read_text() == paper_latex(PAPERS["D.example322"]())
    assert sfumato("paper", "C.example3", "-o", str(table)).returncode == 0
    assert list(csv.reader(StringIO(table.read_text()))) == list(paper_rows(PAPERS["C.example3"]()))
    for file in (tex, table):
        said = sfumato("paper", "C.example3", "-o", str(file))
        assert said.returncode == 2 and "--overwrite replaces it" in said.stderr
        assert sfumato("paper", "C.example3", "-o", str(file), "--overwrite").returncode == 0
    table.write_text("name,home\nAnn,3\n")
    kept = sfumato("paper", "C.example3", "-o", str(table), "--overwrite")
    assert kept.returncode == 2 and table.read_text() == "name,home\nAnn,3\n"
    assert ".tex" in sfumato("paper", "C.example3", "-o", str(tmp_path / "t.docx")).stderr
