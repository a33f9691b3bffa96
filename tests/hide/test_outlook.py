"""A dry run counts what a release would meet, and costs nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import sfumato as sf
from hide_files import QUICK, points, table
from sfumato.errors import InvalidInput
from shell import sfumato


def strays() -> pa.Table:
    """The 3rd of 20 rows has no latitude, the 5th lies a little outside, the 7th about 110 km outside."""
    latitudes = points()["lat"].tolist()
    latitudes[2], latitudes[4], latitudes[6] = None, 40.7301, 41.72
    return table().set_column(1, "lat", pa.array(latitudes))


@pytest.fixture(autouse=True)
def no_design(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mechanism that is looked for is a failure."""

    def fail(*_: Any, **__: Any) -> Any:
        raise AssertionError("a mechanism was looked for")

    monkeypatch.setattr("sfumato.hide.hiding.chosen", fail)


@pytest.mark.parametrize("kind", ["table", "csv"])
def test_rows_are_counted_before_anything_is_paid(kind: str, tmp_path: Path) -> None:
    source: Any = strays()
    if kind == "csv":
        source.to_pandas().to_csv(tmp_path / "in.csv", index=False)
        source = tmp_path / "in.csv"
    ledger = sf.Ledger(tmp_path / "spent.ledger")
    paid = {"prior": "data", "prior_epsilon": 1, "ledger": ledger, "dataset": "trips"}
    found = sf.hide(source, "1 km", dry_run=True, **QUICK, **paid)
    assert (found.rows, found.missing, found.unread, found.outside, found.farthest_row) == (20, 1, 0, 2, 7)
    assert found.farthest == pytest.approx(110.4, abs=0.1) and found.unit == "km"
    assert found.far == 1 and found.columns == ("lat", "lon") and found.time_limit == 60
    assert 55 < found.median < 56 and "half of them by at most 55.39 km" in repr(found)
    assert "row 3: 'lat' is missing" in found.refused
    assert not ledger.entries() and len(list(tmp_path.glob("*.csv"))) == (kind == "csv")
    around = sf.hide(source, "1 km", dry_run=True, box="data", box_epsilon=1)
    assert (around.rows, around.missing, around.outside, around.farthest_row) == (20, 1, 0, None)


def test_a_refusal_says_how_many_there_are() -> None:
    with pytest.raises(InvalidInput, match=r"row 3: 'lat' is missing.* 1 have no place.* 2 lie outside.* row 7, 11"):
        sf.hide(strays(), "1 km", on_unknown="error", **QUICK)
    assert sf.hide(table(), "1 km", dry_run=True, **QUICK).refused == ""


def test_each_answer_says_what_it_would_do_to_how_many_rows() -> None:
    found = sf.hide(strays(), "1 km", dry_run=True, **QUICK)
    assert found.answers == (
        "on_unknown='nearest' would refuse them: 1 have no place and 1 lie too far away",
        "on_unknown='drop' would leave out 3 rows (15 %), which tells that they were not inside, but that is more than "
        "5 % of all: add most_dropped='0.15'",
        "on_unknown='error' would refuse them",
    )
    assert sf.hide(table(), "1 km", dry_run=True, **QUICK).answers == ()
    done = sf.hide(strays(), "1 km", dry_run=True, on_unknown="drop", most_dropped="0.15", **QUICK)
    assert done.refused == "" and done.answers[1].endswith("(15 %), which tells that they were not inside")


def test_axes_in_another_order_are_said_with_the_box_as_it_was_and_no_answer_that_would_not_help() -> None:
    turned = {"box": "[-74.02, 40.70, -74.00, 40.72]"}  # as GeoJSON has it
    swap = "box='40.7,-74.02,40.72,-74'"
    found = sf.hide(table(), "1 km", dry_run=True, **turned)
    assert swap in found.refused and found.outside == found.rows and found.answers == ()
    assert swap in sf.hide(table(), "1 km", dry_run=True, h3=7, box=turned["box"]).refused
    with pytest.raises(InvalidInput, match=swap):  # before anybody looks for cities there
        sf.hide(table(), "1 km", prior="population", **turned)


def test_too_many_strays_are_refused_with_the_same_lines() -> None:
    near = table().set_column(1, "lat", pa.array([40.7285] * 5 + points()["lat"].tolist()[5:]))
    found = sf.hide(near, "1 km", dry_run=True, **QUICK)
    assert (found.outside, found.far) == (5, 0) and "5 of 20 rows lie outside the space" in found.refused
    more = "would move 5 rows to the border, which costs no privacy, but that is more than 5 % of all"
    assert more in found.answers[0] and "add most_moved='0.25'" in found.answers[0] and "In all" not in found.refused
    with pytest.raises(InvalidInput, match=rf"takes them all. In all, of 20 rows .* 5 lie outside.*{more}"):
        sf.hide(near, "1 km", **QUICK)
    assert sf.hide(near, "1 km", dry_run=True, most_moved="0.25", **QUICK).refused == ""


def test_what_is_no_place_on_the_earth_is_not_said_to_be_infinitely_far() -> None:
    metres = table().set_column(1, "lat", pa.array([4073595.0 + k for k in range(20)]))
    found = sf.hide(metres, "1 km", dry_run=True, **QUICK)
    assert "row 1, beyond all places of the map" in found.words and "infinit" not in found.words


def test_planes_and_cells_have_an_outside_too() -> None:
    plane = pa.table({"x": [1.0, 8.0, 14.0], "y": [1.0, 1.0, 13.0]})
    found = sf.hide(plane, "1 km", dry_run=True, box=(0, 0, 10, 10), unit="km", x="x", y="y")
    assert (found.outside, found.farthest, found.farthest_row) == (1, 5.0, 3)
    cells = sf.hide(strays(), "1 km", dry_run=True, box=QUICK["box"], h3=7)
    assert (cells.missing, cells.farthest_row) == (1, 7) and cells.outside >= 1


def test_the_command_says_it(tmp_path: Path) -> None:
    strays().to_pandas().to_csv(tmp_path / "in.csv", index=False)
    box = ("--box", "40.70,-74.02,40.72,-74.00")
    done = sfumato("hide", f"{tmp_path}/in.csv", "--hide", "1 km", *box, "--dry-run")
    assert done.returncode == 0, done.stderr
    assert "of 20 rows 1 have no place" in done.stdout and "the farthest being row 7, 11" in done.stdout
    assert "--on-unknown drop would leave out 3 rows (15 %)" in done.stdout and "add --most-dropped 0.15" in done.stdout
    assert "looked for up to 60 s" in done.stdout and "Columns of the points: lat, lon." in done.stdout
    assert "A release would be refused: row 3" in done.stdout and "keep it to yourself" in done.stdout
    assert [file.name for file in tmp_path.iterdir()] == ["in.csv"]
