"""Spaces of maps from a spec to released files, in the shell, and what the commands say of cells."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.cli.main import app

SPECS = {
    "h3_cells": "kind = 'h3_cells'\nbox = [48.85, 2.34, 48.86, 2.36]\nresolution = 8\n",
    "square_cells": "kind = 'square_cells'\nsouth = 48.85\nwest = 2.34\nsides = [1, 1]\nstep = '500 m'\n",
    "areas": "kind = 'areas'\nfile = 'areas.geojson'\nlabel = 'name'\n",
    "roads": (
        "kind = 'roads'\nunit = 'km'\nways = 'both'\nstreets = [['a', 'b', 0.5, true], ['b', 'c', 0.6]]\n"
        "crossings = {file = 'crossings.csv', label = 'id'}\n"
    ),
    "elastic": "kind = 'elastic'\nweights = [1, 1, 2, 2]\nof = {kind = 'square_cells', south = 48.85, west = 2.34, "
    "sides = [1, 1], step = 0.5}\n",
}
SAID = {
    "h3_cells": "secrets are H3 cells of resolution 8, and the promise is about these",
    "square_cells": "secrets are square cells with sides of 1/2 km on their map, and the promise is about these",
    "areas": "secrets are areas with outlines, and the promise is about these",
    "roads": "secrets are places, and the promise is about these",
    "elastic": "secrets are square cells with sides of 1/2 km on their map, and the promise is about these",
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    def area(name: str, west: float) -> dict[str, object]:
        ring = [[west, 48.85], [west + 0.01, 48.85], [west + 0.01, 48.86], [west, 48.86], [west, 48.85]]
        shape = {"type": "Polygon", "coordinates": [ring]}
        return {"type": "Feature", "properties": {"name": name, "people": 3}, "geometry": shape}

    collection = {"type": "FeatureCollection", "features": [area("w", 2.34), area("e", 2.35)]}
    (tmp_path / "areas.geojson").write_text(json.dumps(collection))
    (tmp_path / "crossings.csv").write_text("id,lat,lon\na,48.851,2.341\nb,48.855,2.345\nc,48.859,2.350\n")
    (tmp_path / "trips.csv").write_text("id,lat,lon\n1,48.851,2.342\n2,48.855,2.3445\n")
    return tmp_path


@pytest.mark.parametrize("kind", SPECS)
def test_from_a_spec_to_a_released_file(kind: str, folder: Path) -> None:
    spec = folder / "town.toml"
    spec.write_text(f"[space]\n{SPECS[kind]}[privacy]\ndouble_at = '500 m'\n")
    designed = CliRunner().invoke(app, ["design", str(spec), "-o", str(folder / "town.sfm"), "--tolerance", "0.05"])
    assert designed.exit_code == 0, designed.output
    words = [str(folder / name) for name in ("town.sfm", "trips.csv", "noisy.csv")]
    more = ["--on-unknown", "nearest", "--most-moved", "1"]
    released = CliRunner().invoke(app, ["release", *words, "--lat", "lat", "--lon", "lon", *more])
    assert released.exit_code == 0, released.output
    for shown in (designed.output, released.output):
        assert SAID[kind] in " ".join(shown.split())
    assert "not about every metre" in released.output
    space = sf.load(folder / "town.sfm").privacy.space
    with (folder / "noisy.csv").open() as file:
        rows = list(csv.DictReader(file))
    places = {(y, x) for x, y in space.coordinates.tolist()}
    assert len(rows) == 2 and {(float(row["lat"]), float(row["lon"])) for row in rows} <= places
    checked = CliRunner().invoke(app, ["verify", str(folder / "town.sfm")])
    assert checked.exit_code == 0, checked.output
