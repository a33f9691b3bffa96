"""Released files of every format come to the same counts; what cannot be counted is named with its row."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from sfumato.errors import InvalidInput, NotSupported
from sfumato.release.estimation.files import released_counts
from table_files import FORMATS

OUTPUTS = ["never", "rarely", "often"]


def answers(rows: int = 2000) -> Any:
    rng = np.random.default_rng(5)
    return pa.table({
        "id": np.arange(rows), "q1": pa.array(np.array(OUTPUTS)[rng.integers(0, 3, rows)]),
        "q2": rng.integers(0, 2, rows), "region": pa.array(np.array(["north", "sou\"th"])[rng.integers(0, 2, rows)]),
        "weight": rng.integers(0, 4, rows) / 2,
    })  # fmt: skip


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_comes_to_the_same(ending: str, tmp_path: Path) -> None:
    table, path = answers(), tmp_path / f"released{ending}"
    FORMATS[ending][0](table, path)
    found = released_counts(path, ["q1", "q2"], [OUTPUTS, [0, 1]], by="region", weights="weight")
    frame = table.to_pandas()
    assert found.rows == 2000 and found.dropped == 0 and set(found.parts) == {"north", 'sou"th'}
    for region, part in found.parts.items():
        rows = frame[frame["region"] == region]
        for a, b in np.ndindex(3, 2):
            here = rows[(rows["q1"] == OUTPUTS[a]) & (rows["q2"] == b)]["weight"]
            assert part.counts[a, b] == (here > 0).sum()
            assert part.totals[a, b] == pytest.approx(here.sum())
            assert part.squares[a, b] == pytest.approx((here**2).sum())
    (only,) = released_counts(path, "q1", [OUTPUTS]).parts.values()
    assert only.counts.tolist() == [(frame["q1"] == label).sum() for label in OUTPUTS]


def test_compressed_text_and_other_delimiters(tmp_path: Path) -> None:
    with gzip.open(tmp_path / "a.csv.gz", "wb") as file:
        file.write(b'id;q1\n1;never\n\n2;"often"\n')
    assert released_counts(tmp_path / "a.csv.gz", "q1", [OUTPUTS]).parts[None].counts.tolist() == [1, 0, 1]
    (tmp_path / "b.tsv").write_text("id\tq1\n1\tnever")
    assert released_counts(tmp_path / "b.tsv", "q1", [OUTPUTS]).parts[None].counts.tolist() == [1, 0, 0]
    (tmp_path / "c.dat").write_text("q1|x\nrarely|1\n")
    only = released_counts(tmp_path / "c.dat", "q1", [OUTPUTS], format="csv", delimiter="|").parts[None]
    assert only.counts.tolist() == [0, 1, 0]


@pytest.mark.parametrize(("text", "keywords", "words"), [
    ("q1,w,g\nnever,1,a\nrarley,1,a\n", {}, r"row 2: 'q1' is 'rarley', which is no output .*did you mean 'rarely'"),
    ("q1,w,g\nnever,1,a\n,1,a\n", {}, "row 2: 'q1' is missing"),
    ("q1,w,g\nnever,1,a\nrarely,-2,a\n", {"weights": "w"}, "row 2: the weight is -2"),
    ("q1,w,g\nnever,nan,a\n", {"weights": "w"}, "row 1: the weight is 'nan'"),
    ("q1,w,g\nnever,,a\n", {"weights": "w"}, "row 1: the weight is missing"),
    ("q1,w,g\nnever,1,a\nrarely,1,\n", {"by": "g"}, "row 2: the group 'g' is missing"),
    ("q1,w,g\nnever,0,a\nrarely,1,b\n", {"by": "g", "weights": "w"}, "the group 'a' of 'g': no row is left"),
    ("q1,w,g\n", {}, "has no rows"), ("q1,w,g\nnever,1\n", {}, "row 1: the number of cells is 2"),
    ("q2,w,g\nnever,1,a\n", {}, "has no column 'q1'; its columns are 'q2', 'w', 'g'"),
    ("q1,q1\nnever,never\n", {}, "more than one column 'q1'"), ("", {}, "is empty"),
    ("q1,w,g\n,1,a\n", {"on_unknown": "drop"}, "nothing can be estimated"),
    ("q1,w,g\n,1,a\n", {"on_unknown": "drop", "by": "g"}, "nothing can be estimated"),
])  # fmt: skip
def test_what_cannot_be_counted_is_named(text: str, keywords: Any, words: str, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(text)
    with pytest.raises(InvalidInput, match=words):
        released_counts(tmp_path / "a.csv", "q1", [OUTPUTS], **keywords)


def test_rows_are_left_out_only_if_that_is_asked_for_and_are_counted(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("q1,g\nnever,a\nsometimes,a\n,a\nrarely,\noften,a\n")
    found = released_counts(tmp_path / "a.csv", "q1", [OUTPUTS], by="g", on_unknown="drop")
    assert (found.rows, found.dropped, found.parts["a"].counts.tolist()) == (5, 3, [1, 0, 1])


def test_types_are_not_guessed(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"q1": "never"}\n{"q1": 3}\n')
    with pytest.raises(InvalidInput, match="row 2: 'q1' is 3, of the type int"):
        released_counts(tmp_path / "a.jsonl", "q1", [OUTPUTS])
    (tmp_path / "b.jsonl").write_text('{"q2": "never"}\n')
    with pytest.raises(InvalidInput, match="no key 'q1'"):
        released_counts(tmp_path / "b.jsonl", "q1", [OUTPUTS])
    (tmp_path / "c.jsonl").write_text('{"q1": "never"}\n{}\n')
    with pytest.raises(InvalidInput, match="row 2: 'q1' is missing"):
        released_counts(tmp_path / "c.jsonl", "q1", [OUTPUTS])


def test_files_and_arguments_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="there is no file"):
        released_counts(tmp_path / "a.csv", "q1", [OUTPUTS])
    (tmp_path / "a.gpkg").write_bytes(b"x")
    with pytest.raises(NotSupported, match="gpkg"):
        released_counts(tmp_path / "a.gpkg", "q1", [OUTPUTS])
    (tmp_path / "a.parquet").write_bytes(b"no parquet")
    with pytest.raises(InvalidInput, match="cannot be read as Parquet"):
        released_counts(tmp_path / "a.parquet", "q1", [OUTPUTS])
    (tmp_path / "a.csv").write_text("q1,g\nnever,a\n")
    for wrong in ({"columns": ["q1", "q1"], "outputs": [OUTPUTS, OUTPUTS]}, {"columns": "q1", "outputs": []}):
        with pytest.raises(InvalidInput):
            released_counts(tmp_path / "a.csv", **wrong)  # type: ignore[arg-type]
    with pytest.raises(NotSupported, match="on_unknown"):
        released_counts(tmp_path / "a.csv", "q1", [OUTPUTS], on_unknown="nearest")
