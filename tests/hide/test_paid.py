"""What is taken from the data: quantiles and counts with noise, their prices, and the rows of a person."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import geopandas
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from sfumato.hide.paid import Looked, noisy_box, noisy_counts, ranks_of
from sfumato.hide.priors import box_counter, prior_table
from sfumato.hide.sources import Source
from sfumato.release.places import Geometry, Place, Position
from sfumato.spaces.earth import earth_box

RNG = np.random.default_rng(5)
TRIPS = pa.table(
    {"id": np.arange(6000) // 3, "lat": 40.75 + RNG.normal(size=6000) * 0.02, "lon": -74 + RNG.normal(size=6000) * 0.02}
)


def looked(source: Source, **named: object) -> Looked:
    return Looked(source, Place("lat", "lon"), **named)  # type: ignore[arg-type]


MAPS = ("geojson", "gpkg", "shp", "geoparquet")


@pytest.mark.parametrize("kind", ["table", "csv", "parquet", "jsonl", "arrow", "a frame of geopandas", *MAPS])
def test_a_noisy_box_holds_nearly_all_points(kind: str, tmp_path: Path) -> None:
    source = Source(TRIPS)
    column: Position = Place("lat", "lon")
    shapes = geopandas.points_from_xy(TRIPS["lon"].to_numpy(), TRIPS["lat"].to_numpy())
    frame = geopandas.GeoDataFrame({"id": TRIPS["id"].to_numpy()}, geometry=shapes, crs="EPSG:4326").to_crs(
        "EPSG:32618"
    )
    if kind in MAPS or kind == "a frame of geopandas":
        column = Geometry()
        source, file = Source(frame), tmp_path / f"trips.{kind}"
        if kind == "geoparquet":
            frame.to_parquet(file)
        elif kind in MAPS:
            (frame.to_crs("EPSG:4326") if kind == "geojson" else frame).to_file(file)
        source = Source(file=file) if kind in MAPS else source
    elif kind in ("jsonl", "arrow"):
        source = Source(file=tmp_path / f"trips.{kind}")
        pd_trips = TRIPS.to_pandas()
        pd_trips.to_json(source.file, orient="records", lines=True) if kind == "jsonl" else pd_trips.to_feather(
            source.file
        )
    elif kind == "parquet":
        pq.write_table(TRIPS, tmp_path / "trips.parquet")
        source = Source(file=tmp_path / "trips.parquet")
    elif kind == "csv":
        columns = (TRIPS[name].to_pylist() for name in ("lat", "lon"))
        rows = "\n".join(f"{a!r};{b!r}" for a, b in zip(*columns, strict=True))
        (tmp_path / "trips.csv").write_text(f"lat;lon\n{rows}\n")
        source = Source(file=tmp_path / "trips.csv")
    found = Looked(source, column)
    south, west, north, east = map(float, noisy_box(ranks_of(found, Fraction(1)), Fraction(1), "km").corners)
    assert 40.6 < south < 40.74 < 40.76 < north < 40.9 and -74.2 < west < -74.01 < -73.99 < east < -73.8


def test_counts_get_noise_and_a_person_counts_for_the_first_rows_alone() -> None:
    home = earth_box(40.65, -74.1, sides=(16, 16), step=4)
    all_of_them = noisy_counts(looked(Source(TRIPS)), home, Fraction(100))
    first = noisy_counts(looked(Source(TRIPS), person="id", most_rows=1), home, Fraction(100))
    assert abs(int(all_of_them.sum()) - 5930) < 99 and abs(int(first.sum()) - 1977) < 60  # some lie outside
    assert (noisy_counts(looked(Source(TRIPS)), home, Fraction(1, 10)) >= 0).all()


def test_public_figures_make_a_prior(tmp_path: Path) -> None:
    home = earth_box(48.7, 2.2, sides=(30, 30), step=10)
    cities = np.array(prior_table("population", box_counter(home), None)["counts"])
    assert cities.shape == home.shape and cities.sum() > 3_000_000
    file = tmp_path / "places.csv"
    file.write_text("lat,lon,population\n48.75,2.25,10\n48.76,2.26,5.5\n48.9,2.5,4\n10,10,100\n")
    counts = np.array(prior_table(str(file), box_counter(home), None)["counts"])
    assert np.count_nonzero(counts) == 2 and counts[0, 0] / counts.sum() == pytest.approx(15.5 / 19.5)
    assert prior_table("uniform", box_counter(home), None) == prior_table(None, box_counter(home), None) == {}
