"""Places in texts are read in all usual spellings; prices, dates and telephone numbers are none."""

from __future__ import annotations

import struct
from base64 import b64encode, urlsafe_b64encode
from random import Random

import pyarrow as pa
import pytest

from sfumato.release.neighbourhood import Lookout, around
from sfumato.release.spellings import geohash_cells, geohash_place, tile_place, utm_place

NEW_YORK = around((40.70, -74.02, 40.80, -73.90), earth=True)
PARIS = around((48.80, 2.25, 48.90, 2.42), earth=True)
POINT = b"\x01" + struct.pack("<Idd", 1, -74.006, 40.7128)
EWKB = b"\x01" + struct.pack("<IIdd", 0x20000001, 4326, -74.006, 40.7128)
BIG = b"\x00" + struct.pack(">Idd", 1, -74.006, 40.7128)

PLACES = [
    "40.7128, -74.0060", "-74.0060 40.7128", "40.7128/-74.0060", "40.7128|-74.0060", "40.71 -74.01",
    "https://www.google.com/maps/@40.7128,-74.0060,15z", "https://maps.google.com/?q=40.7128%2C-74.0060",
    "https://www.google.com/maps/place/x/data=!3d40.7128!4d-74.0060", "https://maps.apple.com/?ll=40.7128,-74.0060",
    "https://www.openstreetmap.org/#map=15/40.7128/-74.0060", "https://osm.org/?mlat=40.7128&amp;mlon=-74.0060",
    "40.7 N, 73.9 W", "N40.7 W73.9", "40.7128° N, 74.0060° W", "40.7128N74.0060W", "40.7128 N 74.0060 O",
    "lat=40.7 lng=-73.9", "lat: 40.7, lon: -73.9", '{"latitude": 40.71, "longitude": -74.0}', "lon=-73.9;lat=40.7",
    "geo:40.7128,-74.0060;u=35", "met at 40.7128, -74.0060, went on", "POINT (-74.0060 40.7128)",
    "40,7128; -74,0060", "40,7128, -74,0060", "40,7128 -74,0060", "40,7128,-74,0060", "40.7128, −74.0060",
    "40°42'46\"N 74°0'21\"W", "40° 42.767' N 74° 0.357' W", "40 42 46 N 74 0 21 W", "N40 42.767 W074 00.357",
    "40º42’46”N 74º00’21”W", "40&deg;42'46&quot;N 74&deg;0'21&quot;W", "+404246-0740021/", "404246N0740021W",
    "+40.7128-074.0060/", "407128000,-740060000",
    "40:42:46 -74:00:21", "40:42.77, -74:00.35", "40:42,77; -74:00,35", "40:42:46.5/-74:00:21.4", "-74:00:21,40:42:46",
    "040:42:46-074:00:21", "at 40:42:46 −74:00:21", "4.07e1 -7.4e1", "4.07128E+01,-7.40060E+01", "407128e-4;-740060e-4",
    "4,07e1 -7,4e1", "40.7 -7.4e1",
    POINT.hex(), EWKB.hex().upper(), b64encode(POINT).decode(), b64encode(EWKB).decode(), b64encode(BIG).decode(),
    urlsafe_b64encode(POINT).decode().rstrip("="),
    "18TWL8345007350", "18T WL 83450 07350", "18TWL8307", "18T 583960 4507351",
    "032010110132023", "https://tiles.example/15/9647/12320.png", "?z=15&x=9647&y=12320",
    "dr5regw", "https://geohash.org/dr5regw", "87G7PX7V+4H", "see 87G7PX7V+4H", "FN20xr", "FN30as37",
]  # fmt: skip

NO_PLACES = [
    "", "40.71", "$40.71", "40.71 $ and 74.01 $", "12.50 EUR, 3.20 EUR", "1,234.50", "2024-12-17T12:40:07.123-05:00",
    "17/05/2024", "2024/05/17", "12:40:30", "+1 212 740 0110", "(212) 740-4070", "+33 1 48 85 22 35", "40-74",
    "192.168.40.74", "40.7.1, 74.0.2", "ISBN 978-3-16-148410-0", "DE89 3704 0044 0532 0130 00", "dress", "10001",
    "3d40b1f0-74aa-4c0e-9b1e-40b774a0c9e1", "deadbeefdeadbeefdeadbeef", "AQIDBAUGBwgJCgsMDQ4PEBESExQVFhcYGRobHB0e",
    "40 W 74th Street", "flat 40, floor 74", "25.4 x 40.7 x 74.0 cm", "a 40% rebate on 74 items", "1011010010110",
    "https://shop.example/?price=40.71&tip=3.20", "Beethoven, op. 73", "3/4/2024 40.7", "18 TWL", "AB12CD",
    "40:42:46", "40:42 -74:00", "40:42:46:74:00:21", "40e1 74e1", "4.07e1 $", "40:42:46 on 2024:07:04",
]  # fmt: skip


@pytest.mark.parametrize("text", PLACES)
def test_a_place_is_read_however_it_is_spelled(text: str) -> None:
    assert NEW_YORK.spelled(text)
    assert not PARIS.spelled(text)  # what lies elsewhere is no place of the region


@pytest.mark.parametrize("text", NO_PLACES)
def test_prices_dates_telephone_numbers_and_names_are_no_places(text: str) -> None:
    assert not NEW_YORK.spelled(text) and not PARIS.spelled(text)


@pytest.mark.parametrize("text", [
    "12:30:15", "12:30-14:45", "12:30:15-14:45:10", "12:30:15 - 14:45:10", "12:30:15- 14:45:10", "12:30 14:45",
    "2024-05-17T12:30:15-14:45", "12:30:15.5 -14:45", "12:30, 14:45",
])  # fmt: skip
def test_times_of_day_are_no_places_where_degrees_are_as_few_as_hours(text: str) -> None:
    for east in (14.75, -14.75):
        assert not around((12.4, east - 0.1, 12.6, east + 0.1), earth=True).spelled(text)


@pytest.mark.parametrize("text", ["12:30:15 -14:45:10", "12:30.25,-14:45.2", "-14:45:10 12:30:15"])
def test_degrees_as_few_as_hours_are_places_with_a_sign(text: str) -> None:
    assert around((12.4, -14.85, 12.6, -14.65), earth=True).spelled(text)


def test_a_column_in_colons_or_with_exponents_is_told_and_one_of_times_is_not() -> None:
    rng = Random(1)
    places = [(rng.uniform(40.7, 40.8), rng.uniform(-74.02, -73.9)) for _ in range(50)]
    colons = [f"{sixty(north)} {sixty(east)}" for north, east in places]
    powers = [f"{north:.6e} {east:.6e}" for north, east in places]
    lookout = Lookout(NEW_YORK)
    assert lookout.told("colons", pa.array(colons)) == "degrees and minutes"
    assert lookout.told("powers", pa.array(powers)) == "pairs of numbers"
    hours = [(rng.uniform(0, 24), rng.uniform(0, 24)) for _ in range(2000)]
    for east in (-17.6, 17.2):
        few = Lookout(around((14.6, east, 14.8, east + 0.4), earth=True))
        for between in (" ", "-", " - ", "/"):
            assert not few.told(between, pa.array([f"{sixty(one)}{between}{sixty(other)}" for one, other in hours]))


def sixty(degrees: float) -> str:
    """Degrees, minutes and seconds, or the time of day."""
    seconds = round(abs(degrees) * 3600)
    return f"{'-' * (degrees < 0)}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"


def test_coordinates_of_a_plane_are_whole_numbers_as_well() -> None:
    plane = around((650000, 6860000, 655000, 6865000), earth=False)
    assert plane.spelled("at 652000 6862000") and plane.spelled("6862000.5;652000.5")
    assert plane.spelled("6.52e5 6.862e6")
    assert not plane.spelled("652000 on 2024-05-17") and not plane.spelled("+33 1 48 85 22 35")


@pytest.mark.parametrize("place", [(-33.8688, 151.2093), (51.5, -0.12), (-0.2, -78.5), (64.1, -21.9)])
def test_cells_of_a_region_are_those_of_its_geohashes(place: tuple[float, float]) -> None:
    south, west = place
    cells = geohash_cells(south - 0.1, west - 0.1, south + 0.1, west + 0.1)
    assert all(len(cell) == 3 for cell in cells)
    assert min(max(abs(a - b) for a, b in zip(geohash_place(cell), place, strict=True)) for cell in cells) <= 0.71


def test_grids_south_of_the_equator() -> None:
    sydney = around((-33.9, 151.1, -33.8, 151.3), earth=True)
    assert sydney.spelled("56HLH3436650948") and sydney.spelled("56H 334366 6250948")
    assert [round(at, 2) for at in utm_place(56, 334366, 6250948 - 1e7)] == [-33.87, 151.21]
    assert sydney.contains(tile_place(15, 30147, 19663))
