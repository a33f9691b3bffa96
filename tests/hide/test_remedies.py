"""What is said to help does: the box and the cells that a release names lead to a table when they are taken."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from hide_files import BOX, table
from sfumato.channels import Prior
from sfumato.design.boxes import optimal, patches
from sfumato.design.boxes.choice import too_large
from sfumato.hide import remedies
from sfumato.hide.hiding import question_of
from sfumato.hide.sources import Source
from sfumato.hide.wish import Wish
from sfumato.lp.cone import general
from sfumato.specs.families import as_question
from sfumato.specs.question import Question
from sfumato.watch import Watch

PLANE = pa.table({"x": [1.0, 2.0], "y": [1.0, 3.0]})
SIZES = re.compile(r"a table fits a box of ([\d.]+) × ([\d.]+) k?m")


def asked(data: Any = PLANE, **wishes: Any) -> Question:
    plane = {"unit": "km"} if data is PLANE else {}
    return as_question(question_of(Wish(**({"hide": "1 km"} | plane | wishes)), Source(data)).spec)


def uneven(question: Question, times: float = 3.0) -> Any:
    """Counts with so many times the mean in one cell, which no symmetry maps to itself."""
    cells = question.space.shape
    counts = np.full(cells, 1.0)
    counts[0, 1] = times * (counts.size - 1) / (counts.size - times)
    return counts


def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tables of a size for which a test has the time."""
    monkeypatch.setitem(optimal.LARGEST_LATTICE, 2, 100)
    monkeypatch.setattr(patches, "_MOST_ROWS", 260)


def test_the_size_that_is_said_to_fit_has_a_table_and_a_larger_one_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    small_limits(monkeypatch)
    done = sf.hide(PLANE, "1 km", box=(0, 0, 30, 20), unit="km")
    assert "since the box is too large for a table" in done.why
    found = SIZES.search(done.why)
    assert found is not None, done.why
    sides = [float(side) for side in found.groups()]
    assert sides[0] / sides[1] == pytest.approx(1.5, rel=0.1)
    taken = sf.hide(PLANE, "1 km", box=(0, 0, *sides), unit="km", tolerance=0.3, time_limit=20)
    assert taken.why.startswith("a table of its own for this box")
    larger = sf.hide(PLANE, "1 km", box=(0, 0, *(1.2 * side for side in sides)), unit="km")
    assert "since the box is too large for a table" in larger.why


@pytest.mark.parametrize("hidden", ["1 km", "250 m"])
@pytest.mark.parametrize("box", [(0, 0, 90, 90), (0, 0, 200, 70), (0, 0, 35, 900)])
@pytest.mark.parametrize("cell", [None, "700 m"])
def test_sizes_fit_with_the_cells_that_such_a_box_has(hidden: str, box: tuple[float, ...], cell: str | None) -> None:
    question = asked(hide=hidden, box=box, cell=cell)
    found = SIZES.search(remedies.room_words(question))
    assert found is not None and too_large(question.privacy)
    sides = [Fraction(side) for side in found.groups()]
    for said in (None, cell):
        assert not too_large(asked(hide=hidden, box=(0, 0, *map(float, sides)), cell=said).privacy)
    assert too_large(asked(hide=hidden, box=(0, 0, *(1.3 * float(side) for side in sides)), cell=cell).privacy)


def test_sizes_on_the_earth_fit_as_well() -> None:
    question = asked(table(), hide="200 m", box=(40.68, -74.06, 40.78, -73.94))
    found = SIZES.search(remedies.room_words(question))
    assert found is not None and too_large(question.privacy)
    share = [float(side) / float(old) for side, old in zip(found.groups(), question.space.sides, strict=True)]
    inside = (40.68, -74.06, 40.68 + 0.1 * share[1], -74.06 + 0.12 * share[0])
    assert not too_large(asked(table(), hide="200 m", box=inside).privacy)


def test_an_uneven_prior_has_a_table_where_it_is_said_to() -> None:
    here, wide = asked(box=(0, 0, 60, 60)), asked(box=(0, 0, 300, 300))
    assert "and this one where the fullest cell has twice" in remedies.room_words(here)
    found = re.search(r"and one of ([\d.]+) × ([\d.]+) km where the fullest", remedies.room_words(wide))
    assert found is not None
    there = asked(box=(0, 0, *map(float, found.groups())))
    for question in (here, there):
        assert remedies.patches_on(question, question.space, uneven(question, 2.01)) is not None
        assert remedies.patches_on(question, question.space, uneven(question, 1.99)) is None
    assert remedies.patches_on(wide, wide.space, uneven(wide)) is None


def test_larger_cells_that_are_said_to_have_a_table_have_one(monkeypatch: pytest.MonkeyPatch) -> None:
    small_limits(monkeypatch)
    small = {"box": (0, 0, 24, 24), "unit": "km"}
    question = asked(box=(0, 0, 24, 24), cell="1 km")
    counts = uneven(question, 200)
    done = sf.hide(PLANE, "1 km", cell="1 km", prior=counts.tolist(), **small)
    found = re.search(r"with cells of ([\d.]+) km this box has a table", done.why)
    assert found is not None and "since the box is too large for a table" in done.why, done.why
    many = int(found[1])
    joined = counts.reshape(24 // many, many, 24 // many, many).sum(axis=(1, 3)).tolist()
    taken = sf.hide(PLANE, "1 km", cell=f"{many} km", prior=joined, tolerance=0.5, time_limit=5, **small)
    assert taken.why.startswith("a table of its own for this box") and "patches" in taken.design.method
    cut = sf.hide(PLANE, "1 km", cell=f"{many} km", prior=joined, time_limit=0, **small)
    assert "since no table was found that loses less" in cut.why and "too large" not in cut.why
    assert cut.why.endswith("more time, such as time_limit=60, may find one")
    even = sf.hide(PLANE, "1 km", cell="1 km", **small)
    assert "with cells of" not in even.why  # where people live evenly they would change nothing


def test_a_search_that_was_cut_off_says_how_near_it_came_and_asks_for_more_time() -> None:
    done = sf.hide(table(), "1 km", box=BOX, cell="500 m", tolerance=0.001, time_limit=0)
    assert "no table came within 0.1 % of the best possible in 0 s; how near the best one came was not" in done.why
    assert "more time, such as time_limit=60, may come closer" in done.why
    question = replace(asked(table(), box=BOX, cell="500 m"), tolerance=0.001)
    best = sf.design(question.prior, question.loss, question.privacy, tolerance=0.2)
    words = remedies.time_words(question, replace(best, stopped=True), Watch(45))
    found = re.search(r"in 45 s; the best one came within ([\d.]+) %; more time, such as time_limit=135, may", words)
    assert found is not None and float(found[1]) == pytest.approx(100 * best.gap, rel=0.01)
    through = remedies.time_words(question, best, Watch(45))
    assert "the search ended before its time" in through and "more time" not in through


def test_a_gpu_is_named_where_it_would_be_used_and_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    question = asked(table(), box=BOX, cell="500 m")
    best = replace(sf.design(question.prior, question.loss, question.privacy, tolerance=0.2), stopped=True)
    monkeypatch.setattr(remedies, "gpu_is_there", lambda: False)
    assert not remedies.for_a_gpu(best) and "GPU" not in remedies.time_words(question, best, Watch(1))
    monkeypatch.setattr(general, "_WORTH_A_GPU", 10)
    assert "solved on a GPU where there is one" in remedies.time_words(question, best, Watch(1))
    assert not remedies.for_a_gpu(replace(best, method="conic programs of patches on 9 × 9 lattice points"))
    monkeypatch.setattr(remedies, "gpu_is_there", lambda: True)
    assert "GPU" not in remedies.time_words(question, best, Watch(1))


def test_cells_that_are_too_many_for_a_bound_are_told_with_those_that_are_few_enough() -> None:
    question = replace(asked(box=(0, 0, 4.3, 4.3), cell="100 m"), tolerance=1e-3)
    assert len(question.space) == 43 * 43
    best = sf.design(question.prior, question.loss, question.privacy, tolerance=0.9, time_limit=3)
    assert best.bound == 0
    words = remedies.time_words(question, best, Watch(3))
    found = re.search(r"with cells of ([\d.]+) km the box has (\d+) of them instead of 1,849, few enough", words)
    assert found is not None and remedies.cells_for_a_bound(asked(box=(0, 0, 4.3, 4.3))) is None
    fewer = asked(box=(0, 0, 4.3, 4.3), cell=f"{found[1]} km")
    assert len(fewer.space) == int(found[2])
    assert sf.design(fewer.prior, fewer.loss, fewer.privacy, tolerance=0.9, time_limit=30).bound > 0


def test_lengths_have_units_and_neither_powers_nor_fractions() -> None:
    question = asked(pa.table({"x": [1.0], "y": [2.0]}), hide="1 km", box="0,0,90000,90000", unit="m")
    words = remedies.room_words(question)
    assert re.search(r"fits a box of \d+ × \d+ km", words) and not re.search(r"\de[+-]|/", words)
    assert isinstance(question.prior, Prior)
