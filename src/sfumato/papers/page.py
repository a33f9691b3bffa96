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
from sfumato.report.html import commands, html_page, paragraph, section
from sfumato.report.html import table as html_table

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

    @property
    def agreed(self) -> bool | None:
        """Whether all printed numbers were found again, None where there is none."""
        return not self.different if self.same or self.different else None

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


def paper_page(tables: Iterable[PaperTable]) -> str:
    """Items as one page that needs no network."""
    tables = list(tables)
    drawn = any(table.figure for table in tables)
    return html_page(
        "The papers, recomputed", paragraph(_INTRODUCTION) + "".join(_summary(tables)), [_item(t) for t in tables], (),
        "", style=_STYLE, script=get_plotlyjs() if drawn else "",
    ).decode()  # fmt: skip


def _summary(tables: list[PaperTable]) -> Iterator[str]:
    for letter, title in TITLES.items():
        items = [table for table in tables if table.key.startswith(f"{letter}.")]
        rows = [
            (f'<a href="#{item.key}">{item.key}</a>', escape(item.title), _marked(str(counts), counts.agreed))
            for item, counts in ((item, compared(item)) for item in items)
        ]
        if rows:
            yield html_table(f"{letter} · {escape(title)}", ("item", "what", "verdict"), rows, words=(1, 2))


def _item(item: PaperTable) -> str:
    names = list(dict.fromkeys(name for row in item.rows for name in row))
    rows = [[_cell(row.get(name, "")) for name in names] for row in item.rows]
    listed = html_table(escape(item.title), list(map(escape, names)), rows, words=range(len(names)))
    notes = "".join(f"<li>{escape(note)}</li>" for note in item.notes)
    figure = ""
    if item.figure is not None:
        drawn = plotly.io.to_html(
            item.figure(), config={"displaylogo": False}, include_plotlyjs=False, full_html=False,
            div_id=f"figure-{item.key.replace('.', '-')}",
        )  # fmt: skip
        figure = f'<figure aria-label="{escape(item.title)}">{drawn}</figure>'
    return section(
        item.key, f"{item.key} · {escape(item.title)}", listed, f"<ul>{notes}</ul>" if notes else "", figure,
        commands(f"sfumato paper {item.key}"),
    )  # fmt: skip


def _cell(value: Any) -> str:
    if not isinstance(value, dict):
        return escape(_short(value))
    sign = {True: "✓", False: "≠", None: ""}[value["agree"]]
    printed = f"<small>printed {escape(str(value['printed']))} {sign}</small>"
    return _marked(f"{escape(_short(value['ours']))} {printed}", value["agree"])


def _marked(text: str, agrees: bool | None) -> str:
    """Text in the colour of its verdict."""
    kind = {True: "same", False: "different", None: "soft"}[agrees]
    return f'<span class="{kind}">{text}</span>'


def _short(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)


_INTRODUCTION = (
    "Every table and figure that can be rerun: what is printed, what sfumato computes, and whether the printed digits "
    "are those of the number computed. Numbers are exact, or proved to the digits shown, unless a note says otherwise."
)
_STYLE = """
.same{color:var(--blue)} .different{color:var(--orange);font-weight:600}
small{white-space:nowrap} figure{overflow-x:auto;margin:1rem 0}
"""
