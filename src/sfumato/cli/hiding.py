"""The command ``hide``: from a file of points to a released one, with mechanism, report and spec beside it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.cli.fields import what_was_said, with_options
from sfumato.cli.ledgers import opened
from sfumato.cli.options import DECIMAL_COMMAS, AsJson, CsvDecimal, answer, promise_record
from sfumato.cli.progress import Interruption, progress_line, until_asked
from sfumato.errors import in_one_line
from sfumato.hide.choice import words_of_secrets
from sfumato.hide.fields import TIME_LIMIT, DistanceFields, WishFields
from sfumato.hide.hidden import Diagnostics, Hidden
from sfumato.hide.hiding import hide as hidden_points
from sfumato.hide.outlook import Outlook
from sfumato.lp.cone.program import ColumnProgress
from sfumato.numbers import float_above, float_below, text_above
from sfumato.spaces.lengths import METRES
from sfumato.specs.spec import Spec, read_spec
from sfumato.watch import Watch

_A_MILLIMETRE = 0.001  # metres

_OldSpec = Annotated[
    Path | None, typer.Option(help="A spec that a release wrote, instead of box, promise, prior and columns.")
]


@with_options("hide", DistanceFields, WishFields, after={"layer": "dataset", "dry_run": "time_limit"})
def hide(
    source: Annotated[
        Path, typer.Argument(help="The file of points: CSV, (Geo)Parquet, GeoJSON, GeoPackage, Shapefile, …")
    ],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="The file to write; .sfm, .html and .toml beside it.")
    ] = None,
    layer: Annotated[str | None, typer.Option(help="Of a GeoPackage that has several.")] = None,
    decimal: CsvDecimal = None,
    spec: _OldSpec = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only count rows that a release would meet.")] = False,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there: another release.")] = False,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Release a file of points: the best mechanism for coordinates, proved, with a report beside it.

    All files appear, or none. Ctrl-C while a mechanism is looked for goes on with the best one so far, proved like any
    other; a second one stops, and nothing is written.
    """
    wishes = what_was_said(given, DistanceFields, WishFields)
    time_limit = wishes.pop("time_limit", None)
    if "ledger" in wishes:
        wishes["ledger"] = opened(wishes["ledger"], wishes.get("dataset"))
    with until_asked("the best mechanism so far") as ending, progress_line(f"reading {source}") as say:
        asked = None if spec is None else _read(spec, anew=time_limit is not None)
        ending.watch = Watch(_limit(time_limit, asked))
        done = hidden_points(
            source, output=output, overwrite=overwrite, spec=asked, time_limit=ending.watch,
            progress=_told(ending, say), layer=layer, decimal=decimal,
            dry_run=dry_run, **wishes,
        )  # fmt: skip
    if isinstance(done, Outlook):
        record = asdict(done) | {"share": str(done.share), "answers": done.answers}
        answer(record, _foreseen(done), as_json)
        return
    for words in _diagnosed(done):
        typer.echo(f"sfumato: {words}", err=True)
    answer(_record(done), _summary(done), as_json)


def _foreseen(found: Outlook) -> list[str]:
    """What a dry run found, for people; it is about the true points."""
    would = f"A release would be refused: {found.refused}" if found.refused else "A release would not be refused."
    limit = "until it is found" if found.time_limit is None else f"up to {text_above(found.time_limit, 4)} s"
    return [
        f"Dry run: {found.words}.",
        f"Columns of the points: {', '.join(found.columns)}.",
        *(f"{sentence}." for sentence in found.answers),
        would,
        f"A mechanism is looked for {limit}, then proved and drawn from; nothing was designed or written now.",
        "This is about the true data, keep it to yourself.",
    ]


def _read(spec: Path, anew: bool) -> Spec:
    """A spec; with another time limit its question is answered anew."""
    found = read_spec(spec)
    if not anew or found.release is None:
        return found
    return found.model_copy(update={"release": found.release.model_copy(update={"mechanism": None})})


def _told(ending: Interruption, say: Callable[[Any], None]) -> Callable[[Any], None]:
    """Progress of the whole: what a search has found is kept when it is asked to end, a release is stopped."""
    searching = ending.progress(say)

    def report(state: Any) -> None:
        if isinstance(state, ColumnProgress):
            searching(state)
            return
        ending.working = False  # from here on Ctrl-C stops at once, and leaves nothing
        say(state)

    return report


def _limit(given: float | None, asked: Any) -> float | None:
    """Seconds: those of the option, else of the spec, else a minute."""
    if given is not None:
        return given
    said = None if asked is None else asked.solve.time_limit
    return TIME_LIMIT if said is None else float(said)


def _diagnosed(done: Hidden) -> list[str]:
    """What is known of the true points, for the screen alone."""
    known, unit = done.diagnostics, done.mechanism.privacy.space.unit
    words = []
    if known.moved:
        words.append(
            f"{_strays(known)} lay outside of the box, by {_far(known.farthest, unit)}, and were moved to its border"
        )
    if known.dropped - known.beyond:
        words.append(f"{known.dropped - known.beyond:,} rows were left out: who knows which learns that about them")
    if known.beyond:
        words.append(f"{known.beyond:,} rows were left out because their person has enough others")
    return [f"{sentence}; this is about the true data, keep it to yourself" for sentence in words]


def _strays(known: Diagnostics) -> str:
    """How many rows lay outside, or of several places of a row how many of each."""
    if not known.strays:
        return f"{known.moved:,} of {known.rows:,} rows"
    each = ", ".join(f"{many:,} of {name}" for name, many in known.strays.items())
    return f"{known.moved:,} place{'s' * (known.moved != 1)} in {known.rows:,} rows ({each})"


def _far(farthest: float, unit: str) -> str:
    """How far points lay outside, in words: the last bit of a double is no distance."""
    metres = farthest * float(METRES[unit]) if unit in METRES else None
    if metres is not None and metres < _A_MILLIMETRE:
        return "less than a millimetre"
    return f"up to {text_above(farthest, 6)} {unit}"


def _record(done: Hidden) -> dict[str, Any]:
    """For a program to read; nothing in it is about the true points."""
    best = done.design
    return {
        "files": [str(file) for file in done.files], "promise": promise_record(done.mechanism.privacy),
        "unit": done.mechanism.privacy.space.unit, "about": words_of_secrets(done.spec).many,
        "mechanism": done.mechanism.drawn_as, "why": done.why,
        "loss": float_above(best.loss), "bound": float_below(best.bound), "gap": best.gap,
        "person": None if done.spec.release is None else done.spec.release.person,
        "per_person": done.spec.release is not None and done.spec.release.per_person,
        "paid": [{"what": part.what, "epsilon": str(part.epsilon), "times": part.times} for part in done.paid],
        "sha256": done.mechanism.proof.digest, "seconds": round(best.seconds["total"] + done.diagnostics.seconds, 3),
    }  # fmt: skip


def _summary(done: Hidden) -> list[str]:
    """For people to read."""
    known = done.diagnostics
    written, *beside = (in_one_line(file) for file in (done.files[0], *(file.name for file in done.files[1:])))
    proved, repeated = in_one_line(done.files[1]), in_one_line(done.files[3])
    return [
        *done.promises,
        f"Wrote {known.rows - known.dropped:,} rows to {written}, and beside it {', '.join(beside)}.",
        f"Columns of the points: {', '.join(done.columns)}.",
        *([DECIMAL_COMMAS] if done.decimal == "," else []),
        f"`sfumato verify {proved}` proves it again; `sfumato hide --spec {repeated} …` repeats it.",
    ]
