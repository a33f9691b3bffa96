"""The commands that release data: ``release``, which copies a file with noise in a column, and ``release-key``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.certify import Mechanism, load
from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.noise import BoxNoise
from sfumato.cli.fields import what_was_said, with_options
from sfumato.cli.ledgers import opened
from sfumato.cli.options import DECIMAL_COMMAS, AsJson, CsvDecimal, answer, promise_record
from sfumato.cli.progress import progress_line
from sfumato.errors import InvalidInput, in_one_line
from sfumato.numbers import text_above
from sfumato.release.families import rounded_told
from sfumato.release.fields import ColumnFields, TermFields
from sfumato.release.keys import release_key as create_key
from sfumato.release.places import Geometry, Place, Position
from sfumato.release.streams import Released, release_file
from sfumato.release.terms import Column
from sfumato.specs.words import promised
from sfumato.threads import plain_interrupts

SourceFile = Annotated[
    Path,
    typer.Argument(
        help="The true data: .csv, .jsonl, .geojson (these also .gz), .parquet, .arrow, .gpkg, .shp or .shp.zip."
    ),
]
DropZ = Annotated[bool, typer.Option("--drop-z", help="With --geometry: leave heights and measures out of points.")]
Beside = Annotated[list[str] | None, typer.Option(help="With --geometry: a column of coordinates that stays as it is.")]
Layer = Annotated[str | None, typer.Option(help="Of a GeoPackage that has several.")]


@with_options(
    "release", ColumnFields, TermFields, after={"z": "y", "drop_z": "crs", "layer": "stay", "format": "times"}
)
def release(
    mechanism: Annotated[Path, typer.Argument(help="A mechanism file (.sfm); it is proved again first.")],
    source: SourceFile,
    target: Annotated[Path, typer.Argument(help="The file to write, of the same format.")],
    column: Annotated[str | None, typer.Option(help="The column that holds the secret, as a label.")] = None,
    z: Annotated[str | None, typer.Option(help="The column of the third coordinate.")] = None,
    drop_z: DropZ = False,
    beside: Beside = None,
    layer: Layer = None,
    format: Annotated[  # noqa: A002 - the name of the option
        str | None,
        typer.Option(help="csv, jsonl, geojson, parquet, arrow, gpkg or shapefile, if no ending says it."),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Of a CSV file, if its header leaves doubt.")] = None,
    decimal: CsvDecimal = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace TARGET: a second release.")] = False,
    as_json: AsJson = False,
    **given: Any,
) -> None:
    """Copy a file with the secrets of a column replaced by noise, drawn exactly as was proved.

    The whole file appears or none. Without a key the noise is fresh: release once, and use the result.
    """
    places, points = (given["lat"], given["lon"]), _points(given["geometry"], drop_z, beside or [])
    wanted = _columns(column, places, (given["x"], given["y"], z), points)
    terms = what_was_said(given, TermFields)
    ledger, key = terms.get("ledger"), terms.get("key")
    if ledger is not None:
        terms["ledger"] = opened(ledger, terms.get("dataset"))
    proved = load(mechanism)
    with plain_interrupts(), progress_line() as say:
        done = release_file(
            proved, source, target, wanted, format=format, overwrite=overwrite, delimiter=delimiter, decimal=decimal,
            layer=layer, progress=say, **terms,
        )  # fmt: skip
    record = _record(done, proved) | {"columns": _names(wanted), "keyed": key is not None}
    record |= {} if ledger is None else {"ledger": str(ledger), "dataset": terms.get("dataset")}
    answer(record, _summary(done, proved, wanted, key, ledger), as_json)


def release_key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The key file to create.")], as_json: AsJson = False
) -> None:
    """Create a key for `sfumato release --key-file`, readable by its owner only."""
    place = create_key(file)
    answer({"file": str(place)}, [f"Wrote {in_one_line(place)}. Keep it: who has it can undo the noise."], as_json)


def _points(geometry: str | None, drop_z: bool, beside: list[str]) -> Geometry | None:
    if geometry is None:
        if drop_z or beside:
            raise InvalidInput(f"{'--drop-z' if drop_z else '--beside'} goes with --geometry")
        return None
    return Geometry(geometry, drop_z=drop_z, beside=beside)


def _columns(
    column: str | None, place: tuple[str | None, ...], axes: tuple[str | None, ...], points: Geometry | None = None
) -> Column:
    given = [[name for name in names if name is not None] for names in ((column,), place, axes)]
    if sum(map(bool, given)) + (points is not None) != 1:
        raise InvalidInput(
            "say which column holds the secret: --column, or --lat and --lon, or --x and --y, or --geometry"
        )
    if points is not None:
        return points
    if column is not None:
        return column
    if given[1]:
        if len(given[1]) != 2:
            raise InvalidInput("a place has two columns: --lat and --lon")
        return Place(*given[1])
    if list(axes[: len(given[2])]) != given[2]:
        raise InvalidInput("a position has its first coordinate in --x, then --y, then --z")
    return Position(*given[2])


def _names(wanted: Any) -> list[str]:
    return [wanted] if isinstance(wanted, str) else list(wanted.columns)


def _record(done: Released, proved: Mechanism | BoxMechanism | BoxNoise) -> dict[str, Any]:
    about_events = [{"epsilon": event.factor.epsilon, "delta": str(event.delta), "pairs": len(event)}
                    for event in proved.events]  # fmt: skip
    return {
        "file": str(done.file), "rows": done.rows - done.dropped, "dropped": done.dropped, "moved": done.moved,
        "seconds": round(done.seconds, 4), "rows_per_second": round(done.rate),
        "promise": promise_record(proved.privacy) if proved.bounds_ratios else None, "events": about_events,
        "unit": proved.privacy.space.unit, "mechanism": proved.proof.digest,
        "about": proved.about, "note": done.note,
    }  # fmt: skip


def _moved(done: Released, proved: Mechanism | BoxMechanism | BoxNoise) -> str:
    unit = f" {proved.privacy.space.unit}" if proved.privacy.space.unit else ""
    share = f"{done.moved:,} of {done.rows:,} rows lay outside the space"
    return f"{share}, by up to {text_above(done.farthest, 6)}{unit}; this is about the true data, keep it to yourself"


def _summary(
    done: Released, proved: Mechanism | BoxMechanism | BoxNoise, wanted: Any, key_file: Path | None, ledger: Path | None
) -> list[str]:
    left_out = f", {done.dropped:,} left out" if done.dropped else ""
    noise = "fresh: another release would cost as much again" if key_file is None else f"fixed by {key_file}"
    return [
        f"promise  {_promise_words(proved)}",
        *([f"note     {done.note}"] if done.note else []),
        *([f"numbers  {words}"] if (words := rounded_told(proved)) else []),
        *([f"numbers  {DECIMAL_COMMAS}"] if done.decimal == "," else []),
        f"column   {', '.join(_names(wanted))}",
        f"rows     {done.rows - done.dropped:,} released{left_out}, {done.rate:,.0f} rows/s",
        *([f"moved    {_moved(done, proved)}"] if done.moved else []),
        f"noise    {noise}",
        *([] if ledger is None else [f"charged  to {in_one_line(ledger)}"]),
        f"file     {in_one_line(done.file)}",
    ]


def _promise_words(proved: Mechanism | BoxMechanism | BoxNoise) -> str:
    """What is promised about ratios, and about events."""
    words = [promised(proved.privacy)] if proved.bounds_ratios else []
    words += [f"epsilon = {event.factor.epsilon}, delta = {event.delta}: every event, for {len(event)} ordered pairs"
              for event in proved.events]  # fmt: skip
    return "; ".join(words) or "nothing about any pair of secrets"
