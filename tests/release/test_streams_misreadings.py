"""Files that are easily misread: what is refused, and what must not be in the file that is written."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import sfumato as sf
from sfumato.errors import InvalidInput
from sfumato.release.places import Position
from sfumato.release.rows import BadRow
from sfumato.release.streams import release_file
from table_files import FORMATS, leftovers

RESPONSE = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1))


@pytest.mark.parametrize("ending", FORMATS)
def test_rows_that_lie_elsewhere_are_counted_before_anything_is_written(ending: str, tmp_path: Path) -> None:
    city = sf.exponential(sf.PrivacyType(sf.grid(5, 5, unit="km"), epsilon=1))
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    FORMATS[ending][0](pa.table({"x": [0.0] * 900 + [52.5] * 100, "y": [0.0] * 1000}), source)
    where, terms = Position("x", "y"), {"on_unknown": "nearest", "batch": 300}
    with pytest.raises(InvalidInput, match=r"^100 of 1,000 rows lie outside the space .* by up to 48\.5 km;"):
        release_file(city, source, target, where, **terms)  # type: ignore[arg-type]
    assert not target.exists() and not leftovers(tmp_path)
    done = release_file(city, source, target, where, most_moved=0.1, **terms)  # type: ignore[arg-type]
    assert (done.rows, done.moved, done.farthest) == (1000, 100, 48.5)


def test_an_object_of_json_is_no_list(tmp_path: Path) -> None:
    """Its keys may come in any order, and stood for (0, 1) and (1, 0)."""
    mechanism = sf.random_response(sf.PrivacyType(sf.discrete([(0, 1), (1, 0)]), epsilon=1))
    source = tmp_path / "data.jsonl"
    source.write_text('{"cell":[0,1]}\n{"cell":{"y":1,"x":0}}\n')
    with pytest.raises(BadRow, match=r"row 2: 'cell' is .*, a record, but a secret of .* is a tuple"):
        release_file(mechanism, source, tmp_path / "out.jsonl", "cell")


@pytest.mark.parametrize("ending", [".parquet", ".arrow"])
def test_an_extension_type_that_nobody_registered(ending: str, tmp_path: Path) -> None:
    """Where pandas is not loaded, the column is one of integers, with the name of its type beside."""
    mechanism = sf.geometric(sf.PrivacyType(sf.line(4), alpha="1/2"))
    named = pa.field("n", pa.int64(), metadata={"ARROW:extension:name": "vendor.period"})
    FORMATS[ending][0](pa.table([pa.array([1, 2])], schema=pa.schema([named])), tmp_path / f"in{ending}")
    with pytest.raises(InvalidInput, match=r"'n' holds vendor.period, stored as int64: types are not guessed"):
        release_file(mechanism, tmp_path / f"in{ending}", tmp_path / f"out{ending}", "n")


@pytest.mark.parametrize("ending", FORMATS)
def test_nothing_that_was_not_released_is_in_the_file(ending: str, tmp_path: Path) -> None:
    """Dropped rows, categories nobody has, statistics and metadata: none of it may tell the true column."""
    coded = ending not in (".csv", ".jsonl")
    listed = ["a", "b", "Atlantis", "Atlantis, unused"]
    home = pa.DictionaryArray.from_arrays(pa.array([0, 1, 2, 1] * 500, pa.int32()), pa.array(listed))
    table = pa.table({"id": range(2000), "home": home if coded else home.cast(pa.string())})
    if coded:
        about = {
            "columns": [{"name": "home", "field_name": "home", "metadata": {"top": "Atlantis"}}],
            "index_columns": [],
        }
        field = table.schema.field("home").with_metadata({"top": "Atlantis"})
        table = table.cast(table.schema.set(1, field)).replace_schema_metadata({"pandas": json.dumps(about)})
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    if ending == ".parquet":
        pq.write_table(table, source, compression="none", write_page_index=True, bloom_filter_options={"home": True})
    else:
        FORMATS[ending][0](table, source)
    assert b"Atlantis" in source.read_bytes()
    release_file(RESPONSE, source, target, "home", on_unknown="drop", most_dropped=1)
    assert b"Atlantis" not in target.read_bytes() and b"top" not in target.read_bytes()
    if ending == ".parquet":
        before, after = (pq.ParquetFile(path).metadata.row_group(0).column(1) for path in (source, target))
        assert before.statistics.max == "b" and after.statistics.max == "c"  # of what is written
        assert not after.has_column_index
