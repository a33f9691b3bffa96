"""Rows in: the same rows from every format, however they are asked for, and one reader of CSV for all rooms.

Decimal commas of CSV files are found where they leave no doubt, written as they were read, asked about otherwise.
"""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.release.estimation.files import released_counts
from sfumato.release.formats.lines_csv import csv_delimiter, csv_rows
from sfumato.release.formats.reading import csv_names, decimal_of, file_batches, file_cells, file_schema
from sfumato.release.places import Position
from sfumato.release.streams import release_file
from sfumato.specs.tables import columns_from_text, read_columns

ROWS = [{"id": str(k), "note": text} for k, text in enumerate(['a "b"', "two\nlines", "x,y", "", " z "])]


def written(folder: Path, kind: str) -> Path:
    place = folder / f"rows.{kind}"
    if kind == "csv":
        cells = (
            "{id},{note}".format(**{n: f'"{v.replace(chr(34), chr(34) * 2)}"' for n, v in row.items()}) for row in ROWS
        )
        place.write_text("\n".join(["id,note", *cells, ""]))
    elif kind == "jsonl":
        place.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(ROWS), place)
    else:
        with pa.OSFile(str(place), "wb") as sink, pa.ipc.new_file(sink, pa.Table.from_pylist(ROWS).schema) as writer:
            writer.write_table(pa.Table.from_pylist(ROWS))
    return place


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "arrow"])
def test_rows_are_the_same_in_batches_and_in_cells(kind: str, tmp_path: Path) -> None:
    file = written(tmp_path, kind)
    assert [row for batch in file_batches(file, kind, None) for row in batch.to_pylist()] == ROWS
    notes = [batch.column("note").to_pylist() for batch in file_batches(file, kind, ["note"])]
    assert notes == [[row["note"] for row in ROWS]]
    cells = [part["note"].value(k) for part in file_cells(file, kind, ["note", "id"]) for k in range(len(part["note"]))]
    assert cells == notes[0]
    with pytest.raises(InvalidInput, match=r"no (column|key) 'nothing'"):
        list(file_cells(file, kind, ["nothing"]))
    assert (csv_names(file) if kind == "csv" else list(ROWS[0])) == ["id", "note"]
    if kind in ("parquet", "arrow"):
        assert file_schema(file, kind).names == ["id", "note"]


def test_a_table_of_a_spec_has_the_cells_of_a_release_without_spaces_around_them(tmp_path: Path) -> None:
    table = read_columns(written(tmp_path, "csv"))
    assert table.rows == [[text.strip() for text in row.values()] for row in ROWS] and table.lines == [2, 4, 5, 6, 7]


def test_another_encoding_that_contains_ascii_is_looked_at_as_far_as_it_is_text(tmp_path: Path) -> None:
    """A release copies its bytes, so that who looks at it before reads it too."""
    (tmp_path / "latin.csv").write_bytes("x,name\n1,Orléans\n2,Paris\n".encode("latin-1"))
    (batch,) = file_batches(tmp_path / "latin.csv", "csv", None)
    assert batch.to_pylist() == [{"x": "1", "name": "Orl\ufffdans"}, {"x": "2", "name": "Paris"}]


@pytest.mark.parametrize("mark", [",", ";", "\t", "|"])
def test_rows_of_small_tables_may_differ_in_length(mark: str) -> None:
    text = f'\ufeffa{mark}"b{mark}"\r\n\r\n1\n   \n"two\nlines"{mark}2{mark}3'
    assert csv_delimiter(text.encode()) == mark
    rows = [tuple(row) for row in csv_rows(text.encode(), mark)]
    assert rows == [(1, ["a", f"b{mark}"]), (3, ["1"]), (4, ["   "]), (6, ["two\nlines", "2", "3"])]
    assert [row.line for row in csv_rows(b"a\nb\nc", ",", 2)] == [1, 2]
    assert [row.cells for row in csv_rows(b"a,b\nc,d\ne,", ",", final=False)] == [["a", "b"], ["c", "d"]]


WRONG: dict[str, str] = {
    'a,b\n"c"d,e\n': "line 2: something follows the closing quote",
    'a,b\n1,"c\n': "line 2: a quoted cell does not end",
    "a,b\r1,2\r": "there is a carriage return without a newline",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_readers_disagree_about_is_refused_by_everybody(text: str, tmp_path: Path) -> None:
    (tmp_path / "wrong.csv").write_bytes(text.encode())
    with pytest.raises(InvalidInput, match=WRONG[text]):
        columns_from_text(text)
    with pytest.raises(InvalidInput, match=WRONG[text].removeprefix("line 2: ")):
        list(file_batches(tmp_path / "wrong.csv", "csv", None))


def test_wide_and_long_tables_come_whole() -> None:
    wide = ",".join(map(str, range(5000)))
    assert [len(row.cells) for row in csv_rows(f"{wide}\n{wide}\n".encode(), ",")] == [5000, 5000]
    assert len(columns_from_text("x,y\n" + "1,2\n" * 200_000)) == 200_000


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
    assert decimal_of(texts, degrees=True) == ("," if texts[:1] == ["1,234"] else decimal)


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
