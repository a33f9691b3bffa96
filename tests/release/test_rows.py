from __future__ import annotations

from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import sfumato as sf
from sfumato.errors import InvalidInput, NotSupported
from sfumato.release.formats.lines import CellValues
from sfumato.release.rows import BadRow, Integers, Labels, TypedValues, check_policy, kind_of, line_position


def found(labels: Any, array: Any, on_unknown: str = "error", first: int = 0, **more: Any) -> list[int]:
    finder = Labels("home", tuple(labels), on_unknown, **more)
    return finder.find([TypedValues(pa.array(array) if isinstance(array, list) else array)], first).tolist()


def cells(*texts: str) -> CellValues:
    """Cells of a CSV file."""
    parts = [text.encode() for text in texts]
    ends = np.cumsum([len(part) for part in parts])
    data = np.frombuffer(b"".join(parts), dtype=np.uint8)
    return CellValues(data, ends - [len(part) for part in parts], ends, typed=False)


def spelled(labels: Any, *texts: str, on_unknown: str = "error", **more: Any) -> list[int]:
    return Labels("home", tuple(labels), on_unknown, **more).find([cells(*texts)], 0).tolist()


NUMBERS = [pa.int8(), pa.int16(), pa.int32(), pa.int64(), pa.uint8(), pa.uint64(), pa.dictionary(pa.int8(), pa.int64())]
TEXTS = [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]


@pytest.mark.parametrize("kind", NUMBERS, ids=str)
def test_integers_of_every_width_are_labels(kind: Any) -> None:
    assert found(range(5), pa.array([4, 0, 3], kind)) == [4, 0, 3]
    assert found([10**15, 7, 100], pa.array([100, 7], kind)) == [2, 1]  # not as a table


@pytest.mark.parametrize("kind", TEXTS, ids=str)
def test_texts_of_every_kind_are_labels(kind: Any) -> None:
    assert found(["Paris", "Ōsaka", ""], pa.array(["Ōsaka", "", "Paris"], kind)) == [1, 2, 0]


def test_other_kinds_of_labels() -> None:
    assert found([0.5, 1.0], [1.0, 0.5]) == [1, 0]
    assert found([False, True], [True, False]) == [1, 0]
    assert found([(0, 0), (0, 1)], [[0, 1], [0, 0]]) == [1, 0]
    assert found([("left", 1), ("right", 1)], pa.array([{"side": "right", "number": 1}])) == [1]
    assert found(["yes", None], pa.array([None, "yes"])) == [1, 0]
    assert found(["1", 1, 1.5], [1]) == [1] and found(["1", 1, 1.5], ["1"]) == [0]


def test_slices_keep_their_place() -> None:
    array = pa.array(["a", "b", "c", "a"]).dictionary_encode()
    assert found("abc", array.slice(1, 2)) == [1, 2]
    assert found(range(9), pa.array(range(9)).slice(3, 2)) == [3, 4]
    assert found([(0, 0), (0, 1)], pa.array([[0, 0], [0, 1]]).slice(1)) == [1]


STORED = [
    pa.ExtensionArray.from_storage(pa.opaque(pa.int64(), "period", "vendor"), pa.array([1])),
    pa.ExtensionArray.from_storage(pa.bool8(), pa.array([1], pa.int8())),
]


@pytest.mark.parametrize(
    ("labels", "array", "words"),
    [
        ([0, 1], [0.0, 1.0], "'home' is 0.0, a float, but a secret of the mechanism is an integer, such as 0"),
        ([0, 1], ["0"], "'home' is '0', text, but a secret .* is an integer"),
        ([0, 1], [True], "is True, a truth value, but"),
        ([False, True], [1], "is 1, an integer, but a secret of the mechanism is a truth value"),
        (["0", "1"], [0], "is 0, an integer, but a secret of the mechanism is text, such as '0'"),
        ([0.0, 1.0], [1], "is 1, an integer, but a secret of the mechanism is a float"),
        ([(0, 0)], ["0,0"], "is '0,0', text, but a secret of the mechanism is a tuple"),
        ([(0, 0)], [[0.0, 0.0]], r"is \(0.0, 0.0\), a tuple, but"),
        ([Fraction(1, 2)], [0.5], "a secret of the mechanism is a fraction"),
        (["a"], pa.array([18262], pa.date32()), "datetime.date"),
        (["a"], [b"a"], "bytes"),
        ([1, "a"], [1.5], "is an integer or text, such as 1: types are not guessed, convert the column first"),
        ([(0, 1)], [{"y": 0, "x": 1}], "a record, but a secret of the mechanism is a tuple"),
        ([(0, 1)], pa.array([(0, 1, 0)], pa.month_day_nano_interval()), "month_day_nano_interval, but"),
        ([(0, 1)], pa.array([[(0, 1)]], pa.map_(pa.int64(), pa.int64())), "map<int64, int64>, but"),
        ([1], STORED[0], "is 1, arrow.opaque, but a secret of the mechanism is an integer"),
        ([1], pa.DictionaryArray.from_arrays(pa.array([0]), STORED[0]), "arrow.opaque, but"),
        ([(1,)], pa.FixedSizeListArray.from_arrays(STORED[0], 1), "arrow.opaque, but"),
        ([1], pa.array([1], pa.timestamp("s")), "datetime, but"),
        ([1], pa.array([1], pa.duration("s")), "timedelta, but"),
        ([1], pa.array([1], pa.time32("s")), "time, but"),
        ([1], [Decimal(1)], "Decimal, but"),
        ([1], STORED[1], "is True, a truth value, but"),
    ],
)
def test_types_are_not_guessed(labels: Any, array: Any, words: str) -> None:
    for policy in ("error", "drop"):
        with pytest.raises(BadRow, match=words) as caught:
            found(labels, array, policy)
        assert caught.value.row == 1


@pytest.mark.parametrize(
    ("array", "words", "row", "value"),
    [
        (["a", None, "a"], "'home' is missing; fill it", 2, None),
        (["a", "b", "z"], "'home' is 'z', which is no secret of the mechanism .*secrets are 'a', 'b'", 3, "z"),
        (["a", "Pariss", "a"], r"did you mean 'Paris'\?", 2, "Pariss"),
        (["", "a"], "'home' is '', which is no secret", 1, ""),
    ],
)
def test_the_row_and_the_value_are_named(array: Any, words: str, row: int, value: Any) -> None:
    with pytest.raises(BadRow, match=words) as caught:
        found(["a", "b", "Paris"], array, first=100)
    assert (caught.value.row, caught.value.value) == (100 + row, value)
    assert str(caught.value).startswith(f"row {100 + row}: ")
    kept = [index for index, v in enumerate(array) if v in ("a", "b", "Paris")]
    dropped = found(["a", "b", "Paris"], array, "drop")
    assert [k for k, index in enumerate(dropped) if index >= 0] == kept


def test_nan_is_refused_or_dropped() -> None:
    with pytest.raises(BadRow, match="row 2: 'home' is NaN"):
        found([0.5, 1.5], [0.5, float("nan")])
    assert found([0.5, 1.5], [0.5, float("nan")], "drop") == [0, -1]


@settings(max_examples=60)
@given(st.lists(st.integers(-(2**40), 2**40), min_size=1, unique=True, max_size=20), st.data())
def test_tables_and_lookups_agree(labels: list[int], data: st.DataObject) -> None:
    near = st.integers(min(labels) - 2, max(labels) + 2)
    values = data.draw(st.lists(st.one_of(st.sampled_from(labels), near), max_size=20))
    for span in (labels, [label % 37 for label in labels]):
        known = list(dict.fromkeys(span))
        expected = [known.index(v) if v in known else -1 for v in values]
        assert found(known, pa.array(values, pa.int64()), "drop") == expected


def test_the_ends_of_64_bits() -> None:
    top = 2**63 - 1
    assert found([top, top - 1], pa.array([top - 1, top])) == [1, 0]
    assert found([-(2**63), -(2**63) + 1], pa.array([-(2**63)])) == [0]
    assert found([2**64 - 1], pa.array([2**64 - 1], pa.uint64())) == [0]
    assert found([0, 1], pa.array([2**64 - 1, 1], pa.uint64()), "drop") == [-1, 1]
    assert found([5, 6], pa.array([-(2**63), 6]), "drop") == [-1, 1]


# ----------------------------------------------------------------- text without types


def test_csv_cells_spell_labels() -> None:
    assert spelled(range(12), "11", "0", '"7"') == [11, 0, 7]
    assert spelled([-1, 5], "-1") == [0]
    assert spelled([(0, 0), (2, 3)], '"2,3"', "0,0") == [1, 0]
    assert spelled([Fraction(1, 3), Fraction(2)], "2", "1/3") == [1, 0]
    assert spelled([0.5, 1e-3], ".50", "0.001", "1E-3") == [0, 1, 1]
    assert spelled(['say "no"', "a,b"], '"say ""no"""', '"a,b"') == [0, 1]
    assert spelled(["yes", ""], '""', "yes") == [1, 0]
    assert spelled([True, False], "False") == [1]


@pytest.mark.parametrize("text", ["07", "+7", "7.0", " 7", "7 ", "7e0", "٧", "seven"])
def test_a_label_has_one_spelling(text: str) -> None:
    with pytest.raises(BadRow, match="which is no secret of the mechanism"):
        spelled([7], text)


def test_empty_cells_and_nan_are_named() -> None:
    for text, words in (("", "'home' is missing"), ('""', "'home' is missing"), ("NaN", "'home' is NaN")):
        with pytest.raises(BadRow, match=words):
            spelled([7], "7", text)
        assert spelled([7], "7", text, on_unknown="drop") == [0, -1]


def test_spellings_must_differ() -> None:
    with pytest.raises(InvalidInput, match="two secrets are spelled '1'"):
        spelled([1, "1"], "1")


# ----------------------------------------------------------------- nearest


@settings(max_examples=80)
@given(st.integers(1, 9), st.sampled_from(["1", "1/2", "3"]), st.floats(-30, 30))
def test_nearest_is_nearest_and_ties_go_down(n: int, step: str, value: float) -> None:
    space = sf.line(n, step=step)
    position = line_position(space.labels, space.coordinates, space.name)
    expected = min(range(n), key=lambda i: (abs(i - value), i))
    assert found(space.labels, [value], "nearest", position=position) == [expected]
    assert spelled(space.labels, repr(value), on_unknown="nearest", position=position) == [expected]


def test_nearest_takes_numbers_only() -> None:
    space = sf.line(3)
    position = line_position(space.labels, space.coordinates, space.name)
    assert found(space.labels, [1.4, 99.0, -5.0], "nearest", position=position) == [1, 2, 0]
    assert found(space.labels, [2, 77], "nearest", position=position) == [2, 2]
    for wrong, words in (
        (["1"], "text, but"),
        ([None, 1.0], "row 1: 'home' is missing"),
        ([float("inf")], "is NaN"),
        ([True], "a truth value"),
    ):
        with pytest.raises(BadRow, match=words):
            found(space.labels, wrong, "nearest", position=position)
    with pytest.raises(BadRow, match="no secret"):
        spelled(space.labels, "one", on_unknown="nearest", position=position)


@pytest.mark.parametrize(
    ("space", "words"),
    [
        (sf.discrete(3), "has no coordinates"),
        (sf.grid(2, 2), "2 coordinates a secret"),
        (sf.points([0, 1, 2], labels=["a", "b", "c"]), "labels that are numbers"),
        (sf.points([0, 1, 5], labels=[0, 1, 2]), "are not where its secrets are"),
    ],
)
def test_nearest_needs_a_line(space: sf.FiniteSpace, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        line_position(space.labels, space.coordinates, space.name)


# ----------------------------------------------------------------- the rest


def test_integers_are_their_own_secrets() -> None:
    finder = Integers("visits", "drop")
    assert finder.find([TypedValues(pa.array([-1, 10**12]))], 0).tolist() == [-1, 10**12]
    assert finder.find([cells("-1", "x", "07")], 0).tolist() == [-1, finder.left_out, finder.left_out]
    for wrong in (pa.array([1.5]), pa.array([None], pa.int64()), pa.array(["1"]), pa.array([2**63], pa.uint64())):
        with pytest.raises(BadRow, match="an integer of 64 bits is needed"):
            Integers("visits").find([TypedValues(wrong)], 0)


def test_kinds_and_policies() -> None:
    assert [kind_of(v) for v in (1, 1.0, True, "1", None, (1, "a"))] == [
        "int", "float", "bool", "str", "missing", "tuple(int, str)",
    ]  # fmt: skip
    assert check_policy("drop") == "drop"
    with pytest.raises(NotSupported, match="not supported; error, nearest and drop are"):
        check_policy("ignore")
