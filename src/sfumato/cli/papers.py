"""The command ``paper``: tables and figures of the papers, recomputed beside the printed values."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from sfumato.cli.options import AsJson, Overwrite, answer, completing, write_csv
from sfumato.cli.progress import progress_line
from sfumato.errors import InvalidInput, NotSupported, counted, in_one_line
from sfumato.files import DRAWN, Kind, place_for, write_whole
from sfumato.papers import PAPERS
from sfumato.papers.exports import paper_latex, paper_rows
from sfumato.papers.page import compared, paper_page, recomputed
from sfumato.papers.tables import PaperTable
from sfumato.report.figure import drawable, write_figure

_TABLES = (".csv", ".tex")
_ANY = Kind("a file", lambda data: True)  # a table is looked at again, by its heads, which are not known before


def paper(
    key: Annotated[
        str | None,
        typer.Argument(
            help="Such as A.table4a or A.fig2; 'list' shows all.", autocompletion=completing(["list", *PAPERS])
        ),
    ] = None,
    figure: Annotated[
        Path | None,
        typer.Option(
            "--figure",
            "-o",
            help="Write its table (.csv, .tex), or draw it: a page (.html), .json, .svg, .png or .pdf.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="Rerun all of them and write one page (papers.html, or what -o names).")
    ] = False,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Recompute a table or figure of a paper and show it beside the printed values."""
    if everything:
        _every_paper(figure or Path("papers.html"), key, overwrite, as_json)
        return
    if key is None:
        raise InvalidInput("name an item, such as A.table4a, or say --all; `sfumato paper list` shows them")
    if key == "list":
        for name, item in PAPERS.items():
            title = (item.__doc__ or "").partition("\n")[0].removesuffix(".")
            typer.echo(json.dumps({"key": name, "title": title}) if as_json else f"{name:14} {title}")
        return
    if figure is not None:
        ending = drawable(figure, "an item of the papers", _TABLES).suffix.lower()
        place_for(figure, _ANY if ending == ".csv" else DRAWN, overwrite=overwrite)
    (table,) = recomputed([key])
    if figure is not None:
        _write(table, figure, overwrite)
    if as_json:
        typer.echo(json.dumps({"key": table.key, "rows": table.rows, "notes": table.notes}, default=str))
        return
    typer.echo(f"{table.key}: {table.title}")
    _print_table(table.rows)
    for note in table.notes:
        typer.echo(f"  Note: {note}")
    if figure is not None:
        typer.echo(f"  {'Written' if figure.suffix.lower() in _TABLES else 'Drawn'}: {in_one_line(figure)}")


def _write(table: PaperTable, file: Path, overwrite: bool) -> None:
    """An item as a table or figure, as the ending of the file says."""
    ending = file.suffix.lower()
    if ending == ".csv":
        heads, *rows = paper_rows(table)
        write_csv(file, heads, rows, overwrite=overwrite)
    elif ending == ".tex":
        write_whole(file, paper_latex(table).encode, DRAWN, overwrite=overwrite)
    elif table.figure is None:
        raise NotSupported(f"a figure of {table.key}", ["its table: .csv, .tex, or no --figure"])
    else:
        write_figure(table.figure(), file, overwrite=overwrite)


def _every_paper(target: Path, key: str | None, overwrite: bool, as_json: bool) -> None:
    """All items, or those whose key begins as asked, on one page."""
    keys = [name for name in PAPERS if key is None or name.startswith(key)]
    if not keys:
        raise InvalidInput(f"no item of the papers begins with {key!r}; `sfumato paper list` shows them")
    place_for(target, DRAWN, overwrite=overwrite)
    with progress_line() as say:
        tables = recomputed(keys, say)
        write_whole(target, lambda: paper_page(tables).encode(), DRAWN, overwrite=overwrite)
    comparisons = {table.key: compared(table) for table in tables}
    printed = sum(counts.same + counts.different for counts in comparisons.values())
    wrong = sum(counts.different for counts in comparisons.values())
    where = [name for name, counts in comparisons.items() if counts.different]
    record = {"file": str(target), "items": len(keys), "printed": printed, "different": wrong, "differ": where}
    inside = f" (in {', '.join(where)})" if where else ""
    verdict = f"{wrong} of {counted(printed, 'printed number')} {'differs' if wrong == 1 else 'differ'}{inside}"
    answer(record, [f"{counted(len(keys), 'item')}: {in_one_line(target)}", verdict], as_json)


def _print_table(rows: tuple[dict[str, Any], ...]) -> None:
    """Columns under their names; as wide as it takes where nobody looks."""
    table = Table(box=box.SIMPLE_HEAD)
    names = dict.fromkeys(name for row in rows for name in row)
    for name in names:
        table.add_column(name)
    for row in rows:
        table.add_row(*(_shown(row.get(name, "")) for name in names))
    Console(width=None if sys.stdout.isatty() else 400, highlight=False).print(table)


def _shown(value: Any) -> str:
    """One cell of a paper's table: ours, and the printed value where it has more to say."""
    if not isinstance(value, dict):
        return f"{value:.7g}" if isinstance(value, float) else str(value)
    printed, ours = value["printed"], value["ours"]
    shown = f"{ours:.7g}" if isinstance(ours, float) else str(ours)
    if "/" in shown and printed != shown:
        shown += f" = {float(ours):.4g}"
    if value["agree"] is False:
        return f"{shown} (printed {printed}, differs)"
    return shown if printed in ("–", "-", shown) else f"{shown} (printed {printed})"
