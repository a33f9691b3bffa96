"""The first rows of a file, and which columns could be meant."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from sfumato.errors import InvalidInput, NotSupported
from sfumato.specs.heads import first_rows, numbers_in


def test_no_more_than_the_first_rows_are_read(tmp_path: Path) -> None:
    file = tmp_path / "long.csv"
    file.write_bytes("\ufefflat;lon\n".encode() + b"1;2\n" * 100_000 + b"bad;\xff\n")
    table = first_rows(file)
    assert table.header == ("lat", "lon") and len(table) == 1000
    parquet.write_table(pa.table({"x": [1.5, None] * 1000, "t": ["a", "b"] * 1000}), tmp_path / "long.parquet")
    table = first_rows(tmp_path / "long.parquet")
    assert len(table) == 1000 and table.rows[1] == ["", "b"]
    assert numbers_in(table, "x") == [1.5] * 500


def test_a_line_in_quotes_is_one_row(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('note,x\n"two\nlines",3\n')
    table = first_rows(tmp_path / "a.csv")
    assert table.rows == [["two\nlines", "3"]] and numbers_in(table, "x") == [3.0]


def test_what_cannot_be_read_says_why(tmp_path: Path) -> None:
    (tmp_path / "trips.csv").write_bytes(b"lat,lon\n1,\xff\n")
    (tmp_path / "empty.parquet").write_bytes(b"no")
    (tmp_path / "a.shp").write_bytes(b"")
    parquet.write_table(pa.table({"x": pa.array([], pa.float64())}), tmp_path / "none.parquet")
    wrong = {"trip.csv": "did you mean 'trips.csv'", "trips.csv": "UTF-8", "empty.parquet": "cannot be read",
             "none.parquet": "has no rows"}  # fmt: skip
    for name, words in wrong.items():
        with pytest.raises(InvalidInput, match=words):
            first_rows(tmp_path / name)
    with pytest.raises(NotSupported, match=r"\.csv or \.parquet"):
        first_rows(tmp_path / "a.shp")
    (tmp_path / "words.csv").write_text("lat\n1\nnorth\n")
    table = first_rows(tmp_path / "words.csv")
    with pytest.raises(InvalidInput, match=r"line 3, column 'lat': must be a number"):
        numbers_in(table, "lat")
    with pytest.raises(InvalidInput, match="did you mean 'lat'"):
        numbers_in(table, "latt")
