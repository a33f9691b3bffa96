"""Boxes that people name: four numbers, a city, a public file; what is in the wrong order is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import geopandas
import pytest
from shapely.geometry import box as rectangle

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.hide.extents import box_table, extent_of
from sfumato.specs.boxes import spec_box
from sfumato.specs.spec import spec_from_values


def corners(given: Any, **named: Any) -> list[float]:
    found = extent_of(given, **({"earth": True, "unit": "km"} | named)).corners
    return [float(corner) for corner in found]


def test_four_numbers_in_degrees() -> None:
    assert corners("40.70, -74.02, 40.80, -73.90") == [40.7, -74.02, 40.8, -73.9]
    assert corners(("40.7 N", "74.02 W", "40.8 N", "73.9 W")) == [40.7, -74.02, 40.8, -73.9]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ("2.2,48.8,2.5", "four numbers"),
        (
            "100,40,120,50",
            "would be one with latitude and longitude swapped: swap the numbers of the box, box='40,100,50,120'",
        ),
        ("40.8,-74,40.7,-73.9", "north is larger than south"),
        ("650000,6860000,660000,6870000", "are these metres"),
        ("40 E,-74,41,-73", "out of order"),
        ("Xanaduville, 20 km", "the city 'Xanaduville'"),
        ("Paris", "half a side"),
        ("Pariss, 20 km", "did you mean 'Paris'"),
        ("Paris, 0 km", "positive length"),
        ("nowhere.geojson", "there is no file"),
    ],
)
def test_what_is_no_box_is_said(given: str, message: str) -> None:
    with pytest.raises((InvalidInput, NotSupported), match=message):
        corners(given)


def test_a_square_around_a_city_has_it_in_its_middle() -> None:
    south, west, north, east = corners("Paris, 10 km")
    assert south < 48.853 < north and west < 2.349 < east
    assert (north - south) * 111.195 == pytest.approx(20, abs=0.01)
    assert corners("Paris, US, 10 km")[1] < -95


def test_the_extent_of_a_public_file_but_not_of_the_data(tmp_path: Path) -> None:
    area = geopandas.GeoDataFrame(geometry=[rectangle(2.2, 48.8, 2.5, 48.95)], crs="EPSG:4326")
    area.to_crs("EPSG:2154").to_file(tmp_path / "area.geojson")
    assert corners(tmp_path / "area.geojson") == pytest.approx([48.8, 2.2, 48.95, 2.5], abs=0.002)
    listed = tmp_path / "places.csv"
    listed.write_text("lat,lon\n48.8,2.2\n48.9,2.5\n")
    assert corners(str(listed)) == [48.8, 2.2, 48.9, 2.5]
    with pytest.raises(InvalidInput, match="is the file of the data"):
        corners(listed, data=listed)


def test_a_box_in_another_system_becomes_one_in_degrees() -> None:
    south, west, north, east = corners("640000,6855000,660000,6870000", crs="EPSG:2154")
    assert 48.7 < south < 48.9 < north < 49 and 2.1 < west < 2.3 < east < 2.5


def test_a_box_that_somebody_made_is_the_same_after_its_spec() -> None:
    for made in (sf.box((2, 3), step=1, unit="km"), sf.spaces.earth_box(40.7, -74.02, sides=(2, 3), step=1)):
        assert spec_box(spec_from_values({"space": box_table(made)})) == made
