"""Decimal commas of CSV files are found where they leave no doubt, written as they were read, asked about otherwise."""

from __future__ import annotations

from pathlib import Path

import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.release.estimation.files import released_counts
from sfumato.release.formats.decimals import decimal_of
from sfumato.release.places import Position
from sfumato.release.streams import release_file

TOWN = sf.box((4, 4), step=1, unit="km")
HIDE = sf.mechanisms.noise_on_box(sf.Prior.uniform(TOWN), sf.losses.distance(TOWN), sf.PrivacyType(TOWN, epsilon="3/2"))
XY = Position("x", "y")


@pytest.mark.parametrize(
    ("texts", "decimal"),
    [
        (["48,8566", "2", ""], ","),
        (["0,750", "1,234"], ","),  # no thousands begin with 0
        (["-1,5e3", "north"], ","),
        (["1,234", "2,345"], "."),  # in doubt
        (["1,5", "2.5"], "."),
        (["1,5", "1.234,5"], "."),
        (["1", "", "north"], "."),
        ([], "."),
    ],
)
def test_a_comma_before_decimals_is_known_where_it_can_be_nothing_else(texts: list[str], decimal: str) -> None:
    assert decimal_of(texts) == decimal


@pytest.mark.parametrize(
    ("header", "rows"),
    [("id;x;y", ["1;1,25;3", "2;0,5;2,75", "3;,5;+1"]), ("id,x,y", ['1,"1,25",3', '2,"0,5","2,75"', '3,",5",+1'])],
)
@pytest.mark.parametrize("given", [None, ","])
def test_numbers_are_read_and_written_with_their_commas(
    header: str, rows: list[str], given: str | None, tmp_path: Path
) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("\n".join([header, *rows * 20, ""]))
    done = release_file(HIDE, source, target, XY, decimal=given)
    assert (done.rows, done.dropped, done.decimal) == (60, 0, ",")
    written = {float(y[0]) for y in HIDE.outputs} | {float(y[1]) for y in HIDE.outputs}
    read = sf.release.coordinate_reference(target)
    assert read.columns == ("id", "x", "y") and "." not in target.read_text()
    cells = target.read_text().replace('"', "").replace("\n", ";").replace(",", ".").split(";")
    if ";" in header:
        assert {float(cell) for k, cell in enumerate(cells[3:-1]) if k % 3} <= written
    with pytest.raises(InvalidInput, match=r"row 1: 'x' is '1,25', with a comma: decimal=',' if it stands before"):
        release_file(HIDE, source, target, XY, decimal=".", overwrite=True)


def test_a_hint_fits_the_cause_and_nothing_is_emptied(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("x;y\n" + "1,234;2,125\n" * 30)
    with pytest.raises(InvalidInput, match=r"with a comma: decimal=','") as told:
        release_file(HIDE, source, target, XY)
    assert "on_unknown" not in str(told.value)
    with pytest.raises(
        InvalidInput, match=r"30 of 30 rows would be left out.*'x' is '1,234', with a comma: decimal=','"
    ):
        release_file(HIDE, source, target, XY, on_unknown="drop")
    assert not target.exists()
    assert release_file(HIDE, source, target, XY, decimal=",").rows == 30
    for cell in ("1 250", "1.2 km", "1°12'"):
        source.write_text(f"x;y\n{cell};1\n")
        with pytest.raises(InvalidInput, match=r"which is not how a number is written here: 12\.5") as told:
            release_file(HIDE, source, target, XY, overwrite=True)
        assert "on_unknown" not in str(told.value)


def test_weights_of_a_survey_have_them(tmp_path: Path) -> None:
    source = tmp_path / "in.csv"
    source.write_text("a;w\n0;1,5\n1;0,25\n")
    found = released_counts(source, "a", [(0, 1)], weights="w")
    assert found.decimal == "," and found.parts[None].totals.tolist() == [1.5, 0.25]
    source.write_text("a;w\n0;1,500\n1;1,250\n")
    with pytest.raises(InvalidInput, match=r"the weight is '1,500', with a comma: decimal=','"):
        released_counts(source, "a", [(0, 1)], weights="w")
    assert released_counts(source, "a", [(0, 1)], weights="w", decimal=",").parts[None].totals.tolist() == [1.5, 1.25]


def test_only_coordinates_of_csv_files_have_them(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_text('{"x": 1, "y": 2}\n')
    with pytest.raises(InvalidInput, match="decimal= is for CSV files"):
        release_file(HIDE, tmp_path / "in.jsonl", tmp_path / "out.jsonl", XY, decimal=",")
    (tmp_path / "in.csv").write_text("x;y\n1,5;2\n")
    with pytest.raises(NotSupported, match="decimal="):
        release_file(HIDE, tmp_path / "in.csv", tmp_path / "out.csv", XY, decimal=";")
    ages = sf.geometric(sf.PrivacyType(sf.line(4), epsilon=1))
    with pytest.raises(InvalidInput, match="decimal= is for columns of coordinates"):
        release_file(ages, tmp_path / "in.csv", tmp_path / "out.csv", "x", decimal=",")
