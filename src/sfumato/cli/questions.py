"""The command ``init``: questions whose answers make a spec. Each answer is checked before the next question."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.options import AsJson, answer
from sfumato.errors import InvalidInput, SfumatoError, counted, shown
from sfumato.files import writable
from sfumato.numbers import as_written
from sfumato.spaces.lengths import in_unit
from sfumato.specs.complaints import nearest
from sfumato.specs.setup import loss_of, prior_of, privacy_of, space_of
from sfumato.specs.spec import Spec, spec_from_values, write_spec
from sfumato.specs.tables import Columns, column_of, numbers_of, read_columns

_SPACES = {
    "line": "answers in a row, such as a count or a scale",
    "grid": "cells of a map",
    "places": "places on the Earth from a CSV file with latitude and longitude",
    "points": "points from a CSV file with coordinates",
    "discrete": "values that are all equally far apart",
    "graph": "nodes and roads from a CSV file with an edge a row",
}
_LOSSES = {
    "distance": "the distance between what is said and the truth",
    "bin": "1 for every wrong guess",
    "squared": "the squared error, for secrets that are numbers",
    "threshold": "1 for a guess farther away than a radius",
}


def init(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec to write.")] = Path("spec.toml"),
    as_json: AsJson = False,
) -> None:
    """Ask a few questions and write a spec."""
    if spec.exists():
        raise InvalidInput(f"{spec} is already there: name another file, or remove it first")
    writable(spec)
    answered = answers(spec.parent, quiet=as_json)
    if spec.exists():
        raise InvalidInput(f"{spec} has appeared meanwhile: nothing was written")
    write_spec(answered, spec)
    answer({"file": str(spec)}, ["", f"Wrote {spec}. Next: `sfumato design {spec}`"], as_json)


def answers(folder: Path, *, quiet: bool = False) -> Spec:
    """Ask, and return a spec that stands for something. ``quiet`` keeps standard output free."""

    def ask(question: str, check: Callable[[str], Any], default: Any = None) -> Any:
        return typer.prompt(question, default=default, value_proc=_checked(check), err=quiet)

    def choose(question: str, known: dict[str, str], default: str, check: Callable[[str], Any] = str) -> str:
        typer.echo(question, err=quiet)
        for name, words in known.items():
            typer.echo(f"  {name:<10} {words}", err=quiet)
        return str(ask("Which", lambda text: check(_one_of(text, known)), default))

    tables: dict[str, dict[str, Any]] = {}
    kind = choose("Where do the secrets live?", _SPACES, "grid")
    tables["space"], columns = _space(kind, ask, folder)
    spec = spec_from_values(tables, folder)
    space = space_of(spec)
    unit = space.unit or "unit of distance"
    typer.echo(f"{counted(len(space), 'secret')}.", err=quiet)

    def promise(text: str) -> dict[str, Any]:
        privacy_of(spec_from_values({**tables, "privacy": {"epsilon": text}}, folder), space)
        return {"epsilon": text.strip() if "l" in text else as_written(text)}  # a logarithm is kept as it was written

    typer.echo(f"At distance 1 ({unit}), no output may be more than e^ε times as likely for one secret.", err=quiet)
    tables["privacy"] = ask(f"ε for each {unit}", promise, "1")
    if space.unit:
        tables["privacy"]["per"] = space.unit
    counts = "counts such as 3,0,1" if columns is None else f"a column of counts ({', '.join(columns.header)})"
    likely = f"How likely are they: uniform, or {counts}"
    tables["prior"] = ask(likely, lambda text: _prior(text, tables, folder, space, columns), "uniform")

    def fitting(name: str) -> str:
        needed = {"radius": 1} if name == "threshold" else {}
        loss_of(spec_from_values({**tables, "loss": {"kind": name, **needed}}, folder), space)
        return name

    tables["loss"] = {"kind": choose("What does a wrong answer cost?", _LOSSES, "distance", fitting)}
    if tables["loss"]["kind"] == "threshold":
        tables["loss"]["radius"] = ask(f"Radius in {unit}", lambda text: _length(text, space.unit), "1")
    return spec_from_values(tables, folder)


def _checked(check: Callable[[str], Any]) -> Callable[[str], Any]:
    """What is wrong with an answer is said, and the question asked again."""

    def checked(text: str) -> Any:
        try:
            return check(str(text).strip())
        except (SfumatoError, ValueError) as error:
            raise typer.BadParameter(str(error).removeprefix("spec: ")) from None

    return checked


def _one_of(text: str, known: dict[str, str]) -> str:
    if text not in known:
        raise ValueError(f"{text!r} is not among these{nearest(text, known)}")
    return text


def _whole(text: str) -> int:
    if not text.isdecimal() or len(text) > 18 or int(text) < 1:
        raise ValueError(f"a whole number such as 8 is needed, found {shown(text)}")
    return int(text)


def _sides(text: str) -> list[int]:
    return [_whole(part.strip()) for part in text.replace("×", ",").replace("x", ",").split(",")]


def _space(kind: str, ask: Callable[..., Any], folder: Path) -> tuple[dict[str, Any], Columns | None]:
    """The table of the space, and the file whose rows are its secrets."""
    if kind in ("line", "discrete"):
        table = {"kind": kind, "n": ask("How many secrets", _whole, "10")}
        return table | _unit(ask), None
    if kind == "grid":
        shape = ask("Cells along each side, such as 8,8", _sides, "8,8")
        unit = _unit(ask)
        name = unit.get("unit", "units")
        step = ask(f"Side of a cell in {name}, such as 0.5", lambda text: _length(text, unit.get("unit", "")), "1")
        return {"kind": "grid", "shape": shape, "step": step, **unit}, None
    table = ask("CSV file", lambda text: read_columns(folder / text))
    file = str(table.file.relative_to(folder)) if table.file.is_relative_to(folder) else str(table.file)
    header = ", ".join(table.header)
    if kind == "graph":
        questions = (("first", f"Column of one end of an edge ({header})", "from"),
                     ("second", "Column of the other end", "to"))  # fmt: skip
        ends = {
            name: ask(question, _column(table, column_of), usual if usual in table.header else None)
            for name, question, usual in questions
        }
        length = ask("Column of its length (none: all are 1)", _column(table, numbers_of, none=True), "none")
        return {"kind": "graph", "file": file, **ends, **({"length": length} if length else {}), **_unit(ask)}, None
    label = ask(f"Column with their names, none for numbers ({header})", _column(table, column_of, none=True), "none")
    named = {"label": label} if label else {}
    if kind == "points":
        coordinate = _column(table, numbers_of)
        columns = ask(
            "Columns of the coordinates", lambda text: [coordinate(c.strip()) for c in text.split(",")], "x,y"
        )
        return {"kind": "points", "file": file, "columns": columns, **named, **_unit(ask)}, table
    place = {
        name: ask(f"Column of the {name}", _column(table, numbers_of), _usual(table, starts))
        for name, starts in (("latitude", ("lat",)), ("longitude", ("lon", "lng")))
    }
    return {"kind": "geo", "file": file, **place, **named}, table


def _unit(ask: Callable[..., Any]) -> dict[str, str]:
    unit = ask("Unit of distance, such as km (none: no name)", str, "none")
    return {} if unit == "none" else {"unit": unit}


def _length(text: str, unit: str) -> Any:
    value = in_unit(text, unit, "it")
    if value <= 0:
        raise ValueError(f"a positive length is needed, found {text!r}")
    return value


def _column(table: Columns, read: Callable[[Columns, str], Any], *, none: bool = False) -> Callable[[str], str]:
    """Takes the name of a column that can be read so, or, where ``none`` may be said, that for no name."""

    def check(text: str) -> str:
        if none and text == "none":
            return ""
        read(table, text)
        return text

    return check


def _usual(table: Columns, starts: tuple[str, ...]) -> str | None:
    return next((name for name in table.header if name.lower().startswith(starts)), None)


def _prior(text: str, tables: dict[str, Any], folder: Path, space: Any, columns: Columns | None) -> dict[str, Any]:
    if text == "uniform":
        return {"uniform": True}
    counts: Any = (
        text if columns is not None and "," not in text else [as_written(part, "a count") for part in text.split(",")]
    )
    table = {"counts": counts}
    prior_of(spec_from_values({**tables, "prior": table}, folder), space)
    return table
