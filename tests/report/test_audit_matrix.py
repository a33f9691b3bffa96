from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidChannel, InvalidInput, Mismatch, NotSupported
from sfumato.report import audit_matrix
from sfumato.report.audit_matrix import LabelledMatrix, channel_on, read_matrix, read_square
from sfumato.report.audit_rounding import Margins

THIRDS = [[Fraction(2, 3), Fraction(1, 3)], [Fraction(1, 3), Fraction(2, 3)]]


def file(tmp_path: Path, text: str, name: str = "m.csv") -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


@pytest.mark.parametrize(
    ("text", "rows", "columns"),
    [
        ("2/3,1/3\n1/3,2/3\n", None, None),
        ("\ufeff2/3;1/3\r\n1/3;2/3\r\n\r\n", None, None),
        ("2/3 1/3\n1/3   2/3", None, None),
        ("# from somewhere\n2/3\t1/3\n1/3\t2/3\n", None, None),
        ("yes,no\n2/3,1/3\n1/3,2/3\n", None, ("yes", "no")),
        ("secret,yes,no\na,2/3,1/3\nb,1/3,2/3\n", ("a", "b"), ("yes", "no")),
        ("secret,0,1\n0,2/3,1/3\n1,1/3,2/3\n", ("0", "1"), ("0", "1")),
        (",0,1\n0,2/3,1/3\n1,1/3,2/3\n", ("0", "1"), ("0", "1")),
        ("yes,no\na,2/3,1/3\nb,1/3,2/3\n", ("a", "b"), ("yes", "no")),
        ("a,2/3,1/3\nb,1/3,2/3\n", ("a", "b"), None),
        ("none,10,20\n7,2/3,1/3\n8,1/3,2/3\n", ("7", "8"), ("10", "20")),
        ("7,2/3,1/3\n8,1/3,2/3\n", ("7", "8"), None),
        ('"a, b",2/3,1/3\n"c",1/3,2/3\n', ("a, b", "c"), None),
    ],
)
def test_names_are_told_from_numbers(text: str, rows: Any, columns: Any, tmp_path: Path) -> None:
    found = read_matrix(file(tmp_path, text))
    assert found.values.tolist() == THIRDS
    assert (found.rows, found.columns, found.divided) == (rows, columns, 0)


def test_what_is_written_is_what_is_meant(tmp_path: Path) -> None:
    found = read_matrix(file(tmp_path, "0.1,0.9\n1e-1,9.0E-1\n.1,.9\n+0.1,90e-2"))
    assert found.values.tolist() == [[Fraction(1, 10), Fraction(9, 10)]] * 4
    commas = read_matrix(file(tmp_path, "0,25;0,75\n0,5;0,5\n"))
    assert commas.values.tolist() == [[Fraction(1, 4), Fraction(3, 4)], [Fraction(1, 2)] * 2]


def test_the_number_of_secrets_and_the_reader_decide_what_is_ambiguous(tmp_path: Path) -> None:
    path = file(tmp_path, "0,1\n0.5,0.5\n0.5,0.5\n")
    assert len(read_matrix(path).values) == 3
    assert read_matrix(path, secrets=2).columns == ("0", "1")
    assert read_matrix(path, header=True).columns == ("0", "1")
    with pytest.raises(InvalidInput, match="3 rows for 5 secrets"):
        read_matrix(path, secrets=5)
    both = file(tmp_path, "0,0,1\n1,0.5,0.5\n")
    assert read_matrix(both, header=True, names=True).rows == ("1",)
    one = read_matrix(file(tmp_path, ",x,y\n0,0.5,0.5\n"))
    assert (one.rows, one.columns) == (("0",), ("x", "y"))


def test_a_wrong_row_is_not_taken_for_a_header(tmp_path: Path) -> None:
    for text in (
        "0.9,0.05\n0.5,0.5\n", "0.9,0.05\n0.5,0.5\n0.25,0.75\n", "1,1\n0.5,0.5\n", "3,1\n0.5,0.5\n0.4,0.6\n",
    ):  # fmt: skip
        with pytest.raises(InvalidInput, match="row 1 sums to"):
            read_matrix(file(tmp_path, text))
    with pytest.raises(InvalidInput, match=r"row 2 sums to 1\.2"):
        read_matrix(file(tmp_path, "0.25,0.75\n0.7,0.5\n"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("0.99,O.01\n0.5,0.5\n0.4,0.6\n", "row 1, column 2: 'O.01' is no number"),
        ("O.99,0.01\n0.5,0.5\n0.4,0.6\n", "row 1, column 1: 'O.99' is no number"),
        ("0.99,O.01\n0,1\n1,1\n", "row 1, column 2: 'O.01' is no number"),
        ("0.5,nan\n0.5,0.5\n", "row 1, column 2: 'nan' is no number$"),
        ("nan,inf\n0.5,0.5\n", "row 1, column 1: 'nan' is no number$"),
        ("nan,0,1\n0,0.5,0.5\n1,0.4,0.6\n", "row 1, column 1: 'nan' is no number$"),
        ("-inf,0.5\n0.5,0.5\n", "row 1, column 1: '-inf' is no number$"),
        ("99%,1%\n0.5,0.5\n", "row 1, column 1: '99%' is no number$"),
        ("0.5,\n0.5,0.5\n", "row 1, column 2: a number is missing"),
        ("secret,0,none\na,0.5,0.5\n", "row 1, column 3: 'none' is no number, and a first row"),
        ("0,0.5,0.5\nO,0.4,0.6\n", "row 2, column 1: 'O' is no number, and a first column"),
        ("a,0.5,0.5\nnan,0.4,0.6\n", "row 2, column 1: 'nan' is no number$"),
    ],
)
def test_a_row_that_mixes_words_and_numbers_is_no_header(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=words):
        read_matrix(file(tmp_path, text))


def test_who_says_header_has_one(tmp_path: Path) -> None:
    path = file(tmp_path, "secret,0,none\na,0.5,0.5\n")
    assert read_matrix(path, header=True).columns == ("0", "none")
    mixed = file(tmp_path, "0,0.5,0.5\nnan,0.4,0.6\n")
    assert read_matrix(mixed, names=True).rows == ("0", "nan")


def test_infinite_entries_are_refused_where_they_are(tmp_path: Path) -> None:
    np.save(tmp_path / "m.npy", np.array([[0.5, 0.5], [0.5, np.inf]]))
    for path in (tmp_path / "m.npy", file(tmp_path, "[[0.5, 0.5], [0.5, Infinity]]", "m.json")):
        with pytest.raises(InvalidInput, match="row 2, column 2, is inf, which is no probability"):
            read_matrix(path)


def test_rows_are_divided_by_their_sums_only_within_the_tolerance(tmp_path: Path) -> None:
    path = file(tmp_path, "0.333,0.666\n0.5,0.5\n")
    found = read_matrix(path)
    assert found.values.tolist()[0] == [Fraction(1, 3), Fraction(2, 3)]
    assert found.divided == Fraction(1, 1000)
    with pytest.raises(InvalidInput, match=r"row 1 sums to 0.999, not to 1 within 0.0001; a larger tolerance"):
        read_matrix(path, tolerance=Fraction(1, 10_000))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("66.7,33.3\n50,50\n", "percentages; divide them by 100"),
        ("3,1\n1,3\n", "these are counts"),
        ("0.5,0.1\n0.5,0.9\n", "its columns do: one row a secret"),
        ("0.5,0.4\n0.1,0.2\n", "row 1 sums to 0.9, not to 1 within 0.001$"),
        ("-0.1,1.1\n0.5,0.5\n", "row 1, column 1, is -0.1, a negative number"),
        ("0.5,x\n0.5,0.5\n0.5,oops\n", "row 3, column 2: 'oops' is no number"),
        ("0.5,0.5\n0.5,\n", "row 2, column 2: a number is missing"),
        ("0.5,0.5\n0.5,nan\n", "'nan' is no number"),
        ("0.5,0.5\n0.5,inf\n", "'inf' is no number"),
        ("0.5,0.5\n0.5\n0.5,0.5\n", "row 2 has 1 cells"),
        ("1/0,1\n", "'1/0' is no number"),
        ("", "is empty"),
        ("a,b\nc,d\n", "'d' is no number"),
        ('"a,1\n', "line 1: a quoted cell does not end"),
    ],
)
def test_what_is_no_channel_is_refused_with_a_hint(text: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=words):
        read_matrix(file(tmp_path, text))


def test_json_in_three_forms(tmp_path: Path) -> None:
    rows = [["2/3", "1/3"], ["1/3", "2/3"]]
    assert read_matrix(file(tmp_path, json.dumps(rows), "m.json")).values.tolist() == THIRDS
    told = {"matrix": [[0.1, 0.9], [0.5, 0.5]], "secrets": ["a", [1, 2]], "outputs": ["x", "y"]}
    found = read_matrix(file(tmp_path, json.dumps(told), "m.json"))
    assert (found.rows, found.columns) == (("a", "1,2"), ("x", "y"))
    assert found.values[0, 0] == Fraction(1, 10)
    objects = read_matrix(file(tmp_path, '{"a": {"x": 0.5, "y": 0.5}, "b": {"y": 1, "x": 0}}', "m.json"))
    assert (objects.rows, objects.columns, objects.values.tolist()[1]) == (("a", "b"), ("x", "y"), [0, 1])
    for bad, error in (
        ("{", InvalidInput), ('{"a": 3}', NotSupported), ("[[1], [0.5, 0.5]]", InvalidInput),
        ("[[true, 0]]", InvalidInput), ("[[NaN, 1]]", InvalidInput), ('[["x", 1]]', InvalidInput),
        ("[" * 100_000, InvalidInput), ("[[1e999]]", InvalidInput),
        ('{"a": {"x": 1}, "b": {"y": 1}}', NotSupported), ('{"matrix": [[1]], "secrets": 3}', InvalidInput),
    ):  # fmt: skip
        with pytest.raises(error):
            read_matrix(file(tmp_path, bad, "m.json"))


def test_arrays(tmp_path: Path) -> None:
    path = tmp_path / "m.npy"
    np.save(path, np.array([[2 / 3, 1 / 3], [0.5, 0.5]], dtype=np.float32))
    found = read_matrix(path)
    assert found.values.dtype == np.float64
    assert found.values.sum(axis=1) == pytest.approx([1, 1], abs=1e-15)
    assert 0 < float(found.divided) < 1e-6
    for table in (np.ones(3), np.array([["a"]]), np.array([[np.nan, 1.0]]), np.zeros((0, 2)), np.ones((1, 1), complex)):
        np.save(path, table)
        with pytest.raises(InvalidInput):
            read_matrix(path)
    np.save(path, np.array([[object()]], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidInput, match="no array of NumPy"):
        read_matrix(path)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="No such file"):
        read_matrix(tmp_path / "nowhere.csv")
    with pytest.raises(InvalidInput, match="cannot be read"):
        read_matrix(tmp_path)
    (tmp_path / "latin.csv").write_bytes(b"\xe9,1\n")
    with pytest.raises(InvalidInput, match="not text in UTF-8"):
        read_matrix(tmp_path / "latin.csv")


def test_square_tables_of_distances(tmp_path: Path) -> None:
    plain = read_square(file(tmp_path, "0,1,2\n1,0,inf\n2,inf,0\n"))
    assert plain.values.shape == (3, 3)
    assert plain.values[1, 2] == np.inf
    named = read_square(file(tmp_path, ",a,b\na,0,1.5\nb,1.5,0\n"))
    assert named.rows == ("a", "b")
    assert named.values[0, 1] == Fraction(3, 2)
    with pytest.raises(InvalidInput, match="no square table"):
        read_square(file(tmp_path, "0,1,2\n1,0,1\n"))
    with pytest.raises(InvalidInput, match="different names"):
        read_square(file(tmp_path, ",a,b\nb,0,1\na,1,0\n"))


def test_rows_find_their_secrets() -> None:
    quarter = np.array([[0.25, 0.75], [0.5, 0.5]])
    grid = sf.grid(1, 2)
    box = Margins.around(quarter, quarter / 10)
    swapped, turned = channel_on(LabelledMatrix(quarter, ("0,1", "(0, 0)"), ("stay", "0,1"), box=box), grid)
    assert swapped.matrix.tolist() == quarter[::-1].tolist()
    assert turned is not None and turned.low.tolist() == box.low[::-1].tolist()
    assert swapped.outputs == ("stay", (0, 1))
    assert channel_on(LabelledMatrix(quarter), grid)[0].outputs == grid.labels
    assert channel_on(LabelledMatrix(np.ones((2, 1))), None)[0].outputs == (0,)
    with pytest.raises(Mismatch, match="'7' is not among"):
        channel_on(LabelledMatrix(quarter, ("0,1", "7")), grid)
    with pytest.raises(InvalidInput, match="twice"):
        channel_on(LabelledMatrix(quarter, ("0,1", "0,1")), grid)
    with pytest.raises(InvalidInput, match="2 rows for 3 secrets"):
        channel_on(LabelledMatrix(quarter), sf.line(3))


@settings(max_examples=60)
@given(st.data())
def test_what_is_written_is_read_again(data: st.DataObject) -> None:
    n, m = data.draw(st.integers(1, 5)), data.draw(st.integers(1, 5))
    rows = [data.draw(st.lists(st.integers(1, 50), min_size=m, max_size=m)) for _ in range(n)]
    separator, header, names = data.draw(st.tuples(st.sampled_from(",;\t "), st.booleans(), st.booleans()))
    table = [[Fraction(v, sum(row)) for v in row] for row in rows]
    lines = [[*([f"s{i}"] if names else []), *map(str, row)] for i, row in enumerate(table)]
    if header:
        lines.insert(0, [*(["-"] if names else []), *(f"o{j}" for j in range(m))])
    with TemporaryDirectory() as folder:
        found = read_matrix(file(Path(folder), "\n".join(separator.join(line) for line in lines)))
    assert found.values.tolist() == table
    assert found.columns == (tuple(f"o{j}" for j in range(m)) if header else None)
    assert found.rows == (tuple(f"s{i}" for i in range(n)) if names else None)


def test_how_well_numbers_are_known_comes_with_them(tmp_path: Path) -> None:
    found = read_matrix(file(tmp_path, "0.667,0.333\n0.25,0.75\n"))
    assert found.box is not None and found.box.error == Fraction(1, 2000)
    assert found.box.low[0].tolist() == [Fraction("0.6665"), Fraction("0.3325")]
    assert read_matrix(file(tmp_path, "1/3,2/3\n0,1\n")).box is None
    told = read_matrix(file(tmp_path, '{"matrix": [[0.70, 0.30], ["1/4", "0.750"]]}', "m.json"))
    assert told.box is not None and [str(v) for v in told.box.high.ravel() - told.box.written.ravel()] == [
        "1/2000", "1/2000", "0", "1/2000",
    ]  # fmt: skip
    np.save(tmp_path / "m.npy", np.array([[0.5, 0.5]], dtype=np.float32))
    single = read_matrix(tmp_path / "m.npy").box
    assert single is not None and 2.0**-22 <= single.error <= 2.0**-21


def test_rows_that_cannot_sum_to_one_are_divided_with_their_errors(tmp_path: Path) -> None:
    box = read_matrix(file(tmp_path, "0.5010,0.5000\n0.5000,0.5001\n")).box
    assert box is not None
    assert box.written[0].sum() == 1 and box.written[1].sum() == Fraction("1.0001")  # what rounding explains stays
    assert box.high[0, 0] - box.written[0, 0] == Fraction(1, 20_000) / Fraction("1.001")


def test_very_many_numbers_are_known_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_matrix, "_MOST_EXACT", 3)
    found = read_matrix(file(tmp_path, "0.667,0.333\n1/4,0.75\n"))
    assert found.values.dtype == np.float64 and found.box is not None
    assert Fraction(1, 2000) <= found.box.error <= Fraction(1, 2000) + Fraction(1, 10**15)
    assert found.box.low[0, 0] <= 0.6665 and found.box.high[0, 0] >= 0.6675


def test_a_sum_that_is_nearly_one_is_not_called_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidChannel, match=r"sums to 1\.0000000001, not to 1 within 0"):
        read_matrix(file(tmp_path, "0.5,0.5000000001\n"), tolerance=Fraction(0))


def test_sums_that_rounding_explains_are_taken(tmp_path: Path) -> None:
    twelve = ",".join(["0.083"] * 12)  # twelfths, in three digits
    found = read_matrix(file(tmp_path, twelve + "\n"))
    assert (
        found.divided == Fraction(4, 1000) and found.box is not None and found.box.low.sum() < 1 < found.box.high.sum()
    )
    with pytest.raises(InvalidChannel, match=r"sums to 0\.996"):
        read_matrix(file(tmp_path, ",".join(["0.08300"] * 12) + "\n"))
    with pytest.raises(InvalidChannel, match="sums to"):
        read_matrix(file(tmp_path, twelve + "\n"), tolerance=Fraction(1, 10_000))
    with pytest.raises(InvalidChannel, match=r"sums to 0\.9,"):
        read_matrix(file(tmp_path, "0.5,0.4\n"))


@pytest.mark.parametrize(
    "cell",
    ["1e309", "-1e309", "1e4000", "1e-99999999999999999999", "3" * 5000, "0." + "3" * 5000, "1/" + "3" * 5000, "1/0",
     "9" * 390 + "/3"],
)  # fmt: skip
def test_numbers_that_no_float_comes_near_are_refused_where_they_are(cell: str, tmp_path: Path) -> None:
    """Neither a crash nor the name of a row, however long it is, and in words that are not."""
    for where, text in (("row 1, column 1", f"{cell},0\n0,1\n"), ("row 2, column 2", f"1,0\n0,{cell}\n")):
        with pytest.raises(InvalidInput, match=rf"{where}: .* is no number") as refused:
            read_matrix(file(tmp_path, text))
        assert len(str(refused.value)) < 300
    if "/" not in cell:
        with pytest.raises(InvalidInput, match=r"row 1, column 2: .* is no number of a matrix: these have at most 400"):
            read_matrix(file(tmp_path, f"[[1, {cell}], [0, 1]]", "m.json"))
    with pytest.raises(InvalidInput, match=r"row 1, column 2: .* is no number"):
        read_square(file(tmp_path, f"0,{cell}\ninf,0\n"))


def test_an_array_that_claims_more_than_there_is_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "m.npy"
    for shape in ((10**20, 2), (10**9, 10**6), (3, 3)):
        head = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}}}".ljust(117).encode() + b"\n"
        path.write_bytes(b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head + bytes(8))
        with pytest.raises(InvalidInput, match="no array of NumPy"):
            read_matrix(path)
