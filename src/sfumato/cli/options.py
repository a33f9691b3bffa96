"""Options that several commands have, what their texts stand for (spaces, losses, priors, promises), and answers."""

from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.certify import Mechanism, load
from sfumato.channels import Prior
from sfumato.errors import InvalidInput, NotSupported, in_one_line, shown
from sfumato.files import DRAWN, Kind, place_for, write_whole
from sfumato.losses import LOSSES, Loss
from sfumato.privacy import PrivacyType
from sfumato.privacy.promise import promise, rate
from sfumato.spaces import SPACES, FiniteSpace

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object a line instead of text.")]
SpecFile = Annotated[Path, typer.Argument(metavar="SPEC", help="A spec (TOML); `sfumato init` writes one.")]
FigureFile = Annotated[
    Path | None, typer.Option("--figure", "-o", help="Draw it: a page (.html), .json, .svg, .png or .pdf.")
]
MechanismFile = Annotated[Path, typer.Argument(metavar="MECHANISM", help="A mechanism file (.sfm).")]
PageFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", help="The page (default: named like MECHANISM, here: .html, or -page.html for visitors)."
    ),
]
Overwrite = Annotated[
    bool, typer.Option("--overwrite", help="Replace what is there, if it is a file of the kind that is written.")
]
Title = Annotated[str, typer.Option(help="The heading of the page.")]
Space = Annotated[str, typer.Argument(help="A space, such as line:6, grid:3,3 or hamming:3.")]
Alpha = Annotated[str | None, typer.Option(help="e^-ε for one unit of distance, a fraction (default: 1/2).")]
Epsilon = Annotated[
    str | None, typer.Option(help="Instead of alpha: ε for one unit of distance, such as 0.7 or ln(2)/30.")
]
CsvDecimal = Annotated[
    str | None, typer.Option(help="Of coordinates in a CSV file: , or . before decimals, if its rows leave doubt.")
]
Level = Annotated[str, typer.Option(help="How sure the intervals are; they hold about as often.")]
Simultaneous = Annotated[
    bool, typer.Option("--simultaneous", help="Intervals that hold all together, about as often as the level says.")
]

DECIMAL_COMMAS = "Coordinates have decimal commas, in the source and in what was released."
"""What is said where a CSV file was read so, whether somebody said it or its rows did."""

_SPACES = ("line", "grid", "discrete", "hamming", "cycle", "star", "complete_bipartite", "count_query", "sum_query",
           "k_count_query")  # fmt: skip
_LOSSES_OF_A_SPACE = ("absolute", "bin", "distance", "nib", "squared")
_LOSSES_WITH_A_NUMBER = ("threshold",)


def completing(names: Iterable[str]) -> Callable[[str], list[str]]:
    """How a shell completes one of these names."""

    def begun(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return begun


def space_from_text(text: str) -> FiniteSpace:
    """The space of a name and whole numbers, such as ``grid:3,3``."""
    name, _, numbers = text.partition(":")
    if name not in _SPACES:
        raise NotSupported(f"space {name!r}", [f"{known}:…" for known in _SPACES])
    try:
        sizes = [int(part) for part in numbers.split(",")]
    except ValueError:
        raise InvalidInput(f"{shown(text)} is no space: write a name and whole numbers, such as grid:3,3") from None
    try:
        return SPACES[name](*sizes)
    except TypeError:
        raise InvalidInput(f"{name} does not take {len(sizes)} numbers") from None


def loss_from_text(text: str, space: FiniteSpace) -> Loss:
    """The loss of a name, ``threshold`` with its radius after a colon.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> loss_from_text("threshold:1", line(4))
    Loss(threshold(1), 4 actions, 4 secrets)
    """
    name, _, number = text.partition(":")
    if name in _LOSSES_OF_A_SPACE and not number:
        return LOSSES[name](space)
    if name in _LOSSES_WITH_A_NUMBER and number:
        return LOSSES[name](space, number)
    raise NotSupported(f"loss {text!r}", [*_LOSSES_OF_A_SPACE, *(f"{known}:1" for known in _LOSSES_WITH_A_NUMBER)])


def prior_from_text(text: str, space: FiniteSpace) -> Prior:
    """``uniform``, or how often each secret was seen, in the order of the space.

    Examples
    --------
    >>> from sfumato.spaces import line
    >>> prior_from_text("3,0,1", line(3)).weights.tolist()
    [Fraction(3, 4), Fraction(0, 1), Fraction(1, 4)]
    """
    if text == "uniform":
        return Prior.uniform(space)
    if "," not in text:
        raise InvalidInput(f"{text!r} is no prior: write uniform, or counts such as 3,0,1, one for each secret")
    return Prior.from_counts(text.split(","), space)


def rate_from_text(text: str, option: str) -> Fraction:
    """ε as a rational, positive; a logarithm is rounded down."""
    value: Fraction = of_option(option, rate, text)
    if value <= 0:
        raise InvalidInput(f"{option}: ε must be positive, found {text}")
    return value


def promise_from_texts(epsilon: str | None, alpha: str | None) -> dict[str, Any]:
    """What --epsilon and --alpha say, as a privacy type takes it; ``ln 2`` is alpha = 1/2, exactly."""
    if epsilon is None or alpha is not None:
        return {"epsilon": epsilon, "alpha": alpha}
    return dict(of_option("--epsilon", promise, epsilon, None)._asdict())


def privacy_from_texts(space: str, epsilon: str | None, alpha: str | None) -> PrivacyType:
    """The privacy type that a space and a promise name; alpha = 1/2 where nothing is said."""
    half = epsilon is None and alpha is None
    return PrivacyType(space_from_text(space), **promise_from_texts(epsilon, "1/2" if half else alpha))


def promise_record(privacy: PrivacyType) -> dict[str, str]:
    """A promise for a program to read."""
    return {"epsilon": str(privacy.epsilon)} if privacy.alpha is None else {"alpha": str(privacy.alpha)}


def answer(record: dict[str, Any], lines: Iterable[str], as_json: bool) -> None:
    """Print what was found, for a program to read or for people."""
    answer_each([record], lines, as_json)


def answer_each(records: Iterable[dict[str, Any]], lines: Iterable[str], as_json: bool) -> None:
    """The same for several things that were found: one object a line, or text.

    In JSON a letter that the stream cannot encode is escaped as JSON has it, not as a terminal would show it.
    """
    escaped = (sys.stdout.encoding or "").lower().replace("-", "") != "utf8"
    shown = (json.dumps(record, ensure_ascii=escaped) for record in records) if as_json else ["\n".join(lines)]
    for text in shown:
        typer.echo(text)


def table_kind(heads: Sequence[str]) -> Kind:
    """Tables with this line of heads: the only ones that a table with it may replace."""
    line = _csv([heads])
    return Kind(f"a table of {', '.join(heads)}", lambda data: data.startswith(line))


def write_csv(path: Path, heads: Sequence[str], rows: Iterable[Iterable[Any]], *, overwrite: bool) -> None:
    """Write a table with a line of heads, whole or not at all."""
    write_whole(path, lambda: _csv([heads, *rows]), table_kind(heads), overwrite=overwrite)


def _csv(rows: Iterable[Iterable[Any]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue().encode()


def page_beside(mechanism: Path, output: Path | None, overwrite: bool, more: str = "") -> Path:
    """Where the page of a mechanism file goes: as named, or called like the file, with something more in its name."""
    return place_for(output or Path(f"{mechanism.stem}{more}.html"), DRAWN, overwrite=overwrite)


def table_of_answers(file: Path, what: str, such: str = "") -> Mechanism:
    """The proved table in a file; points of a box, of which there is none, have no shares either."""
    proved = load(file)
    try:
        table: Mechanism = proved.as_table()
    except NotSupported:
        raise InvalidInput(
            f"{file} is for coordinates: its secrets are all points, and points have no shares; {what} are for "
            f"mechanisms with a list of answers{such}"
        ) from None
    return table


def saved(place: Path, digest: str) -> str:
    """The line on a mechanism that was written."""
    name = in_one_line(place)
    return f"file     {name}, sha256 {digest[:16]}…; `sfumato verify {name}` proves it again"


def of_option(option: str, parse: Callable[..., Any], *given: Any) -> Any:
    """What an option says, with its name in front of what is wrong."""
    try:
        return parse(*given)
    except InvalidInput as error:
        raise InvalidInput(f"{option}: {error}") from None
