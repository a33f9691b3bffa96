"""What was once wrong with a release and is not to come back: true values that stayed, shared noise, traps."""

from __future__ import annotations

import gzip
import json
import stat
import sys
import time
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.draws.randomness import SystemBits
from sfumato.errors import InvalidInput
from sfumato.mechanisms.line import InfiniteGeometric
from sfumato.release.engines.job import MARKS, fingerprint_of, job_of
from sfumato.release.formats.lines_json import JsonRecords
from sfumato.release.keys import Fingerprint
from sfumato.release.ledger.ledger import Ledger
from sfumato.release.places import Position
from sfumato.release.rows import BadRow, TypedValues
from sfumato.release.streams import release_file
from sfumato.release.tables import release_table
from sfumato.release.terms import Terms

RESPONSE = sf.random_response(sf.PrivacyType(sf.discrete(["a", "b", "c"]), epsilon=1))
KEY = bytes(range(32))
KEYED: dict[str, Any] = {"key": KEY, "row_id": "id", "secret_never_changes": True}


@pytest.fixture
def released(tmp_path: Path) -> Callable[..., bytes]:
    """Release the content of a file."""

    def run(content: bytes, column: Any = "s", ending: str = ".csv", mechanism: Any = RESPONSE, **terms: Any) -> bytes:
        source, target = tmp_path / f"in{ending}", tmp_path / f"out{ending}"
        source.write_bytes(content)
        release_file(mechanism, source, target, column, overwrite=True, **terms)
        return target.read_bytes()

    return run


# ----------------------------------------------------------------- true values that stay


def test_no_row_of_data_passes_for_a_part_of_the_header(released: Callable[..., bytes]) -> None:
    # quotes inside cells are letters; once two of them made the first row a part of a name in the header
    told = {released(b's,inch"\nc,5"\na,y\n').split(b"\n")[1][:1] for _ in range(60)}
    assert told == {b"a", b"b", b"c"}  # all "c" by chance: below 0.58^60
    assert released(b's;"x\n,;y";z\r\na;1;2\r\n').startswith(b's;"x\n,;y";z\r\n')
    with pytest.raises(InvalidInput, match="something follows the closing quote"):
        released(b's,"x"y\na,1\n')


def test_an_index_does_not_keep_the_secret(tmp_path: Path) -> None:
    frame = pd.DataFrame({"s": ["a", "b"], "k": [1, 2]}).set_index("s", drop=False)
    with pytest.raises(InvalidInput, match="index of pandas, its row names, is called 's' as well"):
        release_table(RESPONSE, frame, "s")
    with pytest.raises(InvalidInput, match="index of pandas, the column '__index_level_0__', is called 's' as well"):
        release_table(RESPONSE, pa.Table.from_pandas(frame), "s")
    assert list(release_table(RESPONSE, frame, "s", into="t", keep=True).index) == ["a", "b"]  # where it is meant
    source, target = tmp_path / "in.parquet", tmp_path / "out.parquet"
    frame.drop(columns="s").to_parquet(source)
    for column in ("t", None):  # once pandas could not read what came out
        release_file(RESPONSE, source, target, "s", into=column, overwrite=True)
        assert set(pd.read_parquet(target).columns) == {column or "s", "k"}


def test_what_spark_writes_of_a_column_does_not_stay() -> None:
    about = {"fields": [{"name": "s", "type": "string", "metadata": {"most": "a"}}]}
    name = b"org.apache.spark.sql.parquet.row.metadata"
    table = pa.table({"s": ["a"]}).replace_schema_metadata({name: json.dumps(about).encode()})
    assert release_table(RESPONSE, table, "s").schema.metadata is None


def test_a_table_of_the_database_is_not_taken_for_the_released_one() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE released_by_sfumato AS SELECT 'true' AS s; CREATE TABLE given AS SELECT 'a' AS s")
    assert release_table(RESPONSE, connection.sql("SELECT * FROM given"), "s").fetchall()[0][0] in "abc"


def test_nobody_else_reads_a_file_before_it_is_charged(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("s\na\n")
    seen = []

    class Account:
        def charge(self, **_charge: Any) -> None:
            (part,) = tmp_path.glob(".out.csv.*.part")
            seen.append(stat.S_IMODE(part.stat().st_mode))

    release_file(RESPONSE, tmp_path / "in.csv", tmp_path / "out.csv", "s", ledger=Account(), dataset="d")  # type: ignore[arg-type]
    assert seen == [0o600] and stat.S_IMODE((tmp_path / "out.csv").stat().st_mode) != 0o600


# ----------------------------------------------------------------- noise that is shared, or drawn twice


def test_the_id_of_a_row_depends_on_no_other_row(released: Callable[..., bytes]) -> None:
    # bytes that are no UTF-8 were once decoded, to one id for all, if any row of the batch had a doubled quote
    rows = b"".join(b"a,%d\xe9\n" % i + b"a,%d\xe8\n" % i for i in range(40))
    plain = released(b"s,id\n" + rows + b"a,z\n", **KEYED)
    quoted = released(b"s,id\n" + rows + b'a,"z"""\n', **KEYED)
    assert plain.split(b"\n")[:81] == quoted.split(b"\n")[:81]
    answers = [line[:1] for line in quoted.split(b"\n")[1:81]]
    assert answers[::2] != answers[1::2]  # 40 pairs of ids that differ in one byte
    one, two = (released(b"s,id\n" + row, **KEYED) for row in (b'a,"x""y"\n', b'a,x"y\n'))
    assert one[5:6] == two[5:6]  # two spellings of one id


def test_an_interrupt_leaves_no_zeros_among_random_words() -> None:
    """Interrupts come between two lines; after any of them the words that follow are fresh."""

    def interrupted(line: int) -> SystemBits:
        source = SystemBits()
        source.words(1)
        lines = []

        def trace(frame: Any, event: str, _argument: Any) -> Any:
            if frame.f_code is SystemBits.words.__code__:
                if event == "line":
                    lines.append(frame.f_lineno)
                if len(lines) == line:
                    raise KeyboardInterrupt
                return trace
            return None

        before = sys.gettrace()
        sys.settrace(trace)
        try:
            source.words(8)
            ended.append(line)
        except KeyboardInterrupt:
            pass
        finally:
            sys.settrace(before)
        if source._lock.locked():  # the trace, unlike an interrupt, also comes before a lock is given back
            source._lock.release()
        return source

    ended: list[int] = []
    for line in range(1, 30):
        assert interrupted(line).words(8).all(), line  # a zero by chance: 8 in 2^64
    assert ended and ended[0] > 5  # all lines were tried


def test_a_ledger_knows_the_same_data_in_any_order_and_on_any_engine(tmp_path: Path) -> None:
    table = pa.table({"id": range(300), "s": ["a", "b", "c"] * 100})
    other = table.set_column(1, "s", pa.array(["b", "b", "c"] * 100))
    ledger = Ledger(tmp_path / "l", limit=1)
    for rows in (table, table.take(list(range(299, -1, -1)))):
        release_table(RESPONSE, rows, "s", key=KEY, row_id="id", ledger=ledger, dataset="d", batch=70)
    assert [entry.charged for entry in ledger.entries()] == [1, 0]
    with pytest.raises(InvalidInput, match="of other data"):
        release_table(RESPONSE, other, "s", key=KEY, row_id="id", ledger=ledger, dataset="d")
    sent = job_of(RESPONSE, Terms("s", key=KEY, row_id="id", secret_never_changes=True), "out")
    for rows in (table, other):
        parts = [rows.slice(200), rows.slice(0, 0), rows.slice(0, 200)]
        known = pa.Table.from_batches(batch for part in parts for batch in sent.identities(part.to_batches()))
        found = fingerprint_of([known[name].to_numpy().sum() for name in MARKS])
        assert (found == ledger.entries()[0].data) == (rows is table)


def test_a_fingerprint_knows_ids_secrets_and_how_often() -> None:
    ids, secrets = np.arange(64, dtype=np.uint8).reshape(4, 16), np.array([-1, 0, 1, 2**60])

    def of(places: list[int], values: list[int], key: bytes = KEY) -> str:
        made = Fingerprint(key)
        made.add(ids[places], secrets[values])
        return made.hexdigest()

    cases = [([0, 1], [0, 1]), ([0, 1], [1, 0]), ([0], [0]), ([0, 0], [0, 0]), ([2, 1], [0, 1]), ([0, 1], [0, 3])]
    assert len({of(*case) for case in cases} | {of([0], [0], bytes(32))}) == len(cases) + 1
    assert of([0, 1, 2], [2, 1, 0]) == of([2, 0, 1], [0, 2, 1])


# ----------------------------------------------------------------- rows that vanish, files that mislead


def test_integers_that_get_no_noise_are_refused_with_their_row() -> None:
    counts = InfiniteGeometric(Fraction(1, 2))
    for wrong in (-(2**63), 2**62):  # the first stood for a row to be left out
        table = pa.table({"n": pa.array([7, wrong], pa.int64())})
        with pytest.raises(BadRow, match=rf"row 2: 'n' is {wrong}, but an integer .* within ±2\^61"):
            release_table(counts, table, "n")
        assert len(release_table(counts, table, "n", on_unknown="drop", most_dropped=1)) == 1


def test_columns_of_one_name_are_refused_clearly() -> None:
    twins = pa.table([["a"], [1], [2]], names=["s", "q", "q"])
    for table in (twins, twins.to_batches()[0], pd.DataFrame([["a", 1, 2]], columns=["s", "q", "q"])):
        with pytest.raises(InvalidInput, match="several columns 'q'"):
            release_table(RESPONSE, table, "s")


def test_strange_types_are_released_or_refused_with_the_row() -> None:
    views = pa.table({"s": pa.array(["a", "b"], pa.string_view())})
    assert set(release_table(RESPONSE, views, "s")["s"].to_pylist()) <= {"a", "b", "c"}
    with pytest.raises(BadRow, match="row 1: 's' is UUID"):
        release_table(RESPONSE, pa.table({"s": pa.array([b"0" * 16], pa.uuid())}), "s")


def test_numbers_out_of_reach(released: Callable[..., bytes]) -> None:
    line = sf.geometric(sf.PrivacyType(sf.line(3), alpha="1/2"))
    huge = b'{"s": 1%s}\n' % (b"0" * 400)
    assert json.loads(released(huge, ending=".jsonl", mechanism=line, on_unknown="nearest", most_moved=1))["s"] in (
        0,
        1,
        2,
    )
    strange = b'{"\\u0071": 1%s, "s": "a"}\n' % (b"0" * 5000)  # a key with an escape, a number that Python refuses
    assert released(strange, ending=".jsonl").startswith(b'{"\\u0071": 1000')
    corners = sf.tight_constraints(sf.PrivacyType(sf.points([[0.0, 0.0], [3.0, 0.5], [0.0, 7.0]]), epsilon=2))
    far = pa.table({"x": [1e308, -1e200], "y": [-1e308, 1.0]})
    assert len(release_table(corners, far, Position("x", "y"), on_unknown="nearest", most_moved=1)) == 2
    assert len(release_table(line, pa.table({"x": [1e308]}), Position("x"), on_unknown="nearest", most_moved=1)) == 1


def test_columns_at_the_front_go_with_their_delimiters(released: Callable[..., bytes]) -> None:
    cube = sf.tight_constraints(sf.PrivacyType(sf.grid(2, 2, 2), epsilon=3))
    made = released(b"y,z,x,k\n0,1,0,q\n", Position("x", "y", "z"), mechanism=cube, into="cell", delimiter=",")
    header, row, _ = made.split(b"\n")
    assert header == b"cell,k" and row[0] == row[6] == ord('"') and row[7:] == b",q"


def test_a_link_to_nowhere_is_no_place(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("s\na\n")
    (tmp_path / "out.csv").symlink_to(tmp_path / "nowhere.csv")
    with pytest.raises(InvalidInput, match="a link to a file that is not there"):
        release_file(RESPONSE, tmp_path / "in.csv", tmp_path / "out.csv", "s")
    with pytest.raises(OSError, match=r"out.csv cannot be written, nothing was left behind"):
        release_file(RESPONSE, tmp_path / "in.csv", "/proc/out.csv", "s")


def test_a_broken_archive_is_refused_without_a_word_from_below(
    released: Callable[..., bytes], capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(InvalidInput, match="cannot be read as text"):
        released(gzip.compress(b"s,k\n" + b"a,1\n" * 10_000)[:-20], ending=".csv.gz")
    assert capfd.readouterr().err == ""


# ----------------------------------------------------------------- time


def seconds(work: Callable[[], object]) -> float:
    start = time.process_time()
    work()
    return time.process_time() - start


def test_a_quote_that_never_ends_is_found_at_once(released: Callable[..., bytes]) -> None:
    def refused() -> None:
        with pytest.raises(InvalidInput, match="a quoted cell does not end"):
            released(b'"s,t\n' + b"a,1\n" * 250_000)

    assert seconds(refused) < 5  # it took minutes when every line was counted from the beginning


def test_a_long_dictionary_is_not_listed_for_every_batch() -> None:
    values = pa.array(["a", *map(str, range(1_000_000))])
    column = TypedValues(pa.DictionaryArray.from_arrays(pa.array([0, None, 0], pa.int32()), values))
    places, distinct = column.distinct()
    assert [distinct[k] for k in places] == ["a", None, "a"] and len(distinct) == 2


def test_the_coordinates_of_many_outputs_are_spelled_in_one_pass() -> None:
    class Work:
        taken, terms, beside = ("x",), Terms("x"), ()
        added = (sf.release.batches.Added("x", [float(k) for k in range(200_000)], numeric=True),)

    assert seconds(lambda: JsonRecords(Work())) < 10  # type: ignore[arg-type]
