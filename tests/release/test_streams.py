from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.ipc
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import sfumato as sf
from sfumato.errors import BudgetExceeded, InvalidFile, InvalidInput, NotSupported, SfumatoError
from sfumato.release import streams
from sfumato.release.batches import Progress
from sfumato.release.formats import reading
from sfumato.release.keys import release_key
from sfumato.release.places import Place, Position
from sfumato.release.rows import BadRow
from sfumato.release.streams import release_file
from sfumato.release.tables import release_table
from table_files import FORMATS, leftovers

RESPONSE = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1))
KEY = bytes(range(32))
KEYED: dict[str, Any] = {"key": KEY, "row_id": "id", "secret_never_changes": True}
ROWS = 3000


def example(rows: int = ROWS) -> Any:
    rng = np.random.default_rng(1)
    return pa.table({
        "id": pa.array(range(rows)),
        "home": pa.array(np.array(["a", "b", "c"])[rng.integers(0, 3, rows)]),
        "amount": pa.array(rng.normal(size=rows)),
    })  # fmt: skip


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Blocks and groups that are full several times in a small file."""
    monkeypatch.setattr(reading, "_BLOCK", 5000)
    monkeypatch.setattr(streams, "_LARGEST_GROUP", 500)


# ----------------------------------------------------------------- formats


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_keeps_the_other_columns(ending: str, tmp_path: Path) -> None:
    write, read = FORMATS[ending]
    table, source, target = example(), tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    write(table, source)
    before = source.read_bytes()
    done = release_file(RESPONSE, source, target, "home", batch=123)
    assert (done.rows, done.dropped, done.file) == (ROWS, 0, target) and done.rate > 0
    noisy = read(target)
    assert noisy.column_names == table.column_names and noisy.drop(["home"]).equals(table.drop(["home"]))
    # of each 1000 rows about 576 stay: 7 standard deviations to both sides
    same = sum(a == b for a, b in zip(noisy["home"].to_pylist(), table["home"].to_pylist(), strict=True))
    assert 1530 < same < 1920 and set(noisy["home"].to_pylist()) == {"a", "b", "c"}
    assert source.read_bytes() == before and leftovers(tmp_path) == []


@pytest.mark.parametrize("ending", FORMATS)
def test_a_key_needs_a_ledger_or_a_statement(ending: str, tmp_path: Path) -> None:
    source = tmp_path / f"in{ending}"
    FORMATS[ending][0](example(3), source)
    with pytest.raises(InvalidInput, match="an answer that changes cannot be private"):
        release_file(RESPONSE, source, tmp_path / f"out{ending}", "home", key=KEY, row_id="id")
    assert os.listdir(tmp_path) == [source.name]


@pytest.mark.parametrize("ending", FORMATS)
def test_a_key_gives_every_format_the_same_answers(ending: str, tmp_path: Path) -> None:
    write, read = FORMATS[ending]
    table = example(500)
    expected = release_table(RESPONSE, table, "home", **KEYED)["home"].to_pylist()
    write(table, tmp_path / f"in{ending}")
    for name, batch in (("one", 7), ("two", 1000)):
        target = tmp_path / f"{name}{ending}"
        release_file(RESPONSE, tmp_path / f"in{ending}", target, "home", **KEYED, batch=batch)
        assert read(target)["home"].to_pylist() == expected
    key = release_key(tmp_path / "rows.key")
    release_file(
        RESPONSE,
        tmp_path / f"in{ending}",
        tmp_path / f"k{ending}",
        "home",
        key=key,
        row_id=["id", "amount"][:1],
        secret_never_changes=True,
    )
    assert read(tmp_path / f"k{ending}")["home"].to_pylist() != expected
    write(table.set_column(0, "id", pa.array([0] * 500)), tmp_path / f"bad{ending}")
    with pytest.raises(InvalidInput, match="one row id and two secrets"):
        release_file(RESPONSE, tmp_path / f"bad{ending}", tmp_path / f"no{ending}", "home", **KEYED)
    assert not (tmp_path / f"no{ending}").exists() and leftovers(tmp_path) == []


@pytest.mark.parametrize("ending", FORMATS)
def test_columns_policies_and_late_bad_rows(ending: str, tmp_path: Path) -> None:
    write, read = FORMATS[ending]
    table, source, target = example(2000), tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    homes = table["home"].to_pylist()
    homes[1990] = "Atlantis"
    write(table.set_column(1, "home", pa.array(homes)), source)
    with pytest.raises(BadRow, match="row 1991: 'home' is 'Atlantis', which is no secret"):
        release_file(RESPONSE, source, target, "home", batch=100)
    assert not target.exists() and leftovers(tmp_path) == []
    done = release_file(RESPONSE, source, target, "home", into="noisy", on_unknown="drop", most_dropped=1, batch=100)
    assert (done.rows, done.dropped) == (2000, 1)
    assert read(target).column_names == ["id", "noisy", "amount"] and len(read(target)) == 1999
    release_file(
        RESPONSE, source, target, "home", into="noisy", keep=True, on_unknown="drop", most_dropped=1, overwrite=True
    )
    kept = read(target)
    assert kept.column_names == ["id", "home", "amount", "noisy"]
    assert kept["home"].to_pylist() == [home for home in homes if home != "Atlantis"]


def test_csv_is_copied_byte_for_byte(tmp_path: Path) -> None:
    one = sf.prove([[1]] * 3, sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1), outputs=["x"])
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_bytes(b'\xef\xbb\xbfid, n;"home"; q\r\n1;a;  1.50 \r\n\r\n2;"b";"say ""x""; y\n2"\n3;c;\xff\x00')
    release_file(one, source, target, "home")
    assert (
        target.read_bytes() == b'\xef\xbb\xbfid, n;"home"; q\r\n1;x;  1.50 \r\n\r\n2;x;"say ""x""; y\n2"\n3;x;\xff\x00'
    )
    release_file(one, source, target, "home", into="a;b", overwrite=True)
    assert target.read_bytes().startswith(b'\xef\xbb\xbfid, n;"a;b"; q\r\n1;x;')
    release_file(one, source, target, "home", into="n", keep=True, overwrite=True)
    assert target.read_bytes().endswith(b';"say ""x""; y\n2";x\n3;c;\xff\x00;x')
    source.write_bytes(b"home\tid\na\t1\n")
    release_file(one, source, target, "home", overwrite=True)
    assert target.read_bytes() == b"home\tid\nx\t1\n"
    source.write_bytes(b"home\nb")
    release_file(one, source, target, "home", overwrite=True)
    assert target.read_bytes() == b"home\nx"
    source.write_bytes(b"home,x;y\na,1\n")
    release_file(one, source, target, "home", delimiter=",", overwrite=True)
    assert target.read_bytes() == b"home,x;y\nx,1\n"


def test_json_lines_are_copied_byte_for_byte(tmp_path: Path) -> None:
    one = sf.prove([[1]] * 3, sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1), outputs=['"é'])
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(
        '{"id":1.10, "home" : "a","z":[1,{"home":"é"}]}\n\n\t{"home":"\\u0062"}  \r\n{"b":{},"home":"c"}'.encode()
    )
    release_file(one, source, target, "home")
    assert target.read_bytes().decode() == (
        '{"id":1.10, "home" : "\\"\\u00e9","z":[1,{"home":"é"}]}\n\n'
        '\t{"home":"\\"\\u00e9"}  \r\n{"b":{},"home":"\\"\\u00e9"}'
    )
    release_file(one, source, target, "home", into="n", overwrite=True)
    assert [sorted(json.loads(line)) for line in target.read_text().split("\n") if line.strip()] == [
        ["id", "n", "z"], ["n"], ["b", "n"],
    ]  # fmt: skip
    source.write_bytes(b'{"home":"a"}\n{"home":"a","n":1}\n')
    with pytest.raises(BadRow, match="row 2: there is a key 'n' already"):
        release_file(one, source, target, "home", into="n", overwrite=True)
    source.write_bytes(b"")
    assert release_file(one, source, target, "home", overwrite=True).rows == 0


def test_null_may_be_a_secret_but_not_a_missing_key(tmp_path: Path) -> None:
    one = sf.prove([[1]] * 2, sf.PrivacyType(sf.discrete(["yes", None]), epsilon=1), outputs=["x"])
    source, target = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    source.write_bytes(b'{"s":null}\n{"s":"yes"}\n')
    release_file(one, source, target, "s")
    assert target.read_bytes() == b'{"s":"x"}\n{"s":"x"}\n'
    source.write_bytes(b'{"s":null}\n{"t":1}\n')
    with pytest.raises(BadRow, match="row 2: a key is missing"):
        release_file(one, source, target, "s", overwrite=True)


def test_coordinates_in_text(tmp_path: Path) -> None:
    city = sf.grid(3, 3, step="1/2", unit="km")
    mechanism = sf.exponential(sf.PrivacyType(city, epsilon=1))
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("y,k,x\n" + '0.1,1,"0.2"\n.7,2,+1e0\n' * 200)
    release_file(mechanism, source, target, Position("x", "y"))
    rows = [line.split(",") for line in target.read_text().splitlines()]
    assert rows[0] == ["y", "k", "x"] and {row[1] for row in rows[1:]} == {"1", "2"}
    assert {row[2] for row in rows[1:]} == {"0.0", "0.5", "1.0"}
    release_file(mechanism, source, target, Position("x", "y"), into="cell", overwrite=True)
    assert target.read_text().startswith("k,cell\n1,")
    release_file(mechanism, source, target, Position("y", "x"), into="cell", overwrite=True)
    assert target.read_text().startswith("cell,k\n")
    source.write_text("y,k,x\n0.1,1,0.2\n0.1,1,\n")
    with pytest.raises(BadRow, match="row 2: 'x' is missing"):
        release_file(mechanism, source, target, Position("x", "y"), overwrite=True)
    lines, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    lines.write_text('{"y":0.1,"k":1,"x":0.2}\n{"x":0.7,"y":1}\n')
    for name in ("cell", "y"):
        release_file(mechanism, lines, out, Position("x", "y"), into=name, overwrite=True)
        assert [list(json.loads(line)) for line in out.read_text().splitlines()] == [[name, "k"], [name]]
    lines.write_text('{"x":1,"y":1}\n{"x":1,"y":1}\n{"x":"0.7","y":1}\n')
    with pytest.raises(BadRow, match=r"row 3: 'x' is the text '0.7': make it a column of numbers"):
        release_file(mechanism, lines, out, Position("x", "y"), overwrite=True)
    places = sf.geo([(48.8566, 2.3522), (51.5074, -0.1278)])
    source.write_text("lat,lon\n48.8,2.3\n52,13\n")
    away = sf.exponential(sf.PrivacyType(places, epsilon="1/100"))
    with pytest.raises(BadRow, match=r"row 2: 'lat', 'lon' are \(52.0, 13.0\), 8\d\d.* km from the nearest"):
        release_file(away, source, target, Place("lat", "lon"), within=20, overwrite=True)


def test_parquet_keeps_groups_codecs_and_types(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streams, "_LARGEST_GROUP", 1 << 20)
    table = example()
    table = table.append_column("day", pa.array(range(ROWS), pa.timestamp("us", tz="UTC")))
    table = table.append_column("kind", pa.array(["u", "v"] * (ROWS // 2)).dictionary_encode())
    table = table.append_column("tags", pa.array([[i % 3] for i in range(ROWS)]))
    table = table.replace_schema_metadata({"owner": "me"})
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    codecs = {
        "id": "zstd",
        "home": "gzip",
        "amount": "none",
        "day": "snappy",
        "kind": "zstd",
        "tags.list.element": "gzip",
    }
    pq.write_table(table, source, row_group_size=1100, compression=codecs)
    release_file(RESPONSE, source, target, "home", into="noisy", batch=256)
    before, after = (pq.ParquetFile(path).metadata for path in (source, target))
    assert [after.row_group(k).num_rows for k in range(after.num_row_groups)] == [1100, 1100, 800]
    compression = {
        after.row_group(0).column(k).path_in_schema: after.row_group(0).column(k).compression for k in range(6)
    }
    assert compression == {
        "id": "ZSTD", "noisy": "GZIP", "amount": "UNCOMPRESSED", "day": "SNAPPY", "kind": "ZSTD",
        "tags.list.element": "GZIP",
    }  # fmt: skip
    noisy = pq.read_table(target)
    assert noisy.schema.metadata is None and before.num_rows == after.num_rows
    assert noisy.drop(["noisy"]).equals(table.drop(["home"]))
    empty = tmp_path / "empty.parquet"
    pq.write_table(table.slice(0, 0), empty)
    assert release_file(RESPONSE, empty, target, "home", overwrite=True).rows == 0
    assert pq.read_table(target).schema == table.schema


@pytest.mark.parametrize("ending", [".csv.gz", ".csv.zst", ".csv.bz2", ".jsonl.gz"])
def test_compressed_text(ending: str, tmp_path: Path) -> None:
    plain = tmp_path / ("in" + ending.rsplit(".", 1)[0])
    FORMATS[plain.suffix][0](example(300), plain)
    packed, unpacked = tmp_path / f"packed{ending}", tmp_path / f"out{plain.suffix}"
    release_file(RESPONSE, plain, packed, "home", **KEYED)
    release_file(RESPONSE, plain, unpacked, "home", **KEYED)
    again = tmp_path / f"again{plain.suffix}"
    apart = sf.FiniteSpace(["a", "b", "c"], np.where(np.eye(3), 0.0, np.inf))
    one = sf.prove(np.eye(3, dtype=int), sf.PrivacyType(apart, epsilon=1), outputs=["a", "b", "c"])
    release_file(one, packed, again, "home")  # keeps what it gets
    assert again.read_bytes() == unpacked.read_bytes()
    packed.write_bytes(packed.read_bytes()[:-20])
    with pytest.raises(SfumatoError):
        release_file(RESPONSE, packed, tmp_path / f"none{plain.suffix}", "home")
    assert not (tmp_path / f"none{plain.suffix}").exists()


# ----------------------------------------------------------------- whole or not at all


def csv_file(folder: Path, rows: int = 100) -> Path:
    path = folder / "in.csv"
    path.write_text("id,home\n" + "".join(f"{i},{'abc'[i % 3]}\n" for i in range(rows)))
    return path


def test_places_are_checked_before_any_work(tmp_path: Path) -> None:
    source = csv_file(tmp_path)
    (tmp_path / "there.csv").write_text("kept")
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "link.csv").symlink_to(source)
    for target, words in (
        (source, "is the source itself"),
        (tmp_path / "link.csv", "is the source itself"),
        (tmp_path / "there.csv", "is already there: releasing again is another release"),
        (tmp_path / "folder.csv", "it is a folder"),
        (tmp_path / "none" / "out.csv", "there is no folder"),
    ):
        with pytest.raises(InvalidInput, match=words):
            release_file(RESPONSE, source, target, "home", overwrite=target == source)
    assert (tmp_path / "there.csv").read_text() == "kept" and len(source.read_text()) > 100
    for wrong in (tmp_path / "nowhere.csv", tmp_path / "folder.csv"):
        with pytest.raises(InvalidInput, match="no file"):
            release_file(RESPONSE, wrong, tmp_path / "out.csv", "home")
    release_file(RESPONSE, source, tmp_path / "there.csv", "home", overwrite=True)
    assert (tmp_path / "there.csv").read_text().startswith("id,home\n0,")
    mask = os.umask(0)
    os.umask(mask)
    assert (tmp_path / "there.csv").stat().st_mode & 0o777 == 0o666 & ~mask


def test_formats_are_known_by_their_endings(tmp_path: Path) -> None:
    source = csv_file(tmp_path)
    for target, words in (("out.parquet", "releasing csv into parquet"), ("out.xls", "the format of 'out.xls'")):
        with pytest.raises(NotSupported, match=words):
            release_file(RESPONSE, source, tmp_path / target, "home")
    with pytest.raises(NotSupported, match="format 'xml'"):
        release_file(RESPONSE, source, tmp_path / "out.csv", "home", format="xml")
    with pytest.raises(NotSupported, match="compressed as a whole"):
        release_file(RESPONSE, source, tmp_path / "out.parquet.gz", "home", format="parquet")
    with pytest.raises(NotSupported, match=r"the format of 'out.parquet.gz'"):
        release_file(RESPONSE, source, tmp_path / "out.parquet.gz", "home")
    release_file(RESPONSE, source, tmp_path / "out.dat", "home", format="csv")
    assert (tmp_path / "out.dat").read_text().startswith("id,home\n")
    with pytest.raises(InvalidInput, match="a delimiter is one character"):
        release_file(RESPONSE, source, tmp_path / "o.csv", "home", delimiter=";;")


def test_a_mechanism_file_is_proved_again(tmp_path: Path) -> None:
    source = csv_file(tmp_path)
    sf.save(RESPONSE, tmp_path / "m.sfm")
    assert release_file(tmp_path / "m.sfm", source, tmp_path / "out.csv", "home").rows == 100
    damaged = bytearray((tmp_path / "m.sfm").read_bytes())
    damaged[-40] ^= 1
    (tmp_path / "m.sfm").write_bytes(damaged)
    with pytest.raises(InvalidFile):
        release_file(str(tmp_path / "m.sfm"), source, tmp_path / "no.csv", "home")
    assert not (tmp_path / "no.csv").exists()


class Account:
    def __init__(self, folder: Path, refuses: bool = False) -> None:
        self.folder, self.refuses = folder, refuses
        self.seen: list[tuple[list[str], dict[str, Any]]] = []

    def charge(self, **charge: Any) -> None:
        self.seen.append((sorted(os.listdir(self.folder)), charge))
        if self.refuses:
            raise BudgetExceeded("too much")


def test_a_release_is_charged_before_the_file_has_its_name(tmp_path: Path) -> None:
    source, target = csv_file(tmp_path), tmp_path / "out.csv"
    account: Any = Account(tmp_path)
    release_file(RESPONSE, source, target, "home", ledger=account, dataset="people")
    ((there, charge),) = account.seen
    assert "out.csv" not in there and any(name.startswith(".out.csv.") for name in there)
    assert (charge["dataset"], charge["column"], charge["rows"]) == ("people", "home", 100)
    refusing: Any = Account(tmp_path, refuses=True)
    with pytest.raises(BudgetExceeded):
        release_file(RESPONSE, source, tmp_path / "no.csv", "home", ledger=refusing, dataset="people")
    assert not (tmp_path / "no.csv").exists() and leftovers(tmp_path) == []

    class Racing(Account):
        def charge(self, **charge: Any) -> None:
            (self.folder / "race.csv").write_text("first")

    racing: Any = Racing(tmp_path)
    with pytest.raises(InvalidInput, match="has appeared meanwhile"):
        release_file(RESPONSE, source, tmp_path / "race.csv", "home", ledger=racing, dataset="people")
    assert (tmp_path / "race.csv").read_text() == "first" and leftovers(tmp_path) == []


WORKER = """
import sys, time
import sfumato as sf
from sfumato.release.streams import release_file
mechanism = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1))
def slow(progress):
    print(progress.rows, flush=True)
    time.sleep(30)
release_file(mechanism, sys.argv[1], sys.argv[2], "home", batch=50_000, progress=slow)
"""


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_killed_release_leaves_no_output_and_is_cleaned_up(ending: str, tmp_path: Path) -> None:
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    FORMATS[ending][0](example(200_000), source)
    before = source.read_bytes()
    worker = subprocess.Popen([sys.executable, "-c", WORKER, source, target], stdout=subprocess.PIPE)
    assert worker.stdout is not None and worker.stdout.readline().strip().isdigit()
    held = leftovers(tmp_path)
    assert len(held) == 1
    # a second release to the same place leaves the part alone that the first one still holds
    csv = csv_file(tmp_path, 10) if ending == ".csv" else None
    if csv is not None:
        release_file(RESPONSE, csv, target, "home")
        assert leftovers(tmp_path) == held
        target.unlink()
        source.write_bytes(before)
    worker.send_signal(signal.SIGKILL)
    worker.wait()
    worker.stdout.close()
    assert not target.exists() and source.read_bytes() == before and leftovers(tmp_path) == held
    release_file(RESPONSE, source, target, "home")
    assert target.exists() and leftovers(tmp_path) == []


FULL_DISK = """
import resource, sys
import sfumato as sf
from sfumato.release.streams import release_file
mechanism = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1))
resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
for ending in sys.argv[2:]:
    try:
        release_file(mechanism, f"{sys.argv[1]}/in{ending}", f"{sys.argv[1]}/out{ending}", "home")
    except OSError as error:
        print(error)
"""


def test_a_full_disk_leaves_no_output(tmp_path: Path) -> None:
    for ending, (write, _) in FORMATS.items():
        write(example(20_000), tmp_path / f"in{ending}")
    there = sorted(os.listdir(tmp_path))
    command = [sys.executable, "-c", FULL_DISK, tmp_path, *FORMATS]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    said = done.stdout.splitlines()
    for ending, line in zip(FORMATS, said, strict=True):
        assert f"out{ending} cannot be written, nothing was left behind: File too large" in line
    assert sorted(os.listdir(tmp_path)) == there


def test_an_interrupt_leaves_no_output(tmp_path: Path) -> None:
    def interrupt(_progress: Progress) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        release_file(RESPONSE, csv_file(tmp_path), tmp_path / "out.csv", "home", progress=interrupt)
    assert sorted(os.listdir(tmp_path)) == ["in.csv"]


# ----------------------------------------------------------------- files that are none


@pytest.mark.parametrize("ending", FORMATS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(content=st.binary(max_size=200) | st.text(st.sampled_from('home,id\n"{}[]:a1\\'), max_size=60).map(str.encode))
def test_random_bytes_are_refused_clearly(ending: str, content: bytes, tmp_path: Path) -> None:
    source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
    source.write_bytes(content)
    target.unlink(missing_ok=True)
    said = None
    try:
        release_file(RESPONSE, source, target, "home")
    except SfumatoError as error:
        said = str(error)
    assert (said is None) == target.exists() and "\n" not in (said or "")
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("ending", FORMATS)
@settings(max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(places=st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 255)), max_size=4), cut=st.integers(0, 10**6))
def test_damaged_files_are_refused_clearly(ending: str, places: list[Any], cut: int, tmp_path: Path) -> None:
    source, target, whole = tmp_path / f"in{ending}", tmp_path / f"out{ending}", tmp_path / f"whole{ending}"
    if not whole.exists():
        FORMATS[ending][0](example(40), whole)
    content = bytearray(whole.read_bytes())
    for at, byte in places:
        content[at % len(content)] = byte
    source.write_bytes(content[: cut % (2 * len(content))])
    target.unlink(missing_ok=True)
    said = None
    try:
        release_file(RESPONSE, source, target, "home")
    except SfumatoError as error:
        said = str(error)
    assert (said is None) == target.exists() and "\n" not in (said or "")
    assert leftovers(tmp_path) == []


def test_headers_that_are_none(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    for content, words in (
        (b"", "the file is empty"),
        ("home\na".encode("utf-16"), "no CSV file in UTF-8"),
        (b"home,home\na,a\n", "several columns 'home'"),
        (b"id,hom\n1,a\n", "there is no column 'hom', did you|there is no column 'home', did you mean 'hom'"),
        (b'"home\na', "a quoted cell does not end"),
        (b"home\ra\r", "carriage return without a newline"),
        (b"x" * 2**21, "no header ends within 1 MiB"),
    ):
        source.write_bytes(content)
        with pytest.raises(InvalidInput, match=words):
            release_file(RESPONSE, source, target, "home")
    (tmp_path / "in.jsonl").write_bytes(b'\xef\xbb\xbf{"home":"a"}')
    with pytest.raises(InvalidInput, match="byte order mark"):
        release_file(RESPONSE, tmp_path / "in.jsonl", tmp_path / "out.jsonl", "home")
    (tmp_path / "in.jsonl").write_bytes(b'{"home":"a"}\n{"home":"a","x":"\xff"}')
    with pytest.raises(BadRow, match="row 2: this is no text in UTF-8"):
        release_file(RESPONSE, tmp_path / "in.jsonl", tmp_path / "out.jsonl", "home")


def test_a_record_without_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_LONGEST_RECORD", 20_000)
    source = tmp_path / "in.csv"
    source.write_text('id,home\n1,a\n2,"' + "a\n" * 100_000)
    with pytest.raises(BadRow, match=r"row 2: longer than .* does a quote never end"):
        release_file(RESPONSE, source, tmp_path / "out.csv", "home")


# ----------------------------------------------------------------- size


MEMORY = """
import resource, sys
import sfumato as sf
from sfumato.release.streams import release_file
mechanism = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1))
small, large, out = sys.argv[1:]
release_file(mechanism, small, out, "home", overwrite=True)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
done = release_file(mechanism, large, out, "home", overwrite=True)
print(done.rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Two million rows (130 MB of CSV) need at most 48 MB more than two hundred thousand."""
    block = "".join(f"{i},{'abc'[i % 3]},{'x' * 50}\n" for i in range(10**5, 2 * 10**5)).encode()
    small, large = tmp_path / "small.csv", tmp_path / "large.csv"
    for path, times in ((small, 2), (large, 20)):
        with path.open("wb") as file:
            file.write(b"id,home,note\n")
            for _ in range(times):
                file.write(block)
    command = [sys.executable, "-c", MEMORY, small, large, tmp_path / "out.csv"]
    shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert int(shown[0]) == 2_000_000
    assert int(shown[1]) < 48 * 1024
    assert (tmp_path / "out.csv").stat().st_size == large.stat().st_size


def test_progress_and_the_distribution(tmp_path: Path) -> None:
    """False alarm of the distribution: 1e-9."""
    rows = 60_000
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text("home\n" + "a\n" * rows)
    seen: list[Progress] = []
    started = time.perf_counter()
    release_file(RESPONSE, source, target, "home", progress=seen.append, batch=1000)
    assert [p.rows for p in seen] == sorted(p.rows for p in seen) and seen[-1].rows == rows
    assert 0 < seen[-1].seconds < time.perf_counter() - started
    counts = [target.read_text().count(f"{label}\n") for label in "abc"]
    expected = [float(p) * rows for p in RESPONSE.channel.matrix[0]]
    assert sum(counts) == rows and chisquare(counts, expected).pvalue > 1e-9


def test_gzip_from_python(tmp_path: Path) -> None:
    source = tmp_path / "in.csv.gz"
    with gzip.open(source, "wt") as file:
        file.write("home\n" + "a\n" * 1000)
    release_file(RESPONSE, source, tmp_path / "out.csv.gz", "home")
    with gzip.open(tmp_path / "out.csv.gz", "rt") as file:
        assert len(file.read().splitlines()) == 1001
