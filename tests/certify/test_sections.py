"""The table of sections beside that of the kernel, which imports nothing: names, widths, and how many numbers."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato.certify import kernel
from sfumato.certify.bundle import kernel_file
from sfumato.certify.sections import SECTIONS, Numbers, Section, counts_of, laid, values_of

VECTORS = Path(__file__).parents[1] / "vectors"
ANSWERS: dict[str, dict[str, Any]] = json.loads((VECTORS / "answers.json").read_text(encoding="utf-8"))
PROVED = [name for name, answer in ANSWERS.items() if answer["answer"] == "proved"]
UNFOLDED = {"run_starts", "run_lengths", "places"}  # which the kernel puts in place before anybody reads a section


def test_the_kernel_knows_the_same_sections_and_widths() -> None:
    of_any_width = set(re.findall(r'\bwidths\["(\w+)"\]', kernel_file().read_text(encoding="utf-8")))
    assert {section.name for section in SECTIONS} == set(kernel.WIDTHS) | of_any_width
    assert len({section.name for section in SECTIONS}) == len(SECTIONS)
    widths = {Numbers.INDICES: 4, Numbers.BYTES: 1, Numbers.DOUBLES: 8, Numbers.DISTANCES: 8}
    fixed = {section.name: (widths[section.numbers],) for section in SECTIONS if section.numbers in widths}
    assert fixed == kernel.WIDTHS


def test_true_files_have_as_many_numbers_as_the_table_says() -> None:
    met = set()
    for name in PROVED:
        header, sections, _ = kernel.read(VECTORS / f"{name}.sfm")
        met |= {section.name for section in header.sections} - UNFOLDED
        for section in sections:
            values, shape = values_of(section, header, sections), counts_of(section, header)
            assert shape.count(-1) <= 1 and len(values.shape) == len(shape), (name, section)
            assert all(size in (-1, found) for size, found in zip(shape, values.shape, strict=True)), (name, section)
        folded = any(section.name in UNFOLDED for section in header.sections)
        counts = {section.name: section.numbers for section in header.sections}
        expected = {} if folded else kernel.expected_counts(header, counts)
        assert {name: values_of(name, header, sections).size for name in expected} == expected
    assert met == {section.name for section in SECTIONS} - UNFOLDED


def test_axes_of_one_name_are_of_one_length() -> None:
    for name in PROVED:
        header, sections, _ = kernel.read(VECTORS / f"{name}.sfm")
        lengths: dict[str, int] = {}
        for section in SECTIONS:
            if section.name in sections and section.axes != ("table",):
                shape = values_of(section.name, header, sections).shape
                for axis, length in zip(section.axes, shape, strict=True):
                    assert lengths.setdefault(axis, length) == length, (name, section.name, axis)


@pytest.mark.parametrize("values", [[0, 3], [2**8], [2**16], [2**32, 1], [2**63, 5], [2**64], [2**3000, 1]])
def test_integers_are_read_as_they_were_written(values: list[int]) -> None:
    found = laid(mixture=np.array(values, dtype=object))["mixture"]
    assert len(found.data) == found.width * len(values)
    if found.width <= 8:
        assert list(map(int, np.frombuffer(found.data, dtype=f"<u{found.width}"))) == values
    assert kernel.integers(found.data, found.width, 0, len(values)) == values


def test_nothing_is_a_section_of_one_byte_each() -> None:
    assert laid(dual=np.zeros(0, dtype=np.int64)) == {"dual": Section(1, b"")}
