"""The commands on a ledger: ``ledger show`` and ``ledger limit``."""

from __future__ import annotations

from dataclasses import asdict
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.commands import COMMANDS, Command, Group, example
from sfumato.cli.options import AsJson, answer, answer_each, promise_from_texts
from sfumato.errors import InvalidInput, few, in_one_line, shown
from sfumato.numbers import float_above, text_above, text_below
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.ledger.values import BudgetLimit, Entry, SpentPart

ledger = typer.Typer(cls=Group, help="What was released of which columns, and what may still be.", no_args_is_help=True)

LedgerFile = Annotated[Path, typer.Argument(metavar="FILE", help="The ledger.")]


@ledger.command(cls=Command, epilog=example("ledger show budget.db --dataset survey --entries"))
def show(
    file: LedgerFile,
    dataset: Annotated[str | None, typer.Option(help="This dataset only.")] = None,
    entries: Annotated[bool, typer.Option("--entries", help="Every entry, not only the sums.")] = False,
    as_json: AsJson = False,
) -> None:
    """What was spent of each column, in which metric, and what is left; the file is checked on the way."""
    ledger = Ledger(file, create=False)
    known = ledger.datasets()
    if dataset is not None and known and dataset not in known:
        raise InvalidInput(f"--dataset: {file} has no dataset {shown(dataset)}: there are {few(list(known))}")
    limits = [limit for limit in ledger.limits() if dataset in (None, limit.dataset) or limit.dataset is None]
    columns = [where for where in ledger.columns() if dataset in (None, where[0])]
    listed = [entry for entry in ledger.entries() if dataset in (None, entry.dataset)] if entries else []
    records = [_limit_record(limit) for limit in limits]
    records += [_column_record(ledger, *where) for where in columns]
    records += [{"kind": "entry", **asdict(entry), "cost": float(entry.cost),
                 "delta_cost": float_above(entry.delta_cost)} for entry in listed]  # fmt: skip
    about_limits = [f"limit    {limit}" for limit in limits] or ["limit    none"]
    answer_each(records, [*about_limits, *_column_lines(ledger, columns), *map(_entry_line, listed)], as_json)


@ledger.command(cls=Command, epilog=example(COMMANDS["ledger"].example))
def limit(
    file: LedgerFile,
    epsilon: Annotated[
        str | None, typer.Option(help="The most that may be spent, per unit of distance, such as 2 or 3*ln(2).")
    ] = None,
    alpha: Annotated[str | None, typer.Option(help="Instead of epsilon: e^-ε, a fraction.")] = None,
    delta: Annotated[
        str | None, typer.Option(help="The most δ beside it, for promises about events, such as 1e-6 (default: none).")
    ] = None,
    lift: Annotated[bool, typer.Option("--lift", help="No limit from now on.")] = False,
    dataset: Annotated[str | None, typer.Option(help="For this dataset, all columns together.")] = None,
    column: Annotated[
        list[str] | None, typer.Option(help="For this column of the dataset, or for several together.")
    ] = None,
    unit: Annotated[str | None, typer.Option(help="The unit of distance that is meant, such as km.")] = None,
    as_json: AsJson = False,
) -> None:
    """Set, change or lift a limit; a ledger that is not there is created."""
    if (epsilon is not None) + (alpha is not None) + lift != 1:
        raise InvalidInput("give one of --epsilon, --alpha and --lift")
    most = promise_from_texts(epsilon, alpha)
    limited = Ledger(file).set_limit(
        most.get("epsilon"), alpha=most.get("alpha"), delta=delta, dataset=dataset, column=column or None, unit=unit
    )
    answer(_limit_record(limited), [str(limited)], as_json)


def opened(ledger: Path, dataset: str | None = None) -> Ledger:
    """A ledger to charge, which must be there; a dataset that is new in it is announced with those that are not."""
    if not ledger.exists():
        raise InvalidInput(f"there is no ledger {ledger}: `sfumato ledger limit {ledger} --epsilon …` creates it")
    account = Ledger(ledger, create=False)
    known = account.datasets()
    if dataset is not None and known and dataset not in known:
        typer.echo(f"sfumato: {shown(dataset)} is new in {in_one_line(ledger)}, which has {few(list(known))}", err=True)
    return account


def _limit_record(limit: BudgetLimit) -> dict[str, Any]:
    return {"kind": "limit", "dataset": limit.dataset, "columns": limit.columns, "limit": limit.promise,
            "delta": str(limit.most_delta), "unit": limit.unit, "time": limit.time}  # fmt: skip


def _column_record(ledger: Ledger, dataset: str, column: str) -> dict[str, Any]:
    spent, left = ledger.spent(dataset, column), ledger.left(dataset, column)
    parts = [{"column": part.column, "scope": part.scope, "space": part.space, "unit": part.unit, "metric": part.metric,
              "spent": str(part.amount), "epsilon": float(part.amount),
              "delta": None if part.delta is None else str(part.delta)} for part in spent.parts]  # fmt: skip
    rest = ledger.left_delta(dataset, column)
    return {"kind": "column", "dataset": dataset, "column": column, "spent": str(spent.total),
            "epsilon": float(spent.total), "delta": str(spent.delta), "left": None if left is None else str(left),
            "left_delta": None if rest is None else str(rest), "parts": parts}  # fmt: skip


def _column_lines(ledger: Ledger, columns: list[tuple[str, str]]) -> list[str]:
    lines = [] if columns else ["spent    nothing"]
    for dataset, column in columns:
        spent, left = ledger.spent(dataset, column), ledger.left(dataset, column)
        lines.append(f"spent    {dataset} / {column}: {_amount(spent.total)}{_rest(left)}")
        if any(part.delta is not None for part in spent.parts):
            lines.append(f"         {_delta(spent.delta, ledger.left_delta(dataset, column))}")
        if len(spent.parts) > 1 or spent.parts[0].scope:
            lines += [f"         {_part(part, column)}" for part in spent.parts]
    return lines


def _rest(left: Any) -> str:
    """What is left, rounded to the side that grants less."""
    if left is None:
        return ""
    low = left.bounds()[0]
    return f", {text_below(low, 6)} left" if left.sign >= 0 else f", {text_above(-low, 6)} beyond the limit"


def _delta(spent: Fraction, left: Fraction | None) -> str:
    """δ, and what of it is left."""
    if left is None:
        return f"delta {spent}"
    return f"delta {spent}, {left} left" if left >= 0 else f"delta {spent}, {-left} beyond the limit"


def _amount(value: Any) -> str:
    text, number = str(value), f"{float(value):.6g}"
    if text == text_above(value.bounds(64)[1], 6):  # the exact amount is too long to be shown
        return text
    return number if text == number else f"{text} = {number}"


def _part(part: SpentPart, column: str) -> str:
    rows = f", rows {part.scope!r}" if part.scope else ""
    where = f", released as {part.column}" if part.column != column else ""
    unit = f" per {part.unit}" if part.unit else ""
    beside = f" with delta {part.delta}" if part.delta is not None else ""
    return f"{_amount(part.amount)}{unit}{beside} on {part.space}{rows}{where}"


def _entry_line(entry: Entry) -> str:
    rows = "" if entry.rows is None else f", {entry.rows} rows"
    noise = "fresh noise" if entry.key is None else f"keyed noise ({entry.key[:8]})"
    where = " / ".join(part for part in (entry.dataset, entry.column, entry.scope) if part)
    beside = f" with delta {entry.delta}" if entry.delta is not None else ""
    return (
        f"entry {entry.id}  {entry.time}  {where}: {entry.promise}{beside}, {entry.charged} of {entry.times} times "
        f"charged{rows}, {noise}, {entry.mechanism[:16]}"
        f"{f', {entry.note}' if entry.note else ''}"
    )
