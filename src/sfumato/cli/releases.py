"""The commands that release data: ``release``, which copies a file with noise in a column, and ``release-key``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from sfumato.certify import Mechanism, load
from sfumato.certify.coordinates import BoxMechanism
from sfumato.certify.noise import BoxNoise
from sfumato.cli.ledgers import opened
from sfumato.cli.options import DECIMAL_COMMAS, AsJson, CsvDecimal, answer, promise_record
from sfumato.cli.progress import line
from sfumato.errors import InvalidInput, in_one_line
from sfumato.numbers import at_most
from sfumato.privacy.events import EventPromise
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
GeometryColumn = Annotated[
    str | None, typer.Option(help="Instead of --column: that of points, such as geometry (WKB, WKT, GeoJSON).")
]
System = Annotated[
    str | None, typer.Option(help="The coordinate system of the points, such as EPSG:2154, if the file is silent.")
]
DropZ = Annotated[bool, typer.Option("--drop-z", help="With --geometry: leave heights and measures out of points.")]
Beside = Annotated[list[str] | None, typer.Option(help="With --geometry: a column of coordinates that stays as it is.")]
Dropped = Annotated[list[str] | None, typer.Option(help="A column that is left out; may be said several times.")]
Stays = Annotated[list[str] | None, typer.Option(help="A column that tells places and stays as it is; likewise.")]
Layer = Annotated[str | None, typer.Option(help="Of a GeoPackage that has several.")]
NeverChanges = Annotated[
    bool, typer.Option("--secret-never-changes", help="With --key-file and no --ledger: states that it is so.")
]


def release(
    mechanism: Annotated[Path, typer.Argument(help="A mechanism file (.sfm); it is proved again first.")],
    source: SourceFile,
    target: Annotated[Path, typer.Argument(help="The file to write, of the same format.")],
    column: Annotated[str | None, typer.Option(help="The column that holds the secret, as a label.")] = None,
    lat: Annotated[str | None, typer.Option(help="Instead of --column: that of the latitude, with --lon.")] = None,
    lon: Annotated[str | None, typer.Option(help="The column of the longitude.")] = None,
    x: Annotated[str | None, typer.Option(help="Instead of --column: that of the first coordinate.")] = None,
    y: Annotated[str | None, typer.Option(help="The column of the second coordinate.")] = None,
    z: Annotated[str | None, typer.Option(help="The column of the third coordinate.")] = None,
    geometry: GeometryColumn = None,
    crs: System = None,
    drop_z: DropZ = False,
    beside: Beside = None,
    drop: Dropped = None,
    stay: Stays = None,
    layer: Layer = None,
    within: Annotated[
        str | None, typer.Option(help="How far a point may be from the nearest secret, such as '500 m'.")
    ] = None,
    into: Annotated[str | None, typer.Option(help="A new name for the released column.")] = None,
    keep: Annotated[
        bool, typer.Option("--keep", help="Leave the true columns beside the noise. Needs --into.")
    ] = False,
    on_unknown: Annotated[
        str, typer.Option(help="For values that are no secret: error, drop the row, or take the nearest.")
    ] = "error",
    most_moved: Annotated[
        str | None, typer.Option(help="With --on-unknown nearest: the share of rows that may lie outside (0.05).")
    ] = None,
    most_dropped: Annotated[
        str | None, typer.Option(help="With --on-unknown drop: the share of rows that may be left out (0.05).")
    ] = None,
    key: Annotated[
        Path | None,
        typer.Option("--key-file", help="With --row-id: the same row always gets the same noise under this key."),
    ] = None,
    row_id: Annotated[
        list[str] | None, typer.Option(help="The column that names a row; several name it together.")
    ] = None,
    secret_never_changes: NeverChanges = False,
    ledger: Annotated[
        Path | None, typer.Option(help="Charge the release here; refused past the limit (exit 3).")
    ] = None,
    dataset: Annotated[
        str | None, typer.Option(help="With --ledger: the name of the data there, the same for every copy of them.")
    ] = None,
    times: Annotated[
        int | None,
        typer.Option(min=1, help="With --ledger: how many rows one person has or changes (2 in counts by district)."),
    ] = None,
    format: Annotated[  # noqa: A002 - the name of the option
        str | None,
        typer.Option(help="csv, jsonl, geojson, parquet, arrow, gpkg or shapefile, if no ending says it."),
    ] = None,
    delimiter: Annotated[str | None, typer.Option(help="Of a CSV file, if its header leaves doubt.")] = None,
    decimal: CsvDecimal = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace TARGET: a second release.")] = False,
    as_json: AsJson = False,
) -> None:
    """Copy a file with the secrets of a column replaced by noise, drawn exactly as was proved.

    The whole file appears or none. Without a key the noise is fresh: release once, and use the result.
    """
    wanted = _columns(column, (lat, lon), (x, y, z), _points(geometry, drop_z, beside or []))
    account = None if ledger is None else opened(ledger, dataset)
    proved = load(mechanism)
    with plain_interrupts(), line() as say:
        done = release_file(
            proved, source, target, wanted, format=format, into=into, keep=keep, on_unknown=on_unknown,
            within=within, most_moved=most_moved, most_dropped=most_dropped, key=key, row_id=row_id or None,
            secret_never_changes=secret_never_changes, ledger=account, dataset=dataset, times=times, drop=drop or (),
            stay=stay or (), overwrite=overwrite, delimiter=delimiter, decimal=decimal, layer=layer, crs=crs,
            progress=say,
        )  # fmt: skip
    record = _record(done, proved) | {"columns": _names(wanted), "keyed": key is not None}
    record |= {} if ledger is None else {"ledger": str(ledger), "dataset": dataset}
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
                    for event in _events(proved)]  # fmt: skip
    return {
        "file": str(done.file), "rows": done.rows - done.dropped, "dropped": done.dropped, "moved": done.moved,
        "seconds": round(done.seconds, 4), "rows_per_second": round(done.rate),
        "promise": promise_record(proved.privacy) if _bounds_ratios(proved) else None, "events": about_events,
        "unit": proved.privacy.space.unit, "mechanism": proved.proof.digest,
        "about": "coordinates" if isinstance(proved, BoxMechanism | BoxNoise) else "secrets", "note": done.note,
    }  # fmt: skip


def _moved(done: Released, proved: Mechanism | BoxMechanism | BoxNoise) -> str:
    unit = f" {proved.privacy.space.unit}" if proved.privacy.space.unit else ""
    share = f"{done.moved:,} of {done.rows:,} rows lay outside the space"
    return f"{share}, by up to {at_most(done.farthest, 6)}{unit}; this is about the true data, keep it to yourself"


def _summary(
    done: Released, proved: Mechanism | BoxMechanism | BoxNoise, wanted: Any, key_file: Path | None, ledger: Path | None
) -> list[str]:
    left_out = f", {done.dropped:,} left out" if done.dropped else ""
    noise = "fresh: another release would cost as much again" if key_file is None else f"fixed by {key_file}"
    return [
        f"promise  {_promise_words(proved)}",
        *([f"note     {done.note}"] if done.note else []),
        *([f"numbers  {DECIMAL_COMMAS}"] if done.decimal == "," else []),
        f"column   {', '.join(_names(wanted))}",
        f"rows     {done.rows - done.dropped:,} released{left_out}, {done.rate:,.0f} rows/s",
        *([f"moved    {_moved(done, proved)}"] if done.moved else []),
        f"noise    {noise}",
        *([] if ledger is None else [f"charged  to {in_one_line(ledger)}"]),
        f"file     {in_one_line(done.file)}",
    ]


def _bounds_ratios(proved: Mechanism | BoxMechanism | BoxNoise) -> bool:
    """Whether ratios are bounded; between points they always are."""
    return isinstance(proved, BoxMechanism | BoxNoise) or proved.bounds_ratios


def _events(proved: Mechanism | BoxMechanism | BoxNoise) -> tuple[EventPromise, ...]:
    return () if isinstance(proved, BoxMechanism | BoxNoise) else proved.events


def _promise_words(proved: Mechanism | BoxMechanism | BoxNoise) -> str:
    """What is promised about ratios, and about events."""
    words = [promised(proved.privacy)] if _bounds_ratios(proved) else []
    words += [f"epsilon = {event.factor.epsilon}, delta = {event.delta}: every event, for {len(event)} ordered pairs"
              for event in _events(proved)]  # fmt: skip
    return "; ".join(words) or "nothing about any pair of secrets"
