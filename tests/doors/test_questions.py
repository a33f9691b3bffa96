"""The command ``init`` as people answer it: every kind of secrets, every loss, mistakes, and what ends too soon."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
from pathlib import Path
from typing import Any, get_args

import pyarrow as pa
import pytest
from pyarrow import parquet
from typer.testing import CliRunner, Result

import sfumato as sf
from sfumato.cli.main import app
from sfumato.cli.questions import KINDS
from sfumato.cli.questions_losses import LOSSES
from sfumato.errors import InvalidInput
from sfumato.specs import schema_stakes
from sfumato.specs.spec import read_spec
from sfumato.specs.words import promised

TRIPS = "id,lat,lon,when\n1,48.85,2.35,9\n2,48.86,2.36,8\n3,,2.36,8\n4,50,3,7\n"
TOWNS = "name,lat,lon,people\nParis,48.853,2.349,2100\nHere,48.86,2.36,30\nElsewhere,47,2,5\n"
EARTH = "trips.csv\n\n\n\n48.84,2.33,48.87,2.37\n2 km\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "trips.csv").write_text(TRIPS)
    (tmp_path / "towns.csv").write_text(TOWNS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def sfumato(*arguments: str, answers: str = "") -> Result:
    return CliRunner().invoke(app, arguments, input=answers, catch_exceptions=False)


def asked(kind: str, answers: str, *options: str) -> tuple[dict[str, Any], str]:
    """The tables of the spec that the answers make, and all that was said; then it is designed as it is."""
    done = sfumato("init", "made.toml", "--kind", kind, *options, answers=answers)
    assert done.exit_code == 0, done.output
    spec = read_spec("made.toml")
    tables = {name: dict(getattr(spec, name)) for name in ("space", "privacy", "prior", "loss", "objective")}
    tables = {name: {k: v for k, v in table.items() if v is not None} for name, table in tables.items()}
    quick = ["--time-limit", "0"] if kind == "coordinates" else []
    design = sfumato("design", "made.toml", "--tolerance", "0.5", "--overwrite", "--json", *quick)
    assert design.exit_code == 0, design.output
    return tables | {"design": json.loads(design.stdout)}, done.output


def test_a_file_of_points_becomes_a_box_on_the_earth(folder: Path) -> None:
    found, said = asked("coordinates", EARTH + "\n")
    assert found["space"]["kind"] == "earth_box" and float(found["space"]["south"]) == 48.84
    assert found["privacy"]["double_at"] == "2 km" and found["design"]["about"] == "coordinates"
    assert "Its columns: id, lat, lon, when." in said
    assert "copies 'id', 'when' as they are" in said
    assert "factor of 1.15 at 400 m, 2 at 2 km, 4 at 4 km" in said
    assert "Of the first 3 points 2 lie in the box" in said
    assert "would move a point by about 5.8 km" in said
    assert "The mechanism alone: `sfumato design made.toml`" in said
    command = said.split("Next: `")[1].split("`")[0]
    assert command == "sfumato hide trips.csv -o hidden.csv --spec made.toml"
    Path("trips.csv").write_text("".join(TRIPS.splitlines(keepends=True)[:3]))
    assert sfumato(*shlex.split(command)[1:], "--time-limit", "0").exit_code == 0
    assert Path("hidden.csv").read_text().startswith("id,lat,lon,when\n1,48.")
    assert sf.verify("hidden.sfm")


def test_rows_of_a_person_are_held_to_a_number(folder: Path) -> None:
    done = sfumato("init", "--kind", "coordinates", answers=EARTH.replace("\n\n\n\n", "\n\n\nidd\nid\n0\n2\n") + "\n")
    assert done.exit_code == 0, done.output
    release = read_spec("spec.toml").release
    assert release is not None and (release.person, release.most_rows, release.beyond) == ("id", 2, "drop")
    assert "'idd' is not among these, did you mean 'id'?" in done.output


def test_columns_are_picked_where_several_could_be_meant(folder: Path) -> None:
    Path("rides.csv").write_text("start_lat,start_lon,endLat,endLon\n48.85,2.35,48.86,2.36\n")
    done = sfumato(
        "init", "--kind", "coordinates",
        answers="rides.csv\nend_lat\nendLat\nendLat\nendLon\n\nParis\n\n\n\n",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "Column of the latitude (start_lat, endLat)" in done.output
    assert "did you mean 'start_lat'" in done.output or "did you mean 'endLat'" in done.output
    assert "'endLat' is the other coordinate already" in done.output
    release = read_spec("spec.toml").release
    assert release is not None and (release.latitude, release.longitude) == ("endLat", "endLon")
    assert "Paris, FR: 2,138,551 people" in done.output


def test_swapped_columns_are_noticed(folder: Path) -> None:
    Path("swapped.csv").write_text("lat,lon\n-74.01,40.71\n-73.99,40.72\n")
    done = sfumato("init", "--kind", "coordinates", answers="swapped.csv\n\n\n40.7,-74.02,40.8,-73.9\n\n\n")
    assert "Nearly all would with lat and lon swapped: are lat and lon the wrong way round?" in done.output
    Path("wide.csv").write_text("lat,lon\n-97.7,30.3\n")
    done = sfumato("init", "a.toml", "--kind", "coordinates", answers="wide.csv\n\nlon\nlat\n")
    assert "'lat' has numbers beyond 90, which is no latitude" in done.output


def test_parquet_in_metres_becomes_a_plain_box(folder: Path) -> None:
    table = pa.table({"Easting": [100.0, 1900.0], "Northing": [50.0, None], "n": [1, 2]})
    parquet.write_table(table, "points.parquet")
    answers = "points.parquet\nno\n\n\n\nmeter5\nm\n0,0,10\n0,0,0,10\n0,0,2000,950\n1000\n1 km\n"
    found, said = asked("coordinates", answers + "\n")
    assert found["space"]["kind"] == "box"
    assert [
        0 <= float(side) - asked_for < 120 for side, asked_for in zip(found["space"]["sides"], (2000, 950), strict=True)
    ] == [True, True]
    assert 50 < found["space"]["step"] < 120 and found["space"]["unit"] == "m"
    for words in ("'meter5' is no unit of length, did you mean 'meter'?", "has four numbers", "the last two are larger",
                  "1000 what? Write 1000 m or 1000 km"):  # fmt: skip
        assert words in said
    assert "sfumato hide points.parquet -o hidden.parquet --spec made.toml" in said
    release = read_spec("made.toml").release
    assert release is not None and release.columns == ["Easting", "Northing"]


def test_public_figures_make_a_prior_and_the_data_do_not(folder: Path) -> None:
    found, said = asked("coordinates", EARTH + "trips.csv\ntowms.csv\ntowns.csv\n\n\n\n")
    assert "a prior counted from the data gives them away" in said
    assert "there is no file towms.csv, did you mean 'towns.csv'?" in said
    points = found["prior"]["points"]
    assert (points.file, points.columns, points.counts) == ("towns.csv", ["lat", "lon"], "people")
    assert "2130 of 2135 counts of towns.csv lie in the box" in said
    assert "Not used: 'name'." in said


def test_mistakes_about_files_and_boxes_are_asked_again(folder: Path) -> None:
    Path("words.csv").write_text("lat,lon\nnorth,1\n")
    answers = "trips.shp\ntrip.csv\nwords.csv\n\nlon\nlat\n"
    Path("trips.shp").write_text("")
    said = sfumato("init", "--kind", "coordinates", answers=answers).output
    assert "a .csv or .parquet file" in said and "did you mean 'trips.csv'?" in said
    assert "line 2, column 'lat': must be a number" in said
    said = sfumato(
        "init", "--kind", "coordinates", answers="trips.csv\n\n\n\nPariss\n1,2\n9,9,8,8\nParis\n-5 km\n2\n"
    ).output
    for words in ("did you mean 'Paris'?", "has four numbers", "north is larger than south", "positive distance",
                  "2 what? Write 2 km or 2 m"):  # fmt: skip
        assert words in said
    assert not Path("spec.toml").exists()


def test_a_count_is_judged_in_its_own_unit(folder: Path) -> None:
    found, said = asked("count", "none\n12\n\n\n\n")
    assert found["space"] == {"kind": "count_query", "individuals": 12, "unit": "person"}
    assert found["loss"]["kind"] == "absolute" and found["design"]["loss_name"] == "absolute"
    assert "factor of 2.72 at 1 person and 7.39 at 2 people" in said
    assert "absolute   the absolute error of the answer, in its own unit" in said
    assert "the number of people who must change" in said


def test_a_sum_has_a_range_and_loses_in_the_unit_of_the_answer(folder: Path) -> None:
    found, said = asked("sum", "3\n18 to 20\n999999999\n3\n0 to 4\n\n\n\n")
    assert found["space"] == {"kind": "sum_query", "individuals": 3, "largest": 4, "unit": "person"}
    assert "sums begin at 0: take 18 off every value" in said
    assert "13 secrets." in said and found["design"]["loss_name"] == "absolute"


@pytest.mark.parametrize(
    ("kind", "large", "small"),
    [
        ("sum", "5000\n100\n", "5000\n1\n"),
        ("counts", "200\n2\n", "20\n2\n"),
        ("count", "5000000\n40000\n", "3\n"),
        ("line", "40000\n", "3\nnone\n"),
        ("discrete", "40000\n", "3\nnone\n"),
        ("grid", "200,200\n", "2,2\nnone\n1\n"),
    ],
)
def test_what_no_table_of_all_pairs_holds_is_asked_again(folder: Path, kind: str, large: str, small: str) -> None:
    done = sfumato("init", "made.toml", "--kind", kind, answers=large + small)
    assert "Error: a full table of distances for " in done.output and "at most 30000 points are" in done.output
    assert "ε for each" in done.output  # the next question


@pytest.mark.parametrize("kind", ["sum", "counts"])
def test_too_many_people_are_asked_for_again_and_are_not_repeated(folder: Path, kind: str) -> None:
    """No second number goes with so many people: without another first one the question would come for ever."""
    done = sfumato("init", "made.toml", "--kind", kind, answers=f"{10**12}\n5\n3\n2\n")
    assert "Error: " in done.output and "ε for each person" in done.output
    assert done.output.count("How many people are there") == 2
    assert f"{{ printf '%s\\n' 3 2; cat; }} | sfumato init made.toml --kind {kind}" in done.stderr
    done = sfumato("init", "made.toml", "--kind", kind, answers=f"{10**12}\n5\n")
    assert done.exit_code == 1 and str(10**12) not in done.stderr and "go on" not in done.stderr


def test_several_counts(folder: Path) -> None:
    found, _ = asked("counts", "2\n2\n\n\n\n")
    assert found["space"] == {"kind": "k_count_query", "individuals": 2, "k": 2, "unit": "person"}
    assert found["design"]["secrets"] == 9


def test_names_of_answers(folder: Path) -> None:
    names = "never\nnever,never\nnever, rarely, often\nyess\nyes\n"
    found, said = asked("answers", f"{names}ln 3\nneighbours\n3,1,1\n\n")
    assert found["space"]["labels"] == ["never", "rarely", "often"] and found["space"]["kind"] == "line"
    assert [int(count) for count in found["prior"]["counts"]] == [3, 1, 1]
    for words in ("neither a file nor several names", "stands there twice", "did you mean 'yes'?"):
        assert words in said
    assert found["objective"]["kind"] == "shares"  # what surveys are for
    assert sf.load("made.sfm").secrets == ("never", "rarely", "often")


FIVE = "never, rarely, sometimes, often, always\nyes\n"


def test_a_factor_for_neighbours_is_told_for_the_farthest_two(folder: Path) -> None:
    found, said = asked("answers", f"{FIVE}ln 3\nnext\nneighbours\n\n\n")
    assert "'next' is not among these" in said
    assert "a factor of 3 at 1 answer and 9 at 2 answers, and of 81 at 4 answers, between the farthest two" in said
    assert (str(found["privacy"]["alpha"]), found["privacy"]["per"]) == ("1/3", "answer")
    file = folder / "made.sfm"
    for command in [sfumato("plan", str(file), "--error", "0.1"), sfumato("verify", str(file))]:
        assert re.search(r"81 times at distance 4|at distance 4, an output may be 81 times", command.output)


@pytest.mark.parametrize("epsilon", ["ln 3", "1.09861"])
def test_a_factor_for_any_two_is_shared_by_the_steps_between_them(folder: Path, epsilon: str) -> None:
    _, said = asked("answers", f"{FIVE}{epsilon}\nany\n\n\n")
    assert "and of 3 at 4 answers, between the farthest two" in said
    privacy = sf.load("made.sfm").privacy
    assert privacy.factor_bounds(privacy.space.distances.values[0, 4])[1] <= 3
    assert "none is more than 3 times at distance 4" in promised(privacy)


def test_names_of_answers_from_a_file_with_public_shares(folder: Path) -> None:
    Path("party.csv").write_text("party,seats,people\nred,3,40\nblue,2,60\n")
    found, said = asked("answers", "party.csv\nparties\nparty\nno\n1\n\n\n")
    assert found["space"]["labels"] == ["red", "blue"] and found["space"]["kind"] == "discrete"
    assert {k: found["prior"][k] for k in ("counts", "file", "label")} == {
        "counts": "people", "file": "party.csv", "label": "party",
    }  # fmt: skip
    assert "did you mean 'party'?" in said and "Not used: 'seats'." in said
    Path("made.toml").unlink()
    Path("scale.txt").write_text("1\n2\n3\n")
    found, _ = asked("answers", "scale.txt\n\n\n\n\nanswers\nsquared\n")
    assert found["space"]["labels"] == [1, 2, 3] and found["loss"]["kind"] == "squared"


MORE = {
    "threshold": ("-1\n2\n", {"radius": 2}),
    "member": ("9\n1-2,0\n", {"members": [1, 2, 0]}),
    "matrix": ("0,1\nnone.csv\n0,1,2,3; 3,2,1,0\n", {}),
}


def test_every_loss_of_a_spec_is_offered() -> None:
    models = get_args(get_args(schema_stakes.LossSpec)[0])
    kinds = {kind for model in models for kind in get_args(model.model_fields["kind"].annotation)}
    assert set(LOSSES) == kinds


@pytest.mark.parametrize("kind", LOSSES)
def test_every_loss_can_be_reached(folder: Path, kind: str) -> None:
    more, keys = MORE.get(kind, ("", {}))
    found, said = asked("line", f"4\n\n\n\nlos\n{kind}\n{more}")
    assert found["loss"]["kind"] == kind and {name: found["loss"][name] for name in keys} == keys
    assert f"  {kind:<9}  {LOSSES[kind]}" in said and "'los' is not among these" in said


def test_a_table_of_losses_from_a_file_and_cells_of_a_grid(folder: Path) -> None:
    Path("cost.csv").write_text("says,a,b\nyes,0,1\nno,3,0\n")
    found, _ = asked("answers", "a,b\nno\n1\n\nanswers\nmatrix\ncost.csv\n")
    assert found["loss"]["file"] == "cost.csv"
    Path("made.toml").unlink()
    found, _ = asked("grid", "2,2\nkm\n1\n500 m\n\nmember\n(0,1),(1,1)\n")
    assert found["loss"]["members"] == [(0, 1), (1, 1)]
    assert (found["privacy"]["double_at"], found["privacy"]["per"]) == ("500 m", "km")


def test_usual_answers_are_taken_and_what_has_none_is_asked(folder: Path) -> None:
    done = sfumato("init", "--yes")
    assert done.exit_code == 0 and read_spec("spec.toml").space.kind == "grid"
    done = sfumato("init", "points.toml", "--yes", "--kind", "coordinates", answers="trips.csv\nParis, FR, 5 km\n")
    assert done.exit_code == 0, done.output
    assert read_spec("points.toml").privacy.double_at == "500 m"  # type: ignore[union-attr]
    with pytest.raises(InvalidInput, match="--kind: 'cuont' is not among these, did you mean 'count'"):
        sfumato("init", "other.toml", "--kind", "cuont")


@pytest.mark.parametrize("kind", KINDS)
def test_an_end_too_soon_writes_nothing_and_tells_how_to_go_on(folder: Path, kind: str) -> None:
    done = sfumato("init", "some spec.toml", answers=f"{kind}\n")
    assert done.exit_code == 1 and not list(folder.glob("*.toml")) and not list(folder.glob(".*"))
    assert "stopped, and nothing was written" in done.stderr
    assert f"{{ printf '%s\\n' {kind}; cat; }} | sfumato init 'some spec.toml'" in done.stderr


def test_the_command_that_goes_on_repeats_the_answers(folder: Path) -> None:
    done = sfumato("init", "a.toml", answers="answers\nnot sure, don't know\n")
    again = done.stderr.split("answers: ")[1].split("; cat")[0].removeprefix("{ ")
    shown = subprocess.run(["sh", "-c", again], capture_output=True, text=True, check=True).stdout
    assert shown == "answers\nnot sure, don't know\n"


def test_for_programs_standard_output_is_one_record(folder: Path) -> None:
    done = sfumato("init", "made.toml", "--kind", "coordinates", "--json", answers=EARTH + "\n")
    record = json.loads(done.stdout.splitlines()[-1])
    assert record["file"] == "made.toml" and record["next"] == "sfumato hide trips.csv -o hidden.csv --spec made.toml"
