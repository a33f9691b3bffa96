"""GeoPackage and Shapefile, through the Arrow stream of pyogrio: batch after batch, into a file of its own.

The new file is written from released rows alone, so that its extents, spatial index and statistics tell nothing else.
Layers, tables and metadata of the old file that are not released are not copied.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa

from sfumato.errors import (
    InvalidFile,
    InvalidInput,
    NotSupported,
    SfumatoError,
    few,
    keyword,
    shown,
    worded,
)
from sfumato.release.batches import BatchRelease
from sfumato.release.places import Geometry
from sfumato.release.tables import release_batch, released_schema
from sfumato.spaces.libraries import pyogrio_library

DRIVERS = {"gpkg": "GPKG", "shapefile": "ESRI Shapefile"}
"""The formats that pyogrio reads and writes here, and what it calls them."""

COMPANIONS = (".shx", ".dbf", ".prj", ".cpg")
"""Endings of the files that stand beside a Shapefile."""


def layer_of(source: Path, layer: str | None) -> str:
    """The layer that is meant; refused where there are several and none is named."""
    pyogrio = pyogrio_library()
    try:
        names = [str(name) for name, _ in pyogrio.list_layers(source)]
    except (pyogrio.errors.DataSourceError, pyogrio.errors.DataLayerError, ValueError, RuntimeError) as error:
        raise InvalidFile(f"{source} cannot be read: {' '.join(str(error).split())[:200]}") from error
    if layer is not None and layer not in names:
        raise InvalidInput(f"{source} has no layer {shown(layer)}: there are {few(names)}")
    if layer is None and len(names) != 1:
        raise InvalidInput(
            f"{source} has {len(names)} layers{': ' * bool(names)}{few(names)}; {keyword('layer', '…')} names one"
        )
    return names[0] if layer is None else layer


def release_ogr(
    source: Path, folder: Path, name: str, kind: str, work: BatchRelease, batch: int, layer: str | None
) -> list[Path]:
    """Release a layer of a file into a new file in a folder; the files that were written there, the main one first."""
    _check_kind(kind, work)
    pyogrio = pyogrio_library()
    which = layer_of(source, layer)
    failures: list[BaseException] = []
    try:
        with pyogrio.open_arrow(source, layer=which, use_pyarrow=True, batch_size=batch) as (about, reader):
            work.total = int(pyogrio.read_info(source, layer=which)["features"])
            schema = released_schema(reader.schema, work)
            rows = _released(reader, work, schema, batch, failures)
            place = folder / name
            options = {"GEOMETRY_NAME": work.added[0].name} if kind == "gpkg" else {}
            pyogrio.write_arrow(
                pa.RecordBatchReader.from_batches(schema, rows), place, driver=DRIVERS[kind], geometry_type="Point",
                layer=which if kind == "gpkg" else None, geometry_name=work.added[0].name, crs=about["crs"],
                encoding="UTF-8" if kind == "shapefile" else None, layer_options=options,
            )  # fmt: skip
    except (KeyboardInterrupt, SfumatoError):
        raise
    except _errors(pyogrio) as error:
        if failures:
            raise failures[0] from None
        raise InvalidFile(f"{source} cannot be released: {' '.join(str(error).split())[:200]}") from error
    written = sorted(folder.iterdir(), key=lambda path: path.name != name)
    return [path for path in written if path.name == name or path.suffix.lower() in COMPANIONS]


def released_layer(
    source: Path, kind: str, work: BatchRelease, batch: int, layer: str | None
) -> Iterator[pa.RecordBatch]:
    """The released batches of a layer, before anything is written."""
    _check_kind(kind, work)
    with layer_batches(source, layer, batch) as reader:
        schema = released_schema(reader.schema, work)
        yield from _released(reader, work, schema, batch, [])


@contextmanager
def layer_batches(source: Path, layer: str | None, batch: int) -> Iterator[Any]:
    """What reads a layer of a file in batches of Arrow; what is wrong with the file is told with its name."""
    pyogrio = pyogrio_library()
    try:
        with pyogrio.open_arrow(source, layer=layer_of(source, layer), use_pyarrow=True, batch_size=batch) as (_, rows):
            yield rows
    except SfumatoError:
        raise
    except _errors(pyogrio) as error:
        raise InvalidFile(f"{source} cannot be read: {' '.join(str(error).split())[:200]}") from error


def _check_kind(kind: str, work: BatchRelease) -> None:
    """Refuse what such a file has no place for."""
    if work.terms.keep:
        raise NotSupported(
            f"{keyword('keep', True)} in a {DRIVERS[kind]}, whose rows have one geometry", ["GeoParquet"]
        )
    if not isinstance(work.terms.column, Geometry):
        raise NotSupported(
            "columns of a file whose rows have a geometry beside them", [worded("Geometry()", "geometry")]
        )


def _errors(pyogrio: Any) -> tuple[type[Exception], ...]:
    errors = pyogrio.errors
    return (
        errors.DataSourceError, errors.DataLayerError, errors.FieldError, errors.FeatureError, errors.GeometryError,
        errors.CRSError, pa.ArrowException, RuntimeError, ValueError, OSError,
    )  # fmt: skip


def _released(
    reader: Any, work: BatchRelease, schema: Any, batch: int, failures: list[BaseException]
) -> Iterator[pa.RecordBatch]:
    """Released batches; what goes wrong here is kept, since the writer would tell of it in its own words."""
    try:
        for whole in reader:
            for first in range(0, len(whole), batch):
                yield release_batch(whole.slice(first, batch), work, schema)
    except BaseException as error:
        failures.append(error)
        raise


def into_part(written: Path, part: Any) -> None:
    """Copy what was written into the file that will be put in place."""
    with written.open("rb") as old, open(part.handle, "wb", closefd=False) as new:
        shutil.copyfileobj(old, new, 1 << 20)
