"""The command ``estimate``: shares of a population from released answers, with standard errors and intervals."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from sfumato.certify import Mechanism
from sfumato.channels import Prior
from sfumato.cli.options import AsJson, Level, Overwrite, Simultaneous, answer, of_option, table_of_answers
from sfumato.cli.progress import progress_line
from sfumato.errors import InvalidInput, in_one_line
from sfumato.files import DRAWN, place_for
from sfumato.labels import text_of
from sfumato.numbers import floats
from sfumato.release.estimation.counts import WeightedCounts
from sfumato.release.estimation.cross import CrossTable, cross_table, spent_on_answers
from sfumato.release.estimation.estimates import METHODS, Frequencies, frequencies
from sfumato.release.estimation.files import ReleasedCounts, released_counts
from sfumato.release.estimation.intervals import level_of
from sfumato.release.estimation.plan import inflation_words, survey_plan
from sfumato.release.estimation.words import remarks, share_lines
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.ledger.values import Spent
from sfumato.report.figure import drawable, write_figure
from sfumato.report.html import above
from sfumato.report.sections_words import farthest, odds_factor
from sfumato.report.shares import shares_figure
from sfumato.specs.words import promised

_MOST_CELLS = 200  # lines of a cross table that are printed

FigureOfShares = Annotated[
    Path | None, typer.Option("--figure", "-o", help="Draw them: a page (.html), .json, .svg, .png or .pdf.")
]


@dataclass(frozen=True, eq=False)
class _Wanted:
    """How estimates are made and shown."""

    method: str
    level: str
    simultaneous: bool


def estimate(
    mechanism: Annotated[Path, typer.Argument(help="The mechanism file (.sfm) that released the first column.")],
    released: Annotated[Path, typer.Argument(help="The released file: .csv, .jsonl (also .gz), .parquet or .arrow.")],
    column: Annotated[
        list[str], typer.Option(help="The column of released answers; several give their cross table too.")
    ],
    beside: Annotated[
        list[Path] | None,
        typer.Option("--with", help="The mechanism of the second --column, and so on (default: MECHANISM for all)."),
    ] = None,
    by: Annotated[str | None, typer.Option(help="A column of groups: estimates for each.")] = None,
    weights: Annotated[str | None, typer.Option(help="A column of survey weights.")] = None,
    method: Annotated[
        str, typer.Option(help="unbiased, whose shares may be negative, or likelihood, the likeliest shares.")
    ] = "unbiased",
    level: Level = "0.95",
    simultaneous: Simultaneous = False,
    figure: FigureOfShares = None,
    on_unknown: Annotated[
        str, typer.Option(help="For answers that are missing or no output: error, or drop the row.")
    ] = "error",
    ledger: Annotated[Path | None, typer.Option(help="With --dataset: what this ledger says was spent.")] = None,
    dataset: Annotated[str | None, typer.Option(help="With --ledger: the name of the data there.")] = None,
    format: Annotated[  # noqa: A002 - the name of the option
        str | None, typer.Option(help="csv, jsonl, parquet or arrow, if no ending says it.")
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Of a CSV file, if its header leaves doubt.")] = None,
    decimal: Annotated[
        str | None, typer.Option(help="Of weights in a CSV file: , or . before decimals, if its rows leave doubt.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Estimate shares from released answers, with standard errors and intervals, and say what the noise costs."""
    if method not in METHODS:
        raise InvalidInput(f"--method {method}: it is unbiased or likelihood")
    of_option("--level", level_of, level)
    if (ledger is None) != (dataset is None):
        raise InvalidInput("--ledger and --dataset go together")
    place = None if figure is None else drawable(place_for(figure, DRAWN, overwrite=overwrite))
    wanted = _Wanted(method, level, simultaneous)
    with progress_line("proving the mechanism again"):
        proved = _mechanisms([mechanism, *(beside or [])], len(column))
    with progress_line(f"reading {released}"):
        counts = released_counts(
            released, column, [one.outputs for one in proved], by=by, weights=weights, on_unknown=on_unknown,
            format=format, delimiter=delimiter, decimal=decimal,
        )  # fmt: skip
        found = {group: _estimates(proved, part, column, group, by, wanted) for group, part in counts.parts.items()}
    if place is not None:
        _draw(found, column, wanted, place, overwrite)
    spent = _spent(proved, column, ledger, dataset)
    if as_json:
        for group, tables in found.items():
            for table, name in zip(tables, [*column, None], strict=False):
                answer(_record(table, name, group, counts, wanted), (), as_json)
        if len(column) > 1:
            answer({"spent": _amounts(proved, column)}, (), as_json)
        return
    typer.echo("\n".join([*_pages(found, column, counts, wanted), *_closing(found, proved, spent, counts, place)]))


def _mechanisms(files: list[Path], questions: int) -> list[Mechanism]:
    """The mechanism of each question."""
    if len(files) not in (1, questions):
        raise InvalidInput(
            f"{questions} columns and {len(files)} mechanisms: MECHANISM is for the first --column and each --with for "
            "the next; without --with it is for all"
        )
    found = []
    for file in files:
        found.append(table_of_answers(file, "estimates", ', such as cells (kind = "grid") or a line'))
        try:
            survey_plan(found[-1])
        except InvalidInput as error:  # said before the file of answers is read, which may take long
            raise InvalidInput(f"{file}: {error}") from None
    return found * questions if len(found) == 1 else found


def _estimates(
    proved: list[Mechanism], part: WeightedCounts, columns: list[str], group: Any, by: str | None, wanted: _Wanted
) -> list[Frequencies | CrossTable]:
    """A table for each question, and the cross table of several."""
    try:
        if part.rows < 2:
            raise InvalidInput("one row is too few for a standard error: merge it with others")
        tables: list[Frequencies | CrossTable] = []
        for axis, one in enumerate(proved):
            plain = one.channel.to_floats()
            counted = part.along(axis)
            tables.append(frequencies(plain, counted, method=wanted.method, reference=_reference(one)))
        if len(proved) > 1:
            channels, references = [one.channel.to_floats() for one in proved], [_reference(one) for one in proved]
            tables.append(cross_table(channels, part, names=columns, references=references))
        for table, name in zip(tables, [*columns, " × ".join(columns)], strict=False):
            if table.fit.refused:
                raise InvalidInput(f"{name}: {table.fit}")
    except InvalidInput as error:
        raise InvalidInput(f"{by} {text_of(group)}: {error}" if by is not None else str(error)) from None
    return tables


def _reference(proved: Mechanism) -> Prior | None:
    """The prior for which the mechanism was made, if every answer may occur under it."""
    prior = None if proved.claim is None else proved.claim.prior
    return prior if prior is not None and (np.asarray(prior.float_weights) > 0).all() else None


def _spent(proved: list[Mechanism], columns: list[str], ledger: Path | None, dataset: str | None) -> tuple[str, ...]:
    """What a respondent tells, by the mechanisms and by the ledger."""
    try:
        spent: Spent = spent_on_answers(proved, columns)
    except InvalidInput as error:  # a promise that is no single number that adds up
        return (f"spent    not to be added up: {error}",)
    lines = []
    if len(columns) > 1:
        parts = ", ".join(f"{part.column} {part.amount}{part.unit and f' per {part.unit}'}" for part in spent.parts)
        beside = f", with delta {spent.delta} in all" if spent.delta else ""
        lines.append(f"spent    {parts}; a respondent who answers all spends {spent.total}{beside}")
        widest = _widest(proved)
        if widest is not None:
            lines.append(f"         no set of answers is more than {widest} times as likely for one person as another")
    if ledger is not None and dataset is not None:
        book = Ledger(ledger, create=False)
        charged = {(where, name) for where, name in book.columns()}
        for name in columns:
            told = f"{book.spent(dataset, name).total} in all" if (dataset, name) in charged else "nothing"
            lines.append(f"ledger   {dataset} / {name}: {told}")
    return tuple(lines)


def _amounts(proved: list[Mechanism], columns: list[str]) -> dict[str, Any]:
    """What a respondent spends, for a program to read."""
    spent = spent_on_answers(proved, columns)
    each = {part.column: str(part.amount) for part in spent.parts}
    return {"columns": each, "total": str(spent.total), "epsilon": float(spent.total), "delta": str(spent.delta)}


_LARGEST_EXPONENT = 700  # of e: a factor that is larger bounds nothing that anybody pictures


def _widest(proved: list[Mechanism]) -> str | None:
    """e^{ε·d} between the farthest answers of all questions together, None where nothing is bounded."""
    if any(not one.bounds_ratios or one.privacy.space.open_pairs for one in proved):
        return None
    apart = [(one.privacy, farthest(one.privacy.space)) for one in proved]
    if sum(privacy.rate * float(distance) for privacy, distance in apart) > _LARGEST_EXPONENT:
        return None
    return above(prod(odds_factor(privacy, distance) for privacy, distance in apart), 4)


def _pages(
    found: dict[Any, list[Frequencies | CrossTable]], columns: list[str], counts: ReleasedCounts, wanted: _Wanted
) -> list[str]:
    """All tables."""
    lines: list[str] = []
    for group, tables in found.items():
        where = "" if counts.by is None else f", {counts.by} {text_of(group)}"
        for table, name in zip(tables, [*columns, " × ".join(columns)], strict=False):
            weighted = table.counted
            same = np.array_equal(weighted.totals, weighted.squares)
            rows = f"{table.total:,} answers" + (
                "" if same else f", worth {weighted.effective_rows:,.0f} of one weight"
            )
            how = wanted.method if isinstance(table, Frequencies) else "unbiased"
            lines += [f"shares   {name}{where}: {rows}, {how}", ""]
            most = None if isinstance(table, Frequencies) else _MOST_CELLS
            lines += share_lines(table, wanted.level, simultaneous=wanted.simultaneous, most=most)
            told = remarks(table, wanted.level, simultaneous=wanted.simultaneous)
            lines += ["", *_noise(table), *told, ""]
    return lines


def _noise(table: Frequencies | CrossTable) -> list[str]:
    """What the mechanism costs, in words."""
    share = f"noise    {100 * table.noise_share:.0f} % of the variance is noise of the mechanism"
    if not np.isfinite(table.inflation):
        return [f"{share}: in the clear there would be no error"]
    rows = table.counted.effective_rows
    clear, more = rows / table.inflation, rows * table.inflation
    times = inflation_words(table.inflation)
    return [
        f"{share}: {clear:,.0f} answers in the clear would tell as much",
        f"         as much as {rows:,.0f} in the clear needs {more:,.0f} respondents, {times} times as many",
    ]


def _closing(
    found: dict[Any, Any], proved: list[Mechanism], spent: tuple[str, ...], counts: ReleasedCounts, place: Path | None
) -> list[str]:
    told = list(dict.fromkeys(promised(one.privacy) for one in proved if one.bounds_ratios))
    lines = [f"promise  {words}" for words in told] + list(spent)
    if counts.decimal == ",":
        lines.append("numbers  weights have decimal commas")
    if counts.dropped:
        lines.append(f"dropped  {counts.dropped:,} of {counts.rows:,} rows: missing, or no output of the mechanism")
    return [*lines, *([] if place is None else [f"figure   {in_one_line(place)}"])]


def _record(
    table: Frequencies | CrossTable, name: str | None, group: Any, counts: ReleasedCounts, wanted: _Wanted
) -> dict[str, Any]:
    """An estimate for a program to read."""
    ends = table.intervals(wanted.level, simultaneous=wanted.simultaneous).reshape(-1, 2)
    labels: Sequence[Any] = table.secrets if isinstance(table, Frequencies) else table.cells
    rows = zip(labels, floats(table.weights).ravel(), table.standard_errors.ravel(), ends, strict=True)
    shares = [
        {"answer": text_of(label) if isinstance(table, Frequencies) else [text_of(part) for part in label],
         "share": float(share), "standard_error": float(error), "low": float(low), "high": float(high),
         "cut": not low <= share <= high}
        for label, share, error, (low, high) in rows
    ]  # fmt: skip
    about = {"column": name} if name is not None else {"columns": list(counts.columns)}
    grouped = {} if counts.by is None else {"by": counts.by, "group": text_of(group)}
    inflation = float(table.inflation) if np.isfinite(table.inflation) else None
    how = wanted.method if isinstance(table, Frequencies) else "unbiased"
    return about | grouped | {
        "method": how, "level": level_of(wanted.level),
        "simultaneous": wanted.simultaneous, "coverage": "approximate",
        "rows": table.total, "effective_rows": table.counted.effective_rows,
        "dropped": counts.dropped, "fit": table.fit.chance,
        "noise_share": table.noise_share, "times_as_many": inflation, "shares": shares,
    }  # fmt: skip


def _draw(
    found: dict[Any, list[Frequencies | CrossTable]], columns: list[str], wanted: _Wanted, place: Path, overwrite: bool
) -> None:  # fmt: skip
    """One question, or the cross table of several; groups beside each other."""
    tables = {group: parts[-1] for group, parts in found.items()}
    title = " × ".join(columns)
    drawn: Any = tables.get(None, tables)
    figure = shares_figure(drawn, level=wanted.level, simultaneous=wanted.simultaneous, title=title)
    write_figure(figure, place, overwrite=overwrite)
