"""One page with every table and figure of the papers: the printed value, ours, and whether they agree."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.io
from plotly.offline import get_plotlyjs

from sfumato.arguments import items, optional_function
from sfumato.errors import NotSupported, expect, shown
from sfumato.papers.register import PAPERS
from sfumato.papers.tables import PaperTable

__all__ = ["TITLES", "Agreement", "compared", "laid_out", "papers_page", "recomputed"]

TITLES = {
    "A": "Fernandes, McIver, Palamidessi, Ding: Universal optimality and robust utility bounds for metric differential "
    "privacy (2023)",
    "B": "Fernandes, McIver, Morgan: The Laplace mechanism has optimal utility for differential privacy over "
    "continuous queries (2021)",
    "C": "ElSalamouny, Chatzikokolakis, Palamidessi: Generalized differential privacy: regions of priors that admit "
    "robust optimal mechanisms (2014)",
    "D": "Kifer, Lin: An axiomatic view of statistical privacy and utility (2012)",
    "E": "Kleinberg, Ligett: Privacy-compatibility for general utility metrics (2010)",
}
"""The papers by their letters."""


@dataclass(frozen=True)
class Agreement:
    """How many numbers that a paper prints were found again, and how many came out differently."""

    same: int
    different: int

    def __str__(self) -> str:
        printed = self.same + self.different
        if not printed:
            return "no number is printed"
        if not self.different:
            return f"all {printed} printed numbers found again" if printed > 1 else "the printed number found again"
        return f"{self.different} of {printed} printed numbers {'differs' if self.different == 1 else 'differ'}"


def compared(table: PaperTable) -> Agreement:
    """The cells of a table that have a printed value beside them.

    Examples
    --------
    >>> from sfumato.papers.tables import cell
    >>> str(compared(PaperTable("X", "", ({"a": cell("0.67", 2 / 3), "b": cell("3", 4), "c": 5},))))
    '1 of 2 printed numbers differs'
    """
    table = expect(table, PaperTable, "what is compared", "PAPERS[key]() makes one")
    agreements = [v["agree"] for row in table.rows for v in row.values() if isinstance(v, dict)]
    return Agreement(agreements.count(True), agreements.count(False))


def papers_page(keys: Iterable[str] | None = None, progress: Callable[[str], object] | None = None) -> str:
    """Recompute items of the papers, all by default, and lay them out as one page that needs no network."""
    return laid_out(recomputed(keys, progress))


def recomputed(
    keys: Iterable[str] | None = None, progress: Callable[[str], object] | None = None
) -> tuple[PaperTable, ...]:
    """Items of the papers, all by default."""
    progress = optional_function(progress, "progress")
    wanted = list(PAPERS) if keys is None else items(keys, "keys of items")
    unknown = [key for key in wanted if not isinstance(key, str) or key not in PAPERS]
    if unknown:
        raise NotSupported(f"paper item {shown(unknown[0])}", PAPERS)
    tables = []
    for k, key in enumerate(wanted):
        if progress is not None:
            progress(f"{key}, {k + 1} of {len(wanted)}")
        tables.append(PAPERS[key]())
    return tuple(tables)


def laid_out(tables: Iterable[PaperTable]) -> str:
    """Items as one page that needs no network."""
    tables = list(tables)
    return _PAGE.format(
        summary="\n".join(_summary(tables)), items="\n".join(_item(table) for table in tables),
        script=get_plotlyjs() if any(table.figure for table in tables) else "",
    )  # fmt: skip


def _summary(tables: list[PaperTable]) -> Iterator[str]:
    for letter, title in TITLES.items():
        items = [table for table in tables if table.key.startswith(f"{letter}.")]
        if not items:
            continue
        yield f"<h2>{letter} · {escape(title)}</h2>"
        yield "<table><thead><tr><th>item</th><th>what</th><th>verdict</th></tr></thead>"
        for table in items:
            agreement = compared(table)
            mark = "different" if agreement.different else "same" if agreement.same else "none"
            yield (
                f'<tr><td><a href="#{table.key}">{table.key}</a></td><td>{escape(table.title)}</td>'
                f'<td class="{mark}">{agreement}</td></tr>'
            )
        yield "</table>"


def _item(table: PaperTable) -> str:
    names = list(dict.fromkeys(name for row in table.rows for name in row))
    head = "".join(f"<th>{escape(name)}</th>" for name in names)
    body = "".join(f"<tr>{''.join(_cell(row.get(name, '')) for name in names)}</tr>" for row in table.rows)
    notes = "".join(f"<li>{escape(note)}</li>" for note in table.notes)
    figure = ""
    if table.figure is not None:
        drawn = plotly.io.to_html(
            table.figure(), config={"displaylogo": False}, include_plotlyjs=False, full_html=False,
            div_id=f"figure-{table.key.replace('.', '-')}",
        )  # fmt: skip
        figure = f'<figure aria-label="{escape(table.title)}">{drawn}</figure>'
    return (
        f'<section id="{table.key}"><h3>{table.key} · {escape(table.title)}</h3>'
        f'<div class="wide"><table><thead><tr>{head}</tr></thead>{body}</table></div>'
        f"{f'<ul>{notes}</ul>' if notes else ''}{figure}<p><code>sfumato paper {table.key}</code></p></section>"
    )


def _cell(value: Any) -> str:
    if not isinstance(value, dict):
        return f"<td>{escape(_short(value))}</td>"
    ours, printed = escape(_short(value["ours"])), escape(str(value["printed"]))
    kind = {True: "same", False: "different", None: "none"}[value["agree"]]
    sign = {True: "✓", False: "≠", None: ""}[value["agree"]]
    return f'<td class="{kind}">{ours} <small>printed {printed} {sign}</small></td>'


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


_PAGE = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The papers, recomputed</title>
<style>
:root {{ color-scheme: light; }}
body {{ font: 16px/1.5 "Helvetica Neue", Helvetica, Arial, "Liberation Sans", sans-serif; color: #222; background: #fff;
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem; }}
h1 {{ font-weight: 600; }} h2 {{ font-size: 1.1rem; margin-top: 2.5rem; }} h3 {{ font-size: 1rem; }}
section {{ border-top: 1px solid #ccc; margin-top: 2rem; }}
.wide {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-size: 0.9rem; }}
th, td {{ text-align: left; padding: 0.2rem 0.8rem 0.2rem 0; border-bottom: 1px solid #eee; vertical-align: top; }}
small {{ color: #595959; white-space: nowrap; }}
.same {{ color: #00573f; }} .different {{ color: #a3440a; font-weight: 600; }} .none {{ color: #595959; }}
figure {{ margin: 1rem 0; overflow-x: auto; }}
a {{ color: #00527f; }}
@media print {{ section {{ break-inside: avoid; }} }}
</style>
<script>{script}</script>
</head>
<body>
<h1>The papers, recomputed</h1>
<p>Every table and figure that can be rerun: what is printed, what sfumato finds, and whether the printed digits are
those of the number found. Numbers are exact, or proved to the digits shown, unless a note says otherwise.</p>
{summary}
{items}
</body>
</html>
"""
