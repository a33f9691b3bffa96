"""Files that lie: each of the forgeries below was accepted, or made a checker fall over, and none is any more.

The last test asks kernel and twin about thousands of files that :mod:`forgeries` writes and :mod:`judge` judges;
neither shares a line with sfumato.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tracemalloc
from collections import Counter
from dataclasses import replace
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import box_forgeries
import box_judge
import sfumato as sf
from box_forgeries import drawn_case, random_box_case
from effort import THOROUGH, tried
from forgeries import (
    Case,
    Claim,
    Events,
    Limit,
    folded,
    header_of,
    misfolded,
    packed,
    placed,
    random_case,
    sections_of,
    to_bytes,
)
from grafts import changed_vector, promise_is_kept
from judge import truth
from sfumato import errors
from sfumato.certify import kernel
from sfumato.certify.bundle import kernel_file
from tight_tables import tight_table

CHECKERS = ("kernel", "twin", "auto")
CHUNK = 100
CASES = tried(3000) // CHUNK * CHUNK

HALF = Case(((1, 1), (1, 1)), "rational", Fraction(1), {(0, 1): 1}, {"epsilon": Fraction(1)})
NOTHING_LOST = Claim(((0.0, 0.0), (0.0, 0.0)), Fraction(1), (0, 1), ((1, 1),), "expected", Fraction(0))


def said(data: bytes, path: Path, checker: str) -> str:
    """PROVED, REFUTED or UNREADABLE, and never another error."""
    path.write_bytes(data)
    try:
        return "PROVED" if sf.verify(path, checker=checker) else "REFUTED"  # type: ignore[arg-type]
    except errors.InvalidFile:
        return "UNREADABLE"


def assert_refused(data: bytes, path: Path, words: str) -> None:
    """Nobody reads it, and everybody says why."""
    path.write_bytes(data)
    with pytest.raises(kernel.Unreadable, match=words):
        kernel.read(path)
    for checker in CHECKERS:
        with pytest.raises(errors.InvalidFile, match=words):
            sf.verify(path, checker=checker)  # type: ignore[arg-type]
        with pytest.raises(errors.InvalidFile, match=words):
            sf.load(path, checker=checker)  # type: ignore[arg-type]
    assert kernel.main([str(path)]) == 2


# ----------------------------------------------------------------- signs and magnitudes


def test_a_limit_whose_unit_is_negative(tmp_path: Path) -> None:
    """The best secret would be taken for the worst: one pays 1000, and the limit 0 would be said to be kept."""
    limit = Limit(((0.0, -1000.0), (0.0, -1000.0)), Fraction(-1), Fraction(0), (0, 0))
    case = replace(HALF, claim=replace(NOTHING_LOST, limits=(limit,)))
    assert truth(case) is False
    assert_refused(to_bytes(case), tmp_path / "m.sfm", "not positive")


@pytest.mark.parametrize("criterion", ["expected", "worst secret", "worst prior"])
def test_a_loss_whose_unit_is_negative(criterion: str, tmp_path: Path) -> None:
    claim = replace(
        NOTHING_LOST, table=((0.0, -3.0), (0.0, -3.0)), unit=Fraction(-1), criterion=criterion, bound=Fraction(1, 2)
    )
    case = replace(HALF, claim=claim)
    assert truth(case) is False
    assert_refused(to_bytes(case), tmp_path / "m.sfm", "not positive")


def test_units_of_zero(tmp_path: Path) -> None:
    limit = Limit(((1.0, 1.0),) * 2, Fraction(0), Fraction(0), (0, 0))
    for claim in (replace(NOTHING_LOST, limits=(limit,)), replace(NOTHING_LOST, unit=Fraction(0))):
        assert_refused(to_bytes(replace(HALF, claim=claim)), tmp_path / "m.sfm", "not positive")


def with_limits(number: int, size: int) -> Case:
    """Limits whose prices take 2^size from every reduced cost, in units of the dual number / 2^124, and pay it back."""
    limit = Limit(((-(2.0**53),),), Fraction(1), Fraction(-(2**53)), (2 ** (size - 177),))
    claim = Claim(((0.0,),), Fraction(1), (0, 0), ((1,),), "expected", Fraction(0), (limit,) * number, Fraction(0))
    return Case(((1, 1),), "rational", Fraction(1), {}, HALF.promise, claim=claim)


def test_limits_whose_sum_is_beyond_256_bits(tmp_path: Path) -> None:
    """Each is below 2^240; with 2^16 of them a sum in 256 bits would begin again at zero."""
    assert_refused(to_bytes(with_limits(2**16, 240)), tmp_path / "m.sfm", "65536 limits")
    for size in (240, 246, 250, 300):  # the last two are beyond 256 bits together or alone
        case = with_limits(64, size)
        for bound, answer in ((Fraction(0), "PROVED"), (Fraction(1, 10**9), "REFUTED"), (Fraction(2**100), "REFUTED")):
            forged = replace(case, claim=replace(case.claim, bound=bound))  # type: ignore[type-var]
            assert said(to_bytes(forged), tmp_path / "m.sfm", "twin") == answer


@pytest.mark.parametrize("checker", CHECKERS)
def test_dual_numbers_on_a_graph_without_edges(checker: str, tmp_path: Path) -> None:
    claim = replace(NOTHING_LOST, bound=Fraction(0), duals=((0, 1, 0, 1),))
    case = Case(HALF.weights, "rational", Fraction(1), {(0, 1): 1}, HALF.promise, graph=True, claim=claim)
    sections = sections_of(case) | {
        name: (w, b"") for name, w in (("distances", 8), ("edge_first", 4), ("edge_second", 4))
    }
    assert said(packed(header_of(case), sections), tmp_path / "m.sfm", checker) == "UNREADABLE"  # no pair can need one
    far = replace(case, distances={(0, 1): None})
    assert said(to_bytes(far), tmp_path / "m.sfm", checker) == "REFUTED"


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("unit", [Fraction(10**300), Fraction(1, 10**300)])
def test_coefficients_beyond_what_the_twin_holds_are_left_to_the_kernel(
    checker: str, unit: Fraction, tmp_path: Path
) -> None:
    claim = replace(NOTHING_LOST, table=((1.0, 1.0),) * 2, unit=unit, loss=unit, bound=unit, dual_unit=1 / unit)
    assert said(to_bytes(replace(HALF, claim=claim)), tmp_path / "m.sfm", checker) == "PROVED"
    off = replace(claim, bound=unit + Fraction(1, 10**400))
    assert said(to_bytes(replace(HALF, claim=off)), tmp_path / "m.sfm", checker) == "REFUTED"


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("leg", [2.0**60, 2.0**61, 1e300])
def test_chains_of_large_floats(checker: str, leg: float, tmp_path: Path) -> None:
    case = Case(((1, 1),) * 3, "float", Fraction(1), {(0, 1): leg, (0, 2): 2 * leg, (1, 2): leg}, HALF.promise,
                via={(0, 2): 1})  # fmt: skip
    assert said(to_bytes(case), tmp_path / "m.sfm", checker) == "PROVED"
    short = replace(case, distances=case.distances | {(0, 2): float(np.nextafter(2 * leg, 0))})
    assert said(to_bytes(short), tmp_path / "m.sfm", checker) == "REFUTED"
    endless = replace(case, distances=case.distances | {(0, 1): None})
    assert said(to_bytes(endless), tmp_path / "m.sfm", checker) == "REFUTED"


# ----------------------------------------------------------------- promises about nothing


def words_of(data: bytes, path: Path, capsys: pytest.CaptureFixture[str]) -> str:
    path.write_bytes(data)
    kernel.main([str(path)])
    return capsys.readouterr().out


IDENTITY = tuple(tuple(int(x == y) for y in range(3)) for x in range(3))


@pytest.mark.parametrize("graph", [False, True])
def test_where_nothing_is_promised_that_is_said_instead_of_an_epsilon(
    graph: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    far = dict.fromkeys(((0, 1), (0, 2), (1, 2)))
    case = Case(IDENTITY, "float", Fraction(1), {} if graph else far, {"epsilon": Fraction(1, 1000)}, graph)
    text = words_of(to_bytes(case), tmp_path / "m.sfm", capsys)
    assert "NOTHING IS PROMISED" in text and "epsilon" not in text and "PROVED" not in text
    for checker in CHECKERS:
        verdict = sf.verify(tmp_path / "m.sfm", checker=checker)  # type: ignore[arg-type]
        assert verdict.witness.open == 3
        assert "nothing is promised" in verdict.reason


@pytest.mark.parametrize("graph", [False, True])
def test_pairs_that_nothing_is_promised_about_are_counted(
    graph: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = ((2, 1), (1, 2), (3, 0), (0, 3))
    near = {(0, 1): 1} if graph else {pair: 1 if pair == (0, 1) else None for pair in
                                      ((0, 1), (0, 2), (0, 3), (1, 2), (1, 3), (2, 3))}  # fmt: skip
    case = Case(rows, "rational", Fraction(1), near, {"alpha": Fraction(1, 2), "step": Fraction(1, 2)}, graph)
    text = words_of(to_bytes(case), tmp_path / "m.sfm", capsys)
    assert "PROVED private with alpha = 1/2" in text
    assert "nothing is promised about the secrets of 5 pairs, of 6" in text
    for checker in CHECKERS:
        assert sf.verify(tmp_path / "m.sfm", checker=checker).witness.open == 5  # type: ignore[arg-type]
    assert "5 pairs" in str(sf.load(tmp_path / "m.sfm").proof)


def test_one_secret_has_nothing_to_hide_from(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    case = Case(((1, 1),), "rational", Fraction(1), {}, HALF.promise)
    assert "there is one secret" in words_of(to_bytes(case), tmp_path / "m.sfm", capsys)


# ----------------------------------------------------------------- what a file may say


def test_pairs_of_events_that_are_repeated(tmp_path: Path) -> None:
    events = Events(((0, 1),) * 2, Fraction(1, 10), Fraction(1))
    for checker in CHECKERS:
        assert said(to_bytes(replace(HALF, events=(events,))), tmp_path / "m.sfm", checker) == "UNREADABLE"
    sixfold = replace(events, pairs=((0, 1),) * 6)
    assert_refused(to_bytes(replace(HALF, events=(sixfold,))), tmp_path / "m.sfm", "6 pairs, of which there are 2")
    once = replace(events, pairs=((0, 1),))
    for checker in CHECKERS:
        assert said(to_bytes(replace(HALF, events=(once, once))), tmp_path / "m.sfm", checker) == "UNREADABLE"
        halves = once, replace(events, pairs=((1, 0),))
        assert said(to_bytes(replace(HALF, events=halves)), tmp_path / "m.sfm", checker) == "PROVED"


CHANGES: dict[str, tuple[Any, str]] = {
    "two secrets of one name": ({"secrets": ["a", "a"]}, "two secrets have one name"),
    "a number and its double": ({"secrets": [1, 1.0]}, "two secrets have one name"),
    "a fraction and a number": ({"secrets": [2, {"fraction": "4/2"}]}, "two secrets have one name"),
    "two outputs of one name": ({"outputs": [[1, 2], [1, 2]]}, "two outputs have one name"),
    "a label beyond the floats": ({"secrets": [0, float("1e999")]}, "Infinity|infinite"),
    "a label that is an object": ({"outputs": [{"name": 1}, 2]}, "a label is"),
    "another version than the file": ({"version": 2}, "the header has version 2, the file version 3"),
    "a version of another kind": ({"version": 3.0}, "version 3.0"),
    "an unknown word": ({"coordinates": []}, "'coordinates'"),
    "a promise about a box that is not there": (
        {"promise": {"kind": "coordinates", "epsilon": "1"}},
        "about coordinates has 'metric'",
    ),
    "a promise of a later kind": ({"promise": {"kind": "columns", "epsilon": "1"}}, "'columns'"),
    "a promise about events, without any": ({"promise": {"kind": "events", "epsilon": "1"}}, "none is listed"),
    "a promise of no kind": ({"promise": {"epsilon": "1"}}, "kind"),
    "a promise with a word too many": ({"promise": {"kind": "rows", "epsilon": "1", "delta": "0"}}, "'delta'"),
    "a claim of a later kind": ({"claims": {"kind": "medians"}}, "'medians'"),
    "digits of another script": ({"total": "٢"}, "decimal digits"),
    "events that are a text": ({"events": ""}, "'events' is ''"),
    "events that are an object": ({"events": {}}, "'events' is {}"),
    "claims that are a list": ({"claims": []}, "'claims' is \\[\\]"),
}


@pytest.mark.parametrize("name", CHANGES)
def test_headers_that_say_what_the_kernel_does_not_check(name: str, tmp_path: Path) -> None:
    changed, words = CHANGES[name]
    header = header_of(HALF) | changed
    assert_refused(packed(header, sections_of(HALF)), tmp_path / "m.sfm", words)


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"ceilings": ""}, "'ceilings' is ''"),
        ({"dual_unit": "1"}, "the unit without a bound"),
        ({"dual_unit": 1}, "the unit without a bound"),
        ({"bound": "0"}, "a bound without a unit"),
    ],
)
def test_claims_that_only_look_empty(changed: dict[str, Any], words: str, tmp_path: Path) -> None:
    case = replace(HALF, claim=NOTHING_LOST)
    header = header_of(case)
    header["claims"] |= changed
    assert_refused(packed(header, sections_of(case)), tmp_path / "m.sfm", words)


@pytest.mark.parametrize("nothing", [[], "", 0, None])
def test_claims_about_a_box_are_an_object(nothing: Any, tmp_path: Path) -> None:
    case = replace(drawn_case(1), claim=None)
    header = box_forgeries.header_of(case) | {"claims": nothing}
    assert_refused(packed(header, box_forgeries.sections_of(case)), tmp_path / "m.sfm", "'claims' is")


@pytest.mark.parametrize("version", [0, 1, 2, 4, 2**63])
def test_files_of_another_version_are_not_read(version: int, tmp_path: Path) -> None:
    for header in (header_of(HALF) | {"version": version}, header_of(HALF)):
        data = bytearray(packed(header, sections_of(HALF)))
        data[8:16] = version.to_bytes(8, "little")
        words = f"the file has version {version} of the format, this kernel reads version 3"
        assert_refused(sealed(data), tmp_path / "m.sfm", words)


def test_a_header_names_its_version_and_its_kinds(tmp_path: Path) -> None:
    claimed = replace(HALF, claim=NOTHING_LOST)
    for part, key in ((None, "version"), ("promise", "kind"), ("claims", "kind")):
        header = header_of(claimed)
        del (header if part is None else header[part])[key]
        assert_refused(packed(header, sections_of(claimed)), tmp_path / "m.sfm", f"KeyError\\('{key}'\\)")


def sealed(data: bytes) -> bytes:
    return bytes(data[:-32]) + hashlib.sha256(bytes(data[:-32])).digest()


def test_a_key_that_occurs_twice(tmp_path: Path) -> None:
    data = to_bytes(HALF)
    length = int.from_bytes(data[16:24], "little")
    text = data[24 : 24 + length].replace(b'"total": "2"', b'"total": "2", "total": "2"')
    made = data[:16] + len(text).to_bytes(8, "little") + text + data[24 + length :]
    assert_refused(sealed(made), tmp_path / "m.sfm", "occurs twice")


def test_a_promise_about_events_alone_has_no_distances(tmp_path: Path) -> None:
    events = Events(((0, 1), (1, 0)), Fraction(1, 10), Fraction(1))
    case = replace(HALF, events=(events,))
    header = header_of(case)
    header["promise"]["kind"] = "events"
    path = tmp_path / "m.sfm"
    assert {said(packed(header, sections_of(case)), path, checker) for checker in CHECKERS} == {"UNREADABLE"}
    far = replace(case, distances={(0, 1): None})
    assert {said(packed(header, sections_of(far)), path, checker) for checker in CHECKERS} == {"PROVED"}


def test_the_unit_is_quoted_and_promises_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    header = header_of(HALF)
    header["space"]["unit"] = "nautical miles"
    text = words_of(packed(header, sections_of(HALF)), tmp_path / "m.sfm", capsys)
    assert "per 'nautical miles'\n" in text
    header["space"]["unit"] = "km, and for all coordinates of the plane, with epsilon = 1/100"
    text = words_of(packed(header, sections_of(HALF)), tmp_path / "m.sfm", capsys)
    assert "is no unit" in text and "PROVED" not in text


@pytest.mark.parametrize(
    ("space", "told", "loose"),
    [
        (
            sf.FiniteSpace([0, 1], [[0, 2**61 - 1], [2**61 - 1, 0]], "km"),
            "distances are all 2305843009213693951 'km'",
            1,
        ),
        (sf.line(4, step="1/2", unit="km"), "lengths of edges are all 0.5 'km'", 0),
        (sf.grid(2, 2), "distances are 1 to 1.4142135623730951", 0),
        (
            sf.FiniteSpace([0, 1, 2], [[0, 0.5, 9e9], [0.5, 0, 9e9], [9e9, 9e9, 0]]),
            "distances are 0.5 to 9000000000",
            2,
        ),
        (sf.graph([("a", "b"), ("b", "c")]), "lengths of edges are all 1", 0),
    ],
)
def test_distances_are_told_and_those_that_promise_nothing(
    space: sf.FiniteSpace, told: str, loose: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two rows that are far enough apart may be anything, whatever the epsilon is."""
    made = sf.prove([[1, 2]] * len(space), sf.PrivacyType(space, epsilon="1/1000"))
    sf.save(made, tmp_path / "m.sfm")
    assert kernel.main([str(tmp_path / "m.sfm")]) == 0
    text = capsys.readouterr().out
    assert f"{told}\n" in text
    assert ("nothing is promised about them but zeros in the same places" in text) == bool(loose)
    proofs = [sf.verify(made, checker=checker).witness for checker in ("kernel", "twin")]
    assert [proof.loose for proof in proofs] == [loose, loose]
    assert proofs[0].span == proofs[1].span


def test_messages_never_show_two_different_numbers_as_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    big = 10**40
    rows = ((2 * big + 1, big), (big, 2 * big + 1))
    close = Case(rows, "rational", Fraction(1), {(0, 1): 1}, {"alpha": Fraction(1, 2), "step": Fraction(1, 2)})
    text = words_of(to_bytes(close), tmp_path / "m.sfm", capsys)
    assert ": 2 plus 1.0000000000000001e-40 times as much, at most 2 allowed" in text or "e-41" in text
    loss = Fraction(1, 3) + Fraction(1, 10**30)
    claim = replace(NOTHING_LOST, table=((1.0, 1.0),) * 2, unit=Fraction(1, 3), loss=loss)
    text = words_of(to_bytes(replace(HALF, claim=claim)), tmp_path / "m.sfm", capsys)
    assert "the loss is 0.33333333333333331 minus " in text
    tiny = replace(NOTHING_LOST, table=((1.0, 1.0),) * 2, unit=Fraction(1, 10**400), loss=Fraction(1, 10**400))
    text = words_of(to_bytes(replace(HALF, claim=tiny)), tmp_path / "m.sfm", capsys)
    assert "= about 2^-13" in text


# ----------------------------------------------------------------- room and terminals

OWN = "import resource, runpy, sys\nsys.argv = sys.argv[1:]\ntry:\n    runpy.run_path(sys.argv[0], run_name='__main__')\nfinally:\n    print(open('/proc/self/status').read().split('VmHWM:')[1].split()[0])"  # noqa: E501


def room_of(path: Path) -> int:
    """The most bytes that the kernel had in use while it checked a file, the interpreter included."""
    command = [sys.executable, "-I", "-S", "-c", OWN, str(kernel_file()), str(path)]
    shown = subprocess.run(command, capture_output=True, text=True, check=False)
    return 1024 * int(shown.stdout.split()[-1])


def declared(name: str) -> tuple[dict[str, Any], dict[str, tuple[int, bytes]]]:
    """Few secrets, and far more of one thing than they can need, all zeros, which pack a thousandfold."""
    many = 10_000_000
    case = replace(HALF, claim=replace(NOTHING_LOST, bound=Fraction(0)))
    if name == "edges":
        case = replace(case, graph=True)
    header, sections = header_of(case), sections_of(case)
    widths = {
        "edges": {"distances": 8, "edge_first": 4, "edge_second": 4},
        "dual numbers": {"dual": 1, "dual_from": 4, "dual_to": 4, "dual_action": 4},
    }
    if name in widths:
        return header, sections | {part: (width, bytes(many * width)) for part, width in widths[name].items()}
    return header, sections | {name: (2048, bytes(4096))}


@pytest.mark.parametrize("name", ["edges", "dual numbers", "prior"])
def test_a_small_file_takes_little_room(name: str, tmp_path: Path) -> None:
    path = tmp_path / "m.sfm"
    assert_refused(packed(*declared(name)), path, "there can be|wider numbers|2048 bytes")
    assert room_of(path) <= 64 * 2**20


def test_room_grows_no_faster_than_what_is_unpacked() -> None:
    n = 300
    rows = tuple(tuple(1 + (x == y) for y in range(n)) for x in range(n))
    pairs = {(x, z): float(1 + (x * z) % 97) for x in range(n) for z in range(x + 1, n)}
    table = tuple(tuple(float((a * x) % 31) / 7 for x in range(n)) for a in range(n))
    claim = Claim(table, Fraction(1), tuple(range(n)), ((1,) * n,), "expected", Fraction(0))
    case = Case(rows, "float", Fraction(1), pairs, {"epsilon": Fraction(1)}, claim=replace(claim, loss=worst_of(table)))
    data, unpacked = to_bytes(case), sum(len(section) for _, section in sections_of(case).values())
    tracemalloc.start()
    try:
        kernel.check(*kernel.parse(data)[:2])
        room = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert room <= 3 * unpacked + 4 * 2**20  # labels, packed rows and remembered factors


def worst_of(table: Any) -> Fraction:
    """The mean loss of weights 1, and 2 on the diagonal, under a uniform prior, output y being action y."""
    n = len(table)
    total = sum((Fraction(v) for line in table for v in line), Fraction(0)) + sum(
        Fraction(table[x][x]) for x in range(n)
    )
    return total / (n * (n + 1))


def test_a_terminal_without_letters(tmp_path: Path) -> None:
    header = header_of(HALF)
    header["space"]["unit"], header["secrets"] = "mètre", ["Malmö", "Århus"]
    good, bad = tmp_path / "gööd.sfm", tmp_path / "bad.sfm"
    good.write_bytes(packed(header, sections_of(HALF)))
    moved = replace(HALF, weights=((9, 1), (1, 9)))
    bad.write_bytes(packed(header | {"total": "10"}, sections_of(moved)))
    code = "import sys, runpy; sys.stdout.reconfigure(encoding='ascii', errors='strict'); sys.argv = sys.argv[1:]; runpy.run_path(sys.argv[0], run_name='__main__')"  # noqa: E501
    for path, status, words in ((good, 0, "per 'm\\xe8tre'"), (bad, 3, "'Malm\\xf6'")):
        command = [sys.executable, "-I", "-S", "-c", code, str(kernel_file()), str(path)]
        shown = subprocess.run(command, capture_output=True, check=False)
        assert shown.returncode == status, shown.stderr
        assert words in shown.stdout.decode("ascii")


# ----------------------------------------------------------------- an oracle


@pytest.mark.parametrize("first", range(0, CASES, CHUNK))
def test_nothing_false_is_proved_and_what_is_true_is(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + CHUNK):
        case = random_case(seed)
        # every third file has columns by their support
        data = (
            to_bytes(case)
            if seed % 3
            else packed(header_of(case), folded(Random(seed), header_of(case), sections_of(case)))
        )
        right, answers = truth(case), [said(data, tmp_path / "m.sfm", checker) for checker in ("kernel", "twin")]
        assert right is True or "PROVED" not in answers, f"case {seed} is false"
        if case.owed:
            assert right, f"case {seed} was meant to be true"
            assert answers == ["PROVED"] * 2, f"case {seed} is true, and its proof complete"
        assert answers[0] == answers[1], f"kernel and twin differ on case {seed}"


def test_tables_at_the_largest_factor_are_judged_by_their_last_digit(tmp_path: Path) -> None:
    """Of up to 250 digits: one that is false by the last of them is never proved."""
    for seed in range(tried(150)):
        case, right = tight_table(seed)
        answers = [said(to_bytes(case), tmp_path / "m.sfm", checker) for checker in ("kernel", "twin")]
        assert truth(case) is right and answers[0] == answers[1], f"table {seed}"
        assert right or answers[0] == "REFUTED", f"table {seed} is false"
        assert not case.owed or answers[0] == "PROVED", f"table {seed} is true by a margin"


def test_nothing_false_is_proved_of_vectors_that_were_changed_repacked_and_put_together(tmp_path: Path) -> None:
    found = Counter()
    for seed in range(tried(600)):
        data = changed_vector(seed)
        answers = [said(data, tmp_path / "m.sfm", checker) for checker in ("kernel", "twin")]
        assert answers[0] == answers[1], f"kernel and twin differ on vector {seed}"
        kept = promise_is_kept(data)
        assert kept is not False or answers[0] != "PROVED", f"vector {seed} is false"
        found[kept, answers[0]] += 1
    assert min(found[True, "PROVED"], found[False, "REFUTED"], found[None, "PROVED"]) > 3


def test_half_of_the_cases_are_true() -> None:
    owed = sum(random_case(seed).owed for seed in range(CASES))
    assert 0.4 * CASES < owed < 0.6 * CASES


BOX_CHUNK = 30
BOX_CASES = tried(150) // BOX_CHUNK * BOX_CHUNK


@pytest.mark.parametrize("first", range(0, BOX_CASES, BOX_CHUNK))
def test_nothing_false_is_proved_about_coordinates_and_what_is_true_is(first: int, tmp_path: Path) -> None:
    for seed in range(first, first + BOX_CHUNK):
        case = random_box_case(seed)
        right = box_judge.truth(case)
        parts = box_forgeries.header_of(case), box_forgeries.sections_of(case)
        data = packed(*parts) if seed % 3 else packed(parts[0], folded(Random(seed), *parts))
        answers = [said(data, tmp_path / "m.sfm", checker) for checker in ("kernel", "twin")]
        assert right is not False or "PROVED" not in answers, f"case {seed} is false"
        if case.owed:
            assert right is not False, f"case {seed} was meant to be true"
            assert answers == ["PROVED"] * 2, f"case {seed} is true, and its proof complete"
        assert answers[0] == answers[1], f"kernel and twin differ on case {seed}"


def test_a_quarter_of_the_cases_about_coordinates_are_true_and_a_quarter_known_to_be_false() -> None:
    many = 24 if not THOROUGH else 60
    cases = [random_box_case(seed) for seed in range(many)]
    assert 4 * sum(case.owed for case in cases) > many
    assert 4 * sum(box_judge.truth(case) is False for case in cases) > many


# ----------------------------------------------------------------- columns by their support, places for distances


def test_runs_of_columns_have_one_reading() -> None:
    tried = 0
    files = [(header_of(case), sections_of(case)) for case in map(random_case, range(90)) if case.owed]
    tables = [box_forgeries.drawn_case(seed) for seed in range(30)]
    files += [(box_forgeries.header_of(case), box_forgeries.sections_of(case)) for case in tables]
    for seed, parts in enumerate(files):
        forged = misfolded(Random(seed), folded(Random(seed), *parts))
        if forged is not None:
            tried += 1
            with pytest.raises(kernel.Unreadable, match=r"runs of columns|there can be"):
                kernel.parse(packed(parts[0], forged))
    assert tried > 30


def test_runs_need_all_their_sections(tmp_path: Path) -> None:
    path = tmp_path / "m.sfm"
    header, sections = header_of(HALF), folded(Random(1), header_of(HALF), sections_of(HALF))
    assert said(packed(header, sections), path, "kernel") == "PROVED"
    for name in ("run_starts", "run_lengths"):
        assert_refused(packed(header, {k: v for k, v in sections.items() if k != name}), path, "calls for")
    # labels take a few digits each: a table of 10^9 weights has no place in a file of a megabyte
    labels = list(range(30_000))
    thin = header | {"secrets": labels, "outputs": labels, "metric": header["metric"] | {"source": "edges"}}
    runs = {"weights": (1, b"\1" * 30_000), "run_starts": (4, b""), "run_lengths": (4, b"")}
    graph = {name: (width, b"") for name, width in (("distances", 8), ("edge_first", 4), ("edge_second", 4))}
    for wide in (1, 8):
        runs["weights"] = (wide, b"\1" * 30_000 * wide)
        with pytest.raises(kernel.Unreadable, match=r"too large|numbers to be computed"):
            kernel.parse(packed(thin | {"total": str(30_000 * 2**56)}, runs | graph))


@pytest.mark.parametrize("norm", ["euclidean", "manhattan", "chebyshev"])
def test_places_say_what_a_table_of_distances_says(norm: str, tmp_path: Path) -> None:
    for seed in range(12):
        rng = Random(seed)
        places = rng.sample([(a, b) for a in range(9) for b in range(9)], 4)
        offsets = {(i, j): [abs(a - b) for a, b in zip(places[i], places[j], strict=True)]
                   for i, j in combinations(range(4), 2)}  # fmt: skip
        join: Any = {"euclidean": lambda z: sum(c * c for c in z), "manhattan": sum, "chebyshev": max}[norm]
        rows = tuple(tuple(w) for w in ([20 + rng.randrange(9), 20, 20] for _ in range(4)))
        rows = tuple((*row, 80 - sum(row)) for row in rows)
        lengths = {pair: join(z) for pair, z in offsets.items()}
        form = "root" if norm == "euclidean" else "rational"
        case = Case(rows, form, Fraction(1, 2), lengths, {"epsilon": Fraction(1, 1 + seed)})
        header, sections = placed(places, norm, header_of(case), sections_of(case))
        for checker in ("kernel", "twin"):
            answer = said(packed(header, sections), tmp_path / "m.sfm", checker)
            assert answer == said(to_bytes(case), tmp_path / "t.sfm", checker)
            assert answer == ("PROVED" if truth(case) else "REFUTED")


def test_places_that_are_none(tmp_path: Path) -> None:
    path, norm = tmp_path / "m.sfm", "manhattan"
    header, sections = placed([(0, 0), (0, 1)], norm, header_of(HALF), sections_of(HALF))
    assert said(packed(header, sections), path, "kernel") == "PROVED"
    for places in ([(0, 0), (0, 0)], [(0, 0), (2**31, 0)]):
        forged = packed(*placed(places, "euclidean", header_of(HALF), sections_of(HALF)))
        assert [said(forged, path, checker) for checker in CHECKERS] == ["UNREADABLE"] * 3
    for metric in ({"norm": "euclidean"}, {"norm": "taxi"}, {"source": "table"}, {"form": "float"}):
        assert_refused(packed(header | {"metric": header["metric"] | metric}, sections), path, "does not belong")
    for count in (0, 3, 5, 200):
        forged = sections | {"places": (4, bytes(4 * count))}
        assert_refused(packed(header, forged), path, "calls for|number of coordinates")
