"""The command ``init``: questions whose answers make a spec. Each answer is checked before the next question."""

from __future__ import annotations

import shlex
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.dialogue import Dialogue, known_name
from sfumato.cli.options import AsJson, answer, completing
from sfumato.cli.questions_losses import ask_loss, positive_length
from sfumato.cli.questions_points import ask_points, length_words, read_existing, relative, unit_of, whole
from sfumato.errors import InvalidInput, counted, few
from sfumato.files import read_text, writable
from sfumato.numbers import as_written
from sfumato.privacy.type import PrivacyType
from sfumato.report.sections_words import odds_at
from sfumato.spaces import FiniteSpace
from sfumato.spaces.finite import check_table
from sfumato.spaces.foreign import COUNTS, LATITUDES, LONGITUDES, columns_named
from sfumato.spaces.lengths import METRES, as_length, in_unit
from sfumato.specs.keys import kind_words
from sfumato.specs.lists import prior_of, space_of
from sfumato.specs.question import privacy_of
from sfumato.specs.schema import (
    CountQuerySpec,
    GeoSpec,
    GraphSpec,
    GridSpec,
    KCountQuerySpec,
    PointsSpec,
    PriorSpec,
    PrivacySpec,
    SizedSpec,
    SpaceSpec,
    SumQuerySpec,
)
from sfumato.specs.schema_base import TableSpec, UnitSpec
from sfumato.specs.schema_stakes import ObjectiveSpec
from sfumato.specs.spec import Spec, spec_from_values, write_spec
from sfumato.specs.tables import Columns, column_texts, numbers_of
from sfumato.specs.words import farthest_of_few

_SPACES = kind_words(SpaceSpec)
_KIND_OF = {
    "count": "count_query", "sum": "sum_query", "counts": "k_count_query", "line": "line", "grid": "grid",
    "places": "geo", "points": "points", "discrete": "discrete", "graph": "graph",
}  # fmt: skip
KINDS = {
    "coordinates": "a file of points (CSV, Parquet): a promise about every metre",
    "answers": "answers of a questionnaire, by their names",
    **{name: _SPACES[kind] for name, kind in _KIND_OF.items()},
}
"""What the secrets can be, with a line on each."""

_LARGEST_LIST = 2**20  # bytes of a file with a name a line
_MANY = 2_000  # secrets from which on a design takes a while


@dataclass(frozen=True)
class Answered:
    """The spec, and the command that does everything with a spec of that name, where there is one."""

    spec: Spec
    command: Callable[[Path], str] | None = None


def init(
    spec: Annotated[Path, typer.Argument(metavar="SPEC", help="The spec to write.")] = Path("spec.toml"),
    kind: Annotated[
        str | None,
        typer.Option(help=f"Answers the first question: {', '.join(KINDS)}.", autocompletion=completing(KINDS)),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Take the usual answer to every question that has one.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Ask a few questions and write a spec.

    Answers may come from a pipe, one a line. Ctrl-C or the end of the pipe write nothing, and tell how to go on.
    """
    if spec.exists():
        raise InvalidInput(f"{spec} is already there: name another file, or remove it first")
    writable(spec)
    talk = Dialogue(quiet=as_json, assume=yes)
    try:
        answered = answers(talk, spec.parent, kind)
    except typer.Abort:
        typer.echo("\nsfumato: stopped, and nothing was written", err=True)
        if talk.given:
            named = f" --kind {kind}" if kind is not None else ""
            again = talk.taken_up(f"sfumato init {shlex.quote(str(spec))}{named}{' --json' if as_json else ''}")
            typer.echo(f"sfumato: to go on with the same answers: {again}", err=True)
        raise typer.Exit(1) from None
    write_spec(answered.spec, spec)
    design = f"sfumato design {shlex.quote(str(spec))}"
    lines = ["", f"Wrote {spec}. Next: `{design}`"]
    record = {"file": str(spec)}
    if answered.command is not None:
        record["next"] = answered.command(spec)
        lines = ["", f"Wrote {spec}. Next: `{record['next']}`", f"The mechanism alone: `{design}`"]
    answer(record, lines, as_json)


def answers(talk: Dialogue, folder: Path, kind: str | None = None) -> Answered:
    """Ask, and return a spec that stands for something."""
    chosen = talk.choose(Spec.key("space").asked, KINDS, "grid") if kind is None else one_of_option(kind)
    if chosen == "coordinates":
        question = ask_points(talk, folder)
        return Answered(question.spec, question.command)
    source = _SOURCES[chosen](talk, folder)
    tables: dict[str, dict[str, Any]] = {"space": source.space}
    space = space_of(spec_from_values(tables, folder))
    check_table(len(space))
    large = "; the design will take a while" if len(space) > _MANY else ""
    talk.say(f"{counted(len(space), 'secret')}{large}.")
    tables["privacy"] = _ask_promise(talk, tables, folder, space)
    tables["prior"] = _ask_prior(talk, tables, folder, space, source)
    wanted = talk.choose(Spec.key("objective").asked, _WANTED, "shares") if chosen == "answers" else "answers"
    tables |= _ASKED[wanted](talk, tables, folder, space)
    return Answered(spec_from_values(tables, folder))


_WANTED = {
    "shares": ObjectiveSpec.key("kind").options["shares"],
    "answers": "what one person answered, as well as it can be guessed",
}
_ASKED: dict[str, Callable[..., dict[str, Any]]] = {
    "shares": lambda *_: {"objective": {"kind": "shares"}},
    "answers": lambda *asked: {"loss": ask_loss(*asked)},
}
"""What a spec has of each."""


def one_of_option(kind: str) -> str:
    """The kind that was named, if there is one of that name."""
    try:
        return known_name(kind, KINDS)
    except ValueError as error:
        raise InvalidInput(f"--kind: {error}") from None


# ----------------------------------------------------------------- secrets


@dataclass(frozen=True)
class _Source:
    """The table of a space; the file whose rows are its secrets, and columns of it that are already taken.

    ``prior`` has the keys that a column of counts needs beside its name.
    """

    space: dict[str, Any]
    table: Columns | None = None
    taken: tuple[str, ...] = ()
    prior: dict[str, Any] | None = None

    @property
    def left(self) -> list[str]:
        """The columns that nothing has been done with."""
        return [] if self.table is None else [name for name in self.table.header if name not in self.taken]


def _listed(kind: str) -> Callable[[Dialogue, Path], _Source]:
    def ask(talk: Dialogue, folder: Path) -> _Source:
        table = talk.ask_for(SizedSpec.key("n"), lambda text: _fitting({"kind": kind, "n": whole(text)}, folder))
        return _Source(table | _ask_unit(talk))

    return ask


def _grid(talk: Dialogue, folder: Path) -> _Source:
    cells = GridSpec.key("shape")
    shape = talk.ask_for(cells, lambda text: _fitting({"kind": "grid", "shape": _sides(text)}, folder))
    unit = _ask_unit(talk)
    name = unit.get("unit", "")
    step = talk.ask_for(GridSpec.key("step"), lambda text: positive_length(text, name), unit=name or "units")
    return _Source({**shape, "step": step, **unit})


def _query(kind: str) -> Callable[[Dialogue, Path], _Source]:
    """A count, a sum or several counts: distances count the people who must change."""

    def ask(talk: Dialogue, folder: Path) -> _Source:
        def query(**keys: int) -> dict[str, Any]:
            return _fitting({"kind": f"{kind}_query", **keys, "unit": "person"}, folder)

        if kind == "count":
            people = CountQuerySpec.key("individuals")
            return _Source(talk.ask_for(people, lambda text: query(individuals=whole(text))))
        model, name, read = _BESIDE_PEOPLE[kind]

        def both() -> dict[str, int]:
            people = talk.ask_for(model.key("individuals"), whole)
            return {"individuals": people, name: talk.ask_for(model.key(name), read)}

        return _Source(talk.together(both, lambda keys: query(**keys)))

    return ask


def _fitting(table: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The table of a space, if memory holds what a design needs of all pairs: else the question is asked again."""
    check_table(len(space_of(spec_from_values({"space": table}, folder))))
    return table


def _largest(text: str) -> int:
    """The end of a range that begins at 0."""
    low, dash, high = (part.strip() for part in text.replace("to", "-").partition("-"))
    if not dash:
        return whole(low)
    if low not in ("", "0"):
        raise ValueError(f"sums begin at 0: take {low} off every value, and add it again for each person afterwards")
    return whole(high)


_BESIDE_PEOPLE: dict[str, tuple[type[TableSpec], str, Callable[[str], int]]] = {
    "sum": (SumQuerySpec, "largest", _largest),
    "k_count": (KCountQuerySpec, "k", whole),
}
"""The table of a query with a second number, the key of that, and how it is read."""


def _answers(talk: Dialogue, folder: Path) -> _Source:
    """A questionnaire: the names of answers, typed or in a file, in an order or not."""
    found = talk.ask("Names of the answers, with commas, or a file", lambda text: _names(text, folder))
    if not isinstance(found, Columns):
        return _Source(_questionnaire(talk, found))
    table = found
    usual = columns_named(table.header, ("answer", "answers", "name", "label"))
    only = usual[0] if len(usual) == 1 else table.header[0] if len(table.header) == 1 else None
    column = talk.ask(f"Column of the names ({', '.join(table.header)})", lambda text: _distinct(table, text), only)
    space = _questionnaire(talk, _plain_labels(column_texts(table, column)))
    return _Source(space, table, (column,), {"file": relative(table.file, folder), "label": column})


def _questionnaire(talk: Dialogue, names: list[Any]) -> dict[str, Any]:
    talk.say(f"Answers: {few(names, 12)}.")
    ordered = talk.confirm("Are they in an order, such as never, rarely, often", default=True)
    return {"kind": "line" if ordered else "discrete", "labels": names} | ({"unit": "answer"} if ordered else {})


def _names(text: str, folder: Path) -> Any:
    """Typed names, or the columns of a CSV file; a text file has a name a line."""
    file = folder / text
    if file.is_file() and file.suffix.lower() != ".txt":
        return read_existing(file)
    names = read_text(file, _LARGEST_LIST).splitlines() if file.is_file() else text.split(",")
    names = [name.strip() for name in names if name.strip()]
    if len(names) < 2:
        raise InvalidInput(f"{text!r} is neither a file nor several names: type them with commas between them")
    _refuse_twice(names)
    return _plain_labels(names)


def _distinct(table: Columns, name: str) -> str:
    _refuse_twice(column_texts(table, name))
    return name


def _refuse_twice(names: list[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InvalidInput(f"{name!r} stands there twice: what is needed is a list of possible answers, each once")


def _plain_labels(names: list[str]) -> list[Any]:
    """Whole numbers are numbers, so that errors can be counted; anything else is a name."""
    numbers = all(name.isdecimal() and str(int(name)) == name and len(name) < 10 for name in names)
    return [int(name) for name in names] if numbers else names


def _graph(talk: Dialogue, folder: Path) -> _Source:
    table = talk.ask_for(GraphSpec.key("file"), lambda text: read_existing(folder / text))
    header, ends = ", ".join(table.header), {}
    for name in ("first", "second"):
        usual = GraphSpec.model_fields[name].default
        usual = usual if usual in table.header else None
        ends[name] = talk.ask_for(GraphSpec.key(name), _column(table, column_texts), usual, columns=header)
    length = talk.ask_for(GraphSpec.key("length"), _column(table, numbers_of, none=True))
    space = {"kind": "graph", "file": relative(table.file, folder), **ends, **({"length": length} if length else {})}
    unused = [name for name in table.header if name not in (*ends.values(), length)]
    if unused:
        talk.say(f"Not used: {few(unused)}.")
    return _Source(space | _ask_unit(talk))


def _points(talk: Dialogue, folder: Path) -> _Source:
    table, named = _file_with_names(talk, folder)
    coordinate = _column(table, numbers_of)
    columns = talk.ask_for(PointsSpec.key("columns"), lambda text: [coordinate(c.strip()) for c in text.split(",")])
    space = {"kind": "points", "file": relative(table.file, folder), "columns": columns, **named, **_ask_unit(talk)}
    return _Source(space, table, (*columns, *named.values()), {})


def _places(talk: Dialogue, folder: Path) -> _Source:
    table, named = _file_with_names(talk, folder)
    place: dict[str, str] = {}
    for name, usual in (("latitude", LATITUDES), ("longitude", LONGITUDES)):
        found = columns_named(table.header, usual)
        listed = f" ({', '.join(found or table.header)})" if len(found) != 1 else ""
        only = found[0] if len(found) == 1 else None
        place[name] = talk.ask_for(GeoSpec.key(name), _column(table, numbers_of), only, columns=listed)
    space = {"kind": "geo", "file": relative(table.file, folder), **place, **named}
    return _Source(space, table, (*place.values(), *named.values()), {})


def _file_with_names(talk: Dialogue, folder: Path) -> tuple[Columns, dict[str, str]]:
    table = talk.ask_for(PointsSpec.key("file"), lambda text: read_existing(folder / text))
    names = PointsSpec.key("label")
    label = talk.ask_for(names, _column(table, column_texts, none=True), columns=", ".join(table.header))
    return table, {"label": label} if label else {}


_SOURCES: dict[str, Callable[[Dialogue, Path], _Source]] = {
    "answers": _answers,
    "count": _query("count"),
    "sum": _query("sum"),
    "counts": _query("k_count"),
    "line": _listed("line"),
    "grid": _grid,
    "places": _places,
    "points": _points,
    "discrete": _listed("discrete"),
    "graph": _graph,
}
"""How each kind of secrets is asked for; coordinates have no list of secrets."""


# ----------------------------------------------------------------- promise and prior


_PAIRS = {"neighbours": "two answers beside each other", "any": "any two answers, the first and the last as well"}


def _ask_promise(talk: Dialogue, tables: dict[str, Any], folder: Path, space: FiniteSpace) -> dict[str, Any]:
    unit = space.unit or "unit of distance"

    def promise(text: str) -> tuple[dict[str, Any], PrivacyType]:
        given = _rate_or_distance(text)
        return given, privacy_of(spec_from_values({**tables, "privacy": given}, folder), space)

    talk.say(f"At distance 1 ({unit}), no output may be more than e^ε times as likely for one secret.")
    lengths = ", or the distance at which odds double at most, such as 500 m" if space.unit in METRES else ""
    given, privacy = talk.ask_for(PrivacySpec.key("epsilon"), promise, unit=f"{unit}{lengths}")
    most = farthest_of_few(space)
    if tables["space"]["kind"] == "line" and "labels" in tables["space"] and most > 1:
        question = f"Is that for neighbours, or for any two: neighbours then get 1/{most} of it (neighbours or any)"
        if talk.ask(question, lambda text: known_name(text, _PAIRS), "neighbours") == "any":
            given = {"epsilon": f"ln({1 / privacy.alpha})/{most}" if privacy.alpha else str(privacy.epsilon / most)}
            privacy = privacy_of(spec_from_values({**tables, "privacy": given}, folder), space)
    apart = in_unit(given["double_at"], space.unit) if "double_at" in given else Fraction(1)
    times = [
        f"{odds_at(privacy, length)[0]} at {length_words(length, space.unit)}" for length in (apart, 2 * apart, most)
    ]
    last = f", and of {times[2]}, between the farthest two" if most > 2 * apart else ""
    talk.say(f"The odds between two secrets change at most by a factor of {times[0]} and {times[1]}{last}.")
    return dict(given) | ({"per": space.unit} if space.unit else {})


def _rate_or_distance(text: str) -> dict[str, Any]:
    """ε, kept as it was written where it is a logarithm, or a length with its unit."""
    if "ln" in text or "log" in text:
        return {"epsilon": text}
    length = as_length(text, "it")
    return {"double_at": str(length)} if length.unit else {"epsilon": length.number}


def _ask_prior(
    talk: Dialogue, tables: dict[str, Any], folder: Path, space: FiniteSpace, source: _Source
) -> dict[str, Any]:
    """Uniform, or counts that are typed or stand in a column, which is found by its name."""
    left, key = source.left, PriorSpec.key("counts")
    found = [name for name in left if name.lower() in COUNTS]
    if source.table is not None and left:
        talk.say("The mechanism shows what it was made for: take counts that are public.")
    counts = f"a column of counts ({', '.join(left)})" if left else "counts such as 3,0,1"

    def prior(text: str) -> dict[str, Any]:
        if text == "uniform":
            return {"uniform": True}
        table: dict[str, Any] = (
            {"counts": text, **(source.prior or {})}
            if source.table is not None and "," not in text
            else {"counts": [as_written(part, "a count") for part in text.split(",")]}
        )
        prior_of(spec_from_values({**tables, "prior": table}, folder), space)
        return table

    chosen = dict(talk.ask_for(key, prior, found[0] if len(found) == 1 else key.usual, columns=counts))
    unused = [name for name in left if name != chosen.get("counts")]
    if unused:
        talk.say(f"Not used: {few(unused)}.")
    return chosen


# ----------------------------------------------------------------- what is typed


def _sides(text: str) -> list[int]:
    return [whole(part.strip()) for part in text.replace("×", ",").replace("x", ",").split(",")]


def _ask_unit(talk: Dialogue) -> dict[str, str]:
    unit = talk.ask_for(UnitSpec.key("unit"), unit_of)
    return {"unit": unit} if unit else {}


def _column(table: Columns, read: Callable[[Columns, str], Any], *, none: bool = False) -> Callable[[str], str]:
    """Takes the name of a column that can be read so, or, where ``none`` may be said, that for no name."""

    def check(text: str) -> str:
        if none and text == "none":
            return ""
        read(table, text)
        return text

    return check
