"""Items of the papers for other programs: a table in LaTeX, and the rows of one in CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sfumato.errors import expect
from sfumato.papers.tables import PaperTable

_MATHS = {
    "ε": r"\varepsilon", "δ": r"\delta", "μ": r"\mu", "Φ": r"\Phi", "κ": r"\kappa", "ℓ": r"\ell", "Σ": r"\Sigma",
    "π": r"\pi", "Δ": r"\Delta", "γ": r"\gamma", "α": r"\alpha", "ℝ": r"\mathbb{R}", "−": "-", "×": r"\times",
    "≥": r"\geq", "≤": r"\leq", "·": r"\cdot", "→": r"\to", "⇒": r"\Rightarrow", "√": r"\surd", "±": r"\pm",
    "÷": r"\div", "≠": r"\neq", "∘": r"\circ", "ᵀ": r"^{\mathsf{T}}", "∞": r"\infty",
}  # fmt: skip
_MATHS |= {letter: f"_{{{k}}}" for k, letter in enumerate("₀₁₂₃₄₅₆₇₈₉")}
_MATHS |= {letter: f"^{{{power}}}" for letter, power in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", [*"0123456789", "-", "+"], strict=True)}
_LETTERS = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "—": "---", "–": "--", "“": "``",
    "”": "''", "✓": "yes", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
} | {letter: f"\\{letter}" for letter in "&%$#_{}"}  # fmt: skip
_AGAIN = re.compile(r"(?<=\^\{[-+0-9])\}\^\{|(?<=_\{[0-9])\}_\{")  # two exponents in a row are one with two digits
_SPECIAL = re.compile(f"[{re.escape(''.join(_MATHS))}]+|[{re.escape(''.join(_LETTERS))}]")


def paper_latex(table: PaperTable) -> str:
    r"""An item as a table in LaTeX, with what is printed in brackets; ``booktabs`` draws its lines.

    Examples
    --------
    >>> from sfumato.papers.tables import cell
    >>> print(paper_latex(PaperTable("X.table1", "Costs", ({"ε": 1, "loss": cell("0.67", 2 / 3)},))), end="")
    % made by sfumato; needs \usepackage{booktabs}
    \begin{table}
    \caption{Costs (X.table1)}
    \begin{tabular}{ll}
    \toprule
    $\varepsilon$ & loss \\
    \midrule
    1 & 0.666667 (0.67) \\
    \bottomrule
    \end{tabular}
    \end{table}
    """
    table = expect(table, PaperTable, "what is written", "PAPERS[key]() makes one")
    names = list(dict.fromkeys(name for row in table.rows for name in row))
    lines = [" & ".join(map(_latex, names)), *(" & ".join(_cell(row.get(n, "")) for n in names) for row in table.rows)]
    head, *body = (f"{line} \\\\" for line in lines)
    parts = [
        r"% made by sfumato; needs \usepackage{booktabs}", r"\begin{table}",
        f"\\caption{{{_latex(f'{table.title} ({table.key})')}}}", f"\\begin{{tabular}}{{{'l' * len(names)}}}",
        r"\toprule", head, r"\midrule", *body, r"\bottomrule", r"\end{tabular}",
        *(f"\\par {_latex(note)}" for note in table.notes), r"\end{table}",
    ]  # fmt: skip
    return "\n".join(parts) + "\n"


def paper_rows(table: PaperTable) -> Iterator[list[str]]:
    """An item as rows of texts, its heads first; what is printed has columns of its own, and numbers all their digits.

    Examples
    --------
    >>> from sfumato.papers.tables import cell
    >>> list(paper_rows(PaperTable("X.table1", "Costs", ({"n": 1, "loss": cell("0.67", 2 / 3)},))))
    [['n', 'loss', 'loss, printed'], ['1', '0.6666666666666666', '0.67']]
    """
    table = expect(table, PaperTable, "what is written", "PAPERS[key]() makes one")
    names = dict.fromkeys(name for row in table.rows for name in row)
    printed = {name for row in table.rows for name, value in row.items() if isinstance(value, dict)}
    yield [head for name in names for head in ([name, f"{name}, printed"] if name in printed else [name])]
    for row in table.rows:
        cells = []
        for name in names:
            value = row.get(name, "")
            ours, theirs = (value["ours"], value["printed"]) if isinstance(value, dict) else (value, "")
            cells += [str(ours), str(theirs)] if name in printed else [str(ours)]
        yield cells


def _cell(value: Any) -> str:
    """Ours, and what is printed where it is written differently."""
    if not isinstance(value, dict):
        return _latex(_short(value))
    ours, printed = _short(value["ours"]), str(value["printed"])
    return _latex(ours if printed in (ours, "-", "–", "—") else f"{ours} ({printed})")


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _latex(text: str) -> str:
    """A text with letters that have a meaning in LaTeX, or none in its usual fonts, as LaTeX writes them."""

    def written(found: re.Match[str]) -> str:
        letters = found[0]
        return _LETTERS.get(letters) or f"${_AGAIN.sub('', ''.join(_MATHS[letter] for letter in letters))}$"

    return _SPECIAL.sub(written, text)
