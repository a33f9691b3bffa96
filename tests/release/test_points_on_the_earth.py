"""Releases of latitudes and longitudes by a mechanism on a box on the Earth."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow.csv import write_csv
from scipy.stats import chi2

from box_tables import box_mechanism
from sfumato.certify.charge import about_coordinates
from sfumato.certify.protocol import charge_of
from sfumato.draws.randomness import FreshStream, system_bits
from sfumato.errors import InvalidInput
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.places import Place, Position
from sfumato.release.points import points_of, rounding_words
from sfumato.release.rows import BadRow, TypedValues
from sfumato.release.sampler import sampler
from sfumato.release.streams import release_file
from sfumato.release.tables import release_table
from sfumato.spaces import earth_box, to_box
from sfumato.spaces.box import box

TOWN = earth_box(48, 2, sides=(10, 10), step=5)
HIDE = box_mechanism(TOWN, outputs=6)
FIJI = earth_box(-18, 179, sides=(240, 120), step=40)
HIDE_FIJI = box_mechanism(FIJI, outputs=5)
PLACE = Place("lat", "lon")
FALSE_ALARM = 1e-9


def test_the_plan_rounds_as_the_map_does() -> None:
    """Breaks in degrees give the probabilities that breaks in km give after the map, exactly."""
    plan = HIDE_FIJI.as_plan()
    rng = np.random.default_rng(1)
    for latitude, longitude in rng.uniform((-18.2, 178.8), (-16.8, 181.4), (40, 2)).tolist():
        if longitude > 180:
            longitude -= 360.0
        point = HIDE_FIJI.rounding.clamped(to_box(FIJI, latitude, longitude))
        for axis, mapped, place, angle in zip(
            HIDE_FIJI.rounding.axes, plan.axes, point, (longitude, latitude), strict=True
        ):
            first, chances = mapped.chances(angle)
            row = axis.rounding(place)
            found = dict(zip(range(first, first + 3), np.diff([0, *chances, 1]).tolist(), strict=True))
            assert {v: share for v, share in found.items() if share} == {v: share for v, share in row.items() if share}


@pytest.mark.parametrize("place", [(48.03, 2.05), (48.0, 2.0), (48.0, 362.0), (47.99, 2.15)])
def test_a_table_gets_the_density_of_its_places(place: tuple[float, float]) -> None:
    rows = 20_000
    table = pa.table({"lat": np.full(rows, place[0]), "lon": np.full(rows, place[1])})
    made = HIDE.release(table, PLACE, on_unknown="nearest", most_moved=1)
    assert TOWN.frame is not None and made.column_names == ["lat", "lon"]
    digits = TOWN.surface.decimals(HIDE.rate)
    assert digits == 5 and "rounded to 5 decimals of a degree, by at most 80 cm" in rounding_words(digits)
    where = [tuple(float(round(at, digits)) for at in TOWN.frame.place(y)) for y in HIDE.outputs]
    found = np.array([((made["lat"].to_numpy() == a) & (made["lon"].to_numpy() == b)).sum() for a, b in where])
    expected = rows * np.array([float(share) for share in HIDE.density(to_box(TOWN, *place)).weights])
    assert found.sum() == rows and chi2.sf(((found - expected) ** 2 / expected).sum(), 5) > FALSE_ALARM


@pytest.mark.parametrize("rate", [Fraction(k, 100) for k in (1, 7, 30, 139, 900, 10_000)])
@pytest.mark.parametrize("unit", ["km", "m"])
def test_digits_are_those_that_the_noise_leaves(rate: Fraction, unit: str) -> None:
    """The last digit is a thousandth of the noise or less, and one digit fewer would not be; 7 of them are enough."""
    kilo = 1000 if unit == "m" else 1
    town = earth_box(48, 2, sides=(10 * kilo, 10 * kilo), step=5 * kilo, unit=unit)
    digits = town.surface.decimals(rate / kilo)
    assert digits is not None and digits == TOWN.surface.decimals(rate)
    step, noise = 111.195 / 10**digits, 1 / float(rate)  # km
    assert digits <= 7 and (digits == 7 or step <= noise / 1000 < 20 * step)
    metres = 1000 * step / np.sqrt(2)
    number, of = rounding_words(digits).split("by at most ")[1].split(":")[0].split()
    assert metres <= float(number) * {"km": 1000, "m": 1, "cm": 0.01, "mm": 0.001}[of] < 1.02 * metres
    assert box((2, 2), step=1).surface.decimals(rate) is None


def test_what_is_written_is_what_was_drawn_rounded(tmp_path: Path) -> None:
    """With one key the same in a table and in a file, and never with more digits than are said."""
    table, key = pa.table({"id": range(50), "lat": [48.03] * 50, "lon": [2.05] * 50}), bytes(range(32))
    made = HIDE.release(table, PLACE, key=key, row_id="id", secret_never_changes=True)
    write_csv(table, tmp_path / "trips.csv")
    terms = {"key": key, "row_id": "id", "secret_never_changes": True}
    release_file(HIDE, tmp_path / "trips.csv", tmp_path / "told.csv", PLACE, **terms)
    lines = (tmp_path / "told.csv").read_text().splitlines()[1:]
    pairs = [[float(part) for part in line.split(",")[1:]] for line in lines]
    assert pairs == [list(pair) for pair in zip(made["lat"].to_pylist(), made["lon"].to_pylist(), strict=True)]
    assert all(len(part.partition(".")[2]) <= 5 for line in lines for part in line.split(",")[1:])


def test_across_the_antimeridian_a_place_is_one_place() -> None:
    """180 and −180, 181 and −179 have one density; outputs lie between −180 and 180."""
    draws = sampler(HIDE_FIJI)
    ids, key = (np.arange(1600) % 251).astype(np.uint8).reshape(100, 16), bytes(range(32))
    east, west = (
        draws.draw_keyed([(degrees, -17.5)] * 100, ids, key, secret_never_changes=True) for degrees in (181.0, -179.0)
    )
    assert (east == west).all() and len(set(east.tolist())) > 1
    table = pa.table({"lat": [-17.5] * 50, "lon": [179.5, -179.5] * 25})
    made = HIDE_FIJI.release(table, PLACE)
    assert (np.abs(made["lon"].to_numpy()) > 178).all() and (np.abs(made["lon"].to_numpy()) <= 180).all()


def test_undecided_turns_are_settled_in_rationals() -> None:
    """With few digits most draws are decided exactly: they have the same distribution."""
    plan = HIDE_FIJI.as_plan()
    coarse = type(plan)(plan.axes, plan.tables, digits=3)
    assert coarse.digits == 3
    rows, point = 20_000, (-179.9, -17.4)
    columns = np.repeat(np.array(point)[:, None], rows, axis=1)
    expected = np.array([float(share) for share in HIDE_FIJI.density(to_box(FIJI, point[1], point[0])).weights]) * rows
    for one in (plan, coarse):
        outputs = one.draw(columns, FreshStream(system_bits()), np.arange(rows))[0]
        found = np.bincount(outputs, minlength=5)
        assert chi2.sf(((found - expected) ** 2 / expected).sum(), 4) > FALSE_ALARM


def test_what_lies_beyond_the_margin_is_refused_whatever_the_policy() -> None:
    table = pa.table({"lat": [48.01, 89.9], "lon": [2.01, 2.01]})
    for policy, message in (
        ("nearest", "lies more than 5/2 km outside of .*: nothing is promised about it"),
        ("error", r"outside of box\(10 × 10, from 48° N 2° E\) \[48, 48.0899\] × \[2, 2.13.*\] in degrees"),
    ):
        with pytest.raises(BadRow, match=message):
            HIDE.release(table, PLACE, on_unknown=policy)
    assert HIDE.release(table, PLACE, on_unknown="drop", most_dropped=1).num_rows == 1
    with pytest.raises(InvalidInput, match="nothing is promised about others"):
        sampler(HIDE).draw([(2.01, 48.01), (2.01, 89.9)])


def test_the_ends_of_what_is_accepted_are_exact() -> None:
    finder = points_of(PLACE, TOWN, on_unknown="nearest")
    frame = TOWN.frame
    assert frame is not None
    last = float(frame.south - frame.margin * frame.degrees[1])
    for latitude in (np.nextafter(last, -90), last, np.nextafter(last, 90)):
        batch = [TypedValues(pa.array([latitude])), TypedValues(pa.array([2.01]))]
        if Fraction(latitude) >= frame.south - frame.margin * frame.degrees[1]:
            assert finder.locate(batch, 0).moved == pytest.approx([2.5])
        else:
            with pytest.raises(BadRow):
                finder.locate(batch, 0)


def test_borders_zeros_and_what_is_no_number() -> None:
    zero = earth_box(0, 0, sides=(10, 10), step=5)
    finder = points_of(PLACE, zero, on_unknown="error")
    found = finder.locate([TypedValues(pa.array([0.0, -0.0])), TypedValues(pa.array([-0.0, 360.0]))], 0)
    assert len(found.moved) == 0 and (np.copysign(1, found.rows) > 0).all()
    for bad in (None, float("nan"), float("inf")):
        with pytest.raises(BadRow, match="'lon'"):
            finder.locate([TypedValues(pa.array([0.0])), TypedValues(pa.array([bad], pa.float64()))], 0)


def test_columns_are_named_by_what_they_are() -> None:
    table = pa.table({"lat": [48.01], "lon": [2.01]})
    with pytest.raises(InvalidInput, match=r"are places: name the columns of latitude and longitude, Place\('lat'"):
        release_table(HIDE, table, Position("lon", "lat"))
    with pytest.raises(Exception, match=r"a box on the Earth, by sf\.spaces\.earth_box"):
        points_of(PLACE, box((10, 10), step=5, unit="km"), on_unknown="error")


def test_a_ledger_adds_up_places_of_different_boxes_and_nothing_else(tmp_path: Path) -> None:
    charge, other = charge_of(HIDE), charge_of(box_mechanism(earth_box(50, 8, sides=(10, 10), step=5), outputs=4))
    flat = charge_of(box_mechanism(box((10, 10), step=5, unit="km"), outputs=4))
    assert charge.metric == other.metric != flat.metric and charge.noise != other.noise
    assert about_coordinates(charge.metric, "km")
    book = Ledger(tmp_path / "ledger.db")
    table = pa.table({"lat": [48.01], "lon": [2.01]})
    HIDE.release(table, PLACE, ledger=book, dataset="trips")
    assert [entry.space for entry in book.entries()] == ["coordinates, great circle"]
