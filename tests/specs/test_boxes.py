"""Boxes of coordinates in a spec: every key, priors of every kind, and one line for whatever does not fit."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import sfumato as sf
from sfumato.errors import SfumatoError
from sfumato.spaces.earth import earth_box, to_box
from sfumato.specs.families import as_question
from sfumato.specs.question import Question
from sfumato.specs.spec import spec_from_text, spec_from_values, to_toml
from sfumato.specs.words import meaning, promised, stake

TOWN: dict[str, Any] = {"kind": "box", "sides": [2, "1.5 km"], "step": "500 m", "unit": "km"}
CITY: dict[str, Any] = {"kind": "earth_box", "south": "40.70 N", "west": -74.02, "sides": [2, 2], "step": "1 km"}


def asked(space: dict[str, Any], folder: Path | str = ".", **tables: Any) -> Question:
    return as_question(spec_from_values({"space": space, **tables}, folder))


def refusal(space: dict[str, Any], folder: Path | str = ".", **tables: Any) -> str:
    with pytest.raises(SfumatoError) as error:
        as_question(spec_from_values({"space": space, **tables}, folder))
    assert "\n" not in str(error.value)
    return str(error.value)


def test_a_box_is_what_python_makes() -> None:
    made = asked(TOWN, privacy={"epsilon": 2}, solve={"time_limit": 9})
    town = sf.box((2, "3/2"), step="1/2", unit="km")
    assert made.space == town and made.loss == made.loss_on_outputs == sf.losses.distance(town)
    assert made.privacy is not None and repr(made.privacy) == repr(sf.PrivacyType(town, epsilon=2))
    assert made.prior.weights.tolist() == sf.Prior.uniform(town).weights.tolist()
    assert (made.tolerance, made.time_limit, made.outputs) == (0.03, 9.0, None)
    assert asked(TOWN, solve={"tolerance": 0.2}).tolerance == 0.2
    cuboid = {"kind": "box", "sides": [2, 1, 1], "step": [1, "1/2", 1], "metric": "manhattan", "origin": [-1, 0, 3]}
    assert asked(cuboid).space == sf.box((2, 1, 1), step=(1, "1/2", 1), metric="manhattan", origin=(-1, 0, 3))
    assert asked({"kind": "box", "sides": 4, "step": 1}).space == sf.box(4, step=1)


def test_a_box_on_the_earth() -> None:
    assert asked(CITY).space == earth_box("40.70 N", "-74.02", sides=(2, 2), step=1)
    corners = {"kind": "earth_box", "south": -17.9, "west": 178, "north": -16.1, "east": "179.9 W", "step": 10}
    assert asked(corners).space == earth_box("-17.9", 178, "-16.1", "179.9 W", step=10)
    miles = {**CITY, "unit": "mi", "step": 1, "margin": "1 km"}
    assert asked(miles).space == earth_box("40.70 N", "-74.02", sides=(2, 2), step=1, unit="mi", margin="1 km")


@pytest.mark.parametrize("space", [TOWN, CITY, {**CITY, "unit": "m", "margin": 20}])
def test_a_spec_of_a_box_is_written_back(space: dict[str, Any]) -> None:
    spec = spec_from_values({"space": space, "privacy": {"double_at": "250 m"}, "prior": {"counts": [[1, 2], [3, 4]]}})
    assert spec_from_text(to_toml(spec)) == spec


def test_the_distance_at_which_odds_double() -> None:
    privacy = asked(TOWN, privacy={"double_at": "500 m"}).privacy
    assert privacy is not None and privacy.alpha == Fraction(1, 4)
    grid = {"space": {"kind": "grid", "shape": [2, 2], "unit": "km"}, "privacy": {"double_at": 2}}
    found = as_question(spec_from_values(grid)).privacy
    assert found is not None and found.rate == pytest.approx(0.5 * 0.6931471805599453)
    assert "[privacy]: double_at must be positive" in refusal(TOWN, privacy={"double_at": 0})
    assert "give either epsilon or alpha" in refusal(TOWN, privacy={"double_at": 1, "epsilon": 1})
    assert "double_at is 5 minutes" in refusal(TOWN, privacy={"double_at": "5 minutes"})


def test_the_unit_may_come_from_the_promise() -> None:
    bare = {"kind": "box", "sides": 2, "step": "500 m"}
    assert asked(bare, privacy={"epsilon": 1, "per": "km"}).space == sf.box(2, step="1/2", unit="km")
    assert asked(CITY, privacy={"epsilon": 1, "per": "km"}).space.unit == "km"
    assert "the promise is per 'm', but" in refusal(TOWN, privacy={"epsilon": 1, "per": "m"})


def test_priors_on_cells(tmp_path: Path) -> None:
    square = {"kind": "box", "sides": [2, 2], "step": 1}
    expected = [Fraction(part, 10) for part in (1, 2, 3, 4)]
    (tmp_path / "cells.csv").write_text('cell,people\n"1,1",4\n"0,1",2\n"0,0",1\n"1,0",3\n')
    (tmp_path / "rows.csv").write_text("people\n1\n2\n3\n4\n")
    for prior in (
        {"counts": [1, 2, 3, 4]},
        {"counts": [[1, 2], [3, 4]]},
        {"weights": [["1/10", "1/5"], ["3/10", "2/5"]]},
        {"counts": {"0,0": 1, "0,1": 2, "1,0": 3, "1,1": 4}},
        {"counts": "people", "file": "rows.csv"},
        {"counts": "people", "file": "cells.csv", "label": "cell"},
    ):
        assert asked(square, tmp_path, prior=prior).prior.weights.tolist() == expected
    assert "[prior]: counts of shape (2, 3)" in refusal(square, prior={"counts": [[1, 2, 3], [4, 5, 6]]})
    assert "[prior]: weights of shape (1, 4)" in refusal(square, prior={"weights": [[1, 0, 0, 0]]})
    assert "3 counts for 4 secrets" in refusal(square, prior={"counts": [1, 2, 3]})
    assert "'2,2' is no cell of the box" in refusal(square, prior={"counts": {"2,2": 1}})
    assert "[prior] has no file" in refusal(square, prior={"counts": "people"})
    assert "4 rows for 12 cells; points = {file = …}" in refusal(
        TOWN, tmp_path, prior={"counts": "people", "file": "rows.csv"}
    )


def test_points_are_counted_on_cells(tmp_path: Path) -> None:
    """A cell has its lower borders, the box all of its own; points outside are left out and told of."""
    (tmp_path / "points.csv").write_text("x,y,n\n0,0,1\n1,0.5,2\n2,2,3\n1.999,1,4\n2.001,1,5\n-0.1,0,6\n")
    square = {"kind": "box", "sides": [2, 2], "step": 1}
    made = asked(square, tmp_path, prior={"points": {"file": "points.csv"}})
    assert made.prior.weights.tolist() == [Fraction(1, 4), 0, Fraction(1, 4), Fraction(1, 2)]
    assert made.note == "4 of 6 points of points.csv lie in the box, and make its prior"
    weighed = asked(square, tmp_path, prior={"points": {"file": "points.csv", "columns": ["x", "y"], "counts": "n"}})
    assert weighed.prior.weights.tolist() == [Fraction(1, 10), 0, Fraction(1, 5), Fraction(7, 10)]
    (tmp_path / "parts.csv").write_text("x,y,n\n0,0,1.5\n1,0.5,2\n2.5,2,0.7\n")
    parts = asked(square, tmp_path, prior={"points": {"file": "parts.csv", "counts": "n"}})
    assert parts.note == "3.5 of 4.2 counts of parts.csv lie in the box, and make its prior"
    far = {**square, "origin": [100, 100]}
    assert "no point of" in refusal(far, tmp_path, prior={"points": {"file": "points.csv"}})
    assert "columns = […]" in refusal(TOWN, tmp_path, prior={"points": {"file": "points.csv", "columns": ["x"]}})
    assert "latitude and longitude" in refusal(CITY, tmp_path, prior={"points": {"file": "points.csv"}})
    grid = {"kind": "grid", "shape": [2, 2]}
    assert "go with a box" in refusal(grid, tmp_path, prior={"points": {"file": "points.csv"}})
    assert "go with a box" in refusal(grid, prior={"counts": [[1, 2], [3, 4]]})


def test_places_are_counted_on_cells_of_the_earth(tmp_path: Path) -> None:
    (tmp_path / "places.csv").write_text("lat,lon,rides\n40.705,-74.015,3\n40.705,-74.001,1\n41,-74,9\n")
    made = asked(CITY, tmp_path, prior={"points": {"file": "places.csv", "counts": "rides"}})
    assert made.prior.weights.tolist() == [Fraction(3, 4), 0, Fraction(1, 4), 0]
    assert made.note.startswith("4 of 13 counts of places.csv")


@pytest.mark.parametrize(("home", "names"), [(TOWN, "x,y"), (CITY, "lat,lon")])
def test_counts_may_be_fractions_and_not_negative_on_the_earth_or_not(
    home: dict[str, Any], names: str, tmp_path: Path
) -> None:
    where = ["0.1,0.1", "1,1"] if home is TOWN else ["40.705,-74.015", "40.705,-74.001"]
    for counts, expected in ((("0.5", "1.5"), {0, Fraction(1, 4), Fraction(3, 4)}), (("-1", "3"), None)):
        rows = "".join(f"{place},{many}\n" for place, many in zip(where, counts, strict=True))
        (tmp_path / "counted.csv").write_text(f"{names},n\n{rows}")
        prior = {"points": {"file": "counted.csv", "counts": "n"}}
        if expected is None:
            assert "a count of 'n' is negative" in refusal(home, tmp_path, prior=prior)
        else:
            assert set(asked(home, tmp_path, prior=prior).prior.weights.tolist()) == expected


def test_outputs_are_points(tmp_path: Path) -> None:
    (tmp_path / "stops.csv").write_text("lat,lon,x,y\n40.705,-74.01,0.1,1\n")
    assert asked(TOWN, loss={"outputs": [[0.1, 1], ["1/3", 0]]}).outputs == ((Fraction(1, 10), 1), (Fraction(1, 3), 0))
    assert asked({"kind": "box", "sides": 4, "step": 1}, loss={"outputs": [1, 2.5]}).outputs == (
        (1,),
        (Fraction(5, 2),),
    )
    listed = asked(TOWN, tmp_path, loss={"outputs": {"file": "stops.csv", "columns": ["x", "y"]}})
    assert listed.outputs == ((Fraction(1, 10), 1),)
    place = {"file": "stops.csv", "columns": ["lat", "lon"]}
    made = asked(CITY, tmp_path, loss={"outputs": place})
    assert made.outputs == (to_box(made.space, "40.705", "-74.01"),)
    assert "has 2 coordinates" in refusal(TOWN, loss={"outputs": [1]})
    assert "name at least one point" in refusal(TOWN, loss={"outputs": []})
    assert "columns = […]" in refusal(TOWN, tmp_path, loss={"outputs": {"file": "stops.csv", "column": "x"}})
    line = {"kind": "line", "n": 2}
    assert "name the column of the actions" in refusal(line, tmp_path, loss={"outputs": place})


@pytest.mark.parametrize(
    ("space", "tables", "words"),
    [
        ({**TOWN, "step": "700 m"}, {}, "spec: [space]: a side of 2 is no whole number of cells"),
        ({**TOWN, "side": 2}, {}, "unknown key 'side' in [space] of kind 'box', did you mean 'sides'?"),
        ({**TOWN, "sides": [1, 1, 1, 1]}, {}, "[space]: a box has one to 3 sides"),
        ({"kind": "box", "step": 1}, {}, "key 'sides' is missing in [space"),
        ({**CITY, "sides": None}, {}, "an opposite corner, north and east, or two sides"),
        ({**CITY, "south": "40.70 W"}, {}, "[space]: south must be a latitude"),
        (TOWN, {"loss": {"kind": "bin"}}, "[loss]: kind 'bin' on a box"),
        (TOWN, {"loss": {"kind": "threshold", "radius": 1}}, "[loss]: kind 'threshold' on a box"),
        (TOWN, {"privacy": {"epsilon": 1, "delta": 0.1}}, "[privacy]: delta on a box"),
        (TOWN, {"objective": {"kind": "worst secret"}}, "[objective] on a box"),
        (TOWN, {"solve": {"solver": "exact"}}, "[solve]: solver 'exact' on a box"),
    ],
)
def test_what_does_not_fit_is_one_line(space: dict[str, Any], tables: dict[str, Any], words: str) -> None:
    assert words in refusal(space, **tables)


def test_a_question_about_coordinates_in_words() -> None:
    made = asked(TOWN, privacy={"epsilon": "ln 2"})
    assert made.privacy is not None and "about coordinates: at 1 km (euclidean)" in promised(made.privacy)
    assert stake(made) == "expected distance between what is told and the truth"
    assert meaning(asked({"kind": "box", "sides": 4, "step": 1})).endswith("; 1 if nothing is disclosed")
    assert stake(asked(CITY)).endswith("the truth, on the map of the box")
