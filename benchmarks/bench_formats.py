"""Files of maps: points a second from file to released file, beside geopandas reading and writing the same file.

The mechanism has 400 lattice points and 400 outputs on a box on the Earth (10 × 10 km). Geopandas reads the file and
writes it again, with no noise and all rows in memory: what a script of one's own would do around its own noise. All in
one run and in turns. Memory is the peak of a process of its own, less what the same process needs for a hundred
points, for a file and for one ten times as long. Decoding is points of
WKB a second, beside shapely.

    python benchmarks/bench_formats.py --points 200000
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from subprocess import run
from tempfile import TemporaryDirectory
from typing import Any

import geopandas
import numpy as np
import shapely

import sfumato as sf
from bench_plane_draws import on_box
from sfumato.release.formats.geo_points import read_points, wkb_array
from sfumato.release.places import Geometry, Place
from sfumato.release.sampler import sampler
from sfumato.release.streams import release_file
from sfumato.spaces import earth_box
from timing import Table, measure_side_by_side

ENDINGS = ("parquet", "csv", "geojson", "geojsonl", "gpkg", "shp")
REPEATS = 3
TOWN = earth_box("40.70 N", "74.02 W", sides=(9, 9), step="1/2")

WORKER = """
import sys
import bench_formats
bench_formats.released(sys.argv[1], sys.argv[2])
print(next(line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM")))
"""


def hide() -> Any:
    """A mechanism of the size of a city; whether it is private makes no difference to a draw."""
    return on_box(TOWN, np.random.default_rng(20))


def people(points: int, crs: int = 4326) -> Any:
    """Points of the box with an id and a text."""
    rng = np.random.default_rng(20)
    where = geopandas.points_from_xy(-74.01 + 0.08 * rng.random(points), 40.71 + 0.06 * rng.random(points), crs=4326)
    frame = geopandas.GeoDataFrame({"id": np.arange(points), "kind": ["walk"] * points, "geometry": where})
    return frame.to_crs(crs)


def write(frame: Any, place: Path) -> None:
    """A file as geopandas writes it; a CSV file has latitudes and longitudes."""
    ending = place.suffix[1:]
    if ending == "parquet":
        frame.to_parquet(place)
    elif ending == "csv":
        plain = frame.drop(columns="geometry").assign(lat=frame.geometry.y, lon=frame.geometry.x)
        plain.to_csv(place, index=False)
    else:
        frame.to_file(place, driver="GeoJSONSeq" if ending == "geojsonl" else None)


def copied(source: Path, target: Path) -> None:
    """What geopandas does: all in, all out."""
    if source.suffix == ".parquet":
        geopandas.read_parquet(source).to_parquet(target)
    elif source.suffix == ".csv":
        import pandas

        frame = pandas.read_csv(source)
        points = geopandas.points_from_xy(frame["lon"], frame["lat"], crs=4326)
        write(geopandas.GeoDataFrame(frame.drop(columns=["lat", "lon"]), geometry=points), target)
    else:
        write(geopandas.read_file(source), target)


def released(source: str | Path, target: str | Path, mechanism: Any = None) -> None:
    """A file to its release."""
    column = Place("lat", "lon") if str(source).endswith(".csv") else Geometry()
    release_file(hide() if mechanism is None else mechanism, source, target, column, overwrite=True)


def peak(source: Path, target: Path) -> float:
    """The peak memory of a process that releases a file, in MB."""
    done = run([sys.executable, "-c", WORKER, str(source), str(target)], check=True, capture_output=True, text=True,
               cwd=Path(__file__).parent)  # fmt: skip
    return int(done.stdout.splitlines()[-1]) / 1024


def beside(source: Path, target: Path, other: Path, mechanism: Any) -> tuple[float, float]:
    """Seconds of a release, and of geopandas."""
    times = measure_side_by_side(
        {"ours": lambda: released(source, target, mechanism), "theirs": lambda: copied(source, other)}, REPEATS
    )
    return times["ours"].median, times["theirs"].median


def formats(points: int, folder: Path) -> None:
    """Each format, and what it takes."""
    report = Table(
        "formats",
        f"From file to released file, {points:,} points, 400 lattice points and outputs",
        (
            "format",
            "thousand points/s",
            "geopandas, in and out",
            "÷ geopandas",
            "MB",
            "MB, ten times the file",
        ),
    )
    mechanism = hide()
    frame, more, few = people(points), people(10 * points), people(100)
    for ending in ENDINGS:
        source, target, other = (folder / f"{name}.{ending}" for name in ("in", "out", "copy"))
        write(frame, source)
        ours, theirs = (points / seconds / 1e3 for seconds in beside(source, target, other, mechanism))
        long, short = (folder / f"{name}.{ending}" for name in ("long", "short"))
        write(more, long)
        write(few, short)
        least, one, ten = (peak(file, target) for file in (short, source, long))
        report.add(ending, ours, theirs, ours / theirs, one - least, ten - least)
        for file in folder.iterdir():
            file.unlink()
    report.finish()


def decoding(points: int) -> None:
    """WKB to coordinates, beside shapely."""
    rng = np.random.default_rng(20)
    array = wkb_array(rng.random(points), rng.random(points))
    values = array.to_numpy(zero_copy_only=False)
    report = Table("formats_decoding", "Points of WKB decoded", ("what", "million points/s"))
    times = measure_side_by_side(
        {
            "ours, from Arrow": lambda: read_points(array),
            "shapely, from bytes": lambda: shapely.get_coordinates(shapely.from_wkb(values)),
        },
        5,
    )
    for name, time in times.items():
        report.add(name, points / time.median / 1e6)
    report.finish()


def main() -> None:
    """Measure and report."""
    parser = ArgumentParser(description=__doc__.splitlines()[0])  # type: ignore[union-attr]
    parser.add_argument("--points", type=int, default=200_000)
    given = parser.parse_args()
    sampler(hide()).draw(np.array([[-74.0, 40.72]]))
    assert sf.spaces.ground_stretch(TOWN)[1] >= 1
    decoding(2_000_000)
    with TemporaryDirectory(dir=".") as folder:
        formats(given.points, Path(folder).resolve())


if __name__ == "__main__":
    main()
