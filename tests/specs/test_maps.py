"""Spaces of maps out of specs: files of outlines, cells and streets, columns beside them, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import geopandas as gpd
import h3
import pytest
from shapely.geometry import box

from sfumato.errors import InvalidInput, NotSupported
from sfumato.specs.families import as_question
from sfumato.specs.spec import spec_from_text, to_toml
from sfumato.specs.words import promised
from sfumato.studio.requests import checked_spec

CELL = h3.latlng_to_cell(48.85, 2.34, 8)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    shapes = [box(2.30, 48.85, 2.31, 48.86), box(2.31, 48.85, 2.33, 48.86)]
    table = gpd.GeoDataFrame({"tract": ["w", "e"], "people": [10, 30], "half": [1.0, None]}, geometry=shapes, crs=4326)
    table.to_file(tmp_path / "tracts.geojson")
    (tmp_path / "cells.csv").write_text("cell,people\n" + "".join(f"{cell},2\n" for cell in h3.grid_disk(CELL, 1)))
    (tmp_path / "roads.csv").write_text("from,to,metres,oneway\n1,2,100.5,False\n2,3,50,True\n3,1,120,False\n")
    (tmp_path / "nodes.csv").write_text(
        "id,lat,lon,calm\n1,41.9,12.49,1\n2,41.9009,12.49,2\n3,41.9009,12.4906,3\n9,0,0,9\n"
    )
    (tmp_path / "calm.csv").write_text("id,calm\n3,3\n1,1\n2,2\n")
    return tmp_path


def test_areas_and_the_people_in_them(folder: Path) -> None:
    text = "[space]\nkind = 'areas'\nfile = 'tracts.geojson'\nlabel = 'tract'\n[privacy]\nepsilon = 1\nper = 'km'\n"
    made = as_question(spec_from_text(text + "[prior]\ncounts = 'people'", folder))
    assert made.space.labels == ("w", "e")
    assert made.prior.weights.tolist() == [Fraction(1, 4), Fraction(3, 4)]
    assert made.privacy is not None
    assert promised(made.privacy).endswith("secrets are areas with outlines, and the promise is about these")
    with pytest.raises(InvalidInput, match="area 2: 'half' is missing"):
        as_question(spec_from_text(text + "[prior]\ncounts = 'half'", folder))
    with pytest.raises(InvalidInput, match="no column 'peple'"):
        as_question(spec_from_text(text + "[prior]\ncounts = 'peple'", folder))
    with pytest.raises(InvalidInput, match=r"\[space\]: .*nowhere.geojson"):
        as_question(spec_from_text("[space]\nkind = 'areas'\nfile = 'nowhere.geojson'", folder))


def test_cells_of_a_column_and_of_outlines(folder: Path) -> None:
    listed = "[space]\nkind = 'h3_cells'\nfile = 'cells.csv'\ncolumn = 'cell'\n[prior]\ncounts = 'people'"
    made = as_question(spec_from_text(listed, folder))
    assert len(made.space) == 7 and made.prior.weights.tolist() == [Fraction(1, 7)] * 7
    drawn = as_question(spec_from_text("[space]\nkind = 'h3_cells'\nfile = 'tracts.geojson'\nresolution = 8", folder))
    assert len(drawn.space) > 3 and drawn.space.unit == "km"
    steps = as_question(
        spec_from_text("[space]\nkind = 'h3_cells'\nfile = 'cells.csv'\ncolumn = 'cell'\ndistance = 'grid'", folder)
    )
    assert steps.space.distances.floats.max() == 2


def test_roads_and_their_crossings(folder: Path) -> None:
    text = (
        "[space]\nkind = 'roads'\nfile = 'roads.csv'\nlength = 'metres'\nways = 'both'\n"
        "crossings = {file = 'nodes.csv', label = 'id'}\n"
    )
    made = as_question(spec_from_text(text, folder))
    assert made.space.labels == ("1", "2", "3") and made.space.distance("2", "3") == 50
    assert made.space.coordinates is not None and made.space.coordinates[0].tolist() == [12.49, 41.9]
    assert made.space.distances.exact() is not None  # 100.5 is what is written
    with pytest.raises(InvalidInput, match="is one-way"):
        as_question(spec_from_text(text.replace("ways = 'both'\n", ""), folder))
    with pytest.raises(InvalidInput, match=r"the rows of roads\.csv are no secrets"):
        as_question(spec_from_text(text + "[prior]\ncounts = 'metres'", folder))
    with pytest.raises(InvalidInput, match="no column 'one_way'"):
        as_question(spec_from_text(text + "oneway = 'one_way'\n", folder))


def test_streets_without_coordinates_are_left_out_where_a_spec_says_so(folder: Path) -> None:
    (folder / "roads.csv").write_text("from,to,length\n1,2,100\n2,3,50\n3,9,20\n9,8,5\n")
    (folder / "nodes.csv").write_text("id,lat,lon\n1,41.9,12.49\n2,41.9009,12.49\n3,41.9009,12.4906\n9,,\n")
    text = "[space]\nkind = 'roads'\nfile = 'roads.csv'\ncrossings = {file = 'nodes.csv', label = 'id'}\n"
    with pytest.raises(InvalidInput, match="'lat' is empty"):
        as_question(spec_from_text(text, folder))
    spec = spec_from_text(text + "lacking = 'drop'\n", folder)
    made = as_question(spec).space
    assert made.name == "3 crossings, 2 crossings without coordinates and 2 streets left out"
    assert spec_from_text(to_toml(spec), folder) == spec


def test_a_stretched_network(folder: Path) -> None:
    plain = "{kind = 'roads', file = 'roads.csv', length = 'metres', ways = 'both'}"
    text = f"[space]\nkind = 'elastic'\nof = {plain}\nweights = 'calm'\nfile = 'calm.csv'\nlabel = 'id'\n"
    spec = spec_from_text(text, folder)
    assert as_question(spec).space.distance("2", "3") == 50 * 2.5
    assert spec_from_text(to_toml(spec)) == spec
    by_label = f"[space]\nkind = 'elastic'\nof = {plain}\nweights = {{1 = 1, 2 = 2, 3 = 3}}\n"
    assert as_question(spec_from_text(by_label, folder)).space.distance("2", "3") == 50 * 2.5
    with pytest.raises(InvalidInput, match="say of which file"):
        as_question(spec_from_text("[space]\nkind = 'elastic'\nof = {kind = 'line', n = 3}\nweights = 'calm'"))
    with pytest.raises(InvalidInput, match="weights are positive"):
        as_question(spec_from_text("[space]\nkind = 'elastic'\nof = {kind = 'line', n = 2}\nweights = [1, 0]"))


@pytest.mark.parametrize(
    ("keys", "words"),
    [
        ("kind = 'h3_cells'", "give box = "),
        ("kind = 'h3_cells'\nbox = [1, 2, 3]\nresolution = 3", "a list of at least 4"),
        ("kind = 'h3_cells'\ncells = ['x']\ncolumn = 'c'", "column goes with file"),
        ("kind = 'h3_cells'\ncells = ['x']", "'x' is no H3 cell"),
        ("kind = 'square_cells'\nsouth = 48\nwest = 2", "'step' is missing"),
        ("kind = 'roads'\nways = 'both'", "give either file, a CSV, or streets"),
        ("kind = 'roads'\nstreets = [['a', 'b']]", "a list of at least 3"),
        ("kind = 'roads'\nstreets = [['a', 'b', 'far']]", "the length of a street must be"),
        ("kind = 'roads'\nlacking = 'drop'\nstreets = [['a', 'b', 2]]", "lacking goes with crossings"),
        ("kind = 'areas'", "'file' is missing"),
        ("kind = 'elastic'\nweights = [1]\nof = {kind = 'box', sides = 3, step = 1}", "kind 'box' has none"),
        (
            "kind = 'elastic'\nweights = [1]\nof = {kind = 'lines'}",
            "unknown kind 'lines' in .space.of., did you mean 'line'",
        ),
    ],
)
def test_what_is_refused_in_one_line(keys: str, words: str) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        as_question(spec_from_text(f"[space]\n{keys}\n"))
    assert "\n" not in str(caught.value)


def test_the_studio_refuses_what_it_cannot_draw_yet() -> None:
    with pytest.raises(NotSupported, match="a space of kind 'h3_cells' in the studio"):
        checked_spec({"space": {"kind": "h3_cells", "cells": [CELL]}}, "design")
    with pytest.raises(NotSupported, match="files in a state of the studio"):
        checked_spec({"space": {"kind": "areas", "file": "/etc/passwd"}}, "design")
