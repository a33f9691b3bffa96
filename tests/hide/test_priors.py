"""Public figures as a prior: weights by name or by flag, never a column ignored; cells of H3 as places."""

from __future__ import annotations

from pathlib import Path

import geopandas
import h3
import numpy as np
import pytest
from shapely import box as rectangle

import sfumato as sf
from hide_files import BOX, table
from sfumato.errors import InvalidInput
from sfumato.hide.extents import extent_of
from sfumato.hide.hiding import question_of
from sfumato.hide.priors import box_counter, prior_table
from sfumato.hide.sources import Source
from sfumato.hide.wish import Wish
from sfumato.spaces.earth import earth_box
from sfumato.specs.families import as_question

HOME = earth_box(48.7, 2.2, sides=(30, 30), step=10)


def test_a_column_of_numbers_is_never_ignored(tmp_path: Path) -> None:
    file = tmp_path / "wt.csv"
    file.write_text("name,lat,lon,wt\na,48.75,2.25,9\nb,48.9,2.5,1\n")
    with pytest.raises(InvalidInput, match=r"'wt' would not be used: .* prior_column='wt', or prior_column='none'"):
        prior_table(file, box_counter(HOME), None)
    assert sorted(np.ravel(prior_table(file, box_counter(HOME), None, "wt")["counts"]).tolist())[-2:] == [1, 9]
    assert sorted(np.ravel(prior_table(file, box_counter(HOME), None, "none")["counts"]).tolist())[-2:] == [1, 1]
    with pytest.raises(InvalidInput, match="no such column, did you mean 'wt'"):
        prior_table(file, box_counter(HOME), None, "wtt")
    plain = tmp_path / "plain.csv"
    plain.write_text("name,id,lat,lon\na,1,48.75,2.25\n")  # a name and a number of the row are no weights
    assert np.sum(prior_table(plain, box_counter(HOME), None)["counts"]) == 1
    frame = geopandas.GeoDataFrame({"wt": [3, 4]}, geometry=geopandas.points_from_xy([2.25, 2.5], [48.75, 48.9]))
    frame.set_crs("EPSG:4326").to_file(tmp_path / "wt.gpkg")
    with pytest.raises(InvalidInput, match="'wt' would not be used"):
        prior_table(tmp_path / "wt.gpkg", box_counter(HOME), None)
    assert np.sum(prior_table(tmp_path / "wt.gpkg", box_counter(HOME), None, "wt")["counts"]) == 7


def test_the_flag_is_a_wish() -> None:
    with pytest.raises(InvalidInput, match="is about a public file"):
        sf.hide(table(), "1 km", box=BOX, prior_column="wt")


def test_cells_of_h3_are_places(tmp_path: Path) -> None:
    file = tmp_path / "cells.csv"
    cells = [h3.latlng_to_cell(*place, 9) for place in ((40.705, -74.015), (40.715, -74.005))]
    file.write_text("h3,population\n" + "".join(f"{cell},{k + 1}\n" for k, cell in enumerate(cells)))
    asked = question_of(Wish(hide="1 km", box=BOX, cell="1 km", prior=str(file)), Source(table()))
    counts = np.array(asked.spec.prior.counts, dtype=float)
    assert sorted(counts[counts > 0].tolist()) == [1.0, 2.0]
    south, west, north, east = map(float, extent_of(str(file), earth=True, unit="km").corners)
    assert south < 40.7045 and north > 40.7155 and west < -74.0155 and east > -74.0045  # all corners of the cells
    file.write_text("h3,population\nnonsense,1\n")
    with pytest.raises(InvalidInput, match="'nonsense' is no cell of H3"):
        prior_table(file, box_counter(HOME), None)


def test_points_are_counted_on_cells_of_h3_and_on_areas(tmp_path: Path) -> None:
    file = tmp_path / "census.csv"
    inside = [(40.705, -74.015), (40.715, -74.005), (40.7151, -74.0051)]
    rows = [f"{y},{x},{k + 1}\n" for k, (y, x) in enumerate([*inside, (48.0, 2.0), (91.0, 0.0)])]
    file.write_text("lat,lon,people\n" + "".join(rows))
    done = sf.hide(table(), "1 km", box=BOX, h3=8, prior=file, tolerance=0.3)
    cells = done.mechanism.privacy.space.labels
    people = dict.fromkeys(cells, 0)
    for k, place in enumerate(inside):
        people[h3.latlng_to_cell(*place, 8)] += k + 1
    assert list(done.spec.prior.counts) == list(people.values())
    assert "; 2 of 5 points of census.csv lie outside of" in done.why and done.why.endswith("do not count")
    by_name = sf.Prior(cells[::-1], [1, *[0] * (len(cells) - 1)])
    asked = question_of(Wish(hide="1 km", box=BOX, h3=8, prior=by_name), Source(table()))
    assert as_question(asked.spec).prior.weights.tolist() == [0] * (len(cells) - 1) + [1]
    squares = [rectangle(-74.02 + 0.01 * k, 40.70, -74.01 + 0.01 * k, 40.72) for k in range(2)]
    geopandas.GeoDataFrame({"name": ["a", "b"]}, geometry=squares, crs=4326).to_file(tmp_path / "areas.geojson")
    asked = question_of(Wish(hide="1 km", areas=tmp_path / "areas.geojson", prior=file), Source(table()))
    assert asked.spec.prior.counts == [1, 5] and asked.left_out.startswith("2 of 5 points")
    assert question_of(Wish(hide="1 km", box=BOX, h3=8, prior="uniform"), Source(table())).left_out == ""
    with pytest.raises(InvalidInput, match="GeoNames has cities in 0 of the"):
        sf.hide(table(), "1 km", box=(0.0, -30.0, 0.02, -29.98), h3=8, prior="population")
    with pytest.raises(InvalidInput, match=r"prior.* does not go with h3"):
        sf.hide(table(), "1 km", box=BOX, h3=8, prior="data", prior_epsilon=1)
